/* SPDX-License-Identifier: MIT */
/* perf.data written and read back: in both modes, compressed, out of order, of the other byte
 * order. */
#include "lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/recording.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/writer.h"
#include "record/batch.h"
#include "recording/model.h"
#include "recording/recording.h"
#include "recording/writer.h"
#include "unit/small-recording.h"

static void signal_ignore(int number)
{
	struct sigaction act = { .sa_handler = SIG_IGN };

	CHECK_OK(sigaction(number, &act, NULL));
}

/* All of them are whole. */
static uint64_t count_records(const char *path)
{
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	uint64_t nr = 0;
	int n;

	CHECK_OK(coati_recording_open(path, NULL, &r, NULL));
	while ((n = coati_recording_next(r, &item)) > 0)
		nr++;
	CHECK_INT(n, ==, 0);
	coati_recording_close(&r);
	return nr;
}

TEST(recording_in_file_mode_comes_back_in_the_order_of_time)
{
	small_write("a", 0, 0);
	small_check("a");
}

TEST(recording_in_pipe_mode_comes_back_in_the_order_of_time)
{
	small_write("a", COATI_WRITER_PIPE, 0);
	small_check("a");
}

TEST(recording_that_was_compressed_comes_back_in_both_modes)
{
	small_need_zstd();
	small_write("a", 0, 3);
	small_check("a");
	small_write("b", COATI_WRITER_PIPE, 3);
	small_check("b");
}

/* 80 MiB of the same sample; what fits is read, and who asks for more gets it. */
TEST(recording_that_unpacks_to_too_much_is_not_read_on)
{
	struct coati_recording_opts opts = { .size = sizeof(opts), .unpack_most = 10 };
	const uint64_t samples = UINT64_C(2) << 20;
	struct coati_recording *r = NULL;
	struct coati_recording_stats st = { .size = sizeof(st) };
	struct coati_writer *w;
	uint32_t nr;

	small_need_zstd();
	w = small_start("a", 0, 1);
	for (uint64_t i = 0; i < samples; i++)
		small_add(w, 7, 1, 1000);
	CHECK_OK(coati_writer_close(&w, NULL));
	CHECK_OK(coati_recording_open("a", &opts, &r, NULL));
	CHECK_ERR(small_samples(r, NULL, 0, &nr), -E2BIG);
	CHECK_U64(nr, >=, (UINT64_C(64) << 20) / 40);
	CHECK_U64(nr, <, samples);
	CHECK(strstr(coati_recording_error(r)->text, "more than 10 bytes for each compressed one"));
	coati_recording_get_stats(r, &st);
	CHECK_U64(st.decompressed_bytes, <=,
		  (UINT64_C(64) << 20) + 10 * st.compressed_bytes + 65536);
	coati_recording_close(&r);
	CHECK_OK(setenv("COATI_UNPACK_MOST", "1000000", 1));
	CHECK_U64(count_records("a"), >=, samples);
	CHECK_OK(setenv("COATI_UNPACK_MOST", "many", 1));
	CHECK_ERR(coati_recording_open("a", NULL, &r, NULL), -EINVAL);
}

struct watching {
	struct coati_recording *recording;
	uint64_t calls, unpacked, stop_at; /* bytes */
};

static int watch(void *ctx)
{
	struct coati_recording_stats st = { .size = sizeof(st) };
	struct watching *w = ctx;

	coati_recording_get_stats(w->recording, &st);
	CHECK_U64(st.records, ==, 0); /* nothing was given out */
	CHECK_U64(st.decompressed_bytes, >=, w->unpacked);
	w->unpacked = st.decompressed_bytes;
	w->calls++;
	return w->stop_at && w->unpacked >= w->stop_at;
}

/* One packed megabyte without a round: all of it is unpacked before the first record comes. */
TEST(recording_is_watched_while_it_is_unpacked)
{
	const uint64_t samples = 20000;
	struct coati_recording_item item;
	struct watching w = { 0 };
	struct coati_writer *writer;
	uint32_t nr;

	small_need_zstd();
	writer = small_start("a", 0, 1);
	for (uint64_t i = 0; i < samples; i++)
		small_add(writer, 7, i, 1000 + i);
	CHECK_OK(coati_writer_close(&writer, NULL));
	w.recording = small_open("a", 0);
	coati_recording_watch(w.recording, watch, &w);
	CHECK_INT(coati_recording_next(w.recording, &item), ==, 1);
	CHECK_U64(w.calls, >=, samples);
	CHECK_U64(w.unpacked, >=, samples * 40);
	coati_recording_close(&w.recording);

	w = (struct watching){ .recording = small_open("a", 0), .stop_at = samples * 20 };
	coati_recording_watch(w.recording, watch, &w);
	CHECK_ERR(small_samples(w.recording, NULL, 0, &nr), -EINTR);
	CHECK_U64(nr, >, 0);
	CHECK_U64(nr, <, samples);
	coati_recording_close(&w.recording);
}

TEST(recording_in_file_order_comes_as_it_was_written)
{
	static const uint64_t want[] = { 0, 1, 2, 3, 4, 100, 101, 102, 103, 104 };
	struct coati_recording *r;
	uint64_t ips[10];
	uint32_t nr;

	small_write("a", 0, 0);
	r = small_open("a", COATI_RECORDING_FILE_ORDER);
	CHECK_INT(small_samples(r, ips, 10, &nr), ==, 0);
	CHECK_MEM(ips, want, sizeof(want));
	coati_recording_close(&r);
}

TEST(recording_delivers_a_late_record_and_flags_it)
{
	struct coati_writer *w = small_start("a", 0, 0);
	struct coati_recording_item item;
	struct coati_recording_stats st = { .size = sizeof(st) };
	struct coati_recording *r;
	int late = 0, samples = 0;

	for (uint64_t round = 0; round < 4; round++) {
		small_add(w, 7, round, 1000 * (round + 1));
		CHECK_OK(coati_writer_round(w));
	}
	small_add(w, 8, 99, 500); /* older than what was allowed to go two rounds ago */
	CHECK_OK(coati_writer_round(w));
	CHECK_OK(coati_writer_close(&w, NULL));
	r = small_open("a", 0);
	while (coati_recording_next(r, &item) > 0) {
		samples += item.raw.type == COATI_RECORD_SAMPLE;
		late += item.raw.type == COATI_RECORD_SAMPLE &&
			item.flags & COATI_RECORDING_ITEM_LATE;
	}
	CHECK_INT(samples, ==, 5);
	CHECK_INT(late, ==, 1);
	coati_recording_get_stats(r, &st);
	CHECK_U64(st.late, ==, 1);
	coati_recording_close(&r);
}

/* A record of these words behind its header. */
static void add_words(struct coati_writer *w, uint32_t type, const uint64_t *words, uint16_t nr)
{
	uint64_t rec[8] = { type | (uint64_t)(8 + 8 * nr) << 48 };

	memcpy(&rec[1], words, nr * sizeof(*words));
	CHECK_OK(coati_writer_record(w, rec, 8u + 8u * nr));
}

TEST(recording_counts_records_samples_and_losses)
{
	struct coati_writer *w = small_start("a", 0, 0);
	struct coati_recording_item item;
	struct coati_recording_stats st = { .size = sizeof(st) };
	struct coati_recording *r;
	uint64_t records = 0, bytes = 0;

	for (uint64_t i = 0; i < 5; i++)
		small_add(w, 7, i, 1000 + i);
	add_words(w, COATI_RECORD_LOST, (const uint64_t[]){ 7, 30, 0, 0, 0 }, 5);
	add_words(w, COATI_RECORD_LOST, (const uint64_t[]){ 7, 4, 0, 0, 0 }, 5);
	add_words(w, COATI_RECORD_LOST_SAMPLES, (const uint64_t[]){ 6, 0, 0, 0 }, 4);
	add_words(w, COATI_RECORD_THROTTLE, (const uint64_t[]){ 1, 7, 7, 0, 0, 0 }, 6);
	add_words(w, 60, (const uint64_t[]){ 0 }, 1); /* a type that nobody knows */
	CHECK_OK(coati_writer_close(&w, NULL));
	r = small_open("a", 0);
	while (coati_recording_next(r, &item) > 0) {
		records++;
		bytes += item.raw.size;
	}
	coati_recording_get_stats(r, &st);
	CHECK_U64(st.records, ==, records);
	CHECK_U64(st.records, >=, 10);
	CHECK_U64(st.bytes, ==, bytes);
	CHECK_U64(st.samples, ==, 5);
	CHECK_U64(st.lost, ==, 34);
	CHECK_U64(st.lost_samples, ==, 6);
	CHECK_U64(st.throttled, ==, 1);
	CHECK_U64(st.unknown_type, ==, 1);
	CHECK_U64(st.late, ==, 0);
	CHECK_U64(st.damaged, ==, 0);
	coati_recording_close(&r);
}

TEST(recording_without_rounds_is_read_within_its_window)
{
	struct coati_recording_opts opts = { .size = sizeof(opts), .window_bytes = 1 << 20 };
	struct coati_writer *w = small_start("a", 0, 0);
	struct coati_recording *r = NULL;
	uint64_t nr_records = 200000, last = 0, order = 0;
	struct coati_recording_item item;
	uint64_t seen = 0;

	for (uint64_t i = 0; i < nr_records; i++)
		small_add(w, 7, i, 10 + i);
	CHECK_OK(coati_writer_close(&w, NULL));
	CHECK_OK(coati_recording_open("a", &opts, &r, NULL));
	while (coati_recording_next(r, &item) > 0) {
		order += item.time < last;
		last = item.time;
		seen++;
	}
	CHECK_U64(seen, ==, nr_records);
	CHECK_U64(order, ==, 0);
	coati_recording_close(&r);
}

/* A record that is longer than what waits for ordering may be on average: memory runs out before
 * places in line do. */
static void add_long(struct coati_writer *w, uint64_t ip, uint64_t time)
{
	static uint8_t buf[3992];
	const uint16_t size = sizeof(buf);

	small_sample(buf, 7, ip, time);
	memcpy(buf + 6, &size, sizeof(size));
	CHECK_OK(coati_writer_record(w, buf, sizeof(buf)));
}

TEST(recording_compressed_without_rounds_is_read_within_its_window)
{
	struct coati_recording_opts opts = { .size = sizeof(opts), .window_bytes = 1 << 20 };
	struct coati_recording *r = NULL;
	static uint64_t ips[3000];
	struct coati_writer *w;
	uint32_t nr;

	small_need_zstd();
	w = small_start("a", 0, 1);
	for (uint64_t i = 0; i < 3000; i++)
		add_long(w, i, 1000 + i);
	CHECK_OK(coati_writer_close(&w, NULL));
	CHECK_OK(coati_recording_open("a", &opts, &r, NULL));
	CHECK_INT(small_samples(r, ips, 3000, &nr), ==, 0);
	CHECK_INT(nr, ==, 3000);
	for (uint64_t i = 0; i < 3000; i++)
		CHECK_U64(ips[i], ==, i);
	coati_recording_close(&r);
}

/* A folder of files as `perf record --threads` makes it, with more files than the window has room
 * for. */
TEST(recording_in_a_folder_is_merged_however_many_files_it_has)
{
	struct coati_recording_opts opts = { .size = sizeof(opts), .window_bytes = 1 << 16 };
	enum { FILES = 40, EACH = 100 };
	struct coati_recording *r = NULL;
	static uint64_t ips[FILES * EACH];
	struct coati_writer *w;
	uint32_t nr;

	CHECK_OK(mkdir("d", 0700));
	w = small_start("d/data", 0, 0);
	CHECK_OK(coati_writer_close(&w, NULL));
	for (unsigned int f = 0; f < FILES; f++) {
		char path[32];
		FILE *out;

		snprintf(path, sizeof(path), "d/data.%u", f);
		out = fopen(path, "we");
		CHECK(out);
		for (uint64_t i = 0; i < EACH; i++) {
			uint8_t buf[64];
			size_t size = small_sample(buf, 7, i * FILES + f, 1000 + i * FILES + f);

			CHECK_INT(fwrite(buf, 1, size, out), ==, size);
		}
		CHECK_OK(fclose(out));
	}
	CHECK_OK(coati_recording_open("d", &opts, &r, NULL));
	CHECK_INT(small_samples(r, ips, FILES * EACH, &nr), ==, 0);
	CHECK_INT(nr, ==, FILES * EACH);
	for (uint64_t i = 0; i < FILES * EACH; i++)
		CHECK_U64(ips[i], ==, i);
	coati_recording_close(&r);
}

/* Many records are taken at once from one file, and never from one of several. */
TEST(recording_in_a_folder_of_two_files_is_merged_in_bunches)
{
	struct coati_recording *r = NULL;
	struct recording_bunch b;
	uint64_t last = 0, nr = 0;
	struct coati_writer *w;
	FILE *out;
	int n;

	CHECK_OK(mkdir("d", 0700));
	w = small_start("d/data", 0, 0);
	out = fopen("d/data.0", "we");
	CHECK(out);
	for (uint64_t i = 0; i < 100; i++) {
		uint8_t buf[64];
		size_t size = small_sample(buf, 7, i, 1000 + 2 * i + 1);

		small_add(w, 8, i, 1000 + 2 * i);
		CHECK_INT(fwrite(buf, 1, size, out), ==, size);
	}
	CHECK_OK(fclose(out));
	CHECK_OK(coati_writer_close(&w, NULL));
	CHECK_OK(coati_recording_open("d", NULL, &r, NULL));
	while ((n = coati_recording_next_bunch(r, 64, &b)) > 0)
		for (uint32_t i = 0; i < b.nr; i++) {
			if (b.items[i].raw.type != COATI_RECORD_SAMPLE)
				continue;
			CHECK_U64(b.items[i].time, >=, last);
			last = b.items[i].time;
			nr++;
		}
	CHECK_INT(n, ==, 0);
	CHECK_U64(nr, ==, 200);
	CHECK_U64(last, ==, 1000 + 2 * 99 + 1);
	coati_recording_close(&r);
}

/* What is last in an attribute is not left out: the clock in those of Linux 4.1. */
TEST(recording_attribute_may_end_behind_any_of_its_fields)
{
	struct coati_attr attr;
	uint8_t bytes[96] = { 0 };
	struct cursor c = cursor_over(bytes, sizeof(bytes));
	struct writer w = writer_over(bytes, sizeof(bytes));

	writer_u32(&w, COATI_TYPE_SOFTWARE);
	writer_u32(&w, sizeof(bytes));
	bytes[88] = 16; /* of the stack */
	bytes[92] = 1;
	CHECK_OK(coati_model_attr(&c, 96, &attr));
	CHECK_U64(attr.sample_stack_user, ==, 16);
	CHECK_INT(attr.clockid, ==, 1);
	c = cursor_over(bytes, sizeof(bytes));
	CHECK_OK(coati_model_attr(&c, 92, &attr));
	CHECK_U64(attr.sample_stack_user, ==, 16);
	CHECK_INT(attr.clockid, ==, 0);
}

/* A recording without tracepoints needs no description of them, wherever tracefs may be. */
TEST(recording_without_tracepoints_has_no_need_of_tracefs)
{
	struct coati_writer *w = NULL;

	CHECK_OK(coati_writer_open("a", NULL, &w, NULL));
	CHECK_INT(coati_writer_tracing_data(w, "nowhere", NULL), ==, 0);
	coati_writer_close(&w, NULL);
}

/* The writer was seen in the middle of a record; the rest comes later. */
TEST(recording_that_is_followed_waits_for_the_rest_of_a_record)
{
	struct coati_recording_item item;
	struct coati_recording *r;
	struct coati_writer *w = small_start("a", 0, 0);
	uint8_t buf[64];
	size_t size;
	int fd;

	small_add(w, 7, 1, 1000);
	CHECK_OK(coati_writer_round(w));
	r = small_open("a", COATI_RECORDING_FOLLOW | COATI_RECORDING_FILE_ORDER);
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	fd = open("a", O_WRONLY | O_APPEND | O_CLOEXEC);
	CHECK_INT(fd, >=, 0);
	size = small_sample(buf, 7, 2, 2000);
	CHECK_INT(write(fd, buf, 13), ==, 13);
	CHECK_INT(coati_recording_next(r, &item), ==, 0);
	CHECK_INT(write(fd, buf + 13, size - 13), ==, (ssize_t)size - 13);
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK_U64(item.time, ==, 2000);
	close(fd);
	coati_recording_close(&r);
	CHECK_OK(coati_writer_close(&w, NULL));
}

TEST(recording_of_the_other_byte_order_is_understood)
{
	uint8_t buf[1024];
	struct writer w = writer_over(buf, sizeof(buf));
	struct coati_recording_item item;
	struct coati_record rec;
	struct coati_recording *r;

	w.swap = true;
	writer_u64(&w, UINT64_C(0x32454c4946524550));
	writer_u64(&w, 104);
	writer_u64(&w, 128 + 16);
	writer_u64(&w, 104); /* attrs */
	writer_u64(&w, 128 + 16);
	writer_u64(&w, 104 + 144); /* data */
	writer_u64(&w, 40);
	writer_zeros(&w, 16 + 32);
	writer_u32(&w, COATI_TYPE_SOFTWARE);
	writer_u32(&w, 128);
	writer_u64(&w, COATI_SW_TASK_CLOCK);
	writer_u64(&w, 0);
	writer_u64(&w, small_attr.sample_type);
	writer_u64(&w, 0);
	/* flags of a big-endian compiler: sample_id_all (18) and precise 2 (bit 16), counted from
	 * the top */
	writer_u64(&w, UINT64_C(1) << (63 - 18) | UINT64_C(1) << (63 - 15));
	writer_zeros(&w, 128 - 48);
	writer_zeros(&w, 16);
	writer_u32(&w, COATI_RECORD_SAMPLE);
	writer_u16(&w, COATI_MISC_USER);
	writer_u16(&w, 40);
	writer_u64(&w, 7);
	writer_u64(&w, 0x1234);
	writer_u32(&w, 100);
	writer_u32(&w, 101);
	writer_u64(&w, 55);
	CHECK(!w.full);
	small_spit("a", buf, w.len);
	r = small_open("a", 0);
	CHECK_INT(coati_recording_info(r)->is_swapped, ==, 1);
	CHECK_U64(coati_recording_event(r, 0)->attr.flags, ==,
		  COATI_ATTR_SAMPLE_ID_ALL | COATI_ATTR_PRECISE(2));
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK_U64(item.time, ==, 55);
	CHECK_OK(coati_record_decode(&item.raw,
				     coati_format_table_get(coati_recording_formats(r), 0), &rec));
	CHECK_U64(rec.u.sample.ip, ==, 0x1234);
	CHECK_INT(rec.id.tid, ==, 101);
	CHECK_INT(coati_recording_next(r, &item), ==, 0);
	coati_recording_close(&r);
}

TEST(recording_in_file_mode_from_a_pipe_is_refused_with_the_way_out)
{
	static uint8_t buf[65536];
	struct coati_recording *r = NULL;
	struct coati_error err = { 0 };
	int fds[2];
	size_t size;

	small_write("a", 0, 0);
	size = small_slurp("a", buf, sizeof(buf));
	CHECK_OK(pipe2(fds, O_CLOEXEC));
	CHECK_INT(write(fds[1], buf, size), ==, size);
	close(fds[1]);
	CHECK_ERR(coati_recording_open_fd(fds[0], NULL, &r, &err), -EOPNOTSUPP);
	CHECK_HAS(err.text, "name the file");
}

TEST(recording_ids_that_no_event_has_are_delivered_and_counted)
{
	struct coati_writer *w = small_start("a", 0, 0);
	struct coati_recording_item item;
	struct coati_recording *r;
	uint64_t two[1] = { 9 };

	CHECK_ERR(coati_writer_add_event(
			  w,
			  &(struct coati_recording_event){
				  .name = "late", .attr = small_attr, .ids = two, .nr_ids = 1 },
			  NULL),
		  -EINVAL);
	coati_writer_close(&w, NULL);
	CHECK_OK(coati_writer_open("a", NULL, &w, NULL));
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "one", .attr = small_attr, .ids = two, .nr_ids = 1 },
		NULL));
	two[0] = 10;
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "two", .attr = small_attr, .ids = two, .nr_ids = 1 },
		NULL));
	CHECK_OK(coati_writer_start(w, NULL));
	small_add(w, 4711, 1, 10);
	CHECK_OK(coati_writer_close(&w, NULL));
	r = small_open("a", 0);
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK(item.flags & COATI_RECORDING_ITEM_NO_EVENT);
	coati_recording_close(&r);
}

TEST(recording_has_ids_that_an_event_got_after_the_start)
{
	const uint64_t one = 9, two = 10, more[2] = { 4711, 4712 };
	struct coati_recording_item item;
	struct coati_writer *w = NULL;
	struct coati_recording *r;

	CHECK_OK(coati_writer_open("a", NULL, &w, NULL));
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "one", .attr = small_attr, .ids = &one, .nr_ids = 1 },
		NULL));
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "two", .attr = small_attr, .ids = &two, .nr_ids = 1 },
		NULL));
	CHECK_OK(coati_writer_start(w, NULL));
	small_add(w, 4712, 1, 10);
	small_add(w, 9, 2, 11);
	CHECK_ERR(coati_writer_add_ids(w, 11, more, 2), -ENOENT);
	CHECK_OK(coati_writer_add_ids(w, 10, more, 2));
	CHECK_OK(coati_writer_close(&w, NULL));
	r = small_open("a", 0);
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK(!(item.flags & COATI_RECORDING_ITEM_NO_EVENT));
	CHECK_INT(item.event, ==, 1);
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK_INT(item.event, ==, 0);
	coati_recording_close(&r);
	w = small_start("b", COATI_WRITER_PIPE, 0);
	CHECK_ERR(coati_writer_add_ids(w, 7, more, 2), -EOPNOTSUPP);
	CHECK_OK(coati_writer_close(&w, NULL));
}

TEST(recording_stops_at_its_ceiling_and_is_whole)
{
	struct coati_writer_opts opts = { .size = sizeof(opts), .max_bytes = 2000 };
	static const uint64_t ids[1] = { 7 };
	struct coati_recording *recording = NULL;
	struct coati_writer *w = NULL;
	uint8_t buf[64];
	int end, r = 0;

	CHECK_OK(coati_writer_open("a", &opts, &w, NULL));
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "cpu-clock", .attr = small_attr, .ids = ids, .nr_ids = 1 },
		NULL));
	CHECK_OK(coati_writer_start(w, NULL));
	CHECK_OK(coati_writer_feature(w, COATI_FEATURE_HOSTNAME, "\4\0\0\0me\0", 8));
	for (uint64_t i = 0; i < 1000 && r == 0; i++)
		r = coati_writer_write(w, buf, small_sample(buf, 7, i, i + 1), NULL, 0);
	CHECK_ERR(r, -EFBIG);
	CHECK_ERR(coati_writer_close(&w, NULL), -EFBIG);
	CHECK_INT(small_try("a", &end), >, 10);
	CHECK_INT(end, ==, 0);
	/* what explains the records is in it all the same */
	CHECK_OK(coati_recording_open("a", NULL, &recording, NULL));
	CHECK_STR(coati_recording_info(recording)->hostname, "me");
	coati_recording_close(&recording);
}

TEST(recording_on_a_full_disk_says_so_and_stays_readable)
{
	struct coati_writer *w = NULL;
	struct coati_error err = { 0 };
	static const uint64_t ids[1] = { 7 };

	CHECK_OK(coati_writer_open(
		"/dev/full",
		&(struct coati_writer_opts){ .size = sizeof(struct coati_writer_opts),
					     .flags = COATI_WRITER_PIPE },
		&w, &err));
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "cpu-clock", .attr = small_attr, .ids = ids, .nr_ids = 1 },
		&err));
	CHECK_ERR(coati_writer_start(w, &err), -ENOSPC);
	CHECK_HAS(err.text, "No space left");
	CHECK_ERR(coati_writer_close(&w, &err), -ENOSPC);
}

/* Wherever the file system stops a write of many records, those before stay, and no piece of
 * one. */
TEST(writer_keeps_the_whole_records_of_a_write_that_was_cut)
{
	static uint8_t buf[64 * 40];
	struct rlimit all;

	signal_ignore(SIGXFSZ);
	CHECK_OK(getrlimit(RLIMIT_FSIZE, &all));
	for (size_t i = 0; i < 64; i++)
		small_sample(buf + i * 40, 7, i, 1000 + i);
	for (size_t room = 0; room < 200; room += 7) {
		struct coati_writer *w = small_start("cut.data", 0, 0);
		uint64_t head = coati_writer_bytes(w);
		struct rlimit less = { head + room, all.rlim_max };

		CHECK_OK(setrlimit(RLIMIT_FSIZE, &less));
		/* in two pieces, the second of which begins in mid-record */
		CHECK_ERR(coati_writer_write(w, buf, 56, buf + 56, sizeof(buf) - 56), -EFBIG);
		CHECK_U64(coati_writer_bytes(w), ==, head + room / 40 * 40);
		CHECK_ERR(coati_writer_close(&w, NULL), -EFBIG);
		CHECK_OK(setrlimit(RLIMIT_FSIZE, &all));
		CHECK_U64(count_records("cut.data"), ==, room / 40);
	}
}

TEST(batches_of_ours_travel_as_samples_of_the_dummy_event)
{
	static uint8_t buf[40000], payload[COATI_LIVE_BATCH_MAX];
	struct coati_sample_format fmt;
	struct coati_attr attr;
	struct coati_batch b = { .kind = COATI_BATCH_META,
				 .version = 1,
				 .pid = 5,
				 .tid = 6,
				 .time_ns = 77,
				 .id = 9,
				 .payload = payload };

	coati_batch_attr(&attr);
	coati_sample_format_init(&attr, &fmt);
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)test_random();
	for (uint32_t size = 0; size <= sizeof(payload); size = size < 40 ? size + 1 : size * 3) {
		const uint8_t *at = buf;
		struct coati_batch got;
		struct coati_record rec;
		struct coati_raw raw;
		size_t left;
		int n;

		b.payload_size = size;
		n = coati_batch_encode(&b, buf, sizeof(buf));
		CHECK_INT(n, >, 0);
		CHECK_INT(n % 8, ==, 0);
		left = (size_t)n;
		CHECK_INT(coati_raw_next(&at, &left, 0, &raw), ==, 1);
		CHECK_INT(left, ==, 0);
		CHECK_OK(coati_record_decode(&raw, &fmt, &rec));
		CHECK_OK(coati_batch_decode(&rec, raw.swap, &got));
		CHECK_INT(got.payload_size, ==, size);
		CHECK_MEM(got.payload, payload, size);
		CHECK_U64(got.time_ns, ==, 77);
	}
	b.payload_size = COATI_LIVE_BATCH_MAX + 1;
	CHECK_ERR(coati_batch_encode(&b, buf, sizeof(buf)), -E2BIG);
}

TEST(recording_survives_each_failing_allocation)
{
	int end = 0;

	small_write("a", 0, 0);
	for (uint64_t n = 0; n < 60; n++) {
		struct coati_recording *r = NULL;
		struct coati_recording_item item;

		coati_alloc_fail_after(n);
		if (coati_recording_open("a", NULL, &r, NULL) == 0)
			while (coati_recording_next(r, &item) > 0)
				;
		coati_alloc_fail_after(UINT64_MAX);
		coati_recording_close(&r);
	}
	CHECK_INT(small_try("a", &end), ==, 10);
}

TEST(writer_drops_an_event_that_it_had_no_memory_for)
{
	struct coati_recording *r;
	struct coati_writer *w = NULL;
	const uint64_t id = 7;

	CHECK_OK(coati_writer_open("a", NULL, &w, NULL));
	for (uint64_t n = 0; n < 3; n++) {
		int code;

		coati_alloc_fail_after(n);
		code = coati_writer_add_event(
			w,
			&(struct coati_recording_event){
				.name = "lost", .attr = small_attr, .ids = &id, .nr_ids = 1 },
			NULL);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK_INT(code == 0, ==, n == 2); /* the array stays from the second time */
	}
	CHECK_OK(coati_writer_start(w, NULL));
	CHECK_OK(coati_writer_close(&w, NULL));
	r = small_open("a", 0);
	CHECK_INT(coati_recording_event_count(r), ==, 1);
	coati_recording_close(&r);
}

TEST(recording_in_pipe_mode_keeps_the_names_of_very_many_events)
{
	enum { NR = 400, IDS = 16 };
	struct coati_writer_opts opts = { .size = sizeof(opts), .flags = COATI_WRITER_PIPE };
	struct coati_writer *w = NULL;
	struct coati_recording *r;
	char name[32];

	CHECK_OK(coati_writer_open("a", &opts, &w, NULL));
	for (uint64_t i = 0; i < NR; i++) {
		uint64_t ids[IDS];

		for (uint64_t k = 0; k < IDS; k++)
			ids[k] = 1 + i * IDS + k;
		snprintf(name, sizeof(name), "number-%llu", (unsigned long long)i);
		CHECK_OK(coati_writer_add_event(
			w,
			&(struct coati_recording_event){
				.name = name, .attr = small_attr, .ids = ids, .nr_ids = IDS },
			NULL));
	}
	CHECK_OK(coati_writer_start(w, NULL));
	small_add(w, 7, 1, 10);
	CHECK_OK(coati_writer_close(&w, NULL));
	r = small_open("a", 0);
	CHECK_INT(coati_recording_event_count(r), ==, NR);
	CHECK_STR(coati_recording_event(r, 0)->name, "number-0");
	CHECK_STR(coati_recording_event(r, NR - 1)->name, "number-399");
	coati_recording_close(&r);
}
