/* SPDX-License-Identifier: MIT */
/* What the weights of a view are called in formats that keep events apart: one kind for each event
 * that has samples. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "format/format.h"

struct weight {
	const char *type; /* "cpu" for the only clock, else the name of the event */
	const char *unit; /* "nanoseconds" or "count" */
	uint64_t period;  /* weight of one sample, as far as the event says; 0: not said */
	uint32_t event;
};

struct weights {
	struct weight *v;
	uint32_t nr;
	uint32_t *of_event; /* by event of the profile: which of them */
	bool counts;	    /* the view's own weight is the number of samples */
	bool is_cut;	    /* a number did not fit */
};

/* -ENOMEM. */
int coati_weights_init(struct weights *w, const struct format_input *in);
void coati_weights_fini(struct weights *w);

/* As much of it as a signed number holds. */
static inline uint64_t coati_weights_int64(struct weights *w, uint64_t weight)
{
	if (weight <= INT64_MAX)
		return weight;
	w->is_cut = true;
	return INT64_MAX;
}
