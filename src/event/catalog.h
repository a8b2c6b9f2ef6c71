/* SPDX-License-Identifier: MIT */
/*
 * The catalog inside: it walks from source to source in the order of enum coati_event_kind; each
 * source is one file with one function that hands out the next event or the end. Names are made one
 * at a time, so that a listing of thousands holds one name, one directory of names, and nothing
 * else.
 */
#pragma once

#include <stdbool.h>

#include <coati/event.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/strbuf.h"
#include "event/names-dir.h"
#include "event/pmu.h"

/* "hardware", "software", ... */
const char *coati_event_kind_name(enum coati_event_kind kind);

struct coati_event_field { /* of a tracepoint */
	const char *name;
	/* C declaration as the kernel prints it, "char comm[16]" without the name */
	const char *type;
	uint32_t offset, size;
	uint32_t is_signed;
};

struct coati_event_info {
	enum coati_event_kind kind;
	const char *name;	 /* what one types */
	const char *alias;	 /* "" or another spelling */
	const char *description; /* "" when nothing is known */
	const char *unit;
	int32_t available; /* 1 opens here, 0 does not, -1 not tried */
	/* tracepoints, when fields were asked for; those that all tracepoints have are left out */
	uint32_t nr_fields;
	const struct coati_event_field *fields;
};

struct coati_catalog;

struct coati_catalog_opts {
	uint64_t size;
	/* NULL: all; matches name or alias, or the system of a tracepoint; plain text matches as a
	 * part */
	const char *glob;
	uint32_t kinds;	 /* bit per enum coati_event_kind, 0: all */
	uint32_t fields; /* 1: read the formats of the tracepoints too (slower) */
	/* 1: try to open hardware, software and cache events, and look for the PMUs of probes, so
	 * that `available` is known */
	uint32_t probe;
	uint32_t reserved;
	const char *sysfs, *tracefs; /* as in coati_event_list_opts */
};

int coati_catalog_open(const struct coati_catalog_opts *opts, struct coati_catalog **ret,
		       struct coati_error *err);

/* 1 and the next event, 0 at the end, negative on error, which ends the walk: later calls repeat
 * it.  Lives: until the next call. */
int coati_catalog_next(struct coati_catalog *cat, struct coati_event_info *ret);

/* Why kinds are missing from the catalog ("tracefs is not mounted: ..."), one sentence per call;
 * NULL at the end. Complete once coati_catalog_next() has returned 0. */
const char *coati_catalog_gap(const struct coati_catalog *cat, uint32_t i);

void coati_catalog_close(struct coati_catalog *cat);

#define CATALOG_NAME_MAX  1024
#define CATALOG_GAPS_MAX  16
#define CATALOG_BYTES_MAX (32 << 20)

struct coati_catalog {
	char *glob, *sysfs;
	char *tracefs; /* NULL: look for it */
	bool glob_is_pattern;
	uint32_t kinds;
	bool want_fields, want_probe;

	struct arena arena;	  /* lives as long as the catalog */
	struct arena folder;	  /* names of the directory that is being walked */
	struct arena item;	  /* fields of the event handed out last */
	struct strbuf name, text; /* of the event handed out last */
	size_t source;		  /* index in the table of sources */
	size_t i, j;		  /* where the source stands; 0 at its start */
	bool started;		  /* has the source been entered? */
	int failed;		  /* an error ends the walk: every later call repeats it */

	struct dir_names outer; /* PMUs or systems */
	struct dir_names inner; /* events of outer[i] */
	struct pmu pmu;		/* the one that is being walked; fd -1: none */
	struct pmu first;	/* the first of its numbered kind; fd -1: none */
	int events_fd;		/* tracefs/events, -1 when not open */
	char tracefs_path[1024];
	ARRAY(const char *) gaps; /* in the arena */
};

/* Does the user want this one? @alias may be "". */
bool coati_catalog_match(const struct coati_catalog *cat, const char *name, const char *alias);
/* Note why something is missing. */
int coati_catalog_add_gap(struct coati_catalog *cat, const char *text);

/* Sources: 1 and the next event, 0 when there are no more, negative on error. */
int coati_catalog_next_pmu(struct coati_catalog *cat, struct coati_event_info *ret);
int coati_catalog_next_tracepoint(struct coati_catalog *cat, struct coati_event_info *ret);
