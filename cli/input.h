/* SPDX-License-Identifier: MIT */
/*
 * What verbs that look at recordings have in common: which files, with progress on a terminal and
 * Ctrl-C that keeps what was read; which part of them; where their names come from.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <coati/profile.h>

#include "base/options.h"
#include "cli/store.h"
#include "cli/threads.h"
#include "reading/hooks.h"

/* Reads one file: coati_profile_read() and its like. */
typedef int (*input_fn)(void *ctx, const char *path, coati_progress_fn fn, void *fn_ctx,
			struct coati_error *err);

struct input {
	const struct option_texts *files; /* none: the newest of ours in this directory */
	bool quiet;			  /* no progress */
	bool trace;			  /* wanted is one of coati record --trace */
	input_fn read;
	void *ctx;
};

/* How far a file has been read, on a terminal, when that takes longer than a moment. */
struct input_progress {
	char path[1024]; /* as it may be shown */
	uint64_t started_ns, patience_ns;
	bool shows, shown;
};

void coati_input_progress_begin(struct input_progress *p, const char *path, bool quiet);
/* As a coati_progress_fn. 1: Ctrl-C, while coati_input_read() reads. */
int coati_input_progress(void *progress, const struct coati_profile_progress *now);
/* The line is empty again. */
void coati_input_progress_end(struct input_progress *p);

/* Whether @name, which was not typed, may be read: a regular file of this user or root. */
int coati_input_check_default(const char *name, struct coati_error *err);
/* The name of the first, as it is. False: there is none, which was said. */
bool coati_input_find(const struct input *in, char *ret_name, size_t size);
/* Read them all, one after the other, or @name when none is named. Negative: it was said why. */
int coati_input_read(const struct input *in, const char *name);
/* Ctrl-C ended it: there is less than there could be. */
bool coati_input_was_stopped(void);
/* For people: the file as it may be shown, or how many. @ret may be @name. */
void coati_input_title(const struct input *in, const char *name, char *ret, size_t size);
/* Recordings may also be named without -i. Negative: no room. */
int coati_input_add_operands(struct option_texts *files, const struct option_line *line);

/* Which part of a recording, and where names come from. */
struct source_args {
	struct coati_filter filter;
	bool no_inline, mangled;
	uint64_t split_nameless; /* bytes, 0: not */
	const char *root, *debug_dirs;
	bool debuginfod, no_local, trust;
	uint32_t threads;	  /* 0: not given */
	struct store_range range; /* --from, --to */
	char time_room[STORE_TIME_ROOM];
	const char *service; /* of a database */
};

/* Directories of agents become the recordings in them, and --from and --to the filter's time.
 * Negative: it was said why. */
int coati_source_expand(struct source_args *a, struct option_texts *files);
struct coati_images_opts coati_source_images(const struct source_args *a);
/* What of it excludes something else, a sentence; NULL: nothing. */
const char *coati_source_conflict(const struct source_args *a);

/* Samples that live events tell, and what they tell about others, where that is asked for or
 * @wanted. Freed by the caller behind the profile. */
struct coati_contexts;
int coati_source_contexts(const struct source_args *a, bool wanted, struct coati_contexts **ret,
			  const struct coati_context_source **ret_source, struct coati_error *err);

/* The options for it, of a struct that has it as the member "of". */
#define SOURCE_OPTIONS(type)                                                                       \
	OPT_HEAD(                                                                                  \
		"Filters (lists are comma-separated with * and ?; REGEX matches function names)"), \
		OPT_STR(0, "time", type, of.filter.time, "FROM-TO",                                \
			"time range: 1.5s-3s, 10%-20%, 200ms-"),                                   \
		OPT_STR(0, "from", type, of.range.from, "TIME",                                    \
			"from this time of day on: -2h, 14:05, '2026-11-16 14:05'"),               \
		OPT_STR(0, "to", type, of.range.to, "TIME",                                        \
			"up to this time of day (default now)"),                                   \
		OPT_STR('t', "thread", type, of.filter.thread, "LIST", "threads by TID or name"),  \
		OPT_STR(0, "service", type, of.service, "NAME",                                    \
			"with clickhouse://HOST/DB: this service (* and ? match)"),                \
		OPT_STR('p', "process", type, of.filter.process, "LIST",                           \
			"processes by PID or name"),                                               \
		OPT_CPUS('C', "cpu", type, of.filter.cpu, "CPUS", "CPUs: 0-3,7"),                  \
		OPT_STR('e', "event", type, of.filter.event, "LIST", "events"),                    \
		OPT_STR(0, "label", type, of.filter.label, "KEY=VALUE",                            \
			"samples with this label"),                                                \
		OPT_STR(0, "task", type, of.filter.task, "LIST",                                   \
			"samples taken while a thread works on these task types"),                 \
		OPT_STR(0, "region", type, of.filter.region, "LIST",                               \
			"samples taken inside these regions"),                                     \
		OPT_STR(0, "wait", type, of.filter.wait, "LIST",                                   \
			"off-CPU time spent waiting for: futex, runnable ..."),                    \
		OPT_STR(0, "function", type, of.filter.function, "NAME",                           \
			"stacks that contain this function"),                                      \
		OPT_STR(0, "image", type, of.filter.image, "NAME",                                 \
			"stacks that contain this binary or library"),                             \
		OPT_STR(0, "focus", type, of.filter.focus, "REGEX", "keep stacks that match"),     \
		OPT_STR(0, "ignore", type, of.filter.ignore, "REGEX", "drop stacks that match"),   \
		OPT_STR(0, "hide", type, of.filter.hide, "REGEX", "drop frames that match"),       \
		OPT_STR(0, "show", type, of.filter.show, "REGEX",                                  \
			"drop frames that do not match"),                                          \
		OPT_STR(0, "show-from", type, of.filter.show_from, "REGEX",                        \
			"cut each stack above its outermost match"),                               \
		OPT_FLAG(0, "no-inline", type, of.no_inline, "do not show inlined functions"),     \
		OPT_FLAG(0, "mangled", type, of.mangled, "do not demangle names"),                 \
		OPT_SIZE(0, "split-nameless", type, of.split_nameless, "SIZE",                     \
			 "split code without symbols into address ranges of SIZE", 1,              \
			 UINT64_C(1) << 40),                                                       \
		OPT_STR(0, "root", type, of.root, "DIR",                                           \
			"look for binaries below DIR (a copied sysroot)"),                         \
		OPT_FLAG(0, "trust", type, of.trust,                                               \
			 "with --root: accept files without a build ID whatever their size"),      \
		OPT_STR(0, "debug-dirs", type, of.debug_dirs, "DIRS",                              \
			"debug file directories, separated by : (default /usr/lib/debug)"),        \
		OPT_FLAG(0, "debuginfod", type, of.debuginfod,                                     \
			 "download missing symbols from DEBUGINFOD_URLS"),                         \
		OPT_FLAG(0, "no-local", type, of.no_local,                                         \
			 "use only the symbols stored in the recording"),                          \
		OPT_THREADS(type, of.threads)
