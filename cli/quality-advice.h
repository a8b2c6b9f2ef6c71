/* SPDX-License-Identifier: MIT */
/* What was not seen, and the option that helps: for record while and after it, for report later. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/* What a recording says of its samples; see struct coati_profile_quality. */
struct seen {
	uint64_t samples, lost, throttled;
	uint64_t sampled, counted, period, exits;
	bool is_part;	   /* user space or the kernel alone has samples */
	const char *event; /* NULL: a clock */
};

/* One sentence without a newline, into @s; false: there is nothing to say. @verb stands in front of
 * options: "" while coati record runs, "coati record " elsewhere. */
bool coati_advise_sampled(struct strbuf *s, const struct seen *seen, const char *verb);
bool coati_advise_lost(struct strbuf *s, const struct seen *seen, const char *verb);
