/* SPDX-License-Identifier: MIT */
/*
 * Source lines and inline frames for addresses of one image whose functions are known already: the
 * answers without them in, answers with them out. Which file has the DWARF (the image's own, or its
 * debug file) is found out here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "image/image.h"

/* @vaddrs are sorted in place, doubles and what was answered before drop out. What has no line
 * keeps its answer. -ENOMEM alone fails. */
int coati_image_add_lines(struct coati_image *im, uint64_t *vaddrs, size_t nr, uint32_t flags);
