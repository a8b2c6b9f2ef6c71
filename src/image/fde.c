/* SPDX-License-Identifier: MIT */
/*
 * Entries are read through cursors over the copy of the file. Pointers are understood in the
 * encodings that linkers write: absolute, relative to their own place, and relative to the table.
 */
#include "image/fde.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/search.h"

#define ENC_ABSPTR   0x00
#define ENC_UDATA2   0x02
#define ENC_UDATA4   0x03
#define ENC_UDATA8   0x04
#define ENC_SDATA2   0x0a
#define ENC_SDATA4   0x0b
#define ENC_SDATA8   0x0c
#define ENC_PCREL    0x10
#define ENC_DATAREL  0x30
#define ENC_INDIRECT 0x80
#define ENC_OMIT     0xff

#define CIE_BYTES_MAX	512  /* what is looked at of one: many FDEs may name a long one */
#define TERMINATORS_MAX 4096 /* in mid-section */

/* A cursor that knows which address its bytes have. */
struct place {
	struct cursor c;
	const uint8_t *start;
	uint64_t vaddr;
};

static uint64_t place_vaddr(const struct place *p)
{
	return p->vaddr + (uint64_t)(p->c.at - p->start);
}

static struct place place_over(struct fdes *f, const uint8_t *bytes, size_t size, uint64_t vaddr)
{
	struct place p = { .c = cursor_over(bytes, size), .vaddr = vaddr };

	p.start = p.c.at;
	p.c.swap = f->file->elf.swap;
	return p;
}

static uint64_t read_uleb(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; !c->bad; shift += 7) {
		uint8_t byte = cursor_u8(c);

		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			break;
	}
	return v;
}

/* The number alone, by the lower half of the encoding. */
static uint64_t read_value(struct cursor *c, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case ENC_ABSPTR:
	case ENC_UDATA8:
	case ENC_SDATA8:
		return cursor_u64(c);
	case ENC_UDATA2:
		return cursor_u16(c);
	case ENC_UDATA4:
		return cursor_u32(c);
	case ENC_SDATA2:
		return (uint64_t)(int64_t)(int16_t)cursor_u16(c);
	case ENC_SDATA4:
		return (uint64_t)(int64_t)(int32_t)cursor_u32(c);
	default:
		c->bad = true;
		return 0;
	}
}

static uint64_t read_pointer(struct place *p, uint8_t encoding, uint64_t data_base)
{
	uint64_t at = place_vaddr(p);
	uint64_t v = read_value(&p->c, encoding);

	switch (encoding & 0x70) {
	case 0:
		return v;
	case ENC_PCREL:
		return v + at;
	case ENC_DATAREL:
		return v + data_base;
	default:
		p->c.bad = true;
		return 0;
	}
}

/* Length and kind of the entry at @offset of .eh_frame; the place covers its body, from the id
 * on. */
static bool open_entry(struct fdes *f, uint64_t offset, struct place *ret, uint32_t *ret_id)
{
	uint64_t left = offset <= f->frames.size ? f->frames.size - offset : 0;
	const uint8_t *head =
		left >= 8 ? coati_copy_bytes(f->file, f->frames.offset + offset, 4) : NULL;
	struct place p = place_over(f, head, 4, 0);
	uint32_t length = cursor_u32(&p.c);
	const uint8_t *body;

	/* the 64-bit form is for sections of more than 4 GiB */
	if (!head || length < 4 || length == UINT32_MAX || length > left - 4)
		return false;
	body = coati_copy_bytes(f->file, f->frames.offset + offset + 4, length);
	*ret = place_over(f, body, length, f->frames.vaddr + offset + 4);
	*ret_id = cursor_u32(&ret->c);
	return body;
}

/* The encoding of addresses in the FDEs of the common entry at @offset; ENC_OMIT: damaged. */
static uint8_t read_cie(struct fdes *f, uint64_t offset)
{
	const char *augmentation;
	uint8_t encoding = ENC_ABSPTR;
	uint32_t id;
	struct place p;
	uint8_t version;

	if (!open_entry(f, offset, &p, &id) || id != 0)
		return ENC_OMIT;
	if (cursor_left(&p.c) > CIE_BYTES_MAX)
		p.c.end = p.c.at + CIE_BYTES_MAX;
	version = cursor_u8(&p.c);
	augmentation = (const char *)p.c.at;
	while (!p.c.bad && cursor_u8(&p.c))
		;
	read_uleb(&p.c);
	read_uleb(&p.c);
	if (version == 1)
		cursor_skip(&p.c, 1);
	else
		read_uleb(&p.c);
	if (p.c.bad || *augmentation != 'z')
		return p.c.bad ? ENC_OMIT : encoding;
	read_uleb(&p.c);
	for (const char *a = augmentation + 1; *a && !p.c.bad; a++) {
		if (*a == 'R')
			return cursor_u8(&p.c);
		if (*a == 'L')
			cursor_skip(&p.c, 1);
		else if (*a == 'P')
			read_value(&p.c, cursor_u8(&p.c));
		else if (*a != 'S' && *a != 'B' && *a != 'G')
			break;
	}
	return p.c.bad ? ENC_OMIT : encoding;
}

/* The range of the FDE whose body is @p, which begins at @offset; false: damaged or empty. */
static bool read_range(struct fdes *f, struct place *p, uint64_t offset, uint32_t id,
		       struct fde_range *ret)
{
	uint64_t start, length, cie = offset + 4 - id;

	if (id > offset + 4)
		return false;
	if (!f->has_cie || f->cie_at != cie) {
		f->cie_encoding = read_cie(f, cie);
		f->cie_at = cie;
		f->has_cie = true;
	}
	if (f->cie_encoding == ENC_OMIT || f->cie_encoding & ENC_INDIRECT)
		return false;
	start = read_pointer(p, f->cie_encoding, 0);
	length = read_value(&p->c, f->cie_encoding & 0x07); /* lengths have no sign */
	if (p->c.bad || !length || __builtin_add_overflow(start, length, &ret->end))
		return false;
	ret->start = start;
	return true;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct fde_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static size_t walk(struct fdes *f, struct fde_range *ret, size_t max)
{
	uint64_t offset = 0;
	size_t nr = 0, nr_zeros = 0;

	while (offset + 8 <= f->frames.size && nr < max) {
		struct fde_range range;
		struct place p;
		uint32_t id;

		if (!open_entry(f, offset, &p, &id)) {
			const uint8_t *zero =
				coati_copy_bytes(f->file, f->frames.offset + offset, 4);

			/* a terminator may stand in mid-section */
			if (!zero || zero[0] || zero[1] || zero[2] || zero[3] ||
			    ++nr_zeros > TERMINATORS_MAX) {
				f->damaged = true;
				break;
			}
			offset += 4;
			continue;
		}
		if (id && read_range(f, &p, offset, id, &range)) {
			if (ret)
				ret[nr] = range;
			nr++;
		}
		offset += 4 + (uint64_t)(p.c.end - p.start);
	}
	return nr;
}

/* Twice over the section: once to count, once to keep. */
static int sort_frames(struct fdes *f)
{
	size_t nr = walk(f, NULL, FDE_MAX);

	if (!nr)
		return 0;
	f->sorted = coati_alloc_array(nr, sizeof(*f->sorted));
	if (!f->sorted)
		return -ENOMEM;
	f->nr_sorted = walk(f, f->sorted, nr);
	qsort(f->sorted, f->nr_sorted, sizeof(*f->sorted), compare_ranges);
	return 0;
}

/* A file without sections: the frames reach as far as the segment that holds them. */
static bool find_frames(struct fdes *f, uint64_t vaddr)
{
	struct elf_segment seg;

	if (coati_elf_segment_at(&f->file->elf, vaddr, &seg) < 0)
		return false;
	f->frames = (struct elf_section){ .type = 1,
					  .vaddr = vaddr,
					  .offset = seg.offset + (vaddr - seg.vaddr),
					  .size = seg.filesz - (vaddr - seg.vaddr) };
	return true;
}

/* The search table, when it has the form that every linker gives it. */
static void read_table(struct fdes *f, const struct elf_section *hdr)
{
	size_t size;
	const uint8_t *bytes = coati_copy_section(f->file, hdr, &size);
	struct place p = place_over(f, bytes, size, hdr->vaddr);
	uint8_t version = cursor_u8(&p.c);
	uint8_t frame_encoding = cursor_u8(&p.c);
	uint8_t count_encoding = cursor_u8(&p.c);
	uint8_t table_encoding = cursor_u8(&p.c);
	uint64_t frames, nr;

	if (version != 1 || table_encoding != (ENC_DATAREL | ENC_SDATA4) ||
	    count_encoding == ENC_OMIT)
		return;
	frames = read_pointer(&p, frame_encoding, hdr->vaddr);
	nr = read_pointer(&p, count_encoding, hdr->vaddr);
	if (p.c.bad || nr > cursor_left(&p.c) / 8) {
		f->damaged = true;
		return;
	}
	if (!f->frames.size && !find_frames(f, frames))
		return;
	f->table = p.c.at;
	f->nr_pairs = (size_t)nr;
	f->table_base = hdr->vaddr;
}

int coati_fdes_init(struct fdes *f, struct copy *file, const struct elf_section *hdr,
		    const struct elf_section *frames)
{
	*f = (struct fdes){ .file = file, .frames = *frames };
	if (hdr->size)
		read_table(f, hdr);
	return f->table || !frames->size ? 0 : sort_frames(f);
}

void coati_fdes_fini(struct fdes *f)
{
	coati_free(f->sorted);
	*f = (struct fdes){ 0 };
}

/* Half @which of pair @i of the search table. */
static uint64_t pair_value(const struct fdes *f, size_t i, size_t which)
{
	struct cursor c = cursor_over(f->table + i * 8 + which * 4, 4);

	c.swap = f->file->elf.swap;
	return f->table_base + (uint64_t)(int64_t)(int32_t)cursor_u32(&c);
}

/* How many functions begin at or before @vaddr, by the search table or by the sorted ranges. */
static size_t count_until(const struct fdes *f, uint64_t vaddr)
{
	return SEARCH(mid, 0, f->table ? f->nr_pairs : f->nr_sorted,
		      (f->table ? pair_value(f, mid, 0) : f->sorted[mid].start) <= vaddr);
}

static bool find_in_table(struct fdes *f, uint64_t vaddr, struct fde_range *ret)
{
	size_t low = count_until(f, vaddr);
	uint64_t offset;
	struct place p;
	uint32_t id;

	if (!low)
		return false;
	offset = pair_value(f, low - 1, 1) - f->frames.vaddr;
	if (!open_entry(f, offset, &p, &id) || !id || !read_range(f, &p, offset, id, ret)) {
		f->damaged = true;
		return false;
	}
	return vaddr >= ret->start && vaddr < ret->end;
}

static bool find_in_sorted(const struct fdes *f, uint64_t vaddr, struct fde_range *ret)
{
	size_t low = count_until(f, vaddr);

	if (!low || vaddr >= f->sorted[low - 1].end)
		return false;
	*ret = f->sorted[low - 1];
	return true;
}

bool coati_fdes_find(struct fdes *f, uint64_t vaddr, struct fde_range *ret)
{
	return f->table ? find_in_table(f, vaddr, ret) : find_in_sorted(f, vaddr, ret);
}

uint64_t coati_fdes_after(const struct fdes *f, uint64_t vaddr)
{
	size_t i = count_until(f, vaddr);

	if (i >= (f->table ? f->nr_pairs : f->nr_sorted))
		return UINT64_MAX;
	return f->table ? pair_value(f, i, 0) : f->sorted[i].start;
}
