/* SPDX-License-Identifier: MIT */
/*
 * Exports read back and added up: a reader for each format that shares nothing with its writer and
 * only sums weights. For `coati export --check` and the tests; the library has the writers alone.
 */
#pragma once

#include <stddef.h>

#include <coati/format.h>

#include "format/export.h"
#include "readback/tally.h"

/* Read what was written from the start of @fd by a reader that shares nothing with the writer
 * (perfdata: as any recording is read), and compare: the whole, each thread, each function, and how
 * many live events of each sort. -EBADMSG: the first difference, in words. */
int coati_export_check(struct coati_export *x, int fd, struct coati_error *err);

/* How a format is read. */
struct readback {
	/* Add up what is in a file, whose bytes come inflated. -EBADMSG: it is none of this format,
	 * or contradicts itself. */
	int (*read)(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
	/* The same from the descriptor, where bytes in memory are not the way. One of both. */
	int (*read_fd)(const struct coati_export_opts *opts, int fd, struct tally *t,
		       struct coati_error *err);
};

/* NULL: there is no such format. */
const struct readback *coati_readback_get(enum coati_format format);
/* Add up what is in a view, with names as the format writes them. */
int coati_readback_add_up(const struct format *f, struct coati_profile *p, struct coati_view *v,
			  struct tally *t);

int coati_chrome_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
int coati_firefox_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
int coati_folded_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
int coati_json_export_read(const void *bytes, size_t size, struct tally *t,
			   struct coati_error *err);
int coati_otlp_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
int coati_perfdata_read(const struct coati_export_opts *opts, int fd, struct tally *t,
			struct coati_error *err);
int coati_perfetto_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
int coati_pprof_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
int coati_speedscope_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
