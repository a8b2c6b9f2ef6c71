/* SPDX-License-Identifier: MIT */
/*
 * What had a tid, one after the other, and what it was called when. A thread begins with the name
 * of the one that made it. The last answer of each is kept with the time in which it holds.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/search.h"
#include "process/processes.h"

#define COMM_BYTES  255
#define PARENTS_MAX 64
#define IDLE_NAME   "swapper"

static struct tid_slot *find_slot(struct coati_processes *ps, int32_t tid)
{
	struct tid_slot **cached = &ps->thread_cache[(uint32_t)tid % SLOT_CACHE];
	uint64_t found;

	if (*cached && (*cached)->tid == tid)
		return *cached;
	if (!coati_map_get(&ps->tids, (uint32_t)tid, &found))
		return NULL;
	*cached = (struct tid_slot *)(uintptr_t)found;
	return *cached;
}

static void thread_free(struct thread *t)
{
	if (t)
		ARRAY_FINI(&t->comms);
	coati_free(t);
}

void coati_tid_slot_free(struct tid_slot *slot)
{
	if (!slot)
		return;
	for (size_t i = 0; i < slot->spans.len; i++)
		thread_free(slot->spans.v[i].thread);
	ARRAY_FINI(&slot->spans);
	coati_free(slot);
}

static struct thread *thread_new(struct coati_processes *ps, int32_t pid, int32_t tid)
{
	struct thread *t = coati_alloc(sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct thread){ .index = ps->next_thread++,
			      .pid = pid,
			      .tid = tid,
			      .end_time = UINT64_MAX,
			      .comms.max = COMMS_MAX };
	ps->stats.threads++;
	return t;
}

/* How many names are not later. */
static size_t comms_until(const struct thread *t, uint64_t time)
{
	return SEARCH(mid, 0, t->comms.len, t->comms.v[mid].time <= time);
}

/* What was reported about @old for later than @time belongs to @new. */
static int split(struct thread *old, uint64_t time, struct thread *new)
{
	for (size_t i = comms_until(old, time); i < old->comms.len; i++) {
		struct comm *c = ARRAY_ADD(&new->comms);

		if (!c)
			return -ENOMEM;
		*c = old->comms.v[i];
	}
	old->comms.len = comms_until(old, time);
	if (old->end_time != UINT64_MAX && old->end_time > time) {
		new->end_time = old->end_time;
		old->end_time = UINT64_MAX;
	}
	return 0;
}

/* A thread begins at @time. -ENOMEM, -E2BIG. */
static int insert(struct coati_processes *ps, struct tid_slot *slot, uint64_t time,
		  struct thread *t)
{
	size_t at = slot->spans.len ? SPAN_INDEX(slot, time) : 0, rest;
	int r = 0;

	if (ps->stats.threads > ps->max_threads)
		ps->over[LIMIT_THREADS]++;
	if (slot->spans.len >= SPANS_MAX || ps->stats.threads > ps->max_threads)
		return -E2BIG;
	if (!ARRAY_ADD(&slot->spans))
		return -ENOMEM;
	if (slot->spans.len > 1) {
		r = split(slot->spans.v[at].thread, time, t);
		at += slot->spans.v[at].from <= time;
	}
	if (r < 0) {
		slot->spans.len--;
		return r;
	}
	rest = slot->spans.len - 1 - at;
	memmove(&slot->spans.v[at + 1], &slot->spans.v[at], rest * sizeof(slot->spans.v[0]));
	slot->spans.v[at] = (struct tid_span){ .from = time, .thread = t };
	ps->thread_change++;
	return 0;
}

/* Without spans when it is new. */
static struct tid_slot *get_slot(struct coati_processes *ps, int32_t tid, int *ret_code)
{
	struct tid_slot *slot = find_slot(ps, tid);
	int r;

	*ret_code = 0;
	if (slot)
		return slot;
	slot = coati_alloc(sizeof(*slot));
	if (!slot) {
		*ret_code = -ENOMEM;
		return NULL;
	}
	*slot = (struct tid_slot){ .tid = tid, .spans.max = SPANS_MAX };
	r = coati_map_put(&ps->tids, (uint32_t)tid, (uintptr_t)slot);
	if (r < 0) {
		ps->over[LIMIT_THREADS] += r == -E2BIG;
		ps->stats.refused += r == -E2BIG;
		coati_tid_slot_free(slot);
		*ret_code = r;
		return NULL;
	}
	return slot;
}

static struct thread *add_thread(struct coati_processes *ps, struct tid_slot *slot, int32_t pid,
				 uint64_t time, int *ret_code)
{
	struct thread *t = thread_new(ps, pid, slot->tid);

	*ret_code = t ? insert(ps, slot, time, t) : -ENOMEM;
	if (*ret_code == 0)
		return t;
	ps->stats.threads -= t != NULL;
	ps->stats.refused += *ret_code == -E2BIG;
	thread_free(t);
	return NULL;
}

/* The thread at that time; made up when it has no records, or only those of another process. */
static struct thread *get_thread(struct coati_processes *ps, int32_t pid, int32_t tid,
				 uint64_t time, int *ret_code)
{
	struct tid_slot *slot = get_slot(ps, tid, ret_code);
	struct thread *t;
	bool is_first;

	if (!slot)
		return NULL;
	is_first = !slot->spans.len;
	t = is_first ? NULL : slot->spans.v[SPAN_INDEX(slot, time)].thread;
	if (t && (t->pid == pid || pid < 0))
		return t;
	if (t && t->is_implicit && !t->is_used) {
		t->pid = pid;
		ps->thread_change++;
		return t;
	}
	t = add_thread(ps, slot, pid, is_first ? 0 : time, ret_code);
	if (t)
		t->is_implicit = true;
	return t;
}

int coati_tid_fork(struct coati_processes *ps, const struct coati_task *task, uint64_t time,
		   bool is_told)
{
	int32_t pid = (int32_t)task->pid, tid = (int32_t)task->tid;
	struct tid_slot *slot;
	struct thread *t;
	int r;

	slot = get_slot(ps, tid, &r);
	if (!slot)
		return r == -ENOMEM ? r : 0;
	t = slot->spans.len ? slot->spans.v[SPAN_INDEX(slot, time)].thread : NULL;
	if (t && is_told && t->pid == pid) {
		t->is_implicit = false; /* known already */
		return 0;
	}
	if (t && t->is_implicit && !t->is_used && !comms_until(t, time) && slot->spans.len == 1) {
		slot->spans.v[0].from = is_told ? 0 : time;
		t->pid = pid;
	} else {
		t = add_thread(ps, slot, pid, time, &r);
		if (!t)
			return r == -ENOMEM ? r : 0;
	}
	ps->thread_change++;
	t->is_implicit = false;
	t->start_time = is_told ? 0 : time;
	t->ptid = is_told ? 0 : (int32_t)task->ptid;
	return 0;
}

void coati_tid_exit(struct coati_processes *ps, int32_t tid, uint64_t time)
{
	struct tid_slot *slot = find_slot(ps, tid);

	if (!slot || !slot->spans.len)
		return;
	slot->spans.v[SPAN_INDEX(slot, time)].thread->end_time = time;
	ps->thread_change++;
}

int coati_tid_comm(struct coati_processes *ps, const struct coati_comm *comm, uint64_t time)
{
	struct thread *t;
	const char *name;
	struct comm *last;
	size_t at;
	int r;

	t = get_thread(ps, (int32_t)comm->pid, (int32_t)comm->tid, time, &r);
	if (!t)
		return r == -ENOMEM ? r : 0;
	name = coati_processes_name(ps, comm->name, COMM_BYTES);
	if (!name)
		return -ENOMEM;
	at = comms_until(t, time);
	if (t->comms.len >= COMMS_MAX) {
		ps->stats.refused++;
		return 0;
	}
	last = ARRAY_ADD(&t->comms);
	if (!last)
		return -ENOMEM;
	memmove(&t->comms.v[at + 1], &t->comms.v[at], (t->comms.len - 1 - at) * sizeof(*last));
	t->comms.v[at] = (struct comm){ .time = time, .name = name };
	ps->thread_change++;
	return 0;
}

int coati_tid_cgroup(struct coati_processes *ps, int32_t pid, int32_t tid, uint64_t cgroup)
{
	struct tid_slot *slot = find_slot(ps, tid);
	struct thread *t;
	int r = 0;

	t = slot && slot->spans.len ? slot->spans.v[slot->spans.len - 1].thread
				    : get_thread(ps, pid, tid, UINT64_MAX, &r);
	if (!t)
		return r == -ENOMEM ? r : 0;
	if (t->cgroup != cgroup)
		ps->thread_change++;
	t->cgroup = cgroup;
	return 0;
}

/* Its name at @time, or that of the one that made it; [from, to) is narrowed to when that is so.
 * NULL: it is unknown. */
static const char *name_at(struct coati_processes *ps, const struct thread *t, uint64_t time,
			   struct tid_slot *window)
{
	size_t nr = comms_until(t, time);

	if (nr && t->comms.v[nr - 1].time > window->from)
		window->from = t->comms.v[nr - 1].time;
	if (nr < t->comms.len && t->comms.v[nr].time < window->to)
		window->to = t->comms.v[nr].time;
	for (int i = 0; !nr && t->ptid > 0 && i < PARENTS_MAX; i++) {
		struct tid_slot *slot = find_slot(ps, t->ptid);

		time = t->start_time;
		if (!slot || !slot->spans.len)
			return NULL;
		t = slot->spans.v[SPAN_INDEX(slot, time)].thread;
		nr = comms_until(t, time);
	}
	return nr ? t->comms.v[nr - 1].name : NULL;
}

/* The last moment in which the number is that of @process. False: it never is. */
static bool last_time(const struct pid_slot *slot, uint32_t process, uint64_t *ret)
{
	*ret = UINT64_MAX;
	for (size_t i = slot->spans.len; i-- > 0;) {
		const struct pid_span *span = &slot->spans.v[i];

		if (span->process->index == process)
			return true;
		*ret = span->from ? span->from - 1 : 0;
	}
	return false;
}

const char *coati_process_last_comm(struct coati_processes *ps, int32_t pid, uint32_t process)
{
	const struct pid_slot *slot = coati_pid_slot_find(ps, pid);
	struct tid_slot *leader = find_slot(ps, pid), window = { .to = UINT64_MAX };
	const struct thread *t;
	uint64_t last;

	if (!slot || !leader || !leader->spans.len || !last_time(slot, process, &last))
		return NULL;
	t = leader->spans.v[SPAN_INDEX(leader, last)].thread;
	return t->pid == pid ? name_at(ps, t, last, &window) : NULL;
}

static const char *made_up_name(struct coati_processes *ps, int32_t tid)
{
	char text[16];

	if (tid == 0)
		return IDLE_NAME;
	snprintf(text, sizeof(text), ":%d", tid);
	return coati_processes_name(ps, text, sizeof(text));
}

/* The process part, and the name of its first thread. */
static int add_process(struct coati_processes *ps, uint64_t time, struct tid_slot *slot)
{
	struct coati_thread_info *info = &slot->info;
	struct tid_slot *leader;
	struct pid_span *span;
	struct pid_slot *ps_slot;
	uint64_t to;
	int r;

	ps_slot = coati_pid_slot_get(ps, info->pid, &r);
	if (!ps_slot)
		return r;
	span = coati_pid_span(ps_slot, time, &to);
	span->process->is_used = true;
	if (span != ps_slot->spans.v && span->from > slot->from)
		slot->from = span->from;
	slot->to = to < slot->to ? to : slot->to;
	info->process = span->process->index;
	info->ppid = span->process->ppid;
	info->pid_ns = span->process->pid_ns;
	info->mnt_ns = span->process->mnt_ns;
	if (info->tid == info->pid) {
		info->process_comm = info->comm;
		return 0;
	}
	leader = find_slot(ps, info->pid);
	if (leader && leader->spans.len) {
		size_t i = SPAN_INDEX(leader, time);

		if (i && leader->spans.v[i].from > slot->from)
			slot->from = leader->spans.v[i].from;
		if (i + 1 < leader->spans.len && leader->spans.v[i + 1].from < slot->to)
			slot->to = leader->spans.v[i + 1].from;
		info->process_comm = name_at(ps, leader->spans.v[i].thread, time, slot);
	}
	if (!info->process_comm)
		info->process_comm = made_up_name(ps, info->pid);
	return info->process_comm ? 0 : -ENOMEM;
}

static int make_info(struct coati_processes *ps, struct tid_slot *slot, struct thread *t,
		     uint64_t time)
{
	size_t i = SPAN_INDEX(slot, time);
	int r;

	t->is_used = true;
	slot->from = i ? slot->spans.v[i].from : 0;
	slot->to = i + 1 < slot->spans.len ? slot->spans.v[i + 1].from : UINT64_MAX;
	slot->info = (struct coati_thread_info){ .pid = t->pid,
						 .tid = t->tid,
						 .thread = t->index,
						 .start_time = t->start_time,
						 .end_time = t->end_time,
						 .cgroup = t->cgroup };
	slot->info.comm = name_at(ps, t, time, slot);
	if (!slot->info.comm)
		slot->info.comm = made_up_name(ps, t->tid);
	r = slot->info.comm ? add_process(ps, time, slot) : -ENOMEM;
	slot->change = ps->thread_change;
	if (r < 0)
		slot->to = 0; /* half an answer is none */
	return r;
}

/* Over the ceiling, or without memory: what the question says. */
static int plain_info(struct coati_processes *ps, int32_t pid, int32_t tid,
		      struct coati_thread_info *ret)
{
	snprintf(ps->overflow_comm, sizeof(ps->overflow_comm), ":%d", tid);
	*ret = (struct coati_thread_info){ .pid = pid,
					   .tid = tid,
					   .process = UINT32_MAX,
					   .thread = UINT32_MAX,
					   .comm = ps->overflow_comm,
					   .process_comm = ps->overflow_comm,
					   .end_time = UINT64_MAX };
	return 0;
}

int coati_processes_thread(struct coati_processes *ps, int32_t pid, int32_t tid, uint64_t time,
			   struct coati_thread_info *ret)
{
	struct tid_slot *slot = find_slot(ps, tid);
	struct pid_slot *process;
	struct thread *t;
	int r = 0;

	if (slot && slot->change == ps->thread_change && time >= slot->from && time < slot->to &&
	    slot->info.pid == pid) {
		*ret = slot->info;
		return 0;
	}
	if (ps->flags & COATI_PROCESSES_LIVE && pid > 0) {
		process = coati_pid_slot_get(ps, pid, &r);
		if (process && !process->was_read)
			(void)coati_processes_read(ps, process);
	}
	t = get_thread(ps, pid, tid, time, &r);
	if (t && ps->flags & COATI_PROCESSES_LIVE && t->is_implicit && !t->comms.len &&
	    !t->was_read) {
		t->was_read = true;
		r = coati_processes_read_thread(ps, pid, tid);
		t = r < 0 ? NULL : t;
	}
	r = t ? make_info(ps, find_slot(ps, tid), t, time) : r;
	if (r < 0) {
		plain_info(ps, pid, tid, ret);
		return r;
	}
	*ret = find_slot(ps, tid)->info;
	return 0;
}
