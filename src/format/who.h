/* SPDX-License-Identifier: MIT */
/*
 * Names of processes and threads over time, for formats that know them by number alone: when one is
 * met first, and when its name is not what it was.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/profile.h>

#include "base/map.h"

struct who {
	const struct coati_profile *profile;
	struct map processes, threads; /* to the thread of the profile that named it last */
};

void coati_who_init(struct who *w, const struct coati_profile *p);
void coati_who_fini(struct who *w);
/* A sample of @thread comes: must the name of its process, of the thread itself be written (again)?
 * -ENOMEM, -E2BIG. Hot. */
int coati_who_meet(struct who *w, uint32_t thread, bool *ret_process, bool *ret_thread);
