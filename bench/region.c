/* SPDX-License-Identifier: MIT */
/*
 * What measuring an empty region costs: coati_event_measure() against the bare pair of enable and
 * disable, and against the bare system calls that give the same answer.
 *
 *	bench-region pair|answer NR_PAIRS
 */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include <coati/event.h>

#include "bench.h"

#define ROUNDS 2000

static void nothing(void *ctx)
{
	(void)ctx;
}

/* One event each: what the bare calls do to theirs must not disturb ours. */
struct both {
	struct coati_event *ours, *bare;
};

static void ours_measure(void *ctx)
{
	struct both *b = ctx;
	struct coati_count count;

	if (coati_event_measure(b->ours, nothing, NULL, &count, NULL) < 0)
		abort();
}

static void bare_pair(void *ctx)
{
	int fd = coati_event_fd(((struct both *)ctx)->bare);

	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0 || ioctl(fd, PERF_EVENT_IOC_DISABLE, 0) < 0)
		abort();
}

static void bare_answer(void *ctx)
{
	int fd = coati_event_fd(((struct both *)ctx)->bare);
	uint64_t words[8];

	if (ioctl(fd, PERF_EVENT_IOC_RESET, 0) < 0)
		abort();
	bare_pair(ctx);
	if (read(fd, words, sizeof(words)) < 0)
		abort();
}

int main(int argc, char **argv)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE,
				   .config = COATI_SW_PAGE_FAULTS,
				   .flags = COATI_ATTR_DISABLED | COATI_ATTR_EXCLUDE_KERNEL |
					    COATI_ATTR_EXCLUDE_HV };
	struct both both = { 0 };
	struct coati_error err;

	if (argc != 3) {
		fprintf(stderr, "usage: bench-region pair|answer NR_PAIRS\n");
		return 2;
	}
	if (coati_event_open(&attr, &COATI_SELF, NULL, &both.ours, &err) < 0 ||
	    coati_event_open(&attr, &COATI_SELF, NULL, &both.bare, &err) < 0) {
		fprintf(stderr, "bench-region: %s\n", err.text);
		return 1;
	}
	bench_pairs((unsigned int)strtoul(argv[2], NULL, 10), ROUNDS, ours_measure,
		    strcmp(argv[1], "pair") ? bare_answer : bare_pair, &both);
	coati_event_close(&both.ours);
	coati_event_close(&both.bare);
	return 0;
}
