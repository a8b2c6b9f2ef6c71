/* SPDX-License-Identifier: MIT */
/*
 * /debug/pprof/profile: the sampler runs for some seconds, and what it writes is the answer. There
 * is one sampler in a process: a request while it runs is asked to try again later.
 */
#include "live/serve-pages.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/sampler.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "live/sampler/sampler.h"

#define MAX_HZ 10000u /* as coati_sampler_start() has it */

/* All of @fd behind what @s holds; false when it is over the limit of @s, or cannot be read. */
static bool read_back(int fd, struct strbuf *s)
{
	off_t size = lseek(fd, 0, SEEK_END);
	char *room = size < 0 ? NULL : strbuf_room(s, (size_t)size);

	if (!room || coati_pread_all(fd, room, (size_t)size, 0) < 0)
		return false;
	room[size] = 0;
	s->len += (size_t)size;
	return true;
}

static void stop(struct page_job *job)
{
	CLEANUP(fd_closep) int fd = memfd_create("coati-profile", MFD_CLOEXEC);
	struct coati_error err = { 0 };
	int r = coati_sampler_stop(fd, NULL, &err);

	if (fd < 0)
		coati_page_fail(job, 500, "no memory for the profile");
	else if (r < 0)
		coati_page_fail(job, 500, err.text);
	else if (!read_back(fd, job->body))
		coati_page_fail(job, 500, "the profile is too large; ask for fewer seconds");
	else
		job->file = "profile";
}

/* What the query asks for. False: the page says what is wrong with it. */
static bool read_query(struct page_job *job, struct coati_sampler_opts *o)
{
	int r = coati_http_query_u32(job->text, "hz", MAX_HZ, &o->rate_hz);
	char clock[8] = "cpu";

	if ((r < 0 && r != -ENOENT) || (r == 0 && !o->rate_hz)) {
		coati_page_fail(job, 400, "hz is a number from 1 to 10000: ?hz=1000");
		return false;
	}
	r = coati_http_query_text(job->text, "clock", clock, sizeof(clock));
	if (r == -ERANGE || (strcmp(clock, "cpu") && strcmp(clock, "wall"))) {
		coati_page_fail(job, 400, "clock is cpu or wall: ?clock=wall");
		return false;
	}
	o->clock = clock[0] == 'w' ? COATI_SAMPLER_WALL : COATI_SAMPLER_CPU;
	return true;
}

static void make_profile(struct page_job *job)
{
	struct coati_sampler_opts opts = { .size = sizeof(opts),
					   .flags = COATI_SAMPLER_NAMES,
					   .stacks = job->stacks };
	struct coati_error err = { 0 };
	int r;

	if (!read_query(job, &opts))
		return;
	r = coati_sampler_start(&opts, &err);
	if (r == -EBUSY)
		coati_page_fail(job, 429, "another profile is in progress; try again later");
	else if (r < 0)
		coati_page_fail(job, 500, err.text);
	else if (job->wait(job, job->seconds * NSEC_PER_SEC))
		stop(job);
	else
		coati_sampler_stop(-1, NULL, NULL);
}

static uint64_t total(const _Atomic uint64_t *v)
{
	return atomic_load_explicit(v, memory_order_relaxed);
}

static void put_metrics(struct page_metrics *m)
{
	const struct sampler_totals *t = &coati_sampler_totals;

	m->number(m, "coati_sampler_running", "gauge", "Whether a CPU profile is being taken.",
		  atomic_load_explicit(&coati_sampler_shared.on, memory_order_relaxed));
	m->number(m, "coati_sampler_profiles", "counter", "CPU profiles that have ended.",
		  total(&t->profiles));
	m->number(m, "coati_sampler_samples", "counter", "Samples in these.", total(&t->samples));
	m->number(m, "coati_sampler_lost", "counter", "Samples that are missing in these.",
		  total(&t->lost));
	m->number(m, "coati_sampler_cut", "counter", "Samples whose stack is cut.", total(&t->cut));
	m->number(m, "coati_sampler_overruns", "counter",
		  "Periods of timers that had no sample of their own.", total(&t->overruns));
}

const struct live_page coati_serve_profile = {
	.name = "profile",
	.what = "a CPU profile over a number of seconds, for pprof",
	.make = make_profile,
	.default_seconds = 30,
	.metrics = put_metrics,
};
