/* SPDX-License-Identifier: MIT */
/*
 * What a mapping is of: the file as the record names it, or memory without one. Stored once for all
 * mappings of the same; made into an image when the first address in it is asked for, so that build
 * ids that come later in a stream still count, and files that are not used cost nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/image.h>
#include <coati/record.h>

#include "base/array.h"
#include "base/map.h"

struct coati_processes;

enum origin_kind {
	ORIGIN_FILE = 0, /* a file that can be opened */
	/* memory, or a file that is as good as memory: code in it was made at run time */
	ORIGIN_ANON,
	ORIGIN_MEMFD, /* either of these */
	ORIGIN_VDSO,
	/* from here on the addresses of the image are those of the process (or the kernel)
	 * themselves, and not of a file */
	ORIGIN_JIT_FILE, /* code made at run time, as simpleperf keeps it in a file */
	ORIGIN_KERNEL,
	ORIGIN_MODULE,
	ORIGIN_BPF,
};

struct origin {
	enum origin_kind kind;
	uint32_t image; /* COATI_IMAGE_NONE: not asked for yet */
	int32_t pid;	/* the first that had it mapped; of ANON and MEMFD the only one */
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint64_t map_start, map_end, map_pgoff; /* one mapping of it in that process */
	uint8_t build_id[COATI_BUILD_ID_MAX];
	uint8_t build_id_size;
	const char *path;
};

struct path_build_id {
	uint32_t size;
	uint8_t id[COATI_BUILD_ID_MAX];
};

struct origins {
	ARRAY(struct origin) v;
	struct map by_hash;
	uint64_t seed;
};

/* By the name in a mapping of a process: "//anon", "[vdso]", "/memfd:x (deleted)",
 * "/lib/libc.so". */
enum origin_kind coati_origin_kind(const char *name);
/* Find or add. @key's path is copied. Negative: -ENOMEM, -E2BIG. */
int coati_origin_get(struct coati_processes *ps, const struct origin *key, uint32_t *ret);
struct origin_image {
	uint32_t image;
	bool is_absolute; /* see ORIGIN_JIT_FILE */
};

/* -ENOMEM, -E2BIG. */
int coati_origin_image(struct coati_processes *ps, uint32_t origin, struct origin_image *ret);
