/* SPDX-License-Identifier: MIT */
/* The parser of requests. What is not surely right is refused: two lengths, two hosts, control
 * characters, folded lines. */
#include "live/serve-http.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"

const char *coati_http_reason(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 301:
		return "Moved Permanently";
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 408:
		return "Request Timeout";
	case 409:
		return "Conflict";
	case 411:
		return "Length Required";
	case 413:
		return "Content Too Large";
	case 414:
		return "URI Too Long";
	case 415:
		return "Unsupported Media Type";
	case 429:
		return "Too Many Requests";
	case 431:
		return "Request Header Fields Too Large";
	case 500:
		return "Internal Server Error";
	case 501:
		return "Not Implemented";
	case 503:
		return "Service Unavailable";
	case 504:
		return "Gateway Timeout";
	case 505:
		return "HTTP Version Not Supported";
	default:
		return "Error";
	}
}

const char *coati_http_wrong(int status)
{
	switch (status) {
	case 413:
		return "the body is over 256 KiB";
	case 414:
		return "the query is over 2 KiB";
	case 431:
		return "the head of the request is over 8 KiB";
	case 501:
		return "chunked bodies are not accepted; send a Content-Length";
	case 505:
		return "only HTTP/1.0 and 1.1 are supported";
	default:
		return "malformed HTTP request";
	}
}

/* A line from *@at: its length without the line end, or -1 when there is no end before @end. */
static ptrdiff_t next_line(const char **at, const char *end, const char **ret)
{
	const char *start = *at, *lf = memchr(start, '\n', (size_t)(end - start));

	if (!lf)
		return -1;
	*ret = start;
	*at = lf + 1;
	return lf - start - (lf > start && lf[-1] == '\r');
}

static bool is_text(const char *s, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)s[i] < ' ' && s[i] != '\t')
			return false;
	return true;
}

static bool copy(char *to, size_t room, const char *from, size_t size)
{
	if (size >= room)
		return false;
	memcpy(to, from, size);
	to[size] = 0;
	return true;
}

static enum http_method method_of(const char *s, size_t size)
{
	if (size == 3 && !memcmp(s, "GET", 3))
		return HTTP_GET;
	if (size == 4 && !memcmp(s, "HEAD", 4))
		return HTTP_HEAD;
	return size == 4 && !memcmp(s, "POST", 4) ? HTTP_POST : HTTP_OTHER;
}

/* METHOD /PATH?QUERY HTTP/1.x */
static int parse_first(const char *line, size_t size, struct http_request *ret)
{
	const char *end = line + size, *target = memchr(line, ' ', size), *version, *query;

	if (!target || target == line)
		return -400;
	ret->method = method_of(line, (size_t)(target - line));
	target++;
	version = memchr(target, ' ', (size_t)(end - target));
	if (!version || *target != '/' || memchr(target, '\t', (size_t)(end - target)))
		return -400;
	if (end - version != 9 || memcmp(version, " HTTP/", 6))
		return -400;
	if (version[6] != '1' || version[7] != '.' || (version[8] != '0' && version[8] != '1'))
		return -505;
	ret->is_old = version[8] == '0';
	query = memchr(target, '?', (size_t)(version - target));
	if (query &&
	    !copy(ret->query, sizeof(ret->query), query + 1, (size_t)(version - query - 1)))
		return -414;
	/* a path that does not fit is not a page, and is answered like any other of these */
	if (!copy(ret->path, sizeof(ret->path), target,
		  (size_t)((query ? query : version) - target)))
		ret->path[0] = 0;
	return 0;
}

/* Behind the colon of a host; nothing stands for the usual one. */
static bool is_port(const char *s, size_t size)
{
	uint32_t port = 0;

	for (; size; s++, size--) {
		if (*s < '0' || *s > '9')
			return false;
		port = 10 * port + (uint32_t)(*s - '0');
		if (port > 65535)
			return false;
	}
	return true;
}

/* NAME, NAME:PORT, [V6] or [V6]:PORT */
static int parse_host(const char *value, size_t size, struct http_request *ret)
{
	const char *end = value + size, *after;

	if (!size || ret->host[0])
		return -400;
	if (value[0] == '[') {
		after = memchr(++value, ']', size - 1);
		size = after ? (size_t)(after++ - value) : 0;
	} else {
		after = memchr(value, ':', size);
		after = after ? after : end;
		size = (size_t)(after - value);
	}
	if (!size ||
	    (after < end && (*after != ':' || !is_port(after + 1, (size_t)(end - after - 1)))))
		return -400;
	if (!copy(ret->host, sizeof(ret->host), value, size))
		return -400;
	for (char *c = ret->host; *c; c++)
		*c = *c >= 'A' && *c <= 'Z' ? (char)(*c + 'a' - 'A') : *c;
	return 0;
}

static bool contains(const char *value, size_t size, const char *part)
{
	return memmem(value, size, part, strlen(part)) != NULL;
}

/* Content-Length, which may be given once. */
struct body_limit {
	uint32_t max_bytes;
	bool is_given;
};

static int parse_length(const char *value, size_t size, struct body_limit *limit,
			struct http_request *ret)
{
	char digits[16];
	uint32_t length;

	if (limit->is_given || !size || !copy(digits, sizeof(digits), value, size) ||
	    strspn(digits, "0123456789") != size)
		return -400;
	if (coati_parse_u32(digits, 0, limit->max_bytes, &length) < 0)
		return -413;
	limit->is_given = true;
	ret->body_size = length;
	return 0;
}

static bool is_named(const char *line, size_t size, const char *name)
{
	return size == strlen(name) && !strncasecmp(line, name, size);
}

static int parse_field(const char *line, size_t size, struct body_limit *limit,
		       struct http_request *ret)
{
	const char *colon = memchr(line, ':', size), *value, *end = line + size;
	size_t name = colon ? (size_t)(colon - line) : 0;

	/* a folded line begins with a blank */
	if (!name || memchr(line, ' ', name) || memchr(line, '\t', name))
		return -400;
	for (value = colon + 1; value < end && (*value == ' ' || *value == '\t');)
		value++;
	while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
		end--;
	size = (size_t)(end - value);
	if (is_named(line, name, "host"))
		return parse_host(value, size, ret);
	if (is_named(line, name, "content-length"))
		return parse_length(value, size, limit, ret);
	if (is_named(line, name, "transfer-encoding"))
		return -501;
	if (is_named(line, name, "sec-fetch-site") && !ret->has_site) {
		ret->has_site = true; /* the first one counts */
		ret->is_cross_site =
			!is_named(value, size, "same-origin") && !is_named(value, size, "none");
	}
	if (is_named(line, name, "accept"))
		ret->wants_openmetrics |= contains(value, size, "application/openmetrics-text");
	return 0;
}

int coati_http_parse(const char *bytes, size_t size, struct http_request *ret)
{
	return coati_http_parse_large(bytes, size, HTTP_BODY_BYTES, ret);
}

int coati_http_parse_large(const char *bytes, size_t size, uint32_t max_body,
			   struct http_request *ret)
{
	const char *at = bytes, *end = bytes + (size < HTTP_HEAD_BYTES ? size : HTTP_HEAD_BYTES),
		   *line = bytes;
	struct http_request request = { .method = HTTP_OTHER };
	struct body_limit limit = { .max_bytes = max_body };
	ptrdiff_t length;
	int r = 0, nr = 0;

	/* not worth waiting for more of it */
	if (size && (bytes[0] < 'A' || bytes[0] > 'Z'))
		return -400;
	while ((length = next_line(&at, end, &line)) > 0) {
		if (!is_text(line, (size_t)length))
			return -400;
		r = nr++ ? parse_field(line, (size_t)length, &limit, &request)
			 : parse_first(line, (size_t)length, &request);
		if (r < 0)
			return r;
	}
	if (length < 0)
		return size >= HTTP_HEAD_BYTES ? -431 : 0;
	if (!nr || (!request.host[0] && !request.is_old))
		return -400;
	*ret = request;
	return (int)(at - bytes);
}

int coati_http_query_text(const char *query, const char *key, char *ret, size_t room)
{
	size_t size = strlen(key);

	for (const char *at = query; at; at = strchr(at, '&') ? strchr(at, '&') + 1 : NULL) {
		if (strncmp(at, key, size) || at[size] != '=')
			continue;
		at += size + 1;
		return copy(ret, room, at, strcspn(at, "&")) ? 0 : -ERANGE;
	}
	return -ENOENT;
}

int coati_http_query_u32(const char *query, const char *key, uint32_t max, uint32_t *ret)
{
	char digits[16];
	int r = coati_http_query_text(query, key, digits, sizeof(digits));

	return r < 0 ? r : coati_parse_u32(digits, 0, max, ret);
}
