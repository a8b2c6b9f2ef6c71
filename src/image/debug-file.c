/* SPDX-License-Identifier: MIT */
/*
 * Places are tried below the root of the living process first (a container brings its own debug
 * files), then below ours. A file that does not belong to the image is passed over: its names would
 * be wrong.
 */
#include "image/debug-file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/crc32.h"
#include "base/opening.h"
#include "image/debuginfod.h"
#include "image/open.h"

#define LINK_NAME_MAX 255
#define CRC_CHUNK     ((size_t)64 * 1024)

struct debug_link {
	char name[LINK_NAME_MAX + 1]; /* "": there is none */
	uint32_t crc;
};

struct search {
	struct coati_image *im;
	struct debug_link link;
	char folder[IMAGE_PATH_MAX + 1]; /* of the image's file, as its process names it */
};

static bool crc_is(int fd, uint32_t want)
{
	static const size_t step = CRC_CHUNK;
	CLEANUP(freep) uint8_t *bytes = coati_alloc(step);
	uint32_t crc = 0;
	off_t at = 0;
	ssize_t n;

	while (bytes && (n = pread(fd, bytes, step, at)) > 0) {
		crc = coati_crc32(crc, bytes, (size_t)n);
		at += n;
	}
	return bytes && crc == want;
}

/* By build id, when both have one; else by the checksum of the link. */
static bool belongs(const struct search *s, struct copy *c, bool by_link)
{
	const struct coati_image *im = s->im;
	uint8_t id[COATI_BUILD_ID_MAX];
	size_t size = coati_copy_build_id(c, id);

	if (size && im->build_id_size)
		return size == im->build_id_size && !memcmp(id, im->build_id, size);
	return by_link && crc_is(c->fd, s->link.crc);
}

/* 1: taken; 0: not there, or not the one; -ENOMEM. */
static int try_path(struct search *s, const char *root, const char *path, bool by_link)
{
	struct coati_image *im = s->im;
	CLEANUP(fd_closep) int fd = coati_open_below(root, path, !im->pid || !by_link, NULL);
	int r = fd < 0 ? fd : coati_copy_open(&im->debug_file, fd, path, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	TAKE_FD(fd);
	if (!belongs(s, &im->debug_file, by_link)) {
		coati_copy_close(&im->debug_file);
		return 0;
	}
	im->debug = coati_arena_printf(&im->arena, "%s%s", root, path);
	return im->debug ? 1 : -ENOMEM;
}

static int try_build_id(struct search *s, const char *root, const char *dir, size_t len)
{
	const struct coati_image *im = s->im;
	char path[IMAGE_PATH_MAX];
	int used;

	if (im->build_id_size < 2)
		return 0;
	used = snprintf(path, sizeof(path), "%.*s/.build-id/%02x/", (int)len, dir, im->build_id[0]);
	for (uint32_t i = 1; i < im->build_id_size && (size_t)used < sizeof(path); i++)
		used += snprintf(path + used, sizeof(path) - (size_t)used, "%02x", im->build_id[i]);
	if ((size_t)used < sizeof(path))
		used += snprintf(path + used, sizeof(path) - (size_t)used, ".debug");
	return (size_t)used < sizeof(path) ? try_path(s, root, path, false) : 0;
}

/* FOLDER/NAME, FOLDER/.debug/NAME, DIR/FOLDER/NAME. */
static int try_link(struct search *s, const char *root, const char *dir, size_t len)
{
	char path[2 * IMAGE_PATH_MAX];
	int r = 0;

	if (!*s->link.name)
		return 0;
	if (!dir) {
		snprintf(path, sizeof(path), "%s/%s", s->folder, s->link.name);
		/* the link may name the file itself */
		if (strcmp(path, s->im->path) != 0)
			r = try_path(s, root, path, true);
		if (r)
			return r;
		snprintf(path, sizeof(path), "%s/.debug/%s", s->folder, s->link.name);
	} else {
		snprintf(path, sizeof(path), "%.*s%s/%s", (int)len, dir, s->folder, s->link.name);
	}
	return strlen(path) < IMAGE_PATH_MAX ? try_path(s, root, path, true) : 0;
}

/* Everything below one root. */
static int try_root(struct search *s, const char *root)
{
	const char *dirs = s->im->all->debug_dirs;
	int r = 0;

	for (const char *dir = dirs; *dir && r == 0;) {
		size_t len = strcspn(dir, ":");

		if (len)
			r = try_build_id(s, root, dir, len);
		dir += len + (dir[len] == ':');
	}
	if (r == 0)
		r = try_link(s, root, NULL, 0);
	for (const char *dir = dirs; *dir && r == 0;) {
		size_t len = strcspn(dir, ":");

		if (len && *s->folder == '/')
			r = try_link(s, root, dir, len);
		dir += len + (dir[len] == ':');
	}
	return r;
}

static void read_link(struct coati_image *im, struct debug_link *ret)
{
	struct copy *c = &im->file;
	struct elf_section s;
	struct cursor at;
	const char *name;
	size_t size, len;

	*ret = (struct debug_link){ 0 };
	if (!c->bytes || coati_elf_section_find(&c->elf, ".gnu_debuglink", &s) != 1)
		return;
	name = (const char *)coati_copy_section(c, &s, &size);
	len = name ? strnlen(name, size) : 0;
	/* the name of a file, not a path */
	if (!len || len > LINK_NAME_MAX || memchr(name, '/', len) || !strcmp(name, "..") ||
	    (len & ~(size_t)3) + 8 > size)
		return;
	at = cursor_over(name + (len & ~(size_t)3) + 4, 4);
	at.swap = c->elf.swap;
	ret->crc = cursor_u32(&at);
	memcpy(ret->name, name, len);
}

/* By the process that opens files for this one, which may not connect to servers itself. */
static int fetch(const struct debuginfod_ask *ask, struct coati_error *err)
{
	char id[2 * COATI_BUILD_ID_MAX + 1];

	if (!coati_opening_hooks())
		return coati_debuginfod_fetch(ask, err);
	for (uint32_t i = 0; i < ask->build_id_size; i++)
		snprintf(id + (size_t)2 * i, 3, "%02x", ask->build_id[i]);
	return coati_open_file(&(struct opening){ .kind = OPEN_SERVER, .path = id }, err);
}

/* What is on no disk here, when the servers may be asked: 1 found, 0 not. */
static int try_servers(struct coati_image *im)
{
	struct debuginfod_ask ask = { .build_id = im->build_id,
				      .build_id_size = im->build_id_size };
	struct search s = { .im = im };
	struct coati_error err = { 0 };
	CLEANUP(fd_closep) int fd = -1;

	if (!(im->all->flags & COATI_IMAGES_DEBUGINFOD) || im->build_id_size < 2)
		return 0;
	fd = fetch(&ask, &err);
	if (fd < 0) {
		coati_image_blame(im, "%s: %s", im->name, err.text);
		return 0;
	}
	if (coati_copy_open(&im->debug_file, fd, im->name, NULL) < 0)
		return 0;
	TAKE_FD(fd);
	if (!belongs(&s, &im->debug_file, false)) {
		coati_copy_close(&im->debug_file);
		return 0;
	}
	im->debug = coati_arena_printf(&im->arena, "%s (debuginfod)", im->name);
	return im->debug ? 1 : -ENOMEM;
}

int coati_image_find_debug_file(struct coati_image *im)
{
	struct search s = { .im = im };
	char root[IMAGE_PATH_MAX];
	const char *slash = strrchr(im->path, '/');
	int r = 0;

	if (im->looked_for_debug)
		return im->debug_file.bytes ? 0 : -ENOENT;
	im->looked_for_debug = true;
	if (im->all->flags & COATI_IMAGES_NO_LOCAL)
		return -ENOENT;
	read_link(im, &s.link);
	snprintf(s.folder, sizeof(s.folder), "%.*s", slash ? (int)(slash - im->path) : 1,
		 slash ? im->path : ".");
	if (im->pid) {
		snprintf(root, sizeof(root), "%s/%d/root", im->all->procfs, im->pid);
		r = try_root(&s, root);
	}
	if (r == 0)
		r = try_root(&s, im->all->root);
	if (r == 0)
		r = try_servers(im);
	return r < 0 ? r : r ? 0 : -ENOENT;
}
