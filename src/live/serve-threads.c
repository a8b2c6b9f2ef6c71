/* SPDX-License-Identifier: MIT */
/* /debug/pprof/threads: what every thread does, with its stack; as a file for pprof, equal stacks
 * together (debug=1), or one by one (debug=2). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "live/pprof/pprof.h"
#include "live/pprof/text.h"
#include "live/profiles/threads.h"
#include "live/serve-pages.h"

static struct text_stack stack_of(const struct thread_seen *t)
{
	return (struct text_stack){ t->frames, t->nr_frames, false, &t->labels };
}

/* ---- debug=2 ---- */

static void put_thread(struct live_maps *maps, const struct thread_seen *t, struct strbuf *s)
{
	const struct text_stack stack = stack_of(t);

	coati_strbuf_printf(s, "thread %u \"", t->tid);
	coati_strbuf_clean(s, t->name, strlen(t->name));
	coati_strbuf_printf(s, "\" [%c] cpu %" PRIu64 ".%02u s", t->state, t->cpu_ms / 1000,
			    (unsigned int)(t->cpu_ms % 1000 / 10));
	if (t->wchan[0])
		coati_strbuf_printf(s, " in %s", t->wchan);
	coati_strbuf_addc(s, '\n');
	if (t->why)
		coati_strbuf_printf(s, "\tno stack: %s\n", t->why);
	else
		coati_text_frames(maps, &stack, "\t", s);
	if (t->cut)
		coati_strbuf_printf(s, "\t... cut: %s\n", t->cut);
	coati_strbuf_addc(s, '\n');
}

static void put_threads(struct live_maps *maps, const struct threads_seen *seen, struct strbuf *s)
{
	for (const struct thread_seen *t = seen->first; t; t = t->next)
		put_thread(maps, t, s);
	coati_strbuf_printf(s, "%u threads\n", seen->nr);
}

/* ---- debug=1 ---- */

static bool is_same(const struct thread_seen *a, const struct thread_seen *b)
{
	return a->why == b->why && a->cut == b->cut && a->nr_frames == b->nr_frames &&
	       (!a->nr_frames ||
		!memcmp(a->frames, b->frames, a->nr_frames * sizeof(a->frames[0]))) &&
	       a->labels.size == b->labels.size &&
	       !memcmp(a->labels.bytes, b->labels.bytes, a->labels.size);
}

/* 0 when an earlier one had the same. */
static uint32_t count_same(const struct threads_seen *seen, const struct thread_seen *t)
{
	const struct thread_seen *other = seen->first;
	uint32_t nr = 1;

	for (; other != t; other = other->next)
		if (is_same(other, t))
			return 0;
	for (other = t->next; other; other = other->next)
		nr += is_same(other, t);
	return nr;
}

static void put_groups(struct live_maps *maps, const struct threads_seen *seen, struct strbuf *s)
{
	coati_strbuf_printf(s, "threads profile: total %u\n", seen->nr);
	for (const struct thread_seen *t = seen->first; t; t = t->next) {
		const struct text_stack stack = stack_of(t);
		uint32_t nr = count_same(seen, t);

		if (!nr)
			continue;
		coati_strbuf_printf(s, t->why ? "# %u without a stack: " : "%u", nr);
		if (t->why)
			coati_strbuf_adds(s, t->why);
		else
			coati_text_addresses(&stack, s);
		coati_strbuf_addc(s, '\n');
		if (!t->why)
			coati_text_frames(maps, &stack, "#\t", s);
		if (t->cut)
			coati_strbuf_printf(s, "#\t... cut: %s\n", t->cut);
	}
	coati_text_mappings(maps, s);
}

static void put_text(const struct threads_seen *seen, struct page_job *job)
{
	struct live_maps maps;

	if (coati_maps_open(&maps) < 0) {
		coati_page_fail(job, 500, "/proc/self/maps cannot be read");
		return;
	}
	if (job->debug == 1)
		put_groups(&maps, seen, job->body);
	else
		put_threads(&maps, seen, job->body);
	coati_maps_close(&maps);
}

/* ---- debug=0 ---- */

static void put_pprof(const struct threads_seen *seen, struct page_job *job)
{
	const uint64_t one = 1;
	struct pprof p;

	coati_pprof_init(&p, true, job->body->max);
	coati_pprof_sample_type(&p, "threads", "count");
	for (const struct thread_seen *t = seen->first; t; t = t->next) {
		const char state[2] = { t->state };
		const struct pprof_sample sample = { .frames = t->frames,
						     .nr_frames = t->nr_frames,
						     .values = &one,
						     .nr_values = 1,
						     .labels = &t->labels,
						     .tid = t->tid,
						     .more = { { "name", t->name },
							       { "state", state },
							       { t->why	  ? "no stack"
								 : t->cut ? "cut"
									  : NULL,
								 t->why ? t->why : t->cut } } };

		coati_pprof_add(&p, &sample);
	}
	coati_pprof_period(&p, "threads", "count", 1);
	coati_pprof_time(&p, clock_ns(CLOCK_REALTIME), 0);
	if (coati_pprof_finish(&p, job->body) < 0)
		coati_page_fail(job, 500, "no memory to make the profile");
	else
		job->file = "threads";
	coati_pprof_fini(&p);
}

static void make_threads(struct page_job *job)
{
	struct threads_seen seen;
	int r = coati_threads_look(job->stacks, &seen);

	if (r == -EBUSY) {
		coati_page_fail(job, 429, "another request is reading the threads; try again");
	} else if (r == -ENOSPC) {
		coati_page_fail(job, 500, "no real-time signal is free to interrupt the threads");
	} else if (r == -ENODATA) {
		coati_page_fail(job, 500, "no unwind table could be made for any loaded object");
	} else if (r < 0) {
		coati_page_fail(job, 500, "/proc/self/task cannot be read");
	} else {
		if (job->debug)
			put_text(&seen, job);
		else
			put_pprof(&seen, job);
		coati_threads_free(&seen);
	}
}

static uint64_t count_threads(const struct live_page *page)
{
	CLEANUP(coati_strbuf_fini) struct strbuf stat = STRBUF_INIT(8192);

	return coati_file_read(AT_FDCWD, "/proc/self/stat", &stat) < 0
		       ? 0
		       : coati_stat_field(stat.text, 20);
}

const struct live_page coati_serve_threads = { "threads", "stacks of all threads", count_threads,
					       make_threads, 0 };
