/* SPDX-License-Identifier: MIT */
/* The real kernel behind the table of calls. */
#include "event/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/file.h"
#include "event/uapi-compat.h"

static int real_open(void *ctx, struct open_args *args)
{
	int fd;

	do
		fd = perf_event_open(&args->attr, args->pid, args->cpu, args->group_fd,
				     args->flags);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

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

static void real_close(void *ctx, int fd)
{
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
