/* SPDX-License-Identifier: MIT */
/*
 * The compact unwind table of one ELF file: one flat block of memory without pointers, so that it
 * is the same in the heap, in a cache file, in shared memory and in front of a program in the
 * kernel. docs/formats/unwind-table.md has it byte by byte.
 *
 * Code is cut into buckets of 1 KiB. A row is four bytes, the offset in its bucket (10 bits) above
 * the number of a rule (22 bits), and holds until the next row, through empty buckets too. The
 * directory has the first row of each bucket. A rule is eight bytes and says where the caller's
 * stack pointer, return address and frame pointer are; beside it four bytes for one register more:
 * rbx on x86-64 (the lazy-binding trampoline needs it), the return address on arm64.
 *
 * Looking up is memory-safe for any bytes: every index is compared with its count. Nothing here
 * allocates, locks or touches errno.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TABLE_MAGIC	  UINT64_C(0x3142544954414f43) /* "COATITB1" */
#define TABLE_VERSION	  3u
#define TABLE_BUCKET_BITS 10
#define TABLE_RULE_BITS	  22
#define TABLE_RULES_MAX	  65536u
#define TABLE_RANGES_MAX  16u
#define TABLE_CODE_MAX	  (UINT64_C(1) << 31) /* bytes of code in one file */

/* How the caller's stack pointer (the CFA) is found. The values are part of the format. */
enum table_cfa {
	TABLE_CFA_GAP = 0,     /* no unwind data for this code */
	TABLE_CFA_END,	       /* the outermost frame */
	TABLE_CFA_SP,	       /* sp + offset */
	TABLE_CFA_FP,	       /* fp + offset */
	TABLE_CFA_REG,	       /* register `arg` + offset */
	TABLE_CFA_AT_SP,       /* *(sp + offset) + 8 * (signed) arg */
	TABLE_CFA_AT_FP,       /* *(fp + offset) + 8 * (signed) arg */
	TABLE_CFA_PLT,	       /* sp + offset, and 8 more when (pc & 15) >= arg */
	TABLE_CFA_SIGNAL,      /* the kernel's signal frame lies at sp */
	TABLE_CFA_UNSUPPORTED, /* there is a rule, but not one that fits here */
	TABLE_CFA_RA_REG,      /* sp + offset; the return address is in register `arg` */
	TABLE_CFA_COUNT,
};

/* Where a register of the caller is. */
enum table_where {
	TABLE_SAME = 0, /* still in the register */
	TABLE_AT_CFA,	/* memory at CFA + offset */
	TABLE_AT_FP,	/* memory at this frame's fp + offset */
	TABLE_AT_SP,	/* memory at this frame's sp + offset */
	TABLE_LOST,	/* cannot be known */
};

/* A rule taken apart. */
struct table_rule {
	uint8_t cfa;	   /* enum table_cfa */
	uint8_t fp;	   /* enum table_where */
	uint8_t arg;	   /* see enum table_cfa */
	uint8_t other;	   /* enum table_where of rbx, or of the return address on arm64 */
	bool exact;	   /* the caller's pc is not a return address ('S' augmentation) */
	int32_t cfa_off;   /* 24 bits */
	int32_t fp_off;	   /* 24 bits */
	int32_t other_off; /* 28 bits */
};

struct table_head {
	uint64_t magic;
	uint32_t version;
	uint32_t machine;  /* EM_X86_64, EM_AARCH64 */
	uint64_t size;	   /* of all of it */
	uint64_t checksum; /* coati_table_checksum() */
	uint32_t build_id_size;
	uint8_t build_id[20];
	uint32_t nr_ranges, nr_buckets, nr_rows, nr_rules;
	/* offsets from the start, each a multiple of 8 */
	uint32_t ranges, dir, rows, rules, others;
	uint32_t nr_fdes;	 /* what it was made of, for people */
	uint32_t nr_raw_rows;	 /* rows before equal neighbors were joined */
	uint32_t nr_damaged;	 /* entries of the unwind data that could not be read */
	uint32_t nr_unsupported; /* rows whose rule is TABLE_CFA_UNSUPPORTED */
	uint32_t reserved;
};
_Static_assert(sizeof(struct table_head) == 112, "part of the format");

/* One of the two. Inside a program it is the one that runs it, and the other one's code is left
 * out. */
static inline bool table_is_x86(uint32_t machine)
{
#if defined(COATI_INSIDE) && defined(__x86_64__)
	return true;
#elif defined(COATI_INSIDE) && defined(__aarch64__)
	return false;
#else
	return machine == EM_X86_64;
#endif
}

struct table_range {
	uint64_t start; /* address in the file's own terms */
	uint32_t first_bucket;
	uint32_t size; /* bytes of code */
};
_Static_assert(sizeof(struct table_range) == 16, "part of the format");

/* A view of a table that was checked. Lives as long as its bytes. */
struct table {
	const struct table_head *head;
	const struct table_range *ranges;
	const uint32_t *dir; /* nr_buckets + 1: the last one is nr_rows */
	const uint32_t *rows;
	const uint64_t *rules;
	const int32_t *others;
	uint32_t nr_ranges, nr_buckets, nr_rows, nr_rules;
	uint32_t machine;
};

/* Of bytes that coati_table_build() has made just now; others go through coati_table_open(). */
static inline struct table table_view(const void *bytes)
{
	const struct table_head *h = bytes;

	return (struct table){
		.head = h,
		.ranges = (const void *)((const uint8_t *)bytes + h->ranges),
		.dir = (const void *)((const uint8_t *)bytes + h->dir),
		.rows = (const void *)((const uint8_t *)bytes + h->rows),
		.rules = (const void *)((const uint8_t *)bytes + h->rules),
		.others = (const void *)((const uint8_t *)bytes + h->others),
		.nr_ranges = h->nr_ranges,
		.nr_buckets = h->nr_buckets,
		.nr_rows = h->nr_rows,
		.nr_rules = h->nr_rules,
		.machine = h->machine,
	};
}

/* A packed rule as it lies in the table. */
struct table_packed {
	uint64_t rule;
	int32_t other;
};

static inline int32_t table_cfa_off(uint64_t rule)
{
	return (int32_t)((int64_t)(rule << 24) >> 40);
}

static inline int32_t table_fp_off(uint64_t rule)
{
	return (int32_t)((int64_t)rule >> 40);
}

static inline struct table_rule table_unpack(struct table_packed p)
{
	return (struct table_rule){
		.cfa = (uint8_t)(p.rule & 15),
		.fp = (uint8_t)(p.rule >> 4 & 15),
		.arg = (uint8_t)(p.rule >> 8),
		.other = (uint8_t)(p.other & 7),
		.exact = p.other & 8,
		.cfa_off = table_cfa_off(p.rule),
		.fp_off = table_fp_off(p.rule),
		.other_off = p.other >> 4,
	};
}

/* False when an offset does not fit. */
static inline bool table_pack(const struct table_rule *r, struct table_packed *ret)
{
	if (r->cfa_off != (int32_t)((uint32_t)r->cfa_off << 8) >> 8 ||
	    r->fp_off != (int32_t)((uint32_t)r->fp_off << 8) >> 8 ||
	    r->other_off != (int32_t)((uint32_t)r->other_off << 4) >> 4)
		return false;
	ret->rule = (uint64_t)r->cfa | (uint64_t)r->fp << 4 | (uint64_t)r->arg << 8 |
		    (uint64_t)((uint32_t)r->cfa_off & 0xffffff) << 16 |
		    (uint64_t)((uint32_t)r->fp_off & 0xffffff) << 40;
	ret->other = (int32_t)((uint32_t)r->other_off << 4 | (r->exact ? 8u : 0) | r->other);
	return true;
}

/* Check foreign bytes (@bytes aligned to 8) and take their parts: 0, -EBADMSG (no table, damaged,
 * cut short), -EOPNOTSUPP (another version or byte order: make it again). The bytes must stay. */
int coati_table_open(const void *bytes, size_t size, struct table *ret);
/* Over everything but the checksum itself; for who changes a table on purpose. */
uint64_t coati_table_checksum(const void *bytes, size_t size);

/* The place of @vaddr in bucket space: false when the table does not know the code at all. */
static inline bool table_place(const struct table *t, uint64_t vaddr, uint32_t *ret)
{
	for (uint32_t i = 0; i < t->nr_ranges; i++) {
		const struct table_range *r = &t->ranges[i];
		uint64_t off = vaddr - r->start;

		if (off < r->size) {
			*ret = (r->first_bucket << TABLE_BUCKET_BITS) + (uint32_t)off;
			return true;
		}
	}
	return false;
}

/* The row that holds at a place of table_place(); row 0 is always a gap.  Signal: safe.  Hot. */
static inline uint32_t table_row_at(const struct table *t, uint32_t place)
{
	uint32_t bucket = place >> TABLE_BUCKET_BITS;
	uint32_t key = place << TABLE_RULE_BITS | ((1u << TABLE_RULE_BITS) - 1);
	uint32_t first, end, n;

	if (bucket >= t->nr_buckets)
		return 0;
	first = t->dir[bucket];
	end = t->dir[bucket + 1];
	if (first > end || end > t->nr_rows || !first)
		return 0;
	/* rows of a bucket ascend as numbers: count those that are not above the key, without
	 * branches on data */
	n = end - first;
	while (n > 1) {
		uint32_t half = n / 2;

		first += t->rows[first + half - 1] <= key ? half : 0;
		n -= half;
	}
	if (n == 1 && t->rows[first] <= key)
		first++;
	return first - 1;
}

/* The rule for code at @vaddr; a gap when there is none.  Signal: safe.  Hot. */
static inline struct table_packed table_find(const struct table *t, uint64_t vaddr)
{
	struct table_packed gap = { 0, 0 };
	uint32_t place, id;

	if (!table_place(t, vaddr, &place))
		return gap;
	id = t->rows[table_row_at(t, place)] & ((1u << TABLE_RULE_BITS) - 1);
	if (id >= t->nr_rules)
		return gap;
	return (struct table_packed){ t->rules[id], t->others[id] };
}
