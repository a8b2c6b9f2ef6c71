/* SPDX-License-Identifier: MIT */
/* What a program does with the macros of the public headers, in the subset that C99 and C++17
 * share. */
#ifndef COATI_TESTS_USE_H
#define COATI_TESTS_USE_H

#include <coati/coati.h>
#include <coati/frames.h>
#include <coati/live.h>

static inline int use_targets(const struct coati_attr *attr, struct coati_event **ret,
			      struct coati_error *err)
{
	int r = coati_event_open(attr, &COATI_SELF, NULL, ret, err);

	return r < 0 ? r : coati_event_open(attr, &COATI_ON(-1, 0), NULL, ret, err);
}

static inline uint64_t use_bits(void)
{
	return COATI_ATTR_DISABLED | COATI_SAMPLE_IP | COATI_READ_GROUP |
	       COATI_CACHE(COATI_CACHE_L1D, 0, 0);
}

static inline int use_labels(const char *tenant)
{
	struct coati_labels all;

	COATI_LABEL("tenant", tenant);
	COATI_LABEL("route", "/");
	coati_labels_snapshot(&all);
	return (int)all.size;
}

static inline const char *use_versions(void)
{
	return COATI_VERSION_MAJOR ? coati_version() : coati_live_version();
}

static inline void use_tracer(struct coati_live_task *task)
{
	COATI_REGION("region");
	COATI_REGION_NAMED("named");
	COATI_FRAME("frame");
	COATI_REGION_IN("category", "region");
	COATI_REGION_LAZY("region", 100);
	COATI_REGION_STACK("region");
	COATI_TASK_BEGIN(task, "task", NULL);
	COATI_TASK_SCOPE(task);
	COATI_LOG("category", "%d", 1);
	COATI_COUNTER("counter", 1);
	COATI_GAUGE("gauge", 0.5);
	COATI_EVENT("event", "fd:i from:s", (int64_t)1, "me");
	COATI_INSTANT("instant");
	COATI_FLOW_BEGIN("flow", 1);
	COATI_FLOW_STEP("flow", 1);
	COATI_FLOW_END("flow", 1);
	coati_task_end(task);
}

#endif
