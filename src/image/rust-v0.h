/* SPDX-License-Identifier: MIT */
/*
 * The state of reading one Rust name of the second mangling, shared by its two halves: rust-v0.c
 * reads paths and types, rust-ident.c the letters and numbers that they are made of. A name may
 * point back into itself, so that a short one can stand for an endless one: depth, steps and output
 * are all bounded, and `bad` is sticky.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define V0_DEPTH_MAX 96
#define V0_STEPS_MAX 16384

struct v0 {
	const char *s; /* behind "_R" */
	size_t len, at;
	struct strbuf *out;
	bool silent; /* parse without writing */
	bool bad;
	unsigned int depth, steps;
	uint64_t nr_lifetimes; /* bound so far */
};

/* A name as it stands in the symbol. */
struct v0_ident {
	const char *text;
	size_t len;
	bool puny;
	uint64_t disambiguator;
};

static inline char v0_peek(const struct v0 *v)
{
	return v->at < v->len ? v->s[v->at] : '\0';
}

static inline bool v0_eat(struct v0 *v, char c)
{
	if (v->bad || v0_peek(v) != c)
		return false;
	v->at++;
	return true;
}

static inline char v0_next(struct v0 *v)
{
	char c = v0_peek(v);

	if (!c)
		v->bad = true;
	else
		v->at++;
	return c;
}

static inline void v0_add(struct v0 *v, const char *text)
{
	if (!v->silent && !v->bad)
		coati_strbuf_adds(v->out, text);
}

/* "_" is 0, "0_" is 1. */
uint64_t coati_v0_base62(struct v0 *v);
/* The number behind @tag plus one, 0 without it. */
uint64_t coati_v0_tagged(struct v0 *v, char tag);
/* With its disambiguator when @disambiguated. */
struct v0_ident coati_v0_ident(struct v0 *v, bool disambiguated);
void coati_v0_add_ident(struct v0 *v, const struct v0_ident *i);
/* A constant of the basic type @type, value in hexadecimal digits up to "_". */
void coati_v0_constant(struct v0 *v, char type);
