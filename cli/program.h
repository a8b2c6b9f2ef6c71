/* SPDX-License-Identifier: MIT */
/* Programs by their names, and the command that a verb starts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <coati/child.h>

/* The path of @name, as execvp() finds it; false: there is none, or it cannot be executed. */
bool coati_program_find(const char *name, char *ret, size_t size);
/* Let a command go that waits to be executed; NULL: there is none. The exit code, or -1 when all is
 * well. */
int coati_program_release(struct coati_child *child);
