/* SPDX-License-Identifier: MIT */
/*
 * What the loader has in memory comes in: code with its build ids and names of the dynamic table,
 * without a file and without /proc. Objects may go at any time, so all of it is read and copied
 * while the loader calls us; and as they may be damaged, nothing is read that is not in one of
 * their segments.
 */
#include "live/pprof/maps.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/elf.h"
#include "live/sampler/objects-loader.h"

#define SEGMENTS_MAX 16384u
#define TEXT_BYTES   256u /* of a name, when room is made for them */

/* @size bytes of the object at its own address @vaddr; NULL: they are in none of its segments. */
static const void *bytes_at(const struct dl_phdr_info *info, uint64_t vaddr, uint64_t size)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_R && vaddr - p->p_vaddr < p->p_memsz &&
		    size <= p->p_memsz - (vaddr - p->p_vaddr))
			return (const void *)(uintptr_t)(info->dlpi_addr + vaddr); /* NOLINT */
	}
	return NULL;
}

/* ---- code ---- */

struct listing {
	struct live_mapping *list;
	uint32_t len, cap;
	char *texts;
	size_t used, room;
	uint64_t page;
	bool is_full;
};

static void find_build_id(const struct dl_phdr_info *info, char *ret)
{
	const struct elf none = { 0 };

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint8_t *bytes =
			p->p_type == PT_NOTE ? bytes_at(info, p->p_vaddr, p->p_memsz) : NULL;
		struct elf_notes notes = coati_elf_notes(&none, bytes, p->p_memsz, p->p_align);
		struct elf_note n;

		while (bytes && coati_elf_note_next(&notes, &n) > 0)
			if (n.type == NT_GNU_BUILD_ID && n.name_size == 4 &&
			    !memcmp(n.name, "GNU", 4) && n.desc_size <= 20)
				coati_build_id_text(n.desc, n.desc_size, ret);
	}
}

static int list_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct listing *l = ctx;
	bool is_program = !l->len && !(info->dlpi_name && info->dlpi_name[0]);
	const char *path = is_program ? (const char *)(uintptr_t)getauxval(AT_EXECFN) /* NOLINT */
				      : info->dlpi_name;
	size_t bytes = path ? strlen(path) + 1 : 1;
	char *text = l->texts + l->used;

	(void)size;
	if (bytes > l->room - l->used) {
		l->is_full = true;
		return 1;
	}
	memcpy(text, path ? path : "", bytes);
	l->used += bytes;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t in_page = p->p_vaddr & (l->page - 1);
		struct live_mapping *m = &l->list[l->len];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		if (l->len == l->cap) {
			l->is_full = true;
			return 1;
		}
		*m = (struct live_mapping){ .start = info->dlpi_addr + p->p_vaddr - in_page,
					    .offset = p->p_offset - in_page,
					    .path = text };
		m->end = (info->dlpi_addr + p->p_vaddr + p->p_memsz + l->page - 1) & ~(l->page - 1);
		find_build_id(info, m->build_id);
		l->len++;
	}
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct live_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

int coati_maps_loaded(struct live_maps *m)
{
	struct listing l = { .page = (uint64_t)sysconf(_SC_PAGESIZE) };

	*m = (struct live_maps){ 0 };
	coati_arena_init(&m->texts, (size_t)SEGMENTS_MAX * TEXT_BYTES * 2);
	do {
		coati_free(l.list);
		l.cap = l.cap ? 4 * l.cap : 64;
		l.room = (size_t)l.cap * TEXT_BYTES;
		l.list = coati_alloc_array(l.cap, sizeof(*l.list));
		l.texts = coati_arena_alloc(&m->texts, l.room);
		l.len = 0;
		l.used = 0;
		l.is_full = false;
		if (!l.list || !l.texts) {
			coati_free(l.list);
			coati_arena_fini(&m->texts);
			return -ENOMEM;
		}
		coati_loader_ask(list_object, &l);
	} while (l.is_full && l.cap < SEGMENTS_MAX);
	qsort(l.list, l.len, sizeof(*l.list), by_start);
	m->list = l.list;
	m->len = l.len;
	m->cap = l.cap;
	return 0;
}

/* ---- names ---- */

struct asking {
	uint64_t addr, start;
	char *name;
	size_t size;
	bool is_found;
};

/* The dynamic table of an object, in its own terms. */
struct dynamic {
	uint64_t symbols, strings, strings_size, hash;
};

/* The loader makes addresses of them; in what the kernel brings they are as in the file. */
static uint64_t own_address(const struct dl_phdr_info *info, uint64_t value)
{
	return value >= info->dlpi_addr ? value - info->dlpi_addr : value;
}

static void read_dynamic(const struct dl_phdr_info *info, struct dynamic *ret)
{
	const ElfW(Dyn) *d = NULL;
	uint64_t len = 0;

	for (int i = 0; i < info->dlpi_phnum && !d; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_DYNAMIC)
			continue;
		len = p->p_memsz / sizeof(*d);
		d = bytes_at(info, p->p_vaddr, p->p_memsz);
	}
	for (uint64_t i = 0; d && i < len && d[i].d_tag != DT_NULL; i++) {
		if (d[i].d_tag == DT_SYMTAB)
			ret->symbols = own_address(info, d[i].d_un.d_ptr);
		else if (d[i].d_tag == DT_STRTAB)
			ret->strings = own_address(info, d[i].d_un.d_ptr);
		else if (d[i].d_tag == DT_STRSZ)
			ret->strings_size = d[i].d_un.d_val;
		else if (d[i].d_tag == DT_GNU_HASH)
			ret->hash = own_address(info, d[i].d_un.d_ptr);
	}
}

/* How many symbols there are is known by the end of the last chain alone. */
static uint32_t count_symbols(const struct dl_phdr_info *info, uint64_t hash)
{
	const uint32_t *head = hash ? bytes_at(info, hash, 16) : NULL, *buckets, *chain;
	uint64_t at = head ? hash + 16 + (uint64_t)head[2] * 8 : 0;
	uint32_t last = 0;

	buckets = head ? bytes_at(info, at, (uint64_t)head[0] * 4) : NULL;
	for (uint32_t i = 0; buckets && i < head[0]; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (!buckets || last < head[1])
		return 0;
	at += (uint64_t)head[0] * 4;
	while ((chain = bytes_at(info, at + (uint64_t)(last - head[1]) * 4, 4)) && !(*chain & 1))
		last++;
	return chain ? last + 1 : 0;
}

static int name_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct asking *a = ctx;
	uint64_t vaddr = a->addr - info->dlpi_addr;
	struct dynamic d = { 0 };
	const ElfW(Sym) * symbols;
	const char *strings;
	uint32_t len;

	(void)size;
	if (!bytes_at(info, vaddr, 1))
		return 0;
	read_dynamic(info, &d);
	len = count_symbols(info, d.hash);
	symbols = bytes_at(info, d.symbols, (uint64_t)len * sizeof(*symbols));
	strings = bytes_at(info, d.strings, d.strings_size);
	for (uint32_t i = 1; symbols && strings && i < len; i++) {
		const ElfW(Sym) *s = &symbols[i];
		uint32_t type = ELF64_ST_TYPE(s->st_info);
		size_t max;

		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || s->st_shndx == SHN_UNDEF ||
		    vaddr - s->st_value >= s->st_size || s->st_name >= d.strings_size ||
		    (a->is_found && strings[s->st_name] == '_'))
			continue;
		max = d.strings_size - s->st_name < a->size - 1 ? d.strings_size - s->st_name
								: a->size - 1;
		memcpy(a->name, strings + s->st_name, strnlen(strings + s->st_name, max));
		a->name[strnlen(strings + s->st_name, max)] = '\0';
		a->start = info->dlpi_addr + s->st_value;
		a->is_found = true;
	}
	return 1;
}

bool coati_loaded_name(uint64_t addr, char *name, size_t size, uint64_t *ret_into)
{
	struct asking a = { .addr = addr, .name = name, .size = size };

	coati_loader_ask(name_object, &a);
	*ret_into = addr - a.start;
	return a.is_found && name[0];
}
