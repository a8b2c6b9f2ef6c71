/* SPDX-License-Identifier: MIT */
/* see view/pages.h */
#include "cli/view/pages.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <coati/format.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "format/export.h"
#include "cli/database.h"
#include "page/page.h"
#include "cli/report/args.h"
#include "cli/report/source.h"

int coati_view_token(char ret[VIEW_TOKEN_BYTES])
{
	uint8_t bytes[(VIEW_TOKEN_BYTES - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* In the same time whatever is wrong with @path, which is long enough. */
static bool is_token(const char *token, const char *path)
{
	uint8_t differs = *token == '\0';

	for (size_t i = 0; i < VIEW_TOKEN_BYTES - 1; i++)
		differs |= (uint8_t)(token[i] ^ path[i]);
	return !differs;
}

/* What follows "/TOKEN/" in a path; NULL: it is another token. */
static const char *below(const char *path, const char *token)
{
	if (path[0] != '/' || strlen(path) < VIEW_TOKEN_BYTES + 1 || !is_token(token, path + 1) ||
	    path[VIEW_TOKEN_BYTES] != '/')
		return NULL;
	return path + VIEW_TOKEN_BYTES + 1;
}

/* ---- answers ---- */

static void give_source(const struct view_pages *v, const char *query, struct http_answer *a)
{
	uint32_t text;
	int r;

	if (coati_http_query_u32(query, "file", UINT32_MAX, &text) < 0) {
		coati_http_say(a, 400, "source needs file=NUMBER");
		return;
	}
	a->type = "text/plain; charset=utf-8";
	r = coati_page_source(v->page, text, &a->body);
	if (r == -ENOENT)
		coati_http_say(a, 404, "This file is not here.");
	else if (r < 0)
		coati_http_say(a, 404, "This file cannot be read here.");
}

/* All that was written to a descriptor. */
static int take_file(int fd, struct strbuf *ret)
{
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : coati_file_read_fd(fd, ret);
}

static void give_assembly(const struct view_pages *v, const char *query, struct http_answer *a)
{
	CLEANUP(fd_closep) int fd = memfd_create("assembly", MFD_CLOEXEC);
	struct report_args args = { .verbose = true };
	struct report r = { .args = &args,
			    .profile = v->page->profile,
			    .view = v->page->views[PAGE_ON],
			    .mode = MODE_ON,
			    .input = "the recording" };
	size_t nr = v->page->names.functions.len;
	uint32_t function;
	int code;

	if (fd < 0 || !nr || coati_http_query_u32(query, "fn", (uint32_t)nr - 1, &function) < 0) {
		coati_http_say(a, 400, "assembly needs fn=NUMBER");
		return;
	}
	r.info.size = sizeof(r.info);
	coati_view_info(r.view, &r.info);
	coati_output_init_fd(&r.out, fd, "memory", COLOR_NEVER);
	code = coati_report_source(
		&r, v->page->names.texts.v[v->page->names.functions.v[function].name]);
	coati_output_end(&r.out);
	a->type = "text/plain; charset=utf-8";
	if (code != 0 || take_file(fd, &a->body) < 0)
		coati_http_say(a, 404, "There is no assembly of this function here.");
}

static int write_export(const struct view_pages *v, enum coati_format format, int fd,
			struct coati_error *err)
{
	const struct view_args *args = v->args;
	struct coati_images_opts images = coati_source_images(&args->of);
	struct coati_export_opts o = {
		.size = sizeof(o), .format = format, .filter = &args->of.filter, .images = &images
	};
	struct coati_export *x = NULL;
	int r = coati_export_new(&o, &x, err);

	for (size_t i = 0; r == 0 && i < args->inputs.len; i++) {
		const char *text = args->inputs.v[i].text;

		r = coati_database_read(text, coati_export_profile(x), err);
		r = r == -ENOENT ? coati_export_read(x, text, NULL, NULL, err) : r;
	}
	if (r == 0 && !args->inputs.len)
		r = coati_export_read(x, v->page->path, NULL, NULL, err);
	if (r == 0)
		r = coati_export_write(x, fd, err);
	coati_export_free(&x);
	return r;
}

static bool give_export(const struct view_pages *v, const char *name, struct http_answer *a)
{
	CLEANUP(fd_closep) int fd = memfd_create("export", MFD_CLOEXEC);
	struct coati_error err = { 0 };
	enum coati_format format;

	if (coati_format_parse(name, &format, &err) < 0) {
		coati_http_say(a, 404, err.text);
		return false;
	}
	if (fd < 0 || write_export(v, format, fd, &err) < 0 || take_file(fd, &a->body) < 0) {
		coati_http_say(a, 500, err.text[0] ? err.text : "the export failed");
		return false;
	}
	a->type = "application/octet-stream";
	snprintf(a->extra, sizeof(a->extra),
		 "Content-Disposition: attachment; filename=\"coati%s\"\r\n",
		 coati_format_suffix(format));
	return true;
}

static void give(const struct view_pages *v, const char *what, const char *query,
		 struct http_answer *a)
{
	char format[32];

	if (!*what)
		coati_strbuf_add(&a->body, v->html.text, v->html.len);
	else if (!strcmp(what, "source"))
		give_source(v, query, a);
	else if (!strcmp(what, "assembly"))
		give_assembly(v, query, a);
	else if (!strcmp(what, "export") &&
		 coati_http_query_text(query, "format", format, sizeof(format)) == 0)
		give_export(v, format, a);
	else
		coati_http_say(a, 404, "there is no such page");
}

/* One file for one origin, once: a second look, or another page, gets nothing. */
static void give_once(struct view_pages *v, const struct http_asked *q, struct http_answer *a)
{
	char allow[256], origin[VIEW_ORIGIN_BYTES];

	coati_view_origin(q, origin);
	if (strcmp(origin, v->once_origin) != 0 || v->once_given) {
		coati_http_say(a, 403, "this link is not valid, or was used already");
		return;
	}
	snprintf(allow, sizeof(allow),
		 "Access-Control-Allow-Origin: %s\r\n"
		 "Access-Control-Allow-Private-Network: true\r\n",
		 v->once_origin);
	if (coati_view_is_preflight(q)) {
		coati_http_say(a, 200, "yes");
	} else if (q->http.method == HTTP_GET) {
		v->once_given = give_export(v, v->once_format, a);
	} else {
		coati_http_say(a, 405, "only GET");
		return;
	}
	snprintf(a->extra, sizeof(a->extra), "%s", allow);
}

void coati_view_answer(void *ctx, const struct http_asked *q, struct http_answer *a)
{
	struct view_pages *v = ctx;
	const char *what = below(q->http.path, v->token);

	if (below(q->http.path, v->once))
		give_once(v, q, a);
	else if (q->http.is_cross_site)
		coati_http_say(a, 403, "requests from pages of other sites are refused");
	else if (!what)
		coati_http_say(a, 404,
			       "no such page: use the whole address that coati view printed");
	else if (q->http.method != HTTP_GET && q->http.method != HTTP_HEAD)
		coati_http_say(a, 405, "only GET");
	else
		give(v, what, q->http.query, a);
}
