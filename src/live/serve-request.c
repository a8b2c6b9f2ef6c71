/* SPDX-License-Identifier: MIT */
/* One request in, one response out, for programs that have an HTTP server of their own. */
#include <coati/serve.h>

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/sized.h"
#include "live/serve-pages.h"

#define LOOK_NS (100 * NSEC_PER_MSEC) /* between two looks whether the client has left */

struct request_job {
	struct page_job page;
	const struct coati_serve_request *request;
	bool is_left;
};

static _Atomic uint64_t requests, errors;

/* As serve-job.c has it, on the caller's thread. */
static bool wait_for(struct page_job *page, uint64_t ns)
{
	struct request_job *job = (struct request_job *)page;
	const struct coati_serve_request *q = job->request;
	uint64_t until = now_ns() + ns, now;

	while ((now = now_ns()) < until && !job->is_left) {
		uint64_t left = until - now < LOOK_NS ? until - now : LOOK_NS;
		const struct timespec t = { (time_t)(left / NSEC_PER_SEC),
					    (long)(left % NSEC_PER_SEC) };

		if (q->is_left && q->is_left(q->ctx))
			job->is_left = true;
		else
			nanosleep(&t, NULL);
	}
	return !job->is_left;
}

/* What @a asks for, now. */
static int make_page(const struct coati_serve_request *request, struct serve_answer *a)
{
	struct request_job job = { .request = request,
				   .page = { .page = a->later,
					     .seconds = a->seconds,
					     .debug = a->debug,
					     .stacks = a->stacks,
					     .text = a->text,
					     .wait = wait_for,
					     .body = &a->body } };

	a->later->make(&job.page);
	coati_serve_take(&job.page, a);
	return job.is_left ? -ECANCELED : 0;
}

/* @body ends with a zero. */
static int answer(const struct coati_serve_request *request, const struct http_request *http,
		  const char *body, struct serve_answer *a)
{
	const struct serve_counts counts = {
		.requests = atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed),
		.errors = atomic_load_explicit(&errors, memory_order_relaxed)
	};
	int r = 0;

	if (http->is_cross_site)
		coati_serve_say(a, 403, "requests from pages of other sites are refused");
	else
		coati_serve_page(http, body, &counts, a);
	if (a->later)
		r = make_page(request, a);
	if (a->status >= 400)
		atomic_fetch_add_explicit(&errors, 1, memory_order_relaxed);
	return r;
}

/* Head and body in one piece of memory, which is the caller's. */
static int put_response(const struct serve_answer *a, bool without_body,
			struct coati_serve_response *ret)
{
	struct coati_serve_response r = { .size = sizeof(r), .status = a->status, .type = a->type };
	struct strbuf out = STRBUF_INIT(SERVE_ANSWER_BYTES + 4096);
	size_t head;

	coati_serve_head(a, &out);
	head = out.len;
	if (!without_body)
		coati_strbuf_add(&out, a->body.text, a->body.len);
	if (out.failed) {
		coati_strbuf_fini(&out);
		return -ENOMEM;
	}
	r.bytes = out.text;
	r.nr_bytes = out.len;
	r.headers = strchr(out.text, '\n') + 1;
	r.body = out.text + head;
	r.nr_body = out.len - head;
	if (SIZED_FILL(ret, &r) == 0)
		return 0;
	coati_strbuf_fini(&out);
	return -EINVAL;
}

int coati_serve_answer(const struct coati_serve_request *request, struct coati_serve_response *ret)
{
	struct serve_answer a = { .extra = "", .body = STRBUF_INIT(SERVE_ANSWER_BYTES) };
	struct coati_serve_request q;
	struct http_request http = { .method = HTTP_OTHER };
	char *body = NULL;
	int r = SIZED_COPY(&q, request), head;

	if (r < 0 || !q.bytes || q.stacks > COATI_SAMPLER_STACKS_TABLES || !ret ||
	    ret->size < offsetof(struct coati_serve_response, headers))
		return r < 0 ? r : -EINVAL;
	head = coati_http_parse(q.bytes, q.nr_bytes, &http);
	if (head == 0 || (head > 0 && q.nr_bytes - (uint64_t)head < http.body_size))
		return -EAGAIN;
	a.stacks = q.stacks;
	if (head < 0) {
		coati_serve_say(&a, -head, coati_http_wrong(-head));
	} else {
		body = coati_strndup((const char *)q.bytes + head, http.body_size);
		r = body ? answer(&q, &http, body, &a) : -ENOMEM;
	}
	if (r == 0)
		r = put_response(&a, http.method == HTTP_HEAD, ret);
	coati_free(body);
	coati_free(a.text);
	coati_strbuf_fini(&a.body);
	return r;
}

void coati_serve_response_free(struct coati_serve_response *response)
{
	coati_free((void *)(uintptr_t)response->bytes);
	response->bytes = NULL;
	response->nr_bytes = 0;
}
