/* SPDX-License-Identifier: MIT */
/* The account in words: one line that says what the rest is worth. */
#include <stdio.h>
#include <string.h>

#include <coati/profile.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "reading/parts.h"

#define LINE_MAX_BYTES 1024

static void add_share(struct strbuf *s, uint64_t part, uint64_t whole, const char *what)
{
	double percent = whole ? 100.0 * (double)part / (double)whole : 0;

	if (part && percent < 0.1)
		coati_strbuf_printf(s, "<0.1 %% %s", what);
	else
		coati_strbuf_printf(s, percent == 0 || percent == 100 ? "%.0f %% %s" : "%.1f %% %s",
				    percent, what);
}

/* The part about stacks: which kinds there are; the complete ones come first. */
static void add_stacks(struct strbuf *s, const struct coati_profile_quality *q)
{
	const struct {
		uint64_t nr;
		const char *what;
	} rest[] = { { q->truncated, "truncated" },
		     { q->gap, "with a gap" },
		     { q->guessed, "guessed" },
		     { q->unrooted, "with an unknown root" } };

	uint64_t all = coati_profile_with_stacks(q);

	if (q->single == q->samples && q->samples) {
		coati_strbuf_adds(s, "; no stacks");
		return;
	}
	coati_strbuf_adds(s, "; stacks: ");
	add_share(s, q->complete, all, "complete");
	for (size_t i = 0; i < sizeof(rest) / sizeof(*rest); i++) {
		if (!rest[i].nr)
			continue;
		coati_strbuf_adds(s, ", ");
		add_share(s, rest[i].nr, all, rest[i].what);
	}
	if (q->single) {
		coati_strbuf_adds(s, "; ");
		coati_strbuf_grouped(s, q->single);
		coati_strbuf_adds(s, q->single == 1 ? " sample of an event without stacks"
						    : " samples of events without stacks");
	}
}

static void add_off_cpu(struct strbuf *s, const struct coati_profile_quality *q)
{
	coati_strbuf_adds(s, "; ");
	coati_format_duration(s, q->off_ns);
	coati_strbuf_adds(s, " off CPUs: ");
	add_share(s, q->off_no_stack, q->off_intervals, "without a stack");
	if (q->off_truncated) {
		coati_strbuf_adds(s, ", ");
		add_share(s, q->off_truncated, q->off_intervals, "truncated");
	}
	if (q->off_gap) {
		coati_strbuf_adds(s, ", ");
		add_share(s, q->off_gap, q->off_intervals, "with a gap");
	}
	if (q->off_unpaired) {
		coati_strbuf_adds(s, ", ");
		coati_strbuf_grouped(s, q->off_unpaired);
		coati_strbuf_adds(s, " times left out because records are missing");
	}
}

uint64_t coati_profile_with_stacks(const struct coati_profile_quality *q)
{
	return q->single < q->samples ? q->samples - q->single : q->samples;
}

double coati_profile_sampled(const struct coati_profile_quality *q)
{
	if (!q->counted)
		return -1;
	return q->sampled >= q->counted ? 1 : (double)q->sampled / (double)q->counted;
}

static void add_sampled(struct strbuf *s, const struct coati_profile_quality *q)
{
	const char *of = q->sampled_event ? q->sampled_event : "CPU time";
	double percent = 100 * coati_profile_sampled(q);

	if (percent < 0)
		return;
	if (percent > 0 && percent < 1)
		coati_strbuf_adds(s, ", sampled <1 % of ");
	else
		coati_strbuf_printf(s, ", sampled %.0f %% of ", percent);
	coati_strbuf_clean(s, of, strlen(of));
}

int coati_profile_quality_format(const struct coati_profile_quality *q, char *buf, size_t cap)
{
	struct strbuf s = STRBUF_INIT(LINE_MAX_BYTES);
	int len;

	coati_strbuf_grouped(&s, q->lost);
	coati_strbuf_adds(&s, " lost, ");
	coati_strbuf_grouped(&s, q->throttled);
	coati_strbuf_adds(&s, " throttled");
	add_sampled(&s, q);
	if (q->no_event) {
		coati_strbuf_adds(&s, ", ");
		coati_strbuf_grouped(&s, q->no_event);
		coati_strbuf_adds(&s, " of no event in the file");
	}
	if (q->samples || !q->off_intervals) {
		add_stacks(&s, q);
		coati_strbuf_adds(&s, "; ");
		add_share(&s, q->unsymbolized, q->samples, "without a symbol");
	}
	if (q->off_intervals || q->off_unpaired)
		add_off_cpu(&s, q);
	if (q->recorder_cpu_ns) {
		coati_strbuf_adds(&s, "; recording cost ");
		coati_format_duration(&s, q->recorder_cpu_ns);
	}
	len = snprintf(buf, cap, "%s", s.text);
	coati_strbuf_fini(&s);
	return len;
}
