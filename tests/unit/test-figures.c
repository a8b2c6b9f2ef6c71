/* SPDX-License-Identifier: MIT */
/* Figures of data quality: conditions on them, and what is advised. */
#include "cli/figures.h"

#include <stdio.h>

#include "lib/test.h"
#include "cli/quality-advice.h"
#include "cli/report/figures.h"

static enum figure_result judge(const char *text, const struct figures *f)
{
	struct figure_condition c;
	struct coati_error err = { 0 };
	double value = 0;

	CHECK_OK(coati_condition_parse(text, UINT32_MAX, &c, &err));
	return coati_condition_judge(&c, f, &value);
}

static void check_column(const char *text, int column)
{
	struct figure_condition c = { .amount = 77 };
	struct coati_error err = { 0 };

	CHECK_ERR(coati_condition_parse(text, UINT32_MAX & ~(1u << FIGURE_GAP), &c, &err), -EINVAL);
	CHECK_INT(err.column, ==, column);
	CHECK(c.amount == 77);
}

TEST(figures_conditions_hold_at_their_limits)
{
	struct figures f = { 0 };

	coati_figure_set(&f, FIGURE_LOST, 1, 100);
	CHECK_INT((int)judge("lost > 1%", &f), ==, FIGURE_PASSED);
	CHECK_INT((int)judge("lost >= 1%", &f), ==, FIGURE_FAILED);
	CHECK_INT((int)judge("lost>0.99%", &f), ==, FIGURE_FAILED);
	CHECK_INT((int)judge(" lost \t> 0 ", &f), ==, FIGURE_FAILED);
	CHECK_INT((int)judge("lost > 1", &f), ==, FIGURE_PASSED);
	CHECK_INT((int)judge("lost < 1", &f), ==, FIGURE_PASSED);
	CHECK_INT((int)judge("lost<=1 %", &f), ==, FIGURE_FAILED);
	CHECK_INT((int)judge("lost < 2%", &f), ==, FIGURE_FAILED);
	/* a part of nothing */
	coati_figure_set(&f, FIGURE_LOST, 0, 0);
	CHECK_INT((int)judge("lost > 0%", &f), ==, FIGURE_PASSED);
	coati_figure_set(&f, FIGURE_LOST, 3, 0);
	CHECK_INT((int)judge("lost > 0%", &f), ==, FIGURE_UNKNOWN);
	CHECK_INT((int)judge("sampled < 90%", &f), ==, FIGURE_UNKNOWN);
}

TEST(figures_conditions_are_parsed_strictly)
{
	check_column("", 1);
	check_column(" lst > 1", 2);
	check_column("los > 1", 1);
	check_column("losts > 1", 1);
	check_column("Lost > 1", 1);
	check_column("gap > 1%", 1); /* not of this verb */
	check_column("lost", 5);
	check_column("lost = 1", 6);
	check_column("lost => 1", 6);
	check_column("lost == 1", 6);
	check_column("lost >> 1", 7);
	check_column("lost > ", 8);
	check_column("lost > %", 8);
	check_column("lost > 1 1", 8);
	check_column("lost > 1%%", 8);
	check_column("lost > -1", 8);
	check_column("lost > +1", 8);
	check_column("lost > 1.5", 8);
	check_column("lost > 1e3", 8);
	check_column("lost > nan%", 8);
	check_column("lost > 0x10", 8);
	check_column("lost > 100.1%", 8);
	check_column("lost > 18446744073709551616", 8);
	check_column("lost > 00000000000000000000000000000000000001", 8);
	check_column("samples < 5%", 11);
	check_column("throttled > 5%", 13);
	check_column("sampled < 5", 11);
}

TEST(figures_of_another_verb_are_refused_with_its_name)
{
	static const struct {
		const char *text, *verb;
	} cases[] = {
		{ "gap > 1", "coati report" },
		{ "live_lost > 1", "coati trace" },
		{ "events > 1", "coati autopsy" },
		{ "contradictions > 1%", "coati autopsy" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct figure_condition c;
		struct coati_error err = { 0 };

		CHECK_ERR(coati_condition_parse(cases[i].text, 1u << FIGURE_LOST, &c, &err),
			  -EINVAL);
		CHECK_HAS(err.text, cases[i].verb);
	}
}

/* Every name can be written, and every figure of a profile is told. */
TEST(figures_of_a_profile_are_all_there)
{
	const struct coati_profile_quality q = {
		.samples = 90,
		.lost = 10,
		.sampled = 30,
		.counted = 20,
		.complete = 45,
		.off_intervals = 4,
		.off_gap = 1,
	};
	struct figures f, none;

	coati_report_figures(&q, &f);
	coati_report_figures(&(struct coati_profile_quality){ 0 }, &none);
	for (uint32_t i = 0; i < FIGURE_COUNT; i++)
		if (REPORT_FIGURES >> i & 1)
			CHECK(f.v[i].is_known);
	CHECK_INT((int)judge("lost >= 10%", &f), ==, FIGURE_FAILED);
	CHECK_INT((int)judge("lost > 10%", &f), ==, FIGURE_PASSED);
	CHECK_INT((int)judge("complete < 50%", &f), ==, FIGURE_PASSED);
	CHECK_INT((int)judge("sampled < 100%", &f), ==, FIGURE_PASSED); /* never more than all */
	CHECK_INT((int)judge("off_gap > 24%", &f), ==, FIGURE_FAILED);
	CHECK_INT((int)judge("complete < 50%", &none), ==, FIGURE_UNKNOWN);
	CHECK_INT((int)judge("lost > 0", &none), ==, FIGURE_PASSED);
}

/* What is advised, "" for nothing. */
static const char *advise(struct seen seen)
{
	static char text[1024];
	struct strbuf s = STRBUF_INIT(1024);

	if (!coati_advise_sampled(&s, &seen, "coati record "))
		coati_strbuf_clear(&s);
	snprintf(text, sizeof(text), "%s", s.text);
	coati_strbuf_fini(&s);
	return text;
}

TEST(figures_advice_names_the_cause_of_what_was_not_seen)
{
	const struct seen loop = { .samples = 80,
				   .sampled = 80000000,
				   .counted = 1000000000,
				   .period = 1000000,
				   .exits = 1501 };
	struct seen n = loop;

	CHECK(strstr(advise(n),
		     "92 % of the CPU time has no samples: 1,501 processes and threads"));
	CHECK(strstr(advise(n), "(1.00 ms)") && strstr(advise(n), "coati record -F 10000") &&
	      strstr(advise(n), "-a "));
	n.exits = 3; /* not those */
	CHECK(strstr(advise(n), "timers fired late"));
	n.throttled = 1;
	CHECK(strstr(advise(n), "throttled"));
	n.is_part = true;
	CHECK(strstr(advise(n), "perf_event_paranoid"));
	n = loop;
	n.sampled = 800000000;
	CHECK_STR(advise(n), "");
	n.sampled = 799999999;
	CHECK(*advise(n));
	/* fewer than 20 samples are missing */
	n.sampled = 0;
	n.counted = 19999999;
	CHECK_STR(advise(n), "");
	n.counted = 20000000;
	CHECK(*advise(n));
	n.counted = 0;
	CHECK_STR(advise(n), "");
	CHECK_STR(advise((struct seen){ .counted = 100 }), ""); /* no period is known */
}
