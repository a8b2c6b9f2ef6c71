/* SPDX-License-Identifier: MIT */
/* What a capture can be asked: what was left out, and what it did so far. */
#include "base/sized.h"
#include "capture/capture.h"
#include "capture/session.h"
#include "event/list.h"
#include "event/set.h"
#include "image/hold.h"
#include "recording/writer.h"

const struct coati_error *coati_capture_event_error(const struct coati_capture *cap, uint32_t event)
{
	return cap ? coati_set_event_error(cap->sets[SET_EVENTS].set, event) : NULL;
}

uint32_t coati_capture_event_dropped(const struct coati_capture *cap, uint32_t event)
{
	return cap ? coati_set_event_dropped(cap->sets[SET_EVENTS].set, event) : 0;
}

const struct coati_attr *coati_capture_event_attr(const struct coati_capture *cap, uint32_t event)
{
	const struct capture_set_state *st = cap ? &cap->sets[SET_EVENTS] : NULL;

	if (!st || event >= coati_event_list_count(st->list) ||
	    coati_set_event_error(st->set, event))
		return NULL;
	return &st->attrs[event];
}

const struct coati_error *coati_capture_off_cpu_error(const struct coati_capture *cap,
						      enum coati_off_cpu_part part)
{
	const struct coati_error *why = part == COATI_OFF_CPU_STACKS ? &cap->off.no_stacks
					: part == COATI_OFF_CPU_IRQS ? &cap->off.no_irqs
								     : &cap->off.no_wakes;

	return why->code ? why : NULL;
}

const struct coati_error *coati_capture_bpf_error(const struct coati_capture *cap)
{
	return cap && cap->no_bpf.code ? &cap->no_bpf : NULL;
}

int coati_capture_probe_bpf(struct coati_error *err)
{
	const struct walker_opts o = { .at = 1u << WALKER_AT_SAMPLES };
	struct walker *w = NULL;
	int r = coati_walker_open(&o, &w, err);

	coati_walker_close(&w);
	return r;
}

static void add_coverage(const struct coati_capture *cap, struct coati_capture_stats *ret)
{
	const struct capture_set_state *st = &cap->sets[SET_EVENTS];
	uint32_t lead = coati_coverage_lead(&cap->coverage, st->attrs);

	ret->sampled_event = lead;
	if (lead == COVERAGE_NONE)
		return;
	ret->sampled = cap->coverage.v[lead].sampled;
	ret->counted = cap->coverage.v[lead].counted;
	ret->sampled_period = coati_coverage_period(&cap->coverage.v[lead], &st->attrs[lead]);
	ret->sampled_time = coati_coverage_is_clock(&st->attrs[lead]);
	ret->sampled_part = coati_coverage_is_partial(&st->attrs[lead]);
}

static void add_stack_counts(const struct coati_capture *cap, struct coati_capture_stats *ret)
{
	struct stacks_counts c;

	coati_stacks_get_counts(coati_drain_stacks_get(cap->drain), &c);
	for (int i = 0; i < COATI_UNWIND_END_COUNT; i++)
		ret->stack_ends[i] = c.ends[STACKS_OF_SAMPLES][i];
	for (int i = 0; i < COATI_UNWIND_END_COUNT; i++)
		ret->switch_stack_ends[i] = c.ends[STACKS_OF_SWITCHES][i];
	ret->stack_pointers = c.pointers;
	ret->stack_guesses = c.guessed;
	ret->stack_none = c.none;
}

const char *coati_walk_end_name(uint32_t end)
{
	static const char *const names[WALKER_ENDS] = {
		"end",	"gap",	   "unmapped", "truncated", "limit", "bad",   "unsupported",
		"none", "unknown", "stale",    "no-table",  "fault", "moved",
	};

	return end < WALKER_ENDS ? names[end] : NULL;
}

static void add_walks(const struct walks *ws, struct coati_capture_stats *ret)
{
	struct walker_stats st;

	coati_walker_get_stats(ws->walker, &st);
	ret->walks = st.walks;
	ret->walk_frames = st.frames;
	ret->walk_copies = st.copies - st.checks;
	ret->walks_lost = ws->missing;
	for (int i = 0; i < WALKER_ENDS; i++)
		ret->walk_ends[i] = st.ends[i];
	ret->walks_checked = ws->checked;
	ret->walks_checked_over = ws->checked_over;
	ret->walks_checked_part = ws->checked_part;
	ret->walks_wrong = ws->wrong;
	ret->walk_ns = st.run_ns;
	ret->walk_runs = st.runs;
}

int coati_capture_get_stats(const struct coati_capture *cap, struct coati_capture_stats *ret)
{
	const struct tally *t = &cap->tally;
	struct hold_stats files;
	struct coati_capture_stats st = {
		.records = t->records,
		.samples = t->samples - t->off_samples,
		/* records tell of lost reports of the walker, too */
		.lost = cap->lost_exact && cap->walks ? cap->lost + t->lost_samples
						      : coati_capture_tally_lost(t, cap->lost),
		.lost_exact = cap->lost_exact,
		.throttled = t->throttled,
		.bytes = cap->writer ? coati_writer_bytes(cap->writer) : cap->bytes,
		.first_time = t->first_time,
		.last_time = t->last_time,
		.wakeups = cap->wakeups,
		.rounds = cap->rounds,
		.snapshots = cap->snapshots,
		.overwritten = cap->overwritten,
		.damaged_bytes = t->damaged_bytes,
		.unassigned = t->unassigned,
		.nr_rings = rings_count(&cap->rings) + cap->rings.backward.len,
		.ring_bytes = cap->rings.bytes,
		.synthesized = cap->synthesized,
		.switches = t->switches,
		.switches_fast = cap->off.fast_times,
		.cpu_ns = cap->cpu_ns,
		.exits = cap->tasks && cap->scope != SCOPE_SIDE ? t->exits : 0,
	};
	add_coverage(cap, &st);
	coati_images_hold_stats(cap->images, &files);
	st.files_held = files.held;
	st.files_over = files.over;
	if (cap->drain)
		add_stack_counts(cap, &st);
	if (cap->walks)
		add_walks(cap->walks, &st);
	return SIZED_FILL(ret, &st);
}

void coati_capture_get_labels(const struct coati_capture *cap, struct coati_label_counts *ret)
{
	const struct thread_labels *l = cap->walks ? cap->walks->labels : NULL;

	*ret = (struct coati_label_counts){ 0 };
	if (l)
		*ret = (struct coati_label_counts){ l->counts.samples, l->counts.changes,
						    l->counts.sets,    l->counts.unnamed,
						    l->counts.over,    l->counts.unread };
}

struct coati_images *coati_capture_images(const struct coati_capture *cap)
{
	return cap->images;
}
