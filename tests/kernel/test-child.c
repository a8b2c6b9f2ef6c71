/* SPDX-License-Identifier: MIT */
/* Commands: held before exec, run, waited for, reaped on every path. */
#include <coati/child.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/parse.h"
#include "event/child.h"
#include "need.h"

static struct coati_child *started(const char *const *argv, const struct coati_child_opts *opts)
{
	struct coati_child *child = NULL;
	struct coati_error err = { 0 };

	if (coati_child_start(argv, opts, &child, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return child;
}

static struct coati_child_status run_shell(const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct coati_child *child = started(argv, NULL);
	struct coati_child_status status = { .size = sizeof(status) };

	CHECK_OK(coati_child_exec(child, NULL));
	CHECK_OK(coati_child_wait(child, -1, &status, NULL));
	CHECK_OK(coati_child_wait(child, -1, &status, NULL)); /* the same again */
	coati_child_free(&child);
	CHECK(!child);
	return status;
}

static void nothing_left(void)
{
	CHECK_INT(waitpid(-1, NULL, WNOHANG), ==, -1);
	CHECK_INT(errno, ==, ECHILD);
}

TEST(child_keeps_the_exit_code)
{
	struct coati_child_status s = run_shell("exit 7");

	CHECK_INT(s.exited, ==, 1);
	CHECK_INT(s.exit_code, ==, 7);
	CHECK_INT(coati_child_exit_code(&s), ==, 7);
	CHECK_U64(s.wall_ns, >, 0);
	CHECK_U64(s.peak_rss_bytes, >, 0);
	nothing_left();
}

TEST(child_killed_by_a_signal_ends_as_a_shell_would_say)
{
	struct coati_child_status s = run_shell("kill -TERM $$");

	CHECK_INT(s.exited, ==, 0);
	CHECK_INT(s.signal, ==, SIGTERM);
	CHECK_INT(coati_child_exit_code(&s), ==, 128 + SIGTERM);
}

TEST(child_is_held_until_it_is_let_go)
{
	const char *const argv[] = { "touch", "here", NULL };
	struct coati_child *child = started(argv, NULL);
	struct coati_child_status status = { .size = sizeof(status) };

	CHECK_ERR(coati_child_wait(child, (int64_t)(now_ns() + 20 * NSEC_PER_MSEC), &status, NULL),
		  -ETIMEDOUT);
	CHECK_INT(access("here", F_OK), ==, -1);
	CHECK_OK(coati_child_exec(child, NULL));
	CHECK_ERR(coati_child_exec(child, NULL), -EINVAL);
	CHECK_OK(coati_child_wait(child, -1, &status, NULL));
	CHECK_INT(access("here", F_OK), ==, 0);
	coati_child_free(&child);
}

TEST(child_that_was_never_let_go_is_killed_and_reaped)
{
	const char *const argv[] = { "touch", "here", NULL };
	struct coati_child *child = started(argv, NULL);

	coati_child_free(&child);
	coati_child_free(&child);
	coati_child_free(NULL);
	CHECK_INT(access("here", F_OK), ==, -1);
	nothing_left();
}

TEST(child_that_runs_is_killed_and_reaped_by_free)
{
	const char *const argv[] = { "sleep", "1000", NULL };
	struct coati_child *child = started(argv, NULL);

	CHECK_OK(coati_child_exec(child, NULL));
	coati_child_free(&child);
	nothing_left();
}

static void exec_fails(const char *path, int code, const char *part)
{
	const char *const argv[] = { path, NULL };
	struct coati_child *child = started(argv, NULL);
	struct coati_error err = { 0 };

	CHECK_ERR(coati_child_exec(child, &err), code);
	CHECK_HAS(err.text, path);
	CHECK_HAS(err.text, part);
	nothing_left();
	coati_child_free(&child);
}

TEST(child_whose_exec_fails_is_reported_and_reaped)
{
	int fd = open("plain", O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	CHECK_OK(fd);
	close(fd);
	exec_fails("no-such-command-at-all", -ENOENT, "PATH");
	exec_fails("./no-such-file", -ENOENT, "no such file");
	exec_fails("./plain", -EACCES, "chmod +x");
}

TEST(child_that_is_nowhere_is_missing_though_a_folder_of_path_is_closed)
{
	CHECK_OK(mkdir("closed", 0000));
	CHECK_OK(setenv("PATH", "closed:/usr/bin:/bin", 1));
	if (geteuid() == 0)
		become_nobody();
	exec_fails("no-such-command-at-all", -ENOENT, "PATH");
}

TEST(child_start_without_a_command_is_refused)
{
	const char *const none[] = { NULL };
	struct coati_child *child = NULL;
	struct coati_child_status status = { .size = sizeof(status) };

	CHECK_ERR(coati_child_start(NULL, NULL, &child, NULL), -EINVAL);
	CHECK_ERR(coati_child_start(none, NULL, &child, NULL), -EINVAL);
	CHECK_ERR(coati_child_exec(NULL, NULL), -EINVAL);
	CHECK_ERR(coati_child_wait(NULL, -1, &status, NULL), -EINVAL);
	CHECK_ERR(coati_child_kill(NULL, SIGTERM), -EINVAL);
	CHECK_INT(coati_child_fd(NULL), ==, -1);
}

TEST(child_gets_descriptors_and_environment_as_told)
{
	const char *const argv[] = { "sh", "-c", "read x; echo \"$x $WORD\"; echo bad >&2", NULL };
	const char *const envp[] = { "WORD=there", "PATH=/usr/bin:/bin", NULL };
	struct coati_child_opts opts = { .size = sizeof(opts), .envp = envp };
	struct coati_child_status status = { .size = sizeof(status) };
	struct coati_child *child;
	int in[2], out[2];
	char text[64] = "";

	CHECK_OK(pipe2(in, O_CLOEXEC));
	CHECK_OK(pipe2(out, O_CLOEXEC));
	CHECK_INT(write(in[1], "hello\n", 6), ==, 6);
	opts.stdin_fd = in[0];
	opts.stdout_fd = opts.stderr_fd = out[1];
	child = started(argv, &opts);
	CHECK_OK(coati_child_exec(child, NULL));
	CHECK_OK(coati_child_wait(child, -1, &status, NULL));
	CHECK_OK(read(out[0], text, sizeof(text) - 1));
	CHECK_STR(text, "hello there\nbad\n");
	coati_child_free(&child);
}

static void on_signal(int sig)
{
}

TEST(child_wait_returns_when_a_signal_arrives)
{
	const char *const argv[] = { "sh", "-c", "while kill -USR1 $PPID; do :; done", NULL };
	struct sigaction sa = { .sa_handler = on_signal };
	struct coati_child_status status = { .size = sizeof(status) };
	struct coati_child *child;

	CHECK_OK(sigaction(SIGUSR1, &sa, NULL));
	child = started(argv, NULL);
	CHECK_OK(coati_child_exec(child, NULL));
	CHECK_ERR(coati_child_wait(child, -1, &status, NULL), -EINTR);
	coati_child_free(&child);
}

TEST(child_starts_with_no_signal_blocked_and_no_pipe_signal_ignored)
{
	sigset_t all;
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct coati_child_status s = { .size = sizeof(s) };
	char line[64], *rest;
	uint64_t ignored;
	FILE *f;

	sigfillset(&all);
	CHECK_OK(sigprocmask(SIG_SETMASK, &all, NULL));
	CHECK_OK(sigaction(SIGPIPE, &ignore, NULL));
	CHECK_OK(sigaction(SIGHUP, &ignore, NULL));
	s = run_shell("exec grep -q 'SigBlk:.0000000000000000' /proc/self/status");
	CHECK_INT(s.exit_code, ==, 0);
	s = run_shell("exec grep SigIgn: /proc/self/status >ignored");
	CHECK_INT(s.exit_code, ==, 0);
	f = fopen("ignored", "re");
	CHECK(f && fgets(line, sizeof(line), f));
	fclose(f);
	/* 32 and 33 are libc's own: whoever started us may have left them ignored, and nobody can
	 * change it */
	CHECK_OK(coati_parse_hex(strtok_r(line + strlen("SigIgn:\t"), "\n", &rest), &ignored));
	CHECK_U64(ignored & ~(UINT64_C(3) << 31), ==, 1);
}

TEST(child_descriptor_becomes_readable_at_the_end)
{
	const char *const argv[] = { "true", NULL };
	struct coati_child *child = started(argv, NULL);
	struct coati_child_status status = { .size = sizeof(status) };

	CHECK_INT(coati_child_fd(child), >=, 0);
	CHECK(fcntl(coati_child_fd(child), F_GETFD) & FD_CLOEXEC);
	CHECK_INT(coati_child_pid(child), >, 0);
	CHECK_OK(coati_child_exec(child, NULL));
	CHECK_OK(coati_child_wait(child, -1, &status, NULL));
	CHECK_OK(coati_child_kill(child, SIGTERM)); /* it has ended: nothing to do */
	coati_child_free(&child);
}

/* A process that starts a child, and is killed before or after letting it go; the child's pid comes
 * back. */
static pid_t orphan(bool let_go, uint32_t flags)
{
	const char *const argv[] = { "sleep", "1000", NULL };
	struct coati_child_opts opts = { .size = sizeof(opts), .flags = flags };
	int fds[2];
	pid_t parent, child_pid = 0;

	CHECK_OK(pipe2(fds, O_CLOEXEC));
	CHECK_OK(prctl(PR_SET_CHILD_SUBREAPER, 1));
	parent = fork();
	if (parent == 0) {
		struct coati_child *child = started(argv, &opts);

		if (let_go)
			CHECK_OK(coati_child_exec(child, NULL));
		child_pid = coati_child_pid(child);
		CHECK_INT(write(fds[1], &child_pid, sizeof(child_pid)), ==, sizeof(child_pid));
		pause();
		_exit(0);
	}
	CHECK_INT(read(fds[0], &child_pid, sizeof(child_pid)), ==, sizeof(child_pid));
	kill(parent, SIGKILL);
	CHECK_INT(waitpid(parent, NULL, 0), ==, parent);
	return child_pid;
}

TEST(child_that_is_held_ends_when_its_parent_is_killed)
{
	pid_t pid = orphan(false, 0);

	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
}

TEST(child_that_runs_ends_with_its_parent_when_asked)
{
	pid_t pid = orphan(true, COATI_CHILD_DIES_WITH_US);

	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
}

TEST(child_that_runs_outlives_its_parent_by_default)
{
	pid_t pid = orphan(true, 0);

	CHECK_INT(waitpid(pid, NULL, WNOHANG), ==, 0);
	kill(pid, SIGKILL);
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
}
