/* SPDX-License-Identifier: MIT */
/*
 * A descriptor of the program to which a stream is written, by a thread that must be able to give
 * up: no write waits longer than the reader is given. Ordinary code.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum sink_kind {
	SINK_FILE,   /* never full: written in one go */
	SINK_SOCKET, /* a send can be non-blocking */
	SINK_FREE,   /* a descriptor that does not wait */
	SINK_POLLED, /* one that does: poll(), then no more than the page that must be free */
};

struct tracer_sink {
	int fd;	 /* to write to */
	int own; /* the same, when it is ours; else -1 */
	enum sink_kind kind;
	uint64_t patience_ns;	    /* without a byte taken; 0: any time, but at the end END_NS */
	_Atomic uint64_t ending_ns; /* since when nothing but this is waited for; 0: it goes on */
};

/* Always works. The flags of @fd, which others may share, stay what they are. */
void coati_tracer_sink_open(struct tracer_sink *s, int fd, uint64_t patience_ns);
void coati_tracer_sink_close(struct tracer_sink *s);
/* All, or a negative errno; -ETIMEDOUT: the reader took nothing for too long. *@ret_written: bytes
 * that were taken, in any case. */
int coati_tracer_sink_write(struct tracer_sink *s, const char *bytes, size_t size,
			    size_t *ret_written);
