/* SPDX-License-Identifier: MIT */
/* see input.h */
#include "cli/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/trace.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"
#include "cli/quality.h"
#include "cli/talk.h"
#include "cli/twins.h"
#include "fleet/place.h"
#include "reading/contexts.h"
#include "reading/hooks.h"

#define MAGIC	      "PERFILE2"
#define EXPORT_SUFFIX ".perf.data"
#define PROGRESS      "COATI_PROGRESS" /* milliseconds */
#define PROGRESS_FROM 500	       /* shorter waits need no word */

/* ---- which recording ---- */

/* Another user may have put a file under a name that we look for into a directory that others can
 * write to: what was not named is read only when it is ours or root's, and so is a link to it. */
static bool is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

/* @ret_st is that of the file, unless the name is a link of another user. */
static bool is_recording(int dir, const char *name, struct stat *ret_st)
{
	char magic[sizeof(MAGIC) - 1];
	struct stat link;
	CLEANUP(fd_closep) int fd = -1;

	if (fstatat(dir, name, &link, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstatat(dir, name, ret_st, 0) < 0 || !S_ISREG(ret_st->st_mode))
		return false;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, ret_st) < 0 || !S_ISREG(ret_st->st_mode))
		return false;
	if (!is_ours(&link))
		*ret_st = link;
	return read(fd, magic, sizeof(magic)) == (ssize_t)sizeof(magic) &&
	       !memcmp(magic, MAGIC, sizeof(magic));
}

static bool is_newer(const struct stat *a, const struct stat *b)
{
	if (a->st_mtim.tv_sec != b->st_mtim.tv_sec)
		return a->st_mtim.tv_sec > b->st_mtim.tv_sec;
	return a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

/* A copy that coati export made under the name that it gives: who asks for the newest means what
 * was recorded. */
static bool is_export(const char *name)
{
	size_t len = strlen(name), suffix = strlen(EXPORT_SUFFIX);

	return len > suffix && !strcmp(name + len - suffix, EXPORT_SUFFIX);
}

/* Why a recording that lies here is not what was asked for. */
struct passed_over {
	char name[256];
	uid_t owner;
};

/* The newest recording of this directory whose name says that it is one: coati.data, perf.data,
 * x.data, coati.data.2. */
static bool find_newest(char *ret, size_t size, struct passed_over *ret_other)
{
	DIR *d = opendir(".");
	struct stat best = { 0 }, st;
	struct dirent *e;
	bool found = false;

	while (d && (e = readdir(d))) {
		if (!strstr(e->d_name, ".data") || is_export(e->d_name) ||
		    strlen(e->d_name) >= size || !is_recording(dirfd(d), e->d_name, &st))
			continue;
		if (!is_ours(&st)) {
			snprintf(ret_other->name, sizeof(ret_other->name), "%s", e->d_name);
			ret_other->owner = st.st_uid;
			continue;
		}
		if (found && !is_newer(&st, &best))
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

/* A name as it may be shown on a terminal: any user may have named a file in this directory. */
static const char *printable(const char *path, char *buf, size_t size)
{
	struct strbuf s = STRBUF_INIT(64u * 1024);

	coati_report_fit(&s, path, size / 4); /* a character has four bytes at most */
	snprintf(buf, size, "%s", s.text);
	coati_strbuf_fini(&s);
	return buf;
}

/* How long a wait goes without a word, in nanoseconds. What is no number changes nothing. */
static uint64_t patience(void)
{
	const char *text = secure_getenv(PROGRESS);
	uint32_t ms;

	if (!text || coati_parse_u32(text, 0, UINT32_MAX, &ms) < 0)
		ms = PROGRESS_FROM;
	return ms * NSEC_PER_MSEC;
}

void coati_input_progress_begin(struct input_progress *p, const char *path, bool quiet)
{
	p->patience_ns = patience();
	p->started_ns = now_ns();
	p->shows = !quiet && isatty(STDERR_FILENO);
	p->shown = false;
	printable(path, p->path, sizeof(p->path));
}

int coati_input_progress(void *progress, const struct coati_profile_progress *now)
{
	struct input_progress *p = progress;

	if (stopped)
		return 1;
	if (!p->shows || now_ns() - p->started_ns < p->patience_ns)
		return 0;
	p->shown = true;
	if (now->total_bytes)
		fprintf(stderr, "\r%s: %3.0f %% read, %llu samples\033[K", p->path,
			100.0 * (double)now->bytes / (double)now->total_bytes,
			(unsigned long long)now->samples);
	else
		fprintf(stderr, "\r%s: %llu samples\033[K", p->path,
			(unsigned long long)now->samples);
	return 0;
}

void coati_input_progress_end(struct input_progress *p)
{
	if (p->shown)
		fputs("\r\033[K", stderr);
	p->shown = false;
}

static int read_one(const struct input *in, const char *path)
{
	struct input_progress progress;
	struct coati_error err = { 0 };
	const char *shown = progress.path;
	int code;

	coati_input_progress_begin(&progress, path, in->quiet);
	code = in->read(in->ctx, path, coati_input_progress, &progress, &err);
	coati_input_progress_end(&progress);
	if (code == -EINTR) {
		coati_say("interrupted while reading %s: showing what was read so far", shown);
		return 0;
	}
	if (code == -ENOENT && coati_place_is(path))
		coati_say("%s is a database, which report, diff, export, view and top --store read",
			  shown);
	else if (code < 0)
		coati_say("%s", err.text);
	return code;
}

int coati_input_check_default(const char *name, struct coati_error *err)
{
	struct stat link, st;

	if (lstat(name, &link) < 0 || stat(name, &st) < 0)
		return coati_fail(err, -errno, "%s: %m", name);
	if (is_ours(&link) && is_ours(&st) && S_ISREG(st.st_mode))
		return 0;
	if (is_ours(&link) && is_ours(&st))
		return coati_fail(err, -EINVAL,
				  "%s is not a regular file: name it with -i to read it", name);
	return coati_fail(err, -EPERM, "%s belongs to user %u: name it with -i to read it", name,
			  (unsigned int)(is_ours(&link) ? st.st_uid : link.st_uid));
}

bool coati_input_find(const struct input *in, char *ret_name, size_t size)
{
	struct passed_over other = { .name = "" };
	char shown[1024];

	if (in->files->len) {
		snprintf(ret_name, size, "%s", in->files->v[0].text);
		return true;
	}
	if (find_newest(ret_name, size, &other))
		return true;
	if (other.name[0]) {
		coati_say("%s belongs to user %u: name it with -i to read it",
			  printable(other.name, shown, sizeof(shown)), (unsigned int)other.owner);
		return false;
	}
	coati_say("no recording in this directory; make one with coati record %s-- CMD, or name "
		  "one with -i FILE",
		  in->trace ? "--trace " : "");
	return false;
}

static int read_all(const struct input *in, const char *name)
{
	const struct option_texts *files = in->files;
	int code = files->len ? 0 : read_one(in, name);

	for (size_t i = 0; code >= 0 && i < files->len; i++)
		code = read_one(in, files->v[i].text);
	return code;
}

int coati_input_read(const struct input *in, const char *name)
{
	struct sigaction old, act = { .sa_handler = on_interrupt };
	int code;

	sigaction(SIGINT, &act, &old);
	code = read_all(in, name);
	sigaction(SIGINT, &old, NULL);
	return code;
}

bool coati_input_was_stopped(void)
{
	return stopped;
}

void coati_input_title(const struct input *in, const char *name, char *ret, size_t size)
{
	if (in->files->len > 1)
		snprintf(ret, size, "%zu recordings", in->files->len);
	else
		printable(name, ret, size);
}

int coati_input_add_operands(struct option_texts *files, const struct option_line *line)
{
	for (int i = 0; i < line->argc; i++) {
		struct option_text *t = ARRAY_ADD(files);

		if (!t)
			return -1;
		t->text = line->argv[i];
	}
	return 0;
}

int coati_source_expand(struct source_args *a, struct option_texts *files)
{
	bool ranged = a->range.from || a->range.to;
	struct coati_error err = { 0 };
	char shown[1024];
	const char *twin;
	int r = ranged ? coati_store_time(&a->range, a->time_room, &err) : 0;

	if (r == 0 && ranged)
		a->filter.time = a->time_room;
	if (r == 0)
		r = coati_store_expand(files, &a->range, &err);
	if (r < 0)
		coati_say("%s", err.text);
	twin = r < 0 ? NULL : coati_twin_find(files);
	if (twin)
		coati_note("%s is given twice: its samples count twice",
			   printable(twin, shown, sizeof(shown)));
	return r;
}

static bool is_directory(const char *path, size_t len)
{
	CLEANUP(freep) char *copy = coati_strndup(path, len);
	struct stat st;

	return copy && stat(copy, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Of a list with colons. */
static bool are_directories(const char *list)
{
	for (;;) {
		size_t len = strcspn(list, ":");

		if (len && !is_directory(list, len))
			return false;
		if (!list[len])
			return true;
		list += len + 1;
	}
}

const char *coati_source_conflict(const struct source_args *a)
{
	if (a->filter.time && (a->range.from || a->range.to))
		return "--time and --from/--to are two ways to choose a range: use one";
	if (a->no_local && (a->debuginfod || a->root || a->debug_dirs))
		return "--no-local uses only the symbols in the recording and cannot be combined "
		       "with --debuginfod, --root or --debug-dirs";
	if (a->trust && !a->root)
		return "--trust needs --root DIR: it accepts files below DIR that have no build ID";
	if (a->root && !is_directory(a->root, strlen(a->root)))
		return "--root: there is no such directory";
	if (a->debug_dirs && !are_directories(a->debug_dirs))
		return "--debug-dirs: one of these directories is not there";
	return NULL;
}

struct coati_images_opts coati_source_images(const struct source_args *a)
{
	return (struct coati_images_opts){
		.size = sizeof(struct coati_images_opts),
		.root = a->root,
		.debug_dirs = a->debug_dirs,
		.nr_threads = a->threads,
		.flags = (a->debuginfod ? COATI_IMAGES_DEBUGINFOD : 0) |
			 (a->no_local ? COATI_IMAGES_NO_LOCAL : 0) |
			 (a->trust ? COATI_IMAGES_TRUST : 0) |
			 (a->mangled ? COATI_IMAGES_MANGLED : 0),
	};
}

int coati_source_contexts(const struct source_args *a, bool wanted, struct coati_contexts **ret,
			  const struct coati_context_source **ret_source, struct coati_error *err)
{
	const struct coati_filter *f = &a->filter;
	int r = coati_contexts_new(ret, err);

	if (r < 0)
		return r;
	*ret_source = wanted || f->task || f->region || f->label ? coati_contexts_source(*ret)
								 : coati_contexts_samples(*ret);
	return 0;
}
