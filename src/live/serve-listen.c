/* SPDX-License-Identifier: MIT */
/* Listening sockets: parsed, checked to be of loopback, bound. A socket file is its owner's alone
 * from the start. */
#include "live/serve-listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/parse.h"

#define BACKLOG 256

/* ---- unix ---- */

/* A socket without a listener is left over from a process that died. */
static bool is_left_over(const struct sockaddr_un *address)
{
	CLEANUP(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	return fd >= 0 && lstat(address->sun_path, &st) == 0 && S_ISSOCK(st.st_mode) &&
	       connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
	       errno == ECONNREFUSED;
}

static int bind_path(int fd, const struct sockaddr_un *address)
{
	int r = bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;

	if (r != -EADDRINUSE || !is_left_over(address))
		return r;
	unlink(address->sun_path);
	return bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 ? -errno : 0;
}

static int listen_unix(const char *path, struct serve_place *ret, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	struct stat st;
	int r;

	if (!*path)
		return coati_fail(err, -EINVAL, "unix: needs a path: unix:/run/app.coati");
	if (strlen(path) >= sizeof(ret->address.sun_path))
		return coati_fail(
			err, -E2BIG,
			"%s: the path of a socket has at most %zu bytes; take a shorter one", path,
			sizeof(ret->address.sun_path) - 1);
	ret->is_unix = true;
	ret->address.sun_family = AF_UNIX;
	memcpy(ret->address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return coati_fail(err, -errno, "a unix socket: %m");
	/* the file is made with it: no other process can put another in its place before */
	if (fchmod(fd, 0600) < 0)
		return coati_fail(err, -errno, "cannot set the permissions of a unix socket: %m");
	r = bind_path(fd, &ret->address);
	if (r == -EADDRINUSE)
		return coati_fail(
			err, r,
			"%s exists: another process listens on it, another user owns it, or it is "
			"not a socket; use another path or remove it",
			path);
	if (r < 0)
		return coati_fail(err, r, "bind %s: %m", path);
	if (lstat(path, &st) < 0 || listen(fd, BACKLOG) < 0) {
		r = -errno;
		unlink(path);
		return coati_fail(err, r, "listen on %s: %m", path);
	}
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	ret->fd = TAKE_FD(fd);
	return 0;
}

/* ---- TCP ---- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool parse_address(const char *host, uint16_t port, union address *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, !strcasecmp(host, "localhost") ? "127.0.0.1" : host,
		      &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons(port);
		return true;
	}
	memset(ret, 0, sizeof(*ret));
	ret->v6.sin6_family = AF_INET6;
	ret->v6.sin6_port = htons(port);
	return inet_pton(AF_INET6, host, &ret->v6.sin6_addr) == 1;
}

static bool is_loopback(const union address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohl(a->v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&a->v6.sin6_addr);
}

/* PORT, HOST:PORT or [HOST]:PORT */
static int parse_where(const char *where, union address *ret)
{
	const char *colon = strrchr(where, ':');
	char host[64] = "127.0.0.1";
	size_t size = colon ? (size_t)(colon - where) : 0;
	uint32_t port;

	if (coati_parse_u32(colon ? colon + 1 : where, 0, UINT16_MAX, &port) < 0)
		return -EINVAL;
	if (colon) {
		if (size > 2 && where[0] == '[' && where[size - 1] == ']') {
			where++;
			size -= 2;
		} else if (memchr(where, ':', size)) {
			return -EINVAL;
		}
		if (!size || size >= sizeof(host))
			return -EINVAL;
		memcpy(host, where, size);
		host[size] = 0;
	}
	return parse_address(host, (uint16_t)port, ret) ? 0 : -EINVAL;
}

static int listen_tcp(const char *where, bool anywhere, struct serve_place *ret,
		      struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	union address a;
	socklen_t size;
	int one = 1;

	if (parse_where(where, &a) < 0)
		return coati_fail(
			err, -EINVAL,
			"%s is not a valid listen address: use unix:PATH, PORT, localhost:PORT or "
			"a numeric address, [IPv6] in brackets",
			where);
	if (!is_loopback(&a) && !anywhere)
		return coati_fail(
			err, -EPERM,
			"%s can be reached from other machines; use localhost:PORT or unix:PATH, "
			"or set COATI_SERVE_ANYWHERE",
			where);
	ret->is_anywhere = !is_loopback(&a);
	size = a.any.sa_family == AF_INET ? sizeof(a.v4) : sizeof(a.v6);
	fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return coati_fail(err, -errno, "a socket for %s: %m", where);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (a.any.sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, &a.any, size) < 0 || listen(fd, BACKLOG) < 0)
		return coati_fail(err, -errno, "listen on %s: %m; port 0 takes a free one", where);
	if (getsockname(fd, &a.any, &size) < 0)
		return coati_fail(err, -errno, "cannot get the port of %s: %m", where);
	ret->port = ntohs(a.any.sa_family == AF_INET ? a.v4.sin_port : a.v6.sin6_port);
	ret->fd = TAKE_FD(fd);
	return 0;
}

/* ---- both ---- */

int coati_serve_listen(const char *where, bool anywhere, struct serve_place *ret,
		       struct coati_error *err)
{
	struct serve_place place = { .fd = -1 };
	int r;

	if (!strncmp(where, "unix:", 5))
		r = listen_unix(where + 5, &place, err);
	else
		r = listen_tcp(where, anywhere, &place, err);
	if (r == 0)
		*ret = place;
	return r;
}

void coati_serve_unlisten(struct serve_place *place)
{
	struct stat st;

	fd_closep(&place->fd);
	place->fd = -1;
	if (place->is_unix && lstat(place->address.sun_path, &st) == 0 && st.st_dev == place->dev &&
	    st.st_ino == place->ino)
		unlink(place->address.sun_path);
}

bool coati_serve_host_ok(const struct serve_place *place, const char *host)
{
	union address a;
	char own[256];

	/* HTTP/1.0 without one: no browser sends that */
	if (place->is_unix || !*host || !strcmp(host, "localhost"))
		return true;
	if (parse_address(host, 0, &a))
		return place->is_anywhere || is_loopback(&a);
	return place->is_anywhere && gethostname(own, sizeof(own)) == 0 &&
	       !strncasecmp(host, own, sizeof(own));
}
