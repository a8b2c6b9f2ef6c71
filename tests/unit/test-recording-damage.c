/* SPDX-License-Identifier: MIT */
/* Recordings that were cut or damaged, and those of recorders that were killed. */
#include "lib/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/small-recording.h"

static void cut_everywhere(uint32_t flags, int level)
{
	static uint8_t buf[65536];
	int last = -1, end = 0;
	size_t size;

	small_write("a", flags, level);
	size = small_slurp("a", buf, sizeof(buf));
	for (size_t cut = 0; cut <= size; cut++) {
		int got;

		small_spit("cut", buf, cut);
		got = small_try("cut", &end);
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
	small_need_zstd();
	cut_everywhere(COATI_WRITER_PIPE, 1);
}

TEST_LIMIT(recording_with_random_damage_is_refused_or_read_never_trusted, 60)
{
	static uint8_t buf[65536], copy[65536];
	size_t size;
	int end;

	for (int mode = 0; mode < 2; mode++) {
		small_write("a", mode ? COATI_WRITER_PIPE : 0, 0);
		size = small_slurp("a", buf, sizeof(buf));
		for (int i = 0; i < 1500; i++) {
			memcpy(copy, buf, size);
			for (uint64_t k = test_random() % 4 + 1; k; k--)
				copy[test_random() % (i & 1 ? size : 400)] = (uint8_t)test_random();
			small_spit("bad", copy, size);
			small_try("bad", &end);
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
		struct coati_writer *w = small_start("a", 0, 0);

		small_add(w, 7, 1, 10);
		coati_writer_round(w);
		small_add(w, 7, 2, 20);
		coati_writer_round(w);
		kill(getpid(), SIGKILL);
	}
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
	r = small_open("a", 0);
	CHECK(coati_recording_info(r)->is_truncated == 0 ||
	      coati_recording_info(r)->is_truncated == 1);
	CHECK_INT(small_samples(r, ips, 4, &nr), ==, 0);
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
				.name = "its name", .attr = small_attr, .ids = ids, .nr_ids = 1 },
			NULL));
		CHECK_OK(coati_writer_feature(w, COATI_FEATURE_ARCH, "\4\0\0\0pdp", 8));
		CHECK_OK(coati_writer_start(w, NULL));
		small_add(w, 7, 1, 10);
		coati_writer_round(w);
		kill(getpid(), SIGKILL);
	}
	CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
}

TEST(recording_of_a_killed_recorder_has_the_names_that_were_known_at_its_start)
{
	struct coati_recording *r;

	write_killed("a");
	r = small_open("a", 0);
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
	size = small_slurp("a", buf, sizeof(buf));
	memcpy(attrs, buf + 24, sizeof(attrs));
	memcpy(&data, buf + 40, sizeof(data));
	CHECK_U64(attrs[0] + attrs[1], <, data);
	for (uint64_t at = attrs[0] + attrs[1]; at < data; at++) {
		buf[at] ^= 0xff;
		small_spit("b", buf, size);
		CHECK_INT(small_try("b", &end), ==, 1);
		buf[at] ^= 0xff;
	}
}

TEST(recording_whose_header_has_no_size_is_read_to_the_end_of_the_file)
{
	static uint8_t buf[65536];
	uint64_t zeros[5] = { 0 };
	size_t size;
	int end;

	small_write("a", 0, 0);
	size = small_slurp("a", buf, sizeof(buf));
	memcpy(buf + 48, zeros, 8);  /* data size */
	memcpy(buf + 72, zeros, 32); /* features */
	small_spit("b", buf, size);
	CHECK_INT(small_try("b", &end), ==, 10);
}
