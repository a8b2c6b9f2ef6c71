/* SPDX-License-Identifier: MIT */
/*
 * served DIRECTORY: a server with a flight recorder in DIRECTORY ("": the usual place), without a
 * network. It serves requests, each a task "request" of about 2 ms of CPU time in busy_work(),
 * with a pause of 2 ms. At SIGUSR1 one request stands still for 700 ms in stalled_call(). SIGTERM
 * ends it, and leaves nothing behind.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <coati/live.h>
#include <coati/tracer.h>

static volatile sig_atomic_t stalls, is_over;
static volatile uint64_t sink;

static void on_signal(int sig)
{
	if (sig == SIGTERM)
		is_over = 1;
	else
		stalls = 1;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pause_ns(long ns)
{
	struct timespec t = { .tv_nsec = ns };

	while (nanosleep(&t, &t) < 0 && errno == EINTR)
		;
}

__attribute__((noinline)) static void busy_work(void)
{
	uint64_t end = cpu_ns() + 2000000;

	while (cpu_ns() < end)
		for (int i = 0; i < 1000; i++)
			sink += (uint64_t)i;
}

__attribute__((noinline)) static void stalled_call(int stalled)
{
	pause_ns(stalled ? 700000000 : 1000);
	__asm__ volatile("");
}

static void serve(void)
{
	struct coati_live_task task;
	int stalled = stalls;

	stalls = 0;
	COATI_TASK_BEGIN(&task, "request", NULL);
	{
		COATI_TASK_SCOPE(&task);
		busy_work();
		stalled_call(stalled);
	}
	coati_task_end(&task);
}

int main(int argc, char **argv)
{
	struct coati_recorder_opts o = { .size = sizeof(o), .generation_ns = 200000000 };
	struct sigaction act = { .sa_handler = on_signal };
	struct coati_recorder *rec = NULL;
	struct coati_error err = { 0 };

	if (argc != 2)
		return 2;
	o.directory = *argv[1] ? argv[1] : NULL;
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	if (coati_recorder_start(&o, &rec, &err) < 0) {
		fprintf(stderr, "served: %s\n", err.text);
		return 1;
	}
	printf("serving\n");
	fflush(stdout);
	while (!is_over) {
		serve();
		pause_ns(2000000);
	}
	return coati_recorder_stop(&rec, NULL) < 0;
}
