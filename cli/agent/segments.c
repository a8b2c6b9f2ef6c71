/* SPDX-License-Identifier: MIT */
/* see segments.h */
#include "cli/agent/segments.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/parse.h"
#include "cli/agent/folder.h"

#define SEGMENTS_MAX 1000000
#define GRACE_NS     (60 * NSEC_PER_SEC)
#define DAY	     86400

bool coati_segment_time(const char *name, uint64_t *ret_ns)
{
	size_t prefix = strlen(FOLDER_PREFIX), len = strlen(name);
	struct tm tm = { 0 };
	const char *end;
	time_t t;

	if (strncmp(name, FOLDER_PREFIX, prefix) != 0 || len < strlen(FOLDER_SUFFIX) ||
	    strcmp(name + len - strlen(FOLDER_SUFFIX), FOLDER_SUFFIX) != 0)
		return false;
	end = strptime(name + prefix, "%Y%m%dT%H%M%SZ", &tm);
	if (!end || *end != '-')
		return false;
	t = timegm(&tm);
	if (t < 0)
		return false;
	*ret_ns = (uint64_t)t * NSEC_PER_SEC;
	return true;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct segment *)a)->name, ((const struct segment *)b)->name);
}

static int add(struct segments *s, int dir, const char *name)
{
	struct segment *slot;
	struct stat st;
	uint64_t start;

	if (strlen(name) >= sizeof(slot->name) || !coati_segment_time(name, &start) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return 0;
	slot = ARRAY_ADD(&s->v);
	if (!slot)
		return s->v.len >= s->v.max ? -E2BIG : -ENOMEM;
	snprintf(slot->name, sizeof(slot->name), "%s", name);
	slot->start_ns = start;
	slot->end_ns = (uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
	slot->bytes = (uint64_t)st.st_blocks * 512;
	return 0;
}

int coati_segments_list(struct segments *s, int dir)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = own < 0 ? NULL : fdopendir(own);
	struct dirent *e;

	*s = (struct segments){ .v = ARRAY_INIT(SEGMENTS_MAX) };
	if (!d) {
		r = -errno;
		if (own >= 0)
			close(own);
		return r;
	}
	while (r == 0 && (e = readdir(d)))
		r = add(s, dir, e->d_name);
	closedir(d);
	if (s->v.len)
		qsort(s->v.v, s->v.len, sizeof(*s->v.v), by_name);
	return r;
}

void coati_segments_fini(struct segments *s)
{
	ARRAY_FINI(&s->v);
}

bool coati_segment_overlaps(const struct segment *s, const struct wall_range *r)
{
	return !r->to_ns ||
	       (s->start_ns < r->to_ns + GRACE_NS && s->end_ns + GRACE_NS >= r->from_ns);
}

/* ---- times ---- */

/* A date or a time of day, or both; true: all of it was read. */
static bool parse_date(const char *text, uint64_t now_ns, time_t *ret)
{
	static const char *const forms[] = {
		"%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M",
		"%Y-%m-%d",	     "%H:%M:%S",	  "%H:%M"
	};
	time_t now = (time_t)(now_ns / NSEC_PER_SEC);

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct tm tm;
		const char *end;

		localtime_r(&now, &tm);
		tm.tm_sec = 0;
		if (i == 4)
			tm.tm_hour = tm.tm_min = 0;
		end = strptime(text, forms[i], &tm);
		if (!end || (*end && strcmp(end, "Z") != 0))
			continue;
		tm.tm_isdst = -1;
		*ret = *end ? timegm(&tm) : mktime(&tm);
		/* a time of day that is still to come was yesterday's */
		if (i >= 5 && *ret > now)
			*ret -= DAY;
		return *ret >= 0;
	}
	return false;
}

int coati_wall_parse(const char *text, uint64_t now_ns, uint64_t *ret_ns, struct coati_error *err)
{
	char shown[80];
	uint64_t ns;
	time_t t;

	if (!strcmp(text, "now")) {
		*ret_ns = now_ns;
		return 0;
	}
	if (*text == '-' && coati_parse_duration(text + 1, 0, now_ns, &ns) == 0) {
		*ret_ns = now_ns - ns;
		return 0;
	}
	if (*text == '@' && coati_parse_duration(text + 1, 0, UINT64_MAX / 2, &ns) == 0) {
		*ret_ns = ns;
		return 0;
	}
	if (parse_date(text, now_ns, &t)) {
		*ret_ns = (uint64_t)t * NSEC_PER_SEC;
		return 0;
	}
	return coati_fail(err, -EINVAL,
			  "%s is not a time: write -2h, now, 14:05, 2026-11-16 14:05 or @SECONDS "
			  "(since 1970)",
			  coati_quote(text, shown, sizeof(shown)));
}
