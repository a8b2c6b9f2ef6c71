/* SPDX-License-Identifier: MIT */
/*
 * A recording that is being written, read into a profile as it grows. In: a stream in a regular
 * file (or a memfd) and, now and then, the question what is new. Out: the samples, through the
 * profile's on_sample. What a recorder writes at the end of a recording is given here instead.
 *
 *	coati_follow_open(p, fd, &opts, &f, &err);
 *	while (recording)
 *		coati_follow_take(f);
 *	coati_follow_end(f);
 *	coati_follow_close(&f);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/profile.h>
#include <coati/recording.h>

struct coati_follow;

struct coati_follow_opts {
	uint64_t begin_ns; /* when the recording began, for time off the CPUs; 0: first record */
	bool whole;	   /* all threads of some processes are recorded */
	bool all_wakes;	   /* and every wakeup of them */
};

/* Takes @fd over, of a stream (at its start) or of a file that has its header already. The
 * profile's contexts are asked for live events alone (feed and next), not for labels. */
int coati_follow_open(struct coati_profile *p, int fd, const struct coati_follow_opts *opts,
		      struct coati_follow **ret, struct coati_error *err);
/* All that is there and in order: 0; -ENOMEM, -EBADMSG when the stream is malformed. */
int coati_follow_take(struct coati_follow *f);
/* Nothing more will be written: the rest, and threads that are off their CPUs. */
int coati_follow_end(struct coati_follow *f);
void coati_follow_get_stats(const struct coati_follow *f, struct coati_recording_stats *ret);
void coati_follow_close(struct coati_follow **f);
