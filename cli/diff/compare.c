/* SPDX-License-Identifier: MIT */
/* see diff/compare.h */
#include "cli/diff/compare.h"

#include <math.h>
#include <string.h>

#include <coati/recording.h>

#include "base/clock.h"
#include "cli/diff/text.h"
#include "cli/quality.h"
#include "profile/diff.h"
#include "reading/parts.h"

#define NAMED	     3	  /* rows in the verdict */
#define SHARE_APART  0.10 /* of stacks or names: more than that is another way of recording */
#define LOSS_MATTERS 0.01
#define RATE_APART   1.1
#define MOST \
	0.5 /* share of a side: when this much cannot be judged, there is no verdict on
			  * the rest */

/* ---- the verdict ---- */

static const char *plural_of(const struct diff *d, uint32_t nr)
{
	static const char *const words[COATI_BY_COUNT][2] = {
		[COATI_BY_FUNCTION] = { "function", "functions" },
		[COATI_BY_LINE] = { "line", "lines" },
		[COATI_BY_ADDRESS] = { "address", "addresses" },
		[COATI_BY_IMAGE] = { "image", "images" },
		[COATI_BY_THREAD] = { "thread", "threads" },
		[COATI_BY_PROCESS] = { "process", "processes" },
		[COATI_BY_COMM] = { "name", "names" },
		[COATI_BY_CPU] = { "CPU", "CPUs" },
		[COATI_BY_EVENT] = { "event", "events" },
		[COATI_BY_LABEL] = { "label", "labels" },
	};
	const char *word = words[d->by][nr != 1];

	return word ? word : nr == 1 ? "row" : "rows";
}

static bool has_changed(const struct coati_diff_value *v)
{
	return v->verdict == COATI_DIFF_MORE || v->verdict == COATI_DIFF_LESS;
}

static void name_row(const struct diff *d, struct strbuf *s, const struct coati_diff_row *row)
{
	const struct coati_diff_value *v = has_changed(&row->self) ? &row->self : &row->total;

	coati_report_fit(s, row->name[0] ? row->name : "(none)", 60);
	coati_strbuf_addc(s, ' ');
	coati_diff_put_change(d, s, v->change, true);
	if (d->args->measure == COATI_DIFF_SHARE)
		coati_strbuf_adds(s, " pp");
	coati_strbuf_adds(s, " (");
	coati_diff_put_relative(s, v->ratio);
	coati_strbuf_adds(s, v == &row->self ? ")" : " with what it calls)");
}

static void put_changes(struct diff *d)
{
	struct strbuf *s = &d->verdict;
	uint32_t changed = d->info.nr_more + d->info.nr_less;

	coati_strbuf_printf(s,
			    "%u of %u %s changed (%u more, %u less; %g %% confidence): ", changed,
			    d->info.nr_tested, plural_of(d, d->info.nr_tested), d->info.nr_more,
			    d->info.nr_less, 100 * d->confidence);
	for (uint32_t i = 0; i < changed && i < NAMED; i++) {
		coati_strbuf_adds(s, i ? ", " : "");
		name_row(d, s, &d->rows[i]);
	}
	if (changed > NAMED)
		coati_strbuf_adds(s, " …");
}

static void put_none(struct diff *d)
{
	struct strbuf *s = &d->verdict;

	coati_strbuf_printf(s,
			    "not distinguishable: %u %s compared, none changed beyond the noise "
			    "(%g %% confidence",
			    d->info.nr_tested, plural_of(d, d->info.nr_tested),
			    100 * d->confidence);
	if (isfinite(d->info.margin) && d->info.margin > 0) {
		coati_strbuf_adds(s, "; in the largest row a change of ");
		coati_diff_put_change(d, s, d->info.margin, false);
		coati_strbuf_adds(s, d->args->measure == COATI_DIFF_SHARE ? " pp would show"
									  : " would show");
	}
	coati_strbuf_adds(s, ")");
}

bool coati_diff_is_judged(const struct diff *d)
{
	return d->info.nr_tested && (d->info.nr_more + d->info.nr_less || d->info.undecided < MOST);
}

void coati_diff_find_verdict(struct diff *d)
{
	struct strbuf *s = &d->verdict;

	if (!d->info.nr_tested)
		coati_strbuf_adds(s,
				  "cannot judge: too few samples; record longer, or with a higher "
				  "rate (-F)");
	else if (d->info.nr_more + d->info.nr_less)
		put_changes(d);
	else if (!coati_diff_is_judged(d))
		coati_strbuf_printf(
			s,
			"cannot judge: record 4 runs per side; %u of %u %s vary too much within a "
			"recording",
			d->info.nr_undecided, d->info.nr_tested, plural_of(d, d->info.nr_tested));
	else
		put_none(d);
	if (d->info.nr_undecided && coati_diff_is_judged(d))
		coati_strbuf_printf(s, "; %u cannot be judged: record 4 runs per side",
				    d->info.nr_undecided);
}

/* ---- warnings ---- */

static void warn(struct diff *d, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void warn(struct diff *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	coati_strbuf_vprintf(&d->warnings, fmt, ap);
	va_end(ap);
	coati_strbuf_addc(&d->warnings, '\n');
}

static const struct coati_profile_event *find_event(const struct coati_profile *p, const char *name)
{
	for (uint32_t i = 0; i < coati_profile_event_count(p); i++) {
		const struct coati_profile_event *e = coati_profile_event(p, i);

		if (e->samples && !e->is_off_cpu && !strcmp(e->name, name))
			return e;
	}
	return NULL;
}

/* As Hz, or as a period: what cannot be put beside each other is 0. */
static bool same_rate(const struct coati_attr *a, const struct coati_attr *b)
{
	double x = (double)a->sample_period, y = (double)b->sample_period;

	if ((a->flags ^ b->flags) & COATI_ATTR_FREQ)
		return false;
	return x == y || (x > 0 && y > 0 && x / y < RATE_APART && y / x < RATE_APART);
}

static void put_rate(struct strbuf *s, const struct coati_attr *a)
{
	if (!(a->flags & COATI_ATTR_FREQ))
		coati_strbuf_adds(s, "every ");
	coati_strbuf_grouped(s, a->sample_period);
	if (a->flags & COATI_ATTR_FREQ)
		coati_strbuf_adds(s, " Hz");
}

static void warn_of_rate(struct diff *d, const struct coati_profile_event *a,
			 const struct coati_profile_event *b)
{
	struct strbuf x = STRBUF_INIT(64), y = STRBUF_INIT(64);

	put_rate(&x, &a->attr);
	put_rate(&y, &b->attr);
	warn(d, "%s was sampled at different rates: %s and %s", a->name, x.text, y.text);
	coati_strbuf_fini(&x);
	coati_strbuf_fini(&y);
}

static void check_events(struct diff *d)
{
	for (int side = 0; side < 2; side++) {
		const struct coati_profile *p = d->sides[side].report.profile;
		const struct coati_profile *other = d->sides[!side].report.profile;

		for (uint32_t i = 0; i < coati_profile_event_count(p); i++) {
			const struct coati_profile_event *e = coati_profile_event(p, i), *same;

			if (!e->samples || e->is_off_cpu)
				continue;
			same = find_event(other, e->name);
			if (!same && d->sides[!side].report.quality.samples)
				warn(d, "different events: only %s has samples of %s",
				     side ? "after" : "before", e->name);
			else if (same && !side && !same_rate(&e->attr, &same->attr))
				warn_of_rate(d, e, same);
		}
	}
}

static double part_of(uint64_t part, uint64_t whole)
{
	return whole ? (double)part / (double)whole : 0;
}

static void check_shares(struct diff *d)
{
	const struct coati_profile_quality *q[] = { &d->sides[0].report.quality,
						    &d->sides[1].report.quality };
	const struct {
		const char *what;
		uint64_t part[2];
		bool is_of_stacks;
	} shares[] = {
		{ "stacks that are complete", { q[0]->complete, q[1]->complete }, true },
		{ "samples without stacks", { q[0]->single, q[1]->single } },
		{ "stacks unwound from copies", { q[0]->by_unwinder, q[1]->by_unwinder } },
		{ "samples without a symbol", { q[0]->unsymbolized, q[1]->unsymbolized } },
	};

	if (!q[0]->samples || !q[1]->samples)
		return;
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		double of[2];

		for (int side = 0; side < 2; side++)
			of[side] =
				part_of(shares[i].part[side],
					shares[i].is_of_stacks ? coati_profile_with_stacks(q[side])
							       : q[side]->samples);
		if (fabs(of[0] - of[1]) > SHARE_APART)
			warn(d, "recorded differently: %s are %.0f %% before and %.0f %% after",
			     shares[i].what, 100 * of[0], 100 * of[1]);
	}
	for (int side = 0; side < 2; side++) {
		double lost = part_of(q[side]->lost, q[side]->lost + q[side]->samples);

		if (lost > LOSS_MATTERS)
			warn(d, "%s lost %.0f %% of its samples: busy times are missing",
			     side ? "after" : "before", 100 * lost);
		if (q[side]->throttled)
			warn(d,
			     "%s was throttled: busy times count too little; record with a lower "
			     "rate (-F)",
			     side ? "after" : "before");
	}
}

/* The machine that wrote the first file of a side, as it says itself. */
static bool open_side(const struct diff_side *s, struct coati_recording **ret)
{
	return s->files.len && strcmp(s->files.v[0].text, "-") != 0 &&
	       coati_recording_open(s->files.v[0].text, NULL, ret, NULL) == 0;
}

static void check_machines(struct diff *d)
{
	struct coati_recording *r[2] = { NULL, NULL };
	const struct coati_recording_info *a, *b;

	if (open_side(&d->sides[0], &r[0]) && open_side(&d->sides[1], &r[1])) {
		a = coati_recording_info(r[0]);
		b = coati_recording_info(r[1]);
		if (a->arch[0] && b->arch[0] && strcmp(a->arch, b->arch) != 0)
			warn(d, "different machines: %s and %s", a->arch, b->arch);
		else if (a->cpu_desc[0] && b->cpu_desc[0] && strcmp(a->cpu_desc, b->cpu_desc) != 0)
			warn(d, "different machines: %s and %s", a->cpu_desc, b->cpu_desc);
		else if (a->hostname[0] && b->hostname[0] && strcmp(a->hostname, b->hostname) != 0)
			warn(d, "different machines: %s and %s", a->hostname, b->hostname);
		else if (a->os_release[0] && b->os_release[0] &&
			 strcmp(a->os_release, b->os_release) != 0)
			warn(d, "different kernels: %s and %s", a->os_release, b->os_release);
	}
	coati_recording_close(&r[0]);
	coati_recording_close(&r[1]);
}

/* What the intervals stand on. */
static void check_blocks(struct diff *d)
{
	const struct coati_diff_side *s[] = { &d->info.before, &d->info.after };
	bool single = false;

	for (int side = 0; side < 2; side++) {
		if (s[side]->flags & COATI_DIFF_PHASES)
			warn(d,
			     "%s has phases nearly as long as itself, so the intervals are wide; "
			     "compare 4 or more recordings per side, or longer ones",
			     side ? "after" : "before");
		single |= !(s[side]->flags & COATI_DIFF_BY_RUN);
	}
	if (single && d->args->measure != COATI_DIFF_SHARE)
		warn(d,
		     "fewer than 4 runs per side: run-to-run variation of %g %% is assumed "
		     "(--run-spread)",
		     d->run_spread > 0	 ? 100 * d->run_spread
		     : d->run_spread < 0 ? 0.0
					 : 5.0);
}

void coati_diff_find_warnings(struct diff *d)
{
	if (!d->info.unit)
		warn(d, "different units: %s and %s; only shares can be compared",
		     d->sides[0].report.info.unit, d->sides[1].report.info.unit);
	check_events(d);
	check_shares(d);
	check_machines(d);
	check_blocks(d);
}
