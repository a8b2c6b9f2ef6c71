/* SPDX-License-Identifier: MIT */
/* The client of debuginfod, beside a server of our own that serves a folder. */
#include "lib/test.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "image/debuginfod.h"

static const uint8_t id[4] = { 0xde, 0xad, 0xbe, 0xef };
static const struct debuginfod_ask ask = { .build_id = id, .build_id_size = 4, .limit_ms = 20000 };

/* A listening socket of localhost; its port. */
static int listen_here(uint16_t *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&a, len) == 0 && listen(fd, 8) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&a, &len) == 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

/* Answer each request with the file, when it is for its path. */
static void serve(int fd)
{
	static const char want[] = "GET /buildid/deadbeef/debuginfo ";
	char request[4096] = "";

	for (;;) {
		int c = accept(fd, NULL, NULL);
		ssize_t n = c < 0 ? -1 : read(c, request, sizeof(request) - 1);

		if (n < 0)
			_exit(1);
		if (!strncmp(request, want, strlen(want)))
			dprintf(c, "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello");
		else
			dprintf(c, "HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n");
		close(c);
	}
}

static pid_t start_server(bool answers)
{
	char url[64];
	uint16_t port;
	int fd = listen_here(&port);
	pid_t pid;

	if (!dlopen("libdebuginfod.so.1", RTLD_NOW))
		test_skip("libdebuginfod.so.1 is not installed");
	snprintf(url, sizeof(url), "http://127.0.0.1:%u", port);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", "cache", 1);
	unsetenv("http_proxy");
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (answers)
			serve(fd);
		pause();
		_exit(0);
	}
	close(fd);
	return pid;
}

static void stop_server(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

TEST(debuginfod_asks_nobody_when_no_server_is_named)
{
	struct coati_error err = { 0 };

	unsetenv("DEBUGINFOD_URLS");
	CHECK_ERR(coati_debuginfod_fetch(&ask, &err), -EOPNOTSUPP);
	CHECK_HAS(err.text, "DEBUGINFOD_URLS");
}

TEST(debuginfod_fetches_a_file_by_its_build_id)
{
	pid_t pid = start_server(true);
	struct coati_error err = { 0 };
	char text[8] = "";
	int fd = coati_debuginfod_fetch(&ask, &err);

	stop_server(pid);
	if (fd < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	CHECK_INT(pread(fd, text, sizeof(text), 0), ==, 5);
	CHECK_STR(text, "hello");
	close(fd);
}

TEST(debuginfod_says_when_no_server_has_the_file)
{
	struct debuginfod_ask other = ask;
	pid_t pid = start_server(true);
	struct coati_error err = { 0 };
	int r;

	other.build_id_size = 3;
	r = coati_debuginfod_fetch(&other, &err);
	stop_server(pid);
	CHECK_ERR(r, -ENOENT);
	CHECK_HAS(err.text, "no debuginfod server");
}

TEST_LIMIT(debuginfod_gives_up_after_the_time_limit, 60)
{
	struct debuginfod_ask hurry = ask;
	pid_t pid = start_server(false);
	struct coati_error err = { 0 };
	int r;

	hurry.limit_ms = 1;
	r = coati_debuginfod_fetch(&hurry, &err);
	stop_server(pid);
	CHECK_ERR(r, -ETIMEDOUT);
}

static bool stop_now(void *ctx)
{
	++*(int *)ctx;
	return true;
}

TEST_LIMIT(debuginfod_gives_up_when_it_is_told_to, 60)
{
	struct debuginfod_ask told = ask;
	pid_t pid = start_server(false);
	int nr = 0, r;

	told.stop = stop_now;
	told.ctx = &nr;
	r = coati_debuginfod_fetch(&told, NULL);
	stop_server(pid);
	CHECK_ERR(r, -ECANCELED);
	CHECK(nr > 0);
}
