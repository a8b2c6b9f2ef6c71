/* SPDX-License-Identifier: MIT */
/* A client of the endpoints, as raw as the tests need it. */
#pragma once

#include <stddef.h>

#include <coati/serve.h>

#define HOST	   "Host: localhost\r\n"
#define OK	   "GET /debug/pprof/cmdline HTTP/1.1\r\n" HOST "\r\n"
#define PAGE(path) "GET /debug/pprof/" path " HTTP/1.1\r\n" HOST "\r\n"

/* A server, or the test fails. */
struct coati_server *started(const char *where, const struct coati_serve_opts *opts);
int connected(const struct coati_server *server);
/* -1 when a unix socket cannot be reached. */
int connected_to(const char *path);
void sent(int fd, const char *bytes, size_t size);
/* All that comes until the server ends it; until the next call. */
const char *received(int fd);
/* A request and its answer. */
const char *asked(const struct coati_server *server, const char *request);
int status_of(const char *answer);
const char *body_of(const char *answer);
