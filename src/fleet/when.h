/* SPDX-License-Identifier: MIT */
/* Times that people type: "-1h", "now", "14:05", "2026-11-15 14:05", "2026-11-15T14:05:30Z",
 * "@1794787200". */
#pragma once

#include <stdint.h>

#include <coati/error.h>

/* Seconds since 1970. @now_s: what "-1h" counts from, and whose day "14:05" is of. Times without a
 * "Z" are of the local time zone. */
int coati_when_parse(const char *text, uint64_t now_s, uint64_t *ret_s, struct coati_error *err);
