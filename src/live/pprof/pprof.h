/* SPDX-License-Identifier: MIT */
/*
 * Writing pprof files out of the process itself: profile.proto in gzip of stored blocks, by libc
 * alone. Locations are addresses in mappings of this process as it is now, with the build ids of
 * their files, and when asked for the names of functions; lines are left to who reads it.
 *
 *	struct pprof p;
 *	coati_pprof_init(&p, true, max);
 *	coati_pprof_sample_type(&p, "samples", "count");
 *	coati_pprof_add(&p, &sample);			for each of them
 *	coati_pprof_period(&p, "cpu", "nanoseconds", 10000000);
 *	coati_pprof_comment(&p, "%u lost", lost);
 *	r = coati_pprof_finish(&p, &bytes);		the first error of them all
 *	coati_pprof_fini(&p);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "live/pprof/maps.h"

#define PPROF_MORE 3u

struct pprof {
	struct strbuf to;      /* the profile */
	struct strbuf message; /* the one that is being made */
	struct strbuf inner;   /* inside of that */
	struct arena texts;
	struct map text_ids, location_ids, function_ids;
	uint64_t nr_texts;
	struct live_maps maps;
	bool names;
	int failed;
};

struct pprof_sample {
	const uint64_t *frames; /* leaf first */
	uint32_t nr_frames;
	/* the first frame is a return address like all others, not an instruction that ran */
	bool leaf_is_call;
	const uint64_t *values;
	uint32_t nr_values;
	const struct coati_labels *labels; /* NULL: none */
	uint64_t tid;			   /* as a label; 0: none */
	const char *more[PPROF_MORE][2]; /* further labels, key and text, up to the first without */
	uint64_t bytes;			 /* Go's label for the size of a block; 0: none */
};

/* Fails in coati_pprof_finish(). @max: bytes of the file. */
void coati_pprof_init(struct pprof *p, bool names, size_t max);
void coati_pprof_fini(struct pprof *p);
void coati_pprof_sample_type(struct pprof *p, const char *type, const char *unit);
/* The type that readers show first. */
void coati_pprof_default_type(struct pprof *p, const char *type);
void coati_pprof_add(struct pprof *p, const struct pprof_sample *s);
void coati_pprof_period(struct pprof *p, const char *type, const char *unit, uint64_t period);
/* Wall clock and length, in nanoseconds. */
void coati_pprof_time(struct pprof *p, uint64_t time_ns, uint64_t duration_ns);
void coati_pprof_comment(struct pprof *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* gzip bytes behind @ret. */
int coati_pprof_finish(struct pprof *p, struct strbuf *ret);

/* @from as gzip of stored blocks behind @ret. */
void coati_gzip_store(struct strbuf *ret, const struct strbuf *from);
