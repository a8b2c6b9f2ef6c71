/* SPDX-License-Identifier: MIT */
/* zstd, loaded when a compressed recording is first met: the tool starts without it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

struct unpacker;

int coati_unpacker_new(struct unpacker **ret, struct coati_error *err);
void coati_unpacker_free(struct unpacker *u);
/* One step: takes from *@in, *@in_size and writes up to @cap bytes to @out; returns how many. 0
 * with input used up: needs more input. -EBADMSG: not a zstd stream, or no progress. */
int64_t coati_unpacker_step(struct unpacker *u, const uint8_t **in, size_t *in_size, void *out,
			    size_t cap);

struct packer;

int coati_packer_new(int level, struct packer **ret, struct coati_error *err);
void coati_packer_free(struct packer *p);
/* Compress all of @in and flush, as one piece of one continuous stream; size written, or -ENOSPC
 * when @cap is too small. */
int64_t coati_packer_pack(struct packer *p, const void *in, size_t in_size, void *out, size_t cap);
