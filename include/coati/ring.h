/* SPDX-License-Identifier: MIT */
/*
 * Ring buffers: memory that the kernel writes and a program reads. Every kind of ring is read the
 * same way: next returns a view of one whole record, release frees its space, and loss, damage and
 * the end are items of the same stream.
 *
 *	struct coati_ring_opts o = { .size = sizeof(o), .data_bytes = 512 * 1024 };
 *	struct coati_ring *ring = NULL;
 *	struct coati_ring_item item;
 *
 *	coati_ring_open(fd, &o, &ring, &err);
 *	while (coati_ring_next(ring, &item) > 0)
 *		use(item.bytes, item.size);
 *	coati_ring_close(&ring);
 *
 * A reader waits for any number of rings, sorts their records by time and accounts for losses.
 *
 * Views are valid until their record is released; coati_ring_next() releases the previous record
 * unless COATI_RING_HOLD is set. What the kernel wrote is read once, checked, and then used; the
 * size in the header of a record is authoritative.
 *
 * Unless a function says otherwise: one object is used by one thread at a time, functions may
 * allocate memory, and none may be called from a signal handler. Options may be NULL where all of
 * them have a default. coati-ring(3) has an example.
 */
#ifndef COATI_RING_H
#define COATI_RING_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- one ring ------------------------------------------------------------------------------- */

enum coati_ring_kind {
	COATI_RING_UNKNOWN = 0,
	/* perf event: read while it fills; a full ring loses the newest records */
	COATI_RING_FORWARD,
	/* perf event with COATI_ATTR_WRITE_BACKWARD: keeps the newest records, read by snapshots */
	COATI_RING_BACKWARD,
	COATI_RING_BPF, /* BPF_MAP_TYPE_RINGBUF */
};

enum coati_item_kind {
	COATI_ITEM_UNKNOWN = 0,
	COATI_ITEM_RECORD,
	COATI_ITEM_LOSS,   /* records are missing: which event, how many, between which times */
	COATI_ITEM_DAMAGE, /* bytes that are not a record: how many were skipped */
	/* the ring's events have ended and everything in it was delivered; once per ring */
	COATI_ITEM_END,
};

/* coati_ring_item.flags */
/* Merge: its time is before records that were delivered already. */
#define COATI_ITEM_LATE (UINT32_C(1) << 0)
/* Loss that is known from the events' own counters before a record in the ring reports it. That
 * record is reduced by the same number, so that nothing counts twice. */
#define COATI_ITEM_BALANCE (UINT32_C(1) << 1)
/* Loss while the ring was empty: the records never fit, and a larger ring is needed. */
#define COATI_ITEM_TOO_BIG (UINT32_C(1) << 2)
/* BPF: reserved and discarded by the program (only with COATI_RING_DISCARDS). */
#define COATI_ITEM_DISCARD (UINT32_C(1) << 3)
/* A size inside the record (coati_ring_opts.raw_offset, or that of a LOST record) contradicts the
 * header; the size in the header was used. */
#define COATI_ITEM_INNER (UINT32_C(1) << 4)
/* Loss: overwritten, and the number is not known. */
#define COATI_ITEM_UNKNOWN_COUNT (UINT32_C(1) << 5)

/* One item of a ring. Fields of other kinds are not set. Frozen. */
struct coati_ring_item {
	/* every kind */
	enum coati_item_kind kind;
	uint32_t flags; /* COATI_ITEM_* */
	int32_t key;	/* of the ring: a CPU or thread number, see coati_ring_opts.key */
	uint32_t size;	/* of bytes; perf: header and body, BPF: what the program wrote */
	/* RECORD, and LOSS when the kernel wrote a record of it; otherwise NULL */
	const uint8_t *bytes;
	/* in the stream of the ring: bytes since its start, downwards for BACKWARD */
	uint64_t position;
	uint64_t time; /* from the time function of a reader, otherwise 0 */
	/* LOSS: @count records of event @id (0: not known) were lost after first_time (the last
	 * record before) and before last_time (the first record after); 0: time not known */
	uint64_t count, id, first_time, last_time;
	/* DAMAGE: bytes */
	uint64_t skipped;
};

/* coati_ring_opts.flags */
#define COATI_RING_HOLD	    (UINT32_C(1) << 0) /* only coati_ring_release() frees space */
#define COATI_RING_DISCARDS (UINT32_C(1) << 1) /* BPF: deliver discarded records too */
/* Halve the size until the mlock limit allows it. */
#define COATI_RING_CLAMP (UINT32_C(1) << 2)

struct coati_ring_opts {
	uint64_t size; /* sizeof(struct coati_ring_opts) */
	/* rounded up to a power of two of pages. 0: 512 KiB. BPF: the size of the map */
	uint64_t data_bytes;
	enum coati_ring_kind kind; /* UNKNOWN: FORWARD */
	uint32_t flags;		   /* COATI_RING_* */
	int32_t key;		   /* any number: returned in each item */
	/* offset of the 32-bit size of RAW in samples, if it is fixed; 0: do not check it */
	uint32_t raw_offset;
	/* size of an AUX area; 0: none. There is no stable call to read it yet */
	uint64_t aux_bytes;
};

struct coati_ring_stats {
	uint64_t size;		/* sizeof(struct coati_ring_stats) */
	uint64_t records;	/* delivered */
	uint64_t bytes;		/* of these records in the ring, with headers and padding */
	uint64_t lost;		/* as far as known */
	uint64_t damaged;	/* places with bytes that are not a record */
	uint64_t skipped_bytes; /* at these places */
	uint64_t discarded;	/* BPF */
	uint64_t wakeups;	/* of a reader, for this ring */
};

struct coati_ring;

/* Map the ring of the perf event or BPF ring buffer map @fd. The caller keeps the descriptor and
 * must keep it open. -EPERM: over the mlock limit; the message has the limit, the largest size that
 * fits and the command to raise it. */
COATI_API int coati_ring_open(int fd, const struct coati_ring_opts *opts, struct coati_ring **ret,
			      struct coati_error *err);
/* *ring becomes NULL; NULL is fine. */
COATI_API void coati_ring_close(struct coati_ring **ring);

/* The next item: 1 and *ret; 0: no item now; negative: -EINVAL a BACKWARD ring without a snapshot.
 * A record that wraps around the end is joined in a buffer of the ring. Does not sleep; spins
 * briefly for a BPF record that is being written, then returns 0. */
COATI_API int coati_ring_next(struct coati_ring *ring, struct coati_ring_item *ret);
/* Release the space of everything that was delivered to the kernel. */
COATI_API void coati_ring_release(struct coati_ring *ring);

/* How coati_ring_snapshot() treats writers. */
enum coati_snapshot_mode {
	COATI_SNAPSHOT_RUNNING = 0, /* copy while they write */
	/* Pause them during the copy. Records from that time are lost, and the kernel reports the
	 * loss before the next record. */
	COATI_SNAPSHOT_PAUSE = 1,
	/* The caller has disabled all events of the ring. Waits for writers that had begun by then
	 * (membarrier(2), some milliseconds; not for BPF programs that may sleep, and not on a
	 * kernel with nohz_full CPUs). */
	COATI_SNAPSHOT_STOPPED = 2,
};
/* BACKWARD: take a snapshot; then coati_ring_next() gives its records from the newest to the oldest
 * whole one, and a LOSS with UNKNOWN_COUNT when something was overwritten. @mode is one of enum
 * coati_snapshot_mode. STOPPED delivers every whole record. The other modes drop records that
 * writers may have overwritten meanwhile: four times the largest record, with RUNNING at least 4
 * KiB, at most half of the ring. A second snapshot gives only records that are newer than the
 * first. */
COATI_API int coati_ring_snapshot(struct coati_ring *ring, int mode, struct coati_error *err);

/* BPF: where programs count records that did not fit: element @index of a map of the type ARRAY or
 * PERCPU_ARRAY with 64-bit values. A program adds one when its reserve or output fails. The
 * increase is delivered as LOSS items when the ring has been read to its end. With BPF_F_MMAPABLE
 * the check needs no system call. The caller keeps @map_fd and may close it afterwards. */
COATI_API int coati_ring_watch_drops(struct coati_ring *ring, int map_fd, uint32_t index,
				     struct coati_error *err);

/* The key with which it was opened. */
COATI_API int32_t coati_ring_key(const struct coati_ring *ring);
/* 0; -EINVAL: ret->size is not set. */
COATI_API int coati_ring_get_stats(const struct coati_ring *ring, struct coati_ring_stats *ret);

/* ---- a reader over many rings ---- */

/* The time of a record, for the merge: 1 and *ret, 0 when it has none. coati_raw_time() finds
 * it. */
typedef int (*coati_time_fn)(void *ctx, const struct coati_ring_item *item, uint64_t *ret);

struct coati_reader_opts {
	uint64_t size;	/* sizeof(struct coati_reader_opts) */
	uint32_t flags; /* none yet: 0 */
	uint32_t reserved;
	coati_time_fn time_fn; /* for item.time, the times of losses, and the merge; or NULL */
	void *time_ctx;
	/* 0: no merge. Otherwise records of all rings are delivered in order of time; a record that
	 * arrives more than this much behind the newest one has COATI_ITEM_LATE. Records are copied
	 * and delayed by at most about twice this time. */
	uint64_t merge_delay_ns;
	/* limit for the records that the merge delays, 0: 64 MiB; above it the oldest are delivered
	 * early */
	uint64_t merge_bytes;
	/* How often a waiting reader asks its events for losses that no record has reported yet:
	 * otherwise a ring whose records never fit would report nothing. 0: only at a flush and at
	 * the end */
	uint64_t loss_check_ns;
	/* How often a waiting reader checks rings that are below their wakeup mark. 0: only at a
	 * wakeup, the deadline or a flush */
	uint64_t look_ns;
};

struct coati_reader_ring_opts {
	uint64_t size; /* sizeof(struct coati_reader_ring_opts) */
	/* of the event: with COATI_READ_LOST, the event is asked for its losses and the count is
	 * exact */
	uint64_t read_format;
	uint64_t event_id; /* the id of such a loss item */
	/* ring.size may be 0 here. The last member, because it may grow. */
	struct coati_ring_opts ring;
};

struct coati_reader;

/* @opts may be NULL. */
COATI_API int coati_reader_new(const struct coati_reader_opts *opts, struct coati_reader **ret,
			       struct coati_error *err);
/* Map the ring of @fd and add it. -EEXIST: another ring has its key. */
COATI_API int coati_reader_add(struct coati_reader *rd, int fd,
			       const struct coati_reader_ring_opts *opts, struct coati_error *err);
/* Another event writes into the ring with @key (coati_event_set_output()): the ring ends when all
 * of them have ended, and their losses count together. @opts: read_format and event_id, may be
 * NULL. */
COATI_API int coati_reader_attach(struct coati_reader *rd, int32_t key, int fd,
				  const struct coati_reader_ring_opts *opts,
				  struct coati_error *err);
/* Remove the ring with @key at once; records that are still in it are dropped and counted in
 * skipped_bytes. */
COATI_API int coati_reader_remove(struct coati_reader *rd, int32_t key);
/* Ring number @i, from 0; NULL past the last. Lives until it is removed. */
COATI_API struct coati_ring *coati_reader_ring(struct coati_reader *rd, uint32_t i);

/* The next item of any ring; waits for one. Records below the wakeup mark of their event stay in
 * their ring until a wakeup, the deadline, a flush or coati_reader_opts.look_ns.
 *   1           *ret is an item
 *   0           all rings have ended, and everything was delivered
 *   -ETIMEDOUT  the deadline has passed, and what was in the rings then was delivered
 *   -ECANCELED  coati_reader_flush() was called, and what was in the rings then was delivered, with
 *               the losses known by now. Once per flush; flushes before the first is noticed count
 *               as one
 *   -EINTR      coati_reader_wake() was called, or a signal handler ran
 *   -EBADF      the reader is closed
 * Thread: one at a time. */
COATI_API int coati_reader_next(struct coati_reader *rd, struct coati_ring_item *ret);
/* The same without waiting, ignoring wakeup marks: -EAGAIN when there is no item now. */
COATI_API int coati_reader_try(struct coati_reader *rd, struct coati_ring_item *ret);

/* CLOCK_MONOTONIC nanoseconds; -1: none. It takes effect at once, even on a reader that is waiting.
 * -EBADF: the reader is closed.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE int coati_reader_set_deadline(struct coati_reader *rd, int64_t deadline_ns);
/* Interrupt a wait; deliver everything, see coati_reader_next().  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE void coati_reader_wake(struct coati_reader *rd);
COATI_API COATI_SIGSAFE void coati_reader_flush(struct coati_reader *rd);
/* End a wait, and every later call, with -EBADF; coati_reader_free() frees the memory.
 * Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE void coati_reader_close(struct coati_reader *rd);
/* Call it when no other thread uses the reader. *rd becomes NULL; NULL is fine. */
COATI_API void coati_reader_free(struct coati_reader **rd);
/* A descriptor for other event loops: when it polls readable, call coati_reader_try() until
 * -EAGAIN. The reader keeps it: do not close it. */
COATI_API int coati_reader_fd(struct coati_reader *rd);
/* Sums over all rings, also those that ended or were removed. -EINVAL: ret->size is not set. */
COATI_API int coati_reader_get_stats(const struct coati_reader *rd, struct coati_ring_stats *ret);

/* ---- output of BPF programs: BPF_MAP_TYPE_PERF_EVENT_ARRAY ---- */

/* An event and a ring on every online CPU for which the map has an element. */
struct coati_bpf_array;

struct coati_bpf_array_opts {
	uint64_t size;		/* sizeof(struct coati_bpf_array_opts) */
	uint64_t data_bytes;	/* per CPU, as in coati_ring_opts */
	uint32_t flags;		/* none yet: 0 */
	uint32_t ring_flags;	/* COATI_RING_* */
	uint32_t wakeup_events; /* wake after this many samples, or */
	uint32_t wakeup_bytes;	/* after this many bytes; both 0: after every sample */
	/* Fields of a sample besides RAW: COATI_SAMPLE_IDENTIFIER, IP, TID, TIME, ADDR, ID,
	 * STREAM_ID, CPU, PERIOD. TIME (CLOCK_MONOTONIC) is added for reader.merge_delay_ns. */
	uint64_t sample_type;
	const char *sysfs; /* NULL: "/sys" */
	/* reader.size may be 0 here; there is a time_fn by default. The last member, because it may
	 * grow. */
	struct coati_reader_opts reader;
};

/* Open the rings, put the events into the map, and make a reader over them. */
COATI_API int coati_bpf_array_open(int map_fd, const struct coati_bpf_array_opts *opts,
				   struct coati_bpf_array **ret, struct coati_error *err);
/* Its reader; the keys are CPU numbers. Do not free it. */
COATI_API struct coati_reader *coati_bpf_array_reader(struct coati_bpf_array *array);

/* Bytes. Frozen. */
struct coati_span {
	const uint8_t *bytes;
	size_t size;
};
/* The data that the program wrote, inside the item: 1 and *ret; 0: the item is not a sample;
 * -EBADMSG: it is too short. Up to 7 bytes of padding may follow: the kernel does not store the
 * exact length. For a record over 65528 bytes the kernel cuts the length to 16 bits: the payload
 * ends where the record does, and the item has COATI_ITEM_INNER. */
COATI_API int coati_bpf_array_payload(const struct coati_bpf_array *array,
				      const struct coati_ring_item *item, struct coati_span *ret);
/* Free the array and its reader; no other thread may be using them. *array becomes NULL; NULL is
 * fine. */
COATI_API void coati_bpf_array_close(struct coati_bpf_array **array);

#ifdef __cplusplus
}
#endif
#endif
