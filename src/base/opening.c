/* SPDX-License-Identifier: MIT */
/*
 * Files that must be regular are first opened with O_PATH, so that a FIFO or a device is refused
 * before it can do anything; from there to a descriptor that can be read leads /proc/self/fd.
 */
#include "base/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

#define RETRIES	  8
#define SHOWN_MAX (4096 + 64)

static const struct opening_hooks *hooks;

void coati_opening_hook(const struct opening_hooks *h)
{
	hooks = h;
}

const struct opening_hooks *coati_opening_hooks(void)
{
	return hooks;
}

/* ---- one path ---- */

/* Component by component, where the kernel cannot do it for us (or a sandbox forbids it). */
static int walk_below(int root_fd, const char *path)
{
	CLEANUP(fd_closep) int at = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
	char part[256];

	while (at >= 0 && *path) {
		size_t len = strcspn(path, "/");
		int next;

		if (len >= sizeof(part)) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(part, path, len);
		part[len] = '\0';
		path += len + strspn(path + len, "/");
		if (!len || !strcmp(part, "."))
			continue;
		if (!strcmp(part, "..")) {
			errno = EXDEV;
			return -1;
		}
		next = openat(at, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		fd_closep(&at);
		at = next;
	}
	return TAKE_FD(at);
}

static int open_place_below(int root_fd, const char *path, bool follow)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd;

	if (!follow) {
		how.flags |= O_NOFOLLOW;
		how.resolve |= RESOLVE_NO_SYMLINKS;
	}
	/* EAGAIN: something was renamed while it was looked at */
	for (int i = 0; i < RETRIES; i++) {
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = walk_below(root_fd, path);
	return fd;
}

/* From a descriptor that is only a place to one that can be read, when it is a regular file. */
static int open_regular(int place_fd, const char *shown, struct coati_error *err)
{
	struct stat st;
	char self[64];
	int fd;

	if (fstat(place_fd, &st) < 0)
		return coati_fail(err, -errno, "%s: %m", shown);
	if (S_ISLNK(st.st_mode))
		return coati_fail(err, -ELOOP, "%s is a symlink, which is not followed here",
				  shown);
	if (!S_ISREG(st.st_mode))
		return coati_fail(err, -EINVAL, "%s is not a regular file", shown);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", place_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return coati_fail(err, -errno, "open %s: %m", shown);
	return fd;
}

/* A place on this machine: the root itself is none that links could lead out of. */
static int open_place(const struct opening *o)
{
	const char *root = o->root && *o->root ? o->root : "/";
	CLEANUP(fd_closep) int root_fd = -1;
	bool anywhere = !o->root || !*o->root;
	int fd;

	if (anywhere && o->links != OPEN_NO_LINKS) {
		fd = open(o->path,
			  O_PATH | O_CLOEXEC | (o->links == OPEN_NO_LAST_LINK ? O_NOFOLLOW : 0));
	} else {
		root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (root_fd < 0)
			return -errno;
		fd = open_place_below(root_fd, o->path + strspn(o->path, "/"),
				      o->links == OPEN_FOLLOW);
	}
	return fd < 0 ? -errno : fd;
}

static int open_regular_file(const struct opening *o, struct coati_error *err)
{
	char shown[SHOWN_MAX];
	CLEANUP(fd_closep) int place_fd = -1;

	snprintf(shown, sizeof(shown), "%s%s", o->root ? o->root : "", o->path);
	place_fd = open_place(o);
	if (place_fd == -ELOOP)
		return coati_fail(
			err, -ELOOP,
			"%s is a symlink or behind one, and symlinks are not followed here", shown);
	if (place_fd < 0)
		return coati_fail(err, place_fd, "open %s: %m", shown);
	return open_regular(place_fd, shown, err);
}

/* ---- what is opened by its name ---- */

static int flags_of(const struct opening *o)
{
	int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY;

	if (o->links != OPEN_FOLLOW)
		flags |= O_NOFOLLOW;
	if (o->kind == OPEN_FOLDER)
		return flags | O_DIRECTORY;
	return o->kind != OPEN_INPUT || o->no_wait ? flags | O_NONBLOCK : flags;
}

static int open_named(const struct opening *o, struct coati_error *err)
{
	int at = o->folder_fd > 0 ? o->folder_fd : AT_FDCWD, fd;

	do
		fd = openat(at, o->path, flags_of(o));
	while (fd < 0 && errno == EINTR && (flags_of(o) & O_NONBLOCK));
	if (fd >= 0)
		return fd;
	if (o->folder_fd > 0)
		return coati_fail(err, -errno, "%s/%s: %m", o->root, o->path);
	return coati_fail(err, -errno, "%s: %m", o->path);
}

int coati_open_here(const struct opening *o, struct coati_error *err)
{
	switch (o->kind) {
	case OPEN_IMAGE:
	case OPEN_JIT:
	case OPEN_SOURCE:
		return open_regular_file(o, err);
	case OPEN_SERVER:
	case OPEN_KINDS:
		return coati_fail(err, -EOPNOTSUPP, "%s cannot be opened as a file", o->path);
	default:
		return open_named(o, err);
	}
}

int coati_open_file(const struct opening *o, struct coati_error *err)
{
	return hooks ? hooks->open(o, err) : coati_open_here(o, err);
}
