/* SPDX-License-Identifier: MIT */
/*
 * Loaded into the tool by LD_PRELOAD: a file system whose quota is used up. With QUOTA=write the
 * first bytes of a regular file find room and no others; with QUOTA=close all of them do, and
 * close() tells that they did not, as over a network.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROOM 10

static int is_output(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && fstat(fd, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

static int at_end(void)
{
	return !strcmp(getenv("QUOTA"), "close");
}

static ssize_t over(void)
{
	errno = EDQUOT;
	return -1;
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);
	struct stat st;

	if (!real)
		real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	if (!is_output(fd) || at_end())
		return real(fd, bytes, size);
	if (fstat(fd, &st) < 0 || st.st_size >= ROOM)
		return over();
	return real(fd, bytes, size < ROOM ? size : ROOM);
}

__attribute__((visibility("default"))) ssize_t writev(int fd, const struct iovec *parts, int nr)
{
	static ssize_t (*real)(int, const struct iovec *, int);

	if (!real)
		real = (ssize_t(*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev");
	return is_output(fd) && !at_end() ? over() : real(fd, parts, nr);
}

__attribute__((visibility("default"))) ssize_t pwrite64(int fd, const void *bytes, size_t size,
							off64_t at)
{
	static ssize_t (*real)(int, const void *, size_t, off64_t);

	if (!real)
		real = (ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
	return is_output(fd) && !at_end() && at >= ROOM ? over() : real(fd, bytes, size, at);
}

__attribute__((visibility("default"))) int close(int fd)
{
	static int (*real)(int);
	int is_over = at_end() && is_output(fd);

	if (!real)
		real = (int (*)(int))dlsym(RTLD_NEXT, "close");
	return real(fd) < 0 ? -1 : is_over ? (int)over() : 0;
}
