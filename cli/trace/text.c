/* SPDX-License-Identifier: MIT */
/* see trace/text.h */
#include "cli/trace/text.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/faults.h"
#include "cli/quality-advice.h"
#include "cli/quality.h"
#include "reading/parts.h"
#include "reading/wait.h"
#include "trace/timeline.h"

#define NAME_COLUMNS 64 /* of a function, a task or a region in a line */

void coati_trace_sums(const struct coati_ledger *l, uint64_t sums[SUM_COUNT])
{
	memset(sums, 0, SUM_COUNT * sizeof(*sums));
	for (uint32_t i = 0; i < COATI_PART_COUNT; i++) {
		enum trace_sum to = SUM_BLOCKED;

		if (i == COATI_WAIT_RUNNING)
			to = SUM_RUNNING;
		else if (i == COATI_WAIT_RUNNABLE || i == COATI_WAIT_PREEMPTED ||
			 i == COATI_PART_IRQ)
			to = SUM_RUNNABLE;
		else if (i == COATI_PART_NOBODY)
			to = SUM_NOBODY;
		else if (i == COATI_WAIT_UNKNOWN)
			to = SUM_UNKNOWN;
		sums[to] += l->parts[i];
	}
}

/* ---- what it is worth ---- */

static void add_count(struct strbuf *s, uint64_t nr, const char *one, const char *many)
{
	coati_strbuf_adds(s, ", ");
	coati_strbuf_grouped(s, nr);
	coati_strbuf_printf(s, " %s", nr == 1 ? one : many);
}

static void add_missing_wakes(const struct trace *t, struct strbuf *s)
{
	const uint32_t has = t->info.has;

	if (has & COATI_TIMELINE_OTHER_PID_NS)
		coati_strbuf_adds(
			s, "# wakers are unknown and runnable time counts as blocked: the "
			   "recorder ran in its own PID namespace, but the kernel reports wakeups "
			   "with the IDs of the initial one; record from outside the container\n");
	else if (has & COATI_TIMELINE_OWN_WAKES)
		coati_strbuf_adds(
			s, "# only wakeups by the recorded threads are known; after any other, "
			   "runnable time counts as blocked: record as root or with -a to see all "
			   "wakeups\n");
	else if (!(has & (COATI_TIMELINE_HAS_WAKES | COATI_TIMELINE_ALL_WAKES)))
		coati_strbuf_adds(
			s, "# wakers are unknown and runnable time counts as blocked: wakeups "
			   "need root and tracefs (mount -t tracefs nodev /sys/kernel/tracing) "
			   "while recording\n");
}

static void add_missing(const struct trace *t, struct strbuf *s)
{
	const uint32_t has = t->info.has;

	if (!(has & COATI_TIMELINE_HAS_SWITCHES))
		coati_strbuf_adds(s,
				  "# no context switches: thread states are unknown; coati record "
				  "--trace records them\n");
	else if (!(has & COATI_TIMELINE_HAS_STACKS) && t->info.switches)
		coati_strbuf_adds(s, "# waits have no stacks: record as root, or set sysctl "
				     "kernel.perf_event_paranoid=1\n");
	if (has & COATI_TIMELINE_HAS_SWITCHES)
		add_missing_wakes(t, s);
	if (!(has & COATI_TIMELINE_HAS_LIVE))
		coati_strbuf_adds(
			s, "# no live events: only programs that link libcoati-live report tasks "
			   "and regions\n");
}

/* Without those that only woke others. */
static uint64_t count_threads(const struct trace *t)
{
	struct coati_timeline_thread th;
	uint64_t nr = 0;

	for (uint32_t i = 0; coati_timeline_thread(t->timeline, i, &th) == 0; i++)
		nr += th.end > th.begin || th.nr_intervals;
	return nr;
}

void coati_trace_figures(const struct trace *t, struct figures *ret)
{
	const struct coati_timeline_info *i = &t->info;
	uint64_t records = i->switches + i->wakes + i->syscalls + i->faults + i->samples;

	*ret = (struct figures){ 0 };
	coati_figure_set(ret, FIGURE_SAMPLES, i->samples, 0);
	coati_figure_set(ret, FIGURE_LOST, i->lost, records + i->lost);
	coati_figure_set(ret, FIGURE_LATE, i->late, records);
	coati_figure_set(ret, FIGURE_REFUSED, i->refused, records + i->refused);
	coati_figure_set(ret, FIGURE_OFF_UNPAIRED, i->unpaired, i->switches + i->unpaired);
	if (i->has & COATI_TIMELINE_HAS_LIVE)
		coati_figure_set(ret, FIGURE_LIVE_LOST, i->live_lost,
				 i->live_events + i->live_lost);
}

int coati_trace_judge(const struct trace *t)
{
	struct figures figures;
	struct faults faults;
	int sound = EXIT_DONE, ret;

	coati_trace_figures(t, &figures);
	ret = coati_conditions_judge(t->fail_if, &figures);
	if (t->is_strict) {
		coati_faults_of_timeline(coati_timeline_profile(t->timeline), &t->info, &faults);
		sound = coati_faults_judge(&faults, t->input);
	}
	return sound != EXIT_DONE ? sound : ret;
}

/* Which option helps. */
static void add_lost(struct strbuf *s, uint64_t lost)
{
	struct strbuf line = STRBUF_INIT(1024);

	if (coati_advise_lost(&line, &(struct seen){ .lost = lost }, "coati record "))
		coati_strbuf_printf(s, "# %s\n", line.text);
	coati_strbuf_fini(&line);
}

void coati_trace_quality(struct trace *t)
{
	const struct coati_timeline_info *i = &t->info;
	struct strbuf *s = &t->out.text;
	uint64_t wrong = t->args && t->args->check ? 0 : coati_trace_count_wrong(t);
	const char *note;
	size_t from;

	coati_strbuf_adds(s, coati_output_style(&t->out, STYLE_DIM));
	from = s->len;
	coati_strbuf_printf(s, "# %s: ", t->input);
	coati_format_duration(s, i->end - i->begin);
	add_count(s, count_threads(t), "thread", "threads");
	add_count(s, i->nr_cpus, "CPU", "CPUs");
	add_count(s, i->switches, "switch", "switches");
	add_count(s, i->wakes, "wakeup", "wakeups");
	if (i->has & COATI_TIMELINE_ALL_WAKES)
		coati_strbuf_adds(s, " (of all CPUs)");
	if (i->has & COATI_TIMELINE_HAS_SYSCALLS)
		add_count(s, i->syscalls, "system call", "system calls");
	add_count(s, i->faults, "page fault", "page faults");
	add_count(s, i->samples, "sample", "samples");
	add_count(s, i->live_events, "live event", "live events");
	coati_strbuf_printf(s, "; %llu lost", (unsigned long long)i->lost);
	if (i->has & COATI_TIMELINE_HAS_LIVE) {
		coati_strbuf_printf(s, ", %llu live events lost; clock error ",
				    (unsigned long long)i->live_lost);
		coati_format_duration(s, i->clock_error);
	}
	if (i->unpaired || i->late)
		coati_strbuf_printf(s, "; %llu unpaired, %llu late",
				    (unsigned long long)i->unpaired, (unsigned long long)i->late);
	if (i->refused)
		coati_strbuf_printf(s, "; %llu over the limits", (unsigned long long)i->refused);
	coati_strbuf_adds(s, "; recording cost ");
	coati_format_duration(s, i->recorder_cpu_ns);
	coati_strbuf_addc(s, '\n');
	add_lost(s, i->lost);
	add_missing(t, s);
	for (uint32_t n = 0; (note = coati_timeline_note(t->timeline, n)); n++)
		coati_strbuf_printf(s, "# %s\n", note);
	if (wrong)
		coati_strbuf_printf(
			s,
			"# warning: %llu checks of this timeline fail: coati trace --check lists "
			"them\n",
			(unsigned long long)wrong);
	coati_output_wrap(&t->out, from, 0);
	coati_strbuf_adds(s, coati_output_style(&t->out, STYLE_PLAIN));
}

/* ---- JSON ---- */

void coati_trace_json_head(struct trace *t, struct json *j, const char *schema, const char *view)
{
	const struct coati_timeline_info *i = &t->info;
	struct figures figures;

	*j = json_to(&t->out.text);
	coati_json_object(j);
	coati_json_kstr(j, "schema", schema);
	coati_json_kstr(j, "view", view);
	coati_json_kstr(j, "file", t->input);
	coati_json_ku64(j, "begin_ns", i->begin);
	coati_json_ku64(j, "end_ns", i->end);
	coati_json_key(j, "quality");
	coati_json_object(j);
	coati_json_kbool(j, "has_switches", i->has & COATI_TIMELINE_HAS_SWITCHES);
	coati_json_kbool(j, "has_stacks", i->has & COATI_TIMELINE_HAS_STACKS);
	coati_json_kbool(j, "has_wakes", i->has & COATI_TIMELINE_HAS_WAKES);
	coati_json_kbool(j, "has_syscalls", i->has & COATI_TIMELINE_HAS_SYSCALLS);
	coati_json_kbool(j, "has_live", i->has & COATI_TIMELINE_HAS_LIVE);
	coati_json_kbool(j, "has_irqs", i->has & COATI_TIMELINE_HAS_IRQS);
	coati_json_ku64(j, "cpus", i->nr_cpus);
	coati_json_ku64(j, "switches", i->switches);
	coati_json_ku64(j, "wakes", i->wakes);
	coati_json_kstr(j, "wakes_by",
			i->has & COATI_TIMELINE_ALL_WAKES   ? "all"
			: i->has & COATI_TIMELINE_OWN_WAKES ? "recorded threads"
			: i->wakes			    ? "not said"
							    : "none");
	coati_json_ku64(j, "syscalls", i->syscalls);
	coati_json_ku64(j, "faults", i->faults);
	coati_json_ku64(j, "samples", i->samples);
	coati_json_ku64(j, "live_events", i->live_events);
	coati_json_ku64(j, "lost", i->lost);
	coati_json_ku64(j, "live_lost", i->live_lost);
	coati_json_ku64(j, "live_damaged", i->live_damaged);
	coati_json_ku64(j, "unpaired", i->unpaired);
	coati_json_ku64(j, "late", i->late);
	coati_json_ku64(j, "refused", i->refused);
	coati_json_ku64(j, "clock_error_ns", i->clock_error);
	coati_json_ku64(j, "clock_unknown", i->clock_unknown);
	coati_json_ku64(j, "recorder_cpu_ns", i->recorder_cpu_ns);
	coati_json_ku64(j, "wrong", coati_trace_count_wrong(t));
	coati_json_end(j);
	coati_trace_figures(t, &figures);
	coati_conditions_json(t->fail_if, &figures, j);
}

void coati_trace_json_ledger(struct json *j, const struct coati_ledger *l)
{
	coati_json_key(j, "ledger");
	coati_json_object(j);
	coati_json_ku64(j, "duration", l->duration);
	for (uint32_t i = 0; i < COATI_PART_COUNT; i++)
		if (l->parts[i])
			coati_json_ku64(j, coati_part_name(i), l->parts[i]);
	coati_json_end(j);
	coati_json_ku64(j, "switches", l->switches);
	coati_json_ku64(j, "faults", l->faults);
	coati_json_ku64(j, "wakes", l->wakes);
	coati_json_ku64(j, "samples", l->samples);
}

/* ---- pieces ---- */

void coati_trace_time(struct strbuf *s, uint64_t ns, size_t width)
{
	struct strbuf text = STRBUF_INIT(64);

	if (ns)
		coati_format_duration(&text, ns);
	else
		coati_strbuf_adds(&text, "-");
	coati_strbuf_pad(s, ' ', text.len < width ? width - text.len : width > 0);
	coati_strbuf_adds(s, text.text);
	coati_strbuf_fini(&text);
}

void coati_trace_when(const struct trace *t, struct strbuf *s, uint64_t time)
{
	uint64_t ns = time > t->info.begin ? time - t->info.begin : 0;

	coati_strbuf_printf(s, "%llu.%06llu", (unsigned long long)(ns / NSEC_PER_SEC),
			    (unsigned long long)(ns % NSEC_PER_SEC / 1000));
}

void coati_trace_bar(struct trace *t, const struct coati_ledger *l, size_t width)
{
	static const char *const marks[] = { "█", "▒", "░", "·", "?" };
	static const enum output_style styles[] = { STYLE_GREEN, STYLE_YELLOW, STYLE_RED, STYLE_DIM,
						    STYLE_DIM };
	struct strbuf *s = &t->out.text;
	uint64_t sums[SUM_COUNT], passed = 0;
	size_t drawn = 0;

	coati_trace_sums(l, sums);
	for (int i = 0; l->duration && i < SUM_COUNT; i++) {
		size_t upto;

		passed += sums[i];
		upto = (size_t)((double)passed * (double)width / (double)l->duration + 0.5);
		coati_strbuf_adds(s, drawn < upto ? coati_output_style(&t->out, styles[i]) : "");
		for (; drawn < upto && drawn < width; drawn++)
			coati_strbuf_adds(s, marks[i]);
	}
	coati_strbuf_adds(s, coati_output_style(&t->out, STYLE_PLAIN));
	coati_strbuf_pad(s, ' ', drawn < width ? width - drawn : 0);
}

static bool is_reason(uint32_t part)
{
	return part != COATI_WAIT_RUNNING && part != COATI_WAIT_RUNNABLE &&
	       part != COATI_WAIT_PREEMPTED && part != COATI_WAIT_UNKNOWN &&
	       part != COATI_PART_NOBODY;
}

const char *coati_trace_part(uint32_t part)
{
	return part == COATI_PART_NOBODY ? "queued" : coati_part_name(part);
}

void coati_trace_reasons(struct strbuf *s, const struct coati_ledger *l, size_t most, size_t room)
{
	bool told[COATI_PART_COUNT] = { false };
	size_t used = 0;

	for (size_t n = 0; n < most; n++) {
		struct strbuf text = STRBUF_INIT(128);
		uint32_t best = COATI_PART_COUNT;

		for (uint32_t i = 0; i < COATI_PART_COUNT; i++)
			if (is_reason(i) && !told[i] && l->parts[i] &&
			    (best == COATI_PART_COUNT || l->parts[i] > l->parts[best]))
				best = i;
		if (best == COATI_PART_COUNT)
			return;
		told[best] = true;
		coati_strbuf_printf(&text, "%s%s ", n ? ", " : "  ", coati_trace_part(best));
		coati_format_duration(&text, l->parts[best]);
		used += text.len;
		if (used <= room)
			coati_strbuf_adds(s, text.text);
		coati_strbuf_fini(&text);
		if (used > room)
			return;
	}
}

void coati_trace_name(struct strbuf *s, const char *name)
{
	coati_report_fit(s, name, NAME_COLUMNS);
}

void coati_trace_thread_name(const struct trace *t, struct strbuf *s, uint32_t thread)
{
	struct coati_timeline_thread th;

	if (thread == COATI_TIMELINE_NONE || coati_timeline_thread(t->timeline, thread, &th) < 0) {
		coati_strbuf_adds(s, "interrupt");
		return;
	}
	coati_trace_name(s, th.comm);
	coati_strbuf_printf(s, " %d", th.tid);
}

/* Names of a runtime say less than those of the program. */
static bool says_little(const char *name)
{
	static const char *const words[] = { "__", "_start", "start_thread", "clone", "main.cold",
					     "[",  NULL };

	for (size_t i = 0; words[i]; i++)
		if (!strncmp(name, words[i], strlen(words[i])))
			return true;
	return false;
}

/* How many functions of a stack are named, and in how many columns each. */
struct names {
	size_t most, width;
};

static void add_stack(const struct trace *t, struct strbuf *s, const char *before, uint32_t stack,
		      struct names names)
{
	struct coati_profile *p = coati_timeline_profile(t->timeline);
	struct coati_profile_stack st;
	size_t shown = 0;

	if (!p || stack == COATI_TIMELINE_NONE || coati_profile_stack(p, stack, &st) < 0)
		return;
	for (uint32_t i = 0; i < st.nr && shown < names.most; i++) {
		const struct coati_profile_location *l = coati_profile_location(p, st.locations[i]);
		const char *name = l->nr_names ? l->names[l->nr_names - 1].function : "?";

		if (l->flags & COATI_LOCATION_KERNEL || !*name || says_little(name))
			continue;
		coati_strbuf_adds(s, shown++ ? " < " : before);
		coati_report_fit(s, name, names.width);
	}
}

void coati_trace_stack_after(const struct trace *t, struct strbuf *s, const char *before,
			     uint32_t stack, size_t most)
{
	add_stack(t, s, before, stack, (struct names){ most, NAME_COLUMNS });
}

void coati_trace_stack(const struct trace *t, struct strbuf *s, uint32_t stack, size_t most)
{
	add_stack(t, s, "", stack, (struct names){ most, SIZE_MAX });
}

void coati_trace_heading(struct trace *t, const char *text)
{
	coati_strbuf_printf(&t->out.text, "%s%s%s\n", coati_output_style(&t->out, STYLE_BOLD), text,
			    coati_output_style(&t->out, STYLE_PLAIN));
}

/* Characters of UTF-8, without the escapes of colors. */
static size_t columns_of(const char *text)
{
	size_t columns = 0;

	while (*text) {
		if (*text == '\033')
			text += strcspn(text, "m");
		else
			columns += ((unsigned char)*text & 0xc0) != 0x80;
		text += *text != 0;
	}
	return columns;
}

size_t coati_trace_room(const struct trace *t, size_t line)
{
	size_t width = coati_output_width(&t->out), used;

	if (!width || t->out.text.failed)
		return SIZE_MAX;
	used = t->out.text.len > line ? columns_of(t->out.text.text + line) : 0;
	return used < width ? width - used : 0;
}

void coati_trace_tail(struct trace *t, size_t line, const char *text)
{
	struct strbuf *s = &t->out.text;
	size_t room = coati_trace_room(t, line);

	if (room == SIZE_MAX)
		coati_strbuf_adds(s, text);
	else if (room)
		coati_report_fit(s, text, room);
	coati_strbuf_addc(s, '\n');
}
