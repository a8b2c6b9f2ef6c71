/* SPDX-License-Identifier: MIT */
/*
 * Feature negotiation. A plan says what is left out; the attribute of each attempt is built from
 * the request and the plan, so that a step can be taken back. Bounded: every step of a plan is
 * taken at most once (precision: three times), so a request that is simply wrong costs at most one
 * call per feature it asked for and ends as EINVAL.
 */
#include "event/negotiate.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <coati/event.h>

#include "event/event.h"

#define GUEST_FLAGS	(COATI_ATTR_EXCLUDE_HOST | COATI_ATTR_EXCLUDE_GUEST)
#define DEFER_FLAGS	(COATI_ATTR_DEFER_CALLCHAIN | COATI_ATTR_DEFER_OUTPUT)
#define BPF_FLAGS	(COATI_ATTR_KSYMBOL | COATI_ATTR_BPF_EVENT)
#define PAGE_SIZE_TYPES (COATI_SAMPLE_DATA_PAGE_SIZE | COATI_SAMPLE_CODE_PAGE_SIZE)

#define ENDS_AT(field) \
	(offsetof(struct coati_attr, field) + sizeof(((struct coati_attr *)0)->field))

struct plan {
	uint32_t dropped;
	uint32_t attr_size; /* what the kernel said it knows */
	unsigned int precise;
	uint64_t freq;
	uint16_t max_stack;
};

/* The features that are left out when the kernel says EINVAL, newest first. */
static const struct feature {
	uint32_t bit;
	uint64_t flags, sample_type, read_format;
} features[] = {
	{ COATI_DROP_DEFER, .flags = DEFER_FLAGS },
	{ COATI_DROP_LOST, .read_format = COATI_READ_LOST },
	{ COATI_DROP_BUILD_ID, .flags = COATI_ATTR_BUILD_ID },
	{ COATI_DROP_THREAD, .flags = COATI_ATTR_INHERIT_THREAD },
	{ COATI_DROP_TEXT_POKE, .flags = COATI_ATTR_TEXT_POKE },
	{ COATI_DROP_CGROUP, .flags = COATI_ATTR_CGROUP, .sample_type = COATI_SAMPLE_CGROUP },
	{ COATI_DROP_PAGE_SIZE, .sample_type = PAGE_SIZE_TYPES },
	{ COATI_DROP_WEIGHT, .sample_type = COATI_SAMPLE_WEIGHT_STRUCT },
	{ COATI_DROP_BPF_EVENT, .flags = BPF_FLAGS },
	{ COATI_DROP_NAMESPACES, .flags = COATI_ATTR_NAMESPACES },
	{ COATI_DROP_CLOCKID, .flags = COATI_ATTR_USE_CLOCKID },
	{ COATI_DROP_GUEST, .flags = GUEST_FLAGS },
};
#define NR_FEATURES (sizeof(features) / sizeof(features[0]))

static const struct {
	uint32_t bit;
	const char *text;
} names[] = {
	{ COATI_DROP_CLOEXEC, "close-on-exec at opening" },
	{ COATI_DROP_CONFIG34, "config3 and config4" },
	{ COATI_DROP_SIG_DATA, "signal data" },
	{ COATI_DROP_AUX, "AUX sampling and pausing" },
	{ COATI_DROP_DEFER, "deferred callchains" },
	{ COATI_DROP_LOST, "lost counts" },
	{ COATI_DROP_BUILD_ID, "build ids" },
	{ COATI_DROP_THREAD, "inheritance by threads only" },
	{ COATI_DROP_TEXT_POKE, "text_poke records" },
	{ COATI_DROP_CGROUP, "cgroup records" },
	{ COATI_DROP_PAGE_SIZE, "page sizes" },
	{ COATI_DROP_WEIGHT, "structured weights" },
	{ COATI_DROP_BPF_EVENT, "BPF and kernel symbol records" },
	{ COATI_DROP_NAMESPACES, "namespace records" },
	{ COATI_DROP_CLOCKID, "the chosen clock" },
	{ COATI_DROP_GUEST, "host and guest exclusion" },
	{ COATI_DROP_PRECISE, "some precision" },
	{ COATI_DROP_KERNEL, "the kernel part" },
	{ COATI_DROP_MAX_STACK, "some stack depth" },
	{ COATI_DROP_FREQ, "some of the sampling rate" },
	{ COATI_DROP_GROUP, "the grouping" },
};

static unsigned int precise_of(const struct coati_attr *attr)
{
	return (unsigned int)((attr->flags & COATI_ATTR_PRECISE_MASK) >> COATI_ATTR_PRECISE_SHIFT);
}

static bool asks_for(const struct coati_attr *attr, const struct feature *f)
{
	return attr->flags & f->flags || attr->sample_type & f->sample_type ||
	       attr->read_format & f->read_format;
}

static void leave_out(struct coati_attr *attr, const struct feature *f)
{
	attr->flags &= ~f->flags;
	attr->sample_type &= ~f->sample_type;
	attr->read_format &= ~f->read_format;
	if (f->bit == COATI_DROP_WEIGHT)
		attr->sample_type |= COATI_SAMPLE_WEIGHT;
	if (f->bit == COATI_DROP_CLOCKID)
		attr->clockid = 0;
}

/* What lies beyond the kernel's struct, and the AUX actions that older kernels have as reserved
 * bits. */
static void leave_out_fields(struct coati_attr *attr, const struct plan *p)
{
	if (p->dropped & COATI_DROP_CONFIG34) {
		attr->config4 = 0;
		if (p->attr_size < ENDS_AT(config3))
			attr->config3 = 0;
	}
	if (p->dropped & COATI_DROP_SIG_DATA)
		attr->sig_data = 0;
	if (p->dropped & COATI_DROP_AUX) {
		attr->aux_action = 0;
		if (p->attr_size < ENDS_AT(aux_sample_size))
			attr->aux_sample_size = 0;
	}
}

static struct open_args build(const struct negotiation *n, const struct plan *p)
{
	struct open_args a = n->args;

	a.attr.size = sizeof(a.attr);
	leave_out_fields(&a.attr, p);
	for (size_t i = 0; i < NR_FEATURES; i++)
		if (p->dropped & features[i].bit)
			leave_out(&a.attr, &features[i]);
	if (p->dropped & COATI_DROP_CLOEXEC)
		a.flags &= ~(uint32_t)COATI_OPEN_CLOEXEC;
	if (p->dropped & COATI_DROP_PRECISE)
		a.attr.flags =
			(a.attr.flags & ~COATI_ATTR_PRECISE_MASK) | COATI_ATTR_PRECISE(p->precise);
	if (p->dropped & COATI_DROP_KERNEL)
		a.attr.flags |= COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV;
	if (p->dropped & COATI_DROP_MAX_STACK)
		a.attr.sample_max_stack = p->max_stack;
	if (p->dropped & COATI_DROP_FREQ)
		a.attr.sample_period = p->freq;
	return a;
}

/* E2BIG: the kernel has written its own size; only what lies beyond can be at fault. */
static bool fit_size(const struct negotiation *n, struct plan *p, uint32_t kernel_size)
{
	const struct coati_attr *attr = &n->args.attr;
	uint32_t bits = 0;

	if (kernel_size < COATI_ATTR_SIZE_VER0 || kernel_size >= sizeof(*attr))
		return false;
	p->attr_size = kernel_size;
	if ((attr->config4 && kernel_size < ENDS_AT(config4)) ||
	    (attr->config3 && kernel_size < ENDS_AT(config3)))
		bits |= COATI_DROP_CONFIG34;
	if (attr->sig_data && kernel_size < ENDS_AT(sig_data))
		bits |= COATI_DROP_SIG_DATA;
	if ((attr->aux_action && kernel_size < ENDS_AT(aux_action)) ||
	    (attr->aux_sample_size && kernel_size < ENDS_AT(aux_sample_size)))
		bits |= COATI_DROP_AUX;
	if (!(bits & ~p->dropped))
		return false;
	p->dropped |= bits;
	return true;
}

/* EOVERFLOW: deeper stacks than the sysctl allows. */
static bool lower_max_stack(const struct negotiation *n, struct plan *p)
{
	int64_t max;

	if (p->dropped & COATI_DROP_MAX_STACK || !n->args.attr.sample_max_stack)
		return false;
	if (n->calls->sysctl(n->calls->ctx, "perf_event_max_stack", &max) < 0 || max < 0 ||
	    max >= n->args.attr.sample_max_stack)
		return false;
	p->max_stack = (uint16_t)max;
	p->dropped |= COATI_DROP_MAX_STACK;
	return true;
}

/* The kernel lowers its limit by itself under load, so the limit is read again at each attempt. */
static bool lower_freq(const struct negotiation *n, struct plan *p)
{
	const struct coati_attr *attr = &n->args.attr;
	uint64_t now = p->dropped & COATI_DROP_FREQ ? p->freq : attr->sample_period;
	int64_t max;

	if (!(attr->flags & COATI_ATTR_FREQ))
		return false;
	if (n->calls->sysctl(n->calls->ctx, "perf_event_max_sample_rate", &max) < 0 || max < 1 ||
	    now <= (uint64_t)max)
		return false;
	p->freq = (uint64_t)max;
	p->dropped |= COATI_DROP_FREQ;
	return true;
}

static bool lower_precise(const struct negotiation *n, struct plan *p)
{
	unsigned int now = p->dropped & COATI_DROP_PRECISE ? p->precise : precise_of(&n->args.attr);

	if (!now)
		return false;
	p->precise = now - 1;
	p->dropped |= COATI_DROP_PRECISE;
	return true;
}

static bool take(struct plan *p, uint32_t bit, bool asked)
{
	if (!asked || p->dropped & bit)
		return false;
	p->dropped |= bit;
	return true;
}

static bool take_lost(const struct negotiation *n, struct plan *p)
{
	return take(p, COATI_DROP_LOST, n->args.attr.read_format & COATI_READ_LOST);
}

/* EINVAL with no cause in sight: the next feature that was asked for and is still in. */
static bool drop_next(const struct negotiation *n, struct plan *p)
{
	if (take(p, COATI_DROP_CLOEXEC, n->args.flags & COATI_OPEN_CLOEXEC))
		return true;
	if (take(p, COATI_DROP_AUX, n->args.attr.aux_action != 0))
		return true;
	for (size_t i = 0; i < NR_FEATURES; i++)
		if (take(p, features[i].bit, asks_for(&n->args.attr, &features[i])))
			return true;
	return lower_precise(n, p);
}

/* EACCES or EPERM: without the kernel part it may be allowed. An event of the kernel part alone has
 * nothing left. */
static bool drop_kernel(const struct negotiation *n, struct plan *p)
{
	uint64_t flags = n->args.attr.flags;

	return take(p, COATI_DROP_KERNEL,
		    !(flags & (COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_USER)));
}

static bool next_step(const struct negotiation *n, struct plan *p, int code, uint32_t kernel_size)
{
	bool features_ok = n->flags & COATI_EVENT_NEGOTIATE;

	switch (code) {
	case -E2BIG:
		return features_ok && fit_size(n, p, kernel_size);
	case -EOVERFLOW:
		return features_ok && lower_max_stack(n, p);
	case -EINVAL:
		if (!features_ok)
			return n->lost_optional && take_lost(n, p);
		return lower_freq(n, p) || drop_next(n, p);
	case -EOPNOTSUPP:
		return features_ok && (take(p, COATI_DROP_AUX, n->args.attr.aux_action != 0) ||
				       lower_precise(n, p));
	case -EACCES:
	case -EPERM:
		/* namespace records are for the privileged alone, whatever the paranoid level */
		if (features_ok &&
		    take(p, COATI_DROP_NAMESPACES, n->args.attr.flags & COATI_ATTR_NAMESPACES))
			return true;
		return n->flags & COATI_EVENT_USER_OK && drop_kernel(n, p);
	default:
		return false;
	}
}

/* The features that were left out before the one that mattered are asked for again, one by one. */
static int give_back(const struct negotiation *n, struct plan *p, int fd)
{
	uint32_t again = COATI_DROP_CLOEXEC | COATI_DROP_AUX;

	for (size_t i = 0; i < NR_FEATURES; i++)
		again |= features[i].bit;
	for (uint32_t bit = 1; bit && bit <= again; bit <<= 1) {
		struct plan more = *p;
		struct open_args args;
		int better;

		if (!(p->dropped & again & bit))
			continue;
		more.dropped &= ~bit;
		args = build(n, &more);
		better = n->calls->open(n->calls->ctx, &args);
		if (better < 0)
			continue;
		n->calls->close(n->calls->ctx, fd, args.attr.type);
		fd = better;
		*p = more;
	}
	return fd;
}

int coati_negotiate(struct negotiation *n)
{
	struct plan p = { 0 };
	struct open_args args;
	bool guessed = false;
	int refused = 0;
	int fd;

	for (;;) {
		args = build(n, &p);
		fd = n->calls->open(n->calls->ctx, &args);
		if (fd >= 0 || !next_step(n, &p, fd, args.attr.size))
			break;
		guessed |= fd == -EINVAL || fd == -EOPNOTSUPP;
		if (fd == -EACCES || fd == -EPERM)
			refused = fd;
	}
	/* Leaving out the kernel part did not help: the refusal is what matters, unless it only hid
	 * that there is no such event here, which no permission would change. */
	if (fd < 0)
		return refused && fd != -ENOENT && fd != -ENODEV && fd != -EOPNOTSUPP ? refused
										      : fd;
	if (guessed) {
		fd = give_back(n, &p, fd);
		args = build(n, &p);
	}
	args.attr.size = sizeof(args.attr);
	n->args = args;
	n->dropped = p.dropped;
	return fd;
}

const char *coati_dropped_format(uint32_t dropped, char *buf, size_t size)
{
	size_t len = 0;

	if (!buf || !size)
		return "";
	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && len < size; i++) {
		int n;

		if (!(dropped & names[i].bit))
			continue;
		n = snprintf(buf + len, size - len, "%s%s", len ? ", " : "", names[i].text);
		if (n < 0)
			break;
		len += (size_t)n;
	}
	return buf;
}
