/* SPDX-License-Identifier: MIT */
/* Live events in exports: the first byte says the format, then come batches as those of the target
 * live. Whatever they tell, what is written can be read back and adds up. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/format.h>
#include <coati/recording.h>

#include "format/export.h"
#include "fuzz/fuzz.h"
#include "readback/readback.h"
#include "record/batch.h"
#include "record/live-format.h"
#include "recording/writer.h"

/* What is closed has the right checksum: the others would be stopped at the door. */
static void mend(uint8_t *bytes, size_t size)
{
	struct live_batch h;

	if (size < sizeof(h))
		return;
	memcpy(&h, bytes, sizeof(h));
	if (h.used <= size - sizeof(h))
		h.checksum = live_checksum(bytes + sizeof(h), h.used);
	memcpy(bytes, &h, sizeof(h));
}

static void put_batches(struct coati_writer *w, const uint8_t *data, size_t size)
{
	static uint8_t bytes[COATI_LIVE_BATCH_MAX];
	struct coati_batch b = {
		.kind = COATI_BATCH_TRACE, .version = 1, .id = COATI_LIVE_ID, .payload = bytes
	};

	while (size > 2) {
		size_t n = (size_t)data[0] | (size_t)data[1] << 8;

		n = n < size - 2 ? n : size - 2;
		if (n > sizeof(bytes))
			return;
		memcpy(bytes, data + 2, n);
		mend(bytes, n);
		b.payload_size = (uint32_t)n;
		b.time_ns++;
		FUZZ_CHECK(coati_writer_batch(w, &b) == 0);
		data += 2 + n;
		size -= 2 + n;
	}
}

static bool make_recording(const char *path, const uint8_t *data, size_t size)
{
	const uint64_t id = COATI_LIVE_ID;
	struct coati_writer *w = NULL;
	struct coati_attr attr;

	if (coati_writer_open(path, NULL, &w, NULL) < 0)
		return false;
	coati_batch_attr(&attr);
	FUZZ_CHECK(coati_writer_add_event(w,
					  &(struct coati_recording_event){ .name = COATI_LIVE_EVENT,
									   .attr = attr,
									   .ids = &id,
									   .nr_ids = 1 },
					  NULL) == 0 &&
		   coati_writer_start(w, NULL) == 0);
	put_batches(w, data, size);
	return coati_writer_close(&w, NULL) == 0;
}

static void export_it(const char *path, enum coati_format format)
{
	struct coati_images_opts images = { .size = sizeof(images),
					    .procfs = "/nowhere",
					    .flags =
						    COATI_IMAGES_NO_CACHE | COATI_IMAGES_NO_LOCAL };
	struct coati_export_opts o = {
		.size = sizeof(o), .format = format, .flags = COATI_EXPORT_PLAIN, .images = &images
	};
	struct coati_export_summary summary;
	struct coati_export *x = NULL;
	struct coati_error err = { 0 };
	int out = memfd_create("export", MFD_CLOEXEC);

	FUZZ_CHECK(out >= 0 && coati_export_new(&o, &x, &err) == 0);
	if (coati_export_read(x, path, NULL, NULL, &err) == 0) {
		FUZZ_CHECK(coati_export_write(x, out, &err) == 0);
		coati_export_summary(x, &summary);
		/* some formats have no room for more, and say so */
		if (summary.weight <= INT64_MAX && coati_export_check(x, out, &err) < 0)
			fprintf(stderr, "%s: %s\n", coati_format_name(format), err.text);
		FUZZ_CHECK(!err.code);
	}
	coati_export_free(&x);
	close(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);

	if (fd < 0 || !size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (make_recording(path, data + 1, size - 1))
		export_it(path,
			  (enum coati_format)(COATI_FORMAT_PPROF +
					      data[0] % (COATI_FORMAT_COUNT - COATI_FORMAT_PPROF)));
	close(fd);
	return 0;
}
