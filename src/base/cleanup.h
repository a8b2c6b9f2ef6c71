/* SPDX-License-Identifier: MIT */
/*
 * Ownership by scope: CLEANUP(fn) runs fn(&variable) when the variable leaves its scope; TAKE_FD
 * and TAKE_PTR hand the thing over and leave "nothing" behind.
 *	CLEANUP(fd_closep) int fd = open(...);
 *	...
 *	*ret = TAKE_FD(fd);
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"

#define CLEANUP(fn) __attribute__((cleanup(fn)))

#define TAKE_FD(fd)                     \
	({                              \
		int *taken_p_ = &(fd);  \
		int taken_ = *taken_p_; \
		*taken_p_ = -1;         \
		taken_;                 \
	})

#define TAKE_PTR(p)                               \
	({                                        \
		__typeof__(p) *taken_p_ = &(p);   \
		__typeof__(p) taken_ = *taken_p_; \
		*taken_p_ = NULL;                 \
		taken_;                           \
	})

/* Keeps errno, so that `return -errno` after a failing call stays right. */
static inline void fd_closep(int *fd)
{
	if (*fd >= 0) {
		int keep = errno;

		close(*fd);
		errno = keep;
		*fd = -1;
	}
}

/* For memory of base/alloc.h; takes the address of any pointer. */
static inline void freep(void *pp)
{
	void **p = pp;

	coati_free(*p);
	*p = NULL;
}

static inline void file_closep(FILE **f)
{
	if (*f)
		fclose(*f);
	*f = NULL;
}

static inline void dir_closep(DIR **d)
{
	if (*d)
		closedir(*d);
	*d = NULL;
}
