/* SPDX-License-Identifier: MIT */
/*
 * see sink.h
 *
 * O_NONBLOCK belongs to the open file, which other processes may share (a terminal, the pipe of a
 * shell): it is never set on what the program gave us. A pipe or terminal is opened once more
 * through /proc instead. Where that cannot be, poll() says that a page is free.
 */
#include "live/tracer/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/tracer/emit.h"

#define END_NS UINT64_C(5000000000)
/* how often a waiting thread checks whether the end has come */
#define LOOK_NS	 UINT64_C(100000000)
#define PIECE	 (UINT32_C(1) << 20)
#define ONE_PAGE 4096u

static void open_again(struct tracer_sink *s)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	s->own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (s->own < 0)
		return;
	s->fd = s->own;
	s->kind = SINK_FREE;
}

void coati_tracer_sink_open(struct tracer_sink *s, int fd, uint64_t patience_ns)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	*s = (struct tracer_sink){
		.fd = fd, .own = -1, .kind = SINK_POLLED, .patience_ns = patience_ns
	};
	if (fstat(fd, &st) < 0)
		return; /* the first write tells */
	if (S_ISREG(st.st_mode) || S_ISBLK(st.st_mode))
		s->kind = SINK_FILE;
	else if (S_ISSOCK(st.st_mode))
		s->kind = SINK_SOCKET;
	else if (flags >= 0 && flags & O_NONBLOCK)
		s->kind = SINK_FREE;
	else if (S_ISFIFO(st.st_mode) || isatty(fd))
		open_again(s);
}

void coati_tracer_sink_close(struct tracer_sink *s)
{
	int own = s->own;

	/* first: the child of a fork() in between must not close what has this number then */
	s->own = -1;
	if (own >= 0)
		close(own);
}

/* How long to wait for a byte to be taken, of which the last was taken at @progress_ns: 0 no
 * longer. */
static uint64_t patience(struct tracer_sink *s, uint64_t progress_ns)
{
	/* pairs with: release of who sets it */
	uint64_t ending = atomic_load_explicit(&s->ending_ns, memory_order_acquire);
	uint64_t now = tracer_ns(), since = progress_ns, most = s->patience_ns;

	if (!most && !ending)
		return LOOK_NS;
	if (!most) {
		since = progress_ns > ending ? progress_ns : ending;
		most = END_NS;
	}
	if (now > since) { /* no sum of two times: a patience without end may be UINT64_MAX */
		if (now - since >= most)
			return 0;
		most -= now - since;
	}
	return most < LOOK_NS ? most : LOOK_NS;
}

static ssize_t write_some(const struct tracer_sink *s, const char *bytes, size_t size)
{
	ssize_t n;

	if (s->kind == SINK_SOCKET)
		n = send(s->fd, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		n = write(s->fd, bytes,
			  s->kind == SINK_POLLED && size > ONE_PAGE ? ONE_PAGE : size);
	if (n < 0)
		return errno == EWOULDBLOCK || errno == EINTR ? -EAGAIN : -errno;
	return n;
}

/* 1: try to write; 0: look again; negative: that was too long. */
static int wait_for_room(struct tracer_sink *s, uint64_t progress_ns)
{
	struct pollfd p = { .fd = s->fd, .events = POLLOUT };
	uint64_t ns = patience(s, progress_ns);

	if (!ns)
		return -ETIMEDOUT;
	return poll(&p, 1, (int)(ns / 1000000) + 1) > 0;
}

int coati_tracer_sink_write(struct tracer_sink *s, const char *bytes, size_t size,
			    size_t *ret_written)
{
	uint64_t progress_ns = tracer_ns();
	bool must_wait = s->kind == SINK_POLLED;
	size_t at = 0;
	int r = 1;

	while (at < size && r >= 0) {
		ssize_t n = -EAGAIN;

		if (must_wait)
			r = wait_for_room(s, progress_ns);
		if (r > 0)
			n = write_some(s, bytes + at, size - at < PIECE ? size - at : PIECE);
		must_wait = s->kind == SINK_POLLED || n < 0;
		if (n > 0) {
			at += (size_t)n;
			progress_ns = tracer_ns();
		} else if (n != -EAGAIN) {
			r = n ? (int)n : -EIO;
		}
	}
	*ret_written = at;
	return r < 0 ? r : 0;
}
