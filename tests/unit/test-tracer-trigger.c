/* SPDX-License-Identifier: MIT */
/* Snapshots that a slow task or a signal calls for. */
#include <coati/tracer.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/test.h"
#include "tracer-spool.h"

static struct coati_recorder *start(void)
{
	struct coati_recorder_opts o = {
		.size = sizeof(o), .bytes = 2 << 20, .directory = "", .generation_ns = 20000000
	};
	struct coati_recorder *rec = NULL;

	CHECK_OK(coati_recorder_start(&o, &rec, NULL));
	return rec;
}

static void sleep_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	while (nanosleep(&t, &t) < 0)
		;
}

static void do_task(long ms)
{
	struct coati_live_task task;

	COATI_TASK_BEGIN(&task, "request", NULL);
	if (ms)
		sleep_ms(ms);
	coati_task_end(&task);
}

/* The thread of the recorders writes it. */
static void wait_for_file(const char *path)
{
	for (int i = 0; i < 6000 && access(path, F_OK) < 0; i++)
		sleep_ms(10);
	CHECK_INT(access(path, F_OK), ==, 0);
}

static void check_snapshot(const char *path)
{
	struct spool t;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	spool_read(&t, fd);
	CHECK_U64(t.kinds[LIVE_TASK_END], >, 0);
	spool_free(&t);
	close(fd);
}

TEST(tracer_writes_a_snapshot_when_a_task_is_slow)
{
	struct coati_recorder *rec = start();
	struct coati_recorder_condition c = { .size = sizeof(c),
					      .task_type = "request",
					      .slower_than_ns = 50000000,
					      .file = "slow-%c",
					      .at_most = 1,
					      .pause_ns = 1 };

	CHECK_OK(coati_recorder_when(rec, &c, NULL));
	do_task(60);
	wait_for_file("slow-1");
	check_snapshot("slow-1");
	do_task(60);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	CHECK_INT(access("slow-2", F_OK), <, 0);
}

/* Another user may have made the name first, in a directory of all, and have the file open. */
TEST(tracer_writes_no_snapshot_into_a_file_that_was_there)
{
	struct coati_recorder *rec = start();
	struct coati_recorder_condition c = { .size = sizeof(c),
					      .task_type = "request",
					      .slower_than_ns = 50000000,
					      .file = "slow-%c",
					      .at_most = 1,
					      .pause_ns = 1 };
	int fd = open("slow-1.part", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	struct stat st;

	CHECK(fd >= 0);
	CHECK_OK(coati_recorder_when(rec, &c, NULL));
	do_task(60);
	wait_for_file("slow-1");
	check_snapshot("slow-1");
	CHECK_OK(fstat(fd, &st));
	CHECK_INT(st.st_size, ==, 0);
	CHECK_OK(stat("slow-1", &st));
	CHECK_INT(st.st_mode & 0777, ==, 0600);
	close(fd);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_numbers_snapshots_once_and_wakes_nobody_after_the_last)
{
	struct coati_recorder_opts o = { .size = sizeof(o),
					 .bytes = 2 << 20,
					 .directory = "",
					 .generation_ns = UINT64_C(3600000000000) };
	struct coati_recorder_condition c = { .size = sizeof(c),
					      .task_type = "request",
					      .slower_than_ns = 1000000,
					      .file = "slow",
					      .at_most = 2,
					      .pause_ns = 1 };
	struct coati_recorder_stats before = { .size = sizeof(before) }, after = before;
	struct coati_recorder *rec = NULL;

	CHECK_OK(coati_recorder_start(&o, &rec, NULL));
	CHECK_OK(coati_recorder_when(rec, &c, NULL));
	do_task(5);
	wait_for_file("slow");
	/* again: one that ends while the first is written is none of its own */
	for (int i = 0; i < 1000 && access("slow.2", F_OK) < 0; i++)
		do_task(10);
	check_snapshot("slow.2");
	coati_recorder_stats(rec, &before);
	for (int i = 0; i < 20; i++)
		do_task(5);
	coati_recorder_stats(rec, &after);
	/* one may have been asked for while the second was written */
	CHECK_U64(after.generations, <=, before.generations + 1);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_learns_how_long_tasks_take_before_one_is_slow)
{
	struct coati_recorder *rec = start();
	struct coati_recorder_condition c = {
		.size = sizeof(c), .task_type = "request", .times_p99 = 2, .file = "slow"
	};

	CHECK_OK(coati_recorder_when(rec, &c, NULL));
	for (int i = 0; i < 1000; i++)
		do_task(0);
	/* far above anything that a busy machine does to an empty one; again until the limit is
	 * known */
	for (int i = 0; i < 20 && access("slow", F_OK) < 0; i++)
		do_task(500);
	wait_for_file("slow");
	check_snapshot("slow");
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_writes_a_snapshot_on_a_signal)
{
	struct coati_recorder *rec = start();
	struct sigaction now, ignore = { .sa_handler = SIG_IGN };
	struct coati_error err = { 0 };

	CHECK_INT(sigaction(SIGUSR2, &ignore, NULL), ==, 0);
	CHECK_OK(coati_recorder_on_signal(rec, SIGUSR2, "signal-%p", NULL));
	CHECK_ERR(coati_recorder_on_signal(rec, SIGUSR2, "again", &err), -EBUSY);
	CHECK_HAS(err.text, "choose another");
	do_task(0);
	CHECK_INT(raise(SIGUSR2), ==, 0);
	{
		char path[64];

		snprintf(path, sizeof(path), "signal-%d", (int)getpid());
		wait_for_file(path);
		check_snapshot(path);
	}
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	CHECK_INT(sigaction(SIGUSR2, NULL, &now), ==, 0);
	CHECK(now.sa_handler == SIG_IGN);
}

/* A file system of @size bytes at @folder, for this process alone. */
static void mount_small(const char *folder, const char *size)
{
	CHECK_OK(mkdir(folder, 0700));
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", folder, "tmpfs", 0, size) < 0)
		test_skip("no file system can be mounted: %s", strerror(errno));
}

TEST(tracer_tells_of_a_snapshot_that_has_no_room_on_the_disk)
{
	struct coati_recorder_stats s = { .size = sizeof(s) };
	struct coati_recorder *rec;
	struct coati_error err = { 0 };

	mount_small("small", "size=4k");
	rec = start();
	CHECK_OK(coati_recorder_on_signal(rec, SIGUSR2, "small/snapshot", NULL));
	for (int i = 0; i < 20000; i++)
		COATI_COUNTER("filling", i);
	CHECK_OK(raise(SIGUSR2));
	for (int i = 0; i < 6000 && !s.snapshots_failed; i++) {
		sleep_ms(10);
		coati_recorder_stats(rec, &s);
	}
	CHECK_U64(s.snapshots_failed, ==, 1);
	CHECK_U64(s.snapshots, ==, 0);
	CHECK_INT(s.snapshot_error, ==, -ENOSPC);
	CHECK_INT(access("small/snapshot", F_OK), ==, -1);
	CHECK_INT(access("small/snapshot.part", F_OK), ==, -1);
	CHECK_ERR(coati_recorder_stop(&rec, &err), -ENOSPC);
	CHECK_HAS(err.text, "No space left");
	CHECK_OK(umount("small"));
}

TEST(tracer_tells_of_a_snapshot_whose_name_is_too_long)
{
	struct coati_recorder_stats s = { .size = sizeof(s) };
	struct coati_recorder *rec = start();
	char name[3001];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	CHECK_OK(setenv("LONG", "a", 1));
	CHECK_OK(coati_recorder_on_signal(rec, SIGUSR2, "%{LONG}%{LONG}f", NULL));
	CHECK_OK(setenv("LONG", name, 1));
	CHECK_OK(raise(SIGUSR2));
	for (int i = 0; i < 6000 && !s.snapshots_failed; i++) {
		sleep_ms(10);
		coati_recorder_stats(rec, &s);
	}
	CHECK_INT(s.snapshot_error, ==, -ENAMETOOLONG);
	CHECK_ERR(coati_recorder_stop(&rec, NULL), -ENAMETOOLONG);
}

TEST(tracer_refuses_conditions_that_make_no_sense)
{
	struct coati_recorder *rec = start();
	struct coati_error err = { 0 };
	struct coati_recorder_condition c = { .size = sizeof(c), .task_type = "a", .file = "x" };

	CHECK_ERR(coati_recorder_when(rec, &c, &err), -EINVAL);
	CHECK_HAS(err.text, "slower_than_ns or times_p99");
	c.slower_than_ns = 1;
	c.file = "x%q";
	CHECK_ERR(coati_recorder_when(rec, &c, &err), -EINVAL);
	CHECK_HAS(err.text, "%q");
	c.file = "";
	CHECK_ERR(coati_recorder_when(rec, &c, &err), -EINVAL);
	c.file = "x";
	c.task_type = "";
	CHECK_ERR(coati_recorder_when(rec, &c, &err), -EINVAL);
	c.task_type = "a";
	for (int i = 0; i < 8; i++)
		CHECK_OK(coati_recorder_when(rec, &c, NULL));
	CHECK_ERR(coati_recorder_when(rec, &c, &err), -ENOSPC);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}
