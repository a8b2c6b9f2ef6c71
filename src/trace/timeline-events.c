/* SPDX-License-Identifier: MIT */
/* What the events of a file tell a timeline: by their attributes and names, and for tracepoints
 * where in their payload it stands. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "reading/profile.h"
#include "record/batch.h"
#include "recording/recording.h"
#include "trace/timeline-read.h"

static bool is_software(const struct coati_attr *a, uint64_t config)
{
	return a->type == COATI_TYPE_SOFTWARE && a->config == config;
}

/* Ours, and the kernel's own names. */
static const struct irq_event {
	const char *ours, *name, *field;
	enum load_kind kind;
} irq_events[] = {
	{ COATI_IRQ_PREFIX "handler-entry", "irq:irq_handler_entry", "irq", LOAD_IRQ_ENTRY },
	{ COATI_IRQ_PREFIX "handler-exit", "irq:irq_handler_exit", "irq", LOAD_IRQ_EXIT },
	{ COATI_IRQ_PREFIX "soft-entry", "irq:softirq_entry", "vec", LOAD_IRQ_ENTRY },
	{ COATI_IRQ_PREFIX "soft-exit", "irq:softirq_exit", "vec", LOAD_IRQ_EXIT },
	{ COATI_IRQ_PREFIX "timer-entry", "irq_vectors:local_timer_entry", "vector",
	  LOAD_IRQ_ENTRY },
	{ COATI_IRQ_PREFIX "timer-exit", "irq_vectors:local_timer_exit", "vector", LOAD_IRQ_EXIT },
};

static const struct irq_event *find_irq(const char *name)
{
	for (size_t i = 0; i < sizeof(irq_events) / sizeof(*irq_events); i++)
		if (!strcmp(name, irq_events[i].ours) || !strcmp(name, irq_events[i].name))
			return &irq_events[i];
	return NULL;
}

enum load_kind coati_load_kind(const struct coati_recording_event *e)
{
	const struct coati_attr *a = &e->attr;

	if (!strcmp(e->name, COATI_LIVE_EVENT))
		return LOAD_LIVE;
	if (coati_profile_is_off(e))
		return LOAD_OFF;
	if (a->type == COATI_TYPE_TRACEPOINT) {
		const struct irq_event *irq = find_irq(e->name);

		if (irq)
			return irq->kind;
		if (!strcmp(e->name, COATI_OFF_CPU_WAKING) ||
		    !strcmp(e->name, "sched:sched_waking"))
			return LOAD_WAKE;
		if (!strcmp(e->name, "sched:sched_switch"))
			return LOAD_SWITCH;
		if (!strcmp(e->name, "raw_syscalls:sys_enter"))
			return LOAD_SYSCALL;
		return strcmp(e->name, "raw_syscalls:sys_exit") ? LOAD_NOTHING : LOAD_SYSRET;
	}
	if (is_software(a, COATI_SW_PAGE_FAULTS) || is_software(a, COATI_SW_PAGE_FAULTS_MIN) ||
	    is_software(a, COATI_SW_PAGE_FAULTS_MAJ))
		return LOAD_FAULT;
	if (is_software(a, COATI_SW_CPU_CLOCK) || is_software(a, COATI_SW_TASK_CLOCK) ||
	    (a->type == COATI_TYPE_HARDWARE && a->config == COATI_HW_CPU_CYCLES))
		return LOAD_SAMPLE;
	return LOAD_NOTHING;
}

static int open_tracepoint(const struct coati_recording *r, const char *name, struct load_event *l)
{
	static const char *const fields[][3] = {
		[LOAD_WAKE] = { "pid" },
		[LOAD_SWITCH] = { "prev_pid", "prev_state", "next_pid" },
		[LOAD_SYSCALL] = { "id" },
	};
	const struct irq_event *irq =
		l->kind == LOAD_IRQ_ENTRY || l->kind == LOAD_IRQ_EXIT ? find_irq(name) : NULL;
	const char *const *wants = NULL;
	uint64_t size = 0;
	const char *text = coati_recording_tracepoint(r, l->config, &size);
	int n, nr = 0;

	for (int i = 0; i < 3; i++)
		l->fields[i] = -ENOENT;
	if (irq) {
		wants = &irq->field;
		nr = 1;
		l->irq = (uint64_t)(irq - irq_events) / 2 + 1;
	} else if (l->kind < sizeof(fields) / sizeof(*fields)) {
		wants = fields[l->kind];
		nr = 3;
	}
	if (!nr || !wants[0] || !text)
		return 0;
	n = coati_tracepoint_parse(text, size, &l->tracepoint, NULL);
	for (int i = 0; n == 0 && i < nr && wants[i]; i++)
		l->fields[i] = coati_tracepoint_find(l->tracepoint, wants[i]);
	return n == -ENOMEM ? n : 0;
}

struct load_event *coati_load_event(struct load *l, const struct coati_recording *r, uint32_t at)
{
	const struct coati_recording_event *e = coati_recording_event(r, at);
	struct load_event *v;

	if (!e)
		return NULL;
	while (l->events.len <= at)
		if (!ARRAY_ADD(&l->events))
			return NULL;
	v = &l->events.v[at];
	if (v->kind == LOAD_UNKNOWN) {
		v->kind = coati_load_kind(e);
		v->config = e->attr.config;
		if (open_tracepoint(r, e->name, v) < 0)
			return NULL;
	}
	return v;
}

bool coati_load_field(const struct load_event *v, int field, const struct coati_payload *payload,
		      int64_t *ret)
{
	struct coati_field_value value;

	if (v->fields[field] < 0 || !v->tracepoint ||
	    coati_tracepoint_read(v->tracepoint, (uint32_t)v->fields[field], payload, &value) < 0)
		return false;
	*ret = (int64_t)value.number;
	return true;
}

bool coati_load_is_hard(const struct load_event *v)
{
	return strcmp(irq_events[2 * (v->irq - 1)].field, "vec") != 0;
}
