/* SPDX-License-Identifier: MIT */
/* What BPF programs put out, on the real kernel: ring buffers and user rings. */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
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
#include "ring/bpf-call.h"
#include "ring/cpus.h"
#include "ring/drops.h"
#include "ring/reader.h"
#include "ring/ring.h"
#include "ring/user-ring.h"

#define PAGE UINT64_C(4096)
#define FAR  (20 * NSEC_PER_SEC)

/* ---- BPF ring buffers ---- */

struct ring_rig {
	struct coati_reader *rd;
	struct coati_ring *ring;
	int map, scratch, drops;
};

static void ring_open_flags(struct ring_rig *rig, uint32_t bytes, uint32_t drop_flags,
			    uint32_t drop_type)
{
	struct coati_reader_ring_opts o = { .size = sizeof(o), .ring = { .kind = COATI_RING_BPF } };
	struct coati_error err = { 0 };

	need_root();
	rig->rd = NULL;
	rig->map = need_bpf_map(BPF_MAP_TYPE_RINGBUF, 0, 0, bytes, 0);
	rig->drops = need_bpf_map(drop_type, 4, 8, 4, drop_flags);
	rig->scratch = bpf_asm_scratch();
	CHECK_OK(coati_reader_new(NULL, &rig->rd, NULL));
	if (coati_reader_add(rig->rd, rig->map, &o, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	rig->ring = coati_reader_ring(rig->rd, 0);
	CHECK_OK(coati_ring_watch_drops(rig->ring, rig->drops, 0, &err));
}

static void ring_open(struct ring_rig *rig, uint32_t bytes)
{
	ring_open_flags(rig, bytes, BPF_F_MMAPABLE, BPF_MAP_TYPE_ARRAY);
}

static void ring_close(struct ring_rig *rig)
{
	coati_reader_close(rig->rd);
	coati_reader_free(&rig->rd);
	close(rig->map);
	close(rig->scratch);
	close(rig->drops);
}

static void ring_put(struct ring_rig *rig, uint32_t size, uint32_t nr, uint32_t flags)
{
	int fd = bpf_asm_ring_output(rig->map, rig->scratch, rig->drops, size, flags);

	if (fd < 0)
		test_skip_need("bpf", "loading a BPF program: %s", strerror(-fd));
	CHECK_OK(bpf_asm_run(fd, nr, NULL));
	close(fd);
}

static void ring_reserve(struct ring_rig *rig, uint32_t size, int discard)
{
	int fd = bpf_asm_ring_reserve(rig->map, size, discard);
	uint32_t value;

	CHECK_OK(fd);
	CHECK_OK(bpf_asm_run(fd, 1, &value));
	CHECK_U64(value, ==, 0);
	close(fd);
}

TEST(bpf_ring_delivers_what_was_put_out_reserved_and_skips_what_was_discarded)
{
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct coati_ring_item item;
	struct ring_rig rig;
	uint64_t number;

	ring_open(&rig, 4096);
	ring_put(&rig, 20, 1, 0);
	ring_reserve(&rig, 5, 1);
	ring_reserve(&rig, 5, 0);
	CHECK_U64(coati_ring_unread_bytes(rig.ring), ==, 32 + 16 + 16);
	CHECK_U64(coati_ring_free_bytes(rig.ring), ==, 4096 - 64);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_U64(item.size, ==, 20);
	memcpy(&number, item.bytes, 8);
	CHECK_U64(number, ==, 1);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_U64(item.size, ==, 5);
	CHECK_INT(item.bytes[0], ==, 7);
	CHECK_ERR(coati_reader_try(rig.rd, &item), -EAGAIN);
	CHECK_U64(coati_ring_unread_bytes(rig.ring), ==, 0);
	coati_ring_get_stats(rig.ring, &stats);
	CHECK_U64(stats.discarded, ==, 1);
	CHECK_U64(stats.records, ==, 2);
	ring_close(&rig);
}

static void *put_one(void *arg)
{
	struct ring_rig *rig = arg;

	while (!atomic_load(&rig->rd->waiting))
		usleep(100);
	usleep(1000);
	ring_put(rig, 16, 1, 0);
	return NULL;
}

TEST(bpf_ring_reader_blocks_until_something_comes)
{
	struct coati_ring_item item;
	struct ring_rig rig;
	pthread_t thread;

	ring_open(&rig, 4096);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + FAR)));
	CHECK_INT(pthread_create(&thread, NULL, put_one, &rig), ==, 0);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_U64(item.size, ==, 16);
	pthread_join(thread, NULL);
	ring_close(&rig);
}

TEST(bpf_ring_data_without_wake_up_is_found_at_the_deadline)
{
	struct coati_ring_item item;
	struct ring_rig rig;

	ring_open(&rig, 4096);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 0));
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + 5 * NSEC_PER_MSEC)));
	ring_put(&rig, 16, 1, BPF_RB_NO_WAKEUP);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	coati_reader_close(rig.rd);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -EBADF);
	ring_close(&rig);
}

/* Failed reservations are invisible to every other reader (C13). */
static void drops_are_told(uint32_t flags, uint32_t type)
{
	struct coati_ring_item item;
	uint64_t records = 0, lost = 0;
	struct ring_rig rig;

	ring_open_flags(&rig, 4096, flags, type);
	ring_put(&rig, 120, 100, 0);
	CHECK_OK(coati_reader_set_deadline(rig.rd, 0));
	while (coati_reader_next(rig.rd, &item) == 1)
		item.kind == COATI_ITEM_RECORD ? records++ : (lost += item.count);
	CHECK_U64(records, ==, 4096 / 128 - 1);
	CHECK_U64(records + lost, ==, 100);
	ring_put(&rig, 120, 1, 0);
	CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_RECORD);
	CHECK_ERR(coati_reader_next(rig.rd, &item), -ETIMEDOUT);
	ring_close(&rig);
}

TEST(bpf_ring_drops_are_told_from_a_mapped_counter_C13)
{
	drops_are_told(BPF_F_MMAPABLE, BPF_MAP_TYPE_ARRAY);
}

TEST(bpf_ring_drops_are_told_from_a_counter_that_cannot_be_mapped_C13)
{
	drops_are_told(0, BPF_MAP_TYPE_ARRAY);
}

TEST(bpf_ring_drops_are_told_from_a_counter_per_cpu_C13)
{
	drops_are_told(0, BPF_MAP_TYPE_PERCPU_ARRAY);
}

/* Of every CPU, and the growth alone. */
TEST(bpf_drop_counter_is_the_sum_of_all_cpus_C13)
{
	struct coati_drops *drops = NULL;
	struct coati_error err = { 0 };
	uint64_t *values, sum = 0;
	uint32_t nr = 0;
	int map;

	need_root();
	map = need_bpf_map(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 4, 0);
	CHECK_OK(coati_cpus_possible("/sys", &nr));
	values = calloc(nr, sizeof(*values));
	CHECK(values);
	for (uint32_t i = 0; i < nr; i++)
		values[i] = 1000 + i;
	CHECK_OK(coati_bpf_map_update(map, 2, values));
	CHECK_OK(coati_drops_open(map, 2, &drops, &err));
	CHECK_U64(coati_drops_take(drops), ==, 0);
	for (uint32_t i = 0; i < nr; i++) {
		values[i] += 1 + i;
		sum += 1 + i;
	}
	CHECK_OK(coati_bpf_map_update(map, 2, values));
	CHECK_U64(coati_drops_take(drops), ==, sum);
	CHECK_U64(coati_drops_take(drops), ==, 0);
	coati_drops_close(&drops);
	close(map);
	free(values);
}

TEST(bpf_ring_refuses_drop_counters_that_are_none)
{
	struct ring_rig rig;
	struct coati_error err;
	int other;

	ring_open(&rig, 4096);
	CHECK_ERR(coati_ring_watch_drops(rig.ring, rig.scratch, 0, &err), -EINVAL);
	CHECK_HAS(err.text, "8-byte");
	CHECK_ERR(coati_ring_watch_drops(rig.ring, rig.drops, 4, &err), -EINVAL);
	CHECK_HAS(err.text, "4 entries");
	CHECK(coati_ring_watch_drops(rig.ring, -1, 0, &err) < 0);
	other = need_bpf_map(BPF_MAP_TYPE_HASH, 4, 8, 4, 0);
	CHECK_ERR(coati_ring_watch_drops(rig.ring, other, 0, &err), -EINVAL);
	close(other);
	ring_close(&rig);
}

/* ---- user rings ---- */

TEST(user_ring_records_reach_a_program)
{
	struct coati_user_ring *ring = NULL;
	struct coati_error err = { 0 };
	uint64_t *sum, *record;
	int map, scratch, prog;

	need_root();
	map = need_bpf_map(BPF_MAP_TYPE_USER_RINGBUF, 0, 0, 4096, 0);
	scratch = bpf_asm_scratch();
	prog = bpf_asm_user_drain(map, scratch);
	if (prog < 0)
		test_skip_need("bpf", "a program that drains a user ring: %s", strerror(-prog));
	sum = mmap(NULL, BPF_ASM_SCRATCH, PROT_READ, MAP_SHARED, scratch, 0);
	CHECK(sum != MAP_FAILED);
	CHECK_OK(coati_user_ring_open(map, &ring, &err));
	CHECK(!coati_user_ring_reserve(ring, 4096));
	for (uint64_t i = 1; i <= 300; i++) {
		record = coati_user_ring_reserve(ring, 24);
		CHECK(record);
		CHECK(!coati_user_ring_reserve(ring, 8));
		*record = i;
		i % 3 ? coati_user_ring_submit(ring) : coati_user_ring_discard(ring);
		if (i % 50 == 0)
			CHECK_OK(bpf_asm_run(prog, 1, NULL));
	}
	CHECK_U64(__atomic_load_n(sum, __ATOMIC_RELAXED), ==, 300 * 301 / 2 - 3 * 100 * 101 / 2);
	/* full: no room until the program drains again */
	while ((record = coati_user_ring_reserve(ring, 120)) != NULL) {
		*record = 0;
		coati_user_ring_submit(ring);
	}
	CHECK_OK(bpf_asm_run(prog, 1, NULL));
	CHECK(coati_user_ring_reserve(ring, 120));
	coati_user_ring_close(&ring);
	coati_user_ring_close(&ring);
	CHECK_ERR(coati_user_ring_open(scratch, &ring, &err), -EINVAL);
}
