/* SPDX-License-Identifier: MIT */
/* A profile as an object: its parts are made and freed here, and handed out by number. */
#include <coati/profile.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sized.h"
#include "reading/contexts.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/profile.h"

#define DEFAULT_FRAMES 1024
#define FRAMES_MAX     65536
#define BYTES_MAX      (UINT64_C(4) << 30)
/* room for one more thing when there is just enough */
#define ARENA_MORE ((size_t)16 << 20)
#define EVENTS_MAX 65536

static void init_tables(struct coati_profile *p)
{
	p->files.max = PROFILE_FILES_MAX;
	p->events.max = EVENTS_MAX;
	p->notes.max = PROFILE_NOTES_MAX;
	p->label_keys.max = PROFILE_KEYS_MAX;
	p->threads.max = p->label_sets.max = p->locations.max = PROFILE_TABLE_MAX;
	p->stacks.max = p->entries.max = p->waits.max = PROFILE_TABLE_MAX;
	p->series.max = p->tails.max = PROFILE_TABLE_MAX;
	coati_index_init(&p->thread_index);
	coati_index_init(&p->label_index);
	coati_index_init(&p->location_index);
	coati_index_init(&p->stack_index);
	coati_index_init(&p->entry_index);
	coati_arena_init(&p->arena, p->max_bytes + ARENA_MORE);
	p->quality.clockid = -1;
	p->quality.first_time = UINT64_MAX;
}

uint64_t coati_profile_limit(const struct coati_profile *p, enum limit which)
{
	return coati_limit(&p->limits, which, p->input_bytes);
}

void coati_profile_allow(struct coati_profile *p, uint64_t more)
{
	uint64_t bytes = coati_limit(&p->limits, LIMIT_STACKS, p->input_bytes + more);

	if (p->is_fixed)
		return;
	if (!p->limits.set[LIMIT_STACKS] && bytes > BYTES_MAX)
		bytes = BYTES_MAX;
	p->max_bytes = bytes < SIZE_MAX / 4 ? bytes : SIZE_MAX / 4;
	p->arena.max_bytes = p->max_bytes + ARENA_MORE;
}

static int take_opts(struct coati_profile *p, const struct coati_profile_opts *given,
		     const struct coati_profile_hooks *hooks, struct coati_error *err)
{
	struct coati_profile_opts o;
	struct coati_filter f;
	int r = SIZED_COPY(&o, given);

	if (r == 0)
		r = SIZED_COPY(&f, o.filter);
	if (r == 0)
		r = SIZED_COPY(&p->processes_opts, o.processes);
	if (r < 0)
		return coati_fail(err, r, "options of a newer library, or a wrong size field");
	if (o.max_frames > FRAMES_MAX)
		return coati_fail(err, -EINVAL, "at most %d frames a stack", FRAMES_MAX);
	p->flags = o.flags;
	p->max_frames = o.max_frames ? o.max_frames : DEFAULT_FRAMES;
	p->bin_ns = o.bin_ns;
	p->max_bins = o.max_bins;
	p->max_bytes = o.max_bytes;
	p->is_fixed = o.max_bytes != 0;
	r = coati_limits_read(&p->limits, err);
	if (r < 0)
		return r;
	coati_profile_allow(p, 0);
	p->on_sample = hooks->on_sample;
	p->on_loss = hooks->on_loss;
	p->on_item = hooks->on_item;
	p->on_items = hooks->on_items;
	p->contexts = hooks->contexts;
	p->ctx = hooks->ctx;
	coati_service_rules_init(&p->rules);
	init_tables(p);
	if ((!p->contexts || !p->contexts->find) &&
	    ((f.task && *f.task) || (f.region && *f.region)))
		return coati_fail(
			err, -EINVAL,
			"tasks and regions come from live events: the profile needs contexts for "
			"them");
	r = coati_conditions_init(&p->conditions, &f, err);
	p->conditions.rules = &p->rules;
	if (r == 0 && !hooks->shared_images)
		r = coati_images_new(o.images, &p->own_images, err);
	p->images = hooks->shared_images ? hooks->shared_images : p->own_images;
	if (r == 0)
		r = coati_unwinder_new(p->images, o.unwinder, &p->unwinder, err);
	return r;
}

int coati_profile_make(const struct coati_profile_opts *opts,
		       const struct coati_profile_hooks *hooks, struct coati_profile **ret,
		       struct coati_error *err)
{
	static const struct coati_profile_hooks none_at_all;
	struct coati_profile *p = ret ? coati_alloc(sizeof(*p)) : NULL;
	uint32_t none;
	int r;

	if (!p)
		return coati_fail(err, ret ? -ENOMEM : -EINVAL,
				  ret ? "out of memory" : "no place for the profile was given");
	r = take_opts(p, opts, hooks ? hooks : &none_at_all, err);
	if (r == 0 && coati_profile_find_labels(p, NULL, 0, &none) < 0)
		r = coati_fail(err, -ENOMEM, "out of memory");
	if (r < 0) {
		coati_profile_free(&p);
		return r;
	}
	p->free_contexts = hooks ? hooks->free_contexts : NULL;
	*ret = p;
	return 0;
}

static void free_contexts(void *ctx)
{
	struct coati_contexts *c = ctx;

	coati_contexts_free(&c);
}

int coati_profile_new(const struct coati_profile_opts *opts, struct coati_profile **ret,
		      struct coati_error *err)
{
	struct coati_profile_hooks hooks = { .free_contexts = free_contexts };
	struct coati_contexts *c = NULL;
	struct coati_profile_opts o;
	int r = SIZED_COPY(&o, opts);

	if (r < 0)
		return coati_fail(err, r, "options of a newer library, or a wrong size field");
	if (!(o.flags & COATI_PROFILE_LIVE))
		return coati_profile_make(opts, NULL, ret, err);
	r = coati_contexts_new(&c, err);
	if (r < 0)
		return r;
	hooks.contexts = coati_contexts_source(c);
	r = coati_profile_make(opts, &hooks, ret, err);
	if (r < 0)
		coati_contexts_free(&c);
	return r;
}

void coati_profile_free(struct coati_profile **pp)
{
	struct coati_profile *p = pp ? *pp : NULL;

	if (!p)
		return;
	for (size_t i = 0; i < p->files.len; i++)
		coati_processes_free(&p->files.v[i].processes);
	for (size_t i = 0; i < p->notes.len; i++)
		coati_free(p->notes.v[i]);
	if (p->free_contexts)
		p->free_contexts(p->contexts->ctx);
	coati_unwinder_free(&p->unwinder);
	coati_images_free(&p->own_images);
	coati_conditions_fini(&p->conditions);
	coati_service_rules_fini(&p->rules);
	ARRAY_FINI(&p->files);
	ARRAY_FINI(&p->events);
	ARRAY_FINI(&p->threads);
	ARRAY_FINI(&p->label_sets);
	ARRAY_FINI(&p->label_keys);
	ARRAY_FINI(&p->locations);
	ARRAY_FINI(&p->stacks);
	ARRAY_FINI(&p->entries);
	ARRAY_FINI(&p->series);
	ARRAY_FINI(&p->tails);
	ARRAY_FINI(&p->waits);
	ARRAY_FINI(&p->notes);
	coati_index_fini(&p->thread_index);
	coati_index_fini(&p->label_index);
	coati_index_fini(&p->location_index);
	coati_index_fini(&p->stack_index);
	coati_index_fini(&p->entry_index);
	coati_arena_fini(&p->arena);
	coati_free(p);
	*pp = NULL;
}

void coati_profile_add_note(struct coati_profile *p, const char *fmt, ...)
{
	char text[COATI_ERROR_TEXT + 64];
	char *copy, **slot;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (size_t i = 0; i < p->notes.len; i++)
		if (!strcmp(p->notes.v[i], text))
			return;
	copy = coati_strdup(text);
	slot = copy ? ARRAY_ADD(&p->notes) : NULL;
	if (slot)
		*slot = copy;
	else
		coati_free(copy);
}

const char *coati_profile_note(const struct coati_profile *p, uint32_t i)
{
	return i < p->notes.len ? p->notes.v[i] : NULL;
}

struct coati_images *coati_profile_images(const struct coati_profile *p)
{
	return p->images;
}

struct coati_unwinder *coati_profile_unwinder(const struct coati_profile *p)
{
	return p->unwinder;
}

struct coati_processes *coati_profile_processes(const struct coati_profile *p, uint32_t file)
{
	return file < p->files.len ? p->files.v[file].processes : NULL;
}

const struct coati_profile_file *coati_profile_file(const struct coati_profile *p, uint32_t file)
{
	return file < p->files.len ? &p->files.v[file].pub : NULL;
}

uint32_t coati_profile_event_count(const struct coati_profile *p)
{
	return (uint32_t)p->events.len;
}

const struct coati_profile_event *coati_profile_event(const struct coati_profile *p, uint32_t i)
{
	return i < p->events.len ? &p->events.v[i] : NULL;
}

uint32_t coati_profile_thread_count(const struct coati_profile *p)
{
	return (uint32_t)p->threads.len;
}

const struct coati_profile_thread *coati_profile_thread(const struct coati_profile *p, uint32_t i)
{
	return i < p->threads.len ? &p->threads.v[i] : NULL;
}

const struct coati_label *coati_profile_labels(const struct coati_profile *p, uint32_t set,
					       uint32_t *ret_nr)
{
	if (set >= p->label_sets.len)
		return NULL;
	*ret_nr = p->label_sets.v[set].nr;
	return p->label_sets.v[set].labels;
}

uint32_t coati_profile_location_count(const struct coati_profile *p)
{
	return (uint32_t)p->locations.len;
}

const struct coati_profile_location *coati_profile_location(const struct coati_profile *p,
							    uint32_t i)
{
	return i < p->locations.len ? &p->locations.v[i].pub : NULL;
}

uint32_t coati_profile_stack_count(const struct coati_profile *p)
{
	return (uint32_t)p->stacks.len;
}

int coati_profile_stack(const struct coati_profile *p, uint32_t i, struct coati_profile_stack *ret)
{
	if (i >= p->stacks.len)
		return -EINVAL;
	*ret = p->stacks.v[i];
	return 0;
}

uint32_t coati_profile_entry_count(const struct coati_profile *p)
{
	return (uint32_t)p->entries.len;
}

const struct coati_profile_entry *coati_profile_entry(const struct coati_profile *p, uint32_t i)
{
	return i < p->entries.len ? &p->entries.v[i] : NULL;
}
