/* SPDX-License-Identifier: MIT */
/* see record/events.h */
#include "cli/record/events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/parse.h"

/* Cycles, where there is a PMU that can interrupt; some virtual machines have one that only
 * counts. */
static bool can_sample_cycles(void)
{
	struct coati_attr attr = {
		.type = COATI_TYPE_HARDWARE,
		.config = COATI_HW_CPU_CYCLES,
		.sample_period = 1000000,
		.sample_type = COATI_SAMPLE_IP,
		.flags = COATI_ATTR_DISABLED | COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV,
	};
	struct coati_event *ev = NULL;
	int r = coati_event_open(&attr, &COATI_SELF, NULL, &ev, NULL);

	coati_event_close(&ev);
	return r == 0;
}

/* Time on CPUs and time off them can be added up; cycles and time cannot. */
static const char *usual_event(const struct record_args *args)
{
	return !args->off_cpu && can_sample_cycles() ? "cycles" : "cpu-clock";
}

/* What a timeline has besides switches: where threads run, every page fault, and system calls when
 * they are asked for. */
static int add_trace_events(const struct record_args *args, struct coati_event_list *list,
			    struct coati_error *err)
{
	static const char *const events[] = {
		"page-faults/name=page-faults,period=1,call-graph=no/",
		"raw_syscalls:sys_enter/call-graph=no/", "raw_syscalls:sys_exit/call-graph=no/"
	};
	size_t nr = args->syscalls ? 3 : 1;
	int r = 0;

	for (size_t i = args->events.len ? 1 : 0; args->trace && r == 0 && i < nr; i++)
		r = coati_event_list_add(list, events[i], err);
	return r;
}

int coati_record_events(const struct record_args *args, struct coati_event_list **ret,
			const char **ret_text, bool *ret_default, struct coati_error *err)
{
	int r = coati_event_list_new(NULL, ret, err);

	*ret_text = NULL;
	*ret_default = !args->events.len;
	if (r == 0 && *ret_default)
		r = coati_event_list_add(*ret, usual_event(args), err);
	for (size_t i = 0; r == 0 && i < args->events.len; i++) {
		*ret_text = args->events.v[i].text;
		if (args->events.v[i].tag == RECORD_FILTER)
			r = coati_event_list_filter(*ret, *ret_text, err);
		else
			r = coati_event_list_add(*ret, *ret_text, err);
	}
	if (r < 0)
		return r;
	*ret_text = NULL;
	return add_trace_events(args, *ret, err);
}

int coati_record_when(const char *text, struct coati_event_list **ret, uint64_t *ret_count,
		      struct coati_error *err)
{
	const char *more = strrchr(text, '>');
	char event[1024];
	int r;

	if (!more || more == text || (size_t)(more - text) >= sizeof(event) ||
	    coati_parse_u64(more + 1, 0, INT64_MAX - 1, ret_count) < 0)
		return coati_fail(err, -EINVAL, "--when needs EVENT>N, as in page-faults>1000");
	snprintf(event, sizeof(event), "%.*s", (int)(more - text), text);
	r = coati_event_list_new(NULL, ret, err);
	return r < 0 ? r : coati_event_list_add(*ret, event, err);
}
