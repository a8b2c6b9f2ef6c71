/* SPDX-License-Identifier: MIT */
/*
 * Call frame information as compilers write it: the entries of .eh_frame and .debug_frame one by
 * one, common entries (CIE) taken apart, the pointers of function entries (FDE) decoded. Knows
 * nothing of what the instructions in them mean.
 *
 * Versions 1, 3 and 4, 32- and 64-bit lengths, augmentations z R L P S B (and the old "eh"), every
 * pointer encoding but indirect ones for code. Bytes of the host's order only. An entry that cannot
 * be read is counted by the caller and passed over; lengths that lie end the section.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/leb128.h"

struct cfi_section {
	const uint8_t *bytes;
	size_t size;	     /* below 4 GiB */
	uint64_t vaddr;	     /* where the bytes are in the file's own addresses */
	bool is_debug;	     /* .debug_frame */
	bool stops_at_end;   /* its size is not known: a length of zero ends it */
	uint64_t text, data; /* what textrel and datarel pointers start from */
};

struct cfi_cie {
	uint64_t offset; /* of its length word in the section */
	uint32_t program, program_end;
	uint64_t code_align;
	int64_t data_align;
	uint32_t ra;	  /* column of the return address */
	uint8_t encoding; /* of the pointers in its FDEs */
	bool has_size;	  /* 'z': FDEs state the size of what augments them */
	bool is_signal;	  /* 'S' */
};

/* One entry as it lies. */
struct cfi_entry {
	uint64_t offset;
	uint32_t body, end;  /* behind the id, and behind all of it */
	bool is_cie, is_end; /* is_end: a length of zero */
	uint64_t cie;	     /* of an FDE: offset of its CIE */
};

struct cfi_fde {
	uint64_t start, length;
	uint32_t program, program_end;
};

/* How far an instruction of the advance_loc family goes, in units of the code alignment; false: it
 * is none. */
static inline bool cfi_advance(struct cursor *c, uint8_t op, uint64_t *ret)
{
	switch (op) {
	case 0x02: /* advance_loc1 */
		*ret = cursor_u8(c);
		return true;
	case 0x03: /* advance_loc2 */
		*ret = cursor_u16(c);
		return true;
	case 0x04: /* advance_loc4 */
		*ret = cursor_u32(c);
		return true;
	case 0x1d: /* MIPS_advance_loc8 */
		*ret = cursor_u64(c);
		return true;
	default:
		return false;
	}
}

/* A factored offset times the alignment, which may be anything. */
static inline int64_t cfi_factored(const struct cfi_cie *cie, int64_t n)
{
	int64_t off;

	return __builtin_mul_overflow(n, cie->data_align, &off) ? INT64_MAX : off;
}
/* A pointer in one of the DW_EH_PE_ encodings; @c runs over section bytes. bad for what has no
 * value. */
uint64_t coati_cfi_pointer(struct cursor *c, const struct cfi_section *s, uint8_t encoding);

/* The entry at *at, which moves on: 1, 0 at the end, -EBADMSG when lengths lead outside (then it is
 * the end as well). */
int coati_cfi_next(const struct cfi_section *s, size_t *at, struct cfi_entry *ret);
/* 0 or -EBADMSG (damaged), -EOPNOTSUPP (a version, augmentation or address size that is not
 * ours). */
int coati_cfi_cie(const struct cfi_section *s, const struct cfi_entry *e, struct cfi_cie *ret);
/* The CIE at that offset, for who holds an FDE only. */
int coati_cfi_cie_at(const struct cfi_section *s, uint64_t offset, struct cfi_cie *ret);
int coati_cfi_fde(const struct cfi_section *s, const struct cfi_entry *e, const struct cfi_cie *cie,
		  struct cfi_fde *ret);
