/* SPDX-License-Identifier: MIT */
/*
 * What had a pid, one after the other. Forks, execs and exits come in, in any order; spans by time
 * go out. A record that comes late splits the span that it falls into: what was reported for later
 * times goes over to the new one.
 */
#include "process/processes.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

static struct space *space_new(struct coati_processes *ps)
{
	struct space *s = coati_alloc(sizeof(*s));

	if (!s)
		return NULL;
	ps->nr_spaces++;
	coati_ranges_init(&s->ranges);
	s->epoch = ps->next_epoch++;
	s->inherit_epoch = ps->inherit_epoch;
	return s;
}

static void space_free(struct coati_processes *ps, struct space *s)
{
	if (!s)
		return;
	ps->nr_spaces--;
	ps->nr_mappings -= s->ranges.log.len + s->ranges.late.len;
	coati_ranges_fini(&s->ranges);
	coati_free(s);
}

static struct process *process_new(struct coati_processes *ps, int32_t pid)
{
	struct process *p = coati_alloc(sizeof(*p));

	if (!p)
		return NULL;
	*p = (struct process){ .index = ps->next_process++, .pid = pid, .nr_alive = 1 };
	ps->stats.processes++;
	return p;
}

void coati_numbers_expire(struct coati_processes *ps, struct pid_slot *slot)
{
	ps->inherit_epoch++;
	slot->to = 0;
}

int coati_pid_slot_init(struct coati_processes *ps, struct pid_slot *slot, int32_t pid)
{
	struct pid_span *span;

	*slot = (struct pid_slot){ .pid = pid,
				   .spans.max = SPANS_MAX,
				   .jit_image = COATI_IMAGE_NONE,
				   .anon_image = COATI_IMAGE_NONE };
	span = ARRAY_ADD(&slot->spans);
	if (!span)
		return -ENOMEM;
	span->is_start = true;
	span->space = space_new(ps);
	span->process = span->space ? process_new(ps, pid) : NULL;
	if (!span->process)
		return -ENOMEM;
	span->process->is_implicit = true;
	return 0;
}

void coati_pid_slot_fini(struct coati_processes *ps, struct pid_slot *slot)
{
	struct process *last = NULL;

	for (size_t i = 0; i < slot->spans.len; i++) {
		struct pid_span *span = &slot->spans.v[i];

		space_free(ps, span->space);
		if (span->process != last)
			coati_free(last);
		last = span->process;
	}
	coati_free(last);
	ARRAY_FINI(&slot->spans);
}

struct pid_slot *coati_pid_slot_find(struct coati_processes *ps, int32_t pid)
{
	struct pid_slot **cached = &ps->slot_cache[(uint32_t)pid % SLOT_CACHE];
	uint64_t found;

	if (*cached && (*cached)->pid == pid)
		return *cached;
	if (!coati_map_get(&ps->pids, (uint32_t)pid, &found))
		return NULL;
	*cached = (struct pid_slot *)(uintptr_t)found;
	return *cached;
}

/* For one more process, or program that it executes; counted when there is none. */
static bool has_no_room(struct coati_processes *ps)
{
	if (ps->nr_spaces < ps->max_spaces)
		return false;
	ps->over[LIMIT_PROCESSES]++;
	ps->stats.refused++;
	return true;
}

/* The same for one of this number: those that are reported late are moved, which takes time. */
static bool has_no_span(struct coati_processes *ps, const struct pid_slot *slot)
{
	if (slot->spans.len < SPANS_MAX)
		return has_no_room(ps);
	ps->stats.refused++;
	return true;
}

struct pid_slot *coati_pid_slot_get(struct coati_processes *ps, int32_t pid, int *ret_code)
{
	struct pid_slot *slot = coati_pid_slot_find(ps, pid);
	int r;

	*ret_code = 0;
	if (slot)
		return slot;
	if (has_no_room(ps)) {
		*ret_code = -E2BIG;
		return NULL;
	}
	slot = coati_alloc(sizeof(*slot));
	r = slot ? coati_pid_slot_init(ps, slot, pid) : -ENOMEM;
	if (r == 0)
		r = coati_map_put(&ps->pids, (uint32_t)pid, (uintptr_t)slot);
	if (r >= 0)
		return slot;
	if (slot)
		coati_pid_slot_fini(ps, slot);
	coati_free(slot);
	*ret_code = r;
	return NULL;
}

struct pid_span *coati_pid_span(struct pid_slot *slot, uint64_t time, uint64_t *ret_to)
{
	size_t i = SPAN_INDEX(slot, time);

	if (ret_to)
		*ret_to = i + 1 < slot->spans.len ? slot->spans.v[i + 1].from : UINT64_MAX;
	return &slot->spans.v[i];
}

/* A new space for what comes after @time; @process NULL: that of before goes on. */
static struct pid_span *insert_span(struct coati_processes *ps, struct pid_slot *slot,
				    uint64_t time, struct process *process)
{
	size_t at = SPAN_INDEX(slot, time), rest;
	struct space *space = space_new(ps);

	if (!space)
		return NULL;
	if (!ARRAY_ADD(&slot->spans)) {
		space_free(ps, space);
		return NULL;
	}
	/* before the first one there is nothing to be split */
	if (slot->spans.v[at].from <= time &&
	    coati_ranges_split(&slot->spans.v[at].space->ranges, time, &space->ranges) < 0) {
		slot->spans.len--;
		space_free(ps, space);
		return NULL;
	}
	if (space->ranges.log.len)
		slot->spans.v[at].space->epoch = ps->next_epoch++;
	at += slot->spans.v[at].from <= time;
	rest = slot->spans.len - 1 - at;
	memmove(&slot->spans.v[at + 1], &slot->spans.v[at], rest * sizeof(slot->spans.v[0]));
	slot->spans.v[at] = (struct pid_span){
		.from = time,
		.space = space,
		.process = process ? process : slot->spans.v[at ? at - 1 : 1].process,
		.is_start = process || !at,
	};
	for (size_t i = at + 1; process && i < slot->spans.len && !slot->spans.v[i].is_start; i++)
		slot->spans.v[i].process = process;
	slot->to = 0;
	/* reported late: earlier numbers, and what children inherited, may have changed */
	if (rest || (slot->has_forked && time <= slot->last_fork) || space->ranges.log.len)
		coati_numbers_expire(ps, slot);
	return &slot->spans.v[at];
}

/* The process that was made up was not used yet, and nothing is known from before @time: it is the
 * one that begins now. */
static bool is_blank(const struct pid_slot *slot, const struct pid_span *span, uint64_t time)
{
	uint64_t from, to;

	return slot->spans.v[0].process == span->process && span->process->is_implicit &&
	       span->is_start && !span->process->is_used &&
	       coati_ranges_position(&span->space->ranges, time, &from, &to) == 0;
}

struct pid_span *coati_pid_span_told(struct coati_processes *ps, struct pid_slot *slot,
				     uint64_t time)
{
	struct process *process;
	struct pid_span *span;

	if (time >= slot->spans.v[0].from || has_no_span(ps, slot))
		return coati_pid_span(slot, time, NULL);
	process = process_new(ps, slot->pid);
	span = process ? insert_span(ps, slot, 0, process) : NULL;
	if (!span) {
		coati_free(process);
		return NULL;
	}
	process->is_implicit = true;
	return span;
}

static struct pid_span *start_process(struct coati_processes *ps, struct pid_slot *slot,
				      uint64_t time, int *ret_code)
{
	struct pid_span *span = coati_pid_span(slot, time, NULL);
	struct process *process;

	if (is_blank(slot, span, time)) {
		span->from = time;
		slot->to = 0;
		coati_numbers_expire(ps, slot);
		return span;
	}
	*ret_code = -E2BIG;
	if (has_no_span(ps, slot))
		return NULL;
	*ret_code = -ENOMEM;
	process = process_new(ps, slot->pid);
	span = process ? insert_span(ps, slot, time, process) : NULL;
	if (!span)
		coati_free(process);
	return span;
}

/* What the parent has at @time lies below. */
static int take_over(struct coati_processes *ps, struct space *space, int32_t ppid, uint64_t time)
{
	struct pid_slot *parent;
	int r;

	parent = coati_pid_slot_get(ps, ppid, &r);
	if (!parent)
		return r == -ENOMEM ? r : 0;
	space->has_base = true;
	space->base_pid = ppid;
	space->base_time = time;
	if (!parent->has_forked || time > parent->last_fork)
		parent->last_fork = time;
	parent->has_forked = true;
	return 0;
}

int coati_pid_fork(struct coati_processes *ps, int32_t pid, int32_t ppid, uint64_t time,
		   bool is_told)
{
	struct pid_slot *slot;
	struct pid_span *span;
	int r;

	slot = coati_pid_slot_get(ps, pid, &r);
	if (!slot)
		return r == -ENOMEM ? r : 0;
	if (is_told) {
		/* what runs already: not its beginning */
		span = coati_pid_span_told(ps, slot, time);
		if (!span)
			return -ENOMEM;
		span->process->is_implicit = false;
		span->process->ppid = ppid;
		return 0;
	}
	span = start_process(ps, slot, time, &r);
	if (!span)
		return r == -ENOMEM ? r : 0;
	span->process->is_implicit = false;
	span->process->ppid = ppid;
	span->process->start_time = time;
	return ppid == pid ? 0 : take_over(ps, span->space, ppid, time);
}

int coati_pid_exec(struct coati_processes *ps, int32_t pid, uint64_t time)
{
	struct process *p, *fresh = NULL;
	struct pid_slot *slot;
	struct pid_span *span;
	int r;

	slot = coati_pid_slot_get(ps, pid, &r);
	if (!slot)
		return r == -ENOMEM ? r : 0;
	if (has_no_span(ps, slot))
		return 0;
	span = coati_pid_span_told(ps, slot, time);
	if (!span)
		return -ENOMEM;
	p = span->process;
	/* all threads ended before: the fork of another process with that number was lost */
	if (!p->is_implicit && p->nr_alive <= 0 && p->exit_time < time) {
		fresh = process_new(ps, pid);
		if (!fresh)
			return -ENOMEM;
		fresh->start_time = time;
	}
	ps->stats.execs++;
	if (insert_span(ps, slot, time, fresh))
		return 0;
	coati_free(fresh);
	return -ENOMEM;
}

void coati_pid_exit(struct coati_processes *ps, int32_t pid, uint64_t time)
{
	struct pid_slot *slot = coati_pid_slot_find(ps, pid);
	struct process *p;

	if (!slot)
		return;
	p = coati_pid_span(slot, time, NULL)->process;
	p->nr_alive--;
	if (time > p->exit_time)
		p->exit_time = time;
}

int coati_pid_map(struct coati_processes *ps, struct pid_slot *slot, const struct range *m)
{
	struct pid_span *span = coati_pid_span_told(ps, slot, m->time);
	struct range known = { .start = 0, .end = UINT64_MAX };
	struct space *space;
	int r;

	if (!span)
		return -ENOMEM;
	space = span->space;
	if (ps->nr_mappings >= ps->max_mappings) {
		ps->over[LIMIT_MAPPINGS]++;
		ps->stats.refused++;
		return 0;
	}
	if (coati_ranges_find(&space->ranges, m->start, m->time, &known) || known.end < m->end)
		ps->stats.replaced++;
	r = coati_ranges_add(&space->ranges, m);
	if (r < 0)
		return r;
	ps->nr_mappings++;
	ps->stats.mappings++;
	slot->to = 0;
	if (r == 1)
		space->epoch = ps->next_epoch++;
	if (slot->has_forked && m->time <= slot->last_fork)
		coati_numbers_expire(ps, slot);
	return 0;
}
