/* SPDX-License-Identifier: MIT */
/* see contexts-live.h */
#include "reading/contexts-live.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "live-read/reader.h"
#include "reading/contexts.h"
#include "reading/parts.h"

#define THREADS_MANY 8192 /* more are looked through for those that do nothing */
#define THREADS_KEPT 4096

int coati_contexts_live_begin(struct coati_contexts *c)
{
	coati_contexts_forget(c);
	c->last_time = 0;
	return coati_contexts_begin(c);
}

int coati_contexts_live_feed(struct coati_contexts *c, const void *batch, size_t size,
			     coati_live_event_fn fn, void *ctx)
{
	const struct coati_trace_event *const *events;
	int r = batch ? coati_live_reader_feed(c->trace, batch, size, 0, NULL)
		      : coati_live_reader_finish(c->trace);
	int n;

	while (r == 0 && (n = coati_live_reader_take(c->trace, &events)) != 0) {
		r = n < 0 ? n : 0;
		for (int i = 0; i < n && r == 0; i++) {
			r = coati_contexts_event(c, events[i]);
			if (events[i]->time > c->last_time)
				c->last_time = events[i]->time;
			if (fn)
				fn(ctx, events[i]);
		}
	}
	return r;
}

uint64_t coati_contexts_live_horizon(const struct coati_contexts *c)
{
	return c->last_time;
}

/* ---- dropping labels that no thread has ---- */

static const char *move_text(struct coati_contexts *to, const char *text)
{
	struct coati_trace_text t = { .text = text, .size = (uint32_t)strlen(text) };

	return *text ? coati_contexts_text(to, &t) : "";
}

static int move_labels(struct coati_contexts *to, struct context_thread *t)
{
	struct coati_label *copy =
		coati_arena_alloc(&to->arena, (t->nr_labels + 1) * sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->nr_labels; i++) {
		copy[i] = (struct coati_label){ move_text(to, t->labels[i].key),
						move_text(to, t->labels[i].value) };
		if (!copy[i].key || !copy[i].value)
			return -ENOMEM;
	}
	t->labels = copy;
	return 0;
}

/* All strings of the thread from one arena into the other. */
static int move_thread(struct coati_contexts *to, struct context_thread *t)
{
	t->type = move_text(to, t->type);
	t->labels_key = move_text(to, t->labels_key);
	t->name = t->name ? move_text(to, t->name) : NULL;
	for (uint32_t i = 0; i < t->nr_regions; i++) {
		t->regions[i] = move_text(to, t->regions[i]);
		if (!t->regions[i])
			return -ENOMEM;
	}
	return t->type && t->labels_key ? move_labels(to, t) : -ENOMEM;
}

static int move_tasks(struct coati_contexts *to, const struct map *tasks)
{
	uint64_t key, name;
	size_t pos = 0;

	while (coati_map_next(tasks, &pos, &key, &name)) {
		const char *text = move_text(to, (const char *)(uintptr_t)name);

		if (!text || coati_map_put(&to->task_index, key, (uint64_t)(uintptr_t)text) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool is_idle(const struct context_thread *t)
{
	return !*t->type && !t->nr_regions && !t->nr_labels;
}

/* Threads that do something now, with their strings; the others are forgotten. */
static int move_threads(struct coati_contexts *to, struct coati_contexts *from)
{
	uint64_t key, at, time = to->last_time;
	struct context_thread *t, **slot;
	size_t pos = 0;
	int r = 0;

	while (r == 0 && coati_map_next(&from->thread_index, &pos, &key, &at)) {
		t = from->threads.v[at];
		if (is_idle(t) || to->threads.len >= THREADS_KEPT)
			continue;
		slot = ARRAY_ADD(&to->threads);
		if (!slot || coati_map_put(&to->thread_index, key, to->threads.len - 1) < 0) {
			to->threads.len -= slot != NULL;
			return -ENOMEM;
		}
		*slot = t;
		from->threads.v[at] = NULL;
		coati_steps_fini(&t->steps);
		r = move_thread(to, t);
		if (r == 0)
			r = coati_contexts_step(to, t, time);
	}
	return r;
}

static void drop_rest(struct coati_contexts *old)
{
	for (size_t i = 0; i < old->threads.len; i++) {
		if (old->threads.v[i])
			coati_steps_fini(&old->threads.v[i]->steps);
		coati_free(old->threads.v[i]);
	}
	ARRAY_FINI(&old->threads);
	ARRAY_FINI(&old->states);
	coati_map_fini(&old->thread_index);
	coati_map_fini(&old->task_index);
	coati_map_fini(&old->state_index);
	coati_map_fini(&old->strings);
	coati_arena_fini(&old->arena);
}

/* What threads do now, in a new arena. Their earlier states are forgotten. */
static int renew(struct coati_contexts *c)
{
	struct coati_contexts old = *c;
	struct coati_live_reader *trace = c->trace;
	int r;

	c->trace = NULL;
	memset(&c->threads, 0, sizeof(c->threads));
	memset(&c->states, 0, sizeof(c->states));
	r = coati_contexts_begin(c);
	coati_live_reader_free(&c->trace);
	c->trace = trace;
	if (r == 0)
		r = move_tasks(c, &old.task_index);
	if (r == 0)
		r = move_threads(c, &old);
	drop_rest(&old);
	if (r < 0)
		(void)coati_contexts_live_begin(c);
	return r;
}

int coati_contexts_live_trim(struct coati_contexts *c, uint64_t before, size_t max_bytes)
{
	for (size_t i = 0; i < c->threads.len; i++)
		coati_steps_trim(&c->threads.v[i]->steps, before);
	return c->arena.used_bytes > max_bytes || c->threads.len > THREADS_MANY ? renew(c) : 0;
}
