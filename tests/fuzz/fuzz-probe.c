/* SPDX-License-Identifier: MIT */
/* Any bytes as a program to be probed: functions by name and version, and its USDT probes. */
#include <stdlib.h>
#include <string.h>

#include "event/probe-symbol.h"
#include "event/probe-usdt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find(const struct elf *e, const char *name)
{
	struct coati_error err = { 0 };
	struct probe_symbol s;

	if (coati_probe_symbol_find(&(struct probe_file){ e, "file", "/nonexistent" }, name, &s,
				    &err) < 0 &&
	    !*err.text)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct probe_usdt_walk w;
	struct probe_usdt u;
	struct elf e;
	int r;

	if (coati_elf_from_bytes(data, size, &e) < 0)
		return 0;
	find(&e, "first");
	find(&e, "call");
	find(&e, "call@OLD_1");
	r = coati_probe_usdt_begin(&e, &w);
	while (r >= 0 && (r = coati_probe_usdt_next(&w, &u)) > 0)
		if (!coati_probe_name_ok(u.provider) || strlen(u.args) > size)
			abort();
	return 0;
}
