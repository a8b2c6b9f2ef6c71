/* SPDX-License-Identifier: MIT */
/* see view/http.h */
#include "cli/view/http.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "cli/stop.h"

#define HEAD_NS	 (10 * NSEC_PER_SEC)
#define BODY_NS	 (120 * NSEC_PER_SEC)
#define BODY_MAX ((size_t)4 << 30)

void coati_view_origin(const struct http_asked *q, char ret[VIEW_ORIGIN_BYTES])
{
	ret[0] = '\0';
	for (const char *at = q->head, *end = at + q->head_size; at < end;) {
		const char *lf = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((lf ? lf : end) - at);

		if (len > 7 && !strncasecmp(at, "origin:", 7)) {
			const char *value = at + 7;

			len -= 7;
			while (len && *value == ' ')
				value++, len--;
			while (len && (value[len - 1] == '\r' || value[len - 1] == ' '))
				len--;
			snprintf(ret, VIEW_ORIGIN_BYTES, "%.*s", (int)len, value);
			return;
		}
		at = lf ? lf + 1 : end;
	}
}

bool coati_view_is_preflight(const struct http_asked *q)
{
	return q->head_size > 8 && !memcmp(q->head, "OPTIONS ", 8);
}

void coati_view_serve(const struct serve_place *place, http_answer_fn fn, void *ctx)
{
	struct http_server s = { .place = place,
				 .fn = fn,
				 .ctx = ctx,
				 .head_ns = HEAD_NS,
				 .body_ns = BODY_NS,
				 .body_max = BODY_MAX };
	sigset_t stops, old;

	coati_stop_mask(&stops);
	sigprocmask(SIG_BLOCK, &stops, &old);
	while (!coati_stop_count())
		coati_http_turn(&s, -1, &old);
	sigprocmask(SIG_SETMASK, &old, NULL);
	coati_http_leave(&s);
}
