/* SPDX-License-Identifier: MIT */
/*
 * Export: profiles as files for other tools. Recordings are read, one file is written, and
 * information that its format cannot hold is reported.
 *
 *	#define COATI_EXPERIMENTAL 1
 *	#include <coati/format.h>
 *
 *	struct coati_export_opts o = { .size = sizeof(o), .format = COATI_FORMAT_PPROF };
 *	coati_export_new(&o, &x, &err);
 *	coati_export_read(x, "coati.data", NULL, NULL, &err);
 *	coati_export_write(x, fd, &err);
 *	for (i = 0; (note = coati_export_note(x, i)); i++)
 *		fprintf(stderr, "%s\n", note);
 *	coati_export_free(&x);
 *
 * Experimental: these functions may still change, see docs/stability.md. They are visible when
 * COATI_EXPERIMENTAL is defined as 1.
 *
 * Several recordings are merged. Formats with a timeline (Perfetto, Chrome, Firefox) have live
 * events beside the samples. Weights are whole numbers in every format, and their sums over threads
 * and functions are the same in all formats. docs/formats/export.md describes what each format
 * keeps. One object is used by one thread at a time, and no function may be called from a signal
 * handler. coati-export(3) has an example.
 */
#ifndef COATI_FORMAT_H
#define COATI_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/image.h>
#include <coati/profile.h>
#include <coati/visibility.h>

#if defined(COATI_EXPERIMENTAL) && COATI_EXPERIMENTAL
#ifdef __cplusplus
extern "C" {
#endif

enum coati_format {
	COATI_FORMAT_UNKNOWN = 0,
	COATI_FORMAT_PPROF,	 /* profile.proto, gzip: go tool pprof, pyroscope, many others */
	COATI_FORMAT_FOLDED,	 /* a line for each stack: flamegraph.pl, inferno */
	COATI_FORMAT_SPEEDSCOPE, /* speedscope.app */
	COATI_FORMAT_FIREFOX,	 /* profiler.firefox.com */
	COATI_FORMAT_PERFETTO,	 /* ui.perfetto.dev */
	COATI_FORMAT_CHROME,	 /* Chrome trace events, as JSON */
	COATI_FORMAT_OTLP,	 /* OpenTelemetry profiles, v1development */
	COATI_FORMAT_PERFDATA,	 /* a recording: perf, hotspot, coati */
	COATI_FORMAT_JSON,	 /* everything, for scripts */
	COATI_FORMAT_COUNT,
};

/* The format with this name; -EINVAL: unknown, the message has the nearest name or all names. */
COATI_API int coati_format_parse(const char *name, enum coati_format *ret, struct coati_error *err);

/* coati_export_opts.flags */
#define COATI_EXPORT_NO_INLINES (UINT32_C(1) << 0) /* no inlined functions */
#define COATI_EXPORT_COUNTS	(UINT32_C(1) << 1) /* numbers of samples; not for perfdata */
#define COATI_EXPORT_PLAIN	(UINT32_C(1) << 2) /* not compressed, where the format usually is */
/* For a recording with context switches: export on-CPU time, off-CPU time, or with both flags both.
 * Without a flag: on-CPU time, or off-CPU time when there is nothing else. Not for perfdata. */
#define COATI_EXPORT_ON_CPU  (UINT32_C(1) << 3)
#define COATI_EXPORT_OFF_CPU (UINT32_C(1) << 4)

/* Strings must live as long as the export. */
struct coati_export_opts {
	uint64_t size; /* sizeof(struct coati_export_opts) */
	enum coati_format format;
	uint32_t flags; /* COATI_EXPORT_* */
	const struct coati_filter *filter;
	const struct coati_images_opts *images;
	const char *comment; /* stored by formats that have a comment field; NULL: none */
	/* limit for formats with a timeline, 0: 2^26; above it the export fails */
	uint64_t max_samples;
	/* length of the ranges that code without symbols is split into; 0: it is not split */
	uint64_t nameless_bytes;
};

struct coati_export;

/* -EOPNOTSUPP: the format cannot do what the options ask for. */
COATI_API int coati_export_new(const struct coati_export_opts *opts, struct coati_export **ret,
			       struct coati_error *err);
/* *x becomes NULL; NULL is fine. */
COATI_API void coati_export_free(struct coati_export **x);
/* As coati_profile_read(). */
COATI_API int coati_export_read(struct coati_export *x, const char *path, coati_progress_fn fn,
				void *ctx, struct coati_error *err);
/* Write everything that was read to @fd, which stays the caller's. Nothing can be read into @x
 * afterwards. */
COATI_API int coati_export_write(struct coati_export *x, int fd, struct coati_error *err);
/* Message number @i about information that the file lacks and problems with the recordings; NULL
 * past the end. Complete after writing. */
COATI_API const char *coati_export_note(const struct coati_export *x, uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
#endif
