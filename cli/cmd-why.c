/* SPDX-License-Identifier: MIT */
/* coati why: what the slow instances of a task or region spend their extra time on. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "command.h"
#include "input.h"
#include "talk.h"
#include "trace-text.h"

struct why_args {
	struct option_texts inputs;
	const char *slow;
	bool json;
	const char *output;
	int color;
	bool quiet;
};

static const struct option opts[] = {
	OPT_STR(0, "slow", struct why_args, slow, "pNN",
		"slow: longer than NN of a hundred (p99); p50 to p99.99"),
	OPT_TEXTS('i', "input", struct why_args, inputs, 0, "FILE",
		  "read FILE; - is stdin (the newest recording here)"),
	OPT_FLAG(0, "json", struct why_args, json, "as JSON"),
	OPT_STR('o', "output", struct why_args, output, "FILE", "write to FILE; - is stdout"),
	OPT_CHOICE(0, "color", struct why_args, color, coati_color_words, "WHEN",
		   "auto, always or never"),
	OPT_FLAG('q', "quiet", struct why_args, quiet, "no remarks on stderr"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati why request", "what makes the slowest hundredth slow" },
	{ "coati why request --slow p90", "the slowest tenth" },
	{ "coati why parse --json", "of a region, for other programs" },
	{ NULL, NULL },
};

/* ---- text ---- */

/* "+3.1 ms"; less is with a minus. */
static void put_change(struct strbuf *s, double ns, size_t width)
{
	struct strbuf text = STRBUF_INIT(64);

	coati_strbuf_addc(&text, ns < 0 ? '-' : '+');
	coati_format_duration(&text, (uint64_t)(fabs(ns) + 0.5));
	coati_strbuf_pad(s, ' ', text.len < width ? width - text.len : 0);
	coati_strbuf_adds(s, text.text);
	coati_strbuf_fini(&text);
}

static void put_row(struct trace *t, const struct coati_why_row *row)
{
	struct strbuf *s = &t->out.text;
	struct strbuf interval = STRBUF_INIT(128);

	coati_trace_time(s, (uint64_t)(row->slow + 0.5), 10);
	coati_trace_time(s, (uint64_t)(row->typical + 0.5), 10);
	put_change(s, row->extra, 11);
	put_change(&interval, row->low, 0);
	coati_strbuf_adds(&interval, " to ");
	put_change(&interval, row->high, 0);
	coati_strbuf_printf(s, "  %-24s  ", interval.text);
	coati_strbuf_adds(s, coati_output_style(&t->out, row->verdict == COATI_WHY_CAUSE
								 ? STYLE_BOLD
								 : STYLE_PLAIN));
	coati_strbuf_clean(s, row->name, strnlen(row->name, 64));
	coati_strbuf_adds(s, coati_output_style(&t->out, STYLE_PLAIN));
	if (row->waker != COATI_TIMELINE_NONE) {
		coati_strbuf_adds(s, ", until ");
		coati_trace_thread_name(t, s, row->waker);
	}
	coati_trace_stack_after(t, s, ": ", row->stack, 3);
	coati_strbuf_addc(s, '\n');
	coati_strbuf_fini(&interval);
}

static void put_rows(struct trace *t, const struct coati_why *w, const char *title,
		     enum coati_why_verdict verdict, bool regions)
{
	bool any = false;

	for (uint32_t i = 0; i < w->nr_rows; i++) {
		const struct coati_why_row *row = &w->rows[i];

		if (row->verdict != verdict || (row->kind == COATI_WHY_REGION) != regions ||
		    (row->slow < 1 && row->typical < 1))
			continue;
		if (!any)
			coati_trace_heading(t, title);
		any = true;
		put_row(t, row);
	}
}

/* What running longer has to do with the machine. */
static void put_running(struct trace *t, const struct coati_why *w, const struct coati_why_row *row)
{
	struct strbuf *s = &t->out.text;

	coati_strbuf_adds(s, "they ran ");
	put_change(s, row->extra, 0);
	coati_strbuf_adds(s, " longer, which the machine does by itself: ");
	if (w->seen >= 0)
		coati_strbuf_printf(s, "samples saw %.0f %% of it, the rest was taken by the host",
				    100 * w->seen);
	else if (row->low <= row->typical)
		coati_strbuf_adds(s, "less than twice as long is what sharing a core can do");
	else
		coati_strbuf_adds(s, "it is no more than the host took");
	if (t->info.has & COATI_TIMELINE_HAS_STEAL && t->info.stolen_ns) {
		coati_strbuf_adds(s, " (up to ");
		coati_format_duration(s, t->info.stolen_ns);
		coati_strbuf_adds(s, " from all CPUs)");
	}
	coati_strbuf_addc(s, '\n');
}

static void put_spread(struct trace *t, const struct coati_why_row *row)
{
	struct strbuf *s = &t->out.text;

	coati_strbuf_clean(s, row->name, strnlen(row->name, 64));
	coati_strbuf_adds(s, " spreads that far by itself: as it goes on behind the median, ");
	coati_format_duration(s, (uint64_t)(row->tail + 0.5));
	coati_strbuf_adds(s, " are to be expected of the slow ones, and they have ");
	coati_format_duration(s, (uint64_t)(row->slow + 0.5));
	coati_strbuf_addc(s, '\n');
}

/* Why what is longer is no cause. */
static void put_reasons(struct trace *t, const struct coati_why *w)
{
	for (uint32_t i = 0; i < w->nr_rows; i++) {
		const struct coati_why_row *row = &w->rows[i];

		if (row->kind == COATI_WHY_REGION)
			continue;
		if (row->verdict == COATI_WHY_SPREAD)
			put_spread(t, row);
		else if (row->verdict == COATI_WHY_MACHINE && row->part == COATI_WAIT_RUNNING)
			put_running(t, w, row);
	}
}

/* What a part is whose name alone answers nothing. */
static const char *explain(const struct coati_why_row *row)
{
	if (row->kind != COATI_WHY_PART)
		return "";
	if (row->part == COATI_PART_NOBODY)
		return " (no thread works on them yet, or any more)";
	if (row->part == COATI_WAIT_OTHER)
		return " (they wait; the recording does not tell for what)";
	if (row->part == COATI_WAIT_UNKNOWN)
		return " (the recording does not tell what threads did)";
	return "";
}

/* Most of the time is in no part that has a name: then nothing was compared. */
static bool is_unknown(const struct coati_why *w)
{
	for (uint32_t i = 0; i < w->nr_rows; i++)
		if (w->rows[i].kind == COATI_WHY_PART && w->rows[i].part == COATI_WAIT_UNKNOWN)
			return w->rows[i].slow > w->slow / 2;
	return false;
}

static void put_verdict(struct trace *t, const struct coati_why *w)
{
	struct strbuf *s = &t->out.text;

	coati_strbuf_clean(s, w->name, strnlen(w->name, 64));
	if (w->nr_causes) {
		coati_strbuf_printf(s, ": what makes the slow ones slow is %s%s%s%s, ",
				    coati_output_style(&t->out, STYLE_BOLD), w->rows[0].name,
				    coati_output_style(&t->out, STYLE_PLAIN), explain(&w->rows[0]));
		put_change(s, w->rows[0].extra, 0);
		coati_strbuf_adds(s, " of ");
		put_change(s, w->slow - w->typical, 0);
		coati_strbuf_addc(s, '\n');
	} else if (is_unknown(w)) {
		coati_strbuf_adds(
			s,
			": not known: the recording does not tell what threads did meanwhile; one of coati record --trace does\n");
	} else {
		coati_strbuf_adds(
			s,
			": no difference: nothing but chance and the machine makes the slow ones longer by half of a typical one\n");
	}
	coati_strbuf_printf(s, "%u of them; the slow ones are %u above ", w->nr, w->nr_slow);
	coati_format_duration(s, w->threshold);
	coati_strbuf_printf(s, "%s, compared with %u around the median\n",
			    w->without_cpu ? " without waiting for a CPU" : "", w->nr_typical);
	if (w->without_cpu)
		coati_strbuf_printf(
			s,
			"%.0f %% of what the slowest took longer is waiting for a CPU, or interrupts: the machine was busy\n",
			100 * w->machine);
	put_reasons(t, w);
}

static void put_text(struct trace *t, const struct coati_why *w)
{
	coati_trace_quality(t);
	put_verdict(t, w);
	put_rows(t, w, "\n      slow   typical      extra  interval (99 %)           causes",
		 COATI_WHY_CAUSE, false);
	if (w->nr_causes)
		put_rows(t, w, "\n      slow   typical      extra  interval (99 %)           where",
			 COATI_WHY_CAUSE, true);
	put_rows(
		t, w,
		"\n      slow   typical      extra  interval (99 %)           the machine was busy",
		COATI_WHY_MACHINE, false);
	put_rows(t, w, "\n      slow   typical      extra  interval (99 %)           own spread",
		 COATI_WHY_SPREAD, false);
	put_rows(t, w, "\n      slow   typical      extra  interval (99 %)           no difference",
		 COATI_WHY_SAME, false);
}

/* ---- JSON ---- */

static void json_row(struct trace *t, struct json *j, const struct coati_why_row *row)
{
	static const char *const kinds[] = { "part", "faults", "region" };
	static const char *const verdicts[] = { "same", "cause", "machine", "spread" };
	struct strbuf text = STRBUF_INIT(4096);

	coati_json_object(j);
	coati_json_kstr(j, "kind", kinds[row->kind]);
	coati_json_kstr(j, "name", row->name);
	coati_json_kstr(j, "verdict", verdicts[row->verdict]);
	coati_json_kdouble(j, "slow_ns", row->slow);
	coati_json_kdouble(j, "typical_ns", row->typical);
	coati_json_kdouble(j, "extra_ns", row->extra);
	coati_json_kdouble(j, "low_ns", row->low);
	coati_json_kdouble(j, "high_ns", row->high);
	if (row->tail >= 0)
		coati_json_kdouble(j, "tail_ns", row->tail);
	if (row->waker != COATI_TIMELINE_NONE) {
		coati_trace_thread_name(t, &text, row->waker);
		coati_json_kstr(j, "waker", text.text);
	}
	if (row->stack != COATI_TIMELINE_NONE) {
		coati_strbuf_clear(&text);
		coati_trace_stack(t, &text, row->stack, 8);
		coati_json_kstr(j, "stack", text.text);
	}
	coati_json_end(j);
	coati_strbuf_fini(&text);
}

static void put_json(struct trace *t, const struct coati_why *w)
{
	struct json j;

	coati_trace_json_head(t, &j, "coati.why.v1", "why");
	coati_json_kstr(&j, "type", w->name);
	coati_json_ku64(&j, "count", w->nr);
	coati_json_ku64(&j, "slow", w->nr_slow);
	coati_json_ku64(&j, "typical", w->nr_typical);
	coati_json_ku64(&j, "threshold_ns", w->threshold);
	coati_json_kdouble(&j, "slow_ns", w->slow);
	coati_json_kdouble(&j, "typical_ns", w->typical);
	coati_json_kbool(&j, "without_cpu", w->without_cpu);
	coati_json_kdouble(&j, "machine_share", w->machine);
	if (w->seen >= 0)
		coati_json_kdouble(&j, "seen_share", w->seen);
	if (t->info.has & COATI_TIMELINE_HAS_STEAL)
		coati_json_ku64(&j, "stolen_most_ns", t->info.stolen_ns);
	coati_json_kbool(&j, "difference", w->nr_causes > 0);
	coati_json_key(&j, "rows");
	coati_json_array(&j);
	for (uint32_t i = 0; i < w->nr_rows; i++)
		if (w->rows[i].slow > 0 || w->rows[i].typical > 0)
			json_row(t, &j, &w->rows[i]);
	coati_json_end(&j);
	coati_json_end(&j);
	coati_strbuf_addc(&t->out.text, '\n');
}

/* ---- the course ---- */

static int show(struct trace *t, const struct why_args *a, const char *name, double percent)
{
	uint32_t type = coati_timeline_find_type(t->timeline, name);
	struct coati_why *w = NULL;
	struct coati_error err = { 0 };
	int ret;

	if (type == COATI_TIMELINE_NONE) {
		coati_say("no task or region is of type %.200s; coati trace lists those that are",
			  name);
		return EXIT_FAILED;
	}
	if (coati_timeline_why(t->timeline, type, percent, &w, &err) < 0 ||
	    coati_output_open(&t->out, a->output ? a->output : "-", a->color, &err) < 0) {
		coati_say("%s", err.text);
		coati_why_free(&w);
		return EXIT_FAILED;
	}
	coati_timeline_info(t->timeline, &t->info);
	if (a->json)
		put_json(t, w);
	else
		put_text(t, w);
	ret = coati_output_end(&t->out);
	coati_why_free(&w);
	return ret;
}

static int read_timeline(void *ctx, const char *path, coati_progress_fn fn, void *fn_ctx,
			 struct coati_error *err)
{
	const struct trace *t = ctx;

	return coati_timeline_read(t->timeline, path, fn, fn_ctx, err);
}

static int session(const struct why_args *a, const char *name, double percent)
{
	char file[4096] = "";
	struct trace t = { .input = file };
	struct input in = { .files = &a->inputs,
			    .quiet = a->quiet,
			    .trace = true,
			    .read = read_timeline,
			    .ctx = &t };
	struct coati_error err = { 0 };
	int ret = EXIT_FAILED;

	if (coati_timeline_new(NULL, &t.timeline, &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	if (coati_input_read(&in, file, sizeof(file)) >= 0) {
		coati_input_title(&in, file, file, sizeof(file));
		ret = show(&t, a, name, percent);
	}
	coati_timeline_free(&t.timeline);
	return ret;
}

static int run(int argc, char **argv)
{
	struct why_args a = { .inputs.max = 16 };
	struct option_line line = { .argc = argc, .argv = argv };
	double percent = 99;
	int code;

	if (coati_command_parse(&coati_command_why, &line, &a, &code)) {
		coati_talk_quietly(a.quiet);
		if (line.argc != 1)
			code = coati_command_misuse(&coati_command_why,
						    "wants the name of one task or region");
		else if (a.inputs.len > 1)
			code = coati_command_misuse(&coati_command_why,
						    "a timeline is of one recording");
		else if (a.slow && (a.slow[0] != 'p' ||
				    coati_parse_percent(a.slow + 1, 50, 99.99, &percent) < 0))
			code = coati_command_misuse(&coati_command_why,
						    "--slow %.50s: wants p50 to p99.99", a.slow);
		else
			code = session(&a, line.argv[0], percent);
	}
	coati_options_fini(opts, &a);
	return code;
}

const struct coati_command coati_command_why = {
	.name = "why",
	.summary = "what the slow instances of a task spend their extra time on",
	.usage = "[options] TYPE",
	.options = opts,
	.examples = examples,
	.run = run,
};
