/* SPDX-License-Identifier: MIT */
/*
 * Instructions, as objdump prints them. It reads an untrusted file: where the kernel allows it, it
 * runs in a sandbox of its own, with that file, its libraries and its output.
 */
#pragma once

#include <stdint.h>

#include "sandbox/sandbox.h"

#define OBJDUMP_CPU_S 60 /* CPU time that it may take */

/* What coati_sandbox_run(SANDBOX_OBJDUMP) is given, beside a descriptor of the file. */
struct objdump_task {
	uint64_t start, length; /* addresses of the file */
};

/* A descriptor of its output, from the beginning; the value is its wait status. */
int coati_objdump_job(const struct sandbox_task *task, uint32_t *ret_value,
		      struct coati_error *err);
