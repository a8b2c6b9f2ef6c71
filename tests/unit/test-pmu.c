/* SPDX-License-Identifier: MIT */
/* PMUs: format and event files as pure text, and events over fake sysfs trees. */
#include "lib/events.h"
#include "lib/fake-tree.h"

#include "base/alloc.h"
#include "base/match.h"
#include "event/list.h"
#include "event/pmu.h"

static struct coati_event_list *list_over_fake_sysfs(void)
{
	CHECK_OK(fake_sysfs("sys"));
	return events_new("sys", NULL);
}

static const struct coati_event_desc *add_one(struct coati_event_list *list, const char *text)
{
	uint32_t before = coati_event_list_count(list);
	struct coati_error err = { 0 };

	if (coati_event_list_add(list, text, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s: column %d: %s", text, err.column, err.text);
	CHECK_INT(coati_event_list_count(list), ==, before + 1);
	return coati_event_list_get(list, before);
}

static void add_all(struct coati_event_list *list, const char *text, uint32_t count)
{
	struct coati_error err = { 0 };

	if (coati_event_list_add(list, text, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s: column %d: %s", text, err.column, err.text);
	CHECK_INT(coati_event_list_count(list), ==, count);
}

TEST(pmu_format_reads_words_bits_and_split_ranges)
{
	static const struct {
		const char *text;
		uint32_t word;
		uint64_t mask, max;
	} rows[] = {
		{ "config:0-7\n", 0, 0xff, 0xff },
		{ "config:18", 0, 1 << 18, 1 },
		{ "config1:0-63", 1, UINT64_MAX, UINT64_MAX },
		{ "config2:0-3,8-11", 2, 0xf0f, 0xff },
		{ "config3:32-35,0-1", 3, 0xf00000003, 0x3f },
		{ "config4:63", 4, UINT64_C(1) << 63, 1 },
		{ "config:0,2,4,6", 0, 0x55, 15 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pmu_field f;

		CHECK_OK(coati_pmu_field_parse(rows[i].text, &f));
		CHECK_INT(f.word, ==, rows[i].word);
		CHECK_U64(f.mask, ==, rows[i].mask);
		CHECK_U64(coati_pmu_field_max(&f), ==, rows[i].max);
	}
}

TEST(pmu_format_refuses_what_is_not_a_format)
{
	static const char *const texts[] = {
		"",	      "\n",	     "config",	     "config:",
		"config:\n",  "config5:0",   "config0:0",    "conf:0",
		"config:64",  "config:0-64", "config:7-0",   "config:0-",
		"config:-3",  "config:0,",   "config:0,,1",  "config:0-3,2",
		"config:a",   "config:0 ",   "config:0\n\n", "config:99999999999",
		"config:0x1", " config:0",   "config:0-1-2", "config1",
		"config:1,1",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct pmu_field f = { 7, 7 };

		if (coati_pmu_field_parse(texts[i], &f) != -EBADMSG)
			test_fail_at(__FILE__, __LINE__, "\"%s\" was taken", texts[i]);
		CHECK_INT(f.word, ==, 7);
	}
}

TEST(pmu_format_puts_low_bits_first_and_replaces_old_ones)
{
	struct coati_attr attr = { .config2 = UINT64_MAX };
	struct pmu_field f;

	CHECK_OK(coati_pmu_field_parse("config2:0-3,8-11,63", &f));
	CHECK_OK(coati_pmu_field_set(&f, 0x1a5, &attr));
	CHECK_U64(attr.config2, ==, (UINT64_MAX & ~UINT64_C(0xf0f)) | 0xa05);
	CHECK_OK(coati_pmu_field_set(&f, 0, &attr));
	CHECK_U64(attr.config2, ==, UINT64_MAX & ~f.mask);
	CHECK_ERR(coati_pmu_field_set(&f, 0x200, &attr), -ERANGE);
	CHECK_U64(attr.config2, ==, UINT64_MAX & ~f.mask);
}

TEST(pmu_event_text_is_a_list_of_terms)
{
	const char *at = "event=0x3c,inv,core=?,ldlat=3\n";
	struct pmu_term t;

	CHECK_INT(coati_pmu_term_next(&at, &t), ==, 1);
	CHECK_STR(t.name, "event");
	CHECK_U64(t.value, ==, 0x3c);
	CHECK_INT(coati_pmu_term_next(&at, &t), ==, 1);
	CHECK_STR(t.name, "inv");
	CHECK_U64(t.value, ==, 1);
	CHECK_INT(coati_pmu_term_next(&at, &t), ==, 1);
	CHECK(t.open);
	CHECK_INT(coati_pmu_term_next(&at, &t), ==, 1);
	CHECK(!t.open);
	CHECK_U64(t.value, ==, 3);
	CHECK_INT(coati_pmu_term_next(&at, &t), ==, 0);
}

TEST(pmu_event_text_refuses_what_is_no_list_of_terms)
{
	static const char *const texts[] = {
		"=1",	  ",",	      "event=", "event=0x", "e=1,",
		"e=1,,f", "e=1\nf=2", "e=-1",	"e=1 ",	    "e=99999999999999999999999",
		"e=1,\n"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *at = texts[i];
		struct pmu_term t;
		int r;

		while ((r = coati_pmu_term_next(&at, &t)) > 0)
			continue;
		if (r != -EBADMSG)
			test_fail_at(__FILE__, __LINE__, "\"%s\" was taken", texts[i]);
	}
}

TEST(pmu_terms_fill_the_fields_of_the_format)
{
	struct coati_event_list *list = list_over_fake_sysfs();
	const struct coati_event_desc *d = add_one(
		list,
		"cpu/event=0x3c,umask=1,inv,cmask=16,ldlat=0x123,split=0x1a5,three=5,four=9/u");

	CHECK_INT(d->kind, ==, COATI_EVENT_PMU);
	CHECK_INT(d->attr.type, ==, 4);
	CHECK_U64(d->attr.config, ==, 0x3c | 1 << 8 | 1 << 23 | 16 << 24);
	CHECK_U64(d->attr.config1, ==, 0x123);
	CHECK_U64(d->attr.config2, ==, 0xa05 | UINT64_C(1) << 63);
	CHECK_U64(d->attr.config3, ==, 5 << 4);
	CHECK_U64(d->attr.config4, ==, 9);
	CHECK_U64(d->attr.flags, ==, COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV);
	CHECK_STR(d->cpus, "");
	CHECK_STR(d->name,
		  "cpu/event=0x3c,umask=1,inv,cmask=16,ldlat=0x123,split=0x1a5,three=5,four=9/u");
	coati_event_list_free(list);
}

TEST(pmu_named_events_can_be_refined_by_later_terms)
{
	struct coati_event_list *list = list_over_fake_sysfs();
	const struct coati_event_desc *d = add_one(list, "cpu/mem-loads,ldlat=30,period=7/pp");

	CHECK_U64(d->attr.config, ==, 0x1cd);
	CHECK_U64(d->attr.config1, ==, 30);
	CHECK_U64(d->attr.sample_period, ==, 7);
	CHECK_U64(d->attr.flags, ==, UINT64_C(2) << 15);
	d = add_one(list, "cpu/config=0x1234,config1=5,config2=6,config3=7,config4=8/");
	CHECK_U64(d->attr.config, ==, 0x1234);
	CHECK_U64(d->attr.config1, ==, 5);
	CHECK_U64(d->attr.config2, ==, 6);
	CHECK_U64(d->attr.config3, ==, 7);
	CHECK_U64(d->attr.config4, ==, 8);
	CHECK_U64(add_one(list, "cpu/raw=0x1a8/")->attr.config, ==, 0x1a8);
	CHECK_U64(add_one(list, "cpu/r1a8/")->attr.config, ==, 0x1a8);
	CHECK_U64(add_one(list, "cpu//")->attr.config, ==, 0);
	coati_event_list_free(list);
}

TEST(pmu_brings_scale_unit_cpus_and_marks)
{
	struct coati_event_list *list = list_over_fake_sysfs();
	const struct coati_event_desc *d = add_one(list, "power/energy-pkg/");

	CHECK_STR(d->unit, "Joules");
	CHECK(d->scale > 2.3283064365386e-10 && d->scale < 2.3283064365387e-10);
	CHECK_STR(d->cpus, "0");
	CHECK_INT(d->flags, ==, 0);
	d = add_one(list, "uncore_imc_0/cas_count_read/");
	CHECK_INT(d->flags, ==, COATI_DESC_PER_PKG);
	CHECK_STR(d->unit, "MiB");
	CHECK_STR(d->cpus, "0,18");
	CHECK_U64(d->attr.config, ==, 0x304);
	d = add_one(list, "uncore_imc_free_running_0/data_total/");
	CHECK_INT(d->flags, ==, COATI_DESC_SNAPSHOT);
	CHECK_STR(d->unit, "");
	coati_event_list_free(list);
}

TEST(pmu_name_without_number_stands_for_its_instances_in_order)
{
	struct coati_event_list *list = list_over_fake_sysfs();
	static const uint32_t types[] = { 20, 21, 22 };

	add_all(list, "uncore_imc/event=4/", 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct coati_event_desc *d = coati_event_list_get(list, i);

		CHECK_INT(d->attr.type, ==, types[i]);
		CHECK_STR(d->name, "uncore_imc/event=4/");
		CHECK_INT(d->flags, ==, i ? COATI_DESC_MORE : 0);
	}
	add_all(list, "imc/event=4/", 6);
	coati_event_list_free(list);
}

TEST(pmu_instances_that_lack_an_event_are_left_out)
{
	struct coati_event_list *list = list_over_fake_sysfs();

	add_all(list, "uncore_imc/cas_count_read/", 2);
	events_refused(list, "uncore_imc/cas_count_raed/", -ENOENT, 12, "cas_count_raed");
	coati_event_list_free(list);
}

TEST(pmu_glob_names_each_kind)
{
	struct coati_event_list *list = list_over_fake_sysfs();

	add_all(list, "uncore_*/event=1/k", 4);
	CHECK_STR(coati_event_list_get(list, 0)->name, "uncore_imc/event=1/k");
	CHECK_INT(coati_event_list_get(list, 2)->flags, ==, COATI_DESC_MORE | COATI_DESC_MODIFIED);
	CHECK_STR(coati_event_list_get(list, 3)->name, "uncore_imc_free_running/event=1/k");
	CHECK_INT(coati_event_list_get(list, 3)->flags, ==, COATI_DESC_MODIFIED);
	coati_event_list_free(list);
}

TEST(pmu_events_are_found_by_their_bare_name)
{
	struct coati_event_list *list = list_over_fake_sysfs();
	const struct coati_event_desc *d = add_one(list, "energy-pkg");

	CHECK_INT(d->attr.type, ==, 12);
	CHECK_STR(d->name, "energy-pkg");
	CHECK_STR(d->unit, "Joules");
	add_all(list, "cas_count_read", 3);
	CHECK_INT(coati_event_list_get(list, 2)->flags, ==, COATI_DESC_MORE);
	events_refused(list, "energy-pgk", -ENOENT, 1, "did you mean 'energy-pkg'?");
	coati_event_list_free(list);
}

TEST(pmu_errors_name_the_field_and_what_fits)
{
	struct coati_event_list *list = list_over_fake_sysfs();

	events_refused(list, "cpu/event=0x100/", -ERANGE, 11,
		       "0x100 is too large for field 'event' of PMU 'cpu': at most 0xff");
	events_refused(list, "cs,cpu/event=1,umask=256/", -ERANGE, 22, "'umask'");
	events_refused(list, "cpu/event/", -EINVAL, 5, "wants a value up to 0xff");
	events_refused(list, "cpu/event=many/", -EINVAL, 11, "wants a number, not 'many'");
	events_refused(list, "cpu/evemt=1/", -ENOENT, 5, "did you mean 'event'?");
	events_refused(list, "cpu/mem-laods/", -ENOENT, 5, "did you mean 'mem-loads'?");
	events_refused(list, "cpuu/event=1/", -ENOENT, 1, "did you mean 'cpu'?");
	events_refused(list, "nothing*/event=1/", -ENOENT, 1, "no PMU here matches");
	events_refused(list, "{uncore_imc/event=1/,cs}", -EINVAL, 2, "stands for 3 PMUs");
	events_refused(list, "uprobe/retprobe/", -EINVAL, 1, "uprobe:PATH:SYMBOL");
	events_refused(list, "tracepoint/config=3/", -EINVAL, 1, "SYSTEM:NAME");
	coati_event_list_free(list);
}

TEST(pmu_survives_malformed_files)
{
	struct coati_event_list *list = list_over_fake_sysfs();

	events_refused(list, "broken/bad=1/", -EBADMSG, 8, "field 'bad'");
	events_refused(list, "broken/toolarge/", -EBADMSG, 8, "contradicts itself");
	events_refused(list, "broken/garbage/", -EBADMSG, 8, "malformed");
	events_refused(list, "broken/alien/", -EBADMSG, 8, "contradicts itself");
	events_refused(list, "broken/badscale/", -EBADMSG, 8, "unreadable file");
	events_refused(list, "broken/open/", -EINVAL, 8, "wants a value for 'core'");
	events_refused(list, "typeless/event=1/", -ENOENT, 1, "'typeless'");
	CHECK_U64(add_one(list, "broken/open,core=3/")->attr.config, ==, 0x30001);
	events_refused(list, "cpu/../", -ENOENT, 5, "..");
	events_refused(list, "cpu/energy-pkg.scale/", -ENOENT, 5, "energy-pkg.scale");
	events_refused(list, "power/energy-pkg.scale/", -ENOENT, 7, "energy-pkg");
	coati_event_list_free(list);
}

TEST(pmu_hybrid_machines_count_on_every_kind_of_core)
{
	struct coati_event_list *list;
	const struct coati_event_desc *d;

	CHECK_OK(fake_sysfs_hybrid("sys"));
	list = events_new("sys", NULL);
	add_all(list, "cycles:u,r1a8,cs", 5);
	d = coati_event_list_get(list, 0);
	CHECK_STR(d->name, "cpu_atom/cycles/u");
	CHECK_U64(d->attr.config, ==, UINT64_C(10) << 32);
	CHECK_INT(d->attr.type, ==, COATI_TYPE_HARDWARE);
	CHECK_STR(d->cpus, "16-23");
	CHECK_INT(d->flags, ==, COATI_DESC_CORE | COATI_DESC_MODIFIED);
	d = coati_event_list_get(list, 1);
	CHECK_STR(d->name, "cpu_core/cycles/u");
	CHECK_U64(d->attr.config, ==, UINT64_C(4) << 32);
	CHECK_STR(d->cpus, "0-15");
	d = coati_event_list_get(list, 2);
	CHECK_INT(d->attr.type, ==, 10);
	CHECK_U64(d->attr.config, ==, 0x1a8);
	CHECK_INT(coati_event_list_get(list, 4)->kind, ==, COATI_EVENT_SOFTWARE);
	events_refused(list, "{cycles,cs}", -EINVAL, 2, "cpu_atom/cycles/");
	add_all(list, "{cpu_core/cycles/,cpu_core/LLC-loads/}", 7);
	d = coati_event_list_get(list, 6);
	CHECK_INT(d->attr.type, ==, COATI_TYPE_HW_CACHE);
	coati_event_list_free(list);
}

TEST(pmu_core_takes_names_that_every_kernel_knows)
{
	struct coati_event_list *list = list_over_fake_sysfs();
	const struct coati_event_desc *d = add_one(list, "cpu/branch-misses/");

	CHECK_INT(d->attr.type, ==, COATI_TYPE_HARDWARE);
	CHECK_U64(d->attr.config, ==, COATI_HW_BRANCH_MISSES);
	d = add_one(list, "cpu/cpu-cycles/");
	CHECK_INT(d->attr.type, ==, 4); /* sysfs knows it: its word goes first */
	CHECK_U64(d->attr.config, ==, 0x3c);
	coati_event_list_free(list);
}

TEST(pmu_every_failing_allocation_leaves_the_list_as_it_was)
{
	struct coati_event_list *list = list_over_fake_sysfs();
	struct coati_error err;
	uint64_t n = 0;
	int r;

	do {
		coati_alloc_fail_after(n++);
		r = coati_event_list_add(list, "uncore_*/event=1/,energy-pkg,cycles,cpu/mem-loads/",
					 &err);
		coati_alloc_fail_after(UINT64_MAX);
		if (r < 0) {
			CHECK_ERR(r, -ENOMEM);
			CHECK_INT(coati_event_list_count(list), ==, 0);
		}
	} while (r < 0);
	CHECK_U64(n, >, 10);
	coati_event_list_free(list);
}

TEST(pmu_stem_drops_numbers_and_addresses)
{
	CHECK_U64(coati_pmu_stem("uncore_imc_3"), ==, 10);
	CHECK_U64(coati_pmu_stem("uncore_imc_free_running_0"), ==, 23);
	CHECK_U64(coati_pmu_stem("smmuv3_pmcg_2b442"), ==, 11);
	CHECK_U64(coati_pmu_stem("hisi_sccl1_ddrc0"), ==, 15);
	CHECK_U64(coati_pmu_stem("cpu_core"), ==, 8);
	CHECK_U64(coati_pmu_stem("cpu"), ==, 3);
	CHECK_U64(coati_pmu_stem("123"), ==, 3);
}

TEST(glob_matches_in_bounded_time)
{
	char text[200], pattern[100];

	CHECK(coati_glob_match("sched_*", "sched_switch"));
	CHECK(coati_glob_match("*", ""));
	CHECK(coati_glob_match("s?hed*[a-c]x", "sched_switchbx"));
	CHECK(coati_glob_match("[!a]b", "cb"));
	CHECK(!coati_glob_match("[!a]b", "ab"));
	CHECK(coati_glob_match("[]x]", "]"));
	CHECK(coati_glob_match("[a-]", "-"));
	CHECK(coati_glob_match("[ab", "[ab"));
	CHECK(!coati_glob_match("sched", "sched_switch"));
	CHECK(!coati_glob_match("", "a"));
	CHECK(!coati_glob_match("a?", "a"));
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i < sizeof(pattern) - 2; i += 2)
		memcpy(pattern + i, "*a", 3);
	memcpy(pattern + sizeof(pattern) - 3, "b", 2);
	/* would not end in our lifetime if every star were tried again */
	CHECK(!coati_glob_match(pattern, text));
}
