/* SPDX-License-Identifier: MIT */
/* Lines on stderr. The one place with state of its own: who speaks, and whether quietly. */
#include "cli/talk.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/file.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "cli/output.h"

#define LINE_MOST (72 * 1024)
#define INDENT	  2 /* of lines after the first */

static const char *talk_verb;
static bool talk_quiet;

void coati_talk_as(const char *verb)
{
	talk_verb = verb;
}

void coati_talk_quietly(bool quiet)
{
	talk_quiet = quiet;
}

/* On a terminal a line is broken between words, as the terminal is wide. */
static void write_line(const struct strbuf *line)
{
	const struct output err = { .fd = STDERR_FILENO };
	size_t width = coati_output_width(&err);
	struct strbuf s = STRBUF_INIT(2 * LINE_MOST);

	if (width > INDENT + 2)
		coati_output_put_lines(&s, line->text, width, INDENT);
	else
		coati_strbuf_printf(&s, "%s\n", line->text);
	/* When stderr cannot be written, there is no other place to report it. */
	(void)coati_write_all(STDERR_FILENO, s.text, s.len);
	coati_strbuf_fini(&s);
}

__attribute__((format(printf, 1, 0))) static void talk_line(const char *fmt, va_list ap)
{
	struct strbuf text = STRBUF_INIT(16 * 1024), s = STRBUF_INIT(LINE_MOST);

	coati_strbuf_printf(&s, "coati%s%s: ", talk_verb ? " " : "", talk_verb ? talk_verb : "");
	coati_strbuf_vprintf(&text, fmt, ap);
	/* names of files and of what is in them are said too */
	coati_strbuf_clean(&s, text.text, text.len);
	coati_strbuf_fini(&text);
	write_line(&s);
	coati_strbuf_fini(&s);
}

void coati_say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	talk_line(fmt, ap);
	va_end(ap);
}

void coati_note(const char *fmt, ...)
{
	va_list ap;

	if (talk_quiet)
		return;
	va_start(ap, fmt);
	talk_line(fmt, ap);
	va_end(ap);
}

bool coati_say_no_event(const char *text, const struct coati_error *err)
{
	int r = err->code;
	char quoted[96];

	if (!text || (r != -EINVAL && r != -ENOENT && r != -ERANGE && r != -E2BIG && r != -EBADMSG))
		return false;
	coati_quote(text, quoted, sizeof(quoted));
	if (err->column)
		coati_say("%s, column %d: %s", quoted, err->column, err->text);
	else
		coati_say("%s: %s", quoted, err->text);
	return true;
}
