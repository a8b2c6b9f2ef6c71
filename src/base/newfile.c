/* SPDX-License-Identifier: MIT */
/* see newfile.h */
#include "base/newfile.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/opening.h"

bool coati_is_link_of_another(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && st.st_uid != geteuid() &&
	       st.st_uid != 0;
}

bool coati_is_open_file(const char *path)
{
	char folder[4096], to[4096];
	ssize_t len = readlink(path, to, sizeof(to) - 1);
	struct statfs fs;

	/* by /proc/self/root another user's link could lead to any file of ours */
	if (len <= 0 || coati_is_link_of_another(path))
		return false;
	to[len] = '\0';
	coati_folder_of(path, folder, sizeof(folder));
	return !strncmp(to, "/proc/", 6) ||
	       (statfs(folder, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC);
}

void coati_folder_of(const char *path, char *buf, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(buf, size, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
}

/* Beside the file, under a name that no other user can make first: in a directory of all users they
 * could take those of all process ids. */
static int name_part(struct new_file *f)
{
	uint32_t number[2] = { (uint32_t)getpid(), (uint32_t)now_ns() };
	int n;

	(void)!getrandom(number, sizeof(number), GRND_NONBLOCK); /* else those above */
	n = snprintf(f->part, sizeof(f->part), "%s.part-%08x%08x", f->path, number[0], number[1]);
	return n < 0 || (size_t)n >= sizeof(f->part) ? -ENAMETOOLONG : 0;
}

/* Without a name, or where the file system or /proc cannot do that, with another. */
static int open_beside(struct new_file *f, mode_t mode)
{
	char folder[sizeof(f->path)];
	int r;

	coati_folder_of(f->path, folder, sizeof(folder));
	if (access("/proc/self/fd", X_OK) == 0)
		f->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
	if (f->fd >= 0)
		return 0;
	r = name_part(f);
	if (r < 0)
		return r;
	f->fd = open(f->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (f->fd >= 0)
		return 0;
	r = -errno;
	f->part[0] = '\0';
	return r;
}

/* Why @path is not written to, or 0. */
static int check_name(const char *path, bool is_typed, bool is_file, struct coati_error *err)
{
	struct stat st;

	if (!is_typed && lstat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return coati_fail(err, -EEXIST,
				  "%s exists, is not a regular file and belongs to user %u: remove "
				  "it, or choose another file with -o",
				  path, (unsigned int)st.st_uid);
	if (!is_file && coati_is_link_of_another(path))
		return coati_fail(err, -EPERM,
				  "refusing to follow the link %s of another user: remove it, or "
				  "choose another file with -o",
				  path);
	return 0;
}

int coati_new_file_open(struct new_file *f, const char *path, mode_t mode, struct coati_error *err)
{
	bool is_typed = !(mode & NEW_FILE_NOT_TYPED);
	const struct opening_hooks *hooks = coati_opening_hooks();
	bool is_open, exists;
	struct stat st;
	int r;

	*f = (struct new_file){ .fd = -1 };
	if (hooks)
		return hooks->new_file(f, path, mode, err);
	is_open = coati_is_open_file(path);
	if ((size_t)snprintf(f->path, sizeof(f->path), "%s", path) >= sizeof(f->path))
		return coati_fail(err, -ENAMETOOLONG, "cannot write %.40s...: %m", path);
	exists = stat(path, &st) == 0;
	f->is_file = !is_typed || (!is_open && (!exists || S_ISREG(st.st_mode)));
	r = check_name(path, is_typed, f->is_file, err);
	if (r < 0)
		return r;
	mode &= 0777;
	if (f->is_file) {
		r = open_beside(f, mode);
		if (r < 0 && exists)
			return coati_fail(
				err, r, "cannot write %s: no file can be made beside it: %m", path);
	} else {
		/* what is open may have something in it already */
		f->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | (is_open ? O_APPEND : 0));
		r = f->fd < 0 ? -errno : 0;
	}
	return r < 0 ? coati_fail(err, r, "cannot write %s: %m", path) : 0;
}

/* A file without a name gets one that is free, or another one first, which then takes the place. */
static int give_name(struct new_file *f)
{
	char proc[64];
	int r;

	if (!f->part[0]) {
		snprintf(proc, sizeof(proc), "/proc/self/fd/%d", f->fd);
		if (linkat(AT_FDCWD, proc, AT_FDCWD, f->path, AT_SYMLINK_FOLLOW) == 0)
			return 0;
		r = errno == EEXIST ? name_part(f) : -errno;
		if (r == 0 && linkat(AT_FDCWD, proc, AT_FDCWD, f->part, AT_SYMLINK_FOLLOW) < 0) {
			r = -errno;
			f->part[0] = '\0';
		}
		if (r < 0)
			return r;
	}
	r = rename(f->part, f->path) < 0 ? -errno : 0;
	if (r == 0)
		f->part[0] = '\0';
	return r;
}

/* What a file system says only at the end, such as that a quota is used up on a network: every
 * close() tells, also that of a copy, and then the old file is still there. */
static int finish(const struct new_file *f)
{
	int copy = fcntl(f->fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0)
		return 0; /* no descriptor is left: the last close() will tell */
	return close(copy) < 0 ? -errno : 0;
}

int coati_new_file_end(struct new_file *f, bool whole, struct coati_error *err)
{
	const struct opening_hooks *hooks = coati_opening_hooks();
	int r = 0;

	if (f->fd < 0)
		return 0;
	if (hooks)
		return hooks->end_file(f, whole, err);
	if (whole && f->is_file)
		r = finish(f);
	if (whole && f->is_file && r == 0)
		r = give_name(f);
	if (f->part[0])
		unlink(f->part);
	if (close(f->fd) < 0 && r == 0)
		r = -errno;
	f->fd = -1;
	return r < 0 ? coati_fail(err, r, "cannot write %s: %m", f->path) : 0;
}
