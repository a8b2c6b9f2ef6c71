/* SPDX-License-Identifier: MIT */
/* Requests of HTTP/1.0 and 1.1 as far as we need them: bytes in, a checked struct or the status of
 * an error out. Nothing is allocated. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_BYTES (8 * 1024)
#define HTTP_BODY_BYTES (256 * 1024)

enum http_method { HTTP_OTHER, HTTP_GET, HTTP_HEAD, HTTP_POST };

struct http_request {
	enum http_method method;
	char path[64];	  /* without the query; a longer one is not a page */
	char query[2048]; /* what stands behind the question mark */
	char host[256]; /* without a port and without brackets, lower case; "" when there is none */
	bool is_old;	/* HTTP/1.0 */
	bool has_site;	/* the browser says which page asks */
	bool is_cross_site; /* and it is not an origin of this server */
	bool wants_openmetrics;
	uint32_t body_size;
};

/* @bytes are what came so far. Returns the size of the head, 0 when its end is not there yet, or
 * the negative status of the answer (-400, -413, -414, -431, -501, -505). */
int coati_http_parse(const char *bytes, size_t size, struct http_request *ret);
/* The same with another limit for the body than HTTP_BODY_BYTES. */
int coati_http_parse_large(const char *bytes, size_t size, uint32_t max_body,
			   struct http_request *ret);
/* The number behind "@key=" in @query; -ENOENT, -EINVAL, -ERANGE. */
int coati_http_query_u32(const char *query, const char *key, uint32_t max, uint32_t *ret);
/* The text behind "@key=" in @query, up to the next "&"; -ENOENT, -ERANGE (no room). */
int coati_http_query_text(const char *query, const char *key, char *ret, size_t room);
/* What is wrong with a request that coati_http_parse() refused with this status. */
const char *coati_http_wrong(int status);
/* The words of a status. */
const char *coati_http_reason(int status);
