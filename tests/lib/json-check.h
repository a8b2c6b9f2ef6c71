/* SPDX-License-Identifier: MIT */
/* A judge for our JSON, written apart from the writer: one value, valid UTF-8, nothing behind
 * it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

bool json_check(const char *text, size_t len);
