/* SPDX-License-Identifier: MIT */
/* Where a server listens: the text of the caller in, a listening socket and who may ask there
 * out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <coati/error.h>

struct serve_place {
	int fd; /* -1 when it is not open */
	bool is_unix;
	bool is_anywhere; /* not loopback, or not asked */
	uint16_t port;
	struct sockaddr_un address; /* of a unix socket */
	dev_t dev;
	ino_t ino;
};

int coati_serve_listen(const char *where, bool anywhere, struct serve_place *ret,
		       struct coati_error *err);
/* Close it, and remove the file when it is still ours. */
void coati_serve_unlisten(struct serve_place *place);
/* Whether @host (of a request, lower case) is this machine. */
bool coati_serve_host_ok(const struct serve_place *place, const char *host);
