/* SPDX-License-Identifier: MIT */
/*
 * Addresses. The number of a process at a time comes from its slot, where the last one is
 * remembered; with the number an answer that was given before is found in a small table. Only what
 * is in neither is looked for: in the space, and in those below it.
 */
#include "process/processes.h"

#include <errno.h>

#include "base/alloc.h"
#include "image/image.h"

#define VSYSCALL       UINT64_C(0xffffffffff600000)
#define VSYSCALL_BYTES 4096

/* The space below @space, NULL when there is none. LIVE: its process may have to be read first. */
static struct space *space_below(struct coati_processes *ps, const struct space *space)
{
	struct pid_slot *slot = space->has_base ? coati_pid_slot_find(ps, space->base_pid) : NULL;
	struct pid_span *span;

	if (!slot)
		return NULL;
	if (ps->flags & COATI_PROCESSES_LIVE && !slot->was_read)
		(void)coati_processes_read(ps, slot);
	span = coati_pid_span(slot, space->base_time, NULL);
	return span->space == space || space->base_time < span->from ? NULL : span->space;
}

static uint64_t number_of(struct coati_processes *ps, struct space *space, uint32_t position)
{
	if (space->has_base && space->inherit_epoch != ps->inherit_epoch) {
		space->epoch = ps->next_epoch++;
		space->inherit_epoch = ps->inherit_epoch;
	}
	return (uint64_t)space->epoch << 32 | position;
}

/* Without changes of its own a fork has its parent's number. */
static uint64_t make_number(struct coati_processes *ps, struct pid_slot *slot, uint64_t time)
{
	uint64_t span_to, from, to;
	struct pid_span *span = coati_pid_span(slot, time, &span_to);
	struct space *space = span->space, *below;
	uint32_t position = coati_ranges_position(&space->ranges, time, &from, &to);
	uint64_t begin = span->from;

	slot->inherit_epoch = ps->inherit_epoch;
	if (time < span->from) {
		slot->from = 0;
		slot->to = span->from;
		return slot->number = NUMBER_NONE;
	}
	slot->from = from > begin ? from : begin;
	slot->to = to < span_to ? to : span_to;
	for (int i = 0; !position && i < HOPS_MAX && (below = space_below(ps, space)); i++) {
		time = space->base_time;
		space = below;
		position = coati_ranges_position(&space->ranges, time, &from, &to);
	}
	slot->number = number_of(ps, space, position);
	return slot->number;
}

static inline uint64_t slot_number(struct coati_processes *ps, struct pid_slot *slot, uint64_t time)
{
	if (time >= slot->from && time < slot->to && slot->inherit_epoch == ps->inherit_epoch)
		return slot->number;
	return make_number(ps, slot, time);
}

/* The slot of a question; LIVE: read from /proc when no record has it. */
static struct pid_slot *asked_slot(struct coati_processes *ps, int32_t pid)
{
	struct pid_slot *slot = coati_pid_slot_find(ps, pid);
	int r;

	if (!(ps->flags & COATI_PROCESSES_LIVE) || pid <= 0)
		return slot;
	if (!slot)
		slot = coati_pid_slot_get(ps, pid, &r);
	if (slot && !slot->was_read)
		(void)coati_processes_read(ps, slot);
	return slot;
}

uint64_t coati_processes_space(struct coati_processes *ps, int32_t pid, uint64_t time)
{
	struct pid_slot *slot = asked_slot(ps, pid);

	return slot ? slot_number(ps, slot, time) : 0;
}

/* In the space and those below. */
static bool look_for(struct coati_processes *ps, struct pid_slot *slot, uint64_t addr,
		     uint64_t time, struct range *ret)
{
	struct pid_span *span = coati_pid_span(slot, time, NULL);
	struct space *space = time < span->from ? NULL : span->space;

	*ret = (struct range){ .start = 0, .end = UINT64_MAX };
	for (int i = 0; space && i < HOPS_MAX; i++) {
		struct space *below;

		if (coati_ranges_find(&space->ranges, addr, time, ret))
			return ret->id != RANGE_HOLE;
		below = space_below(ps, space);
		time = space->base_time;
		space = below;
	}
	return false;
}

static inline void fill_place(struct coati_place *ret, const struct found *f, uint64_t addr)
{
	*ret = (struct coati_place){ .image = f->image,
				     .prot = f->prot,
				     .start = f->start,
				     .end = f->end,
				     .pgoff = f->pgoff,
				     .vaddr = addr + f->delta };
}

/* What is added to an address to get the image's own. */
static uint64_t delta_of(struct coati_processes *ps, const struct range *r,
			 const struct origin_image *oi, uint64_t addr)
{
	uint64_t offset = addr - r->start + r->offset, vaddr = offset;

	if (oi->is_absolute)
		return 0;
	if (coati_image_vaddr(ps->images, oi->image, offset, &vaddr) < 0)
		vaddr = offset;
	return vaddr - addr;
}

/* A page that every process of x86-64 has and no record tells of. */
static bool is_vsyscall(struct coati_processes *ps, const struct pid_slot *slot, uint64_t addr,
			struct range *ret)
{
	struct origin o = { .kind = ORIGIN_FILE, .path = "[vsyscall]" };

	if (addr < VSYSCALL || addr - VSYSCALL >= VSYSCALL_BYTES || slot == &ps->kernel)
		return false;
	*ret = (struct range){ .start = VSYSCALL, .end = VSYSCALL + VSYSCALL_BYTES };
	return coati_origin_get(ps, &o, &ret->id) == 0;
}

static int find_slowly(struct coati_processes *ps, struct pid_slot *slot, uint64_t addr,
		       uint64_t time, struct found *f)
{
	struct origin_image oi;
	struct range r;

	if (!look_for(ps, slot, addr, time, &r) && !is_vsyscall(ps, slot, addr, &r))
		return -ENOENT;
	if (coati_origin_image(ps, r.id, &oi) < 0)
		return -ENOENT;
	/* the number is taken last: what was learnt on the way may have changed it */
	*f = (struct found){ .number = slot_number(ps, slot, time),
			     .start = r.start,
			     .end = r.end,
			     .pgoff = r.offset,
			     .delta = delta_of(ps, &r, &oi, addr),
			     .image = oi.image,
			     .prot = r.bits };
	return 0;
}

static inline size_t found_index(uint64_t number, uint64_t addr)
{
	return (((addr >> 12) ^ number) * 0x9e3779b97f4a7c15u >> 40) % FOUND_CACHE;
}

static int find(struct coati_processes *ps, struct pid_slot *slot, uint64_t addr, uint64_t time,
		struct coati_place *ret)
{
	uint64_t number = slot_number(ps, slot, time);
	struct found *f = &ps->found[found_index(number, addr)];

	if ((f->number != number || addr < f->start || addr >= f->end) &&
	    find_slowly(ps, slot, addr, time, f) < 0) {
		*ret = (struct coati_place){ .image = COATI_IMAGE_NONE };
		return -ENOENT;
	}
	fill_place(ret, f, addr);
	return 0;
}

int coati_processes_find(struct coati_processes *ps, int32_t pid, uint64_t addr, uint64_t time,
			 struct coati_place *ret)
{
	struct pid_slot *slot = asked_slot(ps, pid);
	int r;

	if (!slot) {
		ps->stats.unknown_pid++;
		*ret = (struct coati_place){ .image = COATI_IMAGE_NONE };
		return -ENOENT;
	}
	r = find(ps, slot, addr, time, ret);
	ps->stats.unknown_addr += r < 0;
	return r;
}

int coati_processes_find_kernel(struct coati_processes *ps, uint64_t addr, uint64_t time,
				struct coati_place *ret)
{
	int r = find(ps, &ps->kernel, addr, time, ret);

	/* The address of the kernel is unknown, as when addresses are hidden: the upper half is
	 * its. */
	if (r < 0 && !ps->nr_kernel_maps && addr >> 63) {
		r = coati_kernel_image(ps, &ret->image);
		ret->vaddr = addr;
	}
	ps->stats.unknown_addr += r < 0;
	return r < 0 ? -ENOENT : 0;
}

/* What is seen in the space and those below, by address. */
static int whole_view(struct coati_processes *ps, struct pid_slot *slot, uint64_t time,
		      struct range_list *ret)
{
	struct pid_span *span = coati_pid_span(slot, time, NULL);
	struct space *space = time < span->from ? NULL : span->space;

	*ret = (struct range_list){ 0 };
	for (int i = 0; space && i < HOPS_MAX; i++) {
		struct range_list under = { 0 }, both;

		if (coati_ranges_view(&space->ranges, time, &under.v, &under.len) < 0)
			return -ENOMEM;
		both.v = coati_alloc_array(2 * ret->len + under.len, sizeof(*both.v));
		both.len = both.v ? coati_ranges_overlay(both.v, ret, &under) : 0;
		coati_free(under.v);
		if (!both.v)
			return -ENOMEM;
		coati_free(ret->v);
		ret->v = both.v;
		ret->len = both.len;
		time = space->base_time;
		space = space_below(ps, space);
	}
	return 0;
}

int coati_processes_view(struct coati_processes *ps, struct pid_slot *slot, uint64_t time,
			 struct range_list *ret)
{
	int r = whole_view(ps, slot, time, ret);

	if (r < 0)
		coati_free(ret->v);
	return r;
}

int coati_processes_each_mapping(struct coati_processes *ps, int32_t pid, uint64_t time,
				 int (*fn)(void *ctx, const struct coati_place *place), void *ctx)
{
	struct pid_slot *slot = asked_slot(ps, pid);
	struct range_list view;
	int r;

	if (!slot)
		return -ENOENT;
	r = coati_processes_view(ps, slot, time, &view);
	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < view.len; i++) {
		const struct range *m = &view.v[i];
		struct coati_place place = {
			.prot = m->bits, .start = m->start, .end = m->end, .pgoff = m->offset
		};

		struct origin_image oi;

		if (m->id == RANGE_HOLE || coati_origin_image(ps, m->id, &oi) < 0)
			continue;
		place.image = oi.image;
		place.vaddr = m->start + delta_of(ps, m, &oi, m->start);
		r = fn(ctx, &place);
	}
	coati_free(view.v);
	return r;
}
