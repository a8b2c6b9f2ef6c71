/* SPDX-License-Identifier: MIT */
/* see filter-calls.h */
#include "sandbox/filter-calls.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef __x86_64__
#define NR_RSEQ 334
#else
#define NR_RSEQ 293
#endif
/* since 5.1 all CPUs have the same numbers for new calls */
#define NR_PIDFD_GETFD	 438
#define NR_CLOSE_RANGE	 436
#define NR_OPENAT2	 437
#define NR_FACCESSAT2	 439
#define NR_MOUNT_SETATTR 442
#define NR_FUTEX_WAITV	 449
#define NR_FCHMODAT2	 452
#define NR_OPEN_TREE	 428
#define NR_MOVE_MOUNT	 429
#define NR_FSOPEN	 430
#define NR_FSCONFIG	 431
#define NR_FSMOUNT	 432
#define NR_FSPICK	 433
#define NR_URING_SETUP	 425
#define NR_URING_ENTER	 426
#define NR_URING_REGIST	 427

#define CALL(name)               \
	{                        \
		.nr = SYS_##name \
	}
#define NUMBER(name)            \
	{                       \
		.nr = NR_##name \
	}
#define MASKED(name, a, m, v)                                                             \
	{                                                                                 \
		.nr = SYS_##name, .when = CALL_MASKED, .arg = (a), .mask = (uint32_t)(m), \
		.value = (v)                                                              \
	}
#define EQUAL(name, a, v) MASKED(name, a, UINT32_MAX, v)
#define OWN(name, a)                                           \
	{                                                      \
		.nr = SYS_##name, .when = CALL_OWN, .arg = (a) \
	}
#define LIST(v)                               \
	{                                     \
		v, sizeof(v) / sizeof((v)[0]) \
	}

/* A new thread of this process, and no new namespace. */
#define THREAD_FLAGS (CLONE_VM | CLONE_SIGHAND | CLONE_THREAD)
#define NAMESPACE_FLAGS                                                                        \
	(0x80u | CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)

/* Of ioctl(): what tells about a terminal, a pipe and a file, and changes nothing. */
#define TELL_TERMINAL	0x5401u
#define TELL_TERMINAL_2 0x802c542au
#define TELL_WINDOW	0x5413u
#define TELL_BYTES	0x541bu
#define TELL_VERSION	0x80087601u
/* Typing for the user, and pasting. */
#define TYPE_FOR_USER  0x5412u
#define PASTE_FOR_USER 0x541cu

#define NAME_MEMORY 0x53564d41u /* PR_SET_VMA of newer C libraries */

/* Bits of open() beside which nothing may be set. */
#define OPEN_HARMLESS \
	(O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW | O_DIRECTORY | 0100000 /* large */)

static const struct call_rule reader[] = {
	CALL(read),
	CALL(pread64),
	CALL(write),
	CALL(futex),
	CALL(madvise),
	CALL(mmap),
	CALL(munmap),
	CALL(mprotect),
	CALL(mremap),
	CALL(brk),
	CALL(lseek),
	CALL(close),
	CALL(fstat),
	CALL(newfstatat),
	CALL(recvmsg),
	CALL(sendmsg),
	CALL(pwrite64),
	CALL(readv),
	CALL(writev),
	CALL(preadv),
	CALL(pwritev),
	CALL(clock_gettime),
	CALL(clock_getres),
	CALL(clock_nanosleep),
	CALL(nanosleep),
	CALL(gettimeofday),
	CALL(sched_yield),
	CALL(sched_getaffinity),
	CALL(getcpu),
	CALL(getrandom),
	CALL(membarrier),
	CALL(rt_sigaction),
	CALL(rt_sigprocmask),
	CALL(rt_sigreturn),
	CALL(sigaltstack),
	CALL(restart_syscall),
	CALL(exit),
	CALL(exit_group),
	CALL(set_robust_list),
	CALL(set_tid_address),
	CALL(statx),
	CALL(statfs),
	CALL(fstatfs),
	CALL(faccessat),
	CALL(readlinkat),
	CALL(getdents64),
	CALL(getcwd),
	CALL(dup),
	CALL(dup3),
	CALL(ppoll),
	CALL(pselect6),
	CALL(fsync),
	CALL(fdatasync),
	CALL(ftruncate),
	CALL(fallocate),
	CALL(fadvise64),
	CALL(memfd_create),
	CALL(msync),
	CALL(getpid),
	CALL(getppid),
	CALL(gettid),
	CALL(getuid),
	CALL(geteuid),
	CALL(getgid),
	CALL(getegid),
	CALL(getgroups),
	CALL(getpgid),
	CALL(getrusage),
	CALL(times),
	CALL(sysinfo),
	CALL(uname),
	CALL(wait4),
	CALL(waitid),
	NUMBER(RSEQ),
	NUMBER(CLOSE_RANGE),
	NUMBER(FACCESSAT2),
	NUMBER(FUTEX_WAITV),
	EQUAL(fcntl, 1, F_DUPFD),
	EQUAL(fcntl, 1, F_DUPFD_CLOEXEC),
	EQUAL(fcntl, 1, F_GETFD),
	EQUAL(fcntl, 1, F_SETFD),
	EQUAL(fcntl, 1, F_GETFL),
	EQUAL(fcntl, 1, F_SETFL),
	EQUAL(fcntl, 1, F_OFD_GETLK),
	EQUAL(fcntl, 1, F_GET_SEALS),
	EQUAL(ioctl, 1, TELL_TERMINAL),
	EQUAL(ioctl, 1, TELL_TERMINAL_2),
	EQUAL(ioctl, 1, TELL_WINDOW),
	EQUAL(ioctl, 1, TELL_BYTES),
	EQUAL(ioctl, 1, TELL_VERSION),
	EQUAL(prctl, 0, PR_SET_NAME),
	EQUAL(prctl, 0, PR_GET_NAME),
	EQUAL(prctl, 0, NAME_MEMORY),
	EQUAL(prlimit64, 0, 0),
	MASKED(clone, 0, THREAD_FLAGS | NAMESPACE_FLAGS, THREAD_FLAGS),
	OWN(kill, 0),
	OWN(tgkill, 0),
#ifdef __x86_64__ /* older names of the same */
	CALL(stat),
	CALL(lstat),
	CALL(access),
	CALL(readlink),
	CALL(dup2),
	CALL(poll),
	CALL(select),
	CALL(time),
	CALL(getpgrp),
	CALL(getrlimit),
	CALL(setrlimit),
#endif
};
const struct call_list coati_calls_reader = LIST(reader);

static const struct call_rule serve[] = {
	{ .nr = SYS_accept4, .when = CALL_SERVER, .arg = 0 },
};
const struct call_list coati_calls_serve = LIST(serve);

static const struct call_rule open_to_read[] = {
	MASKED(openat, 2, ~(uint32_t)OPEN_HARMLESS, 0),
#ifdef __x86_64__
	MASKED(open, 1, ~(uint32_t)OPEN_HARMLESS, 0),
#endif
};
const struct call_list coati_calls_open = LIST(open_to_read);

static const struct call_rule any_open[] = {
	CALL(openat),
	NUMBER(OPENAT2),
#ifdef __x86_64__
	CALL(open),
	CALL(creat),
#endif
};
const struct call_list coati_calls_any_open = LIST(any_open);

static const struct call_rule place[] = {
	MASKED(openat, 2, ~(uint32_t)(OPEN_HARMLESS | O_PATH), 0),
#ifdef __x86_64__
	MASKED(open, 1, ~(uint32_t)(OPEN_HARMLESS | O_PATH), 0),
#endif
};
const struct call_list coati_calls_place = LIST(place);

static const struct call_rule changes[] = {
	CALL(openat),	 CALL(renameat2),   CALL(linkat),	CALL(symlinkat),    CALL(unlinkat),
	CALL(mkdirat),	 CALL(truncate),    CALL(fchmodat),	NUMBER(FCHMODAT2),  CALL(fchmod),
	CALL(fchownat),	 CALL(fchown),	    CALL(setxattr),	CALL(lsetxattr),    CALL(fsetxattr),
	CALL(utimensat), CALL(removexattr), CALL(lremovexattr), CALL(fremovexattr),
#ifdef SYS_renameat
	CALL(renameat),
#endif
#ifdef __x86_64__
	CALL(open),	 CALL(creat),	    CALL(rename),	CALL(link),	    CALL(symlink),
	CALL(unlink),	 CALL(mkdir),	    CALL(rmdir),	CALL(chmod),	    CALL(chown),
	CALL(lchown),	 CALL(utime),	    CALL(utimes),	CALL(futimesat),
#endif
};
const struct call_list coati_calls_changes = LIST(changes);

static const struct call_rule forbidden[] = {
	CALL(ptrace),
	CALL(process_vm_readv),
	CALL(process_vm_writev),
	CALL(kcmp),
	NUMBER(PIDFD_GETFD),
	CALL(bpf),
	CALL(perf_event_open),
	CALL(userfaultfd),
	NUMBER(URING_SETUP),
	NUMBER(URING_ENTER),
	NUMBER(URING_REGIST),
	CALL(mount),
	CALL(umount2),
	CALL(pivot_root),
	CALL(chroot),
	NUMBER(OPEN_TREE),
	NUMBER(MOVE_MOUNT),
	NUMBER(FSOPEN),
	NUMBER(FSCONFIG),
	NUMBER(FSMOUNT),
	NUMBER(FSPICK),
	NUMBER(MOUNT_SETATTR),
	CALL(setns),
	CALL(unshare),
	CALL(mknodat),
	CALL(name_to_handle_at),
	CALL(open_by_handle_at),
	CALL(fanotify_init),
	CALL(init_module),
	CALL(finit_module),
	CALL(delete_module),
	CALL(kexec_load),
	CALL(reboot),
	CALL(swapon),
	CALL(swapoff),
	CALL(acct),
	CALL(quotactl),
	CALL(settimeofday),
	CALL(clock_settime),
	CALL(clock_adjtime),
	CALL(adjtimex),
	CALL(sethostname),
	CALL(setdomainname),
	CALL(syslog),
	CALL(vhangup),
	CALL(personality),
	CALL(add_key),
	CALL(request_key),
	CALL(keyctl),
	EQUAL(ioctl, 1, TYPE_FOR_USER),
	EQUAL(ioctl, 1, PASTE_FOR_USER),
#ifdef __x86_64__
	CALL(mknod),
	CALL(iopl),
	CALL(ioperm),
	CALL(modify_ldt),
	CALL(kexec_file_load),
#endif
};
const struct call_list coati_calls_forbidden = LIST(forbidden);

/* socketpair() is not among them: no other process is at its other end. */
static const struct call_rule network[] = {
	CALL(socket), CALL(connect), CALL(bind), CALL(listen), CALL(accept), CALL(accept4),
};
const struct call_list coati_calls_network = LIST(network);

static const struct call_rule exec[] = { CALL(execve), CALL(execveat) };
const struct call_list coati_calls_exec = LIST(exec);
