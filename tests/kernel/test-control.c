/* SPDX-License-Identifier: MIT */
/* Orders to open events, on the real kernel. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "event/event.h"
#include "event/uapi-compat.h"
#include "need.h"

static uint64_t value_of(struct coati_event *ev)
{
	struct coati_count c;

	CHECK_OK(coati_event_read(ev, &c));
	return c.value;
}

TEST(control_enable_disable_and_reset_do_what_they_say)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ev;
	uintptr_t pages = 10;

	need_perf();
	ev = opened(&attr, NULL);
	rehearse(touch_pages, &pages);
	CHECK_U64(value_of(ev), ==, 0);
	CHECK_OK(coati_event_enable(ev));
	touch_pages(&pages);
	CHECK_OK(coati_event_disable(ev));
	touch_pages(&pages);
	CHECK_U64(value_of(ev), ==, 10);
	CHECK_OK(coati_event_reset(ev));
	CHECK_U64(value_of(ev), ==, 0);
	coati_event_close(&ev);
}

static volatile sig_atomic_t nr_signals;

static void on_signal(int sig)
{
	nr_signals++;
}

/* A ring of one page: an event without one never overflows into a signal. */
static void *map_ring(struct coati_event *ev)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, coati_event_fd(ev), 0);

	CHECK(p != MAP_FAILED);
	return p;
}

TEST(control_refresh_lets_exactly_so_many_overflows_through)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct sigaction sa = { .sa_handler = on_signal };
	struct coati_event *ev;
	uintptr_t pages = 6;

	need_perf();
	attr.sample_period = 1;
	attr.wakeup = 1;
	ev = opened(&attr, NULL);
	map_ring(ev);
	rehearse(touch_pages, &pages);
	CHECK_OK(sigaction(SIGUSR1, &sa, NULL));
	CHECK_OK(fcntl(coati_event_fd(ev), F_SETFL, O_ASYNC | O_NONBLOCK));
	CHECK_OK(fcntl(coati_event_fd(ev), F_SETSIG, SIGUSR1));
	CHECK_OK(fcntl(coati_event_fd(ev), F_SETOWN, getpid()));
	CHECK_ERR(coati_event_refresh(ev, 0), -EINVAL);
	CHECK_OK(coati_event_refresh(ev, 3));
	touch_pages(&pages);
	CHECK_U64(value_of(ev), ==, 3); /* of 6: then the kernel stopped it */
	CHECK_INT(nr_signals, >, 0);
	coati_event_close(&ev);
}

TEST(control_refresh_of_a_counting_event_is_refused)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ev;

	need_perf();
	ev = opened(&attr, NULL);
	CHECK_ERR(coati_event_refresh(ev, 1), -EINVAL);
	coati_event_close(&ev);
}

TEST(control_period_can_be_changed_while_open)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ev;

	need_perf();
	attr.sample_period = 100;
	ev = opened(&attr, NULL);
	CHECK_OK(coati_event_set_period(ev, 7));
	CHECK_U64(coati_event_attr(ev)->sample_period, ==, 7);
	CHECK_ERR(coati_event_set_period(ev, 0), -EINVAL);
	CHECK_ERR(coati_event_set_period(ev, UINT64_C(1) << 63), -EINVAL);
	coati_event_close(&ev);
}

TEST(control_output_is_redirected_and_taken_back)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event *ring, *ev;
	struct coati_error err = { 0 };

	need_perf();
	attr.sample_period = 1;
	ring = opened(&attr, NULL);
	ev = opened(&attr, NULL);
	CHECK_ERR(coati_event_set_output(ev, ring, &err), -EINVAL); /* not mapped yet */
	CHECK_HAS(err.text, "map that ring first");
	map_ring(ring);
	CHECK_OK(coati_event_set_output(ev, ring, &err));
	CHECK_OK(coati_event_set_output(ev, NULL, &err));
	CHECK_ERR(coati_event_set_output(ring, NULL, &err), -EINVAL);
	CHECK_HAS(err.text, "its own");
	coati_event_close(&ev);
	coati_event_close(&ring);
}

TEST(control_pause_and_resume_need_a_ring)
{
	struct coati_attr attr = software(COATI_SW_PAGE_FAULTS);
	struct coati_event_opts opts = { .size = sizeof(opts), .flags = COATI_EVENT_NEGOTIATE };
	struct coati_event *ev;
	struct coati_count c;
	uintptr_t pages = 5;

	need_perf();
	attr.sample_period = 1;
	attr.read_format = COATI_READ_LOST;
	ev = opened(&attr, &opts);
	CHECK_ERR(coati_event_pause(ev), -EINVAL);
	map_ring(ev);
	rehearse(touch_pages, &pages);
	CHECK_OK(coati_event_enable(ev));
	CHECK_OK(coati_event_pause(ev));
	touch_pages(&pages);
	CHECK_OK(coati_event_resume(ev));
	CHECK_OK(coati_event_disable(ev));
	CHECK_OK(coati_event_read(ev, &c));
	CHECK_U64(c.value, >=, 5); /* a sanitizer has pages of its own */
	if (!(coati_event_dropped(ev) & COATI_DROP_LOST)) {
		CHECK_U64(c.lost, >=, 5); /* what comes during a pause is lost, and counted */
		CHECK_U64(c.lost, <=, c.value);
	}
	coati_event_close(&ev);
}

static void close_some(void *unused)
{
	close(4711);
	close(4712);
	close(4711);
}

TEST(control_filter_of_a_tracepoint_lets_only_matches_count)
{
	struct coati_attr attr = need_tracepoint("syscalls", "sys_enter_close");
	struct coati_event_opts opts = { .size = sizeof(opts), .label = "close" };
	struct coati_event *ev = opened(&attr, &opts);
	struct coati_error err = { 0 };
	struct coati_count c;

	CHECK_OK(coati_event_set_filter(ev, "", &err)); /* there is none to remove */
	CHECK_ERR(coati_event_set_filter(ev, "no_such_field == 1", &err), -EINVAL);
	CHECK_HAS(err.text, "no_such_field");
	CHECK_OK(coati_event_measure(ev, close_some, NULL, &c, &err));
	CHECK_U64(c.value, ==, 3);
	CHECK_OK(coati_event_set_filter(ev, "fd == 4711", &err));
	CHECK_OK(coati_event_measure(ev, close_some, NULL, &c, &err));
	CHECK_U64(c.value, ==, 2);
	CHECK_ERR(coati_event_set_filter(ev, "", &err), -EEXIST);
	CHECK_HAS(err.text, "open it again");
	CHECK_ERR(coati_event_set_filter(ev, NULL, &err), -EINVAL);
	coati_event_close(&ev);
}

static long watched[4];

static struct coati_attr breakpoint(volatile void *addr)
{
	return (struct coati_attr){ .type = COATI_TYPE_BREAKPOINT,
				    .bp_type = COATI_BP_W,
				    .config1 = (uint64_t)(uintptr_t)addr,
				    .config2 = 8,
				    .sample_period = 1,
				    .flags = COATI_ATTR_DISABLED | COATI_ATTR_EXCLUDE_KERNEL };
}

static struct coati_event *open_breakpoint(const struct coati_attr *attr)
{
	struct coati_event *ev = NULL;
	struct coati_error err = { 0 };

	need_perf();
	if (coati_event_open(attr, &COATI_SELF, NULL, &ev, &err) < 0)
		test_skip_need("breakpoint", "%s", err.text);
	return ev;
}

static void write_both(void *unused)
{
	for (int i = 0; i < 3; i++)
		((volatile long *)watched)[0] = i;
	((volatile long *)watched)[2] = 1;
}

TEST(control_modify_moves_an_open_breakpoint)
{
	struct coati_attr attr = breakpoint(&watched[0]), other = breakpoint(&watched[2]);
	struct coati_event *ev;
	struct coati_count c;
	struct coati_error err = { 0 };

	attr.sample_period = other.sample_period = 0;
	ev = open_breakpoint(&attr);
	CHECK_OK(coati_event_measure(ev, write_both, NULL, &c, &err));
	CHECK_U64(c.value, ==, 3);
	CHECK_OK(coati_event_modify(ev, &other, &err));
	CHECK_OK(coati_event_measure(ev, write_both, NULL, &c, &err));
	CHECK_U64(c.value, ==, 1);
	CHECK_U64(coati_event_attr(ev)->config1, ==, other.config1);
	other.config2 = 9;
	CHECK_ERR(coati_event_modify(ev, &other, &err), -EINVAL);
	CHECK_HAS(err.text, "8"); /* the most that any machine watches */
	coati_event_close(&ev);
}

TEST(control_modify_keeps_a_running_breakpoint_running)
{
	struct coati_attr attr = breakpoint(&watched[0]), other = breakpoint(&watched[2]);
	struct coati_event *ev = open_breakpoint(&attr);

	CHECK_OK(coati_event_enable(ev));
	CHECK_OK(coati_event_modify(ev, &other, NULL));
	write_both(NULL);
	CHECK_U64(value_of(ev), ==, 1);
	coati_event_close(&ev);
}

TEST(control_modify_of_anything_else_is_refused)
{
	struct coati_attr attr = software(COATI_SW_DUMMY), bp = breakpoint(watched);
	struct coati_event *ev;
	struct coati_error err = { 0 };

	need_perf();
	ev = opened(&attr, NULL);
	CHECK_ERR(coati_event_modify(ev, &bp, &err), -EINVAL);
	CHECK_HAS(err.text, "only breakpoints");
	coati_event_close(&ev);
}

TEST(control_fifth_breakpoint_names_the_registers)
{
	struct coati_attr attr = breakpoint(&watched[0]);
	struct coati_event *ev[64] = { NULL };
	struct coati_error err = { 0 };
	int r = 0, n = 0;

	ev[n++] = open_breakpoint(&attr);
	while (r == 0 && n < 64)
		r = coati_event_open(&attr, &COATI_SELF, NULL, &ev[n++], &err);
	CHECK_ERR(r, -ENOSPC);
	CHECK_HAS(err.text, "breakpoint registers");
	while (n-- > 0)
		coati_event_close(&ev[n]);
}

static struct coati_sigtrap trap;
static volatile sig_atomic_t nr_traps, nr_strange;
static struct coati_event *trapping;

/* arm64 traps before the access: it would be tried again and trap again, were the event not stopped
 * here. */
static void on_trap(int sig, siginfo_t *info, void *context)
{
	if (coati_sigtrap_get(info, &trap))
		nr_traps++;
	else
		nr_strange++;
	coati_event_disable(trapping);
}

TEST(control_sigtrap_brings_address_type_and_data)
{
	struct coati_attr attr = breakpoint(&watched[1]);
	struct sigaction sa = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	struct coati_event *ev;

	attr.flags |= COATI_ATTR_SIGTRAP | COATI_ATTR_REMOVE_ON_EXEC;
	attr.sig_data = UINT64_C(0x1122334455667788);
	CHECK_OK(sigaction(SIGTRAP, &sa, NULL));
	ev = trapping = open_breakpoint(&attr);
	CHECK_OK(coati_event_enable(ev));
	((volatile long *)watched)[1] = 1;
	CHECK_INT(nr_traps, ==, 1);
	CHECK_OK(coati_event_enable(ev));
	((volatile long *)watched)[0] = 1;
	((volatile long *)watched)[1] = 2;
	CHECK_INT(nr_traps, ==, 2);
	CHECK_U64(trap.addr, ==, attr.config1);
	CHECK_U64(trap.data, ==, attr.sig_data);
	CHECK_INT(trap.type, ==, COATI_TYPE_BREAKPOINT);
	CHECK_INT(trap.flags & 1, ==, 0);
	raise(SIGTRAP);
	CHECK_INT(nr_strange, ==, 1);
	coati_event_close(&ev);
}

TEST(control_sigtrap_of_nothing_is_nothing)
{
	struct coati_sigtrap t;
	siginfo_t info = { .si_signo = SIGTRAP };

	CHECK_INT(coati_sigtrap_get(NULL, &t), ==, 0);
	CHECK_INT(coati_sigtrap_get(&info, NULL), ==, 0);
	CHECK_INT(coati_sigtrap_get(&info, &t), ==, 0);
}

/* A program that returns 1, as tracepoint program. */
static int load_bpf(void)
{
	struct insn {
		uint8_t code, regs;
		int16_t off;
		int32_t imm;
	} insns[] = { { 0xb7, 0, 0, 1 }, { 0x95, 0, 0, 0 } };
	static const char license[] = "Dual MIT/GPL";
	struct {
		uint32_t prog_type, insn_cnt;
		uint64_t insns, license;
		uint64_t rest[14];
	} attr = { .prog_type = 5, /* BPF_PROG_TYPE_TRACEPOINT */
		   .insn_cnt = 2,
		   .insns = (uint64_t)(uintptr_t)insns,
		   .license = (uint64_t)(uintptr_t)license };
	int fd = (int)syscall(SYS_bpf, 5 /* BPF_PROG_LOAD */, &attr, sizeof(attr));

	if (fd < 0)
		test_skip_need("bpf", "a BPF program cannot be loaded: %s", strerror(errno));
	return fd;
}

TEST(control_bpf_programs_are_attached_and_found_again_however_many)
{
	struct coati_attr attr = need_tracepoint("syscalls", "sys_enter_getppid");
	struct coati_event *ev[10];
	struct coati_error err = { 0 };
	struct coati_count c;
	uint32_t *ids = NULL, nr = 99;

	ev[0] = opened(&attr, NULL);
	CHECK_OK(coati_event_query_bpf(ev[0], &ids, &nr, &err));
	CHECK_INT(nr, ==, 0);
	coati_ids_free(ids);
	for (int i = 0; i < 10; i++) {
		int fd = load_bpf();

		if (i)
			ev[i] = opened(&attr, NULL);
		CHECK_OK(coati_event_set_bpf(ev[i], fd, &err));
		close(fd);
	}
	CHECK_OK(coati_event_query_bpf(ev[0], &ids, &nr, &err));
	CHECK_INT(nr, ==, 10);
	for (uint32_t i = 0; i < nr; i++)
		CHECK_U64(ids[i], >, 0);
	coati_ids_free(ids);
	CHECK_ERR(coati_event_set_bpf(ev[0], load_bpf(), &err), -EEXIST);
	CHECK_HAS(err.text, "already");
	CHECK_ERR(coati_event_set_bpf(ev[1], -1, &err), -EBADF);
	CHECK_OK(coati_event_measure(ev[0], call_getppid, NULL, &c, &err));
	CHECK_U64(c.value, ==, 1);
	for (int i = 0; i < 10; i++)
		coati_event_close(&ev[i]);
}

TEST(control_bpf_query_of_a_software_event_is_refused_in_words)
{
	struct coati_attr attr = software(COATI_SW_DUMMY);
	struct coati_event *ev;
	struct coati_error err = { 0 };
	uint32_t *ids = NULL, nr;

	need_perf();
	ev = opened(&attr, NULL);
	CHECK_INT(coati_event_query_bpf(ev, &ids, &nr, &err), <, 0);
	CHECK(err.text[0]);
	coati_event_close(&ev);
}
