/* SPDX-License-Identifier: MIT */
#include "fuzz/change.h"

#include <stdbool.h>
#include <string.h>

/* G. Steele, D. Lea, C. Flood: splitmix64 */
uint64_t fuzz_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static size_t below(size_t limit, uint64_t *state)
{
	return limit ? (size_t)(fuzz_random(state) % limit) : 0;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void flip_bit(struct fuzz_input *in, uint64_t *state)
{
	if (in->size)
		in->bytes[below(in->size, state)] ^= (uint8_t)(1U << below(8, state));
}

/* A number of 1, 2, 4 or 8 bytes at the edge of something, or one near to what was there. */
static void set_number(struct fuzz_input *in, uint64_t *state)
{
	const uint64_t edges[] = {
		0,	    1,		UINT8_MAX, INT8_MAX, UINT16_MAX,   INT16_MAX,	 UINT32_MAX,
		INT32_MAX,  UINT64_MAX, INT64_MAX, in->size, in->size + 1, in->size - 1, 1ULL << 31,
		1ULL << 32, 1ULL << 63, 16,	   4096,
	};
	size_t width = (size_t)1 << below(4, state), at;
	uint64_t number = 0;

	if (in->size < width)
		return;
	at = below(in->size - width + 1, state);
	if (below(2, state)) {
		memcpy(&number, in->bytes + at, width);
		number += below(33, state) - 16;
	} else {
		number = edges[below(sizeof(edges) / sizeof(edges[0]), state)];
	}
	memcpy(in->bytes + at, &number, width);
}

static void remove_piece(struct fuzz_input *in, uint64_t *state)
{
	size_t at = below(in->size, state), len = below(smaller(in->size - at, 64) + 1, state);

	memmove(in->bytes + at, in->bytes + at + len, in->size - at - len);
	in->size -= len;
}

/* Makes room for @len bytes at @at, or for as many as fit. */
static size_t open_gap(struct fuzz_input *in, size_t at, size_t len)
{
	len = smaller(len, CHANGED_BYTES_MAX - in->size);
	memmove(in->bytes + at + len, in->bytes + at, in->size - at);
	in->size += len;
	return len;
}

static void insert_bytes(struct fuzz_input *in, uint64_t *state)
{
	size_t at = below(in->size + 1, state), len = open_gap(in, at, 1 + below(32, state));
	bool same = below(2, state);
	uint8_t byte = (uint8_t)fuzz_random(state);

	for (size_t i = 0; i < len; i++)
		in->bytes[at + i] = same ? byte : (uint8_t)fuzz_random(state);
}

static void double_piece(struct fuzz_input *in, uint64_t *state)
{
	size_t from = below(in->size, state);
	size_t len = below(smaller(in->size - from, 256) + 1, state);

	size_t room = open_gap(in, from + len, len); /* behind it: it does not move itself */

	memcpy(in->bytes + from + len, in->bytes + from, room);
}

static void take_piece(struct fuzz_input *in, const struct fuzz_input *other, uint64_t *state)
{
	size_t from = below(other->size, state), at = below(in->size + 1, state);
	size_t len = 1 + below(smaller(other->size - from, 1024), state);

	if (!other->size)
		return;
	len = smaller(len, CHANGED_BYTES_MAX - at);
	memcpy(in->bytes + at, other->bytes + from, len);
	if (in->size < at + len)
		in->size = at + len;
}

void fuzz_change(struct fuzz_input *in, const struct fuzz_input *other, uint64_t *state)
{
	for (size_t left = 1 + below(4, state); left; left--) {
		switch (below(16, state)) {
		case 0:
			in->size = below(in->size + 1, state);
			break;
		case 1:
		case 2:
			remove_piece(in, state);
			break;
		case 3:
		case 4:
			insert_bytes(in, state);
			break;
		case 5:
			double_piece(in, state);
			break;
		case 6:
		case 7:
			take_piece(in, other, state);
			break;
		case 8:
		case 9:
		case 10:
			flip_bit(in, state);
			break;
		default:
			set_number(in, state);
		}
	}
}
