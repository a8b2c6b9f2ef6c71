/* SPDX-License-Identifier: MIT */
/*
 * The order of fields here is written down from what the kernel writes, a second time and in
 * another way than in src/record, so that a slip in one of them shows.
 */
#include "lib/record-builder.h"

#include <string.h>

#include "lib/test.h"

static void put(struct builder *b, uint64_t v, size_t size)
{
	CHECK(b->len + size <= sizeof(b->bytes));
	for (size_t i = 0; i < size; i++)
		b->bytes[b->len + i] = (uint8_t)(v >> 8 * (b->big ? size - 1 - i : i));
	b->len += size;
}

void builder_u8(struct builder *b, uint8_t v)
{
	put(b, v, 1);
}

void builder_u16(struct builder *b, uint16_t v)
{
	put(b, v, 2);
}

void builder_u32(struct builder *b, uint32_t v)
{
	put(b, v, 4);
}

void builder_u64(struct builder *b, uint64_t v)
{
	put(b, v, 8);
}

void builder_bytes(struct builder *b, const void *bytes, size_t size)
{
	CHECK(b->len + size <= sizeof(b->bytes));
	if (size)
		memcpy(b->bytes + b->len, bytes, size);
	b->len += size;
}

void builder_text(struct builder *b, const char *text)
{
	size_t size = strlen(text) + 1;

	builder_bytes(b, text, size);
	for (; size % 8; size++)
		builder_u8(b, 0);
}

void builder_bitfields(struct builder *b, const uint64_t *values, const uint8_t *widths)
{
	uint64_t word = 0;

	for (unsigned int i = 0, at = 0; widths[i]; at += widths[i], i++)
		word |= values[i] << (b->big ? 64 - at - widths[i] : at);
	builder_u64(b, word);
}

uint32_t builder_swap(bool big)
{
	return big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

void builder_start(struct builder *b, uint32_t type, uint16_t misc, bool big)
{
	b->len = 0;
	b->big = big;
	builder_u32(b, type);
	builder_u16(b, misc);
	builder_u16(b, 0);
}

struct coati_raw builder_end(struct builder *b)
{
	const uint8_t *at = b->bytes;
	size_t left = b->len;
	struct coati_raw raw;

	CHECK(left <= UINT16_MAX);
	b->len = 6;
	builder_u16(b, (uint16_t)left);
	b->len = left;
	CHECK_INT(coati_raw_next(&at, &left, builder_swap(b->big), &raw), ==, 1);
	CHECK_INT(left, ==, 0);
	return raw;
}

/* ---- whole records ---- */

/* Numbers that look different in every byte, the same for the same seed. */
struct source {
	uint64_t state;
};

static uint64_t next(struct source *s)
{
	s->state += 0x9e3779b97f4a7c15u;
	uint64_t x = s->state;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static void some_u32(struct builder *b, struct source *s)
{
	builder_u32(b, (uint32_t)next(s));
}

static void some_u64(struct builder *b, struct source *s)
{
	builder_u64(b, next(s));
}

static void some_bytes(struct builder *b, struct source *s, uint64_t size)
{
	while (size--)
		builder_u8(b, (uint8_t)next(s));
}

static void some_text(struct builder *b, struct source *s)
{
	char text[32] = "";
	size_t len = next(s) % 20;

	for (size_t i = 0; i < len; i++)
		text[i] = (char)('a' + next(s) % 26);
	builder_text(b, text);
}

static void some_numbers(struct builder *b, struct source *s, uint64_t nr)
{
	while (nr--)
		some_u64(b, s);
}

static void some_read(struct builder *b, struct source *s, uint64_t format)
{
	bool group = format & COATI_READ_GROUP;
	uint64_t nr = group ? next(s) % 4 : 1;

	if (group)
		builder_u64(b, nr);
	else
		some_u64(b, s);
	if (format & COATI_READ_ENABLED)
		some_u64(b, s);
	if (format & COATI_READ_RUNNING)
		some_u64(b, s);
	for (uint64_t i = 0; i < nr; i++) {
		if (group)
			some_u64(b, s);
		if (format & COATI_READ_ID)
			some_u64(b, s);
		if (format & COATI_READ_LOST)
			some_u64(b, s);
	}
}

static void some_branches(struct builder *b, struct source *s, uint64_t type)
{
	static const uint8_t widths[] = { 1, 1, 1, 1, 16, 4, 2, 4, 3, 31, 0 };
	uint64_t nr = next(s) % 4, values[10];

	builder_u64(b, nr);
	if (type & COATI_BRANCH_HW_INDEX)
		some_u64(b, s);
	for (uint64_t i = 0; i < nr; i++) {
		some_u64(b, s);
		some_u64(b, s);
		for (int f = 0; f < 10; f++)
			values[f] = next(s) & ((UINT64_C(1) << widths[f]) - 1);
		builder_bitfields(b, values, widths);
	}
	if (type & COATI_BRANCH_COUNTERS)
		some_numbers(b, s, nr);
}

static void some_registers(struct builder *b, struct source *s, uint64_t mask)
{
	uint64_t abi = next(s) % 3;

	builder_u64(b, abi);
	for (; abi && mask; mask &= mask - 1)
		some_u64(b, s);
}

static void some_stack(struct builder *b, struct source *s)
{
	uint64_t size = next(s) % 4 * 8;

	builder_u64(b, size);
	some_bytes(b, s, size);
	if (size)
		builder_u64(b, next(s) % (size + 1));
}

/* The parts of a sample from READ to STACK_USER. */
static void some_middle(struct builder *b, struct source *s, const struct coati_attr *attr)
{
	uint64_t type = attr->sample_type;

	if (type & COATI_SAMPLE_READ)
		some_read(b, s, attr->read_format);
	if (type & COATI_SAMPLE_CALLCHAIN) {
		uint64_t nr = next(s) % 5;

		builder_u64(b, nr);
		some_numbers(b, s, nr);
	}
	if (type & COATI_SAMPLE_RAW) {
		uint32_t size = (uint32_t)(next(s) % 4) * 8 + 4;

		builder_u32(b, size);
		some_bytes(b, s, size);
	}
	if (type & COATI_SAMPLE_BRANCH_STACK)
		some_branches(b, s, attr->branch_sample_type);
	if (type & COATI_SAMPLE_REGS_USER)
		some_registers(b, s, attr->sample_regs_user);
	if (type & COATI_SAMPLE_STACK_USER)
		some_stack(b, s);
}

static void some_sample(struct builder *b, struct source *s, const struct coati_attr *attr)
{
	uint64_t type = attr->sample_type, id = next(s);

#define FIELD(bit)                      \
	do {                            \
		if (type & (bit))       \
			some_u64(b, s); \
	} while (0)
#define PAIR(bit)                       \
	do {                            \
		if (type & (bit)) {     \
			some_u32(b, s); \
			some_u32(b, s); \
		}                       \
	} while (0)

	if (type & COATI_SAMPLE_IDENTIFIER)
		builder_u64(b, id);
	FIELD(COATI_SAMPLE_IP);
	PAIR(COATI_SAMPLE_TID);
	FIELD(COATI_SAMPLE_TIME);
	FIELD(COATI_SAMPLE_ADDR);
	if (type & COATI_SAMPLE_ID)
		builder_u64(b, id);
	FIELD(COATI_SAMPLE_STREAM_ID);
	PAIR(COATI_SAMPLE_CPU);
	FIELD(COATI_SAMPLE_PERIOD);
	some_middle(b, s, attr);
	FIELD(COATI_SAMPLE_WEIGHT | COATI_SAMPLE_WEIGHT_STRUCT);
	FIELD(COATI_SAMPLE_DATA_SRC);
	FIELD(COATI_SAMPLE_TRANSACTION);
	if (type & COATI_SAMPLE_REGS_INTR)
		some_registers(b, s, attr->sample_regs_intr);
	FIELD(COATI_SAMPLE_PHYS_ADDR);
	FIELD(COATI_SAMPLE_CGROUP);
	FIELD(COATI_SAMPLE_DATA_PAGE_SIZE);
	FIELD(COATI_SAMPLE_CODE_PAGE_SIZE);
	if (type & COATI_SAMPLE_AUX) {
		uint64_t size = next(s) % 3 * 8;

		builder_u64(b, size);
		some_bytes(b, s, size);
	}
}

static void some_trailer(struct builder *b, struct source *s, const struct coati_attr *attr)
{
	uint64_t type = attr->sample_type, id = next(s);

	if (!(attr->flags & COATI_ATTR_SAMPLE_ID_ALL))
		return;
	PAIR(COATI_SAMPLE_TID);
	FIELD(COATI_SAMPLE_TIME);
	if (type & COATI_SAMPLE_ID)
		builder_u64(b, id);
	FIELD(COATI_SAMPLE_STREAM_ID);
	PAIR(COATI_SAMPLE_CPU);
	if (type & COATI_SAMPLE_IDENTIFIER)
		builder_u64(b, id);
}

/*
 * Bodies as a string of letters: p two 32-bit numbers, q a 64-bit number, h two 16-bit numbers, w a
 * 32-bit number, b 8 bytes, t a text, f the file part of MMAP2, r a read block, n namespaces, c a
 * call chain, k patched text.
 */
static const char *const bodies[] = {
	[COATI_RECORD_MMAP] = "pqqqt",
	[COATI_RECORD_LOST] = "qq",
	[COATI_RECORD_COMM] = "pt",
	[COATI_RECORD_EXIT] = "ppq",
	[COATI_RECORD_THROTTLE] = "qqq",
	[COATI_RECORD_UNTHROTTLE] = "qqq",
	[COATI_RECORD_FORK] = "ppq",
	[COATI_RECORD_READ] = "pr",
	[COATI_RECORD_SAMPLE] = "",
	[COATI_RECORD_MMAP2] = "pqqqfpt",
	[COATI_RECORD_AUX] = "qqq",
	[COATI_RECORD_ITRACE_START] = "p",
	[COATI_RECORD_LOST_SAMPLES] = "q",
	[COATI_RECORD_SWITCH] = "",
	[COATI_RECORD_SWITCH_CPU_WIDE] = "p",
	[COATI_RECORD_NAMESPACES] = "pn",
	[COATI_RECORD_KSYMBOL] = "qwht",
	[COATI_RECORD_BPF_EVENT] = "hwb",
	[COATI_RECORD_CGROUP] = "qt",
	[COATI_RECORD_TEXT_POKE] = "qk",
	[COATI_RECORD_AUX_OUTPUT_HW_ID] = "q",
	[COATI_RECORD_CALLCHAIN_DEFERRED] = "qc",
};

static void some_file(struct builder *b, struct source *s, uint16_t misc)
{
	static const uint8_t zeros[20];

	if (misc & COATI_MISC_MMAP_BUILD_ID) {
		uint8_t size = (uint8_t)(1 + next(s) % 20);

		builder_u8(b, size);
		builder_bytes(b, zeros, 3);
		some_bytes(b, s, size);
		builder_bytes(b, zeros, 20u - size);
		return;
	}
	some_u32(b, s);
	some_u32(b, s);
	some_u64(b, s);
	some_u64(b, s);
}

static void some_patch(struct builder *b, struct source *s)
{
	uint16_t old = (uint16_t)(next(s) % 16), new = (uint16_t)(next(s) % 16);

	builder_u16(b, old);
	builder_u16(b, new);
	some_bytes(b, s, (uint64_t)old + new);
	while (b->len % 8)
		builder_u8(b, 0);
}

static void some_counted(struct builder *b, struct source *s, uint64_t words)
{
	uint64_t nr = next(s) % 8;

	builder_u64(b, nr);
	some_numbers(b, s, nr * words);
}

static void some_part(struct builder *b, struct source *s, const struct coati_attr *attr,
		      char letter, uint16_t misc)
{
	switch (letter) {
	case 'p':
		some_u32(b, s);
		some_u32(b, s);
		break;
	case 'q':
		some_u64(b, s);
		break;
	case 'h':
		builder_u16(b, (uint16_t)next(s));
		builder_u16(b, (uint16_t)next(s));
		break;
	case 'w':
		some_u32(b, s);
		break;
	case 'b':
		some_bytes(b, s, 8);
		break;
	case 't':
		some_text(b, s);
		break;
	case 'f':
		some_file(b, s, misc);
		break;
	case 'r':
		some_read(b, s, attr->read_format);
		break;
	case 'n':
		some_counted(b, s, 2);
		break;
	case 'c':
		some_counted(b, s, 1);
		break;
	case 'k':
		some_patch(b, s);
		break;
	default:
		test_fail_at(__FILE__, __LINE__, "no such letter");
	}
}

struct coati_raw builder_record(struct builder *b, uint32_t type, const struct coati_attr *attr,
				bool big, uint64_t seed)
{
	struct source s = { seed };
	uint16_t misc = (uint16_t)next(&s);

	builder_start(b, type, misc, big);
	if (type >= sizeof(bodies) / sizeof(bodies[0]) || !bodies[type]) {
		some_bytes(b, &s, next(&s) % 64);
		if (type < COATI_RECORD_HEADER_ATTR)
			some_trailer(b, &s, attr);
		return builder_end(b);
	}
	for (const char *p = bodies[type]; *p; p++)
		some_part(b, &s, attr, *p, misc);
	if (type == COATI_RECORD_SAMPLE)
		some_sample(b, &s, attr);
	else
		some_trailer(b, &s, attr);
	return builder_end(b);
}

struct coati_attr builder_attr(uint64_t seed)
{
	struct source s = { seed };
	struct coati_attr attr = {
		/* Few bits and many bits, in turn. */
		.sample_type = next(&s) & (seed & 1 ? ~UINT64_C(0) : next(&s)) & 0x1ffffff,
		.read_format = next(&s) & 31,
		.branch_sample_type = next(&s) & 0xfffff,
		.sample_regs_user = next(&s) & 0xff0fff,
		.sample_regs_intr = next(&s) & 0xff0fff,
		.flags = next(&s) & COATI_ATTR_SAMPLE_ID_ALL,
	};

	if (attr.sample_type & COATI_SAMPLE_WEIGHT)
		attr.sample_type &= ~COATI_SAMPLE_WEIGHT_STRUCT;
	return attr;
}
