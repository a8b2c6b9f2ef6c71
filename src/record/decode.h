/* SPDX-License-Identifier: MIT */
/* Between the halves of the decoder: samples in sample.c, everything else in other.c. */
#pragma once

#include <coati/record.h>

#include "base/cursor.h"

/* A record that is no sample. */
int coati_other_decode(const struct coati_raw *raw, const struct coati_sample_format *fmt,
		       struct coati_record *ret);
/* A block in the read format @format. Sets c->bad when it does not fit. */
void coati_read_block_decode(struct cursor *c, uint64_t format, struct coati_read_block *ret);
/* A view of @count numbers. Sets c->bad when there are fewer. */
struct coati_u64s coati_u64s_decode(struct cursor *c, uint64_t count);
/* Flags of a branch from one end of the word to the other (see values.c). */
uint64_t coati_branch_flags_mirror(uint64_t word);
