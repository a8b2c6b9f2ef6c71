/* SPDX-License-Identifier: MIT */
/*
 * The shape of a sample is what its chain says by itself: words, mode and leaf, without the process
 * that it is of and the time that it is from. Threads that read ahead find shapes and number them,
 * the same number for the same shape, so that the reader, which works in the order of time, need
 * not look at the words of a chain that it has met: number, address space and kernel lead to it.
 */
#pragma once

#include <stdint.h>

#include <coati/record.h>

#include "reading/chain.h"

struct reading;
struct shapes;

/* NULL: out of memory; the reading does without. */
struct shapes *coati_shapes_new(const struct reading *r, uint32_t threads);
void coati_shapes_free(struct shapes *s);
/* For coati_ahead_opts.look: the number, or 0: none was given. Hot. */
uint32_t coati_shapes_look(void *ctx, uint32_t thread, const struct coati_raw *raw, uint32_t event);
/* The chain of @key, which has no words yet, with that number; NULL: not known. Hot. */
struct chain *coati_shapes_find(struct shapes *s, struct chains *c, const struct chain_key *key,
				uint32_t number);
/* Memory that find() will read, asked for; and the number of the chain that it will find, or
 * UINT32_MAX. Hot. */
void coati_shapes_expect(const struct shapes *s, uint32_t number);
uint32_t coati_shapes_expect_chain(const struct shapes *s, const struct chains *c, uint32_t number);
/* It is that chain from now on. */
void coati_shapes_put(struct shapes *s, const struct chains *c, const struct chain *chain,
		      uint32_t number);
