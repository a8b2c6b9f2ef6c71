/* SPDX-License-Identifier: MIT */
/*
 * Sorted function entries to rows, rows to the finished block. Rows are made in the order of the
 * code, so that the directory is written along the way. Equal neighbors are joined; the end of a
 * function is marked only when more than padding follows.
 */
#include "unwind/table/build.h"

#include <elf.h>
#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "unwind/table/gather.h"
#include "unwind/table/rules.h"
#include "unwind/table/stubs.h"

#define PADDING_MAX 15	       /* bytes between functions that are never run */
#define ROWS_MAX    (1u << 28) /* 1 GiB of them */

struct build {
	const struct table_input *in;
	struct gathered g;
	struct rules rules;
	uint32_t *rows;
	uint32_t nr_rows, cap_rows;
	uint32_t *dir;
	uint32_t bucket; /* the directory is written up to it */
	uint32_t last_place, last_rule;
	uint32_t nr_raw, nr_unsupported, nr_damaged;
	int failed;
	/* the function at hand */
	const struct program_cie *cie;
	uint64_t start;
	uint32_t place, end;
	uint32_t at; /* place of its last row */
};

static bool grow_rows(struct build *b)
{
	uint32_t cap = b->cap_rows ? b->cap_rows * 2 : 4096;
	uint32_t *rows =
		b->cap_rows >= ROWS_MAX ? NULL : coati_realloc_array(b->rows, cap, sizeof(*rows));

	if (!rows) {
		b->failed = b->cap_rows >= ROWS_MAX ? -E2BIG : -ENOMEM;
		return false;
	}
	b->rows = rows;
	b->cap_rows = cap;
	return true;
}

/* From @place on, rule number @rule. Places ascend; the last one at a place counts. */
static void add_row(struct build *b, uint32_t place, uint32_t rule)
{
	uint32_t bucket = place >> TABLE_BUCKET_BITS;

	if (b->nr_rows > 1 && place == b->last_place) {
		/* replace, and perhaps join with the one before */
		b->nr_rows--;
		b->last_rule = b->rows[b->nr_rows - 1] & ((1u << TABLE_RULE_BITS) - 1);
		b->last_place = UINT32_MAX;
	}
	if (rule == b->last_rule)
		return;
	if (b->nr_rows == b->cap_rows && !grow_rows(b))
		return;
	while (b->bucket < bucket)
		b->dir[++b->bucket] = b->nr_rows;
	b->rows[b->nr_rows++] = place << TABLE_RULE_BITS | rule;
	b->last_place = place;
	b->last_rule = rule;
}

static void add_rule(struct build *b, uint32_t place, struct table_packed rule)
{
	int64_t id = coati_rules_get(&b->rules, rule);

	if (id < 0)
		b->failed = (int)id;
	else
		add_row(b, place, (uint32_t)id);
}

/* A row of a function's program: what jumps back or out of the function is not believed. */
static void take_row(void *ctx, uint64_t start, const struct program_state *state)
{
	struct build *b = ctx;
	uint64_t off = start - b->start;
	struct table_packed rule;
	uint32_t place;

	b->nr_raw++;
	if (off >= b->end - b->place)
		return;
	place = b->place + (uint32_t)off;
	if (place < b->at)
		return;
	b->at = place;
	coati_program_rule(b->cie, state, &rule);
	b->nr_unsupported += rule.rule == TABLE_CFA_UNSUPPORTED;
	add_rule(b, place, rule);
}

static const struct table_range *range_of(const struct build *b, uint32_t place)
{
	uint32_t i = b->g.nr_ranges - 1;

	while (i && place < b->g.ranges[i].first_bucket << TABLE_BUCKET_BITS)
		i--;
	return &b->g.ranges[i];
}

static uint64_t vaddr_of(const struct build *b, uint32_t place)
{
	const struct table_range *r = range_of(b, place);

	return r->start + (place - (r->first_bucket << TABLE_BUCKET_BITS));
}

static void add_function(struct build *b, const struct table_fde *f, uint32_t end)
{
	struct cfi_fde fde;
	uint64_t at;
	int r = coati_gathered_fde(b->in, &b->g, f, &fde);

	b->cie = &b->g.cies[f->cie];
	b->start = vaddr_of(b, f->place);
	b->place = b->at = f->place;
	b->end = end;
	if (r >= 0)
		r = coati_program_run(b->cie, &fde, take_row, b, &at);
	else
		at = b->start;
	if (r < 0) {
		/* its first rows are right, of the rest nothing is known */
		b->nr_damaged++;
		b->nr_unsupported++;
		if (at - b->start < b->end - b->place && b->place + (at - b->start) >= b->at)
			add_row(b, b->place + (uint32_t)(at - b->start), 1);
	}
}

/* Code without unwind data: [from, to) of one range. */
static void add_gap(struct build *b, uint32_t from, uint32_t to)
{
	struct stub_mark marks[STUB_MARKS_MAX];
	uint64_t start = vaddr_of(b, from);
	uint32_t n = coati_stubs_find(b->in, start, start + (to - from), marks);

	for (uint32_t i = 0; i < n && !b->failed; i++)
		add_rule(b, from + (uint32_t)(marks[i].start - start), marks[i].rule);
}

/* Functions of range @r, from entry @i on; returns the first entry behind it. */
static size_t add_range(struct build *b, const struct table_range *r, size_t i)
{
	uint32_t start = r->first_bucket << TABLE_BUCKET_BITS, stop = start + r->size;
	uint32_t covered = start;

	while (i < b->g.nr_fdes && b->g.fdes[i].place < stop && !b->failed) {
		const struct table_fde *f = &b->g.fdes[i++];
		uint32_t end = f->place + f->length;

		/* of entries for the same code the first is taken */
		while (i < b->g.nr_fdes && b->g.fdes[i].place == f->place)
			i++;
		if (i < b->g.nr_fdes && b->g.fdes[i].place < end)
			end = b->g.fdes[i].place;
		if (f->place - covered > PADDING_MAX || covered == start)
			add_gap(b, covered, f->place);
		add_function(b, f, end);
		covered = end;
	}
	if (covered < stop)
		add_gap(b, covered, stop);
	return i;
}

static void add_all(struct build *b)
{
	size_t i = 0;

	b->rows[b->nr_rows++] = 0; /* row 0: a gap in front of everything */
	b->dir[0] = 1;
	for (uint32_t r = 0; r < b->g.nr_ranges && !b->failed; r++) {
		/* nothing reaches over from the range before */
		add_row(b, b->g.ranges[r].first_bucket << TABLE_BUCKET_BITS, 0);
		i = add_range(b, &b->g.ranges[r], i);
	}
	while (b->bucket < b->g.nr_buckets)
		b->dir[++b->bucket] = b->nr_rows;
}

static uint64_t align8(uint64_t n)
{
	return (n + 7) & ~UINT64_C(7);
}

/* Sizes and offsets of all parts. */
static int lay_out(const struct build *b, struct table_head *h)
{
	uint64_t at = sizeof(*h);

	*h = (struct table_head){
		.magic = TABLE_MAGIC,
		.version = TABLE_VERSION,
		.machine = b->in->machine,
		.build_id_size = b->in->build_id_size,
		.nr_ranges = b->g.nr_ranges,
		.nr_buckets = b->g.nr_buckets,
		.nr_rows = b->nr_rows,
		.nr_rules = b->rules.len,
		.nr_fdes = (uint32_t)b->g.nr_fdes,
		.nr_raw_rows = b->nr_raw,
		.nr_damaged = b->g.nr_damaged + b->nr_damaged,
		.nr_unsupported = b->nr_unsupported,
	};
	memcpy(h->build_id, b->in->build_id, sizeof(h->build_id));
	h->ranges = (uint32_t)at;
	at += h->nr_ranges * sizeof(struct table_range);
	h->rules = (uint32_t)at;
	at += h->nr_rules * UINT64_C(8);
	h->others = (uint32_t)at;
	at = align8(at + h->nr_rules * UINT64_C(4));
	h->dir = (uint32_t)at;
	at = align8(at + (h->nr_buckets + UINT64_C(1)) * 4);
	h->rows = (uint32_t)at;
	at = align8(at + h->nr_rows * UINT64_C(4));
	h->size = at;
	return at > UINT32_MAX ? -E2BIG : 0;
}

static int write_rules(const struct build *b, uint8_t *out, const struct table_head *h,
		       uint32_t *map)
{
	CLEANUP(freep) uint32_t *order = coati_alloc_array(b->rules.len, sizeof(*order));
	int r = order ? coati_rules_sort(&b->rules, map, order) : -ENOMEM;

	for (uint32_t i = 0; r >= 0 && i < b->rules.len; i++) {
		memcpy(out + h->rules + (size_t)i * 8, &b->rules.v[order[i]].rule, 8);
		memcpy(out + h->others + (size_t)i * 4, &b->rules.v[order[i]].other, 4);
	}
	return r;
}

static int assemble(const struct build *b, void **ret_bytes, size_t *ret_size)
{
	CLEANUP(freep) uint32_t *map = coati_alloc_array(b->rules.len, sizeof(*map));
	CLEANUP(freep) uint8_t *out = NULL;
	const uint32_t mask = (1u << TABLE_RULE_BITS) - 1;
	struct table_head h;
	uint32_t *rows;
	int r = lay_out(b, &h);

	if (r < 0)
		return r;
	out = map ? coati_alloc((size_t)h.size) : NULL;
	if (!out)
		return -ENOMEM;
	r = write_rules(b, out, &h, map);
	if (r < 0)
		return r;
	memcpy(out + h.ranges, b->g.ranges, h.nr_ranges * sizeof(struct table_range));
	memcpy(out + h.dir, b->dir, (h.nr_buckets + (size_t)1) * 4);
	rows = (uint32_t *)(void *)(out + h.rows);
	for (uint32_t i = 0; i < h.nr_rows; i++)
		rows[i] = (b->rows[i] & ~mask) | map[b->rows[i] & mask];
	memcpy(out, &h, sizeof(h));
	h.checksum = coati_table_checksum(out, (size_t)h.size);
	memcpy(out, &h, sizeof(h));
	*ret_size = (size_t)h.size;
	*ret_bytes = TAKE_PTR(out);
	return 0;
}

int coati_table_build(const struct table_input *in, void **ret_bytes, size_t *ret_size)
{
	struct build b = { .in = in };
	int r;

	if (in->machine != EM_X86_64 && in->machine != EM_AARCH64)
		return -EOPNOTSUPP;
	r = coati_gather(in, &b.g);
	if (r < 0)
		return r;
	r = coati_rules_init(&b.rules);
	if (r >= 0)
		b.dir = coati_alloc_array((size_t)b.g.nr_buckets + 1, sizeof(*b.dir));
	if (r >= 0 && b.dir && grow_rows(&b))
		add_all(&b);
	else
		b.failed = -ENOMEM;
	r = b.failed ? b.failed : assemble(&b, ret_bytes, ret_size);
	coati_free(b.dir);
	coati_free(b.rows);
	coati_rules_fini(&b.rules);
	coati_gathered_fini(&b.g);
	return r;
}
