/* SPDX-License-Identifier: MIT */
/* see diff/text.h */
#include "cli/diff/text.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/doubles.h"
#include "profile/diff.h"

const char *coati_diff_word(enum coati_diff_verdict v)
{
	switch (v) {
	case COATI_DIFF_MORE:
		return "more";
	case COATI_DIFF_LESS:
		return "less";
	case COATI_DIFF_SAME:
		return "not distinguishable";
	case COATI_DIFF_UNDECIDED:
		return "cannot judge";
	default:
		return "too few samples";
	}
}

static bool is_time(const struct diff *d)
{
	return d->info.unit && !strcmp(d->info.unit, "ns");
}

/* A weight that is not negative. */
static void put_weight(const struct diff *d, struct strbuf *s, double x)
{
	if (is_time(d))
		coati_format_duration(s, double_to_u64(x + 0.5));
	else if (x < 100 && x != floor(x))
		coati_strbuf_printf(s, "%.2f", x);
	else
		coati_strbuf_grouped(s, double_to_u64(x + 0.5));
}

void coati_diff_put_amount(const struct diff *d, struct strbuf *s, double x)
{
	if (d->args->measure == COATI_DIFF_SHARE)
		coati_strbuf_printf(s, "%.2f %%", 100 * x);
	else
		put_weight(d, s, x);
}

void coati_diff_put_change(const struct diff *d, struct strbuf *s, double x, bool sign)
{
	if (!isfinite(x)) {
		coati_strbuf_adds(s, "?");
		return;
	}
	if (sign)
		coati_strbuf_addc(s, x < 0 ? '-' : '+');
	if (d->args->measure == COATI_DIFF_SHARE)
		coati_strbuf_printf(s, "%.2f", 100 * fabs(x));
	else
		put_weight(d, s, fabs(x));
}

void coati_diff_put_relative(struct strbuf *s, double ratio)
{
	double percent = 100 * (ratio - 1);

	if (isinf(ratio))
		coati_strbuf_adds(s, "new");
	else if (ratio == 0)
		coati_strbuf_adds(s, "gone");
	else
		coati_strbuf_printf(s, fabs(percent) < 9.95 ? "%+.1f %%" : "%+.0f %%", percent);
}

/* One end of an interval. */
static void put_bound(struct strbuf *s, double x, bool points)
{
	if (isinf(x))
		coati_strbuf_adds(s, x > 0 ? "any amount" : "-100 %");
	else if (points)
		coati_strbuf_printf(s, "%+.2f pp", 100 * x);
	else
		coati_strbuf_printf(s, fabs(x) < 0.0995 ? "%+.1f %%" : "%+.0f %%", 100 * x);
}

void coati_diff_put_interval(struct strbuf *s, const struct coati_diff_value *v, bool points)
{
	if (points)
		put_bound(s, v->change, true);
	else
		coati_diff_put_relative(s, v->ratio);
	coati_strbuf_adds(s, " (");
	put_bound(s, points ? v->low : v->ratio_low - 1, points);
	coati_strbuf_adds(s, " to ");
	put_bound(s, points ? v->high : v->ratio_high - 1, points);
	coati_strbuf_adds(s, ")");
}

void coati_diff_put_value(struct json *j, const struct coati_diff_value *v)
{
	coati_json_object(j);
	coati_json_kdouble(j, "before", v->before);
	coati_json_kdouble(j, "after", v->after);
	coati_json_kdouble(j, "change", v->change);
	coati_json_kdouble(j, "low", v->low);
	coati_json_kdouble(j, "high", v->high);
	coati_json_kdouble(j, "ratio", v->ratio);
	coati_json_kdouble(j, "ratio_low", v->ratio_low);
	coati_json_kdouble(j, "ratio_high", v->ratio_high);
	coati_json_kdouble(j, "p", v->p);
	coati_json_ku64(j, "before_samples", v->before_samples);
	coati_json_ku64(j, "after_samples", v->after_samples);
	coati_json_kstr(j, "verdict", coati_diff_word(v->verdict));
	coati_json_end(j);
}
