/* SPDX-License-Identifier: MIT */
/*
 * Findings: what stands out in a recording, as a sentence with its evidence. Each kind is a
 * comparison of two numbers with fixed limits, so that a person can check it and a test can come
 * near it. Measuring (from a page) and judging (from numbers) are apart.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FINDINGS_MAX  5 /* that are shown */
#define FINDING_BYTES 400

enum finding_kind {
	FINDING_RUN_QUEUE = 0, /* threads that want to run wait for a CPU */
	FINDING_LOCK_CONVOY,   /* threads wait for locks that others hold */
	FINDING_BUSY_POLLING,  /* a thread asks again and again instead of waiting */
	FINDING_FAULT_STORM,   /* page faults take CPU time */
	FINDING_HOT_FUNCTION,  /* one function takes most of the CPU time */
	FINDING_LONG_TAIL,     /* the slowest tasks are far from the typical one */
	FINDING_KINDS,
};

/* What was measured about one kind. It is found when all three reach their limits. */
struct finding_measure {
	double share;	  /* of the time that it is about; LONG_TAIL: p99 / p50 */
	uint64_t ns;	  /* how much; HOT_FUNCTION with another unit: weight */
	uint64_t nr;	  /* samples, waits or tasks behind it */
	uint64_t threads; /* LOCK_CONVOY: that wait */
	bool is_known;	  /* the recording has what it takes to tell */
};

struct finding_limits {
	double share;
	uint64_t ns, nr, threads;
};

struct finding {
	enum finding_kind kind;
	char text[FINDING_BYTES];
	double score; /* for the order: how far above the limit */
	const char *view;
	/* evidence; what is not set is UINT32_MAX, 0 or NULL */
	const char *function, *image;
	int32_t pid, tid; /* 0: no thread */
	uint64_t from, to;
	uint32_t task;
	bool off_cpu;
};

const char *coati_finding_name(enum finding_kind kind);
const struct finding_limits *coati_finding_limits(enum finding_kind kind);
/* Whether it reaches its limits. */
bool coati_finding_holds(enum finding_kind kind, const struct finding_measure *m);

struct page;

struct findings {
	struct finding_measure measures[FINDING_KINDS];
	struct finding list[FINDING_KINDS]; /* the first nr, the strongest first */
	size_t nr;
};

/* Behind the parts of a page that have samples and timeline. 0, -ENOMEM. */
int coati_page_findings(struct page *p, struct findings *ret);
