/* SPDX-License-Identifier: MIT */
/*
 * The files that a program maps when it starts: itself, its dynamic linker, and the libraries that
 * it and they need, found as the dynamic linker finds them by default. A forecast: what it misses
 * is learnt when it is mapped.
 */
#pragma once

#define CLOSURE_FILES_MAX 256

/* Call @fn with the real path of each file, once. @program: as execvp() takes it. */
void coati_closure_each(const char *program, void (*fn)(void *ctx, const char *path), void *ctx);
