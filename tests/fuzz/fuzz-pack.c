/* SPDX-License-Identifier: MIT */
/* Any bytes as packed names: refused whole, or packed again and understood again, the second time
 * to the same bytes. */
#include <string.h>

#include <coati/image.h>

#include "fuzz/fuzz.h"
#include "image/pack.h"

struct round {
	struct coati_images *next;
	uint64_t hash;
	unsigned int nr;
};

static int again(void *ctx, const void *payload, size_t size)
{
	struct round *r = ctx;

	for (size_t i = 0; i < size; i++)
		r->hash = (r->hash ^ ((const uint8_t *)payload)[i]) * 0x100000001b3;
	r->nr++;
	FUZZ_CHECK(!r->next || coati_images_unpack(r->next, payload, size) == 0);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coati_images_opts o = { .size = sizeof(o),
				       .flags = COATI_IMAGES_NO_LOCAL | COATI_IMAGES_MANGLED };
	struct round first = { .hash = 1 }, second = { .hash = 1 };
	struct coati_images *images;

	FUZZ_CHECK(coati_images_new(&o, &images, NULL) == 0 &&
		   coati_images_new(&o, &first.next, NULL) == 0);
	if (coati_images_unpack(images, data, size) == 0) {
		FUZZ_CHECK(coati_images_pack(images, again, &first) == 0);
		FUZZ_CHECK(coati_images_pack(first.next, again, &second) == 0);
		FUZZ_CHECK(first.nr == second.nr && first.hash == second.hash);
	}
	coati_images_free(&first.next);
	coati_images_free(&images);
	return 0;
}
