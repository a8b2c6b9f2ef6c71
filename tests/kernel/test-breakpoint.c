/* SPDX-License-Identifier: MIT */
/* Breakpoints with exact hit counts on the real kernel. */
#include <stdlib.h>
#include <unistd.h>

#include "event/breakpoint.h"
#include "need.h"

#define TIMES 500

static volatile uint64_t watched __attribute__((aligned(8)));
static volatile uint64_t neighbor __attribute__((aligned(8)));

__attribute__((noinline)) static void called(void)
{
	__asm__ volatile("" : : : "memory");
}

static void (*volatile call_it)(void) = called;

static void write_many(void *unused)
{
	for (uint64_t i = 0; i < TIMES; i++)
		watched = i;
}

static void read_many(void *unused)
{
	for (int i = 0; i < TIMES; i++)
		(void)watched;
}

static void write_neighbour(void *unused)
{
	for (uint64_t i = 0; i < TIMES; i++)
		neighbor = i;
}

static void call_many(void *unused)
{
	for (int i = 0; i < TIMES; i++)
		call_it();
}

/* Open a breakpoint on ourselves, stopped; skip where the machine has no debug registers. */
static struct coati_event *watch(const volatile void *addr, uint64_t length, const char *access)
{
	struct coati_attr attr = { .flags = COATI_ATTR_DISABLED | COATI_ATTR_EXCLUDE_KERNEL };
	struct coati_error err = { 0 };
	struct coati_event *ev = NULL;

	need_perf();
	if (coati_breakpoint_attr(&(struct breakpoint){ (uintptr_t)addr, length, access }, &attr,
				  NULL, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	if (coati_event_open(&attr, &COATI_SELF, NULL, &ev, &err) < 0)
		test_skip_need("breakpoint", "%s", err.text);
	return ev;
}

static uint64_t hits(struct coati_event *ev, void (*fn)(void *))
{
	struct coati_count c;

	CHECK_OK(coati_event_measure(ev, fn, NULL, &c, NULL));
	return c.value;
}

TEST(breakpoint_on_writes_counts_each_write_and_nothing_else)
{
	struct coati_event *ev = watch(&watched, 8, "w");

	CHECK_U64(hits(ev, write_many), ==, TIMES);
	CHECK_U64(hits(ev, read_many), ==, 0);
	CHECK_U64(hits(ev, write_neighbour), ==, 0);
	coati_event_close(&ev);
}

TEST(breakpoint_on_reads_and_writes_counts_both)
{
	struct coati_event *ev = watch(&watched, 8, "");

	CHECK_U64(hits(ev, write_many), ==, TIMES);
	CHECK_U64(hits(ev, read_many), ==, TIMES);
	coati_event_close(&ev);
}

TEST(breakpoint_on_execution_counts_each_call)
{
	struct coati_event *ev = watch((const void *)(uintptr_t)call_it, 0, "x");

	CHECK_U64(hits(ev, call_many), ==, TIMES);
	coati_event_close(&ev);
}

TEST(breakpoint_is_open_to_an_ordinary_user)
{
	struct coati_event *ev;

	need_root();
	become_nobody();
	ev = watch(&watched, 8, "w");
	CHECK_U64(hits(ev, write_many), ==, TIMES);
	coati_event_close(&ev);
}

TEST(breakpoint_registers_that_run_out_are_said_in_words)
{
	struct coati_event *ev[32] = { watch(&watched, 8, "w") };
	struct coati_attr attr = *coati_event_attr(ev[0]);
	struct coati_error err = { 0 };
	int r = 0, nr = 1;

	while (nr < 32 && (r = coati_event_open(&attr, &COATI_SELF, NULL, &ev[nr], &err)) >= 0)
		nr++;
	CHECK_ERR(r, -ENOSPC);
	CHECK_HAS(err.text, "breakpoint registers");
	while (nr)
		coati_event_close(&ev[--nr]);
}
