/* SPDX-License-Identifier: MIT */
/* Threads of a page: those of the timeline, then others that have samples or live events. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "page/page.h"
#include "reading/parts.h"
#include "trace/timeline.h"

static uint64_t key_of(int32_t pid, int32_t tid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

static uint32_t add_thread(struct page *p, const struct page_thread *t)
{
	struct page_thread *slot = ARRAY_ADD(&p->threads);
	uint64_t key = key_of(t->pid, t->tid), known;

	if (!slot)
		return PAGE_NONE;
	*slot = *t;
	if (!coati_map_get(&p->thread_index, key, &known) &&
	    coati_map_put(&p->thread_index, key, p->threads.len - 1) < 0)
		return PAGE_NONE;
	return (uint32_t)p->threads.len - 1;
}

uint32_t coati_page_thread(struct page *p, int32_t pid, int32_t tid, const char *comm)
{
	struct page_thread t = { .pid = pid, .tid = tid, .timeline = PAGE_NONE, .end = UINT64_MAX };
	uint64_t known;

	if (coati_map_get(&p->thread_index, key_of(pid, tid), &known))
		return (uint32_t)known;
	t.comm = coati_page_text(&p->names, comm);
	return add_thread(p, &t);
}

static int take_timeline(struct page *p)
{
	struct coati_timeline_thread th;

	for (uint32_t i = 0; p->timeline && coati_timeline_thread(p->timeline, i, &th) == 0; i++) {
		struct page_thread t = { .pid = th.pid,
					 .tid = th.tid,
					 .comm = coati_page_text(&p->names, th.comm),
					 .timeline = i,
					 .begin = page_time(p, th.begin),
					 .end = page_time(p, th.end) };

		if (add_thread(p, &t) == PAGE_NONE)
			return -ENOMEM;
	}
	return 0;
}

/* Names of processes: as the profile knows them, or the name of the main thread. */
static void name_processes(struct page *p)
{
	for (size_t i = 0; i < p->threads.len; i++) {
		struct page_thread *t = &p->threads.v[i];
		uint64_t leader;

		if (!t->process && coati_map_get(&p->thread_index, key_of(t->pid, t->pid), &leader))
			t->process = p->threads.v[leader].comm;
		if (!t->process)
			t->process = t->comm;
	}
}

/* A thread of the profile is one under one name: two of them may be one here. */
static int take_profile(struct page *p)
{
	struct column *thread = coati_columns_add(&p->columns, "pt.thread", COLUMN_UINT);
	struct column *comm = coati_columns_add(&p->columns, "pt.comm", COLUMN_UINT);

	for (uint32_t i = 0; i < coati_profile_thread_count(p->profile); i++) {
		const struct coati_profile_thread *t = coati_profile_thread(p->profile, i);
		uint32_t at = coati_page_thread(p, t->pid, t->tid, t->comm);

		if (at == PAGE_NONE)
			return -ENOMEM;
		if (t->process_comm && *t->process_comm && t->process_comm[0] != ':')
			p->threads.v[at].process = coati_page_text(&p->names, t->process_comm);
		coati_column_put(thread, at);
		coati_column_put(comm, coati_page_text(&p->names, t->comm));
	}
	return 0;
}

int coati_page_put_threads(struct page *p)
{
	struct column *pid = coati_columns_add(&p->columns, "th.pid", COLUMN_DELTA);
	struct column *tid = coati_columns_add(&p->columns, "th.tid", COLUMN_DELTA);
	struct column *comm = coati_columns_add(&p->columns, "th.comm", COLUMN_UINT);
	struct column *process = coati_columns_add(&p->columns, "th.process", COLUMN_UINT);
	struct column *begin = coati_columns_add(&p->columns, "th.begin", COLUMN_DELTA);
	struct column *end = coati_columns_add(&p->columns, "th.end", COLUMN_DELTA);
	int r = take_timeline(p);

	if (r == 0)
		r = take_profile(p);
	for (size_t i = 0; i < p->live.threads.len && r == 0; i++) {
		const struct live_thread *t = &p->live.threads.v[i];

		if (t->tells &&
		    coati_page_thread(p, t->pid, t->tid, t->name ? t->name : "") == PAGE_NONE)
			r = -ENOMEM;
	}
	name_processes(p);
	for (size_t i = 0; i < p->threads.len; i++) {
		const struct page_thread *t = &p->threads.v[i];

		coati_column_put(pid, (uint64_t)t->pid);
		coati_column_put(tid, (uint64_t)t->tid);
		coati_column_put(comm, t->comm);
		coati_column_put(process, t->process);
		coati_column_put(begin, t->begin);
		coati_column_put(end, t->end == UINT64_MAX ? p->end - p->begin : t->end);
	}
	return r;
}
