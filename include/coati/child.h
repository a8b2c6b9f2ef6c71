/* SPDX-License-Identifier: MIT */
/*
 * Run a command under events. The child is forked and held just before its exec, so that events
 * opened on it can start at the exec (COATI_SET_ENABLE_ON_EXEC, COATI_CAPTURE_ON_EXEC): nothing
 * before the exec is counted, and nothing after it is missed.
 *
 *	coati_child_start(argv, NULL, &child, &err);     forked, held
 *	... open events on coati_child_pid(child) ...
 *	coati_child_exec(child, &err);                   runs; an exec that fails is reported here
 *	coati_child_wait(child, -1, &status, &err);
 *	coati_child_free(&child);
 *
 * A child is used by one thread at a time. coati-event(3) has an example.
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

/* coati_child_opts.flags */
/* Send SIGKILL to the command when the thread that started it ends, however it ends; without this
 * flag only a child that is still held is killed. It does not reach set-user-id programs (the
 * kernel clears the setting at their exec) or the children of the command. */
#define COATI_CHILD_DIES_WITH_US (UINT32_C(1) << 0)

struct coati_child_opts {
	uint64_t size;		 /* sizeof(struct coati_child_opts) */
	const char *const *envp; /* NULL: the environment of this process */
	int32_t stdin_fd;	 /* duplicated onto descriptor 0; 0: inherited */
	int32_t stdout_fd;	 /* likewise */
	int32_t stderr_fd;
	uint32_t flags; /* COATI_CHILD_* */
};

/* How the command ended. */
struct coati_child_status {
	uint64_t size;	/* sizeof(struct coati_child_status) */
	int32_t exited; /* 1: exit_code is valid; 0: signal is valid */
	int32_t exit_code;
	int32_t signal;
	int32_t core; /* 1: it dumped core */
	uint64_t user_ns, sys_ns;
	uint64_t wall_ns; /* from the exec to the end */
	uint64_t peak_rss_bytes;
};

/* Fork and hold. The command is looked up in PATH as execvp(3) does. It starts with no signal
 * blocked and no handler; signals that the caller ignores stay ignored (as with nohup), except
 * SIGPIPE and SIGCHLD. @opts may be NULL. */
COATI_API int coati_child_start(const char *const *argv, const struct coati_child_opts *opts,
				struct coati_child **ret, struct coati_error *err);
COATI_API int32_t coati_child_pid(const struct coati_child *child);
/* Let it run. -ENOENT, -EACCES, -ENOEXEC and others: the exec failed, and the child has been
 * reaped. */
COATI_API int coati_child_exec(struct coati_child *child, struct coati_error *err);
/* Wait until it ends, or until @deadline_ns (CLOCK_MONOTONIC; -1: none): -ETIMEDOUT. -EINTR: a
 * signal arrived. A second wait gives the same status. Set ret->size first. */
COATI_API int coati_child_wait(struct coati_child *child, int64_t deadline_ns,
			       struct coati_child_status *ret, struct coati_error *err);
/* Kill and reap a child that was not waited for. *child becomes NULL; NULL is fine. */
COATI_API void coati_child_free(struct coati_child **child);

#ifdef __cplusplus
}
#endif
#endif
