/* SPDX-License-Identifier: MIT */
/* The bytes of read(2) on an event, decoded; the counts of a sample and of a READ record have the
 * same shape. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/event.h>

/* Where the entries of a group go: at most @max are stored. */
struct count_group {
	uint64_t format; /* COATI_READ_* */
	struct coati_count *counts;
	uint32_t max;
};

/* One count without COATI_READ_GROUP. -EBADMSG when @size is too short for @format; @ret has no
 * label. */
int coati_count_decode(const void *bytes, size_t size, uint64_t format, struct coati_count *ret);
/* A group; *ret_nr is how many entries there are. */
int coati_count_decode_group(const void *bytes, size_t size, const struct count_group *into,
			     uint32_t *ret_nr);
/* What came between @before and @after, which are of the same event. */
struct coati_count coati_count_between(const struct coati_count *before,
				       const struct coati_count *after);
