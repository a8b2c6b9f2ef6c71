/* SPDX-License-Identifier: MIT */
/* see report/quality.h */
#include "cli/quality.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "cli/quality-advice.h"
#include "cli/report/figures.h"
#include "image/image.h"
#include "reading/parts.h"

#define LINE_COLUMNS_MAX 1000 /* of source and instructions, where no terminal ends the line */

double coati_report_percent(const struct report *r, uint64_t weight)
{
	return r->info.total ? 100.0 * (double)weight / (double)r->info.total : 0;
}

uint64_t coati_report_least(const struct report *r, uint64_t whole)
{
	return (uint64_t)((double)whole * r->min_percent / 100);
}

static bool is_time(const struct report *r)
{
	return !strcmp(r->info.unit, "ns");
}

void coati_report_weight(const struct report *r, struct strbuf *s, uint64_t weight)
{
	if (is_time(r))
		coati_format_duration(s, weight);
	else
		coati_strbuf_grouped(s, weight);
}

/* ---- text on a line ---- */

/* Bytes of the character at @p; what a terminal would obey is one byte. */
static size_t char_bytes(const unsigned char *p)
{
	size_t n = utf8_printable(p, strnlen((const char *)p, 4));

	return n ? n : 1;
}

static bool is_plain(const unsigned char *p, size_t n)
{
	return utf8_printable(p, n);
}

static size_t columns_of(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t columns = 0;

	for (; *p; p += char_bytes(p))
		columns++;
	return columns;
}

/* @text without what stands inside <> and (), which "…" stands for; the " < " between functions of
 * a stack opens nothing. */
static void shorten(struct strbuf *s, const char *text)
{
	int depth = 0;

	for (; *text; text++) {
		bool opens = *text == '(' || (*text == '<' && text[1] != ' ');
		bool closes = *text == '>' || *text == ')';

		if (closes && depth > 0)
			depth--;
		if (!depth)
			coati_strbuf_addc(s, *text);
		if (opens && !depth && text[1] && !strchr(")>=<-", text[1]))
			coati_strbuf_adds(s, "…");
		depth += opens;
	}
}

static const unsigned char *put_chars(struct strbuf *s, const unsigned char *p, size_t nr)
{
	for (; *p && nr; nr--) {
		size_t n = char_bytes(p);

		if (is_plain(p, n))
			coati_strbuf_add(s, p, n);
		else
			coati_strbuf_addc(s, '?');
		p += n;
	}
	return p;
}

size_t coati_report_fit(struct strbuf *s, const char *text, size_t width)
{
	struct strbuf brief = STRBUF_INIT(1u << 20);
	size_t columns = columns_of(text), head;
	const unsigned char *p;

	if (columns > width) {
		shorten(&brief, text);
		if (!brief.failed && brief.len)
			text = brief.text;
		columns = columns_of(text);
	}
	p = (const unsigned char *)text;
	head = columns > width && width ? (width - 1) / 2 : columns;
	p = put_chars(s, p, head);
	if (head < columns) {
		size_t skip = columns - (width - 1 - head) - head;

		coati_strbuf_adds(s, "…");
		while (skip--)
			p += char_bytes(p);
		put_chars(s, p, columns);
		columns = width;
	}
	coati_strbuf_fini(&brief);
	return columns;
}

void coati_report_cut(const struct report *r, struct strbuf *s, const char *text, size_t used)
{
	size_t width = coati_output_width(&r->out), columns = columns_of(text);
	size_t room = r->args->verbose || !width ? LINE_COLUMNS_MAX
		      : width > used		 ? width - used
						 : 1;

	put_chars(s, (const unsigned char *)text, columns > room ? room - 1 : columns);
	if (columns > room)
		coati_strbuf_adds(s, "…");
}

/* ---- the line ---- */

static void add_event_names(const struct report *r, struct strbuf *s)
{
	uint32_t nr = coati_profile_event_count(r->profile), shown = 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_profile_event *e = coati_profile_event(r->profile, i);

		if (!e->samples || e->is_off_cpu)
			continue;
		if (shown == 3) {
			coati_strbuf_adds(s, ", …");
			return;
		}
		coati_strbuf_adds(s, shown++ ? ", " : " of ");
		coati_report_fit(s, e->name, 40);
	}
}

/* Why files have no symbols or lines. */
static void add_images(const struct report *r, struct strbuf *s)
{
	struct coati_images *images = coati_profile_images(r->profile);
	struct coati_image_info info = { .size = sizeof(info) };

	for (uint32_t i = 0; i < coati_images_count(images); i++) {
		if (coati_image_info(images, i, &info) < 0 || !info.why)
			continue;
		coati_strbuf_adds(s, "# ");
		coati_report_fit(s, info.name, 200);
		coati_strbuf_adds(s, ": ");
		coati_report_fit(s, info.why, 1000);
		coati_strbuf_adds(s, "\n");
	}
}

/* What was not seen, and which option shows it. */
static void add_unseen(const struct report *r, struct strbuf *s)
{
	const struct coati_profile_quality *q = &r->quality;
	const struct seen seen = {
		.samples = q->samples,
		.lost = q->lost,
		.throttled = q->throttled,
		.sampled = q->sampled,
		.counted = q->counted,
		.period = q->sampled_period,
		.exits = q->exits,
		.is_part = q->sampled_part,
		.event = q->sampled_event,
	};
	bool (*const parts[])(struct strbuf *, const struct seen *,
			      const char *) = { coati_advise_lost, coati_advise_sampled };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct strbuf line = STRBUF_INIT(1024);

		if (parts[i](&line, &seen, "coati record "))
			coati_strbuf_printf(s, "# %s\n", line.text);
		coati_strbuf_fini(&line);
	}
}

/* Another way to take stacks would do clearly better: one in five, or cut ones, of which one in
 * twenty is enough. */
static void add_stack_advice(const struct report *r, struct strbuf *s)
{
	const struct coati_profile_quality *q = &r->quality;

	if (q->unrooted > q->samples / 5 && q->by_kernel > q->samples / 2)
		coati_strbuf_adds(
			s,
			"# frame pointers do not lead to the root of many stacks: coati record -g "
			"auto "
			"also unwinds code without them\n");
	else if (q->truncated > q->samples / 20)
		coati_strbuf_adds(
			s, "# some stacks are truncated: coati record --stack-size 64k copies the "
			   "most that the kernel allows\n");
}

/* Why there are none: how long the program ran only where the whole recording was read. */
static void add_no_samples(const struct coati_profile_quality *q, struct strbuf *s)
{
	if (q->trace_records)
		coati_strbuf_adds(s, "# no samples: the recording has a hardware trace instead\n");
	else if (q->damaged || q->is_truncated)
		coati_strbuf_adds(s, "# no samples: the part of the recording that can be read has "
				     "none\n");
	else
		coati_strbuf_adds(
			s, "# no samples: the program ran too briefly or slept; coati record -F "
			   "10000 takes more, and -e page-faults -c 1 samples every page fault\n");
}

/* What a person may do about a table that says little. */
static void add_advice(const struct report *r, struct strbuf *s)
{
	if (r->mode != MODE_ON && !r->quality.off_intervals)
		coati_strbuf_adds(
			s, "# no off-CPU time was recorded: coati record --off-cpu records it\n");
	else if (r->mode == MODE_ON && !r->quality.samples && !r->quality.filtered)
		add_no_samples(&r->quality, s);
	else if (!r->info.samples)
		coati_strbuf_adds(s, r->args->of.filter.event
					     ? "# no sample matches the filters: coati report "
					       "--by event shows the events\n"
					     : "# no sample matches the filters\n");
	else if (r->info.nr_events > 1 && !strcmp(r->info.unit, "samples") && !r->args->counts)
		coati_strbuf_adds(s,
				  "# samples of several events are counted together; --event (-e) "
				  "selects one, --by event separates them\n");
	if (r->mode != MODE_OFF)
		add_stack_advice(r, s);
	if (r->mode != MODE_ON && r->quality.off_truncated > r->quality.off_intervals / 20)
		coati_strbuf_adds(
			s, "# off-CPU stacks are truncated: coati record --stack-size 16k copies "
			   "more\n");
	if (r->mode != MODE_ON && r->quality.off_no_stack > r->quality.off_intervals / 2)
		coati_strbuf_adds(s, "# off-CPU time has no stacks: record as root, or set sysctl "
				     "kernel.perf_event_paranoid=1\n");
}

/* What is in the view: of the time on CPUs, of the time off them. */
static void add_amounts(const struct report *r, struct strbuf *s)
{
	const struct coati_profile_quality *q = &r->quality;

	if (r->mode != MODE_OFF) {
		if (r->mode == MODE_ON && r->info.samples != q->samples) {
			coati_strbuf_grouped(s, r->info.samples);
			coati_strbuf_adds(s, " of ");
		}
		coati_strbuf_grouped(s, q->samples);
		coati_strbuf_adds(s, q->samples == 1 ? " sample" : " samples");
		add_event_names(r, s);
	}
	if (r->mode == MODE_BOTH)
		coati_strbuf_adds(s, " and ");
	if (r->mode != MODE_ON) {
		if (r->mode == MODE_OFF && r->info.samples != q->off_intervals) {
			coati_strbuf_grouped(s, r->info.samples);
			coati_strbuf_adds(s, " of ");
		}
		coati_strbuf_grouped(s, q->off_intervals);
		coati_strbuf_adds(s, q->off_intervals == 1 ? " time" : " times");
		coati_strbuf_adds(s, " off a CPU");
	}
	if (is_time(r)) {
		coati_strbuf_adds(s, " (");
		coati_format_duration(s, r->info.total);
		coati_strbuf_adds(s, ")");
	}
}

void coati_report_quality_text(struct report *r)
{
	const struct coati_profile_quality *q = &r->quality;
	struct strbuf *s = &r->out.text;
	char account[512];
	const char *note;
	size_t from;

	coati_strbuf_adds(s, coati_output_style(&r->out, STYLE_DIM));
	from = s->len;
	coati_strbuf_adds(s, "# ");
	coati_report_fit(s, r->input, 1000);
	coati_strbuf_adds(s, ": ");
	add_amounts(r, s);
	coati_profile_quality_format(q, account, sizeof(account));
	coati_strbuf_printf(s, "; %s", account);
	if (r->mode == MODE_ON && q->off_intervals)
		coati_strbuf_adds(s, "; --mode off shows the time off CPUs");
	coati_strbuf_adds(s, "\n");
	for (uint32_t i = 0; (note = coati_profile_note(r->profile, i)); i++) {
		coati_strbuf_adds(s, "# ");
		coati_report_fit(s, note, 1000);
		coati_strbuf_adds(s, "\n");
	}
	add_unseen(r, s);
	add_advice(r, s);
	if (r->args->verbose)
		add_images(r, s);
	else if (q->unsymbolized > q->samples / 20)
		coati_strbuf_printf(
			s, "# --verbose shows which files have no symbols, and why%s\n",
			r->args->of.split_nameless
				? ""
				: "; --split-nameless 64k splits their code by address");
	coati_output_wrap(&r->out, from, 0);
	coati_strbuf_adds(s, coati_output_style(&r->out, STYLE_PLAIN));
}

static void add_notes(const struct report *r, struct json *j)
{
	const char *note;

	coati_json_key(j, "notes");
	coati_json_array(j);
	for (uint32_t i = 0; (note = coati_profile_note(r->profile, i)); i++)
		coati_json_str(j, note);
	coati_json_end(j);
}

/* null: the recording does not say it. */
static void add_sampled(const struct coati_profile_quality *q, struct json *j)
{
	coati_json_key(j, "sampled");
	if (!q->counted) {
		coati_json_null(j);
		return;
	}
	coati_json_object(j);
	coati_json_kstr(j, "unit", q->sampled_event ? q->sampled_event : "ns");
	coati_json_ku64(j, "sampled", q->sampled);
	coati_json_ku64(j, "counted", q->counted);
	coati_json_key(j, "share");
	coati_json_double(j, coati_profile_sampled(q));
	coati_json_ku64(j, "period", q->sampled_period);
	coati_json_kbool(j, "is_part", q->sampled_part);
	coati_json_ku64(j, "exits", q->exits);
	coati_json_end(j);
}

void coati_report_quality_json(const struct report *r, struct json *j)
{
	const struct coati_profile_quality *q = &r->quality;
	struct figures figures;

	coati_json_key(j, "quality");
	coati_json_object(j);
	coati_json_ku64(j, "samples", q->samples);
	coati_json_ku64(j, "lost", q->lost);
	coati_json_ku64(j, "throttled", q->throttled);
	add_sampled(q, j);
	coati_json_key(j, "stacks");
	coati_json_object(j);
	coati_json_ku64(j, "complete", q->complete);
	coati_json_ku64(j, "truncated", q->truncated);
	coati_json_ku64(j, "guessed", q->guessed);
	coati_json_ku64(j, "gap", q->gap);
	coati_json_ku64(j, "root_unknown", q->unrooted);
	coati_json_ku64(j, "none", q->single);
	coati_json_end(j);
	coati_json_ku64(j, "unsymbolized", q->unsymbolized);
	coati_json_key(j, "off_cpu");
	coati_json_object(j);
	coati_json_ku64(j, "intervals", q->off_intervals);
	coati_json_ku64(j, "time_ns", q->off_ns);
	coati_json_ku64(j, "no_stack", q->off_no_stack);
	coati_json_ku64(j, "truncated", q->off_truncated);
	coati_json_ku64(j, "gap", q->off_gap);
	coati_json_ku64(j, "unpaired", q->off_unpaired);
	coati_json_end(j);
	coati_json_ku64(j, "filtered", q->filtered);
	coati_json_ku64(j, "damaged", q->damaged);
	coati_json_ku64(j, "late", q->late);
	coati_json_ku64(j, "refused", q->refused);
	coati_json_ku64(j, "no_event", q->no_event);
	coati_json_ku64(j, "recorder_cpu_ns", q->recorder_cpu_ns);
	coati_json_kbool(j, "is_truncated", q->is_truncated);
	add_notes(r, j);
	coati_json_end(j);
	if (r->args) {
		coati_report_figures(q, &figures);
		coati_conditions_json(&r->args->fail_if, &figures, j);
	}
	coati_json_kstr(j, "mode", coati_report_modes[r->mode]);
	coati_json_ku64(j, "total", r->info.total);
	coati_json_ku64(j, "samples", r->info.samples);
	coati_json_kstr(j, "unit", r->info.unit);
}
