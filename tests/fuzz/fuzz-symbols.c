/* SPDX-License-Identifier: MIT */
/* Any bytes as a file with code: every address has a name, and the same one twice. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/image.h>

#include "base/file.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_images_opts opts = { .size = sizeof(opts),
					  .nr_threads = 1,
					  .debug_dirs = "/x" };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct coati_address a[16] = { 0 };
	struct coati_images *images;
	char path[64];

	FUZZ_CHECK(fd >= 0 && coati_write_all(fd, data, size) == 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	FUZZ_CHECK(coati_images_new(&opts, &images, NULL) == 0);
	struct coati_image_ref ref = { .size = sizeof(ref), .path = path };
	FUZZ_CHECK(coati_images_get(images, &ref, &a[0].image, NULL) == 0);
	/* where the seeds have code */
	for (size_t i = 0; i < 16; i++)
		a[i].vaddr = UINT64_C(0x400240) + i * 3;
	FUZZ_CHECK(coati_images_resolve(images, a, 16, 0, NULL) == 0);
	for (size_t i = 0; i < 16; i++)
		FUZZ_CHECK(a[i].nr_names == 1 && a[i].names[0].function[0]);
	FUZZ_CHECK(coati_images_resolve(images, a, 16, COATI_RESOLVE_LINES, NULL) == 0);
	coati_images_free(&images);
	close(fd);
	return 0;
}
