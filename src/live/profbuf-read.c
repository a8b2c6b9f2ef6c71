/* SPDX-License-Identifier: MIT */
/*
 * The reader's side of the profile buffer. In: memory that another process writes, perhaps an
 * attacker. Out: views of whole records, losses in their place, the end. Every word that decides
 * where to read is loaded once and checked against geometry that is kept here; nothing outside the
 * data is read, whatever the memory says, also when it changes meanwhile.
 */
#include "live/profbuf.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define RETRIES	     16
#define BUSY_WAIT_NS 100000u

static struct profbuf_reader *inside(struct coati_profbuf_reader *reader)
{
	return (struct profbuf_reader *)(void *)reader;
}

static uint64_t load_acquire(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

/* ---- giving back ---- */

static void publish(struct profbuf_reader *d)
{
	if (d->dead || d->given == d->pos)
		return;
	d->given = d->pos;
	/* pairs with: acquire of given in the writer; our last look at the words is over */
	atomic_store_explicit(&d->buf->given, d->pos, memory_order_release);
}

static void end_view(struct profbuf_reader *d)
{
	if (!d->holding)
		return;
	d->holding = false;
	d->release(d->release_ctx, d->tag);
}

/* ---- what is there ---- */

/* Losses up to @lost. False when they are reported already. */
static bool tell(struct profbuf_reader *d, uint64_t lost, const uint64_t base_first_last[3],
		 struct coati_profbuf_record *ret)
{
	uint64_t first = base_first_last[1], last = base_first_last[2], n = lost - d->told;

	if (!n || n > INT64_MAX)
		return false;
	/* The rest of a run: it is known that its first loss came after those that were
	 * reported. */
	if (d->told != base_first_last[0])
		first = n == 1 ? last : d->told_ns;
	if (first > last) /* a nested signal has the later time, and is counted first */
		first = last;
	*ret = (struct coati_profbuf_record){ .kind = COATI_PROFBUF_LOSS,
					      .time_ns = first,
					      .count = n,
					      .first_ns = first,
					      .last_ns = last };
	d->told = lost;
	d->told_ns = last;
	if (!d->dead)
		atomic_store_explicit(&d->buf->told, lost, memory_order_relaxed);
	return true;
}

/* Losses behind the last record. False when there are none, or another record has come meanwhile:
 * it goes first, and has the mark in front of it. */
static bool tell_end(struct profbuf_reader *d, struct coati_profbuf_record *ret)
{
	const struct coati_profbuf *buf = d->buf;
	/* pairs with: release of lost in the writer's lose() */
	uint64_t lost = load_acquire(&buf->lost), run[3];

	for (int i = 0; lost != d->told; i++) {
		uint64_t again;

		/* pairs with: release of each in the writer's lose(); a new run shows the record
		 * before it */
		run[0] = load_acquire(&buf->run_base);
		run[1] = load_acquire(&buf->run_first);
		run[2] = load_acquire(&buf->run_last[lost & 1]);
		again = load_acquire(&buf->lost);
		if (again == lost || i == RETRIES)
			break;
		lost = again;
	}
	return lost != d->told && load_acquire(&buf->stored) == d->pos && tell(d, lost, run, ret);
}

static int damage(struct profbuf_reader *d, uint64_t words, struct coati_profbuf_record *ret)
{
	*ret = (struct coati_profbuf_record){ .kind = COATI_PROFBUF_DAMAGE, .count = words };
	d->pos += words;
	return 1;
}

static void fill(struct profbuf_reader *d, const uint64_t *at, uint64_t word,
		 struct coati_profbuf_record *ret)
{
	ret->kind = COATI_PROFBUF_DATA;
	ret->type = (uint32_t)(word >> 48);
	ret->time_ns = at[1];
	ret->tag = at[2];
	ret->header = at + PROFBUF_PREFIX;
	ret->nr_header = d->header_words;
	ret->stack = ret->header + d->header_words;
	ret->nr_stack = (uint32_t)word - PROFBUF_PREFIX - d->header_words;
	if (d->release) {
		d->holding = true;
		d->tag = ret->tag;
	}
}

/* The record at pos, when it is an ordinary one and lies before pos + @left. */
static inline bool take_data(struct profbuf_reader *d, uint64_t pos, uint64_t left,
			     struct coati_profbuf_record *ret)
{
	const uint64_t *at = d->data + (pos & d->mask);
	uint64_t word = __atomic_load_n(at, __ATOMIC_RELAXED); /* once: it may change */
	uint64_t words = (uint32_t)word;

	if ((uint32_t)(word >> 32 & 0xff) != COATI_PROFBUF_DATA ||
	    words < PROFBUF_PREFIX + d->header_words || words > left)
		return false;
	d->pos = pos + words;
	fill(d, at, word, ret);
	return true;
}

/* The record at pos, which is before seen: 1, or 0 when there was nothing to tell. */
static int take(struct profbuf_reader *d, struct coati_profbuf_record *ret)
{
	const uint64_t *at = d->data + (d->pos & d->mask);
	uint64_t word = __atomic_load_n(at, __ATOMIC_RELAXED);
	uint64_t words = (uint32_t)word, left = d->seen - d->pos;
	uint64_t piece = d->mask + 1 - (d->pos & d->mask);
	uint32_t kind = (uint32_t)(word >> 32) & 0xff;

	if (left > d->mask + 1)
		return damage(d, left, ret);
	if (take_data(d, d->pos, profbuf_smaller(left, piece), ret))
		return 1;
	/* it is unknown where the next one begins */
	if (!words || words > left || words > piece)
		return damage(d, left, ret);
	if (kind == COATI_PROFBUF_LOSS && words == PROFBUF_LOSS_WORDS) {
		const uint64_t run[3] = { at[3], at[4], at[1] };

		d->pos += words;
		return tell(d, at[2], run, ret);
	}
	if (kind != PROFBUF_PAD)
		return damage(d, words, ret);
	d->pos += words;
	return 0;
}

/* Whether the writer is done for ever. What it stored before is visible to a reader that looks
 * after this. */
static bool is_over(const struct profbuf_reader *d)
{
	/* pairs with: release of both in coati_profbuf_close() and coati_profbuf_write(); in this
	 * order */
	return d->dead ||
	       (atomic_load_explicit(&d->buf->closed, memory_order_acquire) == PROFBUF_CLOSED &&
		!atomic_load_explicit(&d->buf->busy, memory_order_acquire));
}

/* Whether something is stored behind pos. A position that cannot be counts as such, too. */
static bool look(struct profbuf_reader *d)
{
	/* pairs with: release of stored in the writer */
	d->seen = load_acquire(&d->buf->stored);
	return d->seen != d->pos;
}

/* Nothing was there when it was looked at last: 1 a loss, 2 a record after all, 0 the end, -EAGAIN
 * neither. */
static int next_at_end(struct profbuf_reader *d, struct coati_profbuf_record *ret)
{
	bool over = is_over(d);

	if (look(d))
		return 2;
	if (tell_end(d, ret))
		return 1;
	if (look(d))
		return 2;
	d->ended = over;
	return over ? 0 : -EAGAIN;
}

/* 1 a record, 0 the end, -EAGAIN neither. */
static int next(struct profbuf_reader *d, struct coati_profbuf_record *ret)
{
	for (;;) {
		while (d->pos != d->seen)
			if (take(d, ret))
				return 1;
		publish(d);
		if (d->ended)
			return 0;
		if (!look(d)) {
			int r = next_at_end(d, ret);

			if (r != 2)
				return r;
		}
		/* that cannot be; go on from where it says it is */
		if (d->seen - d->pos > d->mask + 1)
			return damage(d, d->seen - d->pos, ret);
	}
}

/* ---- sleeping ---- */

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static struct timespec as_timespec(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

/* While *@word is @value, until the deadline: 0 look again, or -ETIMEDOUT. */
static int wait_word(const struct profbuf_reader *d, _Atomic uint32_t *word, uint32_t value,
		     uint64_t deadline_ns)
{
	struct timespec until = as_timespec(deadline_ns);
	int op = FUTEX_WAIT_BITSET | (d->shared ? 0 : FUTEX_PRIVATE_FLAG);

	if (syscall(SYS_futex, word, op, value,
		    deadline_ns == COATI_PROFBUF_FOREVER ? NULL : &until, NULL,
		    FUTEX_BITSET_MATCH_ANY) == 0 ||
	    errno == EAGAIN || errno == EINTR)
		return 0;
	return -errno;
}

static int wait_fd(const struct profbuf_reader *d, uint64_t deadline_ns)
{
	struct pollfd fd = { .fd = d->wake_fd, .events = POLLIN };
	uint64_t now = deadline_ns == COATI_PROFBUF_FOREVER ? 0 : monotonic_ns(), count;
	struct timespec left = as_timespec(deadline_ns > now ? deadline_ns - now : 0);
	int r = ppoll(&fd, 1, deadline_ns == COATI_PROFBUF_FOREVER ? NULL : &left, NULL);

	if (r < 0)
		return errno == EINTR ? 0 : -errno;
	if (r == 0)
		return -ETIMEDOUT;
	if (fd.revents & POLLNVAL)
		return -EBADF;
	/* a wake of before leaves its count behind: then "sleeping" is still set, and we sleep
	 * on */
	return read(d->wake_fd, &count, sizeof(count)) < 0 && errno != EAGAIN && errno != EINTR
		       ? -errno
		       : 0;
}

/* Say that we sleep, then look: 1 when there is something to do instead. */
static int fall_asleep(struct profbuf_reader *d)
{
	struct coati_profbuf *buf = d->buf;

	atomic_store_explicit(&buf->sleeping, 1, memory_order_relaxed);
	/* pairs with: the fence in the writer's wake_sleeper() */
	atomic_thread_fence(memory_order_seq_cst);
	if (load_acquire(&buf->stored) == d->pos && load_acquire(&buf->lost) == d->told &&
	    atomic_load_explicit(&buf->closed, memory_order_acquire) != PROFBUF_CLOSED)
		return 0;
	atomic_store_explicit(&buf->sleeping, 0, memory_order_relaxed);
	return 1;
}

/* Closed, but a write is under way: it takes no time unless its thread was put aside. */
static int wait_for_last_write(struct profbuf_reader *d, uint64_t deadline_ns)
{
	uint64_t soon = monotonic_ns() + BUSY_WAIT_NS;
	int r;

	if (deadline_ns < soon)
		return wait_word(d, &d->buf->busy, 1, deadline_ns);
	r = wait_word(d, &d->buf->busy, 1, soon);
	return r == -ETIMEDOUT ? 0 : r;
}

/* Until there may be something: 0. */
static __attribute__((noinline, cold)) int sleep_until(struct profbuf_reader *d,
						       uint64_t deadline_ns)
{
	struct coati_profbuf *buf = d->buf;
	int r = 0, keep = errno;

	if (d->eventfd && d->wake_fd < 0)
		return -EBADF;
	if (atomic_load_explicit(&buf->closed, memory_order_acquire) == PROFBUF_CLOSED)
		r = wait_for_last_write(d, deadline_ns);
	else if (fall_asleep(d))
		return 0;
	/* pairs with: the writer's exchange in wake(). Awake for other reasons: sleep on. */
	while (r == 0 && atomic_load_explicit(&buf->sleeping, memory_order_acquire))
		r = d->eventfd ? wait_fd(d, deadline_ns)
			       : wait_word(d, &buf->sleeping, 1, deadline_ns);
	if (r < 0)
		atomic_store_explicit(&buf->sleeping, 0, memory_order_relaxed);
	errno = keep;
	return r;
}

static __attribute__((noinline)) int read_slowly(struct profbuf_reader *d, uint64_t deadline_ns,
						 struct coati_profbuf_record *ret)
{
	int r, slept = 0;

	while ((r = next(d, ret)) == -EAGAIN) {
		if (slept || deadline_ns == COATI_PROFBUF_NOW)
			break;
		/* an error is reported when a last look finds nothing */
		slept = sleep_until(d, deadline_ns);
	}
	d->limit = d->pos; /* look again */
	return r == -EAGAIN && slept ? slept : r;
}

/* What was read is given back, all of it or a step, and the next stretch begins: what is stored, in
 * this lap, a step at most. False when there is none, or something is odd. */
static inline bool refill(struct profbuf_reader *d, uint64_t pos)
{
	uint64_t size = d->mask + 1, left;

	publish(d);
	if (pos == d->seen && (d->ended || !look(d)))
		return false;
	left = d->seen - pos;
	if (left > size)
		return false;
	d->limit = pos + profbuf_smaller(profbuf_smaller(left, size - (pos & d->mask)), d->step);
	return true;
}

int coati_profbuf_read(struct coati_profbuf_reader *reader, uint64_t deadline_ns,
		       struct coati_profbuf_record *ret)
{
	struct profbuf_reader *d = inside(reader);
	uint64_t pos = d->pos;

	if (d->holding)
		end_view(d);
	if (pos == d->limit && !refill(d, pos))
		return read_slowly(d, deadline_ns, ret);
	return take_data(d, pos, d->limit - pos, ret) ? 1 : read_slowly(d, deadline_ns, ret);
}

void coati_profbuf_release(struct coati_profbuf_reader *reader)
{
	struct profbuf_reader *d = inside(reader);

	end_view(d);
	publish(d);
}

int coati_profbuf_arm(struct coati_profbuf_reader *reader)
{
	struct profbuf_reader *d = inside(reader);

	/* Given back before we sleep: the writer relies on it. */
	coati_profbuf_release(reader);
	return d->dead || d->ended || d->pos != d->seen || fall_asleep(d);
}

void coati_profbuf_reader_fini(struct coati_profbuf_reader *reader)
{
	coati_profbuf_release(reader);
}
