/* SPDX-License-Identifier: MIT */
/*
 * Frame marks, part of libcoati-live: a program that works in rounds (a frame of a game, a turn of
 * an event loop, a block of audio) marks where each begins, and gets statistics of how long they
 * take.
 *
 *	for (;;) {
 *		COATI_FRAME("frame");
 *		update();
 *		draw();
 *	}
 *
 * The time from one mark to the next is a frame. Statistics are kept always, also while nobody
 * records: coati_frame_stats(), and the page /debug/pprof/frames of a server (<coati/serve.h>). On
 * the timeline every frame is a task of this name (<coati/tracer.h>), which the thread works on: so
 * `coati trace` shows their percentiles and the slowest ones, `coati why frame` what makes them
 * slow, and coati_recorder_when() keeps what the recorder holds when one takes too long.
 *
 * Each COATI_FRAME() in the source is a sequence of its own. Its marks may come from any thread,
 * one at a time. Scopes of tasks and regions that begin in a frame end before the next mark.
 */
#ifndef COATI_FRAMES_H
#define COATI_FRAMES_H

#include <stdint.h>

#include <coati/tracer.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sequence of frames: static. Fields are the library's. Frozen. */
struct coati_frames {
	struct coati_site site;
	void *state;
};

/* A frame ends, the next one begins. The first mark begins the first frame. A mark for which there
 * is no memory (6 KiB at the first) does nothing. Costs a clock read and a lock that nobody else
 * holds.
 * Thread: any, one at a time.  Signal: not safe. */
COATI_API void coati_frame_mark(struct coati_frames *frames);

struct coati_frame_stats {
	uint64_t size;	 /* of this struct, set by the caller: so much is written */
	uint64_t frames; /* that have ended */
	uint64_t sum_ns, min_ns, max_ns;
	/* Half, 90 and 99 of a hundred frames took at most so long; up to 1/16 more than it was. */
	uint64_t p50_ns, p90_ns, p99_ns;
	uint64_t last_ns; /* how long the last one took */
};

/* Of the sequence of that name; of several, the one that was marked first. -ENOENT: there is none;
 * -EINVAL: ret->size is not set.
 * Thread: any.  Signal: not safe. */
COATI_API int coati_frame_stats(const char *name, struct coati_frame_stats *ret);

/* A mark. @name is a literal. */
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
