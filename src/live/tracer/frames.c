/* SPDX-License-Identifier: MIT */
/*
 * Frames: marks in, tasks on the timeline and statistics out. Durations go into a histogram whose
 * buckets are a sixteenth of a power of two wide.
 */
#include <coati/frames.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/sized.h"
#include "live/page.h"

#define SUB_BITS 4
#define SUBS	 (1u << SUB_BITS)
#define BUCKETS	 ((64 - SUB_BITS + 1) * SUBS)

struct frames {
	struct frames *next;
	const char *name; /* a copy */
	struct coati_live_task task;
	struct coati_task_scope scope;
	uint64_t began_ns, count, sum_ns, min_ns, max_ns, last_ns;
	uint32_t tid; /* that works on the frame */
	uint32_t buckets[BUCKETS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct frames *first; /* in the order of their first mark */
static bool has_page, has_atfork;

/* ---- the histogram ---- */

/* Below SUBS each number has its own; above, the leading bit and the next four count. */
static uint32_t bucket_of(uint64_t ns)
{
	uint32_t shift;

	if (ns < SUBS)
		return (uint32_t)ns;
	shift = 63u - (uint32_t)__builtin_clzll(ns) - SUB_BITS;
	return (shift + 1) * SUBS + (uint32_t)(ns >> shift) - SUBS;
}

/* The largest number in a bucket. */
static uint64_t end_of(uint32_t bucket)
{
	uint32_t shift = bucket / SUBS;

	if (!shift)
		return bucket;
	return ((uint64_t)(bucket % SUBS + SUBS) << (shift - 1)) +
	       ((UINT64_C(1) << (shift - 1)) - 1);
}

/* What @percent of a hundred do not exceed. */
static uint64_t percentile(const struct frames *f, uint32_t percent)
{
	uint64_t rank = (f->count * percent + 99) / 100, seen = 0;

	for (uint32_t i = 0; i < BUCKETS && f->count; i++) {
		seen += f->buckets[i];
		if (seen >= rank)
			return end_of(i) < f->max_ns ? end_of(i) : f->max_ns;
	}
	return 0;
}

static void count_frame(struct frames *f, uint64_t ns)
{
	f->last_ns = ns;
	f->sum_ns += ns;
	f->min_ns = !f->count || ns < f->min_ns ? ns : f->min_ns;
	f->max_ns = ns > f->max_ns ? ns : f->max_ns;
	f->count++;
	f->buckets[bucket_of(ns)]++;
}

static void read_stats(const struct frames *f, struct coati_frame_stats *ret)
{
	*ret = (struct coati_frame_stats){ .size = sizeof(*ret),
					   .frames = f->count,
					   .sum_ns = f->sum_ns,
					   .min_ns = f->min_ns,
					   .max_ns = f->max_ns,
					   .p50_ns = percentile(f, 50),
					   .p90_ns = percentile(f, 90),
					   .p99_ns = percentile(f, 99),
					   .last_ns = f->last_ns };
}

/* ---- the page ---- */

static void put_ms(struct strbuf *s, uint64_t ns)
{
	coati_strbuf_printf(s, " %9" PRIu64 ".%03u", ns / NSEC_PER_MSEC,
			    (unsigned int)(ns % NSEC_PER_MSEC / 1000));
}

static void make_page(struct page_job *job)
{
	struct coati_frame_stats s;

	coati_strbuf_adds(job->body, "    frames       mean ms        p50 ms        p90 ms"
				     "        p99 ms        max ms name\n");
	pthread_mutex_lock(&lock);
	for (const struct frames *f = first; f; f = f->next) {
		read_stats(f, &s);
		coati_strbuf_printf(job->body, "%10" PRIu64, s.frames);
		put_ms(job->body, s.frames ? s.sum_ns / s.frames : 0);
		put_ms(job->body, s.p50_ns);
		put_ms(job->body, s.p90_ns);
		put_ms(job->body, s.p99_ns);
		put_ms(job->body, s.max_ns);
		coati_strbuf_addc(job->body, ' ');
		coati_strbuf_clean(job->body, f->name, strlen(f->name));
		coati_strbuf_addc(job->body, '\n');
	}
	pthread_mutex_unlock(&lock);
}

static const struct live_page page = { .name = "frames",
				       .what = "how long frames take",
				       .make = make_page };

/* ---- marks ---- */

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

/* Under the lock. NULL: no memory. */
static struct frames *new_frames(const char *name)
{
	struct frames *f, **at = &first;

	if (!has_atfork && pthread_atfork(before_fork, after_fork, after_fork))
		return NULL;
	has_atfork = true;
	f = coati_alloc(sizeof(*f));
	if (!f)
		return NULL;
	f->name = coati_strdup(name);
	if (!f->name) {
		coati_free(f);
		return NULL;
	}
	has_page = has_page || coati_page_provide(&page);
	while (*at)
		at = &(*at)->next;
	*at = f;
	return f;
}

/* The thread works on what it did before, when it is the one that began the frame. */
static void end_task(struct frames *f, uint32_t tid)
{
	if (!f->tid)
		return;
	if (f->tid == tid)
		coati_task_leave(&f->scope);
	coati_task_end(&f->task);
}

void coati_frame_mark(struct coati_frames *frames)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	uint64_t now = now_ns();
	struct frames *f;

	pthread_mutex_lock(&lock);
	f = frames->state;
	if (!f)
		frames->state = f = new_frames(frames->site.name);
	if (f && f->began_ns)
		count_frame(f, now - f->began_ns);
	if (f)
		f->began_ns = now;
	pthread_mutex_unlock(&lock);
	if (!f)
		return;
	/* without the lock, which fork() takes in another order, and which a page waits for: these
	 * may wait for the tracer, and there is one mark of a sequence at a time */
	end_task(f, tid);
	coati_task_begin(&frames->site, NULL, &f->task);
	f->scope = coati_task_enter(&f->task);
	f->tid = tid;
}

int coati_frame_stats(const char *name, struct coati_frame_stats *ret)
{
	struct coati_frame_stats s = { .size = 0 };
	const struct frames *f;

	pthread_mutex_lock(&lock);
	for (f = first; f && strcmp(f->name, name) != 0;)
		f = f->next;
	if (f)
		read_stats(f, &s);
	pthread_mutex_unlock(&lock);
	if (!f)
		return -ENOENT;
	return SIZED_FILL(ret, &s);
}
