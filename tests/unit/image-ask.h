/* SPDX-License-Identifier: MIT */
/* Questions to images, in one line each; what must not fail ends the test. */
#pragma once

#include <string.h>

#include <coati/image.h>

#include "lib/test.h"

static inline struct coati_images *ask_new(struct coati_images_opts opts)
{
	struct coati_images *images = NULL;
	struct coati_error err = { 0 };

	opts.size = sizeof(opts);
	if (coati_images_new(&opts, &images, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return images;
}

static inline uint32_t ask_image(struct coati_images *images, struct coati_image_ref ref)
{
	uint32_t image = 0;

	ref.size = sizeof(ref);
	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	return image;
}

static inline uint32_t ask_path(struct coati_images *images, const char *path)
{
	return ask_image(images, (struct coati_image_ref){ .path = path });
}

static inline struct coati_address ask(struct coati_images *images, uint32_t image, uint64_t vaddr,
				       uint32_t flags)
{
	struct coati_address a = { .image = image, .vaddr = vaddr };

	CHECK_OK(coati_images_resolve(images, &a, 1, flags, NULL));
	CHECK_U64(a.nr_names, >=, 1);
	CHECK(a.names[0].function);
	return a;
}

static inline struct coati_name ask_name(struct coati_images *images, uint32_t image,
					 uint64_t vaddr)
{
	return ask(images, image, vaddr, 0).names[0];
}

static inline const char *ask_function(struct coati_images *images, uint32_t image, uint64_t vaddr)
{
	return ask_name(images, image, vaddr).function;
}

static inline struct coati_image_info ask_info(struct coati_images *images, uint32_t image)
{
	struct coati_image_info info = { .size = sizeof(info) };

	CHECK_OK(coati_image_info(images, image, &info));
	return info;
}

/* Why an image has no names, "" when there is nothing to say. */
static inline const char *ask_why(struct coati_images *images, uint32_t image)
{
	const char *why = ask_info(images, image).why;

	return why ? why : "";
}
