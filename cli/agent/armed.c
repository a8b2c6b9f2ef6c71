/* SPDX-License-Identifier: MIT */
/* see armed.h */
#include "cli/agent/armed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "capture/session.h"
#include "cli/agent/args.h"
#include "cli/talk.h"
#include "record/batch.h"

#define TRACE_HZ 99
#define GRACE_NS (20 * NSEC_PER_SEC) /* parts stay so much longer than is needed */
#define HOUR_NS	 (3600 * NSEC_PER_SEC)

#define LIVE_LAG_NS (8 * NSEC_PER_SEC)

/* A third of what is kept comes after the moment. */
static uint64_t after_ns(const struct armed *a)
{
	return a->args->keep_ns / 3;
}

/* ---- tracing ---- */

static int begin_part(struct armed *a, struct coati_error *err)
{
	int fd = -1;
	int r = coati_top_spool_begin(&a->spool, a->cap, &fd, err);

	if (fd >= 0)
		close(fd);
	return r;
}

static int start(struct armed *a, struct coati_error *err)
{
	struct coati_capture_opts o = {
		.size = sizeof(o),
		.flags = COATI_CAPTURE_USER_OK | COATI_CAPTURE_LIVE | COATI_CAPTURE_HOLD |
			 COATI_CAPTURE_CGROUPS | COATI_CAPTURE_PARTS | COATI_CAPTURE_OFF_CPU |
			 COATI_CAPTURE_WAKE_STACKS | COATI_CAPTURE_IRQ | COATI_CAPTURE_NO_IDLE |
			 COATI_CAPTURE_FEW_TABLES,
		.cpus = a->args->cpus,
		.freq_hz = TRACE_HZ,
		.stacks = (enum coati_stacks)a->args->stacks,
		.max_stack = a->args->max_stack,
	};
	int r = coati_capture_open(a->list, &o, &a->cap, err);

	if (r == 0)
		r = begin_part(a, err);
	if (r == 0)
		r = coati_capture_start(a->cap, err);
	a->begun_ns = now_ns();
	if (r < 0)
		coati_capture_close(&a->cap);
	return r;
}

static void stop(struct armed *a)
{
	if (!a->cap)
		return;
	coati_capture_stop(a->cap, NULL);
	coati_top_spool_end(&a->spool, a->cap, NULL);
	coati_capture_close(&a->cap);
	coati_top_spool_fini(&a->spool);
	coati_top_spool_init(&a->spool, a->args->memory / 2);
}

/* Names and unwind tables of programs that ended are given back, and CPUs that came are traced. A
 * recording that is being made is finished first. */
int coati_armed_restart(struct armed *a, struct coati_error *err)
{
	if (!a->cap || a->fired_ns)
		return 0;
	stop(a);
	return start(a, err);
}

bool coati_armed_shrink(struct armed *a)
{
	if (!a->has_past)
		return false;
	a->has_past = false;
	if (!a->fired_ns)
		stop(a);
	return true;
}

int coati_armed_drain(struct armed *a, struct coati_error *err)
{
	uint64_t now = now_ns();
	int r;

	if (!a->cap)
		return 0;
	coati_capture_set_deadline(a->cap, (int64_t)now);
	r = coati_capture_wait(a->cap);
	r = r == 1 || r == 0 || r == -ETIMEDOUT || r == -EINTR ? 0 : r;
	if (r == 0 && coati_top_spool_is_due(&a->spool, now))
		r = begin_part(a, err);
	if (r < 0) {
		stop(a);
		return err->code ? r : coati_fail(err, r, "tracing stopped: %m");
	}
	coati_top_spool_trim(&a->spool);
	if (!a->fired_ns)
		coati_top_spool_forget(&a->spool, now - a->args->keep_ns - GRACE_NS);
	return now - a->begun_ns >= HOUR_NS ? coati_armed_restart(a, err) : 0;
}

/* Programs write live events some seconds after they happened. */
static bool is_over(const struct armed *a, uint64_t now)
{
	uint64_t lag = a->live && a->live->files.len ? LIVE_LAG_NS : 0;

	return a->fired_ns && now >= a->until_ns + lag;
}

/* ---- opening ---- */

int coati_armed_open(struct armed *a, const struct agent_args *args, struct coati_error *err)
{
	int r = 0;

	*a = (struct armed){ .args = args, .folder.dir = -1 };
	if (!args->when.len)
		return 0;
	coati_top_spool_init(&a->spool, args->memory / 2);
	a->tasks = coati_alloc(sizeof(*a->tasks));
	if (!a->tasks)
		return coati_fail(err, -ENOMEM, "out of memory");
	snprintf(a->path, sizeof(a->path), "%s/kept", args->store);
	a->folder = (struct folder){ .path = a->path,
				     .keep_age_ns = args->keep_age_ns,
				     .keep_bytes = args->keep_bytes / 2 };
	r = coati_folder_open(&a->folder, err);
	for (size_t i = 0; r == 0 && i < args->when.len && i < ARMED_CONDITIONS; i++) {
		r = coati_agent_condition_parse(&a->conditions[a->nr], args->when.v[i].text, err);
		if (r == 0)
			r = coati_agent_condition_open(&a->conditions[a->nr++], err);
	}
	if (r == 0)
		r = coati_event_list_new(NULL, &a->list, err);
	if (r == 0)
		r = coati_event_list_add(a->list, "cpu-clock", err);
	if (r == 0)
		r = start(a, err);
	a->has_past = r == 0;
	return r;
}

void coati_armed_close(struct armed *a)
{
	if (!a->nr && !a->tasks)
		return;
	stop(a);
	coati_top_spool_fini(&a->spool);
	for (uint32_t i = 0; i < a->nr; i++)
		coati_agent_condition_close(&a->conditions[i]);
	coati_event_list_free(a->list);
	coati_folder_close(&a->folder);
	coati_free(a->tasks);
	*a = (struct armed){ 0 };
}

/* ---- the moment ---- */

static bool is_allowed(struct armed *a, uint64_t now)
{
	uint32_t limit = a->args->per_hour < 64 ? a->args->per_hour : 64, recent = 0;

	for (uint32_t i = 0; i < 64; i++)
		recent += a->kept_ns[i] && a->kept_ns[i] + HOUR_NS > now;
	return recent < limit;
}

/* What the recording says about why it was made. */
static void put_reason(struct armed *a)
{
	char text[1024];
	int n = snprintf(text, sizeof(text),
			 "armed.reason=%s\narmed.moment_ns=%llu\narmed.past=%s\n", a->reason,
			 (unsigned long long)a->fired_ns, a->had_past ? "trace" : "samples");
	struct coati_batch b = { .kind = COATI_BATCH_META,
				 .version = 1,
				 .pid = (uint32_t)getpid(),
				 .tid = (uint32_t)gettid(),
				 .time_ns = now_ns(),
				 .payload = (const uint8_t *)text,
				 .payload_size = (uint32_t)n };

	coati_capture_batch(a->cap, &b);
}

static void fire(struct armed *a, const struct agent_condition *c, double value, uint64_t now)
{
	struct coati_error err = { 0 };
	bool scaled = c->kind == CONDITION_DELAY || c->kind == CONDITION_TASK ||
		      c->kind == CONDITION_LATENCY;

	if (!is_allowed(a, now)) {
		a->passed_over++;
		return;
	}
	if (!a->cap && start(a, &err) < 0) {
		coati_note("%s holds, but cannot be recorded: %s", c->text, err.text);
		return;
	}
	snprintf(a->reason, sizeof(a->reason), "%s (%.6g%s)", c->text, scaled ? value / 1e6 : value,
		 scaled ? " ms" : "");
	a->fired_ns = now;
	a->since_ns = c->since_ns && c->since_ns < now ? c->since_ns : now;
	a->had_past = a->has_past;
	a->until_ns = now + (a->had_past ? after_ns(a) : a->args->keep_ns);
	put_reason(a);
	coati_note("%s: keeping the seconds around it", a->reason);
}

static int keep(struct armed *a, struct agent_kept *ret, struct coati_error *err)
{
	static char path[4096];
	uint64_t before = a->had_past ? a->args->keep_ns - after_ns(a) : 0;
	uint64_t from = a->fired_ns > before ? a->fired_ns - before : 0;
	struct top_save save = { .path = path, .to_ns = a->until_ns, .cap = &a->cap };
	struct stat st = { 0 };
	int r;

	/* the look may have come late, or the call have been long: it is kept from its beginning */
	if (a->since_ns < from)
		from = a->since_ns;
	/* before tracing began there is nothing */
	save.from_ns =
		from > coati_top_spool_since(&a->spool) ? from : coati_top_spool_since(&a->spool);
	coati_folder_kept_name(&a->folder, a->fired_ns, a->reason, path, sizeof(path));
	r = coati_top_spool_end(&a->spool, a->cap, err);
	if (r == 0)
		r = coati_top_spool_save(&a->spool, &save, err);
	a->kept_ns[a->kept % 64] = a->fired_ns;
	if (r == 0) {
		a->kept++;
		coati_folder_trim(&a->folder, false);
		stat(path, &st);
		*ret = (struct agent_kept){ .path = path,
					    .reason = a->reason,
					    .wall_ns = clock_ns(CLOCK_REALTIME) -
						       (now_ns() - a->fired_ns),
					    .bytes = (uint64_t)st.st_size };
	}
	a->fired_ns = a->until_ns = 0;
	if (!a->has_past)
		stop(a);
	else if (begin_part(a, r < 0 ? NULL : err) < 0)
		stop(a);
	return r < 0 ? r : 1;
}

int coati_armed_look(struct armed *a, uint64_t now_ns, struct agent_kept *ret,
		     struct coati_error *err)
{
	for (uint32_t i = 0; i < a->nr; i++) {
		struct agent_condition *c = &a->conditions[i];
		double value;
		bool holds = coati_agent_condition_holds(c, a->tasks, now_ns, &value);

		if (holds && !a->fired_ns)
			fire(a, c, value, now_ns);
	}
	return is_over(a, now_ns) ? keep(a, ret, err) : 0;
}
