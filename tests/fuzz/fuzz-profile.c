/* SPDX-License-Identifier: MIT */
/* Any bytes as a recording, folded: whatever they say, no weight appears or vanishes between the
 * samples and the view. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/profile.h>

#include "fuzz/fuzz.h"
#include "fuzz/profile-views.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_images_opts images = { .size = sizeof(images), .procfs = "/nowhere" };
	struct coati_profile_opts opts = { .size = sizeof(opts), .images = &images };
	struct coati_profile_quality quality = { .size = sizeof(quality) };
	struct coati_profile *p = NULL;
	uint64_t samples;
	char path[64];
	int fd = memfd_create("recording", MFD_CLOEXEC);

	images.flags = COATI_IMAGES_NO_CACHE | COATI_IMAGES_NO_LOCAL;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0 && write(fd, data, size) == (ssize_t)size &&
	    coati_profile_new(&opts, &p, NULL) == 0 &&
	    coati_profile_read(p, path, NULL, NULL, NULL) == 0) {
		samples = fuzz_ask_profile(p);
		coati_profile_quality(p, &quality);
		FUZZ_CHECK(samples == quality.samples);
	}
	coati_profile_free(&p);
	close(fd);
	return 0;
}
