/* SPDX-License-Identifier: MIT */
/* What the endpoints answer: a checked request in, status, type and body out. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "live/page.h"
#include "live/serve-http.h"

#define SERVE_ANSWER_BYTES (16 * 1024 * 1024)

struct serve_answer {
	char *text;		       /* what the job is to be given, to be freed; NULL: nothing */
	const struct live_page *later; /* not NULL: it takes a while, and this is what makes it */
	uint32_t seconds, debug;       /* that were asked for, then */
	enum coati_sampler_stacks stacks; /* of the server */
	int status;
	const char *type;  /* of the body */
	const char *extra; /* more header lines, each with its line end, or "" */
	const char *file;  /* to be kept under this name, or NULL */
	struct strbuf body;
};

/* What /metrics tells of a server; counted by its thread alone. */
struct serve_counts {
	uint64_t requests, refused, errors, timeouts, crowded;
	uint32_t clients;
};

/* A body of one sentence. */
void coati_serve_say(struct serve_answer *a, int status, const char *sentence);
/* What a page has made becomes the answer. */
void coati_serve_take(const struct page_job *page, struct serve_answer *a);
/* The head of the response behind @ret, up to the empty line. */
void coati_serve_head(const struct serve_answer *a, struct strbuf *ret);
/* @body: the body of a POST, ended by a zero. */
void coati_serve_page(const struct http_request *request, const char *body,
		      const struct serve_counts *counts, struct serve_answer *ret);
/* Pages that take a while: ours, then those that parts of the library bring; NULL at the end. */
const struct live_page *coati_serve_later(uint32_t i);
/* serve-profile.c */
extern const struct live_page coati_serve_profile;
/* serve-symbol.c */
extern const struct live_page coati_serve_symbol;
/* serve-threads.c */
extern const struct live_page coati_serve_threads;
/* serve-metrics.c */
/* The number in field @field (from 1, behind the name) of what /proc has as stat of a process or
 * thread; 0 when there is none. */
uint64_t coati_stat_field(const char *stat, int field);
void coati_serve_metrics(const struct http_request *request, const struct serve_counts *counts,
			 struct serve_answer *ret);
