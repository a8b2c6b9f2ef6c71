/* SPDX-License-Identifier: MIT */
/* see view/args.h: the recording becomes a page, and a server on loopback gives it out. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/page-file.h"
#include "page/page.h"
#include "cli/report/html.h"
#include "cli/stop.h"
#include "cli/talk.h"
#include "cli/view/args.h"
#include "cli/view/pages.h"

#define PERFETTO_PORT 9001 /* the only one of this machine that ui.perfetto.dev may ask */

extern char **environ;

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

/* Only where there is a screen; what the browser says is not for this terminal. */
static bool open_browser(const char *address)
{
	const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
	char *argv[] = { "xdg-open", (char *)(uintptr_t)address, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int r;

	if ((!display || !*display) && (!wayland || !*wayland))
		return false;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	r = posix_spawnp(&pid, "xdg-open", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return r == 0;
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

static int serve(struct view_pages *v)
{
	char where[32], address[512];
	struct serve_place place = { .fd = -1 };
	struct coati_error err = { 0 };
	struct output out;
	uint32_t port = v->args->perfetto && !v->args->port ? PERFETTO_PORT : v->args->port;

	snprintf(where, sizeof(where), "127.0.0.1:%u", port);
	if (coati_serve_listen(where, false, &place, &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	put_address(v, place.port, address, sizeof(address));
	coati_stop_catch();
	coati_output_init(&out, COLOR_NEVER);
	coati_strbuf_printf(&out.text, "%s\n", address);
	if (coati_output_end(&out) != EXIT_DONE) {
		coati_serve_unlisten(&place);
		return EXIT_FAILED;
	}
	if (!v->args->no_open && !open_browser(address))
		coati_note("open this address in a browser; Ctrl-C ends the server");
	say_ssh(place.port);
	coati_view_serve(&place, coati_view_answer, v);
	coati_serve_unlisten(&place);
	return EXIT_DONE;
}

int coati_view_session(const struct view_args *args)
{
	const struct report_args report = {
		.inputs = args->inputs,
		.of = args->of,
		.mode = args->mode,
		.quiet = args->quiet,
		/* it answers requests for sources, assembly and exports as long as it runs */
		.no_sandbox = true,
		.assembly = true
	};
	struct view_pages v = { .args = args, .html = STRBUF_INIT(PAGE_DATA_MAX) };
	int code = coati_report_page(&report, &v.page);

	if (code == EXIT_DONE)
		code = make_html(&v);
	if (code == EXIT_DONE &&
	    (coati_view_token(v.token) < 0 ||
	     ((args->firefox || args->perfetto) && coati_view_token(v.once) < 0))) {
		coati_say("no random numbers for the address");
		code = EXIT_FAILED;
	}
	if (code == EXIT_DONE)
		code = serve(&v);
	coati_page_free(&v.page);
	coati_strbuf_fini(&v.html);
	return code;
}
