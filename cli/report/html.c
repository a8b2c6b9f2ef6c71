/* SPDX-License-Identifier: MIT */
/* see report/html.h */
#include "cli/report/html.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "cli/command.h"
#include "cli/database.h"
#include "cli/figures.h"
#include "cli/flame.h"
#include "cli/input.h"
#include "cli/page-file.h"
#include "cli/quality.h"
#include "cli/report/figures.h"
#include "cli/report/session.h"
#include "cli/report/tree.h"
#include "cli/talk.h"
#include "fleet/place.h"
#include "page/page.h"

static int read_page(void *ctx, const char *path, coati_progress_fn fn, void *fn_ctx,
		     struct coati_error *err)
{
	struct page *p = ctx;
	int r = coati_database_read(path, coati_page_profile(p), err);

	return r == -ENOENT ? coati_page_read(p, path, fn, fn_ctx, err) : r;
}

/* What is in databases, while there is a network. */
static bool fetch(const struct report_args *a)
{
	const struct database_query q = { .from = a->of.range.from,
					  .to = a->of.range.to,
					  .service = a->of.service,
					  .with_contexts = true,
					  .keep = a->serves };

	return coati_database_fetch(&a->inputs, &q) == 0;
}

static int make_page(const struct report_args *a, struct page **ret)
{
	struct coati_images_opts images = coati_source_images(&a->of);
	struct page_opts o = { .filter = &a->of.filter,
			       .images = &images,
			       .no_inlines = a->of.no_inline,
			       .counts = a->counts,
			       .mode = a->mode == MODE_AUTO ? NULL : coati_report_modes[a->mode],
			       .with_sources = a->sources };
	struct coati_error err = { 0 };

	if (coati_page_new(&o, ret, &err) == 0)
		return EXIT_DONE;
	coati_say("%s", err.text);
	return err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

/* What came from databases. */
static int fill(const struct report_args *a, struct page *p, const char *name)
{
	struct coati_error err = { 0 };
	bool has_database = false;

	for (size_t i = 0; i < a->inputs.len; i++)
		has_database |= coati_place_is(a->inputs.v[i].text);
	if (!has_database || coati_page_fill(p, name, &err) == 0)
		return EXIT_DONE;
	coati_say("%s", err.text);
	return err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

int coati_report_page(const struct report_args *a, struct page **ret)
{
	char name[4096] = "";
	struct page *p = NULL;
	int code = make_page(a, &p);
	struct input in = { .files = &a->inputs, .quiet = a->quiet, .read = read_page, .ctx = p };

	if (code == EXIT_DONE &&
	    !(coati_input_find(&in, name, sizeof(name)) && fetch(a) &&
	      coati_report_confine(a, name) && coati_input_read(&in, name) >= 0))
		code = EXIT_FAILED;
	if (code == EXIT_DONE)
		code = fill(a, p, name);
	if (code == EXIT_DONE)
		*ret = p;
	else
		coati_page_free(&p);
	return code;
}

static int judge(const struct report_args *a, const struct page *p)
{
	const struct judgment j = { &a->fail_if, a->strict, p->path };

	return coati_report_judge(coati_page_profile(p), &j);
}

int coati_report_html(const struct report_args *a)
{
	struct strbuf data = STRBUF_INIT(PAGE_DATA_MAX);
	struct coati_error err = { 0 };
	struct page *p = NULL;
	const char *note;
	int code = coati_report_page(a, &p);

	if (code == EXIT_DONE && coati_page_data(p, &data, &err) < 0) {
		coati_say("%s", err.text);
		code = err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	if (code == EXIT_DONE)
		code = coati_page_file_write(a->html, &data);
	if (code == EXIT_DONE && strcmp(a->html, "-") != 0)
		coati_note("%s: open it in a browser", a->html);
	for (uint32_t i = 0; code == EXIT_DONE && (note = coati_page_note(p, i)); i++)
		coati_note("%s", note);
	if (code == EXIT_DONE)
		code = judge(a, p);
	coati_page_free(&p);
	coati_strbuf_fini(&data);
	return code;
}
