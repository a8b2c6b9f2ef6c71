/* SPDX-License-Identifier: MIT */
/* A recorder that somebody outside asks for: as another process would, but from this one. */
#include <coati/tracer.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/test.h"
#include "live/tracer/ask.h"

static void ask_for_one(const char *folder)
{
	struct tracer_ask *a = &coati_tracer_ask;

	CHECK(a->gate == (uint64_t)(uintptr_t)&coati_tracer_gate);
	snprintf(a->directory, sizeof(a->directory), "%s", folder);
	a->watcher = (uint32_t)getpid();
	atomic_fetch_add(&a->asked, 1);
	__atomic_store_n(&coati_tracer_gate, ~UINT64_C(0), __ATOMIC_RELAXED);
}

/* A folder that is ours alone, as the recorder wants it. */
static void make_folder(char *ret, size_t size)
{
	char here[512];

	CHECK(getcwd(here, sizeof(here)));
	snprintf(ret, size, "%s/asked", here);
	CHECK_INT(mkdir(ret, 0700), ==, 0);
}

static void emit_one(void)
{
	COATI_REGION("asked");
}

/* Its thread looks once in a generation. */
static void wait_for_end(void)
{
	struct tracer_ask *a = &coati_tracer_ask;

	atomic_store(&a->released, atomic_load(&a->asked));
	for (int i = 0; i < 6000 && atomic_load(&a->ended) != atomic_load(&a->asked); i++)
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	CHECK_U64(__atomic_load_n(&coati_tracer_gate, __ATOMIC_RELAXED), ==, 0);
}

TEST(tracer_starts_when_it_is_asked_from_outside_and_ends_when_it_is_released)
{
	char folder[600];
	struct tracer_ask *a = &coati_tracer_ask;

	make_folder(folder, sizeof(folder));
	ask_for_one(folder);
	emit_one();
	CHECK_U64(atomic_load(&a->answered), ==, atomic_load(&a->asked));
	CHECK_INT(atomic_load(&a->error), ==, 0);
	CHECK(!strncmp(a->path, folder, strlen(folder)));
	CHECK_INT(access(a->path, R_OK), ==, 0);
	wait_for_end();
	CHECK_STR(a->path, "");
	CHECK_INT(rmdir(folder), ==, 0);
}

TEST(tracer_that_cannot_start_says_why_and_shuts_the_gate)
{
	struct tracer_ask *a = &coati_tracer_ask;

	ask_for_one("/nonexistent/folder");
	emit_one();
	CHECK_U64(atomic_load(&a->answered), ==, atomic_load(&a->asked));
	CHECK_INT(atomic_load(&a->error), <, 0);
	CHECK_U64(__atomic_load_n(&coati_tracer_gate, __ATOMIC_RELAXED), ==, 0);
}

static void emit_in_handler(int sig)
{
	(void)sig;
	emit_one();
}

TEST(tracer_is_not_started_by_an_event_of_a_signal_handler)
{
	char folder[600];
	struct sigaction act = { .sa_handler = emit_in_handler };
	struct tracer_ask *a = &coati_tracer_ask;

	make_folder(folder, sizeof(folder));
	CHECK_INT(sigaction(SIGUSR1, &act, NULL), ==, 0);
	ask_for_one(folder);
	CHECK_INT(raise(SIGUSR1), ==, 0);
	CHECK_U64(atomic_load(&a->answered), ==, atomic_load(&a->asked) - 1);
	emit_one();
	CHECK_U64(atomic_load(&a->answered), ==, atomic_load(&a->asked));
	wait_for_end();
	CHECK_INT(rmdir(folder), ==, 0);
}
