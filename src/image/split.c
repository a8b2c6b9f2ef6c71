/* SPDX-License-Identifier: MIT */
/* A skeleton comes in, the unit that it stands for goes out, from a package beside the program or
 * from the directory it was built in. */
#include "image/split.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/opening.h"
#include "image/lines-dwarf.h"

#define COLUMNS_MAX 16

int coati_split_open_file(const char *path)
{
	struct opening o = { .kind = OPEN_IMAGE, .links = OPEN_NO_LAST_LINK, .path = path };
	int fd = coati_open_file(&o, NULL);

	return fd < 0 ? -ENOENT : fd;
}

/* A file with split units; -ENOENT also when it has none. */
static int open_split(const char *path, struct dwarf_file **ret)
{
	CLEANUP(fd_closep) int fd = coati_split_open_file(path);
	struct dwarf_file *f;
	bool damaged;
	int r;

	if (fd < 0)
		return fd;
	r = coati_dwarf_open(fd, path, &f, &damaged, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : -ENOENT;
	if (!f->is_split) {
		coati_dwarf_close(f);
		return -ENOENT;
	}
	*ret = f;
	return 0;
}

/* The row (from 1) of @id in the hash table of the index; 0: not there. */
static uint32_t find_row(const struct dwarf_file *f, uint32_t nr_slots, uint64_t id)
{
	uint64_t mask = nr_slots - 1u, slot = id & mask, step = ((id >> 32) & mask) | 1;

	for (uint32_t tries = 0; tries < nr_slots; tries++) {
		struct cursor ids = dwarf_cursor(f, SECTION_CU_INDEX, 16 + slot * 8);
		struct cursor rows =
			dwarf_cursor(f, SECTION_CU_INDEX, 16 + (uint64_t)nr_slots * 8 + slot * 4);
		uint64_t have = cursor_u64(&ids);
		uint32_t row = cursor_u32(&rows);

		if (ids.bad || rows.bad || !row)
			return 0;
		if (have == id)
			return row;
		slot = (slot + step) & mask;
	}
	return 0;
}

/* Where the parts of unit @id begin in each section of the package. */
static bool find_parts(const struct dwarf_file *f, uint64_t id, uint64_t parts[COLUMNS_MAX])
{
	struct cursor c = dwarf_cursor(f, SECTION_CU_INDEX, 0), columns, offsets;
	uint32_t version = cursor_u32(&c);
	uint32_t nr_columns = cursor_u32(&c), nr_units, nr_slots, row;
	uint64_t table;

	nr_units = cursor_u32(&c);
	nr_slots = cursor_u32(&c);
	/* version 5 is 16 bits and padding: the same in this byte order, in the other the upper
	 * half */
	if (c.bad || (version != 2 && version != 5 && version != 5u << 16) || !nr_slots ||
	    (nr_slots & (nr_slots - 1)) || nr_columns > COLUMNS_MAX)
		return false;
	row = find_row(f, nr_slots, id);
	if (!row || row > nr_units)
		return false;
	table = 16 + (uint64_t)nr_slots * 12;
	columns = dwarf_cursor(f, SECTION_CU_INDEX, table);
	offsets = dwarf_cursor(f, SECTION_CU_INDEX, table + (uint64_t)row * nr_columns * 4);
	for (uint32_t i = 0; i < nr_columns; i++) {
		uint32_t column = cursor_u32(&columns), offset = cursor_u32(&offsets);

		if (column < COLUMNS_MAX)
			parts[column] = offset;
	}
	return !columns.bad && !offsets.bad;
}

static int get_from_package(const struct split *s, const struct scope *skeleton, struct scope *ret)
{
	uint64_t parts[COLUMNS_MAX] = { 0 };
	const struct dwarf_unit *u;

	if (!find_parts(s->package, skeleton->dwo_id, parts))
		return -ENOENT;
	u = coati_dwarf_unit_from(s->package, parts[DW_SECT_INFO]);
	if (!u)
		return -EBADMSG;
	*ret = (struct scope){ .abbrevs = parts[DW_SECT_ABBREV],
			       .str_offsets_base = parts[DW_SECT_STR_OFFSETS] };
	/* column 8 of version 2 is something else */
	if (u->version >= 5)
		ret->rnglists_base = parts[DW_SECT_RNGLISTS];
	return coati_scope_init_split(ret, skeleton, s->package, u);
}

static int get_from_single(const struct split *s, const struct scope *skeleton, struct scope *ret)
{
	const struct dwarf_file *f = s->single;
	int r = -ENOENT;

	for (size_t i = 0; i < f->nr_units && r == -ENOENT; i++) {
		const struct dwarf_unit *u = &f->units[i];
		struct scope found = { 0 };

		if (!u->version || (u->version >= 5 && (u->type != DW_UT_split_compile ||
							u->dwo_id != skeleton->dwo_id)))
			continue;
		r = coati_scope_init_split(&found, skeleton, s->single, u);
		if (r == 0 && found.dwo_id != skeleton->dwo_id)
			r = -ENOENT;
		if (r == 0)
			*ret = found;
	}
	return r;
}

static int try_single(struct split *s, const char *path, const struct scope *skeleton,
		      struct scope *ret)
{
	int r;

	coati_dwarf_close(s->single);
	s->single = NULL;
	r = open_split(path, &s->single);
	return r < 0 ? r : get_from_single(s, skeleton, ret);
}

/* Everywhere a .dwo may be: where it was built, and beside the program. */
static int find_single(struct split *s, const struct scope *skeleton, struct scope *ret)
{
	const char *name = skeleton->dwo_name, *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	const char *own = s->in->path ? s->in->path : "";
	int own_dir = strrchr(own, '/') ? (int)(strrchr(own, '/') - own) + 1 : 0;
	char path[3][PATH_MAX];
	int r = -ENOENT;

	if (name[0] == '/' || !skeleton->comp_dir)
		r = snprintf(path[0], PATH_MAX, "%s", name);
	else
		r = snprintf(path[0], PATH_MAX, "%s/%s", skeleton->comp_dir, name);
	if (r >= PATH_MAX)
		return -ENOENT;
	r = try_single(s, path[0], skeleton, ret);
	for (int i = 1; i < 3 && r == -ENOENT && s->in->path; i++) {
		int size =
			snprintf(path[i], PATH_MAX, "%.*s%s", own_dir, own, i == 1 ? name : base);

		if (size < PATH_MAX && strcmp(path[i], path[i - 1]) != 0)
			r = try_single(s, path[i], skeleton, ret);
	}
	return r;
}

static int open_package(struct split *s)
{
	char path[PATH_MAX];
	int r;

	if (s->is_package_tried || !s->in->path)
		return 0;
	s->is_package_tried = true;
	if (snprintf(path, sizeof(path), "%s.dwp", s->in->path) >= (int)sizeof(path))
		return 0;
	r = open_split(path, &s->package);
	return r == -ENOMEM ? r : 0;
}

int coati_split_get(struct split *s, const struct scope *skeleton, struct scope *ret,
		    struct coati_error *err)
{
	int r = open_package(s);

	if (r == 0)
		r = s->package ? get_from_package(s, skeleton, ret) : -ENOENT;
	if (r == -ENOENT && skeleton->dwo_name)
		r = find_single(s, skeleton, ret);
	if (r == -ENOENT)
		coati_fail(err, r,
			   "%s, which holds the debug data of a unit, is not there (or is another "
			   "one)",
			   skeleton->dwo_name ? skeleton->dwo_name : "a .dwo file");
	else if (r < 0)
		coati_fail(err, r, "%s: %m",
			   skeleton->dwo_name ? skeleton->dwo_name : "a .dwo file");
	return r;
}

void coati_split_fini(struct split *s)
{
	coati_dwarf_close(s->package);
	coati_dwarf_close(s->single);
	*s = (struct split){ 0 };
}
