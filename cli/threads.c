/* SPDX-License-Identifier: MIT */
/* see threads.h */
#include "cli/threads.h"

#include <stdlib.h>

#include "base/cpus.h"
#include "base/parse.h"
#include "cli/talk.h"

#define VARIABLE     "COATI_THREADS"
#define DEFAULT_MOST 4 /* more wait for the one that adds up */
/* Starting a thread takes as long as reading a megabyte. */
#define LEAST_BYTES ((uint64_t)8 << 20)

bool coati_threads_choose(uint32_t given)
{
	const char *text = secure_getenv(VARIABLE);
	uint32_t cpus;

	if (!given && text && *text &&
	    coati_parse_u32(text, 1, RECORDING_THREADS_MAX, &given) < 0) {
		coati_say(VARIABLE "=%.40s: it must be a number of threads from 1 to %d", text,
			  RECORDING_THREADS_MAX);
		return false;
	}
	if (given) {
		coati_recording_threads_set((struct recording_threads){ .nr = given });
		return true;
	}
	cpus = coati_cpus();
	coati_recording_threads_set((struct recording_threads){
		.nr = cpus < DEFAULT_MOST ? cpus : DEFAULT_MOST, .least_bytes = LEAST_BYTES });
	return true;
}
