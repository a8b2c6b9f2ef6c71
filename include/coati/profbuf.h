/* SPDX-License-Identifier: MIT */
/*
 * A buffer between one writer and one reader, where the writer may be a signal handler: the profile
 * buffer. Part of libcoati-live, which needs libc alone.
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
 * A record is a type and a time, a fixed number of header words, any number of stack words and a
 * tag of 64 bits. Records are stored whole and in one piece, so that the reader is given views into
 * the buffer and nothing is copied twice; where one does not fit before the end, the rest is
 * skipped.
 *
 * Nothing is lost silently. A write that finds no room is counted, and the run of such losses comes
 * out of the reader as a record of its own, with count, first and last time, exactly between what
 * was written before and after. The same goes for a write that interrupted another one on the same
 * buffer (a nested signal). A record that could never fit and a write after close are refused and
 * have counters of their own. At the end
 *
 *	calls of write = delivered + lost + too_large + after_close
 *
 * The reader never makes the writer wait, and the other way round; the writer makes no system call
 * but the one that wakes a sleeping reader.
 *
 * The buffer is one block of memory without pointers (docs/formats/profbuf.md): in memory of the
 * caller's, or in shared memory, where another process reads it while the writer lives or after it
 * was killed. The reader believes nothing that it finds there: what cannot be a record is told as
 * damage and skipped, and nothing outside the block is ever read.
 *
 * After fork() in a process with a buffer in shared memory, parent and child hold the same writer:
 * only one of them may go on to write.
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
/* Writer and reader may be in different processes: the memory is mapped shared. */
#define COATI_PROFBUF_SHARED (UINT32_C(1) << 0)
/* The reader is woken through an eventfd that writer and reader are given, instead of a futex in
 * the memory. */
#define COATI_PROFBUF_EVENTFD (UINT32_C(1) << 1)

struct coati_profbuf_opts {
	uint64_t size;
	/* rounded up to a power of two, 64 at least; 0: 16384 (128 KiB); at most 2^28 */
	uint64_t data_words;
	uint32_t header_words; /* of every record, at most 256 */
	uint32_t flags;
	/* a sleeping reader is woken when so many words are unread. 0: half of the buffer; 1: at
	 * every record */
	uint64_t wake_words;
};

/* The block of memory, when it has been made one. */
struct coati_profbuf;

/* How much memory a buffer takes; 0 when the options cannot be.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE size_t coati_profbuf_bytes(const struct coati_profbuf_opts *opts);
/* Make a buffer of @memory (aligned to 64 bytes), which stays the caller's. */
COATI_API int coati_profbuf_init(void *memory, size_t bytes, const struct coati_profbuf_opts *opts,
				 struct coati_profbuf **ret, struct coati_error *err);

struct coati_profbuf_stats {
	uint64_t size;	  /* sizeof(struct coati_profbuf_stats) */
	uint64_t written; /* records that were stored */
	/* no room, or interrupted another write; all of it is or will be told in the stream */
	uint64_t lost;
	uint64_t reentered; /* the part of lost that interrupted another write */
	/* refused: more words than coati_profbuf_max_stack(), or too many header words */
	uint64_t too_large;
	uint64_t after_close; /* refused */
	uint64_t wakes;	      /* of a sleeping reader */
	uint32_t closed;
	uint32_t reserved;
};

/* What the writer has done up to now; exact while it does nothing. -EINVAL: ret->size is not set.
 * Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE int coati_profbuf_get_stats(const struct coati_profbuf *buf,
						    struct coati_profbuf_stats *ret);

/* ---- records ---- */

enum coati_profbuf_kind {
	COATI_PROFBUF_UNKNOWN = 0,
	COATI_PROFBUF_DATA,
	COATI_PROFBUF_LOSS,   /* writes that are not there: count, first_ns, last_ns */
	COATI_PROFBUF_DAMAGE, /* words that are no record: count were skipped */
};

/* What is written, and a view of what is read. @header and @stack of a view live until the next
 * call with the same reader. Fields of other kinds are left as they were. Frozen. */
struct coati_profbuf_record {
	enum coati_profbuf_kind kind; /* not looked at by the writer */
	uint32_t type;		      /* the caller's, 16 bits are kept */
	uint64_t time_ns;	      /* the caller's clock; LOSS: first_ns */
	uint64_t tag;		      /* the caller's: a pointer or a number */
	const uint64_t *header;	      /* written: missing words are zero; read: all header_words */
	const uint64_t *stack;
	uint32_t nr_header, nr_stack;
	/* LOSS: how many, and the times of the first and the last one. When a part of the same run
	 * of losses was told before, first_ns is no later than the first one of the rest, and no
	 * earlier than the last one of that part. */
	uint64_t count, first_ns, last_ns;
};

/* ---- the writer ---- */

struct coati_profbuf_writer_opts {
	uint64_t size;
	/* with COATI_PROFBUF_EVENTFD: an eventfd with EFD_NONBLOCK, else a full one would stop the
	 * handler */
	int32_t wake_fd;
	uint32_t reserved;
	/* With COATI_PROFBUF_EVENTFD, in place of a wake_fd: a word of this process, which is
	 * counted up and woken as a private futex. For readers of several buffers in programs that
	 * close descriptors which they do not know. */
	uint32_t *wake_word;
};

/* The writer's side: the caller's memory, the library's contents. Frozen. */
struct coati_profbuf_writer {
	uint64_t words[16];
};

/* One writer per buffer at a time; a new one goes on behind what the one before has stored. @opts
 * may be NULL.
 *   -EBADMSG     this is no buffer, or a damaged one
 *   -EOPNOTSUPP  one of another version or byte order */
COATI_API int coati_profbuf_writer_init(struct coati_profbuf_writer *ret, struct coati_profbuf *buf,
					size_t bytes, const struct coati_profbuf_writer_opts *opts,
					struct coati_error *err);
/* The most stack words that a record of this buffer may have: somewhat less than half of the
 * buffer, so that a record always fits into an empty one.  Thread: any.  Signal: safe. */
COATI_API COATI_SIGSAFE uint32_t coati_profbuf_max_stack(const struct coati_profbuf_writer *writer);

/* Store one record. Whatever happens is counted:
 *   0         stored
 *   -ENOBUFS  no room: lost, told to the reader in its place
 *   -EBUSY    this call interrupted another one on the same buffer: lost, likewise
 *   -E2BIG    it can never fit: refused
 *   -EBADF the buffer is closed: refused errno is kept. Hot. Thread: one at a time. Signal: safe.
 *   Memory: never allocates. Lives: copies everything. */
COATI_API COATI_SIGSAFE int coati_profbuf_write(struct coati_profbuf_writer *writer,
						const struct coati_profbuf_record *record);

/* No more writes: whatever was stored is still delivered, then the reader finds the end. A write
 * that is under way in another thread is stored or refused, and counted as what happened. Closing
 * again does nothing.  Thread: any of the writer's process.  Signal: safe. */
COATI_API COATI_SIGSAFE void coati_profbuf_close(struct coati_profbuf_writer *writer);

/* ---- the reader ---- */

/* Called once for each DATA record when its view ends. */
typedef void (*coati_profbuf_release_fn)(void *ctx, uint64_t tag);

/* coati_profbuf_reader_opts.flags */
/* The writer is dead, or the memory is a copy: nothing in it will change, nothing is written to it
 * (it may be mapped read-only), and the end comes after what is there. */
#define COATI_PROFBUF_DEAD (UINT32_C(1) << 0)

struct coati_profbuf_reader_opts {
	uint64_t size;
	uint32_t flags;
	/* with COATI_PROFBUF_EVENTFD, and to sleep in coati_profbuf_read() at all: that eventfd */
	int32_t wake_fd;
	coati_profbuf_release_fn release; /* or NULL */
	void *release_ctx;
};

/* The reader's side: the caller's memory, the library's contents. Frozen. */
struct coati_profbuf_reader {
	uint64_t words[32];
};

/* One reader per buffer at a time; a new one goes on behind what the one before has given back.
 * @opts may be NULL. Errors as for the writer. */
COATI_API int coati_profbuf_reader_init(struct coati_profbuf_reader *ret, struct coati_profbuf *buf,
					size_t bytes, const struct coati_profbuf_reader_opts *opts,
					struct coati_error *err);
/* Gives everything back that was delivered. */
COATI_API COATI_SIGSAFE void coati_profbuf_reader_fini(struct coati_profbuf_reader *reader);

/* Deadlines are CLOCK_MONOTONIC nanoseconds. */
#define COATI_PROFBUF_NOW     UINT64_C(0)
#define COATI_PROFBUF_FOREVER UINT64_MAX

/* The next record, oldest first; the view of the one before ends here. When there is none, sleep
 * until as much is there as was asked for with wake_words, something was lost, the buffer is
 * closed, or @deadline_ns has passed.
 *   1           *ret is a record
 *   0           the end: closed, and everything was delivered; again and again
 *   -EAGAIN     nothing is there now, and the deadline is COATI_PROFBUF_NOW
 *   -ETIMEDOUT  nothing is there, and the deadline has passed
 * Other errors come from sleeping (-EBADF: no eventfd was given).  Hot. */
COATI_API COATI_SIGSAFE int coati_profbuf_read(struct coati_profbuf_reader *reader,
					       uint64_t deadline_ns,
					       struct coati_profbuf_record *ret);
/* Give the space of everything that was delivered back to the writer now. It happens by itself when
 * all that was seen is read, and after an eighth of the buffer. */
COATI_API COATI_SIGSAFE void coati_profbuf_release(struct coati_profbuf_reader *reader);
/* For event loops of the caller's, with COATI_PROFBUF_EVENTFD: ask to be woken. 1 when
 * coati_profbuf_read() has something to say now; 0 when not, and the eventfd will become readable
 * when it has. Read the eventfd before asking again. Ends the view, as a read does. */
COATI_API COATI_SIGSAFE int coati_profbuf_arm(struct coati_profbuf_reader *reader);

#ifdef __cplusplus
}
#endif
#endif
