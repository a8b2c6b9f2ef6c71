/* SPDX-License-Identifier: MIT */
/* see broker.h */
#include "sandbox/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "sandbox/channel.h"

/* ---- the output ---- */

static int make_file(struct broker *b, const char *path, mode_t mode, struct message_answer *a,
		     struct coati_error *err)
{
	const char *output = b->policy->output;
	int r;

	if (!output || strcmp(path, output) != 0 || b->has_file)
		return coati_fail(err, -EACCES, "cannot write %s: it is not the output", path);
	if (b->output_fd >= 0)
		return b->output_fd;
	r = coati_new_file_open(&b->file, path, mode & (0600 | NEW_FILE_NOT_TYPED), err);
	if (r < 0)
		return r;
	b->has_file = true;
	a->value = b->file.is_file;
	return b->file.fd;
}

static int end_file(struct broker *b, bool whole, struct coati_error *err)
{
	bool had = b->has_file;

	b->has_file = false;
	return had ? coati_new_file_end(&b->file, whole, err) : 0;
}

/* ---- requests ---- */

/* A descriptor that is the answer and is closed behind it, but for that of the output. */
static int answer(struct broker *b, const struct message_request *q, int fd,
		  struct message_answer *a, struct coati_error *err)
{
	const char *path = q->text + q->root_size;
	struct opening o = { .kind = (enum opening_kind)q->kind,
			     .links = (enum opening_links)q->links,
			     .no_wait = q->flags & ASK_NO_WAIT,
			     .root = q->text,
			     .path = path };
	int r;

	switch (q->ask) {
	case ASK_OPEN:
		if (q->kind >= OPEN_KINDS || q->links > OPEN_NO_LINKS)
			return coati_fail(err, -EINVAL, "a file of an unknown kind");
		return fd >= 0 ? coati_broker_reopen(fd, &o, err) : coati_broker_open(b, &o, err);
	case ASK_NEW:
		return make_file(b, path, (mode_t)q->flags, a, err);
	case ASK_END:
		return end_file(b, q->flags, err);
	case ASK_REMOVE:
		r = coati_broker_check_remove(b, path, err);
		return r < 0 ? r : unlink(path) < 0 ? coati_fail(err, -errno, "%s: %m", path) : 0;
	default:
		return coati_broker_start(b, q, fd, err);
	}
}

static bool gives_descriptor(const struct message_request *q)
{
	return q->ask == ASK_OPEN || q->ask == ASK_NEW || q->ask == ASK_JOB;
}

/* False: the reader is gone. */
static bool serve_one(struct broker *b)
{
	static struct message_request q;
	struct message_answer a = { 0 };
	struct coati_error err = { 0 };
	CLEANUP(fd_closep) int given = -1;
	ssize_t size = coati_channel_recv(b->channel, &q, sizeof(q), &given);
	int r, fd = -1;

	if (size == -EINTR)
		return getppid() == b->reader;
	if (size <= 0)
		return size == -EMSGSIZE || size == -EMFILE;
	r = coati_message_is_whole(&q, (size_t)size)
		    ? answer(b, &q, given, &a, &err)
		    : coati_fail(&err, -EINVAL, "a malformed request");
	if (r >= 0 && gives_descriptor(&q))
		fd = r;
	a.code = r < 0 ? r : 0;
	memcpy(a.text, err.text, sizeof(a.text));
	r = coati_channel_send(b->channel, &a, sizeof(a), fd);
	if (q.ask != ASK_NEW)
		fd_closep(&fd);
	return r == 0;
}

/* ---- a process of its own ---- */

static void on_end(int sig)
{
	(void)sig; /* whatever waits is interrupted, and finds that the reader is gone */
}

/* The terminal's signals are meant for the reader, which may go on with what it has. */
static void set_signals(void)
{
	static const int ignored[] = {
		SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2
	};
	struct sigaction ignore = { .sa_handler = SIG_IGN }, usual = { .sa_handler = SIG_DFL };
	struct sigaction end = { .sa_handler = on_end };
	sigset_t none;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		sigaction(ignored[i], &ignore, NULL);
	sigaction(SIGCHLD, &usual, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
}

void coati_broker_run(struct broker *b)
{
	set_signals();
	b->reader = getppid();
	prctl(PR_SET_NAME, b->name);
	while (serve_one(b))
		;
	end_file(b, false, NULL);
	coati_broker_end_jobs(b);
	_exit(0);
}
