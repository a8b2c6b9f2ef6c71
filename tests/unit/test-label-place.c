/* SPDX-License-Identifier: MIT */
/* Where a file says that threads publish their labels is where they do. */
#include "lib/test.h"

#if defined(__x86_64__)
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <coati/live.h>

#include "capture/label-place.h"

static struct label_place find(const char *path)
{
	struct coati_image_ref ref = { .size = sizeof(ref), .path = path };
	struct coati_images *images = NULL;
	struct label_place place;
	uint32_t image;

	CHECK_OK(coati_images_new(NULL, &images, NULL));
	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	coati_label_place_find(images, image, &place);
	coati_images_free(&images);
	return place;
}

static uint64_t thread_pointer(void)
{
	uint64_t p;

	__asm__("mov %%fs:0, %0" : "=r"(p));
	return p;
}

/* This program has them, and the tracer with them. */
TEST(label_place_of_a_program_is_its_distance_from_the_thread_pointer)
{
	char path[1024] = { 0 };
	struct label_place place;

	CHECK_INT(readlink("/proc/self/exe", path, sizeof(path) - 1), >, 0);
	place = find(path);
	CHECK_INT(place.kind, ==, WALKER_LABELS_AT);
	CHECK_U64(thread_pointer() + place.at, ==, (uint64_t)(uintptr_t)&otel_thread_ctx_v1);
	CHECK(place.has_tracer);
}

TEST(label_place_of_a_library_is_told_by_its_loader)
{
	char path[1024];
	const char *tool = getenv("COATI_TOOL") ? getenv("COATI_TOOL") : COATI_TOOL_DEFAULT;
	const struct link_map *map;
	struct label_place place;
	uint64_t distance;
	void *library, *variable;

	snprintf(path, sizeof(path), "%.*s/libcoati-live.so", (int)(strrchr(tool, '/') - tool),
		 tool);
	place = find(path);
	CHECK_INT(place.kind, ==, WALKER_LABELS_THROUGH);
	CHECK(place.has_tracer);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) /* there is no room for it in the static block */
		test_skip("%s", dlerror());
	variable = dlsym(library, "otel_thread_ctx_v1");
	CHECK(variable);
	CHECK_OK(dlinfo(library, RTLD_DI_LINKMAP, &map));
	memcpy(&distance, (const void *)(uintptr_t)(map->l_addr + place.at), sizeof(distance));
	CHECK_U64(thread_pointer() + distance, ==, (uint64_t)(uintptr_t)variable);
}

TEST(label_place_of_a_file_without_labels_is_none)
{
	static const char *const paths[] = { "/bin/sh", "/etc/passwd", "/nowhere", "/dev/null" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct label_place place = find(paths[i]);

		CHECK_INT(place.kind, ==, WALKER_LABELS_NONE);
		CHECK(!place.has_tracer);
	}
}
#endif
