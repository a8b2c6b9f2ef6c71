/* SPDX-License-Identifier: MIT */
/* see profile-views.h */
#include "fuzz/profile-views.h"

#include "fuzz/fuzz.h"
#include "profile/view.h"
#include "profile/walk.h"
#include "reading/profile.h"

/* What lies in no row does not count. */
static void ask_rows(struct coati_view *v, const struct coati_view_info *info)
{
	const struct coati_row *rows;
	size_t nr;

	for (int by = 0; by < COATI_BY_COUNT; by++) {
		struct coati_rows_query q = { .size = sizeof(q),
					      .by = (enum coati_by)by,
					      .label = "cgroup" };
		uint64_t self = 0;

		if (coati_view_rows(v, &q, &rows, &nr, NULL) < 0)
			continue;
		for (size_t i = 0; i < nr; i++) {
			FUZZ_CHECK(rows[i].name && rows[i].self <= rows[i].total);
			add_weight(&self, rows[i].self);
		}
		FUZZ_CHECK(self == info->total);
	}
}

static void ask_trees(struct coati_view *v, const struct coati_view_info *info)
{
	struct coati_tree_query tree = { .size = sizeof(tree) };
	const struct coati_tree_node *nodes;
	size_t nr;

	for (int kind = COATI_TREE_DOWN; kind <= COATI_TREE_UP; kind++) {
		tree.kind = (enum coati_tree_kind)kind;
		FUZZ_CHECK(coati_view_tree(v, &tree, &nodes, &nr, NULL) == 0);
		FUZZ_CHECK(!nr || nodes[0].total == info->total);
	}
}

uint64_t fuzz_ask_profile(struct coati_profile *p)
{
	struct coati_view_info info = { .size = sizeof(info) };
	struct coati_view *v = NULL;
	struct coati_view_entry e;
	uint64_t samples = 0, pos = 0;

	FUZZ_CHECK(coati_view_new(p, NULL, &v, NULL) == 0);
	while (coati_view_next(v, &pos, &e) > 0)
		add_weight(&samples, e.entry->count);
	add_weight(&samples, v->nr_twice);
	add_weight(&samples, v->nr_faults);
	coati_view_info(v, &info);
	ask_rows(v, &info);
	ask_trees(v, &info);
	coati_view_free(&v);
	return samples;
}
