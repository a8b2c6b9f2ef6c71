/* SPDX-License-Identifier: MIT */
/* Any bytes as a recording (the first byte chooses the order): read to the end, every record
 * decoded. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/recording.h>

#include "fuzz/fuzz.h"
#include "recording/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_recording_opts opts = { .size = sizeof(opts), .window_bytes = 1 << 20 };
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_build_id id;
	uint64_t pos = 0;
	int fd = memfd_create("recording", MFD_CLOEXEC);

	if (fd < 0 || size < 1 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1) ||
	    lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return 0;
	}
	opts.flags = data[0] & 2 ? COATI_RECORDING_FILE_ORDER : 0;
	if (coati_recording_open_fd(fd, &opts, &r, NULL) < 0)
		return 0;
	while (coati_recording_next(r, &item) > 0) {
		const struct coati_sample_format *fmt =
			coati_format_table_get(coati_recording_formats(r), item.event);
		struct coati_record rec;

		if (fmt)
			coati_record_decode(&item.raw, fmt, &rec);
	}
	while (coati_recording_build_id(r, &pos, &id) > 0)
		FUZZ_CHECK(id.size <= 20 && strlen(id.path) < size);
	FUZZ_CHECK(coati_recording_info(r)->hostname);
	coati_recording_close(&r);
	return 0;
}
