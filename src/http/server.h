/* SPDX-License-Identifier: MIT */
/*
 * A small HTTP server of the tool: one thread, a few connections at a time, one request each. A
 * client that sends nothing, or reads nothing, is left after some seconds; in a crowd of those that
 * send nothing the oldest makes room for the next, as in coati_serve().
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "live/serve-http.h"
#include "live/serve-listen.h"

#define HTTP_CLIENTS 32

struct http_client;

struct http_asked {
	struct http_request http;
	const char *head; /* its bytes, for fields that the parser has no use for */
	size_t head_size;
};

struct http_answer {
	int status;
	const char *type;
	char extra[512];    /* further lines of the head, each with its end */
	struct strbuf body; /* taken over and freed */
};

/* Of a request to this server's own address that could be read. */
typedef void (*http_answer_fn)(void *ctx, const struct http_asked *q, struct http_answer *a);

struct http_server {
	const struct serve_place *place;
	http_answer_fn fn;
	void *ctx;
	uint64_t head_ns, body_ns; /* how long a client has for its request, and for the answer */
	size_t body_max;
	struct http_client *clients[HTTP_CLIENTS];
};

/* One turn: wait until a client can be served or has to be left, or @stop_fd (-1: none) is
 * readable. @mask holds meanwhile (NULL: the present one); a signal ends the turn. False: @stop_fd
 * is readable. */
bool coati_http_turn(struct http_server *s, int stop_fd, const sigset_t *mask);
/* All clients are left. */
void coati_http_leave(struct http_server *s);
/* A sentence as the answer. */
void coati_http_say(struct http_answer *a, int status, const char *text);
