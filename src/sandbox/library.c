/* SPDX-License-Identifier: MIT */
/*
 * The loader asks its cache and its usual directories, and goes on where it may not read. Libraries
 * lie beside the C library nearly everywhere; where they do not, they are loaded.
 */
#include "sandbox/library.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOADER_CACHE "/etc/ld.so.cache"
#define VARIANTS     "glibc-hwcaps" /* for newer CPUs */

struct folder {
	char path[512];
};

static int find_libc(struct dl_phdr_info *info, size_t size, void *ctx)
{
	const char *name = info->dlpi_name ? strstr(info->dlpi_name, "/libc.so.") : NULL;
	struct folder *f = ctx;
	size_t len = name ? (size_t)(name - info->dlpi_name) : sizeof(f->path);

	(void)size;
	if (len >= sizeof(f->path))
		return 0;
	memcpy(f->path, info->dlpi_name, len);
	f->path[len] = '\0';
	return 1;
}

/* Whose files the loader will find where we think. */
static bool is_usual(struct folder *f)
{
	const char *path = getenv("LD_LIBRARY_PATH");

	return (!path || !*path) && dl_iterate_phdr(find_libc, f) == 1;
}

static int allow_in(struct landlock *l, const struct folder *f, const char *name)
{
	char path[sizeof(f->path) + 64];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", f->path, name) >= sizeof(path))
		return -1;
	return coati_landlock_allow_path(l, path, LANDLOCK_READ_FILE);
}

void coati_libraries_keep(struct landlock *l, const char *const *names)
{
	struct folder f = { "" };

	if (l && !is_usual(&f))
		l = NULL;
	if (l) {
		(void)coati_landlock_allow_path(l, LOADER_CACHE, LANDLOCK_READ_FILE);
		(void)allow_in(l, &f, VARIANTS);
	}
	for (; names && *names; names++)
		if (!l || allow_in(l, &f, *names) < 0)
			(void)dlopen(*names, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}
