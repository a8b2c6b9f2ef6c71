/* SPDX-License-Identifier: MIT */
/* Inside: what an open walker consists of. */
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "bpf/arena.h"
#include "bpf/walker.h"

struct published_table {
	uint32_t word, words; /* 0: free */
};

struct published_space {
	uint64_t space;
	uint32_t word, words;
};

struct walker {
	struct libbpf lib;
	struct bpf_object *object;
	int program_fds[WALKER_AT_COUNT]; /* the object's; -1: not loaded */
	int spaces_fd, stacks_fd, needs_fd;
	uint32_t nr_cpus;
	struct walker_arena arena;
	struct walker_control *control; /* mapped */
	struct walker_file *files;	/* mapped */
	struct walker_work *works;	/* mapped, one for each CPU */
	uint64_t *changes;		/* mapped, read-only */
	size_t files_bytes, works_bytes, changes_bytes, control_bytes;
	struct bpf_link *link; /* NULL: this kernel does not tell of mappings */
	uint32_t serial, generation, hand;
	ARRAY(struct published_table) tables; /* by number */
	ARRAY(struct published_space) spaces;
	struct map space_index; /* to the index in spaces, plus 1 */
	uint64_t nr_tables, table_bytes, evicted;
};

/* ---- publish.c ---- */
void coati_walker_publish_init(struct walker *w);
void coati_walker_publish_fini(struct walker *w);
