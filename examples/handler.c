/* SPDX-License-Identifier: MIT */
/*
 * The endpoints in an HTTP server of one's own, here the smallest: it reads one request from its
 * standard input and writes the response to its standard output, as inetd and systemd start it.
 *
 *	printf 'GET /metrics HTTP/1.0\r\n\r\n' | ./handler
 */
#include <coati/serve.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HELLO "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nhello\n"

static int is_ours(const char *request)
{
	const char *path = strchr(request, ' ');

	return path && (!strncmp(path, " /debug/pprof", 13) || !strncmp(path, " /metrics", 9));
}

int main(void)
{
	static char bytes[16384];
	struct coati_serve_request q = { .size = sizeof(q), .bytes = bytes };
	struct coati_serve_response r = { .size = sizeof(r) };
	ssize_t n;
	int ret;

	do {
		n = read(STDIN_FILENO, bytes + q.nr_bytes, sizeof(bytes) - 1 - q.nr_bytes);
		if (n <= 0)
			return 1; /* it ended in mid-request, or is too long */
		q.nr_bytes += (uint64_t)n;
		ret = coati_serve_answer(&q, &r);
	} while (ret == -EAGAIN);
	if (ret < 0)
		return 1;
	if (is_ours(bytes))
		fwrite(r.bytes, 1, r.nr_bytes, stdout);
	else
		fputs(HELLO, stdout); /* the rest of the site */
	coati_serve_response_free(&r);
	return fflush(stdout) != 0;
}
