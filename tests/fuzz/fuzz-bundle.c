/* SPDX-License-Identifier: MIT */
/* What agents post to a relay: what is taken has whole rows, and is written back as the same
 * bytes. */
#include <string.h>

#include "fleet/bundle.h"
#include "fleet/row-check.h"
#include "fuzz/fuzz.h"

/* A checksum keeps changed bytes away from what is behind it: rows are tried without one, too. */
static void try_rows(const uint8_t *data, size_t size)
{
	struct row_times all = { .last_s = UINT32_MAX };
	uint64_t rows = 0;

	for (int t = 0; t < SCHEMA_SENT; t++)
		if (coati_row_check((enum schema_table)t, data, size, &all, &rows) == 0)
			FUZZ_CHECK(rows <= size && (rows > 0) == (size > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf again = STRBUF_INIT(BUNDLE_BYTES);
	struct bundle b;
	struct shipment h = { 0 };

	try_rows(data, size);
	if (coati_bundle_read(&b, data, size, NULL) < 0)
		return 0;
	h.v = b.parcels.v;
	h.nr = b.parcels.len;
	coati_bundle_write(&h, &again);
	FUZZ_CHECK(!again.failed && again.len <= size);
	coati_strbuf_fini(&again);
	coati_bundle_fini(&b);
	return 0;
}
