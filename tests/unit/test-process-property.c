/* SPDX-License-Identifier: MIT */
/*
 * Random lives of a few processes, fed in order or shuffled within bounds, against the plain way:
 * all events up to a time, by time, replayed from the beginning. And what is kept under a number of
 * coati_processes_space() must stay true.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "process/processes.h"
#include "unit/process-feeder.h"

#define NR_EVENTS 400
#define NR_PIDS	  6
#define NR_PAGES  24
#define PAGE	  FEEDER_LEN
#define KEPT	  4096

enum kind { MAP, FORK, EXEC, EXIT };

struct event {
	enum kind kind;
	uint64_t time;
	int32_t pid, ppid;
	uint64_t page;
	uint32_t name;
	bool fed;
};

struct kept {
	uint64_t number, page;
	uint32_t name;
};

static struct event events[NR_EVENTS];
static struct kept kept[KEPT];

static void make_events(void)
{
	for (size_t i = 0; i < NR_EVENTS; i++) {
		uint64_t dice = test_random() % 20;

		events[i] = (struct event){ .kind = dice < 14	? MAP
						    : dice < 17 ? FORK
						    : dice < 19 ? EXEC
								: EXIT,
					    .time = 10 * (i + 1),
					    .pid = 1 + (int32_t)(test_random() % NR_PIDS),
					    .ppid = 1 + (int32_t)(test_random() % NR_PIDS),
					    .page = test_random() % NR_PAGES,
					    .name = (uint32_t)i + 1 };
		if (events[i].ppid == events[i].pid)
			events[i].kind = MAP;
	}
}

/* The mapping on each page of each process, 0 for none. */
static uint32_t replay(int32_t pid, uint64_t page, uint64_t time)
{
	uint32_t pages[NR_PIDS + 1][NR_PAGES] = { { 0 } };

	for (size_t i = 0; i < NR_EVENTS && events[i].time <= time; i++) {
		const struct event *e = &events[i];

		if (!e->fed)
			continue;
		if (e->kind == MAP)
			pages[e->pid][e->page] = e->name;
		else if (e->kind == FORK)
			memcpy(pages[e->pid], pages[e->ppid], sizeof(pages[0]));
		else if (e->kind == EXEC)
			memset(pages[e->pid], 0, sizeof(pages[0]));
	}
	return pages[pid][page];
}

static void feed(struct feeder *f, struct event *e)
{
	char path[32];

	snprintf(path, sizeof(path), "/m/%u", e->name);
	e->fed = true;
	switch (e->kind) {
	case MAP:
		CHECK_OK(feeder_map(f, e->pid, e->time, e->page * PAGE, path));
		break;
	case FORK:
		CHECK_OK(feeder_fork(f, e->pid, e->ppid, e->time));
		break;
	case EXEC:
		CHECK_OK(feeder_exec(f, e->pid, e->time, "x"));
		break;
	case EXIT:
		/* an exec behind it would be another process' */
		break;
	}
}

/* What is found under a number was found under it before. */
static void keep(uint64_t number, uint64_t page, uint32_t name)
{
	struct kept *k = &kept[(number * 31 + page) % KEPT];

	if (!number)
		return;
	if (k->number == number && k->page == page)
		CHECK_U64(k->name, ==, name);
	*k = (struct kept){ number, page, name };
}

static void compare(struct feeder *f, uint64_t now)
{
	int32_t pid = 1 + (int32_t)(test_random() % NR_PIDS);
	uint64_t page = test_random() % NR_PAGES, time = test_random() % (now + 20);
	uint32_t want = replay(pid, page, time);
	uint64_t number = coati_processes_space(f->ps, pid, time);
	char path[32];

	snprintf(path, sizeof(path), "/m/%u", want);
	CHECK_STR(feeder_path(f, pid, page * PAGE + 8, time), want ? path : "-");
	CHECK_U64(coati_processes_space(f->ps, pid, time), ==, number);
	keep(number, page, want);
}

/* Each event comes at most @late events too late. */
static void run(size_t late)
{
	struct feeder f;
	size_t order[NR_EVENTS];

	memset(kept, 0, sizeof(kept));
	make_events();
	for (size_t i = 0; i < NR_EVENTS; i++)
		order[i] = i;
	for (size_t i = 0; late && i + 1 < NR_EVENTS; i++) {
		size_t k = i + test_random() % late, swap = order[i];

		if (k >= NR_EVENTS)
			continue;
		order[i] = order[k];
		order[k] = swap;
	}
	feeder_open(&f, NULL);
	for (size_t i = 0; i < NR_EVENTS; i++) {
		feed(&f, &events[order[i]]);
		for (int k = 0; k < 8; k++)
			compare(&f, 10 * (i + 1));
	}
	for (int i = 0; i < 4000; i++)
		compare(&f, 10 * NR_EVENTS);
	feeder_close(&f);
}

TEST(processes_fed_in_order_answer_as_the_replay_does)
{
	for (int i = 0; i < 8; i++)
		run(0);
}

TEST(processes_fed_a_little_out_of_order_answer_as_the_replay_does)
{
	for (int i = 0; i < 8; i++)
		run(8);
}

TEST(processes_fed_in_any_order_answer_as_the_replay_does)
{
	for (int i = 0; i < 8; i++)
		run(NR_EVENTS);
}

static int check_place(void *ctx, const struct coati_place *place)
{
	uint64_t *last = ctx;

	CHECK_U64(place->start, >=, *last);
	CHECK_U64(place->start, <, place->end);
	*last = place->end;
	return 0;
}

TEST(processes_each_mapping_goes_by_address)
{
	struct feeder f;

	make_events();
	feeder_open(&f, NULL);
	for (size_t i = 0; i < NR_EVENTS; i++)
		feed(&f, &events[i]);
	for (int i = 0; i < 200; i++) {
		uint64_t last = 0;

		(void)coati_processes_each_mapping(f.ps, 1 + i % NR_PIDS,
						   test_random() % (10 * NR_EVENTS), check_place,
						   &last);
	}
	feeder_close(&f);
}

static int count_place(void *ctx, const struct coati_place *place)
{
	*(int *)ctx += place->start == 0x400000;
	return 0;
}

/* From the moment on at which it begins. */
TEST(processes_each_mapping_has_those_of_its_first_moment)
{
	struct feeder f;
	int nr = 0;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_fork(&f, 5, 1, 10));
	CHECK_OK(feeder_map(&f, 5, 10, 0x400000, "/a"));
	CHECK_OK(coati_processes_each_mapping(f.ps, 5, 10, count_place, &nr));
	CHECK_INT(nr, ==, 1);
	CHECK_OK(coati_processes_each_mapping(f.ps, 5, 9, count_place, &nr));
	CHECK_INT(nr, ==, 1);
	feeder_close(&f);
}
