/* SPDX-License-Identifier: MIT */
/* The real kernel behind the table of calls. */
#include "event/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/parse.h"
#include "event/uapi-compat.h"

/* ---- open and close ---- */

static int open_directly(struct open_args *args)
{
	int fd;

	do
		fd = perf_event_open(&args->attr, args->pid, args->cpu, args->group_fd,
				     args->flags);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

/* One of the two calls, made by a child. */
struct shielded {
	bool closes;
	int fd; /* to be closed */
	struct open_args args;
	int result;
};

/* In a session of its own, so that what kills our process group does not kill it. System calls
 * only: it is a copy of a process that may have other threads. */
static void run_shielded(struct shielded *s)
{
	setsid();
	s->result = s->closes ? close(s->fd) : open_directly(&s->args);
	syscall(SYS_exit_group, 0);
}

static int run_in_child(struct shielded *s)
{
	sigset_t all, old;
	pid_t child;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* it has our handlers, and must not run them */
	/* not clone() of libc, in front of which TSan puts a function of its own */
	child = (pid_t)syscall(SYS_clone, CLONE_FILES | CLONE_VFORK, NULL, NULL, NULL, NULL);
	if (child == 0)
		run_shielded(s);
	while (child > 0 && waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return child > 0 ? 0 : -EAGAIN;
}

/*
 * A uprobe becomes part of running programs while it is opened, and is taken out of them while it
 * is closed. The kernel cannot take it back when the process that does either dies in the middle:
 * with a fatal signal pending the memory of other programs is out of reach, the kernel logs "failed
 * to unregister, leaking uprobe", and a breakpoint stays in their text. So a child that shares our
 * descriptors opens and closes it. If we are killed meanwhile, it finishes the call, holds the last
 * reference to the descriptors, and closes them with no signal pending. What is open when we are
 * killed is closed as ever: then the signal is no longer pending. Rings must be unmapped before the
 * descriptor is closed, or the unmapping would be the close.
 *
 * False: there is no child, and the call was not made.
 */
static bool call_shielded(struct shielded *call)
{
	struct shielded *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool made;

	if (s == MAP_FAILED)
		return false;
	*s = *call;
	made = run_in_child(s) == 0;
	*call = *s;
	munmap(s, sizeof(*s));
	return made;
}

static int open_shielded(struct open_args *args)
{
	struct shielded s = { .args = *args, .result = -EAGAIN };

	if (!args->pid) /* the caller, which is another one there */
		s.args.pid = (int32_t)gettid();
	if (!call_shielded(&s))
		return open_directly(args);
	args->attr = s.args.attr;
	return s.result;
}

static bool is_uprobe(uint32_t type)
{
	char text[16];
	uint64_t uprobe;

	return type > COATI_TYPE_BREAKPOINT &&
	       coati_file_read_line(AT_FDCWD, "/sys/bus/event_source/devices/uprobe/type", text,
				    sizeof(text)) >= 0 &&
	       coati_parse_u64(text, 0, UINT32_MAX, &uprobe) == 0 && uprobe == type;
}

static int real_open(void *ctx, struct open_args *args)
{
	return is_uprobe(args->attr.type) ? open_shielded(args) : open_directly(args);
}

/* ---- the others ---- */

static int real_ioctl(void *ctx, int fd, unsigned long request, unsigned long arg)
{
	int r = ioctl(fd, request, arg);

	return r < 0 ? -errno : r;
}

static ssize_t real_read(void *ctx, int fd, void *bytes, size_t size)
{
	ssize_t n;

	do
		n = read(fd, bytes, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

static int real_set_flags(void *ctx, int fd, int cloexec)
{
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return -errno;
	if (cloexec && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return -errno;
	return 0;
}

static void real_close(void *ctx, int fd, uint32_t type)
{
	struct shielded s = { .closes = true, .fd = fd };

	if (!is_uprobe(type) || !call_shielded(&s))
		close(fd);
}

static int real_sysctl(void *ctx, const char *name, int64_t *ret)
{
	char path[96];
	int len = snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);

	if (len < 0 || (size_t)len >= sizeof(path))
		return -ENAMETOOLONG;
	return coati_file_read_i64(AT_FDCWD, path, ret);
}

const struct event_calls coati_event_calls = {
	.open = real_open,
	.ioctl = real_ioctl,
	.read = real_read,
	.set_flags = real_set_flags,
	.close = real_close,
	.sysctl = real_sysctl,
};
