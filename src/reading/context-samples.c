/* SPDX-License-Identifier: MIT */
/*
 * Samples that programs took of themselves, out of live events as they come: no second walk is
 * needed, because what a thread was doing is recorded before its sample. Batches come in, samples
 * with their labels and names go out.
 */
#include "reading/contexts.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "live-read/reader.h"
#include "reading/hooks.h"

#define PROCESSES_MAX ((size_t)1 << 22)
#define TEXT_BYTES    ((size_t)1 << 20)

static int make_now(struct coati_contexts *c)
{
	struct coati_contexts *now = coati_alloc(sizeof(*now));

	if (!now)
		return -ENOMEM;
	c->now = now;
	now->is_now = true;
	now->text = (struct strbuf)STRBUF_INIT(TEXT_BYTES);
	coati_map_init(&now->process_names, PROCESSES_MAX);
	return coati_contexts_begin(now);
}

void coati_contexts_free_now(struct coati_contexts *c)
{
	struct coati_contexts *now = c->now;

	if (!now)
		return;
	coati_contexts_forget(now);
	coati_map_fini(&now->process_names);
	coati_strbuf_fini(&now->text);
	coati_free(now);
	c->now = NULL;
}

int coati_contexts_feed(void *ctx, const void *batch, size_t size, uint64_t where)
{
	struct coati_contexts *c = ctx;
	int r = c->now ? 0 : make_now(c);

	if (r < 0)
		return r;
	c->now->nr_events = c->now->at = 0;
	return batch ? coati_live_reader_feed(c->now->trace, batch, size, where, NULL)
		     : coati_live_reader_finish(c->now->trace);
}

/* ---- names ---- */

/* What its batches say, until it names itself. */
static const char *told_name(struct coati_contexts *now, uint32_t pid)
{
	struct coati_live_process p;
	const char *name = "";

	for (uint32_t i = 0; coati_live_reader_process(now->trace, i, &p) == 0; i++)
		if (p.pid == pid)
			name = coati_contexts_text(now, &p.comm);
	return name;
}

static const char *process_name(struct coati_contexts *now, uint32_t pid)
{
	uint64_t known;
	const char *name;

	if (coati_map_get(&now->process_names, pid, &known))
		return (const char *)(uintptr_t)known;
	name = told_name(now, pid);
	if (!name || coati_map_put(&now->process_names, pid, (uint64_t)(uintptr_t)name) < 0)
		return NULL;
	return name;
}

static int take_name(struct coati_contexts *now, const struct coati_trace_event *e)
{
	const char *name = coati_contexts_text(now, &e->text);
	struct context_thread *t = coati_contexts_thread(now, e);
	int r = 0;

	if (!name || !t)
		return -ENOMEM;
	if (e->kind == COATI_TRACE_THREAD_NAME)
		t->name = name;
	else
		r = coati_map_put(&now->process_names, e->pid, (uint64_t)(uintptr_t)name);
	return r < 0 ? r : 0;
}

/* A number that is used again is another one's. */
static int forget_names(struct coati_contexts *now, const struct coati_trace_event *e)
{
	struct context_thread *t = coati_contexts_thread(now, e);

	if (!t)
		return -ENOMEM;
	t->name = NULL;
	if (e->flags & COATI_TRACE_NEW_PROCESS)
		coati_map_del(&now->process_names, e->pid);
	return 0;
}

/* ---- samples ---- */

static int fill(struct coati_contexts *now, const struct coati_trace_event *e,
		struct coati_context_sample *ret)
{
	const struct context_thread *t = coati_contexts_thread(now, e);
	const char *name = process_name(now, e->pid);
	const struct state *state;

	if (!t || !name)
		return -ENOMEM;
	*ret = (struct coati_context_sample){
		.time = e->time,
		.weight = e->number > 0 ? (uint64_t)e->number : 0,
		.pid = (int32_t)e->pid,
		.tid = (int32_t)e->tid,
		.comm = t->name ? t->name : "",
		.process_comm = name,
		.frames = e->stack,
		.nr_frames = e->stack_count,
		.labels_key = t->steps.last_state,
	};
	state = &now->states.v[ret->labels_key];
	ret->labels = state->labels;
	ret->nr_labels = state->nr;
	return 1;
}

/* 1: it is a sample, and *ret is filled. */
static int take_bare(struct coati_contexts *now, const struct coati_trace_event *e,
		     struct coati_context_sample *ret)
{
	int r = 0;

	if (e->flags & (COATI_TRACE_NEW_THREAD | COATI_TRACE_NEW_PROCESS))
		r = forget_names(now, e);
	if (r == 0 && e->kind == COATI_TRACE_SAMPLE)
		return fill(now, e, ret);
	if (r == 0 && (e->kind == COATI_TRACE_THREAD_NAME || e->kind == COATI_TRACE_PROCESS_NAME))
		r = take_name(now, e);
	return r;
}

int coati_contexts_next_bare(void *ctx, struct coati_context_sample *ret)
{
	struct coati_contexts *now = ((struct coati_contexts *)ctx)->now;
	int r = 0;

	while (r == 0 && now) {
		if (now->at < now->nr_events) {
			r = take_bare(now, now->events[now->at++], ret);
			continue;
		}
		now->at = now->nr_events = 0;
		r = coati_live_reader_take(now->trace, &now->events);
		if (r <= 0)
			return r;
		now->nr_events = r;
		r = 0;
	}
	return r;
}

int coati_contexts_next(void *ctx, struct coati_context_sample *ret)
{
	struct coati_contexts *now = ((struct coati_contexts *)ctx)->now;
	const struct coati_trace_event *e;
	int r = 0, n;

	while (r == 0 && now && (n = coati_live_reader_next(now->trace, &e)) != 0) {
		if (n < 0)
			return n;
		if (e->flags & (COATI_TRACE_NEW_THREAD | COATI_TRACE_NEW_PROCESS))
			r = forget_names(now, e);
		if (r < 0)
			return r;
		if (e->kind == COATI_TRACE_SAMPLE)
			return fill(now, e, ret);
		r = e->kind == COATI_TRACE_THREAD_NAME || e->kind == COATI_TRACE_PROCESS_NAME
			    ? take_name(now, e)
			    : coati_contexts_event(now, e);
	}
	return r;
}

void coati_contexts_account(void *ctx, struct coati_context_account *ret)
{
	const struct coati_contexts *now = ((const struct coati_contexts *)ctx)->now;
	struct coati_trace_quality q = { .size = sizeof(q) };

	if (now)
		coati_live_reader_get_quality(now->trace, &q);
	*ret = (struct coati_context_account){ .lost = q.lost,
					       .missing = q.missing,
					       .damaged = q.damaged };
}
