/* SPDX-License-Identifier: MIT */
/* Reports of coati stat on invented counts: ratios, spread and the three ways to write them. */
#include "cli/stat/report.h"

#include <stdio.h>

#include "base/alloc.h"
#include "event/event.h"
#include "event/list.h"
#include "lib/json-check.h"
#include "lib/test.h"
#include "cli/stat/ratio.h"

#define NR_MAX 16

/* A report over events by name, with counts that a test fills in. */
struct stage {
	struct stat_args args;
	struct stat_meter meter;
	struct stat_tally tally;
	struct stat_report report;
	struct stat_event events[NR_MAX];
	struct stat_cell cells[NR_MAX];
	struct stat_scope scopes[2];
	char names[NR_MAX][64];
	char *command[3];
	struct output out;
};

static void stage_init(struct stage *s, const char *events, uint32_t nr_scopes)
{
	memset(s, 0, sizeof(*s));
	s->args.scale = true;
	s->command[0] = s->names[NR_MAX - 1];
	snprintf(s->names[NR_MAX - 1], 64, "app");
	s->args.command = s->command;
	CHECK_OK(coati_event_list_new(NULL, &s->meter.list, NULL));
	CHECK_OK(coati_event_list_add(s->meter.list, events, NULL));
	s->meter.args = &s->args;
	s->meter.events = s->events;
	s->meter.nr_events = coati_event_list_count(s->meter.list);
	s->meter.scopes = s->scopes;
	s->meter.nr_scopes = nr_scopes;
	for (uint32_t i = 0; i < s->meter.nr_events; i++) {
		s->events[i].desc = coati_event_list_get(s->meter.list, i);
		snprintf(s->names[i], 64, "%s", s->events[i].desc->name);
		s->events[i].name = s->names[i];
	}
	s->tally.cells = s->cells;
	s->tally.nr_cells = s->meter.nr_events * nr_scopes;
	for (uint32_t i = 0; i < s->tally.nr_cells; i++)
		s->cells[i] =
			(struct stat_cell){ .event = i % s->meter.nr_events,
					    .tid = -1,
					    .cpu = nr_scopes > 1 ? (int)(i / s->meter.nr_events)
								 : -1,
					    .counted = true,
					    .enabled_ns = 1000,
					    .running_ns = 1000 };
	s->tally.end_ns = 2000000000;
	s->report = (struct stat_report){
		.args = &s->args, .meter = &s->meter, .tally = &s->tally, .run = 1
	};
	coati_output_init(&s->out, COLOR_NEVER);
}

static void stage_fini(struct stage *s)
{
	coati_event_list_free(s->meter.list);
	coati_strbuf_fini(&s->out.text);
}

static void check_ratio(struct stage *s, uint32_t i, double value, const char *unit)
{
	struct stat_ratio ratio;

	CHECK(coati_stat_ratio(&s->meter, &s->tally, i, &ratio));
	CHECK_STR(ratio.unit, unit);
	CHECK_INT(ratio.value * 1000 + 0.5, ==, value * 1000 + 0.5);
}

TEST(stat_ratios_follow_from_the_events_beside)
{
	struct stage s;

	stage_init(&s, "task-clock,cycles,instructions,branches,branch-misses,page-faults", 1);
	s.cells[0].count = 1000000000;
	s.cells[1].count = 2500000000;
	s.cells[2].count = 5000000000;
	s.cells[3].count = 200;
	s.cells[4].count = 5;
	s.cells[5].count = 30;
	check_ratio(&s, 0, 0.5, "CPUs used");
	check_ratio(&s, 1, 2.5, "GHz");
	check_ratio(&s, 2, 2.0, "per cycle");
	check_ratio(&s, 3, 100, "/s");
	check_ratio(&s, 4, 2.5, "% of branches");
	check_ratio(&s, 5, 15, "/s");
	stage_fini(&s);
}

TEST(stat_cache_misses_are_shown_in_percent_of_accesses)
{
	struct stage s;

	stage_init(&s, "cache-references,cache-misses,L1-dcache-loads,L1-dcache-load-misses", 1);
	s.cells[0].count = 1000;
	s.cells[1].count = 100;
	s.cells[2].count = 400;
	s.cells[3].count = 4;
	check_ratio(&s, 1, 10, "% of references");
	check_ratio(&s, 3, 1, "% of accesses");
	stage_fini(&s);
}

TEST(stat_divides_only_events_with_the_same_restrictions)
{
	struct stage s;

	stage_init(&s, "cycles,instructions:u", 1);
	s.cells[0].count = 100;
	s.cells[1].count = 200;
	check_ratio(&s, 1, 100, "/s");
	stage_fini(&s);
	stage_init(&s, "cycles:u,instructions:u", 1);
	s.cells[0].count = 100;
	s.cells[1].count = 200;
	check_ratio(&s, 1, 2, "per cycle");
	s.events[1].dropped = COATI_DROP_KERNEL;
	check_ratio(&s, 1, 100, "/s");
	stage_fini(&s);
}

TEST(stat_divides_only_within_a_scope)
{
	struct stage s;

	stage_init(&s, "cycles,instructions", 2);
	s.cells[0].count = 10;
	s.cells[1].count = 10;
	s.cells[2].count = 10;
	s.cells[3].count = 30;
	check_ratio(&s, 1, 1, "per cycle");
	check_ratio(&s, 3, 3, "per cycle");
	stage_fini(&s);
}

TEST(stat_ratio_with_nothing_counted_divides_by_nothing)
{
	struct stage s;
	struct stat_ratio ratio;

	stage_init(&s, "cycles,instructions", 1);
	s.cells[1].count = 10;
	check_ratio(&s, 1, 5, "/s");
	s.cells[1].counted = false;
	CHECK(!coati_stat_ratio(&s.meter, &s.tally, 1, &ratio));
	s.cells[1].counted = true;
	s.tally.end_ns = 0;
	CHECK(!coati_stat_ratio(&s.meter, &s.tally, 1, &ratio));
	stage_fini(&s);
}

TEST(stat_text_separates_thousands_and_says_the_share)
{
	struct stage s;

	stage_init(&s, "instructions,task-clock", 1);
	s.cells[0].count = 1234567890;
	s.cells[0].scaled = true;
	s.cells[0].running_ns = 750;
	s.cells[1].count = 1234567890;
	coati_stat_text(&s.out, &s.report);
	CHECK_HAS(s.out.text.text, "     1,234,567,890        instructions ");
	CHECK_HAS(s.out.text.text, "counted 75.0 % of the time");
	CHECK_HAS(s.out.text.text, "          1,234.57 ms     task-clock ");
	CHECK_HAS(s.out.text.text, "          2.000000 s      elapsed\n");
	stage_fini(&s);
}

TEST(stat_text_puts_groups_into_braces)
{
	struct stage s;

	stage_init(&s, "{page-faults,context-switches,cpu-migrations},minor-faults,{major-faults}",
		   1);
	coati_stat_text(&s.out, &s.report);
	CHECK_HAS(s.out.text.text, "{ page-faults");
	CHECK_HAS(s.out.text.text, "| context-switches");
	CHECK_HAS(s.out.text.text, "} cpu-migrations");
	CHECK_HAS(s.out.text.text, "  minor-faults");
	CHECK_HAS(s.out.text.text, "  major-faults");
	stage_fini(&s);
}

TEST(stat_text_tames_the_words_of_the_command)
{
	struct stage s;

	stage_init(&s, "page-faults", 1);
	snprintf(s.names[NR_MAX - 1], 64, "evil\033[2Jname");
	coati_stat_text(&s.out, &s.report);
	CHECK(!strchr(s.out.text.text, '\033'));
	CHECK_HAS(s.out.text.text, "evil\\x1b[2Jname");
	stage_fini(&s);
}

TEST(stat_says_not_supported_and_not_counted_apart)
{
	struct stage s;
	char why[] = "no PMU";

	stage_init(&s, "cycles,instructions", 1);
	s.events[0].error = why;
	s.cells[0].counted = false;
	s.cells[1].counted = false;
	coati_stat_text(&s.out, &s.report);
	CHECK_HAS(s.out.text.text, "<not supported>        cycles\n");
	CHECK_HAS(s.out.text.text, "<not counted>        instructions\n");
	coati_strbuf_clear(&s.out.text);
	coati_stat_json(&s.out, &s.report);
	CHECK(json_check(s.out.text.text, s.out.text.len));
	CHECK_HAS(s.out.text.text, "\"event\":\"cycles\",\"count\":null");
	CHECK_HAS(s.out.text.text, "\"error\":\"no PMU\"");
	stage_fini(&s);
}

TEST(stat_csv_quotes_names_with_commas)
{
	struct stage s;

	stage_init(&s, "page-faults", 1);
	snprintf(s.names[0], 64, "cpu/event=1,umask=\"2\"/");
	coati_stat_csv(&s.out, &s.report);
	CHECK_HAS(s.out.text.text, "total,\"cpu/event=1,umask=\"\"2\"\"/\",0,,");
	stage_fini(&s);
}

TEST(stat_json_is_valid_after_every_failing_allocation)
{
	struct stage s;

	stage_init(&s, "page-faults,task-clock", 2);
	for (uint64_t n = 0; n < 6; n++) {
		coati_strbuf_fini(&s.out.text);
		coati_output_init(&s.out, COLOR_NEVER);
		coati_alloc_fail_after(n);
		coati_stat_json(&s.out, &s.report);
		coati_stat_text(&s.out, &s.report);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(n > 4 || s.out.text.failed);
	}
	stage_fini(&s);
}

TEST(stat_spread_has_mean_and_deviation_of_single_runs)
{
	static const uint64_t runs[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
	struct stat_spread p = { 0 };
	struct stage s;

	stage_init(&s, "page-faults", 1);
	for (size_t i = 0; i < 8; i++) {
		s.cells[0].count = runs[i];
		CHECK_OK(coati_spread_add(&p, &s.tally));
	}
	CHECK_INT(p.cells[0].mean * 1000, ==, 5000);
	CHECK_INT(coati_mean_deviation(&p.cells[0]) * 1000, ==, 2138); /* sqrt(32 / 7) */
	CHECK_INT(p.cells[0].min, ==, 2);
	CHECK_INT(p.cells[0].max, ==, 9);
	CHECK_INT(coati_mean_relative(&p.wall), ==, 0);
	coati_spread_fini(&p);
	stage_fini(&s);
}

TEST(stat_spread_leaves_out_runs_that_were_not_counted)
{
	struct stat_spread p = { 0 };
	struct stage s;

	stage_init(&s, "page-faults", 1);
	s.cells[0].count = 10;
	CHECK_OK(coati_spread_add(&p, &s.tally));
	s.cells[0].counted = false;
	s.cells[0].count = 0;
	CHECK_OK(coati_spread_add(&p, &s.tally));
	CHECK_INT(p.cells[0].mean, ==, 10);
	CHECK_U64(p.cells[0].nr, ==, 1);
	CHECK_INT(p.nr_runs, ==, 2);
	coati_spread_fini(&p);
	stage_fini(&s);
}
