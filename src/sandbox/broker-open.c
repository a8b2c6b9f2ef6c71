/* SPDX-License-Identifier: MIT */
/* Which files a reader may have, by what it says that they are. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "sandbox/broker.h"
#include "sandbox/check.h"

#define SHM	"/dev/shm"
#define RUNTIME "/run/user"
#define MEMFD	"/memfd:coati-live"

static int refuse(const char *path, struct coati_error *err)
{
	return coati_fail(err, -EACCES,
			  "%s: the sandbox of this reader does not hand it out; --no-sandbox reads "
			  "without one",
			  path);
}

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len > n && !strcmp(name + len - n, end);
}

static bool is_name(const char *path)
{
	return *path && !strchr(path, '/') && strcmp(path, ".") != 0 && strcmp(path, "..") != 0;
}

/* The number of an input, or -1. */
static int find_input(const struct broker *b, const char *path)
{
	for (size_t i = 0; i < b->policy->nr_inputs; i++)
		if (!strcmp(b->policy->inputs[i], path))
			return (int)i;
	return -1;
}

/* @o->path in the directory @o->root, which is opened first. The reader's wish about links is
 * ignored: in a directory that another user made, a link may lead anywhere. */
static int open_in(const struct opening *o, int flags, enum opening_links links,
		   struct coati_error *err)
{
	CLEANUP(fd_closep) int folder = open(o->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
	struct opening in = *o;

	if (folder < 0)
		return coati_fail(err, -errno, "%s: %m", o->root);
	in.folder_fd = folder;
	in.links = links;
	return coati_open_here(&in, err);
}

/* ---- inputs ---- */

static bool is_part_of_recording(const char *name)
{
	return !strcmp(name, "data") || coati_is_numbered(name, "data.", "");
}

/* A name of something that was open is another file here: it is opened again by its descriptor. */
static int reopen(int fd, const struct opening *o, struct coati_error *err)
{
	struct opening again = *o;
	char path[40];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again.path = path;
	again.links = OPEN_FOLLOW;
	r = coati_open_here(&again, NULL);
	return r < 0 ? coati_fail(err, r, "%s: %m", o->path) : r;
}

int coati_broker_reopen(int given, const struct opening *o, struct coati_error *err)
{
	int flags = fcntl(given, F_GETFL);
	struct stat st;

	if (o->kind != OPEN_INPUT || flags < 0 || flags & O_PATH ||
	    (flags & O_ACCMODE) == O_WRONLY || fstat(given, &st) < 0 || !S_ISREG(st.st_mode))
		return refuse(o->path, err);
	return reopen(given, o, err);
}

static int open_input(const struct broker *b, const struct opening *o, struct coati_error *err)
{
	int at;

	if (*o->root) {
		if (find_input(b, o->root) < 0 || !is_part_of_recording(o->path))
			return refuse(o->path, err);
		return open_in(o, 0, OPEN_NO_LAST_LINK, err);
	}
	at = find_input(b, o->path);
	if (at < 0)
		return refuse(o->path, err);
	return b->input_fds[at] >= 0 ? reopen(b->input_fds[at], o, err) : coati_open_here(o, err);
}

/* ---- images and what belongs to them ---- */

static int open_foreign(const struct opening *o, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char shown[2 * MESSAGE_PATH_MAX];
	struct opening in = *o;
	int r;

	/* its name counts: a link of that name would be as good as any file */
	if (o->kind == OPEN_JIT)
		in.links = OPEN_NO_LINKS;
	fd = coati_open_here(&in, err);
	if (fd < 0)
		return fd;
	snprintf(shown, sizeof(shown), "%s%s", o->root, o->path);
	r = o->kind == OPEN_IMAGE ? coati_check_image(fd, shown, err)
	    : o->kind == OPEN_JIT ? coati_check_jit(fd, shown, err)
				  : coati_check_source(fd, shown, err);
	if (r == 0)
		r = coati_check_owner(fd, shown, err);
	return r < 0 ? r : TAKE_FD(fd);
}

/* Of this user, in a directory that no other user can write to. */
static int open_table(const struct opening *o, struct coati_error *err)
{
	size_t len = strspn(o->path, "0123456789abcdef");
	CLEANUP(fd_closep) int fd = -1;
	struct stat st;

	if (!len || strcmp(o->path + len, ".tbl") != 0 || !*o->root)
		return refuse(o->path, err);
	if (lstat(o->root, &st) < 0 || st.st_uid != geteuid() || st.st_mode & 022)
		return coati_fail(
			err, -ENOENT,
			"%s: not a directory that belongs to this user and that only this user can "
			"write",
			o->root);
	fd = open_in(o, O_NOFOLLOW, OPEN_NO_LAST_LINK, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return refuse(o->path, err);
	return TAKE_FD(fd);
}

/* ---- flight recorders ---- */

static bool is_recorder_name(const char *path)
{
	return ends_in(path, ".live") || ends_in(path, ".live.new");
}

/* coati-UID and coati-UID-NUMBER below /dev/shm, /run/user/UID/coati, $XDG_RUNTIME_DIR/coati, and
 * what the user named. */
static bool is_recorder_folder(const struct broker *b, const char *path)
{
	const char *own = secure_getenv("XDG_RUNTIME_DIR");
	char usual[4096];

	if (find_input(b, path) >= 0 || coati_is_numbered(path, RUNTIME "/", "/coati"))
		return true;
	if (own && *own == '/' &&
	    (size_t)snprintf(usual, sizeof(usual), "%s/coati", own) < sizeof(usual) &&
	    !strcmp(path, usual))
		return true;
	return !strncmp(path, SHM "/coati-", strlen(SHM "/coati-")) &&
	       is_name(path + strlen(SHM "/"));
}

static int open_folder(const struct broker *b, const struct opening *o, struct coati_error *err)
{
	struct opening in = *o;

	if (!strcmp(o->path, SHM) || !strcmp(o->path, RUNTIME) ||
	    coati_is_numbered(o->path, "/proc/", "/fd"))
		return coati_open_here(o, err);
	if (!is_recorder_folder(b, o->path))
		return refuse(o->path, err);
	in.links = OPEN_NO_LAST_LINK;
	return coati_open_here(&in, err);
}

/* Whether a descriptor of /proc is that of a recorder, by the name that the kernel gives. */
static bool is_recorder_at(const char *path)
{
	char to[4096];
	struct stat st;
	ssize_t len = readlink(path, to, sizeof(to) - 1);

	to[len < 0 ? 0 : len] = '\0';
	return (ends_in(to, ".live") || !strncmp(to, MEMFD, strlen(MEMFD))) &&
	       stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* What a process has open. It may put another file there between the look and the opening, also one
 * that it cannot read itself: what was opened is looked at once more. */
static int open_of_process(const struct opening *o, struct coati_error *err)
{
	char path[2 * MESSAGE_PATH_MAX], own[40];
	CLEANUP(fd_closep) int fd = -1;

	if (!coati_is_numbered(o->path, "", ""))
		return refuse(o->path, err);
	snprintf(path, sizeof(path), "%s/%s", o->root, o->path);
	if (!is_recorder_at(path))
		return refuse(path, err);
	fd = open_in(o, 0, OPEN_FOLLOW, err);
	if (fd < 0)
		return fd;
	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	return is_recorder_at(own) ? TAKE_FD(fd) : refuse(path, err);
}

static int open_recorder(const struct broker *b, const struct opening *o, struct coati_error *err)
{
	struct opening in = *o;

	if (coati_is_numbered(o->root, "/proc/", "/fd"))
		return open_of_process(o, err);
	in.links = OPEN_NO_LAST_LINK;
	if (!is_recorder_name(o->path))
		return refuse(o->path, err);
	if (!*o->root)
		return coati_open_here(&in, err); /* a core file names it */
	if (!is_name(o->path) || !is_recorder_folder(b, o->root))
		return refuse(o->path, err);
	return open_in(o, O_NOFOLLOW, OPEN_NO_LAST_LINK, err);
}

int coati_broker_check_remove(const struct broker *b, const char *path, struct coati_error *err)
{
	const char *slash = strrchr(path, '/');
	char folder[MESSAGE_PATH_MAX];

	snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) : 0, path);
	if (!(b->policy->flags & SANDBOX_REMOVE) || !is_recorder_name(path) ||
	    !is_recorder_folder(b, folder))
		return refuse(path, err);
	return 0;
}

/* ---- all of them ---- */

static bool has(const struct broker *b, uint32_t flag)
{
	return b->policy->flags & flag;
}

int coati_broker_open(const struct broker *b, const struct opening *o, struct coati_error *err)
{
	bool recorders = has(b, SANDBOX_RECORDERS);

	switch (o->kind) {
	case OPEN_INPUT:
		return open_input(b, o, err);
	case OPEN_IMAGE:
	case OPEN_JIT:
		return has(b, SANDBOX_IMAGES) ? open_foreign(o, err) : refuse(o->path, err);
	case OPEN_SOURCE:
		return has(b, SANDBOX_SOURCES) ? open_foreign(o, err) : refuse(o->path, err);
	case OPEN_TABLE:
		return has(b, SANDBOX_TABLES) ? open_table(o, err) : refuse(o->path, err);
	case OPEN_SYSTEM:
		return coati_is_system_file(o->path, recorders) ? coati_open_here(o, err)
								: refuse(o->path, err);
	case OPEN_FOLDER:
		return recorders ? open_folder(b, o, err) : refuse(o->path, err);
	case OPEN_RECORDER:
		return recorders ? open_recorder(b, o, err) : refuse(o->path, err);
	default:
		return refuse(o->path, err);
	}
}
