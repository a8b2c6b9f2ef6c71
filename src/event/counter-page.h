/* SPDX-License-Identifier: MIT */
/*
 * Reading a counter without a system call, through the first page of a mapped event. The kernel
 * writes the page under a sequence lock: odd while it writes, another number when it has written.
 * What is read between two equal even numbers belongs together, hardware counter included.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/abi.h>

/* The CPU, as a parameter for tests. */
struct counter_cpu {
	void *ctx;
	bool (*counter)(void *ctx, uint32_t counter, uint64_t *ret); /* false: cannot be read */
	uint64_t (*cycles)(void *ctx);
};

struct counter_value {
	uint64_t value;
	uint64_t enabled_ns, running_ns;
	bool times; /* the times are of now */
};

/* 1 read; 0 the page does not allow it now (no access, event not on the PMU, page always busy): use
 * read(2). Hot. */
int coati_counter_page_read(const struct coati_control_page *page, const struct counter_cpu *cpu,
			    struct counter_value *ret);
