/* SPDX-License-Identifier: MIT */
/*
 * New inputs from saved ones, the same ones in every run: where make test wants a fixed number of
 * inputs without a build for libFuzzer.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CHANGED_BYTES_MAX 65536

struct fuzz_input {
	uint8_t *bytes; /* room for CHANGED_BYTES_MAX */
	size_t size;
};

/* The next random number of a sequence; @state is its seed at first. */
uint64_t fuzz_random(uint64_t *state);

/* One to four changes of @in: bits, numbers, pieces that go, come, are doubled or are @other's. */
void fuzz_change(struct fuzz_input *in, const struct fuzz_input *other, uint64_t *state);
