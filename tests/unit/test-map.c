/* SPDX-License-Identifier: MIT */
/* Hash maps: against a plain model, with collisions, at the ceiling, without memory. */
#include "lib/test.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/map.h"

#define NR_KEYS 512

struct model {
	bool there[NR_KEYS];
	uint64_t value[NR_KEYS];
	size_t len;
};

static void check_same(const struct map *m, const struct model *model)
{
	uint64_t key, value;
	size_t pos = 0, seen = 0;

	CHECK_U64(m->len, ==, model->len);
	while (coati_map_next(m, &pos, &key, &value)) {
		CHECK_U64(key, <, NR_KEYS);
		CHECK(model->there[key]);
		CHECK_U64(value, ==, model->value[key]);
		seen++;
	}
	CHECK_U64(seen, ==, model->len);
}

static void change_both(struct map *m, struct model *model, uint64_t key, uint64_t op)
{
	uint64_t value = test_random(), got = 0;
	bool there = model->there[key];

	switch (op) {
	case 0:
		CHECK_INT(coati_map_put(m, key, value), ==, !there);
		model->len += !there;
		model->there[key] = true;
		model->value[key] = value;
		break;
	case 1:
		CHECK_INT(coati_map_del(m, key), ==, there);
		model->len -= there;
		model->there[key] = false;
		break;
	default:
		CHECK_INT(coati_map_get(m, key, &got), ==, there);
		CHECK_U64(got, ==, there ? model->value[key] : 0);
	}
}

static void compare_with_model(uint64_t nr_keys, int nr_operations)
{
	static struct model model;
	struct map m;

	coati_map_init(&m, nr_keys);
	for (int i = 0; i < nr_operations; i++) {
		/* phases of growth and of decay; few keys, so that all are met often */
		uint64_t grow = i / 5000 % 2, r = test_random() % 8;
		uint64_t op = grow ? r / 4 : r < 2 ? 0 : r / 4 + 1;

		change_both(&m, &model, test_random() % nr_keys, op);
		if (i % 1000 == 0)
			check_same(&m, &model);
	}
	check_same(&m, &model);
	coati_map_fini(&m);
}

TEST(map_behaves_as_a_plain_table_over_100000_random_operations)
{
	compare_with_model(NR_KEYS, 100000);
}

/* Full to the brim with 16 slots: nearly every chain runs around the end. */
TEST(map_behaves_as_a_plain_table_when_it_is_small_and_full)
{
	compare_with_model(12, 100000);
}

/* Keys whose probes start in the last of 16 slots and so run around the end. */
static void colliding_keys(const struct map *m, uint64_t *keys, size_t count)
{
	uint64_t key = 0;

	for (size_t i = 0; i < count; key++)
		if (coati_hash_u64(key, m->seed) % 16 == 15)
			keys[i++] = key;
}

TEST(map_finds_colliding_keys_after_deleting_any_of_them)
{
	for (size_t gone = 0; gone < 10; gone++) {
		uint64_t keys[10], value;
		struct map m;

		coati_map_init(&m, 100);
		colliding_keys(&m, keys, 10);
		for (size_t i = 0; i < 10; i++)
			CHECK_INT(coati_map_put(&m, keys[i], i), ==, 1);
		CHECK_U64(m.cap, ==, 16);
		CHECK(coati_map_del(&m, keys[gone]));
		for (size_t i = 0; i < 10; i++) {
			CHECK_INT(coati_map_get(&m, keys[i], &value), ==, i != gone);
			CHECK(i == gone || value == i);
		}
		CHECK(!coati_map_del(&m, keys[gone]));
		CHECK_INT(coati_map_put(&m, keys[gone], gone), ==, 1);
		CHECK(coati_map_get(&m, keys[gone], &value));
		coati_map_fini(&m);
	}
}

TEST(map_holds_exactly_its_ceiling)
{
	for (size_t max = 0; max < 100; max++) {
		uint64_t value = 77;
		struct map m;

		coati_map_init(&m, max);
		for (uint64_t i = 0; i < max; i++)
			CHECK_INT(coati_map_put(&m, i, i), ==, 1);
		CHECK_ERR(coati_map_put(&m, max, 0), -E2BIG);
		CHECK(!coati_map_get(&m, max, &value));
		CHECK_U64(value, ==, 77);
		/* a full map still replaces */
		if (max)
			CHECK_INT(coati_map_put(&m, 0, 5), ==, 0);
		coati_map_fini(&m);
	}
}

TEST(map_survives_each_failing_allocation)
{
	for (uint64_t n = 0; n < 5; n++) {
		uint64_t value, key = 0;
		struct map m;
		int r;

		coati_map_init(&m, 100000);
		coati_alloc_fail_after(n);
		while ((r = coati_map_put(&m, key, ~key)) == 1)
			key++;
		coati_alloc_fail_after(UINT64_MAX);
		CHECK_ERR(r, -ENOMEM);
		CHECK_U64(m.len, ==, key);
		for (uint64_t i = 0; i < key; i++)
			CHECK(coati_map_get(&m, i, &value) && value == ~i);
		CHECK_INT(coati_map_put(&m, key, 0), ==, 1);
		coati_map_fini(&m);
	}
}

TEST(map_takes_every_kind_of_number_as_key)
{
	static const uint64_t keys[] = { 0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63 };
	uint64_t value;
	struct map m;

	coati_map_init(&m, 10);
	for (size_t i = 0; i < 5; i++)
		CHECK_INT(coati_map_put(&m, keys[i], i), ==, 1);
	for (size_t i = 0; i < 5; i++)
		CHECK(coati_map_get(&m, keys[i], &value) && value == i);
	coati_map_fini(&m);
	CHECK(!coati_map_get(&m, 0, &value));
	CHECK(!coati_map_del(&m, 0));
}

TEST(map_of_strings_compares_text_not_addresses)
{
	char one[] = "cycles", two[] = "cycles";
	uint64_t value, key;
	size_t pos = 0;
	struct map m;

	coati_map_init_strings(&m, 10);
	CHECK_INT(coati_map_put_str(&m, one, 1), ==, 1);
	CHECK_INT(coati_map_put_str(&m, two, 2), ==, 0);
	CHECK_INT(coati_map_put_str(&m, "", 3), ==, 1);
	CHECK(coati_map_get_str(&m, "cycles", &value) && value == 2);
	CHECK(coati_map_get_str(&m, "", &value) && value == 3);
	CHECK(!coati_map_get_str(&m, "cycle", &value));
	CHECK(!coati_map_get_str(&m, "cyclesx", &value));
	/* the address that went in first stays */
	while (coati_map_next(&m, &pos, &key, &value) && value != 2)
		;
	CHECK_U64(key, ==, (uintptr_t)one);
	coati_map_fini(&m);
}

TEST(map_of_strings_keeps_thousands_apart)
{
	static char names[4000][16];
	uint64_t value;
	struct map m;

	coati_map_init_strings(&m, 4000);
	for (size_t i = 0; i < 4000; i++) {
		snprintf(names[i], sizeof(names[i]), "event-%zu", i);
		CHECK_INT(coati_map_put_str(&m, names[i], i), ==, 1);
	}
	for (size_t i = 0; i < 4000; i++)
		CHECK(coati_map_get_str(&m, names[i], &value) && value == i);
	coati_map_fini(&m);
}

TEST(map_seeds_differ_from_map_to_map)
{
	struct map a, b;

	coati_map_init(&a, 1);
	coati_map_init(&b, 1);
	CHECK_U64(a.seed, !=, b.seed);
	coati_map_fini(&a);
	coati_map_fini(&b);
}

TEST(map_hash_of_bytes_depends_on_every_byte_the_length_and_the_seed)
{
	char text[40] = { 0 };

	for (size_t len = 0; len < sizeof(text); len++) {
		uint64_t plain = coati_hash_bytes(text, len, 1);

		CHECK_U64(coati_hash_bytes(text, len, 2), !=, plain);
		CHECK_U64(coati_hash_bytes(text, len + 1, 1), !=, plain);
		for (size_t i = 0; i < len; i++) {
			text[i] = 1;
			CHECK_U64(coati_hash_bytes(text, len, 1), !=, plain);
			text[i] = 0;
		}
	}
}

/* Arrays of small numbers, as the stacks of a profile are: one number changes, at any place. */
TEST(map_hash_of_bytes_spreads_arrays_of_small_numbers_over_the_low_bits)
{
	for (size_t place = 0; place < 9; place++) {
		uint32_t numbers[9] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
		unsigned int slots[256] = { 0 }, most = 0;

		for (uint32_t i = 0; i < 256 * 64; i++) {
			numbers[place] = i;
			slots[coati_hash_bytes(numbers, sizeof(numbers), 7) & 255]++;
		}
		for (size_t i = 0; i < 256; i++)
			most = slots[i] > most ? slots[i] : most;
		/* 64 each with a deviation of 8 */
		CHECK_U64(most, <, 64 + 6 * 8);
	}
}

TEST(map_hash_of_bytes_flips_about_half_of_the_bits_for_one)
{
	unsigned int flipped = 0;
	uint64_t words[5];

	for (int i = 0; i < 1000; i++) {
		uint64_t seed = test_random(), plain;
		size_t bit = test_random() % (sizeof(words) * 8);

		for (size_t k = 0; k < 5; k++)
			words[k] = test_random();
		plain = coati_hash_bytes(words, sizeof(words), seed);
		words[bit / 64] ^= UINT64_C(1) << bit % 64;
		flipped += (unsigned int)__builtin_popcountll(
			plain ^ coati_hash_bytes(words, sizeof(words), seed));
	}
	/* 32000 with a deviation of 126 for a perfect hash */
	CHECK_U64(flipped, >, 31000);
	CHECK_U64(flipped, <, 33000);
}

TEST(map_hash_of_numbers_flips_about_half_of_the_bits_for_one)
{
	unsigned int flipped = 0;

	for (int i = 0; i < 1000; i++) {
		uint64_t x = test_random(), seed = test_random();
		uint64_t other = x ^ UINT64_C(1) << test_random() % 64;

		flipped += (unsigned int)__builtin_popcountll(coati_hash_u64(x, seed) ^
							      coati_hash_u64(other, seed));
	}
	/* 32000 with a deviation of 126 for a perfect hash */
	CHECK_U64(flipped, >, 31000);
	CHECK_U64(flipped, <, 33000);
}

TEST(map_hash_of_numbers_spreads_counting_keys_over_the_low_bits)
{
	unsigned int slots[256] = { 0 };

	for (uint64_t i = 0; i < 25600; i++)
		slots[coati_hash_u64(i << 12, 99) % 256]++;
	/* 100 each, with a deviation of 10 */
	for (size_t i = 0; i < 256; i++) {
		CHECK_U64(slots[i], >, 30);
		CHECK_U64(slots[i], <, 200);
	}
}
