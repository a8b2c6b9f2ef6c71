/* SPDX-License-Identifier: MIT */
/* One .xz stream in, its bytes out: the small symbol table that distributions put into
 * .gnu_debugdata. liblzma is loaded when first needed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#define XZ_OUT_MAX ((size_t)256 << 20)

/* Memory of base/alloc.h with a zero byte behind @ret_size. -EOPNOTSUPP: no liblzma; -EBADMSG:
 * damaged; -E2BIG: over the ceiling; -ENOMEM. */
int coati_xz_unpack(const uint8_t *in, size_t in_size, uint8_t **ret, size_t *ret_size,
		    struct coati_error *err);
