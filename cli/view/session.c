/* SPDX-License-Identifier: MIT */
/* see view/args.h: the recording becomes a page, and a server on loopback gives it out. Socket and
 * browser are made ready first: the process that reads the recording is confined. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/page-file.h"
#include "page/page.h"
#include "cli/report/figures.h"
#include "cli/report/html.h"
#include "cli/stop.h"
#include "cli/talk.h"
#include "cli/view/args.h"
#include "cli/view/browser.h"
#include "cli/view/pages.h"

#define PERFETTO_PORT 9001 /* the only one of this machine that ui.perfetto.dev may ask */

struct viewing {
	struct view_pages pages;
	struct serve_place place;
	struct browser browser;
	char address[512];
};

static int make_html(struct view_pages *v)
{
	struct strbuf data = STRBUF_INIT(PAGE_DATA_MAX);
	struct coati_error err = { 0 };
	const char *note;
	int r = coati_page_data(v->page, &data, &err);

	if (r == 0)
		r = coati_page_html(&data, true, &v->html, &err);
	coati_strbuf_fini(&data);
	if (r < 0) {
		coati_say("%s", err.text);
		return err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	for (uint32_t i = 0; (note = coati_page_note(v->page, i)); i++)
		coati_note("%s", note);
	return EXIT_DONE;
}

/* Where the person looks, and what else a page of another site may fetch. */
static void put_address(struct view_pages *v, uint16_t port, char *ret, size_t size)
{
	static const char firefox[] = "https://profiler.firefox.com";
	static const char perfetto[] = "https://ui.perfetto.dev";

	if (v->args->firefox) {
		v->once_origin = firefox;
		v->once_format = "firefox";
		snprintf(ret, size, "%s/from-url/http%%3A%%2F%%2F127.0.0.1%%3A%u%%2F%s%%2Fprofile",
			 firefox, port, v->once);
	} else if (v->args->perfetto) {
		v->once_origin = perfetto;
		v->once_format = "perfetto";
		snprintf(ret, size, "%s/#!/?url=http://127.0.0.1:%u/%s/trace", perfetto, port,
			 v->once);
	} else {
		snprintf(ret, size, "http://127.0.0.1:%u/%s/", port, v->token);
	}
}

/* "CLIENT PORT SERVER PORT": how the person came here, and can forward a port. */
static void say_ssh(uint16_t port)
{
	const char *at = getenv("SSH_CONNECTION"), *user = getenv("USER");
	size_t len = 0;

	for (int word = 0; at && word < 3; word++) {
		at += len + strspn(at + len, " ");
		len = strcspn(at, " ");
	}
	if (!at || !len || len > 63 || strspn(at, "0123456789abcdefABCDEF.:%") < len)
		return;
	if (!user || user[strspn(user, "abcdefghijklmnopqrstuvwxyz0123456789._-")])
		user = "";
	coati_note("on your machine: ssh -N -L %u:127.0.0.1:%u %s%s%.*s", port, port, user,
		   *user ? "@" : "", (int)len, at);
}

static int listen_at(const struct view_args *a, struct serve_place *ret)
{
	uint32_t port = a->perfetto && !a->port ? PERFETTO_PORT : a->port;
	struct coati_error err = { 0 };
	char where[32];

	snprintf(where, sizeof(where), "127.0.0.1:%u", port);
	if (coati_serve_listen(where, false, ret, &err) == 0)
		return EXIT_DONE;
	coati_say("%s", err.text);
	return EXIT_FAILED;
}

/* What a confined process cannot do: the socket, and who starts the browser. */
static int prepare(struct viewing *w)
{
	struct view_pages *v = &w->pages;

	if (coati_view_token(v->token) < 0 ||
	    ((v->args->firefox || v->args->perfetto) && coati_view_token(v->once) < 0)) {
		coati_say("cannot get random numbers for the secret part of the address");
		return EXIT_FAILED;
	}
	if (listen_at(v->args, &w->place) != EXIT_DONE)
		return EXIT_FAILED;
	put_address(v, w->place.port, w->address, sizeof(w->address));
	if (!v->args->no_open)
		coati_browser_prepare(&w->browser, w->address);
	return EXIT_DONE;
}

static int read_page(struct viewing *w)
{
	const struct view_args *args = w->pages.args;
	const struct report_args report = { .inputs = args->inputs,
					    .of = args->of,
					    .mode = args->mode,
					    .quiet = args->quiet,
					    .no_sandbox = args->no_sandbox,
					    .serves = true,
					    .serve_fd = w->place.fd,
					    .pipe_fd = w->browser.fd };
	const struct option_texts none = { 0 };
	int code = coati_report_page(&report, &w->pages.page);

	return code != EXIT_DONE ? code
				 : coati_report_judge(coati_page_profile(w->pages.page),
						      &(struct judgment){ &none, args->strict,
									  w->pages.page->path });
}

static int serve(struct viewing *w)
{
	struct output out;

	coati_stop_catch();
	coati_output_init(&out, COLOR_NEVER);
	coati_strbuf_printf(&out.text, "%s\n", w->address);
	if (coati_output_end(&out) != EXIT_DONE)
		return EXIT_FAILED;
	if (!coati_browser_open(&w->browser) && !w->pages.args->no_open)
		coati_note("open this address in a browser; Ctrl-C ends the server");
	say_ssh(w->place.port);
	coati_view_serve(&w->place, coati_view_answer, &w->pages);
	return EXIT_DONE;
}

int coati_view_session(const struct view_args *args)
{
	struct viewing w = { .pages = { .args = args, .html = STRBUF_INIT(PAGE_DATA_MAX) },
			     .place.fd = -1 };
	int code = prepare(&w);

	if (code == EXIT_DONE)
		code = read_page(&w);
	if (code == EXIT_DONE)
		code = make_html(&w.pages);
	if (code == EXIT_DONE)
		code = serve(&w);
	coati_browser_end(&w.browser);
	if (w.place.fd >= 0)
		coati_serve_unlisten(&w.place);
	coati_page_free(&w.pages.page);
	coati_strbuf_fini(&w.pages.html);
	return code;
}
