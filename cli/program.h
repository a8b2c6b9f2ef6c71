/* SPDX-License-Identifier: MIT */
/* Programs by their names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The path of @name, as execvp() finds it; false: there is none, or it cannot be executed. */
bool coati_program_find(const char *name, char *ret, size_t size);
