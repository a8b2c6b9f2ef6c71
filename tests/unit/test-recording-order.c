/* SPDX-License-Identifier: MIT */
/* Where records without a time come, and data that lies behind a record instead of in it. */
#include "lib/test.h"

#include <fcntl.h>
#include <unistd.h>

#include <coati/recording.h>

#include "base/writer.h"
#include "recording/writer.h"

#define COMM_BYTES 48

static const struct coati_attr clock_attr = {
	.type = COATI_TYPE_SOFTWARE,
	.config = COATI_SW_CPU_CLOCK,
	.sample_type = COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_TID | COATI_SAMPLE_TIME,
	.flags = COATI_ATTR_SAMPLE_ID_ALL,
};

static struct coati_writer *start(const char *path)
{
	static const uint64_t id = 7;
	struct coati_writer_opts opts = { .size = sizeof(opts) };
	struct coati_writer *w = NULL;

	CHECK_OK(coati_writer_open(path, &opts, &w, NULL));
	CHECK_OK(coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = "cpu-clock", .attr = clock_attr, .ids = &id, .nr_ids = 1 },
		NULL));
	CHECK_OK(coati_writer_start(w, NULL));
	return w;
}

/* A COMM of thread @tid at @time; 0: as recorders write what they found when they came. */
static void add_comm(struct coati_writer *w, uint32_t tid, uint64_t time)
{
	uint8_t buf[COMM_BYTES];
	struct writer out = writer_over(buf, sizeof(buf));

	writer_u32(&out, COATI_RECORD_COMM);
	writer_u16(&out, 0);
	writer_u16(&out, COMM_BYTES);
	writer_u32(&out, tid);
	writer_u32(&out, tid);
	writer_u64(&out, 'x');
	writer_u32(&out, tid);
	writer_u32(&out, tid);
	writer_u64(&out, time);
	writer_u64(&out, 7);
	CHECK_OK(coati_writer_record(w, buf, out.len));
}

static uint32_t tid_of(const struct coati_recording_item *item)
{
	uint32_t tid;

	memcpy(&tid, item->raw.body, sizeof(tid));
	return tid;
}

TEST(recording_tells_records_without_time_ahead_of_those_that_wait)
{
	static const uint32_t want[] = { 1, 4, 2, 3 };
	struct coati_writer *w = start("a");
	struct coati_recording *r = NULL;
	struct coati_recording_item item;
	uint32_t nr = 0;

	add_comm(w, 1, 1000);
	CHECK_OK(coati_writer_round(w));
	CHECK_OK(coati_writer_round(w));
	add_comm(w, 2, 2000);
	add_comm(w, 3, 3000);
	add_comm(w, 4, 0);
	CHECK_OK(coati_writer_close(&w, NULL));
	CHECK_OK(coati_recording_open("a", NULL, &r, NULL));
	while (coati_recording_next(r, &item) > 0) {
		if (item.raw.type != COATI_RECORD_COMM)
			continue;
		CHECK_INT(nr, <, 4);
		CHECK_INT(tid_of(&item), ==, want[nr]);
		CHECK(!(item.flags & COATI_RECORDING_ITEM_LATE));
		nr++;
	}
	CHECK_INT(nr, ==, 4);
	coati_recording_close(&r);
}

/* An AUXTRACE record that says that @size bytes of trace follow it. */
static void add_auxtrace(int fd, uint64_t size)
{
	uint8_t buf[48];
	struct writer out = writer_over(buf, sizeof(buf));

	writer_u32(&out, COATI_RECORD_AUXTRACE);
	writer_u16(&out, 0);
	writer_u16(&out, sizeof(buf));
	writer_u64(&out, size);
	for (int i = 0; i < 4; i++)
		writer_u64(&out, 0);
	CHECK_INT(write(fd, buf, out.len), ==, (ssize_t)out.len);
}

/* A recorder that was killed: no sections, and the header says as much as was there at the last
 * round. */
static int unfinished(const char *path, struct coati_writer **ret)
{
	int fd;

	*ret = start(path);
	add_comm(*ret, 1, 1000);
	CHECK_OK(coati_writer_round(*ret));
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	CHECK_OK(fd);
	return fd;
}

TEST(recording_that_ends_inside_the_data_behind_a_record_was_cut)
{
	struct coati_writer *w;
	struct coati_recording_item item;
	struct coati_recording *r = NULL;
	int fd = unfinished("a", &w), n;

	add_auxtrace(fd, 1 << 20);
	CHECK_OK(coati_recording_open("a", NULL, &r, NULL));
	while ((n = coati_recording_next(r, &item)) > 0)
		CHECK_INT(item.raw.type, !=, COATI_RECORD_AUXTRACE);
	CHECK_INT(n, ==, -ENODATA);
	CHECK(strstr(coati_recording_error(r)->text, "stops in mid-record at byte"));
	coati_recording_close(&r);
	close(fd);
	CHECK_OK(coati_writer_close(&w, NULL));
}

TEST(recording_that_is_followed_waits_for_the_data_behind_a_record)
{
	struct coati_recording_opts opts = {
		.size = sizeof(opts), .flags = COATI_RECORDING_FOLLOW | COATI_RECORDING_FILE_ORDER
	};
	static const uint8_t trace[64];
	struct coati_writer *w;
	struct coati_recording_item item;
	struct coati_recording *r = NULL;
	int fd = unfinished("a", &w);

	add_auxtrace(fd, sizeof(trace));
	CHECK_OK(coati_recording_open("a", &opts, &r, NULL));
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK_INT(coati_recording_next(r, &item), ==, 0);
	CHECK_INT(write(fd, trace, sizeof(trace)), ==, (ssize_t)sizeof(trace));
	CHECK_INT(coati_recording_next(r, &item), ==, 1);
	CHECK_INT(item.raw.type, ==, COATI_RECORD_AUXTRACE);
	CHECK_U64(item.extra_size, ==, sizeof(trace));
	CHECK_INT(coati_recording_next(r, &item), ==, 0);
	coati_recording_close(&r);
	close(fd);
	CHECK_OK(coati_writer_close(&w, NULL));
}
