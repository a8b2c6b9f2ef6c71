/* SPDX-License-Identifier: MIT */
/*
 * Names that travel with a recording: the numbers of docs/formats/symbols.md. A payload is about
 * one image and needs no other one. All numbers in it but the mark are unsigned LEB128.
 */
#pragma once

#include <stdint.h>

#include <coati/image.h>

#define PACK_MARK	 "CSY1" /* the last byte is the version */
#define PACK_MARK_TIMES	 "CSY2" /* with a time for each address behind them */
#define PACK_MARK_BYTES	 4
#define PACK_PAYLOAD_MAX (32768 - 64) /* COATI_LIVE_BATCH_MAX - 64 */
#define PACK_NUMBERS	 9	      /* of one name */

/* A name as the payload has it: places in its list of strings, 0 for none. */
struct pack_name {
	uint64_t symbol, function, file;
	uint64_t line, column, decl_line;
	uint64_t start, length, flags;
};
_Static_assert(sizeof(struct pack_name) == PACK_NUMBERS * sizeof(uint64_t),
	       "hashed and written as numbers");
