/* SPDX-License-Identifier: MIT */
/* The data quality of profiles: losses, throttling, coverage, and what the recorder reports about
 * stacks. */
#include "lib/test.h"

#include <string.h>

#include "reading/hooks.h"
#include "reading/parts.h"
#include "recording/recording.h"
#include "recording/writer.h"
#include "unit/profile-tape.h"

/* Four complete chains, and a recorder section of @text. */
static void write_account(const char *path, const char *text)
{
	struct tape t;

	tape_program();
	tape_open(&t, path);
	tape_process(&t, 10, "app");
	for (uint32_t i = 0; i < 4; i++)
		tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF, TAPE_MAIN) });
	CHECK_OK(coati_writer_feature(t.writer, COATI_FEATURE_RECORDER, text, strlen(text)));
	tape_close(&t);
}

TEST(profile_believes_the_recorder_about_stacks_that_it_unwound)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;

	write_account("a", "samples=4\nstacks_guessed=9\nstacks_end=2\nstacks_gap=1\n"
			   "stacks_truncated=1\nstacks_bad=0\n");
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.gap, ==, 1);
	CHECK_U64(q.truncated, ==, 1);
	CHECK_U64(q.guessed, ==, 2);
	CHECK_U64(q.complete, ==, 0);
	CHECK(!coati_profile_note(p, 0));
	coati_profile_free(&p);
}

TEST(profile_does_not_pin_the_account_of_several_files_on_one)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;

	write_account("a", "samples=5\nstacks_end=2\nstacks_truncated=3\n");
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	/* it is unknown which of them are complete */
	CHECK_U64(q.complete, ==, 0);
	CHECK_U64(q.unrooted, ==, 4);
	CHECK(strstr(coati_profile_note(p, 0), "3 are truncated"));
	coati_profile_free(&p);
}

/* Filtered, the figures of all of them say nothing about those that are left: their roots do. */
TEST(profile_does_not_pin_the_account_of_all_samples_on_some)
{
	static const struct coati_filter f = { .size = sizeof(f), .time = "0-1us" };
	struct coati_profile_opts o = { .size = sizeof(o), .filter = &f };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;

	write_account("a", "samples=4\nstacks_end=3\nstacks_gap=1\n");
	p = tape_read(&o, (const char *const[]){ "a", NULL });
	coati_profile_quality(p, &q);
	CHECK_U64(q.samples, ==, 2);
	CHECK_U64(q.filtered, ==, 2);
	CHECK_U64(q.gap, ==, 0);
	CHECK_U64(q.unrooted, ==, 2);
	CHECK(strstr(coati_profile_note(p, 0), "1 have a gap"));
	coati_profile_free(&p);
}

/* Chains that say themselves how they ended: the recorder's figures are not added, but they tell
 * whether all stacks are its own. */
TEST(profile_believes_chains_that_say_how_they_ended)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;

	write_account("a", "samples=4\nstacks_marked=1\nstacks_end=2\nstacks_gap=1\n"
			   "stacks_guessed=1\nstacks_truncated=1\n");
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.complete, ==, 4);
	CHECK_U64(q.gap + q.truncated + q.guessed + q.unrooted, ==, 0);
	CHECK(!coati_profile_note(p, 0));
	coati_profile_free(&p);
	/* one is the kernel's, and which one is unknown */
	write_account("a", "samples=4\nstacks_marked=1\nstacks_end=2\nstacks_gap=1\n");
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.complete, ==, 0);
	CHECK_U64(q.gap + q.truncated + q.guessed, ==, 0);
	CHECK_U64(q.unrooted, ==, 4);
	CHECK(!coati_profile_note(p, 0));
	coati_profile_free(&p);
}

TEST(profile_counts_places_and_those_without_a_name)
{
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_close(&t);
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.samples, ==, 0);
	CHECK_U64(q.locations, ==, 0);
	CHECK_U64(q.nameless, ==, 0);
	CHECK_U64(q.first_time, ==, 0);
	CHECK_U64(q.last_time, ==, 0);
	coati_profile_free(&p);
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){ .pid = 10,
					   .time = UINT64_C(5000000000),
					   TAPE_STACK(TAPE_LEAF, TAPE_WORK, TAPE_MAIN) });
	/* where nothing is mapped: two places, in three samples */
	tape_put(&t, (struct tape_sample){ .pid = 10,
					   .time = UINT64_C(6000000000),
					   TAPE_STACK(0x500100, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = 10,
					   .time = UINT64_C(7000000000),
					   TAPE_STACK(0x500100, TAPE_WORK, TAPE_MAIN) });
	tape_put(&t, (struct tape_sample){ .pid = 10,
					   .time = UINT64_C(9000000000),
					   TAPE_STACK(TAPE_LEAF, 0x500201, TAPE_MAIN) });
	tape_close(&t);
	p = tape_profile("a");
	v = tape_view(p, NULL); /* from here on there are names */
	coati_profile_quality(p, &q);
	CHECK_U64(q.samples, ==, 4);
	CHECK_U64(q.locations, ==, 5);
	CHECK_U64(q.nameless, ==, 2);
	CHECK_U64(q.unsymbolized, ==, 2); /* samples whose innermost frame is such a place */
	CHECK_U64(q.first_time, ==, UINT64_C(5000000000));
	CHECK_U64(q.last_time, ==, UINT64_C(9000000000));
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(profile_counts_what_was_lost_and_throttled)
{
	struct coati_record lost = { .type = COATI_RECORD_LOST,
				     .u.lost = { .id = 100, .lost = 7 } };
	struct coati_record samples = { .type = COATI_RECORD_LOST_SAMPLES, .u.lost_samples = 5 };
	struct coati_record throttle = { .type = COATI_RECORD_THROTTLE };
	struct coati_profile_quality q = { .size = sizeof(q) };
	struct coati_profile *p;
	struct tape t;

	tape_program();
	tape_open(&t, "a");
	tape_process(&t, 10, "app");
	tape_record(&t, &lost);
	tape_record(&t, &samples);
	throttle.u.throttle = (struct coati_throttle){ .time = t.time, .id = 100 };
	tape_record(&t, &throttle);
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF) });
	CHECK_OK(coati_writer_feature(t.writer, COATI_FEATURE_RECORDER,
				      "samples=1\ncpu_ns=123456\nx=1\n", 29));
	tape_close(&t);
	p = tape_profile("a");
	coati_profile_quality(p, &q);
	CHECK_U64(q.lost, ==, 7);
	CHECK_U64(q.throttled, ==, 1);
	CHECK_U64(q.samples, ==, 1);
	CHECK_U64(q.recorder_cpu_ns, ==, 123456);
	CHECK_U64(q.files, ==, 1);
	coati_profile_free(&p);
}

/* With each sample a ring loses the walker's report of its stack, which is no sample: 1007 records
 * are 503 samples and as many reports, and a record of another event that is in nobody's count. */
TEST(profile_counts_lost_samples_and_not_the_reports_of_the_walker)
{
	static const struct {
		const char *account;
		uint64_t expected;
	} rows[] = {
		{ "lost=503\nlost_exact=1\nwalks=20\n", 503 },
		{ "lost=503\nlost_exact=1\nwalks=0\n", 503 },
		{ "lost=1007\nlost_exact=0\nwalks=20\n", 1007 },
		{ "lost=1007\nlost_exact=1\n", 1007 },
	};
	struct coati_record lost = { .type = COATI_RECORD_LOST,
				     .u.lost = { .id = 100, .lost = 1007 } };
	struct coati_record samples = { .type = COATI_RECORD_LOST_SAMPLES, .u.lost_samples = 503 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct coati_profile_quality q = { .size = sizeof(q) };
		struct coati_profile *p;
		struct tape t;

		tape_program();
		tape_open(&t, "a");
		tape_process(&t, 10, "app");
		tape_record(&t, &lost);
		tape_record(&t, &samples);
		tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF) });
		CHECK_OK(coati_writer_feature(t.writer, COATI_FEATURE_RECORDER, rows[i].account,
					      strlen(rows[i].account)));
		tape_close(&t);
		p = tape_profile("a");
		coati_profile_quality(p, &q);
		CHECK_U64(q.lost, ==, rows[i].expected);
		coati_profile_free(&p);
	}
}

/* A recording with one sample whose recorder says @account. */
static void write_coverage(const char *path, const char *account)
{
	struct tape t;

	tape_program();
	tape_open(&t, path);
	tape_process(&t, 10, "app");
	tape_put(&t, (struct tape_sample){ .pid = 10, TAPE_STACK(TAPE_LEAF) });
	CHECK_OK(coati_writer_feature(t.writer, COATI_FEATURE_RECORDER, account, strlen(account)));
	tape_close(&t);
}

static struct coati_profile_quality quality_of(const char *const *paths, char *text, size_t size)
{
	struct coati_profile *p = tape_read(NULL, paths);
	struct coati_profile_quality q = { .size = sizeof(q) };

	coati_profile_quality(p, &q);
	coati_profile_quality_format(&q, text, size);
	coati_profile_free(&p);
	q.sampled_event = NULL; /* it was the profile's */
	return q;
}

TEST(profile_says_how_much_of_the_cpu_time_has_samples)
{
	static const char loop[] = "sampled_event=0\nsampled=80\nsampled_period=10\ncounted=1000\n"
				   "sampled_part=0\nexits=1501\n";
	struct coati_profile_quality q = { .size = sizeof(q) };
	char text[512];

	write_coverage("a", loop);
	q = quality_of((const char *const[]){ "a", NULL }, text, sizeof(text));
	CHECK_U64(q.sampled, ==, 80);
	CHECK_U64(q.counted, ==, 1000);
	CHECK_U64(q.exits, ==, 1501);
	CHECK_U64(q.sampled_period, ==, 10);
	CHECK(coati_profile_sampled(&q) == 0.08);
	CHECK(strstr(text, "0 lost, 0 throttled, sampled 8 % of CPU time; "));
	/* files are added up; one that does not say it makes it unknown, whatever comes first */
	write_coverage("b", "sampled_event=0\nsampled=1000\ncounted=1000\n");
	q = quality_of((const char *const[]){ "a", "b", NULL }, text, sizeof(text));
	CHECK(strstr(text, "sampled 54 % of CPU time"));
	write_coverage("c", "samples=1\n");
	for (int i = 0; i < 2; i++) {
		q = quality_of((const char *const[]){ i ? "c" : "a", i ? "a" : "c", "b", NULL },
			       text, sizeof(text));
		CHECK(coati_profile_sampled(&q) < 0);
		CHECK(!strstr(text, "sampled"));
	}
}

TEST(profile_takes_no_impossible_coverage)
{
	static const struct {
		const char *account;
		double share; /* negative: not known */
	} cases[] = {
		{ "sampled_event=99\nsampled=5\ncounted=10\n", -1 },
		{ "sampled=5\ncounted=10\n", -1 },
		{ "sampled_event=0\nsampled=5\ncounted=0\n", -1 },
		{ "sampled_event=0\nsampled=5\ncounted=x\n", -1 },
		{ "sampled_event=18446744073709551615\nsampled=5\ncounted=10\n", -1 },
		{ "sampled_event=0\nsampled=20\ncounted=10\n", 1 },
		{ "sampled_event=0\nsampled=18446744073709551615\ncounted=18446744073709551615\n",
		  1 },
	};
	struct coati_profile_quality q = { .size = sizeof(q) };
	char text[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		write_coverage("a", cases[i].account);
		q = quality_of((const char *const[]){ "a", NULL }, text, sizeof(text));
		CHECK(coati_profile_sampled(&q) == cases[i].share);
	}
}
