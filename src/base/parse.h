/* SPDX-License-Identifier: MIT */
/*
 * Numbers from outside. All refuse a sign where none is meant, blanks, a tail and what is out of
 * range; the result is written only on success. -EINVAL: not a number of that kind; -ERANGE: a
 * number, but not between min and max.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Decimal, or hexadecimal after 0x; i64 with an optional - in front. */
int coati_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);
int coati_parse_u32(const char *s, uint32_t min, uint32_t max, uint32_t *ret);
int coati_parse_i64(const char *s, int64_t min, int64_t max, int64_t *ret);
/* Hexadecimal without 0x; more than 16 digits are -ERANGE. */
int coati_parse_hex(const char *s, uint64_t *ret);
/* A decimal fraction such as 1.5, -3 or 2.3283064365386962890625e-10; always with a point, whatever
 * the locale; -ERANGE when it is not finite as a double. */
int coati_parse_double(const char *s, double *ret);
/* Without the spaces at both ends, which are cut off in place. */
char *coati_parse_trim(char *text);
/* A percentage: 0.5, 95%; @min and @max in percent. */
int coati_parse_percent(const char *s, double min, double max, double *ret);
/* Bytes: 4096, 64k, 16M, 1g, 512KiB, 2TB (all powers of 1024). */
int coati_parse_size(const char *s, uint64_t min, uint64_t max, uint64_t *ret);
/* Nanoseconds: 10s, 1.5s, 250ms, 3us, 40ns, 2m, 1h; a bare number is seconds. Exact; what is finer
 * than a nanosecond is cut. */
int coati_parse_duration(const char *s, uint64_t min_ns, uint64_t max_ns, uint64_t *ret_ns);
/* Rates: 99, 1k, 4.5k, 1M (powers of 1000); they must come out whole: 1.5 is -EINVAL. */
int coati_parse_rate(const char *s, uint64_t min, uint64_t max, uint64_t *ret);
/* "0-3,7" into a bitmap of @nr_bits, every bit of which is written; -ERANGE for a number past it or
 * a range that runs backwards. An empty text (an empty mask in sysfs) is -EINVAL. */
int coati_parse_cpulist(const char *s, uint64_t *bits, size_t nr_bits);
