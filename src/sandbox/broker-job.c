/* SPDX-License-Identifier: MIT */
/*
 * Jobs of a broker, each in a process of its own: a server that does not answer, or a program that
 * is started, keeps no other job waiting.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "sandbox/broker.h"
#include "sandbox/channel.h"

/* Those that have ended need no more room. */
static void count_jobs(struct broker *b)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < b->nr_jobs; i++)
		if (waitpid(b->jobs[i], NULL, WNOHANG) == 0)
			b->jobs[nr++] = b->jobs[i];
	b->nr_jobs = nr;
}

void coati_broker_end_jobs(struct broker *b)
{
	for (uint32_t i = 0; i < b->nr_jobs; i++) {
		kill(b->jobs[i], SIGKILL);
		while (waitpid(b->jobs[i], NULL, 0) < 0 && errno == EINTR)
			;
	}
	b->nr_jobs = 0;
}

static void run_job(const struct broker *b, const struct message_request *q, int fd, int channel)
	__attribute__((noreturn));
static void run_job(const struct broker *b, const struct message_request *q, int fd, int channel)
{
	struct sandbox_task task = { .bytes = q->text,
				     .size = q->path_size,
				     .fd = fd,
				     .is_confined = b->is_confined,
				     .abandoned_fd = channel };
	struct message_answer a = { 0 };
	struct coati_error err = { 0 };
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(b->channel); /* or its other end would never be gone */
	r = b->policy->jobs[q->kind](&task, &a.value, &err);
	a.code = r < 0 ? r : 0;
	memcpy(a.text, err.text, sizeof(a.text));
	coati_channel_send(channel, &a, sizeof(a), r);
	_exit(0);
}

int coati_broker_start(struct broker *b, const struct message_request *q, int fd,
		       struct coati_error *err)
{
	CLEANUP(fd_closep) int ours = -1;
	int ends[2], r;
	pid_t pid;

	if (q->kind >= SANDBOX_JOBS || !b->policy->jobs[q->kind] || q->path_size > SANDBOX_TASK_MAX)
		return coati_fail(err, -EACCES, "the sandbox of this reader has no such job");
	count_jobs(b);
	if (b->nr_jobs >= BROKER_JOBS)
		return coati_fail(err, -EAGAIN, "more than %d jobs at once", BROKER_JOBS);
	r = coati_channel_pair(ends);
	if (r < 0)
		return coati_fail(err, r, "a channel for a job: %m");
	ours = ends[1];
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		run_job(b, q, fd, ours);
	}
	if (pid < 0) {
		close(ends[0]);
		return coati_fail(err, -errno, "a process for a job: %m");
	}
	b->jobs[b->nr_jobs++] = pid;
	return ends[0];
}
