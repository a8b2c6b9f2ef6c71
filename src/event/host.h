/* SPDX-License-Identifier: MIT */
/*
 * What this machine allows: the facts behind `coati doctor` and behind the remedies in error
 * messages. Reading them changes nothing. A fact that could not be read has the value that its
 * comment names.
 */
#pragma once

#include <stdint.h>

#define COATI_HOST_UNKNOWN INT64_MIN

struct coati_host {
	char kernel[128]; /* "6.18.44 x86_64" */
	int64_t paranoid; /* kernel.perf_event_paranoid; UNKNOWN: no perf events */
	int64_t kptr_restrict;
	int64_t max_sample_rate;
	int64_t max_stack;
	int64_t mlock_kb;      /* per CPU, kernel.perf_event_mlock_kb */
	int64_t memlock_bytes; /* RLIMIT_MEMLOCK; -1 unlimited */
	int64_t cpu_time_max_percent;
	int64_t nr_cpus_online, nr_cpus_possible;
	uint64_t caps_effective;  /* bit per CAP_* */
	int64_t seccomp;	  /* 0 off, 1 strict, 2 filter */
	int64_t container;	  /* 1: hints of a container */
	char container_hint[64];  /* "docker", "podman", "cgroup", "" */
	int64_t uid;		  /* effective */
	int64_t user_namespace;	  /* 1: not the initial one, capabilities do not count for perf */
	char tracefs[128];	  /* "" when not mounted */
	int64_t tracefs_readable; /* 1 events/ can be read */
	int64_t has_pmu;	  /* 1: hardware cycles open for own processes */
	char pmus[256];		  /* names, blank between */
	int64_t kprobes, uprobes; /* dynamic PMU there */
	int64_t bpf;		  /* 1 allowed, 0 not allowed to us, -1 not in the kernel */
	int64_t unprivileged_bpf; /* sysctl kernel.unprivileged_bpf_disabled */
	int64_t btf;		  /* /sys/kernel/btf/vmlinux is there */
	int64_t kallsyms;	  /* 1 addresses shown, 0 hidden */
	char clocksource[32];
	int64_t cycles_invariant; /* cycle counter: constant rate and never stops */
	int64_t cycles_hz;	  /* measured */
	int64_t lsm_lockdown;	  /* 0 none, 1 integrity, 2 confidentiality */
	int64_t yama_ptrace;	  /* kernel.yama.ptrace_scope */
	int64_t software_self; /* 0: a software event on ourselves opens; else the negative errno */
	int64_t software_self_kernel; /* the same with the kernel part */
	int64_t software_cpu;	      /* the same on all of CPU 0 */
	int64_t tracepoint_raw;	      /* the same for a tracepoint with its payload */
	int64_t attr_size;	      /* of the kernel, found by the size handshake */
};

/* Fill @ret. Never fails: what cannot be read is unknown. */
void coati_host_read(struct coati_host *ret);
