/* SPDX-License-Identifier: MIT */
/* see images.h */
#include "capture/images.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <coati/record.h>

#include "base/elf.h"
#include "image/hold.h"
#include "recording/writer.h"

#define NAMES_BYTES_MAX (16u << 20)
#define VDSO		"[vdso]"
#define MEMFD		"/memfd:"

void coati_images_init(struct images *im)
{
	*im = (struct images){ .v.max = CAPTURE_IMAGES_MAX };
	coati_arena_init(&im->names, NAMES_BYTES_MAX);
	coati_map_init_strings(&im->by_name, CAPTURE_IMAGES_MAX);
}

void coati_images_fini(struct images *im)
{
	coati_map_fini(&im->by_name);
	ARRAY_FINI(&im->v);
	coati_arena_fini(&im->names);
}

static bool begins(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* Not //anon, [heap], anon_inode:..., /memfd:x (deleted), /dev/zero, /SYSV00000000. */
static bool has_file(const char *name)
{
	if (!strcmp(name, VDSO) || begins(name, "/dev/shm/"))
		return true;
	return name[0] == '/' && name[1] != '/' && !begins(name, MEMFD) && !begins(name, "/dev/") &&
	       !begins(name, "/SYSV");
}

static bool same_file(const struct image *i, const struct coati_mmap *m)
{
	if (m->build_id_size)
		return !i->id_size ||
		       (i->id_size == m->build_id_size && !memcmp(i->id, m->build_id, i->id_size));
	if (!i->ino) /* only its id is known */
		return true;
	return i->maj == m->maj && i->min == m->min && i->ino == m->ino;
}

/* The two ways to tell a file complete each other. */
static void learn(struct image *i, const struct coati_mmap *m)
{
	if (m->build_id_size && !i->id_size) {
		memcpy(i->id, m->build_id, sizeof(i->id));
		i->id_size = m->build_id_size;
	}
	if (m->ino && !i->ino) {
		i->maj = m->maj;
		i->min = m->min;
		i->ino = m->ino;
		i->ino_generation = m->ino_generation;
	}
}

/* 1: it is the last one now; 0: there is no room for it. */
static int add_new(struct images *im, const struct coati_mmap *m, uint64_t same_name)
{
	struct image *i = ARRAY_ADD(&im->v);
	int r;

	if (!i)
		return im->v.len >= CAPTURE_IMAGES_MAX ? 0 : -ENOMEM;
	i->next = (uint32_t)same_name;
	i->name = same_name ? im->v.v[same_name - 1].name : coati_arena_strdup(&im->names, m->name);
	if (!i->name) {
		im->v.len--;
		return im->names.used_bytes + IMAGES_NAME_MAX > NAMES_BYTES_MAX ? 0 : -ENOMEM;
	}
	learn(i, m);
	i->settled = !strcmp(i->name, VDSO);
	r = coati_map_put_str(&im->by_name, i->name, im->v.len);
	if (r >= 0)
		return 1;
	im->v.len--;
	return r == -E2BIG ? 0 : r;
}

static struct coati_image_ref ref_of(const struct coati_mmap *m)
{
	struct coati_image_ref ref = { .size = sizeof(ref),
				       .kind = COATI_IMAGE_FILE,
				       .build_id_size = m->build_id_size,
				       .pid = (int32_t)m->pid > 0 ? (int32_t)m->pid : 0,
				       .path = m->name,
				       .map_start = m->addr,
				       .map_end = m->addr + m->len,
				       .ino = m->ino,
				       .ino_generation = m->ino_generation,
				       .maj = m->maj,
				       .min = m->min };

	memcpy(ref.build_id, m->build_id, sizeof(ref.build_id));
	return ref;
}

/* At once: the process may end and the file may be deleted at any time. @i NULL: it is in no
 * list. */
static int hold(struct images *im, struct image *i, const struct coati_mmap *m)
{
	struct coati_image_ref ref = ref_of(m);
	int r;

	if (!im->holds || (i && i->settled))
		return 0;
	r = coati_images_hold(im->files, &ref);
	if (i)
		i->settled = r == 0;
	return r == -ENOMEM ? r : 0;
}

int coati_images_add(struct images *im, const struct coati_mmap *m)
{
	uint64_t first = 0;
	int r;

	if (strlen(m->name) >= IMAGES_NAME_MAX)
		return 0;
	/* memory with a build ID is a program that was executed from there */
	if (m->build_id_size && begins(m->name, MEMFD))
		return hold(im, NULL, m);
	if (!has_file(m->name))
		return 0;
	coati_map_get_str(&im->by_name, m->name, &first);
	for (uint64_t at = first; at; at = im->v.v[at - 1].next) {
		if (same_file(&im->v.v[at - 1], m)) {
			learn(&im->v.v[at - 1], m);
			return hold(im, &im->v.v[at - 1], m);
		}
	}
	r = add_new(im, m, first);
	return r > 0 ? hold(im, &im->v.v[im->v.len - 1], m) : r;
}

uint32_t coati_images_find(const struct images *im, const struct coati_mmap *m, uint8_t ret[20])
{
	uint64_t at = 0;

	coati_map_get_str(&im->by_name, m->name, &at);
	for (; at; at = im->v.v[at - 1].next) {
		const struct image *i = &im->v.v[at - 1];

		if (!i->id_size || !i->ino || !same_file(i, m))
			continue;
		memcpy(ret, i->id, sizeof(i->id));
		return i->id_size;
	}
	return 0;
}

/* This process's own copy of it is the same as that of all others. */
static void read_vdso(struct image *i)
{
	const uint8_t *bytes = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct elf e;

	/* what is asked for lies at its start; its length is not recorded, but it has a page at
	 * least */
	if (bytes && coati_elf_from_bytes(bytes, page, &e) == 0)
		i->id_size = (uint8_t)coati_elf_build_id(&e, i->id);
}

/* Only the file that was mapped counts: another one may have taken its name, or have the same name
 * in another container. */
static void read_file(struct images *im, struct image *i)
{
	struct coati_mmap m = { .name = i->name,
				.maj = i->maj,
				.min = i->min,
				.ino = i->ino,
				.ino_generation = i->ino_generation };
	struct coati_image_ref ref = ref_of(&m);

	if (i->ino && im->files)
		i->id_size = (uint8_t)coati_images_build_id(im->files, &ref, i->id);
}

int coati_images_write(struct images *im, struct coati_writer *w)
{
	for (size_t n = 0; n < im->v.len; n++) {
		struct image *i = &im->v.v[n];
		struct coati_build_id id;
		int r;

		if (!i->id_size && !i->asked) {
			i->asked = true;
			if (!strcmp(i->name, VDSO))
				read_vdso(i);
			else
				read_file(im, i);
		}
		if (!i->id_size)
			continue;
		id = (struct coati_build_id){
			.pid = -1, .misc = COATI_MISC_USER, .size = i->id_size, .path = i->name
		};
		memcpy(id.id, i->id, i->id_size);
		r = coati_writer_build_id(w, &id);
		if (r < 0)
			return r;
	}
	return 0;
}
