/* SPDX-License-Identifier: MIT */
/*
 * Directories of agents as inputs: a directory stands for the recordings in it that have something
 * of the range of time that is asked for, oldest first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/options.h"

#define STORE_TIME_ROOM 96

/* Which time of day. NULL: from the first, up to now. */
struct store_range {
	const char *from, *to;
};

/* A filter's time for the range, "" when there is none. -EINVAL with a sentence. */
int coati_store_time(const struct store_range *r, char ret[STORE_TIME_ROOM],
		     struct coati_error *err);
/* Replace each directory of an agent in @files by its recordings. -ENOENT: a directory has none of
 * that time; -E2BIG, -ENOMEM. The texts live until coati_store_fini(). */
int coati_store_expand(struct option_texts *files, const struct store_range *r,
		       struct coati_error *err);
/* "DIR@FROM..TO": the directory, cut off in place, and the range; false: it is no such text. */
bool coati_store_split(char *text, struct store_range *ret);
void coati_store_fini(void);
