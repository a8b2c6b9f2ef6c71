/* SPDX-License-Identifier: MIT */
/* see session.h: here is the loop. */
#include "cli/agent/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/machine.h"
#include "agent/pace.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "capture/session.h"
#include "cli/agent/hangup.h"
#include "cli/command.h"
#include "cli/record/signals.h"
#include "cli/talk.h"
#include "reading/contexts-live.h"

#define LABEL_LAG_NS  (8 * NSEC_PER_SEC)
#define ARMED_NS      (250 * NSEC_PER_MSEC) /* rings of the trace are read so often */
#define STEP_NS	      (500 * NSEC_PER_MSEC) /* the time of day was set */
#define CLOSE_NS      (5 * NSEC_PER_SEC)
#define SEGMENT_BYTES (UINT64_C(64) << 20)

/* ---- before ---- */

static int64_t wall_offset(void)
{
	return (int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)now_ns();
}

static void name_agent(struct agent_session *s)
{
	char boot[64] = "unknown";

	if (gethostname(s->host, sizeof(s->host) - 1) < 0)
		snprintf(s->host, sizeof(s->host), "unknown");
	coati_file_read_line(-100, "/proc/sys/kernel/random/boot_id", boot, sizeof(boot));
	snprintf(s->agent, sizeof(s->agent), "%s/%.8s/%llu", s->host, boot,
		 (unsigned long long)s->start_ns);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const struct coati_label *)a)->key, ((const struct coati_label *)b)->key);
}

/* The texts belong to the arguments, and are cut at their "=" already. */
static int take_labels(struct agent_session *s)
{
	for (size_t i = 0; i < s->args->labels.len; i++) {
		const char *text = s->args->labels.v[i].text;

		if (s->nr_labels == AGENT_LABELS_MAX)
			return coati_fail(&s->err, -E2BIG, "more than %d labels", AGENT_LABELS_MAX);
		s->labels[s->nr_labels].key = text;
		s->labels[s->nr_labels++].value = text + strlen(text) + 1;
	}
	qsort(s->labels, s->nr_labels, sizeof(*s->labels), by_key);
	return 0;
}

static int take_rules(struct agent_session *s)
{
	static const char *const verbs[] = { "rename", "drop" };
	char text[2048];
	int r = 0;

	coati_service_rules_init(&s->rules);
	for (size_t i = 0; r == 0 && i < s->args->rules.len; i++) {
		const struct option_text *t = &s->args->rules.v[i];

		snprintf(text, sizeof(text), "%s %s", verbs[t->tag], t->text);
		r = coati_service_rules_add(&s->rules, text, &s->err);
	}
	return r;
}

static int prepare(struct agent_session *s, const struct agent_args *args)
{
	int r;

	*s = (struct agent_session){ .args = args, .live_files.lock_fd = -1, .folder.dir = -1 };
	s->start_ns = now_ns();
	s->is_first = true;
	s->folder.path = args->store;
	s->folder.keep_age_ns = args->keep_age_ns;
	s->folder.keep_bytes = args->keep_bytes;
	coati_map_init(&s->cgroup_cpu, 65536);
	coati_map_init(&s->run_delay, 65536);
	coati_agent_build_init(&s->build);
	name_agent(s);
	s->cpus_online = coati_machine_cpus_online(&s->nr_cpus);
	s->wall_offset_ns = wall_offset();
	r = take_labels(s);
	if (r == 0)
		r = take_rules(s);
	if (r == 0)
		r = coati_agent_live_init(&s->live, &s->err);
	if (r == 0)
		r = coati_folder_open(&s->folder, &s->err);
	if (r == 0)
		r = coati_agent_sinks_open(args, &s->sinks, &s->err);
	s->build.rules = &s->rules;
	s->build.inlines = args->inlines;
	s->build.lines = args->lines;
	return r;
}

static bool is_no_room(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -EFBIG || r == -EIO;
}

static int begin_again(struct agent_session *s)
{
	int r = coati_agent_segment_begin(s);

	/* a disk that fills up meanwhile: in memory, then */
	if (is_no_room(r)) {
		coati_folder_ended(&s->folder, r);
		coati_note("%s", s->folder.trouble);
		s->err = (struct coati_error){ 0 };
		r = coati_agent_segment_begin(s);
	}
	return r;
}

/* A segment that is full from the start is ended by the first wait. */
static int start_sampling(struct agent_session *s)
{
	int r = coati_capture_start(s->cap, &s->err);

	if (!is_no_room(r))
		return r;
	s->err = (struct coati_error){ 0 };
	return 0;
}

static void on_task(void *ctx, const struct agent_task_end *t)
{
	struct agent_session *s = ctx;

	if (s->armed.nr)
		coati_recent_add(s->armed.tasks, t);
	coati_slow_task(&s->slow, t);
}

static uint64_t end_after(const struct agent_session *s, uint64_t start_ns)
{
	uint64_t wall = (uint64_t)((int64_t)start_ns + s->wall_offset_ns);

	return coati_pace_end(wall, s->args->window_ns) - (uint64_t)s->wall_offset_ns;
}

/* Each hour the period is another one, and names of what ended long ago are given back. */
static uint64_t hour_of(const struct agent_session *s, uint64_t now)
{
	return pace_hour((uint64_t)((int64_t)now + s->wall_offset_ns));
}

static int start(struct agent_session *s)
{
	int r;

	coati_agent_budget_start(s);
	r = coati_agent_capture_open(s);
	if (r == 0)
		r = begin_again(s);
	s->start_ns = s->window_start_ns = now_ns();
	s->window_end_ns = end_after(s, s->window_start_ns);
	if (r == 0)
		r = start_sampling(s);
	if (r == 0)
		r = coati_armed_open(&s->armed, s->args, &s->err);
	if (r == 0)
		r = coati_slow_open(&s->slow, s->args, &s->err);
	s->live.on_task = s->armed.nr || s->slow.nr ? on_task : NULL;
	s->live.ctx = s;
	if (!s->args->no_live)
		coati_record_live_open_all(&s->live_files);
	if (s->armed.nr && !s->args->no_live) {
		s->armed.live = &s->live_files;
		s->live_files.also = &s->armed.cap;
	}
	return r;
}

/* ---- windows end ---- */

/* Live events come behind the samples that they are about: so long a window waits for them. */
static bool has_labels(const struct agent_session *s)
{
	return !s->live.has_events || now_ns() >= s->closing_ns + LABEL_LAG_NS ||
	       coati_contexts_live_horizon(s->live.contexts) >= s->closing_ns;
}

/* At most one window waits at a time: one is closed before the next ends. */
static void finish_closing(struct agent_session *s, bool at_once)
{
	if (!s->closing_ns)
		return;
	/* live events that came meanwhile */
	if (s->live.has_events && s->has_feed[0])
		coati_agent_feed_take(&s->feeds[0]);
	if (at_once || has_labels(s))
		coati_agent_window_close(s);
}

/* The window that is sampled ends at @end_ns, and waits for its labels. */
static void begin_closing(struct agent_session *s, uint64_t end_ns)
{
	uint64_t now = now_ns();

	s->closing_start_ns = s->window_start_ns;
	s->closing_ns = s->window_start_ns = end_ns;
	if (end_ns >= s->window_end_ns)
		s->window_end_ns = end_after(s, end_ns);
	/* after a stop or a suspend the next one does not begin in the past */
	if (s->window_end_ns <= now)
		s->window_end_ns = end_after(s, now);
}

/* Where a segment ends a window does: all samples of it are in windows that end with it. */
static int rotate(struct agent_session *s)
{
	finish_closing(s, true);
	coati_agent_segment_end(s);
	begin_closing(s, now_ns());
	return begin_again(s);
}

/* The capture is opened again: all windows are closed before. */
static int restart(struct agent_session *s)
{
	struct coati_error err = { 0 };
	int r;

	finish_closing(s, true);
	coati_agent_segment_end(s);
	begin_closing(s, now_ns());
	finish_closing(s, true);
	r = coati_agent_restart(s);
	if (r == 0)
		r = begin_again(s);
	if (r == 0)
		r = start_sampling(s);
	if (r == 0 && coati_armed_restart(&s->armed, &err) < 0)
		coati_note("%s", err.text);
	return r;
}

static bool has_stepped(struct agent_session *s)
{
	int64_t offset = wall_offset(), by = offset - s->wall_offset_ns;

	if (by < 0)
		by = -by;
	if ((uint64_t)by < STEP_NS) {
		s->wall_offset_ns = offset;
		return false;
	}
	coati_note("the time of day was changed by %+.3f s: a new recording begins",
		   (double)(offset - s->wall_offset_ns) / 1e9);
	s->wall_offset_ns = offset;
	s->stepped = true;
	return true;
}

static bool segment_is_full(const struct agent_session *s, uint64_t now)
{
	struct coati_capture_stats st = { .size = sizeof(st) };

	coati_capture_get_stats(s->cap, &st);
	return now - s->segment_ns >= s->args->segment_ns || st.bytes >= SEGMENT_BYTES ||
	       (s->folder.dir >= 0 && !s->folder.name[0]);
}

/* The window that was sampled ends: everything up to now is read, then it waits for its labels. */
static int end_window(struct agent_session *s, uint64_t now)
{
	uint64_t online;
	int r = coati_capture_settle(s->cap);
	bool stepped = has_stepped(s);

	if (is_no_room(r))
		return rotate(s);
	if (r == 0 && s->has_feed[0])
		r = coati_agent_feed_take(&s->feeds[0]);
	if (r < 0)
		return coati_fail(&s->err, r, "cannot read samples: %m");
	finish_closing(s, true);
	coati_agent_budget_look(s);
	online = coati_machine_cpus_online(&s->nr_cpus);
	if (online != s->cpus_online || s->budget.wants_restart ||
	    hour_of(s, now) != s->capture_hour) {
		if (online != s->cpus_online)
			coati_note("the online CPUs have changed: sampling %u of them", s->nr_cpus);
		s->cpus_online = online;
		return restart(s);
	}
	if (stepped || segment_is_full(s, now))
		return rotate(s);
	begin_closing(s, now < s->window_end_ns + s->args->window_ns ? s->window_end_ns : now);
	return 0;
}

/* ---- meanwhile ---- */

static void give_kept(struct agent_session *s, const struct agent_kept *k)
{
	coati_note("kept %s", k->path);
	for (uint32_t i = 0; i < s->sinks.nr; i++)
		if (s->sinks.v[i].kept)
			s->sinks.v[i].kept(s->sinks.v[i].ctx, k);
}

static void look_at_conditions(struct agent_session *s, uint64_t now)
{
	struct coati_error err = { 0 };
	struct agent_kept kept;
	int r;

	/* the segment has the tasks that ended */
	if (s->has_feed[0])
		coati_agent_feed_take(&s->feeds[0]);
	r = s->armed.nr ? coati_armed_look(&s->armed, now, &kept, &err) : 0;
	if (r < 0)
		coati_note("%s", err.text);
	if (r > 0)
		give_kept(s, &kept);
	r = coati_slow_look(&s->slow, &s->live_files, now, &kept, &err);
	if (r < 0)
		coati_note("a slow task was not kept: %s", err.text);
	if (r > 0)
		give_kept(s, &kept);
}

static void tick(struct agent_session *s, uint64_t now)
{
	if (now < s->tick_ns)
		return;
	s->tick_ns = now + NSEC_PER_SEC;
	if (s->armed.nr || s->slow.nr)
		look_at_conditions(s, now);
	for (uint32_t i = 0; i < s->sinks.nr; i++)
		if (s->sinks.v[i].tick)
			s->sinks.v[i].tick(s->sinks.v[i].ctx, now);
}

static bool is_over(const struct agent_session *s)
{
	return coati_record_stops() || coati_agent_hangup_came() ||
	       (s->args->duration_ns && now_ns() >= s->start_ns + s->args->duration_ns);
}

/* One wait and what follows from it. */
static int go_on(struct agent_session *s)
{
	uint64_t now = now_ns(), deadline = s->window_end_ns;
	struct coati_error err = { 0 };
	int r;

	if ((s->armed.nr || s->slow.nr) && now + ARMED_NS < deadline)
		deadline = now + ARMED_NS;
	coati_capture_set_deadline(s->cap, (int64_t)deadline);
	r = coati_capture_wait(s->cap);
	r = r == 1 || r == 0 || r == -ETIMEDOUT || r == -EINTR ? 0 : r;
	if (r == 0 && !s->args->no_live)
		r = coati_record_live_round(&s->live_files, s->cap);
	if (coati_armed_drain(&s->armed, &err) < 0)
		coati_note("%s", err.text);
	/* a segment that cannot be written any more is ended; sampling goes on */
	if (is_no_room(r))
		r = rotate(s);
	if (r < 0)
		return s->err.code ? r : coati_fail(&s->err, r, "sampling stopped: %m");
	now = now_ns();
	finish_closing(s, false);
	if (now >= s->window_end_ns)
		r = end_window(s, now);
	tick(s, now);
	return r;
}

/* ---- the end ---- */

static void end(struct agent_session *s)
{
	if (!s->cap)
		return;
	coati_capture_stop(s->cap, NULL);
	finish_closing(s, true);
	coati_agent_segment_end(s);
	s->is_last = true;
	if (!s->window_start_ns)
		return;
	coati_agent_budget_look(s);
	begin_closing(s, now_ns());
	finish_closing(s, true);
}

static void close_all(struct agent_session *s)
{
	coati_record_signals_wake(NULL);
	coati_agent_sinks_close(&s->sinks, now_ns() + CLOSE_NS);
	coati_armed_close(&s->armed);
	coati_slow_close(&s->slow);
	coati_agent_build_fini(&s->build);
	for (int i = 0; i < 2; i++)
		if (s->has_feed[i])
			coati_agent_feed_close(&s->feeds[i]);
	coati_capture_close(&s->cap);
	coati_record_live_close(&s->live_files);
	coati_agent_live_fini(&s->live);
	coati_folder_close(&s->folder);
	coati_service_rules_fini(&s->rules);
	coati_map_fini(&s->cgroup_cpu);
	coati_map_fini(&s->run_delay);
	coati_event_list_free(s->list);
}

int coati_agent_run(const struct agent_args *args, bool *ret_reload)
{
	struct agent_session s;
	int r;

	coati_agent_memory_start();
	coati_record_signals_catch();
	coati_agent_hangup_catch();
	r = prepare(&s, args);
	if (r == 0)
		r = start(&s);
	if (r == 0)
		coati_note("sampling %u CPUs at %llu Hz%s%s", s.nr_cpus,
			   (unsigned long long)agent_rate(args), args->store ? " into " : "",
			   args->store ? args->store : "");
	while (r == 0 && !is_over(&s))
		r = go_on(&s);
	if (r < 0)
		coati_say("%s", s.err.text);
	end(&s);
	if (r == 0)
		coati_note("windows: %llu; recordings removed: %llu; times without space: %llu",
			   (unsigned long long)s.windows, (unsigned long long)s.folder.removed,
			   (unsigned long long)s.folder.full);
	if (r == 0 && s.armed.passed_over + s.slow.passed_over)
		coati_note(
			"%llu moments and slow tasks were not kept: more than --per-hour, or too "
			"close together",
			(unsigned long long)(s.armed.passed_over + s.slow.passed_over));
	close_all(&s);
	*ret_reload = coati_agent_hangup_came() && !coati_record_stops();
	return r < 0 ? EXIT_FAILED : EXIT_DONE;
}
