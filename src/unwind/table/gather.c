/* SPDX-License-Identifier: MIT */
/*
 * Sections come in, a sorted array of function entries goes out. One pass over the sections, one
 * radix sort when the order of the file is not that of the code. The number of entries is bounded
 * by the size of the sections: none is shorter than 8 bytes.
 */
#include "unwind/table/gather.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/map.h"

#define CIES_MAX (1u << 20)
#define NO_CIE	 UINT32_MAX

struct gathering {
	const struct table_input *in;
	struct gathered *g;
	size_t fdes_cap, cies_cap;
	struct map cies; /* of the section at hand: offset to index, or NO_CIE */
	uint64_t last_offset;
	uint32_t last_cie;
	bool is_sorted;
};

static int make_ranges(const struct table_input *in, struct gathered *g)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < in->nr_code; i++) {
		const struct table_code *c = &in->code[i];
		struct table_range *r = &g->ranges[g->nr_ranges];
		uint64_t end;

		if (!c->size)
			continue;
		if (__builtin_add_overflow(c->start, c->size, &end))
			return -EINVAL;
		if (c->size > TABLE_CODE_MAX - total)
			return -E2BIG;
		*r = (struct table_range){ .start = c->start,
					   .first_bucket = g->nr_buckets,
					   .size = (uint32_t)c->size };
		g->nr_buckets += (uint32_t)((c->size + 1023) >> TABLE_BUCKET_BITS);
		total = (uint64_t)g->nr_buckets << TABLE_BUCKET_BITS;
		g->nr_ranges++;
	}
	return g->nr_ranges ? 0 : -EINVAL;
}

/* The place of an address, and how many bytes of code there are from it on; false: none. */
static bool place_of(const struct gathered *g, uint64_t vaddr, uint32_t *ret, uint32_t *ret_room)
{
	for (uint32_t i = 0; i < g->nr_ranges; i++) {
		const struct table_range *r = &g->ranges[i];

		if (vaddr - r->start < r->size) {
			*ret = (r->first_bucket << TABLE_BUCKET_BITS) +
			       (uint32_t)(vaddr - r->start);
			*ret_room = r->size - (uint32_t)(vaddr - r->start);
			return true;
		}
	}
	return false;
}

static int grow(void **v, size_t *cap, size_t size)
{
	size_t more = *cap ? *cap * 2 : 1024;
	void *p = coati_realloc_array(*v, more, size);

	if (!p)
		return -ENOMEM;
	*v = p;
	*cap = more;
	return 0;
}

/* Index of the CIE at @offset, NO_CIE when it cannot be read. */
static int find_cie(struct gathering *w, const struct cfi_section *s, uint64_t offset,
		    uint32_t *ret)
{
	struct gathered *g = w->g;
	struct cfi_cie cie;
	uint64_t value;
	int r;

	if (offset == w->last_offset) {
		*ret = w->last_cie;
		return 0;
	}
	if (!coati_map_get(&w->cies, offset, &value)) {
		value = NO_CIE;
		if (g->nr_cies == w->cies_cap) {
			r = grow((void **)&g->cies, &w->cies_cap, sizeof(*g->cies));
			if (r < 0)
				return r;
		}
		if (g->nr_cies < CIES_MAX && coati_cfi_cie_at(s, offset, &cie) >= 0) {
			value = g->nr_cies;
			coati_program_prepare(&g->cies[g->nr_cies++], &cie, s, w->in->machine);
		}
		r = coati_map_put(&w->cies, offset, value);
		if (r == -ENOMEM)
			return r;
	}
	w->last_offset = offset;
	*ret = w->last_cie = (uint32_t)value;
	return 0;
}

static bool is_marked(const struct table_input *in, uint64_t vaddr)
{
	for (uint32_t i = 0; i < in->nr_marks; i++)
		if (in->marks[i].kind != TABLE_MARK_START &&
		    vaddr - in->marks[i].start < in->marks[i].size)
			return true;
	return false;
}

static int add_fde(struct gathering *w, uint32_t section, const struct cfi_entry *e)
{
	const struct cfi_section *s = &w->in->sections[section];
	struct gathered *g = w->g;
	uint32_t cie, place, room;
	struct cfi_fde f;
	int r = find_cie(w, s, e->cie, &cie);

	if (r < 0)
		return r;
	if (cie == NO_CIE || coati_cfi_fde(s, e, &g->cies[cie].cie, &f) < 0) {
		g->nr_damaged++;
		return 0;
	}
	if (!f.length || is_marked(w->in, f.start) || !place_of(g, f.start, &place, &room))
		return 0;
	if (g->nr_fdes == w->fdes_cap) {
		r = grow((void **)&g->fdes, &w->fdes_cap, sizeof(*g->fdes));
		if (r < 0)
			return r;
	}
	if (g->nr_fdes && g->fdes[g->nr_fdes - 1].place > place)
		w->is_sorted = false;
	g->fdes[g->nr_fdes++] =
		(struct table_fde){ .place = place,
				    .length = f.length < room ? (uint32_t)f.length : room,
				    .offset = (uint32_t)e->offset,
				    .section = section & 1,
				    .cie = cie & INT32_MAX };
	return 0;
}

static int gather_section(struct gathering *w, uint32_t section)
{
	const struct cfi_section *s = &w->in->sections[section];
	struct cfi_entry e;
	size_t at = 0;
	int r;

	if (s->size > UINT32_MAX)
		return -E2BIG;
	coati_map_fini(&w->cies);
	coati_map_init(&w->cies, CIES_MAX);
	w->last_offset = UINT64_MAX;
	w->last_cie = NO_CIE;
	while ((r = coati_cfi_next(s, &at, &e)) > 0) {
		if (e.is_end && s->stops_at_end)
			break;
		if (e.is_cie || e.is_end)
			continue;
		r = add_fde(w, section, &e);
		if (r < 0)
			return r;
	}
	w->g->nr_damaged += r < 0; /* what is left of it cannot be read */
	return 0;
}

/* Stable, by place: three passes of 11 bits. */
static int sort_fdes(struct gathered *g)
{
	struct table_fde *from = g->fdes, *to = coati_alloc_array(g->nr_fdes, sizeof(*to));
	CLEANUP(freep) uint32_t *counts = coati_alloc_array(2048, sizeof(*counts));

	if (!to || !counts) {
		coati_free(to);
		return -ENOMEM;
	}
	for (unsigned int shift = 0; shift < 33; shift += 11) {
		uint32_t sum = 0;
		struct table_fde *swap;

		memset(counts, 0, 2048 * sizeof(*counts));
		for (size_t i = 0; i < g->nr_fdes; i++)
			counts[from[i].place >> shift & 2047]++;
		for (uint32_t i = 0; i < 2048; i++) {
			uint32_t n = counts[i];

			counts[i] = sum;
			sum += n;
		}
		for (size_t i = 0; i < g->nr_fdes; i++)
			to[counts[from[i].place >> shift & 2047]++] = from[i];
		swap = from;
		from = to;
		to = swap;
	}
	coati_free(to);
	g->fdes = from;
	return 0;
}

int coati_gather(const struct table_input *in, struct gathered *ret)
{
	struct gathered g = { 0 };
	struct gathering w = { .in = in, .g = &g, .is_sorted = true };
	int r = make_ranges(in, &g);

	for (uint32_t i = 0; r >= 0 && i < in->nr_sections; i++)
		r = gather_section(&w, i);
	coati_map_fini(&w.cies);
	if (r >= 0 && !w.is_sorted)
		r = sort_fdes(&g);
	if (r < 0) {
		coati_gathered_fini(&g);
		return r;
	}
	*ret = g;
	return 0;
}

void coati_gathered_fini(struct gathered *g)
{
	coati_free(g->fdes);
	coati_free(g->cies);
	*g = (struct gathered){ 0 };
}

int coati_gathered_fde(const struct table_input *in, const struct gathered *g,
		       const struct table_fde *f, struct cfi_fde *ret)
{
	const struct cfi_section *s = &in->sections[f->section];
	struct cfi_entry e;
	size_t at = f->offset;

	if (coati_cfi_next(s, &at, &e) <= 0)
		return -EBADMSG;
	return coati_cfi_fde(s, &e, &g->cies[f->cie].cie, ret);
}
