/* SPDX-License-Identifier: MIT */
/* Between the files of libcoati-preload-heap. */
#pragma once

#include <stdbool.h>

/* heap-calls.c: whether the program's calls of malloc() come to us. */
bool coati_preload_heap_is_called(void);
