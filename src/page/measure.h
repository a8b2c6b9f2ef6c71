/* SPDX-License-Identifier: MIT */
/* What findings are made of, measured from the samples and the timeline of a page. */
#pragma once

#include <stdint.h>

#include "page/findings.h"

/* Strings live as long as the page. */
struct measured {
	struct finding_measure measures[FINDING_KINDS];
	/* run queue: who waited longest, and when most waited */
	const char *queue_comm;
	int32_t queue_tid;
	uint64_t queue_worst_ns, queue_from, queue_to;
	const char *lock_function, *lock_image; /* that waited longest for locks */
	const char *poll_comm, *poll_function, *poll_image;
	int32_t poll_pid, poll_tid;
	const char *fault_function, *fault_image; /* that caused most page faults */
	const char *hot_function, *hot_image;
	const char *tail_type;
	uint64_t tail_p50, tail_max;
	uint32_t tail_task;
};

struct page;

/* 0, -ENOMEM. */
int coati_page_measure(struct page *p, struct measured *ret);
