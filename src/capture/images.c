/* SPDX-License-Identifier: MIT */
/* see images.h */
#include "capture/images.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <coati/record.h>

#include "base/cleanup.h"
#include "base/elf.h"
#include "image/copy.h"
#include "image/open.h"

#define NAMES_BYTES_MAX (16u << 20)
#define VDSO		"[vdso]"

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

/* Not //anon, [heap], anon_inode:..., /memfd:x (deleted), /dev/zero, /SYSV00000000. */
static bool has_file(const char *name)
{
	if (!strcmp(name, VDSO))
		return true;
	return name[0] == '/' && name[1] != '/' && strncmp(name, "/memfd:", 7) != 0 &&
	       strncmp(name, "/dev/", 5) != 0 && strncmp(name, "/SYSV", 5) != 0;
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
	}
}

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
	r = coati_map_put_str(&im->by_name, i->name, im->v.len);
	if (r >= 0)
		return 0;
	im->v.len--;
	return r == -E2BIG ? 0 : r;
}

int coati_images_add(struct images *im, const struct coati_mmap *m)
{
	uint64_t first = 0;

	if (!has_file(m->name) || strlen(m->name) >= IMAGES_NAME_MAX)
		return 0;
	coati_map_get_str(&im->by_name, m->name, &first);
	for (uint64_t at = first; at; at = im->v.v[at - 1].next) {
		if (same_file(&im->v.v[at - 1], m)) {
			learn(&im->v.v[at - 1], m);
			return 0;
		}
	}
	return add_new(im, m, first);
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

/* Our own copy of it is the one that everybody has. */
static void read_vdso(struct image *i)
{
	const uint8_t *bytes = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); /* NOLINT */
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct elf e;

	/* what is asked for lies at its start; its length is nowhere told, but it has a page at least */
	if (bytes && coati_elf_from_bytes(bytes, page, &e) == 0)
		i->id_size = (uint8_t)coati_elf_build_id(&e, i->id);
}

/* The name may have come to stand for another file since, or lie in another container: only the very inode counts. */
static void read_file(struct image *i)
{
	CLEANUP(fd_closep) int fd = -1;
	struct copy c;
	struct stat st;

	/* nothing is waited for, and nothing is mapped: the file is somebody else's, who may be shortening it just now */
	if (!i->ino || stat(i->name, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	fd = open(i->name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_ino != i->ino)
		return;
	if (major(st.st_dev) != i->maj || minor(st.st_dev) != i->min)
		return;
	if (coati_copy_open(&c, fd, i->name, NULL) < 0)
		return;
	TAKE_FD(fd);
	i->id_size = (uint8_t)coati_copy_build_id(&c, i->id);
	coati_copy_close(&c);
}

int coati_images_write(struct images *im, struct coati_writer *w)
{
	for (size_t n = 0; n < im->v.len; n++) {
		struct image *i = &im->v.v[n];
		int r;

		if (!i->id_size && !i->asked) {
			i->asked = true;
			if (!strcmp(i->name, VDSO))
				read_vdso(i);
			else
				read_file(i);
		}
		if (!i->id_size)
			continue;
		r = coati_writer_build_id(w, -1, COATI_MISC_USER, i->id, i->id_size, i->name);
		if (r < 0)
			return r;
	}
	return 0;
}
