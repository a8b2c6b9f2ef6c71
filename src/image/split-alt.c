/* SPDX-License-Identifier: MIT */
/* The file that dwz made of what several programs share: found by .gnu_debugaltlink, accepted by
 * its build id. */
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
	const char *root; /* below which it is looked for */
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

/* ROOT/DIR/NAME, of which @len bytes of DIR count. */
static int try_joined(struct dwarf_file *f, const struct altlink *link, const char *dir, int len,
		      const char *name)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s%.*s/%s", link->root, len, dir, name) >=
	    (int)sizeof(path))
		return -ENOENT;
	return try_alt(f, link, path);
}

/* Below DIR: .build-id/ab/cdef.debug, then .dwz/NAME, where NAME is what stands behind .dwz in the
 * link (Debian: .dwz/x86_64-linux-gnu/bash.debug), then the last part of it alone. */
static int try_debug_dir(struct dwarf_file *f, const struct altlink *link, const char *dir, int len)
{
	const char *slash = strrchr(link->path, '/'), *dwz = strstr(link->path, ".dwz/");
	char hex[2 * 20 + 1], name[PATH_MAX];
	int r;

	for (size_t i = 0; i < link->id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", link->id[i]);
	snprintf(name, sizeof(name), ".build-id/%.2s/%s.debug", hex, hex + 2);
	r = try_joined(f, link, dir, len, name);
	if (r == -ENOENT && dwz)
		r = try_joined(f, link, dir, len, dwz);
	if (r == -ENOENT && snprintf(name, sizeof(name), ".dwz/%s",
				     slash ? slash + 1 : link->path) < (int)sizeof(name))
		r = try_joined(f, link, dir, len, name);
	return r;
}

static int try_named(struct dwarf_file *f, const struct altlink *link, const char *own)
{
	const char *slash = own ? strrchr(own, '/') : NULL;
	char path[PATH_MAX];

	if (link->path[0] == '/')
		return try_joined(f, link, "", 0, link->path + 1);
	if (!slash)
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
	link.root = in->root ? in->root : "";
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
