/* SPDX-License-Identifier: MIT */
/* The file that dwz made of what several programs share: found by .gnu_debugaltlink, accepted by its build id. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "image/split.h"

/* What the section says: a path, its terminator, a build id. */
struct altlink {
	const char *path;
	const uint8_t *id;
	size_t id_size;
};

static bool read_altlink(const struct dwarf_file *f, struct altlink *ret)
{
	const struct dwarf_bytes *b = &f->sections[SECTION_ALTLINK];
	const uint8_t *end = b->size ? memchr(b->at, 0, b->size) : NULL;

	if (!end || end == b->at)
		return false;
	ret->path = (const char *)b->at;
	ret->id = end + 1;
	ret->id_size = b->size - (size_t)(end + 1 - b->at);
	return ret->id_size >= 2 && ret->id_size <= 20;
}

static int try_alt(struct dwarf_file *f, const struct altlink *link, const char *path)
{
	CLEANUP(fd_closep) int fd = coati_split_open_file(path);
	struct dwarf_file *alt;
	uint8_t id[20];
	bool damaged;
	int r;

	if (fd < 0)
		return fd;
	r = coati_dwarf_open(fd, path, &alt, &damaged, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	if (coati_elf_build_id(&alt->elf, id) != link->id_size ||
	    memcmp(id, link->id, link->id_size) != 0) {
		coati_dwarf_close(alt);
		return -ENOENT;
	}
	f->alt = alt;
	return 0;
}

/* DIR/.build-id/ab/cdef.debug, then DIR/.dwz/NAME. */
static int try_debug_dir(struct dwarf_file *f, const struct altlink *link, const char *dir, int len)
{
	const char *slash = strrchr(link->path, '/');
	char path[PATH_MAX], hex[2 * 20 + 1];
	int r = -ENOENT;

	for (size_t i = 0; i < link->id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", link->id[i]);
	if (snprintf(path, sizeof(path), "%.*s/.build-id/%.2s/%s.debug", len, dir, hex, hex + 2) <
	    (int)sizeof(path))
		r = try_alt(f, link, path);
	if (r == -ENOENT && snprintf(path, sizeof(path), "%.*s/.dwz/%s", len, dir,
				     slash ? slash + 1 : link->path) < (int)sizeof(path))
		r = try_alt(f, link, path);
	return r;
}

static int try_named(struct dwarf_file *f, const struct altlink *link, const char *own)
{
	const char *slash = own ? strrchr(own, '/') : NULL;
	char path[PATH_MAX];

	if (link->path[0] == '/' || !slash)
		return try_alt(f, link, link->path);
	if (snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - own), own, link->path) >=
	    (int)sizeof(path))
		return -ENOENT;
	return try_alt(f, link, path);
}

int coati_split_open_alt(struct dwarf_file *f, const struct lines_input *in,
			 struct coati_error *err)
{
	const char *dirs = in->debug_dirs ? in->debug_dirs : "/usr/lib/debug";
	struct altlink link;
	int r;

	if (!read_altlink(f, &link))
		return 0;
	r = try_named(f, &link, in->path);
	while (r == -ENOENT && *dirs) {
		size_t len = strcspn(dirs, ":");

		if (len && len < PATH_MAX)
			r = try_debug_dir(f, &link, dirs, (int)len);
		dirs += len + (dirs[len] == ':');
	}
	if (r == -ENOENT)
		coati_fail(err, r, "%s, which holds debug data shared between files, is not there",
			   link.path);
	return r;
}
