/* SPDX-License-Identifier: MIT */
/* see slow.h */
#include "cli/agent/slow.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "cli/agent/args.h"
#include "cli/autopsy/autopsy.h"
#include "cli/confinement.h"
#include "cli/talk.h"

#define HOUR_NS	 (3600 * NSEC_PER_SEC)
#define PAUSE_NS (10 * NSEC_PER_SEC) /* of one process */

/* ---- rules ---- */

int coati_slow_parse(struct slow_rule *r, const char *text, struct coati_error *err)
{
	char copy[256], shown[80], *op, *type;

	snprintf(copy, sizeof(copy), "%s", text);
	op = strrchr(copy, '>');
	if (strlen(text) < sizeof(copy) && op) {
		*op = '\0';
		type = coati_parse_trim(copy);
		if (*type && strlen(type) < sizeof(r->type) &&
		    coati_parse_duration(coati_parse_trim(op + 1), 1, UINT64_MAX / 2,
					 &r->limit_ns) == 0) {
			snprintf(r->type, sizeof(r->type), "%s", type);
			return 0;
		}
	}
	return coati_fail(err, -EINVAL,
			  "--slow-task %s: write 'TYPE > TIME', as in 'request > 50ms'",
			  coati_quote(text, shown, sizeof(shown)));
}

int coati_slow_open(struct slow_tasks *s, const struct agent_args *args, struct coati_error *err)
{
	int r = 0;

	*s = (struct slow_tasks){ .args = args, .folder.dir = -1 };
	for (size_t i = 0; r == 0 && i < args->slow.len && i < SLOW_RULES; i++)
		r = coati_slow_parse(&s->rules[s->nr++], args->slow.v[i].text, err);
	if (r < 0 || !s->nr)
		return r;
	snprintf(s->path, sizeof(s->path), "%.4000s/kept", args->store);
	s->folder = (struct folder){ .path = s->path,
				     .keep_age_ns = args->keep_age_ns,
				     .keep_bytes = args->keep_bytes / 2 };
	/* the agent is not confined: it asks for the mappings of a program itself */
	coati_confinement_enter(
		&(struct confinement){ .is_off = true, .describe = coati_autopsy_describe_job });
	return coati_folder_open(&s->folder, err);
}

void coati_slow_close(struct slow_tasks *s)
{
	if (s->nr)
		coati_folder_close(&s->folder);
	s->nr = 0;
}

/* ---- tasks ---- */

static bool is_slow(const struct slow_tasks *s, const struct agent_task_end *t)
{
	for (uint32_t i = 0; i < s->nr; i++)
		if (t->duration_ns > s->rules[i].limit_ns &&
		    (!strcmp(s->rules[i].type, "*") || !strcmp(s->rules[i].type, t->type)))
			return true;
	return false;
}

void coati_slow_task(struct slow_tasks *s, const struct agent_task_end *t)
{
	if (!is_slow(s, t) || (s->is_due && t->duration_ns <= s->worst.duration_ns))
		return;
	s->worst = *t;
	s->is_due = true;
}

static bool is_allowed(const struct slow_tasks *s, int32_t pid, uint64_t now)
{
	uint32_t limit = s->args->per_hour < SLOW_RECENT ? s->args->per_hour : SLOW_RECENT;
	uint32_t recent = 0;

	for (uint32_t i = 0; i < SLOW_RECENT; i++) {
		if (!s->kept[i].time_ns)
			continue;
		if (s->kept[i].pid == pid && s->kept[i].time_ns + PAUSE_NS > now)
			return false;
		recent += s->kept[i].time_ns + HOUR_NS > now;
	}
	return recent < limit;
}

/* ---- snapshots ---- */

static const struct live_file *find_file(const struct record_live *live, int32_t pid)
{
	for (size_t i = 0; i < live->files.len; i++)
		if (live->files.v[i].pid == pid && !live->files.v[i].ended)
			return &live->files.v[i];
	return NULL;
}

static uint64_t wall_of(uint64_t time_ns)
{
	return clock_ns(CLOCK_REALTIME) - (now_ns() - time_ns);
}

static int save(struct slow_tasks *s, const struct live_file *file, const char *path,
		struct coati_error *err)
{
	struct strbuf note = STRBUF_INIT(1024);
	static struct autopsy_target t;
	struct autopsy_saved saved;
	int r;

	coati_strbuf_printf(&note, "armed.reason=%s\narmed.moment_ns=%llu\narmed.past=live\n",
			    s->reason, (unsigned long long)s->worst.time_ns);
	t = (struct autopsy_target){ .fd = file->fd, .note = note.text };
	snprintf(t.path, sizeof(t.path), "process %d", file->pid);
	r = note.failed ? coati_fail(err, note.failed, "out of memory")
			: coati_autopsy_save(&t, path, &saved, err);
	coati_strbuf_fini(&note);
	return r;
}

int coati_slow_look(struct slow_tasks *s, const struct record_live *live, uint64_t now_ns,
		    struct agent_kept *ret, struct coati_error *err)
{
	static char path[4096];
	const struct live_file *file;
	char what[32];
	struct strbuf type = STRBUF_INIT(256);
	struct stat st = { 0 };
	int r;

	if (!s->is_due)
		return 0;
	s->is_due = false;
	file = find_file(live, s->worst.pid);
	if (!file || !is_allowed(s, s->worst.pid, now_ns)) {
		s->passed_over++;
		return 0;
	}
	coati_strbuf_clean(&type, s->worst.type, strlen(s->worst.type));
	snprintf(s->reason, sizeof(s->reason), "task %.128s took %.3f ms", type.text,
		 (double)s->worst.duration_ns / 1e6);
	coati_strbuf_fini(&type);
	snprintf(what, sizeof(what), "task-%.12s-%d", s->worst.type, s->worst.pid);
	coati_folder_kept_name(&s->folder, s->worst.time_ns, what, path, sizeof(path));
	s->kept[s->nr_kept % SLOW_RECENT].time_ns = now_ns;
	s->kept[s->nr_kept++ % SLOW_RECENT].pid = s->worst.pid;
	r = save(s, file, path, err);
	if (r < 0)
		return r;
	coati_folder_trim(&s->folder, false);
	stat(path, &st);
	*ret = (struct agent_kept){ .path = path,
				    .reason = s->reason,
				    .wall_ns = wall_of(s->worst.time_ns),
				    .bytes = (uint64_t)st.st_size };
	return 1;
}
