/* SPDX-License-Identifier: MIT */
/*
 * Names as compilers write them into symbol tables come in, names as people write them go out. C++
 * is left to the demangler of the C++ runtime, which is loaded when the first such name is met;
 * Rust's two forms are read by our own code. Whatever cannot be read stays as it is. All input is
 * hostile: lengths are capped, and our own code has ceilings on depth and on output.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"

#define DEMANGLE_IN_MAX	 4096  /* longer names stay as they are */
#define DEMANGLE_OUT_MAX 16384 /* what would become longer, too */

typedef char *(*cxa_demangle_fn)(const char *mangled, char *buf, size_t *cap, int *status);

/* Zeroed at first; the C++ demangler when it was loaded. One for each thread. */
struct demangler {
	cxa_demangle_fn cxa;
	bool tried;
};

/* Append the readable form to @out; false (and nothing appended): there is none. */
bool coati_demangle_name(struct demangler *d, const char *symbol, struct strbuf *out);
/* The two forms of Rust: "_ZN4core3fmt5write17h0123456789abcdefE" and "_RNvC5crate4main". -EINVAL:
 * it is none, or damaged; -E2BIG. */
int coati_demangle_rust_legacy(const char *symbol, struct strbuf *out);
int coati_demangle_rust_v0(const char *symbol, struct strbuf *out);
