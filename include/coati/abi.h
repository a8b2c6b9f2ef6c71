/* SPDX-License-Identifier: MIT */
/*
 * The perf_event interface of the kernel, as of Linux 6.18 and a little beyond, declared by coati
 * itself: the attribute struct, its bits and its constants. The kernel headers of the build machine
 * are often older than the running kernel, so nothing here depends on them.
 *
 * Where the kernel has bit fields, coati has one word and masks; the layout is the same.
 */
#ifndef COATI_ABI_H
#define COATI_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The attributes of perf_event_open(2). Zero the struct, then set the fields that you need; coati
 * fills in size. Frozen: fields of later kernels will get a new struct. */
struct coati_attr {
	uint32_t type;		     /* COATI_TYPE_*, or the number of a dynamic PMU */
	uint32_t size;		     /* filled in by coati_event_open() */
	uint64_t config;	     /* COATI_HW_*, COATI_SW_*, tracepoint id, raw encoding ... */
	uint64_t sample_period;	     /* or Hz, with COATI_ATTR_FREQ */
	uint64_t sample_type;	     /* COATI_SAMPLE_* */
	uint64_t read_format;	     /* COATI_READ_* */
	uint64_t flags;		     /* COATI_ATTR_* */
	uint32_t wakeup;	     /* events, or bytes with COATI_ATTR_WATERMARK */
	uint32_t bp_type;	     /* COATI_BP_* */
	uint64_t config1;	     /* breakpoint address, probe path or function */
	uint64_t config2;	     /* breakpoint length, probe offset or address */
	uint64_t branch_sample_type; /* COATI_BRANCH_* */
	uint64_t sample_regs_user;   /* register mask */
	uint32_t sample_stack_user;  /* bytes, multiple of 8, below 65536 */
	int32_t clockid;	     /* with COATI_ATTR_USE_CLOCKID */
	uint64_t sample_regs_intr;
	uint32_t aux_watermark;
	uint16_t sample_max_stack; /* 0: the sysctl's default */
	uint16_t reserved_2;
	uint32_t aux_sample_size;
	uint32_t aux_action; /* COATI_AUX_*; 6.13 */
	uint64_t sig_data;   /* cookie for sigtrap; 5.13 */
	uint64_t config3;    /* 6.3 */
	uint64_t config4;    /* after 6.18 */
};

#define COATI_ATTR_SIZE_VER0 64	 /* the smallest size that a kernel accepts */
#define COATI_ATTR_SIZE_618  136 /* Linux 6.18 */

/* attr.type */
#define COATI_TYPE_HARDWARE   0
#define COATI_TYPE_SOFTWARE   1
#define COATI_TYPE_TRACEPOINT 2
#define COATI_TYPE_HW_CACHE   3
#define COATI_TYPE_RAW	      4
#define COATI_TYPE_BREAKPOINT 5

/* attr.config of COATI_TYPE_HARDWARE */
#define COATI_HW_CPU_CYCLES		 0
#define COATI_HW_INSTRUCTIONS		 1
#define COATI_HW_CACHE_REFERENCES	 2
#define COATI_HW_CACHE_MISSES		 3
#define COATI_HW_BRANCH_INSTRUCTIONS	 4
#define COATI_HW_BRANCH_MISSES		 5
#define COATI_HW_BUS_CYCLES		 6
#define COATI_HW_STALLED_CYCLES_FRONTEND 7
#define COATI_HW_STALLED_CYCLES_BACKEND	 8
#define COATI_HW_REF_CPU_CYCLES		 9

/* attr.config of COATI_TYPE_SOFTWARE */
#define COATI_SW_CPU_CLOCK	  0
#define COATI_SW_TASK_CLOCK	  1
#define COATI_SW_PAGE_FAULTS	  2
#define COATI_SW_CONTEXT_SWITCHES 3
#define COATI_SW_CPU_MIGRATIONS	  4
#define COATI_SW_PAGE_FAULTS_MIN  5
#define COATI_SW_PAGE_FAULTS_MAJ  6
#define COATI_SW_ALIGNMENT_FAULTS 7
#define COATI_SW_EMULATION_FAULTS 8
#define COATI_SW_DUMMY		  9
#define COATI_SW_BPF_OUTPUT	  10
#define COATI_SW_CGROUP_SWITCHES  11 /* 5.13 */

/* attr.config of COATI_TYPE_HW_CACHE: COATI_CACHE(cache, op, result) */
#define COATI_CACHE_L1D		  0
#define COATI_CACHE_L1I		  1
#define COATI_CACHE_LL		  2
#define COATI_CACHE_DTLB	  3
#define COATI_CACHE_ITLB	  4
#define COATI_CACHE_BPU		  5
#define COATI_CACHE_NODE	  6
#define COATI_CACHE_OP_READ	  0
#define COATI_CACHE_OP_WRITE	  1
#define COATI_CACHE_OP_PREFETCH	  2
#define COATI_CACHE_RESULT_ACCESS 0
#define COATI_CACHE_RESULT_MISS	  1
#define COATI_CACHE(cache, op, res) \
	((uint64_t)(cache) | (uint64_t)(op) << 8 | (uint64_t)(res) << 16)

/* attr.bp_type */
#define COATI_BP_R  1
#define COATI_BP_W  2
#define COATI_BP_RW 3
#define COATI_BP_X  4

/* attr.flags */
#define COATI_ATTR_DISABLED		    (UINT64_C(1) << 0)
#define COATI_ATTR_INHERIT		    (UINT64_C(1) << 1)
#define COATI_ATTR_PINNED		    (UINT64_C(1) << 2)
#define COATI_ATTR_EXCLUSIVE		    (UINT64_C(1) << 3)
#define COATI_ATTR_EXCLUDE_USER		    (UINT64_C(1) << 4)
#define COATI_ATTR_EXCLUDE_KERNEL	    (UINT64_C(1) << 5)
#define COATI_ATTR_EXCLUDE_HV		    (UINT64_C(1) << 6)
#define COATI_ATTR_EXCLUDE_IDLE		    (UINT64_C(1) << 7)
#define COATI_ATTR_MMAP			    (UINT64_C(1) << 8)
#define COATI_ATTR_COMM			    (UINT64_C(1) << 9)
#define COATI_ATTR_FREQ			    (UINT64_C(1) << 10)
#define COATI_ATTR_INHERIT_STAT		    (UINT64_C(1) << 11)
#define COATI_ATTR_ENABLE_ON_EXEC	    (UINT64_C(1) << 12)
#define COATI_ATTR_TASK			    (UINT64_C(1) << 13)
#define COATI_ATTR_WATERMARK		    (UINT64_C(1) << 14)
#define COATI_ATTR_PRECISE_SHIFT	    15 /* two bits: skid 0 any .. 3 none */
#define COATI_ATTR_PRECISE_MASK		    (UINT64_C(3) << 15)
#define COATI_ATTR_MMAP_DATA		    (UINT64_C(1) << 17)
#define COATI_ATTR_SAMPLE_ID_ALL	    (UINT64_C(1) << 18)
#define COATI_ATTR_EXCLUDE_HOST		    (UINT64_C(1) << 19)
#define COATI_ATTR_EXCLUDE_GUEST	    (UINT64_C(1) << 20)
#define COATI_ATTR_EXCLUDE_CALLCHAIN_KERNEL (UINT64_C(1) << 21)
#define COATI_ATTR_EXCLUDE_CALLCHAIN_USER   (UINT64_C(1) << 22)
#define COATI_ATTR_MMAP2		    (UINT64_C(1) << 23)
#define COATI_ATTR_COMM_EXEC		    (UINT64_C(1) << 24)
#define COATI_ATTR_USE_CLOCKID		    (UINT64_C(1) << 25)
#define COATI_ATTR_CONTEXT_SWITCH	    (UINT64_C(1) << 26)
#define COATI_ATTR_WRITE_BACKWARD	    (UINT64_C(1) << 27)
#define COATI_ATTR_NAMESPACES		    (UINT64_C(1) << 28)
#define COATI_ATTR_KSYMBOL		    (UINT64_C(1) << 29)
#define COATI_ATTR_BPF_EVENT		    (UINT64_C(1) << 30)
#define COATI_ATTR_AUX_OUTPUT		    (UINT64_C(1) << 31) /* 5.4 */
#define COATI_ATTR_CGROUP		    (UINT64_C(1) << 32) /* 5.7 */
#define COATI_ATTR_TEXT_POKE		    (UINT64_C(1) << 33) /* 5.9 */
#define COATI_ATTR_BUILD_ID		    (UINT64_C(1) << 34) /* 5.12 */
#define COATI_ATTR_INHERIT_THREAD	    (UINT64_C(1) << 35) /* 5.13 */
#define COATI_ATTR_REMOVE_ON_EXEC	    (UINT64_C(1) << 36) /* 5.13 */
#define COATI_ATTR_SIGTRAP		    (UINT64_C(1) << 37) /* 5.13 */
#define COATI_ATTR_DEFER_CALLCHAIN	    (UINT64_C(1) << 38) /* 6.19 */
#define COATI_ATTR_DEFER_OUTPUT		    (UINT64_C(1) << 39) /* 6.19 */

#define COATI_ATTR_PRECISE(n) \
	(((uint64_t)(n) << COATI_ATTR_PRECISE_SHIFT) & COATI_ATTR_PRECISE_MASK)

/* attr.sample_type, in bit order (the order inside a record differs, see record.h) */
#define COATI_SAMPLE_IP		    (UINT64_C(1) << 0)
#define COATI_SAMPLE_TID	    (UINT64_C(1) << 1)
#define COATI_SAMPLE_TIME	    (UINT64_C(1) << 2)
#define COATI_SAMPLE_ADDR	    (UINT64_C(1) << 3)
#define COATI_SAMPLE_READ	    (UINT64_C(1) << 4)
#define COATI_SAMPLE_CALLCHAIN	    (UINT64_C(1) << 5)
#define COATI_SAMPLE_ID		    (UINT64_C(1) << 6)
#define COATI_SAMPLE_CPU	    (UINT64_C(1) << 7)
#define COATI_SAMPLE_PERIOD	    (UINT64_C(1) << 8)
#define COATI_SAMPLE_STREAM_ID	    (UINT64_C(1) << 9)
#define COATI_SAMPLE_RAW	    (UINT64_C(1) << 10)
#define COATI_SAMPLE_BRANCH_STACK   (UINT64_C(1) << 11)
#define COATI_SAMPLE_REGS_USER	    (UINT64_C(1) << 12)
#define COATI_SAMPLE_STACK_USER	    (UINT64_C(1) << 13)
#define COATI_SAMPLE_WEIGHT	    (UINT64_C(1) << 14)
#define COATI_SAMPLE_DATA_SRC	    (UINT64_C(1) << 15)
#define COATI_SAMPLE_IDENTIFIER	    (UINT64_C(1) << 16)
#define COATI_SAMPLE_TRANSACTION    (UINT64_C(1) << 17)
#define COATI_SAMPLE_REGS_INTR	    (UINT64_C(1) << 18)
#define COATI_SAMPLE_PHYS_ADDR	    (UINT64_C(1) << 19)
#define COATI_SAMPLE_AUX	    (UINT64_C(1) << 20)
#define COATI_SAMPLE_CGROUP	    (UINT64_C(1) << 21)
#define COATI_SAMPLE_DATA_PAGE_SIZE (UINT64_C(1) << 22)
#define COATI_SAMPLE_CODE_PAGE_SIZE (UINT64_C(1) << 23)
#define COATI_SAMPLE_WEIGHT_STRUCT  (UINT64_C(1) << 24)

/* attr.read_format */
#define COATI_READ_ENABLED (UINT64_C(1) << 0)
#define COATI_READ_RUNNING (UINT64_C(1) << 1)
#define COATI_READ_ID	   (UINT64_C(1) << 2)
#define COATI_READ_GROUP   (UINT64_C(1) << 3)
#define COATI_READ_LOST	   (UINT64_C(1) << 4) /* 6.0 */

/* attr.branch_sample_type */
#define COATI_BRANCH_USER	(UINT64_C(1) << 0)
#define COATI_BRANCH_KERNEL	(UINT64_C(1) << 1)
#define COATI_BRANCH_HV		(UINT64_C(1) << 2)
#define COATI_BRANCH_ANY	(UINT64_C(1) << 3)
#define COATI_BRANCH_ANY_CALL	(UINT64_C(1) << 4)
#define COATI_BRANCH_ANY_RETURN (UINT64_C(1) << 5)
#define COATI_BRANCH_IND_CALL	(UINT64_C(1) << 6)
#define COATI_BRANCH_ABORT_TX	(UINT64_C(1) << 7)
#define COATI_BRANCH_IN_TX	(UINT64_C(1) << 8)
#define COATI_BRANCH_NO_TX	(UINT64_C(1) << 9)
#define COATI_BRANCH_COND	(UINT64_C(1) << 10)
#define COATI_BRANCH_CALL_STACK (UINT64_C(1) << 11)
#define COATI_BRANCH_IND_JUMP	(UINT64_C(1) << 12)
#define COATI_BRANCH_CALL	(UINT64_C(1) << 13)
#define COATI_BRANCH_NO_FLAGS	(UINT64_C(1) << 14)
#define COATI_BRANCH_NO_CYCLES	(UINT64_C(1) << 15)
#define COATI_BRANCH_TYPE_SAVE	(UINT64_C(1) << 16)
#define COATI_BRANCH_HW_INDEX	(UINT64_C(1) << 17)
#define COATI_BRANCH_PRIV_SAVE	(UINT64_C(1) << 18)
#define COATI_BRANCH_COUNTERS	(UINT64_C(1) << 19)

/* attr.aux_action */
#define COATI_AUX_START_PAUSED 1
#define COATI_AUX_PAUSE	       2
#define COATI_AUX_RESUME       4

/* flags of the perf_event_open call */
#define COATI_OPEN_NO_GROUP 1
#define COATI_OPEN_OUTPUT   2
#define COATI_OPEN_CGROUP   4
#define COATI_OPEN_CLOEXEC  8

/* First page of a mapped event, shared with the kernel. Read it through the functions of event.h
 * and ring.h, which keep the order that the protocol requires. Frozen. */
struct coati_control_page {
	uint32_t version, compat_version;
	uint32_t lock;
	uint32_t index;
	int64_t offset;
	uint64_t time_enabled, time_running;
	uint64_t capabilities;
	uint16_t pmc_width, time_shift;
	uint32_t time_mult;
	uint64_t time_offset, time_zero;
	uint32_t size, reserved_1;
	uint64_t time_cycles, time_mask;
	uint8_t reserved_2[928];
	uint64_t data_head, data_tail, data_offset, data_size;
	uint64_t aux_head, aux_tail, aux_offset, aux_size;
};

/* capabilities of the control page */
#define COATI_CAP_USER_RDPMC	  (UINT64_C(1) << 2)
#define COATI_CAP_USER_TIME	  (UINT64_C(1) << 3)
#define COATI_CAP_USER_TIME_ZERO  (UINT64_C(1) << 4)
#define COATI_CAP_USER_TIME_SHORT (UINT64_C(1) << 5)

#ifdef __cplusplus
}
#endif
#endif
