/* SPDX-License-Identifier: MIT */
/* see attr.h */
#include "capture/attr.h"

#include "capture/coverage.h"
#include "capture/session.h"

#if defined(__x86_64__)
#define USER_REGS UINT64_C(0xff0fff) /* all but the segments */
#elif defined(__aarch64__)
#define USER_REGS UINT64_C(0x1ffffffff)
#else
#error "which registers does unwinding need here?"
#endif

#define CLOCK_MONOTONIC_ID 1
#define OFTEN_PERIOD	   10000 /* of nanoseconds, cycles, faults: below, it may be a flood */

static bool is_software(const struct coati_attr *a, uint64_t config)
{
	return a->type == COATI_TYPE_SOFTWARE && a->config == config;
}

static bool is_fault(const struct coati_attr *a)
{
	return is_software(a, COATI_SW_PAGE_FAULTS) || is_software(a, COATI_SW_PAGE_FAULTS_MIN) ||
	       is_software(a, COATI_SW_PAGE_FAULTS_MAJ);
}

static bool has_payload(const struct coati_event_desc *d)
{
	return d->kind == COATI_EVENT_TRACEPOINT || d->kind == COATI_EVENT_KPROBE ||
	       d->kind == COATI_EVENT_UPROBE || d->kind == COATI_EVENT_USDT ||
	       is_software(&d->attr, COATI_SW_BPF_OUTPUT);
}

/* What happens now and then, or is asked for because each time matters; a rate would only thin it
 * out at random. */
static bool taken_every_time(const struct coati_event_desc *d)
{
	if (has_payload(d) || d->kind == COATI_EVENT_BREAKPOINT)
		return true;
	if (d->attr.type != COATI_TYPE_SOFTWARE)
		return false;
	switch (d->attr.config) {
	case COATI_SW_CONTEXT_SWITCHES:
	case COATI_SW_CPU_MIGRATIONS:
	case COATI_SW_PAGE_FAULTS_MAJ:
	case COATI_SW_ALIGNMENT_FAULTS:
	case COATI_SW_EMULATION_FAULTS:
	case COATI_SW_DUMMY:
	case COATI_SW_CGROUP_SWITCHES:
		return true;
	default:
		return false;
	}
}

/* How often: the event's own terms count first, then what was asked of all. */
static void set_rate(const struct coati_event_desc *d, const struct coati_capture_opts *o,
		     struct coati_attr *a)
{
	if (d->flags & (COATI_DESC_PERIOD | COATI_DESC_FREQ))
		return;
	a->flags &= ~COATI_ATTR_FREQ;
	if (o->period) {
		a->sample_period = o->period;
	} else if (taken_every_time(d)) {
		a->sample_period = 1;
	} else {
		a->flags |= COATI_ATTR_FREQ;
		a->sample_period = o->freq_hz ? o->freq_hz : CAPTURE_DEFAULT_HZ;
	}
}

enum coati_stacks coati_capture_stacks(const struct coati_event_desc *d,
				       const struct coati_capture_opts *o)
{
	switch (d->callgraph) {
	case COATI_CALLGRAPH_NO:
		return COATI_STACKS_NONE;
	case COATI_CALLGRAPH_FP:
		return COATI_STACKS_FP;
	case COATI_CALLGRAPH_DWARF:
		return COATI_STACKS_DWARF;
	case COATI_CALLGRAPH_LBR:
		return COATI_STACKS_LBR;
	default:
		break;
	}
	if (o->stacks != COATI_STACKS_AUTO)
		return o->stacks;
	/* copies of whole stacks are for events that come a thousand times a second, not a million
	 * times */
	if (taken_every_time(d) || (o->period && o->period < OFTEN_PERIOD))
		return COATI_STACKS_FP;
	return COATI_STACKS_TABLE;
}

static void set_stack_copy(const struct coati_event_desc *d, const struct coati_capture_opts *o,
			   uint32_t otherwise, struct coati_attr *a)
{
	uint32_t bytes = d->stack_size ? d->stack_size : o->stack_bytes;

	if (!bytes)
		bytes = otherwise;
	if (bytes > CAPTURE_STACK_MAX)
		bytes = CAPTURE_STACK_MAX;
	a->sample_type |= COATI_SAMPLE_REGS_USER | COATI_SAMPLE_STACK_USER;
	a->sample_regs_user = USER_REGS;
	a->sample_stack_user = (bytes + 7) & ~UINT32_C(7);
	/* AUTO also takes what the kernel finds by frame pointers: it may go on where tables end */
	if (o->stacks != COATI_STACKS_AUTO)
		a->flags |= COATI_ATTR_EXCLUDE_CALLCHAIN_USER;
}

static void set_stacks(const struct coati_event_desc *d, const struct coati_capture_opts *o,
		       uint32_t table_bytes, struct coati_attr *a)
{
	enum coati_stacks stacks = coati_capture_stacks(d, o);

	if (stacks == COATI_STACKS_NONE)
		return;
	a->sample_type |= COATI_SAMPLE_CALLCHAIN;
	a->sample_max_stack = (uint16_t)(d->max_stack ? d->max_stack : o->max_stack);
	if (stacks == COATI_STACKS_DWARF) {
		set_stack_copy(d, o, CAPTURE_DEFAULT_STACK, a);
		a->flags |= COATI_ATTR_EXCLUDE_CALLCHAIN_USER; /* the reader unwinds them */
	}
	if (stacks == COATI_STACKS_TABLE)
		set_stack_copy(d, o, table_bytes, a);
	/* the walker reports it */
	if (stacks == COATI_STACKS_BPF)
		a->flags |= COATI_ATTR_EXCLUDE_CALLCHAIN_USER;
	if (stacks == COATI_STACKS_LBR) {
		a->sample_type |= COATI_SAMPLE_BRANCH_STACK;
		a->branch_sample_type = COATI_BRANCH_USER | COATI_BRANCH_CALL_STACK |
					COATI_BRANCH_NO_CYCLES | COATI_BRANCH_NO_FLAGS |
					COATI_BRANCH_HW_INDEX;
		a->flags |= COATI_ATTR_EXCLUDE_CALLCHAIN_USER;
	}
}

static void set_fields(const struct coati_event_desc *d, const struct coati_capture_opts *o,
		       struct coati_attr *a)
{
	a->sample_type = CAPTURE_IDENTITY;
	if (a->flags & COATI_ATTR_FREQ)
		a->sample_type |= COATI_SAMPLE_PERIOD;
	if (has_payload(d))
		a->sample_type |= COATI_SAMPLE_RAW;
	if (d->kind == COATI_EVENT_BREAKPOINT || is_fault(a) || o->flags & COATI_CAPTURE_DATA)
		a->sample_type |= COATI_SAMPLE_ADDR;
	if (o->flags & COATI_CAPTURE_DATA && a->flags & COATI_ATTR_PRECISE_MASK)
		a->sample_type |= COATI_SAMPLE_DATA_SRC | COATI_SAMPLE_WEIGHT;
	if (o->flags & COATI_CAPTURE_CGROUPS)
		a->sample_type |= COATI_SAMPLE_CGROUP;
	if (a->branch_sample_type)
		a->sample_type |= COATI_SAMPLE_BRANCH_STACK;
}

/* With :S the leader samples and reads the others, which count only. */
static void set_group_read(const struct coati_event_desc *d, struct coati_attr *a)
{
	if (!(d->flags & COATI_DESC_SAMPLE_READ))
		return;
	a->sample_type |= COATI_SAMPLE_READ;
	if (d->flags & COATI_DESC_LEADER)
		return;
	a->flags &= ~(COATI_ATTR_FREQ | COATI_ATTR_WRITE_BACKWARD);
	a->sample_period = 0;
}

static bool overwrites(const struct coati_event_desc *d, const struct coati_capture_opts *o)
{
	if (d->flags & COATI_DESC_NO_OVERWRITE)
		return false;
	return o->flags & COATI_CAPTURE_OVERWRITE || d->flags & COATI_DESC_OVERWRITE;
}

static void set_clock(struct coati_attr *a)
{
	a->flags |= COATI_ATTR_SAMPLE_ID_ALL | COATI_ATTR_USE_CLOCKID;
	a->clockid = CLOCK_MONOTONIC_ID;
	a->read_format = COATI_READ_ID | COATI_READ_LOST;
}

void coati_capture_attr(const struct coati_event_list *list, uint32_t i,
			const struct coati_capture_opts *opts, uint32_t table_bytes,
			struct coati_attr *ret)
{
	const struct coati_event_desc *d = coati_event_list_get(list, i);

	*ret = d->attr;
	set_clock(ret);
	set_rate(d, opts, ret);
	if (opts->flags & COATI_CAPTURE_NO_IDLE && coati_coverage_is_clock(ret))
		ret->flags |= COATI_ATTR_EXCLUDE_IDLE;
	if (d->flags & COATI_DESC_MAX_PRECISE)
		ret->flags |= COATI_ATTR_PRECISE(3);
	set_fields(d, opts, ret);
	set_stacks(d, opts, table_bytes, ret);
	if (overwrites(d, opts))
		ret->flags |= COATI_ATTR_WRITE_BACKWARD;
	set_group_read(d, ret);
}

/* User space only, so that every user may open it: the records that it is for do not depend on
 * that. */
void coati_capture_side_attr(const struct coati_capture_opts *opts, uint64_t ring_bytes,
			     struct coati_attr *ret)
{
	uint64_t wakeup = ring_bytes / 4;

	if (opts->wakeup_bytes && opts->wakeup_bytes < wakeup)
		wakeup = opts->wakeup_bytes;
	*ret = (struct coati_attr){
		.type = COATI_TYPE_SOFTWARE,
		.config = COATI_SW_DUMMY,
		.sample_period = 1,
		.sample_type = CAPTURE_IDENTITY,
		.flags = COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV | COATI_ATTR_MMAP |
			 COATI_ATTR_MMAP2 | COATI_ATTR_BUILD_ID | COATI_ATTR_COMM |
			 COATI_ATTR_COMM_EXEC | COATI_ATTR_TASK | COATI_ATTR_NAMESPACES |
			 COATI_ATTR_KSYMBOL | COATI_ATTR_BPF_EVENT | COATI_ATTR_WATERMARK,
		.wakeup = (uint32_t)wakeup,
	};
	set_clock(ret);
	if (opts->flags & COATI_CAPTURE_SWITCHES)
		ret->flags |= COATI_ATTR_CONTEXT_SWITCH;
	if (opts->flags & COATI_CAPTURE_CGROUPS)
		ret->flags |= COATI_ATTR_CGROUP;
	if (opts->flags & COATI_CAPTURE_DATA)
		ret->flags |= COATI_ATTR_MMAP_DATA;
}

void coati_capture_when_attr(const struct coati_capture_opts *opts, uint32_t i,
			     struct coati_attr *ret)
{
	*ret = coati_event_list_get(opts->when, i)->attr;
	set_clock(ret);
	ret->sample_period = opts->when_count + 1;
	ret->sample_type = CAPTURE_IDENTITY;
	ret->flags &= ~(COATI_ATTR_FREQ | COATI_ATTR_WATERMARK);
	ret->wakeup = 1;
}
