/* SPDX-License-Identifier: MIT */
/* One test for each thing that the runner must notice: most of these fail on purpose. */
#include "lib/test.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

TEST(passes)
{
	CHECK_INT(1 + 1, ==, 2);
	CHECK_JSON("{\"a\": [1, 2.5e3, \"\\u00e4\", null]}");
}

TEST(fails_with_both_values)
{
	CHECK_INT(1 + 1, ==, 3);
}

TEST(fails_with_the_names_of_errors)
{
	CHECK_ERR(-EACCES, -EPERM);
}

TEST(fails_with_the_bytes_that_differ)
{
	CHECK_MEM("abcd", "abxd", 4);
}

TEST(fails_on_bad_json)
{
	CHECK_JSON("{\"a\": 01}");
}

TEST(skips_with_its_reason)
{
	test_skip("no moon tonight");
}

TEST(skips_unless_it_must_run)
{
	test_skip_need("moon", "no moon tonight");
}

TEST(crashes)
{
	raise(SIGKILL);
}

TEST_LIMIT(hangs_and_blocks_the_alarm, 1)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (;;)
		pause();
}

TEST(leaves_a_process_in_another_session)
{
	if (fork() == 0) {
		setsid();
		if (fork() == 0)
			pause();
		pause();
	}
}

TEST(skips_but_leaves_a_process)
{
	if (fork() == 0)
		pause();
	test_skip("the skip must not hide the process");
}

/* Fails where a leak checker is built in, passes elsewhere. */
TEST(leaks)
{
	void *volatile lost = malloc(77);

	CHECK(lost);
	lost = NULL;
}

TEST(has_default_signals_and_an_empty_scratch_folder)
{
	struct sigaction old;
	sigset_t mask;

	CHECK_OK(sigaction(SIGPIPE, NULL, &old));
	CHECK(old.sa_handler == SIG_DFL);
	CHECK_OK(sigprocmask(SIG_BLOCK, NULL, &mask));
	CHECK(!sigismember(&mask, SIGCHLD));
	CHECK_INT(rmdir("."), ==, -1); /* a folder cannot be removed by that name ... */
	CHECK_OK(mkdir("room", 0700)); /* ... but is ours to write in */
}

TEST(random_numbers_follow_the_seed)
{
	test_note("random %llx", (unsigned long long)test_random());
}

/* Makes a directory when it begins, so that the suite can be stopped meanwhile. */
TEST_LIMIT(waits_for_a_file, 2)
{
	const char *path = getenv("COATI_FIXTURE_FILE"), *begun = getenv("COATI_FIXTURE_BEGUN");

	if (begun)
		CHECK_OK(mkdir(begun, 0700));
	while (path && access(path, F_OK) < 0)
		usleep(1000);
}
