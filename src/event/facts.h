/* SPDX-License-Identifier: MIT */
/*
 * What this machine allows us, as far as an error message needs it. In: small files of /proc and
 * /sys. Out: plain values; what cannot be read is unknown (COATI_HOST_UNKNOWN, "" or false).
 * Reading changes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/abi.h>

#include "event/host.h"

#define FACT_CAP_SYS_PTRACE 19
#define FACT_CAP_SYS_ADMIN  21
#define FACT_CAP_PERFMON    38 /* 5.8 */
#define FACT_CAP_BPF	    39 /* 5.8 */

/* A smaller request that was tried to find the reason: 0 it opens, negative errno, or: */
#define FACT_NOT_TRIED 1

struct facts {
	int64_t paranoid, max_sample_rate, max_stack;
	uint64_t caps;
	int64_t uid;
	bool user_namespace;
	int64_t seccomp;
	int64_t lockdown; /* 0 none, 1 integrity, 2 confidentiality */
	char container[64];
	char program[256]; /* our own path, for setcap */
	uint64_t nofile_soft, nofile_hard;
	/* about one request */
	int64_t target_uid; /* -1: the process is not there */
	int64_t nr_cpus;    /* possible */
	bool core_pmu;	    /* the CPU has counters that the kernel knows */
	char pmu[64];	    /* name of the dynamic PMU with attr.type */
	int plain;	    /* the smallest event there is: dummy, user space, ourselves */
	int ungrouped;	    /* the same request alone */
	int inherited_read; /* a dummy that is inherited and has its count in samples (6.13) */
};

/* Everything but what is about one request. */
void coati_facts_read(struct facts *ret);
/* The owner of process @pid; -1: it has ended. */
int64_t coati_facts_uid_of(int32_t pid);
/* Name of the PMU with number @type into @buf; "" when there is none. */
void coati_facts_pmu_name(uint32_t type, char *buf, size_t size);
/* Whether sysfs shows a PMU of the CPU cores. */
bool coati_facts_core_pmu(void);
/* CPUs that this machine may have, 0 when unknown. */
int64_t coati_facts_nr_cpus(const char *which);
/* kernel.NAME as a number, or COATI_HOST_UNKNOWN. */
int64_t coati_facts_sysctl(const char *name);

static inline bool facts_capable(const struct facts *f, int cap)
{
	return f->caps >> cap & 1;
}
