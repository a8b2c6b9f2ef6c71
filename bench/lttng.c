/* SPDX-License-Identifier: MIT */
/*
 * An event of ours beside one of lttng-ust, in one process. Compiled by bench/run, which also
 * starts the daemon of the peer.
 *
 *	lttng region|counter NR_PAIRS		pairs "OURS PEER", ns an event
 *
 * region: begins and ends, which have no value; counter: one integer, as the peer's has. Both keep
 * events in memory and overwrite the oldest.
 */
#include <string.h>
#include <unistd.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng-event.h"

#include <coati/live.h>

#include "bench.h"

#define LOOPS  1000
#define ROUNDS 40

static struct coati_site work = COATI_SITE_FOR("", COATI_SITE_REGION, "", "work", NULL, 0, 0);
static struct coati_site count = COATI_SITE_FOR("", COATI_SITE_COUNTER, "", "count", NULL, 0, 0);

static void regions(void *ctx)
{
	for (int i = 0; i < LOOPS / 2; i++) {
		coati_region_begin(&work);
		coati_region_end(&work);
	}
}

static void counters(void *ctx)
{
	for (int i = 0; i < LOOPS; i++)
		coati_counter(&count, i);
}

static void peers(void *ctx)
{
	for (int i = 0; i < LOOPS; i++)
		lttng_ust_tracepoint(bench, number, i);
}

/* The daemon switches it on when it has met us. */
static int wait_for_peer(void)
{
	for (int i = 0; i < 500 && !lttng_ust_tracepoint_enabled(bench, number); i++)
		usleep(10000);
	return lttng_ust_tracepoint_enabled(bench, number);
}

int main(int argc, char **argv)
{
	struct bench_two two = { .peer = peers };
	struct coati_recorder_opts opts = { .size = sizeof(opts), .directory = "" };
	struct coati_recorder *rec = NULL;
	struct coati_error err;

	if (argc != 3)
		return 2;
	if (!wait_for_peer()) {
		fprintf(stderr, "the daemon did not switch the event on\n");
		return 77;
	}
	if (coati_recorder_start(&opts, &rec, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	two.ours = strcmp(argv[1], "counter") ? regions : counters;
	bench_loop_pairs((unsigned int)strtoul(argv[2], NULL, 10), ROUNDS, LOOPS, &two);
	return coati_recorder_stop(&rec, NULL) < 0;
}
