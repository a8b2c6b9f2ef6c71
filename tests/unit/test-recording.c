/* SPDX-License-Identifier: MIT */
/* perf.data written and read back, cut, damaged, out of order, of the other byte order. */
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
#include "base/writer.h"
#include "record/batch.h"
#include "recording/recording.h"
#include "recording/writer.h"

#define NR_IDS 2

static const struct coati_attr clock_attr = {
	.type = COATI_TYPE_SOFTWARE,
	.config = COATI_SW_CPU_CLOCK,
	.sample_type =
		COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_IP | COATI_SAMPLE_TID | COATI_SAMPLE_TIME,
	.flags = COATI_ATTR_SAMPLE_ID_ALL,
};

/* A sample of the clock event: 40 bytes. */
static size_t put_sample(uint8_t *buf, uint64_t id, uint64_t ip, uint64_t time)
{
	struct writer w = writer_over(buf, 64);

	writer_u32(&w, COATI_RECORD_SAMPLE);
	writer_u16(&w, COATI_MISC_USER);
	writer_u16(&w, 40);
	writer_u64(&w, id);
	writer_u64(&w, ip);
	writer_u32(&w, 100);
	writer_u32(&w, 101);
	writer_u64(&w, time);
	return w.len;
}

static struct coati_writer *start(const char *path, uint32_t flags, int level)
{
	static const uint64_t ids[NR_IDS] = { 7, 8 };
	struct coati_writer_opts opts = { .size = sizeof(opts),
					  .flags = flags,
					  .zstd_level = level };
	struct coati_writer *w = NULL;
	struct coati_error err = { 0 };

	CHECK_OK(coati_writer_open(path, &opts, &w, &err));
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "cpu-clock", .attr = clock_attr, .ids = ids, .nr_ids = NR_IDS },
		&err));
	CHECK_OK(coati_writer_start(w, &err));
	return w;
}

static void add(struct coati_writer *w, uint64_t id, uint64_t ip, uint64_t time)
{
	uint8_t buf[64];

	CHECK_OK(coati_writer_record(w, buf, put_sample(buf, id, ip, time)));
}

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

/* Two rings of five samples each, one round. */
static void write_small(const char *path, uint32_t flags, int level)
{
	const char *argv[] = { "coati", "record", "true" };
	struct coati_writer *w = start(path, flags, level);

	CHECK_OK(coati_writer_host_features(w, 3, argv));
	for (uint64_t i = 0; i < 5; i++)
		add(w, 7, i, 1000 + 10 * i);
	for (uint64_t i = 0; i < 5; i++)
		add(w, 8, 100 + i, 1005 + 10 * i);
	CHECK_OK(coati_writer_round(w));
	CHECK_OK(coati_writer_close(&w, NULL));
	CHECK(!w);
}

static struct coati_recording *open_it(const char *path, uint32_t flags)
{
	struct coati_recording_opts opts = { .size = sizeof(opts), .flags = flags };
	struct coati_recording *r = NULL;
	struct coati_error err = { 0 };
	int n = coati_recording_open(path, &opts, &r, &err);

	if (n < 0)
		test_fail_at(__FILE__, __LINE__, "open %s: %s", path, err.text);
	return r;
}

/* Samples in the order in which they are read; returns how it ended. */
static int read_samples(struct coati_recording *r, uint64_t *ips, uint32_t max, uint32_t *ret_nr)
{
	struct coati_recording_item item;
	uint32_t nr = 0;
	int n;

	while ((n = coati_recording_next(r, &item)) > 0) {
		struct coati_record rec;

		if (item.raw.type != COATI_RECORD_SAMPLE)
			continue;
		CHECK_OK(coati_record_decode(
			&item.raw, coati_format_table_get(coati_recording_formats(r), item.event),
			&rec));
		if (nr < max)
			ips[nr] = rec.u.sample.ip;
		nr++;
	}
	*ret_nr = nr;
	return n;
}

static void check_small(const char *path)
{
	static const uint64_t want[] = { 0, 100, 1, 101, 2, 102, 3, 103, 4, 104 };
	struct coati_recording *r = open_it(path, 0);
	uint64_t ips[10];
	uint32_t nr;

	CHECK_INT(read_samples(r, ips, 10, &nr), ==, 0);
	CHECK_INT(nr, ==, 10);
	CHECK_MEM(ips, want, sizeof(want));
	CHECK_STR(coati_recording_event(r, 0)->name, "cpu-clock");
	CHECK_INT(coati_recording_event(r, 0)->nr_ids, ==, NR_IDS);
	CHECK_INT(coati_recording_info(r)->nr_args, ==, 3);
	CHECK_STR(coati_recording_info(r)->args[2], "true");
	CHECK_INT(coati_recording_info(r)->clockid, ==, 1);
	coati_recording_close(&r);
}

TEST(recording_in_file_mode_comes_back_in_the_order_of_time)
{
	write_small("a", 0, 0);
	check_small("a");
}

TEST(recording_in_pipe_mode_comes_back_in_the_order_of_time)
{
	write_small("a", COATI_WRITER_PIPE, 0);
	check_small("a");
}

static void need_zstd(void)
{
	struct coati_writer_opts opts = { .size = sizeof(opts), .zstd_level = 1 };
	struct coati_writer *w = NULL;
	struct coati_error err;

	if (coati_writer_open("zstd", &opts, &w, &err) < 0)
		test_skip("%s", err.text);
	coati_writer_close(&w, NULL);
}

TEST(recording_that_was_compressed_comes_back_in_both_modes)
{
	need_zstd();
	write_small("a", 0, 3);
	check_small("a");
	write_small("b", COATI_WRITER_PIPE, 3);
	check_small("b");
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

	need_zstd();
	w = start("a", 0, 1);
	for (uint64_t i = 0; i < samples; i++)
		add(w, 7, 1, 1000);
	CHECK_OK(coati_writer_close(&w, NULL));
	CHECK_OK(coati_recording_open("a", &opts, &r, NULL));
	CHECK_ERR(read_samples(r, NULL, 0, &nr), -E2BIG);
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

	need_zstd();
	writer = start("a", 0, 1);
	for (uint64_t i = 0; i < samples; i++)
		add(writer, 7, i, 1000 + i);
	CHECK_OK(coati_writer_close(&writer, NULL));
	w.recording = open_it("a", 0);
	coati_recording_watch(w.recording, watch, &w);
	CHECK_INT(coati_recording_next(w.recording, &item), ==, 1);
	CHECK_U64(w.calls, >=, samples);
	CHECK_U64(w.unpacked, >=, samples * 40);
	coati_recording_close(&w.recording);

	w = (struct watching){ .recording = open_it("a", 0), .stop_at = samples * 20 };
	coati_recording_watch(w.recording, watch, &w);
	CHECK_ERR(read_samples(w.recording, NULL, 0, &nr), -EINTR);
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

	write_small("a", 0, 0);
	r = open_it("a", COATI_RECORDING_FILE_ORDER);
	CHECK_INT(read_samples(r, ips, 10, &nr), ==, 0);
	CHECK_MEM(ips, want, sizeof(want));
	coati_recording_close(&r);
}

static size_t slurp(const char *path, uint8_t *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, buf, cap);

	CHECK_INT(n, >, 0);
	close(fd);
	return (size_t)n;
}

static void spit(const char *path, const uint8_t *buf, size_t size)
{
	int fd;

	unlink(path); /* ext4 waits for the disk when a file is cut to nothing and written again */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK_INT(write(fd, buf, size), ==, size);
	close(fd);
}

/* Open and read all; what comes is not looked at. Returns the number of samples, -1 when it does
 * not open. */
static int try_read(const char *path, int *ret_end)
{
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	struct coati_error err = { 0 };
	int samples = 0, n;

	n = coati_recording_open(path, NULL, &r, &err);
	if (n < 0) {
		CHECK_INT(strlen(err.text), >, 0);
		return -1;
	}
	while ((n = coati_recording_next(r, &item)) > 0)
		samples += item.raw.type == COATI_RECORD_SAMPLE;
	if (n < 0)
		CHECK_INT(strlen(coati_recording_error(r)->text), >, 0);
	*ret_end = n;
	coati_recording_close(&r);
	return samples;
}

static void cut_everywhere(uint32_t flags, int level)
{
	static uint8_t buf[65536];
	int last = -1, end = 0;
	size_t size;

	write_small("a", flags, level);
	size = slurp("a", buf, sizeof(buf));
	for (size_t cut = 0; cut <= size; cut++) {
		int got;

		spit("cut", buf, cut);
		got = try_read("cut", &end);
		CHECK_INT(got, >=, last); /* more bytes never give fewer records */
		last = got;
	}
	CHECK_INT(last, ==, 10);
	CHECK_INT(end, ==, 0);
}

TEST(recording_cut_at_every_byte_gives_all_whole_records_before_the_cut)
{
	cut_everywhere(0, 0);
	cut_everywhere(COATI_WRITER_PIPE, 0);
}

TEST(recording_compressed_and_cut_at_every_byte_does_no_harm)
{
	need_zstd();
	cut_everywhere(COATI_WRITER_PIPE, 1);
}

TEST_LIMIT(recording_with_random_damage_is_refused_or_read_never_trusted, 60)
{
	static uint8_t buf[65536], copy[65536];
	size_t size;
	int end;

	for (int mode = 0; mode < 2; mode++) {
		write_small("a", mode ? COATI_WRITER_PIPE : 0, 0);
		size = slurp("a", buf, sizeof(buf));
		for (int i = 0; i < 1500; i++) {
			memcpy(copy, buf, size);
			for (uint64_t k = test_random() % 4 + 1; k; k--)
				copy[test_random() % (i & 1 ? size : 400)] = (uint8_t)test_random();
			spit("bad", copy, size);
			try_read("bad", &end);
		}
	}
}

TEST(recording_of_a_killed_recorder_is_read_to_its_end)
{
	struct coati_recording *r;
	uint64_t ips[4];
	uint32_t nr;
	pid_t pid = fork();

	if (pid == 0) {
		struct coati_writer *w = start("a", 0, 0);

		add(w, 7, 1, 10);
		coati_writer_round(w);
		add(w, 7, 2, 20);
		coati_writer_round(w);
		kill(getpid(), SIGKILL);
	}
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
	r = open_it("a", 0);
	CHECK(coati_recording_info(r)->is_truncated == 0 ||
	      coati_recording_info(r)->is_truncated == 1);
	CHECK_INT(read_samples(r, ips, 4, &nr), ==, 0);
	CHECK_INT(nr, ==, 2);
	coati_recording_close(&r);
}

/* A recorder that dies right after its first round. */
static void write_killed(const char *path)
{
	static const uint64_t ids[1] = { 7 };
	pid_t pid = fork();

	if (pid == 0) {
		struct coati_writer *w = NULL;

		CHECK_OK(coati_writer_open(path, NULL, &w, NULL));
		CHECK_OK(coati_writer_add_event(
			w,
			&(struct coati_recording_event){
				.name = "its name", .attr = clock_attr, .ids = ids, .nr_ids = 1 },
			NULL));
		CHECK_OK(coati_writer_feature(w, COATI_FEATURE_ARCH, "\4\0\0\0pdp", 8));
		CHECK_OK(coati_writer_start(w, NULL));
		add(w, 7, 1, 10);
		coati_writer_round(w);
		kill(getpid(), SIGKILL);
	}
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
}

TEST(recording_of_a_killed_recorder_has_the_names_that_were_known_at_its_start)
{
	struct coati_recording *r;

	write_killed("a");
	r = open_it("a", 0);
	CHECK_STR(coati_recording_event(r, 0)->name, "its name");
	CHECK_STR(coati_recording_info(r)->arch, "pdp");
	coati_recording_close(&r);
}

TEST(recording_of_a_killed_recorder_with_damage_in_its_foreword_is_read_to_its_end)
{
	static uint8_t buf[65536];
	uint64_t attrs[2], data;
	size_t size;
	int end;

	write_killed("a");
	size = slurp("a", buf, sizeof(buf));
	memcpy(attrs, buf + 24, sizeof(attrs));
	memcpy(&data, buf + 40, sizeof(data));
	CHECK_U64(attrs[0] + attrs[1], <, data);
	for (uint64_t at = attrs[0] + attrs[1]; at < data; at++) {
		buf[at] ^= 0xff;
		spit("b", buf, size);
		CHECK_INT(try_read("b", &end), ==, 1);
		buf[at] ^= 0xff;
	}
}

TEST(recording_whose_header_has_no_size_is_read_to_the_end_of_the_file)
{
	static uint8_t buf[65536];
	uint64_t zeros[5] = { 0 };
	size_t size;
	int end;

	write_small("a", 0, 0);
	size = slurp("a", buf, sizeof(buf));
	memcpy(buf + 48, zeros, 8);  /* data size */
	memcpy(buf + 72, zeros, 32); /* features */
	spit("b", buf, size);
	CHECK_INT(try_read("b", &end), ==, 10);
}

TEST(recording_delivers_a_late_record_and_flags_it)
{
	struct coati_writer *w = start("a", 0, 0);
	struct coati_recording_item item;
	struct coati_recording_stats st = { .size = sizeof(st) };
	struct coati_recording *r;
	int late = 0, samples = 0;

	for (uint64_t round = 0; round < 4; round++) {
		add(w, 7, round, 1000 * (round + 1));
		CHECK_OK(coati_writer_round(w));
	}
	add(w, 8, 99, 500); /* older than what was allowed to go two rounds ago */
	CHECK_OK(coati_writer_round(w));
	CHECK_OK(coati_writer_close(&w, NULL));
	r = open_it("a", 0);
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
	struct coati_writer *w = start("a", 0, 0);
	struct coati_recording_item item;
	struct coati_recording_stats st = { .size = sizeof(st) };
	struct coati_recording *r;
	uint64_t records = 0, bytes = 0;

	for (uint64_t i = 0; i < 5; i++)
		add(w, 7, i, 1000 + i);
	add_words(w, COATI_RECORD_LOST, (const uint64_t[]){ 7, 30, 0, 0, 0 }, 5);
	add_words(w, COATI_RECORD_LOST, (const uint64_t[]){ 7, 4, 0, 0, 0 }, 5);
	add_words(w, COATI_RECORD_LOST_SAMPLES, (const uint64_t[]){ 6, 0, 0, 0 }, 4);
	add_words(w, COATI_RECORD_THROTTLE, (const uint64_t[]){ 1, 7, 7, 0, 0, 0 }, 6);
	add_words(w, 60, (const uint64_t[]){ 0 }, 1); /* a type that nobody knows */
	CHECK_OK(coati_writer_close(&w, NULL));
	r = open_it("a", 0);
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
	struct coati_writer *w = start("a", 0, 0);
	struct coati_recording *r = NULL;
	uint64_t nr_records = 200000, last = 0, order = 0;
	struct coati_recording_item item;
	uint64_t seen = 0;

	for (uint64_t i = 0; i < nr_records; i++)
		add(w, 7, i, 10 + i);
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

	put_sample(buf, 7, ip, time);
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

	need_zstd();
	w = start("a", 0, 1);
	for (uint64_t i = 0; i < 3000; i++)
		add_long(w, i, 1000 + i);
	CHECK_OK(coati_writer_close(&w, NULL));
	CHECK_OK(coati_recording_open("a", &opts, &r, NULL));
	CHECK_INT(read_samples(r, ips, 3000, &nr), ==, 0);
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
	w = start("d/data", 0, 0);
	CHECK_OK(coati_writer_close(&w, NULL));
	for (unsigned int f = 0; f < FILES; f++) {
		char path[32];
		FILE *out;

		snprintf(path, sizeof(path), "d/data.%u", f);
		out = fopen(path, "we");
		CHECK(out);
		for (uint64_t i = 0; i < EACH; i++) {
			uint8_t buf[64];
			size_t size = put_sample(buf, 7, i * FILES + f, 1000 + i * FILES + f);

			CHECK_INT(fwrite(buf, 1, size, out), ==, size);
		}
		CHECK_OK(fclose(out));
	}
	CHECK_OK(coati_recording_open("d", &opts, &r, NULL));
	CHECK_INT(read_samples(r, ips, FILES * EACH, &nr), ==, 0);
	CHECK_INT(nr, ==, FILES * EACH);
	for (uint64_t i = 0; i < FILES * EACH; i++)
		CHECK_U64(ips[i], ==, i);
	coati_recording_close(&r);
}

/* The writer was seen in the middle of a record; the rest comes later. */
TEST(recording_that_is_followed_waits_for_the_rest_of_a_record)
{
	struct coati_recording_item item;
	struct coati_recording *r;
	struct coati_writer *w = start("a", 0, 0);
	uint8_t buf[64];
	size_t size;
	int fd;

	add(w, 7, 1, 1000);
	CHECK_OK(coati_writer_round(w));
	r = open_it("a", COATI_RECORDING_FOLLOW | COATI_RECORDING_FILE_ORDER);
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	fd = open("a", O_WRONLY | O_APPEND | O_CLOEXEC);
	CHECK_INT(fd, >=, 0);
	size = put_sample(buf, 7, 2, 2000);
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
	writer_u64(&w, clock_attr.sample_type);
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
	spit("a", buf, w.len);
	r = open_it("a", 0);
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

	write_small("a", 0, 0);
	size = slurp("a", buf, sizeof(buf));
	CHECK_OK(pipe2(fds, O_CLOEXEC));
	CHECK_INT(write(fds[1], buf, size), ==, size);
	close(fds[1]);
	CHECK_ERR(coati_recording_open_fd(fds[0], NULL, &r, &err), -EOPNOTSUPP);
	CHECK_HAS(err.text, "name the file");
}

TEST(recording_ids_that_no_event_has_are_delivered_and_counted)
{
	struct coati_writer *w = start("a", 0, 0);
	struct coati_recording_item item;
	struct coati_recording *r;
	uint64_t two[1] = { 9 };

	CHECK_ERR(coati_writer_add_event(
			  w,
			  &(struct coati_recording_event){
				  .name = "late", .attr = clock_attr, .ids = two, .nr_ids = 1 },
			  NULL),
		  -EINVAL);
	coati_writer_close(&w, NULL);
	CHECK_OK(coati_writer_open("a", NULL, &w, NULL));
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "one", .attr = clock_attr, .ids = two, .nr_ids = 1 },
		NULL));
	two[0] = 10;
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "two", .attr = clock_attr, .ids = two, .nr_ids = 1 },
		NULL));
	CHECK_OK(coati_writer_start(w, NULL));
	add(w, 4711, 1, 10);
	CHECK_OK(coati_writer_close(&w, NULL));
	r = open_it("a", 0);
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
			.name = "one", .attr = clock_attr, .ids = &one, .nr_ids = 1 },
		NULL));
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "two", .attr = clock_attr, .ids = &two, .nr_ids = 1 },
		NULL));
	CHECK_OK(coati_writer_start(w, NULL));
	add(w, 4712, 1, 10);
	add(w, 9, 2, 11);
	CHECK_ERR(coati_writer_add_ids(w, 11, more, 2), -ENOENT);
	CHECK_OK(coati_writer_add_ids(w, 10, more, 2));
	CHECK_OK(coati_writer_close(&w, NULL));
	r = open_it("a", 0);
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK(!(item.flags & COATI_RECORDING_ITEM_NO_EVENT));
	CHECK_INT(item.event, ==, 1);
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK_INT(item.event, ==, 0);
	coati_recording_close(&r);
	w = start("b", COATI_WRITER_PIPE, 0);
	CHECK_ERR(coati_writer_add_ids(w, 7, more, 2), -EOPNOTSUPP);
	CHECK_OK(coati_writer_close(&w, NULL));
}

TEST(recording_stops_at_its_ceiling_and_is_whole)
{
	struct coati_writer_opts opts = { .size = sizeof(opts), .max_bytes = 2000 };
	static const uint64_t ids[1] = { 7 };
	struct coati_writer *w = NULL;
	uint8_t buf[64];
	int end, r = 0;

	CHECK_OK(coati_writer_open("a", &opts, &w, NULL));
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "cpu-clock", .attr = clock_attr, .ids = ids, .nr_ids = 1 },
		NULL));
	CHECK_OK(coati_writer_start(w, NULL));
	for (uint64_t i = 0; i < 1000 && r == 0; i++)
		r = coati_writer_write(w, buf, put_sample(buf, 7, i, i + 1), NULL, 0);
	CHECK_ERR(r, -EFBIG);
	CHECK_ERR(coati_writer_close(&w, NULL), -EFBIG);
	CHECK_INT(try_read("a", &end), >, 10);
	CHECK_INT(end, ==, 0);
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
			.name = "cpu-clock", .attr = clock_attr, .ids = ids, .nr_ids = 1 },
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
		put_sample(buf + i * 40, 7, i, 1000 + i);
	for (size_t room = 0; room < 200; room += 7) {
		struct coati_writer *w = start("cut.data", 0, 0);
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

	write_small("a", 0, 0);
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
	CHECK_INT(try_read("a", &end), ==, 10);
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
				.name = "lost", .attr = clock_attr, .ids = &id, .nr_ids = 1 },
			NULL);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK_INT(code == 0, ==, n == 2); /* the array stays from the second time */
	}
	CHECK_OK(coati_writer_start(w, NULL));
	CHECK_OK(coati_writer_close(&w, NULL));
	r = open_it("a", 0);
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
				.name = name, .attr = clock_attr, .ids = ids, .nr_ids = IDS },
			NULL));
	}
	CHECK_OK(coati_writer_start(w, NULL));
	add(w, 7, 1, 10);
	CHECK_OK(coati_writer_close(&w, NULL));
	r = open_it("a", 0);
	CHECK_INT(coati_recording_event_count(r), ==, NR);
	CHECK_STR(coati_recording_event(r, 0)->name, "number-0");
	CHECK_STR(coati_recording_event(r, NR - 1)->name, "number-399");
	coati_recording_close(&r);
}
