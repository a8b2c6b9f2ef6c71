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
/* Whether sequences come again in the bytes that follow: at first they do. To look for them in
 * noise takes most of the time, and makes it larger rather than smaller. */
int coati_deflater_expect(struct deflater *d, bool repeats);
void coati_deflater_free(struct deflater *d);
/* Is there a zlib? */
bool coati_gzip_works(void);

/* Does it begin as gzip does? */
bool coati_is_gzip(const void *bytes, size_t size);
/* All that is in @bytes (one member) behind what @ret holds: -EBADMSG damaged or cut, -E2BIG more
 * than the ceiling of @ret. */
int coati_inflate_gzip(const void *bytes, size_t size, struct strbuf *ret, struct coati_error *err);
