/* SPDX-License-Identifier: MIT */
/* The endpoints in somebody else's HTTP server: bytes in, bytes out, and nothing else. */
#include "lib/test.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <coati/sampler.h>
#include <coati/serve.h>

#include "base/alloc.h"
#include "unit/serve-client.h"

/* Lives until the next call. */
static const struct coati_serve_response *answered(const char *request)
{
	static struct coati_serve_response r;
	struct coati_serve_request q = { .size = sizeof(q),
					 .bytes = request,
					 .nr_bytes = strlen(request) };

	coati_serve_response_free(&r);
	r = (struct coati_serve_response){ .size = sizeof(r) };
	CHECK_OK(coati_serve_answer(&q, &r));
	return &r;
}

/* The same bytes as the server sends, with status, type, headers and body as parts of them. */
TEST(serve_answer_is_what_the_server_sends)
{
	static const char *const requests[] = {
		OK,
		PAGE(""),
		PAGE("heap"),
		PAGE("threads?debug=7"),
		"GET /debug/pprof HTTP/1.1\r\n" HOST "\r\n",
		"HEAD /debug/pprof/cmdline HTTP/1.1\r\n" HOST "\r\n",
		"DELETE /metrics HTTP/1.1\r\n" HOST "\r\n",
		"POST /debug/pprof/symbol HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n0x1",
		"GET /metrics HTTP/2.0\r\n" HOST "\r\n",
		"\r\n",
	};
	struct coati_server *server = started("0", NULL);

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		const char *sent = asked(server, requests[i]);
		const struct coati_serve_response *r = answered(requests[i]);

		CHECK_U64(r->nr_bytes, ==, (uint64_t)(body_of(sent) - sent) + (uint64_t)r->nr_body);
		CHECK_MEM(r->bytes, sent, r->nr_bytes);
		CHECK_INT(r->status, ==, status_of(sent));
		CHECK(!strncmp(r->headers, "Content-Type: ", 14));
		CHECK(!strncmp(r->headers + 14, r->type, strlen(r->type)));
		CHECK((const char *)r->body + r->nr_body == (const char *)r->bytes + r->nr_bytes);
		CHECK_MEM((const char *)r->body - 4, "\r\n\r\n", 4);
	}
	coati_server_stop(server);
}

TEST(serve_answer_asks_for_more_at_every_cut)
{
	static const char request[] =
		"POST /debug/pprof/symbol HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n0x1";
	struct coati_serve_response r = { .size = sizeof(r) };
	struct coati_serve_request q = { .size = sizeof(q), .bytes = request };

	for (; q.nr_bytes < sizeof(request) - 1; q.nr_bytes++)
		CHECK_INT(coati_serve_answer(&q, &r), ==, -EAGAIN);
	CHECK_OK(coati_serve_answer(&q, &r));
	CHECK_INT(r.status, ==, 200);
	coati_serve_response_free(&r);
	CHECK(!r.bytes);
}

/* A server has names of its own; but a page of another site does not get through it. */
TEST(serve_answer_leaves_hosts_to_the_server_and_refuses_other_sites)
{
	CHECK_INT(answered("GET /metrics HTTP/1.1\r\nHost: shop.example\r\n\r\n")->status, ==, 200);
	CHECK_INT(answered("GET /metrics HTTP/1.0\r\n\r\n")->status, ==, 200);
	CHECK_INT(answered("GET /metrics HTTP/1.0\r\nSec-Fetch-Site: cross-site\r\n\r\n")->status,
		  ==, 403);
	CHECK_INT(answered("GET / HTTP/1.0\r\n\r\n")->status, ==, 404);
	CHECK_HAS((const char *)answered("GET /metrics HTTP/1.0\r\n\r\n")->body,
		  "\ncoati_serve_errors_total 2\n");
}

static uint32_t entries(const char *path)
{
	DIR *dir = opendir(path);
	uint32_t nr = 0;

	CHECK(dir);
	while (readdir(dir))
		nr++;
	closedir(dir);
	return nr;
}

TEST(serve_answer_starts_no_thread_and_keeps_no_descriptor)
{
	uint32_t fds = entries("/proc/self/fd"), tasks = entries("/proc/self/task");
	const struct coati_serve_response *r;

	r = answered("GET /debug/pprof/threads?debug=2 HTTP/1.0\r\n\r\n");
	CHECK_INT(r->status, ==, 200);
	CHECK_HAS((const char *)r->body, "it is writing this page");
	CHECK_U64(entries("/proc/self/fd"), ==, fds);
	CHECK_U64(entries("/proc/self/task"), ==, tasks);
}

static int leaves(void *left)
{
	return --*(int *)left < 0;
}

/* Asked before each piece of the waiting: it leaves at the fourth. */
TEST_LIMIT(serve_answer_ends_a_profile_whose_client_left, 60)
{
	static const char request[] = "GET /debug/pprof/profile?seconds=3000 HTTP/1.0\r\n\r\n";
	struct coati_serve_response r = { .size = sizeof(r) };
	int left = 3;
	struct coati_serve_request q = { .size = sizeof(q),
					 .bytes = request,
					 .nr_bytes = sizeof(request) - 1,
					 .is_left = leaves,
					 .ctx = &left };

	CHECK_INT(coati_serve_answer(&q, &r), ==, -ECANCELED);
	CHECK_INT(left, ==, -1);
	CHECK(!r.bytes);
	CHECK_OK(coati_sampler_start(NULL, NULL)); /* it was stopped */
	CHECK_INT(answered("GET /debug/pprof/profile?seconds=1 HTTP/1.0\r\n\r\n")->status, ==, 429);
	CHECK_OK(coati_sampler_stop(-1, NULL, NULL));
	CHECK_INT(answered("GET /debug/pprof/profile?seconds=1 HTTP/1.0\r\n\r\n")->status, ==, 200);
}

TEST(serve_answer_refuses_what_it_does_not_know_and_lives_without_memory)
{
	static const char request[] = "GET /debug/pprof/cmdline HTTP/1.0\r\n\r\n";
	struct coati_serve_response r = { .size = sizeof(r) }, small = { .size = 8 };
	struct coati_serve_request q = { .size = sizeof(q),
					 .bytes = request,
					 .nr_bytes = sizeof(request) - 1 },
				   none = { .size = sizeof(none) }, odd = q;

	odd.stacks = (enum coati_sampler_stacks)9;
	CHECK_INT(coati_serve_answer(&q, &small), ==, -EINVAL);
	CHECK_INT(coati_serve_answer(&q, NULL), ==, -EINVAL);
	CHECK_INT(coati_serve_answer(&none, &r), ==, -EINVAL);
	CHECK_INT(coati_serve_answer(&odd, &r), ==, -EINVAL);
	for (uint64_t n = 0; !r.bytes || r.status != 200; n++) {
		coati_serve_response_free(&r);
		coati_alloc_fail_after(n);
		if (coati_serve_answer(&q, &r) < 0)
			CHECK(!r.bytes);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK_U64(n, <, 100);
	}
	coati_serve_response_free(&r);
}
