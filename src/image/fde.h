/* SPDX-License-Identifier: MIT */
/*
 * Where functions begin and end, as the unwind data states it: an address in, the range of its FDE
 * out. With the search table of .eh_frame_hdr nothing is read but what a question touches; without
 * it .eh_frame is walked once and sorted. The rules inside an FDE are the business of unwind/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/copy.h"

#define FDE_MAX 4194304 /* of a file without a search table */

struct fde_range {
	uint64_t start, end;
};

struct fdes {
	struct copy *file;
	struct elf_section frames; /* .eh_frame; size 0: none */
	const uint8_t *table;	   /* pairs of the search table, NULL: none */
	size_t nr_pairs;
	uint64_t table_base; /* address the pairs count from */
	struct fde_range *sorted;
	size_t nr_sorted;
	uint64_t cie_at; /* the last common entry that was read */
	uint8_t cie_encoding;
	bool has_cie;
	bool damaged; /* something could not be read */
};

/* @hdr and @frames may have size 0. Only -ENOMEM fails: what is damaged is left out and marked. */
int coati_fdes_init(struct fdes *f, struct copy *file, const struct elf_section *hdr,
		    const struct elf_section *frames);
void coati_fdes_fini(struct fdes *f);
bool coati_fdes_find(struct fdes *f, uint64_t vaddr, struct fde_range *ret);
/* Where the first function begins that begins after @vaddr; UINT64_MAX: none does. */
uint64_t coati_fdes_after(const struct fdes *f, uint64_t vaddr);
