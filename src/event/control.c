/* SPDX-License-Identifier: MIT */
/*
 * Orders to an open event: everything that is an ioctl. Each function checks the state of its
 * event, says in its own words why the kernel may have refused, and keeps `running` a true bound
 * (see event.h).
 */
#include "event/event.h"

#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "event/uapi-compat.h"

/* Longer than any filter the kernel takes (one page). */
#define FILTER_MAX 4096

static int simple(struct coati_event *ev, unsigned long request, unsigned long arg)
{
	int r = event_state(ev);

	if (r < 0)
		return r;
	r = event_ioctl(ev, request, arg);
	return r < 0 ? r : 0;
}

static int state_failed(const struct coati_event *ev, struct coati_error *err, const char *what)
{
	int r = event_state(ev);

	return r < 0 ? coati_fail(err, r, "%s: the event is not open; open it first", what) : 0;
}

/* ---- start and stop ---- */

int coati_event_start_group(struct coati_event *leader)
{
	int r = 0;

	leader->running = true;
	event_touch(leader);
	for (struct coati_event *f = leader->first; f && r >= 0; f = f->next) {
		if (!f->stopped)
			continue;
		if (leader->started) { /* off while they join: see event.h */
			r = event_ioctl(leader, PERF_IOC_DISABLE, 0);
			leader->started = false;
		}
		if (r >= 0)
			r = event_ioctl(f, PERF_IOC_ENABLE, 0);
		if (r >= 0) {
			f->stopped = false;
			f->running = true;
		}
	}
	if (r >= 0)
		r = event_ioctl(leader, PERF_IOC_ENABLE, 0);
	leader->started = r >= 0;
	return r < 0 ? r : 0;
}

int coati_event_stop_group(struct coati_event *leader)
{
	int r = event_ioctl(leader, PERF_IOC_DISABLE, 0);

	event_touch(leader);
	if (r < 0)
		return r;
	leader->running = leader->started = false;
	return 0;
}

/* Two events of one software type may still belong to two PMUs (cpu-clock, task-clock). */
static bool is_same_pmu(const struct coati_event *a, const struct coati_event *b)
{
	return a->attr.type == b->attr.type && a->attr.type != COATI_TYPE_SOFTWARE;
}

int coati_event_reschedule(struct coati_event *follower)
{
	struct coati_event *leader = follower->leader;
	int r;

	if (!leader || !leader->started || follower->stopped || is_same_pmu(leader, follower))
		return 0;
	r = event_ioctl(leader, PERF_IOC_DISABLE, 0);
	if (r >= 0)
		r = event_ioctl(leader, PERF_IOC_ENABLE, 0);
	return r < 0 ? r : 0;
}

int coati_event_enable(struct coati_event *ev)
{
	int r;

	if (ev) {
		ev->running = true;
		event_touch(ev);
	}
	r = simple(ev, PERF_IOC_ENABLE, 0);
	if (r < 0)
		return r;
	ev->started = true;
	if (!ev->stopped)
		return 0;
	ev->stopped = false;
	return coati_event_reschedule(ev);
}

int coati_event_disable(struct coati_event *ev)
{
	int r = simple(ev, PERF_IOC_DISABLE, 0);

	if (r < 0)
		return r;
	ev->running = ev->started = false;
	ev->stopped = ev->leader != NULL;
	event_touch(ev);
	return 0;
}

int coati_event_reset(struct coati_event *ev)
{
	if (ev)
		event_touch(ev);
	return simple(ev, PERF_IOC_RESET, 0);
}

int coati_event_refresh(struct coati_event *ev, uint32_t n)
{
	int r;

	if (ev && (n < 1 || n > INT_MAX))
		return -EINVAL;
	if (ev) {
		ev->running = true;
		event_touch(ev);
	}
	r = simple(ev, PERF_IOC_REFRESH, n);
	if (r < 0)
		return r;
	/* the kernel stops it, when is not known: to start the group again starts this one too */
	ev->started = ev->stopped = false;
	r = coati_event_reschedule(ev);
	ev->stopped = ev->leader != NULL;
	return r;
}

int coati_event_set_period(struct coati_event *ev, uint64_t period)
{
	int r = simple(ev, PERF_IOC_PERIOD, (unsigned long)(uintptr_t)&period);

	if (r == 0)
		ev->attr.sample_period = period;
	return r;
}

int coati_event_set_output(struct coati_event *ev, struct coati_event *target,
			   struct coati_error *err)
{
	long fd = -1; /* as a long: an int would reach the kernel as 4294967295 */
	int r = state_failed(ev, err, "redirect records");

	if (r < 0)
		return r;
	if (target) {
		r = state_failed(target, err, "redirect records into another ring");
		if (r < 0)
			return r;
		fd = target->fd;
	}
	r = event_ioctl(ev, PERF_IOC_SET_OUTPUT, (unsigned long)fd);
	if (r >= 0)
		return 0;
	if (r == -EINVAL && !target)
		return coati_fail(err, r, "%s: its ring is its own, there is nothing to take back",
				  ev->label);
	if (r == -EINVAL)
		return coati_fail(
			err, r,
			"%s: cannot write into the ring of %s: map that ring first, and open both "
			"on the same CPU (or the same thread on any CPU), with the same clock and "
			"direction",
			ev->label, target->label);
	return coati_fail(err, r, "%s: redirect records: %m; is the other event still open?",
			  ev->label);
}

int coati_event_set_bpf(struct coati_event *ev, int prog_fd, struct coati_error *err)
{
	int r = state_failed(ev, err, "attach BPF program");

	if (r < 0)
		return r;
	r = event_ioctl(ev, PERF_IOC_SET_BPF, (unsigned long)(unsigned int)prog_fd);
	switch (r) {
	case -EEXIST:
	case -EBUSY:
		return coati_fail(err, r,
				  "%s: a BPF program is attached already; close the event to "
				  "detach it",
				  ev->label);
	case -EINVAL:
		return coati_fail(
			err, r,
			"%s: this kind of BPF program does not go with this kind of event; load "
			"it as tracepoint, kprobe or perf_event program as the event is",
			ev->label);
	case -EBADF:
		return coati_fail(err, r,
				  "%s: descriptor %d is not a loaded BPF program; load it first",
				  ev->label, prog_fd);
	case -EACCES:
	case -EPERM:
		return coati_fail(
			err, r,
			"%s: attaching a BPF program is not allowed; run as root, or give the "
			"program cap_bpf and cap_perfmon",
			ev->label);
	case -E2BIG:
		return coati_fail(err, r,
				  "%s: %d BPF programs are attached to this tracepoint, the "
				  "kernel takes no more; detach one",
				  ev->label, PERF_BPF_PROGS_MAX);
	default:
		return r < 0 ? coati_fail(err, r, "%s: attach BPF program: %m; see coati doctor",
					  ev->label)
			     : 0;
	}
}

/* The kernel says ENOSPC when there are more programs than room: the second try has room for the
 * most there can be. */
int coati_event_query_bpf(struct coati_event *ev, uint32_t **ret_ids, uint32_t *ret_nr,
			  struct coati_error *err)
{
	struct perf_query_bpf q = { .ids_len = 4 };
	uint32_t *ids;
	int r = state_failed(ev, err, "ask for BPF programs");

	if (r < 0)
		return r;
	if (!ret_ids || !ret_nr)
		return coati_fail(err, -EINVAL, "ask for BPF programs: no place for the result");
	r = event_ioctl(ev, PERF_IOC_QUERY_BPF, (unsigned long)(uintptr_t)&q);
	if (r == -ENOSPC) {
		q = (struct perf_query_bpf){ .ids_len = PERF_BPF_PROGS_MAX };
		r = event_ioctl(ev, PERF_IOC_QUERY_BPF, (unsigned long)(uintptr_t)&q);
	}
	if (r == -EINVAL)
		return coati_fail(
			err, r, "%s: only a tracepoint or probe can be asked for its BPF programs",
			ev->label);
	if (r == -EPERM || r == -EACCES)
		return coati_fail(err, r,
				  "%s: asking for BPF programs needs cap_perfmon; run as root",
				  ev->label);
	if (r < 0)
		return coati_fail(err, r, "%s: ask for BPF programs: %m; see coati doctor",
				  ev->label);
	if (q.prog_cnt > PERF_BPF_PROGS_MAX)
		q.prog_cnt = PERF_BPF_PROGS_MAX;
	ids = coati_alloc_array(q.prog_cnt ? q.prog_cnt : 1, sizeof(*ids));
	if (!ids)
		return coati_fail(err, -ENOMEM, "ask for BPF programs: %m; free some memory");
	memcpy(ids, q.ids, q.prog_cnt * sizeof(*ids));
	*ret_ids = ids;
	*ret_nr = q.prog_cnt;
	return 0;
}

void coati_ids_free(uint32_t *ids)
{
	coati_free(ids);
}

int coati_event_pause(struct coati_event *ev)
{
	return simple(ev, PERF_IOC_PAUSE_OUTPUT, 1);
}

int coati_event_resume(struct coati_event *ev)
{
	return simple(ev, PERF_IOC_PAUSE_OUTPUT, 0);
}

int coati_event_set_filter(struct coati_event *ev, const char *filter, struct coati_error *err)
{
	int r = state_failed(ev, err, "set filter");

	if (r < 0)
		return r;
	if (!filter)
		return coati_fail(err, -EINVAL, "%s: set filter: no text; \"\" removes a filter",
				  ev->label);
	if (strlen(filter) >= FILTER_MAX)
		return coati_fail(err, -E2BIG, "%s: the filter is longer than %d bytes; shorten it",
				  ev->label, FILTER_MAX - 1);
	if (!*filter && ev->attr.type == COATI_TYPE_TRACEPOINT && !ev->filtered)
		return 0;
	r = event_ioctl(ev, PERF_IOC_SET_FILTER, (unsigned long)(uintptr_t)filter);
	if (r >= 0) {
		ev->filtered = *filter != '\0';
		return 0;
	}
	if (r == -EINVAL)
		return coati_fail(
			err, r,
			"%s: the kernel does not take the filter \"%s\"; check its field names "
			"against coati list, and that the event is a tracepoint (or a PMU with "
			"address filters)",
			ev->label, filter);
	if (r == -EEXIST)
		return coati_fail(
			err, r,
			"%s: it has a filter, which the kernel keeps until the event is closed; "
			"close it and open it again",
			ev->label);
	return coati_fail(err, r, "%s: set filter \"%s\": %m; check it against coati list",
			  ev->label, filter);
}

int coati_event_modify(struct coati_event *ev, const struct coati_attr *attr,
		       struct coati_error *err)
{
	struct coati_attr wanted;
	int r = state_failed(ev, err, "modify breakpoint");

	if (r < 0)
		return r;
	if (!attr)
		return coati_fail(err, -EINVAL, "%s: modify: no attributes were given", ev->label);
	if (ev->attr.type != COATI_TYPE_BREAKPOINT || attr->type != COATI_TYPE_BREAKPOINT)
		return coati_fail(err, -EINVAL,
				  "%s: only breakpoints can be modified; close it and open another",
				  ev->label);
	/* the kernel compares all other fields with what was opened, and takes `disabled` from
	 * here */
	wanted = ev->attr;
	wanted.bp_type = attr->bp_type;
	wanted.config1 = attr->config1;
	wanted.config2 = attr->config2;
	if (ev->running)
		wanted.flags &= ~COATI_ATTR_DISABLED;
	r = event_ioctl(ev, PERF_IOC_MODIFY_ATTRIBUTES, (unsigned long)(uintptr_t)&wanted);
	if (r == -EINVAL)
		return coati_fail(
			err, r,
			"%s: the CPU cannot watch 0x%llx length %llu; use length 1, 2, 4 or 8 "
			"at an address that is a multiple of it",
			ev->label, (unsigned long long)attr->config1,
			(unsigned long long)attr->config2);
	if (r < 0)
		return coati_fail(err, r, "%s: modify breakpoint: %m; see coati doctor", ev->label);
	ev->attr.bp_type = attr->bp_type;
	ev->attr.config1 = attr->config1;
	ev->attr.config2 = attr->config2;
	return 0;
}

/* The kernel's layout on 64-bit machines: si_signo, si_errno, si_code, padding, then the fault
 * part. glibc has names for the last three only since 2.36. */
struct trap_info {
	int32_t signo, error, code, pad;
	uint64_t addr;
	uint64_t data;
	uint32_t type;
	uint32_t flags;
};

int coati_sigtrap_get(const void *siginfo, struct coati_sigtrap *ret)
{
	struct trap_info info;

	if (!siginfo || !ret)
		return 0;
	memcpy(&info, siginfo, sizeof(info));
	if (info.signo != 5 /* SIGTRAP */ || info.code != PERF_TRAP_CODE)
		return 0;
	*ret = (struct coati_sigtrap){ info.addr, info.data, info.type, info.flags };
	return 1;
}
