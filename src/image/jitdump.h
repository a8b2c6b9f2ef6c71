/* SPDX-License-Identifier: MIT */
/*
 * Where the bytes of a jitdump file come from: memory or a descriptor. The file is never mapped:
 * its writer could cut it under our hands.
 */
#pragma once

#include <stdint.h>

#include <coati/error.h>

#include "image/jit.h"

struct jitdump_bytes {
	const uint8_t *memory; /* NULL: fd */
	int fd;
	uint64_t size;
};

int coati_jitdump_walk(struct jit *j, const struct jitdump_bytes *from, struct coati_error *err);
