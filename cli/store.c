/* SPDX-License-Identifier: MIT */
/* see store.h */
#include "cli/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/agent/segments.h"

static ARRAY(char *) owned = ARRAY_INIT(1u << 20);

void coati_store_fini(void)
{
	for (size_t i = 0; i < owned.len; i++)
		coati_free(owned.v[i]);
	ARRAY_FINI(&owned);
}

/* ---- times ---- */

static int parse_range(const struct store_range *r, struct wall_range *ret, struct coati_error *err)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);
	int n = 0;

	*ret = (struct wall_range){ 0 };
	if (!r->from && !r->to)
		return 0;
	ret->to_ns = now;
	if (r->from)
		n = coati_wall_parse(r->from, now, &ret->from_ns, err);
	if (n == 0 && r->to)
		n = coati_wall_parse(r->to, now, &ret->to_ns, err);
	if (n == 0 && ret->to_ns <= ret->from_ns)
		n = coati_fail(err, -EINVAL, "--from %s is not before --to %s",
			       r->from ? r->from : "the first", r->to ? r->to : "now");
	return n;
}

int coati_store_time(const struct store_range *r, char ret[STORE_TIME_ROOM],
		     struct coati_error *err)
{
	struct wall_range range;
	int n = parse_range(r, &range, err);

	ret[0] = '\0';
	if (n == 0 && range.to_ns)
		snprintf(ret, STORE_TIME_ROOM, "wall@%llu.%09llu-wall@%llu.%09llu",
			 (unsigned long long)(range.from_ns / NSEC_PER_SEC),
			 (unsigned long long)(range.from_ns % NSEC_PER_SEC),
			 (unsigned long long)((range.to_ns - 1) / NSEC_PER_SEC),
			 (unsigned long long)((range.to_ns - 1) % NSEC_PER_SEC));
	return n;
}

/* The first @ behind which a range follows, and in front of which a directory is named. */
static char *find_range(char *text)
{
	struct stat st;
	int r;

	for (char *at = strchr(text, '@'); at; at = strchr(at + 1, '@')) {
		*at = '\0';
		r = stat(text, &st);
		*at = '@';
		if (r == 0 && S_ISDIR(st.st_mode) && strstr(at, ".."))
			return at;
	}
	return NULL;
}

bool coati_store_split(char *text, struct store_range *ret)
{
	char *at = find_range(text), *dots = at ? strstr(at, "..") : NULL;

	if (!dots)
		return false;
	*at = '\0';
	*dots = '\0';
	ret->from = at[1] ? at + 1 : NULL;
	ret->to = dots[2] ? dots + 2 : NULL;
	return true;
}

/* ---- directories ---- */

static int own(const char *dir, const char *name, int tag, struct option_texts *to)
{
	struct strbuf s = STRBUF_INIT(8192);
	char **slot = ARRAY_ADD(&owned);
	struct option_text *t = slot ? ARRAY_ADD(to) : NULL;

	if (!t) {
		owned.len -= slot != NULL;
		return to->len >= to->max ? -E2BIG : -ENOMEM;
	}
	coati_strbuf_printf(&s, "%s/%s", dir, name);
	*slot = coati_strbuf_take(&s);
	if (!*slot) {
		owned.len--;
		to->len--;
		return -ENOMEM;
	}
	*t = (struct option_text){ *slot, tag };
	return 0;
}

/* A directory with segments in it; -1: it is something else. */
static int open_folder(const char *path, struct segments *ret)
{
	CLEANUP(fd_closep) int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int r;

	if (dir < 0 || fstatat(dir, "data", &st, 0) == 0)
		return 0; /* no directory, or one of perf record --threads */
	r = coati_segments_list(ret, dir);
	return r < 0 ? r : 1;
}

static int expand_one(const struct option_text *t, const struct wall_range *range,
		      struct option_texts *to, struct coati_error *err)
{
	struct segments s = { 0 };
	int r = open_folder(t->text, &s);
	size_t before = to->len;
	struct option_text *slot;

	if (r == 0) {
		slot = ARRAY_ADD(to);
		if (slot)
			*slot = *t;
		r = slot ? 1 : -ENOMEM;
	} else {
		for (size_t i = 0; r > 0 && i < s.v.len; i++)
			if (coati_segment_overlaps(&s.v.v[i], range))
				r = own(t->text, s.v.v[i].name, t->tag, to) < 0 ? -ENOMEM : r;
		if (r > 0 && to->len == before)
			r = coati_fail(err, -ENOENT, "%s: no recording%s", t->text,
				       s.v.len ? " from that time"
					       : " of an agent in this directory");
	}
	coati_segments_fini(&s);
	if (r < 0 && r != -ENOENT)
		coati_fail(err, r, "%s: %m", t->text);
	return r < 0 ? r : 0;
}

int coati_store_expand(struct option_texts *files, const struct store_range *r,
		       struct coati_error *err)
{
	struct option_texts to = { .max = files->max };
	struct wall_range range;
	int n = parse_range(r, &range, err);

	for (size_t i = 0; n == 0 && i < files->len; i++)
		n = expand_one(&files->v[i], &range, &to, err);
	if (n < 0) {
		ARRAY_FINI(&to);
		return n;
	}
	ARRAY_FINI(files);
	*files = to;
	return 0;
}
