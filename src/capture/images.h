/* SPDX-License-Identifier: MIT */
/*
 * The files whose code was mapped while we recorded, and their build IDs. In: mappings as they are
 * seen. Out: the build ID section of the recording, and files that are kept open for unwinding and
 * symbolizing (image/hold.h). The kernel tells the IDs of new mappings. Other IDs are read from the
 * file, if it is still the one that was mapped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/recording.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "recording/writer.h"

#define CAPTURE_IMAGES_MAX 65536
#define IMAGES_NAME_MAX	   4096

struct image {
	const char *name;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint8_t id[20];
	uint8_t id_size; /* 0: not known yet */
	bool asked;	 /* the file was looked at */
	bool settled;	 /* it is held, or there is no point in trying again */
	uint32_t next;	 /* another one of the same name, 0: none (indexes count from 1) */
};

struct images {
	struct arena names;
	ARRAY(struct image) v;
	struct map by_name; /* to the index, from 1 */
	/* where they are found; the caller's. NULL: nothing is opened */
	struct coati_images *files;
	bool holds; /* each is kept open from its first mapping on */
};

/* @files and @holds are the caller's to fill in after it. */
void coati_images_init(struct images *im);
void coati_images_fini(struct images *im);
/* One mapping. Its file is opened where files are held; a file that cannot be opened is no
 * error. Without an ID (id_size 0) device and inode identify it. Memory without a file (the
 * heap, JIT code) is left out. -ENOMEM. */
int coati_images_add(struct images *im, const struct coati_mmap *m);
/* The id of the file with that device and inode, as far as it is known: its size, or 0. */
uint32_t coati_images_find(const struct images *im, const struct coati_mmap *m, uint8_t ret[20]);
/* Read the ids that are missing and put all of them into the recording. */
int coati_images_write(struct images *im, struct coati_writer *w);
