/* SPDX-License-Identifier: MIT */
/* Binding filters to the events of a list: checked for all before one is changed. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "event/filter.h"
#include "event/list.h"
#include "event/tracefs.h"

/* Formats of tracepoints are read one at a time; the largest is far below. */
#define FORMAT_BYTES_MAX (4 << 20)

static bool can_filter(const struct coati_event_desc *d)
{
	switch (d->kind) {
	case COATI_EVENT_TRACEPOINT:
	case COATI_EVENT_KPROBE:
	case COATI_EVENT_UPROBE:
	case COATI_EVENT_USDT:
		return true;
	default:
		return false;
	}
}

/* Read the format of "system:name". */
static int read_format(const char *tracefs, const char *tracepoint, struct arena *arena,
		       struct coati_tp_format *ret)
{
	const char *colon = strchr(tracepoint, ':');
	char *system = coati_arena_strndup(arena, tracepoint, (size_t)(colon - tracepoint));

	return system ? coati_tracefs_read_format(tracefs, system, colon + 1, arena, ret) : -ENOMEM;
}

static int check_tracepoint(const struct coati_event_list *list, const char *tracepoint,
			    const char *filter, struct coati_error *err)
{
	struct coati_tp_format format;
	char tracefs[PATH_MAX];
	struct arena arena;
	int r = coati_tracefs_find(list->tracefs, tracefs, sizeof(tracefs), err);

	if (r < 0)
		return r;
	coati_arena_init(&arena, FORMAT_BYTES_MAX);
	r = read_format(tracefs, tracepoint, &arena, &format);
	if (r == 0)
		r = coati_filter_check(filter, &format, err);
	else if (r == -ENOMEM)
		coati_fail(err, r, "out of memory");
	else
		coati_fail(err, r, "the format of tracepoint '%s' cannot be read: %m", tracepoint);
	coati_arena_fini(&arena);
	return r;
}

static int check(const struct coati_event_list *list, const struct coati_event_desc *d,
		 const char *filter, struct coati_error *err)
{
	if (d->kind != COATI_EVENT_TRACEPOINT)
		return coati_filter_check(filter, &coati_probe_format, err);
	if (!d->tracepoint[0]) /* 2:ID: only the syntax can be checked */
		return coati_filter_check(filter, NULL, err);
	return check_tracepoint(list, d->tracepoint, filter, err);
}

int coati_event_list_filter(struct coati_event_list *list, const char *filter,
			    struct coati_error *err)
{
	const char *old = NULL, *both = NULL;
	int r;

	if (!list || !filter)
		return coati_fail(err, -EINVAL, "coati_event_list_filter: no list or no filter");
	for (size_t i = list->last_start; i < list->descs.len; i++) {
		struct coati_event_desc *d = &list->descs.v[i];

		if (!can_filter(d))
			continue;
		old = d->filter; /* the same for all of one add */
		r = check(list, d, filter, err);
		if (r < 0)
			return r;
	}
	if (!old)
		return coati_fail(
			err, -EINVAL,
			"a filter belongs behind a tracepoint or probe, and there is none before "
			"it");
	r = coati_filter_join(old, filter, &list->batches->arena, &both);
	if (r == -E2BIG)
		return coati_fail(err, r, "the filters together have more than %d characters",
				  FILTER_TEXT_MAX);
	if (r < 0)
		return coati_fail(err, r, "out of memory");
	for (size_t i = list->last_start; i < list->descs.len; i++) {
		if (can_filter(&list->descs.v[i]))
			list->descs.v[i].filter = both;
	}
	return 0;
}
