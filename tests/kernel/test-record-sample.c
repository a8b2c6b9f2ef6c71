/* SPDX-License-Identifier: MIT */
/* Samples of the kernel: every field that software events and tracepoints can have, against the
 * truth. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "event/tracefs.h"
#include "need.h"
#include "record-tap.h"
#include "record/record.h"
#include "record/tracepoint.h"

#define RING_BYTES (1024 * 1024)

#if defined(__x86_64__)
#define REGS	   0xff0fff
#define REG_IP	   8
#define REG_RESULT 0 /* rax */
#define REG_ARGUMENT    \
	{               \
		5, 4, 3 \
	} /* rdi, rsi, rdx */
#elif defined(__aarch64__)
#define REGS	   0x1ffffffff
#define REG_IP	   32
#define REG_RESULT 0
#define REG_ARGUMENT    \
	{               \
		0, 1, 2 \
	}
#endif

/* All that a software event takes: no BRANCH_STACK, no AUX. */
#define EVERYTHING                                                              \
	(UINT64_C(0xffffff) & ~(COATI_SAMPLE_BRANCH_STACK | COATI_SAMPLE_AUX) & \
	 (uint64_t)(geteuid() ? ~COATI_SAMPLE_PHYS_ADDR : ~UINT64_C(0)))

static struct coati_attr faults(uint64_t sample_type)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);

	attr.sample_period = 1;
	attr.sample_type = sample_type;
	attr.flags |= COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_SAMPLE_ID_ALL;
	return attr;
}

/* One fault at a known address; where. */
__attribute__((noinline, no_sanitize("thread", "address"))) static uintptr_t fault_once(
	struct tap *t)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	volatile char *p =
		mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	coati_event_enable(t->ev);
	p[100] = 1;
	coati_event_disable(t->ev);
	return (uintptr_t)p + 100;
}

/* The sample of that address: the test's own work may fault too. */
static void find_fault(struct tap *t, uintptr_t addr, struct coati_record *ret)
{
	do
		tap_find(t, COATI_RECORD_SAMPLE, ret);
	while (ret->u.sample.addr != addr);
}

TEST(kernel_sample_with_every_field_tells_the_truth)
{
	struct coati_attr attr = faults(EVERYTHING);
	const struct coati_sample *s;
	struct coati_read_value v;
	struct coati_record rec;
	uintptr_t addr;
	struct tap t;

	need_perf();
	attr.read_format = COATI_READ_ENABLED | COATI_READ_RUNNING | COATI_READ_ID |
			   COATI_READ_LOST | COATI_READ_GROUP;
#ifdef REGS
	attr.sample_regs_user = REGS;
	attr.sample_regs_intr = REGS;
#else
	attr.sample_type &= ~(COATI_SAMPLE_REGS_USER | COATI_SAMPLE_REGS_INTR);
#endif
	attr.sample_stack_user = 1024;
	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	addr = fault_once(&t);
	find_fault(&t, addr, &rec);
	s = &rec.u.sample;
	CHECK_U64(s->present, ==, attr.sample_type);
	CHECK_INT(rec.misc & COATI_MISC_CPUMODE_MASK, ==, COATI_MISC_USER);
	CHECK_INT(rec.id.pid, ==, getpid());
	CHECK_INT(rec.id.tid, ==, syscall(SYS_gettid));
	CHECK_U64(rec.id.id, ==, t.id);
	CHECK_U64(rec.id.stream_id, ==, t.id);
	CHECK_INT(rec.id.cpu, <, sysconf(_SC_NPROCESSORS_CONF));
	CHECK_U64(s->period, ==, 1);
	CHECK_U64(s->ip - (uintptr_t)fault_once, <, 4096);
	CHECK_U64(s->read.nr, ==, 1);
	CHECK_OK(coati_read_block_get(&s->read, 0, &v));
	CHECK_U64(v.value, >=, 1);
	CHECK_U64(v.id, ==, t.id);
	CHECK_U64(s->callchain.count, >=, 2);
	CHECK_U64(coati_u64_at(&s->callchain, 0), ==, COATI_CONTEXT_USER);
	CHECK_U64(coati_u64_at(&s->callchain, 1), ==, s->ip);
	CHECK_U64(s->raw_size, ==, 4);
	CHECK_U64(s->stack_size, >=, s->stack_dyn_size);
	CHECK_U64(s->stack_dyn_size, >, 0);
	CHECK_U64(s->code_page_size, >=, 4096);
#ifdef REGS
	uint64_t ip;

	CHECK_INT(s->regs_user.abi, ==, 2);
	CHECK_OK(coati_regs_get(&s->regs_user, REG_IP, &ip));
	CHECK_U64(ip, ==, s->ip);
	CHECK_OK(coati_regs_get(&s->regs_intr, REG_IP, &ip));
	CHECK_U64(ip, ==, s->ip);
#endif
	tap_close(&t);
}

TEST(kernel_samples_of_every_single_bit_decode)
{
	need_perf();
	for (int bit = 0; bit < 25; bit++) {
		struct coati_attr attr = faults(UINT64_C(1) << bit | COATI_SAMPLE_ADDR);
		struct coati_record rec;
		uintptr_t addr;
		struct tap t;

		if (bit == 11 || bit == 20 || (bit == 19 && geteuid()))
			continue;
#ifdef REGS
		attr.sample_regs_user = REGS;
		attr.sample_regs_intr = REGS;
#else
		if (bit == 12 || bit == 18)
			continue;
#endif
		attr.sample_stack_user = bit == 13 ? 4096 : 0;
		tap_open(&t, &attr, COATI_SELF, RING_BYTES);
		addr = fault_once(&t);
		find_fault(&t, addr, &rec);
		CHECK_U64(rec.extra_size, ==, 0);
		tap_close(&t);
	}
}

TEST(kernel_lost_record_counts_what_did_not_fit)
{
	struct coati_attr attr =
		faults(COATI_SAMPLE_TID | COATI_SAMPLE_TIME | COATI_SAMPLE_IDENTIFIER);
	uintptr_t pages = 500;
	struct coati_count count;
	struct coati_record rec;
	uint64_t samples = 0, lost = 0;
	struct tap t;

	need_perf();
	attr.read_format = COATI_READ_LOST;
	tap_open(&t, &attr, COATI_SELF, 4096);
	coati_event_enable(t.ev);
	/* Once there is room again, the next sample tells of those before it; with a sanitizer we
	 * may fault while reading. */
	for (int round = 0; round < 2; round++) {
		touch_pages(&pages);
		if (round == 1)
			coati_event_disable(t.ev);
		while (tap_next(&t, &rec)) {
			samples += rec.type == COATI_RECORD_SAMPLE;
			if (rec.type != COATI_RECORD_LOST)
				continue;
			CHECK_U64(rec.u.lost.id, ==, t.id);
			CHECK_U64(rec.id.id, ==, t.id);
			lost += rec.u.lost.lost;
		}
	}
	CHECK_U64(lost, >, 100);
	CHECK_OK(coati_event_read(t.ev, &count));
	CHECK_U64(count.lost, >=, lost);
	CHECK_U64(samples + count.lost, ==, count.value);
	tap_close(&t);
}

/* What throttling left in the ring: bit 0 it began, bit 1 it ended. */
static unsigned int throttled(struct tap *t)
{
	struct coati_record rec;
	unsigned int seen = 0;

	while (tap_next(t, &rec)) {
		if (rec.type != COATI_RECORD_THROTTLE && rec.type != COATI_RECORD_UNTHROTTLE)
			continue;
		seen |= rec.type == COATI_RECORD_THROTTLE ? 1 : 2;
		CHECK_U64(rec.u.throttle.id, ==, t->id);
		CHECK_U64(rec.u.throttle.stream_id, ==, t->id);
		CHECK_U64(rec.id.id, ==, t->id);
	}
	return seen;
}

TEST(kernel_throttle_records_tell_when_samples_come_too_fast)
{
	struct coati_attr attr = software(COATI_SW_CPU_CLOCK);
	uint64_t end = now_ns() + 2 * NSEC_PER_SEC;
	unsigned int seen = 0;
	struct tap t;

	need_perf();
	/* As often as the kernel lets itself be asked for. */
	CHECK_OK(coati_file_read_u64(AT_FDCWD, "/proc/sys/kernel/perf_event_max_sample_rate",
				     &attr.sample_period));
	attr.sample_type = COATI_SAMPLE_TIME | COATI_SAMPLE_IDENTIFIER;
	attr.flags |= COATI_ATTR_FREQ | COATI_ATTR_SAMPLE_ID_ALL;
	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	coati_event_enable(t.ev);
	while (seen != 3 && now_ns() < end) {
		for (volatile int i = 0; i < 1000000;)
			i++;
		/* Reading must not be outrun by what is read. */
		coati_event_disable(t.ev);
		seen |= throttled(&t);
		coati_event_enable(t.ev);
	}
	tap_close(&t);
	if (!seen)
		test_skip("this machine does not reach the kernel's limit of samples");
	CHECK_INT(seen, ==, 3);
}

/* ---- tracepoints ---- */

static struct coati_attr call_of(const char *name, uint64_t sample_type)
{
	struct coati_attr attr = need_tracepoint("syscalls", name);

	need_root();
	attr.sample_period = 1;
	attr.sample_type = sample_type | COATI_SAMPLE_IDENTIFIER;
	attr.flags |= COATI_ATTR_SAMPLE_ID_ALL;
	return attr;
}

/* The format file of a tracepoint of system calls. */
static struct coati_tracepoint *format_of(const char *name)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct coati_tracepoint *tp;
	struct coati_error err;

	CHECK_OK(coati_tracefs_format(need_tracefs(), "syscalls", name, &s));
	if (coati_tracepoint_parse(s.text, s.len, &tp, &err))
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	coati_strbuf_fini(&s);
	return tp;
}

TEST(kernel_sample_of_getppid_has_our_ids_six_times_of_six)
{
	struct coati_attr attr = call_of("sys_enter_getppid", COATI_SAMPLE_TID | COATI_SAMPLE_RAW);
	struct coati_record rec;
	struct tap t;
	int hits = 0;

	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	coati_event_enable(t.ev);
	for (int i = 0; i < 6; i++)
		syscall(SYS_getppid);
	coati_event_disable(t.ev);
	while (tap_next(&t, &rec)) {
		CHECK_INT(rec.type, ==, COATI_RECORD_SAMPLE);
		CHECK_INT(rec.id.pid, ==, getpid());
		CHECK_INT(rec.id.tid, ==, syscall(SYS_gettid));
		hits++;
	}
	CHECK_INT(hits, ==, 6);
	tap_close(&t);
}

static void *count_samples(void *arg)
{
	struct tap *t = arg;
	struct coati_record rec;
	uintptr_t hits = 0;

	while (hits < 6)
		while (tap_next(t, &rec))
			hits += rec.type == COATI_RECORD_SAMPLE;
	return (void *)hits;
}

TEST(kernel_samples_are_read_by_another_thread_while_they_come)
{
	struct coati_attr attr = call_of("sys_enter_getppid", COATI_SAMPLE_TID);
	pthread_t thread;
	struct tap t;
	void *hits;

	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	CHECK_INT(pthread_create(&thread, NULL, count_samples, &t), ==, 0);
	coati_event_enable(t.ev);
	for (int i = 0; i < 6; i++)
		syscall(SYS_getppid);
	coati_event_disable(t.ev);
	pthread_join(thread, &hits);
	CHECK_INT((uintptr_t)hits, ==, 6);
	tap_close(&t);
}

#ifdef REGS
static uint64_t reg(const struct coati_record *rec, uint32_t number)
{
	uint64_t v = 0;

	CHECK_OK(coati_regs_get(&rec->u.sample.regs_user, number, &v));
	return v;
}

TEST(kernel_sample_of_write_has_its_arguments_in_registers_and_fields)
{
	static const uint32_t argument[] = REG_ARGUMENT;
	struct coati_attr enter =
		call_of("sys_enter_write", COATI_SAMPLE_REGS_USER | COATI_SAMPLE_RAW);
	struct coati_attr leave =
		call_of("sys_exit_write", COATI_SAMPLE_REGS_USER | COATI_SAMPLE_RAW);
	struct coati_tracepoint *tp = format_of("sys_enter_write");
	static const char text[] = "some text";
	struct coati_field_value v;
	struct coati_record rec;
	struct coati_payload p;
	struct tap in, out;
	char line[256], want[256];
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	CHECK_OK(fd);
	enter.sample_regs_user = leave.sample_regs_user = REGS;
	tap_open(&in, &enter, COATI_SELF, RING_BYTES);
	tap_open(&out, &leave, COATI_SELF, RING_BYTES);
	coati_event_enable(in.ev);
	coati_event_enable(out.ev);
	CHECK_INT(syscall(SYS_write, fd, text, 9), ==, 9);
	coati_event_disable(in.ev);
	coati_event_disable(out.ev);
	tap_find(&in, COATI_RECORD_SAMPLE, &rec);
	CHECK_U64(reg(&rec, argument[0]), ==, fd);
	CHECK_U64(reg(&rec, argument[1]), ==, (uintptr_t)text);
	CHECK_U64(reg(&rec, argument[2]), ==, 9);
	p = (struct coati_payload){ rec.u.sample.raw, rec.u.sample.raw_size, 0 };
	CHECK_OK(coati_tracepoint_read(tp, (uint32_t)coati_tracepoint_find(tp, "count"), &p, &v));
	CHECK_U64(v.number, ==, 9);
	CHECK_OK(coati_tracepoint_print(tp, &p, NULL, line, sizeof(line)));
	snprintf(want, sizeof(want), "fd: 0x%08x, buf: 0x%08lx, count: 0x%08x", fd,
		 (unsigned long)text, 9);
	if (!strstr(line, "\"")) /* newer kernels show the text too */
		CHECK_STR(line, want);
	tap_find(&out, COATI_RECORD_SAMPLE, &rec);
	CHECK_U64(reg(&rec, REG_RESULT), ==, 9);
	coati_tracepoint_free(tp);
	tap_close(&in);
	tap_close(&out);
	close(fd);
}
#endif

/* A frame of our own around the call: the chain must have the return address behind each. */
#define FRAMES 3

struct walk {
	uint64_t returns[FRAMES];
	int nr;
};

__attribute__((noinline)) static void innermost(struct walk *w)
{
	w->returns[w->nr++] = (uintptr_t)__builtin_return_address(0);
#if defined(__x86_64__)
	/* The system call from here, not from a function of libc that keeps no frame. */
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getppid) : "rcx", "r11", "memory");
#else
	syscall(SYS_getppid);
#endif
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void middle(struct walk *w)
{
	w->returns[w->nr++] = (uintptr_t)__builtin_return_address(0);
	innermost(w);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static void outermost(struct walk *w)
{
	w->returns[w->nr++] = (uintptr_t)__builtin_return_address(0);
	middle(w);
	__asm__ volatile("" ::: "memory");
}

/* The part of the chain behind @marker; its length. */
static uint32_t part(const uint64_t *chain, uint32_t count, uint64_t marker, const uint64_t **ret)
{
	uint32_t start = 0, end;

	while (start < count && chain[start] != marker)
		start++;
	for (end = start + 1; end < count && chain[end] < COATI_CONTEXT_MAX;)
		end++;
	*ret = chain + start + 1;
	return start < count ? end - start - 1 : 0;
}

TEST(kernel_sample_has_the_stack_that_led_to_the_call)
{
	struct coati_attr attr = need_tracepoint("raw_syscalls", "sys_enter");
	struct walk w = { .nr = 0 };
	uint32_t nr, found = 0;
	uint64_t buf[256];
	const uint64_t *chain, *at;
	struct coati_record rec;
	struct tap t;

	need_root();
	attr.sample_period = 1;
	attr.sample_type = COATI_SAMPLE_CALLCHAIN;
	tap_open(&t, &attr, COATI_SELF, RING_BYTES);
	coati_event_enable(t.ev);
	outermost(&w);
	coati_event_disable(t.ev);
	/* The first call after the event was switched on. */
	tap_find(&t, COATI_RECORD_SAMPLE, &rec);
	CHECK_U64(rec.u.sample.callchain.count, <=, 256);
	chain = coati_u64_array(&rec.u.sample.callchain, buf);
	nr = part(chain, rec.u.sample.callchain.count, COATI_CONTEXT_KERNEL, &at);
	CHECK_INT(nr, >, 0);
	for (uint32_t i = 0; i < nr; i++)
		CHECK(at[i] >> 63);
	nr = part(chain, rec.u.sample.callchain.count, COATI_CONTEXT_USER, &at);
	for (uint32_t i = 0; i < nr; i++) {
		CHECK(!(at[i] >> 63));
		found += found < FRAMES && at[i] == w.returns[FRAMES - 1 - found];
	}
	CHECK_INT(found, ==, FRAMES);
	tap_close(&t);
}

TEST(kernel_ring_of_one_event_holds_the_samples_of_another_format)
{
	struct coati_attr a = call_of("sys_enter_getppid", COATI_SAMPLE_TID | COATI_SAMPLE_IP);
	struct coati_attr b = call_of("sys_enter_getuid", COATI_SAMPLE_CPU | COATI_SAMPLE_RAW);
	struct coati_format_table *table;
	struct coati_event *other = opened(&b, NULL);
	struct coati_error err = { 0 };
	struct coati_record rec;
	struct coati_raw raw;
	uint32_t index, seen[2] = { 0, 0 };
	uint64_t id;
	struct tap t;

	tap_open(&t, &a, COATI_SELF, RING_BYTES);
	if (coati_event_set_output(other, t.ev, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	CHECK_OK(coati_format_table_new(&table));
	CHECK_OK(coati_format_table_add(table, &a));
	CHECK_OK(coati_format_table_add(table, &b));
	CHECK_OK(coati_format_table_id(table, t.id, 0));
	CHECK_OK(coati_event_id(other, &id));
	CHECK_OK(coati_format_table_id(table, id, 1));
	coati_event_enable(t.ev);
	coati_event_enable(other);
	syscall(SYS_getppid);
	syscall(SYS_getuid);
	coati_event_disable(other);
	coati_event_disable(t.ev);
	while (tap_raw(&t, &raw)) {
		CHECK_OK(coati_format_table_find(table, &raw, &index));
		CHECK_OK(coati_record_decode(&raw, coati_format_table_get(table, index), &rec));
		CHECK_U64(rec.id.id, ==, index ? id : t.id);
		if (index)
			CHECK_U64(rec.u.sample.raw_size, >, 8);
		else
			CHECK_INT(rec.id.pid, ==, getpid());
		seen[index]++;
	}
	CHECK_INT(seen[0], ==, 1);
	CHECK_INT(seen[1], ==, 1);
	coati_format_table_free(table);
	tap_close(&t);
	coati_event_close(&other);
}

/* ---- every format of this kernel ---- */

struct census {
	uint32_t all, understood;
};

static void try_format(const char *tracefs, const char *system, const char *name, struct census *c)
{
	static uint8_t bytes[4096];
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct coati_tracepoint *tp;
	struct coati_error err;
	char line[2048];

	CHECK_OK(coati_tracefs_format(tracefs, system, name, &s));
	if (coati_tracepoint_parse(s.text, s.len, &tp, &err))
		test_fail_at(__FILE__, __LINE__, "%s:%s: %s", system, name, err.text);
	CHECK_STR(coati_tracepoint_name(tp), name);
	c->all++;
	c->understood += coati_tracepoint_is_understood(tp) != 0;
	for (int round = 0; round < 8; round++) {
		struct coati_payload p = { bytes, (uint32_t)(round < 6 ? sizeof(bytes) : 60),
					   round & 1 };

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)(round < 2	 ? 0
					     : round < 4 ? test_random() % 4
							 : test_random());
		(void)coati_tracepoint_print(tp, &p, NULL, line, sizeof(line));
	}
	coati_tracepoint_free(tp);
	coati_strbuf_fini(&s);
}

TEST_LIMIT(kernel_tracepoint_formats_are_understood_nearly_all, 120)
{
	const char *tracefs = need_tracefs();
	struct arena arena;
	struct dir_names systems, names;
	struct census c = { 0 };

	coati_arena_init(&arena, 64 << 20);
	CHECK_OK(coati_tracefs_systems(tracefs, &arena, &systems));
	for (size_t i = 0; i < systems.len; i++) {
		CHECK_OK(coati_tracefs_events(tracefs, systems.v[i], &arena, &names));
		for (size_t k = 0; k < names.len; k++)
			try_format(tracefs, systems.v[i], names.v[k], &c);
	}
	coati_arena_fini(&arena);
	test_note("%u of %u print formats are understood", c.understood, c.all);
	CHECK_U64(c.all, >, 100);
	CHECK_U64(c.understood * 100, >=, c.all * 95);
}
