/* SPDX-License-Identifier: MIT */
/* The catalog over fake trees. */
#include "lib/fake-tree.h"
#include "lib/test.h"

#include <stdio.h>

#include <coati/event.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "event/catalog.h"

static struct coati_catalog *open_over_fake_trees(struct coati_catalog_opts opts)
{
	struct coati_catalog *cat = NULL;
	struct coati_error err = { 0 };

	CHECK_OK(fake_sysfs("sys"));
	CHECK_OK(fake_tracefs("tracing"));
	opts.size = sizeof(opts);
	opts.sysfs = opts.sysfs ? opts.sysfs : "sys";
	opts.tracefs = opts.tracefs ? opts.tracefs : "tracing";
	if (coati_catalog_open(&opts, &cat, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return cat;
}

/* All names with a blank between. */
static void check_names(struct coati_catalog_opts opts, const char *want)
{
	struct coati_catalog *cat = open_over_fake_trees(opts);
	struct strbuf s = STRBUF_INIT(65536);
	struct coati_event_info info;

	while (coati_catalog_next(cat, &info) > 0)
		coati_strbuf_printf(&s, "%s%s", s.len ? " " : "", info.name);
	CHECK_STR(s.text, want);
	coati_strbuf_fini(&s);
	coati_catalog_close(cat);
}

#define ONLY(kind) (UINT32_C(1) << COATI_EVENT_##kind)

TEST(catalog_lists_each_kind_in_order)
{
	struct coati_catalog *cat = open_over_fake_trees((struct coati_catalog_opts){ 0 });
	enum coati_event_kind last = COATI_EVENT_UNKNOWN;
	uint32_t seen = 0, count = 0;
	struct coati_event_info info;
	int r;

	while ((r = coati_catalog_next(cat, &info)) > 0) {
		CHECK_INT(info.kind, >=, last);
		CHECK(info.name && info.alias && info.description && info.unit);
		last = info.kind;
		seen |= UINT32_C(1) << info.kind;
		count++;
	}
	CHECK_INT(r, ==, 0);
	CHECK_INT(seen, ==, 0xffe);
	CHECK_INT(count, >, 70);
	CHECK_INT(coati_catalog_next(cat, &info), ==, 0);
	CHECK(coati_catalog_gap(cat, 0) == NULL);
	coati_catalog_close(cat);
}

TEST(catalog_lists_numbered_pmus_once)
{
	check_names((struct coati_catalog_opts){ .kinds = ONLY(PMU) },
		    "broken/alien/ broken/badscale/ broken/garbage/ broken/open/ broken/toolarge/ "
		    "cpu/cpu-cycles/ cpu/instructions/ cpu/mem-loads/ cpu/slots/ power/energy-pkg/ "
		    "uncore_imc/cas_count_read/ uncore_imc_free_running_0/data_total/");
}

TEST(catalog_lists_tracepoints_sorted_by_system_and_name)
{
	check_names((struct coati_catalog_opts){ .kinds = ONLY(TRACEPOINT) },
		    "block:block_rq_issue odd:bad_format odd:bad_id odd:no_id sched:sched_switch "
		    "sched:sched_switch_extra sched:sched_wakeup syscalls:sys_enter_openat");
}

TEST(catalog_filters_by_glob_or_part)
{
	check_names((struct coati_catalog_opts){ .glob = "sched:*wake*" }, "sched:sched_wakeup");
	check_names((struct coati_catalog_opts){ .glob = "block" }, "block:block_rq_issue");
	check_names((struct coati_catalog_opts){ .glob = "blo?k" }, "block:block_rq_issue");
	check_names((struct coati_catalog_opts){ .glob = "faults" },
		    "page-faults minor-faults major-faults alignment-faults emulation-faults");
	check_names((struct coati_catalog_opts){ .glob = "cs" }, "context-switches");
	check_names((struct coati_catalog_opts){ .glob = "CPU-CYC" }, "cycles cpu/cpu-cycles/");
	check_names((struct coati_catalog_opts){ .glob = "energy*" }, "power/energy-pkg/");
	check_names((struct coati_catalog_opts){ .glob = "nothing of that kind" }, "");
	check_names((struct coati_catalog_opts){ .glob = "*time*", .kinds = ONLY(TOOL) },
		    "duration_time user_time system_time");
}

TEST(catalog_tells_unit_and_terms_of_pmu_events)
{
	struct coati_catalog *cat =
		open_over_fake_trees((struct coati_catalog_opts){ .glob = "energy-pkg" });
	struct coati_event_info info;

	CHECK_INT(coati_catalog_next(cat, &info), ==, 1);
	CHECK_INT(info.kind, ==, COATI_EVENT_PMU);
	CHECK_STR(info.unit, "Joules");
	CHECK_STR(info.description, "event=0x02");
	CHECK_INT(info.available, ==, -1);
	coati_catalog_close(cat);
}

TEST(catalog_reads_fields_when_asked)
{
	struct coati_catalog *cat =
		open_over_fake_trees((struct coati_catalog_opts){ .glob = "sched:*", .fields = 1 });
	struct coati_event_info info;

	CHECK_INT(coati_catalog_next(cat, &info), ==, 1);
	CHECK_STR(info.name, "sched:sched_switch");
	CHECK_INT(info.nr_fields, ==, 7);
	CHECK_STR(info.fields[0].name, "prev_comm");
	CHECK_STR(info.fields[0].type, "char[16]");
	CHECK_INT(info.fields[0].offset, ==, 8);
	CHECK_INT(info.fields[0].size, ==, 16);
	CHECK_INT(info.fields[1].is_signed, ==, 1);
	CHECK_INT(coati_catalog_next(cat, &info), ==, 1);
	CHECK_INT(info.nr_fields, ==, 0); /* no format file */
	coati_catalog_close(cat);
}

TEST(catalog_says_what_is_missing_and_why)
{
	struct coati_catalog *cat = open_over_fake_trees((struct coati_catalog_opts){
		.tracefs = "/nonexistent/t", .sysfs = "/nonexistent/s" });
	struct coati_event_info info;
	int r;

	while ((r = coati_catalog_next(cat, &info)) > 0)
		CHECK(info.kind != COATI_EVENT_TRACEPOINT && info.kind != COATI_EVENT_PMU);
	CHECK_INT(r, ==, 0);
	CHECK_HAS(coati_catalog_gap(cat, 0), "sysfs");
	CHECK_HAS(coati_catalog_gap(cat, 1), "/nonexistent/t");
	CHECK(coati_catalog_gap(cat, 2) == NULL);
	coati_catalog_close(cat);
}

TEST(catalog_refuses_wrong_arguments)
{
	struct coati_catalog_opts opts = { .size = 3 };
	struct coati_catalog *cat = NULL;
	struct coati_error err;
	struct coati_event_info info;

	CHECK_ERR(coati_catalog_open(&opts, &cat, &err), -EINVAL);
	CHECK_ERR(coati_catalog_open(NULL, NULL, &err), -EINVAL);
	CHECK_ERR(coati_catalog_next(NULL, &info), -EINVAL);
	CHECK(coati_catalog_gap(NULL, 0) == NULL);
	coati_catalog_close(NULL);
}

TEST(catalog_survives_each_failing_allocation)
{
	struct coati_catalog_opts opts = {
		.size = sizeof(opts), .fields = 1, .sysfs = "sys", .tracefs = "tracing"
	};
	struct coati_event_info info;
	uint64_t n = 0;
	int r;

	CHECK_OK(fake_sysfs("sys"));
	CHECK_OK(fake_tracefs("tracing"));
	do {
		struct coati_catalog *cat = NULL;

		coati_alloc_fail_after(n++);
		r = coati_catalog_open(&opts, &cat, NULL);
		while (r == 0 && (r = coati_catalog_next(cat, &info)) > 0)
			r = 0;
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 0 || r == -ENOMEM);
		/* it stays so */
		if (cat && r < 0)
			CHECK_ERR(coati_catalog_next(cat, &info), -ENOMEM);
		if (r == 0 && !cat)
			r = -ENOMEM;
		coati_catalog_close(cat);
	} while (r < 0);
	CHECK_U64(n, >, 20);
}
