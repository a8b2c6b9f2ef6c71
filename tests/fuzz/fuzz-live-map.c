/* SPDX-License-Identifier: MIT */
/* The memory of a flight recorder, or a core file, full of lies: what comes out are batches of a
 * sane size, and not without end. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "fuzz/fuzz.h"
#include "lib/live-text.h"
#include "live-read/flight.h"
#include "live-read/reader.h"
#include "record/live-format.h"

static void read_flight(struct coati_flight *f, size_t size)
{
	struct strbuf out = STRBUF_INIT(1 << 22);
	struct coati_live_reader *t = NULL;
	const void *bytes;
	uint64_t where, total = 0;
	size_t n;

	FUZZ_CHECK(coati_live_reader_new(NULL, &t, NULL) == 0);
	while (coati_flight_next(f, &bytes, &n, &where) > 0) {
		FUZZ_CHECK(n <= LIVE_BATCH_MAX && n >= sizeof(struct live_batch) && where <= size);
		FUZZ_CHECK((total += n) < (UINT64_C(1) << 32));
		if (coati_live_reader_feed(t, bytes, n, where, NULL) < 0 ||
		    live_text_drain(t, NULL, &out) < 0)
			break;
	}
	coati_live_reader_finish(t);
	live_text_drain(t, NULL, &out);
	coati_live_reader_free(&t);
	coati_strbuf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_flight *f = NULL;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	FUZZ_CHECK(fd >= 0 && coati_write_all(fd, data, size) == 0);
	if (coati_flight_open_fd(fd, &f, NULL) == 0)
		read_flight(f, size);
	coati_flight_close(&f);
	return 0;
}
