/* SPDX-License-Identifier: MIT */
/* What the two files of the metrics share. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/array.h"
#include "fleet/metrics.h"
#include "live/serve-listen.h"

struct metrics_service {
	char *name;
	uint64_t cpu_ns, delay_ns;
};

struct metrics_task {
	char *service, *type;
	uint64_t count, sum_ns;
	uint64_t below[METRICS_BOUNDS];
};

struct metrics_sink {
	const struct agent_sink *sink;
	struct agent_sink_stats stats; /* of the last window: sinks have one caller */
};

struct metrics {
	pthread_mutex_t lock; /* over everything up to the thread's own */
	uint64_t windows, last_window_ns, folded_services;
	struct agent_quality sum;
	ARRAY(struct metrics_service) services;
	ARRAY(struct metrics_task) tasks;
	struct metrics_sink sinks[METRICS_SINKS];
	uint32_t nr_sinks;

	struct serve_place place; /* of the thread */
	pthread_t thread;
	int stop[2]; /* a pipe: its end says that it is over */
};

void coati_metrics_add(struct metrics *m, const struct agent_window *w);
