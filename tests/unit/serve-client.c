/* SPDX-License-Identifier: MIT */
/* Sockets, and nothing that would set right what the server gets wrong. */
#include "unit/serve-client.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/test.h"

struct coati_server *started(const char *where, const struct coati_serve_opts *opts)
{
	struct coati_server *server;
	struct coati_error err = { 0 };

	if (coati_serve(where, opts, &server, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return server;
}

int connected(const struct coati_server *server)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_OK(fd);
	a.sin_port = htons(coati_server_port(server));
	CHECK_OK(connect(fd, (struct sockaddr *)&a, sizeof(a)));
	return fd;
}

int connected_to(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_OK(fd);
	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	if (connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

void sent(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n < 0)
			return; /* the server closed it */
		bytes += n;
		size -= (size_t)n;
	}
}

/* All that comes until the server ends it. */
const char *received(int fd)
{
	static char text[512 * 1024];
	size_t used = 0;
	ssize_t n;

	while ((n = recv(fd, text + used, sizeof(text) - 1 - used, 0)) > 0)
		used += (size_t)n;
	text[used] = 0;
	close(fd);
	return text;
}

const char *asked(const struct coati_server *server, const char *request)
{
	int fd = connected(server);

	sent(fd, request, strlen(request));
	return received(fd);
}

int status_of(const char *answer)
{
	CHECK(!strncmp(answer, "HTTP/1.1 ", 9));
	return (int)strtol(answer + 9, NULL, 10);
}

const char *body_of(const char *answer)
{
	const char *end = strstr(answer, "\r\n\r\n");

	CHECK(end);
	return end + 4;
}
