/* SPDX-License-Identifier: MIT */
/* see kernel-types.h */
#include "bpf/kernel-types.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/writer.h"
#include "bpf/btf.h"

#define KERNEL_BTF    "/sys/kernel/btf/vmlinux"
#define BTF_BYTES_MAX ((size_t)256 << 20)
#define TYPE_BYTES    12 /* at least */
#define DEPTH_MAX     8
#define STEPS_MAX     65536
#define STRUCTS_MAX   9
#define STRINGS_BYTES 512
#define HAS_BITS      (UINT32_C(1) << 31)

/* As in the structs of state.bpf.h, changes.bpf.h and probed.bpf.h. */
static const struct kernel_struct walker_structs[] = {
	[KERNEL_TASK] = { "task_struct",
			  { "flags", "pid", "tgid", "signal", "in_execve", "mm", "utask",
			    "thread" } },
	[KERNEL_MM] = { "mm_struct",
			{ "exec_vm", "start_stack", "start_code", "arg_start", "uprobes_state" } },
	[KERNEL_SIGNAL] = { "signal_struct", { "live" } },
	[KERNEL_MAPPING] = { "vm_unmapped_area_info", { "length" } },
	[KERNEL_PROBES] = { "uprobes_state", { "xol_area" } },
	[KERNEL_PROBE_PAGE] = { "xol_area", { "vaddr" } },
	[KERNEL_PROBE_TASK] = { "uprobe_task", { "return_instances" } },
	[KERNEL_PROBE_RETURN] = { "return_instance", { "stack", "orig_ret_vaddr", "next" } },
	[KERNEL_THREAD] = { "thread_struct", { "fsbase" } },
};

/* ---- the kernel's types ---- */

/* A member that is wanted, where it was found. */
struct found_member {
	uint32_t kind, size, encoding; /* of its type; kind 0: it was not found */
	uint32_t bits_at, bits;	       /* bits 0: it is no bit field */
};

struct cut {
	struct coati_btf btf;
	uint32_t *places; /* of each type, from the start of all */
	uint32_t nr_types;
	const uint8_t *types;
	size_t types_size;
	const struct kernel_struct *want;
	uint32_t steps; /* members that were looked at */
};

static bool is_named(const struct coati_btf *b, uint32_t name, const char *text)
{
	size_t len, want = strlen(text);
	/* most names differ in their first byte */
	const char *at = name < b->strings_size && b->strings[name] == text[0]
				 ? coati_btf_name(b, name, &len)
				 : NULL;

	return at && len == want && !memcmp(at, text, want);
}

static bool type_at(const struct cut *c, uint32_t id, struct coati_btf_type *ret)
{
	struct coati_btf b = c->btf;

	if (!id || id > c->nr_types)
		return false;
	b.types = cursor_over(c->types + c->places[id - 1], c->types_size - c->places[id - 1]);
	return coati_btf_next(&b, ret) > 0;
}

/* The type behind names and qualifiers. */
static bool plain_type(const struct cut *c, uint32_t id, struct coati_btf_type *ret)
{
	for (int i = 0; i < 4 * DEPTH_MAX; i++) {
		if (!type_at(c, id, ret))
			return false;
		if (!(ret->kind >= COATI_BTF_TYPEDEF && ret->kind <= COATI_BTF_RESTRICT) &&
		    ret->kind != COATI_BTF_TYPE_TAG)
			return true;
		id = ret->size_or_type;
	}
	return false;
}

static void note_member(const struct cut *c, uint32_t type, uint32_t at, uint32_t bits,
			struct found_member *ret)
{
	struct coati_btf_type t;

	if (ret->kind || !plain_type(c, type, &t))
		return;
	*ret = (struct found_member){ .kind = t.kind, .bits_at = at, .bits = bits };
	if (t.kind == COATI_BTF_INT || t.kind == COATI_BTF_STRUCT)
		ret->size = t.size_or_type;
	if (t.kind == COATI_BTF_INT)
		ret->encoding = cursor_u32(&t.tail);
}

/* The members of @t, which begins at bit @base, and those of structs without a name in it. */
static void find_members(struct cut *c, struct coati_btf_type t, uint32_t base, int depth,
			 struct found_member found[KERNEL_MEMBERS_MAX])
{
	for (uint32_t i = 0; i < t.nr_members && c->steps++ < STEPS_MAX; i++) {
		uint32_t name = cursor_u32(&t.tail);
		uint32_t type = cursor_u32(&t.tail);
		uint32_t word = cursor_u32(&t.tail);
		uint32_t at = base + (t.has_bits ? word & 0xffffff : word);
		struct coati_btf_type inner;

		if (!name && depth < DEPTH_MAX && plain_type(c, type, &inner) &&
		    (inner.kind == COATI_BTF_STRUCT || inner.kind == COATI_BTF_UNION))
			find_members(c, inner, at, depth + 1, found);
		for (int m = 0; name && m < KERNEL_MEMBERS_MAX && c->want->members[m]; m++)
			if (is_named(&c->btf, name, c->want->members[m]))
				note_member(c, type, at, t.has_bits ? word >> 24 : 0, &found[m]);
	}
}

/* ---- those that are written ---- */

struct out {
	struct writer types, strings;
	uint32_t nr_types;
	uint8_t type_bytes[KERNEL_TYPES_BYTES / 2], string_bytes[STRINGS_BYTES];
};

static uint32_t put_name(struct out *o, const char *name)
{
	uint32_t at = (uint32_t)o->strings.len;

	writer_bytes(&o->strings, name, strlen(name) + 1);
	return at;
}

static void put_type(struct out *o, uint32_t name, uint32_t info, uint32_t size)
{
	writer_u32(&o->types, name);
	writer_u32(&o->types, info);
	writer_u32(&o->types, size);
	o->nr_types++;
}

/* A type for each member, then the struct. */
static void put_struct(struct out *o, const struct kernel_struct *k, uint32_t size,
		       const struct found_member found[KERNEL_MEMBERS_MAX])
{
	uint32_t first = o->nr_types + 1, nr = 0;

	for (int m = 0; m < KERNEL_MEMBERS_MAX; m++) {
		const struct found_member *f = &found[m];

		if (!f->kind)
			continue;
		/* structs inside have no members here, and pointers lead nowhere */
		put_type(o, 0, f->kind << 24, f->size);
		if (f->kind == COATI_BTF_INT)
			writer_u32(&o->types, f->encoding);
		nr++;
	}
	put_type(o, put_name(o, k->name), HAS_BITS | (uint32_t)COATI_BTF_STRUCT << 24 | nr, size);
	for (int m = 0; m < KERNEL_MEMBERS_MAX; m++) {
		if (!found[m].kind)
			continue;
		writer_u32(&o->types, put_name(o, k->members[m]));
		writer_u32(&o->types, first++);
		writer_u32(&o->types, found[m].bits_at | found[m].bits << 24);
	}
}

static void keep_simple(struct found_member found[KERNEL_MEMBERS_MAX])
{
	for (int m = 0; m < KERNEL_MEMBERS_MAX; m++)
		if (found[m].kind != COATI_BTF_INT && found[m].kind != COATI_BTF_PTR &&
		    found[m].kind != COATI_BTF_STRUCT)
			found[m].kind = 0;
}

static int finish(const struct out *o, struct kernel_types *ret)
{
	struct writer w = writer_over(ret->bytes, sizeof(ret->bytes));

	if (o->types.full || o->strings.full)
		return -E2BIG;
	writer_u16(&w, COATI_BTF_MAGIC);
	writer_u8(&w, 1);
	writer_u8(&w, 0);
	writer_u32(&w, 24); /* of the header */
	writer_u32(&w, 0);
	writer_u32(&w, (uint32_t)o->types.len);
	writer_u32(&w, (uint32_t)o->types.len);
	writer_u32(&w, (uint32_t)o->strings.len);
	writer_bytes(&w, o->type_bytes, o->types.len);
	writer_bytes(&w, o->string_bytes, o->strings.len);
	ret->size = w.len;
	return w.full ? -E2BIG : 0;
}

/* ---- the pass ---- */

/* Which type is which wanted struct, and where each type is. */
static int look_through(struct cut *c, const struct kernel_struct *want, size_t nr, uint32_t *ids)
{
	struct coati_btf b = c->btf;
	struct coati_btf_type t;
	size_t missing = nr;
	int r;

	for (;;) {
		uint32_t place = (uint32_t)(b.types.at - c->types);

		r = coati_btf_next(&b, &t);
		if (r <= 0)
			return r;
		c->places[c->nr_types++] = place;
		/* a look at a name costs a cache miss: not when all are found */
		for (size_t i = 0; missing && t.kind == COATI_BTF_STRUCT && i < nr; i++)
			if (!ids[i] && is_named(&b, t.name, want[i].name)) {
				ids[i] = c->nr_types;
				missing--;
			}
	}
}

static int write_all(struct cut *c, const uint32_t *ids, size_t nr, struct kernel_types *ret)
{
	const struct kernel_struct *want = c->want;
	CLEANUP(freep) struct out *o = coati_alloc(sizeof(*o));

	if (!o)
		return -ENOMEM;
	o->types = writer_over(o->type_bytes, sizeof(o->type_bytes));
	o->strings = writer_over(o->string_bytes, sizeof(o->string_bytes));
	writer_u8(&o->strings, 0);
	for (size_t i = 0; i < nr; i++) {
		struct found_member found[KERNEL_MEMBERS_MAX] = { { 0 } };
		struct coati_btf_type t;

		if (!type_at(c, ids[i], &t))
			continue;
		c->want = &want[i];
		find_members(c, t, 0, 0, found);
		keep_simple(found);
		put_struct(o, &want[i], t.size_or_type, found);
		ret->structs |= 1u << i;
	}
	return finish(o, ret);
}

int coati_kernel_types_cut(const void *bytes, size_t size, const struct kernel_struct *want,
			   size_t nr, struct kernel_types *ret)
{
	CLEANUP(freep) uint32_t *places = NULL;
	struct cut c = { .want = want };
	uint32_t ids[STRUCTS_MAX] = { 0 };
	int r = nr > STRUCTS_MAX ? -E2BIG : coati_btf_open(bytes, size, &c.btf);

	if (r < 0)
		return r;
	ret->size = ret->structs = 0;
	c.types = c.btf.types.at;
	c.types_size = cursor_left(&c.btf.types);
	places = coati_alloc_array(c.types_size / TYPE_BYTES + 1, sizeof(*places));
	if (!places)
		return -ENOMEM;
	c.places = places;
	r = look_through(&c, want, nr, ids);
	return r < 0 ? r : write_all(&c, ids, nr, ret);
}

/* ---- of this machine ---- */

/* Kernels before 6.16 do not let it be mapped, and give a page at a time. */
static int read_all(int fd, uint8_t *to, size_t size)
{
	size_t at = 0;

	while (at < size) {
		ssize_t n = read(fd, to + at, size - at);

		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		at += (size_t)n;
	}
	return 0;
}

static int cut_walkers(const void *bytes, size_t size, struct kernel_types *ret)
{
	return coati_kernel_types_cut(bytes, size, walker_structs,
				      sizeof(walker_structs) / sizeof(walker_structs[0]), ret);
}

static int cut_copy(int fd, size_t size, struct kernel_types *ret)
{
	CLEANUP(freep) uint8_t *copy = coati_alloc(size);
	int r = copy ? read_all(fd, copy, size) : -ENOMEM;

	return r < 0 ? r : cut_walkers(copy, size, ret);
}

int coati_kernel_types_read(struct kernel_types *ret)
{
	CLEANUP(fd_closep) int fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t size;
	void *bytes;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size <= 0 || (uint64_t)st.st_size > BTF_BYTES_MAX)
		return -EBADMSG;
	size = (size_t)st.st_size;
	bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return cut_copy(fd, size, ret);
	r = cut_walkers(bytes, size, ret);
	munmap(bytes, size);
	return r;
}
