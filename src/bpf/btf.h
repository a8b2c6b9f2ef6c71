/* SPDX-License-Identifier: MIT */
/*
 * BTF, the kernel's description of types, read from front to back. In: bytes as the kernel gives
 * them, which are not trusted. Out: one type after another; they are numbered from 1.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

#define COATI_BTF_MAGIC 0xeb9fu

enum coati_btf_kind {
	COATI_BTF_INT = 1,
	COATI_BTF_PTR = 2,
	COATI_BTF_STRUCT = 4,
	COATI_BTF_UNION = 5,
	COATI_BTF_TYPEDEF = 8,
	COATI_BTF_VOLATILE = 9,
	COATI_BTF_CONST = 10,
	COATI_BTF_RESTRICT = 11,
	COATI_BTF_FUNC = 12,
	COATI_BTF_TYPE_TAG = 18,
};

struct coati_btf {
	struct cursor types;
	const char *strings;
	size_t strings_size;
};

struct coati_btf_type {
	uint32_t name, size_or_type;
	uint32_t kind, nr_members;
	int has_bits; /* offsets of members have the sizes of bit fields in them */
	struct cursor tail;
};

/* -EBADMSG: the bytes are not BTF. */
int coati_btf_open(const void *bytes, size_t size, struct coati_btf *ret);
/* 1, 0 at the end, -EBADMSG. */
int coati_btf_next(struct coati_btf *b, struct coati_btf_type *ret);
/* A name, which may end with the bytes instead of a zero: its start and length. */
const char *coati_btf_name(const struct coati_btf *b, uint32_t name, size_t *ret_len);
