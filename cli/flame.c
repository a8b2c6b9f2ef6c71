/* SPDX-License-Identifier: MIT */
/* see flame.h */
#include "cli/flame.h"

#include <errno.h>
#include <string.h>

#include "cli/command.h"
#include "cli/page-file.h"
#include "cli/talk.h"
/* made from viewer/flame.html */
#include "page/columns.h"

#define NAMES_MAX (1u << 22)

static const char *image_of(const struct flame_tree *t, size_t node)
{
	uint32_t frame = t->nodes[node].frame;

	return frame == UINT32_MAX ? "" : coati_view_frame(t->view, frame)->image;
}

/* One list of strings, those of all trees. */
static int put_strings(struct map *m, struct json *j, const struct flame_tree *trees,
		       size_t nr_trees, bool images)
{
	int r = 0;

	coati_json_key(j, images ? "images" : "names");
	coati_json_array(j);
	for (size_t t = 0; t < nr_trees; t++)
		for (size_t i = 0; i < trees[t].nr && r >= 0; i++) {
			const char *name = images ? image_of(&trees[t], i) : trees[t].nodes[i].name;
			uint64_t number;

			if (coati_map_get_str(m, name, &number))
				continue;
			r = coati_map_put_str(m, name, m->len);
			coati_json_str(j, name);
		}
	coati_json_end(j);
	return r < 0 ? -ENOMEM : 0;
}

int coati_flame_names(struct flame_names *n, struct json *j, const struct flame_tree *trees,
		      size_t nr_trees)
{
	int r;

	coati_map_init_strings(&n->names, NAMES_MAX);
	coati_map_init_strings(&n->images, NAMES_MAX);
	r = put_strings(&n->names, j, trees, nr_trees, false);
	if (r == 0)
		r = put_strings(&n->images, j, trees, nr_trees, true);
	return r;
}

void coati_flame_names_fini(struct flame_names *n)
{
	coati_map_fini(&n->names);
	coati_map_fini(&n->images);
}

uint64_t coati_flame_name(const struct flame_names *n, const char *name)
{
	uint64_t number = 0;

	coati_map_get_str(&n->names, name, &number);
	return number;
}

uint64_t coati_flame_image(const struct flame_names *n, const struct flame_tree *t, size_t node)
{
	uint64_t number = 0;

	coati_map_get_str(&n->images, image_of(t, node), &number);
	return number;
}

static bool is_kernel(const struct flame_tree *t, size_t node)
{
	uint32_t frame = t->nodes[node].frame;

	return frame != UINT32_MAX &&
	       coati_view_frame(t->view, frame)->location_flags & COATI_LOCATION_KERNEL;
}

void coati_flame_nodes(const struct flame_names *n, struct json *j, const struct flame_tree *t,
		       flame_more_fn more, void *ctx)
{
	coati_json_key(j, "nodes");
	coati_json_array(j);
	for (size_t i = 0; i < t->nr; i++) {
		const struct coati_tree_node *node = &t->nodes[i];

		coati_json_array(j);
		coati_json_i64(j, node->parent == UINT32_MAX ? -1 : (int64_t)node->parent);
		coati_json_u64(j, coati_flame_name(n, node->name));
		coati_json_u64(j, coati_flame_image(n, t, i));
		coati_json_u64(j, node->self);
		coati_json_u64(j, node->total);
		coati_json_u64(j, is_kernel(t, i));
		if (more)
			more(ctx, j, i);
		coati_json_end(j);
	}
	coati_json_end(j);
}

size_t coati_flame_limit(size_t nr)
{
	if (nr <= FLAME_NODES_MAX)
		return nr;
	coati_note("the page shows the first %d of %zu frames; --focus and --show-from narrow it "
		   "down",
		   FLAME_NODES_MAX, nr);
	return FLAME_NODES_MAX;
}

int coati_flame_write(const char *path, const struct strbuf *data)
{
	struct strbuf bytes = STRBUF_INIT(PAGE_DATA_MAX);
	struct columns columns = { 0 };
	struct column *json = coati_columns_add(&columns, "diff", COLUMN_JSON);
	int ret = EXIT_FAILED;

	coati_strbuf_add(&json->bytes, data->text, data->len);
	if (data->failed || coati_columns_join(&columns, &bytes) < 0)
		coati_say("out of memory for the page");
	else
		ret = coati_page_file_write(path, &bytes);
	coati_columns_fini(&columns);
	coati_strbuf_fini(&bytes);
	if (ret == EXIT_DONE && strcmp(path, "-") != 0)
		coati_note("%s: open it in a browser", path);
	return ret;
}
