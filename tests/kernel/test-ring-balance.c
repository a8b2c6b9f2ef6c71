/* SPDX-License-Identifier: MIT */
/*
 * The proofs by number, on the real kernel: produced = delivered + lost under overload, no
 * wake-up lost over many sleeps, a storm of control calls. Small here; COATI_SOAK=1 makes them
 * 10^7 records and 10^6 sleeps.
 */
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/ring.h>

#include "base/clock.h"
#include "lib/bpf-asm.h"
#include "need.h"
#include "ring/bpf-array.h"
#include "ring/reader.h"

#define FAR (20 * NSEC_PER_SEC)

struct rig {
	struct coati_bpf_array *array; /* or a ring of its own */
	struct coati_reader *rd;
	bool is_ring, backward;
	int map, scratch, drops, prog;
	volatile uint64_t *produced;
	uint64_t count;
	_Atomic bool done, stop;
	_Atomic uint64_t seen;
	uint64_t before; /* put out before the flood */
};

static uint64_t soak(uint64_t usual, uint64_t soaked)
{
	return getenv("COATI_SOAK") ? soaked : usual;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void open_array(struct rig *rig, uint32_t bytes, uint32_t size, uint32_t mark)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = bytes,
					  .wakeup_bytes = mark,
					  .wakeup_events = mark || rig->backward ? 0 : 1,
					  .flags = rig->backward ? COATI_BPF_ARRAY_BACKWARD : 0 };
	struct coati_error err = { 0 };

	rig->map = bpf_asm_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4,
			       (uint32_t)sysconf(_SC_NPROCESSORS_CONF), 0);
	if (rig->map < 0)
		test_skip_need("bpf", "a BPF map: %s", strerror(-rig->map));
	if (coati_bpf_array_open(rig->map, &o, &rig->array, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	rig->rd = coati_bpf_array_reader(rig->array);
	rig->prog = bpf_asm_perf_output(rig->map, rig->scratch, size);
}

static void open_ring(struct rig *rig, uint32_t bytes, uint32_t size)
{
	struct coati_reader_ring_opts o = { .size = sizeof(o), .ring = { .kind = COATI_RING_BPF } };
	struct coati_error err = { 0 };

	rig->map = bpf_asm_map(BPF_MAP_TYPE_RINGBUF, 0, 0, bytes, 0);
	if (rig->map < 0)
		test_skip_need("bpf", "a BPF map: %s", strerror(-rig->map));
	rig->drops = bpf_asm_map(BPF_MAP_TYPE_ARRAY, 4, 8, 1, BPF_F_MMAPABLE);
	CHECK_OK(coati_reader_new(NULL, &rig->rd, NULL));
	if (coati_reader_add(rig->rd, rig->map, &o, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	CHECK_OK(coati_ring_watch_drops(coati_reader_ring(rig->rd, 0), rig->drops, 0, &err));
	rig->prog = bpf_asm_ring_output(rig->map, rig->scratch, rig->drops, size, 0);
}

static void rig_open(struct rig *rig, bool is_ring, uint32_t bytes, uint32_t size, uint32_t mark)
{
	need_root();
	need_two_cpus();
	*rig = (struct rig){ .is_ring = is_ring, .backward = rig->backward, .drops = -1 };
	rig->scratch = bpf_asm_scratch();
	if (rig->scratch < 0)
		test_skip_need("bpf", "a BPF map: %s", strerror(-rig->scratch));
	rig->produced = mmap(NULL, BPF_ASM_SCRATCH, PROT_READ, MAP_SHARED, rig->scratch, 0);
	CHECK(rig->produced != MAP_FAILED);
	if (is_ring)
		open_ring(rig, bytes, size);
	else
		open_array(rig, bytes, size, mark);
	if (rig->prog < 0)
		test_skip_need("bpf", "loading a BPF program: %s", strerror(-rig->prog));
}

static void rig_close(struct rig *rig)
{
	coati_bpf_array_close(&rig->array);
	if (rig->is_ring)
		coati_reader_free(&rig->rd);
	close(rig->prog);
	close(rig->map);
	close(rig->scratch);
	if (rig->drops >= 0)
		close(rig->drops);
}

static uint64_t number_of(const struct rig *rig, const struct coati_ring_item *item)
{
	uint64_t number;

	memcpy(&number, item->bytes + (rig->is_ring ? 0 : 12), sizeof(number));
	return number;
}

/* ---- balance ---- */

/* More than any of the rings holds, before anybody reads: however fast the reader is, something
 * is lost. */
#define FIRST_BURST 5000

static void *flood(void *arg)
{
	struct rig *rig = arg;
	uint64_t left = rig->count - rig->before;

	pin(0);
	while (left) {
		/* bursts that the ring holds, and bursts that it does not */
		uint32_t burst = (uint32_t)(left % 7 ? left % 601 + 1 : 5000);
		uint32_t n = left < burst ? (uint32_t)left : burst;

		CHECK_OK(bpf_asm_run(rig->prog, n, NULL));
		left -= n;
		if (left % 3)
			usleep(20);
	}
	atomic_store(&rig->done, true);
	coati_reader_flush(rig->rd);
	return NULL;
}

/* Numbers go up; what is missing between two of them was lost there. */
static void balance(bool is_ring, uint32_t bytes, uint32_t mark)
{
	struct coati_ring_item item;
	uint64_t records = 0, lost = 0, last = 0;
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	pthread_t thread;
	struct rig rig = { 0 };
	int r;

	rig_open(&rig, is_ring, bytes, 64, mark);
	rig.count = soak(400000, 10000000);
	pin(0);
	CHECK_OK(bpf_asm_run(rig.prog, FIRST_BURST, NULL));
	rig.before = FIRST_BURST;
	CHECK_INT(pthread_create(&thread, NULL, flood, &rig), ==, 0);
	pin(1);
	CHECK_OK(coati_reader_set_deadline(
		rig.rd, (int64_t)(now_ns() + FAR * (getenv("COATI_SOAK") ? 15 : 1))));
	while ((r = coati_reader_next(rig.rd, &item)) == 1) {
		if (item.kind == COATI_ITEM_LOSS) {
			lost += item.count;
			continue;
		}
		CHECK_INT(item.kind, ==, COATI_ITEM_RECORD);
		CHECK_U64(number_of(&rig, &item), >, last);
		last = number_of(&rig, &item);
		records++;
		/* a reader that is slow now and then */
		for (volatile int i = 0; records % 4096 < 1024 && i < 400; i++)
			;
	}
	CHECK_ERR(r, -ECANCELED);
	pthread_join(thread, NULL);
	CHECK(atomic_load(&rig.done));
	CHECK_U64(*rig.produced, ==, rig.count);
	CHECK_U64(records + lost, ==, rig.count);
	CHECK_U64(lost, >, 0);
	coati_reader_get_stats(rig.rd, &stats);
	CHECK_U64(stats.records, ==, records);
	CHECK_U64(stats.lost, ==, lost);
	CHECK_U64(stats.damaged, ==, 0);
	test_note("%llu delivered, %llu lost", (unsigned long long)records,
		  (unsigned long long)lost);
	rig_close(&rig);
}

TEST_LIMIT(balance_of_a_forward_ring_under_overload_is_exact, 400)
{
	balance(false, 16384, 0);
}

TEST_LIMIT(balance_of_a_forward_ring_with_a_byte_mark_is_exact, 400)
{
	balance(false, 65536, 16384);
}

TEST_LIMIT(balance_of_a_bpf_ring_under_overload_is_exact, 400)
{
	balance(true, 16384, 0);
}

struct down {
	uint64_t records, lost; /* of all snapshots: delivered, told by LOST records */
	uint64_t last;		/* the newest so far */
	bool gap;		/* since then all was overwritten, and that was told */
};

/* What a snapshot delivers counts down from the newest and ends above the last one's. What is
 * missing was lost while the ring was paused, and the kernel told how many in the record before
 * the one (in this direction) that was written next; or overwritten, which may only be at the
 * end, and is said. */
static void check_snapshot(struct rig *rig, struct coati_ring *ring, struct down *d)
{
	uint64_t newest = 0, next = 0, paused = 0;
	struct coati_ring_item item;
	bool overwritten = false;

	while (coati_ring_next(ring, &item) == 1) {
		CHECK(!overwritten);
		overwritten = item.flags & COATI_ITEM_UNKNOWN_COUNT;
		if (item.kind == COATI_ITEM_LOSS) {
			paused += item.count;
			continue;
		}
		CHECK_INT(item.kind, ==, COATI_ITEM_RECORD);
		if (!newest)
			newest = next = number_of(rig, &item);
		CHECK_U64(number_of(rig, &item), ==, next);
		CHECK_U64(next, >, d->last);
		next -= 1 + paused;
		d->lost += paused;
		paused = 0;
		d->records++;
	}
	CHECK(overwritten || d->gap || !newest || next == d->last);
	d->gap = !newest && (overwritten || d->gap);
	if (newest)
		d->last = newest;
}

static struct coati_ring *ring_of_cpu(struct coati_reader *rd, int cpu)
{
	for (uint32_t i = 0; i < coati_reader_count(rd); i++)
		if (coati_ring_key(coati_reader_ring(rd, i)) == cpu)
			return coati_reader_ring(rd, i);
	test_skip("CPU %d cannot be had", cpu);
}

TEST_LIMIT(backward_ring_under_overload_delivers_nothing_twice_and_tells_every_gap, 400)
{
	struct down d = { 0 };
	uint64_t snapshots = 0;
	struct rig rig = { .backward = true };
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct coati_ring *ring;
	pthread_t thread;
	bool done;

	rig_open(&rig, false, 65536, 64, 0);
	rig.count = soak(400000, 10000000);
	ring = ring_of_cpu(rig.rd, 0);
	CHECK_INT(pthread_create(&thread, NULL, flood, &rig), ==, 0);
	pin(1);
	do {
		done = atomic_load(&rig.done);
		CHECK_OK(coati_ring_snapshot(ring, snapshots++ % 2, NULL));
		check_snapshot(&rig, ring, &d);
	} while (!done);
	pthread_join(thread, NULL);
	CHECK_U64(*rig.produced, ==, rig.count);
	coati_ring_get_stats(ring, &stats);
	CHECK_U64(stats.records, ==, d.records);
	CHECK_U64(stats.lost, >=, d.lost);
	CHECK_U64(stats.damaged, ==, 0);
	test_note("%llu delivered in %llu snapshots, %llu lost to pauses, the rest overwritten",
		  (unsigned long long)d.records, (unsigned long long)snapshots,
		  (unsigned long long)stats.lost);
	rig_close(&rig);
}

/* ---- wake-ups ---- */

/* One at a time, each after the reader has had the last and, most times, has gone to sleep. */
static void *one_by_one(void *arg)
{
	struct rig *rig = arg;

	pin(0);
	for (uint64_t i = 0; i < rig->count; i++) {
		while (atomic_load(&rig->seen) < i && !atomic_load(&rig->stop))
			sched_yield();
		/* sweep over the moments between "the ring is empty" and "the reader sleeps" */
		for (volatile uint64_t spin = 0; spin < i * 7 % 2048; spin++)
			;
		CHECK_OK(bpf_asm_run(rig->prog, 1, NULL));
	}
	return NULL;
}

static void no_wake_is_lost(bool is_ring)
{
	struct coati_ring_item item;
	pthread_t thread;
	struct rig rig = { 0 };

	rig_open(&rig, is_ring, 4096, 16, 0);
	rig.count = soak(10000, 1000000);
	CHECK_INT(pthread_create(&thread, NULL, one_by_one, &rig), ==, 0);
	pin(1);
	for (uint64_t i = 1; i <= rig.count; i++) {
		CHECK_OK(coati_reader_set_deadline(rig.rd, (int64_t)(now_ns() + FAR)));
		CHECK_INT(coati_reader_next(rig.rd, &item), ==, 1);
		CHECK_U64(number_of(&rig, &item), ==, i);
		atomic_store(&rig.seen, i);
	}
	pthread_join(thread, NULL);
	rig_close(&rig);
}

TEST_LIMIT(no_wake_of_a_perf_ring_is_lost, 400)
{
	no_wake_is_lost(false);
}

TEST_LIMIT(no_wake_of_a_bpf_ring_is_lost, 400)
{
	no_wake_is_lost(true);
}

/* ---- storm ---- */

static void *storm_pause(void *arg)
{
	struct rig *rig = arg;

	while (!atomic_load(&rig->stop)) {
		(void)coati_bpf_array_pause(rig->array, NULL);
		(void)coati_bpf_array_resume(rig->array, NULL);
	}
	return NULL;
}

static void *storm_control(void *arg)
{
	struct rig *rig = arg;

	for (uint64_t i = 0; !atomic_load(&rig->stop); i++) {
		if (i % 3 == 0)
			coati_reader_flush(rig->rd);
		else if (i % 3 == 1)
			coati_reader_wake(rig->rd);
		(void)coati_reader_set_deadline(rig->rd,
						i % 5 ? (int64_t)(now_ns() + i % 1000) : -1);
		if (i % 16 == 0)
			usleep(20);
	}
	return NULL;
}

static void *storm_flood(void *arg)
{
	struct rig *rig = arg;

	while (!atomic_load(&rig->stop))
		CHECK_OK(bpf_asm_run(rig->prog, 100, NULL));
	return NULL;
}

TEST_LIMIT(bpf_array_stands_a_storm_of_pause_flush_deadlines_and_close, 60)
{
	void *(*const parts[])(void *) = { storm_pause, storm_control, storm_flood };
	struct coati_ring_item item;
	pthread_t threads[3];
	uint64_t records = 0, until;
	struct rig rig = { 0 };
	int r;

	rig_open(&rig, false, 16384, 64, 0);
	until = now_ns() + test_rounds(2) * NSEC_PER_SEC;
	for (int i = 0; i < 3; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, parts[i], &rig), ==, 0);
	while ((r = coati_reader_next(rig.rd, &item)) != -EBADF) {
		CHECK(r == 1 || r == -EINTR || r == -ECANCELED || r == -ETIMEDOUT);
		records += r == 1;
		if (records % 32 == 0 && now_ns() > until)
			coati_reader_close(rig.rd);
	}
	atomic_store(&rig.stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	CHECK_U64(records, >, 0);
	rig_close(&rig);
}
