/* SPDX-License-Identifier: MIT */
/*
 * /debug/pprof/profile: the sampler runs for some seconds, and what it writes is the answer. There is one sampler in a process: who asks while it runs
 * is told to come again.
 */
#include "live/serve-pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/sampler.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"

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
		page_fail(job, 500, "no memory for the profile");
	else if (r < 0)
		page_fail(job, 500, err.text);
	else if (!read_back(fd, job->body))
		page_fail(job, 500, "the profile is too large; ask for fewer seconds");
	else
		job->file = "profile";
}

static void make_profile(struct page_job *job)
{
	struct coati_sampler_opts opts = { .size = sizeof(opts),
					   .flags = COATI_SAMPLER_NAMES,
					   .stacks = job->stacks };
	struct coati_error err = { 0 };
	int r = coati_sampler_start(&opts, &err);

	if (r == -EBUSY)
		page_fail(job, 429, "a profile is being taken already; ask again when it is done");
	else if (r < 0)
		page_fail(job, 500, err.text);
	else if (job->wait(job, job->seconds * NSEC_PER_SEC))
		stop(job);
	else
		coati_sampler_stop(-1, NULL, NULL);
}

const struct live_page coati_serve_profile = { "profile",
					       "a CPU profile of so many seconds, for pprof", NULL,
					       make_profile, 30 };
