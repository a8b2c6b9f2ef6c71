/* SPDX-License-Identifier: MIT */
/*
 * The front of the explanation: who could not be opened, the reasons that need no search, and the
 * look at the machine. Probing opens and closes at most three events, and only where their outcome
 * tells causes apart.
 */
#include "event/explain.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

#define FIRST_DYNAMIC_TYPE 6

struct subject {
	char text[96];
};

void coati_explanation_set(struct explanation *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
}

/* The event as its owner knows it. */
static struct subject name_of(const struct explain_case *c, const struct facts *f)
{
	unsigned long long config = c->attr->config;
	struct subject s;

	if (c->label && c->label[0])
		snprintf(s.text, sizeof(s.text), "%.80s", c->label);
	else if (c->attr->type == COATI_TYPE_TRACEPOINT)
		snprintf(s.text, sizeof(s.text), "tracepoint %llu", config);
	else if (c->attr->type == COATI_TYPE_BREAKPOINT)
		snprintf(s.text, sizeof(s.text), "breakpoint 0x%llx",
			 (unsigned long long)c->attr->config1);
	else if (f->pmu[0])
		snprintf(s.text, sizeof(s.text), "event 0x%llx of PMU %s", config, f->pmu);
	else
		snprintf(s.text, sizeof(s.text), "event 0x%llx of type %u", config, c->attr->type);
	return s;
}

static struct subject place_of(const struct explain_case *c)
{
	struct subject s = { "" };

	if (c->target.cgroup_fd >= 0)
		snprintf(s.text, sizeof(s.text), " in a cgroup on CPU %d", c->target.cpu);
	else if (c->target.pid < 0 && c->target.cpu >= 0)
		snprintf(s.text, sizeof(s.text), " on CPU %d", c->target.cpu);
	else if (c->target.pid > 0)
		snprintf(s.text, sizeof(s.text), " of process %d", c->target.pid);
	return s;
}

static void explain_missing(const struct explain_case *c, const struct facts *f,
			    struct explanation *e)
{
	switch (c->attr->type) {
	case COATI_TYPE_HARDWARE:
	case COATI_TYPE_HW_CACHE:
	case COATI_TYPE_RAW:
		if (f->core_pmu)
			coati_explanation_set(e,
					      "the PMU of this CPU does not have this event; see "
					      "what it has with: coati list");
		else
			coati_explanation_set(e,
					      "this machine has no PMU for hardware events (a "
					      "virtual machine without one?); count cpu-clock or "
					      "task-clock, or give the machine a virtual PMU");
		break;
	case COATI_TYPE_SOFTWARE:
		coati_explanation_set(
			e,
			"this kernel has no software event %llu; see what it has with: "
			"coati list",
			(unsigned long long)c->attr->config);
		break;
	case COATI_TYPE_TRACEPOINT:
		coati_explanation_set(e,
				      "this kernel has no tracepoint with the id %llu; ids differ "
				      "from boot to boot: name it as system:event",
				      (unsigned long long)c->attr->config);
		break;
	default:
		if (f->pmu[0])
			coati_explanation_set(
				e,
				"the PMU %s does not have this event (a probe: no such "
				"file or function); see coati list %s",
				f->pmu, f->pmu);
		else
			coati_explanation_set(e,
					      "no PMU has the type %u; the numbers differ between "
					      "machines: name the PMU, see coati list",
					      c->attr->type);
	}
}

static void explain_unable(const struct explain_case *c, const struct facts *f,
			   struct explanation *e)
{
	if (c->attr->flags & COATI_ATTR_PRECISE_MASK)
		coati_explanation_set(e, "the PMU is not that precise; use fewer p");
	else if (c->attr->sample_type & COATI_SAMPLE_BRANCH_STACK)
		coati_explanation_set(e,
				      "this CPU has no branch records; leave out the branch stack");
	else if (c->attr->aux_action || c->attr->flags & COATI_ATTR_AUX_OUTPUT)
		coati_explanation_set(e,
				      "no AUX-capable PMU is involved; lead the group with one "
				      "(intel_pt, cs_etm, arm_spe), or leave out the AUX options");
	else if (c->attr->sample_period)
		coati_explanation_set(e,
				      "%s%s cannot sample, only count; leave out the period or "
				      "frequency",
				      f->pmu[0] ? "the PMU " : "this PMU", f->pmu);
	else
		coati_explanation_set(e,
				      "this kernel or CPU cannot count it; see what it can with: "
				      "coati list");
}

static void explain_resources(const struct explain_case *c, const struct facts *f,
			      struct explanation *e)
{
	switch (c->code) {
	case -EMFILE:
		coati_explanation_set(e,
				      "all %llu descriptors that this process may have are in use; "
				      "raise the limit with: ulimit -n %llu%s",
				      (unsigned long long)f->nofile_soft,
				      (unsigned long long)(f->nofile_soft < f->nofile_hard
								   ? f->nofile_hard
								   : f->nofile_soft * 4),
				      f->nofile_soft < f->nofile_hard ? "" : " (as root)");
		break;
	case -ENFILE:
		coati_explanation_set(
			e, "the whole system has run out of descriptors; close programs, "
			   "or: sudo sysctl -w fs.file-max=N with a larger N");
		break;
	case -ENOMEM:
		coati_explanation_set(e,
				      "the kernel is out of memory for it; open fewer events, or "
				      "free memory");
		break;
	case -EBUSY:
		coati_explanation_set(
			e, "the PMU is in exclusive use (by an exclusive or pinned event, the NMI "
			   "watchdog or another profiler); stop that, or: sudo sysctl -w "
			   "kernel.nmi_watchdog=0");
		break;
	default: /* ENOSPC */
		if (c->attr->type == COATI_TYPE_BREAKPOINT)
			coati_explanation_set(e,
					      "all breakpoint registers of the CPU are in use (x86 "
					      "has 4); close other breakpoints or debuggers");
		else
			coati_explanation_set(e, "the PMU has no counter left for it; open fewer "
						 "events at once, or a smaller group");
	}
}

static void explain_limits(const struct explain_case *c, const struct facts *f,
			   struct explanation *e)
{
	if (c->code == -EOVERFLOW)
		coati_explanation_set(
			e,
			"stacks of %u frames are deeper than kernel.perf_event_max_stack, "
			"which is %lld; ask for fewer, or: sudo sysctl -w "
			"kernel.perf_event_max_stack=%u",
			c->attr->sample_max_stack, (long long)f->max_stack,
			c->attr->sample_max_stack);
	else
		coati_explanation_set(
			e, "this kernel is too old for some attributes (config3, config4, "
			   "sig_data); leave it out, or let coati do it (COATI_EVENT_NEGOTIATE)");
}

static void explain_gone(const struct explain_case *c, const struct facts *f, struct explanation *e)
{
	if (c->code == -ENODEV && c->target.cpu >= 0)
		coati_explanation_set(
			e,
			"CPU %d is offline, or its PMU lacks the event; take another, or: "
			"echo 1 | sudo tee /sys/devices/system/cpu/cpu%d/online",
			c->target.cpu, c->target.cpu);
	else if (c->code == -ENODEV)
		coati_explanation_set(e, "the device behind it is not there now; see coati list");
	else
		coati_explanation_set(e,
				      "there is no thread %d (any more); look up what runs with ps",
				      c->target.pid);
}

static void explain_absent(const struct explain_case *c, const struct facts *f,
			   struct explanation *e)
{
	if (f->seccomp > 0 || f->container[0])
		coati_explanation_set(e,
				      "perf_event_open is not there: a system call filter (%s) "
				      "hides it; allow it where this process is started",
				      f->container[0] ? f->container : "seccomp");
	else
		coati_explanation_set(e,
				      "this kernel has no perf events; use one that is built with "
				      "CONFIG_PERF_EVENTS");
}

static void explain_rest(const struct explain_case *c, struct explanation *e)
{
	if (c->code == -EBADF && c->leader)
		coati_explanation_set(e, "the descriptor of its group leader is closed; open the "
					 "leader again");
	else if (c->code == -EBADF && c->target.cgroup_fd >= 0)
		coati_explanation_set(
			e,
			"descriptor %d is not a cgroup directory; open a directory below "
			"/sys/fs/cgroup",
			c->target.cgroup_fd);
	else if (c->code == -EFAULT)
		coati_explanation_set(e,
				      "the path or function of the probe could not be read; keep "
				      "the text that config1 points to alive");
	else
		coati_explanation_set(
			e,
			"the kernel answered %s; what this machine allows is shown by: "
			"coati doctor",
			coati_errno_name(c->code));
}

int coati_explain(const struct explain_case *c, const struct facts *f, struct coati_error *err)
{
	struct explanation e = { "" };

	switch (c->code) {
	case -EACCES:
	case -EPERM:
		coati_explain_refusal(c, f, &e);
		break;
	case -EINVAL:
		coati_explain_invalid(c, f, &e);
		break;
	case -ENOENT:
		explain_missing(c, f, &e);
		break;
	case -EOPNOTSUPP:
		explain_unable(c, f, &e);
		break;
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -EBUSY:
	case -ENOSPC:
		explain_resources(c, f, &e);
		break;
	case -EOVERFLOW:
	case -E2BIG:
		explain_limits(c, f, &e);
		break;
	case -ENODEV:
	case -ESRCH:
		explain_gone(c, f, &e);
		break;
	case -ENOSYS:
		explain_absent(c, f, &e);
		break;
	default:
		explain_rest(c, &e);
	}
	return coati_fail(err, c->code, "%s%s: %s", name_of(c, f).text, place_of(c).text, e.text);
}

static int try_open(const struct event_calls *calls, struct open_args args)
{
	int fd;

	args.attr.size = sizeof(args.attr);
	args.flags |= COATI_OPEN_CLOEXEC;
	fd = calls->open(calls->ctx, &args);
	if (fd >= 0)
		calls->close(calls->ctx, fd, args.attr.type);
	return fd < 0 ? fd : 0;
}

/* Smaller requests whose outcome tells causes apart. */
static void probe(const struct explain_case *c, const struct event_calls *calls, struct facts *f)
{
	struct open_args plain = {
		.attr = { .type = COATI_TYPE_SOFTWARE,
			  .config = COATI_SW_DUMMY,
			  .flags = COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV },
		.cpu = -1,
		.group_fd = -1,
	};
	struct open_args alone = {
		.attr = *c->attr,
		.pid = c->target.cgroup_fd >= 0 ? c->target.cgroup_fd : c->target.pid,
		.cpu = c->target.cpu,
		.group_fd = -1,
		.flags = c->target.cgroup_fd >= 0 ? COATI_OPEN_CGROUP : 0,
	};

	if (c->code == -EACCES || c->code == -EPERM)
		f->plain = try_open(calls, plain);
	if (c->code == -EINVAL && c->leader)
		f->ungrouped = try_open(calls, alone);
	if (c->code == -EINVAL && explain_inherited_read(c)) {
		plain.attr.flags |= COATI_ATTR_INHERIT;
		plain.attr.sample_type = COATI_SAMPLE_READ | COATI_SAMPLE_TID;
		plain.attr.sample_period = 1;
		f->inherited_read = try_open(calls, plain);
	}
}

int coati_explain_open(const struct explain_case *c, const struct event_calls *calls,
		       struct coati_error *err)
{
	struct facts f = { .target_uid = -1,
			   .plain = FACT_NOT_TRIED,
			   .ungrouped = FACT_NOT_TRIED,
			   .inherited_read = FACT_NOT_TRIED };

	if (!err)
		return c->code;
	/* a missing PMU is common and asked for event by event: it needs few facts */
	if (c->code != -ENOENT)
		coati_facts_read(&f);
	f.core_pmu = coati_facts_core_pmu();
	if (c->target.cpu >= 0)
		f.nr_cpus = coati_facts_nr_cpus("possible");
	if (c->target.pid > 0)
		f.target_uid = coati_facts_uid_of(c->target.pid);
	if (c->attr->type >= FIRST_DYNAMIC_TYPE)
		coati_facts_pmu_name(c->attr->type, f.pmu, sizeof(f.pmu));
	probe(c, calls, &f);
	return coati_explain(c, &f, err);
}
