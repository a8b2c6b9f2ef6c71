/* SPDX-License-Identifier: MIT */
/* Each extension of %p has its own little language; all of them are read from bytes of the record
 * that are counted first. */
#include "record/address.h"

#include <string.h>

#include "record/bytes.h"

#define FAMILY_INET  2
#define FAMILY_INET6 10

static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* The kernel takes every letter and digit behind %p, known or not; so do we. */
size_t coati_address_extension(const char *at, char ret[8])
{
	size_t len = 0;

	while (is_alnum(at[len]))
		len++;
	memset(ret, 0, 8);
	memcpy(ret, at, len < 8 ? len : 7);
	if (len >= 8)
		ret[0] = '?';
	return len;
}

static bool is_function(const char *extension)
{
	return *extension && strchr("SsFfB", *extension);
}

bool coati_address_known(const char *extension, const struct expr *e)
{
	if (e->type == EXPR_IS_NUMBER)
		return !*extension || *extension == 'K' || *extension == 'x' ||
		       is_function(extension);
	/* An array of char is a text for %s and bytes for these. */
	if (e->type == EXPR_IS_TEXT && e->kind != EXPR_FIELD)
		return false;
	switch (extension[0]) {
	case 'I':
	case 'i':
		return extension[1] == '4' || extension[1] == '6' || extension[1] == 'S';
	case 'M':
	case 'm':
	case 'U':
	case 'h':
	case 'b':
	case 'a':
		return true;
	default:
		return false;
	}
}

void coati_address_number(const struct conversion *c, uint64_t v,
			  const struct coati_symbol_source *symbols, struct output *o)
{
	struct conversion hex = { .letter = 'x', .size = 8, .width = -1, .precision = -1 };
	uint64_t offset = 0;
	const char *name;

	if (is_function(c->extension) && symbols &&
	    symbols->find(symbols->context, v, &name, &offset) >= 0) {
		coati_output_add(o, name, strlen(name));
		if (c->extension[0] == 's' || c->extension[0] == 'f')
			return;
		coati_output_char(o, '+', 1);
		coati_output_hex(o, offset, 1);
	} else if (c->extension[0] == 'x') {
		coati_output_number(o, &hex, v);
	} else {
		coati_output_hex(o, v, 1);
	}
}

/* ---- network ---- */

static void add_ipv4(const uint8_t *a, struct output *o)
{
	for (int i = 0; i < 4; i++) {
		if (i)
			coati_output_char(o, '.', 1);
		coati_output_decimal(o, a[i], false);
	}
}

static uint64_t word_at(const uint8_t *a, int i)
{
	return (uint64_t)a[2 * i] << 8 | a[2 * i + 1];
}

/* The longest run of zero words, of which there must be two; its length. */
static int longest_zeros(const uint8_t *a, int words, int *ret_start)
{
	int best = 1, run = 0;

	for (int i = 0; i < words; i++) {
		run = word_at(a, i) ? 0 : run + 1;
		if (run > best) {
			best = run;
			*ret_start = i - run + 1;
		}
	}
	return best > 1 ? best : 0;
}

static void add_ipv6_short(const uint8_t *a, struct output *o)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct conversion hex = { .letter = 'x', .size = 2, .width = -1, .precision = -1 };
	bool tail = memcmp(a, mapped, sizeof(mapped)) == 0;
	int words = tail ? 6 : 8, start = -1, zeros = longest_zeros(a, words, &start);

	for (int i = 0; i < words; i++) {
		if (zeros && i == start) {
			coati_output_add(o, "::", 2);
			i += zeros - 1;
			continue;
		}
		if (i && i != start + zeros)
			coati_output_char(o, ':', 1);
		coati_output_number(o, &hex, word_at(a, i));
	}
	if (!tail)
		return;
	coati_output_char(o, ':', 1);
	add_ipv4(a + 12, o);
}

static void add_ipv6(const uint8_t *a, bool colons, struct output *o)
{
	struct conversion hex = {
		.letter = 'x', .size = 2, .zero = true, .width = 4, .precision = -1
	};

	for (int i = 0; i < 8; i++) {
		if (i && colons)
			coati_output_char(o, ':', 1);
		coati_output_number(o, &hex, word_at(a, i));
	}
}

/* A socket address: family in the machine's order, port and address in the network's. */
static void add_socket(const char *letters, const struct field_bytes *b, bool swap,
		       struct output *o)
{
	bool port = strchr(letters, 'p'), v6;
	uint64_t family = b->size >= 2 ? coati_field_number(b->at, 2, false, swap) : 0;

	v6 = family == FAMILY_INET6;
	if (b->size < (v6 ? 24 : 8) || (!v6 && family != FAMILY_INET))
		return coati_output_add(o, "(none)", 6);
	if (!v6) {
		add_ipv4(b->at + 4, o);
	} else {
		if (port)
			coati_output_char(o, '[', 1);
		if (strchr(letters, 'c'))
			add_ipv6_short(b->at + 8, o);
		else
			add_ipv6(b->at + 8, true, o);
		if (port)
			coati_output_char(o, ']', 1);
	}
	if (!port)
		return;
	coati_output_char(o, ':', 1);
	coati_output_decimal(o, word_at(b->at, 1), false);
}

static void add_ip(const struct conversion *c, const struct field_bytes *b, bool swap,
		   struct output *o)
{
	const char *x = c->extension;

	if (x[1] == 'S')
		add_socket(x + 2, b, swap, o);
	else if (b->size < (x[1] == '4' ? 4 : 16))
		coati_output_add(o, "(none)", 6);
	else if (x[1] == '4')
		add_ipv4(b->at, o);
	else if (x[2] == 'c')
		add_ipv6_short(b->at, o);
	else
		add_ipv6(b->at, x[0] == 'I', o);
}

/* ---- bytes ---- */

static void add_byte(uint8_t v, bool upper, struct output *o)
{
	const char *digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
	char pair[2] = { digits[v >> 4], digits[v & 15] };

	coati_output_add(o, pair, 2);
}

static void add_joined(const uint8_t *a, uint32_t size, char between, struct output *o)
{
	for (uint32_t i = 0; i < size; i++) {
		if (i && between)
			coati_output_char(o, between, 1);
		add_byte(a[i], false, o);
	}
}

/* Little-endian identifiers have their first three parts backwards. */
static void add_uuid(const char *x, const struct field_bytes *b, struct output *o)
{
	static const uint8_t plain[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	static const uint8_t turned[] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	const uint8_t *order = x[1] == 'l' || x[1] == 'L' ? turned : plain;

	if (b->size < 16)
		return coati_output_add(o, "(none)", 6);
	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			coati_output_char(o, '-', 1);
		add_byte(b->at[order[i]], x[1] == 'B' || x[1] == 'L', o);
	}
}

static bool bit_at(const struct field_bytes *b, bool swap, uint32_t i)
{
	return load_u64(b->at + i / 64 * 8, swap) >> i % 64 & 1;
}

/* "0-3,7": the bits that are set among the first @count. */
static void add_bit_list(const struct field_bytes *b, bool swap, uint32_t count, struct output *o)
{
	bool first = true;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t start = i;

		if (!bit_at(b, swap, i))
			continue;
		while (i + 1 < count && bit_at(b, swap, i + 1))
			i++;
		if (!first)
			coati_output_char(o, ',', 1);
		first = false;
		coati_output_decimal(o, start, false);
		if (i > start) {
			coati_output_char(o, '-', 1);
			coati_output_decimal(o, i, false);
		}
	}
}

/* Groups of 32 bits as digits, the highest first. */
static void add_bit_groups(const struct field_bytes *b, bool swap, uint32_t count, struct output *o)
{
	struct conversion hex = { .letter = 'x', .size = 4, .zero = true, .precision = -1 };
	uint32_t bits = count % 32 ? count % 32 : 32;

	for (uint32_t i = (count + 31) / 32; i-- > 0; bits = 32) {
		uint64_t word = load_u64(b->at + i / 2 * 8, swap) >> (i % 2 ? 32 : 0);

		hex.width = (int)((bits + 3) / 4);
		coati_output_number(o, &hex, word & (UINT32_MAX >> (32 - bits)));
		if (i)
			coati_output_char(o, ',', 1);
	}
}

static void add_bitmap(const struct conversion *c, const struct field_bytes *b, bool swap,
		       struct output *o)
{
	uint32_t count = b->size / 8 * 64;

	if (c->width >= 0 && (uint32_t)c->width < count)
		count = (uint32_t)c->width;
	if (c->extension[1] == 'l')
		add_bit_list(b, swap, count, o);
	else
		add_bit_groups(b, swap, count, o);
}

static void add_dump(const struct conversion *c, const struct field_bytes *b, struct output *o)
{
	uint32_t size = c->width < 0 ? 1 : (uint32_t)c->width;
	char x = c->extension[1];

	if (size > b->size)
		size = b->size;
	add_joined(b->at, size < 64 ? size : 64,
		   x == 'C'   ? ':'
		   : x == 'D' ? '-'
		   : x == 'N' ? 0
			      : ' ',
		   o);
}

void coati_address_bytes(const struct conversion *c, const struct field_bytes *bytes, bool swap,
			 struct output *o)
{
	switch (c->extension[0]) {
	case 'I':
	case 'i':
		return add_ip(c, bytes, swap, o);
	case 'M':
	case 'm':
		return add_joined(bytes->at, bytes->size < 6 ? bytes->size : 6,
				  c->extension[0] == 'm'   ? 0
				  : c->extension[1] == 'F' ? '-'
							   : ':',
				  o);
	case 'U':
		return add_uuid(c->extension, bytes, o);
	case 'h':
		return add_dump(c, bytes, o);
	case 'b':
		return add_bitmap(c, bytes, swap, o);
	default:
		return coati_output_hex(o, bytes->size >= 8 ? load_u64(bytes->at, swap) : 0, 16);
	}
}
