/* SPDX-License-Identifier: MIT */
/*
 * The lists of filter.h: which calls, and with which arguments. Numbers come from the C library of
 * the build machine; those that it may not know yet are given here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum call_when {
	CALL_ALWAYS = 0,
	CALL_MASKED, /* when (argument & mask) == value; only the low half counts */
	CALL_OWN,    /* when the argument is the process itself */
	CALL_SERVER, /* when the argument is the socket of a server */
};

struct call_rule {
	int nr;
	enum call_when when;
	unsigned int arg; /* 0 is the first */
	uint32_t mask, value;
};

struct call_list {
	const struct call_rule *rules;
	size_t nr;
};

/* What a reader may do; the calls that it makes most often come first. */
extern const struct call_list coati_calls_reader;
/* What a reader needs besides to serve: it sends and receives as on any descriptor. */
extern const struct call_list coati_calls_serve;
/* Opening files for reading, and nothing else. */
extern const struct call_list coati_calls_open;
/* Opening files in any way: refused as a file without rights is, not as a call that is
 * forbidden. */
extern const struct call_list coati_calls_any_open;
/* Opening files for reading, or as places; with the call whose flags cannot be seen. */
extern const struct call_list coati_calls_place;
/* Opening files in other ways, and what changes files by their names. */
extern const struct call_list coati_calls_changes;
/* What no process of coati needs: other processes, the kernel's settings, mounts, keys. */
extern const struct call_list coati_calls_forbidden;
extern const struct call_list coati_calls_network;
extern const struct call_list coati_calls_exec;

/* The newest call that these lists know of: later ones do not exist for a reader, so that the C
 * library does what it does on an older kernel. The same for clone3(), whose flags cannot be seen.
 */
#define CALL_NEWEST 462
#define CALL_CLONE3 435
