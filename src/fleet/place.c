/* SPDX-License-Identifier: MIT */
/* see place.h */
#include "fleet/place.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define DEFAULT_PORT	 "8123"
#define DEFAULT_TLS_PORT "8443"

static const struct {
	const char *scheme;
	bool is_tls;
} schemes[] = {
	{ "http://", false },
	{ "https://", true },
	{ "clickhouse://", false },
	{ "clickhouses://", true },
};

/* The authority of @text and its length, -1: no scheme that we know. */
static int split(const char *text, const char **ret_host, size_t *ret_len)
{
	for (size_t i = 0; i < sizeof(schemes) / sizeof(*schemes); i++) {
		size_t len = strlen(schemes[i].scheme);

		if (strncmp(text, schemes[i].scheme, len) != 0)
			continue;
		*ret_host = text + len;
		*ret_len = strcspn(text + len, "/?#");
		return (int)i;
	}
	return -1;
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f || *text == '"' || *text == '\\')
			return false;
	return true;
}

/* What every URL has to keep to. */
static int check(const char *text, const char *host, size_t len, struct coati_error *err)
{
	if (!len || !is_printable(text))
		return coati_fail(err, -EINVAL, "%.100s is not a valid URL", text);
	if (memchr(host, '@', len))
		return coati_fail(err, -EINVAL,
				  "the URL has a user or password in it, which every user of this "
				  "machine could see; put them into the secrets file (--secrets) "
				  "or the environment");
	return 0;
}

bool coati_place_is(const char *text)
{
	return !strncmp(text, "clickhouse://", 13) || !strncmp(text, "clickhouses://", 14);
}

/* [::1]:8123, host:8123 or host */
static bool has_port(const char *host, size_t len)
{
	const char *end = *host == '[' ? memchr(host, ']', len) : host;

	return end && memchr(end, ':', len - (size_t)(end - host)) != NULL;
}

static int take_database(const char *text, const char *path, struct place *ret,
			 struct coati_error *err)
{
	size_t len;

	while (*path == '/')
		path++;
	len = strlen(path);
	while (len && path[len - 1] == '/')
		len--;
	if (!len)
		path = "default", len = 7;
	if (len >= sizeof(ret->database))
		return coati_fail(err, -EINVAL, "%.100s: the name of the database is too long",
				  text);
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)path[i]) && path[i] != '_')
			return coati_fail(err, -EINVAL,
					  "%.100s: the name of the database may have letters, "
					  "digits and _ only",
					  text);
	memcpy(ret->database, path, len);
	ret->database[len] = 0;
	return 0;
}

int coati_place_parse(const char *text, struct place *ret, struct coati_error *err)
{
	const char *host = NULL;
	size_t len = 0;
	int i = split(text, &host, &len), n;

	if (i < 0)
		return coati_fail(err, -EINVAL,
				  "%.100s is not the URL of a ClickHouse database: expected "
				  "http://HOST:8123/DATABASE",
				  text);
	if (check(text, host, len, err) < 0)
		return -EINVAL;
	n = snprintf(ret->url, sizeof(ret->url), "http%s://%.*s%s%s", schemes[i].is_tls ? "s" : "",
		     (int)len, host, has_port(host, len) ? "" : ":",
		     has_port(host, len) ? ""
		     : schemes[i].is_tls ? DEFAULT_TLS_PORT
					 : DEFAULT_PORT);
	if (n < 0 || (size_t)n >= sizeof(ret->url))
		return coati_fail(err, -EINVAL, "%.100s: the URL is too long", text);
	return take_database(text, host + len, ret, err);
}

int coati_place_url(const char *text, const char *path, char ret[PLACE_URL_ROOM],
		    struct coati_error *err)
{
	const char *host = NULL;
	size_t len = 0;
	int i = split(text, &host, &len), n;

	if (i != 0 && i != 1)
		return coati_fail(err, -EINVAL, "%.100s: expected http://HOST:PORT/PATH", text);
	if (check(text, host, len, err) < 0)
		return -EINVAL;
	n = snprintf(ret, PLACE_URL_ROOM, "%s%s", text,
		     host[len] && strcmp(host + len, "/") != 0 ? "" : path + (host[len] == '/'));
	if (n < 0 || n >= PLACE_URL_ROOM)
		return coati_fail(err, -EINVAL, "%.100s: the URL is too long", text);
	return 0;
}
