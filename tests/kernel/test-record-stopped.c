/* SPDX-License-Identifier: MIT */
/* Asking the recorder to stop, once and twice, with commands that listen and commands that do
 * not. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/recording.h>

#include "need.h"
#include "recording/recording.h"

#define OUT	"stopped.data"
#define WAIT_MS 10000 /* a bound, not a measure */

static pid_t start_recorder(const char *script)
{
	pid_t pid = fork();

	CHECK_OK(pid);
	if (pid == 0) {
		int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(fd, 1);
		dup2(fd, 2);
		execl(test_tool(), "coati", "record", "-e", "cpu-clock:u", "-o", OUT, "--", "sh",
		      "-c", script, NULL);
		_exit(126);
	}
	return pid;
}

static void wait_for(const char *path)
{
	for (int ms = 0; access(path, F_OK) < 0; ms += 5) {
		CHECK_INT(ms, <, WAIT_MS);
		poll(NULL, 0, 5);
	}
}

static int exit_of(pid_t pid)
{
	int status;

	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* A finished one has its sections. */
static bool is_finished(void)
{
	struct coati_recording *r = NULL;
	uint64_t size;
	bool ret;

	CHECK_OK(coati_recording_open(OUT, NULL, &r, NULL));
	ret = coati_recording_feature(r, COATI_FEATURE_RECORDER, &size) != NULL;
	coati_recording_close(&r);
	return ret;
}

TEST(record_interrupted_passes_it_on_and_writes_the_file)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	need_perf();
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		pid_t pid = start_recorder(": >started; while :; do :; done");

		wait_for("started");
		wait_for(OUT);
		kill(pid, signals[i]);
		CHECK_INT(exit_of(pid), ==, 128 + signals[i]);
		CHECK(is_finished());
		unlink("started");
		unlink(OUT);
	}
}

TEST(record_interrupted_twice_kills_a_command_that_does_not_listen)
{
	pid_t pid;

	need_perf();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid = start_recorder("trap '' INT; : >started; while :; do :; done");
	wait_for("started");
	wait_for(OUT);
	kill(pid, SIGINT);
	for (int ms = 0; !is_finished(); ms += 5) {
		CHECK_INT(ms, <, WAIT_MS);
		poll(NULL, 0, 5);
	}
	CHECK_INT(waitpid(pid, NULL, WNOHANG), ==, 0); /* the command runs on, and we wait for it */
	kill(pid, SIGINT);
	CHECK_INT(exit_of(pid), ==, 128 + SIGKILL);
	CHECK(is_finished());
}
