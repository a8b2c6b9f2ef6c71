/* SPDX-License-Identifier: MIT */
/* see when.h */
#include "fleet/when.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/parse.h"

static const char *const dates[] = { "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
				     "%Y-%m-%d %H:%M", "%Y-%m-%d" };
static const char *const hours[] = { "%H:%M:%S", "%H:%M" };

/* The whole of @text, with or without a Z. */
static bool parse_as(const char *text, const char *format, struct tm *tm, bool *is_utc)
{
	const char *end = strptime(text, format, tm);

	if (!end)
		return false;
	*is_utc = !strcmp(end, "Z");
	return *is_utc || !*end;
}

static int parse_date(const char *text, uint64_t now_s, uint64_t *ret_s)
{
	time_t now = (time_t)now_s, t;
	bool is_utc = false, found = false;
	struct tm tm;

	for (size_t i = 0; !found && i < sizeof(dates) / sizeof(*dates); i++) {
		tm = (struct tm){ .tm_isdst = -1 };
		found = parse_as(text, dates[i], &tm, &is_utc);
	}
	for (size_t i = 0; !found && i < sizeof(hours) / sizeof(*hours); i++) {
		localtime_r(&now, &tm);
		tm.tm_sec = 0;
		tm.tm_isdst = -1;
		found = parse_as(text, hours[i], &tm, &is_utc);
	}
	if (!found)
		return -EINVAL;
	t = is_utc ? timegm(&tm) : mktime(&tm);
	if (t < 0)
		return -ERANGE;
	*ret_s = (uint64_t)t;
	return 0;
}

int coati_when_parse(const char *text, uint64_t now_s, uint64_t *ret_s, struct coati_error *err)
{
	uint64_t ns;
	int r = -EINVAL;

	if (!strcmp(text, "now")) {
		*ret_s = now_s;
		return 0;
	}
	if (*text == '@')
		r = coati_parse_u64(text + 1, 0, UINT32_MAX, ret_s);
	else if (*text == '-' && coati_parse_duration(text + 1, 0, UINT64_MAX, &ns) == 0)
		r = ns / NSEC_PER_SEC <= now_s ? (*ret_s = now_s - ns / NSEC_PER_SEC, 0) : -ERANGE;
	else
		r = parse_date(text, now_s, ret_s);
	if (r < 0)
		return coati_fail(
			err, r,
			"\"%.60s\" is not a time; use -1h, 14:05, \"2026-11-15 14:05\" or "
			"@SECONDS",
			text);
	return 0;
}
