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

/* Programs that run without being attached to an event of ours. */
enum {
	WALKER_FOLLOWS_MAPPINGS,
	WALKER_FOLLOWS_FORKS,
	WALKER_FOLLOWS_EXITS,
	WALKER_FOLLOWS_ENDS,
	WALKER_FOLLOWS_EXECS,
	WALKER_FOLLOWERS
};

struct walker {
	struct libbpf lib;
	struct bpf_object *object;
	int program_fds[WALKER_AT_COUNT]; /* the object's; -1: not loaded */
	int spaces_fd, stacks_fd, needs_fd;
	int target_fds[2]; /* by enum walker_target */
	uint32_t nr_cpus, nr_works;
	bool has_targets;
	struct walker_arena arena;
	struct walker_control *control; /* mapped */
	struct walker_file *files;	/* mapped */
	struct walker_work *works;	/* mapped, one for each CPU */
	uint64_t *changes;		/* mapped, read-only */
	size_t files_bytes, works_bytes, changes_bytes, control_bytes;
	/* the first is NULL where the kernel does not report mappings, the others where no
	 * targets are followed */
	struct bpf_link *links[WALKER_FOLLOWERS];
	uint32_t serial, generation, hand;
	ARRAY(struct published_table) tables; /* by number */
	ARRAY(struct published_space) spaces;
	struct map space_index; /* to the index in spaces, plus 1 */
	uint64_t nr_tables, table_bytes, evicted;
};

/* ---- publish.c ---- */
void coati_walker_publish_init(struct walker *w);
void coati_walker_publish_fini(struct walker *w);
