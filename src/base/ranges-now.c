/* SPDX-License-Identifier: MIT */
/*
 * What is seen at the newest time: pieces by address in blocks of limited size, into which each new
 * range is painted. So a question about now, which is what nearly all are while records come by
 * time, costs two searches, and a new range the moving of part of a block, however many there are.
 */
#include "base/ranges.h"

#include <string.h>

#include "base/alloc.h"
#include "base/search.h"

#define BLOCK	   128u /* pieces */
#define FILL	   96u	/* of a block that is made from others */
#define PIECES_FEW 16u

struct range_block {
	uint32_t nr; /* at least 1 */
	struct range v[BLOCK];
};

/* A place among all pieces; at the end: block is the number of blocks. */
struct place {
	size_t block;
	uint32_t i;
};

void coati_ranges_now_drop(struct ranges_now *n)
{
	for (size_t i = 0; i < n->nr; i++)
		coati_free(n->v[i]);
	coati_free(n->v);
	*n = (struct ranges_now){ 0 };
}

/* The first piece that ends behind @addr. */
static struct place place_of(const struct ranges_now *n, uint64_t addr)
{
	size_t low = 0, high = n->nr;
	uint32_t a = 0, b;

	low = SEARCH(mid, low, high, n->v[mid]->v[n->v[mid]->nr - 1].end <= addr);
	if (low == n->nr)
		return (struct place){ .block = low };
	for (b = n->v[low]->nr; a < b;) {
		uint32_t mid = a + (b - a) / 2;

		if (n->v[low]->v[mid].end <= addr)
			a = mid + 1;
		else
			b = mid;
	}
	return (struct place){ low, a };
}

static const struct range *at(const struct ranges_now *n, struct place p)
{
	return p.block < n->nr ? &n->v[p.block]->v[p.i] : NULL;
}

static struct place next(const struct ranges_now *n, struct place p)
{
	if (++p.i == n->v[p.block]->nr)
		p = (struct place){ .block = p.block + 1 };
	return p;
}

static const struct range *before(const struct ranges_now *n, struct place p)
{
	if (p.i)
		return &n->v[p.block]->v[p.i - 1];
	return p.block ? &n->v[p.block - 1]->v[n->v[p.block - 1]->nr - 1] : NULL;
}

int coati_ranges_now_find(const struct ranges_now *n, uint64_t addr, struct range *ret)
{
	struct place p = place_of(n, addr);
	const struct range *here = at(n, p), *left = before(n, p);
	uint64_t start = ret->start, end = ret->end;

	if (left && left->end > start)
		start = left->end;
	if (!here || here->start > addr) {
		ret->start = start;
		ret->end = here && here->start < end ? here->start : end;
		return 0;
	}
	start = here->start > start ? here->start : start;
	end = here->end < end ? here->end : end;
	*ret = *here;
	ret->start = start;
	ret->end = end;
	ret->offset = here->offset + (start - here->start);
	return 1;
}

/* ---- painting ---- */

struct pieces {
	struct range few[PIECES_FEW];
	struct range *v;
	size_t nr;
};

static void push(struct pieces *p, const struct range *r, uint64_t start, uint64_t end)
{
	if (start >= end)
		return;
	p->v[p->nr] = *r;
	p->v[p->nr].offset += start - r->start;
	p->v[p->nr].start = start;
	p->v[p->nr++].end = end;
}

/* @m between the pieces [from, to), which it touches: over those that are not later. */
static void paint(const struct ranges_now *n, const struct range *m, struct place from,
		  struct place to, struct pieces *ret)
{
	uint64_t done = m->start;
	struct range rest = { 0 };

	for (; from.block != to.block || from.i != to.i; from = next(n, from)) {
		const struct range *p = at(n, from);

		if (p->time > m->time) {
			push(ret, m, done, p->start);
			push(ret, p, p->start, p->end);
			done = p->end > done ? p->end : done;
			continue;
		}
		push(ret, p, p->start, m->start);
		if (p->end > m->end) {
			rest = *p;
			rest.offset += m->end - p->start;
			rest.start = m->end;
		}
	}
	push(ret, m, done, m->end);
	push(ret, &rest, rest.start, rest.end);
}

/* The pieces [from, to) of one block become @p, which fits. */
static void replace_in_block(struct range_block *b, uint32_t from, uint32_t to,
			     const struct pieces *p)
{
	memmove(&b->v[from + p->nr], &b->v[to], (b->nr - to) * sizeof(*b->v));
	memcpy(&b->v[from], p->v, p->nr * sizeof(*b->v));
	b->nr = from + (uint32_t)p->nr + (b->nr - to);
}

/* The last block of which something is in [from, to). */
static size_t last_block(struct place from, struct place to)
{
	return to.i ? to.block : to.block - (to.block > from.block);
}

/* All pieces of the blocks from that of @from to the last, with @p instead of [from, to). */
static size_t gather(const struct ranges_now *n, struct place from, struct place to,
		     const struct pieces *p, struct range *ret)
{
	const struct range_block *b = from.block < n->nr ? n->v[from.block] : NULL;
	size_t nr = from.i;

	if (nr)
		memcpy(ret, b->v, nr * sizeof(*ret));
	memcpy(ret + nr, p->v, p->nr * sizeof(*ret));
	nr += p->nr;
	if (to.block <= last_block(from, to) && to.block < n->nr) {
		b = n->v[to.block];
		memcpy(ret + nr, &b->v[to.i], (b->nr - to.i) * sizeof(*ret));
		nr += b->nr - to.i;
	}
	return nr;
}

static bool make_blocks(const struct range *v, size_t nr, struct range_block **ret, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++) {
		size_t from = nr * i / blocks, to = nr * (i + 1) / blocks;

		ret[i] = coati_alloc(sizeof(**ret));
		if (!ret[i]) {
			while (i)
				coati_free(ret[--i]);
			return false;
		}
		ret[i]->nr = (uint32_t)(to - from);
		memcpy(ret[i]->v, v + from, (to - from) * sizeof(*v));
	}
	return true;
}

/* The blocks [first, first + count) become others. */
static bool replace_blocks(struct ranges_now *n, size_t first, size_t count, const struct range *v,
			   size_t nr)
{
	size_t blocks = (nr + FILL - 1) / FILL, all = n->nr - count + blocks;
	struct range_block **list = coati_alloc_array(all + 1, sizeof(*list));

	if (!list || !make_blocks(v, nr, list + first, blocks)) {
		coati_free(list);
		return false;
	}
	if (first)
		memcpy(list, n->v, first * sizeof(*list));
	if (n->nr > first + count)
		memcpy(list + first + blocks, n->v + first + count,
		       (n->nr - first - count) * sizeof(*list));
	for (size_t i = first; i < first + count; i++)
		coati_free(n->v[i]);
	coati_free(n->v);
	n->v = list;
	n->nr = all;
	return true;
}

static bool replace_across(struct ranges_now *n, struct place from, struct place to,
			   const struct pieces *p)
{
	size_t count, nr;
	struct range *all = coati_alloc_array(p->nr + 2 * (size_t)BLOCK, sizeof(*all));
	bool ok;

	if (!all)
		return false;
	count = from.block < n->nr ? last_block(from, to) - from.block + 1 : 0;
	nr = gather(n, from, to, p, all);
	ok = replace_blocks(n, from.block, count, all, nr);
	coati_free(all);
	return ok;
}

static bool replace(struct ranges_now *n, struct place from, struct place to,
		    const struct pieces *p)
{
	struct range_block *b = from.block < n->nr ? n->v[from.block] : NULL;
	bool is_end = to.block == from.block + 1 && !to.i; /* of the same block */

	if (b && (to.block == from.block || is_end)) {
		uint32_t end = is_end ? b->nr : to.i;

		if (b->nr - (end - from.i) + p->nr <= BLOCK) {
			replace_in_block(b, from.i, end, p);
			return true;
		}
	}
	return replace_across(n, from, to, p);
}

bool coati_ranges_now_add(struct ranges_now *n, const struct range *m)
{
	struct place from = place_of(n, m->start), to = from;
	struct pieces p = { .nr = 0 };
	size_t nr = 0;
	bool ok;

	for (const struct range *r; (r = at(n, to)) && r->start < m->end; to = next(n, to))
		nr++;
	/* behind the last piece: into the last block, where it often has room */
	if (from.block == n->nr && n->nr) {
		from = (struct place){ n->nr - 1, n->v[n->nr - 1]->nr };
		to = from;
	}
	p.v = 2 * nr + 3 <= PIECES_FEW ? p.few : coati_alloc_array(2 * nr + 3, sizeof(*p.v));
	if (!p.v)
		return false;
	paint(n, m, from, to, &p);
	ok = replace(n, from, to, &p);
	if (p.v != p.few)
		coati_free(p.v);
	return ok;
}

bool coati_ranges_now_make(struct ranges_now *n, const struct range *v, size_t nr)
{
	coati_ranges_now_drop(n);
	n->is_made = !nr || replace_blocks(n, 0, 0, v, nr);
	return n->is_made;
}
