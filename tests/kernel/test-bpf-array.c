/* SPDX-License-Identifier: MIT */
/* Perf event arrays that real BPF programs write to. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/ring.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "lib/bpf-asm.h"
#include "need.h"
#include "ring/bpf-array.h"
#include "ring/reader.h"
#include "ring/ring.h"
#include "ring/user-ring.h"

#define PAGE UINT64_C(4096)
#define FAR  (20 * NSEC_PER_SEC)

struct rig {
	struct coati_bpf_array *array;
	struct coati_reader *rd;
	int events, scratch;
};

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) < 0)
		test_skip("CPU %d cannot be had", cpu);
}

static void rig_open_map(struct rig *rig, uint32_t entries, const struct coati_bpf_array_opts *opts)
{
	struct coati_error err = { 0 };

	need_root();
	rig->array = NULL;
	rig->events = need_bpf_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, entries, 0);
	rig->scratch = bpf_asm_scratch();
	CHECK_OK(rig->scratch);
	if (coati_bpf_array_open(rig->events, opts, &rig->array, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	rig->rd = coati_bpf_array_reader(rig->array);
}

static void rig_open(struct rig *rig, const struct coati_bpf_array_opts *opts)
{
	pin(0);
	rig_open_map(rig, (uint32_t)sysconf(_SC_NPROCESSORS_CONF), opts);
}

static void rig_close(struct rig *rig)
{
	coati_bpf_array_close(&rig->array);
	close(rig->scratch);
	close(rig->events);
}

static int program(struct rig *rig, uint32_t size)
{
	int fd = bpf_asm_perf_output(rig->events, rig->scratch, size);

	if (fd < 0)
		test_skip_need("bpf", "loading a BPF program: %s", strerror(-fd));
	return fd;
}

/* @nr samples of @size bytes; what the last helper call returned. */
static int put_out(struct rig *rig, uint32_t size, uint32_t nr)
{
	int fd = program(rig, size);
	uint32_t value = 0;

	CHECK_OK(bpf_asm_run(fd, nr, &value));
	close(fd);
	return (int)value;
}

static uint64_t number_of(struct rig *rig, const struct coati_ring_item *item, size_t size)
{
	struct coati_span payload;
	uint64_t number = 0;

	CHECK_INT(coati_bpf_array_payload(rig->array, item, &payload), ==, 1);
	CHECK_U64(payload.size, >=, size);
	CHECK_U64(payload.size, <, size + 8);
	memcpy(&number, payload.bytes, size < 8 ? size : 8);
	return number;
}

static void expect_number(struct rig *rig, int key, uint64_t number)
{
	struct coati_ring_item item;

	CHECK_INT(coati_reader_next(rig->rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_RECORD);
	CHECK_INT(item.key, ==, key);
	CHECK_U64(number_of(rig, &item, 8), ==, number);
}

/* ---- perf event arrays ---- */

TEST(bpf_array_two_small_samples_then_the_deadline)
{
	struct coati_ring_item item;
	struct coati_ring *ring;
	struct rig rig;

	rig_open(&rig, NULL);
	ring = coati_reader_ring(rig.rd, 0);
	CHECK_INT(put_out(&rig, 5, 2), ==, 0);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + 4 * NSEC_PER_MSEC)));
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_U64(number_of(&rig, &item, 5), ==, 1);
	CHECK_U64(coati_ring_unread_bytes(ring), >=, 5);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_U64(number_of(&rig, &item, 5), ==, 2);
	CHECK_U64(coati_ring_unread_bytes(ring), ==, 0);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	rig_close(&rig);
}

TEST(bpf_array_below_the_mark_comes_at_the_deadline_and_later_data_after_it)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = PAGE,
					  .wakeup_events = 2 };
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, &o);
	put_out(&rig, 8, 1);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + 2 * NSEC_PER_MSEC)));
	expect_number(&rig, 0, 1);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	put_out(&rig, 8, 1);
	expect_number(&rig, 0, 2);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	rig_close(&rig);
}

TEST(bpf_array_below_the_mark_is_readable_with_an_expired_deadline)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = PAGE,
					  .wakeup_events = 2 };
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, &o);
	put_out(&rig, 8, 1);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 0));
	expect_number(&rig, 0, 1);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	rig_close(&rig);
}

static void *flush_it(void *arg)
{
	struct rig *rig = arg;

	while (!atomic_load(&rig->rd->waiting))
		usleep(100);
	usleep(1000);
	coati_reader_flush(rig->rd);
	return NULL;
}

TEST(bpf_array_flush_wakes_a_blocked_reader_data_first)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = PAGE,
					  .wakeup_events = 2 };
	struct coati_ring_item item;
	pthread_t thread;
	struct rig rig;

	rig_open(&rig, &o);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 0));
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + FAR)));
	put_out(&rig, 8, 1);
	CHECK_INT(pthread_create(&thread, NULL, flush_it, &rig), ==, 0);
	expect_number(&rig, 0, 1);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
	pthread_join(thread, NULL);
	put_out(&rig, 8, 2);
	expect_number(&rig, 0, 2);
	expect_number(&rig, 0, 3);
	rig_close(&rig);
}

struct patient {
	struct rig *rig;
	_Atomic bool flushed;
};

static void *note_and_flush(void *arg)
{
	struct patient *p = arg;

	atomic_store(&p->flushed, true);
	coati_reader_flush(p->rig->rd);
	return NULL;
}

/* From the first call on: data below the mark waits for the flush. */
TEST(bpf_array_below_the_mark_stays_until_a_flush_and_later_data_comes_after_it)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = PAGE,
					  .wakeup_events = 4 };
	struct coati_ring_item item;
	struct patient p = { 0 };
	pthread_t thread;
	struct rig rig;

	rig_open(&rig, &o);
	p.rig = &rig;
	put_out(&rig, 8, 2);
	CHECK_INT(pthread_create(&thread, NULL, note_and_flush, &p), ==, 0);
	expect_number(&rig, 0, 1);
	CHECK(atomic_load(&p.flushed));
	expect_number(&rig, 0, 2);
	pthread_join(thread, NULL);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
	put_out(&rig, 8, 1);
	coati_reader_flush(rig.rd);
	put_out(&rig, 8, 1);
	expect_number(&rig, 0, 3);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ECANCELED);
	put_out(&rig, 8, 3); /* the mark is reached */
	for (uint64_t i = 4; i < 8; i++)
		expect_number(&rig, 0, i);
	rig_close(&rig);
}

TEST(bpf_array_loss_of_one_is_told_once)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o), .data_bytes = PAGE };
	struct coati_ring_item item;
	uint64_t losses = 0, samples = 0;
	uint32_t fit = (uint32_t)(PAGE / 192);
	struct rig rig;

	rig_open(&rig, &o);
	/* 180 bytes and their size, rounded, behind the header: records of 192 */
	put_out(&rig, 180, fit + 1);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 0));
	while (coati_reader_next(rig.rd, &item) == 1)
		samples++;
	CHECK_U64(samples, ==, fit);
	put_out(&rig, 8, 1);
	while (coati_reader_next(rig.rd, &item) == 1) {
		losses += item.kind == COATI_ITEM_LOSS;
		if (item.kind == COATI_ITEM_LOSS)
			CHECK_U64(item.count, ==, 1);
		else
			samples++;
	}
	CHECK_U64(losses, ==, 1);
	CHECK_U64(samples, ==, fit + 1);
	rig_close(&rig);
}

/* cilium/ebpf hangs: such a record never comes and nobody says so (C6). */
TEST(bpf_array_sample_that_never_fits_is_told_as_such_C6)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = PAGE,
					  .reader = { .loss_check_ns = NSEC_PER_MSEC } };
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, &o);
	CHECK(coati_ring_max_record(coati_reader_ring(rig.rd, 0)) < 8000);
	put_out(&rig, 8000, 3);
	/* without a deadline and without a wake */
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_LOSS);
	CHECK_U64(item.count, ==, 3);
	CHECK_U64(item.flags, ==, COATI_ITEM_BALANCE | COATI_ITEM_TOO_BIG);
	/* and the record that tells it later does not tell it again */
	put_out(&rig, 8, 1);
	expect_number(&rig, 0, 4);
	rig_close(&rig);
}

static int keep_last(void *ctx, const struct coati_ring_item *item)
{
	*(struct coati_ring_item *)ctx = *item;
	return 0;
}

TEST(bpf_array_sample_that_never_fits_is_told_to_who_waits_and_drains_C6)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = PAGE,
					  .reader = { .loss_check_ns = NSEC_PER_MSEC } };
	struct coati_ring_item item = { 0 };
	struct rig rig;

	rig_open(&rig, &o);
	put_out(&rig, 8000, 3);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + FAR)));
	while (!item.kind) {
		CHECK_INT(coati_reader_wait(rig.rd), ==, 1);
		CHECK_OK(coati_reader_drain(rig.rd, keep_last, &item, 0));
	}
	CHECK_INT(item.kind, ==, COATI_ITEM_LOSS);
	CHECK_U64(item.count, ==, 3);
	CHECK_U64(item.flags, ==, COATI_ITEM_BALANCE | COATI_ITEM_TOO_BIG);
	rig_close(&rig);
}

TEST(bpf_array_full_ring_is_not_taken_for_records_that_never_fit)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o), .data_bytes = PAGE };
	struct coati_ring_item item;
	uint64_t samples = 0, lost = 0;
	struct rig rig;

	rig_open(&rig, &o);
	for (int i = 0; i < 5; i++) {
		put_out(&rig, 500, 20);
		coati_reader_flush(rig.rd);
		while (coati_reader_next(rig.rd, &item) == 1) {
			if (item.kind == COATI_ITEM_RECORD)
				samples++;
			else
				lost += item.count;
			CHECK_U64(item.flags & COATI_ITEM_TOO_BIG, ==, 0);
		}
	}
	CHECK_U64(samples + lost, ==, 100);
	CHECK_U64(lost, >, 0);
	rig_close(&rig);
}

/* More than 64 KiB through a 16-bit length (C3): the kernel must not make us read past the
 * record. */
TEST(bpf_array_sample_of_more_than_64_kib_is_never_read_past_its_header_C3)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o), .data_bytes = 1 << 20 };
	static const uint32_t sizes[] = { 65000, 65515, 65516, 65523, 65528, 66000, 70000, 131064 };
	struct coati_ring_item item;
	struct coati_span payload;
	struct rig rig;

	rig_open(&rig, &o);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		int fd = bpf_asm_perf_output(rig.events, rig.scratch, sizes[i]);
		uint64_t seen = 0;

		CHECK_OK(fd);
		CHECK_OK(bpf_asm_run(fd, 1, NULL));
		close(fd);
		coati_reader_flush(rig.rd);
		while (coati_reader_next(rig.rd, &item) == 1) {
			seen++;
			if (item.kind != COATI_ITEM_RECORD ||
			    coati_bpf_array_payload(rig.array, &item, &payload) <= 0)
				continue;
			CHECK(payload.bytes + payload.size <= item.bytes + item.size);
			if (sizes[i] <= 65515)
				CHECK_U64(payload.size, >=, sizes[i]);
		}
		test_note("%u bytes put out: %llu items", sizes[i], (unsigned long long)seen);
	}
	rig_close(&rig);
}

TEST(bpf_array_wakeup_events_wake_once_and_deliver_all)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = 2 * PAGE,
					  .wakeup_events = 10 };
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct rig rig;

	rig_open(&rig, &o);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + FAR)));
	put_out(&rig, 8, 10);
	for (uint64_t i = 1; i <= 10; i++)
		expect_number(&rig, 0, i);
	coati_reader_get_stats(rig.rd, &stats);
	CHECK_U64(stats.wakeups, <=, 1);
	rig_close(&rig);
}

TEST(bpf_array_refuses_marks_that_would_never_wake)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = PAGE,
					  .wakeup_bytes = 4096 };
	struct coati_bpf_array *array = NULL;
	struct coati_error err;
	int map;

	need_root();
	map = need_bpf_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 1, 0);
	CHECK_ERR(coati_bpf_array_open(map, &o, &array, &err), -EINVAL);
	CHECK_HAS(err.text, "wakeup mark");
	o.wakeup_bytes = 100;
	o.wakeup_events = 1;
	CHECK_ERR(coati_bpf_array_open(map, &o, &array, &err), -EINVAL);
	o = (struct coati_bpf_array_opts){ .size = sizeof(o),
					   .sample_type = COATI_SAMPLE_CALLCHAIN };
	CHECK_ERR(coati_bpf_array_open(map, &o, &array, &err), -EINVAL);
	close(map);
	map = bpf_asm_scratch();
	CHECK_ERR(coati_bpf_array_open(map, NULL, &array, &err), -EINVAL);
	CHECK_HAS(err.text, "not a perf event array");
	CHECK(!array);
	close(map);
}

TEST(bpf_array_close_interrupts_twice_is_fine_and_reading_fails)
{
	struct coati_ring_item item;
	struct rig rig;

	rig_open(&rig, NULL);
	coati_reader_close(rig.rd);
	coati_reader_close(rig.rd);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -EBADF);
	CHECK_ERR(coati_bpf_array_pause(rig.array, NULL), -EBADF);
	CHECK_ERR(coati_bpf_array_resume(rig.array, NULL), -EBADF);
	/* the map has no entries any more once it is gone */
	coati_bpf_array_close(&rig.array);
	coati_bpf_array_close(&rig.array);
	CHECK_INT(put_out(&rig, 8, 1), ==, -ENOENT);
	rig_close(&rig);
}

TEST(bpf_array_pause_refuses_programs_and_is_no_loss)
{
	struct coati_ring_item item;
	uint64_t lost = 0;
	struct rig rig;

	rig_open(&rig, NULL);
	CHECK_OK(coati_bpf_array_resume(rig.array, NULL));
	for (int i = 0; i < 2; i++)
		CHECK_OK(coati_bpf_array_pause(rig.array, NULL));
	CHECK_INT(put_out(&rig, 8, 1), ==, -ENOENT);
	for (int i = 0; i < 2; i++)
		CHECK_OK(coati_bpf_array_resume(rig.array, NULL));
	CHECK_INT(put_out(&rig, 8, 1), ==, 0);
	expect_number(&rig, 0, 2);
	coati_reader_flush(rig.rd);
	while (coati_reader_next(rig.rd, &item) == 1)
		lost += item.kind == COATI_ITEM_LOSS;
	CHECK_U64(lost, ==, 0);
	rig_close(&rig);
}

static void *pause_and_put(void *arg)
{
	struct rig *rig = arg;

	while (!atomic_load(&rig->rd->waiting))
		usleep(100);
	CHECK_OK(coati_bpf_array_pause(rig->array, NULL));
	CHECK_INT(put_out(rig, 8, 1), ==, -ENOENT);
	CHECK_OK(coati_bpf_array_resume(rig->array, NULL));
	CHECK_INT(put_out(rig, 8, 1), ==, 0);
	return NULL;
}

TEST(bpf_array_reader_that_waits_goes_on_after_pause_and_resume)
{
	pthread_t thread;
	struct rig rig;

	rig_open(&rig, NULL);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + FAR)));
	CHECK_INT(pthread_create(&thread, NULL, pause_and_put, &rig), ==, 0);
	expect_number(&rig, 0, 2);
	pthread_join(thread, NULL);
	rig_close(&rig);
}

static int open_descriptors(void)
{
	int nr = 0;

	for (int fd = 0; fd < 256; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

/* cilium/ebpf crashed when opening failed half way (C8). */
TEST(bpf_array_open_that_fails_at_any_step_leaves_nothing_behind_C8)
{
	struct coati_bpf_array *array = NULL;
	struct rlimit limit;
	int before, map, step = 0, r;

	need_root();
	map = need_bpf_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4,
			   (uint32_t)sysconf(_SC_NPROCESSORS_CONF), 0);
	before = open_descriptors();
	CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
	do {
		/* one descriptor more each time, until there are enough */
		limit.rlim_cur = (rlim_t)(before + step);
		CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
		r = coati_bpf_array_open(map, NULL, &array, NULL);
		CHECK(r == 0 || !array);
		CHECK_INT(r == 0 ? 1 : step, <, 64);
		CHECK(r == 0 || open_descriptors() == before);
		step++;
	} while (r < 0);
	coati_bpf_array_close(&array);
	CHECK_INT(open_descriptors(), ==, before);
	CHECK_INT(step, >, 3);
	for (step = 0, r = -ENOMEM; r < 0 && step < 200; step++) {
		coati_alloc_fail_after(step);
		r = coati_bpf_array_open(map, NULL, &array, NULL);
		coati_alloc_fail_after(-1);
		CHECK(r == 0 || r == -ENOMEM);
		CHECK(r == 0 || open_descriptors() == before);
	}
	CHECK_OK(r);
	coati_bpf_array_close(&array);
	close(map);
}

TEST(bpf_array_overwritable_is_read_newest_first_after_a_snapshot)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = PAGE,
					  .flags = COATI_BPF_ARRAY_BACKWARD };
	struct coati_ring_item item;
	struct coati_ring *ring;
	uint64_t n = 0;
	struct rig rig;
	bool loss = false;

	rig_open(&rig, &o);
	ring = coati_reader_ring(rig.rd, 0);
	CHECK_ERR(coati_ring_next(ring, &item), -EINVAL);
	/* empty: deadline, and all goes on */
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	CHECK_OK(coati_reader_set_deadline(rig.rd, 0));
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	CHECK_INT(put_out(&rig, 100, 200), ==, 0);
	CHECK_OK(coati_ring_snapshot(ring, 1, NULL));
	while (coati_reader_next(rig.rd, &item) == 1) {
		if (item.kind == COATI_ITEM_LOSS) {
			loss = true;
			continue;
		}
		CHECK_U64(number_of(&rig, &item, 100), ==, 200 - n);
		n++;
	}
	CHECK(loss);
	/* all that the ring holds, but for what writers could have been at */
	CHECK_U64(n, >=, PAGE / 112 - 5);
	CHECK_U64(n, <=, PAGE / 112);
	rig_close(&rig);
}

/* 15 records of 272 bytes fit into a page. A pause alone must leave those out that somebody may be
 * writing over. */
TEST(bpf_array_overwritable_that_is_paused_gives_every_whole_record)
{
	static const struct {
		int mode;
		uint64_t expected;
	} rows[] = { { COATI_SNAPSHOT_STOPPED, 15 }, { COATI_SNAPSHOT_PAUSE, 11 } };
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = PAGE,
					  .flags = COATI_BPF_ARRAY_BACKWARD };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct coati_ring_item item;
		struct coati_ring *ring;
		struct rig rig;
		uint64_t n = 0;

		rig_open(&rig, &o);
		ring = coati_reader_ring(rig.rd, 0);
		CHECK_INT(put_out(&rig, 256, 200), ==, 0);
		CHECK_OK(coati_bpf_array_pause(rig.array, NULL));
		CHECK_OK(coati_ring_snapshot(ring, rows[i].mode, NULL));
		while (coati_ring_next(ring, &item) == 1 && item.kind == COATI_ITEM_RECORD)
			n++;
		CHECK_INT(item.kind, ==, COATI_ITEM_LOSS);
		CHECK_U64(n, ==, rows[i].expected);
		rig_close(&rig);
	}
}

/* ---- CPUs: a sysfs of our own ---- */

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f);
	CHECK(fputs(text, f) >= 0);
	CHECK_INT(fclose(f), ==, 0);
}

static void fake_cpus(const char *online, const char *possible)
{
	mkdir("devices", 0700);
	mkdir("devices/system", 0700);
	mkdir("devices/system/cpu", 0700);
	write_file("devices/system/cpu/online", online);
	write_file("devices/system/cpu/possible", possible);
}

/* With a gap in the online CPUs cilium/ebpf puts the events of all later ones into wrong slots
 * (C1). */
TEST(bpf_array_keys_are_real_cpu_numbers_across_a_gap_C1)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o), .data_bytes = PAGE, .sysfs = "." };
	struct coati_bpf_array_info info;
	struct rig rig;

	need_two_cpus();
	fake_cpus("1\n", "0-1\n");
	rig_open_map(&rig, 2, &o);
	coati_bpf_array_get_info(rig.array, &info);
	CHECK_U64(info.open, ==, 1);
	CHECK_U64(info.offline, ==, 1);
	CHECK_INT(coati_ring_key(coati_reader_ring(rig.rd, 0)), ==, 1);
	pin(0);
	CHECK_INT(put_out(&rig, 8, 1), ==, -ENOENT);
	pin(1);
	CHECK_INT(put_out(&rig, 8, 1), ==, 0);
	expect_number(&rig, 1, 2);
	rig_close(&rig);
}

/* An array larger than the number of CPUs is refused elsewhere (C7). */
TEST(bpf_array_may_be_larger_or_smaller_than_the_number_of_cpus_C7)
{
	struct coati_bpf_array_info info;
	struct rig rig;

	need_two_cpus();
	pin(0);
	rig_open_map(&rig, 1000, NULL);
	coati_bpf_array_get_info(rig.array, &info);
	CHECK_U64(info.entries, ==, 1000);
	CHECK_U64(info.open, ==, sysconf(_SC_NPROCESSORS_ONLN));
	CHECK_U64(info.uncovered, ==, 0);
	CHECK_INT(put_out(&rig, 8, 1), ==, 0);
	expect_number(&rig, 0, 1);
	rig_close(&rig);
	rig_open_map(&rig, 1, NULL);
	coati_bpf_array_get_info(rig.array, &info);
	CHECK_U64(info.open, ==, 1);
	CHECK_U64(info.uncovered, ==, sysconf(_SC_NPROCESSORS_ONLN) - 1);
	pin(1);
	CHECK_INT(put_out(&rig, 8, 1), ==, -E2BIG);
	rig_close(&rig);
}

/* CPUs that come are never covered, those that go leave a dead ring (C9). */
TEST(bpf_array_rescan_follows_cpus_that_come_and_go_C9)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o), .data_bytes = PAGE, .sysfs = "." };
	struct coati_ring_item item;
	struct rig rig;

	need_two_cpus();
	fake_cpus("0\n", "0-1\n");
	rig_open_map(&rig, 2, &o);
	CHECK_INT(coati_bpf_array_rescan(rig.array, NULL), ==, 0);
	fake_cpus("0-1\n", "0-1\n");
	CHECK_INT(coati_bpf_array_rescan(rig.array, NULL), ==, 1);
	pin(1);
	CHECK_INT(put_out(&rig, 8, 1), ==, 0);
	expect_number(&rig, 1, 1);
	pin(0);
	CHECK_INT(put_out(&rig, 8, 1), ==, 0);
	fake_cpus("1\n", "0-1\n");
	CHECK_INT(coati_bpf_array_rescan(rig.array, NULL), ==, 1);
	CHECK_INT(put_out(&rig, 8, 1), ==, -ENOENT);
	/* what it held is delivered, then its end */
	expect_number(&rig, 0, 2);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_END);
	CHECK_INT(item.key, ==, 0);
	fake_cpus("0-1\n", "0-1\n");
	CHECK_INT(coati_bpf_array_rescan(rig.array, NULL), ==, 1);
	CHECK_INT(put_out(&rig, 8, 1), ==, 0);
	expect_number(&rig, 0, 4);
	rig_close(&rig);
}

TEST(bpf_array_merge_orders_the_samples_of_all_cpus_C10)
{
	struct coati_bpf_array_opts o = {
		.size = sizeof(o),
		.data_bytes = 16 * PAGE,
		.sample_type = COATI_SAMPLE_CPU,
		.reader = { .merge_delay_ns = 50 * NSEC_PER_MSEC },
	};
	struct coati_ring_item item;
	uint64_t last = 0, n = 0;
	struct rig rig;
	int fd;

	need_two_cpus();
	rig_open(&rig, &o);
	fd = program(&rig, 16);
	for (int i = 0; i < 200; i++) {
		pin(i / 7 % 2);
		CHECK_OK(bpf_asm_run(fd, 1, NULL));
	}
	coati_reader_flush(rig.rd);
	while (coati_reader_next(rig.rd, &item) == 1) {
		CHECK_U64(item.time, >=, last);
		CHECK_U64(item.flags, ==, 0);
		CHECK_U64(number_of(&rig, &item, 16), ==, ++n);
		CHECK_U64(item.key, ==, (n - 1) / 7 % 2);
		last = item.time;
	}
	CHECK_U64(n, ==, 200);
	CHECK_U64(now_ns(), >=, last);
	close(fd);
	rig_close(&rig);
}
