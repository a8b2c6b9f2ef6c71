/* SPDX-License-Identifier: MIT */
/*
 * The functions of the running kernel and its modules, out of /proc/kallsyms, read once for all
 * images. An address in, the function and its module out. Used for a recording only when it was
 * made on this kernel: by build id where both are known. A kernel that was loaded elsewhere at the
 * time (address randomisation, another boot) is moved by the difference; modules cannot be.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "image/symbols.h"
#include "image/symbols-near.h"

#define KALLSYMS_BYTES_MAX ((size_t)256 << 20)

struct kernel {
	bool tried;
	/* the addresses for which it is complete; none: for all */
	struct symbols_near near;
	char *text; /* of kallsyms or what is needed of it, cut into words */
	size_t size;
	struct symbols symbols;
	uint64_t text_start, stext_start; /* _text, _stext; 0: not seen */
	uint8_t build_id[20];		  /* of the running kernel */
	uint32_t build_id_size;
	struct coati_error err; /* why there is nothing */
};

/* @path of kallsyms. Fills in err when nothing can be used; only -ENOMEM fails. With addresses in
 * @k->near only the lines that name them are kept. */
int coati_kernel_read(struct kernel *k, const char *path);
/* Is @addr one of those for which it is complete? */
bool coati_kernel_has(const struct kernel *k, uint64_t addr);
/* The lines of the text of kallsyms that @near needs come out; see kernel-lines.c. Pieces of any
 * size go in; 1: the rest is not needed. -ENOMEM. */
struct kernel_lines;
struct kernel_lines *coati_kernel_lines_new(const struct symbols_near *near);
int coati_kernel_lines_add(struct kernel_lines *l, char *text, size_t size);
/* Terminated text of base/alloc.h, which becomes the caller's. -ENOMEM. */
int coati_kernel_lines_take(struct kernel_lines *l, char **ret, size_t *ret_size);
void coati_kernel_lines_free(struct kernel_lines **lp);
/* The number in front of the blank at the start of a line; NULL: it is none. */
char *coati_kernel_address(char *p, uint64_t *ret);
/* The same over text that it takes over: memory of base/alloc.h, with a zero byte behind @size. */
int coati_kernel_take(struct kernel *k, char *text, size_t size);
void coati_kernel_fini(struct kernel *k);
/* The function at @addr; @ret_module is "" for the kernel itself, else "[ext4]". NULL: none. */
const struct symbol *coati_kernel_find(const struct kernel *k, uint64_t addr,
				       const char **ret_module);
/* From /sys/kernel/notes: its size, 0 when it cannot be read. */
uint32_t coati_kernel_build_id(uint8_t ret[20]);
