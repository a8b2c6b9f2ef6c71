/* SPDX-License-Identifier: MIT */
/* A view: which entries and stacks are in it, each decided once, and what they add up to. Its
 * frames: frames.c. */
#include "profile/view.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"
#include "base/sized.h"
#include "profile/walk.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/wait.h"

#define OWNED_MAX 65536

/* Is it time that the kernel saw, too? Who asks for the event by its name gets it. */
static bool is_seen_twice(const struct coati_view *v, uint32_t event, uint32_t thread)
{
	return !v->conditions.events.list.len && coati_profile_is_twice(v->profile, event, thread);
}

/* Page faults beside time on CPUs and off them: what record --trace takes for the timeline. They
 * must not be added to time. */
static bool is_for_timeline(const struct coati_view *v, uint32_t event)
{
	const struct coati_profile *p = v->profile;

	return v->has_times && !v->conditions.events.list.len &&
	       !strcmp(p->events.v[event].name, "page-faults");
}

static bool has_times(const struct coati_profile *p)
{
	bool on = false;

	for (size_t i = 0; i < p->events.len; i++)
		on |= !p->events.v[i].is_off_cpu && !strcmp(p->events.v[i].unit, "ns");
	return on && p->has_off_cpu;
}

static bool entry_passes(const struct coati_view *v, const struct coati_profile_entry *e,
			 uint64_t from, uint64_t to)
{
	const struct coati_profile *p = v->profile;
	const struct conditions *c = &v->conditions;
	const struct label_set *set = &p->label_sets.v[e->labels];
	uint64_t start = p->quality.first_time + e->bin * p->bin_ns;

	if (v->flags &
	    (p->events.v[e->event].is_off_cpu ? COATI_VIEW_NO_OFF_CPU : COATI_VIEW_NO_ON_CPU))
		return false;
	return !is_seen_twice(v, e->event, e->thread) && !is_for_timeline(v, e->event) &&
	       coati_conditions_thread(c, &p->threads.v[e->thread]) &&
	       coati_conditions_event(c, p->events.v[e->event].name) &&
	       coati_conditions_cpu(c, e->cpu) &&
	       coati_conditions_labels(c, set->labels, set->nr, &p->threads.v[e->thread]) &&
	       (!p->bin_ns || (start <= to && start + p->bin_ns > from));
}

/* Which entries the conditions about samples let through; their stacks may be in. */
static int choose_entries(struct coati_view *v)
{
	const struct coati_profile *p = v->profile;
	uint64_t from, to;

	coati_conditions_time(&v->conditions, p->quality.first_time, p->quality.last_time, &from,
			      &to);
	v->entry_is_in = coati_alloc_array(p->entries.len + 1, sizeof(*v->entry_is_in));
	v->stacks = coati_alloc_array(p->stacks.len + 1, sizeof(*v->stacks));
	if (!v->entry_is_in || !v->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < p->entries.len; i++) {
		if (is_seen_twice(v, p->entries.v[i].event, p->entries.v[i].thread))
			add_weight(&v->nr_twice, p->entries.v[i].count);
		else if (is_for_timeline(v, p->entries.v[i].event))
			add_weight(&v->nr_faults, p->entries.v[i].count);
		v->entry_is_in[i] = entry_passes(v, &p->entries.v[i], from, to);
		if (!v->entry_is_in[i])
			continue;
		v->stacks[p->entries.v[i].stack].is_in = true;
		if (!p->events.v[p->entries.v[i].event].is_off_cpu)
			v->stacks[p->entries.v[i].stack].is_on = true;
	}
	return 0;
}

/* Whether what is of this event and stack waits for what is asked for. */
static bool waits(const struct coati_view *v, uint32_t event, uint32_t stack)
{
	if (!v->conditions.waits.list.len)
		return true;
	return event < v->profile->events.len && v->profile->events.v[event].is_off_cpu &&
	       v->stacks[stack].waits;
}

/* Drop stacks without an entry that waits for one of the selected reasons. */
static void choose_waits(struct coati_view *v)
{
	struct coati_profile *p = v->profile;

	if (!v->conditions.waits.list.len)
		return;
	for (uint32_t i = 0; i < p->stacks.len; i++)
		if (v->stacks[i].is_in)
			v->stacks[i].waits = coati_conditions_wait(
				&v->conditions, coati_wait_name(coati_profile_stack_wait(p, i)));
	for (size_t i = 0; i < p->entries.len; i++) {
		const struct coati_profile_entry *e = &p->entries.v[i];

		v->entry_is_in[i] = v->entry_is_in[i] && waits(v, e->event, e->stack);
	}
}

/* In which unit all entries can be added up. */
static int choose_unit(struct coati_view *v)
{
	const struct coati_profile *p = v->profile;
	bool *seen = coati_alloc_array(p->events.len + 1, sizeof(*seen));
	const char *unit = NULL;

	if (!seen)
		return -ENOMEM;
	v->counts = v->flags & COATI_VIEW_COUNTS;
	for (size_t i = 0; i < p->entries.len; i++)
		if (v->entry_is_in[i])
			seen[p->entries.v[i].event] = true;
	for (size_t i = 0; i < p->events.len; i++) {
		if (!seen[i])
			continue;
		v->info.nr_events++;
		if (unit && strcmp(unit, p->events.v[i].unit) != 0)
			v->counts = true;
		unit = p->events.v[i].unit;
	}
	v->info.unit = v->counts || !unit ? "samples" : unit;
	coati_free(seen);
	return 0;
}

static void add_up(struct coati_view *v)
{
	const struct coati_profile *p = v->profile;

	for (size_t i = 0; i < p->entries.len; i++) {
		const struct coati_profile_entry *e = &p->entries.v[i];
		struct view_stack *s = &v->stacks[e->stack];

		v->entry_is_in[i] &= s->is_in;
		if (!v->entry_is_in[i])
			continue;
		v->info.nr_stacks += !view_stack_counts(s);
		add_weight(&s->weight, view_weight(v, e));
		add_weight(&s->count, e->count);
		add_weight(&v->info.total, view_weight(v, e));
		add_weight(&v->info.samples, e->count);
	}
}

/* A place for the root of stacks that are cut, so that they do not stand beside whole ones. */
static int find_cut(struct coati_view *v)
{
	struct coati_profile *p = v->profile;
	struct location l = { .pub = { .image = COATI_IMAGE_NONE,
				       .flags = COATI_LOCATION_TRUNCATED } };
	size_t i = 0;
	int r;

	v->cut_location = VIEW_NONE;
	while (i < p->stacks.len && !(p->stacks.v[i].flags & PROFILE_STACK_CUT))
		i++;
	if (i == p->stacks.len)
		return 0;
	r = coati_profile_find_location(p, &l, &v->cut_location);
	if (r < 0)
		v->cut_location = VIEW_NONE;
	return r == -ENOMEM ? r : 0;
}

static int fill(struct coati_view *v, const struct coati_filter *f, struct coati_error *err)
{
	uint32_t how = v->flags & COATI_VIEW_NO_INLINES ? 0 : COATI_RESOLVE_INLINES;
	int r;

	if (v->flags & COATI_VIEW_LINES)
		how |= COATI_RESOLVE_LINES;
	r = profile_has_series(v->profile) && f->time && *f->time
		    ? coati_fail(err, -EINVAL,
				 "time: the entries of this profile have no bins: choose the time "
				 "when it is read")
		    : coati_conditions_init(&v->conditions, f, err);
	v->conditions.rules = &v->profile->rules;
	if (r == 0 && find_cut(v) < 0)
		r = coati_fail(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = coati_profile_resolve(v->profile, how, err);
	if (r < 0)
		return r;
	r = coati_view_make_frames(v);
	if (r == 0)
		r = choose_entries(v);
	if (r < 0)
		return coati_fail(err, r, "out of memory");
	r = coati_view_select(v, f, err);
	if (r == 0)
		choose_waits(v);
	if (r == 0 && choose_unit(v) < 0)
		r = coati_fail(err, -ENOMEM, "out of memory");
	if (r == 0)
		add_up(v);
	if (v->nr_twice && !(v->flags & COATI_VIEW_NO_ON_CPU))
		coati_profile_note_twice(v->profile, v->nr_twice);
	if (v->nr_faults && !(v->flags & COATI_VIEW_NO_ON_CPU))
		coati_profile_add_note(
			v->profile,
			"%llu page faults are omitted because they are counts, not durations: "
			"--event (-e) page-faults shows them",
			(unsigned long long)v->nr_faults);
	if (v->nr_plain)
		coati_profile_add_note(
			v->profile,
			"inlined functions are left out of %zu addresses and stacks: there are "
			"too many for the memory that a view may take",
			v->nr_plain);
	return r;
}

int coati_view_new(struct coati_profile *p, const struct coati_view_opts *opts,
		   struct coati_view **ret, struct coati_error *err)
{
	struct coati_view_opts o;
	struct coati_filter f;
	struct coati_view *v;
	int r = p && ret ? SIZED_COPY(&o, opts) : -EINVAL;

	if (r == 0)
		r = SIZED_COPY(&f, o.filter);
	if (r < 0)
		return coati_fail(err, r, "options of a newer library, or a wrong size field");
	v = coati_alloc(sizeof(*v));
	if (!v)
		return coati_fail(err, -ENOMEM, "out of memory");
	v->profile = p;
	v->flags = o.flags;
	v->nameless_bytes = o.nameless_bytes;
	v->has_times = has_times(p);
	v->frames.max = PROFILE_TABLE_MAX;
	v->owned.max = OWNED_MAX;
	coati_arena_init(&v->arena, SIZE_MAX / 4);
	r = fill(v, &f, err);
	if (r < 0)
		coati_view_free(&v);
	else
		*ret = v;
	return r;
}

void coati_view_free(struct coati_view **vp)
{
	struct coati_view *v = vp ? *vp : NULL;

	if (!v)
		return;
	for (size_t i = 0; i < v->owned.len; i++)
		coati_free(v->owned.v[i]);
	ARRAY_FINI(&v->owned);
	ARRAY_FINI(&v->frames);
	coati_conditions_fini(&v->conditions);
	coati_free(v->first_frame);
	coati_free(v->function_frame);
	coati_free(v->stacks);
	coati_free(v->entry_is_in);
	coati_arena_fini(&v->arena);
	coati_free(v);
	*vp = NULL;
}

void *coati_view_own(struct coati_view *v, size_t count, size_t size)
{
	void **slot = ARRAY_ADD(&v->owned);

	if (!slot)
		return NULL;
	*slot = coati_alloc_array(count ? count : 1, size);
	return *slot;
}

int coati_view_info(const struct coati_view *v, struct coati_view_info *ret)
{
	return SIZED_FILL(ret, &v->info);
}

uint32_t coati_view_frame_count(const struct coati_view *v)
{
	return (uint32_t)v->frames.len;
}

const struct coati_view_frame *coati_view_frame(const struct coati_view *v, uint32_t i)
{
	return i < v->frames.len ? &v->frames.v[i] : NULL;
}

uint32_t coati_view_function_count(const struct coati_view *v)
{
	return v->nr_functions;
}

int coati_view_next(struct coati_view *v, uint64_t *pos, struct coati_view_entry *ret)
{
	const struct coati_profile *p = v->profile;

	while (*pos < p->entries.len) {
		uint64_t i = (*pos)++;
		const struct coati_profile_entry *e = &p->entries.v[i];
		const struct view_stack *s = &v->stacks[e->stack];

		if (!v->entry_is_in[i])
			continue;
		*ret = (struct coati_view_entry){ .entry = e,
						  .weight = view_weight(v, e),
						  .frames = s->frames,
						  .nr_frames = s->nr,
						  .stack_flags = p->stacks.v[e->stack].flags };
		return 1;
	}
	return 0;
}

const char *coati_view_wait(const struct coati_view *v, const struct coati_profile_entry *e)
{
	if (!v->profile->events.v[e->event].is_off_cpu)
		return coati_wait_name(COATI_WAIT_RUNNING);
	return coati_wait_name(coati_profile_stack_wait(v->profile, e->stack));
}

int coati_view_sample(const struct coati_view *v, const struct coati_profile_sample *sample,
		      struct coati_view_entry *ret)
{
	const struct coati_profile *p = v->profile;
	const struct view_stack *s;

	if (sample->stack >= p->stacks.len || !v->stacks[sample->stack].is_in ||
	    !waits(v, sample->event, sample->stack))
		return 0;
	if (v->flags & (sample->event < p->events.len && p->events.v[sample->event].is_off_cpu
				? COATI_VIEW_NO_OFF_CPU
				: COATI_VIEW_NO_ON_CPU))
		return 0;
	if (sample->event < p->events.len && sample->thread < p->threads.len &&
	    (is_seen_twice(v, sample->event, sample->thread) || is_for_timeline(v, sample->event)))
		return 0;
	s = &v->stacks[sample->stack];
	*ret = (struct coati_view_entry){ .weight = v->counts ? 1 : sample->weight,
					  .frames = s->frames,
					  .nr_frames = s->nr,
					  .stack_flags = p->stacks.v[sample->stack].flags };
	return 1;
}
