/* SPDX-License-Identifier: MIT */
/*
 * What the fuzz targets share: the entry that libFuzzer and replay.c call, a check that names its
 * place and aborts (which both count as a find), and a terminated copy for readers of text.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(cond)                                                           \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			abort();                                                   \
		}                                                                  \
	} while (0)

/* To be freed with coati_free(). */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = coati_strndup((const char *)data, size);

	FUZZ_CHECK(text);
	return text;
}
