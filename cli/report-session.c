/* SPDX-License-Identifier: MIT */
/* see report-session.h */
#include "report-session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "command.h"
#include "report-html.h"
#include "report-quality.h"
#include "report-source.h"
#include "report-table.h"
#include "report-tree.h"
#include "talk.h"

#define MAGIC	      "PERFILE2"
#define PROGRESS_FROM (NSEC_PER_SEC / 2) /* shorter waits need no word */
#define TREE_LEAST    0.5

/* ---- which recording ---- */

static bool is_recording(int dir, const char *name, struct stat *st)
{
	char magic[sizeof(MAGIC) - 1];
	CLEANUP(fd_closep) int fd = -1;

	if (fstatat(dir, name, st, 0) < 0 || !S_ISREG(st->st_mode))
		return false;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
	       !memcmp(magic, MAGIC, sizeof(magic));
}

static bool is_newer(const struct stat *a, const struct stat *b)
{
	if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
		return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
	return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

/* The newest recording of this folder whose name says that it is one: coati.data, perf.data, x.data, coati.data.2. */
static bool find_newest(char *ret, size_t size)
{
	DIR *d = opendir(".");
	struct stat best = { 0 }, st;
	struct dirent *e;
	bool found = false;

	while (d && (e = readdir(d))) {
		if (!strstr(e->d_name, ".data") || strlen(e->d_name) >= size ||
		    !is_recording(dirfd(d), e->d_name, &st) || (found && !is_newer(&st, &best)))
			continue;
		snprintf(ret, size, "%s", e->d_name);
		best = st;
		found = true;
	}
	if (d)
		closedir(d);
	return found;
}

/* ---- reading ---- */

static volatile sig_atomic_t stopped;

static void on_interrupt(int sig)
{
	stopped = sig;
}

struct reading {
	const char *path;
	uint64_t started_ns;
	bool shows, shown;
};

static int on_progress(void *ctx, const struct coati_profile_progress *p)
{
	struct reading *rd = ctx;

	if (stopped)
		return 1;
	if (!rd->shows || now_ns() - rd->started_ns < PROGRESS_FROM)
		return 0;
	rd->shown = true;
	if (p->total_bytes)
		fprintf(stderr, "\r%s: %3.0f %% read, %llu samples\033[K", rd->path,
			100.0 * (double)p->bytes / (double)p->total_bytes,
			(unsigned long long)p->samples);
	else
		fprintf(stderr, "\r%s: %llu samples\033[K", rd->path,
			(unsigned long long)p->samples);
	return 0;
}

/* A name as it may be shown on a terminal: anybody may have named a file in this folder. */
static const char *printable(const char *path, char *buf, size_t size)
{
	struct strbuf s = STRBUF_INIT(64u * 1024);

	coati_report_fit(&s, path, size / 4); /* a character has four bytes at most */
	snprintf(buf, size, "%s", s.text);
	coati_strbuf_fini(&s);
	return buf;
}

static int read_one(struct report *r, const char *path)
{
	char shown[1024];
	struct reading rd = {
		.path = printable(path, shown, sizeof(shown)),
		.started_ns = now_ns(),
		.shows = !r->args->quiet && isatty(STDERR_FILENO),
	};
	struct coati_error err = { 0 };
	int code = coati_profile_read(r->profile, path, on_progress, &rd, &err);

	if (rd.shown)
		fputs("\r\033[K", stderr);
	if (code == -EINTR) {
		coati_say("stopped while reading %s: this is what was read", shown);
		return 0;
	}
	if (code < 0)
		coati_say("%s", err.text);
	return code;
}

/* @newest gets what is to be shown for a name: of the file, or how many there are. */
static int read_all(struct report *r, char *newest, size_t size)
{
	const struct option_texts *in = &r->args->inputs;
	int code = 0;

	if (!in->len) {
		if (!find_newest(newest, size)) {
			coati_say(
				"no recording in this folder; make one: coati record -- CMD, or name "
				"one: -i FILE");
			return -ENOENT;
		}
		code = read_one(r, newest);
		printable(newest, newest, size);
		return code;
	}
	for (size_t i = 0; code >= 0 && i < in->len; i++)
		code = read_one(r, in->v[i].text);
	if (in->len > 1)
		snprintf(newest, size, "%zu recordings", in->len);
	else
		printable(in->v[0].text, newest, size);
	return code;
}

/* ---- the profile ---- */

static int make_profile(struct report *r, struct coati_error *err)
{
	const struct report_args *a = r->args;
	struct coati_images_opts images = {
		.size = sizeof(images),
		.root = a->root,
		.debug_dirs = a->debug_dirs,
		.flags = (a->debuginfod ? COATI_IMAGES_DEBUGINFOD : 0) |
			 (a->no_local ? COATI_IMAGES_NO_LOCAL : 0) |
			 (a->mangled ? COATI_IMAGES_MANGLED : 0),
	};
	struct coati_profile_opts o = {
		.size = sizeof(o),
		.flags = r->by == COATI_BY_CPU || a->filter.cpu ? COATI_PROFILE_PER_CPU : 0,
		.images = &images,
		.filter = &a->filter,
	};

	return coati_profile_new(&o, &r->profile, err);
}

/* What was left out while reading needs no second look. */
static int make_view(struct report *r, struct coati_error *err)
{
	const struct report_args *a = r->args;
	struct coati_filter filter = a->filter;
	struct coati_view_opts o = { .size = sizeof(o), .filter = &filter };

	filter.time = NULL;
	if (a->no_inline)
		o.flags |= COATI_VIEW_NO_INLINES;
	if (r->by == COATI_BY_LINE || a->source)
		o.flags |= COATI_VIEW_LINES;
	if (a->counts)
		o.flags |= COATI_VIEW_COUNTS;
	return coati_view_new(r->profile, &o, &r->view, err);
}

static int show(struct report *r)
{
	const struct report_args *a = r->args;

	if (a->html)
		return coati_report_html(r, a->html);
	if (a->source)
		return coati_report_source(r, a->source);
	if (a->flame)
		return coati_report_flame(r);
	if (a->callers)
		return coati_report_tree(r, COATI_TREE_UP, a->callers);
	if (a->callees)
		return coati_report_tree(r, COATI_TREE_DOWN, a->callees);
	if (a->tree)
		return coati_report_tree(r, COATI_TREE_DOWN, NULL);
	return coati_report_table(r);
}

static int show_view(struct report *r)
{
	struct coati_error err = { 0 };
	int shown, ended;

	if (make_view(r, &err) < 0) {
		coati_say("%s", err.text);
		return err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	coati_view_info(r->view, &r->info);
	if (coati_output_open(&r->out, r->args->output ? r->args->output : "-", r->args->color,
			      &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	shown = show(r);
	ended = coati_output_end(&r->out);
	return shown != EXIT_DONE ? shown : ended;
}

/* "0.5", "0.5%". */
static int parse_percent(const char *text, double *ret)
{
	size_t len = strlen(text);
	char number[32];

	if (len && text[len - 1] == '%')
		len--;
	if (!len || len >= sizeof(number))
		return -EINVAL;
	memcpy(number, text, len);
	number[len] = '\0';
	return coati_parse_double(number, ret) < 0 || *ret < 0 || *ret > 100 ? -EINVAL : 0;
}

static int parse_words(struct report *r)
{
	const struct report_args *a = r->args;
	struct coati_error err = { 0 };

	if (coati_by_parse(a->by ? a->by : "function", &r->by, &r->label, &err) < 0)
		return coati_command_misuse(&coati_command_report, "--by: %s", err.text);
	r->min_percent = TREE_LEAST;
	if (a->min && parse_percent(a->min, &r->min_percent) < 0)
		return coati_command_misuse(&coati_command_report,
					    "--min %s: wants a share from 0 to 100 percent",
					    a->min);
	return 0;
}

int coati_report_session(const struct report_args *args)
{
	char newest[4096] = "";
	struct report r = { .args = args, .input = newest };
	struct sigaction old, act = { .sa_handler = on_interrupt };
	struct coati_error err = { 0 };
	int ret = parse_words(&r);

	if (ret)
		return ret;
	sigaction(SIGINT, &act, &old);
	if (make_profile(&r, &err) < 0) {
		coati_say("%s", err.text);
		ret = err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	} else {
		ret = read_all(&r, newest, sizeof(newest)) < 0 ? EXIT_FAILED : EXIT_DONE;
	}
	sigaction(SIGINT, &old, NULL);
	if (ret == EXIT_DONE)
		ret = show_view(&r);
	coati_view_free(&r.view);
	coati_profile_free(&r.profile);
	return ret;
}
