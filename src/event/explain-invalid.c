/* SPDX-License-Identifier: MIT */
/*
 * EINVAL: the kernel says no word more. In: the request. Out: the first rule of the kernel that it
 * breaks, as far as these are known; a request that breaks none of them most likely asks for more
 * than this kernel or PMU can.
 */
#include "event/explain.h"

#include <errno.h>
#include <stddef.h>

#define KNOWN_FLAGS	  ((COATI_ATTR_DEFER_OUTPUT << 1) - 1)
#define KNOWN_SAMPLE_TYPE ((COATI_SAMPLE_WEIGHT_STRUCT << 1) - 1)
#define KNOWN_READ_FORMAT ((COATI_READ_LOST << 1) - 1)
#define EXCLUDE_FLAGS                                                                  \
	(COATI_ATTR_EXCLUDE_USER | COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV | \
	 COATI_ATTR_EXCLUDE_IDLE)
/* Below are the fixed types, above the numbers that the kernel gives to PMUs. */
#define FIRST_DYNAMIC_TYPE 6

static bool has(const struct explain_case *c, uint64_t flags)
{
	return (c->attr->flags & flags) == flags;
}

static bool wrong_place(const struct explain_case *c, const struct facts *f, struct explanation *e)
{
	if (c->target.cgroup_fd >= 0 && c->target.cpu < 0)
		coati_explanation_set(e, "a cgroup is watched CPU by CPU; give the CPU too");
	else if (c->target.cgroup_fd < 0 && c->target.pid < 0 && c->target.cpu < 0)
		coati_explanation_set(e, "all threads on all CPUs is too much for one event; name "
					 "a thread, or open one event per CPU");
	else if (f->nr_cpus > 0 && c->target.cpu >= f->nr_cpus)
		coati_explanation_set(e, "there is no CPU %d; this machine has CPUs 0 to %lld",
				      c->target.cpu, (long long)f->nr_cpus - 1);
	else
		return false;
	return true;
}

static bool wrong_flags(const struct explain_case *c, struct explanation *e)
{
	const struct coati_attr *a = c->attr;

	if (a->flags & ~KNOWN_FLAGS || a->sample_type & ~KNOWN_SAMPLE_TYPE ||
	    a->read_format & ~KNOWN_READ_FORMAT || a->reserved_2)
		coati_explanation_set(e,
				      "reserved bits are set; zero the attributes before filling "
				      "them in");
	else if (has(c, COATI_ATTR_ENABLE_ON_EXEC | COATI_ATTR_REMOVE_ON_EXEC))
		coati_explanation_set(e, "it cannot both start and go away at exec; choose one");
	else if (has(c, COATI_ATTR_SIGTRAP) && !has(c, COATI_ATTR_REMOVE_ON_EXEC))
		coati_explanation_set(e, "signals (SIGTRAP) must not survive an exec; set "
					 "COATI_ATTR_REMOVE_ON_EXEC too");
	else if (has(c, COATI_ATTR_INHERIT_THREAD) && !has(c, COATI_ATTR_INHERIT))
		coati_explanation_set(e, "inheritance by threads only needs inheritance; set "
					 "COATI_ATTR_INHERIT too");
	else
		return false;
	return true;
}

/* Negotiation keeps out of this: without either, the samples would mean something else than was
 * asked for. */
static bool wrong_inheritance(const struct explain_case *c, const struct facts *f,
			      struct explanation *e)
{
	if (!explain_inherited_read(c))
		return false;
	if (!(c->attr->sample_type & COATI_SAMPLE_TID))
		coati_explanation_set(e, "inherited counts in samples need the thread in them; add "
					 "COATI_SAMPLE_TID, or do not inherit");
	else if (f->inherited_read == -EINVAL)
		coati_explanation_set(
			e,
			"this kernel cannot follow children and put counts into samples (S) at "
			"once, Linux 6.13 and later can; add --no-inherit or -a, or leave out S");
	else
		return false;
	return true;
}

static bool wrong_sampling(const struct explain_case *c, const struct facts *f,
			   struct explanation *e)
{
	const struct coati_attr *a = c->attr;

	if (has(c, COATI_ATTR_FREQ) && f->max_sample_rate > 0 &&
	    a->sample_period > (uint64_t)f->max_sample_rate)
		coati_explanation_set(
			e,
			"%llu samples a second are more than "
			"kernel.perf_event_max_sample_rate, which is %lld; ask for "
			"fewer, or: sudo sysctl -w kernel.perf_event_max_sample_rate=%llu",
			(unsigned long long)a->sample_period, (long long)f->max_sample_rate,
			(unsigned long long)a->sample_period);
	else if (!has(c, COATI_ATTR_FREQ) && a->sample_period >> 63)
		coati_explanation_set(e, "the period has bit 63 set; use a smaller one");
	else if (a->sample_type & COATI_SAMPLE_STACK_USER &&
		 (a->sample_stack_user % 8 || a->sample_stack_user > 65528))
		coati_explanation_set(e,
				      "%u bytes of stack cannot be copied; use a multiple of 8 "
				      "up to 65528",
				      a->sample_stack_user);
	else
		return false;
	return true;
}

static bool wrong_clock(const struct explain_case *c, struct explanation *e)
{
	static const int32_t good[] = { 0, 1, 4, 7, 11 };

	if (!has(c, COATI_ATTR_USE_CLOCKID))
		return false;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (c->attr->clockid == good[i])
			return false;
	coati_explanation_set(e,
			      "clock %d cannot be used; use CLOCK_MONOTONIC (1), "
			      "CLOCK_MONOTONIC_RAW (4), CLOCK_BOOTTIME (7), CLOCK_REALTIME (0) or "
			      "CLOCK_TAI (11)",
			      c->attr->clockid);
	return true;
}

static bool wrong_breakpoint(const struct explain_case *c, struct explanation *e)
{
	uint64_t addr = c->attr->config1, len = c->attr->config2;

	if (c->attr->type != COATI_TYPE_BREAKPOINT)
		return false;
	if (len != 1 && len != 2 && len != 4 && len != 8)
		coati_explanation_set(
			e, "a breakpoint of length %llu does not exist; use 1, 2, 4 or 8",
			(unsigned long long)len);
	else if (addr % len)
		coati_explanation_set(e,
				      "0x%llx is not a multiple of the length %llu; align it, or "
				      "use a shorter length",
				      (unsigned long long)addr, (unsigned long long)len);
	else if (c->attr->bp_type == COATI_BP_R)
		coati_explanation_set(e, "this CPU may be unable to watch reads alone; watch rw");
	else
		coati_explanation_set(
			e,
			"the CPU or kernel cannot watch 0x%llx that way; x needs the "
			"length of a pointer and an address in user space, w and rw a data "
			"address",
			(unsigned long long)addr);
	return true;
}

static bool wrong_group(const struct explain_case *c, const struct facts *f, struct explanation *e)
{
	if (!c->leader)
		return false;
	if (c->leader_target.cpu != c->target.cpu || c->leader_target.pid != c->target.pid ||
	    c->leader_target.cgroup_fd != c->target.cgroup_fd)
		coati_explanation_set(e,
				      "a follower must watch what its leader watches; open it on "
				      "the same thread and CPU");
	else if (c->attr->flags & (COATI_ATTR_PINNED | COATI_ATTR_EXCLUSIVE))
		coati_explanation_set(e,
				      "only the leader of a group can be pinned or exclusive; set "
				      "it there");
	else if ((c->leader->flags ^ c->attr->flags) & COATI_ATTR_USE_CLOCKID ||
		 c->leader->clockid != c->attr->clockid)
		coati_explanation_set(e,
				      "a follower must use the clock of its leader; set the same "
				      "clock on both");
	else if (f->ungrouped == 0)
		coati_explanation_set(e, "alone it opens, but the PMU has no room for this group; "
					 "make the group smaller, or weak (:W)");
	else
		return false;
	return true;
}

static bool wrong_for_pmu(const struct explain_case *c, const struct facts *f,
			  struct explanation *e)
{
	if (c->attr->type < FIRST_DYNAMIC_TYPE || !f->pmu[0])
		return false;
	if (c->attr->sample_period)
		coati_explanation_set(e,
				      "the PMU %s may only count, not sample; leave out the period "
				      "or frequency",
				      f->pmu);
	else if (!explain_cpu_wide(c))
		coati_explanation_set(e,
				      "the PMU %s may count for whole CPUs only; count "
				      "system-wide (-a)",
				      f->pmu);
	else if (c->attr->flags & EXCLUDE_FLAGS)
		coati_explanation_set(
			e,
			"the PMU %s may be unable to tell user space from the kernel; "
			"leave out the modifiers u, k and h",
			f->pmu);
	else
		coati_explanation_set(e,
				      "the PMU %s does not know this configuration; see what it "
				      "offers with: coati list %s",
				      f->pmu, f->pmu);
	return true;
}

void coati_explain_invalid(const struct explain_case *c, const struct facts *f,
			   struct explanation *e)
{
	if (wrong_place(c, f, e) || wrong_flags(c, e) || wrong_inheritance(c, f, e) ||
	    wrong_sampling(c, f, e) || wrong_clock(c, e) || wrong_breakpoint(c, e) ||
	    wrong_group(c, f, e) || wrong_for_pmu(c, f, e))
		return;
	if (c->attr->flags & COATI_ATTR_PRECISE_MASK)
		coati_explanation_set(
			e, "the kernel does not take it; try it less precise (fewer p), or "
			   "let coati leave out what this kernel lacks "
			   "(COATI_EVENT_NEGOTIATE)");
	else
		coati_explanation_set(
			e, "the kernel does not take this combination; leave out "
			   "modifiers and terms one by one, or let coati leave out what this "
			   "kernel lacks (COATI_EVENT_NEGOTIATE)");
}
