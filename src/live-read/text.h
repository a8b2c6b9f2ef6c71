/* SPDX-License-Identifier: MIT */
/*
 * Live batches as text, in both directions: for tests, which write traces as no program would, and
 * for people who want to see every byte. A line has a kind and name=value pairs:
 *
 *	batch kind=sites pid=7
 *	- site id=1 kind=1 line=12 name="parse" file="a.c"
 *	batch tid=8 base=1000			of kind events; what is left out is as in the batch
 *						before, seq goes on
 *	1000 region_begin site=1		times in units of the clock, `+5` since the event
 *						before, `-` for none
 *	+50 log site=2 text="got \"it\"\n"
 *	1100 string id=5 full=70000 text="x"*65535
 *	1150 log site=2 text=#5
 *	1200 instant site=3 fd=4 from="lo"	fields by the names that the site gives them
 *	1300 stack id=2 addresses=0x10,0x20
 *	hex 7f0102
 *
 * Heads may lie: magic, version, flags, used, capacity, events, checksum and "told" are what the
 * line says, where it says something. Lines that begin with # are passed over.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/strbuf.h"
#include "live-read/tables.h"

/* In quotes; what is not printable, and the quote itself, as an escape. */
void coati_live_quote(struct strbuf *s, const char *text, size_t size);

/* Non-zero ends the reading, with that. */
typedef int (*live_batch_fn)(void *ctx, const uint8_t *bytes, size_t size);

/* Every batch of @text (terminated), as bytes. -EINVAL with the line and the reason; -E2BIG: a
 * batch does not fit. */
int coati_live_text_read(const char *text, live_batch_fn fn, void *ctx, struct coati_error *err);
/* A batch as lines. @names has the fields of sites, and learns sites on the way. -EBADMSG: damaged
 * from where the text says. */
int coati_live_text_write(const void *bytes, size_t size, struct live_names *names,
			  struct strbuf *out);

/* Inside: the words of a line. */
struct text_pair {
	const char *name, *value; /* terminated */
	size_t value_size;
	bool quoted;
};

#define TEXT_PAIRS_MAX 40
struct text_line {
	const char *time, *kind;
	struct text_pair pairs[TEXT_PAIRS_MAX];
	unsigned int nr_pairs;
	uint64_t used; /* bit for each pair that was asked for */
};

/* Cut the line at *text into words, which are kept in @memory until it is cleared; *text moves
 * behind the line. 1; 0: nothing is in it. -EINVAL. */
int coati_live_text_split(const char **text, struct arena *memory, struct text_line *ret,
			  const char **ret_why);
/* NULL: it is not there. */
const struct text_pair *coati_live_text_get(struct text_line *line, const char *name, size_t len);
