/* SPDX-License-Identifier: MIT */
/* see report/tree.h */
#include "cli/report/tree.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/quality.h"
#include "cli/talk.h"
#include "profile/walk.h"

#define NONE	     UINT32_MAX
#define TREE_COLUMNS 90	 /* of a name */
#define INDENT_MAX   64	 /* levels that are drawn; deeper ones stay at the last column */
#define DEPTH_MAX    200 /* of text: functions that call each other by turns have no end */

const struct coati_tree_node *coati_report_nodes(struct report *r, enum coati_tree_kind kind,
						 const char *function, size_t *ret_nr)
{
	struct coati_tree_query q = {
		.size = sizeof(q),
		.kind = kind,
		.by = r->by,
		.function = function,
		/* what a program reads has every frame */
		.flags = r->args->flame || r->args->html || r->args->json ? 0 : COATI_TREE_FOLD,
	};
	const struct coati_tree_node *nodes = NULL;
	struct coati_error err = { 0 };

	if (coati_view_tree(r->view, &q, &nodes, ret_nr, &err) < 0) {
		coati_say("%s", err.text);
		return NULL;
	}
	r->quality.size = sizeof(r->quality);
	coati_profile_quality(r->profile, &r->quality);
	return nodes;
}

/* ---- text ---- */

/* The way down to the node that is printed: what is drawn to its left. */
struct indent {
	uint32_t levels;
	bool more[INDENT_MAX]; /* the level has another branch below */
};

struct tree_text {
	struct report *r;
	const struct coati_tree_node *nodes;
	uint64_t least; /* weight below which a node is left out */
	uint64_t hidden;
	uint64_t deeper; /* nodes with more below them than is shown */
	struct indent indent;
};

static uint32_t next_shown(const struct tree_text *t, uint32_t i)
{
	while (i != NONE && t->nodes[i].total < t->least)
		i = t->nodes[i].next_sibling;
	return i;
}

static void draw_indent(struct strbuf *s, const struct indent *in, bool branches)
{
	uint32_t levels = in->levels < INDENT_MAX ? in->levels : INDENT_MAX;

	for (uint32_t i = 0; i < levels; i++) {
		bool last = i + 1 == levels;

		if (last && branches)
			coati_strbuf_adds(s, in->more[i] ? "├─ " : "╰─ ");
		else
			coati_strbuf_adds(s, in->more[i] ? "│  " : "   ");
	}
}

static void put_share(struct report *r, struct strbuf *s, uint64_t weight)
{
	if (weight)
		coati_strbuf_printf(s, "%5.1f %%  ", coati_report_percent(r, weight));
	else
		coati_strbuf_adds(s, "         ");
}

static void print_node(struct tree_text *t, const struct coati_tree_node *n, bool branches)
{
	struct strbuf *s = &t->r->out.text;
	const struct coati_view_frame *f =
		n->frame == NONE ? NULL : coati_view_frame(t->r->view, n->frame);

	put_share(t->r, s, n->total);
	put_share(t->r, s, n->self);
	draw_indent(s, &t->indent, branches);
	coati_report_fit(s, n->name, t->r->args->verbose ? 1000 : TREE_COLUMNS);
	if (n->flags & COATI_NODE_FOLDED)
		coati_strbuf_adds(s, " (calls itself)");
	if (f && t->r->by != COATI_BY_IMAGE) {
		coati_strbuf_printf(s, "  %s", coati_output_style(&t->r->out, STYLE_DIM));
		coati_report_fit(s, f->image, 40);
		coati_strbuf_adds(s, coati_output_style(&t->r->out, STYLE_PLAIN));
	}
	coati_strbuf_addc(s, '\n');
	if (s->len > 60000)
		coati_output_flush(&t->r->out);
}

static void count_hidden(struct tree_text *t, uint32_t first)
{
	for (uint32_t i = first; i != NONE; i = t->nodes[i].next_sibling)
		if (t->nodes[i].total < t->least)
			t->hidden++;
}

static bool has_next(const struct tree_text *t, uint32_t i)
{
	return next_shown(t, t->nodes[i].next_sibling) != NONE;
}

/* Is it one of several, or right below the root? Then it has a column of its own. */
static bool is_branch(const struct tree_text *t, uint32_t i)
{
	uint32_t parent = t->nodes[i].parent;

	return parent == 0 || has_next(t, next_shown(t, t->nodes[parent].first_child));
}

static void set_more(struct tree_text *t, uint32_t i)
{
	if (t->indent.levels && t->indent.levels <= INDENT_MAX)
		t->indent.more[t->indent.levels - 1] = has_next(t, i);
}

static void go_down(struct tree_text *t, uint32_t child)
{
	if (!is_branch(t, child))
		return;
	t->indent.levels++;
	set_more(t, child);
}

/* The node to print after @at and all below it: its next sibling or that of one above it; 0: that
 * was all. */
static uint32_t go_on(struct tree_text *t, uint32_t at)
{
	while (at != 0) {
		uint32_t next = next_shown(t, t->nodes[at].next_sibling);

		if (next != NONE) {
			set_more(t, next);
			return next;
		}
		if (is_branch(t, at))
			t->indent.levels--;
		at = t->nodes[at].parent;
	}
	return 0;
}

/* A chain of single callees keeps its column, so that deep stacks stay readable; the drawing moves
 * right where it branches. Without recursion: a recording may have stacks of any depth. */
static void print_tree(struct tree_text *t)
{
	uint32_t at = 0, child;

	print_node(t, &t->nodes[0], false);
	count_hidden(t, t->nodes[0].first_child);
	do {
		child = next_shown(t, t->nodes[at].first_child);
		if (child != NONE && t->nodes[at].depth >= DEPTH_MAX && !t->r->args->verbose) {
			t->deeper++;
			child = NONE;
		}
		if (child != NONE)
			go_down(t, child);
		at = child != NONE ? child : go_on(t, at);
		if (at != 0) {
			print_node(t, &t->nodes[at], is_branch(t, at));
			count_hidden(t, t->nodes[at].first_child);
		}
	} while (at != 0);
}

static void tree_text(struct report *r, const struct coati_tree_node *nodes, const char *title)
{
	struct strbuf *s = &r->out.text;
	struct tree_text t = {
		.r = r,
		.nodes = nodes,
		.least = coati_report_least(r, nodes[0].total),
	};

	coati_report_quality_text(r);
	coati_strbuf_printf(s, "%s%7s  %7s  %s%s\n", coati_output_style(&r->out, STYLE_BOLD),
			    "total", "self", title, coati_output_style(&r->out, STYLE_PLAIN));
	print_tree(&t);
	if (t.deeper)
		coati_strbuf_printf(
			s, "%s# %llu branches go on below level %d: --verbose shows them%s\n",
			coati_output_style(&r->out, STYLE_DIM), (unsigned long long)t.deeper,
			DEPTH_MAX, coati_output_style(&r->out, STYLE_PLAIN));
	if (t.hidden)
		coati_strbuf_printf(s, "%s# %llu branches below %.3g %%: --min 0 shows them%s\n",
				    coati_output_style(&r->out, STYLE_DIM),
				    (unsigned long long)t.hidden, r->min_percent,
				    coati_output_style(&r->out, STYLE_PLAIN));
}

/* ---- JSON: a list, because a tree may be deeper than readers like to nest ---- */

static int tree_json(struct report *r, const struct coati_tree_node *nodes, size_t nr,
		     const char *kind)
{
	CLEANUP(freep) int64_t *numbers = coati_alloc_array(nr + 1, sizeof(*numbers));
	uint64_t least = r->args->min ? coati_report_least(r, nodes[0].total) : 0;
	struct json j = json_to(&r->out.text);
	int64_t kept = 0;

	if (!numbers) {
		coati_say("out of memory");
		return EXIT_FAILED;
	}
	coati_json_object(&j);
	coati_json_kstr(&j, "schema", "coati.report.tree.v1");
	coati_json_kstr(&j, "tree", kind);
	coati_json_kstr(&j, "by", coati_by_name(r->by));
	coati_report_quality_json(r, &j);
	coati_json_key(&j, "nodes");
	coati_json_array(&j);
	for (size_t i = 0; i < nr; i++) {
		const struct coati_tree_node *n = &nodes[i];

		/* what is below a node has no more weight than the node: whole branches go */
		if (n->total < least && i)
			continue;
		numbers[i] = kept++;
		coati_json_object(&j);
		coati_json_ki64(&j, "parent", n->parent == NONE ? -1 : numbers[n->parent]);
		coati_json_kstr(&j, "name", n->name);
		if (n->frame != NONE)
			coati_json_kstr(&j, "image", coati_view_frame(r->view, n->frame)->image);
		coati_json_ku64(&j, "self", n->self);
		coati_json_ku64(&j, "total", n->total);
		coati_json_end(&j);
		if (r->out.text.len > 60000)
			coati_output_flush(&r->out);
	}
	coati_json_end(&j);
	coati_json_end(&j);
	coati_strbuf_addc(&r->out.text, '\n');
	return EXIT_DONE;
}

static int no_such_function(const struct report *r, const char *function)
{
	char quoted[256];

	coati_say("%s has no stack with a function %s; `coati report --by function` lists its "
		  "functions, and * matches any text",
		  r->input, coati_quote(function, quoted, sizeof(quoted)));
	return EXIT_FAILED;
}

int coati_report_tree(struct report *r, enum coati_tree_kind kind, const char *function)
{
	const char *title = !function		    ? coati_by_name(r->by)
			    : kind == COATI_TREE_UP ? "callers"
						    : "callees";
	const struct coati_tree_node *nodes;
	size_t nr;

	nodes = coati_report_nodes(r, kind, function, &nr);
	if (!nodes)
		return EXIT_FAILED;
	if (function && (!nr || !nodes[0].total))
		return no_such_function(r, function);
	if (r->args->json)
		return tree_json(r, nodes, nr, function ? title : "down");
	tree_text(r, nodes, title);
	return EXIT_DONE;
}
