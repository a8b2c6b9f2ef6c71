/* SPDX-License-Identifier: MIT */
/*
 * The pages below /debug/pprof/ and their index. One table has them all: what is not in it is not served. They read /proc and ask the
 * dynamic linker; nobody is stopped for it.
 */
#include "live/serve-pages.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"

#define TEXT "text/plain; charset=utf-8"

struct visit {
	const struct http_request *request;
	const char *body;
	const struct serve_counts *counts;
};

typedef void (*page_fn)(const struct visit *visit, struct serve_answer *ret);

struct page {
	const char *path;
	const char *link; /* in the index, as one would ask for it */
	const char *what;
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

static void show_cmdline(const struct visit *visit, struct serve_answer *ret)
{
	int r = coati_file_read(AT_FDCWD, "/proc/self/cmdline", &ret->body);

	if (r < 0)
		coati_serve_say(ret, 500, "/proc/self/cmdline cannot be read");
}

/* pprof asks for some addresses, each with a plus sign between; one line for each that has a name. */
static void show_symbol(const struct visit *visit, struct serve_answer *ret)
{
	const char *at = *visit->body ? visit->body : visit->request->query;
	char word[24];
	uint64_t address;
	size_t size;
	Dl_info info;

	coati_strbuf_adds(&ret->body, "num_symbols: 1\n"); /* any number but 0: names are here */
	for (; *at; at += size + (at[size] != 0)) {
		size = strcspn(at, "+ \r\n");
		if (!size || size >= sizeof(word))
			continue;
		memcpy(word, at, size);
		word[size] = 0;
		if (coati_parse_u64(word, 1, UINT64_MAX, &address) < 0 ||
		    !dladdr((const void *)(uintptr_t)address, &info) || !info.dli_sname)
			continue;
		coati_strbuf_printf(&ret->body, "%s\t%s\n", word, info.dli_sname);
	}
}

static void show_thread(int task, const char *tid, bool more, struct strbuf *s)
{
	CLEANUP(coati_strbuf_fini) struct strbuf stat = STRBUF_INIT(4096);
	char path[64], name[64] = "?", wchan[128] = "";
	const char *state;
	uint64_t cpu;

	snprintf(path, sizeof(path), "%s/stat", tid);
	if (coati_file_read(task, path, &stat) < 0 || !(state = strrchr(stat.text, ')')) ||
	    strlen(state) < 3)
		return; /* it ended meanwhile */
	cpu = (coati_stat_field(stat.text, 14) + coati_stat_field(stat.text, 15)) * 100 /
	      (uint64_t)sysconf(_SC_CLK_TCK);
	snprintf(path, sizeof(path), "%s/comm", tid);
	(void)coati_file_read_line(task, path, name, sizeof(name));
	coati_strbuf_printf(s, "thread %s \"%s\" [%c] cpu %" PRIu64 ".%02u s", tid, name, state[2],
			    cpu / 100, (unsigned int)(cpu % 100));
	snprintf(path, sizeof(path), "%s/wchan", tid);
	if (more && coati_file_read_line(task, path, wchan, sizeof(wchan)) == 0 && wchan[0] &&
	    strcmp(wchan, "0") != 0)
		coati_strbuf_printf(s, " in %s", wchan);
	coati_strbuf_addc(s, '\n');
}

static void show_threads(const struct visit *visit, struct serve_answer *ret)
{
	uint32_t debug = 0, nr = 0;
	struct dirent *entry;
	DIR *tasks;
	int r = coati_http_query_u32(visit->request->query, "debug", 2, &debug);

	if ((r < 0 && r != -ENOENT) || debug == 0) {
		coati_serve_say(
			ret, 400,
			"threads are shown as text: ask for threads?debug=1, or debug=2 for more");
		return;
	}
	tasks = opendir("/proc/self/task");
	if (!tasks) {
		coati_serve_say(ret, 500, "/proc/self/task cannot be read");
		return;
	}
	while ((entry = readdir(tasks))) {
		if (entry->d_name[0] == '.')
			continue;
		nr++;
		show_thread(dirfd(tasks), entry->d_name, debug == 2, &ret->body);
	}
	closedir(tasks);
	coati_strbuf_printf(&ret->body, "%u threads\n", nr);
}

static void show_profile(const struct visit *visit, struct serve_answer *ret)
{
	coati_serve_profile(visit->request, ret);
}

static void show_metrics(const struct visit *visit, struct serve_answer *ret)
{
	coati_serve_metrics(visit->request, visit->counts, ret);
}

static void show_index(const struct visit *visit, struct serve_answer *ret);

static const struct page pages[] = {
	{ "/debug/pprof/", "/debug/pprof/", "this page", show_index, false },
	{ "/debug/pprof/cmdline", "/debug/pprof/cmdline",
	  "the command line, words ended by zero bytes", show_cmdline, false },
	{ "/debug/pprof/profile", "/debug/pprof/profile?seconds=30",
	  "a CPU profile of so many seconds, for pprof", show_profile, false },
	{ "/debug/pprof/symbol", "/debug/pprof/symbol", "names of addresses, for pprof",
	  show_symbol, true },
	{ "/debug/pprof/threads", "/debug/pprof/threads?debug=2", "the threads and what they do",
	  show_threads, false },
	{ "/metrics", "/metrics", "numbers for Prometheus", show_metrics, false },
};

static void show_index(const struct visit *visit, struct serve_answer *ret)
{
	ret->type = "text/html; charset=utf-8";
	coati_strbuf_adds(
		&ret->body,
		"<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>/debug/pprof/</title></head>\n"
		"<body><h1>/debug/pprof/</h1>\n<table>\n");
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++)
		coati_strbuf_printf(&ret->body,
				    "<tr><td><a href=\"%s\">%s</a></td><td>%s</td></tr>\n",
				    pages[i].link, pages[i].link, pages[i].what);
	coati_strbuf_adds(&ret->body, "</table></body></html>\n");
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
	struct visit visit = { request, body, counts };

	ret->status = 200;
	ret->type = TEXT;
	ret->extra = "";
	if (!page && !strcmp(request->path, "/debug/pprof")) {
		ret->extra = "Location: /debug/pprof/\r\n";
		coati_serve_say(ret, 301, "see /debug/pprof/");
	} else if (!page) {
		coati_serve_say(ret, 404, "no such page; /debug/pprof/ lists those that there are");
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
