/* SPDX-License-Identifier: MIT */
/* see small-recording.h */
#include "unit/small-recording.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/writer.h"
#include "lib/test.h"

#define NR_IDS 2

const struct coati_attr small_attr = {
	.type = COATI_TYPE_SOFTWARE,
	.config = COATI_SW_CPU_CLOCK,
	.sample_type =
		COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_IP | COATI_SAMPLE_TID | COATI_SAMPLE_TIME,
	.flags = COATI_ATTR_SAMPLE_ID_ALL,
};

/* A sample of the clock event: 40 bytes. */
size_t small_sample(uint8_t *buf, uint64_t id, uint64_t ip, uint64_t time)
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

struct coati_writer *small_start(const char *path, uint32_t flags, int level)
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
			.name = "cpu-clock", .attr = small_attr, .ids = ids, .nr_ids = NR_IDS },
		&err));
	CHECK_OK(coati_writer_start(w, &err));
	return w;
}

void small_add(struct coati_writer *w, uint64_t id, uint64_t ip, uint64_t time)
{
	uint8_t buf[64];

	CHECK_OK(coati_writer_record(w, buf, small_sample(buf, id, ip, time)));
}

/* Two rings of five samples each, one round. */
void small_write(const char *path, uint32_t flags, int level)
{
	const char *argv[] = { "coati", "record", "true" };
	struct coati_writer *w = small_start(path, flags, level);

	CHECK_OK(coati_writer_host_features(w, 3, argv));
	for (uint64_t i = 0; i < 5; i++)
		small_add(w, 7, i, 1000 + 10 * i);
	for (uint64_t i = 0; i < 5; i++)
		small_add(w, 8, 100 + i, 1005 + 10 * i);
	CHECK_OK(coati_writer_round(w));
	CHECK_OK(coati_writer_close(&w, NULL));
	CHECK(!w);
}

struct coati_recording *small_open(const char *path, uint32_t flags)
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
int small_samples(struct coati_recording *r, uint64_t *ips, uint32_t max, uint32_t *ret_nr)
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

void small_check(const char *path)
{
	static const uint64_t want[] = { 0, 100, 1, 101, 2, 102, 3, 103, 4, 104 };
	struct coati_recording *r = small_open(path, 0);
	uint64_t ips[10];
	uint32_t nr;

	CHECK_INT(small_samples(r, ips, 10, &nr), ==, 0);
	CHECK_INT(nr, ==, 10);
	CHECK_MEM(ips, want, sizeof(want));
	CHECK_STR(coati_recording_event(r, 0)->name, "cpu-clock");
	CHECK_INT(coati_recording_event(r, 0)->nr_ids, ==, NR_IDS);
	CHECK_INT(coati_recording_info(r)->nr_args, ==, 3);
	CHECK_STR(coati_recording_info(r)->args[2], "true");
	CHECK_INT(coati_recording_info(r)->clockid, ==, 1);
	coati_recording_close(&r);
}

void small_need_zstd(void)
{
	struct coati_writer_opts opts = { .size = sizeof(opts), .zstd_level = 1 };
	struct coati_writer *w = NULL;
	struct coati_error err;

	if (coati_writer_open("zstd", &opts, &w, &err) < 0) {
		void *lib = dlopen("libzstd.so.1", RTLD_NOW);

		/* of version 1.4 or newer */
		if (lib && dlsym(lib, "ZSTD_compressStream2"))
			test_fail_at(__FILE__, __LINE__, "with libzstd: %s", err.text);
		test_skip("%s", err.text);
	}
	coati_writer_close(&w, NULL);
}

size_t small_slurp(const char *path, uint8_t *buf, size_t cap)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, buf, cap);

	CHECK_INT(n, >, 0);
	close(fd);
	return (size_t)n;
}

void small_spit(const char *path, const uint8_t *buf, size_t size)
{
	int fd;

	unlink(path); /* ext4 waits for the disk when a file is cut to nothing and written again */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK_INT(write(fd, buf, size), ==, size);
	close(fd);
}

/* Open and read all; what comes is not looked at. Returns the number of samples, -1 when it does
 * not open. */
int small_try(const char *path, int *ret_end)
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
