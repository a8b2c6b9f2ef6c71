/* SPDX-License-Identifier: MIT */
/* What the writer of folded stacks and their reader must agree on. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Does a name of @len bytes end in a mark, "_[k]" (kernel) or "_[i]" (inlined)? */
bool coati_folded_has_mark(const char *name, size_t len);
