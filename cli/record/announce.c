/* SPDX-License-Identifier: MIT */
/* see record/announce.h */
#include "cli/record/announce.h"

#include <errno.h>
#include <string.h>

#include <coati/profile.h>
#include <coati/unwind.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "capture/session.h"
#include "cli/quality-advice.h"
#include "cli/talk.h"
#include "event/event.h"
#include "event/list.h"
#include "reading/parts.h"

#define CUT_HELPS	 65528 /* the kernel copies no more than this */
#define USUAL_RATE	 1000
#define ROOM_MOST	 1024 /* MiB: rings are not larger */
#define WATCH_LEAST	 100  /* stacks, before a share of them says something */
#define WATCH_LOST_LEAST 100  /* records */
#define TOLD_BY_ITSELF	 (COATI_DROP_KERNEL | COATI_DROP_FREQ | COATI_DROP_MAX_STACK)

static void announce_rate(const struct coati_event_desc *d, const struct coati_attr *attr)
{
	coati_note("%s: limited to %llu samples per second; raise "
		   "kernel.perf_event_max_sample_rate with sysctl for more",
		   d->name, (unsigned long long)attr->sample_period);
}

static void announce_event(const struct record_args *args, const struct coati_event_desc *d,
			   const struct coati_attr *attr, uint32_t dropped)
{
	char text[256];

	if (d->note && d->note[0])
		coati_note("%s: %s", d->name, d->note);
	if (dropped & COATI_DROP_FREQ)
		announce_rate(d, attr);
	if (dropped & COATI_DROP_MAX_STACK)
		coati_note("%s: stacks are limited to %u frames; raise kernel.perf_event_max_stack "
			   "with sysctl for more",
			   d->name, attr->sample_max_stack);
	if (dropped & COATI_DROP_GROUP)
		coati_note("%s: its group does not fit on the PMU and was split up", d->name);
	dropped &= ~TOLD_BY_ITSELF;
	if (args->verbose && dropped)
		coati_note("%s: without %s", d->name,
			   coati_dropped_format(dropped, text, sizeof(text)));
}

static void announce_rings(const struct record_args *args, const struct coati_capture *cap)
{
	struct coati_capture_stats st = { .size = sizeof(st) };

	coati_capture_get_stats(cap, &st);
	if (args->ring_bytes > st.ring_bytes)
		coati_note("ring buffers of %llu KiB instead of %llu KiB: the limit for locked "
			   "memory is reached; raise kernel.perf_event_mlock_kb with sysctl, or "
			   "ulimit -l",
			   (unsigned long long)st.ring_bytes / 1024,
			   (unsigned long long)args->ring_bytes / 1024);
	if (args->verbose)
		coati_note("%llu ring buffers of %llu KiB", (unsigned long long)st.nr_rings,
			   (unsigned long long)st.ring_bytes / 1024);
}

static void announce_off_cpu(const struct record_args *args, const struct coati_capture *cap)
{
	const struct coati_error *stacks = coati_capture_off_cpu_error(cap, COATI_OFF_CPU_STACKS);
	const struct coati_error *wakes = coati_capture_off_cpu_error(cap, COATI_OFF_CPU_WAKES);
	const struct coati_error *irqs = coati_capture_off_cpu_error(cap, COATI_OFF_CPU_IRQS);

	if (stacks && (stacks->code == -EACCES || stacks->code == -EPERM))
		coati_note("off-CPU: waits have no stacks, because you may not sample the kernel; "
			   "sysctl kernel.perf_event_paranoid=1 (as root) allows it");
	else if (stacks)
		coati_note("off-CPU: waits have no stacks: %s", stacks->text);
	if (wakes && args->verbose)
		coati_note("off-CPU: runnable time counts as blocked: %s", wakes->text);
	if (irqs && args->verbose)
		coati_note("trace: interrupts count as running: %s", irqs->text);
}

static void announce_bpf(const struct record_args *args, const struct coati_capture *cap)
{
	const struct coati_error *why = coati_capture_bpf_error(cap);

	if (why && args->stacks == COATI_STACKS_BPF)
		coati_note("stacks are unwound from copies (-g table), not in the kernel: %s",
			   why->text);
	else if (why && args->verbose)
		coati_note("stacks are not walked in the kernel: %s", why->text);
}

void coati_record_announce(const struct record_args *args, const struct coati_event_list *list,
			   const struct coati_capture *cap, bool by_default)
{
	bool user_only = false;

	if (by_default && args->verbose)
		coati_note("sampling %s", coati_event_list_get(list, 0)->name);
	for (uint32_t i = 0; i < coati_event_list_count(list); i++) {
		const struct coati_event_desc *d = coati_event_list_get(list, i);
		const struct coati_error *why = coati_capture_event_error(cap, i);
		uint32_t dropped = coati_capture_event_dropped(cap, i);

		if (why)
			coati_note("left out: %s", why->text);
		else
			announce_event(args, d, coati_capture_event_attr(cap, i), dropped);
		user_only |= !why && dropped & COATI_DROP_KERNEL;
	}
	if (args->off_cpu)
		announce_off_cpu(args, cap);
	announce_bpf(args, cap);
	if (user_only)
		coati_note("user space only: you may not sample the kernel; sysctl "
			   "kernel.perf_event_paranoid=1 (as root) allows it");
	announce_rings(args, cap);
}

static void add_bytes(struct strbuf *s, uint64_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	int unit = 0;

	while (value >= 1024 && unit < 4) {
		value /= 1024;
		unit++;
	}
	coati_strbuf_printf(s, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

/* Stacks that end where the copy does, when they are more than one in twenty; else 0. */
static uint64_t count_cut(const struct record_args *args, const struct coati_capture_stats *st,
			  uint64_t *ret_all)
{
	const uint64_t cut = st->stack_ends[COATI_UNWIND_TRUNCATED];
	uint64_t all = 0;

	for (size_t i = 0; i < sizeof(st->stack_ends) / sizeof(*st->stack_ends); i++)
		all += st->stack_ends[i];
	*ret_all = all;
	return cut > all / 20 && args->stack_bytes < CUT_HELPS ? cut : 0;
}

/* A ring that has room for a quarter of a second of the largest copies, in MiB: less, and they
 * are made smaller. A power of two. */
static uint64_t room_for_copies(const struct record_args *args)
{
	uint64_t rate = args->freq > USUAL_RATE ? args->freq : USUAL_RATE, mib = 16;

	while (mib < ROOM_MOST && mib * 16 < rate / 4)
		mib *= 2;
	return mib;
}

/* What helps: copies that are larger, and rings with room for them. */
static void add_cut_help(const struct record_args *args, struct strbuf *s)
{
	uint64_t mib = room_for_copies(args);

	coati_strbuf_printf(
		s, "--stack-size 64k copies the most possible, and needs --ring-size (-m) %lluM",
		(unsigned long long)mib);
	if (args->freq > USUAL_RATE)
		coati_strbuf_printf(s, ", or the default ring size with --freq (-F) %u",
				    (unsigned int)USUAL_RATE);
}

static void announce_cut(const struct record_args *args, const struct coati_capture_stats *st)
{
	struct strbuf s = STRBUF_INIT(1024);
	uint64_t all, cut = count_cut(args, st, &all);

	if (cut) {
		coati_strbuf_printf(&s,
				    "%llu of %llu stacks are truncated: ", (unsigned long long)cut,
				    (unsigned long long)all);
		add_cut_help(args, &s);
		coati_note("%s", s.text);
	}
	coati_strbuf_fini(&s);
}

/* The size of the copies, of the first event that has any; 0: none has. */
static uint32_t copy_bytes(const struct coati_capture *cap, const struct coati_event_list *list)
{
	for (uint32_t i = 0; i < coati_event_list_count(list); i++) {
		const struct coati_attr *a = coati_capture_event_attr(cap, i);

		if (a && a->sample_type & COATI_SAMPLE_STACK_USER)
			return a->sample_stack_user;
	}
	return 0;
}

bool coati_record_watch(const struct record_args *args, const struct coati_event_list *list,
			const struct coati_capture *cap)
{
	struct coati_capture_stats st = { .size = sizeof(st) };
	struct strbuf s = STRBUF_INIT(1024);
	uint64_t all, cut;

	coati_capture_get_stats(cap, &st);
	cut = count_cut(args, &st, &all);
	if (!cut || all < WATCH_LEAST) {
		coati_strbuf_fini(&s);
		return false;
	}
	coati_strbuf_printf(&s, "%llu of the first %llu stacks are truncated",
			    (unsigned long long)cut, (unsigned long long)all);
	if (args->freq > USUAL_RATE)
		coati_strbuf_printf(
			&s,
			", because the ring buffers have room for copies of %u bytes at %llu "
			"samples per second",
			copy_bytes(cap, list), (unsigned long long)args->freq);
	coati_strbuf_adds(&s, ": ");
	add_cut_help(args, &s);
	coati_note("%s", s.text);
	coati_strbuf_fini(&s);
	return true;
}

bool coati_record_watch_lost(const struct record_args *args, const struct coati_capture *cap)
{
	struct coati_capture_stats st = { .size = sizeof(st) };
	uint64_t mib;

	coati_capture_get_stats(cap, &st);
	if (st.lost < WATCH_LOST_LEAST || !st.nr_rings)
		return false;
	mib = 4 * (st.ring_bytes >> 20);
	coati_note("%llu records are lost so far: they come faster than they can be written; "
		   "--ring-size (-m) %lluM makes more room%s",
		   (unsigned long long)st.lost, (unsigned long long)(mib > 4 ? mib : 4),
		   args->realtime ? "" : ", --realtime 1 gives the recorder the CPU first");
	return true;
}

/* Known when the recording is finished. */
static bool has_coverage(const struct coati_capture_stats *st)
{
	return st->counted && st->sampled_event != UINT32_MAX;
}

static void add_sampled(struct strbuf *s, const struct coati_event_list *list,
			const struct coati_capture_stats *st)
{
	struct coati_profile_quality q = { .size = sizeof(q),
					   .sampled = st->sampled,
					   .counted = st->counted };
	double percent = 100 * coati_profile_sampled(&q);

	if (!has_coverage(st))
		return;
	coati_strbuf_printf(
		s, percent > 0 && percent < 1 ? "sampled %.1f %% of " : "sampled %.0f %% of ",
		percent);
	coati_strbuf_adds(s, st->sampled_time
				     ? "CPU time"
				     : coati_event_list_get(list, st->sampled_event)->name);
	coati_strbuf_adds(s, ", ");
}

/* What was not seen, and which option shows it. */
static void announce_unseen(const struct coati_event_list *list,
			    const struct coati_capture_stats *st)
{
	const struct seen seen = {
		.samples = st->samples,
		.lost = st->lost,
		.throttled = st->throttled,
		.sampled = st->sampled,
		.counted = has_coverage(st) ? st->counted : 0,
		.period = st->sampled_period,
		.exits = st->exits,
		.is_part = st->sampled_part,
		.event = st->sampled_time || !has_coverage(st)
				 ? NULL
				 : coati_event_list_get(list, st->sampled_event)->name,
	};
	struct strbuf s = STRBUF_INIT(1024);

	if (coati_advise_lost(&s, &seen, ""))
		coati_note("%s", s.text);
	coati_strbuf_clear(&s);
	if (coati_advise_sampled(&s, &seen, ""))
		coati_note("%s", s.text);
	coati_strbuf_fini(&s);
}

/* Stacks that are unwound here; of others only who reads the recording knows. */
static void set_stacks(const struct coati_capture_stats *st, struct figures *f)
{
	const uint64_t *ends = st->stack_ends;
	uint64_t all = st->stack_none;

	for (size_t i = 0; i < COATI_UNWIND_END_COUNT; i++)
		all += ends[i];
	if (!all || all < st->samples)
		return;
	coati_figure_set(f, FIGURE_COMPLETE,
			 ends[COATI_UNWIND_END] + st->stack_none > st->stack_guesses
				 ? ends[COATI_UNWIND_END] + st->stack_none - st->stack_guesses
				 : 0,
			 all);
	coati_figure_set(f, FIGURE_TRUNCATED,
			 ends[COATI_UNWIND_TRUNCATED] + ends[COATI_UNWIND_LIMIT], all);
	coati_figure_set(
		f, FIGURE_GAP,
		ends[COATI_UNWIND_GAP] + ends[COATI_UNWIND_UNMAPPED] + ends[COATI_UNWIND_BAD], all);
	coati_figure_set(f, FIGURE_GUESSED, st->stack_guesses, all);
	coati_figure_set(f, FIGURE_NO_STACK, 0, all);
}

void coati_record_figures(const struct coati_capture_stats *st, struct figures *ret)
{
	*ret = (struct figures){ 0 };
	coati_figure_set(ret, FIGURE_SAMPLES, st->samples, 0);
	coati_figure_set(ret, FIGURE_LOST, st->lost, st->samples + st->lost);
	coati_figure_set(ret, FIGURE_THROTTLED, st->throttled, 0);
	if (has_coverage(st))
		coati_figure_set(ret, FIGURE_SAMPLED,
				 st->sampled < st->counted ? st->sampled : st->counted,
				 st->counted);
	set_stacks(st, ret);
}

/* Frame pointers may know what tables do not: more than one stack in five is worth another try. */
static void announce_gaps(const struct record_args *args, const struct coati_capture_stats *st)
{
	uint64_t all = 0, complete = st->stack_ends[COATI_UNWIND_END];

	for (size_t i = 0; i < sizeof(st->stack_ends) / sizeof(*st->stack_ends); i++)
		all += st->stack_ends[i];
	if (args->stacks == COATI_STACKS_TABLE && all - complete > all / 5)
		coati_note("%llu of %llu stacks do not reach their root: --stacks (-g) auto also "
			   "follows frame pointers",
			   (unsigned long long)(all - complete), (unsigned long long)all);
}

static void announce_checks(const struct coati_capture_stats *st)
{
	coati_note("verify: %llu stacks match the unwind data, %llu match but for code without "
		   "it, %llu match as far as it goes, %llu are wrong",
		   (unsigned long long)st->walks_checked,
		   (unsigned long long)st->walks_checked_over,
		   (unsigned long long)st->walks_checked_part, (unsigned long long)st->walks_wrong);
}

/* The walker in the kernel. */
static void announce_walks(const struct coati_capture_stats *st)
{
	struct strbuf s = STRBUF_INIT(1024);

	coati_strbuf_printf(
		&s,
		"%llu stacks of %llu frames walked in the kernel, %llu of them finished "
		"by the reader, %llu lost",
		(unsigned long long)st->walks, (unsigned long long)st->walk_frames,
		(unsigned long long)st->walk_copies, (unsigned long long)st->walks_lost);
	if (st->walk_runs)
		coati_strbuf_printf(
			&s, "; %llu ns a stack, %llu ns a frame",
			(unsigned long long)(st->walk_ns / st->walk_runs),
			(unsigned long long)(st->walk_frames ? st->walk_ns / st->walk_frames : 0));
	coati_note("%s", s.text);
	coati_strbuf_clear(&s);
	for (uint32_t i = 0; coati_walk_end_name(i); i++)
		if (st->walk_ends[i])
			coati_strbuf_printf(&s, "%s%s %llu", s.len ? ", " : "",
					    coati_walk_end_name(i),
					    (unsigned long long)st->walk_ends[i]);
	coati_note("walks ended in the kernel: %s", s.text);
	coati_strbuf_fini(&s);
}

void coati_record_account(const struct record_args *args, const struct coati_event_list *list,
			  const struct coati_capture_stats *st, const char *name)
{
	struct strbuf s = STRBUF_INIT(2048);

	coati_strbuf_printf(&s, "%s: ", strcmp(name, "-") ? name : "standard output");
	coati_strbuf_grouped(&s, st->samples);
	coati_strbuf_adds(&s, st->samples == 1 ? " sample, " : " samples, ");
	coati_strbuf_grouped(&s, st->lost);
	coati_strbuf_adds(&s, " lost, ");
	coati_strbuf_grouped(&s, st->throttled);
	coati_strbuf_adds(&s, " throttled, ");
	add_sampled(&s, list, st);
	if (args->off_cpu) {
		coati_strbuf_grouped(&s, st->switches);
		coati_strbuf_adds(&s, " context switches, ");
	}
	add_bytes(&s, st->bytes);
	coati_strbuf_adds(&s, ", ");
	coati_format_duration(&s, st->cpu_ns);
	coati_strbuf_adds(&s, " of own CPU time");
	if (args->overwrite)
		coati_strbuf_printf(&s, ", %llu snapshots%s", (unsigned long long)st->snapshots,
				    st->overwritten ? " (older samples were overwritten)" : "");
	coati_note("%s", s.text);
	if (args->verbose)
		coati_note("%llu records, %llu about running processes, %llu rounds, %llu wakeups, "
			   "%llu damaged bytes",
			   (unsigned long long)st->records, (unsigned long long)st->synthesized,
			   (unsigned long long)st->rounds, (unsigned long long)st->wakeups,
			   (unsigned long long)st->damaged_bytes);
	if (st->walks && args->verbose)
		announce_walks(st);
	if (args->verify)
		announce_checks(st);
	if (st->unassigned)
		coati_note(
			"%llu samples carry the event ID of another recorder, because both sample "
			"the same software event: reports leave them out; run one recorder at a "
			"time",
			(unsigned long long)st->unassigned);
	if (st->files_over)
		coati_note("%llu mapped files could not be kept open, only %llu were: deleted or "
			   "replaced ones have no symbols; ulimit -n raises the limit",
			   (unsigned long long)st->files_over, (unsigned long long)st->files_held);
	announce_unseen(list, st);
	announce_cut(args, st);
	announce_gaps(args, st);
	if (st->switches_fast)
		coati_note(
			"context switches came too fast to copy every stack: later ones use frame "
			"pointers; --stacks (-g) table copies all of them");
	if (!st->lost_exact && args->verbose)
		coati_note(
			"more records may be lost than reported: kernels before Linux 6.0 do not "
			"count all of them");
	coati_strbuf_fini(&s);
}

void coati_record_account_labels(const struct record_args *args, const struct coati_label_counts *c)
{
	if (args->verbose && c->samples)
		coati_note("%llu samples with labels, %llu different sets, %llu changes",
			   (unsigned long long)c->samples, (unsigned long long)c->sets,
			   (unsigned long long)c->changes);
	if (c->unnamed)
		coati_note("%llu samples are without their labels, because the names of the keys "
			   "could not be read: the process had ended, or does not publish them",
			   (unsigned long long)c->unnamed);
	if (c->over)
		coati_note("%llu samples are without their labels, because there are more than %u "
			   "different sets of labels: leave out labels with too many values, such "
			   "as the number of a request",
			   (unsigned long long)c->over, COATI_LABEL_SETS_MAX);
	if (c->unread)
		coati_note("%llu samples are without their labels, because these were malformed or "
			   "not in memory",
			   (unsigned long long)c->unread);
}
