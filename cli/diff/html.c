/* SPDX-License-Identifier: MIT */
/*
 * see diff/html.h. A frame is matched with that of the other side by the way to it: the same names
 * from the root on. What has no match is drawn only on its own side, which is why both are drawn.
 */
#include "cli/diff/html.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/map.h"
#include "cli/command.h"
#include "cli/diff/table.h"
#include "cli/diff/text.h"
#include "cli/flame.h"
#include "cli/report/tree.h"
#include "profile/diff.h"

#define NONE UINT32_MAX

struct page {
	struct diff *d;
	struct flame_tree trees[2];
	struct flame_names names;
	uint32_t *partner[2]; /* of each node, the node of the other tree; NONE */
	struct map functions; /* rows of the comparison by name and file */
};

/* ---- which node is which ---- */

/* @image 0: whatever file it is in. */
static uint64_t key_of(uint32_t parent, uint64_t name, uint64_t image)
{
	return coati_hash_u64(parent, coati_hash_u64(name, coati_hash_u64(image, 0)));
}

static int list_children(const struct page *p, int side, struct map *m)
{
	const struct flame_tree *t = &p->trees[side];

	for (size_t i = 1; i < t->nr; i++) {
		uint64_t name = coati_flame_name(&p->names, t->nodes[i].name), other;
		uint64_t image = 1 + coati_flame_image(&p->names, t, i);
		uint64_t any = key_of(t->nodes[i].parent, name, 0);

		if (coati_map_put(m, key_of(t->nodes[i].parent, name, image), i) < 0)
			return -ENOMEM;
		/* siblings come by size: the largest of that name */
		if (!coati_map_get(m, any, &other) && coati_map_put(m, any, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The children of matched nodes are matched by name and file, or by name alone. */
static int match_nodes(struct page *p)
{
	const struct flame_tree *t = &p->trees[1];
	struct map before;
	int r;

	coati_map_init(&before, 4 * FLAME_NODES_MAX);
	r = list_children(p, 0, &before);
	memset(p->partner[0], 0xff, (p->trees[0].nr + 1) * sizeof(uint32_t));
	memset(p->partner[1], 0xff, (p->trees[1].nr + 1) * sizeof(uint32_t));
	if (p->trees[0].nr && t->nr)
		p->partner[0][0] = p->partner[1][0] = 0;
	for (uint32_t i = 1; r == 0 && i < t->nr; i++) {
		uint32_t parent = p->partner[1][t->nodes[i].parent];
		uint64_t name = coati_flame_name(&p->names, t->nodes[i].name), other;
		uint64_t image = 1 + coati_flame_image(&p->names, t, i);

		if (parent == NONE ||
		    (!coati_map_get(&before, key_of(parent, name, image), &other) &&
		     !coati_map_get(&before, key_of(parent, name, 0), &other)))
			continue;
		if (p->partner[0][other] != NONE)
			continue;
		p->partner[1][i] = (uint32_t)other;
		p->partner[0][other] = i;
	}
	coati_map_fini(&before);
	return r;
}

/* ---- what is known of each function ---- */

static void put_change(struct json *j, const struct coati_diff_value *v)
{
	coati_json_array(j);
	coati_json_double(j, v->before);
	coati_json_double(j, v->after);
	coati_json_double(j, v->low);
	coati_json_double(j, v->high);
	coati_json_u64(j, v->verdict);
	coati_json_end(j);
}

static int put_functions(struct page *p, struct json *j)
{
	int r = 0;

	coati_json_key(j, "functions");
	coati_json_array(j);
	for (size_t i = 0; i < p->d->nr && r >= 0; i++) {
		const struct coati_diff_row *row = &p->d->rows[i];
		uint64_t other;

		coati_json_array(j);
		put_change(j, &row->self);
		put_change(j, &row->total);
		coati_json_end(j);
		/* a name that is in several files stands for its first row, the most changed */
		if (!coati_map_get_str(&p->functions, row->name, &other))
			r = coati_map_put_str(&p->functions, row->name, i);
	}
	coati_json_end(j);
	return r < 0 ? -ENOMEM : 0;
}

struct graph {
	const struct page *page;
	int side;
};

/* The weight on the other side, and the number of the function. */
static void put_more(void *ctx, struct json *j, size_t node)
{
	const struct graph *g = ctx;
	const struct page *p = g->page;
	uint32_t partner = p->partner[g->side][node];
	uint64_t row;

	coati_json_u64(j, partner == NONE ? 0 : p->trees[!g->side].nodes[partner].total);
	if (coati_map_get_str(&p->functions, p->trees[g->side].nodes[node].name, &row))
		coati_json_u64(j, row);
	else
		coati_json_i64(j, -1);
}

static void put_graphs(struct page *p, struct json *j)
{
	coati_json_key(j, "graphs");
	coati_json_array(j);
	/* what is now comes first */
	for (int side = 1; side >= 0; side--) {
		coati_json_object(j);
		coati_json_kstr(j, "title", p->d->sides[side].title);
		coati_json_kstr(j, "side", side ? "after" : "before");
		coati_flame_nodes(&p->names, j, &p->trees[side], put_more,
				  &(struct graph){ .page = p, .side = side });
		coati_json_end(j);
	}
	coati_json_end(j);
}

/* ---- the page ---- */

/* All but the verdict, which is the title; the marks of comments are for tables. */
static void put_account(struct strbuf *to, const char *head)
{
	const char *line = head + strcspn(head, "\n");

	while (*line++) {
		size_t len;

		line += strspn(line, "# ");
		len = strcspn(line, "\n");
		coati_strbuf_add(to, line, len);
		coati_strbuf_addc(to, '\n');
		line += len;
	}
}

static void put_head(struct page *p, struct json *j)
{
	struct strbuf head = STRBUF_INIT(1u << 20), account = STRBUF_INIT(1u << 20);

	p->d->out.color = false;
	coati_diff_head(p->d, &head);
	put_account(&account, head.text);
	coati_json_kstr(j, "schema", "coati.diff.flame.v1");
	coati_json_kstr(j, "title", p->d->verdict.text);
	coati_json_kstr(j, "quality", account.text);
	coati_json_kstr(j, "unit", p->d->info.unit ? p->d->info.unit : "samples");
	coati_strbuf_fini(&head);
	coati_strbuf_fini(&account);
}

static int put_data(struct page *p, struct strbuf *data)
{
	struct json j = json_to(data);
	int r;

	coati_json_object(&j);
	put_head(p, &j);
	r = coati_flame_names(&p->names, &j, p->trees, 2);
	if (r == 0)
		r = match_nodes(p);
	if (r == 0)
		r = put_functions(p, &j);
	if (r == 0)
		put_graphs(p, &j);
	coati_flame_names_fini(&p->names);
	coati_json_end(&j);
	return r;
}

static bool take_tree(struct page *p, int side)
{
	struct report *r = &p->d->sides[side].report;
	struct flame_tree *t = &p->trees[side];

	t->view = r->view;
	t->nodes = coati_report_nodes(r, COATI_TREE_DOWN, NULL, &t->nr);
	t->nr = coati_flame_limit(t->nr);
	p->partner[side] = coati_alloc_array(t->nr + 1, sizeof(uint32_t));
	return t->nodes && p->partner[side];
}

int coati_diff_html(struct diff *d, const char *path)
{
	struct page p = { .d = d };
	struct strbuf data = STRBUF_INIT(512u << 20);
	int ret = EXIT_FAILED;

	coati_diff_say_head(d);
	coati_map_init_strings(&p.functions, (size_t)1 << 22);
	if (take_tree(&p, 0) && take_tree(&p, 1)) {
		if (put_data(&p, &data) < 0)
			data.failed = -ENOMEM;
		ret = coati_flame_write(path, &data);
	}
	coati_map_fini(&p.functions);
	coati_free(p.partner[0]);
	coati_free(p.partner[1]);
	coati_strbuf_fini(&data);
	return ret;
}
