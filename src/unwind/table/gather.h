/* SPDX-License-Identifier: MIT */
/*
 * All function entries of a file in the order of their code. What lies outside the known code
 * (discarded functions, whose addresses became 0) is left out.
 */
#pragma once

#include "unwind/table/build.h"
#include "unwind/table/program.h"

struct gathered {
	struct table_range ranges[TABLE_RANGES_MAX];
	uint32_t nr_ranges, nr_buckets;
	struct table_fde *fdes;
	size_t nr_fdes;
	struct program_cie *cies;
	size_t nr_cies;
	uint32_t nr_damaged;
};

/* 0, -ENOMEM, -E2BIG, -EINVAL. @in must stay while the gathered is used. */
int coati_gather(const struct table_input *in, struct gathered *ret);
void coati_gathered_fini(struct gathered *g);
/* The entry itself, read again. */
int coati_gathered_fde(const struct table_input *in, const struct gathered *g,
		       const struct table_fde *f, struct cfi_fde *ret);
