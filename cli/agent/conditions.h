/* SPDX-License-Identifier: MIT */
/*
 * Conditions of an armed agent: "cpu > 90%", "psi.io > 20", "run-delay > 500ms",
 * "task.p99(request) > 50ms", "latency.p99(/usr/bin/app:handle) > 5ms",
 * "rate(page-faults) > 10000". Asked about once a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/event.h>

#include "agent/feed.h"
#include "agent/machine.h"
#include "cli/agent/latency.h"

enum condition_kind {
	CONDITION_CPU,	    /* per cent of all CPUs, since the last look */
	CONDITION_PRESSURE, /* per cent, as the kernel says */
	CONDITION_DELAY,    /* time that threads waited for CPUs, ns in a second */
	CONDITION_TASK,	    /* percentile of latencies of the last seconds, ns */
	CONDITION_RATE,	    /* of an event, in a second */
	CONDITION_LATENCY,  /* percentile of how long calls of a function took, ns */
};

struct agent_condition {
	const char *text; /* the caller's */
	enum condition_kind kind;
	bool below; /* "<" */
	double limit;
	/* of a task type, a function or an event; "cpu", "io", "memory" of a pressure */
	char name[256];
	uint32_t percent; /* of a percentile */
	/* the last look */
	uint64_t at_ns, count;
	uint64_t since_ns; /* when the longest task or call of the look began; 0: it is of none */
	struct machine_cpu cpu;
	struct coati_event_list *list;
	struct coati_set *set;
	struct latency *latency;
};

/* -EINVAL with a sentence. */
int coati_agent_condition_parse(struct agent_condition *c, const char *text,
				struct coati_error *err);
/* Open what it counts. */
int coati_agent_condition_open(struct agent_condition *c, struct coati_error *err);
void coati_agent_condition_close(struct agent_condition *c);

/* The last tasks that ended, for percentiles. */
#define RECENT_TASKS 4096
struct recent_tasks {
	struct agent_task_end v[RECENT_TASKS];
	uint32_t next;
	uint64_t nr;
};
void coati_recent_add(struct recent_tasks *r, const struct agent_task_end *t);

/* Does it hold now? *ret_value: what was measured. The first look only begins. */
bool coati_agent_condition_holds(struct agent_condition *c, const struct recent_tasks *tasks,
				 uint64_t now_ns, double *ret_value);
