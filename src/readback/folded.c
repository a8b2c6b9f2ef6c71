/* SPDX-License-Identifier: MIT */
/* Folded stacks are added up: a line for each, "NAME-PID/TID;outermost;...;innermost WEIGHT". */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "format/folded.h"
#include "readback/readback.h"

#define LINE_MAX_BYTES (UINT64_C(1) << 30)

static int bad_line(uint64_t number, const char *why, struct coati_error *err)
{
	return coati_fail(err, -EBADMSG, "line %llu %s", (unsigned long long)number, why);
}

/* "NAME-PID/TID", which is cut behind the name. */
static int take_thread(char *text, struct tally *t, uint32_t *ret)
{
	char *slash = strrchr(text, '/'), *dash;
	uint32_t pid, tid;

	if (!slash)
		return -EBADMSG;
	*slash = '\0';
	dash = strrchr(text, '-');
	if (!dash || coati_parse_u32(dash + 1, 0, UINT32_MAX, &pid) < 0 ||
	    coati_parse_u32(slash + 1, 0, UINT32_MAX, &tid) < 0)
		return -EBADMSG;
	*dash = '\0';
	*ret = coati_tally_thread(t, (int32_t)pid, (int32_t)tid, text);
	return 0;
}

/* One line, without its end. */
static int take_line(char *line, uint64_t number, struct tally *t, struct coati_error *err)
{
	char *blank = strrchr(line, ' '), *first = strchr(line, ';'), *last = strrchr(line, ';');
	uint32_t thread;
	uint64_t weight;
	size_t len;

	if (!blank || !first || blank < last ||
	    coati_parse_u64(blank + 1, 0, UINT64_MAX, &weight) < 0)
		return bad_line(number, "is not a stack followed by a weight", err);
	*blank = '\0';
	*first = '\0';
	if (take_thread(line, t, &thread) < 0)
		return bad_line(number, "does not begin with a thread", err);
	len = strlen(last + 1);
	if (!len)
		return bad_line(number, "has a frame without a name", err);
	if (coati_folded_has_mark(last + 1, len))
		last[1 + len - 4] = '\0';
	coati_tally_add(t, thread, coati_tally_function(t, last + 1), weight);
	return t->failed ? coati_fail(err, t->failed, "adding up: %m") : 0;
}

int coati_folded_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err)
{
	struct strbuf line = STRBUF_INIT(LINE_MAX_BYTES);
	const char *at = bytes, *end = at + size;
	uint64_t number = 0;
	int r = 0;

	while (at < end && r == 0) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		number++;
		if (!stop || memchr(at, '\0', (size_t)(stop - at))) {
			r = bad_line(number, stop ? "has a zero byte" : "has no end", err);
			break;
		}
		coati_strbuf_clear(&line);
		coati_strbuf_add(&line, at, (size_t)(stop - at));
		r = line.failed ? coati_fail(err, line.failed, "reading back: %m")
				: take_line(line.text, number, t, err);
		at = stop + 1;
	}
	coati_strbuf_fini(&line);
	return r;
}
