/* SPDX-License-Identifier: MIT */
/*
 * Station 6, in everybody else's words: a profile as a file that other tools read. Recordings come
 * in, one file goes out; what its format cannot hold is said, and what was written can be read back
 * and compared.
 *
 *	struct coati_export_opts o = { .size = sizeof(o), .format = COATI_FORMAT_PPROF };
 *	coati_export_new(&o, &x, &err);
 *	coati_export_read(x, "coati.data", NULL, NULL, &err);     and further files: they are merged
 *	coati_export_write(x, fd, &err);
 *	for (i = 0; (note = coati_export_note(x, i)); i++) say(note);
 *	coati_export_check(x, fd, &err);                          where wanted
 *	coati_export_free(&x);
 *
 * Formats with a timeline (Perfetto, Chrome, Firefox) have live events of the program beside the
 * samples. Weights are whole numbers in every format, and their sums over threads and over
 * functions (by name, innermost frame) are the same in all of them. docs/formats/export.md says for
 * each format what is kept, what is lost and how names are written. One object, one thread at a
 * time.
 */
#ifndef COATI_FORMAT_H
#define COATI_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/image.h>
#include <coati/profile.h>
#include <coati/visibility.h>

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
	COATI_FORMAT_PERFDATA,	 /* a recording again: perf, hotspot, coati */
	COATI_FORMAT_JSON,	 /* our own: everything, for scripts */
	COATI_FORMAT_COUNT,
};

/* By its name; -EINVAL with the near miss, or all names. */
COATI_API int coati_format_parse(const char *name, enum coati_format *ret, struct coati_error *err);
/* By how the name of a file ends; UNKNOWN: that says nothing. */
COATI_API enum coati_format coati_format_guess(const char *path);
/* NULL: no such format, or it was not built. */
COATI_API const char *coati_format_name(enum coati_format format);
/* ".pb.gz", ".folded" ...: how names of such files end. */
COATI_API const char *coati_format_suffix(enum coati_format format);
/* 1: it is nothing for a terminal. */
COATI_API int coati_format_is_binary(enum coati_format format);

/* coati_export_opts.flags */
/* functions as the linker knows them, no inlined ones */
#define COATI_EXPORT_NO_INLINES (UINT32_C(1) << 0)
/* weights are numbers of samples; perfdata: refused */
#define COATI_EXPORT_COUNTS (UINT32_C(1) << 1)
#define COATI_EXPORT_PLAIN  (UINT32_C(1) << 2) /* not compressed, where the format usually is */
/* Of a recording with context switches: the time on CPUs, the time off them, or with both flags
 * both. Without a flag on CPUs, or off them when that is all there is. perfdata has the switches
 * themselves and refuses the flags. */
#define COATI_EXPORT_ON_CPU  (UINT32_C(1) << 3)
#define COATI_EXPORT_OFF_CPU (UINT32_C(1) << 4)

/* Strings must live as long as the export. */
struct coati_export_opts {
	uint64_t size;
	enum coati_format format;
	uint32_t flags; /* COATI_EXPORT_* */
	const struct coati_filter *filter;
	const struct coati_images_opts *images;
	const char *comment; /* a line for formats that have room for one; NULL: none */
	/* of formats with a timeline, 0: 2^26; over it the export fails: --time, --thread take
	 * less */
	uint64_t max_samples;
};

struct coati_export;

/* -EOPNOTSUPP: this format cannot do what the options ask for. */
COATI_API int coati_export_new(const struct coati_export_opts *opts, struct coati_export **ret,
			       struct coati_error *err);
COATI_API void coati_export_free(struct coati_export **x);
/* As coati_profile_read(). */
COATI_API int coati_export_read(struct coati_export *x, const char *path, coati_progress_fn fn,
				void *ctx, struct coati_error *err);
/* Write all that was read to @fd, which stays the caller's; nothing can be read into @x any
 * more. */
COATI_API int coati_export_write(struct coati_export *x, int fd, struct coati_error *err);
/* Read what was written from the start of @fd by a reader that shares nothing with the writer
 * (perfdata: as any recording is read), and compare: the whole, each thread, each function, and how
 * many live events of each sort. -EBADMSG: the first difference, in words. */
COATI_API int coati_export_check(struct coati_export *x, int fd, struct coati_error *err);

/* What the file lacks and what is wrong with the recordings, a sentence each; NULL past the end.
 * Complete after the writing. */
COATI_API const char *coati_export_note(const struct coati_export *x, uint32_t i);

struct coati_export_summary {
	uint64_t samples, weight; /* that are in the file */
	const char *unit;	  /* of the weight: as in coati_view_info */
	uint64_t bytes;		  /* of the file */
	const char *account;	  /* what it is worth, a line: lost, throttled, stacks, symbols */
};
/* After the writing. Strings live as long as @x. */
COATI_API void coati_export_summary(const struct coati_export *x, struct coati_export_summary *ret);
/* What it stands on. */
COATI_API struct coati_profile *coati_export_profile(const struct coati_export *x);

#ifdef __cplusplus
}
#endif
#endif
