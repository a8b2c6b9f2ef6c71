/* SPDX-License-Identifier: MIT */
/* Ids of stacks and label sets: stored by servers, so that they must stay as they are. */
#include "lib/test.h"

#include <string.h>

#include "agent/window.h"

static const struct agent_frame frames[] = {
	{ .function = "leaf",
	  .image = "app",
	  .path = "/bin/app",
	  .file = "a.c",
	  .line = 7,
	  .build_id_size = 2,
	  .build_id = { 0xde, 0xad },
	  .address = 0x1010 },
	{ .function = "main", .image = "app", .path = "/bin/app", .file = "", .address = 0x1020 },
};
static const uint32_t both[] = { 0, 1 }, turned[] = { 1, 0 };

static struct agent_id id_of(const uint32_t *v, uint32_t nr, const struct agent_frame *table)
{
	const struct agent_stack s = { .frames = v, .nr = nr };

	return coati_agent_stack_id(&s, table);
}

static bool is_same(struct agent_id a, struct agent_id b)
{
	return a.high == b.high && a.low == b.low;
}

TEST(agent_stack_ids_are_those_of_version_1)
{
	struct agent_id id = id_of(both, 2, frames);

	CHECK_U64(id.high, ==, UINT64_C(0xefc9d510cd854d58));
	CHECK_U64(id.low, ==, UINT64_C(0x448bf7cac62f8de4));
}

TEST(agent_stack_ids_differ_by_each_field_of_a_frame)
{
	struct agent_id id = id_of(both, 2, frames);
	struct agent_frame f[2];

	CHECK(!is_same(id, id_of(turned, 2, frames)));
	CHECK(!is_same(id, id_of(both, 1, frames)));
	for (int i = 0; i < 8; i++) {
		memcpy(f, frames, sizeof(f));
		switch (i) {
		case 0:
			f[1].function = "mai";
			break;
		case 1:
			f[1].image = "ap";
			break;
		case 2:
			f[1].path = "/bin/ap";
			break;
		case 3:
			f[1].file = "b";
			break;
		case 4:
			f[1].line = 1;
			break;
		case 5:
			f[0].build_id_size = 1;
			break;
		case 6:
			f[1].address++;
			break;
		default:
			f[1].kind = AGENT_FRAME_KERNEL;
		}
		CHECK(!is_same(id, id_of(both, 2, f)));
	}
}

TEST(agent_label_ids_keep_keys_and_values_apart)
{
	const struct coati_label a[] = { { "ab", "c" } }, b[] = { { "a", "bc" } };

	CHECK(!is_same(coati_agent_labels_id(a, 1), coati_agent_labels_id(b, 1)));
	CHECK(is_same(coati_agent_labels_id(a, 1), coati_agent_labels_id(a, 1)));
	CHECK_U64(coati_agent_labels_id(NULL, 0).low, ==, 0);
	CHECK_U64(coati_agent_labels_id(NULL, 0).high, ==, 0);
}

/* Each bit of the id flips with a probability of one half when an address changes by one. */
TEST(agent_stack_ids_spread_over_all_bits)
{
	struct agent_frame f[2];
	uint32_t ones[128] = { 0 };

	memcpy(f, frames, sizeof(f));
	for (uint64_t i = 0; i < 4096; i++) {
		struct agent_id id;

		f[0].address = 0x1000 + i;
		id = id_of(both, 2, f);
		for (uint32_t bit = 0; bit < 64; bit++) {
			ones[bit] += (uint32_t)(id.low >> bit & 1);
			ones[64 + bit] += (uint32_t)(id.high >> bit & 1);
		}
	}
	/* 2048 expected, deviation 32: six of them for all of 128 bits */
	for (uint32_t bit = 0; bit < 128; bit++) {
		CHECK_U64(ones[bit], >, 2048 - 192);
		CHECK_U64(ones[bit], <, 2048 + 192);
	}
}
