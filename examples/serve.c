/* SPDX-License-Identifier: MIT */
/*
 * Endpoints in a program: one call, and /debug/pprof/ and /metrics can be asked while it works.
 *
 *	cc serve.c $(pkg-config --cflags --libs coati-live) -pthread
 *	./a.out localhost:6060		then: curl http://localhost:6060/metrics
 *	./a.out unix:/tmp/app.coati	then: curl --unix-socket /tmp/app.coati
 *					http://localhost/metrics
 *
 * Works until its input ends.
 */
#include <coati/live.h>
#include <coati/serve.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	const char *where = argc > 1 ? argv[1] : "localhost:0";
	struct coati_server *server;
	struct coati_error err;
	size_t bytes = 0;
	char line[256];

	if (coati_serve(where, NULL, &server, &err) < 0) {
		fprintf(stderr, "serve: %s\n", err.text);
		return 1;
	}
	if (coati_server_port(server))
		printf("http://localhost:%u/debug/pprof/\n", coati_server_port(server));
	else
		printf("%s\n", where);
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) { /* the work */
		COATI_LABEL("line", line);
		bytes += strlen(line);
	}
	coati_server_stop(server);
	printf("%zu bytes\n", bytes);
	return 0;
}
