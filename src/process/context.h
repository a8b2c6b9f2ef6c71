/* SPDX-License-Identifier: MIT */
/*
 * What a process publishes about itself for everybody, in the words of OpenTelemetry (OTEP 4719):
 * here the names of the keys of its labels. docs/formats/thread-context.md has the bytes. All of it
 * is the process's own memory, which it may change at any time: nothing is believed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/record.h>

#include "base/array.h"

#define CONTEXT_KEYS_MAX 256 /* an index is a byte */
#define CONTEXT_KEY_MAX	 255 /* bytes of a name */

struct context_keys {
	uint64_t time; /* when they were published, by the process's own count; 0: they were not */
	uint64_t begun_ns; /* CLOCK_MONOTONIC when they were looked for */
	uint64_t known_ns; /* and by when all of them were published */
	uint32_t nr;
	char *names[CONTEXT_KEYS_MAX]; /* "": too long, or malformed */
};

/* Does the mapping hold it? */
bool coati_context_is_mapping(const struct coati_mmap *m);
/* The keys out of the context at @addr of a process, whose memory @mem is a descriptor of (PID/mem
 * of /proc). -EAGAIN: the process was changing it all the time; -EBADMSG: it is malformed;
 * -ENOMEM. */
int coati_context_read_keys(int mem, uint64_t addr, struct context_keys *ret);
/* Out of its message alone. -EBADMSG, -ENOMEM. */
int coati_context_parse_keys(const uint8_t *message, size_t size, struct context_keys *ret);
/* A zeroed one is fine. */
void coati_context_keys_fini(struct context_keys *keys);
