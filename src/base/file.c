/* SPDX-License-Identifier: MIT */
/*
 * Paths and descriptors come in, bytes go out. Sizes that a file claims are never believed (sysfs
 * says 4096, procfs 0): reading goes on until the kernel says end or the ceiling is reached. A
 * signal never shows; every other error comes out as the kernel's negative errno.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/opening.h"
#include "base/parse.h"

/* Without waiting: a FIFO where a file should be gives no bytes, and does not hang us. */
static int open_to_read(int dirfd, const char *path)
{
	int fd;

#ifndef COATI_INSIDE /* a program that looks at itself is not confined by us */
	if (dirfd == AT_FDCWD)
		return coati_open_file(&(struct opening){ .kind = OPEN_SYSTEM, .path = path },
				       NULL);
#endif

	do
		fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

/* Up to @size bytes, 0 at the end of the file. */
static ssize_t read_some(int fd, void *bytes, size_t size)
{
	ssize_t n;

	do
		n = read(fd, bytes, size);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

int coati_file_read_fd(int fd, struct strbuf *s)
{
	size_t before = s->len;
	char chunk[4096];
	ssize_t n = 0;

	while (!s->failed && (n = read_some(fd, chunk, sizeof(chunk))) > 0)
		coati_strbuf_add(s, chunk, (size_t)n);
	if (n >= 0 && !s->failed)
		return 0;
	if (s->cap) {
		s->len = before;
		s->text[before] = '\0';
	}
	return n < 0 ? (int)n : s->failed;
}

int coati_file_read(int dirfd, const char *path, struct strbuf *s)
{
	CLEANUP(fd_closep) int fd = open_to_read(dirfd, path);

	return fd < 0 ? fd : coati_file_read_fd(fd, s);
}

int coati_file_read_line(int dirfd, const char *path, char *buf, size_t size)
{
	CLEANUP(fd_closep) int fd = open_to_read(dirfd, path);
	char *newline = NULL;
	size_t len = 0;

	if (fd < 0)
		return fd;
	while (!newline && len < size) {
		ssize_t n = read_some(fd, buf + len, size - len);

		if (n < 0)
			return (int)n;
		if (n == 0)
			break;
		newline = memchr(buf + len, '\n', (size_t)n);
		len += (size_t)n;
	}
	if (newline)
		len = (size_t)(newline - buf);
	if (len == size)
		return -E2BIG;
	if (memchr(buf, '\0', len))
		return -EBADMSG;
	buf[len] = '\0';
	return 0;
}

int coati_file_read_u64(int dirfd, const char *path, uint64_t *ret)
{
	char line[64];
	int r = coati_file_read_line(dirfd, path, line, sizeof(line));

	return r < 0 ? r : coati_parse_u64(line, 0, UINT64_MAX, ret);
}

int coati_file_read_i64(int dirfd, const char *path, int64_t *ret)
{
	char line[64];
	int r = coati_file_read_line(dirfd, path, line, sizeof(line));

	return r < 0 ? r : coati_parse_i64(line, INT64_MIN, INT64_MAX, ret);
}

int coati_write_all(int fd, const void *bytes, size_t size)
{
	const char *p = bytes;

	while (size) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO; /* no file does that; better than turning in circles */
		p += n;
		size -= (size_t)n;
	}
	return 0;
}

int coati_pread_all(int fd, void *bytes, size_t size, uint64_t offset)
{
	char *p = bytes;
	uint64_t end;

	/* no file is that long */
	if (__builtin_add_overflow(offset, size, &end) || end > INT64_MAX)
		return -ENODATA;
	while (size) {
		ssize_t n = pread(fd, p, size, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return -ENODATA;
		p += n;
		size -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

void coati_file_want(uint64_t nr)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= nr || l.rlim_cur >= l.rlim_max)
		return;
	l.rlim_cur = nr < l.rlim_max ? nr : l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l); /* opening will say what is missing */
}

/* Of the opening, not of the process, which has another number elsewhere and may open it twice. */
int coati_file_lock(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

bool coati_file_is_locked(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}
