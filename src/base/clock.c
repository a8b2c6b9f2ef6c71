/* SPDX-License-Identifier: MIT */
/*
 * Nanoseconds come in, words go out. Integers only: the decimal point is a point in every locale,
 * and rounding up to the next unit shows that unit ("1.00 ms", never "1000 us").
 */
#include "base/clock.h"

#include <inttypes.h>

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "ns", 1 },	       { "us", NSEC_PER_USEC },	   { "ms", NSEC_PER_MSEC },
	{ "s", NSEC_PER_SEC }, { "m", 60 * NSEC_PER_SEC }, { "h", 3600 * NSEC_PER_SEC },
};
#define NR_UNITS (sizeof(units) / sizeof(units[0]))

/* @ns in @unit to three digits, rounded: *ret_parts of the result make one unit. */
static uint64_t round_to(uint64_t ns, uint64_t unit, uint64_t *ret_parts)
{
	uint64_t parts = unit == 1 ? 1 : 100; /* a nanosecond has none */

	for (;; parts /= 10) {
		uint64_t v = ns / unit * parts + (ns % unit * parts + unit / 2) / unit;

		if (v < 1000 || parts == 1) {
			*ret_parts = parts;
			return v;
		}
	}
}

void coati_format_duration(struct strbuf *s, uint64_t ns)
{
	uint64_t v, parts;
	size_t i = 0;

	for (;; i++) {
		v = round_to(ns, units[i].ns, &parts);
		if (i + 1 == NR_UNITS || v / parts < units[i + 1].ns / units[i].ns)
			break;
	}
	coati_strbuf_printf(s, "%" PRIu64, v / parts);
	if (parts > 1)
		coati_strbuf_printf(s, ".%0*" PRIu64, parts == 100 ? 2 : 1, v % parts);
	coati_strbuf_printf(s, " %s", units[i].name);
}
