/* SPDX-License-Identifier: MIT */
/*
 * The pages below /debug/pprof/ and their index. One table has them all: what is not in it is not
 * served. They read /proc and ask the dynamic linker; no thread is stopped for it.
 */
#include "live/serve-pages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"

#define TEXT	    "text/plain; charset=utf-8"
#define PPROF	    "/debug/pprof/"
#define MAX_SECONDS 3600

struct visit {
	const struct http_request *request;
	const char *body;
	const struct serve_counts *counts;
};

typedef void (*page_fn)(const struct visit *visit, struct serve_answer *ret);

/* Texts in line: an address is a relocation. */
struct page {
	char path[24];
	char what[48];
	page_fn fn;
	bool takes_post;
};

void coati_serve_say(struct serve_answer *a, int status, const char *sentence)
{
	coati_strbuf_clear(&a->body);
	a->status = status;
	a->type = TEXT;
	coati_strbuf_adds(&a->body, sentence);
	coati_strbuf_addc(&a->body, '\n');
}

void coati_serve_take(const struct page_job *page, struct serve_answer *a)
{
	if (page->status) {
		coati_serve_say(a, page->status, page->sentence);
		if (page->status == 429)
			a->extra = "Retry-After: 5\r\n";
	} else if (a->body.failed) {
		coati_serve_say(a, 500,
				a->body.failed == -E2BIG ? "the answer is too large"
							 : "no memory for the answer");
	} else if (page->file) {
		a->type = "application/octet-stream";
		a->file = page->file;
	}
}

void coati_serve_head(const struct serve_answer *a, struct strbuf *ret)
{
	coati_strbuf_printf(
		ret,
		"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n%s",
		a->status, coati_http_reason(a->status), a->type, a->body.len, a->extra);
	if (a->file)
		coati_strbuf_printf(ret, "Content-Disposition: attachment; filename=\"%s%s\"\r\n",
				    a->file, strchr(a->file, '.') ? "" : ".pb.gz");
	coati_strbuf_adds(ret, "\r\n");
}

static void show_cmdline(const struct visit *visit, struct serve_answer *ret)
{
	int r = coati_file_read(AT_FDCWD, "/proc/self/cmdline", &ret->body);

	if (r < 0)
		coati_serve_say(ret, 500, "/proc/self/cmdline cannot be read");
}

/* Let a job make it, which takes @text along. */
static void make_later(const struct live_page *page, const char *text, struct serve_answer *ret)
{
	ret->text = coati_strdup(text);
	if (ret->text)
		ret->later = page;
	else
		coati_serve_say(ret, 500, "no memory for the request");
}

static void show_symbol(const struct visit *visit, struct serve_answer *ret)
{
	if (visit->request->method != HTTP_HEAD)
		make_later(&coati_serve_symbol, *visit->body ? visit->body : visit->request->query,
			   ret);
}

static void show_metrics(const struct visit *visit, struct serve_answer *ret)
{
	coati_serve_metrics(visit->request, visit->counts, ret);
}

static void show_index(const struct visit *visit, struct serve_answer *ret);

static const struct page pages[] = {
	{ "/debug/pprof/", "this page", show_index, false },
	{ "/debug/pprof/cmdline", "the command line, words ended by zero bytes", show_cmdline,
	  false },
	{ "/debug/pprof/symbol", "names of addresses, for pprof", show_symbol, true },
	{ "/metrics", "numbers for Prometheus", show_metrics, false },
};

/* ---- pages that take a while ---- */

/* What brings them: a function that the program has not called, or a part that it does not use. */
static const struct {
	char name[16];
	char by[28];
} absent[] = {
	{ "allocs", "coati_heap_start()" },
	{ "block", "coati_locks_start()" },
	{ "heap", "coati_heap_start()" },
	{ "mutex", "coati_locks_start()" },
	{ "threadcreate", "coati_threadcreate_start()" },
	{ "trace", "labels or the tracer" },
};

const struct live_page *coati_serve_later(uint32_t i)
{
	static const struct live_page *const own[] = { &coati_serve_profile, &coati_serve_threads };

	return i < 2 ? own[i] : coati_page_at(i - 2);
}

static const struct live_page *find_later(const char *name)
{
	const struct live_page *page;

	if (!strcmp(name, "goroutine"))
		name = "threads"; /* Go's name for the same */
	for (uint32_t i = 0; (page = coati_serve_later(i)); i++)
		if (!strcmp(page->name, name))
			return page;
	return NULL;
}

static const char *absent_by(const char *name)
{
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		if (!strcmp(absent[i].name, name))
			return absent[i].by;
	return NULL;
}

static void put_hint(struct strbuf *s, const char *by)
{
	coati_strbuf_printf(s, "not available: the program does not use %s", by);
}

static void ask_later(const struct live_page *page, const struct http_request *request,
		      struct serve_answer *ret)
{
	int debug, seconds;

	ret->seconds = page->default_seconds;
	ret->debug = 0;
	seconds = coati_http_query_u32(request->query, "seconds", MAX_SECONDS, &ret->seconds);
	debug = coati_http_query_u32(request->query, "debug", 2, &ret->debug);
	if ((seconds < 0 && seconds != -ENOENT) || (seconds == 0 && !ret->seconds)) {
		coati_serve_say(ret, 400, "seconds is a number from 1 to 3600: ?seconds=30");
	} else if (debug < 0 && debug != -ENOENT) {
		coati_serve_say(ret, 400, "debug is 0, 1 or 2: ?debug=1");
	} else if (request->method != HTTP_GET) {
		ret->extra = "Allow: GET\r\n";
		coati_serve_say(ret, 405, "this page is made with GET");
	} else {
		make_later(page, request->query, ret);
	}
}

/* ---- the index ---- */

static void put_row(struct strbuf *s, const char *link, const char *what)
{
	coati_strbuf_printf(s, "<td><a href=\"%s\">%s</a></td><td>%s</td></tr>\n", link, link,
			    what);
}

static void put_later(struct strbuf *s, const struct live_page *page)
{
	char link[96];

	if (page->count)
		coati_strbuf_printf(s, "<tr><td>%" PRIu64 "</td>", page->count(page));
	else
		coati_strbuf_adds(s, "<tr><td></td>");
	if (page->default_seconds)
		snprintf(link, sizeof(link), "/debug/pprof/%s?seconds=%u", page->name,
			 page->default_seconds);
	else
		snprintf(link, sizeof(link), "/debug/pprof/%s?debug=1", page->name);
	put_row(s, link, page->what);
}

static void show_index(const struct visit *visit, struct serve_answer *ret)
{
	const struct live_page *page;

	ret->type = "text/html; charset=utf-8";
	coati_strbuf_adds(&ret->body, "<!DOCTYPE html>\n<html><head><meta "
				      "charset=\"utf-8\"><title>/debug/pprof/</title></head>\n"
				      "<body><h1>/debug/pprof/</h1>\n<table>\n");
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		coati_strbuf_adds(&ret->body, "<tr><td></td>");
		put_row(&ret->body, pages[i].path, pages[i].what);
	}
	for (uint32_t i = 0; (page = coati_serve_later(i)); i++)
		put_later(&ret->body, page);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		if (!find_later(absent[i].name)) {
			coati_strbuf_printf(&ret->body, "<tr><td></td><td>%s</td><td>",
					    absent[i].name);
			put_hint(&ret->body, absent[i].by);
			coati_strbuf_adds(&ret->body, "</td></tr>\n");
		}
	coati_strbuf_adds(
		&ret->body,
		"</table>\n<p>seconds=N: profile the next N seconds; debug=1: text instead of a "
		"file for pprof</p></body></html>\n");
}

static const struct page *find_page(const char *path)
{
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		if (!strcmp(pages[i].path, path))
			return &pages[i];
	return NULL;
}

void coati_serve_page(const struct http_request *request, const char *body,
		      const struct serve_counts *counts, struct serve_answer *ret)
{
	const struct page *page = find_page(request->path);
	bool is_pprof = !strncmp(request->path, PPROF, strlen(PPROF));
	const char *name = is_pprof ? request->path + strlen(PPROF) : "";
	const struct live_page *later = find_later(name);
	struct visit visit = { request, body, counts };

	ret->status = 200;
	ret->type = TEXT;
	ret->extra = "";
	if (!page && !strcmp(request->path, "/debug/pprof")) {
		ret->extra = "Location: /debug/pprof/\r\n";
		coati_serve_say(ret, 301, "see /debug/pprof/");
	} else if (later) {
		ask_later(later, request, ret);
	} else if (absent_by(name)) {
		ret->status = 404;
		put_hint(&ret->body, absent_by(name));
		coati_strbuf_addc(&ret->body, '\n');
	} else if (!page) {
		coati_serve_say(ret, 404, "no such page; /debug/pprof/ lists all pages");
	} else if (request->method == HTTP_OTHER ||
		   (request->method == HTTP_POST && !page->takes_post)) {
		ret->extra =
			page->takes_post ? "Allow: GET, HEAD, POST\r\n" : "Allow: GET, HEAD\r\n";
		coati_serve_say(ret, 405, "this page is read with GET");
	} else {
		page->fn(&visit, ret);
	}
	if (ret->body.failed)
		coati_serve_say(ret, 500, "no memory for the answer");
}
