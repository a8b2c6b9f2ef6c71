/* SPDX-License-Identifier: MIT */
/*
 * Names that travel with a recording: the numbers of docs/formats/symbols.md. A payload is about
 * one image and needs no other one. All numbers in it but the mark are unsigned LEB128.
 */
#pragma once

#include <stdint.h>

#include <coati/image.h>

/* Payloads of COATI_BATCH_SYMBOLS batches. Called for each batch, at most COATI_LIVE_BATCH_MAX - 64
 * bytes each; non-zero ends it. */
typedef int (*coati_pack_fn)(void *ctx, const void *payload, size_t size);

/* All that was resolved so far, with lines and inline frames where they were asked. */
int coati_images_pack(struct coati_images *images, coati_pack_fn fn, void *ctx);

/* A payload of a recording: its names answer before the files of this machine do. -EBADMSG:
 * malformed, nothing of it is kept. */
int coati_images_unpack(struct coati_images *images, const void *payload, size_t size);

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
