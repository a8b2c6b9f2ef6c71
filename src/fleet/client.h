/* SPDX-License-Identifier: MIT */
/*
 * HTTP requests to servers that are not trusted: http and https only, no redirects, answers with a
 * size limit, time limits for everything. libcurl does the work; it is loaded when the first client
 * is made.
 *
 *	struct client_ask ask = { .url = url, .body = bytes, .body_size = n };
 *	struct client_answer answer = CLIENT_ANSWER_INIT(1u << 20);
 *
 *	if (coati_client_ask(c, &ask, &answer, &err) == 0 && answer.status == 200)
 *		use(answer.body.text, answer.body.len);
 *	coati_strbuf_fini(&answer.body);
 *
 * One client is used by one thread at a time; it keeps its connection between requests.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/strbuf.h"

struct secrets;
struct client;

#define CLIENT_HEADERS 8

struct client_ask {
	const char *url;
	const void *body; /* NULL: GET */
	size_t body_size;
	bool gzip; /* compress the body */
	/* whole lines without their ends: "Content-Type: text/plain"; NULL ends them */
	const char *headers[CLIENT_HEADERS];
	uint32_t limit_ms; /* for all of it; 0: 30 s */
	/* Something else than 0 in it ends the request with -ECANCELED; NULL: nothing does. */
	const _Atomic uint32_t *stop;
};

struct client_answer {
	uint32_t status;
	uint32_t retry_after_s; /* as the server asks for; 0: it does not */
	uint64_t date_s;	/* the server's clock, since 1970; 0: it does not say */
	struct strbuf body;	/* its ceiling is the limit of the answer */
};

#define CLIENT_ANSWER_INIT(ceiling)           \
	{                                     \
		.body = STRBUF_INIT(ceiling), \
	}

/* @secrets may be NULL; they must outlive the client. -EOPNOTSUPP: built without libcurl, or it is
 * not installed. */
int coati_client_open(const struct secrets *secrets, struct client **ret, struct coati_error *err);
void coati_client_close(struct client **c);
/* 0: the server answered, whatever the status. Negative: it did not; -E2BIG: its answer is longer
 * than the limit, -EMSGSIZE: it ended early. */
int coati_client_ask(struct client *c, const struct client_ask *ask, struct client_answer *ret,
		     struct coati_error *err);
/* Append @text to a URL as the value of a parameter. */
void coati_client_escape(struct strbuf *url, const char *text);
