/* SPDX-License-Identifier: MIT */
/* Files of flight recorders: looked for, listed, removed when they are of no use any more. */
#include "autopsy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/match.h"
#include "base/parse.h"
#include "command.h"
#include "output.h"
#include "talk.h"

#define SHM    "/dev/shm"
#define FOLDER "coati-"

/* ---- looking ---- */

/* Files of other people's folders: links are not followed, and a folder of one user is not another's. */
static int each_in(const char *folder, uint32_t owner, autopsy_file_fn fn, void *ctx)
{
	CLEANUP(dir_closep) DIR *d = NULL;
	struct coati_flight_info info;
	struct coati_flight *f = NULL;
	struct stat st;
	char path[512];
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), file, n = 0;

	if (fd < 0)
		return 0; /* not ours to look into, or gone */
	if (fstat(fd, &st) < 0 || (owner != UINT32_MAX && st.st_uid != owner)) {
		close(fd);
		return 0;
	}
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return -ENOMEM;
	}
	for (const struct dirent *e; n == 0 && (e = readdir(d));) {
		size_t len = strlen(e->d_name);

		if (len < 5 || strcmp(e->d_name + len - 5, ".live") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		file = openat(fd, e->d_name,
			      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (file < 0 || coati_flight_open_fd(file, &f, NULL) < 0)
			continue;
		coati_flight_get_info(f, &info);
		coati_flight_close(&f);
		n = fn(ctx, path, &info);
	}
	return n;
}

int coati_autopsy_each(const struct autopsy_args *a, autopsy_file_fn fn, void *ctx)
{
	CLEANUP(dir_closep) DIR *d = NULL;
	char folder[300];
	uint32_t uid;
	int n = 0;

	if (a->directory)
		return each_in(a->directory, UINT32_MAX, fn, ctx);
	d = opendir(SHM);
	if (!d)
		return 0;
	for (const struct dirent *e; n == 0 && (e = readdir(d));) {
		if (strncmp(e->d_name, FOLDER, strlen(FOLDER)) != 0 ||
		    coati_parse_u32(e->d_name + strlen(FOLDER), 0, UINT32_MAX - 1, &uid) < 0)
			continue;
		snprintf(folder, sizeof(folder), SHM "/%s", e->d_name);
		n = each_in(folder, uid, fn, ctx);
	}
	return n;
}

struct search {
	uint32_t pid;
	uint64_t start_ticks, realtime_ns; /* of the best */
	char *path;
	size_t size;
	bool found;
};

/* Of two processes that had the number the later one. */
static int match(void *ctx, const char *path, const struct coati_flight_info *info)
{
	struct search *s = ctx;

	if (info->pid != s->pid || (s->found && info->realtime_ns < s->realtime_ns))
		return 0;
	s->found = true;
	s->realtime_ns = info->realtime_ns;
	snprintf(s->path, s->size, "%s", path);
	return 0;
}

int coati_autopsy_find(const struct autopsy_args *a, const char *target, char *path, size_t size,
		       struct coati_error *err)
{
	struct search s = { .path = path, .size = size };
	int n;

	if (coati_parse_u32(target, 1, INT32_MAX, &s.pid) < 0) {
		if ((size_t)snprintf(path, size, "%s", target) >= size)
			return coati_fail(err, -ENAMETOOLONG, "%.40s...: %m", target);
		return 0;
	}
	n = coati_autopsy_each(a, match, &s);
	if (n < 0)
		return coati_fail(err, n, "looking for the recorder of process %u: %m", s.pid);
	if (!s.found)
		return coati_fail(err, -ENOENT,
				  "process %u has left no flight recorder that can be read in %s "
				  "(coati autopsy --list shows those that are there)",
				  s.pid, a->directory ? a->directory : SHM "/coati-*");
	return 0;
}

/* ---- listing ---- */

struct listing {
	struct output out;
	struct json json;
	bool is_json;
	uint64_t now_ns, count;
};

static uint64_t age_of(const struct coati_flight_info *info, uint64_t now)
{
	return info->modified_ns < now ? now - info->modified_ns : 0;
}

static const char *state_of(const struct coati_flight_info *info)
{
	return info->is_alive ? "alive" : info->has_ended ? "ended" : "dead";
}

static int list_one(void *ctx, const char *path, const struct coati_flight_info *info)
{
	struct listing *l = ctx;
	struct strbuf *s = &l->out.text;

	l->count++;
	if (l->is_json) {
		coati_json_object(&l->json);
		coati_json_ku64(&l->json, "pid", info->pid);
		coati_json_ku64(&l->json, "uid", info->uid);
		coati_json_kstr(&l->json, "comm", info->comm);
		coati_json_kstr(&l->json, "state", state_of(info));
		coati_json_ku64(&l->json, "age_ns", age_of(info, l->now_ns));
		coati_json_ku64(&l->json, "bytes", info->bytes);
		coati_json_kstr(&l->json, "path", path);
		coati_json_end(&l->json);
		return 0;
	}
	coati_strbuf_printf(s, "%8u  %-5s  ", info->pid, state_of(info));
	coati_format_duration(s, age_of(info, l->now_ns));
	coati_strbuf_printf(s, "  %.1f MiB  ", (double)info->bytes / (1 << 20));
	coati_strbuf_clean(s, info->comm, strlen(info->comm));
	coati_strbuf_adds(s, "  ");
	coati_strbuf_clean(s, path, strlen(path));
	coati_strbuf_addc(s, '\n');
	return 0;
}

int coati_autopsy_list(const struct autopsy_args *a)
{
	struct listing l = { .is_json = a->json, .now_ns = clock_ns(CLOCK_REALTIME) };

	coati_output_init(&l.out, COLOR_NEVER);
	l.json = json_to(&l.out.text);
	if (l.is_json) {
		coati_json_object(&l.json);
		coati_json_kstr(&l.json, "schema", "coati.autopsy-list.v1");
		coati_json_key(&l.json, "recorders");
		coati_json_array(&l.json);
	}
	coati_autopsy_each(a, list_one, &l);
	if (l.is_json) {
		coati_json_end(&l.json);
		coati_json_end(&l.json);
		coati_strbuf_addc(&l.out.text, '\n');
	} else if (!l.count) {
		coati_note("no flight recorder has left a file");
	}
	return coati_output_end(&l.out);
}

/* ---- removing ---- */

struct cleaning {
	uint64_t now_ns, age_ns, removed, bytes;
	bool failed;
};

/* Files of processes that live are in use whatever their age. */
static int clean_one(void *ctx, const char *path, const struct coati_flight_info *info)
{
	struct cleaning *c = ctx;

	if (info->is_alive || age_of(info, c->now_ns) < c->age_ns)
		return 0;
	if (unlink(path) < 0) {
		coati_say("%s: %m", path);
		c->failed = true;
		return 0;
	}
	c->removed++;
	c->bytes += info->bytes;
	return 0;
}

int coati_autopsy_clean(const struct autopsy_args *a)
{
	struct cleaning c = { .now_ns = clock_ns(CLOCK_REALTIME), .age_ns = a->clean_ns };

	coati_autopsy_each(a, clean_one, &c);
	coati_note("removed %" PRIu64 " file%s of processes that have ended, %.1f MiB", c.removed,
		   c.removed == 1 ? "" : "s", (double)c.bytes / (1 << 20));
	return c.failed ? EXIT_FAILED : EXIT_DONE;
}
