/* SPDX-License-Identifier: MIT */
/*
 * The file of a profile. Its directory is opened when sampling starts, so that errors are reported
 * then, and chdir() and chroot() change nothing; the file is made at the end, under another name
 * until it is whole. Only names of ordinary files are replaced: never a device, a pipe or a link.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "live/auto/auto.h"

#define TRIES_TEMPORARY 16u
#define TRIES_NAME	10000u

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

static int fail(const struct auto_file *f, int code, struct coati_error *err)
{
	return coati_fail(err, code, AUTO_VARIABLE ": %s: %m; no profile is written", f->path);
}

/* 0 free or an ordinary file; negative. */
static int look(const struct auto_file *f, struct coati_error *err)
{
	struct stat st;

	if (fstatat(f->dir_fd, f->base, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : fail(f, -errno, err);
	if (S_ISREG(st.st_mode))
		return 0;
	return coati_fail(
		err, S_ISDIR(st.st_mode) ? -EISDIR : -EEXIST,
		AUTO_VARIABLE
		": %s is %s, not a regular file; choose another name; no profile is written",
		f->path,
		S_ISDIR(st.st_mode)   ? "a directory"
		: S_ISLNK(st.st_mode) ? "a symbolic link"
				      : "a device, pipe or socket");
}

static int fail_folder(const struct auto_file *f, const char *slash, struct coati_error *err)
{
	int code = -errno, size = slash == f->path ? 1 : (int)(slash - f->path);

	return coati_fail(err, code,
			  AUTO_VARIABLE ": the directory %.*s: %m; no profile is written", size,
			  f->path);
}

int coati_auto_file_open(struct auto_file *f, const char *path, struct coati_error *err)
{
	char *slash;
	int r = 0;

	*f = (struct auto_file){ .dir_fd = -1, .fd = -1 };
	if (snprintf(f->path, sizeof(f->path), "%s", path) >= (int)sizeof(f->path))
		return fail(f, -ENAMETOOLONG, err);
	slash = strrchr(f->path, '/');
	if (!slash || !slash[1])
		return coati_fail(err, -EISDIR,
				  AUTO_VARIABLE ": %s is not a file name; no profile is written",
				  path);
	f->base = slash + 1;
	*slash = '\0';
	f->dir_fd = open(slash == f->path ? "/" : f->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	*slash = '/';
	if (f->dir_fd < 0)
		r = fail_folder(f, slash, err);
	/* what is there comes first: another user would not get the profile there either */
	if (r == 0)
		r = look(f, err);
	if (r == 0 && faccessat(f->dir_fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		r = fail_folder(f, slash, err);
	if (r < 0)
		coati_auto_file_close(f);
	return r;
}

int coati_auto_file_begin(struct auto_file *f, struct coati_error *err)
{
	for (uint32_t i = 0; i < TRIES_TEMPORARY; i++) {
		snprintf(f->temporary, sizeof(f->temporary), ".coati-%d-%u", (int)getpid(), i);
		/* addresses of a program are private: 0600, as perf does */
		f->fd = openat(f->dir_fd, f->temporary,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (f->fd >= 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return fail(f, -errno, err);
}

/* -EEXIST when there is one. */
static int rename_new(const struct auto_file *f, const char *name)
{
	if (renameat2(f->dir_fd, f->temporary, f->dir_fd, name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* a file system that cannot do that, as NFS */
	if (linkat(f->dir_fd, f->temporary, f->dir_fd, name, 0) < 0)
		return -errno;
	unlinkat(f->dir_fd, f->temporary, 0);
	return 0;
}

/* The name, or with .2, .3 ... */
static int rename_free(struct auto_file *f, struct coati_error *err)
{
	char name[AUTO_BASE_MAX + 16];
	int r = rename_new(f, f->base);

	for (uint32_t i = 2; r == -EEXIST && i < TRIES_NAME; i++) {
		snprintf(name, sizeof(name), "%.255s.%u", f->base, i);
		r = rename_new(f, name);
	}
	return r < 0 ? fail(f, r, err) : 0;
}

static int rename_over(const struct auto_file *f, struct coati_error *err)
{
	int r = look(f, err);

	if (r == 0 && renameat(f->dir_fd, f->temporary, f->dir_fd, f->base) < 0)
		r = fail(f, -errno, err);
	return r;
}

int coati_auto_file_end(struct auto_file *f, bool wanted, bool keep, struct coati_error *err)
{
	int r = 0;

	/* the last chance of a file system over a network to say that it failed */
	if (close(f->fd) < 0 && wanted)
		r = fail(f, -errno, err);
	f->fd = -1;
	if (r == 0 && wanted)
		r = keep ? rename_free(f, err) : rename_over(f, err);
	if (r < 0 || !wanted)
		unlinkat(f->dir_fd, f->temporary, 0);
	return r;
}

void coati_auto_file_close(struct auto_file *f)
{
	if (f->dir_fd >= 0)
		close(f->dir_fd);
	f->dir_fd = -1;
}
