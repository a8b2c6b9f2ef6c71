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

#define KALLSYMS_BYTES_MAX ((size_t)256 << 20)

struct kernel {
	bool tried;
	char *text; /* of kallsyms, cut into words */
	size_t size;
	struct symbols symbols;
	uint64_t text_start, stext_start; /* _text, _stext; 0: not seen */
	uint8_t build_id[20];		  /* of the running kernel */
	uint32_t build_id_size;
	struct coati_error err; /* why there is nothing */
};

/* @path of kallsyms. Fills in err when nothing can be used; only -ENOMEM fails. */
int coati_kernel_read(struct kernel *k, const char *path);
/* The same over text that it takes over: memory of base/alloc.h, with a zero byte behind @size. */
int coati_kernel_take(struct kernel *k, char *text, size_t size);
void coati_kernel_fini(struct kernel *k);
/* The function at @addr; @ret_module is "" for the kernel itself, else "[ext4]". NULL: none. */
const struct symbol *coati_kernel_find(const struct kernel *k, uint64_t addr,
				       const char **ret_module);
/* From /sys/kernel/notes: its size, 0 when it cannot be read. */
uint32_t coati_kernel_build_id(uint8_t ret[20]);
