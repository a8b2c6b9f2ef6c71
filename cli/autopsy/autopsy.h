/* SPDX-License-Identifier: MIT */
/*
 * coati autopsy, inside: finding the file of a flight recorder (autopsy/find.c), reading it
 * (autopsy/read.c), and showing what was read as text (autopsy/text.c), as JSON (autopsy/json.c) or
 * as a recording (autopsy/save.c).
 */
#pragma once

#include <stdbool.h>

#include <coati/trace.h>

#include "base/array.h"
#include "base/map.h"
#include "base/options.h"
#include "base/strbuf.h"
#include "cli/faults.h"
#include "cli/figures.h"
#include "live-read/check.h"
#include "live-read/files.h"
#include "live-read/flight.h"
#include "live-read/reader.h"
#include "sandbox/sandbox.h"

#define AUTOPSY_ALL UINT64_MAX

struct autopsy_args {
	const char *output, *directory;
	bool list, json, no_sandbox, strict;
	uint64_t clean_ns; /* AUTOPSY_ALL: nothing is removed */
	uint64_t last_ns;
	uint32_t events, logs;
	struct option_ids tids;
	struct option_texts fail_if; /* conditions on the data quality */
};

/* An event that is shown. */
struct autopsy_event {
	struct coati_trace_event event; /* its text is in line; stacks are gone */
	char *line;			/* kind and arguments */
	char *text;			/* of a log */
};

/* The last few, oldest first from `first` on. */
struct autopsy_tail {
	struct autopsy_event *v;
	uint32_t len, max, first;
};

struct autopsy_thread {
	uint32_t tid;
	bool hidden; /* not asked for */
	uint64_t events, last_ns, task;
	/* that could be shown, and those of them that were read the second time */
	uint64_t nr, passed;
	char name[64]; /* "": unknown */
	struct autopsy_tail tail;
};

struct autopsy_open {
	struct coati_live_opened *v;
	uint32_t len;
};

struct autopsy {
	const struct autopsy_args *args;
	const char *shown; /* name of the file */
	struct coati_flight_info info;
	struct coati_live_reader *trace; /* at its end: what is open, and how good it is */
	struct coati_trace_quality quality;
	ARRAY(struct autopsy_thread) threads; /* in the order in which they came, then by tid */
	struct map by_tid;		      /* their places */
	struct autopsy_open regions, tasks;   /* that are open at the end: by thread, by id */
	struct autopsy_tail logs;
	uint64_t nr_logs, logs_passed; /* as of a thread */
	uint64_t first_ns, end_ns;     /* of events */
	uint64_t findings;	       /* of the validator */
	bool too_deep;		       /* for the validator: not checked from there on */
	struct coati_trace_finding finding;
};

/* autopsy/find.c */
/* The file that @target, a pid or a path, means. */
struct autopsy_target {
	int fd;		 /* -1: it is opened by its path */
	char path[4096]; /* its name */
	/* Lines key=value that coati_autopsy_save() puts into the recording; NULL: none. */
	const char *note;
};
/* Its recorder, opened once more. */
int coati_autopsy_open(const struct autopsy_target *t, struct coati_flight **ret,
		       struct coati_error *err);
int coati_autopsy_find(const struct autopsy_args *a, const char *target, struct autopsy_target *ret,
		       struct coati_error *err);
/* --list and --clean; exit codes. */
int coati_autopsy_list(const struct autopsy_args *a);
int coati_autopsy_clean(const struct autopsy_args *a);

/* autopsy/read.c */
int coati_autopsy_read(struct autopsy *a, const struct autopsy_target *t, struct coati_error *err);
void coati_autopsy_fini(struct autopsy *a);
/* Event @i of a tail, oldest first. */
const struct autopsy_event *coati_autopsy_tail_at(const struct autopsy_tail *t, uint32_t i);
/* The first of the regions that @tid is in, and how many. */
const struct coati_live_opened *coati_autopsy_regions(const struct autopsy *a, uint32_t tid,
						      uint32_t *ret_nr);
/* The open task @id; NULL: there is none. */
const struct coati_live_opened *coati_autopsy_task(const struct autopsy *a, uint64_t id);
/* How the process ended, as words. */
void coati_autopsy_ended(const struct coati_flight_info *info, struct strbuf *out);

/* autopsy/figures.c: what is known of a flight recorder, for --fail-if. */
#define AUTOPSY_FIGURES                                                                       \
	(1u << FIGURE_EVENTS | 1u << FIGURE_LOST | 1u << FIGURE_DAMAGED | 1u << FIGURE_LATE | \
	 1u << FIGURE_MISSING_BATCHES | 1u << FIGURE_INCOMPLETE_GENERATIONS |                 \
	 1u << FIGURE_UNRESOLVED | 1u << FIGURE_CLOCK_UNKNOWN | 1u << FIGURE_CONTRADICTIONS)
void coati_autopsy_figures(const struct autopsy *a, struct figures *ret);
void coati_autopsy_faults(const struct autopsy *a, struct faults *ret);

/* What shows it. */
void coati_autopsy_text(struct autopsy *a, struct strbuf *out);
void coati_autopsy_json(struct autopsy *a, struct strbuf *out);
/* autopsy/save.c: the batches of it as a recording that begins with their first event. */
struct autopsy_saved {
	uint64_t events, length_ns;
};
int coati_autopsy_save(const struct autopsy_target *t, const char *output,
		       struct autopsy_saved *ret, struct coati_error *err);
/* The mappings of a process that runs, as a recording: its bytes are the number of the process. */
int coati_autopsy_describe_job(const struct sandbox_task *task, uint32_t *ret_value,
			       struct coati_error *err);
