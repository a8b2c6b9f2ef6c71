/* SPDX-License-Identifier: MIT */
/* Code that is replaced within microseconds: each sample has the name of its own time, with the names at the end of the recording. */
#include "lib/test.h"

#include <coati/image.h>

#include "unit/profile-tape.h"

#define PID  4000000 /* of nobody here */
#define CODE UINT64_C(0x50000000)
#define T(n) (UINT64_C(2000000000) + 1000 * (n))

static int put_batch(void *ctx, const void *payload, size_t size)
{
	struct coati_batch b = { .kind = COATI_BATCH_SYMBOLS,
				 .version = 1,
				 .pid = 1,
				 .tid = 1,
				 .time_ns = T(100),
				 .payload = payload,
				 .payload_size = (uint32_t)size };

	return coati_writer_batch(ctx, &b);
}

/* What the recorder saw: nothing, "old" from 10 on, "new" from 20 on; "still" beside them all the time. */
static void pack(struct coati_writer *w)
{
	struct coati_images_opts o = { .size = sizeof(o), .flags = COATI_IMAGES_NO_LOCAL };
	struct coati_image_ref ref = { .size = sizeof(ref), .kind = COATI_IMAGE_JIT, .pid = PID };
	struct coati_images *images;
	uint32_t image;

	CHECK_OK(coati_images_new(&o, &images, NULL));
	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	CHECK_OK(coati_image_add_symbol(images, image, CODE, 16, "old", T(10)));
	CHECK_OK(coati_image_add_symbol(images, image, CODE, 16, "new", T(20)));
	CHECK_OK(coati_image_add_symbol(images, image, CODE + 32, 16, "still", 0));
	for (uint64_t n = 5; n < 30; n++) {
		struct coati_address a[] = {
			{ .image = image, .vaddr = CODE + 4, .time = T(n) },
			{ .image = image, .vaddr = CODE + 35, .time = T(n) },
		};

		CHECK_OK(coati_images_resolve(images, a, 2, COATI_RESOLVE_LINES, NULL));
	}
	CHECK_OK(coati_images_pack(images, put_batch, w));
	coati_images_free(&images);
}

static void write_tape(const char *path)
{
	struct coati_attr attr;
	uint64_t id = 900;
	struct tape t;

	tape_begin(&t, path);
	tape_event(&t, COATI_TYPE_SOFTWARE, COATI_SW_CPU_CLOCK, "cpu-clock",
		   COATI_SAMPLE_CALLCHAIN);
	coati_batch_attr(&attr);
	CHECK_OK(coati_writer_add_event(t.writer, &attr, COATI_LIVE_EVENT, &id, 1, NULL));
	tape_start(&t);
	tape_comm(&t, PID, PID, "app", COATI_MISC_COMM_EXEC);
	tape_map(&t, PID, CODE, "//anon");
	for (uint64_t n = 5; n < 30; n++)
		tape_put(&t, (struct tape_sample){
				     .pid = PID, .time = T(n), TAPE_STACK(CODE + 4, CODE + 36) });
	pack(t.writer);
	tape_close(&t);
}

TEST(profile_names_replaced_code_by_the_time_of_each_sample)
{
	struct coati_profile *p;
	struct coati_view *v;

	write_tape("a");
	p = tape_profile("a");
	v = tape_view(p, NULL);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "old").self, ==, 10000);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "new").self, ==, 10000);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "still").total, ==, 25000);
	/* three names at one address, and the caller: the memory does not grow with the samples */
	CHECK_U64(coati_profile_location_count(p), ==, 4);
	CHECK_U64(coati_profile_stack_count(p), ==, 3);
	coati_view_free(&v);
	coati_profile_free(&p);
}
