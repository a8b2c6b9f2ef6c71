/* SPDX-License-Identifier: MIT */
/* SIGKILL of the recorder at any moment: the file is not there yet, or it can be read; and nobody
 * is left behind. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/recording.h>

#include "need.h"

#define ROUNDS	     100
#define WAIT_MS	     5000 /* until what is gone is gone for good; a bound, not a measure */
#define MAX_DELAY_US 60000
#define OUT	     "killed.data"

static pid_t start_recorder(int mode)
{
	static const char *const modes[] = { "-gfp", "-gdwarf", "-z", "--overwrite" };
	pid_t pid = fork();

	CHECK_OK(pid);
	if (pid == 0) {
		int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(fd, 1);
		dup2(fd, 2);
		execl(test_tool(), "coati", "record", "-F", "10000", "-m", "32k", "-o", OUT,
		      modes[mode], "--", "sh", "-c", "while :; do :; done", NULL);
		_exit(126);
	}
	return pid;
}

/* Everything that the tool started has become ours: true when it ends by itself. */
static bool all_gone(void)
{
	for (int ms = 0; ms < WAIT_MS; ms += 5) {
		pid_t pid;

		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid < 0)
			return true;
		poll(NULL, 0, 5);
	}
	return false;
}

/* The number of records, -1: there is no file. */
static long readable_records(void)
{
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_error err = { 0 };
	long nr = 0;
	int n;

	if (access(OUT, F_OK) < 0)
		return -1;
	if (coati_recording_open(OUT, NULL, &r, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	while ((n = coati_recording_next(r, &item)) > 0)
		nr++;
	/* the last write may have been cut: said, and all before it was delivered */
	if (n < 0 && n != -ENODATA)
		test_fail_at(__FILE__, __LINE__, "%s", coati_recording_error(r)->text);
	coati_recording_close(&r);
	return nr;
}

static int count_files(void)
{
	DIR *dir = opendir(".");
	int nr = 0;

	CHECK(dir);
	for (struct dirent *e; (e = readdir(dir));)
		nr += e->d_name[0] != '.';
	closedir(dir);
	return nr;
}

TEST_LIMIT(record_killed_at_any_moment_leaves_a_readable_file_or_none, 120)
{
	int with_records = 0;

	need_perf();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int round = 0; round < ROUNDS; round++) {
		pid_t pid = start_recorder(round % 4);
		long nr;

		usleep((useconds_t)(test_random() % MAX_DELAY_US));
		kill(pid, SIGKILL);
		if (!all_gone())
			test_fail_at(__FILE__, __LINE__, "something still runs after the kill");
		nr = readable_records();
		with_records += nr > 0;
		CHECK_INT(count_files(), ==, nr < 0 ? 0 : 1);
		unlink(OUT);
	}
	test_note("%d of %d files had records", with_records, ROUNDS);
}
