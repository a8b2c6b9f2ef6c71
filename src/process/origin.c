/* SPDX-License-Identifier: MIT */
/* What is mapped, identified by all fields of the record; and the image of it, when the first
 * address is asked for. */
#include "process/origin.h"

#include <errno.h>
#include <string.h>

#include "process/processes.h"

#define ORIGINS_MAX ((size_t)1 << 22)
#define PROBES_MAX  16
#define KERNEL_NAME "[kernel.kallsyms]"

static bool begins(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

enum origin_kind coati_origin_kind(const char *name)
{
	static const char *const memory[] = { "//anon",		"[heap]",      "[stack",
					      "[anon",		"/dev/zero",   "/SYSV",
					      "/anon_hugepage", "anon_inode:", "/[aio]",
					      "[shmem" };

	if (!*name)
		return ORIGIN_ANON;
	for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++)
		if (begins(name, memory[i]))
			return ORIGIN_ANON;
	if (begins(name, "/memfd:"))
		return ORIGIN_MEMFD;
	return begins(name, "[vdso") ? ORIGIN_VDSO : ORIGIN_FILE;
}

/* Memory is the process' own; of files it does not matter who has them. */
static bool is_private(const struct origin *o)
{
	return o->kind == ORIGIN_ANON || o->kind == ORIGIN_MEMFD;
}

static bool same_origin(const struct origin *a, const struct origin *b)
{
	return a->kind == b->kind && a->ino == b->ino && a->maj == b->maj && a->min == b->min &&
	       a->ino_generation == b->ino_generation && a->build_id_size == b->build_id_size &&
	       !memcmp(a->build_id, b->build_id, a->build_id_size) &&
	       (!is_private(a) || a->pid == b->pid) && !strcmp(a->path, b->path);
}

static uint64_t origin_hash(const struct origins *os, const struct origin *o)
{
	uint64_t h = coati_hash_bytes(o->path, strlen(o->path), os->by_hash.seed);

	h ^= coati_hash_u64(o->ino, h);
	h ^= coati_hash_u64((uint64_t)o->maj << 32 | o->min, h);
	h ^= coati_hash_u64(o->ino_generation << 8 | (uint64_t)o->kind, h);
	h ^= coati_hash_bytes(o->build_id, o->build_id_size, h);
	return is_private(o) ? h ^ coati_hash_u64((uint32_t)o->pid, h) : h;
}

int coati_origin_get(struct coati_processes *ps, const struct origin *key, uint32_t *ret)
{
	struct origins *os = &ps->origins;
	uint64_t hash = origin_hash(os, key), found;
	struct origin *o;
	const char *path;
	int r;

	for (int i = 0; coati_map_get(&os->by_hash, hash, &found); i++, hash++) {
		if (same_origin(&os->v.v[found], key)) {
			*ret = (uint32_t)found;
			return 0;
		}
		if (i == PROBES_MAX)
			return -E2BIG;
	}
	if (os->v.len >= ps->max_mappings) {
		ps->over[LIMIT_MAPPINGS]++;
		return -E2BIG;
	}
	if (os->v.len >= ORIGINS_MAX)
		return -E2BIG;
	path = coati_processes_name(ps, key->path, SIZE_MAX);
	if (!path)
		return -ENOMEM;
	o = ARRAY_ADD(&os->v);
	if (!o)
		return -ENOMEM;
	*o = *key;
	o->path = path;
	o->image = COATI_IMAGE_NONE;
	r = coati_map_put(&os->by_hash, hash, os->v.len - 1);
	if (r < 0) {
		os->v.len--;
		return r;
	}
	*ret = (uint32_t)os->v.len - 1;
	return 0;
}

static enum coati_image_kind image_kind(const struct origin *o)
{
	switch (o->kind) {
	case ORIGIN_VDSO:
		return COATI_IMAGE_VDSO;
	case ORIGIN_KERNEL:
		return COATI_IMAGE_KERNEL;
	case ORIGIN_MODULE:
		return COATI_IMAGE_MODULE;
	case ORIGIN_BPF:
		return COATI_IMAGE_BPF;
	default:
		return COATI_IMAGE_FILE;
	}
}

/* What the recording tells apart from the mappings. */
static void add_build_id(struct coati_processes *ps, struct coati_image_ref *ref,
			 enum origin_kind kind)
{
	const struct path_build_id *id;
	const char *path = kind == ORIGIN_KERNEL ? KERNEL_NAME : ref->path;
	uint64_t found;

	if (ref->build_id_size || !coati_map_get_str(&ps->build_ids, path, &found))
		return;
	id = (const struct path_build_id *)(uintptr_t)found;
	ref->build_id_size = id->size;
	memcpy(ref->build_id, id->id, sizeof(ref->build_id));
}

static int get_image(struct coati_processes *ps, struct origin *o)
{
	struct coati_image_ref ref = { .size = sizeof(ref),
				       .kind = image_kind(o),
				       .build_id_size = o->build_id_size,
				       .pid = o->pid > 0 ? o->pid : 0,
				       .path = o->path,
				       .map_start = o->map_start,
				       .map_end = o->map_end,
				       .ino = o->ino,
				       .ino_generation = o->ino_generation,
				       .maj = o->maj,
				       .min = o->min };

	memcpy(ref.build_id, o->build_id, sizeof(ref.build_id));
	add_build_id(ps, &ref, o->kind);
	return coati_images_get(ps->images, &ref, &o->image, NULL);
}

int coati_origin_image(struct coati_processes *ps, uint32_t origin, struct origin_image *ret)
{
	struct origin *o = &ps->origins.v.v[origin];
	struct pid_slot *slot;
	bool is_jit;
	int r;

	*ret = (struct origin_image){ .image = o->image,
				      .is_absolute = o->kind >= ORIGIN_JIT_FILE };
	/* a memory file with a build id holds a program */
	if (is_private(o) && !o->build_id_size) {
		slot = coati_pid_slot_get(ps, o->pid, &r);
		r = slot ? coati_pid_jit(ps, slot, &ret->image, &is_jit) : r;
		ret->is_absolute = true;
		if (r < 0 || is_jit || o->kind == ORIGIN_ANON)
			return r;
		*ret = (struct origin_image){ .image = o->image };
	}
	if (o->image == COATI_IMAGE_NONE) {
		r = get_image(ps, o);
		if (r < 0)
			return r;
		ret->image = o->image;
	}
	return 0;
}
