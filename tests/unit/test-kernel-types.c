/* SPDX-License-Identifier: MIT */
/* The few structs that the stack walker needs, cut out of the kernel's types: offsets are those of
 * the kernel, whatever is damaged. */
#include "lib/test.h"

#include "base/alloc.h"
#include "bpf/btf.h"
#include "bpf/kernel-types.h"

#define KIND(kind, vlen) ((uint32_t)(kind) << 24 | (vlen))
#define BITS		 (UINT32_C(1) << 31)

/* Strings of the sample, and where they are. */
static const char strings[] = "\0outer\0deep\0flag\0link\0other\0number";
enum { OUTER = 1, DEEP = 7, FLAG = 12, LINK = 17, OTHER = 22, NUMBER = 28 };

struct blob {
	uint32_t words[128];
	size_t nr;
};

static void put(struct blob *b, uint32_t a, uint32_t c, uint32_t d)
{
	CHECK_U64(b->nr + 3, <=, 128);
	b->words[b->nr++] = a;
	b->words[b->nr++] = c;
	b->words[b->nr++] = d;
}

/*
 * 1 int of 4 bytes, 2 typedef "number" of it, 3 const of 2, 4 pointer to 6, 5 an unnamed struct
 * { other; number deep; } of which deep is at 32 bits, 6 struct outer { unnamed 5 at 64 bits;
 * flag at bit 200, 1 bit; link at 256 }
 */
static struct blob sample(void)
{
	struct blob b = { .nr = 6 };
	uint32_t types;

	put(&b, 0, KIND(COATI_BTF_INT, 0), 4);
	b.words[b.nr++] = 32;
	put(&b, NUMBER, KIND(COATI_BTF_TYPEDEF, 0), 1);
	put(&b, 0, KIND(COATI_BTF_CONST, 0), 2);
	put(&b, 0, KIND(COATI_BTF_PTR, 0), 6);
	put(&b, 0, KIND(COATI_BTF_STRUCT, 2), 8);
	put(&b, OTHER, 1, 0);
	put(&b, DEEP, 3, 32);
	put(&b, OUTER, BITS | KIND(COATI_BTF_STRUCT, 3), 40);
	put(&b, 0, 5, 64);
	put(&b, FLAG, 1, 200 | 1 << 24);
	put(&b, LINK, 4, 256);
	types = (uint32_t)(b.nr - 6) * 4;
	memcpy(&b.words[b.nr], strings, sizeof(strings));
	b.nr += (sizeof(strings) + 3) / 4;
	b.words[0] = 0x0001eb9f;
	b.words[1] = 24;
	b.words[3] = b.words[4] = types;
	b.words[5] = sizeof(strings);
	return b;
}

static const struct kernel_struct want[] = {
	{ "absent", { "deep" } },
	{ "outer", { "link", "deep", "missing", "flag" } },
};

/* The member @name of the only struct in @k: its offset in bits, size of a bit field and kind. */
static uint64_t member(const struct kernel_types *k, const char *name)
{
	uint32_t kinds[16] = { 0 }, nr = 0;
	struct coati_btf_type t;
	struct coati_btf b;

	CHECK_OK(coati_btf_open(k->bytes, k->size, &b));
	while (coati_btf_next(&b, &t) > 0) {
		kinds[++nr] = t.kind;
		for (uint32_t i = 0; t.kind == COATI_BTF_STRUCT && i < t.nr_members; i++) {
			size_t len;
			const char *text = coati_btf_name(&b, cursor_u32(&t.tail), &len);
			uint32_t type = cursor_u32(&t.tail), at = cursor_u32(&t.tail);

			if (!strcmp(text, name))
				return (uint64_t)kinds[type] << 32 | at;
		}
	}
	return UINT64_MAX;
}

TEST(kernel_types_are_cut_out_with_their_offsets)
{
	struct blob b = sample();
	struct kernel_types k;

	CHECK_OK(coati_kernel_types_cut(b.words, b.nr * 4, want, 2, &k));
	CHECK_U64(k.structs, ==, 2); /* the second of them */
	CHECK_U64(member(&k, "deep"), ==, (UINT64_C(1) << 32) + 96);
	CHECK_U64(member(&k, "flag"), ==, (UINT64_C(1) << 32) + (200 | 1 << 24));
	CHECK_U64(member(&k, "link"), ==, (UINT64_C(2) << 32) + 256);
	CHECK_U64(member(&k, "missing"), ==, UINT64_MAX);
	CHECK_U64(member(&k, "other"), ==, UINT64_MAX);
}

TEST(kernel_types_that_are_cut_or_damaged_are_survived)
{
	static const uint32_t bad[] = { 0, 1, 5, 0x7fffffff, 0x80000000, 0xffffffff };
	struct kernel_types k;

	for (size_t size = 0; size < sample().nr * 4 - 8; size++) {
		struct blob b = sample();
		uint8_t *copy = coati_alloc(size);

		if (size)
			memcpy(copy, b.words, size);
		CHECK_ERR(coati_kernel_types_cut(copy, size, want, 2, &k), -EBADMSG);
		coati_free(copy);
	}
	for (size_t i = 0; i < sample().nr; i++)
		for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++) {
			struct blob b = sample();

			b.words[i] = bad[n];
			(void)coati_kernel_types_cut(b.words, b.nr * 4, want, 2, &k);
		}
}
