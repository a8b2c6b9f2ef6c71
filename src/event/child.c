/* SPDX-License-Identifier: MIT */
/*
 * Running a command under events. In: an argument vector. Out: a process that is held before its
 * exec, let go on demand, waited for and reaped on every path.
 *
 * Two close-on-exec pipes: `go` lets the child pass (end of file: the parent is gone, so the child
 * ends), `report` brings the errno of an exec that failed (end of file: exec succeeded). Between
 * fork and exec only async-signal-safe calls are made, so the parent may have threads.
 */
#include <coati/child.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/sized.h"
#include "event/child.h"
#include "event/uapi-compat.h"

/* How often a child is looked after where the kernel gives no pidfd. */
#define POLL_WITHOUT_PIDFD_NS (2 * NSEC_PER_MSEC)

struct coati_child {
	pid_t pid;
	int pidfd;
	int go, report; /* our ends of the pipes */
	int go_read;	/* kept so that letting a dead child go is no SIGPIPE for the caller */
	bool ended;
	char *name;
	uint64_t start_ns;
	struct coati_child_status status;
};

struct pipes {
	int go[2], report[2];
};

extern char **environ;

static void pipes_close(struct pipes *p)
{
	fd_closep(&p->go[0]);
	fd_closep(&p->go[1]);
	fd_closep(&p->report[0]);
	fd_closep(&p->report[1]);
}

/* A pipe whose ends are above the standard descriptors, which the child may replace. */
static int pipe_above_stdio(int ends[2])
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		int fd;

		if (ends[i] > STDERR_FILENO)
			continue;
		fd = fcntl(ends[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (fd < 0)
			return -errno;
		close(ends[i]);
		ends[i] = fd;
	}
	return 0;
}

/* What the parent caught becomes the default (exec would do it too, but the child is held first);
 * what it ignored stays ignored, as with nohup, except SIGPIPE and SIGCHLD, which programs ignore
 * for themselves. */
static void reset_signals(void)
{
	struct sigaction sa;
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++) {
		if (sigaction(sig, NULL, &sa) < 0)
			continue;
		if (sa.sa_handler == SIG_DFL)
			continue;
		if (sa.sa_handler == SIG_IGN && sig != SIGPIPE && sig != SIGCHLD)
			continue;
		memset(&sa, 0, sizeof(sa));
		sa.sa_handler = SIG_DFL;
		sigaction(sig, &sa, NULL);
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Copied above the standard descriptors first: one of them may be the source of another. */
static int set_stdio(const struct coati_child_opts *opts)
{
	int fds[3] = { opts->stdin_fd, opts->stdout_fd, opts->stderr_fd };

	for (int i = 0; i < 3; i++) {
		if (fds[i] <= 0)
			continue;
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (fds[i] < 0)
			return -errno;
	}
	for (int i = 0; i < 3; i++)
		if (fds[i] > 0 && dup2(fds[i], i) < 0)
			return -errno;
	return 0;
}

/* The child from fork to exec. */
static _Noreturn void child_main(const char *const *argv, const struct coati_child_opts *opts,
				 const struct pipes *p, pid_t parent)
{
	char *const *envp = opts->envp ? (char *const *)(uintptr_t)opts->envp : environ;
	pid_t now;
	ssize_t n;
	char byte;
	int r;

	reset_signals();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	now = getppid();
	if (now != parent && now != 0) /* 0: the parent is in another pid namespace */
		_exit(127);
	close(p->go[1]);
	close(p->report[0]);
	r = set_stdio(opts);
	do
		n = read(p->go[0], &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(127);
	if (!(opts->flags & COATI_CHILD_DIES_WITH_US))
		prctl(PR_SET_PDEATHSIG, 0);
	if (r == 0) {
		execvpe(argv[0], (char *const *)(uintptr_t)argv, envp);
		r = -errno;
	}
	do
		n = write(p->report[1], &r, sizeof(r));
	while (n < 0 && errno == EINTR);
	_exit(127);
}

/* Signals are blocked across the fork, so that no handler of the parent runs in the child. */
static pid_t fork_held(const char *const *argv, const struct coati_child_opts *opts,
		       const struct pipes *p)
{
	sigset_t all, old;
	pid_t parent = getpid(), pid;
	int keep;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pid = fork();
	if (pid == 0)
		child_main(argv, opts, p, parent);
	keep = errno;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = keep;
	return pid;
}

static void child_freep(struct coati_child **child)
{
	coati_child_free(child);
}

int coati_child_start(const char *const *argv, const struct coati_child_opts *user_opts,
		      struct coati_child **ret, struct coati_error *err)
{
	CLEANUP(child_freep) struct coati_child *child = NULL;
	CLEANUP(pipes_close) struct pipes p = { { -1, -1 }, { -1, -1 } };
	struct coati_child_opts opts;
	int r = SIZED_COPY(&opts, user_opts);

	if (r < 0 || !argv || !argv[0] || !ret)
		return coati_fail(err, r < 0 ? r : -EINVAL, "start command: %s",
				  r < 0 ? "the options are not those of this library"
					: "no command was given");
	child = coati_alloc(sizeof(*child));
	if (!child)
		return coati_fail(err, -ENOMEM, "start %s: %m; free some memory", argv[0]);
	child->go = child->go_read = child->report = child->pidfd = -1;
	child->name = coati_strdup(argv[0]);
	if (!child->name)
		return coati_fail(err, -ENOMEM, "start %s: %m; free some memory", argv[0]);
	r = pipe_above_stdio(p.go);
	if (r == 0)
		r = pipe_above_stdio(p.report);
	if (r < 0)
		return coati_fail(err, r, "start %s: pipe: %m; raise the limit with ulimit -n",
				  argv[0]);
	child->pid = fork_held(argv, &opts, &p);
	if (child->pid < 0)
		return coati_fail(err, -errno,
				  "start %s: fork: %m; is the process limit (ulimit -u) reached?",
				  argv[0]);
	child->pidfd = pidfd_open_compat(child->pid); /* -1: wait without it */
	child->go = TAKE_FD(p.go[1]);
	child->go_read = TAKE_FD(p.go[0]);
	child->report = TAKE_FD(p.report[0]);
	*ret = TAKE_PTR(child);
	return 0;
}

int32_t coati_child_pid(const struct coati_child *child)
{
	return child ? child->pid : -EINVAL;
}

static void keep_status(struct coati_child *child, int status, const struct rusage *ru)
{
	struct coati_child_status *s = &child->status;

	s->exited = WIFEXITED(status);
	s->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	s->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	s->core = WIFSIGNALED(status) && WCOREDUMP(status);
	s->user_ns = (uint64_t)ru->ru_utime.tv_sec * NSEC_PER_SEC +
		     (uint64_t)ru->ru_utime.tv_usec * NSEC_PER_USEC;
	s->sys_ns = (uint64_t)ru->ru_stime.tv_sec * NSEC_PER_SEC +
		    (uint64_t)ru->ru_stime.tv_usec * NSEC_PER_USEC;
	s->peak_rss_bytes = (uint64_t)ru->ru_maxrss * 1024;
	s->wall_ns = child->start_ns ? now_ns() - child->start_ns : 0;
	child->ended = true;
}

/* 1 reaped, 0 still running, negative errno. */
static int reap(struct coati_child *child, int flags)
{
	struct rusage ru;
	int status;
	pid_t pid = wait4(child->pid, &status, flags, &ru);

	if (pid < 0)
		return -errno;
	if (pid == 0)
		return 0;
	keep_status(child, status, &ru);
	return 1;
}

static int reap_blocking(struct coati_child *child)
{
	int r;

	do
		r = reap(child, 0);
	while (r == -EINTR);
	return r;
}

/* execvp says EACCES also when a directory of PATH may not be searched and the command is
 * nowhere. */
static bool is_in_path(const char *name)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t len = strcspn(path, ":");
		char file[4096];
		int n = snprintf(file, sizeof(file), "%.*s/%s", (int)len, path, name);

		if (n > 0 && (size_t)n < sizeof(file) && access(file, F_OK) == 0)
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

static int exec_failed(struct coati_child *child, int code, struct coati_error *err)
{
	reap_blocking(child);
	if (code == -EACCES && !strchr(child->name, '/') && !is_in_path(child->name))
		code = -ENOENT;
	switch (code) {
	case -ENOENT:
		return coati_fail(
			err, code,
			strchr(child->name, '/')
				? "run %s: no such file (or its interpreter is missing); check "
				  "the path"
				: "run %s: no such command in PATH; check the spelling, or give "
				  "its path",
			child->name);
	case -EACCES:
		return coati_fail(
			err, code,
			"run %s: it may not be executed; is it a program, and chmod +x set?",
			child->name);
	case -E2BIG:
		return coati_fail(
			err, code,
			"run %s: arguments and environment are too long for the kernel; pass "
			"fewer",
			child->name);
	default:
		return coati_fail(err, code, "run %s: %m; try it from a shell", child->name);
	}
}

int coati_child_exec(struct coati_child *child, struct coati_error *err)
{
	int code = 0;
	ssize_t n;

	if (!child || child->go < 0)
		return coati_fail(err, -EINVAL, "run command: %s",
				  child ? "it runs already" : "no child was given");
	child->start_ns = now_ns();
	do
		n = write(child->go, "g", 1);
	while (n < 0 && errno == EINTR);
	fd_closep(&child->go);
	fd_closep(&child->go_read);
	do
		n = read(child->report, &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	fd_closep(&child->report);
	return n == (ssize_t)sizeof(code) ? exec_failed(child, code, err) : 0;
}

/* Until the child has ended (0), the deadline (-ETIMEDOUT) or a signal (-EINTR). */
static int wait_readable(struct coati_child *child, int64_t deadline_ns)
{
	struct pollfd pfd = { .fd = child->pidfd, .events = POLLIN };
	struct timespec ts, *timeout = NULL;
	uint64_t left = POLL_WITHOUT_PIDFD_NS;
	int r;

	if (deadline_ns >= 0) {
		uint64_t now = now_ns();

		if (now >= (uint64_t)deadline_ns)
			return -ETIMEDOUT;
		if (child->pidfd >= 0 || (uint64_t)deadline_ns - now < left)
			left = (uint64_t)deadline_ns - now;
	}
	if (deadline_ns >= 0 || child->pidfd < 0) {
		ts.tv_sec = (time_t)(left / NSEC_PER_SEC);
		ts.tv_nsec = (long)(left % NSEC_PER_SEC);
		timeout = &ts;
	}
	r = ppoll(&pfd, child->pidfd >= 0 ? 1 : 0, timeout, NULL);
	return r < 0 ? -errno : 0;
}

int coati_child_wait(struct coati_child *child, int64_t deadline_ns, struct coati_child_status *ret,
		     struct coati_error *err)
{
	if (!child || !ret)
		return coati_fail(err, -EINVAL, "wait for command: no child was given");
	while (!child->ended) {
		int r = reap(child, WNOHANG);

		if (r == 0)
			r = wait_readable(child, deadline_ns);
		if (r == -EINTR)
			return coati_fail(err, r, "wait for %s: a signal arrived", child->name);
		if (r == -ETIMEDOUT)
			return coati_fail(err, r, "wait for %s: it still runs at the deadline",
					  child->name);
		if (r < 0)
			return coati_fail(
				err, r,
				"wait for %s: %m; does the program ignore SIGCHLD, or wait for "
				"all children elsewhere?",
				child->name);
	}
	if (SIZED_FILL(ret, &child->status) < 0)
		return coati_fail(err, -EINVAL, "wait for %s: the status has no size", child->name);
	return 0;
}

int coati_child_kill(struct coati_child *child, int signal_number)
{
	int r;

	if (!child)
		return -EINVAL;
	if (child->ended)
		return 0;
	if (child->pidfd >= 0)
		r = pidfd_send_signal_compat(child->pidfd, signal_number);
	else
		r = kill(child->pid, signal_number);
	return r < 0 && errno != ESRCH ? -errno : 0;
}

int coati_child_fd(const struct coati_child *child)
{
	return child ? child->pidfd : -1;
}

void coati_child_free(struct coati_child **childp)
{
	struct coati_child *child = childp ? *childp : NULL;

	if (!child)
		return;
	*childp = NULL;
	if (child->pid > 0 && !child->ended) {
		coati_child_kill(child, SIGKILL);
		reap_blocking(child);
	}
	fd_closep(&child->go);
	fd_closep(&child->go_read);
	fd_closep(&child->report);
	fd_closep(&child->pidfd);
	coati_free(child->name);
	coati_free(child);
}

int coati_child_exit_code(const struct coati_child_status *status)
{
	if (!status)
		return -EINVAL;
	return status->exited ? status->exit_code : 128 + status->signal;
}
