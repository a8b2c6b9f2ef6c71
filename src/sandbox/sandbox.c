/* SPDX-License-Identifier: MIT */
/*
 * The broker is forked while this process can still do everything, and so is the worker; then each
 * of them gives up what it does not need. From there on they are the only way to a file.
 */
#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "sandbox/broker.h"
#include "sandbox/channel.h"
#include "sandbox/confine.h"
#include "sandbox/filter.h"
#include "sandbox/inherited.h"
#include "sandbox/landlock.h"
#include "sandbox/client.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER 1
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

static struct {
	pid_t broker, worker; /* 0: none */
	sandbox_job_fn jobs[SANDBOX_JOBS];
} box;

/* ---- whether ---- */

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value && strcmp(value, "0") != 0;
}

/* It makes system calls of its own in our process, which a filter would meet, too. */
static bool has_valgrind(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "/vgpreload_");
}

void coati_sandbox_probe(struct sandbox_support *ret)
{
	bool kernel, off = false;

	*ret = (struct sandbox_support){ .landlock = coati_landlock_version(),
					 .seccomp = coati_filter_probe() };
	kernel = ret->landlock > 0 || ret->seccomp == 0;
	if (is_set("COATI_NO_SANDBOX")) {
		ret->why = "COATI_NO_SANDBOX is set";
		ret->remedy = "unset COATI_NO_SANDBOX";
		off = true;
	} else if (has_valgrind()) {
		ret->why = "valgrind needs more system calls than a reader";
		ret->remedy = "run coati without valgrind";
		off = true;
	} else if (HAS_SANITIZER) {
		ret->why = "this build has a sanitizer, which reads /proc and traces its process";
		ret->remedy = "build without -Db_sanitize";
	}
	ret->is_confined = kernel && !ret->why;
	ret->is_checked = kernel && !off;
}

/* ---- the processes ---- */

/* What the reader needs but for files to read. */
static bool needs_worker(const struct sandbox_policy *p)
{
	return (p->output && strcmp(p->output, "-") != 0) || p->flags & SANDBOX_REMOVE ||
	       p->jobs[SANDBOX_FETCH] || p->jobs[SANDBOX_OBJDUMP];
}

static struct sandbox_policy of_broker(const struct sandbox_policy *p)
{
	struct sandbox_policy b = *p;

	b.flags &= ~SANDBOX_REMOVE;
	b.output = NULL;
	b.jobs[SANDBOX_FETCH] = b.jobs[SANDBOX_OBJDUMP] = NULL;
	return b;
}

/* It opens nothing for the reader; among the inputs may be a directory in which files are
 * removed. */
static struct sandbox_policy of_worker(const struct sandbox_policy *p)
{
	struct sandbox_policy w = *p;

	w.flags &= SANDBOX_REMOVE | SANDBOX_NO_LANDLOCK | SANDBOX_NO_SECCOMP;
	if (!(w.flags & SANDBOX_REMOVE))
		w.nr_inputs = 0;
	w.jobs[SANDBOX_DESCRIBE] = NULL;
	return w;
}

static void be_broker(struct broker *b, const struct inherited *in) __attribute__((noreturn));
static void be_broker(struct broker *b, const struct inherited *in)
{
	struct sandbox_policy policy = of_broker(b->policy);

	b->policy = &policy;
	b->name = "coati-broker";
	coati_inherited_close_for_broker(in, b->channel);
	if (b->is_confined && coati_confine_broker(&policy) < 0)
		_exit(1);
	coati_broker_run(b);
}

static void be_worker(struct broker *b, const struct inherited *in) __attribute__((noreturn));
static void be_worker(struct broker *b, const struct inherited *in)
{
	struct sandbox_policy policy = of_worker(b->policy);

	b->policy = &policy;
	b->name = "coati-worker";
	coati_inherited_close_for_broker(in, b->channel);
	if (b->is_confined && coati_confine_worker(&policy) < 0)
		_exit(1);
	coati_broker_run(b);
}

/* The channel to a new process, which never returns from here. */
static int start(void (*be)(struct broker *b, const struct inherited *in), struct broker b,
		 const struct inherited *in, pid_t *ret_pid)
{
	int ends[2], r = coati_channel_pair(ends);

	if (r < 0)
		return r;
	*ret_pid = fork();
	if (*ret_pid == 0) {
		b.channel = ends[1];
		be(&b, in);
	}
	r = *ret_pid < 0 ? -errno : ends[0];
	close(ends[1]);
	if (*ret_pid < 0) {
		close(ends[0]);
		*ret_pid = 0;
	}
	return r;
}

static int start_all(const struct sandbox_policy *p, const struct inherited *in, bool is_confined,
		     struct coati_error *err)
{
	struct broker b = { .policy = p,
			    .output_fd = in->output_fd,
			    .input_fds = in->input_fds,
			    .is_confined = is_confined };
	int channels[2] = { -1, -1 }, r;

	channels[0] = start(be_broker, b, in, &box.broker);
	if (channels[0] >= 0 && needs_worker(p))
		channels[1] = start(be_worker, b, in, &box.worker);
	r = channels[0] < 0 ? channels[0] : channels[1] < -1 ? channels[1] : 0;
	coati_client_begin(channels);
	if (r < 0) {
		coati_sandbox_end();
		return coati_fail(
			err, r,
			"the sandbox: no process for its broker: %m; --no-sandbox reads without");
	}
	coati_inherited_close_for_reader(in, channels);
	r = is_confined ? coati_confine_reader(p) : 0;
	if (r < 0)
		coati_sandbox_end();
	return r < 0 ? coati_fail(err, r,
				  "this process cannot be confined: %m; --no-sandbox reads without")
		     : 1;
}

void coati_sandbox_leave_out(const struct sandbox_policy *p)
{
	memcpy(box.jobs, p->jobs, sizeof(box.jobs));
}

int coati_sandbox_enter(const struct sandbox_policy *p, struct coati_error *err)
{
	struct sandbox_support can;
	struct inherited in;
	int r;

	coati_sandbox_leave_out(p);
	coati_sandbox_probe(&can);
	if (!can.is_checked)
		return 0;
	r = coati_inherited_open(&in, p, err);
	if (r == 0)
		r = start_all(p, &in, can.is_confined, err);
	coati_inherited_fini(&in);
	return r;
}

static void await(pid_t *pid)
{
	while (*pid > 0 && waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
		;
	*pid = 0;
}

void coati_sandbox_end(void)
{
	coati_client_end();
	await(&box.broker);
	await(&box.worker);
}

/* ---- jobs ---- */

int coati_sandbox_run(enum sandbox_job job, const struct sandbox_task *task, uint32_t *ret_value,
		      struct coati_error *err)
{
	struct sandbox_task here = *task;

	*ret_value = 0;
	if (coati_client_has_broker())
		return coati_client_run(job, task, ret_value, err);
	here.is_confined = false;
	here.abandoned_fd = -1;
	return box.jobs[job] ? box.jobs[job](&here, ret_value, err)
			     : coati_fail(err, -EOPNOTSUPP, "this verb has no such job");
}

int coati_sandbox_remove(const char *path)
{
	if (coati_client_has_broker())
		return coati_client_remove(path);
	return unlink(path) < 0 ? -errno : 0;
}
