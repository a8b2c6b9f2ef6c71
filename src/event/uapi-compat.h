/* SPDX-License-Identifier: MIT */
/*
 * The calls and numbers of the kernel that the event stage uses beside <coati/abi.h>. Headers of
 * the build machine are often older than the kernel that runs, so <linux/perf_event.h> is not used;
 * each number that a libc may lack names the kernel that brought it.
 */
#pragma once

#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coati/abi.h>

#define PERF_IOC_ENABLE		   _IO('$', 0)
#define PERF_IOC_DISABLE	   _IO('$', 1)
#define PERF_IOC_REFRESH	   _IO('$', 2)
#define PERF_IOC_RESET		   _IO('$', 3)
#define PERF_IOC_PERIOD		   _IOW('$', 4, uint64_t)
#define PERF_IOC_SET_OUTPUT	   _IO('$', 5)
#define PERF_IOC_SET_FILTER	   _IOW('$', 6, char *)
#define PERF_IOC_ID		   _IOR('$', 7, uint64_t *)
#define PERF_IOC_SET_BPF	   _IOW('$', 8, uint32_t)	      /* 4.1 */
#define PERF_IOC_PAUSE_OUTPUT	   _IOW('$', 9, uint32_t)	      /* 4.7 */
#define PERF_IOC_QUERY_BPF	   _IOWR('$', 10, void *)	      /* 4.16 */
#define PERF_IOC_MODIFY_ATTRIBUTES _IOW('$', 11, struct coati_attr *) /* 4.17 */

/* Argument of enable, disable and reset: the whole group. */
#define PERF_IOC_GROUP 1

/* What PERF_IOC_QUERY_BPF takes, with room for the most programs that the kernel lets attach to one
 * tracepoint. */
#define PERF_BPF_PROGS_MAX 64
struct perf_query_bpf {
	uint32_t ids_len;
	uint32_t prog_cnt;
	uint32_t ids[PERF_BPF_PROGS_MAX];
};

/* si_code of a SIGTRAP sent by an event: 5.13; the asynchronous flag: 6.0 */
#define PERF_TRAP_CODE 6

#ifndef SYS_perf_event_open
#error "this architecture has no perf_event_open number in its libc"
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424 /* 5.1 */
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* 5.3 */
#endif

/* -1 and errno, as the kernel gives it. */
static inline int perf_event_open(struct coati_attr *attr, int32_t pid, int32_t cpu, int group_fd,
				  uint32_t flags)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, (unsigned long)flags);
}

static inline int pidfd_open_compat(int32_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0u);
}

static inline int pidfd_send_signal_compat(int pidfd, int signal_number)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, signal_number, NULL, 0u);
}
