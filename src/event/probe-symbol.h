/* SPDX-License-Identifier: MIT */
/* Functions in the symbol tables of a program or library. */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/elf.h"

/* What e_machine must say for code that runs here. */
#if defined(__x86_64__)
#define PROBE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define PROBE_MACHINE EM_AARCH64
#else
#define PROBE_MACHINE EM_NONE
#endif

/* Where separate debug files are, by build id. */
#define PROBE_DEBUG_DIR "/usr/lib/debug"

/* Can @name, which a file holds, be shown to a person: 1 to 128 bytes and no control characters? */
bool coati_probe_name_ok(const char *name);

/* A program or library, and where debug files may lie. */
struct probe_file {
	const struct elf *elf;
	const char *path; /* for messages */
	const char *debug_dir;
};

struct probe_symbol {
	uint64_t vaddr, size;
};

/*
 * Find the function @name in .symtab and .dynsym of @e, else in the separate debug file of the same
 * build id below @debug_dir. @path is the file's name for the error.
 *
 * Of several symbols with that name a global one is taken before a local one, and the default
 * version before older ones; "name@VERSION" asks for one version. Two local functions with the same
 * name are an error that lists their offsets. Indirect functions (IFUNC: memcpy and its like in
 * libc) are refused with -EOPNOTSUPP: the symbol is the function that picks the variant when the
 * program starts, so a probe there would count something else.
 *
 * -ENOENT: no such function; the text offers the nearest, or says that it is data, or only
 * imported.
 */
int coati_probe_symbol_find(const struct probe_file *f, const char *name, struct probe_symbol *ret,
			    struct coati_error *err);
