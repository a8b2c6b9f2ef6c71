/* SPDX-License-Identifier: MIT */
/*
 * User names, passwords, tokens and certificates. They come from the environment or from a file
 * that only its owner can read, and never from the command line, which every user of the machine
 * can see.
 *
 * Lines of the file are KEY=VALUE; "#" starts a comment line. A key is "user", or "clickhouse.user"
 * when it is for one sink only. In the environment: COATI_CLICKHOUSE_USER. Keys: user, password,
 * token, ca, cert, key, plain-http.
 */
#pragma once

#include <stdbool.h>

#include <coati/error.h>

struct secrets {
	char *user, *password; /* NULL: none */
	char *token;	       /* Authorization: Bearer */
	char *ca, *cert, *key; /* PEM files */
	/* "yes": send secrets over http to other machines, too */
	char *plain_http;
};

/* For the sink @sink ("clickhouse", "otlp", "push"); @path may be NULL: the environment alone. What
 * the environment says counts. -EPERM: others can read the file. */
int coati_secrets_read(const char *path, const char *sink, struct secrets *ret,
		       struct coati_error *err);
/* Forget them: the memory is overwritten. */
void coati_secrets_fini(struct secrets *s);
/* May they travel to @url? -EPERM: no, it is plain http to another machine. */
int coati_secrets_allow(const struct secrets *s, const char *url, struct coati_error *err);
