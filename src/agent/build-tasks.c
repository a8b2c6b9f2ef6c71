/* SPDX-License-Identifier: MIT */
/* Latencies of tasks in a window, by service and type. See build.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/build-parts.h"
#include "agent/machine.h"
#include "base/alloc.h"
#include "base/buckets.h"

struct tally {
	uint32_t service;
	const char *type;
	uint64_t duration_ns;
};

static int by_type(const void *va, const void *vb)
{
	const struct tally *a = va, *b = vb;
	int type = strcmp(a->type, b->type);

	if (a->service != b->service)
		return a->service < b->service ? -1 : 1;
	if (type)
		return type;
	return a->duration_ns < b->duration_ns ? -1 : a->duration_ns > b->duration_ns;
}

/* Of one type, by duration: rising buckets. */
static int add_type(struct agent_build *b, const struct tally *v, size_t nr)
{
	struct agent_bucket *buckets = coati_arena_alloc(&b->arena, nr * sizeof(*buckets));
	struct agent_tasks *t = buckets ? ARRAY_ADD(&b->tasks) : NULL;

	if (!t)
		return -ENOMEM;
	*t = (struct agent_tasks){ .service = v[0].service,
				   .type = v[0].type,
				   .count = nr,
				   .max_ns = v[nr - 1].duration_ns,
				   .buckets = buckets };
	for (size_t i = 0; i < nr; i++) {
		uint32_t bucket = bucket_of(v[i].duration_ns);

		t->sum_ns += v[i].duration_ns;
		if (!t->nr_buckets || buckets[t->nr_buckets - 1].bucket != bucket)
			buckets[t->nr_buckets++].bucket = bucket;
		buckets[t->nr_buckets - 1].count++;
	}
	return 0;
}

static int add_types(struct agent_build *b, struct tally *v, size_t nr)
{
	size_t from = 0;
	int r = 0;

	if (nr)
		qsort(v, nr, sizeof(*v), by_type);
	for (size_t i = 1; i <= nr && r == 0; i++)
		if (i == nr || v[i].service != v[from].service ||
		    strcmp(v[i].type, v[from].type) != 0) {
			r = add_type(b, v + from, i - from);
			from = i;
		}
	return r;
}

/* As its samples say, so that both are of one service; it may have none, or be gone. */
static void name_program(const struct agent_build *b, int32_t pid, char ret[AGENT_PROGRAM_MAX])
{
	for (size_t i = 0; i < b->processes.len; i++)
		if (b->processes.v[i].pid == pid) {
			snprintf(ret, AGENT_PROGRAM_MAX, "%s", b->processes.v[i].name);
			return;
		}
	coati_machine_program_of(pid, ret);
}

int coati_build_tasks(struct agent_build *b, struct agent_live *live, uint64_t end_ns)
{
	struct tally *v = coati_alloc_array(live->tasks.len + 1, sizeof(*v));
	char program[AGENT_PROGRAM_MAX];
	size_t nr = 0, kept = 0, nr_seen = 0;
	int32_t last = 0;
	int r;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < live->tasks.len; i++) {
		const struct agent_task_end t = live->tasks.v[i];
		uint32_t service;

		if (t.time_ns >= end_ns) {
			live->tasks.v[kept++] = t;
			continue;
		}
		if (!nr_seen++ || t.pid != last)
			name_program(b, t.pid, program);
		last = t.pid;
		service = coati_agent_build_service_of(b, t.pid, program);
		if (service != UINT32_MAX)
			v[nr++] = (struct tally){ service, t.type, t.duration_ns };
	}
	live->tasks.len = kept;
	r = add_types(b, v, nr);
	coati_free(v);
	return r;
}
