/* SPDX-License-Identifier: MIT */
/*
 * What is mapped where in a process that runs now, for the walker in the kernel: its maps file
 * comes in, its mappings of code with their published tables go out. A description may be out of
 * date when it arrives: the walker compares the number of executable pages with the kernel's, and
 * asks again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/map.h"
#include "bpf/walker.h"
#include "capture/labels.h"
#include "unwind/unwinder.h"

struct describe {
	struct walker *walker;
	struct coati_images *images;
	struct coati_unwinder *unwinder;
	const char *procfs;
	struct map tables;	      /* of an image to what is kept of its published table */
	struct map pids;	      /* to the address space that was described last */
	struct map families;	      /* of pids, likewise */
	struct thread_labels *labels; /* NULL: they are not wanted */
	bool without_traced; /* nor those of programs with the tracer, which reports them itself */
	struct map label_places; /* of an image, packed */
	/* of the process at hand */
	ARRAY(struct walker_map) maps;
	uint64_t exec_pages;
	struct walker_label_place label_place;
	uint64_t context; /* where its process context is; 0: not seen */
	bool has_tracer, is_musl;
	uint64_t described, failed;
};

/* @unwinder and @images must outlive it. */
void coati_describe_init(struct describe *d, struct walker *walker, struct coati_unwinder *unwinder,
			 const char *procfs);
void coati_describe_fini(struct describe *d);
/* Publish what process @pid has mapped, as the walker asked for it. */
int coati_describe(struct describe *d, int32_t pid, const struct walker_need *need);
/* The same before the walker has met it. */
int coati_describe_running(struct describe *d, int32_t pid);
/* The keys of its labels alone, of the process that @pid is of if it is of that family, for
 * @labels. Any thread. */
void coati_describe_keys(const char *procfs, int32_t pid, uint64_t family,
			 struct thread_labels *labels);
/* A file that will be mapped: make and publish its table. */
void coati_describe_file(struct describe *d, const char *path);
/* All processes that run now. */
void coati_describe_all(struct describe *d);
/* The process has ended. */
void coati_describe_forget(struct describe *d, int32_t pid);
