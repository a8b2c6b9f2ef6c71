/* SPDX-License-Identifier: MIT */
/* Event lists in tests. */
#include "lib/events.h"

#include "base/error.h"
#include "event/list.h"

struct coati_event_list *events_new(const char *sysfs, const char *tracefs)
{
	struct coati_event_list_opts opts = {
		.size = sizeof(opts),
		.sysfs = sysfs ? sysfs : "/nonexistent/sys",
		.tracefs = tracefs ? tracefs : "/nonexistent/tracing",
	};
	struct coati_event_list *list = NULL;
	struct coati_error err = { 0 };

	if (coati_event_list_new(&opts, &list, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return list;
}

struct coati_event_list *events_parse(const char *text)
{
	struct coati_event_list *list = events_new(NULL, NULL);
	struct coati_error err = { 0 };

	if (coati_event_list_add(list, text, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "\"%s\": column %d: %s", text, err.column,
			     err.text);
	return list;
}

const struct coati_event_desc *events_one(struct coati_event_list *list)
{
	CHECK_INT(coati_event_list_count(list), ==, 1);
	return coati_event_list_get(list, 0);
}

void events_refused(struct coati_event_list *list, const char *text, int code, int column,
		    const char *part)
{
	uint32_t before = coati_event_list_count(list);
	struct coati_error err = { 0 };
	int r = coati_event_list_add(list, text, &err);

	if (r != code || err.code != code || err.column != column || !strstr(err.text, part) ||
	    strpbrk(err.text, "\n\r"))
		test_fail_at(__FILE__, __LINE__,
			     "\"%s\": %d (%s) at column %d: %s; not %s at %d: %s", text, r,
			     coati_errno_name(err.code), err.column, err.text,
			     coati_errno_name(code), column, part);
	CHECK_INT(coati_event_list_count(list), ==, before);
}
