/* SPDX-License-Identifier: MIT */
/* Which unit of a file holds which of the wanted addresses: by .debug_aranges, and for units that
 * are not in there by their own ranges. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/lines-file.h"

#define COVER_NONE UINT32_MAX

/* @owner[i] becomes the unit of sorted @vaddrs[i], or COVER_NONE. Counts @work down. Where units
 * claim the same address the narrowest range has it. 0; 1: there was damage, which is stepped
 * over; -ENOMEM. */
int coati_cover(struct dwarf_file *f, const uint64_t *vaddrs, size_t nr, uint64_t *work,
		uint32_t *owner);
