/* SPDX-License-Identifier: MIT */
/* The filters of system calls, run by a small machine of our own instead of the kernel's. */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "sandbox/filter-calls.h"
#include "sandbox/filter.h"

#ifdef __x86_64__
#define ARCH_HERE AUDIT_ARCH_X86_64
#else
#define ARCH_HERE AUDIT_ARCH_AARCH64
#endif

#define PID	   4711
#define REFUSED(e) (SECCOMP_RET_ERRNO | (e))

struct filter {
	struct sock_filter code[FILTER_MAX];
	size_t len;
};

static struct filter build(struct filter_opts o)
{
	struct filter f;

	f.len = coati_filter_build(&o, f.code, FILTER_MAX);
	CHECK(f.len > 0 && f.len <= FILTER_MAX);
	return f;
}

/* Every jump goes forward and stays inside, as the kernel wants it. */
static uint32_t run(const struct filter *f, const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < f->len; pc++) {
		const struct sock_filter *i = &f->code[pc];

		switch (i->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			CHECK_INT(i->k + 4, <=, sizeof(*d));
			memcpy(&a, (const char *)d + i->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= i->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == i->k ? i->jt : i->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= i->k ? i->jt : i->jf;
			break;
		case BPF_RET | BPF_K:
			return i->k;
		default:
			test_fail_at(__FILE__, __LINE__, "instruction %zu: code %x", pc, i->code);
		}
	}
	test_fail_at(__FILE__, __LINE__, "the program has no end");
}

static uint32_t ask(const struct filter *f, long nr, uint64_t arg0, uint64_t arg1, uint64_t arg2)
{
	struct seccomp_data d = { .nr = (int)nr, .arch = ARCH_HERE, .args = { arg0, arg1, arg2 } };

	return run(f, &d);
}

static bool is_listed(const struct call_list *l, int nr)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->rules[i].nr == nr)
			return true;
	return false;
}

static bool is_always(const struct call_list *l, int nr)
{
	for (size_t i = 0; i < l->nr; i++)
		if (l->rules[i].nr == nr && l->rules[i].when == CALL_ALWAYS)
			return true;
	return false;
}

TEST(filter_of_a_reader_allows_its_list_and_no_other_number)
{
	struct filter f = build((struct filter_opts){ .is_reader = true, .pid = PID });
	int allowed = 0;

	for (int nr = 0; nr < 600; nr++) {
		uint32_t got = ask(&f, nr, UINT64_MAX, UINT64_MAX, UINT64_MAX);

		if (is_always(&coati_calls_reader, nr)) {
			CHECK_U64(got, ==, SECCOMP_RET_ALLOW);
			allowed++;
		} else if (is_listed(&coati_calls_any_open, nr)) {
			CHECK_U64(got, ==, REFUSED(EACCES));
		} else if (nr == CALL_CLONE3 || nr > CALL_NEWEST) {
			CHECK_U64(got, ==, REFUSED(ENOSYS));
		} else {
			CHECK_U64(got, ==, REFUSED(EPERM));
		}
	}
	CHECK_INT(allowed, >, 60);
}

TEST(filter_of_a_reader_looks_at_arguments)
{
	struct filter f = build((struct filter_opts){ .is_reader = true, .pid = PID });
	uint64_t thread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			  CLONE_SYSVSEM | CLONE_SETTLS;

	CHECK_U64(ask(&f, SYS_clone, thread, 0, 0), ==, SECCOMP_RET_ALLOW);
	CHECK_U64(ask(&f, SYS_clone, 17 /* fork() */, 0, 0), ==, REFUSED(EPERM));
	CHECK_U64(ask(&f, SYS_clone, CLONE_VM | CLONE_VFORK | 17, 0, 0), ==, REFUSED(EPERM));
	CHECK_U64(ask(&f, SYS_clone, thread | CLONE_NEWUSER, 0, 0), ==, REFUSED(EPERM));
	CHECK_U64(ask(&f, SYS_clone, thread | CLONE_NEWNET, 0, 0), ==, REFUSED(EPERM));
	CHECK_U64(ask(&f, SYS_kill, PID, 9, 0), ==, SECCOMP_RET_ALLOW);
	CHECK_U64(ask(&f, SYS_kill, PID + 1, 9, 0), ==, REFUSED(EPERM));
	CHECK_U64(ask(&f, SYS_kill, (uint32_t)-1, 9, 0), ==, REFUSED(EPERM));
	CHECK_U64(ask(&f, SYS_tgkill, PID, 1, 6), ==, SECCOMP_RET_ALLOW);
	CHECK_U64(ask(&f, SYS_tgkill, 1, PID, 6), ==, REFUSED(EPERM));
	CHECK_U64(ask(&f, SYS_prlimit64, 0, 7, 0), ==, SECCOMP_RET_ALLOW);
	CHECK_U64(ask(&f, SYS_prlimit64, 1, 7, 0), ==, REFUSED(EPERM));
	CHECK_U64(ask(&f, SYS_prctl, PR_SET_NAME, 0, 0), ==, SECCOMP_RET_ALLOW);
	CHECK_U64(ask(&f, SYS_prctl, PR_SET_SECCOMP, 2, 0), ==, REFUSED(EPERM));
	CHECK_U64(ask(&f, SYS_ioctl, 1, 0x5413, 0), ==, SECCOMP_RET_ALLOW);
	CHECK_U64(ask(&f, SYS_ioctl, 0, 0x5412, 0), ==, REFUSED(EPERM));
	/* the kernel, too, takes the low half alone */
	CHECK_U64(ask(&f, SYS_ioctl, 0, UINT64_C(1) << 32 | 0x5412, 0), ==, REFUSED(EPERM));
	CHECK_U64(ask(&f, SYS_fcntl, 3, F_DUPFD_CLOEXEC, 0), ==, SECCOMP_RET_ALLOW);
	CHECK_U64(ask(&f, SYS_fcntl, 3, F_SETOWN, 0), ==, REFUSED(EPERM));
}

TEST(filter_of_a_reader_opens_to_read_only_where_landlock_says_what)
{
	struct filter none = build((struct filter_opts){ .is_reader = true });
	struct filter f = build((struct filter_opts){ .is_reader = true, .may_open = true });
	static const uint64_t wrong[] = { O_WRONLY, O_RDWR,    O_CREAT, O_TRUNC,
					  O_APPEND, O_TMPFILE, O_PATH,	3 /* no access, ioctl */ };

	CHECK_U64(ask(&none, SYS_openat, 0, 0, O_RDONLY), ==, REFUSED(EACCES));
	CHECK_U64(ask(&f, SYS_openat, 0, 0, O_RDONLY | O_CLOEXEC), ==, SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		CHECK_U64(ask(&f, SYS_openat, 0, 0, wrong[i]), ==, REFUSED(EACCES));
	CHECK_U64(ask(&f, 437 /* openat2 */, 0, 0, O_RDONLY), ==, REFUSED(EACCES));
#ifdef __x86_64__
	CHECK_U64(ask(&f, SYS_open, 0, O_RDONLY, 0), ==, SECCOMP_RET_ALLOW);
	CHECK_U64(ask(&f, SYS_open, 0, O_WRONLY, 0), ==, REFUSED(EACCES));
	CHECK_U64(ask(&f, SYS_creat, 0, 0, 0), ==, REFUSED(EACCES));
#endif
}

TEST(filter_of_a_broker_or_worker_forbids_its_list_and_no_other_number)
{
	for (int i = 0; i < 8; i++) {
		struct filter_opts o = { .network = i & 1, .exec = i & 2, .changes = i & 4 };
		struct filter f = build(o);

		for (int nr = 0; nr < 600; nr++) {
			bool changes = !o.changes && is_always(&coati_calls_changes, nr);
			bool no = is_always(&coati_calls_forbidden, nr) ||
				  (!o.network && is_listed(&coati_calls_network, nr)) ||
				  (!o.exec && is_listed(&coati_calls_exec, nr));
			uint32_t want = no	  ? REFUSED(EPERM)
					: changes ? REFUSED(EACCES)
						  : SECCOMP_RET_ALLOW;

			CHECK_U64(ask(&f, nr, UINT64_MAX, UINT64_MAX, UINT64_MAX), ==, want);
		}
		CHECK_U64(ask(&f, SYS_ioctl, 0, 0x5412, 0), ==, REFUSED(EPERM));
		CHECK_U64(ask(&f, SYS_openat, 0, 0, O_RDONLY | O_NONBLOCK), ==, SECCOMP_RET_ALLOW);
		CHECK_U64(ask(&f, SYS_openat, 0, 0, O_PATH | O_NOFOLLOW), ==, SECCOMP_RET_ALLOW);
		CHECK_U64(ask(&f, SYS_openat, 0, 0, O_WRONLY), ==,
			  o.changes ? SECCOMP_RET_ALLOW : REFUSED(EACCES));
	}
}

TEST(filter_ends_a_process_that_makes_calls_of_another_cpu)
{
	struct filter f = build((struct filter_opts){ .is_reader = true });
	struct seccomp_data d = { .nr = SYS_read, .arch = AUDIT_ARCH_I386 };

	CHECK_U64(run(&f, &d), ==, SECCOMP_RET_KILL_PROCESS);
	d.arch = ARCH_HERE;
	CHECK_U64(run(&f, &d), ==, SECCOMP_RET_ALLOW);
#ifdef __x86_64__
	d.nr |= 0x40000000; /* x32 */
	CHECK_U64(run(&f, &d), ==, SECCOMP_RET_KILL_PROCESS);
	f = build((struct filter_opts){ 0 });
	CHECK_U64(run(&f, &d), ==, SECCOMP_RET_KILL_PROCESS);
#endif
}

TEST(filter_that_has_no_room_is_none)
{
	struct filter_opts o = { .is_reader = true, .may_open = true };
	struct sock_filter code[FILTER_MAX];
	size_t len = coati_filter_build(&o, code, FILTER_MAX);

	for (size_t cap = 0; cap < len; cap++)
		CHECK_INT(coati_filter_build(&o, code, cap), ==, 0);
	CHECK_INT(coati_filter_build(&o, code, len), ==, len);
}

/* Another call of the kernel says the same. */
TEST(filter_probe_says_whether_the_kernel_takes_filters)
{
	bool takes = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) < 0 && errno == EFAULT;

	CHECK_INT(coati_filter_probe() == 0, ==, takes);
}
