/* SPDX-License-Identifier: MIT */
/*
 * Snapshots that conditions trigger: the conditions are set here. What is due is taken by the
 * thread of the recorders and written by one of its own, so that a slow disk delays neither
 * generations nor other recorders. Ordinary code.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sized.h"
#include "base/strbuf.h"
#include "live/auto/auto.h"
#include "live/tracer/emit.h"
#include "live/tracer/recorder.h"
#include "live/tracer/watch.h"

#define PATH_BYTES 4096u
#define AT_MOST	   10u
#define PAUSE_NS   UINT64_C(10000000000)
#define ENOUGH	   100u /* tasks before their 99th percentile means something */

/* ---- files ---- */

static char *secure(const char *name)
{
	return secure_getenv(name);
}

/* The name of the snapshot number @count. */
static int name_file(const char *pattern, uint32_t count, struct strbuf *ret)
{
	struct auto_facts facts = { .pid = getpid(),
				    .start = time(NULL),
				    .program = program_invocation_short_name,
				    .count = count };
	int r = coati_auto_name_expand(pattern, &facts, secure, ret, NULL);

	return r < 0 ? r : ret->failed;
}

/* Under its right name only when it is whole. */
static int write_file(const char *path, const struct strbuf *bytes)
{
	char part[PATH_BYTES + 16];
	int fd, r;

	snprintf(part, sizeof(part), "%s.part", path);
	/* one that a killed process left is in the way; what another user made is not written to */
	unlink(part);
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = coati_write_all(fd, bytes->text, bytes->len);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0 && rename(part, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(part);
	return r;
}

/* One file to be written. */
struct job {
	struct tracer_watch *watch;
	struct strbuf bytes, path;
	uint64_t now;
};

/* Under the lock of the recorders. */
static void note_result(struct job *job, int r)
{
	struct tracer_watch *w = job->watch;
	struct coati_recorder *rec = w->recorder;

	if (r < 0) {
		rec->snapshot_error = r;
		rec->snapshots_failed++;
		if (!atomic_load(&rec->error))
			atomic_store(&rec->error, r);
		atomic_store_explicit(&w->next_ns, job->now + w->pause_ns, memory_order_relaxed);
	} else {
		w->written++;
		rec->snapshots++;
	}
	w->busy = false;
}

static void free_job(struct job *job)
{
	coati_strbuf_fini(&job->path);
	coati_strbuf_fini(&job->bytes);
	coati_free(job);
}

static void *run_job(void *ctx)
{
	struct job *job = ctx;
	int r = write_file(job->path.text, &job->bytes);

	coati_recorders_lock();
	note_result(job, r);
	coati_recorders_signal();
	coati_recorders_unlock();
	free_job(job);
	/* another one may be due */
	coati_tracer_wake(&coati_tracer.asked);
	return NULL;
}

/* Under the lock of the recorders: what the recorder holds now, to be written by a thread. */
static void start_job(struct tracer_watch *w, uint64_t now)
{
	struct job *job = coati_alloc(sizeof(*job));
	pthread_t thread;
	int r;

	if (!job)
		return; /* the next one that is due, perhaps */
	*job = (struct job){ .watch = w,
			     .bytes = STRBUF_INIT(UINT64_C(1) << 36),
			     .path = STRBUF_INIT(PATH_BYTES),
			     .now = now };
	r = coati_recorder_take(w->recorder, &job->bytes);
	if (!r)
		r = name_file(w->file, w->written + 1, &job->path);
	/* set before it is written: waking the thread for something that is not written would begin
	 * a generation for nothing */
	atomic_store_explicit(&w->next_ns,
			      w->written + 1 < w->at_most ? now + w->pause_ns : UINT64_MAX,
			      memory_order_relaxed);
	w->busy = true;
	/* the job belongs to the thread as soon as there is one: it may be freed already */
	if (!r)
		r = coati_collector_thread(&thread, run_job, job);
	if (!r) {
		pthread_detach(thread);
		return;
	}
	note_result(job, r);
	free_job(job);
}

/* ---- what is due ---- */

/* The upper end of a bucket. */
static uint64_t end_of_bucket(uint32_t b)
{
	uint32_t top = b >> 2;

	return top < 2 ? 4 : ((uint64_t)(4 + (b & 3) + 1) << (top - 2));
}

static void update_limit(struct tracer_watch *w)
{
	uint64_t all = 0, seen = 0;

	for (uint32_t i = 0; i < WATCH_BUCKETS; i++)
		all += atomic_load_explicit(&w->durations[i], memory_order_relaxed);
	if (all < ENOUGH)
		return;
	for (uint32_t i = 0; i < WATCH_BUCKETS; i++) {
		seen += atomic_load_explicit(&w->durations[i], memory_order_relaxed);
		if (seen >= all - all / 100) {
			atomic_store_explicit(&w->limit,
					      (uint64_t)((double)end_of_bucket(i) * w->times_p99),
					      memory_order_relaxed);
			return;
		}
	}
}

static void look(void)
{
	for (uint32_t i = 0; i < WATCHES; i++) {
		struct tracer_watch *w = &coati_tracer_watches.v[i];
		uint64_t now = tracer_ns();

		if (!w->recorder || w->busy || w->ending)
			continue;
		if (w->times_p99 > 0)
			update_limit(w);
		if (!atomic_exchange_explicit(&w->fired, 0, memory_order_acquire) ||
		    now < atomic_load_explicit(&w->next_ns, memory_order_relaxed))
			continue;
		start_job(w, now);
	}
}

/* ---- setting them ---- */

static void forget_sites(void)
{
	for (uint32_t i = 0; i <= LIVE_SITES_MAX; i++)
		atomic_store_explicit(&coati_tracer_watches.of_site[i], 0, memory_order_release);
}

static void clear(struct tracer_watch *w)
{
	int sig = atomic_load_explicit(&w->signal, memory_order_relaxed);

	if (sig)
		sigaction(sig, &w->old, NULL);
	else
		atomic_fetch_sub_explicit(&coati_tracer_watches.tasks, 1, memory_order_relaxed);
	coati_free(w->file);
	w->recorder = NULL;
	w->file = NULL;
	w->type[0] = '\0';
	w->times_p99 = 0;
	w->written = 0;
	w->busy = w->ending = false;
	atomic_store_explicit(&w->signal, 0, memory_order_relaxed);
	atomic_store_explicit(&w->limit, 0, memory_order_relaxed);
	atomic_store_explicit(&w->next_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&w->fired, 0, memory_order_relaxed);
	for (uint32_t i = 0; i < WATCH_BUCKETS; i++)
		atomic_store_explicit(&w->durations[i], 0, memory_order_relaxed);
}

static void drop(const struct coati_recorder *rec)
{
	bool any = false;

	for (uint32_t i = 0; i < WATCHES; i++)
		if (coati_tracer_watches.v[i].recorder == rec) {
			struct tracer_watch *w = &coati_tracer_watches.v[i];

			w->ending = true;
			while (w->busy)
				coati_recorders_wait();
			clear(w);
			any = true;
		}
	if (any)
		forget_sites();
}

static void drop_all(void)
{
	for (uint32_t i = 0; i < WATCHES; i++)
		if (coati_tracer_watches.v[i].recorder)
			clear(&coati_tracer_watches.v[i]);
}

static const struct tracer_triggers triggers = { look, drop, drop_all };

/* A free one with the name of its files, which must make sense. */
static int take(struct coati_recorder *rec, const char *file, struct tracer_watch **ret,
		struct coati_error *err)
{
	struct strbuf path = STRBUF_INIT(PATH_BYTES);
	struct tracer_watch *w = NULL;
	int r;

	if (!rec || rec->fd >= 0 || rec->pid != (uint32_t)getpid())
		return coati_fail(err, -EINVAL,
				  "a snapshot needs a flight recorder of this process");
	if (!file || !*file)
		return coati_fail(err, -EINVAL, "a snapshot needs the name of a file");
	r = name_file(file, 1, &path);
	coati_strbuf_fini(&path);
	if (r < 0)
		return coati_fail(
			err, -EINVAL,
			"%.100s: not a valid file name: only %%p, %%t, %%n, %%c, %%{VARIABLE} and "
			"%%%% are replaced",
			file);
	for (uint32_t i = 0; i < WATCHES && !w; i++)
		if (!coati_tracer_watches.v[i].recorder)
			w = &coati_tracer_watches.v[i];
	if (!w)
		return coati_fail(err, -ENOSPC, "there are %u conditions already", WATCHES);
	w->file = coati_strdup(file);
	if (!w->file)
		return coati_fail(err, -ENOMEM, "no memory for a condition");
	w->at_most = AT_MOST;
	w->pause_ns = PAUSE_NS;
	coati_tracer_triggers = &triggers;
	*ret = w;
	return 0;
}

static uint64_t units_of(uint64_t ns)
{
	const struct coati_live_clock *c = &coati_tracer.clock;

	return c->source ? (uint64_t)((double)ns * (double)c->hz / 1e9) : ns;
}

int coati_recorder_when(struct coati_recorder *rec, const struct coati_recorder_condition *when,
			struct coati_error *err)
{
	struct coati_recorder_condition c;
	struct tracer_watch *w;
	int r = SIZED_COPY(&c, when);

	if (r < 0)
		return coati_fail(err, r,
				  "the condition has a size that this library does not know");
	if (!c.task_type || !*c.task_type || strlen(c.task_type) >= WATCH_TYPE)
		return coati_fail(err, -EINVAL,
				  "a condition needs the type of a task, of 1 to %u bytes",
				  WATCH_TYPE - 1);
	if (!c.slower_than_ns == !(c.times_p99 > 0))
		return coati_fail(err, -EINVAL, "a condition has slower_than_ns or times_p99");
	coati_recorders_lock();
	r = take(rec, c.file, &w, err);
	if (r == 0) {
		w->recorder = rec;
		w->times_p99 = c.times_p99 > 0 ? c.times_p99 : 0;
		w->at_most = c.at_most ? c.at_most : AT_MOST;
		w->pause_ns = c.pause_ns ? c.pause_ns : PAUSE_NS;
		memcpy(w->type, c.task_type, strlen(c.task_type) + 1);
		atomic_store_explicit(&w->limit, units_of(c.slower_than_ns), memory_order_relaxed);
		forget_sites();
		atomic_fetch_add_explicit(&coati_tracer_watches.tasks, 1, memory_order_release);
	}
	coati_recorders_unlock();
	return r;
}

int coati_recorder_on_signal(struct coati_recorder *rec, int sig, const char *file,
			     struct coati_error *err)
{
	struct sigaction act = { .sa_handler = coati_tracer_watch_signal, .sa_flags = SA_RESTART };
	struct sigaction old;
	struct tracer_watch *w;
	int r;

	if (sigaction(sig, NULL, &old) < 0)
		return coati_fail(err, -errno, "signal %d: %m", sig);
	if (old.sa_flags & SA_SIGINFO || (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN))
		return coati_fail(err, -EBUSY, "signal %d has a handler: choose another one", sig);
	coati_recorders_lock();
	r = take(rec, file, &w, err);
	if (r == 0) {
		sigfillset(&act.sa_mask);
		w->recorder = rec;
		w->at_most = UINT32_MAX;
		w->pause_ns = 0;
		atomic_store_explicit(&w->signal, sig, memory_order_release);
		w->old = old;
		if (sigaction(sig, &act, NULL) < 0) {
			r = coati_fail(err, -errno, "signal %d: %m", sig);
			clear(w);
		}
	}
	coati_recorders_unlock();
	return r;
}
