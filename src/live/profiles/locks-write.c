/* SPDX-License-Identifier: MIT */
/* The mutex and block profiles as others read them: files, and the pages mutex and block. */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "live/page.h"
#include "live/profiles/locks.h"

static uint64_t fraction(void)
{
	return atomic_load_explicit(&coati_locks_shared.mutex_fraction, memory_order_relaxed);
}

static uint64_t rate(void)
{
	return atomic_load_explicit(&coati_locks_shared.block_rate, memory_order_relaxed);
}

/* As Go has it: the numbers are scaled already. */
static uint64_t one(void)
{
	return 1;
}

static void comment_mutex(struct strbuf *ret)
{
	struct coati_locks_stats s = { .size = sizeof(s) };

	coati_locks_stats(&s);
	coati_strbuf_printf(ret, "mutex: one wait in %" PRIu64 " is sampled and scaled up\n",
			    fraction());
	if (s.unseen)
		coati_strbuf_printf(
			ret,
			"%" PRIu64
			" wait%s without a holder: the lock was released by other calls\n",
			s.unseen, s.unseen == 1 ? " is" : "s are");
	if (s.untracked)
		coati_strbuf_printf(
			ret, "%" PRIu64 " wait%s missing: too many locks were waited for at once\n",
			s.untracked, s.untracked == 1 ? " is" : "s are");
}

static void comment_block(struct strbuf *ret)
{
	coati_strbuf_printf(
		ret, "block: one sample for %" PRIu64 " ns waited; shorter waits are scaled up\n",
		rate());
}

/* As Go has it, where a cycle is a nanosecond; the numbers are not to be scaled. */
static void head_of(const char *name, struct strbuf *ret)
{
	coati_strbuf_printf(ret, "--- %s:\ncycles/second=1000000000\nsampling period=1\n", name);
}

static void head_mutex(const uint64_t *sums, struct strbuf *ret)
{
	head_of("mutex", ret);
}

static void head_block(const uint64_t *sums, struct strbuf *ret)
{
	head_of("contention", ret);
}

static void line(const uint64_t *v, struct strbuf *ret)
{
	coati_strbuf_printf(ret, "%" PRIu64 " %" PRIu64, v[1], v[0]);
}

#define LOCKS_FORM(which)                                                                      \
	{                                                                                      \
		.name = #which, .store = &coati_locks_shared.which,                            \
		.types = { { "contentions", "count" }, { "delay", "nanoseconds" } },           \
		.default_type = "delay", .period_type = "contentions", .period_unit = "count", \
		.period = one, .comment = comment_##which, .head = head_##which, .line = line, \
	}
static const struct store_form mutex = LOCKS_FORM(mutex);
static const struct store_form block = LOCKS_FORM(block);

int coati_locks_write(enum coati_locks_profile which, int fd, uint32_t flags,
		      struct coati_error *err)
{
	if (which > COATI_LOCKS_BLOCK || flags & ~(COATI_LOCKS_NAMES | COATI_LOCKS_TEXT))
		return coati_fail(err, -EINVAL,
				  "lock profiles: a kind or flags that this library does not know");
	return coati_store_write_fd(which == COATI_LOCKS_MUTEX ? &mutex : &block, fd, flags, err);
}

/* ---- pages ---- */

static uint64_t count_of(struct store *s)
{
	uint64_t nr;

	pthread_mutex_lock(&s->lock);
	nr = s->nr ? s->nr - 1 : 0;
	pthread_mutex_unlock(&s->lock);
	return nr;
}

static uint64_t count_mutex(const struct live_page *page)
{
	return count_of(&coati_locks_shared.mutex);
}

static uint64_t count_block(const struct live_page *page)
{
	return count_of(&coati_locks_shared.block);
}

static void make_mutex(struct page_job *job)
{
	coati_store_make_page(&mutex, job);
}

static void make_block(struct page_job *job)
{
	coati_store_make_page(&block, job);
}

static void put_metrics(struct page_metrics *m)
{
	uint64_t totals[STORE_VALUES];

	coati_store_totals(&coati_locks_shared.mutex, NULL, totals);
	m->number(m, "coati_mutex_contentions", "counter",
		  "Waits that holders of locks were charged for, estimated from samples.",
		  totals[0]);
	m->seconds(m, "coati_mutex_delay_seconds", "counter",
		   "Time that others waited for holders of locks, estimated from samples.",
		   totals[1] / 1000);
	coati_store_totals(&coati_locks_shared.block, NULL, totals);
	m->number(m, "coati_block_waits", "counter", "Waits, estimated from samples.", totals[0]);
	m->seconds(m, "coati_block_delay_seconds", "counter",
		   "Time that threads waited, estimated from samples.", totals[1] / 1000);
}

static const struct live_page mutex_page = { "mutex",	  "lock contention by holder",
					     count_mutex, make_mutex,
					     0,		  put_metrics };
static const struct live_page block_page = { "block",	  "lock contention by waiter",
					     count_block, make_block,
					     0,		  NULL };

void coati_locks_pages(void)
{
	coati_page_provide(&mutex_page);
	coati_page_provide(&block_page);
}
