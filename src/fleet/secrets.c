/* SPDX-License-Identifier: MIT */
/* see secrets.h */
#include "fleet/secrets.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"

#define FILE_MAX  (64u << 10)
#define NAME_ROOM 64

static const struct {
	const char *key;
	size_t offset;
} keys[] = {
	{ "user", offsetof(struct secrets, user) },
	{ "password", offsetof(struct secrets, password) },
	{ "token", offsetof(struct secrets, token) },
	{ "ca", offsetof(struct secrets, ca) },
	{ "cert", offsetof(struct secrets, cert) },
	{ "key", offsetof(struct secrets, key) },
	{ "plain-http", offsetof(struct secrets, plain_http) },
};
#define NR_KEYS (sizeof(keys) / sizeof(*keys))

static char **slot_of(struct secrets *s, size_t i)
{
	return (char **)((char *)s + keys[i].offset);
}

static void forget(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	coati_free(*text);
	*text = NULL;
}

/* A header must not be split by a secret: what is no printable text is refused. */
static int put(struct secrets *s, size_t i, const char *value, size_t len)
{
	char **slot = slot_of(s, i);

	for (size_t k = 0; k < len; k++)
		if ((unsigned char)value[k] < ' ' || value[k] == 0x7f)
			return -EINVAL;
	forget(slot);
	*slot = coati_strndup(value, len);
	return *slot ? 0 : -ENOMEM;
}

/* The number of the key that @name is for this sink; -ENOENT: of another sink; -EINVAL: none. */
static int find_key(const char *name, size_t len, const char *sink)
{
	const char *dot = memchr(name, '.', len);
	size_t head = dot ? (size_t)(dot - name) : 0;

	if (dot) {
		name += head + 1;
		len -= head + 1;
	}
	for (size_t i = 0; i < NR_KEYS; i++) {
		if (strlen(keys[i].key) != len || memcmp(keys[i].key, name, len) != 0)
			continue;
		if (dot && (strlen(sink) != head || memcmp(sink, dot - head, head) != 0))
			return -ENOENT;
		return (int)i;
	}
	return -EINVAL;
}

static int take_line(struct secrets *s, const char *line, size_t len, const char *sink)
{
	const char *equals = memchr(line, '=', len);
	int i;

	if (!len || *line == '#')
		return 0;
	if (!equals)
		return -EINVAL;
	i = find_key(line, (size_t)(equals - line), sink);
	if (i < 0)
		return i == -ENOENT ? 0 : i;
	return put(s, (size_t)i, equals + 1, len - (size_t)(equals - line) - 1);
}

static int open_file(const char *path, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return coati_fail(err, -errno, "cannot open the secrets file %s: %m", path);
	if (!S_ISREG(st.st_mode))
		return coati_fail(err, -EINVAL, "the secrets file %s is not a regular file", path);
	if (st.st_mode & 077 || (st.st_uid != geteuid() && st.st_uid != 0))
		return coati_fail(err, -EPERM,
				  "other users can read or change the secrets file %s: chmod 600 "
				  "it, owned by root or the user of the agent",
				  path);
	return TAKE_FD(fd);
}

static int read_file(const char *path, const char *sink, struct secrets *ret,
		     struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = open_file(path, err);
	struct strbuf text = STRBUF_INIT(FILE_MAX);
	int r = fd < 0 ? fd : coati_file_read_fd(fd, &text);
	uint32_t line = 0;

	if (fd < 0)
		return fd;
	if (r < 0)
		coati_fail(err, r, "cannot read the secrets file %s: %m", path);
	for (const char *at = text.text; r >= 0 && *at;) {
		size_t len = strcspn(at, "\n");

		line++;
		r = take_line(ret, at, len, sink);
		if (r == -EINVAL)
			coati_fail(err, r,
				   "%s:%u: expected KEY=VALUE; keys are user, password, token, ca, "
				   "cert, key and plain-http, or with the name of a sink: "
				   "clickhouse.user",
				   path, line);
		else if (r < 0)
			coati_fail(err, r, "%s: %m", path);
		at += len + (at[len] == '\n');
	}
	if (text.cap)
		explicit_bzero(text.text, text.len);
	coati_strbuf_fini(&text);
	return r < 0 ? r : 0;
}

static void name_variable(char ret[NAME_ROOM], const char *sink, const char *key)
{
	snprintf(ret, NAME_ROOM, "COATI_%s_%s", sink, key);
	for (char *p = ret; *p; p++)
		*p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
}

static int read_environment(const char *sink, struct secrets *ret, struct coati_error *err)
{
	char name[NAME_ROOM];

	for (size_t i = 0; i < NR_KEYS; i++) {
		const char *value;
		int r;

		name_variable(name, sink, keys[i].key);
		value = getenv(name);
		r = value ? put(ret, i, value, strlen(value)) : 0;
		if (r < 0)
			return coati_fail(err, r, "%s in the environment is not printable text",
					  name);
	}
	return 0;
}

int coati_secrets_read(const char *path, const char *sink, struct secrets *ret,
		       struct coati_error *err)
{
	struct secrets s = { 0 };
	int r = path ? read_file(path, sink, &s, err) : 0;

	if (r == 0)
		r = read_environment(sink, &s, err);
	if (r < 0)
		coati_secrets_fini(&s);
	else
		*ret = s;
	return r;
}

void coati_secrets_fini(struct secrets *s)
{
	for (size_t i = 0; i < NR_KEYS; i++)
		forget(slot_of(s, i));
}

/* @url behind its scheme. A name that only begins like an address is none. */
static bool is_loopback(const char *host)
{
	size_t len = *host == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":/");

	if ((len == 9 && !memcmp(host, "localhost", 9)) || (len == 5 && !memcmp(host, "[::1]", 5)))
		return true;
	return len > 4 && !memcmp(host, "127.", 4) && strspn(host, "0123456789.") >= len;
}

int coati_secrets_allow(const struct secrets *s, const char *url, struct coati_error *err)
{
	if ((!s->password && !s->token) || strncmp(url, "http://", 7) != 0 ||
	    is_loopback(url + 7) || (s->plain_http && !strcmp(s->plain_http, "yes")))
		return 0;
	return coati_fail(err, -EPERM,
			  "%.100s: a password would travel readable over http; use https, or set "
			  "plain-http=yes in the secrets file if the network is private",
			  url);
}
