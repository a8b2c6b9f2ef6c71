/* SPDX-License-Identifier: MIT */
/*
 * Making a profile buffer and taking its two sides. In: memory of the caller, or of another process
 * with a buffer in it. Out: checked geometry, which is all that the two sides believe from then on.
 */
#include "live/profbuf.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/sized.h"

#define LINE_BYTES 64u

static uint64_t round_up(uint64_t words)
{
	uint64_t size = PROFBUF_MIN_WORDS;

	while (size < words)
		size *= 2;
	return size;
}

/* The largest record: with the mark of a loss in front and a skip before each it fits into an empty
 * buffer. */
static uint64_t max_record(uint64_t data_words)
{
	return data_words / 2 - PROFBUF_LOSS_WORDS;
}

/* Options with the defaults filled in. */
static int settle(const struct coati_profbuf_opts *opts, struct coati_profbuf_opts *ret)
{
	int r = SIZED_COPY(ret, opts);

	if (r < 0)
		return r;
	if (ret->data_words > PROFBUF_MAX_WORDS || ret->header_words > PROFBUF_MAX_HEADER ||
	    ret->flags & ~PROFBUF_FLAGS)
		return -EINVAL;
	ret->data_words = round_up(ret->data_words ? ret->data_words : PROFBUF_DEFAULT_WORDS);
	while (max_record(ret->data_words) < PROFBUF_PREFIX + ret->header_words + 1)
		ret->data_words *= 2;
	/* Above half, a buffer could be too full for the next record and still not wake the reader;
	 * losses do, but later. */
	if (!ret->wake_words || ret->wake_words > ret->data_words / 2)
		ret->wake_words = ret->data_words / 2;
	return 0;
}

static size_t bytes_of(uint64_t data_words)
{
	return sizeof(struct coati_profbuf) + (size_t)data_words * sizeof(uint64_t);
}

size_t coati_profbuf_bytes(const struct coati_profbuf_opts *opts)
{
	struct coati_profbuf_opts o;

	return settle(opts, &o) < 0 ? 0 : bytes_of(o.data_words);
}

int coati_profbuf_init(void *memory, size_t bytes, const struct coati_profbuf_opts *opts,
		       struct coati_profbuf **ret, struct coati_error *err)
{
	struct coati_profbuf *buf = memory;
	struct coati_profbuf_opts o;
	struct timespec now;
	int r = settle(opts, &o);

	if (r < 0)
		return coati_fail(
			err, r,
			"profile buffer: invalid options: at most %llu data words, %u header "
			"words and known flags",
			(unsigned long long)PROFBUF_MAX_WORDS, PROFBUF_MAX_HEADER);
	if (!ret || !memory || (uintptr_t)memory % LINE_BYTES)
		return coati_fail(err, -EINVAL,
				  "profile buffer: the memory must be aligned to %u bytes",
				  LINE_BYTES);
	if (bytes < bytes_of(o.data_words))
		return coati_fail(err, -EINVAL,
				  "profile buffer: %zu bytes of memory, and %zu are needed", bytes,
				  bytes_of(o.data_words));
	clock_gettime(CLOCK_MONOTONIC, &now);
	memset(buf, 0, sizeof(*buf));
	buf->version = PROFBUF_VERSION;
	buf->data_offset = sizeof(*buf);
	buf->data_words = o.data_words;
	buf->wake_words = o.wake_words;
	buf->header_words = o.header_words;
	buf->flags = o.flags;
	buf->created_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	buf->pid = (uint32_t)getpid();
	/* Pages that are touched for the first time by a signal handler cost it microseconds. */
	memset((uint8_t *)memory + buf->data_offset, 0, (size_t)o.data_words * sizeof(uint64_t));
	/* last: who finds it finds the rest; pairs with: acquire in open_head() */
	__atomic_store_n(&buf->magic, PROFBUF_MAGIC, __ATOMIC_RELEASE);
	*ret = buf;
	return 0;
}

/* What the two sides keep of the head. */
struct geometry {
	uint64_t data_words, wake_words;
	uint32_t data_offset, header_words, flags;
};

static bool is_sane(const struct geometry *g, size_t bytes)
{
	uint64_t n = g->data_words;

	return n >= PROFBUF_MIN_WORDS && n <= PROFBUF_MAX_WORDS && !(n & (n - 1)) &&
	       g->header_words <= PROFBUF_MAX_HEADER &&
	       max_record(n) >= PROFBUF_PREFIX + g->header_words + 1 && g->wake_words >= 1 &&
	       g->wake_words <= n / 2 && !(g->flags & ~PROFBUF_FLAGS) &&
	       g->data_offset >= sizeof(struct coati_profbuf) && g->data_offset % LINE_BYTES == 0 &&
	       g->data_offset <= bytes && n <= (bytes - g->data_offset) / sizeof(uint64_t);
}

/* Copy the head once, then check the copy. */
static int open_head(const struct coati_profbuf *buf, size_t bytes, struct geometry *ret,
		     struct coati_error *err)
{
	struct geometry g;
	uint64_t magic;
	uint32_t version;

	if (!buf || (uintptr_t)buf % sizeof(uint64_t))
		return coati_fail(err, -EINVAL,
				  "profile buffer: the memory must be aligned to 8 bytes");
	if (bytes < sizeof(*buf))
		return coati_fail(err, -EBADMSG,
				  "profile buffer: %zu bytes, and the head alone has %zu", bytes,
				  sizeof(*buf));
	/* pairs with: release in coati_profbuf_init() */
	magic = __atomic_load_n(&buf->magic, __ATOMIC_ACQUIRE);
	if (magic == __builtin_bswap64(PROFBUF_MAGIC))
		return coati_fail(
			err, -EOPNOTSUPP,
			"profile buffer: written with the other byte order; read it on such a "
			"machine");
	if (magic != PROFBUF_MAGIC)
		return coati_fail(err, -EBADMSG, "profile buffer: this memory contains none");
	version = __atomic_load_n(&buf->version, __ATOMIC_RELAXED);
	if (version != PROFBUF_VERSION)
		return coati_fail(
			err, -EOPNOTSUPP,
			"profile buffer: of version %u, and this library knows %u; use the one "
			"that made it",
			version, PROFBUF_VERSION);
	g = (struct geometry){
		.data_words = __atomic_load_n(&buf->data_words, __ATOMIC_RELAXED),
		.wake_words = __atomic_load_n(&buf->wake_words, __ATOMIC_RELAXED),
		.data_offset = __atomic_load_n(&buf->data_offset, __ATOMIC_RELAXED),
		.header_words = __atomic_load_n(&buf->header_words, __ATOMIC_RELAXED),
		.flags = __atomic_load_n(&buf->flags, __ATOMIC_RELAXED),
	};
	if (!is_sane(&g, bytes))
		return coati_fail(
			err, -EBADMSG,
			"profile buffer: the head is damaged: %llu data words at %u in %zu bytes, "
			"%u header words",
			(unsigned long long)g.data_words, g.data_offset, bytes, g.header_words);
	*ret = g;
	return 0;
}

/* Whether the barrier of coati_profbuf_close() can be had (Linux 4.14, and no filter of system
 * calls against it). */
static bool has_membarrier(void)
{
	return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) == 0;
}

int coati_profbuf_writer_init(struct coati_profbuf_writer *ret, struct coati_profbuf *buf,
			      size_t bytes, const struct coati_profbuf_writer_opts *opts,
			      struct coati_error *err)
{
	struct profbuf_writer *w = (struct profbuf_writer *)(void *)ret;
	struct coati_profbuf_writer_opts o = { .wake_fd = -1 };
	struct geometry g;
	int r = opts ? SIZED_COPY(&o, opts) : 0;

	if (r < 0 || !ret)
		return coati_fail(err, r < 0 ? r : -EINVAL, "profile buffer: invalid options");
	r = open_head(buf, bytes, &g, err);
	if (r < 0)
		return r;
	if (g.flags & COATI_PROFBUF_EVENTFD && o.wake_fd < 0 && !o.wake_word)
		return coati_fail(err, -EINVAL,
				  "profile buffer: made for an eventfd, and no wake_fd is given");
	if (o.wake_word && !(g.flags & COATI_PROFBUF_EVENTFD))
		return coati_fail(err, -EINVAL,
				  "profile buffer: a wake_word goes with COATI_PROFBUF_EVENTFD");
	*w = (struct profbuf_writer){
		.buf = buf,
		.data = (uint64_t *)(void *)((uint8_t *)buf + g.data_offset),
		.mask = g.data_words - 1,
		.pos = atomic_load_explicit(&buf->stored, memory_order_relaxed),
		/* pairs with: release of given in the reader */
		.given = atomic_load_explicit(&buf->given, memory_order_acquire),
		.wake_words = g.wake_words,
		.header_words = g.header_words,
		.max_stack = (uint32_t)(max_record(g.data_words) - PROFBUF_PREFIX - g.header_words),
		.wake_fd = o.wake_fd,
		.wake_word = o.wake_word,
		.eventfd = g.flags & COATI_PROFBUF_EVENTFD,
		.shared = g.flags & COATI_PROFBUF_SHARED,
		.fenced = !has_membarrier(),
	};
	w->floor = w->given;
	w->limit = w->pos;
	/* a writer that was killed may have left it */
	atomic_store_explicit(&buf->busy, 0, memory_order_release);
	return 0;
}

int coati_profbuf_reader_init(struct coati_profbuf_reader *ret, struct coati_profbuf *buf,
			      size_t bytes, const struct coati_profbuf_reader_opts *opts,
			      struct coati_error *err)
{
	struct profbuf_reader *d = (struct profbuf_reader *)(void *)ret;
	struct coati_profbuf_reader_opts o = { .wake_fd = -1 };
	struct geometry g;
	int r = opts ? SIZED_COPY(&o, opts) : 0;

	if (r < 0 || !ret || o.flags & ~COATI_PROFBUF_DEAD)
		return coati_fail(err, r < 0 ? r : -EINVAL, "profile buffer: invalid options");
	r = open_head(buf, bytes, &g, err);
	if (r < 0)
		return r;
	*d = (struct profbuf_reader){
		.buf = buf,
		.data = (const uint64_t *)(const void *)((const uint8_t *)buf + g.data_offset),
		.mask = g.data_words - 1,
		.step = g.data_words / 8,
		.told = atomic_load_explicit(&buf->told, memory_order_relaxed),
		.header_words = g.header_words,
		.wake_fd = o.wake_fd,
		.eventfd = g.flags & COATI_PROFBUF_EVENTFD,
		.shared = g.flags & COATI_PROFBUF_SHARED,
		.dead = o.flags & COATI_PROFBUF_DEAD,
		.release = o.release,
		.release_ctx = o.release_ctx,
	};
	d->pos = d->seen = d->limit = d->given =
		atomic_load_explicit(&buf->given, memory_order_relaxed);
	return 0;
}
