/* SPDX-License-Identifier: MIT */
/* A timeline made of events, one call each. */
#pragma once

#include "lib/test.h"

#include "reading/wait.h"
#include "trace/timeline.h"

#define NONE COATI_TIMELINE_NONE

static inline struct coati_timeline *begin(uint64_t time)
{
	struct coati_timeline *t = NULL;

	CHECK_ERR(coati_timeline_new(NULL, &t, NULL), 0);
	CHECK_ERR(
		coati_timeline_add(t, &(struct coati_timeline_event){ .kind = COATI_TIMELINE_BEGIN,
								      .time = time }),
		0);
	return t;
}

static inline void add(struct coati_timeline *t, struct coati_timeline_event e)
{
	e.pid = e.pid ? e.pid : 10;
	e.stack = e.stack ? e.stack : NONE;
	CHECK_ERR(coati_timeline_add(t, &e), 0);
}

static inline void exists(struct coati_timeline *t, int32_t tid)
{
	add(t, (struct coati_timeline_event){ .kind = COATI_TIMELINE_EXISTS, .tid = tid });
}

static inline void in(struct coati_timeline *t, int32_t tid, uint64_t time)
{
	add(t,
	    (struct coati_timeline_event){ .kind = COATI_TIMELINE_IN, .tid = tid, .time = time });
}

static inline void out(struct coati_timeline *t, int32_t tid, uint64_t time, enum coati_wait wait)
{
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_OUT,
		       .tid = tid,
		       .time = time,
		       .wait = wait,
		       .flags = wait == COATI_WAIT_PREEMPTED ? COATI_TIMELINE_PREEMPTED : 0 });
}

static inline void irq_entry(struct coati_timeline *t, int32_t tid, uint64_t time, uint64_t number)
{
	add(t,
	    (struct coati_timeline_event){
		    .kind = COATI_TIMELINE_IRQ_ENTRY, .tid = tid, .time = time, .number = number });
}

static inline void irq_exit(struct coati_timeline *t, int32_t tid, uint64_t time, uint64_t number)
{
	add(t,
	    (struct coati_timeline_event){
		    .kind = COATI_TIMELINE_IRQ_EXIT, .tid = tid, .time = time, .number = number });
}

static inline void wake(struct coati_timeline *t, int32_t tid, int32_t whom, uint64_t time)
{
	add(t, (struct coati_timeline_event){
		       .kind = COATI_TIMELINE_WAKE, .tid = tid, .other = whom, .time = time });
}

/* Parameters: a line of a test's table. */
static inline void live(struct coati_timeline *t, enum coati_timeline_kind kind, int32_t tid,
			uint64_t time, uint64_t id, const char *text)
{
	add(t, (struct coati_timeline_event){
		       .kind = kind, .tid = tid, .time = time, .id = id, .text = text });
}

static inline void end(struct coati_timeline *t, uint64_t time)
{
	struct coati_error err = { 0 };

	CHECK_ERR(coati_timeline_end(t, time, &err), 0);
}
