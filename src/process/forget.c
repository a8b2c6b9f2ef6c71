/* SPDX-License-Identifier: MIT */
/*
 * Forgetting: for captures that run for days. What ended before the given time goes; of what goes
 * on, only what is seen at that time stays. Forks that still look into their parent's past get a
 * copy of what they see there first. Without memory less is forgotten.
 */
#include <string.h>

#include "base/alloc.h"
#include "process/processes.h"

static void new_epoch(struct coati_processes *ps, struct space *s)
{
	s->epoch = ps->next_epoch++;
}

/* The space stands on its own from now on. */
static bool cut_base(struct coati_processes *ps, struct pid_slot *slot, struct pid_span *span)
{
	struct space *space = span->space;
	struct range_list below = { 0 };
	size_t before = space->ranges.log.len + space->ranges.late.len;
	struct pid_slot *parent = coati_pid_slot_find(ps, space->base_pid);
	int r = 0;

	if (parent && parent != slot)
		r = coati_processes_view(ps, parent, space->base_time, &below);
	if (r == 0)
		r = coati_ranges_put_below(&space->ranges, below.v, below.len);
	if (r == 0) {
		ps->nr_mappings += space->ranges.log.len - before;
		space->has_base = false;
		new_epoch(ps, space);
	}
	coati_free(below.v);
	return r == 0;
}

static bool cut_bases(struct coati_processes *ps, uint64_t before)
{
	uint64_t key, value;
	size_t pos = 0;
	bool all = true;

	while (coati_map_next(&ps->pids, &pos, &key, &value)) {
		struct pid_slot *slot = (struct pid_slot *)(uintptr_t)value;

		for (size_t i = 0; i < slot->spans.len; i++) {
			struct pid_span *span = &slot->spans.v[i];
			bool over = i + 1 < slot->spans.len && slot->spans.v[i + 1].from <= before;

			if (!over && span->space->has_base && span->space->base_time < before)
				all &= cut_base(ps, slot, span);
		}
	}
	return all;
}

/* Spans that were over, but the last one. */
static void drop_spans(struct coati_processes *ps, struct pid_slot *slot, uint64_t before)
{
	struct pid_slot gone = { 0 };
	size_t nr = 0;

	while (nr + 1 < slot->spans.len && slot->spans.v[nr + 1].from <= before)
		nr++;
	if (!nr)
		return;
	/* a process may go on in a later span */
	for (size_t i = 0; i < nr; i++)
		if (slot->spans.v[i].process == slot->spans.v[nr].process)
			slot->spans.v[i].process = NULL;
	gone.spans.v = slot->spans.v;
	gone.spans.len = nr;
	for (size_t i = 0; i < nr; i++) {
		struct process *p = gone.spans.v[i].process;

		ps->nr_mappings -= gone.spans.v[i].space->ranges.log.len +
				   gone.spans.v[i].space->ranges.late.len;
		ps->nr_spaces--;
		coati_ranges_fini(&gone.spans.v[i].space->ranges);
		coati_free(gone.spans.v[i].space);
		if (p && (i + 1 == nr || gone.spans.v[i + 1].process != p))
			coati_free(p);
	}
	slot->spans.len -= nr;
	memmove(slot->spans.v, slot->spans.v + nr, slot->spans.len * sizeof(slot->spans.v[0]));
	slot->spans.v[0].is_start = true;
}

static void forget_slot(struct coati_processes *ps, struct pid_slot *slot, uint64_t before)
{
	int64_t gone;

	drop_spans(ps, slot, before);
	gone = coati_ranges_forget(&slot->spans.v[0].space->ranges, before);
	if (gone > 0) {
		ps->nr_mappings -= (uint64_t)gone;
		new_epoch(ps, slot->spans.v[0].space);
	}
	slot->to = 0;
}

static bool is_over(const struct pid_slot *slot, uint64_t before)
{
	const struct process *p = slot->spans.v[slot->spans.len - 1].process;

	return p->nr_alive <= 0 && p->exit_time && p->exit_time < before;
}

static void forget_processes(struct coati_processes *ps, uint64_t before)
{
	uint64_t key, value;
	size_t pos = 0;

	while (coati_map_next(&ps->pids, &pos, &key, &value)) {
		struct pid_slot *slot = (struct pid_slot *)(uintptr_t)value;

		if (!is_over(slot, before)) {
			forget_slot(ps, slot, before);
			continue;
		}
		coati_pid_slot_fini(ps, slot);
		coati_free(slot);
		coati_map_del(&ps->pids, key);
		pos = pos ? pos - 1 : 0; /* the gap was closed by what came behind it */
	}
	memset(ps->slot_cache, 0, sizeof(ps->slot_cache));
}

static void forget_threads(struct coati_processes *ps, uint64_t before)
{
	uint64_t key, value;
	size_t pos = 0;

	while (coati_map_next(&ps->tids, &pos, &key, &value)) {
		struct tid_slot *slot = (struct tid_slot *)(uintptr_t)value;
		const struct thread *last =
			slot->spans.len ? slot->spans.v[slot->spans.len - 1].thread : NULL;

		if (last && last->end_time >= before)
			continue;
		ps->stats.threads -= slot->spans.len;
		coati_tid_slot_free(slot);
		coati_map_del(&ps->tids, key);
		pos = pos ? pos - 1 : 0;
	}
	memset(ps->thread_cache, 0, sizeof(ps->thread_cache));
	ps->thread_change++;
}

void coati_processes_forget(struct coati_processes *ps, uint64_t before_time)
{
	ps->inherit_epoch++;
	if (!cut_bases(ps, before_time))
		return;
	forget_processes(ps, before_time);
	forget_slot(ps, &ps->kernel, before_time);
	forget_threads(ps, before_time);
	memset(ps->found, 0, sizeof(ps->found));
}
