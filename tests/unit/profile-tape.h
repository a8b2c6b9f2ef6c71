/* SPDX-License-Identifier: MIT */
/*
 * Recordings with exactly known contents, written record by record into the current folder, and a
 * program with four functions for them: "program", mapped at TAPE_BASE in every process that runs
 * it.
 */
#pragma once

#include <stdint.h>

#include <coati/profile.h>

#include "reading/hooks.h"
#include "recording/writer.h"

/* Addresses in a process that runs the program; each function has 16 bytes. */
#define TAPE_BASE  UINT64_C(0x7f0000000000)
#define TAPE_TEXT  (TAPE_BASE + 0x200)
#define TAPE_MAIN  (TAPE_TEXT + 0x04)
#define TAPE_WORK  (TAPE_TEXT + 0x14)
#define TAPE_LEAF  (TAPE_TEXT + 0x24)
#define TAPE_OTHER (TAPE_TEXT + 0x34)

#define TAPE_STACK_BYTES 64 /* of events with COATI_SAMPLE_STACK_USER */

#define TAPE_EVENTS_MAX 4
#define TAPE_CHAIN_MAX	512

struct tape {
	struct coati_writer *writer;
	struct coati_attr attrs[TAPE_EVENTS_MAX];
	struct coati_sample_format formats[TAPE_EVENTS_MAX];
	uint32_t nr_events;
	uint64_t time;
	/* for events that are added from now on: more flags; what COATI_SAMPLE_READ has */
	uint64_t attr_flags, read_format;
};

struct tape_sample {
	uint32_t event, pid, tid, cpu;
	uint64_t time;	 /* 0: one microsecond after the last */
	uint64_t period; /* 0: 1000 */
	uint64_t ip;	 /* 0: the first address of the chain */
	uint64_t cgroup;
	const uint64_t *regs;  /* frame pointer, stack pointer, pc; NULL: none */
	const uint64_t *stack; /* TAPE_STACK_BYTES of it */
	uint16_t misc;	       /* 0: user */
	const uint64_t *chain;
	uint32_t nr;
	const uint64_t *read; /* a group of the event's read format: so many values */
	uint32_t nr_read;
};
/* A chain as it is written down: TAPE_STACK(TAPE_LEAF, TAPE_WORK). The marker of user code is put
 * in front. */
#define TAPE_STACK(...)                                                 \
	.chain = (const uint64_t[]){ COATI_CONTEXT_USER, __VA_ARGS__ }, \
	.nr = sizeof((uint64_t[]){ COATI_CONTEXT_USER, __VA_ARGS__ }) / 8

/* Write the file "program". */
void tape_program(void);
/* The same, with these names in place of main, work, leaf and other; of any length and bytes. */
void tape_program_named(const char *const *names);
/* cpu-clock as event 0, with stacks. */
void tape_open(struct tape *t, const char *path);
/* The same with more events: before the first record. */
void tape_begin(struct tape *t, const char *path);
/* The same as a stream, which can be read while it is written. */
void tape_begin_stream(struct tape *t, const char *path);
/* The same with the program, and cpu-clock with stacks and context switches as its first event. */
void tape_begin_switches(struct tape *t, const char *path);
void tape_event(struct tape *t, uint32_t type, uint64_t config, const char *name,
		uint64_t more_sample_type);
void tape_start(struct tape *t);
void tape_record(struct tape *t, struct coati_record *rec);
void tape_switch(struct tape *t, uint32_t pid, uint32_t tid, uint64_t time, uint16_t misc);
void tape_comm(struct tape *t, uint32_t pid, uint32_t tid, const char *name, uint16_t misc);
void tape_fork(struct tape *t, uint32_t pid, uint32_t tid, uint32_t ppid, uint32_t ptid);
/* The process runs the program: named, and mapped. */
void tape_process(struct tape *t, uint32_t pid, const char *comm);
void tape_map(struct tape *t, uint32_t pid, uint64_t addr, const char *path);
void tape_put(struct tape *t, struct tape_sample s);
/* The event of live events, before the first record; and what a program tells, as text
 * (live-read/text.h). */
void tape_live_event(struct tape *t);
void tape_live_text(struct tape *t, const char *text);
void tape_close(struct tape *t);

/* A profile of the recordings @paths (a list that ends with NULL). */
struct coati_profile *tape_read(const struct coati_profile_opts *opts, const char *const *paths);
struct coati_profile *tape_read_hooked(const struct coati_profile_opts *opts,
				       const struct coati_profile_hooks *hooks,
				       const char *const *paths);
/* The profile of one. */
struct coati_profile *tape_profile(const char *path);
struct coati_view *tape_view(struct coati_profile *p, const struct coati_filter *f);
/* The row of that name in a table; all zero when there is none. */
struct coati_row tape_row(struct coati_view *v, enum coati_by by, const char *name);
