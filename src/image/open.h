/* SPDX-License-Identifier: MIT */
/*
 * From a record's description of a file to a descriptor of that very file. Paths are untrusted:
 * only regular files are opened, no symlink is followed below the root of a foreign process, and
 * a file that is not the recorded one (by build id, else by inode) is refused with its reason.
 */
#pragma once

#include <coati/error.h>

#include "image/image.h"

/* Where an image was found. */
struct opened {
	int fd;
	char path[IMAGE_PATH_MAX + 64]; /* to show */
};

/* The file of the image itself; -ENOENT, -EACCES, -ELOOP (a link), -EINVAL (no regular file),
 * -ESTALE (another file has its place by now), ... with the sentence. */
int coati_image_find_file(struct coati_image *im, struct copy *ret, struct opened *ret_opened,
			  struct coati_error *err);
/* Open an untrusted path below the directory @root ("" or "/" for the root of this machine),
 * without following symlinks unless @follow. Regular files only. */
int coati_open_below(const char *root, const char *path, bool follow, struct coati_error *err);
/* The GNU build id of the copy: its size, 0 when there is none. */
size_t coati_copy_build_id(struct copy *c, uint8_t ret[COATI_BUILD_ID_MAX]);
