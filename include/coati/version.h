/* SPDX-License-Identifier: MIT */
/* Version of the headers and of the loaded library. */
#ifndef COATI_VERSION_H
#define COATI_VERSION_H

#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COATI_VERSION_MAJOR  0
#define COATI_VERSION_MINOR  1
#define COATI_VERSION_PATCH  0
#define COATI_VERSION_STRING "0.1.0"

/* The version of the loaded library, "0.1.0".
 * Thread: any.  Signal: safe.  Memory: never allocates. */
COATI_API const char *coati_version(void);

#ifdef __cplusplus
}
#endif
#endif
