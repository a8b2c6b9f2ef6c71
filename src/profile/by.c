/* SPDX-License-Identifier: MIT */
/* The kinds of tables by name. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/match.h"
#include "profile/walk.h"
#include "reading/profile.h"

static const char *const names[COATI_BY_COUNT] = {
	[COATI_BY_FUNCTION] = "function", [COATI_BY_LINE] = "line",
	[COATI_BY_ADDRESS] = "address",	  [COATI_BY_IMAGE] = "image",
	[COATI_BY_THREAD] = "thread",	  [COATI_BY_PROCESS] = "process",
	[COATI_BY_COMM] = "comm",	  [COATI_BY_CPU] = "cpu",
	[COATI_BY_EVENT] = "event",	  [COATI_BY_LABEL] = "label",
	[COATI_BY_TIME] = "time",	  [COATI_BY_WAIT] = "wait",
};

/* What perf calls them. */
static const struct {
	const char *name;
	enum coati_by by;
} others[] = {
	{ "dso", COATI_BY_IMAGE },    { "symbol", COATI_BY_FUNCTION }, { "sym", COATI_BY_FUNCTION },
	{ "srcline", COATI_BY_LINE }, { "pid", COATI_BY_PROCESS },     { "tid", COATI_BY_THREAD },
};

const char *coati_by_name(enum coati_by by)
{
	return by < COATI_BY_COUNT ? names[by] : NULL;
}

int coati_by_parse(const char *text, enum coati_by *ret_by, const char **ret_label,
		   struct coati_error *err)
{
	struct nearest near = coati_nearest_to(text);

	if (!strncmp(text, "label:", 6) && text[6]) {
		*ret_by = COATI_BY_LABEL;
		*ret_label = text + 6;
		return 0;
	}
	if (!strcmp(text, "task") || !strcmp(text, "region") || !strcmp(text, "service")) {
		*ret_by = COATI_BY_LABEL;
		*ret_label = text;
		return 0;
	}
	if (strchr(text, ','))
		return coati_fail(err, -EINVAL,
				  "by \"%s\": one table at a time; choose a row of it with "
				  "--image, --thread or --function for the next",
				  text);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(text, others[i].name)) {
			*ret_by = others[i].by;
			*ret_label = NULL;
			return 0;
		}
	for (unsigned int i = 0; i < COATI_BY_COUNT; i++) {
		if (i != COATI_BY_LABEL && !strcmp(text, names[i])) {
			*ret_by = (enum coati_by)i;
			*ret_label = NULL;
			return 0;
		}
		coati_nearest_offer(&near, names[i]);
	}
	if (near.best && !strcmp(near.best, "label"))
		return coati_fail(err, -EINVAL, "by \"%s\": name the label: label:KEY", text);
	if (near.best)
		return coati_fail(err, -EINVAL,
				  "by \"%s\": there is no such table; did you mean %s?", text,
				  near.best);
	return coati_fail(
		err, -EINVAL,
		"by \"%s\": there is no such table; there are function, line, address, image, "
		"thread, process, comm, cpu, event, label:KEY, service, task, region, time and "
		"wait",
		text);
}
