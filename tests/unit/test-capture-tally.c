/* SPDX-License-Identifier: MIT */
/* The walk over what goes into a recording: counts, times, files that were mapped. */
#include "lib/test.h"

#include <coati/record.h>

#include "base/writer.h"
#include "capture/attr.h"
#include "capture/tally.h"

static const struct coati_attr side = { .sample_type = CAPTURE_IDENTITY,
					.flags = COATI_ATTR_SAMPLE_ID_ALL };

static void put_head(struct writer *w, uint32_t type, uint16_t misc, uint16_t size)
{
	writer_u32(w, type);
	writer_u16(w, misc);
	writer_u16(w, size);
}

static void put_trailer(struct writer *w, uint64_t time, uint64_t id)
{
	writer_u64(w, 0); /* pid, tid */
	writer_u64(w, time);
	writer_u64(w, 0); /* cpu */
	writer_u64(w, id);
}

static void put_sample(struct writer *w, uint64_t id, uint64_t time, uint16_t extra)
{
	put_head(w, COATI_RECORD_SAMPLE, COATI_MISC_USER, (uint16_t)(48 + extra));
	writer_u64(w, id);
	writer_u64(w, 0x1000);
	writer_u64(w, 0);
	writer_u64(w, time);
	writer_u64(w, 0);
	writer_zeros(w, extra);
}

static void put_task(struct writer *w, uint32_t type, uint32_t pid, uint32_t tid)
{
	put_head(w, type, 0, 8 + 24 + 32);
	writer_u32(w, pid);
	writer_u32(w, 1);
	writer_u32(w, tid);
	writer_u32(w, 1);
	writer_u64(w, 5);
	put_trailer(w, 5, 1);
}

static void put_mmap2(struct writer *w, const char *name, const uint8_t *id)
{
	size_t text = (strlen(name) + 8) & ~(size_t)7;

	put_head(w, COATI_RECORD_MMAP2,
		 (uint16_t)(COATI_MISC_USER | (id ? COATI_MISC_MMAP_BUILD_ID : 0)),
		 (uint16_t)(8 + 64 + text + 32));
	writer_u32(w, 7);
	writer_u32(w, 7);
	writer_u64(w, 0x400000);
	writer_u64(w, 0x1000);
	writer_u64(w, 0);
	if (id) {
		writer_u32(w, 20);
		writer_bytes(w, id, 20);
	} else {
		writer_u32(w, 8);
		writer_u32(w, 1);
		writer_u64(w, 4711);
		writer_u64(w, 0);
	}
	writer_u32(w, 5);
	writer_u32(w, 2);
	writer_text(w, name, 8);
	put_trailer(w, 6, 1);
}

/* Every kind of record that is looked at. */
static size_t put_all(uint8_t *buf, size_t cap)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	struct writer w = writer_over(buf, cap);

	put_sample(&w, 1, 100, 0);
	put_mmap2(&w, "/usr/bin/thing", id);
	put_sample(&w, 2, 90, 16);
	put_head(&w, COATI_RECORD_LOST, 0, 8 + 16 + 32);
	writer_u64(&w, 1);
	writer_u64(&w, 30);
	put_trailer(&w, 7, 1);
	put_head(&w, COATI_RECORD_THROTTLE, 0, 8 + 24 + 32);
	writer_zeros(&w, 24);
	put_trailer(&w, 7, 1);
	put_task(&w, COATI_RECORD_FORK, 50, 50);
	put_task(&w, COATI_RECORD_FORK, 50, 51);
	put_task(&w, COATI_RECORD_FORK, 60, 60);
	put_task(&w, COATI_RECORD_EXIT, 60, 60);
	put_sample(&w, 1, 250, 4000);
	CHECK(!w.full);
	return w.len;
}

static struct coati_span span(const uint8_t *bytes, size_t size)
{
	return (struct coati_span){ bytes, size };
}

static void check_all(const struct tally *t)
{
	uint64_t unused;

	CHECK_U64(t->records, ==, 10);
	CHECK_U64(t->samples, ==, 3);
	CHECK_U64(t->lost, ==, 30);
	CHECK_U64(t->throttled, ==, 1);
	CHECK_U64(t->last_time, ==, 250);
	CHECK_U64(t->damaged_bytes, ==, 0);
	CHECK_INT(t->images.v.len, ==, 1);
	CHECK_STR(t->images.v.v[0].name, "/usr/bin/thing");
	CHECK_INT(t->images.v.v[0].id_size, ==, 20);
	CHECK(coati_map_get(&t->tasks.pids, 50, &unused));
	CHECK(!coati_map_get(&t->tasks.pids, 60, &unused));
	CHECK_INT(t->tasks.pids.len, ==, 1);
}

TEST(tally_counts_the_same_wherever_the_ring_wraps)
{
	static uint8_t buf[8192];
	size_t size = put_all(buf, sizeof(buf));

	for (size_t cut = 0; cut <= size; cut += 8) {
		static uint8_t second[8192];
		struct tally t;

		memcpy(second, buf + cut, size - cut);
		CHECK_OK(coati_capture_tally_init(&t, &side, true));
		coati_capture_tally_walk(&t, span(buf, cut), span(second, size - cut));
		check_all(&t);
		coati_capture_tally_fini(&t);
	}
}

TEST(tally_sees_the_event_that_asks_for_a_snapshot)
{
	static uint8_t buf[8192];
	size_t size = put_all(buf, sizeof(buf));
	struct map ids;
	struct tally t;

	coati_map_init(&ids, 10);
	CHECK_OK(coati_capture_tally_init(&t, &side, false));
	t.when = &ids;
	CHECK_OK(coati_map_put(&ids, 77, 1));
	coati_capture_tally_walk(&t, span(buf, size), span(buf, 0));
	CHECK(!t.when_seen);
	CHECK_OK(coati_map_put(&ids, 2, 1));
	coati_capture_tally_walk(&t, span(buf, size), span(buf, 0));
	CHECK(t.when_seen);
	CHECK_INT(t.tasks.pids.len, ==, 0); /* not asked for */
	coati_capture_tally_fini(&t);
	coati_map_fini(&ids);
}

TEST(tally_stops_at_damage_and_counts_it)
{
	static uint8_t buf[8192];
	size_t size = put_all(buf, sizeof(buf));

	for (size_t cut = 8; cut < size; cut += 8) {
		struct tally t;

		CHECK_OK(coati_capture_tally_init(&t, &side, true));
		coati_capture_tally_walk(&t, span(buf, cut), span(buf, 0));
		CHECK_U64(t.records, <=, 10);
		coati_capture_tally_fini(&t);
	}
	memset(buf + 48, 0, 8); /* the header of the second record */
	for (size_t cut = 0; cut <= size; cut += 8) {
		struct tally t;

		CHECK_OK(coati_capture_tally_init(&t, &side, true));
		coati_capture_tally_walk(&t, span(buf, cut), span(buf + cut, size - cut));
		CHECK_U64(t.samples, <=, 3);
		CHECK_U64(t.damaged_bytes, >, 0);
		coati_capture_tally_fini(&t);
	}
}

static int add_image(struct images *im, const char *name, uint64_t ino, uint8_t id)
{
	struct coati_mmap m = { .name = name, .maj = 8, .min = 1, .ino = ino };

	if (id) {
		m.build_id_size = 20;
		memset(m.build_id, id, sizeof(m.build_id));
	}
	return coati_images_add(im, &m);
}

TEST(images_of_the_same_name_are_told_apart_by_their_ids)
{
	struct images im;

	coati_images_init(&im);
	for (int i = 0; i < 3; i++) {
		CHECK_OK(add_image(&im, "/lib/a.so", 0, 1));
		CHECK_OK(add_image(&im, "/lib/a.so", 0, 2));
		CHECK_OK(add_image(&im, "/lib/b.so", 11, 0));
		CHECK_OK(add_image(&im, "/lib/b.so", 12, 0));
	}
	CHECK_INT(im.v.len, ==, 4);
	coati_images_fini(&im);
}

TEST(images_leave_out_what_has_no_file)
{
	static const char *const names[] = { "//anon",	     "[heap]",
					     "[stack]",	     "/memfd:x (deleted)",
					     "/dev/zero",    "/SYSV00000000",
					     "anon_inode:x", "" };
	struct images im;

	coati_images_init(&im);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_OK(add_image(&im, names[i], 5, 0));
	CHECK_INT(im.v.len, ==, 0);
	CHECK_OK(add_image(&im, "[vdso]", 0, 0));
	CHECK_INT(im.v.len, ==, 1);
	coati_images_fini(&im);
}

TEST(images_know_an_id_by_inode_once_it_was_told)
{
	struct coati_mmap m = { .name = "/lib/a.so", .maj = 8, .min = 1, .ino = 11 };
	struct images im;
	uint8_t id[20];

	coati_images_init(&im);
	CHECK_INT(coati_images_find(&im, &m, id), ==, 0);
	CHECK_OK(add_image(&im, "/lib/a.so", 11, 3));
	CHECK_INT(coati_images_find(&im, &m, id), ==, 20);
	CHECK_INT(id[0], ==, 3);
	m.ino = 12; /* another file of that name */
	CHECK_INT(coati_images_find(&im, &m, id), ==, 0);
	coati_images_fini(&im);
}

TEST(capture_tally_counts_samples_with_ids_of_others)
{
	uint8_t bytes[512];
	struct writer w = writer_over(bytes, sizeof(bytes));
	struct coati_span all, none = { NULL, 0 };
	struct map own;
	struct tally t;

	coati_map_init(&own, 8);
	CHECK_INT(coati_map_put(&own, 7, 1), ==, 1);
	put_sample(&w, 7, 100, 0);
	put_sample(&w, 8, 101, 0);
	put_sample(&w, 9, 102, 0);
	all = (struct coati_span){ bytes, w.len };
	none.bytes = bytes;
	CHECK_OK(coati_capture_tally_init(&t, &side, false));
	coati_capture_tally_walk(&t, all, none); /* nobody asked */
	CHECK_U64(t.unassigned, ==, 0);
	t.own = &own;
	coati_capture_tally_walk(&t, all, none);
	CHECK_U64(t.unassigned, ==, 2);
	CHECK_U64(t.samples, ==, 6);
	coati_capture_tally_fini(&t);
	coati_map_fini(&own);
}
