/* SPDX-License-Identifier: MIT */
/*
 * Types as format files spell them: how large and how signed. Sizes are those of a 64-bit kernel;
 * what the record itself says (size and sign of a field) goes before what its type is called.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ctype {
	uint32_t size; /* 0: not known */
	bool is_signed;
	bool pointer; /* size and sign are those of what it points to */
};

/* One word of a type: false when it is none that we know. "unsigned" and its like change what came
 * before. */
bool coati_ctype_word(struct ctype *t, const char *word, size_t len);
/* The element of an array field from its type text ("__data_loc u64[]", "u8[4]", "unsigned
 * long[2]"). */
struct ctype coati_ctype_element(const char *type);
