/* SPDX-License-Identifier: MIT */
/* Samples that are written anew with a call chain: what cannot be is dropped and counted,
 * everything else stays as it is. */
#include "lib/test.h"

#include <string.h>

#include "capture/attr.h"
#include "capture/stacks.h"

#define ID 7u

static const struct coati_attr opened = {
	.type = COATI_TYPE_SOFTWARE,
	.config = COATI_SW_CPU_CLOCK,
	.sample_type = CAPTURE_IDENTITY | COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_REGS_USER |
		       COATI_SAMPLE_STACK_USER,
	.sample_regs_user = 0xff,
	.sample_stack_user = 4096,
	.flags = COATI_ATTR_SAMPLE_ID_ALL,
};

static struct coati_images *images;

static struct stacks *open_stacks(void)
{
	struct stacks *st = NULL;

	CHECK_OK(coati_images_new(NULL, &images, NULL));
	CHECK_OK(coati_stacks_new(images, NULL, &st, NULL));
	CHECK_OK(coati_stacks_add(st, ID, &opened, STACKS_OF_SAMPLES));
	return st;
}

/* A sample of @id whose words from the id on are @words. */
static size_t put_sample(uint8_t *buf, uint64_t id, const uint64_t *words, size_t nr)
{
	struct {
		uint32_t type;
		uint16_t misc, size;
	} head = { COATI_RECORD_SAMPLE, COATI_MISC_USER, (uint16_t)(16 + 8 * nr) };

	memcpy(buf, &head, sizeof(head));
	memcpy(buf + CAPTURE_ID_AT, &id, sizeof(id));
	memcpy(buf + 16, words, 8 * nr);
	return head.size;
}

static uint64_t dropped(const struct stacks *st)
{
	struct stacks_counts c;

	coati_stacks_get_counts(st, &c);
	return c.dropped;
}

TEST(stacks_drop_and_count_a_sample_that_cannot_be_read)
{
	/* ip, tid, time, cpu, and a chain that is longer than the record */
	static const uint64_t words[] = { 1, 2, 3, 4, 1000 };
	uint8_t in[256], out[STACKS_RECORD_MAX];
	struct stacks *st = open_stacks();

	put_sample(in, ID, words, 5);
	CHECK_U64(coati_stacks_rewrite(st, in, out), ==, 0);
	CHECK_U64(dropped(st), ==, 1);
	coati_stacks_free(&st);
	coati_images_free(&images);
}

TEST(stacks_write_a_sample_without_registers_with_its_chain)
{
	/* an empty chain, no registers, no stack */
	static const uint64_t words[] = { 0x1000, 2, 3, 4, 0, 0, 0 };
	uint8_t in[256], out[STACKS_RECORD_MAX];
	struct stacks *st = open_stacks();

	put_sample(in, ID, words, 7);
	CHECK_U64(coati_stacks_rewrite(st, in, out), >, 0);
	CHECK_U64(dropped(st), ==, 0);
	coati_stacks_free(&st);
	coati_images_free(&images);
}

TEST(stacks_leave_samples_of_other_events_alone)
{
	static const uint64_t words[] = { 1, 2, 3, 4, 1000 };
	uint8_t in[256], out[STACKS_RECORD_MAX];
	struct stacks *st = open_stacks();
	size_t size = put_sample(in, ID + 1, words, 5);

	CHECK_U64(coati_stacks_rewrite(st, in, out), ==, size);
	CHECK_MEM(out, in, size);
	CHECK_U64(dropped(st), ==, 0);
	coati_stacks_free(&st);
	coati_images_free(&images);
}
