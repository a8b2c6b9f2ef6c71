/* SPDX-License-Identifier: MIT */
/* Names of functions in BTF made by hand: every kind is stepped over, every cut and every wrong
 * word is survived. */
#include "lib/test.h"

#include "base/alloc.h"
#include "capture/btf.h"

#define KIND(kind, vlen) ((uint32_t)(kind) << 24 | (vlen))

struct blob {
	uint32_t words[128];
	size_t nr;
};

static void put(struct blob *b, uint32_t word)
{
	CHECK_U64(b->nr, <, 128);
	b->words[b->nr++] = word;
}

/* A type with @tail words behind its three, all of them a value that would be taken for a wrong
 * kind. */
static void put_type(struct blob *b, uint32_t name, uint32_t info, int tail)
{
	put(b, name);
	put(b, info);
	put(b, 0);
	while (tail--)
		put(b, 0xffffffff);
}

/* One of every kind with a tail, then the function "f", id 10; strings: "", "f", "g" without an
 * end. */
static struct blob sample(void)
{
	struct blob b = { .nr = 6 };
	size_t types;

	put_type(&b, 0, KIND(1, 0), 1);
	put_type(&b, 0, KIND(3, 0), 3);
	put_type(&b, 0, KIND(4, 2), 6);
	put_type(&b, 0, KIND(6, 2), 4);
	put_type(&b, 0, KIND(13, 3), 6);
	put_type(&b, 0, KIND(14, 0), 1);
	put_type(&b, 0, KIND(15, 1), 3);
	put_type(&b, 0, KIND(17, 0), 1);
	put_type(&b, 0, KIND(19, 1), 3);
	put_type(&b, 1, KIND(12, 1), 0);
	put_type(&b, 3, KIND(12, 0), 0);
	types = (b.nr - 6) * 4;
	memcpy(&b.words[b.nr++], "\0f\0g", 4);
	b.words[0] = 0x0001eb9f;
	b.words[1] = 24;
	b.words[2] = 0;
	b.words[3] = (uint32_t)types;
	b.words[4] = (uint32_t)types;
	b.words[5] = 4;
	return b;
}

TEST(btf_names_functions_behind_every_kind_of_type)
{
	struct btf_func funcs[] = { { 11, "old" }, { 10, "old" }, { 5, "old" }, { 99, "old" } };
	struct blob b = sample();

	CHECK_OK(coati_btf_func_names(b.words, b.nr * 4, funcs, 4));
	CHECK_STR(funcs[0].name, "g"); /* ends with the strings */
	CHECK_STR(funcs[1].name, "f");
	CHECK_STR(funcs[2].name, "");
	CHECK_STR(funcs[3].name, "");
}

TEST(btf_cut_anywhere_is_refused_or_names_nothing_wrong)
{
	struct blob b = sample();

	for (size_t size = 0; size < b.nr * 4; size++) {
		struct btf_func func = { 10, "" };
		uint8_t *copy = coati_alloc(size);

		CHECK(copy || !size);
		if (size)
			memcpy(copy, b.words, size);
		CHECK_ERR(coati_btf_func_names(copy, size, &func, 1), -EBADMSG);
		coati_free(copy);
	}
}

TEST(btf_with_any_word_damaged_is_survived)
{
	static const uint32_t bad[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff };

	for (size_t i = 0; i < sample().nr; i++) {
		for (size_t k = 0; k < sizeof(bad) / sizeof(bad[0]); k++) {
			struct btf_func func = { 10, "" };
			struct blob b = sample();

			b.words[i] = bad[k];
			(void)coati_btf_func_names(b.words, b.nr * 4, &func, 1);
			CHECK(memchr(func.name, 0, sizeof(func.name)));
		}
	}
}

TEST(btf_name_that_is_too_long_is_cut)
{
	uint32_t words[6 + 3 + 64] = { 0x0001eb9f, 24, 0, 12, 12, 256, 0, KIND(12, 0), 0 };
	struct btf_func func = { 1, "" };

	memset(&words[9], 'x', 256);
	CHECK_OK(coati_btf_func_names(words, sizeof(words), &func, 1));
	CHECK_U64(strlen(func.name), ==, BTF_NAME_BYTES - 1);
}
