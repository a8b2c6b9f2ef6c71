/* SPDX-License-Identifier: MIT */
/*
 * The agent's numbers for Prometheus: a sink that adds windows up and a thread that answers GET
 * /metrics with them, in the text format or in OpenMetrics. It listens on loopback unless
 * configured otherwise, and checks requests as coati_serve() does: Host header, no other sites.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "agent/window.h"
#include "base/strbuf.h"

#define METRICS_SERVICES 200 /* with a name of their own; the rest is "other" */
#define METRICS_TASKS	 200
#define METRICS_BOUNDS	 16
#define METRICS_SINKS	 8

struct metrics_opts {
	const char *listen; /* localhost:9123, unix:/run/coati/metrics */
	bool anywhere;	    /* other machines may ask */
};

struct metrics;

int coati_metrics_new(const struct metrics_opts *opts, struct metrics **ret,
		      struct coati_error *err);
/* The numbers of @sink are shown, too; it must outlive the metrics. At most METRICS_SINKS. */
void coati_metrics_watch(struct metrics *m, const struct agent_sink *sink);
/* As a sink; closing it frees @m. */
struct agent_sink coati_metrics_sink(struct metrics *m);
/* The page. */
void coati_metrics_print(struct metrics *m, bool is_open, struct strbuf *to);
