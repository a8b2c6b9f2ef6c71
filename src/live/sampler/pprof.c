/* SPDX-License-Identifier: MIT */
/* Folded stacks of the sampler come in, a pprof file goes out. */
#include <string.h>

#include "live/pprof/pprof.h"
#include "live/sampler/sampler.h"

static void add_stack(struct pprof *p, const struct sampler_stack *s)
{
	struct coati_labels labels = { .size = 0 };
	size_t bytes = (s->len - s->nr_frames) * sizeof(s->words[0]);
	const uint64_t values[] = { s->count, s->weight_ns };
	const struct pprof_sample sample = { .frames = s->words,
					     .nr_frames = s->nr_frames,
					     .values = values,
					     .nr_values = 2,
					     .labels = &labels,
					     .tid = s->tid };

	memcpy(&labels, s->words + s->nr_frames, bytes < sizeof(labels) ? bytes : sizeof(labels));
	coati_pprof_add(p, &sample);
}

/* Which one, and what is known to be wrong with it. */
static void add_engine(struct pprof *o, const struct sampler_profile *p)
{
	const struct coati_sampler_stats *s = p->stats;
	struct timespec tick = { 0 };

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	if (s->engine == COATI_SAMPLER_PERF)
		coati_pprof_comment(
			o,
			"engine: perf task-clock on every thread at %u Hz, each period 0.5 to 2 "
			"%% longer or shorter; it does not see the last %llu ns of CPU time of a "
			"thread",
			p->rate_hz, (unsigned long long)(s->period_ns + s->period_ns / 50));
	else if (p->clock == COATI_SAMPLER_WALL || s->engine == COATI_SAMPLER_THREADS)
		coati_pprof_comment(
			o,
			"engine: a timer over %s every thread at %u Hz; it does not see the "
			"first 10 ms of later threads, or more where there are many",
			p->clock == COATI_SAMPLER_WALL ? "wall time on" : "the CPU time of",
			p->rate_hz);
	else
		coati_pprof_comment(
			o,
			"engine: one timer over the CPU time of the process at %u Hz; it charges "
			"the thread that runs at the kernel's tick: shares of threads may be "
			"skewed",
			p->rate_hz);
	if (s->engine != COATI_SAMPLER_PERF && p->clock == COATI_SAMPLER_CPU && tick.tv_nsec > 0)
		coati_pprof_comment(
			o,
			"the kernel checks CPU-time timers at its tick, %ld times a second: it "
			"takes no more samples than that, and each one counts for all the time "
			"since the last",
			1000000000 / tick.tv_nsec);
	if (p->is_rest)
		coati_pprof_comment(
			o, "short threads: a timer over the CPU time of the process samples what "
			   "threads use after their last sample, or without one");
	if (p->is_swapped)
		coati_pprof_comment(
			o,
			"Linux before 6.13 swaps the perf events of threads that take turns on a "
			"CPU: a thread that starts many short ones gets too few samples");
	if (p->refused)
		coati_pprof_comment(o, "%u threads could not be given a timer", p->refused);
}

static void add_share(struct pprof *o, const struct coati_sampler_stats *s)
{
	uint64_t seen_ns = s->cpu_ns < s->total_ns ? s->cpu_ns : s->total_ns;

	if (s->total_ns)
		coati_pprof_comment(
			o,
			"CPU time: %llu ns used, %.1f %% of it in samples (%.1f %% by the timer "
			"over the process), %llu ns in no sample; a higher rate misses less at "
			"the ends of threads",
			(unsigned long long)s->total_ns,
			100.0 * (double)seen_ns / (double)s->total_ns,
			100.0 * (double)s->rest_ns / (double)s->total_ns,
			(unsigned long long)(s->total_ns - seen_ns));
}

static void add_comments(struct pprof *o, const struct sampler_profile *p)
{
	const struct coati_sampler_stats *s = p->stats;

	add_engine(o, p);
	if (p->one_thread)
		coati_pprof_comment(o, "one thread alone is sampled");
	if (p->by_tables)
		coati_pprof_comment(
			o,
			"stacks: by unwind tables of %u objects (%llu bytes), by frame pointers "
			"in %u without unwind data and %u that were over the memory for tables",
			p->objects.with, (unsigned long long)p->objects.bytes, p->objects.without,
			p->objects.over);
	else
		coati_pprof_comment(o, "stacks: by frame pointers");
	if (p->objects.is_shut)
		coati_pprof_comment(
			o, "the process is the child of one with several threads: what was loaded "
			   "since is followed by frame pointers");
	if (p->why[0])
		coati_pprof_comment(o, "a better engine is not available: %s", p->why);
	if (p->no_kernel)
		coati_pprof_comment(
			o, "time inside the kernel is not sampled: kernel.perf_event_paranoid "
			   "forbids it");
	if (p->replaced)
		coati_pprof_comment(
			o, "the program replaced the handler of the signal while it was sampled: "
			   "samples are missing");
	add_share(o, s);
	coati_pprof_comment(o, "samples: %llu taken, %llu lost, %llu with a stack that is cut",
			    (unsigned long long)s->samples, (unsigned long long)s->lost,
			    (unsigned long long)s->cut);
}

int coati_sampler_write_pprof(const struct sampler_profile *p, struct strbuf *ret)
{
	const char *type = p->clock == COATI_SAMPLER_WALL ? "wall" : "cpu";
	struct pprof o;
	int r;

	coati_pprof_init(&o, p->names, ret->max);
	coati_pprof_sample_type(&o, "samples", "count");
	coati_pprof_sample_type(&o, type, "nanoseconds");
	for (const struct sampler_stack *s = p->fold->first; s; s = s->next)
		add_stack(&o, s);
	coati_pprof_time(&o, p->time_ns, p->duration_ns);
	coati_pprof_period(&o, type, "nanoseconds", p->stats->period_ns);
	add_comments(&o, p);
	r = coati_pprof_finish(&o, ret);
	coati_pprof_fini(&o);
	return r;
}
