/* SPDX-License-Identifier: MIT */
/*
 * Station 2 of the road: shared memory that the kernel writes and we read. One contract for every
 * kind of ring: next → a view of one whole record where it lies, release → its space is given back,
 * and loss, damage and the end are items of the same stream instead of something that one has to
 * remember to ask for.
 *
 *	struct coati_ring *ring = NULL;
 *	coati_ring_open(fd, &(struct coati_ring_opts){ .size = sizeof(struct coati_ring_opts),
 *	.data_bytes = 512 * 1024 },
 *			&ring, &err);
 *	struct coati_ring_item item;
 *	while (coati_ring_next(ring, &item) > 0)
 *		use(item.bytes, item.size);
 *	coati_ring_close(&ring);
 *
 * A ring is used by one thread at a time. Views live until the release of their record, which the
 * next call of coati_ring_next() does by itself unless COATI_RING_HOLD is set. Everything that the
 * kernel wrote is read once into locals, checked and then used; the length in a record's header is
 * authoritative.
 *
 * Words shared with the kernel: head is loaded with acquire (it pairs with the kernel's release
 * after writing the bytes), tail is stored with release after the last look at the bytes (it pairs
 * with the kernel's acquire before it writes over them). The tail is stored once for many records:
 * when all that was seen is read, after an eighth of the ring (at most 64 KiB), and at
 * coati_ring_release().
 *
 * Unless a function says otherwise: one object is used by one thread at a time, functions may
 * allocate, and none may be called from a signal handler. Options may be NULL where all of them
 * have a default.
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

/* ---- one ring ---- */

enum coati_ring_kind {
	COATI_RING_UNKNOWN = 0,
	COATI_RING_FORWARD, /* perf event: read as it fills; a full ring loses the newest */
	/* perf event with write_backward: always the newest, read by snapshot */
	COATI_RING_BACKWARD,
	COATI_RING_BPF, /* BPF_MAP_TYPE_RINGBUF */
};

enum coati_item_kind {
	COATI_ITEM_UNKNOWN = 0,
	COATI_ITEM_RECORD,
	COATI_ITEM_LOSS,   /* records that are gone: place, event, count, between which times */
	COATI_ITEM_DAMAGE, /* bytes that are no record: where and how many were skipped to get on */
	/* the ring's events have ended and everything in it was delivered; once per ring */
	COATI_ITEM_END,
};

/* coati_ring_item.flags */
/* Merge: its time lies before what was delivered already. */
#define COATI_ITEM_LATE (UINT32_C(1) << 0)
/* Loss that no record in the ring has told yet: known from the events' own counters. A record that
 * tells it later is made smaller by as much, so that nothing counts twice. */
#define COATI_ITEM_BALANCE (UINT32_C(1) << 1)
/* Loss while the ring was empty: the records can never fit this ring, a larger one is needed
 * (coati_ring_max_record()). */
#define COATI_ITEM_TOO_BIG (UINT32_C(1) << 2)
/* BPF: reserved and discarded by the program (only with COATI_RING_DISCARDS). */
#define COATI_ITEM_DISCARD (UINT32_C(1) << 3)
/* The size inside the record (coati_ring_opts.raw_offset, or that of a LOST record) disagrees with
 * the header: the header was followed. */
#define COATI_ITEM_INNER (UINT32_C(1) << 4)
/* Loss: overwritten, nobody knows how many. */
#define COATI_ITEM_UNKNOWN_COUNT (UINT32_C(1) << 5)

/* One item. A view: bytes live until the record is released. Fields of other kinds are left as they
 * were. */
struct coati_ring_item {
	/* every kind */
	enum coati_item_kind kind;
	uint32_t flags;
	int32_t key;   /* what the ring was opened with: real CPU number or thread id */
	uint32_t size; /* of bytes; for perf rings header and body, BPF: what the program wrote */
	const uint8_t *bytes; /* RECORD, and LOSS when the kernel wrote a record of it; else NULL */
	uint64_t position; /* in the ring's stream: bytes since its start, downwards for BACKWARD */
	uint64_t time;	   /* as found by the time function of a reader, else 0 */
	/* LOSS: @count records of event @id (0: unknown), lost after first_time (the last record of
	 * this ring before) and before last_time (the first one after); 0 where a time is not known
	 */
	uint64_t count, id, first_time, last_time;
	/* DAMAGE: bytes */
	uint64_t skipped;
};

/* coati_ring_opts.flags */
/* space is given back by coati_ring_release() alone */
#define COATI_RING_HOLD	    (UINT32_C(1) << 0)
#define COATI_RING_DISCARDS (UINT32_C(1) << 1) /* BPF: deliver discarded records too */
/* A size that the mlock budget refuses is halved until it fits; coati_ring_data_bytes() tells. */
#define COATI_RING_CLAMP (UINT32_C(1) << 2)
/* AUX: the hardware overwrites the oldest and never stops. */
#define COATI_RING_AUX_OVERWRITE (UINT32_C(1) << 3)

struct coati_ring_opts {
	uint64_t size;
	/* wanted; rounded up to a power of two of pages. 0: 512 KiB. BPF: the map's own size */
	uint64_t data_bytes;
	enum coati_ring_kind kind; /* UNKNOWN: FORWARD */
	uint32_t flags;
	int32_t key;
	/* of the 32-bit size of RAW in samples, when it is at a fixed place; 0: not checked */
	uint32_t raw_offset;
	uint64_t aux_bytes; /* AUX area behind the ring, a power of two of pages; 0 none */
};

struct coati_ring_stats {
	uint64_t records; /* delivered */
	uint64_t bytes; /* of the ring, that these took: headers, padding, discarded ones between */
	uint64_t lost;	/* as far as known */
	uint64_t damaged, skipped_bytes;
	uint64_t discarded; /* BPF */
	uint64_t wakeups;   /* of a reader, for this ring */
};

struct coati_ring;

/* Map the ring of the perf event or BPF ring buffer map @fd. The descriptor stays the caller's and
 * must stay open. -EPERM: over the mlock budget; the text has the budget, the largest size that
 * would fit and the command. */
COATI_API int coati_ring_open(int fd, const struct coati_ring_opts *opts, struct coati_ring **ret,
			      struct coati_error *err);
/* A ring in memory that is laid out as the kernel's (control page, then data, then AUX; BPF:
 * consumer page, producer page, data mapped twice): for tests and for rings that were saved. The
 * memory stays the caller's. */
COATI_API int coati_ring_from_memory(void *memory, size_t bytes, const struct coati_ring_opts *opts,
				     struct coati_ring **ret, struct coati_error *err);
/* NULL and a closed ring are fine. */
COATI_API void coati_ring_close(struct coati_ring **ring);

/* 1 and the next item, 0 nothing there now, negative on error (-EINVAL: a BACKWARD ring without a
 * snapshot). A record that wraps is joined in a buffer of the ring's own. Never waits; BPF: a
 * record that is still being written is waited for in a bounded spin, then 0. Hot. */
COATI_API int coati_ring_next(struct coati_ring *ring, struct coati_ring_item *ret);
/* Give the space of everything delivered so far back to the kernel.  Hot. */
COATI_API void coati_ring_release(struct coati_ring *ring);

/* The bytes that are in the ring right now as at most two spans, for a writer that copies them
 * whole (recording to a file): *ret_first and *ret_second (sizes may be 0) end at a record
 * boundary. Forward rings only. Nothing is checked beyond the positions. Follow with
 * coati_ring_consume(). */
struct coati_span {
	const uint8_t *bytes;
	size_t size;
};
COATI_API int coati_ring_peek(struct coati_ring *ring, struct coati_span *ret_first,
			      struct coati_span *ret_second);
COATI_API void coati_ring_consume(struct coati_ring *ring, size_t bytes);

/* How coati_ring_snapshot() finds the writers. */
enum coati_snapshot_mode {
	COATI_SNAPSHOT_RUNNING = 0, /* copy while they write */
	/* Stop them with the ioctl meanwhile. What they would have written is lost; the kernel
	 * tells how much before the next record. */
	COATI_SNAPSHOT_PAUSE = 1,
	/* The caller says that nobody writes any more: all events of the ring are disabled, or the
	 * ring or its coati_bpf_array is paused. Waits for writers that had begun by then
	 * (membarrier(2), some milliseconds; not for BPF programs that may sleep, and not on a
	 * kernel with nohz_full CPUs). */
	COATI_SNAPSHOT_STOPPED = 2,
};
/* BACKWARD: take a snapshot; afterwards coati_ring_next() walks it from the newest to the oldest
 * whole record, then a LOSS with UNKNOWN_COUNT when something was overwritten. @mode is one of
 * coati_snapshot_mode. STOPPED delivers every whole record. Else what the writers may have
 * overtaken is dropped: four times the largest record in the ring, as those that were at it are not
 * stopped in the middle; with RUNNING at least 4 KiB; at most half of the ring. When somebody did
 * write in spite of STOPPED, it is a snapshot as with RUNNING. A second snapshot delivers only what
 * is newer than the first. */
COATI_API int coati_ring_snapshot(struct coati_ring *ring, int mode, struct coati_error *err);
/* Stop (1) or resume (0) the writers of a perf ring. Forward: what they would have written counts
 * as lost. Idempotent. */
COATI_API int coati_ring_pause(struct coati_ring *ring, int pause, struct coati_error *err);

/* BPF: where the programs count the records for which they found no room. The convention: a
 * BPF_MAP_TYPE_ARRAY or PERCPU_ARRAY of 64-bit values, of which the one at @index belongs to this
 * ring; a program whose reserve or output fails adds one to it. From now on what it grows by comes
 * as LOSS items when the ring has been read to its end. The map should have BPF_F_MMAPABLE: then
 * looking costs no system call. @map_fd stays the caller's; it may be closed afterwards. */
COATI_API int coati_ring_watch_drops(struct coati_ring *ring, int map_fd, uint32_t index,
				     struct coati_error *err);

COATI_API uint64_t coati_ring_unread_bytes(const struct coati_ring *ring);
COATI_API uint64_t coati_ring_data_bytes(const struct coati_ring *ring);
COATI_API uint64_t coati_ring_free_bytes(const struct coati_ring *ring);
/* The largest record that this ring can ever deliver: coati_ring_item.size. */
COATI_API uint64_t coati_ring_max_record(const struct coati_ring *ring);
COATI_API enum coati_ring_kind coati_ring_kind(const struct coati_ring *ring);
/* -1 for a ring in memory. */
COATI_API int coati_ring_fd(const struct coati_ring *ring);
COATI_API int32_t coati_ring_key(const struct coati_ring *ring);
COATI_API void coati_ring_get_stats(const struct coati_ring *ring, struct coati_ring_stats *ret);

/* What the mlock budget allows for @nr_rings rings at once: bytes of data per ring, a power of two
 * of pages; 0 when not even one page fits, UINT64_MAX when there is no limit for us. What other
 * processes of this user hold is not seen. */
COATI_API uint64_t coati_ring_budget(uint32_t nr_rings);

/* AUX area: what is new since the last release, as at most two spans; then give it back. With
 * COATI_RING_AUX_OVERWRITE: the whole area from its oldest byte to the newest, and release does
 * nothing. -EOPNOTSUPP without an AUX area, -EBADMSG when its head makes no sense (the area is
 * skipped and counted as damage). */
COATI_API int coati_ring_aux(struct coati_ring *ring, struct coati_span *ret_first,
			     struct coati_span *ret_second);
COATI_API void coati_ring_aux_release(struct coati_ring *ring, uint64_t bytes);

/* ---- writing to BPF: BPF_MAP_TYPE_USER_RINGBUF ---- */

struct coati_user_ring;

COATI_API int coati_user_ring_open(int map_fd, struct coati_user_ring **ret,
				   struct coati_error *err);
/* Room for one record of @size bytes, or NULL when the ring is full, the record could never fit or
 * one is open. One at a time; 8-byte aligned. Hot. */
COATI_API void *coati_user_ring_reserve(struct coati_user_ring *ring, uint32_t size);
COATI_API void coati_user_ring_submit(struct coati_user_ring *ring);
COATI_API void coati_user_ring_discard(struct coati_user_ring *ring);
/* A record that is open is discarded. */
COATI_API void coati_user_ring_close(struct coati_user_ring **ring);

/* ---- a reader over many rings ---- */

/* The time of a record, for the merge: 1 and *ret, 0 when it has none. Called from
 * coati_reader_next(). */
typedef int (*coati_time_fn)(void *ctx, const struct coati_ring_item *item, uint64_t *ret);

struct coati_reader_opts {
	uint64_t size;
	uint32_t flags; /* none yet */
	uint32_t reserved;
	/* with it: item.time, first and last time of losses; and the merge */
	coati_time_fn time_fn;
	void *time_ctx;
	/* 0: no merge. Else records of all rings come in the order of their times, as long as none
	 * is later than this behind the newest; one that is comes flagged LATE. Records are copied
	 * while they are held back, at most about twice this long. */
	uint64_t merge_delay_ns;
	/* ceiling of what the merge may hold back, 0: 64 MiB; over it the oldest go out early */
	uint64_t merge_bytes;
	/* How often a reader that waits asks its events for losses that no record has told yet: a
	 * ring whose records never fit would else stay silent. 0: only at a flush and at the end.
	 */
	uint64_t loss_check_ns;
	/* How long a reader that waits leaves rings alone that are below their wake-up marks; then
	 * it looks anyway. 0: until a wake, the deadline or a flush. */
	uint64_t look_ns;
};

struct coati_reader_ring_opts {
	uint64_t size;
	/* Of the event: with COATI_READ_LOST losses are asked for, and the balance is exact. */
	uint64_t read_format;
	uint64_t event_id; /* for that loss item */
	/* ring.size may be 0 here. Last, as it may grow. */
	struct coati_ring_opts ring;
};

struct coati_reader;

COATI_API int coati_reader_new(const struct coati_reader_opts *opts, struct coati_reader **ret,
			       struct coati_error *err);
/* Map @fd and add its ring. -EEXIST: the key is taken by a ring that has not ended. */
COATI_API int coati_reader_add(struct coati_reader *rd, int fd,
			       const struct coati_reader_ring_opts *opts, struct coati_error *err);
/* Another event writes into the ring with @key (its output was redirected there): the ring ends
 * when all of them have, and their losses count together. @opts: read_format and event_id, may be
 * NULL. */
COATI_API int coati_reader_attach(struct coati_reader *rd, int32_t key, int fd,
				  const struct coati_reader_ring_opts *opts,
				  struct coati_error *err);
/* Nothing more will come from the ring with @key (a CPU went offline): what it holds is delivered,
 * then its END. */
COATI_API int coati_reader_end(struct coati_reader *rd, int32_t key);
/* Take the ring with @key out at once; what it still held is dropped and counted in
 * skipped_bytes. */
COATI_API int coati_reader_remove(struct coati_reader *rd, int32_t key);
COATI_API uint32_t coati_reader_count(const struct coati_reader *rd);
/* NULL past the end.  Lives: until it is removed. */
COATI_API struct coati_ring *coati_reader_ring(struct coati_reader *rd, uint32_t i);

/* The next item of any ring; waits for one. After any wake all rings are looked at. What is below
 * the wake-up mark of its event stays in its ring until a wake, the deadline, a flush or
 * coati_reader_opts.look_ns.
 *   1           *ret is an item
 *   0           all rings have ended and are drained
 *   -ETIMEDOUT  the deadline has passed, and what was in the rings when it did has been delivered
 *   -ECANCELED  coati_reader_flush() was called, and what was in the rings then has been
 *               delivered, with the losses known by now; what came later is delivered after it.
 *               Once per flush; calls that come before the reader has noticed the first are one,
 *               and so are those that come while one is delivered
 *   -EINTR      coati_reader_wake() was called, or a signal handler ran; nothing was drained for it
 *   -EBADF      closed
 * Thread: one reader.  Hot. */
COATI_API int coati_reader_next(struct coati_reader *rd, struct coati_ring_item *ret);
/* The same without waiting, and without regard to wake-up marks: -EAGAIN when nothing is there
 * now. */
COATI_API int coati_reader_try(struct coati_reader *rd, struct coati_ring_item *ret);
/* Deliver up to @max (0: all that is there) items to @fn without waiting; @fn returns non-zero to
 * stop. Returns the number delivered, or -EBADF. Deadline, flush and wake are left for the next
 * call that reports them. Hot. */
COATI_API int64_t coati_reader_drain(struct coati_reader *rd,
				     int (*fn)(void *ctx, const struct coati_ring_item *),
				     void *ctx, uint64_t max);
/* Wait until some ring may have something (1), all have ended and are empty (0), the deadline
 * passes (-ETIMEDOUT), flush, wake or close; for callers that drain, or use coati_ring_peek() on
 * the rings themselves, after any return. */
COATI_API int coati_reader_wait(struct coati_reader *rd);

/* Absolute, CLOCK_MONOTONIC nanoseconds; -1 none; the past: never wait. A reader that is waiting
 * takes it up at once. -EBADF when closed. Thread: any. Signal: safe. */
COATI_API COATI_SIGSAFE int coati_reader_set_deadline(struct coati_reader *rd, int64_t deadline_ns);
/* Thread: any.  Signal: safe.  Idempotent. */
COATI_API COATI_SIGSAFE void coati_reader_wake(struct coati_reader *rd);
COATI_API COATI_SIGSAFE void coati_reader_flush(struct coati_reader *rd);
/* Ends a wait with -EBADF and every later call; memory is freed by coati_reader_free(). Thread:
 * any. Signal: safe. */
COATI_API COATI_SIGSAFE void coati_reader_close(struct coati_reader *rd);
/* After close, when no thread is in a call any more. NULL is fine. */
COATI_API void coati_reader_free(struct coati_reader **rd);
/* Polls readable when coati_reader_try() may have something to say: for foreign event loops. Call
 * that until -EAGAIN, then poll again. The descriptor stays the reader's; negative errno when it
 * cannot be had. */
COATI_API int coati_reader_fd(struct coati_reader *rd);
/* Sum over all rings, ended and removed ones included. */
COATI_API void coati_reader_get_stats(const struct coati_reader *rd, struct coati_ring_stats *ret);

/* ---- what BPF programs put out: BPF_MAP_TYPE_PERF_EVENT_ARRAY ---- */

/* A bpf-output event and a ring on every online CPU that the map has room for, at the key that is
 * the CPU's own number. */
struct coati_bpf_array;

/* coati_bpf_array_opts.flags */
/* overwritable rings, read by coati_ring_snapshot() */
#define COATI_BPF_ARRAY_BACKWARD (UINT32_C(1) << 0)

struct coati_bpf_array_opts {
	uint64_t size;
	uint64_t data_bytes;	/* per CPU, as in coati_ring_opts */
	uint32_t flags;		/* COATI_BPF_ARRAY_* */
	uint32_t ring_flags;	/* COATI_RING_* */
	uint32_t wakeup_events; /* wake after so many samples; or */
	/* after so many bytes, less than the ring; neither: after every sample */
	uint32_t wakeup_bytes;
	/* What comes with a sample besides RAW: COATI_SAMPLE_IDENTIFIER, IP, TID, TIME, ADDR, ID,
	 * STREAM_ID, CPU, PERIOD. TIME (CLOCK_MONOTONIC) is added when reader.merge_delay_ns asks
	 * for an order. */
	uint64_t sample_type;
	const char *sysfs; /* NULL: "/sys" */
	/* reader.size may be 0 here; without a time_fn our own is used. Last, as it may grow. */
	struct coati_reader_opts reader;
};

struct coati_bpf_array_info {
	uint32_t entries; /* of the map */
	uint32_t open;	  /* CPUs that are read now */
	uint32_t offline; /* possible CPUs that are not online */
	/* online CPUs whose number is past the map's end: programs on them get -E2BIG */
	uint32_t uncovered;
};

COATI_API int coati_bpf_array_open(int map_fd, const struct coati_bpf_array_opts *opts,
				   struct coati_bpf_array **ret, struct coati_error *err);
/* Lives: as long as the array; do not free it. */
COATI_API struct coati_reader *coati_bpf_array_reader(struct coati_bpf_array *array);
/* Take the events out of the map (programs get -ENOENT, nothing counts as lost) and put them back.
 * Idempotent; -EBADF when the reader is closed. Thread: any. */
COATI_API int coati_bpf_array_pause(struct coati_bpf_array *array, struct coati_error *err);
COATI_API int coati_bpf_array_resume(struct coati_bpf_array *array, struct coati_error *err);
/* CPUs came or went: open the new ones, end those that are gone. The number of changes. Thread:
 * reader only. */
COATI_API int coati_bpf_array_rescan(struct coati_bpf_array *array, struct coati_error *err);
/* What a program put out, without header and RAW size: *ret is inside the item. 1; 0 when the item
 * is no sample; -EBADMSG when it is too short. Its end may have up to 7 bytes of padding: the
 * kernel keeps no better length. Samples whose record would be longer than 65528 bytes come with a
 * length cut to 16 bits by the kernel: COATI_ITEM_INNER is set, and the payload ends where the
 * record does. Hot. */
COATI_API int coati_bpf_array_payload(const struct coati_bpf_array *array,
				      const struct coati_ring_item *item, struct coati_span *ret);
COATI_API void coati_bpf_array_get_info(const struct coati_bpf_array *array,
					struct coati_bpf_array_info *ret);
/* Also closes and frees the reader, when no thread is in a call any more. NULL is fine. */
COATI_API void coati_bpf_array_close(struct coati_bpf_array **array);

#ifdef __cplusplus
}
#endif
#endif
