/* SPDX-License-Identifier: MIT */
/* see client.h */
#include "sandbox/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"
#include "sandbox/channel.h"
#include "sandbox/message.h"

static int broker = -1, worker = -1;			 /* channels */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over a request and its answer */

void coati_client_begin(const int channels[2])
{
	broker = channels[0];
	worker = channels[1];
	coati_opening_hook(&coati_client_hooks);
}

void coati_client_end(void)
{
	coati_opening_hook(NULL);
	fd_closep(&broker);
	fd_closep(&worker);
}

bool coati_client_has_broker(void)
{
	return broker >= 0;
}

/* ---- asking ---- */

static int fail_gone(struct coati_error *err)
{
	return coati_fail(err, -EPIPE,
			  "the broker of the sandbox has ended; --no-sandbox reads without one");
}

/* The answer on @from: a descriptor, -1 when none came along, or what went wrong. */
static int await(int from, uint32_t *ret_value, int *ret_fd, struct coati_error *err)
{
	struct message_answer a = { 0 };
	ssize_t size;

	do
		size = coati_channel_recv(from, &a, sizeof(a), ret_fd);
	while (size == -EINTR);
	if (size == -EMFILE)
		return coati_fail(err, -EMFILE, "%m");
	if (size != (ssize_t)sizeof(a))
		return fail_gone(err);
	if (ret_value)
		*ret_value = a.value;
	a.text[sizeof(a.text) - 1] = '\0';
	return a.code < 0 ? coati_fail(err, a.code, "%s", a.text) : 0;
}

/* Files to read come from the broker; without a worker it refuses the rest. */
static int channel_for(const struct message_request *q)
{
	bool reads = q->ask == ASK_OPEN || (q->ask == ASK_JOB && q->kind == SANDBOX_DESCRIBE);

	return reads || worker < 0 ? broker : worker;
}

static int ask(const struct message_request *q, int fd, uint32_t *ret_value, int *ret_fd,
	       struct coati_error *err)
{
	size_t size = MESSAGE_HEAD + q->root_size + q->path_size;
	int channel = channel_for(q), r;

	*ret_fd = -1;
	pthread_mutex_lock(&lock);
	r = coati_channel_send(channel, q, size, fd) < 0 ? fail_gone(err)
							 : await(channel, ret_value, ret_fd, err);
	pthread_mutex_unlock(&lock);
	return r;
}

/* Both texts with their ends; false: they are too long. */
static bool put_paths(struct message_request *q, const char *root, const char *path)
{
	size_t root_size = strlen(root) + 1, path_size = strlen(path) + 1;

	if (root_size > MESSAGE_PATH_MAX || path_size > MESSAGE_PATH_MAX)
		return false;
	q->root_size = (uint32_t)root_size;
	q->path_size = (uint32_t)path_size;
	memcpy(q->text, root, root_size);
	memcpy(q->text + root_size, path, path_size);
	return true;
}

/* ---- opening ---- */

/* Most of what is looked for is not there, which can be seen without asking. */
static int see_missing(const struct opening *o, const char *root)
{
	char path[2 * MESSAGE_PATH_MAX];
	bool in_folder = o->kind == OPEN_TABLE && *root;
	struct stat st;

	if (o->kind != OPEN_IMAGE && o->kind != OPEN_JIT && o->kind != OPEN_SOURCE && !in_folder)
		return 0;
	if (in_folder || !*root || !strcmp(root, "/"))
		snprintf(path, sizeof(path), "%s%s%s", root, in_folder ? "/" : "", o->path);
	else /* links below another root lead elsewhere: the root alone can be looked at */
		snprintf(path, sizeof(path), "%s", root);
	if (lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
		return 0;
	return -errno;
}

/* What the user named may be a FIFO, which is waited for here: its writer may never come. */
static int wait_for_input(int fd, const char *path, struct coati_error *err)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode) && poll(&p, 1, -1) < 0)
		return coati_fail(err, -errno, "%s: %m", path);
	if (flags >= 0)
		(void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return 0;
}

/* Another name of what this process has open means nothing to another process: it goes along. */
static int own_descriptor(const struct opening *o)
{
	static const char start[] = "/proc/self/fd/";
	uint32_t fd;

	if (o->kind != OPEN_INPUT || strncmp(o->path, start, strlen(start)) != 0 ||
	    coati_parse_u32(o->path + strlen(start), 0, INT32_MAX, &fd) < 0)
		return -1;
	return (int)fd;
}

static int fetch(const char *id, struct coati_error *err)
{
	uint8_t bytes[SANDBOX_TASK_MAX / 2];
	struct sandbox_task task = { .bytes = bytes, .fd = -1, .abandoned_fd = -1 };
	char two[5] = "0x";
	uint32_t value;

	for (; id[0] && id[1] && task.size < sizeof(bytes); id += 2) {
		memcpy(two + 2, id, 2);
		if (coati_parse_u32(two, 0, 255, &value) < 0)
			return coati_fail(err, -EINVAL, "an invalid build ID");
		bytes[task.size++] = (uint8_t)value;
	}
	return coati_client_run(SANDBOX_FETCH, &task, &value, err);
}

static int open_by_broker(const struct opening *o, struct coati_error *err)
{
	const char *root = o->root ? o->root : "";
	bool waits = o->kind == OPEN_INPUT && !o->no_wait;
	struct message_request q = { .ask = ASK_OPEN,
				     .kind = o->kind,
				     .links = o->links,
				     .flags = o->no_wait || waits ? ASK_NO_WAIT : 0 };
	CLEANUP(fd_closep) int fd = -1;
	int r;

	if (o->kind == OPEN_SERVER)
		return fetch(o->path, err);
	if (!put_paths(&q, root, o->path))
		return coati_fail(err, -ENAMETOOLONG, "open %.40s...: %m", o->path);
	r = see_missing(o, root);
	if (r < 0)
		return coati_fail(err, r, "open %s%s: %m", root, o->path);
	r = ask(&q, own_descriptor(o), NULL, &fd, err);
	if (r < 0) {
		if (r == -EMFILE)
			coati_fail(err, r, "open %s%s: %m", root, o->path);
		return r;
	}
	if (fd < 0)
		return fail_gone(err);
	r = waits ? wait_for_input(fd, o->path, err) : 0;
	return r < 0 ? r : TAKE_FD(fd);
}

/* ---- the output ---- */

static int new_file(struct new_file *f, const char *path, mode_t mode, struct coati_error *err)
{
	struct message_request q = { .ask = ASK_NEW, .flags = mode };
	uint32_t is_file = 0;
	int fd, r;

	if (!put_paths(&q, "", path) ||
	    (size_t)snprintf(f->path, sizeof(f->path), "%s", path) >= sizeof(f->path))
		return coati_fail(err, -ENAMETOOLONG, "cannot write %.40s...: %m", path);
	r = ask(&q, -1, &is_file, &fd, err);
	if (r < 0)
		return r;
	f->fd = fd;
	f->is_file = is_file;
	return fd < 0 ? fail_gone(err) : 0;
}

static int end_file(struct new_file *f, bool whole, struct coati_error *err)
{
	struct message_request q = { .ask = ASK_END };
	/* a file system may tell only at the end that it has no room */
	int closed = close(f->fd) < 0 ? -errno : 0, none, r;

	f->fd = -1;
	q.flags = whole && closed == 0;
	r = ask(&q, -1, NULL, &none, err);
	return closed < 0 ? coati_fail(err, closed, "cannot write %s: %m", f->path) : r;
}

const struct opening_hooks coati_client_hooks = {
	.open = open_by_broker,
	.new_file = new_file,
	.end_file = end_file,
};

/* ---- the rest ---- */

int coati_client_run(enum sandbox_job job, const struct sandbox_task *task, uint32_t *ret_value,
		     struct coati_error *err)
{
	struct message_request q = { .ask = ASK_JOB,
				     .kind = job,
				     .path_size = (uint32_t)task->size };
	CLEANUP(fd_closep) int answers = -1;
	int fd = -1, r;

	if (task->size > SANDBOX_TASK_MAX)
		return coati_fail(err, -E2BIG, "a job of more than %d bytes", SANDBOX_TASK_MAX);
	memcpy(q.text, task->bytes, task->size);
	r = ask(&q, task->fd, NULL, &answers, err);
	if (r < 0)
		return r;
	if (answers < 0)
		return fail_gone(err);
	r = await(answers, ret_value, &fd, err);
	return r < 0 ? r : fd < 0 ? fail_gone(err) : fd;
}

int coati_client_remove(const char *path)
{
	struct message_request q = { .ask = ASK_REMOVE };
	int none;

	return put_paths(&q, "", path) ? ask(&q, -1, NULL, &none, NULL) : -ENAMETOOLONG;
}
