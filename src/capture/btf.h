/* SPDX-License-Identifier: MIT */
/*
 * The names of functions in BTF, the type information that BPF programs are loaded with. In: the
 * bytes as the kernel gives them, which are not trusted. Out: names, cut to what fits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BTF_NAME_BYTES 128

struct btf_func {
	uint32_t type_id;
	char name[BTF_NAME_BYTES]; /* "" when there is no such function */
};

/* Fill in the names of @nr functions: 0, or -EBADMSG when the bytes are no BTF; names found by then
 * stay. */
int coati_btf_func_names(const void *bytes, size_t size, struct btf_func *funcs, size_t nr);
