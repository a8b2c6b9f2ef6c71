/* SPDX-License-Identifier: MIT */
/* What the files that build a window share. */
#pragma once

#include "agent/build.h"

#define BUILD_NONE UINT32_MAX

/* Numbers of a recording's profile to those of the window: on or off the CPUs. */
struct build_names {
	struct coati_view *view;
	uint32_t *frames, *stacks;
};

/* A recording. */
struct build_source {
	struct agent_feed *feed;
	uint32_t number;
	struct build_names names[2];
	struct map services; /* by thread and label set of the profile: plus 1; 0: dropped */
};

void coati_build_source_fini(struct build_source *src);
/* An array of @nr numbers, each BUILD_NONE; NULL: no memory. */
uint32_t *coati_build_none(size_t nr);
/* @v is sorted. */
int coati_build_labels(struct agent_build *b, struct coati_label *v, uint32_t nr, uint32_t *ret);
/* Service (BUILD_NONE: dropped), process and thread of a sample. */
int coati_build_who(struct agent_build *b, struct build_source *src,
		    const struct coati_profile_sample *s, struct agent_row *row);
/* The service of that name. */
int coati_build_service(struct agent_build *b, const struct service *s, const char *cgroup,
			uint32_t *ret);
int coati_build_tasks(struct agent_build *b, struct agent_live *live, uint64_t end_ns);
