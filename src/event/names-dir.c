/* SPDX-License-Identifier: MIT */
/* Reading directories with the plain system call: there are thousands of entries, and nothing else
 * is wanted of them. */
#include "event/names-dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"

typedef ARRAY(const char *) name_array;

static void name_array_fini(name_array *names)
{
	ARRAY_FINI(names);
}

static int by_bytes(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static int is_wanted(const struct dirent64 *e, enum dir_kind kind)
{
	if (e->d_name[0] == '.')
		return 0;
	if (e->d_type == DT_UNKNOWN)
		return 1;
	return kind == DIR_FILES ? e->d_type == DT_REG : e->d_type == DT_DIR || e->d_type == DT_LNK;
}

static int add_entries(name_array *names, struct arena *arena, enum dir_kind kind, const char *buf,
		       size_t size)
{
	for (size_t pos = 0; pos < size;) {
		const struct dirent64 *e = (const struct dirent64 *)(const void *)(buf + pos);
		const char **name;

		pos += e->d_reclen;
		if (!is_wanted(e, kind))
			continue;
		if (names->len == DIR_NAMES_MAX)
			return -E2BIG;
		name = ARRAY_ADD(names);
		if (!name)
			return -ENOMEM;
		*name = coati_arena_strdup(arena, e->d_name);
		if (!*name)
			return -ENOMEM;
	}
	return 0;
}

static int read_all(int fd, enum dir_kind kind, struct arena *arena, name_array *names)
{
	_Alignas(struct dirent64) char buf[32768];
	ssize_t got;

	while ((got = getdents64(fd, buf, sizeof(buf))) > 0) {
		int r = add_entries(names, arena, kind, buf, (size_t)got);

		if (r < 0)
			return r;
	}
	return got < 0 ? -errno : 0;
}

int coati_dir_names(int dirfd, const char *path, enum dir_kind kind, struct arena *arena,
		    struct dir_names *ret)
{
	CLEANUP(name_array_fini) name_array names = ARRAY_INIT(DIR_NAMES_MAX);
	CLEANUP(fd_closep) int fd = openat(dirfd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char **v;
	int r;

	if (fd < 0)
		return -errno;
	r = read_all(fd, kind, arena, &names);
	if (r < 0)
		return r;
	if (names.len)
		qsort(names.v, names.len, sizeof(names.v[0]), by_bytes);
	v = coati_arena_alloc(arena, (names.len + 1) * sizeof(v[0]));
	if (!v)
		return -ENOMEM;
	if (names.len)
		memcpy(v, names.v, names.len * sizeof(v[0]));
	*ret = (struct dir_names){ v, names.len };
	return 0;
}
