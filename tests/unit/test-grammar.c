/* SPDX-License-Identifier: MIT */
/* The event grammar: names and numbers, modifiers, groups, general terms. */
#include "lib/events.h"

#include "base/alloc.h"
#include "event/catalog.h"
#include "event/event.h"
#include "event/list.h"

static void check_attr(const char *text, enum coati_event_kind kind, uint32_t type, uint64_t config)
{
	struct coati_event_list *list = events_parse(text);
	const struct coati_event_desc *d = events_one(list);
	struct coati_attr want = { .type = type, .config = config };

	CHECK_STR(d->name, text);
	CHECK_INT(d->kind, ==, kind);
	CHECK_MEM(&d->attr, &want, sizeof(want));
	CHECK_INT(d->group, ==, -1);
	CHECK_INT(d->flags, ==, 0);
	CHECK_STR(d->unit, "");
	CHECK_STR(d->group_name, "");
	CHECK_STR(d->cpus, "");
	CHECK_STR(d->filter, "");
	CHECK_STR(d->probe, "");
	CHECK_STR(d->metric_id, "");
	CHECK_STR(d->note, "");
	CHECK(d->scale > 0.99 && d->scale < 1.01);
	coati_event_list_free(list);
}

/* Attribute flags of an event with modifiers. */
static uint64_t flags_of(const char *text)
{
	struct coati_event_list *list = events_parse(text);
	uint64_t flags = events_one(list)->attr.flags;

	coati_event_list_free(list);
	return flags;
}

static uint32_t desc_flags_of(const char *text)
{
	struct coati_event_list *list = events_parse(text);
	uint32_t flags = events_one(list)->flags;

	coati_event_list_free(list);
	return flags;
}

TEST(grammar_knows_every_hardware_name)
{
	static const char *const names[][2] = {
		{ "cycles", "cpu-cycles" },
		{ "instructions" },
		{ "cache-references" },
		{ "cache-misses" },
		{ "branches", "branch-instructions" },
		{ "branch-misses" },
		{ "bus-cycles" },
		{ "stalled-cycles-frontend", "idle-cycles-frontend" },
		{ "stalled-cycles-backend", "idle-cycles-backend" },
		{ "ref-cycles" },
	};

	for (unsigned int i = 0; i < 10; i++) {
		for (unsigned int j = 0; j < 2 && names[i][j]; j++)
			check_attr(names[i][j], COATI_EVENT_HARDWARE, COATI_TYPE_HARDWARE, i);
	}
}

TEST(grammar_knows_every_software_name)
{
	static const char *const names[][2] = {
		{ "cpu-clock" },
		{ "task-clock" },
		{ "page-faults", "faults" },
		{ "context-switches", "cs" },
		{ "cpu-migrations", "migrations" },
		{ "minor-faults" },
		{ "major-faults" },
		{ "alignment-faults" },
		{ "emulation-faults" },
		{ "dummy" },
		{ "bpf-output" },
		{ "cgroup-switches" },
	};

	for (unsigned int i = 0; i < 12; i++) {
		for (unsigned int j = 0; j < 2 && names[i][j]; j++)
			check_attr(names[i][j], COATI_EVENT_SOFTWARE, COATI_TYPE_SOFTWARE, i);
	}
}

TEST(grammar_knows_cache_events_in_all_spellings)
{
	static const struct {
		const char *text;
		uint64_t config;
	} rows[] = {
		{ "L1-dcache-loads", 0x00000 },	   { "L1-dcache-load-misses", 0x10000 },
		{ "L1-dcache-stores", 0x00100 },   { "L1-dcache-store-misses", 0x10100 },
		{ "L1-dcache", 0x00000 },	   { "L1-dcache-misses", 0x10000 },
		{ "l1-d-load-miss", 0x10000 },	   { "l1d-read", 0x00000 },
		{ "l1d-access", 0x00000 },	   { "L1-data-miss", 0x10000 },
		{ "L1-dcache-prefetches", 0x200 }, { "L1-dcache-prefetch-misses", 0x10200 },
		{ "L1-icache-loads", 0x00001 },	   { "L1-icache-load-misses", 0x10001 },
		{ "l1i-prefetch", 0x00201 },	   { "l1-i-miss", 0x10001 },
		{ "L1-instruction", 0x00001 },	   { "LLC-loads", 0x00002 },
		{ "LLC-load-misses", 0x10002 },	   { "LLC-store-misses", 0x10102 },
		{ "L2-write", 0x00102 },	   { "llc-speculative-read-misses", 0x10202 },
		{ "dTLB-loads", 0x00003 },	   { "dTLB-store-misses", 0x10103 },
		{ "d-tlb-refs", 0x00003 },	   { "data-TLB-misses", 0x10003 },
		{ "iTLB-loads", 0x00004 },	   { "iTLB-load-misses", 0x10004 },
		{ "i-tlb-ops", 0x00004 },	   { "branch-loads", 0x00005 },
		{ "branch-load-misses", 0x10005 }, { "bpu-read", 0x00005 },
		{ "btb-miss", 0x10005 },	   { "bpc", 0x00005 },
		{ "node-loads", 0x00006 },	   { "node-store-misses", 0x10106 },
		{ "node-prefetches", 0x00206 },	   { "node-misses-stores", 0x10106 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_attr(rows[i].text, COATI_EVENT_CACHE, COATI_TYPE_HW_CACHE, rows[i].config);
}

TEST(grammar_takes_raw_codes_and_numbers)
{
	check_attr("r1a8", COATI_EVENT_RAW, COATI_TYPE_RAW, 0x1a8);
	check_attr("rFFFFffffFFFFffff", COATI_EVENT_RAW, COATI_TYPE_RAW, UINT64_MAX);
	check_attr("4:0x1a8", COATI_EVENT_RAW, 4, 0x1a8);
	check_attr("1:2", COATI_EVENT_SOFTWARE, 1, 2);
	check_attr("0:0", COATI_EVENT_HARDWARE, 0, 0);
	check_attr("3:65536", COATI_EVENT_CACHE, 3, 65536);
	check_attr("2:300", COATI_EVENT_TRACEPOINT, 2, 300);
	check_attr("0x11:18446744073709551615", COATI_EVENT_PMU, 17, UINT64_MAX);
}

TEST(grammar_gives_tool_events_a_type_that_no_kernel_takes)
{
	check_attr("duration_time", COATI_EVENT_TOOL, COATI_TYPE_TOOL, COATI_TOOL_DURATION);
	check_attr("user_time", COATI_EVENT_TOOL, COATI_TYPE_TOOL, COATI_TOOL_USER);
	check_attr("system_time", COATI_EVENT_TOOL, COATI_TYPE_TOOL, COATI_TOOL_SYSTEM);
}

TEST(grammar_excludes_the_privileges_that_are_not_named)
{
	const uint64_t u = COATI_ATTR_EXCLUDE_USER, k = COATI_ATTR_EXCLUDE_KERNEL,
		       h = COATI_ATTR_EXCLUDE_HV;

	CHECK_U64(flags_of("cycles"), ==, 0);
	CHECK_U64(flags_of("cycles:u"), ==, k | h);
	CHECK_U64(flags_of("cycles:k"), ==, u | h);
	CHECK_U64(flags_of("cycles:h"), ==, u | k);
	CHECK_U64(flags_of("cycles:uk"), ==, h);
	CHECK_U64(flags_of("cycles:ku"), ==, h);
	CHECK_U64(flags_of("cycles:uh"), ==, k);
	CHECK_U64(flags_of("cycles:ukh"), ==, 0);
	CHECK_INT(desc_flags_of("cycles:ukh"), ==, COATI_DESC_MODIFIED);
	CHECK_INT(desc_flags_of("cycles:I"), ==, 0);
}

TEST(grammar_maps_each_other_modifier)
{
	CHECK_U64(flags_of("cycles:I"), ==, COATI_ATTR_EXCLUDE_IDLE);
	CHECK_U64(flags_of("cycles:G"), ==, COATI_ATTR_EXCLUDE_HOST);
	CHECK_U64(flags_of("cycles:H"), ==, COATI_ATTR_EXCLUDE_GUEST);
	CHECK_U64(flags_of("cycles:GH"), ==, 0);
	CHECK_U64(flags_of("cycles:D"), ==, COATI_ATTR_PINNED);
	CHECK_U64(flags_of("cycles:e"), ==, COATI_ATTR_EXCLUSIVE);
	CHECK_INT(desc_flags_of("cycles:S"), ==, COATI_DESC_SAMPLE_READ);
	CHECK_INT(desc_flags_of("cycles:b"), ==, COATI_DESC_BPF_COUNTER);
	CHECK_INT(desc_flags_of("cycles:P"), ==, COATI_DESC_MAX_PRECISE);
	CHECK_U64(flags_of("cycles:P"), ==, UINT64_C(3) << 15);
}

TEST(grammar_keeps_both_bits_of_every_precise_level)
{
	static const char *const texts[] = { "cycles", "cycles:p", "cycles:pp", "cycles:ppp" };

	for (uint64_t i = 0; i < 4; i++) {
		CHECK_U64(flags_of(texts[i]), ==, i << 15);
		CHECK_U64(COATI_ATTR_PRECISE(i), ==, i << 15);
	}
	CHECK_U64(flags_of("cycles:pup") & COATI_ATTR_PRECISE_MASK, ==, UINT64_C(2) << 15);
}

TEST(grammar_adds_the_precise_letters_of_group_and_member)
{
	struct coati_event_list *list = events_parse("{cycles:p,instructions}:pp");

	CHECK_U64(coati_event_list_get(list, 0)->attr.flags, ==, UINT64_C(3) << 15);
	CHECK_U64(coati_event_list_get(list, 1)->attr.flags, ==, UINT64_C(2) << 15);
	CHECK_STR(coati_event_list_get(list, 0)->name, "cycles:ppp");
	CHECK_STR(coati_event_list_get(list, 1)->name, "instructions:pp");
	events_refused(list, "{cycles:pp}:pp", -EINVAL, 9, "more than three p");
	coati_event_list_free(list);
}

TEST(grammar_numbers_groups_and_marks_their_leaders)
{
	struct coati_event_list *list = events_parse(
		"cs , {page-faults,task-clock}:S, mine:{ cycles , instructions:u }:kD");
	const struct coati_event_desc *d[5];

	CHECK_INT(coati_event_list_count(list), ==, 5);
	for (uint32_t i = 0; i < 5; i++)
		d[i] = coati_event_list_get(list, i);
	CHECK_INT(d[0]->group, ==, -1);
	CHECK_INT(d[1]->group, ==, 0);
	CHECK_INT(d[2]->group, ==, 0);
	CHECK_INT(d[3]->group, ==, 1);
	CHECK_INT(d[4]->group, ==, 1);
	CHECK_INT(d[1]->flags, ==, COATI_DESC_LEADER | COATI_DESC_SAMPLE_READ);
	CHECK_INT(d[2]->flags, ==, COATI_DESC_SAMPLE_READ);
	CHECK_INT(d[3]->flags, ==, COATI_DESC_LEADER | COATI_DESC_MODIFIED);
	CHECK_STR(d[1]->group_name, "");
	CHECK_STR(d[3]->group_name, "mine");
	CHECK_STR(d[4]->group_name, "mine");
	CHECK_STR(d[1]->name, "page-faults");
	CHECK_STR(d[3]->name, "cycles:k");
	CHECK_STR(d[4]->name, "instructions:uk");
	CHECK_U64(d[3]->attr.flags, ==,
		  COATI_ATTR_PINNED | COATI_ATTR_EXCLUDE_USER | COATI_ATTR_EXCLUDE_HV);
	CHECK_U64(d[4]->attr.flags, ==, COATI_ATTR_EXCLUDE_HV);
	CHECK(coati_event_list_get(list, 5) == NULL);
	coati_event_list_free(list);
}

TEST(grammar_makes_every_member_of_a_weak_group_weak)
{
	struct coati_event_list *list = events_parse("{cycles,instructions}:W");

	CHECK(coati_event_list_get(list, 0)->flags & COATI_DESC_WEAK);
	CHECK(coati_event_list_get(list, 1)->flags & COATI_DESC_WEAK);
	events_refused(list, "cycles:W", -EINVAL, 8, "lone event");
	events_refused(list, "{cycles:W}", -EINVAL, 9, "behind the '}'");
	coati_event_list_free(list);
}

TEST(grammar_numbers_groups_on_across_adds)
{
	struct coati_event_list *list = events_parse("{cs,faults}");
	struct coati_error err;

	events_refused(list, "{cs},{faults},nonsense", -ENOENT, 15, "no event 'nonsense'");
	CHECK_OK(coati_event_list_add(list, "{cs}", &err));
	CHECK_INT(coati_event_list_get(list, 2)->group, ==, 1);
	coati_event_list_free(list);
}

TEST(grammar_applies_general_terms_to_any_event)
{
	struct coati_event_list *list = events_parse(
		"cycles/period=1000,name='my cycles',call-graph=dwarf,stack-size=4k,max-stack=16/u,"
		"cpu-clock/freq=4k,time=0,inherit,percore/,"
		"cs/nr=7,no-inherit,overwrite,time,cpu='0-3,8'/,"
		"r1a8/ aux-action = pause , "
		"aux-output,aux-sample-size=4096,metric-id=m1,no-overwrite/");
	const struct coati_event_desc *d = coati_event_list_get(list, 0);

	CHECK_STR(d->name, "my cycles");
	CHECK_U64(d->attr.sample_period, ==, 1000);
	CHECK_U64(d->attr.flags, ==, COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV);
	CHECK_INT(d->flags, ==, COATI_DESC_PERIOD | COATI_DESC_MODIFIED);
	CHECK_INT(d->callgraph, ==, COATI_CALLGRAPH_DWARF);
	CHECK_INT(d->stack_size, ==, 4096);
	CHECK_INT(d->max_stack, ==, 16);
	d = coati_event_list_get(list, 1);
	CHECK_STR(d->name, "cpu-clock/freq=4k,time=0,inherit,percore/");
	CHECK_U64(d->attr.sample_period, ==, 4000);
	CHECK_U64(d->attr.flags, ==, COATI_ATTR_FREQ);
	CHECK_INT(d->flags, ==,
		  COATI_DESC_FREQ | COATI_DESC_NO_TIME | COATI_DESC_INHERIT | COATI_DESC_PERCORE);
	d = coati_event_list_get(list, 2);
	CHECK_U64(d->max_events, ==, 7);
	CHECK_STR(d->cpus, "0-3,8");
	CHECK_INT(d->flags, ==, COATI_DESC_NO_INHERIT | COATI_DESC_OVERWRITE | COATI_DESC_TIME);
	d = coati_event_list_get(list, 3);
	CHECK_INT(d->attr.aux_action, ==, COATI_AUX_PAUSE);
	CHECK_INT(d->attr.aux_sample_size, ==, 4096);
	CHECK_U64(d->attr.sample_type, ==, COATI_SAMPLE_AUX);
	CHECK_U64(d->attr.flags, ==, COATI_ATTR_AUX_OUTPUT);
	CHECK_STR(d->metric_id, "m1");
	CHECK_INT(d->flags, ==, COATI_DESC_NO_OVERWRITE);
	coati_event_list_free(list);
}

TEST(grammar_reads_branch_types)
{
	struct coati_event_list *list =
		events_parse("cycles/branch_type=any_call+u/,cycles/branch_type='ind_jmp,k'/,"
			     "cycles/branch_type=u/");

	CHECK_U64(coati_event_list_get(list, 0)->attr.branch_sample_type, ==,
		  COATI_BRANCH_ANY_CALL | COATI_BRANCH_USER);
	CHECK_U64(coati_event_list_get(list, 1)->attr.branch_sample_type, ==,
		  COATI_BRANCH_IND_JUMP | COATI_BRANCH_KERNEL);
	CHECK_U64(coati_event_list_get(list, 2)->attr.branch_sample_type, ==,
		  COATI_BRANCH_ANY | COATI_BRANCH_USER);
	CHECK_U64(coati_event_list_get(list, 0)->attr.sample_type, ==, COATI_SAMPLE_BRANCH_STACK);
	coati_event_list_free(list);
}

TEST(grammar_takes_modifiers_behind_terms_with_and_without_a_colon)
{
	CHECK_U64(flags_of("cycles//u"), ==, COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV);
	CHECK_U64(flags_of("cycles//:u"), ==, COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV);
	CHECK_U64(flags_of("cycles//"), ==, 0);
}

TEST(grammar_offers_the_nearest_name)
{
	struct coati_event_list *list = events_new(NULL, NULL);

	events_refused(list, "cylces", -ENOENT, 1, "did you mean 'cycles'?");
	events_refused(list, "cs, page-fualts", -ENOENT, 5, "did you mean 'page-faults'?");
	events_refused(list, "L1-dcache-load-mises", -ENOENT, 1,
		       "did you mean 'L1-dcache-load-misses'?");
	events_refused(list, "cycles/perod=3/", -ENOENT, 8, "did you mean 'period'?");
	coati_event_list_free(list);
}

TEST(grammar_refuses_texts_and_lists_over_its_limits)
{
	struct coati_event_list *list = events_new(NULL, NULL);
	char *text = coati_alloc(70000);

	memset(text, 'a', 65537);
	events_refused(list, text, -E2BIG, 65537, "at most 65536 characters");
	for (int i = 0; i < 20000; i++)
		memcpy(text + i * 3, "cs,", 3);
	text[20000 * 3 - 1] = '\0';
	events_refused(list, text, -E2BIG, 16384 * 3 + 1, "at most 16384 events");
	text[0] = '{';
	memcpy(text + 1, "cs,", 3);
	for (int i = 1; i < 300; i++)
		memcpy(text + 1 + i * 3, "cs,", 3);
	memcpy(text + 1 + 300 * 3 - 1, "}", 2);
	events_refused(list, text, -E2BIG, 1 + 256 * 3 + 1, "at most 256 events");
	coati_free(text);
	coati_event_list_free(list);
}

TEST(grammar_list_refuses_missing_arguments)
{
	struct coati_event_list *list = events_new(NULL, NULL);
	struct coati_event_list_opts opts = { .size = sizeof(opts), .flags = 1 };
	struct coati_error err;

	CHECK_ERR(coati_event_list_add(NULL, "cs", &err), -EINVAL);
	CHECK_ERR(coati_event_list_add(list, NULL, &err), -EINVAL);
	CHECK_ERR(coati_event_list_add(list, "", NULL), -EINVAL);
	CHECK_ERR(coati_event_list_new(NULL, NULL, &err), -EINVAL);
	CHECK_ERR(coati_event_list_new(&opts, &list, &err), -EINVAL);
	CHECK_INT(coati_event_list_count(NULL), ==, 0);
	CHECK(coati_event_list_get(NULL, 0) == NULL);
	coati_event_list_free(list);
	coati_event_list_free(NULL);
}

TEST(grammar_leaves_the_list_as_it_was_after_each_failing_allocation)
{
	const char *text = "x:{cycles/name=foo,period=3/:u,L1-dcache-loads:k}:S,r1a,cs:u";
	struct coati_event_list *list = events_parse("faults");
	struct coati_error err;
	uint64_t n = 0;
	int r;

	do {
		coati_alloc_fail_after(n++);
		r = coati_event_list_add(list, text, &err);
		coati_alloc_fail_after(UINT64_MAX);
		if (r < 0) {
			CHECK_ERR(r, -ENOMEM);
			CHECK_STR(err.text, "out of memory");
			CHECK_INT(coati_event_list_count(list), ==, 1);
			CHECK_STR(coati_event_list_get(list, 0)->name, "faults");
		}
	} while (r < 0);
	CHECK_U64(n, >, 3);
	CHECK_INT(coati_event_list_count(list), ==, 5);
	coati_event_list_free(list);
}

TEST(attr_name_is_the_usual_name_or_null)
{
	struct coati_attr attr = { .type = COATI_TYPE_SOFTWARE, .config = COATI_SW_PAGE_FAULTS };

	CHECK_STR(coati_attr_name(&attr), "page-faults");
	attr = (struct coati_attr){ .type = COATI_TYPE_HARDWARE, .config = UINT64_C(8) << 32 };
	CHECK_STR(coati_attr_name(&attr), "cycles");
	attr = (struct coati_attr){ .type = COATI_TYPE_HW_CACHE, .config = 0x10003 };
	CHECK_STR(coati_attr_name(&attr), "dTLB-load-misses");
	attr.config = 0x00104; /* stores of an instruction TLB */
	CHECK(coati_attr_name(&attr) == NULL);
	attr.config = 0x1000003;
	CHECK(coati_attr_name(&attr) == NULL);
	attr = (struct coati_attr){ .type = COATI_TYPE_SOFTWARE, .config = 12 };
	CHECK(coati_attr_name(&attr) == NULL);
	attr.type = COATI_TYPE_TRACEPOINT;
	CHECK(coati_attr_name(&attr) == NULL);
	CHECK(coati_attr_name(NULL) == NULL);
	CHECK_STR(coati_event_kind_name(COATI_EVENT_TRACEPOINT), "tracepoint");
	CHECK_STR(coati_event_kind_name((enum coati_event_kind)99), "unknown");
}
