/* SPDX-License-Identifier: MIT */
/*
 * Single loads from foreign memory: no alignment asked, byte order by a flag that is a constant in
 * the hot callers, so that the swap costs nothing there. The caller has checked that the bytes are
 * there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

ALWAYS_INLINE uint32_t load_u32(const uint8_t *p, bool swap)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap32(v) : v;
}

ALWAYS_INLINE uint64_t load_u64(const uint8_t *p, bool swap)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return swap ? __builtin_bswap64(v) : v;
}

/* Was it a big-endian machine that wrote bytes which we must (or need not) swap? */
static inline bool written_big_endian(bool swap)
{
	return swap != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}
