/* SPDX-License-Identifier: MIT */
/* Any bytes as a file with DWARF: every address of its first 4 KiB is asked for, and the answers
 * are summed up. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "image/lines.h"

#define LINES_WALK_ADDRESSES 4096

struct lines_walk {
	uint64_t sum;
	uint64_t nr_frames;
	bool sound; /* what every answer must be */
	int result;
	struct lines_tally tally;
	struct coati_error err;
};

static inline uint64_t lines_walk_text(uint64_t sum, const char *text)
{
	for (; text && *text; text++)
		sum = (sum ^ (uint8_t)*text) * 0x100000001b3;
	return sum + 1;
}

static inline int lines_walk_frames(void *ctx, size_t i, const struct lines_frame *frames,
				    uint32_t nr)
{
	struct lines_walk *w = ctx;

	w->sound &= nr && nr <= LINES_DEPTH_MAX && i < LINES_WALK_ADDRESSES;
	for (uint32_t k = 0; k < nr; k++) {
		w->sum = lines_walk_text(w->sum, frames[k].function);
		w->sum = lines_walk_text(w->sum, frames[k].file) + frames[k].line;
		w->sound &= frames[k].is_inline == (k + 1 < nr);
	}
	w->nr_frames += nr;
	return 0;
}

static inline struct lines_walk lines_walk(const void *bytes, size_t size)
{
	static uint64_t vaddrs[LINES_WALK_ADDRESSES];
	struct lines_walk w = { .sum = 1, .sound = true };
	struct lines_input in = { .vaddrs = vaddrs,
				  .nr = LINES_WALK_ADDRESSES,
				  .want_lines = true,
				  .want_inlines = true,
				  .tally = &w.tally };

	for (size_t i = 0; i < LINES_WALK_ADDRESSES; i++)
		vaddrs[i] = i;
	in.fd = memfd_create("dwarf", MFD_CLOEXEC);
	w.sound = in.fd >= 0 && coati_write_all(in.fd, bytes, size) == 0;
	w.result = coati_lines_resolve(&in, lines_walk_frames, &w, &w.err);
	close(in.fd);
	return w;
}
