/* SPDX-License-Identifier: MIT */
/* From a process and perhaps a path to a descriptor that may be read, or the reason why not. */
#include "image/jit-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/opening.h"
#include "base/parse.h"
#include "image/jit.h"
#include "image/jitdump.h"
#include "image/open.h"

#define STATUS_BYTES   (64u * 1024)
#define PERF_MAP_BYTES (UINT64_C(1) << 30)
#define JITDUMP_BYTES  (UINT64_C(16) << 30)
#define CHUNK_BYTES    ((size_t)1 << 20)

/* The text behind "Name:\t" in a status file, up to the end of the line; NULL when there is
 * none. */
static char *status_field(char *text, const char *name)
{
	size_t len = strlen(name);
	char *line;

	while ((line = strsep(&text, "\n")))
		if (!strncmp(line, name, len) && line[len] == ':')
			return line + len + 1;
	return NULL;
}

static char *last_word(char *text)
{
	char *word, *last = NULL;

	while ((word = strsep(&text, " \t")))
		if (*word)
			last = word;
	return last;
}

int32_t coati_jit_inner_pid(const char *procfs, int32_t pid)
{
	struct strbuf s = STRBUF_INIT(STATUS_BYTES);
	char path[IMAGE_PATH_MAX], *field = NULL;
	uint32_t inner = (uint32_t)pid;

	snprintf(path, sizeof(path), "%s/%d/status", procfs, pid);
	if (coati_file_read(AT_FDCWD, path, &s) == 0 && s.len)
		field = status_field(s.text, "NSpid");
	field = field ? last_word(field) : NULL;
	if (field)
		(void)coati_parse_u32(field, 1, INT32_MAX, &inner);
	coati_strbuf_fini(&s);
	return (int32_t)inner;
}

/* The users that the process acts as; false when it is gone. */
static bool process_users(const struct jit_source *from, uid_t ret[2])
{
	struct strbuf s = STRBUF_INIT(STATUS_BYTES);
	char path[IMAGE_PATH_MAX], *field = NULL, *word;
	int nr = 0;

	snprintf(path, sizeof(path), "%s/%d/status", from->procfs, from->pid);
	if (coati_file_read(AT_FDCWD, path, &s) == 0 && s.len)
		field = status_field(s.text, "Uid");
	while (nr < 2 && (word = strsep(&field, " \t"))) {
		uint32_t uid;

		if (coati_parse_u32(word, 0, UINT32_MAX, &uid) == 0)
			ret[nr++] = uid;
	}
	coati_strbuf_fini(&s);
	return nr == 2;
}

struct place {
	const char *root;
	const char *path;
	uid_t users[2];
};

static int check_file(int fd, const struct place *p, uint64_t max_bytes, uint64_t *ret_size,
		      struct coati_error *err)
{
	char shown[IMAGE_PATH_MAX + 64];
	struct stat st;

	snprintf(shown, sizeof(shown), "%s%s", p->root, p->path);
	if (fstat(fd, &st) < 0)
		return coati_fail(err, -errno, "%s: %m", shown);
	if (st.st_uid && st.st_uid != p->users[0] && st.st_uid != p->users[1])
		return coati_fail(
			err, -EPERM,
			"%s belongs to user %u, not to root or the user of the process (%u): not "
			"read",
			shown, (unsigned int)st.st_uid, (unsigned int)p->users[0]);
	if ((uint64_t)st.st_size > max_bytes)
		return coati_fail(err, -EFBIG, "%s has %llu bytes, and no more than %llu are read",
				  shown, (unsigned long long)st.st_size,
				  (unsigned long long)max_bytes);
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

static int open_place(const struct place *p, uint64_t max_bytes, uint64_t *ret_size,
		      struct coati_error *err)
{
	struct opening o = {
		.kind = OPEN_JIT, .links = OPEN_NO_LINKS, .root = p->root, .path = p->path
	};
	CLEANUP(fd_closep) int fd = coati_open_file(&o, err);
	int r;

	if (fd < 0)
		return fd;
	r = check_file(fd, p, max_bytes, ret_size, err);
	return r < 0 ? r : TAKE_FD(fd);
}

int coati_jit_open(const struct jit_source *from, uint64_t max_bytes, uint64_t *ret_size,
		   struct coati_error *err)
{
	char root[IMAGE_PATH_MAX], path[64];
	struct place p = { .root = root, .path = from->path ? from->path : path };
	int fd;

	if (from->path && strlen(from->path) >= IMAGE_PATH_MAX)
		return coati_fail(err, -ENAMETOOLONG,
				  "the path of a file of process %d is too long", from->pid);
	snprintf(root, sizeof(root), "%s/%d/root", from->procfs, from->pid);
	if (from->pid > 0 && process_users(from, p.users)) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map",
			 coati_jit_inner_pid(from->procfs, from->pid));
		fd = open_place(&p, max_bytes, ret_size, err);
		/* another process may have the number by now */
		if (fd >= 0 || (fd != -ENOENT && fd != -EACCES && fd != -ENOTDIR))
			return fd;
	}
	p.root = from->root;
	p.users[0] = p.users[1] = geteuid();
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", from->pid);
	return open_place(&p, max_bytes, ret_size, err);
}

/* Whole lines as they come; a line that is longer than the buffer is none. */
static int read_map(struct jit *j, int fd, uint64_t size, char *buf)
{
	size_t kept = 0;

	for (uint64_t at = 0; at < size;) {
		size_t want =
			CHUNK_BYTES - kept < size - at ? CHUNK_BYTES - kept : (size_t)(size - at);
		ssize_t n = pread(fd, buf + kept, want, (off_t)at);
		const char *end;
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0; /* cut while we read */
		at += (uint64_t)n;
		kept += (size_t)n;
		end = at < size ? memrchr(buf, '\n', kept) : buf + kept - 1;
		if (!end && kept == CHUNK_BYTES) {
			j->stats.malformed++;
			kept = 0;
		}
		if (!end)
			continue;
		r = coati_perf_map_parse(j, buf, (size_t)(end + 1 - buf));
		if (r < 0)
			return r;
		kept -= (size_t)(end + 1 - buf);
		memmove(buf, end + 1, kept);
	}
	return 0;
}

int coati_perf_map_read(struct jit *j, const struct jit_source *from, struct coati_error *err)
{
	CLEANUP(freep) char *buf = NULL;
	CLEANUP(fd_closep) int fd = -1;
	uint64_t size = 0;
	int r;

	fd = coati_jit_open(from, PERF_MAP_BYTES, &size, err);
	if (fd < 0)
		return fd;
	buf = coati_alloc(CHUNK_BYTES);
	r = buf ? read_map(j, fd, size, buf) : -ENOMEM;
	return r < 0 ? coati_fail(err, r, "the perf map of process %d: %m", from->pid) : 0;
}

int coati_jitdump_read(struct jit *j, const struct jit_source *from, struct coati_error *err)
{
	struct jitdump_bytes bytes = { .fd = -1 };
	int r;

	bytes.fd = coati_jit_open(from, JITDUMP_BYTES, &bytes.size, err);
	if (bytes.fd < 0)
		return bytes.fd;
	r = coati_jitdump_walk(j, &bytes, err);
	fd_closep(&bytes.fd);
	if (r < 0 && err)
		coati_error_prefix(err, "%s of process %d: ", from->path, from->pid);
	return r;
}
