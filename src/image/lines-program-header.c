/* SPDX-License-Identifier: MIT */
/*
 * The header of a line program: numbers, directories and files, in the fixed shape of versions 2 to
 * 4 or the described one of version 5. Counts are held against the bytes that are left before they
 * size anything.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/leb128.h"
#include "image/lines-dwarf.h"
#include "image/lines-program.h"

#define FORMATS_MAX 32

static const char *read_text(struct cursor *c)
{
	const char *text = (const char *)c->at;
	const uint8_t *end = memchr(c->at, 0, cursor_left(c));

	if (!end) {
		c->bad = true;
		return "";
	}
	c->at = end + 1;
	return text;
}

/* Names one after the other, an empty one ends them. First counted, then kept. */
static int read_old_dirs(struct line_program *p, struct cursor *c)
{
	struct cursor count = *c;
	size_t nr = 0;

	while (*read_text(&count))
		nr++;
	if (count.bad || nr > LINE_FILES_MAX)
		return -EBADMSG;
	p->dirs = coati_arena_alloc(p->arena, (nr + 1) * sizeof(*p->dirs));
	if (!p->dirs)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		p->dirs[i] = read_text(c);
	p->nr_dirs = nr;
	read_text(c);
	return 0;
}

static const char *read_old_file(struct cursor *c, uint64_t *ret_dir)
{
	const char *name = read_text(c);

	*ret_dir = 0;
	if (!*name || c->bad)
		return "";
	*ret_dir = cursor_uleb(c);
	cursor_skip_leb(c); /* time */
	cursor_skip_leb(c); /* size */
	return name;
}

static int files_alloc(struct line_program *p, size_t nr)
{
	p->files = coati_alloc_array(nr + 1, sizeof(*p->files));
	if (!p->files)
		return -ENOMEM;
	p->cap_files = nr + 1;
	return 0;
}

static int read_old_files(struct line_program *p, struct cursor *c)
{
	struct cursor count = *c;
	uint64_t dir;
	size_t nr = 0;

	while (*read_old_file(&count, &dir))
		nr++;
	if (count.bad || nr > LINE_FILES_MAX)
		return -EBADMSG;
	if (files_alloc(p, nr) < 0)
		return -ENOMEM;
	for (; p->nr_files < nr; p->nr_files++) {
		struct line_file *f = &p->files[p->nr_files];

		f->name = read_old_file(c, &f->dir);
	}
	return 0;
}

struct format {
	uint64_t content;
	struct abbrev_attr attr;
};

/* A list of version 5: how its entries look, how many there are. */
static int read_formats(struct cursor *c, struct format *formats, unsigned int *ret_nr,
			uint64_t *ret_count)
{
	unsigned int nr = cursor_u8(c);

	if (nr > FORMATS_MAX)
		return -EBADMSG;
	for (unsigned int i = 0; i < nr; i++) {
		uint64_t form;

		formats[i].content = cursor_uleb(c);
		form = cursor_uleb(c);
		formats[i].attr = (struct abbrev_attr){
			.form = form > UINT16_MAX ? 0 : (uint16_t)form,
		};
	}
	*ret_nr = nr;
	*ret_count = cursor_uleb(c);
	/* an entry without bytes could be repeated for ever */
	if (c->bad || *ret_count > cursor_left(c) || *ret_count > LINE_FILES_MAX ||
	    (!nr && *ret_count))
		return -EBADMSG;
	return 0;
}

static struct line_file read_new_entry(const struct scope *s, const struct format *formats,
				       unsigned int nr, struct cursor *c)
{
	struct line_file f = { .name = NULL };

	for (unsigned int i = 0; i < nr; i++) {
		struct value v = coati_scope_value(s, c, &formats[i].attr);

		if (formats[i].content == DW_LNCT_path)
			f.name = v.text;
		else if (formats[i].content == DW_LNCT_directory_index)
			f.dir = v.number;
	}
	return f;
}

static int read_new_tables(struct line_program *p, struct cursor *c)
{
	/* The forms are sized by this header, not by the unit's. */
	struct dwarf_unit unit = *p->scope->unit;
	struct scope s = *p->scope;
	struct format formats[FORMATS_MAX];
	unsigned int nr;
	uint64_t count;

	unit.offset_size = p->offset_size;
	unit.address_size = p->address_size;
	s.unit = &unit;
	if (read_formats(c, formats, &nr, &count) < 0)
		return -EBADMSG;
	p->dirs = coati_arena_alloc(p->arena, (count + 1) * sizeof(*p->dirs));
	if (!p->dirs)
		return -ENOMEM;
	for (; p->nr_dirs < count && !c->bad; p->nr_dirs++)
		p->dirs[p->nr_dirs] = read_new_entry(&s, formats, nr, c).name;
	if (read_formats(c, formats, &nr, &count) < 0)
		return -EBADMSG;
	if (files_alloc(p, count) < 0)
		return -ENOMEM;
	for (; p->nr_files < count && !c->bad; p->nr_files++)
		p->files[p->nr_files] = read_new_entry(&s, formats, nr, c);
	return c->bad ? -EBADMSG : 0;
}

/* To the numbers that opcodes need; @ret_tables is left over the directories and files. */
static int read_numbers(struct line_program *p, struct cursor *c, struct cursor *ret_tables)
{
	uint64_t length = cursor_length(c, &p->offset_size);

	*c = cursor_sub(c, length);
	p->version = cursor_u16(c);
	p->address_size = p->scope->unit->address_size;
	if (c->bad || p->version < 2 || p->version > 5)
		return -EBADMSG;
	if (p->version >= 5) {
		p->address_size = cursor_u8(c);
		cursor_skip(c, 1); /* size of segment selectors */
	}
	length = cursor_sized(c, p->offset_size);
	*ret_tables = cursor_sub(c, length);
	p->code = *c;
	c = ret_tables;
	p->min_length = cursor_u8(c);
	if (p->version >= 4)
		cursor_skip(c, 1); /* instructions side by side: of machines that we do not read */
	cursor_skip(c, 1);	   /* whether rows begin as statements */
	p->line_base = (int8_t)cursor_u8(c);
	p->line_range = cursor_u8(c);
	p->opcode_base = cursor_u8(c);
	p->opcode_lengths = cursor_bytes(c, p->opcode_base ? p->opcode_base - 1u : 0);
	return c->bad || !p->opcode_base ? -EBADMSG : 0;
}

int coati_line_program_init(struct line_program *p, const struct scope *scope, struct arena *arena)
{
	struct cursor c, tables;
	int r;

	*p = (struct line_program){ .scope = scope, .arena = arena };
	if (!scope->has_stmt_list)
		return -ENOENT;
	c = dwarf_cursor(scope->file, SECTION_LINE, scope->stmt_list);
	if (c.bad || read_numbers(p, &c, &tables) < 0)
		return -EBADMSG;
	if (p->version >= 5)
		return read_new_tables(p, &tables);
	r = read_old_dirs(p, &tables);
	return r < 0 ? r : read_old_files(p, &tables);
}

void coati_line_program_fini(struct line_program *p)
{
	coati_free(p->files);
	p->files = NULL;
}

/* The directory of a file, NULL when it is that of the unit. */
static const char *file_dir(const struct line_program *p, uint64_t dir)
{
	if (p->version < 5) {
		if (!dir)
			return NULL;
		dir--;
	}
	return dir < p->nr_dirs ? p->dirs[dir] : NULL;
}

/* @dir/@name, or @comp_dir/@dir/@name. Over the ceiling of a unit's paths it is unknown, not the
 * end of the unit. */
static const char *join(struct line_program *p, const char *comp_dir, const char *dir,
			const char *name)
{
	size_t need = strlen(comp_dir) + strlen(dir) + strlen(name) + 3;
	char *path;

	if (need > p->arena->max_bytes - p->arena->used_bytes)
		return NULL;
	path = coati_arena_printf(p->arena, "%s%s%s%s%s", comp_dir, *comp_dir ? "/" : "", dir,
				  *dir ? "/" : "", name);
	if (!path && need + 64 < p->arena->max_bytes - p->arena->used_bytes)
		p->is_out_of_memory = true;
	return path;
}

const char *coati_line_program_file(struct line_program *p, uint64_t file)
{
	const char *comp_dir = p->scope->comp_dir ? p->scope->comp_dir : "", *dir;
	struct line_file *f;

	file -= p->version < 5;
	if (file >= p->nr_files || !p->files[file].name)
		return NULL;
	f = &p->files[file];
	if (f->path)
		return f->path;
	dir = file_dir(p, f->dir);
	if (!dir)
		dir = "";
	if (f->name[0] == '/' || (!*dir && !*comp_dir))
		f->path = f->name;
	else
		f->path = join(p, dir[0] == '/' ? "" : comp_dir, dir, f->name);
	return f->path;
}
