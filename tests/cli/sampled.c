/* SPDX-License-Identifier: MIT */
/*
 * sampled FILE: takes samples of itself while its tracer writes a stream into FILE. Requests, each
 * a task, compute in two functions, which spend three quarters and one quarter of the time; the
 * second in a region, and with a label. Prints the samples, the nanoseconds that they stand for,
 * and how many it had no room for.
 *
 * sampled --fly FOLDER: the same into a flight recorder there; stops itself at the end, and then
 * becomes the program "sleep".
 */
#include <coati/live.h>

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <coati/sampler.h>
#include <coati/tracer.h>

#define REQUESTS 100
#define WORK_US	 4000

static uint64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static inline __attribute__((always_inline)) void compute(uint64_t us)
{
	uint64_t end = cpu_us() + us;

	while (cpu_us() < end)
		for (int i = 0; i < 10000; i++)
			__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void spend_much(void)
{
	compute(WORK_US * 3 / 4);
	__asm__ volatile(""); /* it comes back here */
}

__attribute__((noinline)) static void spend_little(void)
{
	COATI_REGION("reply");
	COATI_LABEL("route", "/api");
	compute(WORK_US / 4);
	__asm__ volatile("");
}

static void serve(void)
{
	struct coati_live_task task;

	COATI_TASK_BEGIN(&task, "request", NULL);
	{
		COATI_TASK_SCOPE(&task);
		spend_much();
		spend_little();
	}
	coati_task_end(&task);
}

int main(int argc, char **argv)
{
	struct coati_sampler_opts s = { .size = sizeof(s), .rate_hz = 1000 };
	struct coati_recorder_opts o = { .size = sizeof(o),
					 .flags = COATI_RECORDER_SAMPLES | COATI_RECORDER_LABELS };
	struct coati_sampler_stats stats = { .size = sizeof(stats) };
	struct coati_recorder *rec = NULL;
	struct coati_error err = { 0 };

	if (argc > 2)
		o.directory = argv[2];
	else
		o.fd = argc > 1 ? open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
				: -1;
	if (coati_recorder_start(&o, &rec, &err) < 0 || coati_sampler_start(&s, &err) < 0) {
		fprintf(stderr, "sampled: %s\n", err.text);
		return 1;
	}
	for (int i = 0; i < REQUESTS; i++)
		serve();
	if (argc > 2) {
		coati_sampler_stop(-1, &stats, &err);
		raise(SIGSTOP);
		execlp("sleep", "sleep", "60", NULL);
	}
	if (coati_sampler_stop(-1, &stats, &err) < 0 || coati_recorder_stop(&rec, &err) < 0) {
		fprintf(stderr, "sampled: %s\n", err.text);
		return 1;
	}
	printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", stats.samples, stats.cpu_ns, stats.lost);
	return 0;
}
