/* SPDX-License-Identifier: MIT */
/*
 * One open event, as the files of this directory share it.
 *
 * Invariants: fd >= 0 from a successful open to the close. A follower is in the list of its leader,
 * in the order of opening, from open to close; a leader that is closed first lets its followers go
 * (leader = NULL), as the kernel does. `running` is a bound, not a fact: false means that the
 * kernel was not asked to let the event count. A function that changes what an event shows calls
 * event_touch(), so that the next measurement does not build on what the last one saw.
 */
#pragma once

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include <coati/event.h>

#include "event/calls.h"

/* What had to be left out so that the kernel would take the event. Where the kernel or a sysctl
 * names the cause, exactly that is changed: CONFIG34, SIG_DATA (attribute too long for this
 * kernel), MAX_STACK, FREQ, KERNEL. After an EINVAL without a cause the others are left out in this
 * order until it opens, and given back as far as possible. */
#define COATI_DROP_CLOEXEC    (UINT32_C(1) << 0) /* set by hand instead */
#define COATI_DROP_CONFIG34   (UINT32_C(1) << 1) /* config3, config4 */
#define COATI_DROP_SIG_DATA   (UINT32_C(1) << 2)
#define COATI_DROP_AUX	      (UINT32_C(1) << 3) /* aux_action, aux_sample_size */
#define COATI_DROP_DEFER      (UINT32_C(1) << 4)
#define COATI_DROP_LOST	      (UINT32_C(1) << 5) /* read format LOST */
#define COATI_DROP_BUILD_ID   (UINT32_C(1) << 6)
#define COATI_DROP_THREAD     (UINT32_C(1) << 7) /* inherit_thread */
#define COATI_DROP_TEXT_POKE  (UINT32_C(1) << 8)
#define COATI_DROP_CGROUP     (UINT32_C(1) << 9)  /* cgroup records and sample field */
#define COATI_DROP_PAGE_SIZE  (UINT32_C(1) << 10) /* data and code page size in samples */
#define COATI_DROP_WEIGHT     (UINT32_C(1) << 11) /* WEIGHT_STRUCT, replaced by WEIGHT */
#define COATI_DROP_BPF_EVENT  (UINT32_C(1) << 12) /* ksymbol, bpf_event */
#define COATI_DROP_NAMESPACES (UINT32_C(1) << 13)
#define COATI_DROP_CLOCKID    (UINT32_C(1) << 14)
#define COATI_DROP_GUEST      (UINT32_C(1) << 15) /* exclude_host, exclude_guest */
#define COATI_DROP_PRECISE    (UINT32_C(1) << 16) /* precise_ip lowered */
/* user space only: the kernel part is not allowed */
#define COATI_DROP_KERNEL    (UINT32_C(1) << 17)
#define COATI_DROP_MAX_STACK (UINT32_C(1) << 18) /* sample_max_stack lowered to the sysctl */
#define COATI_DROP_FREQ	     (UINT32_C(1) << 19) /* frequency lowered to the sysctl */
#define COATI_DROP_GROUP     (UINT32_C(1) << 20) /* a weak group (:W) was broken up: sets only */

/* COATI_DROP_* bits of what negotiation left out. */
uint32_t coati_event_dropped(const struct coati_event *ev);

/* New sampling period, or frequency for a frequency event. */
int coati_event_set_period(struct coati_event *ev, uint64_t period);

/* The usual name of what @attr counts ("page-faults"), or NULL when it has none (tracepoints, raw,
 * PMUs). Thread: any.  Memory: never allocates. */
const char *coati_attr_name(const struct coati_attr *attr);

const char *coati_event_label(const struct coati_event *ev);

/* "text_poke records, the kernel part" for @dropped into @buf; cut when it does not fit, always
 * terminated. Returns @buf. */
const char *coati_dropped_format(uint32_t dropped, char *buf, size_t size);

/* Read leader and followers at once, in the order in which they were opened; needs COATI_READ_GROUP
 * on the leader. At most @max entries are stored, *ret_nr is how many there are. Labels are matched
 * by id, so a closed follower does not shift them. */
int coati_event_read_group(struct coati_event *leader, struct coati_count *ret, uint32_t max,
			   uint32_t *ret_nr);

/* Map the control page, so that coati_event_read_fast() can read the counter without a system call.
 * 0 also when the kernel offers no such access: then read_fast falls back to coati_event_read(). */
int coati_event_map_counter(struct coati_event *ev, struct coati_error *err);

/* Sets the value to zero; the times run on. */
int coati_event_reset(struct coati_event *ev);

/* Enable for @n more overflows (at least 1), then the kernel disables it. */
int coati_event_refresh(struct coati_event *ev, uint32_t n);

/* Ids of the BPF programs attached to the tracepoint of @ev. *ret_ids is to be freed with
 * coati_ids_free(). */
int coati_event_query_bpf(struct coati_event *ev, uint32_t **ret_ids, uint32_t *ret_nr,
			  struct coati_error *err);

void coati_ids_free(uint32_t *ids);

/* Stop and resume writing into the ring. What happens in between counts as lost by the kernel. */
int coati_event_pause(struct coati_event *ev);

int coati_event_resume(struct coati_event *ev);

/* Change address, length and type of an open breakpoint. */
int coati_event_modify(struct coati_event *ev, const struct coati_attr *attr,
		       struct coati_error *err);

/* What a SIGTRAP of an event with COATI_ATTR_SIGTRAP says. */
struct coati_sigtrap {
	uint64_t addr;	/* si_addr: data address of a breakpoint */
	uint64_t data;	/* attr.sig_data */
	uint32_t type;	/* attr.type */
	uint32_t flags; /* bit 0: asynchronous */
};

/* @siginfo is the siginfo_t of the handler. 1 when it came from an event, else 0.
 * Signal: safe.  Memory: never allocates. */
int coati_sigtrap_get(const void *siginfo, struct coati_sigtrap *ret);

struct coati_event {
	const struct event_calls *calls;
	int fd;
	bool running;
	/* Was enabled by a call, and not for a number of overflows: may be stopped and started. */
	bool started;
	bool stopped; /* follower: is not started by starting its leader */
	bool filtered;
	/* leader: since the last measurement, what the group noted is what it shows */
	bool untouched;
	bool fast; /* the mapped page may be read by the thread `owner` */
	uint32_t dropped;
	uint64_t id;
	struct coati_attr attr;
	struct coati_target target;
	char *label;
	struct coati_event *leader;
	struct coati_event *first, *last,
		*next; /* followers of a leader; next follower of the same */
	uint32_t nr_followers;
	uint64_t *words; /* room for a group read that does not fit on the stack */
	size_t nr_words;
	struct coati_control_page *page;
	size_t page_bytes;
	pthread_t owner;
};

/* coati_event_open() with the kernel as a parameter. */
struct event_request {
	const struct event_calls *calls;
	const struct coati_attr *attr;
	const struct coati_target *target;
	const struct coati_event_opts *opts;
	bool lost_optional; /* COATI_READ_LOST is our wish, not the caller's */
};
int coati_event_request(const struct event_request *req, struct coati_event **ret,
			struct coati_error *err);

static inline void event_touch(struct coati_event *ev)
{
	ev->untouched = false;
	if (ev->leader)
		ev->leader->untouched = false;
}

/* The check at the head of every public function. */
static inline int event_state(const struct coati_event *ev)
{
	if (!ev)
		return -EINVAL;
	return ev->fd < 0 ? -EBADF : 0;
}

/*
 * Start and stop a leader and with it its followers. The orders go to the leader alone, without
 * PERF_IOC_FLAG_GROUP: that flag also stops each follower, and Linux 6.12 and later do not start
 * one again when its PMU is another one than that of the leader. The kernel then schedules the PMU
 * of the follower only, on which the running leader is not found, and the follower counts nothing
 * until the next context switch. Each kind of software PMU is one of its own there: cpu-clock,
 * task-clock, the other software events, tracepoints, kprobes, uprobes, breakpoints. A follower
 * that is off when the leader starts stays off, so followers that were stopped go first.
 */
int coati_event_start_group(struct coati_event *leader);
int coati_event_stop_group(struct coati_event *leader);
/* A follower joined a leader that runs, or was started alone: let the kernel schedule the group
 * anew. Nothing happens when the leader does not run. */
int coati_event_reschedule(struct coati_event *follower);

static inline int event_ioctl(const struct coati_event *ev, unsigned long request,
			      unsigned long arg)
{
	return ev->calls->ioctl(ev->calls->ctx, ev->fd, request, arg);
}
