/* SPDX-License-Identifier: MIT */
/* The walk over what goes into a recording: counts, times, files that were mapped. */
#include "lib/test.h"

#include <coati/record.h>

#include "base/alloc.h"
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
	put_head(&w, COATI_RECORD_LOST_SAMPLES, 0, 8 + 8 + 32);
	writer_u64(&w, 5);
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

	CHECK_U64(t->records, ==, 11);
	CHECK_U64(t->samples, ==, 3);
	CHECK_U64(t->lost, ==, 30);
	CHECK_U64(t->lost_samples, ==, 5);
	CHECK_U64(t->exits, ==, 1);
	CHECK_U64(t->throttled, ==, 1);
	CHECK_U64(t->last_time, ==, 250);
	CHECK_U64(t->damaged_bytes, ==, 0);
	CHECK_INT(t->failed, ==, 0);
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

/* How many whole records lie before @cut, and where the last of them ends. */
static uint64_t whole_records(const uint8_t *buf, size_t cut, size_t *ret_end)
{
	uint64_t nr = 0;
	uint16_t size;

	for (*ret_end = 0; *ret_end + 8 <= cut; *ret_end += size, nr++) {
		memcpy(&size, buf + *ret_end + 6, sizeof(size));
		if (*ret_end + size > cut)
			break;
	}
	return nr;
}

TEST(tally_of_a_stream_that_is_cut_has_every_whole_record_before_the_cut)
{
	static uint8_t buf[8192];
	size_t size = put_all(buf, sizeof(buf)), end;

	for (size_t cut = 8; cut < size; cut += 8) {
		uint64_t nr = whole_records(buf, cut, &end);
		struct tally t;

		CHECK_OK(coati_capture_tally_init(&t, &side, true));
		coati_capture_tally_walk(&t, span(buf, cut), span(buf, 0));
		CHECK_U64(t.records, ==, nr);
		CHECK_U64(t.damaged_bytes, ==, cut - end);
		coati_capture_tally_fini(&t);
	}
}

TEST(tally_counts_what_is_behind_a_damaged_header_as_damage)
{
	static uint8_t buf[8192];
	size_t size = put_all(buf, sizeof(buf));

	for (uint8_t bad = 0; bad < 8; bad++) {
		buf[48 + 6] = bad; /* the size of the second record, smaller than a header */
		buf[48 + 7] = 0;
		for (size_t cut = 48; cut <= size; cut += 8) {
			struct tally t;

			CHECK_OK(coati_capture_tally_init(&t, &side, true));
			coati_capture_tally_walk(&t, span(buf, cut), span(buf, 0));
			CHECK_U64(t.records, ==, 1);
			CHECK_U64(t.samples, ==, 1);
			CHECK_U64(t.damaged_bytes, ==, cut - 48);
			coati_capture_tally_fini(&t);
		}
	}
}

TEST(tally_of_a_record_whose_rest_is_missing_counts_both_parts_as_damage)
{
	static uint8_t buf[8192];
	struct tally t;

	put_all(buf, sizeof(buf));
	CHECK_OK(coati_capture_tally_init(&t, &side, true));
	/* the first record has 48 bytes: 16 here, 24 there, 8 nowhere */
	coati_capture_tally_walk(&t, span(buf, 16), span(buf + 16, 24));
	CHECK_U64(t.records, ==, 0);
	CHECK_U64(t.damaged_bytes, ==, 40);
	coati_capture_tally_walk(&t, span(buf, 16), span(buf + 16, 32));
	CHECK_U64(t.records, ==, 1);
	CHECK_U64(t.damaged_bytes, ==, 40);
	coati_capture_tally_fini(&t);
}

TEST(tally_of_losses_takes_the_larger_of_two_counts_and_adds_what_the_hardware_lost)
{
	struct tally t = { .lost = 30, .lost_samples = 5 };

	CHECK_U64(coati_capture_tally_lost(&t, 0), ==, 35);
	CHECK_U64(coati_capture_tally_lost(&t, 30), ==, 35);
	CHECK_U64(coati_capture_tally_lost(&t, 31), ==, 36);
}

TEST(tally_has_the_times_of_the_first_and_the_last_sample_of_each_piece)
{
	uint8_t buf[512];
	struct writer w = writer_over(buf, sizeof(buf));
	struct tally t;

	put_sample(&w, 1, 100, 0);
	put_sample(&w, 1, 300, 0);
	put_sample(&w, 1, 200, 0);
	CHECK_OK(coati_capture_tally_init(&t, &side, true));
	coati_capture_tally_walk(&t, span(buf, w.len), span(buf, 0));
	CHECK_U64(t.first_time, ==, 100);
	CHECK_U64(t.last_time, ==, 200);
	coati_capture_tally_walk(&t, span(buf + 48, 48), span(buf, 0));
	CHECK_U64(t.first_time, ==, 100);
	CHECK_U64(t.last_time, ==, 300);
	w.len = 0;
	put_sample(&w, 1, 99, 0);
	coati_capture_tally_walk(&t, span(buf, w.len), span(buf, 0));
	CHECK_U64(t.first_time, ==, 99);
	CHECK_U64(t.last_time, ==, 300);
	coati_capture_tally_fini(&t);
}

TEST(tally_of_switches_counts_threads_that_leave_a_cpu)
{
	uint8_t buf[512];
	struct writer w = writer_over(buf, sizeof(buf));
	struct tally t;

	for (int i = 0; i < 5; i++) {
		uint32_t type = i & 1 ? COATI_RECORD_SWITCH_CPU_WIDE : COATI_RECORD_SWITCH;
		uint16_t more = i & 1 ? 8 : 0;

		put_head(&w, type, i < 3 ? COATI_MISC_SWITCH_OUT : 0, (uint16_t)(8 + more + 32));
		writer_zeros(&w, more);
		put_trailer(&w, 7, 1);
	}
	CHECK_OK(coati_capture_tally_init(&t, &side, true));
	coati_capture_tally_walk(&t, span(buf, w.len), span(buf, 0));
	CHECK_U64(t.records, ==, 5);
	CHECK_U64(t.switches, ==, 3);
	CHECK_U64(t.samples, ==, 0);
	CHECK_U64(t.first_time, ==, 0);
	coati_capture_tally_fini(&t);
}

TEST(tally_without_memory_says_so)
{
	static uint8_t buf[8192];
	size_t size = put_all(buf, sizeof(buf));
	struct tally t;

	coati_alloc_fail_after(0);
	CHECK_ERR(coati_capture_tally_init(&t, &side, false), -ENOMEM);
	coati_alloc_fail_after(UINT64_MAX);
	coati_capture_tally_fini(&t);
	coati_capture_tally_fini(&t); /* nothing is left */
	CHECK_OK(coati_capture_tally_init(&t, &side, false));
	coati_alloc_fail_after(0);
	coati_capture_tally_walk(&t, span(buf, size), span(buf, 0));
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_INT(t.failed, ==, -ENOMEM); /* the file that was mapped */
	CHECK_U64(t.records, ==, 11);
	CHECK_INT(t.images.v.len, ==, 0);
	coati_capture_tally_fini(&t);
	coati_capture_tally_fini(&t);
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

TEST(tally_counts_samples_of_switches_apart)
{
	uint8_t buf[512];
	struct writer w = writer_over(buf, sizeof(buf));
	struct map off;
	struct tally t;

	coati_map_init(&off, 8);
	CHECK_INT(coati_map_put(&off, 7, 1), ==, 1);
	put_sample(&w, 7, 100, 0);
	put_sample(&w, 8, 101, 0);
	put_sample(&w, 7, 102, 0);
	CHECK_OK(coati_capture_tally_init(&t, &side, false));
	coati_capture_tally_walk(&t, span(buf, w.len), span(buf, 0));
	CHECK_U64(t.off_samples, ==, 0);
	t.off = &off;
	coati_capture_tally_walk(&t, span(buf, w.len), span(buf, 0));
	CHECK_U64(t.off_samples, ==, 2);
	CHECK_U64(t.samples, ==, 6);
	coati_capture_tally_fini(&t);
	coati_map_fini(&off);
}

/* A sample of event 7 in a thread. */
static void put_wake(struct writer *w, uint32_t pid, uint32_t tid)
{
	size_t at = w->len;
	uint32_t who[2] = { pid, tid };

	put_sample(w, 7, 100, 0);
	memcpy(w->start + at + CAPTURE_TID_AT, who, sizeof(who));
}

TEST(tally_names_each_thread_that_woke_another_once_and_in_order)
{
	uint8_t buf[1024];
	struct writer w = writer_over(buf, sizeof(buf));
	struct map wakes;
	struct tally t;

	coati_map_init(&wakes, 8);
	CHECK_INT(coati_map_put(&wakes, 7, 1), ==, 1);
	put_wake(&w, 50, 51);
	put_wake(&w, 50, 50);
	put_wake(&w, 50, 51);
	put_wake(&w, 0, 0); /* an idle CPU */
	put_wake(&w, 52, 52);
	put_sample(&w, 8, 100, 0); /* another event */
	CHECK_OK(coati_capture_tally_init(&t, &side, false));
	t.wakes = &wakes;
	coati_capture_tally_walk(&t, span(buf, w.len), span(buf, 0));
	CHECK_U64(t.wakers.len, ==, 3);
	CHECK_INT(t.wakers.v[0].ids[0], ==, 50);
	CHECK_INT(t.wakers.v[0].ids[1], ==, 51);
	CHECK_INT(t.wakers.v[1].ids[1], ==, 50);
	CHECK_INT(t.wakers.v[2].ids[1], ==, 52);
	coati_capture_tally_fini(&t);
	coati_map_fini(&wakes);
}
