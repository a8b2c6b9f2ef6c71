/* SPDX-License-Identifier: MIT */
/* The endpoints: requests good and bad, places and rights, clients that misbehave, forks and the
 * end. */
#include "lib/sanitizer.h"
#include "lib/test.h"

#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/live.h>
#include <coati/sampler.h>
#include <coati/serve.h>

#include "base/alloc.h"
#include "live/sampler/sampler.h"
#include "live/serve-http.h"
#include "unit/serve-client.h"

/* ---- requests ---- */

static int parsed(const char *request)
{
	struct http_request r;

	return coati_http_parse(request, strlen(request), &r);
}

TEST(http_request_is_read_into_its_parts)
{
	static const char text[] =
		"GET /metrics?seconds=5&debug=2 HTTP/1.1\r\nhOsT: LocalHost:6060\r\n"
		"Accept: text/plain, application/openmetrics-text; "
		"version=1.0.0\r\nSec-Fetch-Site: cross-site\r\n\r\nmore";
	struct http_request r;
	uint32_t n;

	CHECK_INT(coati_http_parse(text, sizeof(text) - 1, &r), ==, (int)sizeof(text) - 5);
	CHECK_INT(r.method, ==, HTTP_GET);
	CHECK_STR(r.path, "/metrics");
	CHECK_STR(r.query, "seconds=5&debug=2");
	CHECK_STR(r.host, "localhost");
	CHECK(!r.is_old && r.wants_openmetrics && r.is_cross_site);
	CHECK_OK(coati_http_query_u32(r.query, "debug", 2, &n));
	CHECK_U64(n, ==, 2);
	CHECK_ERR(coati_http_query_u32(r.query, "bug", 2, &n), -ENOENT);
	CHECK_ERR(coati_http_query_u32(r.query, "seconds", 4, &n), -ERANGE);
	CHECK_ERR(coati_http_query_u32("debug=x", "debug", 4, &n), -EINVAL);
	CHECK_INT(parsed("POST / HTTP/1.0\nContent-Length: 5\nHost: [::1]:8\n\n"), >, 0);
	CHECK_INT(parsed("GET / HTTP/1.0\r\n\r\n"), >, 0);
}

TEST(http_request_cut_at_any_length_waits_for_more)
{
	static const char text[] = OK;
	struct http_request r;

	for (size_t size = 0; size < sizeof(text) - 1; size++)
		CHECK_INT(coati_http_parse(text, size, &r), ==, 0);
	CHECK_INT(coati_http_parse(text, sizeof(text) - 1, &r), >, 0);
}

TEST(http_requests_that_are_not_surely_right_are_refused)
{
	static const struct {
		const char *text;
		int status;
	} cases[] = {
		{ "\x16\x03\x01", -400 },
		{ " GET / HTTP/1.1\r\n", -400 },
		{ "GET /\r\n\r\n", -400 },
		{ "GET http://localhost/ HTTP/1.1\r\n\r\n", -400 },
		{ "GET / HTTP/2.0\r\n\r\n", -505 },
		{ "GET / HTTP/1.1 x\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\n\r\n", -400 }, /* no Host */
		{ "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: \r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: []:1\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: [::1]1\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: [::1]:x\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: :1\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: localhost:evil.example\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: localhost:1@evil.example\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: localhost:1:1\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: localhost:65536\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: localhost:-1\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost : a\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
		  -400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 0x1\r\n\r\n", -400 },
		{ "GET / HTTP/1.1\r\n" HOST "Content-Length: 262145\r\n\r\n", -413 },
		{ "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", -501 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (parsed(cases[i].text) != cases[i].status)
			test_fail_at(__FILE__, __LINE__, "case %zu: %d, not %d", i,
				     parsed(cases[i].text), cases[i].status);
}

TEST(http_request_over_its_limits_is_told_which)
{
	char text[HTTP_HEAD_BYTES + 100];
	struct http_request r;

	memset(text, 'x', sizeof(text));
	memcpy(text, "GET /?", 6);
	CHECK_INT(coati_http_parse(text, HTTP_HEAD_BYTES - 1, &r), ==, 0);
	CHECK_INT(coati_http_parse(text, HTTP_HEAD_BYTES, &r), ==, -431);
	memcpy(text + 3000, " HTTP/1.1\r\n\r\n", 13);
	CHECK_INT(coati_http_parse(text, 3013, &r), ==, -414);
	/* and says so */
	CHECK_STR(coati_http_wrong(431), "the head of the request is over 8 KiB");
	CHECK_STR(coati_http_wrong(414), "the query is over 2 KiB");
	CHECK_STR(coati_http_wrong(413), "the body is over 256 KiB");
}

/* ---- pages ---- */

TEST(serve_index_lists_pages_that_all_answer)
{
	struct coati_server *server = started("localhost:0", NULL);
	char index[8192], request[512];
	int nr = 0;

	snprintf(index, sizeof(index), "%s",
		 body_of(asked(server, "GET /debug/pprof/ HTTP/1.1\r\n" HOST "\r\n")));
	for (const char *at = index; (at = strstr(at, "href=\"")); nr++) {
		at += 6;
		if (!strncmp(at, "/debug/pprof/profile", 20))
			continue; /* takes its time, see below */
		snprintf(request, sizeof(request), "GET %.*s HTTP/1.1\r\n" HOST "\r\n",
			 (int)strcspn(at, "\""), at);
		CHECK_INT(status_of(asked(server, request)), ==, 200);
	}
	CHECK_INT(nr, >=, 5);
	coati_server_stop(server);
}

TEST(serve_answers_nothing_but_what_is_listed_and_says_so)
{
	struct coati_server *server = started("0", NULL);

	CHECK_INT(status_of(asked(server, "GET / HTTP/1.1\r\n" HOST "\r\n")), ==, 404);
	CHECK_INT(status_of(asked(server, "GET /debug/pprof/../metrics HTTP/1.1\r\n" HOST "\r\n")),
		  ==, 404);
	CHECK_INT(status_of(asked(server, "GET /metrics/ HTTP/1.1\r\n" HOST "\r\n")), ==, 404);
	CHECK_HAS(asked(server, "GET /debug/pprof HTTP/1.1\r\n" HOST "\r\n"),
		  "Location: /debug/pprof/\r\n");
	CHECK_INT(status_of(asked(server,
				  "POST /metrics HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n")),
		  ==, 405);
	CHECK_HAS(asked(server, "DELETE /metrics HTTP/1.1\r\n" HOST "\r\n"),
		  "Allow: GET, HEAD\r\n");
	CHECK_INT(status_of(asked(server, PAGE("threads?debug=3"))), ==, 400);
	CHECK_INT(status_of(asked(server, PAGE("threads?seconds=x"))), ==, 400);
	CHECK_HAS(asked(server, PAGE("heap")), "coati_heap_start()");
	CHECK_HAS(asked(server, PAGE("mutex")), "HTTP/1.1 404 ");
	CHECK_STR(body_of(asked(server, "HEAD /metrics HTTP/1.1\r\n" HOST "\r\n")), "");
	coati_server_stop(server);
}

TEST(serve_refuses_hosts_that_are_not_this_machine)
{
	static const struct {
		const char *host;
		int status;
	} cases[] = { { "localhost", 200 },
		      { "LOCALHOST:1", 200 },
		      { "localhost:", 200 },
		      { "localhost:65535", 200 },
		      { "127.0.0.1:6060", 200 },
		      { "127.9.9.9", 200 },
		      { "[::1]:6060", 200 },
		      { "evil.example", 403 },
		      { "localhost.evil.example", 403 },
		      { "10.0.0.1", 403 },
		      { "127.0.0.1.evil.example", 403 } };
	struct coati_server *server = started("127.0.0.1:0", NULL);
	char request[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n",
			 cases[i].host);
		CHECK_INT(status_of(asked(server, request)), ==, cases[i].status);
	}
	CHECK_INT(status_of(asked(server, "GET /metrics HTTP/1.0\r\n\r\n")), ==, 200);
	coati_server_stop(server);
}

/* What a page of another origin makes the browser send; the first of several counts. */
TEST(serve_refuses_pages_of_other_sites)
{
	static const struct {
		const char *fields;
		int status;
	} cases[] = { { "Sec-Fetch-Site: cross-site", 403 },
		      { "sec-fetch-site: CROSS-Site", 403 },
		      { "Sec-Fetch-Site: same-site", 403 },
		      { "Sec-Fetch-Site: anything", 403 },
		      { "Sec-Fetch-Site:", 403 },
		      { "Sec-Fetch-Site: same-origin", 200 },
		      { "Sec-Fetch-Site: Same-Origin", 200 },
		      { "Sec-Fetch-Site: none", 200 },
		      { "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Site: none", 403 },
		      { "Sec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site", 200 } };
	struct coati_server *server = started("127.0.0.1:0", NULL);
	char request[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\n" HOST "%s\r\n\r\n",
			 cases[i].fields);
		CHECK_INT(status_of(asked(server, request)), ==, cases[i].status);
	}
	coati_server_stop(server);
}

TEST(serve_metrics_end_as_the_asked_format_wants)
{
	struct coati_server *server = started("0", NULL);
	const char *answer = asked(server, "GET /metrics HTTP/1.1\r\n" HOST "\r\n");

	CHECK_HAS(answer, "text/plain; version=0.0.4");
	CHECK_HAS(answer, "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total ");
	CHECK(!strstr(answer, "# EOF"));
	answer = asked(server, "GET /metrics HTTP/1.1\r\n" HOST
			       "Accept: application/openmetrics-text\r\n\r\n");
	CHECK_HAS(answer, "application/openmetrics-text; version=1.0.0");
	CHECK_HAS(answer, "# TYPE process_cpu_seconds counter\nprocess_cpu_seconds_total ");
	CHECK_STR(answer + strlen(answer) - 6, "# EOF\n");
	CHECK_HAS(answer, "\nprocess_threads ");
	coati_server_stop(server);
}

TEST(serve_symbol_names_addresses_of_a_query_and_of_a_body)
{
	struct coati_server *server = started("0", NULL);
	char request[512], body[64];

	snprintf(body, sizeof(body), "0x1+%p+nonsense+%p", (void *)(uintptr_t)getppid,
		 (void *)(uintptr_t)getppid);
	snprintf(request, sizeof(request), "GET /debug/pprof/symbol?%s HTTP/1.1\r\n" HOST "\r\n",
		 body);
	CHECK_HAS(asked(server, request), "\tgetppid\n");
	snprintf(request, sizeof(request),
		 "POST /debug/pprof/symbol HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n%s",
		 strlen(body), body);
	CHECK_HAS(asked(server, request), "num_symbols: 1\n0x");
	coati_server_stop(server);
}

static __attribute__((noinline)) void nobody_exports_this(void)
{
	__asm__ volatile("" ::: "memory");
}

TEST(serve_symbol_names_static_functions)
{
	struct coati_server *server = started("0", NULL);
	char request[256];

	nobody_exports_this();
	snprintf(request, sizeof(request), "GET /debug/pprof/symbol?%p HTTP/1.1\r\n" HOST "\r\n",
		 (void *)(uintptr_t)nobody_exports_this);
	CHECK_HAS(asked(server, request), "\tnobody_exports_this\n");
	CHECK_STR(body_of(asked(server, "HEAD /debug/pprof/symbol HTTP/1.1\r\n" HOST "\r\n")), "");
	coati_server_stop(server);
}

TEST(serve_takes_a_body_of_its_limit_in_small_pieces)
{
	struct coati_server *server = started("0", NULL);
	char head[256];
	static char body[HTTP_BODY_BYTES];
	int fd = connected(server);

	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = i % 16 ? 'x' : '+';
	snprintf(head, sizeof(head),
		 "POST /debug/pprof/symbol HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n",
		 sizeof(body));
	for (const char *at = head; *at; at++)
		sent(fd, at, 1);
	sent(fd, body, sizeof(body));
	CHECK_STR(body_of(received(fd)), "num_symbols: 1\n");
	coati_server_stop(server);
}

/* ---- clients ---- */

TEST(serve_answers_garbage_with_an_error_and_goes_on)
{
	struct coati_server *server = started("0", NULL);
	char bytes[20000];

	for (int i = 0; i < 200; i++) {
		size_t size = 1 + test_random() % sizeof(bytes);
		int fd = connected(server);

		for (size_t b = 0; b < size; b++)
			bytes[b] = (char)test_random();
		sent(fd, bytes, size);
		shutdown(fd, SHUT_WR);
		received(fd);
	}
	CHECK_INT(status_of(asked(server, OK)), ==, 200);
	memset(bytes, 'A', sizeof(bytes));
	bytes[sizeof(bytes) - 1] = 0;
	CHECK_INT(status_of(asked(server, bytes)), ==, 431);
	coati_server_stop(server);
}

TEST(serve_drops_clients_that_are_slow_and_serves_others_meanwhile)
{
	struct coati_serve_opts opts = { .size = sizeof(opts), .timeout_ms = 3000 };
	struct coati_server *server = started("0", &opts);
	int slow = connected(server), silent = connected(server);

	sent(slow, "GET /met", 8);
	CHECK_INT(status_of(asked(server, OK)), ==, 200);
	CHECK_INT(status_of(received(slow)), ==, 408);
	CHECK_STR(received(silent), "");
	CHECK_HAS(asked(server, "GET /metrics HTTP/1.1\r\n" HOST "\r\n"),
		  "coati_serve_timeouts_total 2\n");
	coati_server_stop(server);
}

TEST(serve_answers_200_clients_at_a_time_with_fewer_slots)
{
	struct coati_serve_opts opts = { .size = sizeof(opts), .max_clients = 16 };
	struct coati_server *server = started("0", &opts);
	int fds[200];

	for (int i = 0; i < 200; i++) {
		fds[i] = connected(server);
		sent(fds[i], OK, sizeof(OK) - 1);
	}
	for (int i = 0; i < 200; i++)
		CHECK_INT(status_of(received(fds[i])), ==, 200);
	coati_server_stop(server);
}

TEST(serve_quiet_clients_make_room_oldest_first)
{
	struct coati_serve_opts opts = { .size = sizeof(opts), .max_clients = 4 };
	struct coati_server *server;
	int quiet[4], half;

	opts.timeout_ms = 3600 * 1000;
	server = started("0", &opts);
	for (int i = 0; i < 3; i++)
		quiet[i] = connected(server);
	half = connected(server);
	sent(half, OK, 8);
	CHECK_INT(status_of(asked(server, OK)), ==, 200);
	CHECK_STR(received(quiet[0]), "");
	CHECK_HAS(asked(server, "GET /metrics HTTP/1.1\r\n" HOST "\r\n"),
		  "coati_serve_timeouts_total 0\n");
	sent(half, &OK[8], sizeof(OK) - 1 - 8); /* it came last */
	CHECK_INT(status_of(received(half)), ==, 200);
	close(quiet[1]);
	close(quiet[2]);
	coati_server_stop(server);
}

TEST(serve_answers_behind_a_crowd_that_never_asks)
{
	struct coati_serve_opts opts = { .size = sizeof(opts), .max_clients = 4 };
	struct coati_server *server;
	int crowd[32], fd;

	opts.timeout_ms = 3600 * 1000;
	server = started("0", &opts);
	for (int i = 0; i < 16; i++)
		crowd[i] = connected(server);
	fd = connected(server); /* in line like the others, but it has something to say */
	sent(fd, OK, sizeof(OK) - 1);
	for (int i = 16; i < 32; i++)
		crowd[i] = connected(server);
	CHECK_INT(status_of(received(fd)), ==, 200);
	CHECK_STR(received(crowd[0]), "");
	for (int i = 1; i < 32; i++)
		close(crowd[i]);
	coati_server_stop(server);
}

static void limit_descriptors(rlim_t nr)
{
	struct rlimit limit;

	CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = nr;
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
}

TEST(serve_with_fewer_descriptors_than_slots_answers_and_stops)
{
	struct coati_serve_opts opts = { .size = sizeof(opts), .max_clients = 4096 };
	struct coati_server *server;

	limit_descriptors(64);
	server = started("0", &opts);
	CHECK_INT(status_of(asked(server, OK)), ==, 200);
	limit_descriptors(1); /* below what is open: poll() takes none of it */
	coati_server_stop(server);
	limit_descriptors(64); /* whoever looks for leaks at the end opens files */
}

static int entries(const char *folder)
{
	DIR *d = opendir(folder);
	int nr = 0;

	CHECK(d);
	while (readdir(d))
		nr++;
	closedir(d);
	return nr;
}

TEST(serve_stops_with_clients_connected_and_leaves_nothing)
{
	int fds, clients[3];

	for (int round = 0; round < 3; round++) {
		struct coati_server *server;

		fds = entries("/proc/self/fd");
		server = started("0", NULL);
		for (int i = 0; i < 3; i++)
			clients[i] = connected(server);
		sent(clients[0], "GET ", 4);
		CHECK_INT(status_of(asked(server, OK)), ==, 200);
		coati_server_stop(server);
		for (int i = 0; i < 3; i++)
			received(clients[i]);
		CHECK_INT(entries("/proc/self/fd"), ==, fds);
	}
	coati_server_stop(NULL);
}

/* ---- profiles ---- */

#define PROFILE(seconds) "GET /debug/pprof/profile?seconds=" seconds " HTTP/1.1\r\n" HOST "\r\n"

/* A client that a profile is taken for: the sampler runs when this returns. */
static int profiling(const struct coati_server *server, const char *request)
{
	int fd = connected(server);

	sent(fd, request, strlen(request));
	while (!atomic_load(&coati_sampler_shared.on))
		sched_yield();
	return fd;
}

TEST_LIMIT(serve_profile_comes_after_its_seconds_and_others_are_answered_meanwhile, 60)
{
	struct coati_server *server = started("0", NULL);
	int fd = profiling(server, PROFILE("2"));
	const char *answer;

	CHECK_INT(status_of(asked(server, OK)), ==, 200);
	answer = received(fd);
	CHECK_INT(status_of(answer), ==, 200);
	CHECK_HAS(answer, "Content-Disposition: attachment");
	CHECK_MEM(body_of(answer), "\x1f\x8b", 2);
	coati_server_stop(server);
}

TEST_LIMIT(serve_second_profile_is_refused_until_the_first_one_is_done_or_its_client_left, 60)
{
	struct coati_server *server = started("0", NULL);
	int fd = profiling(server, PROFILE("3000"));
	const char *answer = asked(server, PROFILE("1"));

	CHECK_INT(status_of(answer), ==, 429);
	CHECK_HAS(answer, "Retry-After: ");
	CHECK_INT(status_of(asked(server, "HEAD /debug/pprof/profile HTTP/1.1\r\n" HOST "\r\n")),
		  ==, 405);
	close(fd);
	while ((answer = asked(server, PROFILE("1"))) && status_of(answer) == 429)
		;
	CHECK_INT(status_of(answer), ==, 200);
	coati_server_stop(server);
}

TEST_LIMIT(serve_stopped_while_a_profile_is_taken_stops_that_too, 60)
{
	struct coati_server *server = started("0", NULL);
	int fd = profiling(server, PROFILE("3000"));

	coati_server_stop(server);
	CHECK_STR(received(fd), "");
	CHECK_OK(coati_sampler_start(NULL, NULL));
	CHECK_OK(coati_sampler_stop(-1, NULL, NULL));
}

TEST(serve_profile_of_no_sensible_time_is_refused)
{
	struct coati_server *server = started("0", NULL);

	CHECK_INT(status_of(asked(server, PROFILE("0"))), ==, 400);
	CHECK_INT(status_of(asked(server, PROFILE("3601"))), ==, 400);
	CHECK_INT(status_of(asked(server, PROFILE("-1"))), ==, 400);
	CHECK_INT(status_of(asked(server, PROFILE("1x"))), ==, 400);
	coati_server_stop(server);
}

/* Bytes of the answer, which may hold zeros. */
static bool answer_has(const char *answer, const char *text)
{
	const char *at = strstr(answer, "Content-Length: "), *body = body_of(answer);
	size_t size = 0;

	CHECK(at);
	CHECK_INT(sscanf(at, "Content-Length: %zu", &size), ==, 1);
	return memmem(body, size, text, strlen(text));
}

TEST_LIMIT(serve_profile_takes_a_rate_and_a_clock, 60)
{
	struct coati_server *server = started("0", NULL);
	const char *answer = asked(server, PROFILE("1&hz=250&clock=wall"));

	CHECK_INT(status_of(answer), ==, 200);
	CHECK(answer_has(answer, "engine: a timer over wall time on every thread at 250 Hz"));
	answer = asked(server, PROFILE("1&clock=cpu"));
	CHECK_INT(status_of(answer), ==, 200);
	CHECK(answer_has(answer, " at 100 Hz"));
	CHECK(!answer_has(answer, "wall"));
	CHECK_HAS(asked(server, PROFILE("1&hz=0")), "hz is a number from 1 to 10000");
	CHECK_INT(status_of(asked(server, PROFILE("1&hz=10001"))), ==, 400);
	CHECK_INT(status_of(asked(server, PROFILE("1&hz=x"))), ==, 400);
	CHECK_HAS(asked(server, PROFILE("1&clock=moon")), "clock is cpu or wall");
	CHECK_INT(status_of(asked(server, PROFILE("1&clock="))), ==, 400);
	CHECK_INT(status_of(asked(server, PROFILE("1&clock=wallwallwall"))), ==, 400);
	coati_server_stop(server);
}

TEST(serve_goroutine_is_another_name_of_threads)
{
	struct coati_server *server = started("0", NULL);

	CHECK_HAS(asked(server, PAGE("goroutine?debug=1")), "\nthreads profile: total ");
	CHECK_HAS(asked(server, PAGE("goroutine?debug=2")), " threads\n");
	CHECK_INT(status_of(asked(server, PAGE("goroutines"))), ==, 404);
	coati_server_stop(server);
}

/* ---- places ---- */

TEST(serve_refuses_places_that_others_reach_or_that_are_none)
{
	static const struct {
		const char *where;
		int code;
	} cases[] = { { "0.0.0.0:0", -EPERM },
		      { "[::]:0", -EPERM },
		      { "192.0.2.1:0", -EPERM },
		      { "[::ffff:127.0.0.1]:0", -EPERM },
		      { "example.com:0", -EINVAL },
		      { "localhost", -EINVAL },
		      { "::1:0", -EINVAL },
		      { ":0", -EINVAL },
		      { "65536", -EINVAL },
		      { "", -EINVAL },
		      { "unix:", -EINVAL },
		      { "localhost:-1", -EINVAL },
		      { "unix:/nonexistent/x", -ENOENT } };
	struct coati_serve_opts anywhere = { .size = sizeof(anywhere),
					     .flags = COATI_SERVE_ANYWHERE };
	struct coati_server *server;
	struct coati_error err;
	char path[200];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_ERR(coati_serve(cases[i].where, NULL, &server, &err), cases[i].code);
		CHECK(err.text[0]);
	}
	memset(path, 'x', sizeof(path));
	memcpy(path, "unix:", 5);
	path[sizeof(path) - 1] = 0;
	CHECK_ERR(coati_serve(path, NULL, &server, NULL), -E2BIG);
	server = started("0.0.0.0:0", &anywhere);
	CHECK_INT(status_of(asked(server, "GET /metrics HTTP/1.1\r\nHost: 192.0.2.7\r\n\r\n")), ==,
		  200);
	CHECK_INT(status_of(asked(server, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n")),
		  ==, 403);
	coati_server_stop(server);
	anywhere.flags = 0x80;
	CHECK_ERR(coati_serve("0", &anywhere, &server, NULL), -EINVAL);
}

TEST(serve_socket_file_is_its_owners_alone_and_goes_at_the_end)
{
	struct coati_server *server = started("unix:here", NULL);
	struct stat st;
	int fd = connected_to("here");

	CHECK_OK(stat("here", &st));
	CHECK_INT(st.st_mode & 0777, ==, 0600);
	CHECK_INT(coati_server_port(server), ==, 0);
	sent(fd, "GET /metrics HTTP/1.1\r\nHost: anything\r\n\r\n", 41);
	CHECK_INT(status_of(received(fd)), ==, 200);
	coati_server_stop(server);
	CHECK_INT(stat("here", &st), ==, -1);
}

TEST(serve_replaces_a_socket_that_nobody_listens_on_and_nothing_else)
{
	struct coati_server *server, *other;
	struct stat st;
	int fd;

	CHECK_OK(mkdir("folder", 0700));
	CHECK_ERR(coati_serve("unix:folder", NULL, &server, NULL), -EADDRINUSE);
	server = started("unix:here", NULL);
	CHECK_ERR(coati_serve("unix:here", NULL, &other, NULL), -EADDRINUSE);
	CHECK_OK(rename("here", "left"));
	coati_server_stop(server);
	CHECK_OK(stat("left", &st)); /* not removed: it is not there any more where we made it */
	server = started("unix:left", NULL);
	fd = connected_to("left");
	sent(fd, OK, sizeof(OK) - 1);
	CHECK_INT(status_of(received(fd)), ==, 200);
	coati_server_stop(server);
}

/* In a folder like /tmp: everybody may make files, and remove his own. */
TEST(serve_leaves_the_socket_of_somebody_else_alone)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = "shared/socket" };
	struct coati_error err = { 0 };
	struct coati_server *server;
	struct stat before, after;
	mode_t mask = umask(0);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (geteuid())
		test_skip("only root can become somebody else");
	CHECK_OK(chmod(".", 0711));
	CHECK_OK(mkdir("shared", 01777));
	CHECK_OK(bind(fd, (struct sockaddr *)&a, sizeof(a)));
	close(fd); /* nobody listens: its owner could replace it */
	umask(mask);
	CHECK_OK(stat("shared/socket", &before));
	CHECK_OK(seteuid(65534));
	CHECK_ERR(coati_serve("unix:shared/socket", NULL, &server, &err), -EADDRINUSE);
	CHECK_HAS(err.text, "another user owns it");
	server = started("unix:shared/own", NULL);
	coati_server_stop(server);
	CHECK_OK(seteuid(0));
	CHECK_OK(stat("shared/socket", &after));
	CHECK_U64(before.st_ino, ==, after.st_ino);
	CHECK_INT(before.st_mode, ==, after.st_mode);
}

TEST(serve_asks_the_kernel_who_a_client_is)
{
	struct coati_server *server;
	int status;
	pid_t pid;

	if (geteuid() != 0)
		test_skip_need("root", "cannot become another user");
	CHECK_OK(chmod(".", 0755));
	server = started("unix:here", NULL);
	CHECK_OK(chmod("here", 0666)); /* somebody opened it */
	pid = fork();
	if (!pid) {
		int fd;

		if (setgid(65534) < 0 || setuid(65534) < 0)
			_exit(3);
		fd = connected_to("here");
		if (fd < 0)
			_exit(77); /* a folder above is closed */
		sent(fd, OK, sizeof(OK) - 1);
		_exit(status_of(received(fd)) == 403 ? 0 : 2);
	}
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		test_skip("another user does not reach the folder of the test");
	CHECK_INT(status, ==, 0);
	coati_server_stop(server);
}

/* ---- forks, limits, memory ---- */

TEST(serve_child_holds_no_socket_and_the_parent_goes_on)
{
	struct coati_server *server = started("0", NULL), *again;
	char where[32];
	int hold[2], runs[2], status;
	char byte;
	pid_t pid;

	CHECK_OK(pipe(hold));
	CHECK_OK(pipe(runs));
	pid = fork();
	if (!pid) {
		close(hold[1]);
		close(runs[1]); /* the parent goes on when fork() is through here */
		coati_server_stop(server);
#ifndef UNDER_TSAN
		server = started("0", NULL);
		CHECK_INT(status_of(asked(server, OK)), ==, 200);
		coati_server_stop(server);
#endif
		_exit(read(hold[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(hold[0]);
	close(runs[1]);
	CHECK_INT(read(runs[0], &byte, 1), ==, 0);
	close(runs[0]);
	CHECK_INT(status_of(asked(server, OK)), ==, 200);
	snprintf(where, sizeof(where), "%u", coati_server_port(server));
	coati_server_stop(server);
	again = started(where, NULL); /* the child lives, and the port is free */
	coati_server_stop(again);
	close(hold[1]);
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
}

TEST(serve_more_than_eight_times_is_refused)
{
	struct coati_server *servers[8], *ninth;

	for (int i = 0; i < 8; i++)
		servers[i] = started("0", NULL);
	CHECK_ERR(coati_serve("0", NULL, &ninth, NULL), -ENOSPC);
	for (int i = 0; i < 8; i++)
		coati_server_stop(servers[i]);
	coati_server_stop(started("0", NULL));
}

TEST(serve_without_memory_fails_and_leaves_nothing)
{
	int fds = entries("/proc/self/fd"), r = -ENOMEM;
	struct coati_server *server = NULL;

	for (uint64_t n = 0; n < 10 && r < 0; n++) {
		coati_alloc_fail_after(n);
		r = coati_serve("0", NULL, &server, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 0 || r == -ENOMEM);
		if (r < 0)
			CHECK_INT(entries("/proc/self/fd"), ==, fds);
	}
	CHECK_OK(r);
	coati_server_stop(server);
}
