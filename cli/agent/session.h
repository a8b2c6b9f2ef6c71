/* SPDX-License-Identifier: MIT */
/*
 * A running agent: the machine is sampled into segments, windows are built of what was sampled and
 * given to the sinks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/capture.h>
#include <coati/event.h>

#include "agent/build.h"
#include "agent/feed.h"
#include "agent/memory.h"
#include "agent/window.h"
#include "cli/agent/args.h"
#include "cli/agent/armed.h"
#include "cli/agent/folder.h"
#include "cli/agent/slow.h"
#include "cli/record/live.h"
#include "process/service.h"

#define AGENT_SINKS_MAX	 8
#define AGENT_LABELS_MAX 32

struct agent_sinks {
	struct agent_sink v[AGENT_SINKS_MAX];
	uint32_t nr;
};

/* What the agent costs, and what it does about it. */
struct agent_budget {
	double rate_hz; /* that is wanted; at most what was asked for */
	uint32_t max_frames;
	double open_hz; /* those of the capture that is open */
	uint32_t open_frames;
	uint64_t cpu_ns, walk_ns, at_ns;    /* of the last look */
	uint64_t own_cpu_ns, own_kernel_ns; /* of the last window */
	double share;			    /* of all CPUs, in the last window */
	uint32_t over, under;		    /* windows in a row */
	struct memory_guard memory;
	bool wants_restart; /* memory, or another depth of stacks */
};

struct agent_session {
	const struct agent_args *args;
	struct coati_error err;
	struct coati_event_list *list;
	struct coati_capture *cap;
	struct record_live live_files;
	struct agent_live live;
	struct agent_feed feeds[2]; /* of the segment that is written, and the one before it */
	bool has_feed[2];
	struct agent_build build;
	struct service_rules rules;
	struct folder folder;
	struct agent_sinks sinks;
	struct agent_budget budget;
	struct armed armed;
	struct slow_tasks slow;
	struct coati_label labels[AGENT_LABELS_MAX];
	uint32_t nr_labels;
	char agent[256], host[128];
	uint64_t sequence;
	uint64_t start_ns;			 /* of the agent */
	uint64_t window_start_ns, window_end_ns; /* of the window that is sampled */
	uint64_t closing_ns; /* end of the window that waits for its labels; 0: none */
	uint64_t closing_start_ns;
	uint64_t segment_ns;   /* when the segment began */
	uint64_t capture_ns;   /* and the capture */
	uint64_t capture_hour; /* of pace.h, by which it has its period */
	uint64_t tick_ns;
	int64_t wall_offset_ns; /* time of day less CLOCK_MONOTONIC */
	bool stepped, is_first, is_last;
	uint64_t cpus_online;
	uint32_t nr_cpus;
	uint64_t windows, restarts;
	struct map cgroup_cpu, run_delay; /* counters of the last look */
};

/* Run until a signal ends it or the time is over: the exit code. *ret_reload: SIGHUP asked to read
 * the configuration again. */
int coati_agent_run(const struct agent_args *args, bool *ret_reload);

/* sinks.c: those that were asked for. */
int coati_agent_sinks_open(const struct agent_args *a, struct agent_sinks *s,
			   struct coati_error *err);
void coati_agent_sinks_close(struct agent_sinks *s, uint64_t deadline_ns);

/* fleet.c: servers. Which of the options exclude each other, a sentence; NULL: none. */
const char *coati_agent_fleet_check(const struct agent_args *a);
/* Work on the database was asked for, and nothing is sampled; do it: the exit code. */
bool coati_agent_fleet_wanted(const struct agent_args *a);
int coati_agent_fleet_run(const struct agent_args *a);
/* Add the sinks of the servers. */
int coati_agent_fleet_open(const struct agent_args *a, struct agent_sinks *s,
			   struct coati_error *err);

/* relay.c: which of its options exclude others, a sentence; run until a signal: the exit code. */
const char *coati_agent_relay_check(const struct agent_args *a);
int coati_agent_relay_run(const struct agent_args *args, bool *ret_reload);

/* print.c: windows as lines of JSON on standard output. */
struct agent_sink coati_agent_print_sink(void);

/* segment.c */
int coati_agent_capture_open(struct agent_session *s);
int coati_agent_segment_begin(struct agent_session *s);
int coati_agent_segment_end(struct agent_session *s);
int coati_agent_restart(struct agent_session *s);

/* windows.c, services.c */
void coati_agent_services_measure(struct agent_session *s);
void coati_agent_window_close(struct agent_session *s);

/* budget.c */
void coati_agent_budget_start(struct agent_session *s);
void coati_agent_budget_look(struct agent_session *s);
/* Before anything else is allocated; and in a new capture, and after each window. */
void coati_agent_memory_start(void);
void coati_agent_memory_trim(struct agent_session *s);
