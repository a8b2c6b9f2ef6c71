/* SPDX-License-Identifier: MIT */
/* What the oracles share: a process under ptrace, what it has mapped, and a walk through its stack
 * as it is now. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include <coati/image.h>
#include <coati/unwind.h>

#define ORACLE_MAPS_MAX 4096

struct oracle_map {
	uint64_t start, end;
	uint32_t image;
	uint64_t bias;
};

struct oracle_process {
	pid_t pid;
	int status; /* of the last wait */
	struct coati_images *images;
	struct oracle_map maps[ORACLE_MAPS_MAX];
	size_t nr_maps;
	bool stale; /* mappings may have changed */
};

/* What a walk found. */
struct oracle_frames {
	struct coati_unwind_frame *v;
	uint32_t max;
	enum coati_unwind_end end;
};

/* Start @argv and stop it at its first instruction. Failure ends the program. What is made of its
 * files is kept in @cache_dir; NULL: nowhere. */
void oracle_start(struct oracle_process *p, char **argv, const char *cache_dir);
/* Kill what is left of it. */
void oracle_end(struct oracle_process *p);
struct coati_unwinder *oracle_unwinder(struct oracle_process *p);
/* Memory of the process; false when not all of it can be read. */
bool oracle_read(const struct oracle_process *p, uint64_t addr, void *to, size_t size);
/* Its callers by the tables, from the registers and all of its memory. */
int oracle_walk(struct oracle_process *p, struct coati_unwinder *u,
		const struct user_regs_struct *regs, struct oracle_frames *f);
