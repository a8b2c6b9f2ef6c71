/* SPDX-License-Identifier: MIT */
/*
 * Landlock: rights on files, sockets and signals that a process gives up for good. What is named
 * here is given up, but for the places that are allowed. Numbers are the kernel's own, because the
 * headers of the build machine may be older than the kernel that runs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LANDLOCK_EXECUTE     (UINT64_C(1) << 0)
#define LANDLOCK_WRITE_FILE  (UINT64_C(1) << 1)
#define LANDLOCK_READ_FILE   (UINT64_C(1) << 2)
#define LANDLOCK_READ_DIR    (UINT64_C(1) << 3)
#define LANDLOCK_REMOVE_DIR  (UINT64_C(1) << 4)
#define LANDLOCK_REMOVE_FILE (UINT64_C(1) << 5)
#define LANDLOCK_MAKE_DIR    (UINT64_C(1) << 7)
#define LANDLOCK_MAKE_REG    (UINT64_C(1) << 8)
#define LANDLOCK_TRUNCATE    (UINT64_C(1) << 14)
#define LANDLOCK_ALL	     ((UINT64_C(1) << 16) - 1)
/* Everything that changes something. */
#define LANDLOCK_CHANGES \
	(((UINT64_C(1) << 15) - 1) & ~(LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR))

struct landlock {
	int fd;
	uint64_t handled; /* as far as this kernel knows it */
};

/* The version of the kernel's interface, 1 or more; negative: it has none, or it is switched
 * off. */
int coati_landlock_version(void);
/* Give up these rights on files; with @net TCP, too, with @scope signals and abstract sockets of
 * others. What the kernel does not know yet is left out. */
int coati_landlock_begin(struct landlock *l, uint64_t rights, bool net, bool scope);
/* But not on this file, or below this directory. */
int coati_landlock_allow(struct landlock *l, int fd, uint64_t rights);
int coati_landlock_allow_path(struct landlock *l, const char *path, uint64_t rights);
/* From now on, for this thread and all that it starts. */
int coati_landlock_restrict(struct landlock *l);
void coati_landlock_end(struct landlock *l);
