/* SPDX-License-Identifier: MIT */
/* see report-html.h */
#include "report-html.h"

#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/map.h"
#include "command.h"
#include "flame-page.h" /* made from viewer/flame.html */
#include "report-quality.h"
#include "report-tree.h"
#include "talk.h"

#define NODES_MAX 200000 /* a page with more is no help to anybody */
#define NAMES_MAX (1u << 22)
#define PLACE	  "@DATA@"

/* Names are written once and numbered. */
struct numbered {
	struct map map;
	uint32_t nr;
};

static uint64_t number_of(struct numbered *n, const char *name)
{
	uint64_t i;

	if (coati_map_get_str(&n->map, name, &i))
		return i;
	return coati_map_put_str(&n->map, name, n->nr) < 0 ? 0 : n->nr++;
}

static const char *image_of(const struct report *r, const struct coati_tree_node *n)
{
	return n->frame == UINT32_MAX ? "" : coati_view_frame(r->view, n->frame)->image;
}

/* The names in the order of their numbers: they were given in the order of the nodes. */
static void put_names(struct report *r, struct json *j, const struct coati_tree_node *nodes,
		      size_t nr, bool images)
{
	struct numbered seen = { 0 };

	coati_map_init_strings(&seen.map, NAMES_MAX);
	coati_json_key(j, images ? "images" : "names");
	coati_json_array(j);
	for (size_t i = 0; i < nr; i++) {
		const char *name = images ? image_of(r, &nodes[i]) : nodes[i].name;
		uint32_t before = seen.nr;

		if (number_of(&seen, name) == before && seen.nr > before)
			coati_json_str(j, name);
	}
	coati_json_end(j);
	coati_map_fini(&seen.map);
}

static bool is_kernel(const struct report *r, const struct coati_tree_node *n)
{
	return n->frame != UINT32_MAX &&
	       coati_view_frame(r->view, n->frame)->location_flags & COATI_LOCATION_KERNEL;
}

static void put_nodes(struct report *r, struct json *j, const struct coati_tree_node *nodes,
		      size_t nr)
{
	struct numbered names = { 0 }, images = { 0 };

	coati_map_init_strings(&names.map, NAMES_MAX);
	coati_map_init_strings(&images.map, NAMES_MAX);
	coati_json_key(j, "nodes");
	coati_json_array(j);
	for (size_t i = 0; i < nr; i++) {
		const struct coati_tree_node *n = &nodes[i];

		coati_json_array(j);
		coati_json_i64(j, n->parent == UINT32_MAX ? -1 : (int64_t)n->parent);
		coati_json_u64(j, number_of(&names, n->name));
		coati_json_u64(j, number_of(&images, image_of(r, n)));
		coati_json_u64(j, n->self);
		coati_json_u64(j, n->total);
		coati_json_u64(j, is_kernel(r, n));
		coati_json_end(j);
	}
	coati_json_end(j);
	coati_map_fini(&names.map);
	coati_map_fini(&images.map);
}

/* "<" would end the script element or begin a comment in it; in JSON it can be written otherwise. */
static void add_escaped(struct output *to, const struct strbuf *json)
{
	for (size_t i = 0; i < json->len; i++) {
		if (json->text[i] == '<')
			coati_strbuf_adds(&to->text, "\\u003c");
		else
			coati_strbuf_addc(&to->text, json->text[i]);
		if (to->text.len > 60000)
			coati_output_flush(to);
	}
}

static void put_data(struct report *r, struct strbuf *data, const struct coati_tree_node *nodes,
		     size_t nr)
{
	struct strbuf title = STRBUF_INIT(4096);
	const char *line;
	struct json j = json_to(data);

	coati_strbuf_printf(&title, "%s: where the time goes", r->input);
	coati_json_object(&j);
	coati_json_kstr(&j, "schema", "coati.report.flame.v1");
	coati_json_kstr(&j, "title", title.text);
	coati_report_quality_text(r);
	line = r->out.text.text;
	line += strspn(line, "# "); /* the mark of a comment */
	coati_json_key(&j, "quality");
	coati_json_strn(&j, line, strcspn(line, "\n"));
	coati_strbuf_clear(&r->out.text);
	coati_json_kstr(&j, "unit", r->info.unit);
	put_names(r, &j, nodes, nr, false);
	put_names(r, &j, nodes, nr, true);
	put_nodes(r, &j, nodes, nr);
	coati_json_end(&j);
	coati_strbuf_fini(&title);
}

/* A parent comes before its children: what is left out at the end is missed by nothing in front of it. */
static size_t nodes_to_show(size_t nr)
{
	if (nr <= NODES_MAX)
		return nr;
	coati_note("the page shows the first %d of %zu frames: --focus and --show-from choose",
		   NODES_MAX, nr);
	return NODES_MAX;
}

int coati_report_html(struct report *r, const char *path)
{
	const char *page = coati_flame_page, *place = strstr(page, PLACE);
	struct strbuf data = STRBUF_INIT(512u << 20);
	const struct coati_tree_node *nodes;
	struct coati_error err = { 0 };
	struct output to;
	size_t nr;
	int ret;

	r->out.color = false;
	nodes = coati_report_nodes(r, COATI_TREE_DOWN, NULL, &nr);
	if (!nodes || !place)
		return EXIT_FAILED;
	put_data(r, &data, nodes, nodes_to_show(nr));
	if (data.failed || coati_output_open(&to, path, COLOR_NEVER, &err) < 0) {
		coati_say("%s", data.failed ? "out of memory for the page" : err.text);
		coati_strbuf_fini(&data);
		return EXIT_FAILED;
	}
	coati_strbuf_add(&to.text, page, (size_t)(place - page));
	add_escaped(&to, &data);
	coati_strbuf_adds(&to.text, place + strlen(PLACE));
	coati_strbuf_fini(&data);
	ret = coati_output_end(&to);
	if (ret == EXIT_DONE && strcmp(path, "-") != 0)
		coati_note("%s: open it in a browser", path);
	return ret;
}
