/* SPDX-License-Identifier: MIT */
/*
 * The bytes of live events, as docs/formats/live.md describes them: written by src/live/tracer,
 * read by src/record/live-*.c. Little-endian numbers; a reader takes everything out once, checks
 * it, and believes nothing else.
 *
 *	mapping    a tmpfs file or memfd, one a process: header, sites, tasks, chunk directory,
 *	           chunks
 *	chunk      one or more batches, back to back
 *	batch      a header of 96 bytes and events of one thread (or tables); what travels in a
 *	           recording
 *	event      one byte of kind and size of the time, the time, arguments
 */
#ifndef COATI_RECORD_LIVE_FORMAT_H
#define COATI_RECORD_LIVE_FORMAT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- batches ---- */

#define LIVE_BATCH_MAGIC   UINT32_C(0x31424c43) /* "CLB1" */
#define LIVE_BATCH_VERSION 1
#define LIVE_BATCH_MAX	   32768u /* header included: one record of a recording */

enum live_batch_kind {
	LIVE_BATCH_EVENTS = 1, /* of one slot of one thread, in order */
	LIVE_BATCH_TABLE, /* LIVE_STRING and LIVE_STACK definitions of a generation, any order */
	LIVE_BATCH_SITES, /* LIVE_SITE and LIVE_TYPE definitions: all that the generation may use */
	LIVE_BATCH_SCHEMA, /* LIVE_SCHEMA: kinds of events with their arguments */
	/* one LIVE_PROCESS, LIVE_CLOCK, resource types; first of a generation in a stream */
	LIVE_BATCH_PROCESS,
	/* what was open when the generation began: tasks and resources (LIVE_OPEN_*); the regions
	 * of a thread are reported in EVENTS batches of that thread */
	LIVE_BATCH_STATUS,
	LIVE_BATCH_LOSS, /* LIVE_LOST, each with its thread */
	LIVE_BATCH_END,	 /* empty: the generation is complete */
};

/* flags of a batch */
#define LIVE_BATCH_CLOSED	 (1u << 0) /* used, events and checksum are final */
#define LIVE_BATCH_CLOCK_UNKNOWN (1u << 1) /* its pairs contradict each other */
#define LIVE_BATCH_NANOSECONDS	 (1u << 2) /* times are CLOCK_MONOTONIC nanoseconds, not cycles */
#define LIVE_BATCH_FILTERED	 (1u << 3) /* events outside the recorder's filter were taken out */
#define LIVE_BATCH_LAST		 (1u << 4) /* END: its recorder has ended, nothing more comes */

struct live_batch {
	uint32_t magic;
	uint16_t version, kind;
	uint64_t generation;
	uint32_t pid, tid;
	/* of this thread (tid and slot), from 0, without gaps: a gap is a lost batch. A thread that
	 * gets the tid of an earlier one begins at 0 again */
	uint32_t seq;
	uint16_t slot;	/* 0 ordinary, 1 signal handlers that interrupted an emit */
	uint16_t flags; /* atomic: CLOSED is set last */
	uint64_t base;	/* clock value from which the first time counts */
	/* calibration pair at the begin: midpoint of two readings of the one clock around one of
	 * the other; the end pair is 0 while the batch is open */
	uint64_t pair_cycles, pair_ns;
	uint64_t end_cycles, end_ns;
	uint32_t pair_error_ns; /* half of the wider of the two readings */
	uint32_t events;	/* final when closed */
	/* atomic: bytes behind the header that are whole events; released after each event */
	uint32_t used;
	uint32_t capacity; /* bytes behind the header that belong to this batch; used <= capacity */
	uint32_t checksum; /* live_checksum() of the used bytes when closed, else 0 */
	/* of the events: how many say nothing new, but define a string or a stack, name the stack
	 * of the one before, or tell again what is open */
	uint32_t told;
};
_Static_assert(sizeof(struct live_batch) == 96, "the head of a batch is 96 bytes");

/* Of the used bytes of a closed batch: four lanes of 64 bits, each taking every fourth
 * little-endian word by xor, multiply, xor of the upper half; what is short of 32 bytes is filled
 * with zeros; then size and lanes are mixed into one. */
#define LIVE_CHECKSUM_PRIME UINT64_C(0x9e3779b97f4a7c15)

static inline uint64_t live_mix(uint64_t state, uint64_t word)
{
	state = (state ^ word) * LIVE_CHECKSUM_PRIME;
	return state ^ state >> 32;
}

/* The lanes have names, and are no array: of that compilers make vectors, whose multiplication is
 * three times as slow. */
struct live_lanes {
	uint64_t a, b, c, d;
};

static inline void live_mix_lanes(struct live_lanes *l, const uint8_t *bytes)
{
	uint64_t word[4];

	memcpy(word, bytes, sizeof(word));
	l->a = live_mix(l->a, word[0]);
	l->b = live_mix(l->b, word[1]);
	l->c = live_mix(l->c, word[2]);
	l->d = live_mix(l->d, word[3]);
}

static inline uint32_t live_checksum(const void *bytes, size_t size)
{
	struct live_lanes l = { 1, 2, 3, 4 };
	uint8_t rest[32] = { 0 };
	const uint8_t *p = bytes;
	size_t left = size;

	for (; left >= sizeof(rest); p += sizeof(rest), left -= sizeof(rest))
		live_mix_lanes(&l, p);
	if (left) {
		memcpy(rest, p, left);
		live_mix_lanes(&l, rest);
	}
	return (uint32_t)live_mix(live_mix(live_mix(live_mix(size, l.a), l.b), l.c), l.d);
}

/* ---- events ---- */

/* First byte: kind in bits 0-4, size of the time less one in bits 5-7. Then the time since the
 * event before (in units of the batch's clock), little-endian, 1 to 8 bytes; in batches that are
 * not EVENTS it is one byte, 0. Then the arguments that the schema lists, one letter each:
 *   v  unsigned LEB128, at most 10 bytes		z  the same, zigzag
 *   t  site number (v)					k  stack number (v)
 *   s  string: v; bit 0 set: number of an interned string in the bits above; clear: the bits above
 *      are a size, and so many bytes follow
 *   d  double, 8 bytes					b  bytes: v, then so many bytes
 *   f  fields: as the site's `fields` text tells (names and letters i u d s x: z v d s v)
 * Kinds that a reader does not know are skipped by their schema. In LIVE_MORE a byte for the real
 * kind and the size of the rest come first.
 *
 * LIVE_STRING and LIVE_STACK stand in TABLE batches and in EVENTS batches of any thread of the
 * generation, maybe after the first use, maybe more than once with the same bytes. A text that had
 * to be cut is a LIVE_STRING, which says so, and a reference to it. */
enum live_kind {
	LIVE_NONE = 0,	   /* padding: one byte, no time */
	LIVE_REGION_BEGIN, /* t */
	LIVE_REGION_END,   /* nothing: the innermost open one of this slot */
	/* t v: a region that was held back; v its length up to now, in units of the clock. Whole
	 * ones inside it come before it */
	LIVE_RANGE,
	LIVE_TASK_BEGIN,   /* t v v: id, parent (0 none); does not make the thread work on it */
	LIVE_TASK_END,	   /* v: id; the first counts */
	LIVE_TASK_ENTER,   /* v: the thread works on task id from now on, 0: on none */
	LIVE_LOG,	   /* t s: category is the site's */
	LIVE_COUNTER,	   /* t z */
	LIVE_GAUGE,	   /* t d: a counter of doubles */
	LIVE_FLOW,	   /* t v v: id, phase 0 begin 1 step 2 end */
	LIVE_INSTANT,	   /* t f */
	LIVE_RESOURCE_NEW, /* v v v s: type, id, first state, name */
	LIVE_RESOURCE_SET, /* v v v v s: type, id, state it was in, new state, reason */
	LIVE_RESOURCE_END, /* v v: type, id */
	LIVE_THREAD_NAME,  /* s */
	LIVE_PROCESS_NAME, /* s */
	LIVE_SAMPLE,	   /* k v: CPU nanoseconds that it stands for; stack 0: none */
	LIVE_LABELS,  /* b: the whole set from now on: {v key size, key, v value size, value}* */
	LIVE_STACKED, /* k: the stack of the event before it in this batch; its time is 0 */
	/* v t v v: tid, site, depth from 0, begun so many units before the base */
	LIVE_OPEN_REGION,
	/* t v v v: site, id, parent, begun so many units before the base. In STATUS batches, and in
	 * EVENTS batches before the end of a task that began in an earlier generation; may repeat
	 */
	LIVE_OPEN_TASK,
	/* v v: tid, task that it works on. In an EVENTS batch the state of the thread's slot is
	 * repeated from here on: no region is open but those that follow as LIVE_OPEN_REGION */
	LIVE_OPEN_ENTER,
	LIVE_OPEN_RESOURCE, /* v v v s: type, id, state, name; in STATUS and EVENTS, may repeat */
	LIVE_LOST,   /* v v v v v: tid, slot, events, first and last time in CLOCK_MONOTONIC ns */
	LIVE_STRING, /* v v b: number, size before it was cut (0: whole), bytes */
	/* v v: number, n; then n times z: address less the one before; innermost first */
	LIVE_STACK,
	LIVE_SITE, /* v v v s s s s s: number, kind, line, name, category, file, function, fields */
	LIVE_TYPE, /* v s v: number, name, n states; then n times s, v: name, set of next states */
	LIVE_PROCESS, /* v v v b s s: pid, uid, start ticks, boot id (16 bytes), comm, executable */
	/* v v v v v v: source, mult, shift, error ns, realtime ns at pair_ns, period ns */
	LIVE_CLOCK,
	LIVE_MORE, /* for later: u8 kind, b */
};
/* In LIVE_BATCH_SCHEMA each entry is this byte (there is no padding there), then v kind, s name, s
 * letters of its arguments; no time. */
#define LIVE_SCHEMA 0

/* Bytes of an interned string; what does not fit into a batch is cut and says so. */
#define LIVE_STRING_MAX	  65535u
#define LIVE_STACK_MAX	  128u
#define LIVE_SITES_MAX	  65535u
#define LIVE_REGION_DEPTH 128u /* deeper ones are written, but not repeated in a new generation */

/* ---- the mapping ---- */

#define LIVE_MAP_MAGIC UINT64_C(0x3150414d56494c43) /* "CLIVMAP1" */

struct live_map {
	uint64_t magic;
	uint32_t version, header_bytes; /* 1, 4096 */
	uint64_t bytes;			/* of the whole file */
	uint32_t pid, uid;
	uint64_t start_ticks; /* of the process: field 22 of /proc/PID/stat */
	uint8_t boot_id[16];
	char comm[16];
	uint64_t sites_at, sites_bytes; /* LIVE_SITE definitions, append-only */
	uint64_t tasks_at, tasks_count; /* struct live_open_task */
	uint64_t directory_at;		/* struct live_chunk, one a chunk */
	uint64_t chunks_at;
	uint32_t chunk_bytes, chunk_count;
	/* clock at the start: ns = ns_base + ((cycles - cycles_base) * mult >> shift) */
	uint32_t clock_source, clock_mult, clock_shift, reserved;
	uint64_t cycles_base, ns_base, realtime_base, clock_error_ns;
	/* what changes; each in the writer's hand */
	uint64_t sites_used;	/* atomic */
	uint64_t generation;	/* atomic: the one that is written; 0 none */
	uint64_t oldest;	/* atomic: generations before were dropped */
	uint64_t dropped;	/* atomic: events that found no room so far, all threads */
	uint64_t closed_chunks; /* atomic: number of chunks closed since the start */
	/* atomic: 1 running, 2 stopped in order; 1 and the process gone: it died */
	uint64_t state;
	/* atomic, the only word that an outside recorder writes: chunks with a smaller close number
	 * have been read */
	uint64_t consumed;
	uint64_t watcher; /* atomic: pid of that recorder, 0 none */
};

/* Where a chunk stands. Batches lie in it back to back, each in sizeof(struct live_batch) +
 * capacity bytes, up to `used`; any of them may be open. A reader takes `turn`, copies, and takes
 * it again: another value means that the chunk was given to another thread meanwhile. */
struct live_chunk {
	/* atomic: times that the chunk was taken, two steps each: odd while it is being reset */
	uint64_t turn;
	uint64_t generation; /* atomic */
	uint64_t closed;     /* atomic: its number among the closed, from 1; 0 open or free */
	uint32_t state;	     /* atomic: 0 free, 1 in use, 2 closed */
	uint32_t used;	     /* atomic: bytes that were given to batches, open and closed ones */
};

struct live_open_task {
	uint64_t id; /* atomic, released last; 0: free */
	uint64_t parent;
	uint64_t began; /* clock value */
	uint32_t site, tid;
};

#endif
