/* SPDX-License-Identifier: MIT */
/*
 * Running a command under events. The child is forked and held just before exec, so that events can
 * be opened on it with COATI_ATTR_ENABLE_ON_EXEC (coati_set does that with
 * COATI_SET_ENABLE_ON_EXEC): nothing from before the exec is counted, nothing after it is missed.
 *
 *	coati_child_start(argv, NULL, &child, &err);     forked, held
 *	... open events on coati_child_pid(child) ...
 *	coati_child_exec(child, &err);                   runs; an exec that fails is reported here
 *	coati_child_wait(child, -1, &status, &err);
 *	coati_child_free(&child);                        kills and reaps a child that was never
 *	                                                 waited for
 */
#ifndef COATI_CHILD_H
#define COATI_CHILD_H

#include <stdint.h>

#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

struct coati_child;

struct coati_child_opts {
	uint64_t size;
	const char *const *envp; /* NULL: ours */
	int32_t stdin_fd;	 /* 0: inherited; else dup'ed onto 0 */
	int32_t stdout_fd;	 /* likewise */
	int32_t stderr_fd;
	uint32_t flags; /* COATI_CHILD_* */
};

/* The command gets SIGKILL when the thread that started it ends, however it ends; without this flag
 * only a child that is still held does. A set-user-id program is not reached (the kernel forgets
 * the wish at its exec), nor are the command's own children. */
#define COATI_CHILD_DIES_WITH_US (UINT32_C(1) << 0)

struct coati_child_status {
	int32_t exited; /* 1: exit_code counts, 0: signal does */
	int32_t exit_code;
	int32_t signal;
	int32_t core; /* 1: dumped core */
	uint64_t user_ns, sys_ns;
	uint64_t wall_ns; /* from exec to the end */
	uint64_t peak_rss_bytes;
};

/* Fork and hold. The command is looked up in our PATH as execvp does it. It starts with no signal
 * blocked and nothing caught; what the caller ignores stays ignored (as with nohup), except SIGPIPE
 * and SIGCHLD. */
COATI_API int coati_child_start(const char *const *argv, const struct coati_child_opts *opts,
				struct coati_child **ret, struct coati_error *err);
COATI_API int32_t coati_child_pid(const struct coati_child *child);
/* Let it go. -ENOENT, -EACCES, -ENOEXEC ...: exec failed, and the child is reaped already. */
COATI_API int coati_child_exec(struct coati_child *child, struct coati_error *err);
/* Wait until it ends or @deadline_ns (CLOCK_MONOTONIC; -1: none) passes: -ETIMEDOUT. -EINTR when a
 * signal arrives, so that the caller can look at its own flags. A second wait returns the same
 * status. */
COATI_API int coati_child_wait(struct coati_child *child, int64_t deadline_ns,
			       struct coati_child_status *ret, struct coati_error *err);
/* Send it a signal; 0 also when it has ended. */
COATI_API int coati_child_kill(struct coati_child *child, int signal);
/* A descriptor that polls readable when the child has ended (pidfd), or -1 when the kernel has
 * none. */
COATI_API int coati_child_fd(const struct coati_child *child);
COATI_API void coati_child_free(struct coati_child **child);

/* What a shell would make of it: the code, or 128 + signal. */
COATI_API int coati_child_exit_code(const struct coati_child_status *status);

#ifdef __cplusplus
}
#endif
#endif
