/* SPDX-License-Identifier: MIT */
/*
 * Where the threads of a process publish their labels, as a program or library has it: the
 * thread-local variable otel_thread_ctx_v1 of docs/formats/thread-context.md. In a program its
 * distance from the thread pointer is known from the file. Where it is in a library, the loader
 * chooses, and writes the distance where a relocation says. A library that is loaded later may have
 * a part of its own in each thread: then the loader writes its number, and where the variable is in
 * that part.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/image.h>

#include "bpf/shared.h"

struct label_place {
	enum walker_labels kind;
	uint64_t at;	 /* the distance; of THROUGH and MODULE an address of the file */
	bool has_tracer; /* the file has the tracer, which reports labels itself when it is asked */
};

/* Opens the file. One that cannot be read has none. */
void coati_label_place_find(struct coati_images *images, uint32_t image, struct label_place *ret);
