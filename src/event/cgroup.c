/* SPDX-License-Identifier: MIT */
/*
 * The name of a cgroup comes in, a descriptor of its directory goes out. Which mount it is looked
 * up below is read from mountinfo, never guessed; what was opened is asked for its file system and
 * device, so that a directory of something else, or of a hierarchy that perf events do not follow,
 * is refused here and with a reason.
 */
#include "event/cgroup.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parse.h"

#define MOUNTINFO_BYTES_MAX (16 * 1024 * 1024)
#define FIELDS_MAX	    32

/* Turn \040 and its like back into characters. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		if (p[0] == '\\' && p[1] >= '0' && p[1] <= '3' && p[2] >= '0' && p[2] <= '7' &&
		    p[3] >= '0' && p[3] <= '7') {
			*to++ = (char)((p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0'));
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = '\0';
}

/* Does the list @options, separated by commas, have @word? */
static bool has_option(const char *options, const char *word)
{
	size_t len = strlen(word);

	while (*options) {
		size_t this = strcspn(options, ",");

		if (this == len && !strncmp(options, word, len))
			return true;
		options += this + (options[this] == ',');
	}
	return false;
}

static int parse_dev(char *text, dev_t *ret)
{
	char *colon = strchr(text, ':');
	uint32_t major, minor;

	if (!colon)
		return -EBADMSG;
	*colon = '\0';
	if (coati_parse_u32(text, 0, UINT32_MAX, &major) < 0 ||
	    coati_parse_u32(colon + 1, 0, UINT32_MAX, &minor) < 0)
		return -EBADMSG;
	*ret = makedev(major, minor);
	return 0;
}

/* "41 31 0:38 / /sys/fs/cgroup rw shared:1 - cgroup2 cgroup2 rw,nsdelegate": the fields that
 * matter, or false. */
static bool take_mount(char *line, struct cgroup_mount *ret)
{
	char *fields[FIELDS_MAX], *word;
	size_t nr = 0, dash = 0;

	while ((word = strsep(&line, " "))) {
		if (nr == FIELDS_MAX)
			return false;
		if (nr >= 6 && !dash && !strcmp(word, "-"))
			dash = nr;
		fields[nr++] = word;
	}
	if (!dash || nr < dash + 4)
		return false;
	if (!strcmp(fields[dash + 1], "cgroup2"))
		ret->version = 2;
	else if (!strcmp(fields[dash + 1], "cgroup") && has_option(fields[dash + 3], "perf_event"))
		ret->version = 1;
	else
		return false;
	unescape(fields[4]);
	if (strlen(fields[4]) >= sizeof(ret->path) || parse_dev(fields[2], &ret->dev) < 0)
		return false;
	memcpy(ret->path, fields[4], strlen(fields[4]) + 1);
	return true;
}

void coati_cgroup_mount_find(const char *mountinfo, struct cgroup_mount *ret)
{
	char line[2 * PATH_MAX];
	struct cgroup_mount m;

	ret->version = 0;
	for (const char *p = mountinfo; *p;) {
		size_t len = strcspn(p, "\n");

		if (len < sizeof(line)) {
			memcpy(line, p, len);
			line[len] = '\0';
			/* version 1 goes before 2; of equal ones the first */
			if (take_mount(line, &m) && (!ret->version || m.version < ret->version))
				*ret = m;
		}
		p += len + (p[len] == '\n');
	}
}

static int read_mounts(struct cgroup_mount *ret, struct coati_error *err)
{
	struct strbuf s = STRBUF_INIT(MOUNTINFO_BYTES_MAX);
	int r = coati_file_read(AT_FDCWD, "/proc/self/mountinfo", &s);

	if (r == 0)
		coati_cgroup_mount_find(s.text, ret);
	coati_strbuf_fini(&s);
	if (r < 0)
		return coati_fail(err, r, "read /proc/self/mountinfo: %m");
	if (!ret->version)
		return coati_fail(
			err, -EOPNOTSUPP,
			"no cgroup hierarchy is mounted: mount -t cgroup2 none /sys/fs/cgroup");
	return 0;
}

static bool has_dot_dot(const char *name)
{
	for (const char *p = name; *p; p += *p == '/') {
		size_t len = strcspn(p, "/");

		if (len == 2 && !memcmp(p, "..", 2))
			return true;
		p += len;
	}
	return false;
}

/* Is @fd a directory of the hierarchy @m? */
static int check_hierarchy(int fd, const char *path, const struct cgroup_mount *m,
			   struct coati_error *err)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0)
		return coati_fail(err, -errno, "ask %s for its file system: %m", path);
	if (fs.f_type != CGROUP2_SUPER_MAGIC && fs.f_type != CGROUP_SUPER_MAGIC)
		return coati_fail(err, -EINVAL, "%s is not a cgroup: they are below %s", path,
				  m->path);
	if (st.st_dev != m->dev)
		return coati_fail(
			err, -EINVAL,
			"%s is a cgroup of a hierarchy that perf events do not follow: take one "
			"below %s",
			path, m->path);
	return 0;
}

static int fail_open(const char *name, const char *path, const struct cgroup_mount *m,
		     struct coati_error *err)
{
	int code = -errno;

	if (code == -ENOENT && *name == '/')
		return coati_fail(
			err, code,
			"no cgroup %s: names are looked up below %s when they do not begin with /",
			path, m->path);
	if (code == -ENOENT)
		return coati_fail(err, code, "no cgroup %s", path);
	if (code == -ENOTDIR)
		return coati_fail(err, -EINVAL, "%s is not a directory, so not a cgroup", path);
	return coati_fail(err, code, "open the cgroup %s: %m", path);
}

int coati_cgroup_open(const char *name, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	struct cgroup_mount m;
	char path[PATH_MAX];
	bool absolute = *name == '/';
	int r;

	if (!*name)
		return coati_fail(err, -EINVAL, "the name of a cgroup is missing");
	if (!absolute && has_dot_dot(name))
		return coati_fail(
			err, -EINVAL,
			"the name of a cgroup has no \"..\": give an absolute path instead");
	r = read_mounts(&m, err);
	if (r < 0)
		return r;
	if ((size_t)snprintf(path, sizeof(path), "%s%s%s", absolute ? "" : m.path,
			     absolute ? "" : "/", name) >= sizeof(path))
		return coati_fail(err, -E2BIG, "the name of the cgroup is too long");
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return fail_open(name, path, &m, err);
	r = check_hierarchy(fd, path, &m, err);
	return r < 0 ? r : TAKE_FD(fd);
}
