/* SPDX-License-Identifier: MIT */
/*
 * CPU time and run delay of the services of a window. Counters of cgroups and threads only rise:
 * what is reported is the difference to the last reading, so that a service is measured from its
 * second window on.
 */
#include <errno.h>
#include <string.h>

#include "agent/machine.h"
#include "base/alloc.h"
#include "cli/agent/session.h"

#define COUNTERS_MAX	    65536
#define DELAY_PROCESSES_MAX 512 /* whose threads are asked for in one window */

/* The difference to the last look; false: there was none. */
static bool since_last(struct map *m, uint64_t key, uint64_t now, uint64_t *ret)
{
	uint64_t before;
	bool known = coati_map_get(m, key, &before) && now >= before;

	*ret = known ? now - before : 0;
	coati_map_put(m, key, now);
	return known;
}

static void keep_small(struct map *m)
{
	if (m->len < COUNTERS_MAX / 2)
		return;
	coati_map_fini(m);
	coati_map_init(m, COUNTERS_MAX);
}

static void measure_cpu(struct agent_session *s, struct agent_service *v)
{
	uint64_t key = coati_hash_bytes(v->cgroup, strlen(v->cgroup), 1), now, used;

	/* the root is everybody's */
	if (v->kind == AGENT_SERVICE_PROGRAM || v->kind == AGENT_SERVICE_KERNEL ||
	    strlen(v->cgroup) < 2 || coati_machine_cgroup_cpu(v->cgroup, &now) < 0)
		return;
	if (since_last(&s->cgroup_cpu, key, now, &used)) {
		v->cpu_ns = used;
		v->has |= AGENT_HAS_CPU;
	}
}

static void measure_delay(struct agent_session *s, uint32_t service, const struct agent_process *p)
{
	struct agent_service *v = &s->build.services.v[service];
	uint64_t now, waited;

	if (coati_machine_run_delay(p->pid, &now) < 0 ||
	    !since_last(&s->run_delay, (uint64_t)(uint32_t)p->pid << 32 ^ p->start_ns, now,
			&waited))
		return;
	v->delay_ns += waited;
	v->has |= AGENT_HAS_DELAY;
}

void coati_agent_services_measure(struct agent_session *s)
{
	struct agent_build *b = &s->build;
	uint32_t nr = 0;
	bool *seen = coati_alloc_array(b->processes.len + 1, sizeof(*seen));

	keep_small(&s->cgroup_cpu);
	keep_small(&s->run_delay);
	for (size_t i = 0; i < b->services.len; i++)
		measure_cpu(s, &b->services.v[i]);
	for (size_t i = 0; seen && i < b->rows.len && nr < DELAY_PROCESSES_MAX; i++) {
		const struct agent_row *row = &b->rows.v[i];

		if (seen[row->process])
			continue;
		seen[row->process] = true;
		nr++;
		measure_delay(s, row->service, &b->processes.v[row->process]);
	}
	coati_free(seen);
}
