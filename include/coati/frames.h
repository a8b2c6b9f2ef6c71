/* SPDX-License-Identifier: MIT */
/*
 * Frame marks, part of libcoati-live: a program that runs in cycles (a frame of a game, an
 * iteration of an event loop, a block of audio) marks the start of each, and gets statistics of
 * their durations.
 *
 *	for (;;) {
 *		COATI_FRAME("frame");
 *		update();
 *		draw();
 *	}
 *
 * The time from one mark to the next is a frame. Statistics are always kept, even while no recorder
 * runs: coati_frame_stats(), and the page /debug/pprof/frames of a server (<coati/serve.h>). On the
 * timeline every frame is a task of this name (<coati/tracer.h>), which the thread works on: `coati
 * trace` shows their percentiles and the slowest ones, `coati why frame` shows what makes them
 * slow, and coati_recorder_when() writes a snapshot of the recorder when one takes too long.
 *
 * Each COATI_FRAME() in the source is a separate sequence. Any thread may mark it, one at a time.
 * Scopes of tasks and regions that begin in a frame must end before the next mark.
 */
#ifndef COATI_FRAMES_H
#define COATI_FRAMES_H

#include <stdint.h>

#include <coati/tracer.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sequence of frames: declare it static. Its fields are private to the library. Frozen. */
struct coati_frames {
	struct coati_site site;
	void *state;
};

/* End the current frame and begin the next one. The first mark begins the first frame and allocates
 * 6 KiB; without memory a mark does nothing. Costs a clock read and an uncontended lock.  Thread:
 * any, one at a time.  Signal: not safe. */
COATI_API void coati_frame_mark(struct coati_frames *frames);

struct coati_frame_stats {
	uint64_t size;	 /* sizeof(struct coati_frame_stats) */
	uint64_t frames; /* completed frames */
	uint64_t sum_ns, min_ns, max_ns;
	/* Percentiles of the duration, rounded up by at most 1/16. */
	uint64_t p50_ns, p90_ns, p99_ns;
	uint64_t last_ns; /* duration of the last frame */
};

/* Get the statistics of the sequence with this name; if there are several, of the one that was
 * marked first. -ENOENT: there is none; -EINVAL: ret->size is not set.  Thread: any.  Signal: not
 * safe. */
COATI_API int coati_frame_stats(const char *name, struct coati_frame_stats *ret);

/* Mark the start of a frame. @name is a string literal. */
#ifdef COATI_DISABLE
#define COATI_FRAME(name) ((void)0)
#else
#define COATI_FRAME(name)                                                       \
	do {                                                                    \
		static struct coati_frames coati_frames_ = {                    \
			COATI_SITE(COATI_SITE_TASK, "", name, NULL, 0, 0), NULL \
		};                                                              \
		coati_frame_mark(&coati_frames_);                               \
	} while (0)
#endif

#ifdef __cplusplus
}
#endif
#endif
