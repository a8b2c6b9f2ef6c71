/* SPDX-License-Identifier: MIT */
/* Finding tracefs, and reading ids, formats and names below events/. */
#include "event/tracefs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#define TRACEFS_USUAL "/sys/kernel/tracing"
#define TRACEFS_OLD   "/sys/kernel/debug/tracing"

/* 0 when @path/events can be read. */
static int try_mount(const char *path)
{
	char events[1024];
	CLEANUP(fd_closep) int fd = -1;

	if ((size_t)snprintf(events, sizeof(events), "%s/events", path) >= sizeof(events))
		return -ENAMETOOLONG;
	fd = open(events, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : 0;
}

int coati_tracefs_refused(const char *tracefs, struct coati_error *err)
{
	return coati_fail(err, -EACCES,
			  "tracefs at %s may not be read by this user; as root: mount -o "
			  "remount,mode=750,gid=%u %s",
			  tracefs, (unsigned int)getegid(), tracefs);
}

static int take_mount(const char *path, char *buf, size_t size, struct coati_error *err)
{
	if ((size_t)snprintf(buf, size, "%s", path) >= size)
		return coati_fail(err, -ENAMETOOLONG, "the path of tracefs is too long");
	return 0;
}

int coati_tracefs_find(const char *override, char *buf, size_t size, struct coati_error *err)
{
	const char *path = override ? override : TRACEFS_USUAL;
	int r = try_mount(path);

	/* The old place lies below a directory that only root may enter: -EACCES there says nothing
	 * about tracefs. */
	if (r == -ENOENT && !override && try_mount(TRACEFS_OLD) == 0)
		return take_mount(TRACEFS_OLD, buf, size, err);
	if (r == 0)
		return take_mount(path, buf, size, err);
	if (r == -EACCES || r == -EPERM)
		return coati_tracefs_refused(path, err);
	if (r != -ENOENT)
		return coati_fail(err, r, "tracefs at %s: %m", path);
	if (override)
		return coati_fail(err, r, "there is no tracefs at %s: it has no directory events",
				  override);
	return coati_fail(err, r,
			  "tracefs is not mounted; as root: mount -t tracefs nodev " TRACEFS_USUAL);
}

static int is_plain_name(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/') && strlen(name) < 256;
}

/* TRACEFS/events/SYSTEM/NAME/FILE; -ENOENT when it cannot be a name. */
static int event_path(char path[1024], const char *tracefs, const char *system, const char *name,
		      const char *file)
{
	if (!is_plain_name(system) || !is_plain_name(name) ||
	    (size_t)snprintf(path, 1024, "%s/events/%s/%s/%s", tracefs, system, name, file) >= 1024)
		return -ENOENT;
	return 0;
}

int coati_tracefs_id(const char *tracefs, const char *system, const char *name, uint64_t *ret_id,
		     struct coati_error *err)
{
	char path[1024];
	int r = event_path(path, tracefs, system, name, "id");

	if (r == 0)
		r = coati_file_read_u64(AT_FDCWD, path, ret_id);
	if (r == 0)
		return 0;
	if (r == -EACCES || r == -EPERM)
		return coati_tracefs_refused(tracefs, err);
	if (r == -ENOENT || r == -ENOTDIR)
		return coati_fail(err, -ENOENT, "there is no tracepoint '%s:%s'", system, name);
	return coati_fail(err, -EBADMSG, "the id of tracepoint '%s:%s' cannot be read", system,
			  name);
}

int coati_tracefs_format(const char *tracefs, const char *system, const char *name,
			 struct strbuf *s)
{
	char path[1024];
	int r = event_path(path, tracefs, system, name, "format");

	return r < 0 ? r : coati_file_read(AT_FDCWD, path, s);
}

int coati_tracefs_read_format(const char *tracefs, const char *system, const char *name,
			      struct arena *arena, struct coati_tp_format *ret)
{
	CLEANUP(coati_strbuf_fini) struct strbuf s = STRBUF_INIT(TP_FORMAT_TEXT_MAX);
	int r = coati_tracefs_format(tracefs, system, name, &s);

	return r < 0 ? r : coati_tp_format_parse(s.text, s.len, arena, ret);
}

int coati_tracefs_systems(const char *tracefs, struct arena *arena, struct dir_names *ret)
{
	char path[1024];

	if ((size_t)snprintf(path, sizeof(path), "%s/events", tracefs) >= sizeof(path))
		return -ENAMETOOLONG;
	return coati_dir_names(AT_FDCWD, path, DIR_FOLDERS, arena, ret);
}

int coati_tracefs_events(const char *tracefs, const char *system, struct arena *arena,
			 struct dir_names *ret)
{
	char path[1024];

	if (!is_plain_name(system) ||
	    (size_t)snprintf(path, sizeof(path), "%s/events/%s", tracefs, system) >= sizeof(path))
		return -ENOENT;
	return coati_dir_names(AT_FDCWD, path, DIR_FOLDERS, arena, ret);
}
