/* SPDX-License-Identifier: MIT */
/*
 * The catalogue inside: it walks from source to source in the order of enum coati_event_kind; each
 * source is one file with one function that hands out the next event or the end. Names are made one
 * at a time, so that a listing of thousands holds one name, one folder of names, and nothing else.
 */
#pragma once

#include <stdbool.h>

#include <coati/event.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/strbuf.h"
#include "event/names-dir.h"
#include "event/pmu.h"

#define CATALOG_NAME_MAX  1024
#define CATALOG_GAPS_MAX  16
#define CATALOG_BYTES_MAX (32 << 20)

struct coati_catalog {
	char *glob, *sysfs;
	char *tracefs; /* NULL: look for it */
	bool glob_is_pattern;
	uint32_t kinds;
	bool want_fields, want_probe;

	struct arena arena;	  /* lives as long as the catalogue */
	struct arena folder;	  /* names of the folder that is being walked */
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
