/* SPDX-License-Identifier: MIT */
/* gzip by zlib, which is loaded when it is first needed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <coati/error.h>

#include "base/strbuf.h"

struct deflater;

/* Takes compressed bytes; 0 or a negative errno, which ends it. */
typedef int (*deflater_fn)(void *ctx, const void *bytes, size_t size);

/* -EOPNOTSUPP: there is no zlib here. */
int coati_deflater_new(deflater_fn fn, void *ctx, struct deflater **ret, struct coati_error *err);
int coati_deflater_put(struct deflater *d, const void *bytes, size_t size, bool is_last);
/* What the bytes that follow are like. In texts sequences come again, as all take it at first. In
 * columns of numbers they do, but to look for the longest of them takes twice the time, for four
 * bytes of a hundred. To look for any in noise takes most of the time, and makes it larger rather
 * than smaller. */
enum deflater_kind { DEFLATER_TEXT = 0, DEFLATER_NUMBERS, DEFLATER_NOISE, DEFLATER_KINDS };
int coati_deflater_expect(struct deflater *d, enum deflater_kind kind);
void coati_deflater_free(struct deflater *d);
/* Is there a zlib? */
bool coati_gzip_works(void);

/* Does it begin as gzip does? */
bool coati_is_gzip(const void *bytes, size_t size);
/* All that is in @bytes (one member) behind what @ret holds: -EBADMSG damaged or cut, -E2BIG more
 * than the ceiling of @ret. */
int coati_inflate_gzip(const void *bytes, size_t size, struct strbuf *ret, struct coati_error *err);
