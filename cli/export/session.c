/* SPDX-License-Identifier: MIT */
/* see export/session.h */
#include "cli/export/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/format.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/newfile.h"
#include "base/strbuf.h"
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/database.h"
#include "cli/quality.h"
#include "cli/report/figures.h"
#include "cli/talk.h"
#include "format/export.h"
#include "readback/readback.h"

#define TERMINAL_MOST (64u << 20) /* bytes of text that are shown on one */

struct exporting {
	const struct export_args *args;
	enum coati_format format;
	struct coati_export *x;
	struct input in;
	char name[4096];      /* of the first recording */
	char output[4096];    /* of the file; "-": stdout */
	struct new_file file; /* what is written first, so that a file is whole or as it was */
	int fd;
	bool is_whole; /* all of it was written, right or wrong */
};

/* ---- where to ---- */

static int choose_format(struct exporting *e)
{
	const struct export_args *a = e->args;
	struct coati_error err = { 0 };

	if (a->format) {
		if (coati_format_parse(a->format, &e->format, &err) < 0)
			return coati_command_misuse(&coati_command_export, "--format: %s",
						    err.text);
		return 0;
	}
	e->format = coati_format_guess(a->output);
	if (e->format)
		return 0;
	return coati_command_misuse(
		&coati_command_export,
		"%s: unknown file name suffix; give the format with --format (-f)", a->output);
}

/* x/coati.data becomes coati.pb.gz, here. */
static void name_output(struct exporting *e)
{
	const char *slash = strrchr(e->name, '/'), *base = slash && slash[1] ? slash + 1 : e->name;
	const char *suffix = coati_format_suffix(e->format);
	size_t len = strlen(base), suffix_len = strlen(suffix);

	if (e->args->output) {
		snprintf(e->output, sizeof(e->output), "%s", e->args->output);
		return;
	}
	if (!strcmp(base, "-") || slash == base)
		base = "coati", len = 5;
	else if (len > 5 && !strcmp(base + len - 5, ".data"))
		len -= 5;
	if (e->args->plain && suffix_len > 3 && !strcmp(suffix + suffix_len - 3, ".gz"))
		suffix_len -= 3;
	snprintf(e->output, sizeof(e->output), "%.*s%.*s", (int)len, base, (int)suffix_len, suffix);
}

/* Is it @path, or does it lie in it? A recording may be a directory. */
static bool is_same(const char *path, const struct stat *out, const struct stat *folder)
{
	struct stat st;
	int r = strcmp(path, "-") ? stat(path, &st) : fstat(STDIN_FILENO, &st);

	return r == 0 && ((st.st_dev == out->st_dev && st.st_ino == out->st_ino) ||
			  (st.st_dev == folder->st_dev && st.st_ino == folder->st_ino));
}

/* Is the file that is to be written one of those that were read, or a part of one? */
static bool is_input(const struct exporting *e, const struct stat *out)
{
	const struct option_texts *in = e->in.files;
	char folder[sizeof(e->output)];
	struct stat st = { 0 };
	char *slash;

	snprintf(folder, sizeof(folder), "%s", e->output);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = 0;
	(void)stat(slash ? folder : ".", &st);
	for (size_t i = 0; i < in->len; i++)
		if (is_same(in->v[i].text, out, &st))
			return true;
	return !in->len && is_same(e->name, out, &st);
}

/* Only a file can be read back; what is something else (a pipe, a device) is only written to. */
static int open_output(struct exporting *e, struct coati_error *err)
{
	struct stat st = { 0 };
	bool exists;
	int r;

	if (!strcmp(e->output, "-")) {
		e->fd = STDOUT_FILENO;
		return 0;
	}
	exists = stat(e->output, &st) == 0;
	if (is_input(e, &st))
		return coati_fail(
			err, -EINVAL,
			"%s is the recording itself, or a part of it: choose another file with -o",
			e->output);
	if (exists && !S_ISREG(st.st_mode) && e->args->check)
		return coati_fail(err, -EINVAL, "--check cannot read %s back: not a regular file",
				  e->output);
	/* what comes out of a recording is as private as one */
	r = coati_new_file_open(&e->file, e->output,
				e->args->output ? 0600 : 0600 | NEW_FILE_NOT_TYPED, err);
	e->fd = e->file.fd;
	return r;
}

/* Half a file is none. */
static int close_output(struct exporting *e, int code)
{
	struct coati_error err;

	if (e->fd == STDOUT_FILENO || e->fd < 0 ||
	    coati_new_file_end(&e->file, e->is_whole, &err) == 0)
		return code;
	coati_say("cannot finish the output: %s", err.text);
	return EXIT_FAILED;
}

/* ---- what to say ---- */

static void say_remarks(const struct exporting *e)
{
	struct coati_export_summary s;
	struct strbuf line = STRBUF_INIT(8192);
	char title[1024];
	const char *note;

	coati_export_summary(e->x, &s);
	if (e->fd != STDOUT_FILENO) {
		coati_report_fit(&line, e->output, 1000);
		coati_strbuf_adds(&line, " from ");
		coati_input_title(&e->in, e->name, title, sizeof(title));
		coati_strbuf_adds(&line, title);
		coati_strbuf_adds(&line, ": ");
	}
	coati_strbuf_grouped(&line, s.samples);
	coati_strbuf_adds(&line, s.samples == 1 ? " sample" : " samples");
	if (!strcmp(s.unit, "ns")) {
		coati_strbuf_adds(&line, " (");
		coati_format_duration(&line, s.weight);
		coati_strbuf_adds(&line, ")");
	}
	coati_strbuf_adds(&line, " in ");
	coati_strbuf_grouped(&line, s.bytes);
	coati_strbuf_printf(&line, " bytes of %s; %s", coati_format_name(e->format), s.account);
	coati_note("%s", line.text);
	for (uint32_t i = 0; (note = coati_export_note(e->x, i)); i++) {
		coati_strbuf_clear(&line);
		coati_report_fit(&line, note, 1000);
		coati_note("%s", line.text);
	}
	coati_strbuf_fini(&line);
}

/* ---- the steps ---- */

static int make_export(struct exporting *e, struct coati_error *err)
{
	const struct export_args *a = e->args;
	struct coati_images_opts images = coati_source_images(&a->of);
	static const uint32_t modes[] = { 0, COATI_EXPORT_ON_CPU, COATI_EXPORT_OFF_CPU,
					  COATI_EXPORT_ON_CPU | COATI_EXPORT_OFF_CPU };
	struct coati_export_opts o = {
		.size = sizeof(o),
		.format = e->format,
		.flags = (a->of.no_inline ? COATI_EXPORT_NO_INLINES : 0) |
			 (a->counts ? COATI_EXPORT_COUNTS : 0) | modes[a->mode] |
			 (a->plain ? COATI_EXPORT_PLAIN : 0),
		.filter = &a->of.filter,
		.images = &images,
		.comment = a->comment,
		.nameless_bytes = a->of.split_nameless,
	};

	return coati_export_new(&o, &e->x, err);
}

static int read_export(void *ctx, const char *path, coati_progress_fn fn, void *fn_ctx,
		       struct coati_error *err)
{
	const struct exporting *e = ctx;
	int r = coati_database_read(path, coati_export_profile(e->x), err);

	return r == -ENOENT ? coati_export_read(e->x, path, fn, fn_ctx, err) : r;
}

/* Names may have escapes in them, which a terminal would obey: there they are shown. */
static int show_text(struct exporting *e, struct coati_error *err)
{
	struct strbuf text = STRBUF_INIT(TERMINAL_MOST), line = STRBUF_INIT(2 * TERMINAL_MOST);
	CLEANUP(fd_closep) int fd = memfd_create("export", MFD_CLOEXEC);
	int r = fd < 0 ? coati_fail(err, -errno, "cannot allocate memory for the output: %m")
		       : coati_export_write(e->x, fd, err);

	if (r == 0 && (lseek(fd, 0, SEEK_SET) < 0 || coati_file_read_fd(fd, &text) < 0))
		r = coati_fail(err, -E2BIG,
			       "the output is too large for a terminal; write a file "
			       "with -o");
	for (const char *at = text.text; r == 0 && at && *at;) {
		size_t len = strcspn(at, "\n");

		coati_strbuf_clean(&line, at, len);
		coati_strbuf_addc(&line, '\n');
		at += len + (at[len] == '\n');
	}
	if (r == 0)
		r = line.failed ? line.failed : coati_write_all(e->fd, line.text, line.len);
	coati_strbuf_fini(&text);
	coati_strbuf_fini(&line);
	return r;
}

static int write_bytes(struct exporting *e, struct coati_error *err)
{
	if (e->format == COATI_FORMAT_FOLDED && isatty(e->fd))
		return show_text(e, err);
	return coati_export_write(e->x, e->fd, err);
}

/* After the writing, which needs the names. */
static int judge(const struct exporting *e)
{
	char title[1024];
	const struct judgment j = { &e->args->fail_if, e->args->strict, title };

	coati_input_title(&e->in, e->name, title, sizeof(title));
	return coati_report_judge(coati_export_profile(e->x), &j);
}

static int write_and_check(struct exporting *e)
{
	struct coati_error err = { 0 };

	if (open_output(e, &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	if (write_bytes(e, &err) < 0) {
		/* a filter that cannot be understood has nothing to do with the file */
		if (err.code == -EINVAL) {
			coati_say("%s", err.text);
			return EXIT_USAGE;
		}
		coati_say("%s: %s", e->fd == STDOUT_FILENO ? "standard output" : e->output,
			  err.text);
		return EXIT_FAILED;
	}
	e->is_whole = true;
	say_remarks(e);
	if (!e->args->check)
		return EXIT_DONE;
	if (coati_export_check(e->x, e->fd, &err) < 0) {
		coati_say("%s does not match the recording: %s", e->output, err.text);
		return EXIT_FAILED;
	}
	coati_note("checked: %s has the weight of every thread and function", e->output);
	return EXIT_DONE;
}

/* What is in databases, while there is a network. */
static bool fetch(const struct exporting *e)
{
	const struct source_args *of = &e->args->of;
	const struct database_query q = { .from = of->range.from,
					  .to = of->range.to,
					  .service = of->service,
					  .with_contexts = true };

	return coati_database_fetch(&e->args->inputs, &q) == 0;
}

static bool confine(const struct exporting *e)
{
	return coati_confinement_enter(&(struct confinement){ .is_off = e->args->no_sandbox,
							      .with_names = true,
							      .files = &e->args->inputs,
							      .input = e->name,
							      .output = e->output,
							      .of = &e->args->of });
}

int coati_export_session(const struct export_args *args)
{
	struct exporting e = { .args = args, .fd = -1 };
	struct coati_error err = { 0 };
	int ret = choose_format(&e);

	if (ret)
		return ret;
	if (args->output && !strcmp(args->output, "-") && coati_format_is_binary(e.format) &&
	    isatty(STDOUT_FILENO))
		return coati_command_misuse(
			&coati_command_export,
			"%s is binary and is not written to a terminal; use -o FILE or a pipe",
			coati_format_name(e.format));
	if (e.format == COATI_FORMAT_PERFDATA && args->inputs.len > 1)
		return coati_command_misuse(&coati_command_export,
					    "perfdata holds one recording: export them one by one");
	if (make_export(&e, &err) < 0) {
		coati_say("%s", err.text);
		return err.code == -EINVAL || err.code == -EOPNOTSUPP ? EXIT_USAGE : EXIT_FAILED;
	}
	e.in = (struct input){
		.files = &args->inputs, .quiet = args->quiet, .read = read_export, .ctx = &e
	};
	ret = coati_input_find(&e.in, e.name, sizeof(e.name)) ? EXIT_DONE : EXIT_FAILED;
	name_output(&e);
	if (ret == EXIT_DONE && (!fetch(&e) || !confine(&e) || coati_input_read(&e.in, e.name) < 0))
		ret = EXIT_FAILED;
	if (ret == EXIT_DONE)
		ret = close_output(&e, write_and_check(&e));
	if (ret == EXIT_DONE)
		ret = judge(&e);
	coati_export_free(&e.x);
	return ret;
}
