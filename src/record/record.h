/* SPDX-License-Identifier: MIT */
/* Records: names, encoding and the memory access word, besides what <coati/record.h> promises. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/record.h>

/* "SAMPLE", "MMAP2", "FINISHED_ROUND"; NULL for a number that we do not know. */
const char *coati_record_name(uint32_t type);

/* The id that a record carries, found without decoding it: 1 and *ret_id, 0 when it has none (a
 * record of the tool, no id in the format, too short).  Hot. */
int coati_raw_id(const struct coati_raw *raw, const struct coati_sample_format *fmt,
		 uint64_t *ret_id);

/* The event with that id: 0 and *ret_index, or -ENOENT.  Hot. */
int coati_format_table_find_id(const struct coati_format_table *t, uint64_t id,
			       uint32_t *ret_index);

/* The event of a record of the kernel and the time that it carries, 0: none. 0; -ENODATA: it says
 * no event, and counts for the first; -ENOENT: one that the table does not know (then *ret_index is
 * 0, and a sample has no time). Hot. */
int coati_format_table_locate(const struct coati_format_table *t, const struct coati_raw *raw,
			      uint32_t *ret_index, uint64_t *ret_time);

uint32_t coati_format_table_count(const struct coati_format_table *t);

/* All of them as an array: the bytes themselves where they are aligned and in our order, else
 * copied into @buf, which has room for at least v->count numbers.  Hot. */
const uint64_t *coati_u64_array(const struct coati_u64s *v, uint64_t *buf);

/* The word that says where the data of a memory access came from, taken apart. */
struct coati_data_src {
	uint32_t op, level, snoop, lock, dtlb; /* sets of bits */
	uint32_t level_num;		       /* a number, COATI_MEM_LEVEL_NUM_* */
	uint32_t remote, snoopx, block, hops, region;
};

void coati_data_src_get(uint64_t word, struct coati_data_src *ret);

/* op */
#define COATI_MEM_OP_NA	      1
#define COATI_MEM_OP_LOAD     2
#define COATI_MEM_OP_STORE    4
#define COATI_MEM_OP_PREFETCH 8
#define COATI_MEM_OP_EXEC     16

/* level */
#define COATI_MEM_LEVEL_NA	 1
#define COATI_MEM_LEVEL_HIT	 2
#define COATI_MEM_LEVEL_MISS	 4
#define COATI_MEM_LEVEL_L1	 8
#define COATI_MEM_LEVEL_LFB	 0x10
#define COATI_MEM_LEVEL_L2	 0x20
#define COATI_MEM_LEVEL_L3	 0x40
#define COATI_MEM_LEVEL_LOC_RAM	 0x80
#define COATI_MEM_LEVEL_REM_RAM1 0x100
#define COATI_MEM_LEVEL_REM_RAM2 0x200
#define COATI_MEM_LEVEL_REM_CCE1 0x400
#define COATI_MEM_LEVEL_REM_CCE2 0x800
#define COATI_MEM_LEVEL_IO	 0x1000
#define COATI_MEM_LEVEL_UNCACHED 0x2000

/* snoop */
#define COATI_MEM_SNOOP_NA   1
#define COATI_MEM_SNOOP_NONE 2
#define COATI_MEM_SNOOP_HIT  4
#define COATI_MEM_SNOOP_MISS 8
#define COATI_MEM_SNOOP_HITM 0x10

/* snoopx */
#define COATI_MEM_SNOOPX_FWD  1
#define COATI_MEM_SNOOPX_PEER 2

/* lock */
#define COATI_MEM_LOCK_NA     1
#define COATI_MEM_LOCK_LOCKED 2

/* dtlb */
#define COATI_MEM_TLB_NA     1
#define COATI_MEM_TLB_HIT    2
#define COATI_MEM_TLB_MISS   4
#define COATI_MEM_TLB_L1     8
#define COATI_MEM_TLB_L2     0x10
#define COATI_MEM_TLB_WALKER 0x20
#define COATI_MEM_TLB_OS     0x40

/* level_num: 1 to 4 are L1 to L4 */
#define COATI_MEM_LEVEL_NUM_L1	      1
#define COATI_MEM_LEVEL_NUM_L2	      2
#define COATI_MEM_LEVEL_NUM_L3	      3
#define COATI_MEM_LEVEL_NUM_L4	      4
#define COATI_MEM_LEVEL_NUM_L2_MHB    5
#define COATI_MEM_LEVEL_NUM_MSC	      6
#define COATI_MEM_LEVEL_NUM_L0	      7
#define COATI_MEM_LEVEL_NUM_UNCACHED  8
#define COATI_MEM_LEVEL_NUM_CXL	      9
#define COATI_MEM_LEVEL_NUM_IO	      0xa
#define COATI_MEM_LEVEL_NUM_ANY_CACHE 0xb
#define COATI_MEM_LEVEL_NUM_LFB	      0xc
#define COATI_MEM_LEVEL_NUM_RAM	      0xd
#define COATI_MEM_LEVEL_NUM_PMEM      0xe
#define COATI_MEM_LEVEL_NUM_NA	      0xf

/* block */
#define COATI_MEM_BLOCK_NA   1
#define COATI_MEM_BLOCK_DATA 2
#define COATI_MEM_BLOCK_ADDR 4

/* The mirror: write @rec as bytes by @fmt into @buf, in our byte order; rec->size is not looked at.
 * Returns the size of the record, -ENOSPC when @cap is too small, -E2BIG when it would pass 65535
 * bytes, -EINVAL when @rec lacks what @fmt asks for. For every x in our byte order that decodes,
 * encode(decode(x)) == x, but for bytes behind the terminator of a text: these become zero. */
int coati_record_encode(const struct coati_record *rec, const struct coati_sample_format *fmt,
			void *buf, size_t cap);
