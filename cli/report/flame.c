/* SPDX-License-Identifier: MIT */
/*
 * A flame graph of text: a line for each depth, the outermost frames on top, each frame as wide as
 * its share. Frames narrower than a column are gathered in a dot.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/parse.h"
#include "cli/command.h"
#include "cli/quality.h"
#include "cli/report/tree.h"
#include "cli/talk.h"

#define NONE	    UINT32_MAX
#define WIDTH_LEAST 40
#define WIDTH_MOST  4096
#define LINES_MOST  1000

/* A frame that is wide enough to be drawn. */
struct box {
	uint32_t node;
	uint32_t from, to; /* columns */
};

typedef ARRAY(struct box) boxes_t;

static uint32_t graph_width(const struct report *r)
{
	const char *columns = getenv("COLUMNS");
	uint64_t n = coati_output_width(&r->out);

	if (!n && (!columns || coati_parse_u64(columns, WIDTH_LEAST, WIDTH_MOST, &n) < 0))
		n = 100;
	return n < WIDTH_LEAST ? WIDTH_LEAST : n > WIDTH_MOST ? WIDTH_MOST : (uint32_t)n;
}

static void draw_box(struct report *r, const struct box *b, const struct coati_tree_node *n)
{
	struct strbuf *s = &r->out.text;
	uint32_t width = b->to - b->from;
	size_t used;

	/* neighbors are separated by a bar, and on terminals by color: kernel frames differ */
	if (r->out.color) {
		const struct coati_view_frame *f =
			n->frame == NONE ? NULL : coati_view_frame(r->view, n->frame);
		uint32_t shade = f ? f->function_id * 7u % 5u : 0;
		bool kernel = f && f->location_flags & COATI_LOCATION_KERNEL;

		coati_strbuf_printf(s, "\033[30;48;5;%um", (kernel ? 109u : 214u) + shade);
	}
	coati_strbuf_adds(s, "▏");
	used = 1;
	if (width > 1)
		used += coati_report_fit(s, n->name, width - 1);
	if (used < width)
		coati_strbuf_pad(s, ' ', width - used);
	if (r->out.color)
		coati_strbuf_adds(s, "\033[0m");
}

static void draw_line(struct report *r, const boxes_t *line, const struct coati_tree_node *nodes)
{
	struct strbuf *s = &r->out.text;
	uint32_t at = 0;

	for (size_t i = 0; i < line->len; i++) {
		const struct box *b = &line->v[i];

		if (b->from > at)
			coati_strbuf_pad(s, ' ', b->from - at);
		draw_box(r, b, &nodes[b->node]);
		at = b->to;
	}
	while (!r->out.color && s->len && s->text[s->len - 1] == ' ')
		s->text[--s->len] = '\0';
	coati_strbuf_addc(s, '\n');
}

/* The callees of one box, side by side below it. */
static int add_below(boxes_t *below, const struct box *b, const struct coati_tree_node *nodes,
		     double columns_per_weight)
{
	double at = 0;

	for (uint32_t i = nodes[b->node].first_child; i != NONE; i = nodes[i].next_sibling) {
		double to = at + (double)nodes[i].total * columns_per_weight;
		uint32_t left = b->from + (uint32_t)(at + 0.5),
			 right = b->from + (uint32_t)(to + 0.5);
		struct box *n;

		at = to;
		if (right > b->to)
			right = b->to;
		if (right <= left)
			continue;
		n = ARRAY_ADD(below);
		if (!n)
			return -1;
		*n = (struct box){ i, left, right };
	}
	return 0;
}

static int draw(struct report *r, const struct coati_tree_node *nodes, uint32_t width)
{
	boxes_t line = ARRAY_INIT(WIDTH_MOST), below = ARRAY_INIT(WIDTH_MOST);
	double scale = nodes[0].total ? (double)width / (double)nodes[0].total : 0;
	struct box *root = ARRAY_ADD(&line);
	int ret = root ? 0 : -1;

	if (root)
		*root = (struct box){ 0, 0, width };
	for (uint32_t n = 0; ret == 0 && line.len && n < LINES_MOST; n++) {
		boxes_t swap = line;

		draw_line(r, &line, nodes);
		below.len = 0;
		for (size_t i = 0; ret == 0 && i < line.len; i++)
			ret = add_below(&below, &line.v[i], nodes, scale);
		line = below;
		below = swap;
	}
	if (ret == 0 && line.len)
		coati_strbuf_printf(
			&r->out.text,
			"# deeper frames are not drawn: --show-from REGEX starts at a deeper "
			"function\n");
	ARRAY_FINI(&line);
	ARRAY_FINI(&below);
	return ret;
}

int coati_report_flame(struct report *r)
{
	size_t nr;
	const struct coati_tree_node *nodes = coati_report_nodes(r, COATI_TREE_DOWN, NULL, &nr);

	if (!nodes)
		return EXIT_FAILED;
	coati_report_quality_text(r);
	if (draw(r, nodes, graph_width(r)) < 0) {
		coati_say("out of memory for the flame graph");
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}
