/* SPDX-License-Identifier: MIT */
/*
 * The files whose code was mapped while we recorded, and their build ids. In: mappings as they are seen. Out: the build id
 * section of the recording. The kernel tells the ids of what is mapped anew; others are read from the file, when that is
 * still the one that was mapped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/recording.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"

#define CAPTURE_IMAGES_MAX 65536
#define IMAGES_NAME_MAX	   4096

struct image {
	const char *name;
	uint32_t maj, min;
	uint64_t ino;
	uint8_t id[20];
	uint8_t id_size; /* 0: not known yet */
	bool asked;	 /* the file was looked at */
	uint32_t next;	 /* another one of the same name, 0: none (indexes count from 1) */
};

struct images {
	struct arena names;
	ARRAY(struct image) v;
	struct map by_name; /* to the index, from 1 */
};

void coati_images_init(struct images *im);
void coati_images_fini(struct images *im);
/* One mapping. Without an id (id_size 0) device and inode count. What has no file (the heap, JIT code) is left out; -ENOMEM. */
int coati_images_add(struct images *im, const struct coati_mmap *m);
/* The id of the file with that device and inode, as far as it is known: its size, or 0. */
uint32_t coati_images_find(const struct images *im, const struct coati_mmap *m, uint8_t ret[20]);
/* Read the ids that are missing and put all of them into the recording. */
int coati_images_write(struct images *im, struct coati_writer *w);
