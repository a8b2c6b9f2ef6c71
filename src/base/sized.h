/* SPDX-License-Identifier: MIT */
/*
 * Option structs that start with their own size, so that old programs run with new libraries and
 * the other way round. In: the caller's struct (or NULL: all defaults). Out: a full copy in which
 * what the caller did not know is zero. A longer struct than ours is accepted only when the part we
 * do not know is zero.
 */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* No option struct will ever be longer; a size above is a struct that was not initialized. */
#define SIZED_MAX 4096u

/* 0, -EINVAL (no sane size), -E2BIG (the tail that we do not know is used). */
static inline int sized_copy(void *ret, size_t ret_size, const void *opts)
{
	const unsigned char *bytes = opts;
	uint64_t size = ret_size;

	memset(ret, 0, ret_size);
	if (opts) {
		memcpy(&size, opts, sizeof(size));
		if (size < sizeof(size) || size > SIZED_MAX)
			return -EINVAL;
		for (size_t i = ret_size; i < size; i++)
			if (bytes[i])
				return -E2BIG;
		memcpy(ret, opts, size < ret_size ? (size_t)size : ret_size);
		size = ret_size;
	}
	memcpy(ret, &size, sizeof(size));
	return 0;
}

/* struct coati_x_opts o; r = SIZED_COPY(&o, opts); */
#define SIZED_COPY(ret, opts) sized_copy((ret), sizeof(*(ret)), (opts))

/* Has the caller set the size of a result, and is there room for more than that size? */
static inline bool sized_has_room(const void *ret)
{
	uint64_t size = 0;

	if (ret)
		memcpy(&size, ret, sizeof(size));
	return size > sizeof(size) && size <= SIZED_MAX;
}

/* The way back: results that the caller has room for. Everything behind the size of @full is
 * copied, as far as @ret->size says that there is room; a caller that knows more fields than we do
 * finds them zero. 0, or -EINVAL (the size was forgotten, or no field fits: nothing was
 * written). */
static inline int sized_fill(void *ret, const void *full, size_t full_size)
{
	uint64_t size;

	if (!sized_has_room(ret))
		return -EINVAL;
	memcpy(&size, ret, sizeof(size));
	if (size > full_size)
		memset((unsigned char *)ret + full_size, 0, (size_t)size - full_size);
	else
		full_size = (size_t)size;
	memcpy((unsigned char *)ret + sizeof(size), (const unsigned char *)full + sizeof(size),
	       full_size - sizeof(size));
	return 0;
}

/* SIZED_FILL(ret, &full); both of the same struct. */
#define SIZED_FILL(ret, full) sized_fill((ret), (full), sizeof(*(full)))
