/* SPDX-License-Identifier: MIT */
/*
 * EACCES and EPERM: the kernel gives one number for many reasons. In: the request and the facts.
 * Out: the reason that fits, the setting as it was found, the least change that allows the request.
 *
 * The rules are those of kernel/events/core.c: user space of one's own processes up to level 2, the
 * kernel part up to 1, whole CPUs up to 0, payloads of tracepoints at -1; probes, namespaces and
 * other people's processes at no level. Debian and Ubuntu know levels 3 and 4 at which ordinary
 * users get nothing; in the mainline kernel they are as 2.
 */
#include "event/explain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "event/host.h"

#define LEVEL_NOTHING_ABOVE 2
#define KERNEL_ADDRESSES    (UINT64_C(1) << 63)

struct remedy {
	char text[224];
};

static bool privileged(const struct facts *f)
{
	return !f->user_namespace &&
	       (facts_capable(f, FACT_CAP_PERFMON) || facts_capable(f, FACT_CAP_SYS_ADMIN));
}

/* What gives the capability, where no level helps. */
static struct remedy capability(const struct facts *f)
{
	struct remedy r;

	if (f->user_namespace)
		snprintf(r.text, sizeof(r.text),
			 "run as root of the host: root of this user namespace does not count");
	else if (strlen(f->program) && strlen(f->program) < 120)
		snprintf(r.text, sizeof(r.text),
			 "run as root, or once: sudo setcap cap_perfmon=ep %s", f->program);
	else
		snprintf(r.text, sizeof(r.text), "run as root, or give the program cap_perfmon");
	return r;
}

static struct remedy level(const struct facts *f, int wanted)
{
	struct remedy r;

	if (f->user_namespace)
		snprintf(r.text, sizeof(r.text),
			 "on the host: sudo sysctl -w kernel.perf_event_paranoid=%d", wanted);
	else if (strlen(f->program) && strlen(f->program) < 100)
		snprintf(r.text, sizeof(r.text),
			 "sudo sysctl -w kernel.perf_event_paranoid=%d, or run as root, or once: "
			 "sudo "
			 "setcap cap_perfmon=ep %s",
			 wanted, f->program);
	else
		snprintf(r.text, sizeof(r.text),
			 "sudo sysctl -w kernel.perf_event_paranoid=%d, or run as root", wanted);
	return r;
}

static bool wants_kernel(const struct coati_attr *a)
{
	return !(a->flags & COATI_ATTR_EXCLUDE_KERNEL);
}

static bool wants_payload(const struct coati_attr *a)
{
	return a->type == COATI_TYPE_TRACEPOINT && a->sample_type & COATI_SAMPLE_RAW;
}

/* The highest level at which an ordinary user may have this. */
static int level_for(const struct explain_case *c)
{
	if (wants_payload(c->attr))
		return -1;
	if (explain_cpu_wide(c))
		return 0;
	if (wants_kernel(c->attr) || c->attr->sample_type & COATI_SAMPLE_PHYS_ADDR ||
	    c->attr->branch_sample_type & COATI_BRANCH_KERNEL)
		return 1;
	return 2;
}

static bool refused(int code)
{
	return code == -EACCES || code == -EPERM;
}

/* Not even the smallest event opens: a distribution's level, or a filter in front of the system
 * call. */
static bool nothing_opens(const struct explain_case *c, const struct facts *f,
			  struct explanation *e)
{
	int wanted = level_for(c);

	if (!refused(f->plain))
		return false;
	if (!privileged(f) && f->paranoid > LEVEL_NOTHING_ABOVE)
		coati_explanation_set(e,
				      "kernel.perf_event_paranoid is %lld, which allows ordinary "
				      "users no events at all; %s",
				      (long long)f->paranoid, level(f, wanted).text);
	else if (f->container[0])
		coati_explanation_set(
			e,
			"no event opens in this container (%s): its system call filter blocks "
			"perf_event_open; start it with --security-opt seccomp=unconfined or "
			"--cap-add PERFMON",
			f->container);
	else if (f->seccomp > 0)
		coati_explanation_set(
			e,
			"no event opens: a system call filter (seccomp mode %lld) blocks "
			"perf_event_open; allow it where this process is started "
			"(SystemCallFilter= of its service)",
			(long long)f->seccomp);
	else
		coati_explanation_set(
			e, "no event opens, and perf_event_paranoid is not the reason: a "
			   "security module (SELinux, AppArmor) may forbid it; look for its "
			   "denial in: sudo dmesg");
	return true;
}

static bool other_peoples_process(const struct explain_case *c, const struct facts *f,
				  struct explanation *e)
{
	if (c->target.pid <= 0 || c->target.cgroup_fd >= 0 || f->target_uid < 0 ||
	    f->target_uid == f->uid || privileged(f) || facts_capable(f, FACT_CAP_SYS_PTRACE))
		return false;
	coati_explanation_set(
		e,
		"process %d belongs to user %lld and coati runs as user %lld, which no level of "
		"perf_event_paranoid allows; %s",
		c->target.pid, (long long)f->target_uid, (long long)f->uid, capability(f).text);
	return true;
}

static bool needs_capability(const struct explain_case *c, const struct facts *f,
			     struct explanation *e)
{
	const char *what = NULL;

	if (privileged(f))
		return false;
	if (!strcmp(f->pmu, "uprobe") || !strcmp(f->pmu, "kprobe"))
		what = "probes are";
	else if (c->attr->flags & COATI_ATTR_NAMESPACES)
		what = "namespace records are";
	else if (c->attr->type == COATI_TYPE_BREAKPOINT && c->attr->config1 & KERNEL_ADDRESSES)
		what = "breakpoints on kernel addresses are";
	if (!what)
		return false;
	coati_explanation_set(e,
			      "%s for privileged users at every level of perf_event_paranoid; %s",
			      what, capability(f).text);
	return true;
}

static bool above_level(const struct explain_case *c, const struct facts *f, struct explanation *e)
{
	int wanted = level_for(c);

	if (privileged(f) || f->paranoid == COATI_HOST_UNKNOWN || f->paranoid <= wanted)
		return false;
	if (wanted == -1)
		coati_explanation_set(
			e,
			"the payload of a tracepoint needs kernel.perf_event_paranoid "
			"-1, it is %lld; count without sampling the payload, or: %s",
			(long long)f->paranoid, level(f, -1).text);
	else if (wanted == 0)
		coati_explanation_set(e,
				      "watching whole CPUs needs kernel.perf_event_paranoid 0 or "
				      "lower, it is %lld; watch one program instead, or: %s",
				      (long long)f->paranoid, level(f, 0).text);
	else if (c->attr->flags & COATI_ATTR_EXCLUDE_USER || !wants_kernel(c->attr))
		coati_explanation_set(
			e,
			"kernel events are not allowed: kernel.perf_event_paranoid is %lld and "
			"must be 1 or lower; %s",
			(long long)f->paranoid, level(f, 1).text);
	else
		coati_explanation_set(
			e,
			"the kernel part is not allowed: kernel.perf_event_paranoid is "
			"%lld and must be 1 or lower; count user space alone (modifier "
			":u), or: %s",
			(long long)f->paranoid, level(f, 1).text);
	return true;
}

static bool same_user_refused(const struct explain_case *c, const struct facts *f,
			      struct explanation *e)
{
	if (c->target.pid <= 0 || c->target.cgroup_fd >= 0 || privileged(f))
		return false;
	coati_explanation_set(
		e,
		"process %d may not be observed (it changed its user, or has capabilities that "
		"coati lacks); %s",
		c->target.pid, capability(f).text);
	return true;
}

static bool locked_down(const struct facts *f, struct explanation *e)
{
	if (f->lockdown < 2)
		return false;
	coati_explanation_set(e, "the kernel is locked down (confidentiality), even for root; user "
				 "space alone (modifier :u) may still work, else boot with "
				 "lockdown=none");
	return true;
}

void coati_explain_refusal(const struct explain_case *c, const struct facts *f,
			   struct explanation *e)
{
	if (nothing_opens(c, f, e) || other_peoples_process(c, f, e) || needs_capability(c, f, e) ||
	    above_level(c, f, e) || same_user_refused(c, f, e) || locked_down(f, e))
		return;
	if (f->user_namespace)
		coati_explanation_set(
			e, "the capabilities of this user namespace do not count for it; "
			   "run as root of the host");
	else if (wants_payload(c->attr) && !privileged(f))
		coati_explanation_set(e,
				      "the payload of this tracepoint is for privileged users; %s",
				      capability(f).text);
	else if (privileged(f))
		coati_explanation_set(
			e,
			"refused although this process is privileged: a security module may forbid "
			"it; look for its denial in: sudo dmesg");
	else
		coati_explanation_set(e, "it needs more rights than this process has; %s",
				      capability(f).text);
}
