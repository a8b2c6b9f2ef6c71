/* SPDX-License-Identifier: MIT */
/* A view entry by entry, for exporters and timelines. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/profile.h>

#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/wait.h"

uint32_t coati_view_frame_count(const struct coati_view *v);

uint32_t coati_view_function_count(const struct coati_view *v);

/* What is in the view, entry by entry, filtered: for exporters. 1, 0 at the end; start with *pos =
 * 0. */
struct coati_view_entry {
	const struct coati_profile_entry *entry;
	uint64_t weight;
	const uint32_t *frames; /* indexes of frames, innermost first, hidden ones left out */
	uint32_t nr_frames;
	uint32_t stack_flags;
};

int coati_view_next(struct coati_view *v, uint64_t *pos, struct coati_view_entry *ret);

/* The same for one sample that the profile's on_sample gave: for timelines. 1, or 0 when the view
 * leaves its stack out; @ret's entry is NULL. Only conditions by frames are asked again: those
 * about samples belong into the filter of the profile's options.  Hot. */
int coati_view_sample(const struct coati_view *v, const struct coati_profile_sample *sample,
		      struct coati_view_entry *ret);

/* "function", "line" ... "label:KEY", "task" and "region", which are labels of that name
 * (*ret_label then points into @text, else NULL): 0 or -EINVAL with the near miss named. */
int coati_by_parse(const char *text, enum coati_by *ret_by, const char **ret_label,
		   struct coati_error *err);

const char *coati_by_name(enum coati_by by);
