/* SPDX-License-Identifier: MIT */
/* see report/html.h */
#include "cli/report/html.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/flame.h"
#include "cli/quality.h"
#include "cli/report/tree.h"
#include "cli/talk.h"

static void put_data(struct report *r, struct strbuf *data, const struct coati_tree_node *nodes,
		     size_t nr)
{
	struct flame_tree tree = { .view = r->view, .nodes = nodes, .nr = nr };
	struct strbuf title = STRBUF_INIT(4096);
	struct flame_names names;
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
	if (coati_flame_names(&names, &j, &tree, 1) < 0)
		data->failed = -ENOMEM;
	coati_flame_nodes(&names, &j, &tree, NULL, NULL);
	coati_flame_names_fini(&names);
	coati_json_end(&j);
	coati_strbuf_fini(&title);
}

int coati_report_html(struct report *r, const char *path)
{
	struct strbuf data = STRBUF_INIT(512u << 20);
	const struct coati_tree_node *nodes;
	size_t nr;
	int ret;

	r->out.color = false;
	nodes = coati_report_nodes(r, COATI_TREE_DOWN, NULL, &nr);
	if (!nodes)
		return EXIT_FAILED;
	put_data(r, &data, nodes, coati_flame_limit(nr));
	ret = coati_flame_write(path, &data);
	coati_strbuf_fini(&data);
	return ret;
}
