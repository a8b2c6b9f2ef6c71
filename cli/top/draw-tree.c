/* SPDX-License-Identifier: MIT */
/* Views of call trees: as an indented list, and as a flame graph of characters; and the help. */
#include <stdio.h>
#include <string.h>

#include "cli/quality.h"
#include "cli/top/text.h"
#include "cli/top/ui.h"

#define LEAST	  0.5 /* percent, below which a branch is not shown in the list */
#define LINES_MAX 4096

static void put(struct top_ui *ui, struct screen_place at, const char *text)
{
	coati_screen_put(ui->screen, at, text);
}

/* What the tree is of, in the row above it. */
static void draw_subject(struct top_ui *ui, int y, int columns, const char *what)
{
	struct strbuf s = STRBUF_INIT(8192);

	coati_strbuf_printf(&s, " %s of ", what);
	if (ui->pick.is_on)
		coati_report_fit(&s, *ui->pick.name ? ui->pick.name : "(none)", 60);
	else
		coati_strbuf_adds(&s, ui->cursor == TOP_LIVE ? "everything" : "this second");
	coati_strbuf_printf(&s, "   %s Esc:back",
			    ui->view == TOP_VIEW_TREE ? "f:flame graph c:callers/callees"
						      : "t:tree c:callers/callees");
	put(ui, (struct screen_place){ y, 0, columns, SCREEN_HEAD }, s.text);
	coati_strbuf_fini(&s);
}

static int make_tree(struct top_ui *ui, struct top_tree *ret)
{
	struct top_query q, before;

	coati_top_ask(ui, &q, &before);
	q.pick = &ui->pick;
	return coati_top_tree(&ui->s->model, &q, ui->kind, ret);
}

static const char *name_of(const struct top_ui *ui, const struct top_node *n)
{
	return n->function == TOP_NONE ? "all" : ui->s->model.functions.v[n->function].name;
}

/* ---- list ---- */

/* The next node in the order of the list: first its children, then its siblings. */
static uint32_t next_node(const struct top_tree *t, uint32_t at, uint64_t least)
{
	uint32_t child = t->nodes.v[at].first_child;

	if (child != TOP_NONE && t->nodes.v[child].total >= least)
		return child;
	while (at != TOP_NONE) {
		uint32_t next = t->nodes.v[at].next_sibling;

		if (next != TOP_NONE && t->nodes.v[next].total >= least)
			return next;
		at = t->nodes.v[at].parent;
	}
	return TOP_NONE;
}

/* A node that has a single child of the same weight needs no step to the right. */
static bool is_chain(const struct top_tree *t, const struct top_node *n)
{
	const struct top_node *p = n->parent == TOP_NONE ? NULL : &t->nodes.v[n->parent];

	return p && p->parent != TOP_NONE && p->total == n->total;
}

static void draw_node(struct top_ui *ui, const struct top_tree *t, uint32_t number, int indent,
		      int y)
{
	const struct top_node *n = &t->nodes.v[number];
	double percent = coati_top_percent(n->total, t->nodes.v[0].total);
	struct strbuf s = STRBUF_INIT(8192);
	int rows, columns, x;
	bool kernel = n->function != TOP_NONE &&
		      ui->s->model.functions.v[n->function].flags & TOP_FRAME_KERNEL;

	coati_screen_size(ui->screen, &rows, &columns);
	coati_strbuf_printf(&s, "%6.1f %%", percent);
	put(ui,
	    (struct screen_place){ y, 0, 8,
				   percent >= 20  ? SCREEN_HOT
				   : percent >= 5 ? SCREEN_WARM
						  : SCREEN_PLAIN },
	    s.text);
	coati_strbuf_clear(&s);
	x = 9 + indent * 2;
	if (x > columns - 12)
		x = columns > 30 ? columns - 12 : 9;
	coati_report_fit(&s, name_of(ui, n), (size_t)(columns - x));
	put(ui, (struct screen_place){ y, x, columns - x, kernel ? SCREEN_KERNEL : SCREEN_PLAIN },
	    s.text);
	coati_strbuf_fini(&s);
}

static int indent_of(const struct top_tree *t, uint32_t number)
{
	int indent = 0;

	for (; number != TOP_NONE && t->nodes.v[number].parent != TOP_NONE;
	     number = t->nodes.v[number].parent)
		indent += !is_chain(t, &t->nodes.v[number]);
	return indent ? indent - 1 : 0;
}

void coati_top_draw_tree(struct top_ui *ui, int top, int bottom)
{
	struct top_tree t;
	uint32_t at = 0;
	uint64_t least;
	size_t line = 0;
	int rows, columns;

	coati_screen_size(ui->screen, &rows, &columns);
	draw_subject(ui, top++, columns, ui->kind == TOP_TREE_UP ? "callers" : "call tree");
	if (make_tree(ui, &t) == 0) {
		least = (uint64_t)((double)t.nodes.v[0].total * LEAST / 100);
		while (line < LINES_MAX &&
		       (at = next_node(&t, at, least ? least : 1)) != TOP_NONE) {
			if (line >= ui->selected && top + (int)(line - ui->selected) < bottom)
				draw_node(ui, &t, at, indent_of(&t, at),
					  top + (int)(line - ui->selected));
			line++;
		}
	}
	ui->nr_rows = line;
	ui->page = bottom - top;
	if (!line)
		put(ui, (struct screen_place){ top, 2, columns - 2, SCREEN_DIM },
		    "no samples in this time");
	coati_top_tree_fini(&t);
}

/* ---- flame graph ---- */

struct box {
	uint32_t node;
	int x, width;
};

static void draw_box(struct top_ui *ui, const struct top_tree *t, const struct box *b, int y)
{
	const struct top_node *n = &t->nodes.v[b->node];
	const struct top_function *f =
		n->function == TOP_NONE ? NULL : &ui->s->model.functions.v[n->function];
	bool kernel = f && f->flags & TOP_FRAME_KERNEL;
	struct strbuf s = STRBUF_INIT(8192);
	uint32_t shade = n->function == TOP_NONE ? 0 : (n->function * 7u + n->depth) % 5u;

	if (b->width > 2)
		coati_report_fit(&s, name_of(ui, n), (size_t)b->width - 1);
	put(ui,
	    (struct screen_place){ y, b->x, b->width,
				   (kernel ? SCREEN_FLAME_KERNEL : SCREEN_FLAME) + (int)shade },
	    s.text);
	coati_strbuf_fini(&s);
}

/* The children of a box, side by side; what is narrower than a column is left out. */
static int add_children(const struct top_tree *t, const struct box *b, struct box *out, int nr,
			int most)
{
	const struct top_node *n = &t->nodes.v[b->node];
	uint64_t before = 0;

	for (uint32_t c = n->first_child; c != TOP_NONE && nr < most;
	     c = t->nodes.v[c].next_sibling) {
		uint64_t w = t->nodes.v[c].total;
		int from = (int)((double)before / (double)n->total * b->width + 0.5);
		int to = (int)((double)(before + w) / (double)n->total * b->width + 0.5);

		before += w;
		if (to > from)
			out[nr++] = (struct box){ c, b->x + from, to - from };
	}
	return nr;
}

#define BOXES 1024

struct flame_line {
	const struct box *boxes;
	int nr, y;
	bool is_seen;
};

/* One line of boxes, where it is seen; the number of their children, which go to @next. */
static int draw_line(struct top_ui *ui, struct top_tree *t, const struct flame_line *line,
		     struct box *next)
{
	int nr_next = 0;

	for (int i = 0; i < line->nr; i++) {
		if (line->is_seen)
			draw_box(ui, t, &line->boxes[i], line->y);
		nr_next = add_children(t, &line->boxes[i], next, nr_next, BOXES);
	}
	return nr_next;
}

void coati_top_draw_flame(struct top_ui *ui, int top, int bottom)
{
	struct box lines[2][BOXES] = { { { 0 } } };
	struct top_tree t;
	int rows, columns, nr = 1, depth = 0;

	coati_screen_size(ui->screen, &rows, &columns);
	draw_subject(ui, top++, columns, "flame graph");
	lines[0][0] = (struct box){ 0, 0, columns };
	if (make_tree(ui, &t) == 0 && t.nodes.v[0].total)
		for (; nr && depth < LINES_MAX; depth++) {
			int y = top + depth - (int)ui->selected;
			struct flame_line line = { lines[depth % 2], nr, y,
						   y >= top && y < bottom };

			nr = draw_line(ui, &t, &line, lines[1 - depth % 2]);
		}
	ui->nr_rows = (size_t)depth;
	ui->page = bottom - top;
	if (!depth)
		put(ui, (struct screen_place){ top, 2, columns - 2, SCREEN_DIM },
		    "no samples in this time");
	coati_top_tree_fini(&t);
}

/* ---- help ---- */

static const char *const help[] = {
	"q        quit                     ? h      this help",
	"b B 1-8  what rows are: function, image, thread, process,",
	"         service, label, task, wait       l  next label key",
	"o        on-CPU, off-CPU (--off-cpu), both",
	"Up Down  choose a row             s r      sort, reverse",
	"Enter t  call tree of the row     c        callers or callees",
	"f        flame graph              Esc      back",
	"/        show rows that contain what you type",
	"+ -      add up more or fewer seconds      Space  pause",
	"Left Right  rewind second by second, [ ] ten at a time",
	"p        jump to the highest peak before   g End  live again",
	"Enter    after rewind: flame graph of that second",
	"d        compare the second with the minute before it",
	"w        write what is shown as a recording",
};

void coati_top_draw_help(struct top_ui *ui, int top, int bottom)
{
	int rows, columns, nr = (int)(sizeof(help) / sizeof(help[0]));

	coati_screen_size(ui->screen, &rows, &columns);
	for (int i = 0; i < nr && top + i < bottom; i++)
		put(ui, (struct screen_place){ top + i, 0, columns, SCREEN_PLAIN }, "");
	for (int i = 0; i < nr && top + i < bottom; i++)
		put(ui, (struct screen_place){ top + i, 1, columns - 1, SCREEN_PLAIN }, help[i]);
}
