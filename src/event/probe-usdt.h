/* SPDX-License-Identifier: MIT */
/*
 * Statically defined probes (USDT, "stapsdt" notes): what a program or library offers. One call of
 * the macro in the source is one note; the same probe can stand at many places, and inlining makes
 * more of them.
 *
 *	struct probe_usdt_walk w;
 *	struct probe_usdt u;
 *	r = coati_probe_usdt_open("libc.so.6", &w, &err);
 *	while (r >= 0 && (r = coati_probe_usdt_next(&w, &u)) > 0)
 *		show(u.provider, u.name, u.args);
 *	coati_probe_usdt_close(&w);
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/elf.h"

struct probe_usdt {
	const char *provider, *name; /* fit to be printed */
	const char *args;	     /* where the arguments are: "8@%rdi -4@$1" */
	uint64_t vaddr;
	uint64_t semaphore; /* its address, 0 when the probe has none */
};

struct probe_usdt_walk {
	struct elf elf;
	struct elf_notes notes;
	uint64_t base; /* address of .stapsdt.base, 0 when there is none */
	char path[PATH_MAX];
};

/* @path as coati_probe_file_find() takes it. A file without probes is no error. @ret can be closed
 * after a failure too. */
int coati_probe_usdt_open(const char *path, struct probe_usdt_walk *ret, struct coati_error *err);
/* The same over an open file, which stays the caller's. */
int coati_probe_usdt_begin(const struct elf *e, struct probe_usdt_walk *ret);
/* 1 and the next place, 0 at the end, -EBADMSG when the notes are malformed. Lives: until the walk
 * is closed. */
int coati_probe_usdt_next(struct probe_usdt_walk *w, struct probe_usdt *ret);
void coati_probe_usdt_close(struct probe_usdt_walk *w);
