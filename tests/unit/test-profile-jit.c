/* SPDX-License-Identifier: MIT */
/* Code that is replaced within microseconds: each sample has the name of its own time, with the
 * names at the end of the recording. */
#include "lib/test.h"

#include <string.h>

#include <coati/image.h>

#include "image/image.h"
#include "image/pack.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "record/batch.h"
#include "recording/writer.h"
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

/* What the recorder saw: nothing, "old" from 10 on, "new" from 20 on; "still" beside them all the
 * time. */
static void pack(struct coati_writer *w)
{
	struct coati_images_opts o = { .size = sizeof(o), .flags = COATI_IMAGES_NO_LOCAL };
	struct coati_image_ref ref = { .size = sizeof(ref), .kind = COATI_IMAGE_JIT, .pid = PID };
	struct coati_images *images;
	uint32_t image;

	CHECK_OK(coati_images_new(&o, &images, NULL));
	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	CHECK_OK(coati_image_add_symbol(images, image,
					&(struct image_symbol){ CODE, 16, "old", T(10) }));
	CHECK_OK(coati_image_add_symbol(images, image,
					&(struct image_symbol){ CODE, 16, "new", T(20) }));
	CHECK_OK(coati_image_add_symbol(images, image,
					&(struct image_symbol){ CODE + 32, 16, "still", 0 }));
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
	CHECK_OK(coati_writer_add_event(
		t.writer,
		&(struct coati_recording_event){
			.name = COATI_LIVE_EVENT, .attr = attr, .ids = &id, .nr_ids = 1 },
		NULL));
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

#define DEPTH 200

/* One address in which 199 functions are inlined, as the recording's own names could say. */
static struct coati_images *images_with_inlines(void)
{
	static struct coati_name names[DEPTH];
	struct coati_images_opts o = { .size = sizeof(o), .flags = COATI_IMAGES_NO_LOCAL };
	struct coati_image_ref ref = { .size = sizeof(ref), .kind = COATI_IMAGE_JIT, .pid = PID };
	struct version v = { .names = names, .nr = DEPTH };
	struct coati_images *images;
	uint32_t image;

	for (size_t i = 0; i < DEPTH; i++)
		names[i] = (struct coati_name){ .function = i + 1 < DEPTH ? "inlined" : "linked",
						.flags = i + 1 < DEPTH ? COATI_NAME_INLINE : 0 };
	CHECK_OK(coati_images_new(&o, &images, NULL));
	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	for (uint64_t addr = CODE; addr < CODE + 64; addr++) {
		v.vaddr = addr;
		CHECK_OK(coati_versions_add(&coati_image_at(images, image)->told, &v));
	}
	return images;
}

/* How much of the stacks of 40 frames is shown as inlined, and whether a note says that some is
 * not. */
static uint64_t inlined_weight(uint64_t max_bytes, bool *ret_note)
{
	struct coati_images *images = images_with_inlines();
	struct coati_profile_opts o = { .size = sizeof(o), .max_bytes = max_bytes };
	struct coati_profile_hooks hooks = { .shared_images = images };
	uint64_t chain[41] = { COATI_CONTEXT_USER }, weight;
	struct coati_profile *p;
	struct coati_view *v;
	struct tape t;

	tape_open(&t, "b");
	tape_comm(&t, PID, PID, "app", COATI_MISC_COMM_EXEC);
	tape_map(&t, PID, CODE, "//anon");
	for (uint64_t i = 0; i < 20; i++) {
		for (uint64_t k = 1; k < 41; k++)
			chain[k] = CODE + 4 + i % 2;
		chain[40] = CODE + 10 + i;
		tape_put(&t, (struct tape_sample){ .pid = PID, .chain = chain, .nr = 41 });
	}
	tape_close(&t);
	p = tape_read_hooked(&o, &hooks, (const char *const[]){ "b", NULL });
	v = tape_view(p, NULL);
	CHECK_U64(tape_row(v, COATI_BY_FUNCTION, "linked").total, ==, 20000);
	weight = tape_row(v, COATI_BY_FUNCTION, "inlined").total;
	*ret_note = coati_profile_note(p, 0) && strstr(coati_profile_note(p, 0), "inlined");
	coati_view_free(&v);
	coati_profile_free(&p);
	coati_images_free(&images);
	return weight;
}

TEST(profile_view_leaves_inlined_functions_out_over_a_ceiling_and_says_so)
{
	bool note;

	CHECK_U64(inlined_weight(0, &note), ==, 20000);
	CHECK(!note);
	/* 20 stacks of 40 frames with 200 names each are 160,000: room for a quarter of them */
	CHECK_U64(inlined_weight(64 * 40000, &note), <, 10000);
	CHECK(note);
}
