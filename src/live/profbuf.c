/* SPDX-License-Identifier: MIT */
/*
 * The writer's side of the profile buffer. In: records, from a signal handler or not. Out: whole
 * records in the buffer, or a count of why not. No lock, no loop that depends on the reader, no
 * read-modify-write and no fence unless something was lost or the reader may have to be woken.
 *
 * Three things have to be ordered between threads, and each has its own means:
 *
 * 1. A record is seen whole: "stored" is released after the words and acquired before them.
 * 2. No wake is lost: writer "stored, fence, sleeping?" and reader "sleeping, fence, stored?"
 *    cannot both see the old value. The writer pays only when
 *    enough may be unread: see look_after_reader().
 * 3. No record comes after the end: writer "busy, closed?" and closer "closing, barrier, closed";
 *    the reader finds the end when it has seen "closed" and then not "busy". The barrier is
 *    membarrier(), which makes the writer's two accesses ordered without an instruction there;
 *    where it is not available the writer has a fence ("fenced").
 *
 * tests/models/profbuf.pml is the model of it, with the writer's store buffer.
 */
#include "base/sized.h"
#include "live/profbuf.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

/* Counters of the writer alone, under "busy". */
static void count(_Atomic uint64_t *word)
{
	atomic_store_explicit(word, load(word) + 1, memory_order_relaxed);
}

static struct profbuf_writer *inside(struct coati_profbuf_writer *writer)
{
	return (struct profbuf_writer *)(void *)writer;
}

/* ---- waking the reader ---- */

static void wake(const struct profbuf_writer *w)
{
	struct coati_profbuf *buf = w->buf;
	const uint64_t one = 1;
	int keep = errno;
	long r;

	/* Who takes the flag back wakes; the next one finds it gone. Release: pairs with the
	 * acquire in the reader's sleep_until(). */
	if (!atomic_exchange_explicit(&buf->sleeping, 0, memory_order_acq_rel))
		return;
	atomic_fetch_add_explicit(&buf->wakes, 1, memory_order_relaxed);
	if (w->wake_word) {
		/* pairs with: acquire by who sleeps on it */
		__atomic_fetch_add(w->wake_word, 1, __ATOMIC_RELEASE);
		r = syscall(SYS_futex, w->wake_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	} else if (w->eventfd)
		r = write(w->wake_fd, &one, sizeof(one));
	else
		r = syscall(SYS_futex, &buf->sleeping,
			    FUTEX_WAKE | (w->shared ? 0 : FUTEX_PRIVATE_FLAG), 1, NULL, NULL, 0);
	/* an eventfd that is full is readable already; more cannot be done about other failures */
	(void)r;
	errno = keep;
}

/* Something was stored or lost before this; a reader that does not see it has said by now that it
 * sleeps. */
static void wake_sleeper(const struct profbuf_writer *w)
{
	/* pairs with: the fence in coati_profbuf_read()'s sleep. Store buffering: of "we do not see
	 * sleeping" and "it does not see the record" only one can be. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&w->buf->sleeping, memory_order_relaxed))
		wake(w);
}

/* The reader can only be asleep at a position where it has read everything that it saw. "floor" is
 * a lower bound of that position: one that it has given back, or one that we had stored before a
 * fence after which it was awake. So with less than wake_words after it the reader need not be
 * woken, whatever is still on its way from here to there; and a writer that is ahead pays for a
 * fence once in wake_words. */
static void look_after_reader(struct profbuf_writer *w)
{
	if (w->pos - w->floor < w->wake_words)
		return;
	/* pairs with: release of given in the reader; used for the room, too */
	w->given = atomic_load_explicit(&w->buf->given, memory_order_acquire);
	w->floor = w->given;
	if (w->pos - w->given < w->wake_words)
		return;
	w->floor = w->pos;
	wake_sleeper(w);
}

/* ---- losing ---- */

/* One more is lost. May interrupt itself: then the inner call is first. */
static void lose(struct profbuf_writer *w, uint64_t time_ns)
{
	struct coati_profbuf *buf = w->buf;
	uint64_t n = load(&buf->lost);

	do {
		if (n == load(&buf->marked)) {
			/* A new run. Release: a reader that sees this sees the record before it,
			 * "stored"; pairs with: acquire in the reader's tell_end() */
			atomic_store_explicit(&buf->run_base, n, memory_order_release);
			atomic_store_explicit(&buf->run_first, time_ns, memory_order_release);
		}
		/* The time of loss n stays untouched until n + 1 is counted. Release: as above, for
		 * n + 1. */
		atomic_store_explicit(&buf->run_last[(n + 1) & 1], time_ns, memory_order_release);
		/* pairs with: acquire of lost in the reader */
	} while (!atomic_compare_exchange_strong_explicit(
		&buf->lost, &n, n + 1, memory_order_release, memory_order_relaxed));
	/* the next has a mark in front */
	atomic_store_explicit(&w->limit, w->pos, memory_order_relaxed);
	wake_sleeper(w);
}

/* ---- storing ---- */

/* Where @words from @pos on really start: there, or at the beginning of the next lap. */
static uint64_t start_of(const struct profbuf_writer *w, uint64_t pos, uint64_t words)
{
	uint64_t left = w->mask + 1 - (pos & w->mask);

	return words <= left ? pos : pos + left;
}

static void pad(struct profbuf_writer *w, uint64_t pos, uint64_t start)
{
	if (start != pos)
		w->data[pos & w->mask] = profbuf_word(start - pos, PROFBUF_PAD, 0);
}

static void put_loss(struct profbuf_writer *w, uint64_t pos, uint64_t lost)
{
	struct coati_profbuf *buf = w->buf;
	uint64_t *at = w->data + (pos & w->mask);

	at[0] = profbuf_word(PROFBUF_LOSS_WORDS, COATI_PROFBUF_LOSS, 0);
	at[1] = load(&buf->run_last[lost & 1]);
	at[2] = lost;
	at[3] = load(&buf->run_base);
	at[4] = load(&buf->run_first);
}

static inline void put_record(struct profbuf_writer *w, uint64_t pos, uint64_t words,
			      const struct coati_profbuf_record *record)
{
	uint64_t *at = w->data + (pos & w->mask);
	uint32_t i = 0;

	at[0] = profbuf_word(words, COATI_PROFBUF_DATA, record->type);
	at[1] = record->time_ns;
	at[2] = record->tag;
	at += PROFBUF_PREFIX;
	for (; i < record->nr_header; i++)
		at[i] = record->header[i];
	for (; i < w->header_words; i++)
		at[i] = 0;
	if (record->nr_stack)
		memcpy(at + i, record->stack, (size_t)record->nr_stack * sizeof(*at));
}

static bool has_room(struct profbuf_writer *w, uint64_t end)
{
	if (end - w->given <= w->mask + 1)
		return true;
	/* pairs with: release of given in the reader, after its last look at the words */
	w->given = atomic_load_explicit(&w->buf->given, memory_order_acquire);
	return end - w->given <= w->mask + 1;
}

/* Everything up to @end is in its place. */
static inline void commit(struct profbuf_writer *w, uint64_t end)
{
	count(&w->buf->records);
	w->pos = end;
	/* pairs with: acquire of stored in the reader; the words are whole by then */
	atomic_store_explicit(&w->buf->stored, end, memory_order_release);
}

/* How far the next records may go without a second look: there is room, this lap does not end, the
 * reader has not to be woken. Nowhere when a mark of losses is due, or a fence. */
static void settle_limit(struct profbuf_writer *w)
{
	const struct coati_profbuf *buf = w->buf;
	uint64_t size = w->mask + 1;
	uint64_t ahead = profbuf_smaller(size - (w->pos & w->mask), w->given + size - w->pos);

	ahead = profbuf_smaller(ahead, w->floor + w->wake_words - 1 - w->pos);
	atomic_store_explicit(&w->limit, w->fenced ? w->pos : w->pos + ahead, memory_order_relaxed);
	/* A handler that interrupts us here and loses something is seen, before or after. */
	atomic_signal_fence(memory_order_seq_cst);
	if (load(&buf->lost) != load(&buf->marked))
		atomic_store_explicit(&w->limit, w->pos, memory_order_relaxed);
}

/* With the mark of losses in front, over the end of the lap, with a look at what the reader has
 * given back: or not at all. */
static int store_slowly(struct profbuf_writer *w, const struct coati_profbuf_record *record,
			uint64_t words)
{
	struct coati_profbuf *buf = w->buf;
	uint64_t lost = load(&buf->lost), pos = w->pos, at = pos, start;
	bool mark = lost != load(&buf->marked);

	if (mark)
		at = start_of(w, pos, PROFBUF_LOSS_WORDS) + PROFBUF_LOSS_WORDS;
	start = start_of(w, at, words);
	if (!has_room(w, start + words)) {
		lose(w, record->time_ns);
		return -ENOBUFS;
	}
	if (mark) {
		pad(w, pos, at - PROFBUF_LOSS_WORDS);
		put_loss(w, at - PROFBUF_LOSS_WORDS, lost);
	}
	pad(w, at, start);
	put_record(w, start, words, record);
	commit(w, start + words);
	look_after_reader(w);
	/* after "stored": a new run of losses must not begin before the reader can see the mark of
	 * this one */
	if (mark)
		atomic_store_explicit(&buf->marked, lost, memory_order_relaxed);
	settle_limit(w);
	return 0;
}

static int refuse(_Atomic uint64_t *counter, int code)
{
	count(counter);
	return code;
}

static __attribute__((noinline)) int write_slowly(struct profbuf_writer *w,
						  const struct coati_profbuf_record *record)
{
	struct coati_profbuf *buf = w->buf;

	/* pairs with: "closing" and the barrier in coati_profbuf_close(). Store buffering again:
	 * without "fenced" the barrier there stands for ours. */
	if (w->fenced)
		atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&buf->closed, memory_order_relaxed) != PROFBUF_OPEN)
		return refuse(&buf->after_close, -EBADF);
	if (record->nr_stack > w->max_stack || record->nr_header > w->header_words)
		return refuse(&buf->too_large, -E2BIG);
	return store_slowly(w, record,
			    (uint64_t)PROFBUF_PREFIX + w->header_words + record->nr_stack);
}

/* The straight road: open, in order, and nothing to look after before "limit". */
static inline int write_or_refuse(struct profbuf_writer *w,
				  const struct coati_profbuf_record *record)
{
	uint32_t nr_stack = record->nr_stack;
	uint64_t words = (uint64_t)PROFBUF_PREFIX + w->header_words + nr_stack,
		 end = w->pos + words;

	if (atomic_load_explicit(&w->buf->closed, memory_order_relaxed) != PROFBUF_OPEN ||
	    nr_stack > w->max_stack || record->nr_header > w->header_words ||
	    (int64_t)(load(&w->limit) - end) < 0)
		return write_slowly(w, record);
	put_record(w, w->pos, words, record);
	commit(w, end);
	return 0;
}

/* A handler has interrupted a write on this thread. */
static __attribute__((noinline)) int lose_nested(struct profbuf_writer *w, uint64_t time_ns)
{
	atomic_fetch_add_explicit(&w->buf->reentered, 1, memory_order_relaxed);
	lose(w, time_ns);
	return -EBUSY;
}

int coati_profbuf_write(struct coati_profbuf_writer *writer,
			const struct coati_profbuf_record *record)
{
	struct profbuf_writer *w = inside(writer);
	int r;

	/* Relaxed and without a read-modify-write: only a handler on this very thread can come
	 * between, and it leaves the flag as it found it. */
	if (atomic_load_explicit(&w->buf->busy, memory_order_relaxed))
		return lose_nested(w, record->time_ns);
	atomic_store_explicit(&w->buf->busy, 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	r = write_or_refuse(w, record);
	atomic_signal_fence(memory_order_seq_cst);
	/* pairs with: acquire of busy in the reader; what this call did is visible to a reader that
	 * finds it finished */
	atomic_store_explicit(&w->buf->busy, 0, memory_order_release);
	return r;
}

uint32_t coati_profbuf_max_stack(const struct coati_profbuf_writer *writer)
{
	return ((const struct profbuf_writer *)(const void *)writer)->max_stack;
}

/* Every running thread of this process has a full barrier between the entry and the return. A child
 * of fork() may have to register first. */
static void barrier_everywhere(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) == 0)
		return;
	syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0);
	syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
}

void coati_profbuf_close(struct coati_profbuf_writer *writer)
{
	const struct profbuf_writer *w = inside(writer);
	uint32_t open = PROFBUF_OPEN;
	int keep = errno;

	if (!atomic_compare_exchange_strong_explicit(&w->buf->closed, &open, PROFBUF_CLOSING,
						     memory_order_seq_cst, memory_order_relaxed))
		return;
	/* pairs with: the fence in write_or_refuse(), or stands for it */
	atomic_thread_fence(memory_order_seq_cst);
	if (!w->fenced)
		barrier_everywhere();
	/* pairs with: acquire of closed in the reader; by now a write that did not see "closing"
	 * has its "busy" seen */
	atomic_store_explicit(&w->buf->closed, PROFBUF_CLOSED, memory_order_release);
	wake_sleeper(w);
	errno = keep;
}

int coati_profbuf_get_stats(const struct coati_profbuf *buf, struct coati_profbuf_stats *ret)
{
	struct coati_profbuf_stats st = {
		.written = load(&buf->records),
		.lost = load(&buf->lost),
		.reentered = load(&buf->reentered),
		.too_large = load(&buf->too_large),
		.after_close = load(&buf->after_close),
		.wakes = load(&buf->wakes),
		.closed = atomic_load_explicit(&buf->closed, memory_order_relaxed) != PROFBUF_OPEN,
	};

	return SIZED_FILL(ret, &st);
}
