/* SPDX-License-Identifier: MIT */
/* How much of what an event counted has samples: sums of periods, of counts, and the event that
 * tells it. */
#include "lib/test.h"

#include <errno.h>

#include <coati/record.h>

#include "base/alloc.h"
#include "base/writer.h"
#include "capture/attr.h"
#include "capture/coverage.h"

static const struct coati_attr clock_attr = {
	.type = COATI_TYPE_SOFTWARE,
	.config = COATI_SW_CPU_CLOCK,
	.sample_period = 1000,
	.sample_type = CAPTURE_IDENTITY | COATI_SAMPLE_PERIOD,
	.flags = COATI_ATTR_FREQ,
};
static const struct coati_attr cycles_attr = {
	.type = COATI_TYPE_HARDWARE,
	.sample_period = 1000,
	.sample_type = CAPTURE_IDENTITY | COATI_SAMPLE_ADDR | COATI_SAMPLE_PERIOD,
	.flags = COATI_ATTR_FREQ,
};
static const struct coati_attr faults_attr = {
	.type = COATI_TYPE_SOFTWARE,
	.config = COATI_SW_PAGE_FAULTS,
	.sample_period = 7,
	.sample_type = CAPTURE_IDENTITY,
};

/* A sample of @words words behind the identity, the last of which is the period. */
static size_t put_sample(uint8_t *buf, uint64_t id, uint32_t words, uint64_t period)
{
	struct writer w = writer_over(buf, 128);
	uint16_t size = (uint16_t)(CAPTURE_TIME_AT + 16 + 8 * words);

	writer_u32(&w, COATI_RECORD_SAMPLE);
	writer_u16(&w, 0);
	writer_u16(&w, size);
	writer_u64(&w, id);
	writer_zeros(&w, 24);	     /* ip, tid, time */
	writer_zeros(&w, 8 * words); /* address, CPU */
	writer_u64(&w, period);
	return size;
}

static void sample(struct coverage *c, uint64_t id, uint32_t words, uint64_t period)
{
	uint8_t buf[128];

	coati_coverage_sample(c, buf, put_sample(buf, id, words, period));
}

static void count(struct coverage *c, uint32_t event, uint64_t value)
{
	coati_coverage_count(c, event, &value);
}

TEST(coverage_adds_up_the_periods_of_all_ids_of_an_event)
{
	const struct coati_attr attrs[] = { faults_attr, cycles_attr, clock_attr };
	struct coverage c = { 0 };

	CHECK_INT(coati_coverage_init(&c, 3), ==, 0);
	for (uint32_t i = 0; i < 3; i++)
		for (uint64_t cpu = 0; cpu < 2; cpu++)
			CHECK_INT(coati_coverage_add(&c, i, 10 * i + cpu, &attrs[i]), ==, 0);
	sample(&c, 20, 1, 1000000);
	sample(&c, 21, 1, 1000000);
	sample(&c, 10, 2, 12345); /* its period is one word further */
	sample(&c, 1, 0, 999);	  /* it has no period of its own: 7 */
	sample(&c, 77, 1, 5);	  /* nobody's */
	coati_coverage_restart(&c);
	count(&c, 2, 5000000);
	count(&c, 2, 3000000);
	count(&c, 0, 100);
	CHECK_INT((int)coati_coverage_lead(&c, attrs), ==, 2); /* the clock */
	CHECK_U64(c.v[2].sampled, ==, 2000000);
	CHECK_U64(c.v[2].counted, ==, 8000000);
	CHECK_U64(c.v[1].sampled, ==, 12345);
	CHECK_U64(c.v[0].sampled, ==, 7);
	CHECK_U64(coati_coverage_period(&c.v[2], &attrs[2]), ==, 1000000);
	/* a second reading does not count twice */
	coati_coverage_restart(&c);
	count(&c, 2, 9000000);
	CHECK_U64(c.v[2].counted, ==, 9000000);
	coati_coverage_fini(&c);
}

TEST(coverage_is_not_known_of_an_event_that_cannot_be_read)
{
	const struct coati_attr attrs[] = { clock_attr, cycles_attr };
	struct coverage c = { 0 };

	CHECK_OK(coati_coverage_init(&c, 2));
	CHECK_OK(coati_coverage_add(&c, 0, 1, &attrs[0]));
	CHECK_OK(coati_coverage_add(&c, 1, 2, &attrs[1]));
	coati_coverage_count(&c, 0, NULL);
	count(&c, 1, 10);
	CHECK_INT((int)coati_coverage_lead(&c, attrs), ==, 1);
	coati_coverage_count(&c, 1, NULL);
	CHECK_U64(coati_coverage_lead(&c, attrs), ==, COVERAGE_NONE);
	coati_coverage_fini(&c);
}

TEST(coverage_leaves_out_what_is_overwritten_and_what_a_leader_samples)
{
	struct coati_attr attrs[] = { clock_attr, clock_attr };
	struct coverage c = { 0 };

	attrs[0].flags |= COATI_ATTR_WRITE_BACKWARD;
	attrs[1].sample_period = 0;
	CHECK_OK(coati_coverage_init(&c, 2));
	CHECK_OK(coati_coverage_add(&c, 0, 1, &attrs[0]));
	CHECK_OK(coati_coverage_add(&c, 1, 2, &attrs[1]));
	CHECK_U64(coati_coverage_lead(&c, attrs), ==, COVERAGE_NONE);
	coati_coverage_fini(&c);
}

TEST(coverage_never_reads_behind_a_short_sample)
{
	struct coverage c = { 0 };
	uint8_t buf[128];

	CHECK_OK(coati_coverage_init(&c, 1));
	CHECK_OK(coati_coverage_add(&c, 0, 1, &clock_attr));
	put_sample(buf, 1, 1, 5);
	for (size_t size = CAPTURE_TIME_AT + 8; size < CAPTURE_TIME_AT + 24; size++)
		coati_coverage_sample(&c, buf, size);
	CHECK_U64(c.v[0].sampled, ==, 0);
	coati_coverage_sample(&c, buf, CAPTURE_TIME_AT + 24);
	CHECK_U64(c.v[0].sampled, ==, 5);
	coati_coverage_fini(&c);
}

TEST(coverage_knows_the_period_of_a_clock_without_samples)
{
	const struct coverage_event none = { 0 };
	struct coati_attr every = clock_attr;

	CHECK_U64(coati_coverage_period(&none, &clock_attr), ==, 1000000);
	CHECK_U64(coati_coverage_period(&none, &cycles_attr), ==, 0);
	every.flags = COATI_ATTR_EXCLUDE_KERNEL;
	every.sample_period = 250000;
	CHECK_U64(coati_coverage_period(&none, &every), ==, 250000);
	CHECK(coati_coverage_is_partial(&every));
	CHECK(!coati_coverage_is_partial(&clock_attr));
}

TEST(coverage_without_memory_says_so_and_follows_nothing)
{
	struct coverage c = { 0 };

	coati_alloc_fail_after(0);
	CHECK_ERR(coati_coverage_init(&c, 1), -ENOMEM);
	CHECK_U64(c.nr, ==, 0);
	CHECK_INT(coati_coverage_add(&c, 0, 1, &clock_attr), ==, 0);
	coati_coverage_fini(&c);
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_INT(coati_coverage_init(&c, 1), ==, 0);
	coati_alloc_fail_after(0);
	CHECK_ERR(coati_coverage_add(&c, 0, 1, &clock_attr), -ENOMEM);
	coati_alloc_fail_after(UINT64_MAX);
	coati_coverage_fini(&c);
	CHECK(!c.v);
	CHECK_U64(c.nr, ==, 0);
	coati_coverage_fini(&c);
}
