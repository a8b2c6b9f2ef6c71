/* SPDX-License-Identifier: MIT */
/*
 * The kernel's types as far as the walker uses them. Its program names members of the kernel's
 * structs, and the loader looks up where they are. libbpf would read all of the kernel's BTF for
 * that, 5 MB and 100,000 types, and compare every name, which takes longer than everything else
 * that it does. So one pass cuts out the few structs and members that are needed, and libbpf gets
 * those.
 *
 * In: the kernel's BTF. Out: BTF with members of any depth as direct members of their structs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define KERNEL_TYPES_BYTES 4096
#define KERNEL_MEMBERS_MAX 8

struct kernel_struct {
	const char *name;
	const char *members[KERNEL_MEMBERS_MAX]; /* up to the first NULL */
};

struct kernel_types {
	uint8_t bytes[KERNEL_TYPES_BYTES];
	size_t size;
	uint32_t structs; /* a bit for each that was found, in the order of the question */
};

/* Cut out @nr structs. A struct or member that the kernel does not have is left out. -EBADMSG: the
 * bytes are not BTF; -ENOMEM, -E2BIG. */
int coati_kernel_types_cut(const void *bytes, size_t size, const struct kernel_struct *want,
			   size_t nr, struct kernel_types *ret);
/* The walker's structs, in this order. */
enum {
	KERNEL_TASK,
	KERNEL_MM,
	KERNEL_SIGNAL,
	KERNEL_MAPPING,
	KERNEL_PROBES,
	KERNEL_PROBE_PAGE,
	KERNEL_PROBE_TASK,
	KERNEL_PROBE_RETURN,
	KERNEL_THREAD,
};
/* Those of the walker, from the BTF of the kernel that runs. -ENOENT: it has none. */
int coati_kernel_types_read(struct kernel_types *ret);
