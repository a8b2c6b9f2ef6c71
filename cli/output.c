/* SPDX-License-Identifier: MIT */
/* Gathered writing with checked results, and the color rules. */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parse.h"
#include "cli/command.h"
#include "cli/talk.h"

#define OUTPUT_MAX (UINT64_C(1) << 30)

const char *const coati_color_words[] = { "auto", "always", "never", NULL };

static bool env_set(const char *name)
{
	const char *v = getenv(name);

	return v && *v;
}

/* no-color.org and CLICOLOR_FORCE; a wish on the command line wins over both. */
static bool want_color(int choice, int fd)
{
	const char *term = getenv("TERM"), *force = getenv("CLICOLOR_FORCE");

	if (choice != COLOR_AUTO)
		return choice == COLOR_ALWAYS;
	if (env_set("NO_COLOR"))
		return false;
	if (force && *force && strcmp(force, "0"))
		return true;
	return term && *term && strcmp(term, "dumb") && isatty(fd);
}

void coati_output_init_fd(struct output *out, int fd, const char *name, int color)
{
	*out = (struct output){
		.text = STRBUF_INIT(OUTPUT_MAX),
		.fd = fd,
		.name = name,
		.color = want_color(color, fd),
	};
}

void coati_output_init(struct output *out, int color)
{
	coati_output_init_fd(out, STDOUT_FILENO, "standard output", color);
}

int coati_output_open(struct output *out, const char *path, int color, struct coati_error *err)
{
	struct new_file file;
	int r;

	if (!strcmp(path, "-")) {
		coati_output_init(out, color);
		return 0;
	}
	r = coati_new_file_open(&file, path, 0600, err);
	if (r < 0)
		return r;
	coati_output_init_fd(out, file.fd, path, color);
	out->file = file;
	out->owned = true;
	return 0;
}

int coati_output_open_now(struct output *out, const char *path, int color, struct coati_error *err)
{
	int fd;

	if (!strcmp(path, "-")) {
		coati_output_init(out, color);
		return 0;
	}
	if (coati_is_link_of_another(path))
		return coati_fail(err, -EPERM,
				  "refusing to follow the link %s of another user: remove it, or "
				  "choose another file with -o",
				  path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
	if (fd < 0)
		return coati_fail(err, -errno, "cannot write %s: %m", path);
	coati_output_init_fd(out, fd, path, color);
	out->file.fd = fd;
	out->owned = true;
	return 0;
}

static void output_fail(struct output *out, int code)
{
	struct coati_error err;

	if (out->failed)
		return;
	out->failed = true;
	coati_fail(&err, code, "cannot write to %s: %m", out->name);
	coati_say("%s", err.text);
}

bool coati_output_flush(struct output *out)
{
	int r = out->text.failed;

	out->any = out->any || out->text.len;
	if (!r && !out->failed && out->text.len)
		r = coati_write_all(out->fd, out->text.text, out->text.len);
	if (r < 0)
		output_fail(out, r);
	coati_strbuf_clear(&out->text);
	return !out->failed;
}

static int end(struct output *out, bool is_wanted)
{
	struct coati_error err;

	coati_output_flush(out);
	if (out->owned && coati_new_file_end(&out->file, !out->failed && is_wanted, &err) < 0)
		output_fail(out, err.code);
	coati_strbuf_fini(&out->text);
	out->fd = -1;
	out->owned = false;
	return out->failed ? EXIT_FAILED : EXIT_DONE;
}

int coati_output_end(struct output *out)
{
	return end(out, true);
}

int coati_output_end_with(struct output *out, int code)
{
	int ended = end(out, code == EXIT_DONE || out->any || out->text.len);

	return code != EXIT_DONE ? code : ended;
}

const char *coati_output_style(const struct output *out, enum output_style style)
{
	static const char *const escapes[] = {
		[STYLE_PLAIN] = "\033[0m",  [STYLE_BOLD] = "\033[1m",	 [STYLE_DIM] = "\033[2m",
		[STYLE_GREEN] = "\033[32m", [STYLE_YELLOW] = "\033[33m", [STYLE_RED] = "\033[31m",
	};

	return out->color ? escapes[style] : "";
}

uint32_t coati_output_width(const struct output *out)
{
	const char *columns = getenv("COLUMNS");
	struct winsize w = { 0 };
	uint64_t n;

	if (!isatty(out->fd))
		return 0;
	if (ioctl(out->fd, TIOCGWINSZ, &w) == 0 && w.ws_col)
		return w.ws_col;
	return columns && coati_parse_u64(columns, 1, 4096, &n) == 0 ? (uint32_t)n : 80;
}

/* Bytes of @text that go on a line of @width columns: up to the last blank that does, or all of a
 * word that does not. */
static size_t line_bytes(const char *text, size_t width)
{
	size_t at = strspn(text, " "), columns = at, blank = 0;

	for (; text[at]; at++) {
		if (text[at] == ' ' && columns <= width)
			blank = at;
		columns += ((unsigned char)text[at] & 0xc0) != 0x80; /* characters of UTF-8 */
		if (columns > width && blank)
			return blank;
	}
	return at;
}

void coati_output_put_lines(struct strbuf *s, const char *text, size_t width, size_t indent)
{
	bool is_remark = !strncmp(text, "# ", 2);
	size_t used = is_remark ? 2 : 0, n;

	text += used;
	coati_strbuf_adds(s, is_remark ? "# " : "");
	for (;;) {
		n = line_bytes(text, width - used);
		coati_strbuf_add(s, text, n);
		coati_strbuf_addc(s, '\n');
		text += n + (text[n] == ' ');
		if (!*text)
			return;
		used = is_remark ? 2 : indent;
		coati_strbuf_adds(s, is_remark ? "# " : "");
		coati_strbuf_pad(s, ' ', is_remark ? 0 : indent);
	}
}

void coati_output_wrap(struct output *out, size_t from, size_t indent)
{
	size_t width = coati_output_width(out);
	char *copy, *line, *end;

	if (width <= indent + 2 || out->text.failed ||
	    !(copy = coati_strdup(out->text.text + from)))
		return; /* it is as it is */
	out->text.len = from;
	for (line = copy; (end = strchr(line, '\n')); line = end + 1) {
		*end = 0;
		coati_output_put_lines(&out->text, line, width, indent);
	}
	coati_free(copy);
}

/* A spreadsheet takes what begins so for a formula: the apostrophe makes it text. */
static bool is_like_formula(const char *text)
{
	return *text && strchr("=+-@\t", *text);
}

void coati_output_csv(struct strbuf *s, const char *text)
{
	bool quote = is_like_formula(text);

	if (!quote && !strpbrk(text, ",\"\r\n")) {
		coati_strbuf_adds(s, text);
		return;
	}
	coati_strbuf_adds(s, quote ? "\"'" : "\"");
	for (; *text; text++) {
		if (*text == '"')
			coati_strbuf_addc(s, '"');
		coati_strbuf_addc(s, *text);
	}
	coati_strbuf_addc(s, '"');
}
