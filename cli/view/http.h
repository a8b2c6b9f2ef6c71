/* SPDX-License-Identifier: MIT */
/* What the server of coati view reads of a request beside what all servers do. */
#pragma once

#include <stdbool.h>

#include "http/server.h"

#define VIEW_ORIGIN_BYTES 128

/* The page that asks, "" when it is not said. */
void coati_view_origin(const struct http_asked *q, char ret[VIEW_ORIGIN_BYTES]);
/* OPTIONS: a browser asks whether it may ask. */
bool coati_view_is_preflight(const struct http_asked *q);
/* Answer until the process is asked to stop (stop.h). */
void coati_view_serve(const struct serve_place *place, http_answer_fn fn, void *ctx);
