/* SPDX-License-Identifier: MIT */
/*
 * What a kernel test needs from the machine; each ends the test as skipped when it is not there.
 * And a few pieces of work whose counts are known.
 */
#pragma once

#include <stdint.h>

#include <coati/event.h>

#include "lib/test.h"

/* Perf events at all. */
void need_perf(void);
void need_root(void);
/* A tracefs mount for this test alone; its path. */
const char *need_tracefs(void);
/* The attribute of a tracepoint. */
struct coati_attr need_tracepoint(const char *system, const char *name);
/* A BPF map; its descriptor. */
int need_bpf_map(uint32_t type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags);
/* More than one CPU. */
void need_two_cpus(void);

/* Become an ordinary user (nobody), for good. */
void become_nobody(void);
/* Change kernel.perf_event_paranoid, alone among all suites that run; soon followed by
 * restore_paranoid(). */
void need_paranoid(int level);
void restore_paranoid(void);

/* A software event, stopped, user and kernel. */
struct coati_attr software(uint64_t config);
/* coati_event_open() on ourselves that must succeed. */
struct coati_event *opened(const struct coati_attr *attr, const struct coati_event_opts *opts);

/* Exactly *@nr_pages page faults (uintptr_t). */
void touch_pages(void *nr_pages);
/*
 * Does the work once before its faults are counted: its code and stack are there then, and so is
 * what a sanitizer needs.
 */
void rehearse(void (*work)(void *), void *arg);
/* One getppid, as a system call. */
void call_getppid(void *unused);
void do_nothing(void *unused);
