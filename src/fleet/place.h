/* SPDX-License-Identifier: MIT */
/*
 * Where a ClickHouse database is: http://HOST:8123/DATABASE, https://..., and for readers also
 * clickhouse://HOST:8123/DATABASE (clickhouses:// with TLS). A URL with a password is refused.
 */
#pragma once

#include <stdbool.h>

#include <coati/error.h>

#define PLACE_URL_ROOM	    512
#define PLACE_DATABASE_ROOM 128

struct place {
	char url[PLACE_URL_ROOM]; /* http://HOST:PORT, without a slash at the end */
	char database[PLACE_DATABASE_ROOM];
};

/* Does @text name a database and not a file? */
bool coati_place_is(const char *text);
/* -EINVAL with the reason. */
int coati_place_parse(const char *text, struct place *ret, struct coati_error *err);
/* A URL for --otlp and --push: http or https, no password, @room bytes. A path that is missing is
 * @path. */
int coati_place_url(const char *text, const char *path, char ret[PLACE_URL_ROOM],
		    struct coati_error *err);
