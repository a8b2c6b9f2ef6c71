/* SPDX-License-Identifier: MIT */
/* Files of flight recorders: looked for, listed, removed when they are of no use any more. */
#include "cli/autopsy/autopsy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/parse.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/talk.h"
#include "live-read/files.h"
#include "live-read/flight.h"

#define CLAIMS_MAX 64u

static int each(const struct autopsy_args *a, coati_live_file_fn fn, void *ctx)
{
	struct coati_live_look l = { .fn = fn, .ctx = ctx };
	struct coati_error err = { 0 };
	struct limits limits;
	uint64_t most;
	int n = coati_limits_read(&limits, &err);

	if (n < 0) {
		coati_note("%s", err.text);
		limits = (struct limits){ 0 };
	}
	most = coati_limit(&limits, LIMIT_RECORDERS, 0);
	l.most = most < UINT32_MAX ? (uint32_t)most : UINT32_MAX;
	n = a->directory ? coati_live_files_in(a->directory, &l)
			 : coati_live_files_of_user(LIVE_FILES_ALL, &l);
	if (l.left_out)
		coati_note(LIMIT_NOTE, (unsigned long long)most, coati_limit_name(LIMIT_RECORDERS),
			   (unsigned long long)l.left_out, coati_limit_variable(LIMIT_RECORDERS));
	return n;
}

/* ---- looking for one ---- */

/* A file that says that it is the one of the process. */
struct claim {
	int fd;
	uint32_t owner;
	uint64_t realtime_ns;
	char *path;
};

struct search {
	uint32_t pid;
	ARRAY(struct claim) claims;
};

static struct claim *claim_of(struct search *s, uint32_t owner)
{
	for (size_t i = 0; i < s->claims.len; i++)
		if (s->claims.v[i].owner == owner)
			return &s->claims.v[i];
	return NULL;
}

static void fini_claim(struct claim *c)
{
	if (c->fd >= 0)
		close(c->fd);
	coati_free(c->path);
	*c = (struct claim){ .fd = -1 };
}

/* One for each user: of two processes that had the number the later one. */
static int add_claim(struct search *s, int fd, const char *path,
		     const struct coati_flight_info *info)
{
	struct claim *c = claim_of(s, info->owner);

	if (c && info->realtime_ns < c->realtime_ns)
		return 0;
	if (c)
		fini_claim(c);
	else
		c = ARRAY_ADD(&s->claims);
	if (!c)
		return s->claims.len == CLAIMS_MAX ? 0 : -ENOMEM;
	*c = (struct claim){ .fd = fcntl(fd, F_DUPFD_CLOEXEC, 3),
			     .owner = info->owner,
			     .realtime_ns = info->realtime_ns,
			     .path = coati_strdup(path) };
	return c->fd < 0 || !c->path ? -ENOMEM : 0;
}

static int match(void *ctx, int fd, const char *path, const struct coati_flight_info *info)
{
	struct search *s = ctx;

	return info->pid == s->pid && info->bytes ? add_claim(s, fd, path, info) : 0;
}

/* What the process itself has open is its own. */
static int match_open(void *ctx, int fd, const char *path, const struct coati_flight_info *info)
{
	return add_claim(ctx, fd, path, info);
}

static void fini_search(struct search *s)
{
	for (size_t i = 0; i < s->claims.len; i++)
		fini_claim(&s->claims.v[i]);
	ARRAY_FINI(&s->claims);
}

/* Every path but that of @shown, with its owner. */
static void list_claims(const struct search *s, const struct claim *shown, struct strbuf *out)
{
	for (size_t i = 0; i < s->claims.len; i++) {
		const struct claim *c = &s->claims.v[i];

		if (c == shown)
			continue;
		coati_strbuf_printf(out, "%s%s (user %u)", out->len ? ", " : "", c->path, c->owner);
	}
}

/* Which of several users' files is shown: while the process lives, that of its user; otherwise that
 * of this user or of root. Files of other users may claim to be its recorder falsely. */
static int choose(struct search *s, struct claim **ret, struct coati_error *err)
{
	struct strbuf others = STRBUF_INIT(16384);
	uint32_t user = 0;
	bool lives = coati_live_user_of((int32_t)s->pid, &user) == 0;
	struct claim *c;

	if (lives)
		c = claim_of(s, user);
	else if (s->claims.len == 1)
		c = &s->claims.v[0];
	else
		c = claim_of(s, (uint32_t)geteuid()) ?: claim_of(s, 0);
	list_claims(s, c, &others);
	*ret = c;
	if (!c && lives)
		coati_fail(err, -EPERM,
			   "process %u belongs to user %u, but the files that claim to be its "
			   "recorder do not: %s; to see one anyway: coati autopsy FILE",
			   s->pid, user, others.text);
	else if (!c)
		coati_fail(
			err, -EPERM,
			"files of several users claim to be the recorder of process %u, which has "
			"ended: %s; to see one: coati autopsy FILE",
			s->pid, others.text);
	else if (others.len)
		coati_note("ignored files of other users that also claim to be of process %u: %s",
			   s->pid, others.text);
	coati_strbuf_fini(&others);
	return c ? 0 : -EPERM;
}

static int find_process(const struct autopsy_args *a, struct search *s, struct autopsy_target *ret,
			struct coati_error *err)
{
	struct claim *c = NULL;
	struct coati_live_look open = { .fn = match_open, .ctx = s };
	int n = 0;

	if (!a->directory)
		n = coati_live_files_of_process((int32_t)s->pid, &open);
	if (n == 0 && s->claims.len)
		c = &s->claims.v[0];
	else if (n == 0)
		n = each(a, match, s);
	if (n < 0)
		return coati_fail(err, n, "cannot look for the recorder of process %u: %m", s->pid);
	if (!s->claims.len)
		return coati_fail(err, -ENOENT,
				  "process %u has no readable flight recorder in %s (coati "
				  "autopsy --list shows all recorders)",
				  s->pid, a->directory ? a->directory : "/dev/shm/coati-*");
	if (!c)
		n = choose(s, &c, err);
	if (n < 0)
		return n;
	snprintf(ret->path, sizeof(ret->path), "%s", c->path);
	ret->fd = c->fd;
	c->fd = -1;
	return 0;
}

int coati_autopsy_find(const struct autopsy_args *a, const char *target, struct autopsy_target *ret,
		       struct coati_error *err)
{
	struct search s = { .claims.max = CLAIMS_MAX };
	int n;

	ret->fd = -1;
	if (coati_parse_u32(target, 1, INT32_MAX, &s.pid) < 0) {
		if ((size_t)snprintf(ret->path, sizeof(ret->path), "%s", target) >=
		    sizeof(ret->path))
			return coati_fail(err, -ENAMETOOLONG, "%.40s...: %m", target);
		return 0;
	}
	n = find_process(a, &s, ret, err);
	fini_search(&s);
	return n;
}

int coati_autopsy_open(const struct autopsy_target *t, struct coati_flight **ret,
		       struct coati_error *err)
{
	int fd;

	if (t->fd < 0)
		return coati_flight_open(t->path, ret, err);
	/* it is read by places alone: both descriptors may have the same position */
	fd = fcntl(t->fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? coati_fail(err, -errno, "%m") : coati_flight_open_fd(fd, ret, err);
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
	return !info->bytes	 ? "no head"
	       : info->is_alive	 ? "alive"
	       : info->has_ended ? "ended"
				 : "dead";
}

static int list_one(void *ctx, int fd, const char *path, const struct coati_flight_info *info)
{
	struct listing *l = ctx;
	struct strbuf *s = &l->out.text;

	(void)fd;
	l->count++;
	if (l->is_json) {
		coati_json_object(&l->json);
		coati_json_ku64(&l->json, "pid", info->pid);
		coati_json_ku64(&l->json, "uid", info->owner);
		coati_json_kstr(&l->json, "comm", info->comm);
		coati_json_kstr(&l->json, "state", state_of(info));
		coati_json_ku64(&l->json, "age_ns", age_of(info, l->now_ns));
		coati_json_ku64(&l->json, "bytes", info->memory);
		coati_json_kstr(&l->json, "path", path);
		coati_json_end(&l->json);
		return 0;
	}
	coati_strbuf_printf(s, "%8u  %-7s  user %u  ", info->pid, state_of(info), info->owner);
	coati_format_duration(s, age_of(info, l->now_ns));
	coati_strbuf_printf(s, "  %.1f MiB  ", (double)info->memory / (1 << 20));
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
	each(a, list_one, &l);
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
static int clean_one(void *ctx, int fd, const char *path, const struct coati_flight_info *info)
{
	struct cleaning *c = ctx;
	int r;

	(void)fd;
	if (info->is_alive || age_of(info, c->now_ns) < c->age_ns)
		return 0;
	r = coati_sandbox_remove(path);
	if (r < 0) {
		coati_say("%s: %s", path, strerror(-r));
		c->failed = true;
		return 0;
	}
	c->removed++;
	c->bytes += info->memory;
	return 0;
}

int coati_autopsy_clean(const struct autopsy_args *a)
{
	struct cleaning c = { .now_ns = clock_ns(CLOCK_REALTIME), .age_ns = a->clean_ns };

	each(a, clean_one, &c);
	coati_note("removed %" PRIu64 " file%s of processes that have ended, %.1f MiB", c.removed,
		   c.removed == 1 ? "" : "s", (double)c.bytes / (1 << 20));
	return c.failed ? EXIT_FAILED : EXIT_DONE;
}
