/* SPDX-License-Identifier: MIT */
/* see faults.h */
#include "cli/faults.h"

#include <coati/profile.h>

#include "base/strbuf.h"
#include "cli/input.h"
#include "cli/quality.h"
#include "cli/talk.h"
#include "reading/hooks.h"
#include "trace/timeline.h"

void coati_faults_of_profile(const struct coati_profile *p, struct faults *ret)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_context_account live;

	coati_profile_quality(p, &q);
	coati_profile_live_account(p, &live);
	*ret = (struct faults){ .is_cut = q.is_truncated,
				.is_stopped = coati_input_was_stopped(),
				.damaged = q.damaged,
				.lost = q.lost,
				.late = q.late,
				.over_limits = q.refused,
				.no_event = q.no_event,
				.live_lost = live.lost,
				.batches_missing = live.missing,
				.batches_damaged = live.damaged };
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void coati_faults_of_timeline(const struct coati_profile *p, const struct coati_timeline_info *info,
			      struct faults *ret)
{
	coati_faults_of_profile(p, ret);
	/* both count what the recording has: the timeline what is left of it in its order */
	ret->late = larger(ret->late, info->late);
	ret->over_limits = larger(ret->over_limits, info->refused);
	ret->live_lost = larger(ret->live_lost, info->live_lost);
	ret->batches_damaged = larger(ret->batches_damaged, info->live_damaged);
}

static void add(struct strbuf *s, uint64_t nr, const char *one, const char *many)
{
	if (!nr)
		return;
	coati_strbuf_adds(s, s->len ? ", " : "");
	coati_strbuf_grouped(s, nr);
	coati_strbuf_printf(s, " %s", nr == 1 ? one : many);
}

static void list(const struct faults *f, struct strbuf *s)
{
	if (f->is_cut)
		coati_strbuf_adds(s, "it ends too early");
	if (f->is_stopped)
		coati_strbuf_printf(s, "%sthe reading was stopped", s->len ? ", " : "");
	add(s, f->damaged, "part is damaged", "parts are damaged");
	add(s, f->lost, "record is lost", "records are lost");
	add(s, f->late, "record came late", "records came late");
	add(s, f->over_limits, "item is over a limit", "items are over a limit");
	add(s, f->no_event, "sample has no event", "samples have no event");
	add(s, f->live_lost, "live event is lost", "live events are lost");
	add(s, f->batches_missing, "batch of live events is missing",
	    "batches of live events are missing");
	add(s, f->batches_damaged, "batch of live events is damaged",
	    "batches of live events are damaged");
}

void coati_faults_add(struct faults *sum, const struct faults *f)
{
	sum->is_cut |= f->is_cut;
	sum->is_stopped |= f->is_stopped;
	sum->damaged += f->damaged;
	sum->lost += f->lost;
	sum->late += f->late;
	sum->over_limits += f->over_limits;
	sum->no_event += f->no_event;
	sum->live_lost += f->live_lost;
	sum->batches_missing += f->batches_missing;
	sum->batches_damaged += f->batches_damaged;
}

int coati_faults_judge(const struct faults *f, const char *input)
{
	struct strbuf s = STRBUF_INIT(4096), name = STRBUF_INIT(65536);
	int ret = EXIT_DONE;

	list(f, &s);
	if (s.len) {
		coati_report_fit(&name, input, 1000);
		coati_say("--strict: %s is not complete: %s", name.text, s.text);
		ret = EXIT_FAILED;
	}
	coati_strbuf_fini(&s);
	coati_strbuf_fini(&name);
	return ret;
}
