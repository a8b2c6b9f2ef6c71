/* SPDX-License-Identifier: MIT */
/*
 * Files that are kept open from the moment their mapping is seen. In: what a mapping record says
 * of a file. Out: an image whose names, build ID and unwind tables come from the file that was
 * mapped, even if that file is deleted or replaced later, and after the process has ended.
 *
 * A file has one descriptor, however many processes map it (two if its records name it both by
 * build ID and by inode). The limit is HOLD_FILES_MAX, and never more than half of the descriptors
 * that RLIMIT_NOFILE leaves. Policy at the limit: files that are held stay held; files that come
 * later are opened by their path when they are needed, with the same checks, and they are counted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/image.h>

#define HOLD_FILES_MAX 4096
#define HOLD_TRIES_MAX 4 /* attempts to open one file; each wants another process that maps it */

/* Open the file of @ref and keep it open, with the checks of coati_image_find_file(). 0: it is
 * held, or will not be tried again (the limit, or too many attempts). Negative: not this time
 * (the process has ended, ...), and another mapping of it is worth an attempt; -ENOMEM. A file
 * that is not held is looked for when it is needed. */
int coati_images_hold(struct coati_images *images, const struct coati_image_ref *ref);
/* The build ID of the file: its size, or 0 if it has none or is not found. Keeps nothing open. */
size_t coati_images_build_id(struct coati_images *images, const struct coati_image_ref *ref,
			     uint8_t ret[COATI_BUILD_ID_MAX]);

/* Close the files that are held and were read for names, where that gives back @least_bytes or
 * more of one: they are read again when addresses are asked for that were not asked for before. All
 * answers stay. How many bytes that were. From now on coati_images_resolve() does so, too, whenever
 * it is done with a file; @least_bytes 0: it does not. */
uint64_t coati_images_give_back(struct coati_images *images, uint64_t least_bytes);

struct hold_stats {
	uint64_t held; /* files that are open now */
	uint64_t over; /* files that were not held because of the limit */
};
void coati_images_hold_stats(const struct coati_images *images, struct hold_stats *ret);
