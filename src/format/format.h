/* SPDX-License-Identifier: MIT */
/*
 * What a format is: one file here with a writer (src/readback has a reader for each, to check what
 * was written). All that a writer needs is in struct format_input; what it cannot hold it says with
 * coati_format_note().
 *
 * To add one: a file that defines "const struct format coati_format_NAME", its line in format.c and
 * meson.build, and its reader.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/format.h>

#include "base/array.h"
#include "format/output.h"
#include "reading/hooks.h"

/* struct format.flags */
#define FORMAT_BINARY	(UINT32_C(1) << 0) /* nothing for a terminal */
#define FORMAT_GZIP	(UINT32_C(1) << 1) /* compressed, unless that was not wanted */
#define FORMAT_TIMELINE (UINT32_C(1) << 2) /* wants every sample with its time */
#define FORMAT_LINES	(UINT32_C(1) << 3) /* wants source files and lines of frames */
#define FORMAT_RECORDS	(UINT32_C(1) << 4) /* copies records: wants to know which samples are in */
#define FORMAT_NO_WORDS (UINT32_C(1) << 5) /* has no room for a comment */
#define FORMAT_LIVE	(UINT32_C(1) << 6) /* with TIMELINE: wants live events, too */

#define FORMAT_SCHED	 (UINT32_C(1) << 7) /* with LIVE: context switches and wakeups, too */
#define FORMAT_BY_THREAD (UINT32_C(1) << 8) /* with LIVE: its events thread by thread */

struct live;

struct format_notes {
	ARRAY(char *) v;
};

struct format_input {
	struct coati_profile *profile;
	struct coati_view *view;
	struct coati_view_info info;
	struct coati_profile_quality quality;
	/* TIMELINE: every sample that is in the view, by time, and what the recording says that it
	 * lacks. coati_view_sample() says what a sample counts in the view, and its frames. */
	const struct coati_profile_sample *samples;
	size_t nr_samples;
	const struct coati_profile_loss *losses;
	size_t nr_losses;
	const struct live *live; /* LIVE: events of the program itself; NULL: there are none */
	uint64_t start_ns;	 /* time of the first sample or live event; 0: there is none */
	/* RECORDS: by number of the SAMPLE record in the one file that was read, its stack plus 1;
	 * 0: it was left out while reading */
	const uint32_t *sample_stacks;
	size_t nr_sample_stacks;
	const char *account;	/* what it is worth, a line */
	const char *comment;	/* "" for none */
	uint64_t start_wall_ns; /* since 1970, of start_ns; 0: not known */
	const struct coati_export_opts *opts;
	struct format_notes *notes;
};

struct format {
	const char *name;
	const char *suffix;
	uint32_t flags; /* FORMAT_* */
	/* Options that it cannot follow: -EOPNOTSUPP. NULL: it can follow all. */
	int (*accept)(const struct coati_export_opts *opts, struct coati_error *err);
	/* Failures of @out need no look. */
	int (*write)(struct format_input *in, struct format_output *out, struct coati_error *err);
	/* How it writes the names of functions and threads, where coati_format_text() is not
	 * all. */
	void (*text)(struct strbuf *s, const char *name);
};

extern const struct format coati_format_chrome;
extern const struct format coati_format_firefox;
extern const struct format coati_format_folded;
extern const struct format coati_format_json;
extern const struct format coati_format_otlp;
extern const struct format coati_format_perfdata;
extern const struct format coati_format_perfetto;
extern const struct format coati_format_pprof;
extern const struct format coati_format_speedscope;

/* Say what the file lacks: one sentence. */
void coati_format_note(struct format_input *in, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* NULL: there is none. */
const struct format *coati_format_get(enum coati_format format);
