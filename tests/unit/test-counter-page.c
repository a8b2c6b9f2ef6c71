/* SPDX-License-Identifier: MIT */
/* The mapped page of a counter, played by the test: every case of the protocol, and a writer that
 * never rests. */
#include "lib/test.h"

#include <pthread.h>
#include <sched.h>

#include "event/counter-page.h"

struct cpu {
	uint64_t counter, cycles;
	uint32_t asked;
	int nr_reads;
	bool unknown;
};

static bool read_counter(void *ctx, uint32_t counter, uint64_t *ret)
{
	struct cpu *c = ctx;

	c->asked = counter;
	c->nr_reads++;
	*ret = c->counter;
	return !c->unknown;
}

static uint64_t read_cycles(void *ctx)
{
	return ((struct cpu *)ctx)->cycles;
}

static struct coati_control_page page;
static struct cpu cpu;
static const struct counter_cpu mock = { &cpu, read_counter, read_cycles };

static void a_counter(uint32_t index, int64_t offset, uint64_t counter, uint16_t width)
{
	page = (struct coati_control_page){ .lock = 4,
					    .index = index,
					    .offset = offset,
					    .pmc_width = width,
					    .capabilities = COATI_CAP_USER_RDPMC };
	cpu = (struct cpu){ .counter = counter };
}

TEST(page_value_is_offset_plus_counter_of_index_less_one)
{
	struct counter_value v;

	a_counter(3, 1000, 234, 48);
	CHECK_INT(coati_counter_page_read(&page, &mock, &v), ==, 1);
	CHECK_U64(v.value, ==, 1234);
	CHECK_INT(cpu.asked, ==, 2);
	CHECK(!v.times);
}

TEST(page_counter_is_sign_extended_from_its_width)
{
	const struct {
		uint16_t width;
		uint64_t counter;
		int64_t meaning;
	} cases[] = {
		{ 48, UINT64_C(0xffffffffffff), -1 },
		{ 48, UINT64_C(0x7fffffffffff), INT64_C(0x7fffffffffff) },
		{ 48, UINT64_C(0x800000000000), -INT64_C(0x800000000000) },
		{ 40, UINT64_C(0xffffff0000), -65536 },
		{ 32, UINT64_C(0xfffffff6), -10 },
		{ 64, UINT64_MAX - 4, -5 },
		{ 0, 7, 7 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct counter_value v;

		a_counter(1, 1000000, cases[i].counter, cases[i].width);
		CHECK_INT(coati_counter_page_read(&page, &mock, &v), ==, 1);
		CHECK_INT((int64_t)v.value, ==, 1000000 + cases[i].meaning);
	}
}

TEST(page_of_an_event_that_is_not_on_the_pmu_asks_for_the_system_call)
{
	struct counter_value v;

	a_counter(0, 1000, 234, 48);
	CHECK_INT(coati_counter_page_read(&page, &mock, &v), ==, 0);
	CHECK_INT(cpu.nr_reads, ==, 0);
}

TEST(page_without_user_access_never_touches_the_counter)
{
	struct counter_value v;

	a_counter(1, 1000, 234, 48);
	page.capabilities = COATI_CAP_USER_TIME;
	CHECK_INT(coati_counter_page_read(&page, &mock, &v), ==, 0);
	CHECK_INT(cpu.nr_reads, ==, 0);
}

TEST(page_with_a_counter_that_we_cannot_read_asks_for_the_system_call)
{
	struct counter_value v;

	a_counter(33, 1000, 234, 48);
	cpu.unknown = true;
	CHECK_INT(coati_counter_page_read(&page, &mock, &v), ==, 0);
}

TEST(page_that_is_always_being_written_asks_for_the_system_call)
{
	struct counter_value v;

	a_counter(1, 1000, 234, 48);
	page.lock = 5;
	CHECK_INT(coati_counter_page_read(&page, &mock, &v), ==, 0);
}

TEST(page_times_are_carried_on_to_now)
{
	struct counter_value v;

	a_counter(1, 0, 0, 48);
	page.capabilities |= COATI_CAP_USER_TIME;
	page.time_enabled = 5000;
	page.time_running = 3000;
	page.time_shift = 10;
	page.time_mult = 512; /* half a nanosecond per cycle */
	page.time_offset = (uint64_t)-1000;
	cpu.cycles = 2600; /* 1300 ns, less 1000 */
	CHECK_INT(coati_counter_page_read(&page, &mock, &v), ==, 1);
	CHECK(v.times);
	CHECK_U64(v.enabled_ns, ==, 5300);
	CHECK_U64(v.running_ns, ==, 3300);
}

TEST(page_times_do_not_overflow_with_large_cycles)
{
	struct counter_value v;

	a_counter(1, 0, 0, 48);
	page.capabilities |= COATI_CAP_USER_TIME;
	page.time_shift = 32;
	page.time_mult = UINT32_C(0x80000000);
	cpu.cycles = UINT64_C(1) << 62;
	CHECK_INT(coati_counter_page_read(&page, &mock, &v), ==, 1);
	CHECK_U64(v.enabled_ns, ==, UINT64_C(1) << 61);
}

TEST(page_with_a_short_clock_is_read_across_its_wrap)
{
	struct counter_value v;

	a_counter(1, 0, 0, 48);
	page.capabilities |= COATI_CAP_USER_TIME | COATI_CAP_USER_TIME_SHORT;
	page.time_shift = 0;
	page.time_mult = 1;
	page.time_mask = 0xff;
	page.time_cycles = 0x1f0; /* the counter showed 0xf0 */
	page.time_offset = (uint64_t)-0x1f0;
	cpu.cycles = 0x05; /* and has wrapped since */
	CHECK_INT(coati_counter_page_read(&page, &mock, &v), ==, 1);
	CHECK_U64(v.enabled_ns, ==, 0x15);
}

/* The kernel of this test: offset and counter always add up to the same, index and times follow. */
struct writer {
	struct coati_control_page page;
	uint64_t counter;
	int stop;
};

static void *write_on(void *arg)
{
	struct writer *w = arg;

	for (uint64_t n = 1; !__atomic_load_n(&w->stop, __ATOMIC_RELAXED); n++) {
		uint32_t lock = __atomic_load_n(&w->page.lock, __ATOMIC_RELAXED);

		/* acq_rel and seq_cst: nothing may move out of the locked part, as barrier() does
		 * it in the kernel */
		__atomic_store_n(&w->page.lock, lock + 1, __ATOMIC_SEQ_CST);
		__atomic_exchange_n(&w->page.offset, (int64_t)(1000000 - n % 1000),
				    __ATOMIC_SEQ_CST);
		__atomic_exchange_n(&w->counter, n % 1000, __ATOMIC_SEQ_CST);
		__atomic_exchange_n(&w->page.time_enabled, n, __ATOMIC_SEQ_CST);
		__atomic_exchange_n(&w->page.time_running, n, __ATOMIC_SEQ_CST);
		__atomic_store_n(&w->page.lock, lock + 2, __ATOMIC_SEQ_CST);
		if (n % 64 == 0)
			sched_yield(); /* one CPU must do for both */
	}
	return NULL;
}

static bool shared_counter(void *ctx, uint32_t counter, uint64_t *ret)
{
	*ret = __atomic_load_n(&((struct writer *)ctx)->counter, __ATOMIC_ACQUIRE);
	return true;
}

static uint64_t no_cycles(void *ctx)
{
	return 0;
}

TEST(page_read_beside_a_writer_is_never_torn)
{
	static struct writer w = { .page = { .index = 1,
					     .pmc_width = 48,
					     .offset = 1000000,
					     .capabilities = COATI_CAP_USER_RDPMC } };
	const struct counter_cpu shared = { &w, shared_counter, no_cycles };
	pthread_t t;
	int good = 0;

	CHECK_INT(pthread_create(&t, NULL, write_on, &w), ==, 0);
	while (good < 5000) {
		struct counter_value v;

		if (!coati_counter_page_read(&w.page, &shared, &v)) {
			sched_yield();
			continue;
		}
		good++;
		CHECK_U64(v.value, ==, 1000000);
		CHECK_U64(v.enabled_ns, ==, v.running_ns);
	}
	__atomic_store_n(&w.stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
}
