/* SPDX-License-Identifier: MIT */
/* How much memory rings may take, from limits that are made up; and AUX areas in memory. */
#include "lib/test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/abi.h>
#include <coati/ring.h>

#include "lib/fake-ring.h"
#include "ring/budget.h"
#include "ring/cpus.h"
#include "ring/ring.h"

#define PAGE UINT64_C(4096)
#define KIB  UINT64_C(1024)

static const struct coati_ring_limits usual = {
	.mlock_kb = 516, .cpus = 2, .memlock_bytes = 8 << 20, .page_bytes = 4096
};

/* Seen: 17 rings of 512 KiB fit, the 18th does not (C14). */
TEST(budget_is_what_the_kernel_lets_an_ordinary_user_lock_C14)
{
	struct coati_ring_limits l = usual;

	CHECK_U64(coati_ring_limits_share(&l, 17), ==, 512 * KIB);
	CHECK_U64(coati_ring_limits_share(&l, 18), ==, 256 * KIB);
	CHECK_U64(coati_ring_limits_share(&l, 1), ==, 8192 * KIB);
	l.pinned_bytes = 8 << 20;
	CHECK_U64(coati_ring_limits_share(&l, 1), ==, 1024 * KIB);
	CHECK_U64(coati_ring_limits_share(&l, 2), ==, 512 * KIB);
	CHECK_U64(coati_ring_limits_share(&l, 0), ==, 1024 * KIB);
}

TEST(budget_ends_where_not_even_a_page_fits)
{
	struct coati_ring_limits l = {
		.mlock_kb = 8, .cpus = 1, .memlock_bytes = 0, .page_bytes = 4096
	};

	CHECK_U64(coati_ring_limits_share(&l, 1), ==, 4096);
	CHECK_U64(coati_ring_limits_share(&l, 2), ==, 0);
	l.mlock_kb = 0;
	CHECK_U64(coati_ring_limits_share(&l, 1), ==, 0);
}

TEST(budget_knows_when_there_is_no_limit)
{
	struct coati_ring_limits l = usual;

	l.exempt = true;
	CHECK_U64(coati_ring_limits_share(&l, 1000), ==, UINT64_MAX);
	l = usual;
	l.memlock_bytes = UINT64_MAX;
	CHECK_U64(coati_ring_limits_share(&l, 1000), ==, UINT64_MAX);
	l = usual;
	l.mlock_kb = UINT64_MAX;
	CHECK_U64(coati_ring_limits_share(&l, 1), ==, UINT64_MAX);
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f);
	CHECK(fputs(text, f) >= 0);
	CHECK_INT(fclose(f), ==, 0);
}

TEST(budget_reads_the_limits_of_a_procfs)
{
	struct coati_ring_limits l;

	CHECK_OK(mkdir("self", 0700));
	CHECK_OK(mkdir("sys", 0700));
	CHECK_OK(mkdir("sys/kernel", 0700));
	write_file("sys/kernel/perf_event_mlock_kb", "1234\n");
	write_file("sys/kernel/perf_event_paranoid", "2\n");
	write_file("self/status", "Name:\tx\nVmPin:\t     12 kB\nCapEff:\t0000000000000000\n");
	coati_ring_limits_read(".", &l);
	CHECK_U64(l.mlock_kb, ==, 1234);
	CHECK_U64(l.pinned_bytes, ==, 12 * KIB);
	CHECK(!l.exempt);
	write_file("self/status", "Name:\tx\nCapEff:\t0000000000004000\n");
	coati_ring_limits_read(".", &l);
	CHECK(l.exempt);
	write_file("self/status", "");
	write_file("sys/kernel/perf_event_paranoid", "-1\n");
	coati_ring_limits_read(".", &l);
	CHECK(l.exempt);
	coati_ring_limits_read("./nowhere", &l);
	CHECK_U64(l.mlock_kb, ==, 516);
	CHECK(!l.exempt);
}

TEST(cpu_lists_of_sysfs_keep_real_numbers)
{
	struct coati_cpus online;
	uint32_t possible;

	CHECK_OK(mkdir("devices", 0700));
	CHECK_OK(mkdir("devices/system", 0700));
	CHECK_OK(mkdir("devices/system/cpu", 0700));
	CHECK_ERR(coati_cpus_online(".", &online), -ENOENT);
	write_file("devices/system/cpu/online", "0,2-3,17\n");
	write_file("devices/system/cpu/possible", "0-31\n");
	CHECK_OK(coati_cpus_online(".", &online));
	CHECK_OK(coati_cpus_possible(".", &possible));
	CHECK(cpus_has(&online, 0) && !cpus_has(&online, 1) && cpus_has(&online, 2) &&
	      cpus_has(&online, 17));
	CHECK(!cpus_has(&online, CPUS_MAX) && !cpus_has(&online, 1000000));
	CHECK_U64(possible, ==, 32);
	write_file("devices/system/cpu/possible", "\n");
	CHECK(coati_cpus_possible(".", &possible) < 0);
}

/* ---- AUX ---- */

struct aux_rig {
	uint8_t memory[3 * 4096 + 4096] __attribute__((aligned(4096)));
	struct coati_control_page *control;
	uint8_t *area;
	struct coati_ring *ring;
};

static void aux_open(struct aux_rig *rig, uint32_t flags, uint64_t tail)
{
	struct coati_ring_opts o = {
		.size = sizeof(o), .data_bytes = PAGE, .aux_bytes = 2 * PAGE, .flags = flags
	};

	memset(rig, 0, sizeof(*rig));
	rig->control = (struct coati_control_page *)(void *)rig->memory;
	rig->control->aux_head = rig->control->aux_tail = tail;
	rig->area = rig->memory + 2 * PAGE;
	CHECK_OK(coati_ring_from_memory(rig->memory, sizeof(rig->memory), &o, &rig->ring, NULL));
}

TEST(aux_area_shows_what_is_new_and_gives_it_back)
{
	static const uint64_t tails[] = { 0, 8000, UINT64_MAX - 99 };
	static struct aux_rig rig;

	for (size_t t = 0; t < 3; t++) {
		struct coati_span a, b;
		uint64_t at = tails[t];

		aux_open(&rig, 0, at);
		CHECK_OK(coati_ring_aux(rig.ring, &a, &b));
		CHECK_U64(a.size + b.size, ==, 0);
		for (uint64_t i = 0; i < 100; i++) {
			for (uint64_t k = 0; k < 777; k++)
				rig.area[(at + i * 777 + k) % (2 * PAGE)] = (uint8_t)(i + k);
			rig.control->aux_head = at + (i + 1) * 777;
			CHECK_OK(coati_ring_aux(rig.ring, &a, &b));
			CHECK_U64(a.size + b.size, ==, 777);
			for (uint64_t k = 0; k < 777; k++)
				CHECK_INT(k < a.size ? a.bytes[k] : b.bytes[k - a.size], ==,
					  (uint8_t)(i + k));
			coati_ring_aux_release(rig.ring, 777);
			CHECK_U64(rig.control->aux_tail, ==, rig.control->aux_head);
		}
		coati_ring_close(&rig.ring);
	}
}

TEST(aux_area_release_is_never_more_than_there_is)
{
	static struct aux_rig rig;
	struct coati_span a, b;

	aux_open(&rig, 0, 0);
	rig.control->aux_head = 100;
	coati_ring_aux_release(rig.ring, 60);
	CHECK_OK(coati_ring_aux(rig.ring, &a, &b));
	CHECK_U64(a.size, ==, 40);
	coati_ring_aux_release(rig.ring, UINT64_MAX);
	CHECK_U64(rig.control->aux_tail, ==, 100);
	coati_ring_close(&rig.ring);
}

TEST(aux_area_with_a_head_that_cannot_be_is_skipped_and_counted)
{
	static struct aux_rig rig;
	struct coati_ring_stats stats = { .size = sizeof(stats) };
	struct coati_span a, b;

	aux_open(&rig, 0, 0);
	rig.control->aux_head = 2 * PAGE + 1;
	CHECK_ERR(coati_ring_aux(rig.ring, &a, &b), -EBADMSG);
	CHECK_OK(coati_ring_aux(rig.ring, &a, &b));
	CHECK_U64(a.size + b.size, ==, 0);
	coati_ring_get_stats(rig.ring, &stats);
	CHECK_U64(stats.damaged, ==, 1);
	coati_ring_close(&rig.ring);
}

TEST(aux_area_in_overwrite_mode_is_whole_from_its_oldest_byte)
{
	static struct aux_rig rig;
	struct coati_span a, b;

	aux_open(&rig, COATI_RING_AUX_OVERWRITE, 0);
	rig.control->aux_head = 5 * PAGE + 100;
	CHECK_OK(coati_ring_aux(rig.ring, &a, &b));
	CHECK_U64(a.size, ==, PAGE - 100);
	CHECK(a.bytes == rig.area + PAGE + 100);
	CHECK_U64(b.size, ==, PAGE + 100);
	CHECK(b.bytes == rig.area);
	coati_ring_aux_release(rig.ring, 10);
	CHECK_U64(rig.control->aux_tail, ==, 0);
	coati_ring_close(&rig.ring);
}

TEST(aux_area_is_refused_where_there_is_none)
{
	struct coati_span a, b;
	struct coati_ring *ring;
	struct fake_ring f;

	fake_ring_init(&f, COATI_RING_FORWARD, PAGE, 0);
	ring = fake_ring_open(&f, 0);
	CHECK_ERR(coati_ring_aux(ring, &a, &b), -EOPNOTSUPP);
	coati_ring_aux_release(ring, 1);
	coati_ring_close(&ring);
	fake_ring_fini(&f);
}
