/* SPDX-License-Identifier: MIT */
/*
 * Where an export goes: text is gathered in a strbuf, which JSON and protobuf writers take as it
 * is, and leaves in large pieces, compressed where wanted. Failure is sticky and one look at the
 * end tells.
 *
 *	coati_format_output_init(&out, fd, FORMAT_GZIP, &err);
 *	for each thing: put it behind out.text; format_output_drain(&out);
 *	coati_format_output_end(&out, &err);      also after a failure: frees
 */
#pragma once

#include <stdint.h>

#include <coati/error.h>

#include "base/strbuf.h"

#define FORMAT_OUTPUT_PIECE (256u << 10)

struct deflater;

struct format_output {
	struct strbuf text;
	int fd;
	int failed;	  /* negative errno */
	uint64_t written; /* bytes in the file */
	struct deflater *deflater;
};

/* @gzip: compress. -EOPNOTSUPP: there is no zlib. */
int coati_format_output_init(struct format_output *out, int fd, int gzip, struct coati_error *err);
/* What is there leaves now. */
void coati_format_output_flush(struct format_output *out);
/* The same when it is much. Not inside of a protobuf message that is open.  Hot. */
static inline void format_output_drain(struct format_output *out)
{
	if (out->text.len >= FORMAT_OUTPUT_PIECE)
		coati_format_output_flush(out);
}
/* The rest; what failed, in words. */
int coati_format_output_end(struct format_output *out, struct coati_error *err);
