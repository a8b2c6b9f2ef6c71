/* SPDX-License-Identifier: MIT */
/*
 * The profile buffer: a ring buffer between one writer, which may be a signal handler, and one
 * reader. Part of libcoati-live, which needs only libc.
 *
 *	struct coati_profbuf_opts o = { .size = sizeof(o), .header_words = 1 };
 *	size_t bytes = coati_profbuf_bytes(&o);
 *	struct coati_profbuf *buf;
 *	coati_profbuf_init(aligned_alloc(64, bytes), bytes, &o, &buf, &err);
 *	coati_profbuf_writer_init(&writer, buf, bytes, NULL, &err);
 *	coati_profbuf_reader_init(&reader, buf, bytes, NULL, &err);
 *
 *	coati_profbuf_write(&writer, &record);		in the handler
 *
 *	while ((r = coati_profbuf_read(&reader, COATI_PROFBUF_FOREVER, &record)) > 0)
 *		use(&record);				elsewhere
 *
 * A record has a type, a time, a fixed number of header words, any number of stack words and a tag
 * of 64 bits. Records are contiguous, so the reader gets views into the buffer and nothing is
 * copied twice; when a record does not fit before the end of the buffer, the rest is skipped.
 *
 * Nothing is lost silently. A write to a full buffer is counted, and the reader gets each series of
 * such losses as a separate record, with count, first and last time, exactly between the records
 * written before and after. The same applies to a write that interrupted another one on the same
 * buffer (a nested signal). A record that can never fit and a write after close are refused and
 * have their own counters. At the end
 *
 *	calls of write = delivered + lost + too_large + after_close
 *
 * Reader and writer never wait for each other; the only system call of the writer is the one that
 * wakes a sleeping reader.
 *
 * The buffer is one block of memory without pointers (docs/formats/profbuf.md), in private or in
 * shared memory, where another process can read it while the writer runs or after it was killed.
 * The reader does not trust the contents: bytes that cannot be a record are reported as damage and
 * skipped, and nothing outside the block is ever read.
 *
 * After fork() with a buffer in shared memory, parent and child have the same writer: only one of
 * them may continue to write.
 *
 * Unless a function says otherwise: one object is used by one thread at a time, nothing allocates,
 * and none may be called from a signal handler.
 */
#ifndef COATI_PROFBUF_H
#define COATI_PROFBUF_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the buffer ---- */

/* coati_profbuf_opts.flags */
/* Writer and reader may be in different processes: the memory is a shared mapping. */
#define COATI_PROFBUF_SHARED (UINT32_C(1) << 0)
/* Wake the reader through an eventfd, given to writer and reader, instead of a futex in the
 * memory. */
#define COATI_PROFBUF_EVENTFD (UINT32_C(1) << 1)

struct coati_profbuf_opts {
	uint64_t size;
	/* rounded up to a power of two, at least 64; 0: 16384 (128 KiB); at most 2^28 */
	uint64_t data_words;
	uint32_t header_words; /* of every record, at most 256 */
	uint32_t flags;
	/* wake a sleeping reader when this many words are unread. 0: half of the buffer; 1: at
	 * every record */
	uint64_t wake_words;
};

/* The block of memory, after coati_profbuf_init(). */
struct coati_profbuf;

/* The size of a buffer in bytes; 0: invalid options.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE size_t coati_profbuf_bytes(const struct coati_profbuf_opts *opts);
/* Initialize a buffer in @memory (aligned to 64 bytes), which the caller still owns. */
COATI_API int coati_profbuf_init(void *memory, size_t bytes, const struct coati_profbuf_opts *opts,
				 struct coati_profbuf **ret, struct coati_error *err);

struct coati_profbuf_stats {
	uint64_t size;	  /* sizeof(struct coati_profbuf_stats) */
	uint64_t written; /* stored records */
	/* the buffer was full, or the write interrupted another one; all of these are or will be
	 * reported in the stream */
	uint64_t lost;
	uint64_t reentered; /* the part of lost whose write interrupted another one */
	/* refused: more words than coati_profbuf_max_stack(), or too many header words */
	uint64_t too_large;
	uint64_t after_close; /* refused */
	uint64_t wakes;	      /* of a sleeping reader */
	uint32_t closed;
	uint32_t reserved;
};

/* The statistics of the writer; exact while no write is in progress. -EINVAL: ret->size is not set.
 * Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE int coati_profbuf_get_stats(const struct coati_profbuf *buf,
						    struct coati_profbuf_stats *ret);

/* ---- records ---- */

enum coati_profbuf_kind {
	COATI_PROFBUF_UNKNOWN = 0,
	COATI_PROFBUF_DATA,
	COATI_PROFBUF_LOSS,   /* missing records: count, first_ns, last_ns */
	COATI_PROFBUF_DAMAGE, /* words that are not a record: count were skipped */
};

/* A record to write, or a view of a record that was read. @header and @stack of a view are valid
 * until the next call with the same reader. Fields of other kinds are not set. Frozen. */
struct coati_profbuf_record {
	enum coati_profbuf_kind kind; /* ignored by the writer */
	uint32_t type;		      /* chosen by the caller, 16 bits */
	uint64_t time_ns;	      /* any clock; LOSS: first_ns */
	uint64_t tag;		      /* chosen by the caller: a pointer or a number */
	const uint64_t *header;	      /* written: missing words are zero; read: all header_words */
	const uint64_t *stack;
	uint32_t nr_header, nr_stack;
	/* LOSS: how many, and the times of the first and the last one. When a part of the same
	 * series was reported before, first_ns is between the last loss of that part and the first
	 * loss of the rest. */
	uint64_t count, first_ns, last_ns;
};

/* ---- the writer ---- */

struct coati_profbuf_writer_opts {
	uint64_t size;
	/* with COATI_PROFBUF_EVENTFD: an eventfd with EFD_NONBLOCK; without that flag a full one
	 * would block the handler */
	int32_t wake_fd;
	uint32_t reserved;
	/* With COATI_PROFBUF_EVENTFD, instead of wake_fd: a word in this process, which is
	 * incremented and woken as a private futex. For readers of several buffers in programs that
	 * close descriptors they do not own. */
	uint32_t *wake_word;
};

/* A writer: allocated by the caller, its contents are private to the library. Frozen. */
struct coati_profbuf_writer {
	uint64_t words[16];
};

/* One writer per buffer at a time; a new one continues after the records of the previous one. @opts
 * may be NULL.
 *   -EBADMSG     @buf is not a buffer, or is damaged
 *   -EOPNOTSUPP  a buffer of another version or byte order */
COATI_API int coati_profbuf_writer_init(struct coati_profbuf_writer *ret, struct coati_profbuf *buf,
					size_t bytes, const struct coati_profbuf_writer_opts *opts,
					struct coati_error *err);
/* The maximum number of stack words in a record of this buffer: slightly less than half of the
 * buffer, so that a record always fits into an empty one.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE uint32_t coati_profbuf_max_stack(const struct coati_profbuf_writer *writer);

/* Store one record. Every outcome is counted:
 *   0         stored
 *   -ENOBUFS  the buffer is full: lost, and reported to the reader in its place
 *   -EBUSY    this call interrupted another one on the same buffer: lost, likewise
 *   -E2BIG    it can never fit: refused
 *   -EBADF    the buffer is closed: refused
 * Keeps errno, and copies everything.  Hot.  Thread: one at a time.  Signal: safe.  Memory: never
 * allocates. */
COATI_API COATI_SIGSAFE int coati_profbuf_write(struct coati_profbuf_writer *writer,
						const struct coati_profbuf_record *record);

/* Refuse further writes: stored records are still delivered, then the reader gets the end. A write
 * in progress in another thread is either stored or refused, and counted accordingly. Closing again
 * does nothing.  Thread: any of the writer's process.  Signal: safe. */
COATI_API COATI_SIGSAFE void coati_profbuf_close(struct coati_profbuf_writer *writer);

/* ---- the reader ---- */

/* Called once for each DATA record when its view becomes invalid. */
typedef void (*coati_profbuf_release_fn)(void *ctx, uint64_t tag);

/* coati_profbuf_reader_opts.flags */
/* The writer is dead, or the memory is a copy: it does not change, the reader does not write to it
 * (it may be mapped read-only), and the end follows the last record. */
#define COATI_PROFBUF_DEAD (UINT32_C(1) << 0)

struct coati_profbuf_reader_opts {
	uint64_t size;
	uint32_t flags;
	/* the eventfd of COATI_PROFBUF_EVENTFD; needed if coati_profbuf_read() is to sleep */
	int32_t wake_fd;
	coati_profbuf_release_fn release; /* or NULL */
	void *release_ctx;
};

/* A reader: allocated by the caller, its contents are private to the library. Frozen. */
struct coati_profbuf_reader {
	uint64_t words[32];
};

/* One reader per buffer at a time; a new one continues after the records that the previous one
 * released. @opts may be NULL. Same errors as for the writer. */
COATI_API int coati_profbuf_reader_init(struct coati_profbuf_reader *ret, struct coati_profbuf *buf,
					size_t bytes, const struct coati_profbuf_reader_opts *opts,
					struct coati_error *err);
/* Releases all records that were delivered. */
COATI_API COATI_SIGSAFE void coati_profbuf_reader_fini(struct coati_profbuf_reader *reader);

/* Deadlines are CLOCK_MONOTONIC nanoseconds. */
#define COATI_PROFBUF_NOW     UINT64_C(0)
#define COATI_PROFBUF_FOREVER UINT64_MAX

/* Get the next record, oldest first; the view of the previous one becomes invalid. If there is
 * none, sleep until wake_words are unread, something was lost, the buffer is closed, or
 * @deadline_ns has passed.
 *   1           *ret is a record
 *   0           the end: closed, and everything was delivered; later calls return 0 too
 *   -EAGAIN     there is no record now, and the deadline is COATI_PROFBUF_NOW
 *   -ETIMEDOUT  there is no record, and the deadline has passed
 * Other errors come from sleeping (-EBADF: no eventfd was given).  Hot. */
COATI_API COATI_SIGSAFE int coati_profbuf_read(struct coati_profbuf_reader *reader,
					       uint64_t deadline_ns,
					       struct coati_profbuf_record *ret);
/* Release the space of all delivered records to the writer now. This also happens automatically
 * when no record is left, and after an eighth of the buffer. */
COATI_API COATI_SIGSAFE void coati_profbuf_release(struct coati_profbuf_reader *reader);
/* For event loops, with COATI_PROFBUF_EVENTFD: request a wakeup. 1: coati_profbuf_read() has
 * something to return now; 0: it has not, and the eventfd will become readable when it has. Read
 * the eventfd before the next call. Invalidates the view, as a read does. */
COATI_API COATI_SIGSAFE int coati_profbuf_arm(struct coati_profbuf_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
