/* SPDX-License-Identifier: MIT */
/* The part of the validator that follows resources: their states, and their ends. */
#pragma once

#include "base/map.h"
#include "live-read/check.h"

/* The resources of a process. */
void coati_check_resources_init(struct map *m);
void coati_check_resources_fini(struct map *m);
/* Check an event of a resource, and remember its state. -ENOMEM. */
int coati_check_resource(struct coati_trace_check *c, struct map *resources,
			 const struct coati_trace_event *e);

/* check.c: report the first mistake in an event. */
__attribute__((format(printf, 3, 4))) void coati_check_wrong(struct coati_trace_check *c,
							     const struct coati_trace_event *e,
							     const char *fmt, ...);
