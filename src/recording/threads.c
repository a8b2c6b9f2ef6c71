/* SPDX-License-Identifier: MIT */
/* see threads.h */
#include "recording/threads.h"

static struct recording_threads chosen = { .nr = 1 };

void coati_recording_threads_set(struct recording_threads t)
{
	if (t.nr > RECORDING_THREADS_MAX)
		t.nr = RECORDING_THREADS_MAX;
	chosen = t;
}

struct recording_threads coati_recording_threads(void)
{
	return chosen;
}
