/* SPDX-License-Identifier: MIT */
/*
 * A mapping comes in, the distance from the file's own addresses goes out. A mapping begins at a
 * page, its segment where the linker put it: the first page of one is often the last one of another
 * too, and the offset at which the mapping begins is then a place in that other one, which has
 * another distance. So the segment is chosen by the pages from its first to its last.
 */
#include <elf.h>
#include <errno.h>

#include "image/image.h"
#include "image/open.h"

#define PAGE UINT64_C(4096) /* with larger pages the nearest segment is still the right one */

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a < b ? b - a : a - b;
}

struct choice {
	uint64_t off_by; /* bytes between the ends of the segment and of the mapping */
	uint64_t common; /* bytes of the segment in the mapping */
	bool is_code;
};

static bool is_better(const struct choice *a, const struct choice *b)
{
	if (a->is_code != b->is_code)
		return a->is_code;
	return a->off_by != b->off_by ? a->off_by < b->off_by : a->common > b->common;
}

/* How well the segment fits what is mapped of [from, to) of the file; false: it does not at all. */
static bool judge(const struct elf_segment *s, uint64_t from, uint64_t to, struct choice *ret)
{
	uint64_t end, first, last;

	if (s->type != PT_LOAD || !s->filesz ||
	    __builtin_add_overflow(s->offset, s->filesz, &end) || end > UINT64_MAX - PAGE)
		return false;
	first = s->offset & ~(PAGE - 1);
	last = (end + PAGE - 1) & ~(PAGE - 1);
	if (s->offset >= to || end <= from)
		return false;
	*ret = (struct choice){ .off_by = distance(first, from) + distance(last, to),
				.is_code = s->flags & PF_X };
	ret->common = (end < to ? end : to) - (s->offset > from ? s->offset : from);
	return true;
}

int coati_image_bias(struct coati_images *images, uint32_t image,
		     const struct coati_image_mapping *map, uint64_t *ret_bias)
{
	struct coati_image *im = coati_image_at(images, image);
	int r = im ? coati_image_open_file(im) : -EINVAL;
	struct choice best = { 0 }, c;
	struct elf_segment s;
	bool found = false;
	uint64_t to;

	if (r < 0)
		return r;
	if (map->end <= map->start ||
	    __builtin_add_overflow(map->file_offset, map->end - map->start, &to))
		return -EINVAL;
	for (uint32_t i = 0; i < im->file.elf.phnum && coati_elf_segment(&im->file.elf, i, &s) == 0;
	     i++) {
		if (!judge(&s, map->file_offset, to, &c) || (found && !is_better(&c, &best)))
			continue;
		found = true;
		best = c;
		*ret_bias = map->start - map->file_offset + s.offset - s.vaddr;
	}
	return found ? 0 : -ENOENT;
}
