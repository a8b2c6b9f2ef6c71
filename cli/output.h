/* SPDX-License-Identifier: MIT */
/*
 * Where the data of a verb goes: stdout, stderr or a file. Text is gathered and written in few
 * large writes; a write that fails is noticed, said, and becomes the exit code. Color is decided
 * here, once.
 */
#pragma once

#include <stdbool.h>

#include <coati/error.h>

#include "base/newfile.h"
#include "base/strbuf.h"

enum color_choice { COLOR_AUTO = 0, COLOR_ALWAYS, COLOR_NEVER };
/* The words for OPT_CHOICE, in the order of the enum. */
extern const char *const coati_color_words[];

struct output {
	struct strbuf text; /* what is to be written next */
	int fd;
	const char *name;     /* for messages */
	bool owned;	      /* fd is ours to close */
	bool any;	      /* something was written */
	struct new_file file; /* when it gets its name at the end */
	bool color;	      /* escapes may be used */
	bool failed;	      /* a write failed, and it was said */
};

/* To stdout. @color is an enum color_choice. */
void coati_output_init(struct output *out, int color);
/* To @fd, which stays the caller's; @name is for messages. */
void coati_output_init_fd(struct output *out, int fd, const char *name, int color);
/* To the file @path, which gets what is written when all of it is; "-" is stdout. Only its owner
 * can read it: names, addresses and samples of programs are in it. */
int coati_output_open(struct output *out, const char *path, int color, struct coati_error *err);
/* To the file @path, made empty now, so that others can follow what is added: counts of
 * intervals. */
int coati_output_open_now(struct output *out, const char *path, int color, struct coati_error *err);
/* Write what is there. False when that failed, now or before. */
bool coati_output_flush(struct output *out);
/* Write, close, free: EXIT_DONE or EXIT_FAILED. A failure was said on stderr. */
int coati_output_end(struct output *out);
/* The same after what was to be shown has ended with @code: when that failed before anything was
 * written, a file stays as it was. Returns @code, or EXIT_FAILED. */
int coati_output_end_with(struct output *out, int code);

/* The columns of the terminal that it goes to; 0: it goes to none. */
uint32_t coati_output_width(const struct output *out);
/* The lines from the byte @from of the text on are broken between words where the terminal ends.
 * Remarks, which begin with "# ", go on as such, others behind @indent blanks. */
/* One line without its newline, as lines of at most @width columns: broken at blanks, all but the
 * first indented; a word that is longer stays whole. */
void coati_output_put_lines(struct strbuf *s, const char *text, size_t width, size_t indent);
void coati_output_wrap(struct output *out, size_t from, size_t indent);

/* One field of comma-separated values (RFC 4180): quoted when it must be, with an apostrophe in
 * front of what a spreadsheet would take for a formula. */
void coati_output_csv(struct strbuf *s, const char *text);

/* Escapes for bold, dim, green, yellow and red; "" without color. */
enum output_style { STYLE_PLAIN = 0, STYLE_BOLD, STYLE_DIM, STYLE_GREEN, STYLE_YELLOW, STYLE_RED };
const char *coati_output_style(const struct output *out, enum output_style style);
