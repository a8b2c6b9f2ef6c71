/* SPDX-License-Identifier: MIT */
/* Unwind data made by hand: a section with one or more CIEs and FDEs, and the rows of a table as
 * text. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/writer.h"
#include "unwind/table/build.h"

#define CFI_TEXT  UINT64_C(0x401000) /* where the code of made-up files is */
#define CFI_VADDR UINT64_C(0x500000) /* where their unwind data is */

struct cfi_builder {
	uint8_t bytes[4096];
	struct writer at;
	bool is_debug, is_wide;
	bool is_bare;	  /* CIEs have no instructions but those that are given */
	uint8_t version;  /* of CIEs: 1 unless set */
	uint8_t encoding; /* of FDE pointers: 0x1b unless set */
	uint32_t machine;
	const char *letters; /* "zR" unless set */
	size_t cie;	     /* offset of the last CIE */
	uint8_t code[4096];
};

void cfi_builder_init(struct cfi_builder *b);
/* Instructions behind those that every CIE has (x86-64: CFA = rsp+8, ra at c-8; arm64: CFA =
 * sp+0). */
void cfi_builder_cie(struct cfi_builder *b, const void *program, size_t size);
void cfi_builder_fde(struct cfi_builder *b, uint64_t start, uint64_t length, const void *program,
		     size_t size);
/* What a table is made of. */
void cfi_builder_input(struct cfi_builder *b, struct table_input *ret);
/* The rows from CFI_TEXT on as text, "0 sp+8; 1 sp+16 fp@c-16;", written into @buf. */
void cfi_rows(const struct table_input *in, char *buf, size_t size);
