/* SPDX-License-Identifier: MIT */
/*
 * dl_iterate_phdr() comes in, plain lists go out. The loader holds its lock during the callback,
 * and a thread that allocates may wait for that lock elsewhere: inside its calls nothing is
 * allocated, and unwind data is only copied, so that it can be worked on when the lock is free
 * again and the object perhaps gone.
 */
#include "live/sampler/objects-loader.h"

#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/map.h"
#include "unwind/table/cfi.h"

#define OBJECTS_MAX	16384u
#define FRAME_BYTES_MAX ((uint64_t)512 << 20) /* of unwind data of one object */

/* 1: taken. */
static _Atomic uint32_t gate;

void coati_loader_take(void)
{
	/* pairs with: release in coati_loader_give() */
	while (atomic_exchange_explicit(&gate, 1, memory_order_acquire))
		sched_yield();
}

void coati_loader_give(void)
{
	/* pairs with: acquire in coati_loader_take() */
	atomic_store_explicit(&gate, 0, memory_order_release);
}

void coati_loader_ask(int (*fn)(struct dl_phdr_info *, size_t, void *), void *ctx)
{
	coati_loader_take();
	dl_iterate_phdr(fn, ctx);
	coati_loader_give();
}

/* ---- what the loader shows ---- */

/* The segment of the file that holds @vaddr; NULL: none that can be read. */
static const ElfW(Phdr) * segment_at(const struct dl_phdr_info *info, uint64_t vaddr)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_R && vaddr - p->p_vaddr < p->p_filesz)
			return p;
	}
	return NULL;
}

/* The index begins with version 1, three encodings, and the pointer to .eh_frame, which ends at the
 * latest where its segment does. */
static void show_frame(const struct dl_phdr_info *info, const ElfW(Phdr) * hdr, struct shown *ret)
{
	const ElfW(Phdr) *load = segment_at(info, hdr->p_vaddr);
	struct cfi_section s = { .vaddr = hdr->p_vaddr, .data = hdr->p_vaddr };
	struct cursor c;
	uint8_t encoding;

	if (!load || hdr->p_memsz > load->p_filesz - (hdr->p_vaddr - load->p_vaddr))
		return;
	s.bytes = (const uint8_t *)(uintptr_t)(info->dlpi_addr + hdr->p_vaddr); /* NOLINT */
	s.size = hdr->p_memsz;
	c = cursor_over(s.bytes, s.size);
	if (cursor_u8(&c) != 1)
		return;
	encoding = cursor_u8(&c);
	cursor_skip(&c, 2);
	ret->frame = coati_cfi_pointer(&c, &s, encoding & 0x7f);
	load = c.bad ? NULL : segment_at(info, ret->frame);
	ret->frame_end = load ? load->p_vaddr + load->p_filesz : ret->frame;
	ret->id = coati_hash_bytes(s.bytes, s.size, info->dlpi_addr);
}

static struct shown show(const struct dl_phdr_info *info)
{
	struct shown s = { .bias = info->dlpi_addr };

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_GNU_EH_FRAME)
			show_frame(info, p, &s);
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || s.nr_code == SHOWN_CODE_MAX)
			continue;
		s.code[s.nr_code] = p->p_vaddr;
		s.code_end[s.nr_code++] = p->p_vaddr + p->p_memsz;
	}
	return s;
}

static int list_one(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct shown_list *l = ctx;

	(void)size;
	l->adds = info->dlpi_adds;
	l->subs = info->dlpi_subs;
	l->seen++;
	if (l->len < l->cap)
		l->list[l->len++] = show(info);
	return !l->cap && l->seen > OBJECTS_MAX;
}

/* Only the counters, which are the same in every call. */
static int count_changes(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct shown_list *l = ctx;

	(void)size;
	l->adds = info->dlpi_adds;
	l->subs = info->dlpi_subs;
	return 1;
}

void coati_loader_count(struct shown_list *l)
{
	coati_loader_ask(count_changes, l);
}

int coati_loader_list(struct shown_list *l)
{
	do {
		coati_free(l->list);
		*l = (struct shown_list){ .cap = 0 };
		coati_loader_ask(list_one, l);
		l->cap = l->seen + 8;
		l->seen = l->len = 0;
		l->list = coati_alloc_array(l->cap, sizeof(*l->list));
		if (!l->list)
			return -ENOMEM;
		coati_loader_ask(list_one, l);
	} while (l->seen > l->cap && l->cap < OBJECTS_MAX);
	return 0;
}

/* ---- unwind data ---- */

struct copying {
	const struct shown *wanted;
	uint8_t *bytes;
	bool is_done;
};

static int copy_frame(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct copying *c = ctx;
	struct shown s;

	(void)size;
	if (info->dlpi_addr != c->wanted->bias)
		return 0;
	s = show(info);
	if (memcmp(&s, c->wanted, sizeof(s)) != 0)
		return 0;
	memcpy(c->bytes, (const void *)(uintptr_t)(s.bias + s.frame), s.frame_end - s.frame);
	c->is_done = true;
	return 1;
}

int coati_loader_copy(const struct shown *s, uint8_t **ret)
{
	struct copying c = { .wanted = s };

	if (s->frame_end <= s->frame || s->frame_end - s->frame > FRAME_BYTES_MAX || !s->nr_code)
		return -ENODATA;
	c.bytes = coati_alloc(s->frame_end - s->frame);
	if (!c.bytes)
		return -ENOMEM;
	coati_loader_ask(copy_frame, &c);
	if (!c.is_done) {
		coati_free(c.bytes);
		return -ENODATA;
	}
	*ret = c.bytes;
	return 0;
}
