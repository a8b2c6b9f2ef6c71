/* SPDX-License-Identifier: MIT */
/* Names that travel with a recording: what was packed is answered again, damage is refused
 * whole. */
#include "lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <coati/image.h>
#include <coati/recording.h>

#include "base/alloc.h"
#include "image/image.h"
#include "image/jit.h"
#include "image/pack.h"
#include "record/batch.h"

struct payloads {
	uint8_t *bytes[64];
	size_t size[64];
	unsigned int nr;
};

static int collect(void *ctx, const void *payload, size_t size)
{
	struct payloads *p = ctx;

	CHECK_U64(size, <=, COATI_LIVE_BATCH_MAX - 64);
	CHECK(p->nr < 64);
	p->bytes[p->nr] = malloc(size);
	CHECK(p->bytes[p->nr]);
	memcpy(p->bytes[p->nr], payload, size);
	p->size[p->nr++] = size;
	return 0;
}

static void payloads_free(struct payloads *p)
{
	for (unsigned int i = 0; i < p->nr; i++)
		free(p->bytes[i]);
	p->nr = 0;
}

static struct coati_images *new_images(uint32_t flags)
{
	struct coati_images_opts o = { .size = sizeof(o), .flags = flags };
	struct coati_images *images = NULL;

	CHECK_OK(coati_images_new(&o, &images, NULL));
	return images;
}

static uint32_t get_image(struct coati_images *images)
{
	struct coati_image_ref ref = { .size = sizeof(ref),
				       .build_id_size = 4,
				       .build_id = { 0xde, 0xad, 0xbe, 0xef },
				       .path = "/bin/app" };
	uint32_t image;

	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	return image;
}

/* Two frames at 0x1010, one at 0x1020: the example of docs/formats/symbols.md. */
static const struct coati_name inner = { .function = "leaf",
					 .symbol = "leaf",
					 .file = "/src/a.c",
					 .line = 7,
					 .column = 3,
					 .start = 0x100c,
					 .length = 8,
					 .flags = COATI_NAME_INLINE,
					 .decl_line = 5 };
static const struct coati_name outer = { .function = "main",
					 .symbol = "main",
					 .file = "/src/a.c",
					 .line = 300,
					 .start = 0x1000,
					 .length = 0x40 };

static void put_example(struct coati_images *images)
{
	struct coati_image *im = coati_image_at(images, get_image(images));
	static struct coati_name both[2], plain;
	struct answer two = { .names = both,
			      .nr = 2,
			      .asked = COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES };
	struct answer one = { .names = &plain, .nr = 1 };

	both[0] = inner;
	both[1] = outer;
	plain = outer;
	CHECK_OK(coati_image_put_answer(im, 0x1020, &one));
	CHECK_OK(coati_image_put_answer(im, 0x1010, &two));
}

static const uint8_t example[] = {
	'C',  'S',  'Y',  '1',	0x00, 0x04, 0xde, 0xad, 0xbe, 0xef, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x08, '/',	'b',  'i',  'n',  '/',	'a',  'p',  'p',  0x03, 0x04,
	'l',  'e',  'a',  'f',	0x08, '/',  's',  'r',	'c',  '/',  'a',  '.',	'c',
	0x04, 'm',  'a',  'i',	'n',  0x02, 0x01, 0x00, 0x02, 7,    3,	  5,	0x8c,
	0x20, 8,    0x01, 0x03, 0x00, 0x02, 0xac, 0x02, 0x00, 0x00, 0x80, 0x20, 0x40,
	0x00, 0x02, 0x90, 0x20, 0x03, 0x02, 0x00, 0x01, 0x10, 0x00, 0x01, 0x01,
};

TEST(pack_writes_the_bytes_of_the_format_page)
{
	struct coati_images *images = new_images(0);
	struct payloads p = { .nr = 0 };

	put_example(images);
	CHECK_OK(coati_images_pack(images, collect, &p));
	CHECK_INT(p.nr, ==, 1);
	CHECK_U64(p.size[0], ==, sizeof(example));
	CHECK_MEM(p.bytes[0], example, sizeof(example));
	payloads_free(&p);
	coati_images_free(&images);
}

TEST(pack_answers_for_a_copy_of_the_file_too)
{
	struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);
	struct coati_image_ref copy = { .size = sizeof(copy),
					.build_id_size = 4,
					.build_id = { 0xde, 0xad, 0xbe, 0xef },
					.path = "/copy/of/app" };
	struct coati_address a[] = { { .vaddr = 0x1010 }, { .vaddr = 0x1030 } };

	CHECK_OK(coati_images_unpack(images, example, sizeof(example)));
	CHECK_OK(coati_images_get(images, &copy, &a[0].image, NULL));
	a[1].image = a[0].image;
	CHECK_U64(a[0].image, !=, get_image(images));
	CHECK_OK(coati_images_resolve(images, a, 2, COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES,
				      NULL));
	CHECK_U64(a[0].nr_names, ==, 2);
	CHECK_STR(a[0].names[0].function, "leaf");
	CHECK_STR(a[0].names[1].function, "main");
	/* what was not packed has no name under either path */
	CHECK(a[1].names[0].flags & COATI_NAME_SYNTHETIC);
	coati_images_free(&images);
}

TEST(pack_is_answered_again_without_the_file)
{
	struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);
	struct coati_address a = { .vaddr = 0x1010 };
	struct coati_image_info info = { .size = sizeof(info) };

	CHECK_OK(coati_images_unpack(images, example, sizeof(example)));
	a.image = get_image(images);
	CHECK_OK(coati_image_info(images, a.image, &info));
	CHECK_INT(info.is_packed, ==, 1);
	CHECK_OK(coati_images_resolve(images, &a, 1, COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES,
				      NULL));
	CHECK_INT(a.nr_names, ==, 2);
	CHECK_STR(a.names[0].function, "leaf");
	CHECK_STR(a.names[0].file, "/src/a.c");
	CHECK_INT(a.names[0].line, ==, 7);
	CHECK_INT(a.names[0].decl_line, ==, 5);
	CHECK_U64(a.names[0].flags, ==, COATI_NAME_INLINE);
	CHECK_STR(a.names[1].symbol, "main");
	CHECK_INT(a.names[1].line, ==, 300);
	CHECK_U64(a.names[1].start, ==, 0x1000);
	CHECK_U64(a.names[1].length, ==, 0x40);
	coati_images_free(&images);
}

/* The payloads of one name at @vaddr of the file that runs this test. */
static void pack_own_file(const char *path, uint64_t vaddr, struct payloads *ret)
{
	static const struct coati_name name = {
		.function = "packed", .symbol = "packed", .file = "/src/p.c", .line = 3
	};
	struct answer answer = { .names = &name,
				 .nr = 1,
				 .asked = COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES };
	struct coati_image_ref ref = { .size = sizeof(ref), .path = path };
	struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);
	uint32_t image;

	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	CHECK_OK(coati_image_put_answer(coati_image_at(images, image), vaddr, &answer));
	CHECK_OK(coati_images_pack(images, collect, ret));
	coati_images_free(&images);
}

TEST(pack_is_answered_without_a_look_into_the_local_file)
{
	char path[4096] = { 0 };
	struct payloads p = { .nr = 0 };
	struct coati_images *images = new_images(0);
	struct coati_address a[] = { { .vaddr = 0x1010 }, { .vaddr = 0x1011 } };
	struct coati_image_info info = { .size = sizeof(info) };
	uint32_t how = COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES;

	CHECK_INT(readlink("/proc/self/exe", path, sizeof(path) - 1), >, 0);
	pack_own_file(path, 0x1010, &p);
	CHECK_INT(p.nr, ==, 1);
	CHECK_OK(coati_images_unpack(images, p.bytes[0], p.size[0]));
	CHECK_OK(coati_images_resolve(images, a, 1, how, NULL));
	CHECK_INT(a[0].nr_names, ==, 1);
	CHECK_STR(a[0].names[0].function, "packed");
	CHECK_STR(a[0].names[0].file, "/src/p.c");
	CHECK_OK(coati_image_info(images, 0, &info));
	CHECK(!info.opened);
	CHECK_INT(info.nr_symbols, ==, 0);
	/* what was not packed is looked up in the file */
	CHECK_OK(coati_images_resolve(images, a, 2, how, NULL));
	CHECK_STR(a[0].names[0].function, "packed");
	CHECK_OK(coati_image_info(images, 0, &info));
	CHECK_STR(info.opened, path);
	CHECK_INT(info.nr_symbols, >, 0);
	payloads_free(&p);
	coati_images_free(&images);
}

TEST(unpacked_segments_decide_before_those_of_the_local_file)
{
	struct coati_images *images = new_images(0);
	struct coati_image_ref ref = { .size = sizeof(ref), .path = "/proc/self/exe" };
	struct coati_image *im;
	uint64_t vaddr = 0;
	uint32_t image;

	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	im = coati_image_at(images, image);
	im->segments[0] = (struct image_segment){ .offset = 0, .size = 0x100, .vaddr = 0x77000 };
	im->nr_segments = 1;
	CHECK_OK(coati_image_vaddr(images, image, 0x40, &vaddr));
	CHECK_U64(vaddr, ==, 0x77040);
	CHECK(!im->looked);
	/* where they say nothing the file does */
	CHECK(coati_image_vaddr(images, image, 0x100, &vaddr) == 0);
	CHECK(im->looked);
	coati_images_free(&images);
}

TEST(pack_of_what_was_unpacked_is_the_same_bytes)
{
	struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);
	struct payloads p = { .nr = 0 };

	CHECK_OK(coati_images_unpack(images, example, sizeof(example)));
	CHECK_OK(coati_images_pack(images, collect, &p));
	CHECK_INT(p.nr, ==, 1);
	CHECK_U64(p.size[0], ==, sizeof(example));
	CHECK_MEM(p.bytes[0], example, sizeof(example));
	payloads_free(&p);
	coati_images_free(&images);
}

/* Behind the rest: where the segments of the file are, so that a place in it has an address. */
TEST(unpack_knows_the_segments_behind_the_addresses)
{
	static const uint8_t behind[] = { 2,	0,    0x80, 0x02,
					  0x80, 0xe0, 0x1d,	    /* 0x100 to 0x77000 */
					  0x80, 0x04, 0x10, 0x00 }; /* 0x200: 16 to 0 */
	uint8_t bytes[sizeof(example) + sizeof(behind)];
	struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);
	struct payloads p = { .nr = 0 };
	uint64_t vaddr;
	uint32_t image;

	memcpy(bytes, example, sizeof(example));
	memcpy(bytes + sizeof(example), behind, sizeof(behind));
	CHECK_OK(coati_images_unpack(images, bytes, sizeof(bytes)));
	image = get_image(images);
	CHECK_OK(coati_image_vaddr(images, image, 0x40, &vaddr));
	CHECK_U64(vaddr, ==, 0x77040);
	CHECK_OK(coati_image_vaddr(images, image, 0x20f, &vaddr));
	CHECK_U64(vaddr, ==, 0xf);
	CHECK_OK(coati_images_pack(images, collect, &p));
	CHECK_INT(p.nr, ==, 1);
	CHECK_U64(p.size[0], ==, sizeof(bytes));
	CHECK_MEM(p.bytes[0], bytes, sizeof(bytes));
	payloads_free(&p);
	coati_images_free(&images);
}

/* Code that is replaced: the name of 0x1008 from 10 to 19, from 20 to 29, and nothing from 30
 * on. */
static void make_timed_payload(struct payloads *p)
{
	struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);
	struct coati_image_ref ref = { .size = sizeof(ref), .kind = COATI_IMAGE_JIT, .pid = 9 };
	uint32_t image;

	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	CHECK_OK(coati_image_add_symbol(images, image,
					&(struct image_symbol){ 0x1000, 16, "first", 10 }));
	CHECK_OK(coati_image_add_symbol(images, image,
					&(struct image_symbol){ 0x1000, 16, "second", 20 }));
	CHECK_OK(coati_jit_remove(coati_image_at(images, image)->jits[IMAGE_JIT_TOLD], 0x1000, 16,
				  30));
	for (uint64_t time = 1; time < 40; time += 4) {
		struct coati_address a = { .image = image, .vaddr = 0x1008, .time = time };

		CHECK_OK(coati_images_resolve(images, &a, 1, 0, NULL));
	}
	CHECK_OK(coati_images_pack(images, collect, p));
	CHECK_INT(p->nr, ==, 1);
	CHECK_MEM(p->bytes[0], PACK_MARK_TIMES, PACK_MARK_BYTES);
	coati_images_free(&images);
}

static void check_timed_name(struct coati_images *images, uint64_t time, const char *name)
{
	struct coati_address a = { .image = 0, .vaddr = 0x1008, .time = time };

	CHECK_OK(coati_images_resolve(images, &a, 1, 0, NULL));
	CHECK_STR(a.names[0].function, name);
}

TEST(pack_keeps_the_times_of_code_that_is_replaced)
{
	struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);
	struct payloads p = { .nr = 0 };

	make_timed_payload(&p);
	CHECK_OK(coati_images_unpack(images, p.bytes[0], p.size[0]));
	check_timed_name(images, 9, "[jit pid 9]");
	check_timed_name(images, 10, "first");
	check_timed_name(images, 19, "first");
	check_timed_name(images, 20, "second");
	check_timed_name(images, 29, "second");
	check_timed_name(images, 30, "[jit pid 9]");
	check_timed_name(images, 0, "[jit pid 9]");
	/* the same bytes again */
	CHECK_OK(coati_images_pack(images, collect, &p));
	CHECK_INT(p.nr, ==, 2);
	CHECK_U64(p.size[1], ==, p.size[0]);
	CHECK_MEM(p.bytes[1], p.bytes[0], p.size[0]);
	payloads_free(&p);
	coati_images_free(&images);
}

TEST(unpack_refuses_every_short_payload_with_times_and_times_of_files)
{
	struct payloads p = { .nr = 0 };

	make_timed_payload(&p);
	for (size_t size = 0; size < p.size[0]; size++) {
		struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);

		CHECK_ERR(coati_images_unpack(images, p.bytes[0], size), -EBADMSG);
		CHECK_INT(coati_images_count(images), ==, 0);
		coati_images_free(&images);
	}
	{
		struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);

		p.bytes[0][PACK_MARK_BYTES] = COATI_IMAGE_FILE;
		CHECK_ERR(coati_images_unpack(images, p.bytes[0], p.size[0]), -EBADMSG);
		coati_images_free(&images);
	}
	payloads_free(&p);
}

/* Every address with a name of its own: several payloads, each complete in itself. */
TEST(pack_splits_into_payloads_that_stand_alone)
{
	struct coati_images *images = new_images(0), *again;
	struct coati_image *im = coati_image_at(images, get_image(images));
	struct payloads p = { .nr = 0 };
	unsigned int total = 0;

	for (unsigned int i = 0; i < 3000; i++) {
		struct coati_name *n = coati_arena_alloc(&im->arena, sizeof(*n));
		struct answer a = { .names = n, .nr = 1 };

		CHECK(n);
		n->symbol = coati_arena_printf(&im->arena, "function_number_%u", i);
		n->function = n->symbol;
		n->start = 0x1000 + 16 * i;
		n->length = 16;
		CHECK_OK(coati_image_put_answer(im, 0x1000 + 16 * i, &a));
	}
	CHECK_OK(coati_images_pack(images, collect, &p));
	CHECK(p.nr > 1);
	for (unsigned int i = 0; i < p.nr; i++) {
		again = new_images(COATI_IMAGES_NO_LOCAL);
		CHECK_OK(coati_images_unpack(again, p.bytes[i], p.size[i]));
		CHECK_INT(coati_images_count(again), ==, 1);
		total += (unsigned int)coati_image_at(again, 0)->answers.len;
		coati_images_free(&again);
	}
	CHECK_INT(total, ==, 3000);
	payloads_free(&p);
	coati_images_free(&images);
}

TEST(pack_cuts_names_that_fit_no_payload)
{
	struct coati_images *images = new_images(0), *again = new_images(COATI_IMAGES_NO_LOCAL);
	struct coati_image *im = coati_image_at(images, get_image(images));
	static struct coati_name names[64];
	struct answer a = { .names = names, .nr = 64 };
	struct payloads p = { .nr = 0 };
	char *text = malloc(20001);

	CHECK(text);
	memset(text, 'x', 20000);
	text[20000] = '\0';
	for (unsigned int i = 0; i < 64; i++)
		names[i] = (struct coati_name){ .function = text, .symbol = text, .line = i };
	CHECK_OK(coati_image_put_answer(im, 0x1000, &a));
	CHECK_OK(coati_images_pack(images, collect, &p));
	CHECK_INT(p.nr, ==, 1);
	CHECK_OK(coati_images_unpack(again, p.bytes[0], p.size[0]));
	CHECK_INT(coati_image_get_answer(coati_image_at(again, 0), 0x1000)->nr, ==, 64);
	CHECK_HAS(coati_image_get_answer(coati_image_at(again, 0), 0x1000)->names[0].function,
		  "xxx...");
	payloads_free(&p);
	free(text);
	coati_images_free(&again);
	coati_images_free(&images);
}

static int stop(void *ctx, const void *payload, size_t size)
{
	return 17;
}

TEST(pack_ends_when_the_callback_says_so)
{
	struct coati_images *images = new_images(0);

	put_example(images);
	CHECK_INT(coati_images_pack(images, stop, NULL), ==, 17);
	coati_images_free(&images);
}

TEST(unpack_refuses_every_short_payload_and_keeps_nothing_of_it)
{
	for (size_t size = 0; size < sizeof(example); size++) {
		struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);
		uint8_t *copy = malloc(size ? size : 1);

		CHECK(copy);
		memcpy(copy, example, size);
		CHECK_ERR(coati_images_unpack(images, copy, size), -EBADMSG);
		CHECK_INT(coati_images_count(images), ==, 0);
		free(copy);
		coati_images_free(&images);
	}
}

TEST(unpack_survives_every_changed_byte)
{
	uint8_t copy[sizeof(example)];

	for (size_t i = 0; i < sizeof(example); i++) {
		for (unsigned int v = 0; v < 256; v += 5) {
			struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);
			int r;

			memcpy(copy, example, sizeof(copy));
			copy[i] = (uint8_t)v;
			r = coati_images_unpack(images, copy, sizeof(copy));
			CHECK(r == 0 || r == -EBADMSG);
			CHECK_INT(coati_images_count(images), ==, r == 0);
			coati_images_free(&images);
		}
	}
}

TEST(unpack_keeps_functions_as_linked_when_inlined_ones_are_too_many)
{
	struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);
	const struct answer *a;
	struct coati_image_info info = { .size = sizeof(info) };

	images->packed_inlines = IMAGE_INLINES_MAX;
	CHECK_OK(coati_images_unpack(images, example, sizeof(example)));
	a = coati_image_get_answer(coati_image_at(images, 0), 0x1010);
	CHECK_INT(a->nr, ==, 1);
	CHECK_STR(a->names[0].function, "main");
	CHECK_OK(coati_image_info(images, 0, &info));
	CHECK_HAS(info.why, "inlined functions");
	coati_images_free(&images);
}

TEST(unpack_makes_text_fit_for_a_terminal)
{
	struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);
	uint8_t copy[sizeof(example)];

	memcpy(copy, example, sizeof(copy));
	copy[26] = 0x1b;
	CHECK_OK(coati_images_unpack(images, copy, sizeof(copy)));
	CHECK_STR(coati_image_get_answer(coati_image_at(images, 0), 0x1010)->names[0].function,
		  "?eaf");
	coati_images_free(&images);
}

TEST(unpack_and_pack_report_every_failing_allocation)
{
	struct payloads p = { .nr = 0 };
	int r = -ENOMEM;

	for (uint64_t n = 0; r == -ENOMEM; n++) {
		struct coati_images *images = new_images(COATI_IMAGES_NO_LOCAL);

		CHECK(n < 200);
		coati_alloc_fail_after(n);
		r = coati_images_unpack(images, example, sizeof(example));
		if (r == 0)
			r = coati_images_pack(images, collect, &p);
		coati_alloc_fail_after(UINT64_MAX);
		coati_images_free(&images);
	}
	CHECK_INT(r, ==, 0);
	CHECK_INT(p.nr, ==, 1);
	payloads_free(&p);
}
