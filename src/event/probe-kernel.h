/* SPDX-License-Identifier: MIT */
/* Functions of the running kernel, by name. */
#pragma once

#include <coati/error.h>

/* Is @symbol the name of exactly one function in @kallsyms ("/proc/kallsyms")? 0 also when the list
 * cannot be read, or for "module:function": then the kernel has the last word. -ENOENT: no, and the
 * text offers the nearest; -EINVAL: of several. */
int coati_probe_kernel_check(const char *kallsyms, const char *symbol, struct coati_error *err);
