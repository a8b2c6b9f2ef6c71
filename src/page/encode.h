/* SPDX-License-Identifier: MIT */
/* Bytes as they lie in a page: compressed with gzip, where there is a zlib, and in base64. */
#pragma once

#include <stdbool.h>

#include <coati/error.h>

#include "base/strbuf.h"

/* Compress: without a zlib the bytes are taken as they are, and *ret_is_gzip is false. */
int coati_page_compress(const struct strbuf *bytes, struct strbuf *ret, bool *ret_is_gzip,
			struct coati_error *err);
void coati_page_base64(const struct strbuf *bytes, struct strbuf *ret);
