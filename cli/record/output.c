/* SPDX-License-Identifier: MIT */
/* see record/output.h */
#include "cli/record/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/newfile.h"
#include "cli/record/signals.h"
#include "recording/writer.h"

#define FILES_MAX 100001

static bool is_stdout(const struct record_output *o)
{
	return !strcmp(o->path, "-");
}

static bool is_stream(mode_t mode)
{
	return S_ISFIFO(mode) || S_ISSOCK(mode);
}

const char coati_record_default[] = "coati.data";

static const char *kind_of(mode_t mode)
{
	return S_ISFIFO(mode)			? "a FIFO"
	       : S_ISDIR(mode)			? "a directory"
	       : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
	       : S_ISLNK(mode)			? "a link"
						: "a socket";
}

int coati_record_check_default(const char *path, struct coati_error *err)
{
	struct stat st;

	if (path != coati_record_default || lstat(path, &st) < 0 || S_ISREG(st.st_mode))
		return 0;
	return coati_fail(
		err, -EEXIST,
		"%s exists and is %s of user %u: remove it, or choose another file with -o", path,
		kind_of(st.st_mode), st.st_uid);
}

int coati_record_output_reserve(struct record_output *o, struct coati_error *err)
{
	char folder[sizeof(o->name)];
	int r = coati_record_check_default(o->path, err);
	struct stat st;

	o->names.max = FILES_MAX;
	o->unnamed = -1;
	if (r < 0)
		return r;
	if (strlen(o->path) > sizeof(o->name) - 64)
		return coati_fail(err, -ENAMETOOLONG, "the name of the output file is too long");
	if (is_stdout(o)) {
		o->pipe = true;
		if (isatty(STDOUT_FILENO))
			return coati_fail(
				err, -EINVAL,
				"a recording is binary and is not written to a terminal; pipe it "
				"into coati dump -i -");
		return 0;
	}
	if (!o->many && stat(o->path, &st) == 0 &&
	    (!S_ISREG(st.st_mode) || coati_is_open_file(o->path))) {
		o->special = true;
		o->pipe = is_stream(st.st_mode);
		if (!S_ISDIR(st.st_mode) && access(o->path, W_OK) == 0)
			return 0;
		return coati_fail(err, S_ISDIR(st.st_mode) ? -EISDIR : -errno,
				  "%s: %m; choose another file with -o", o->path);
	}
	coati_folder_of(o->path, folder, sizeof(folder));
	if (access(folder, W_OK | X_OK) < 0)
		return coati_fail(err, -errno, "%s: %m; choose another place with -o", folder);
	/* what would fail at the end is better said before the command runs */
	if (!o->many && lstat(o->path, &st) == 0 && S_ISLNK(st.st_mode) && stat(o->path, &st) < 0)
		return coati_fail(
			err, -errno,
			"%s is a dangling symlink: %m; remove it or choose another file with -o",
			o->path);
	snprintf(folder, sizeof(folder), "%s.old", o->path);
	if (!o->many && stat(o->path, &st) == 0 && stat(folder, &st) == 0 && S_ISDIR(st.st_mode))
		return coati_fail(
			err, -EISDIR,
			"%s: %m, and the recording before could not be kept there; choose another "
			"file with -o",
			folder);
	return 0;
}

/* What is there already becomes NAME.old, unless it is empty. */
static int keep_old(struct record_output *o, struct coati_error *err)
{
	char old[sizeof(o->name) + 8];
	struct stat st;

	if (lstat(o->name, &st) < 0)
		return 0;
	if (S_ISREG(st.st_mode) && !st.st_size && unlink(o->name) == 0)
		return 0;
	snprintf(old, sizeof(old), "%s.old", o->name);
	if (rename(o->name, old) < 0)
		return coati_fail(err, -errno, "keeping %s as %s: %m", o->name, old);
	return 0;
}

int coati_record_output_publish(struct record_output *o, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = TAKE_FD(o->unnamed);
	char proc[64];
	int r;

	if (fd < 0)
		return 0;
	r = keep_old(o, err);
	if (r < 0)
		return r;
	snprintf(proc, sizeof(proc), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, proc, AT_FDCWD, o->name, AT_SYMLINK_FOLLOW) < 0)
		return coati_fail(err, -errno, "cannot rename the recording to %s: %m", o->name);
	return 0;
}

static void name_by_time(struct record_output *o)
{
	struct timespec now;
	struct tm tm;
	char text[32];

	clock_gettime(CLOCK_REALTIME, &now);
	localtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &tm);
	snprintf(o->name, sizeof(o->name), "%s.%s.%06ld", o->path, text, now.tv_nsec / 1000);
}

/* Forget the oldest file over the limit. */
static int remember(struct record_output *o, struct coati_error *err)
{
	char **slot = ARRAY_ADD(&o->names);

	if (slot)
		*slot = coati_strdup(o->name);
	if (!slot || !*slot)
		return coati_fail(err, -ENOMEM, "out of memory, or more than %d files", FILES_MAX);
	if (!o->max_files || o->names.len <= o->max_files)
		return 0;
	unlink(o->names.v[0]);
	coati_free(o->names.v[0]);
	o->names.len--;
	memmove(o->names.v, o->names.v + 1, o->names.len * sizeof(*o->names.v));
	return 0;
}

/* A file without a name, or where the file system or /proc cannot do that, one with it. */
static int open_file(struct record_output *o, struct coati_error *err)
{
	char folder[sizeof(o->name)];
	int fd = -1, r;

	coati_folder_of(o->name, folder, sizeof(folder));
	if (access("/proc/self/fd", X_OK) == 0)
		fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd >= 0) {
		o->unnamed = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		if (o->unnamed >= 0)
			return fd;
		close(fd);
	}
	r = keep_old(o, err);
	if (r < 0)
		return r;
	fd = open(o->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? coati_fail(err, -errno, "%s: %m", o->name) : fd;
}

static int open_special(struct record_output *o, struct coati_error *err)
{
	const struct timespec moment = { .tv_nsec = 10 * 1000 * 1000 };
	int flags = (o->pipe ? O_WRONLY : O_RDWR) | O_CLOEXEC | O_NOCTTY;
	int fd;

	/* a FIFO has a reader sooner or later; signals are to be heard meanwhile */
	while ((fd = open(o->name, flags | O_NONBLOCK)) < 0 && (errno == ENXIO || errno == EINTR)) {
		if (coati_record_stops())
			return coati_fail(err, -EPIPE,
					  "%s: no process opened the pipe to read "
					  "the recording",
					  o->name);
		nanosleep(&moment, NULL);
	}
	if (fd < 0 || fcntl(fd, F_SETFL, flags & O_ACCMODE) < 0) {
		coati_fail(err, -errno, "%s: %m", o->name);
		fd_closep(&fd);
		return err->code;
	}
	return fd;
}

int coati_record_output_next(struct record_output *o, struct coati_writer **ret,
			     struct coati_error *err)
{
	struct coati_writer_opts w = { .size = sizeof(w),
				       .flags = o->pipe ? COATI_WRITER_PIPE : 0,
				       .zstd_level = o->zstd_level,
				       .max_bytes = o->max_bytes };
	int r = 0, fd;

	snprintf(o->name, sizeof(o->name), "%s", o->path);
	if (is_stdout(o))
		return coati_writer_open("-", &w, ret, err);
	if (o->many)
		name_by_time(o);
	if (o->many && o->max_files)
		r = remember(o, err);
	if (r < 0)
		return r;
	fd = o->special ? open_special(o, err) : open_file(o, err);
	return fd < 0 ? fd : coati_writer_open_fd(fd, &w, ret, err);
}

void coati_record_output_fini(struct record_output *o)
{
	fd_closep(&o->unnamed);
	for (size_t i = 0; i < o->names.len; i++)
		coati_free(o->names.v[i]);
	ARRAY_FINI(&o->names);
}
