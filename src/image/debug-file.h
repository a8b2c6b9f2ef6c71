/* SPDX-License-Identifier: MIT */
/*
 * The separate file with the debug data of an image: looked for by build id, then by the name in
 * .gnu_debuglink (whose checksum must be right, unless the build ids agree), then, only if asked,
 * on the servers of debuginfod.
 */
#pragma once

#include <coati/error.h>

#include "image/image.h"

/* Open it into im->debug_file and name it in im->debug, once. -ENOENT: none; -ENOMEM. */
int coati_image_find_debug_file(struct coati_image *im);
