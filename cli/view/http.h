/* SPDX-License-Identifier: MIT */
/* A small HTTP server for one person: one thread, a few connections at a time, one request each. */
#pragma once

#include <stdbool.h>

#include "base/strbuf.h"
#include "live/serve-http.h"
#include "live/serve-listen.h"

#define VIEW_ORIGIN_BYTES 128

struct view_request {
	struct http_request http;
	char origin[VIEW_ORIGIN_BYTES]; /* of the page that asks, "" when it is not said */
	bool is_preflight;		/* OPTIONS: a browser asks whether it may ask */
};

struct view_answer {
	int status;
	const char *type;
	char extra[512];    /* further lines of the head, each with its end */
	struct strbuf body; /* taken over and freed */
};

typedef void (*view_answer_fn)(void *ctx, const struct view_request *q, struct view_answer *a);

/* Answer until the process is asked to stop (stop.h). 0 or a negative errno. */
int coati_view_serve(const struct serve_place *place, view_answer_fn fn, void *ctx);
/* A sentence as the answer. */
void coati_view_say(struct view_answer *a, int status, const char *text);
