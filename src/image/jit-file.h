/* SPDX-License-Identifier: MIT */
/*
 * Opening what a JIT wrote, as the process sees it: below the root of the process while it lives,
 * else here. It is a stranger's file: no link, no FIFO, no device, the process' own user's or
 * root's, and not over a ceiling; every refusal says why.
 */
#pragma once

#include <stdint.h>

#include <coati/error.h>

struct jit_source {
	const char *procfs;
	const char *root; /* of this machine, "": / */
	int32_t pid;	  /* as we see it */
	const char *path; /* as the process sees it; NULL: its perf map */
};

/* A descriptor and the size, or negative: -ENOENT, -ELOOP, -EINVAL (no regular file), -EPERM (whose
 * is it), -EFBIG, ... */
int coati_jit_open(const struct jit_source *from, uint64_t max_bytes, uint64_t *ret_size,
		   struct coati_error *err);
/* The number that the process has in its own pid namespace; @pid itself when /proc does not say. */
int32_t coati_jit_inner_pid(const char *procfs, int32_t pid);
