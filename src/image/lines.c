/* SPDX-License-Identifier: MIT */
/*
 * The pass: which units hold the addresses, then each of them once: its entries for the functions,
 * its line program for the lines, and the frames of every address to the caller. Memory is that of
 * one unit. A unit that is damaged is counted, and the next one is read.
 */
#include "image/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "image/lines-cover.h"
#include "image/lines-name.h"
#include "image/lines-program.h"
#include "image/lines-tree.h"
#include "image/split.h"

#define WORK_LEAST (UINT64_C(1) << 26) /* steps beyond reading every byte a few times */
#define PATHS_MAX  (64u << 20)	       /* bytes of joined paths of one unit */

struct run {
	const struct lines_input *in;
	lines_fn fn;
	void *ctx;
	struct dwarf_file *file;
	struct split split;
	struct lines_tally tally;
	uint64_t work;
	uint32_t *owner; /* unit of each address */
	uint32_t *order; /* addresses by unit */
	uint64_t *vaddrs;
	struct line_row *rows; /* both of the unit at hand */
};

/* All about the unit at hand. */
struct unit_run {
	struct run *run;
	const uint32_t *members; /* numbers of its addresses */
	size_t nr;
	struct scope scope, split;
	struct tree tree;
	struct line_program program;
	struct namer namer;
	struct entry_name *names; /* of the tree's nodes */
	bool *named;
	struct arena arena;
	bool has_program;
};

static void note(struct run *run, const char *text)
{
	if (!run->tally.why[0])
		snprintf(run->tally.why, sizeof(run->tally.why), "%.199s", text);
}

/* -ENOMEM ends the pass; damage is remembered and the unit goes on with what it has. */
static int settle(struct unit_run *u, int r, const char *what, bool *damaged)
{
	char text[120];

	if (r == -ENOMEM || r >= 0)
		return r;
	*damaged = true;
	snprintf(text, sizeof(text), "%s of the unit at 0x%llx %s damaged%s", what,
		 (unsigned long long)u->scope.unit->start,
		 what[strlen(what) - 1] == 's' ? "are" : "is",
		 u->run->work ? "" : " (or costs too many steps)");
	note(u->run, text);
	return 0;
}

/* The scope that has the entries: that of the .dwo where there is one. */
static int find_entries(struct unit_run *u, const struct scope **ret)
{
	struct coati_error err = { 0 };
	int r;

	*ret = &u->scope;
	if (!u->scope.dwo_id && !u->scope.dwo_name)
		return 0;
	r = coati_split_get(&u->run->split, &u->scope, &u->split, &err);
	if (r == 0)
		*ret = &u->split;
	if (r == -ENOENT) {
		u->run->tally.nr_split_missing++;
		note(u->run, err.text);
		r = 0;
	}
	return r;
}

static int read_tree(struct unit_run *u, bool *damaged)
{
	const struct scope *s;
	int r = settle(u, find_entries(u, &s), "entries", damaged);

	if (r < 0)
		return r;
	r = coati_tree_walk(s, u->run->vaddrs, u->nr, &u->run->work, &u->tree);
	r = settle(u, r, "entries", damaged);
	if (r < 0)
		return r;
	u->namer.home = s;
	u->names = coati_alloc_array(u->tree.nr + 1, sizeof(*u->names));
	u->named = coati_alloc_array(u->tree.nr + 1, sizeof(*u->named));
	return u->names && u->named ? 0 : -ENOMEM;
}

static int read_program(struct unit_run *u, bool *damaged)
{
	struct run *run = u->run;
	int r = coati_line_program_init(&u->program, &u->scope, &u->arena);

	if (r == -ENOENT)
		return 0;
	u->has_program = r == 0;
	if (r == 0 && run->in->want_lines)
		r = coati_line_program_run(&u->program, run->vaddrs, u->nr, &run->work, run->rows);
	return settle(u, r, "lines", damaged);
}

static int name_of(struct unit_run *u, uint32_t node, struct entry_name *ret)
{
	int r;

	if (!u->named[node]) {
		r = coati_namer_get(&u->namer, u->tree.nodes[node].entry, &u->run->work,
				    &u->names[node]);
		if (r < 0)
			return r;
		u->named[node] = true;
	}
	*ret = u->names[node];
	return 0;
}

static void set_place(struct unit_run *u, struct lines_frame *f, const struct line_row *row)
{
	if (!u->run->in->want_lines || !u->has_program)
		return;
	f->file = coati_line_program_file(&u->program, row->file);
	f->line = row->line;
	f->column = row->column;
}

/* The frames of member @i, innermost first; their number. */
static int make_frames(struct unit_run *u, size_t i, struct lines_frame *frames)
{
	uint32_t node = u->tree.of ? u->tree.of[i] : TREE_NONE;
	struct line_row row = u->run->rows[i];
	bool is_set = row.is_set;
	int nr = 0;

	while (node != TREE_NONE && nr < LINES_DEPTH_MAX) {
		const struct tree_node *n = &u->tree.nodes[node];
		struct lines_frame f = { .low = n->start,
					 .high = n->end,
					 .is_inline = n->parent != TREE_NONE };
		struct entry_name name;
		int r;

		/* without inlines, or too deep: on to the function itself, the line stays */
		if (f.is_inline && (!u->run->in->want_inlines || nr == LINES_DEPTH_MAX - 1)) {
			node = n->parent;
			continue;
		}
		r = name_of(u, node, &name);
		if (r < 0)
			return r;
		f.function = name.function;
		f.decl_line = name.decl_line;
		if (is_set)
			set_place(u, &f, &row);
		frames[nr++] = f;
		row = (struct line_row){ n->call_file, n->call_line, n->call_column, true };
		is_set = true;
		node = n->parent;
	}
	if (!nr && is_set) {
		frames[0] = (struct lines_frame){ 0 };
		set_place(u, &frames[0], &row);
		nr = 1;
	}
	return nr;
}

static int deliver(struct unit_run *u)
{
	struct lines_frame frames[LINES_DEPTH_MAX];

	for (size_t i = 0; i < u->nr; i++) {
		int r = make_frames(u, i, frames);

		if (u->program.is_out_of_memory)
			r = -ENOMEM;
		if (r > 0)
			r = u->run->fn(u->run->ctx, u->members[i], frames, (uint32_t)r);
		if (r)
			return r;
	}
	return 0;
}

static void unit_fini(struct unit_run *u)
{
	coati_free(u->names);
	coati_free(u->named);
	coati_tree_fini(&u->tree);
	coati_line_program_fini(&u->program);
	coati_arena_fini(&u->arena);
}

static int run_unit(struct run *run, uint32_t unit, const uint32_t *members, size_t nr)
{
	struct unit_run u = { .run = run, .members = members, .nr = nr };
	bool damaged = false;
	int r;

	coati_arena_init(&u.arena, PATHS_MAX);
	for (size_t i = 0; i < nr; i++)
		run->vaddrs[i] = run->in->vaddrs[members[i]];
	memset(run->rows, 0, nr * sizeof(*run->rows));
	u.scope.unit = &run->file->units[unit];
	run->tally.nr_units++;
	r = coati_scope_init(&u.scope, run->file, u.scope.unit);
	r = settle(&u, r, "first entry", &damaged);
	if (r == 0 && !damaged)
		r = read_tree(&u, &damaged);
	if (r == 0 && u.names)
		r = read_program(&u, &damaged);
	if (r == 0 && u.names)
		r = deliver(&u);
	run->tally.nr_damaged += damaged;
	unit_fini(&u);
	return r;
}

static int by_unit(const void *a, const void *b, void *ctx)
{
	const uint32_t *owner = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (owner[x] != owner[y])
		return owner[x] < owner[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int run_units(struct run *run)
{
	size_t nr = run->in->nr, next;
	int r = 0;

	for (size_t i = 0; i < nr; i++)
		run->order[i] = (uint32_t)i;
	qsort_r(run->order, nr, sizeof(*run->order), by_unit, run->owner);
	for (size_t i = 0; i < nr && r == 0; i = next) {
		uint32_t unit = run->owner[run->order[i]];

		if (unit == COVER_NONE)
			break;
		for (next = i + 1; next < nr && run->owner[run->order[next]] == unit;)
			next++;
		r = run_unit(run, unit, &run->order[i], next - i);
	}
	return r;
}

static int run_file(struct run *run, bool damaged)
{
	struct coati_error err = { 0 };
	int r = coati_split_open_alt(run->file, run->in, &err);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		run->tally.nr_alt_missing = 1;
		note(run, err.text);
	}
	if (damaged)
		note(run, "the list of units is damaged");
	run->work = WORK_LEAST + 16 * (uint64_t)run->file->elf.size;
	r = coati_cover(run->file, run->in->vaddrs, run->in->nr, &run->work, run->owner);
	if (r < 0)
		return r;
	damaged |= r > 0;
	if (damaged)
		note(run, "the address ranges of units are damaged");
	r = run_units(run);
	if (r == 0 && (damaged || run->tally.nr_damaged))
		r = -EBADMSG;
	return r;
}

static int run_alloc(struct run *run)
{
	size_t nr = run->in->nr;

	run->owner = coati_alloc_array(nr, sizeof(*run->owner));
	run->order = coati_alloc_array(nr, sizeof(*run->order));
	run->vaddrs = coati_alloc_array(nr, sizeof(*run->vaddrs));
	run->rows = coati_alloc_array(nr, sizeof(*run->rows));
	return run->owner && run->order && run->vaddrs && run->rows ? 0 : -ENOMEM;
}

static void run_fini(struct run *run)
{
	coati_split_fini(&run->split);
	coati_dwarf_close(run->file);
	coati_free(run->owner);
	coati_free(run->order);
	coati_free(run->vaddrs);
	coati_free(run->rows);
}

int coati_lines_resolve(const struct lines_input *in, lines_fn fn, void *ctx,
			struct coati_error *err)
{
	struct run run = { .in = in, .fn = fn, .ctx = ctx, .split.in = in };
	const char *path = in->path ? in->path : "a file";
	bool damaged = false;
	int r = coati_dwarf_open(in->fd, path, &run.file, &damaged, err);

	if (r == 0 && in->nr) {
		r = in->nr < COVER_NONE ? run_alloc(&run) : -E2BIG;
		if (r == 0)
			r = run_file(&run, damaged);
		if (r == -ENOMEM)
			coati_fail(err, r, "out of memory");
		else if (r < 0)
			coati_fail(err, r, "%s: %s", path, run.tally.why);
	}
	if (in->tally)
		*in->tally = run.tally;
	run_fini(&run);
	return r;
}
