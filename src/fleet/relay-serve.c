/* SPDX-License-Identifier: MIT */
/*
 * The connections of a relay: one request each. A client has some seconds for its request, memory
 * of all requests has a limit, and when there are too many connections the one that has been
 * reading for longest is closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "fleet/relay-parts.h"
#include "format/gzip.h"

#define READ_NS	    (20 * NSEC_PER_SEC) /* for a whole request */
#define WAIT_NS	    (18 * NSEC_PER_SEC) /* for the insert to begin; agents wait for 30 s */
#define WRITE_NS    (5 * NSEC_PER_SEC)
#define LINGER_NS   (2 * NSEC_PER_SEC)
#define READ_BYTES  65536
#define READ_TURNS  16 /* of one client, before others have their turn */
#define TAKE_TURNS  64
#define PAGE_MAX    65536
#define FIELD_ROOM  4096
#define FILES_SPARE 64

/* LINGER: the answer is sent, but the client is still sending. If it were reset now it would not
 * read the answer. */
enum connection_state { READS, WAITS, WRITES, LINGERS, ENDS };

struct connection {
	int fd;
	enum connection_state state;
	uint64_t until_ns;
	struct strbuf in, out;
	size_t sent;
	int head; /* size of the head of the request; 0: not whole yet */
	struct http_request q;
	struct delivery *delivery;
};

/* ---- answers ---- */

static void put_date(const struct relay *r, struct strbuf *s)
{
	time_t t = time(NULL) + (time_t)r->skew_s;
	char text[64];
	struct tm tm;

	gmtime_r(&t, &tm);
	if (strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm))
		coati_strbuf_printf(s, "Date: %s\r\n", text);
}

/* Whatever is the state of the request, it is answered now. */
static void answer(struct relay *r, struct connection *c, int status, uint32_t retry_s,
		   const char *text)
{
	r->read_bytes -= c->in.len;
	coati_strbuf_fini(&c->in);
	c->in = (struct strbuf)STRBUF_INIT(HTTP_HEAD_BYTES + BUNDLE_BYTES);
	coati_strbuf_printf(&c->out, "HTTP/1.1 %d %s\r\n", status, coati_http_reason(status));
	pthread_mutex_lock(&r->lock);
	put_date(r, &c->out);
	r->stats.requests += status == 200 && c->q.method == HTTP_POST;
	r->stats.refused += status != 200;
	pthread_mutex_unlock(&r->lock);
	if (retry_s)
		coati_strbuf_printf(&c->out, "Retry-After: %u\r\n", retry_s);
	coati_strbuf_printf(&c->out,
			    "Content-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
			    "Connection: close\r\nX-Content-Type-Options: nosniff\r\n\r\n%s\n",
			    strlen(text) + 1, text);
	c->state = WRITES;
	c->until_ns = now_ns() + WRITE_NS;
}

/* ---- requests ---- */

/* The value of the first field @name of a head that was parsed without an error: no line of it is
 * folded. "" when there is none, or no room for it. */
static void get_field(const struct connection *c, const char *name, char *ret, size_t room)
{
	const char *at = c->in.text, *end = at + c->head, *next;
	size_t size = strlen(name);

	ret[0] = '\0';
	for (; (next = memchr(at, '\n', (size_t)(end - at))); at = next + 1) {
		const char *from = at + size + 1, *to = next;

		if (from > next || at[size] != ':' || strncasecmp(at, name, size) != 0)
			continue;
		for (; from < to && (*from == ' ' || *from == '\t'); from++)
			;
		while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\r'))
			to--;
		if ((size_t)(to - from) < room)
			snprintf(ret, room, "%.*s", (int)(to - from), from);
		return;
	}
}

/* As long for a wrong token as for the right one. */
static bool has_token(const struct relay *r, const struct connection *c)
{
	char field[FIELD_ROOM] = "";
	const char *token = r->secrets.token;
	size_t len = token ? strlen(token) : 0;
	unsigned int differ = 0;
	bool ok;

	if (!token)
		return true;
	get_field(c, "authorization", field, sizeof(field));
	ok = !strncmp(field, "Bearer ", 7) && strlen(field) == len + 7;
	for (size_t i = 0; ok && i < len; i++)
		differ |= (unsigned char)token[i] ^ (unsigned char)field[7 + i];
	explicit_bzero(field, sizeof(field));
	return ok && !differ;
}

static bool is_field(const struct connection *c, const char *name, const char *value)
{
	char field[128];

	get_field(c, name, field, sizeof(field));
	return !strcmp(field, value);
}

static void serve_metrics(struct relay *r, struct connection *c)
{
	struct strbuf page = STRBUF_INIT(PAGE_MAX);

	if (!coati_serve_host_ok(&r->place, c->q.host) || c->q.is_cross_site) {
		answer(r, c, 403, 0, "this server answers at its own address only");
		return;
	}
	coati_relay_metrics(r, &page);
	answer(r, c, 200, 0, page.text);
	coati_strbuf_fini(&page);
}

/* The head is there: is the body worth waiting for? Otherwise it is answered. */
static bool accept_head(struct relay *r, struct connection *c)
{
	uint32_t columns = 0;

	if (c->q.method == HTTP_GET && !strcmp(c->q.path, "/metrics")) {
		serve_metrics(r, c);
		return false;
	}
	if (strcmp(c->q.path, BUNDLE_PATH) != 0)
		answer(r, c, 404, 0, "there are only /parcels and /metrics here");
	else if (c->q.method != HTTP_POST)
		answer(r, c, 405, 0, "/parcels takes POST only");
	else if (c->q.is_cross_site || !is_field(c, "content-type", BUNDLE_TYPE))
		answer(r, c, 415, 0, "expected Content-Type: " BUNDLE_TYPE);
	else if (!has_token(r, c))
		answer(r, c, 401, 0, "wrong token; set relay.token in the secrets file");
	else if (coati_http_query_u32(c->q.query, "columns", UINT32_MAX, &columns) < 0 ||
		 columns != coati_schema_sum())
		answer(r, c, 409, 60, "agent and relay are of versions with different tables");
	else
		return true;
	return false;
}

static int unpack(struct relay *r, const struct connection *c, struct strbuf *ret,
		  struct coati_error *err)
{
	const char *body = c->in.text + c->head;

	if (!is_field(c, "content-encoding", "gzip")) {
		coati_strbuf_add(ret, body, c->q.body_size);
		return ret->failed ? coati_fail(err, -ENOMEM, "no memory") : 0;
	}
	return coati_inflate_gzip(body, c->q.body_size, ret, err);
}

static uint64_t memory_left(struct relay *r)
{
	uint64_t used;

	pthread_mutex_lock(&r->lock);
	used = r->queued_bytes;
	pthread_mutex_unlock(&r->lock);
	used += r->read_bytes;
	return used < r->memory ? r->memory - used : 0;
}

/* Of one request: two have room. */
static uint64_t most_bytes(const struct relay *r)
{
	return r->memory / 2 < BUNDLE_BYTES ? r->memory / 2 : BUNDLE_BYTES;
}

static struct delivery *read_delivery(struct relay *r, const struct connection *c,
				      struct coati_error *err)
{
	uint64_t left = memory_left(r), most = most_bytes(r);
	struct strbuf body = STRBUF_INIT(left < most ? left : most);
	struct delivery *d = coati_alloc(sizeof(*d));
	int ret = d ? unpack(r, c, &body, err) : coati_fail(err, -ENOMEM, "no memory");

	/* it may fit when others are done */
	if (ret == -E2BIG && left < most)
		ret = coati_fail(err, -ENOMEM, "too many requests wait");
	if (ret == 0)
		ret = coati_bundle_read(&d->bundle, body.text, body.len, err);
	if (ret == 0)
		d->bytes = body.len;
	coati_strbuf_fini(&body);
	if (ret < 0) {
		coati_free(d);
		return NULL;
	}
	return d;
}

/* The request is whole. */
static void take_request(struct relay *r, struct connection *c)
{
	struct coati_error err = { 0 };
	struct delivery *d = read_delivery(r, c, &err);
	uint32_t retry_s = 1;

	if (!d) {
		int status = err.code == -ENOMEM ? 503 : err.code == -E2BIG ? 413 : 400;

		answer(r, c, status, status == 503, err.text);
		return;
	}
	if (coati_relay_queue(r, d, &retry_s) < 0) {
		coati_delivery_free(d);
		answer(r, c, 503, retry_s, "the database cannot be reached, or the relay ends");
		return;
	}
	r->read_bytes -= c->in.len;
	coati_strbuf_fini(&c->in);
	c->in = (struct strbuf)STRBUF_INIT(HTTP_HEAD_BYTES + BUNDLE_BYTES);
	c->delivery = d;
	c->state = WAITS;
	c->until_ns = now_ns() + WAIT_NS;
}

/* ---- one connection ---- */

static void look_at_request(struct relay *r, struct connection *c)
{
	if (!c->head) {
		c->head = coati_http_parse_large(c->in.text, c->in.len, (uint32_t)most_bytes(r),
						 &c->q);
		if (c->head < 0)
			answer(r, c, -c->head, 0,
			       c->head == -413 ? "the body is too large for this relay"
					       : coati_http_wrong(-c->head));
		else if (c->head > 0 && !accept_head(r, c))
			return;
	}
	if (c->state == READS && c->head > 0 && c->in.len >= (size_t)c->head + c->q.body_size)
		take_request(r, c);
}

static void read_some(struct relay *r, struct connection *c)
{
	char bytes[READ_BYTES];

	for (int i = 0; i < READ_TURNS && (c->state == READS || c->state == LINGERS); i++) {
		ssize_t n = recv(c->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			c->state = ENDS;
			return;
		}
		if (c->state == LINGERS)
			continue;
		if (memory_left(r) < (uint64_t)n) {
			answer(r, c, 503, 2, "too many requests wait");
			return;
		}
		coati_strbuf_add(&c->in, bytes, (size_t)n);
		if (c->in.failed) {
			answer(r, c, 413, 0, "the request is too large");
			return;
		}
		r->read_bytes += (uint64_t)n;
		look_at_request(r, c);
	}
}

static void write_some(struct connection *c)
{
	while (c->sent < c->out.len) {
		ssize_t n = send(c->fd, c->out.text + c->sent, c->out.len - c->sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n < 0) {
			c->state = ENDS;
			return;
		}
		c->sent += (size_t)n;
	}
	shutdown(c->fd, SHUT_WR);
	c->state = LINGERS;
	c->until_ns = now_ns() + LINGER_NS;
}

static void take_answer(struct relay *r, struct connection *c)
{
	struct delivery *d = c->delivery;
	enum delivery_state state;

	pthread_mutex_lock(&r->lock);
	state = d->state;
	pthread_mutex_unlock(&r->lock);
	if (state != DELIVERY_DONE)
		return;
	answer(r, c, d->status, d->status == 503 ? d->retry_s : 0, d->text);
	c->delivery = NULL;
	coati_delivery_free(d);
}

/* Its time is over. One whose rows are being inserted hears of the end later, if it waits. */
static void give_up(struct relay *r, struct connection *c, const char *why)
{
	enum delivery_state state = DELIVERY_DONE;

	if (c->state != WAITS) {
		c->state = ENDS;
		return;
	}
	pthread_mutex_lock(&r->lock);
	state = c->delivery->state;
	pthread_mutex_unlock(&r->lock);
	if (state == DELIVERY_SENDING)
		return;
	take_answer(r, c);
	if (c->state != WAITS)
		return;
	coati_relay_leave(r, c->delivery);
	c->delivery = NULL;
	answer(r, c, 503, 2, why);
}

static void serve(struct relay *r, struct connection *c, short events)
{
	if (c->state == WAITS)
		take_answer(r, c);
	/* the client does not wait any more: it does not end its side before the answer */
	if (c->state == WAITS && events & (POLLHUP | POLLERR | POLLRDHUP))
		c->state = ENDS;
	if ((c->state == READS || c->state == LINGERS) && events)
		read_some(r, c);
	if (c->state == WRITES)
		write_some(c);
	if (c->state != ENDS && now_ns() >= c->until_ns)
		give_up(r, c, "the database is slow");
}

static void end_connection(struct relay *r, size_t i)
{
	struct connection *c = r->connections.v[i];

	if (c->delivery)
		coati_relay_leave(r, c->delivery);
	close(c->fd);
	r->read_bytes -= c->in.len;
	coati_strbuf_fini(&c->in);
	coati_strbuf_fini(&c->out);
	coati_free(c);
	r->connections.v[i] = r->connections.v[--r->connections.len];
}

/* ---- all of them ---- */

/* The client that has kept us waiting for longest; the number of all: none has. */
static size_t find_slowest(const struct relay *r)
{
	size_t oldest = r->connections.len;

	for (size_t i = 0; i < r->connections.len; i++) {
		const struct connection *c = r->connections.v[i];

		if (c->state != WAITS && (oldest == r->connections.len ||
					  c->until_ns < r->connections.v[oldest]->until_ns))
			oldest = i;
	}
	return oldest;
}

static bool has_room(const struct relay *r)
{
	return r->connections.len < r->connections.max || find_slowest(r) < r->connections.len;
}

static void make_room(struct relay *r)
{
	if (r->connections.len < r->connections.max || !has_room(r))
		return;
	end_connection(r, find_slowest(r));
	pthread_mutex_lock(&r->lock);
	r->stats.evicted++;
	pthread_mutex_unlock(&r->lock);
}

static bool take_client(struct relay *r)
{
	CLEANUP(fd_closep) int fd = accept4(r->place.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *c = fd < 0 ? NULL : coati_alloc(sizeof(*c)), **slot;

	if (!c)
		return false;
	make_room(r);
	slot = ARRAY_ADD(&r->connections);
	if (!slot) {
		coati_free(c);
		return false;
	}
	*c = (struct connection){ .fd = TAKE_FD(fd),
				  .until_ns = now_ns() + READ_NS,
				  .in = STRBUF_INIT(HTTP_HEAD_BYTES + BUNDLE_BYTES),
				  .out = STRBUF_INIT(2 * PAGE_MAX) };
	*slot = c;
	return true;
}

static short wants(const struct connection *c)
{
	return c->state == WRITES ? POLLOUT : c->state == WAITS ? POLLRDHUP : POLLIN;
}

static int wait_time(const struct relay *r, int ms)
{
	uint64_t now = now_ns();

	for (size_t i = 0; i < r->connections.len; i++) {
		uint64_t until = r->connections.v[i]->until_ns;
		uint64_t left = until > now ? (until - now) / NSEC_PER_MSEC + 1 : 0;

		/* what is overdue waits for its insert */
		if (left && left < (uint64_t)ms)
			ms = (int)left;
	}
	return ms;
}

int coati_relay_round(struct relay *r, int ms, struct coati_error *err)
{
	size_t nr = r->connections.len;
	CLEANUP(freep) struct pollfd *fds = coati_alloc_array(nr + 2, sizeof(*fds));
	uint64_t count;

	if (!fds)
		return coati_fail(err, -ENOMEM, "no memory for the connections of the relay");
	for (size_t i = 0; i < nr; i++)
		fds[i] = (struct pollfd){ .fd = r->connections.v[i]->fd,
					  .events = wants(r->connections.v[i]) };
	fds[nr] = (struct pollfd){ .fd = r->wake, .events = POLLIN };
	fds[nr + 1] = (struct pollfd){ .fd = has_room(r) ? r->place.fd : -1, .events = POLLIN };
	if (poll(fds, nr + 2, wait_time(r, ms)) < 0)
		return errno == EINTR ? -EINTR : coati_fail(err, -errno, "poll: %m");
	if (fds[nr].revents && read(r->wake, &count, sizeof(count)) < 0 && errno != EAGAIN)
		return coati_fail(err, -errno, "cannot read an eventfd: %m");
	for (size_t i = 0; i < nr; i++)
		serve(r, r->connections.v[i], fds[i].revents);
	for (size_t i = r->connections.len; i-- > 0;)
		if (r->connections.v[i]->state == ENDS)
			end_connection(r, i);
	for (int i = 0; fds[nr + 1].revents && i < TAKE_TURNS && has_room(r); i++)
		if (!take_client(r))
			break;
	return 0;
}

/* ---- begin and end ---- */

static int open_place(struct relay *r, const char *listen, struct coati_error *err)
{
	bool has_token = r->secrets.token && *r->secrets.token;
	int code = coati_serve_listen(listen, has_token, &r->place, err);

	if (code == -EPERM && !has_token)
		coati_fail(err, code,
			   "%s: other machines can reach it; set relay.token=TEXT in the secrets "
			   "files (--secrets) of the relay and its agents",
			   listen);
	return code;
}

int coati_relay_new(const struct relay_opts *opts, struct relay **ret, struct coati_error *err)
{
	struct relay *r = coati_alloc(sizeof(*r));
	int code;

	if (!r)
		return coati_fail(err, -ENOMEM, "no memory for a relay");
	pthread_mutex_init(&r->lock, NULL);
	r->place.fd = r->wake = -1;
	/* the other half is for copies on the way to the server */
	r->memory = (opts->memory ? opts->memory : RELAY_MEMORY) / 2;
	r->connections.max = RELAY_CONNECTIONS;
	coati_file_want(RELAY_CONNECTIONS + FILES_SPARE);
	code = coati_secrets_read(opts->secrets, "relay", &r->secrets, err);
	if (code == 0 && (r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
		code = coati_fail(err, -errno, "cannot make an eventfd: %m");
	if (code == 0)
		code = open_place(r, opts->listen, err);
	if (code == 0)
		code = coati_relay_start(r, opts, err);
	if (code < 0) {
		coati_relay_free(r);
		return code;
	}
	*ret = r;
	return 0;
}

/* Answers clients that wait; the kernel sends what fits into its buffers. */
static void answer_all(struct relay *r)
{
	for (size_t i = 0; i < r->connections.len; i++) {
		struct connection *c = r->connections.v[i];

		if (c->state == WAITS)
			give_up(r, c, "the relay ends");
		if (c->state == WRITES)
			write_some(c);
	}
}

void coati_relay_free(struct relay *r)
{
	coati_relay_end(r);
	answer_all(r);
	while (r->connections.len)
		end_connection(r, r->connections.len - 1);
	ARRAY_FINI(&r->connections);
	ARRAY_FINI(&r->queue);
	coati_serve_unlisten(&r->place);
	coati_server_close(&r->server);
	coati_secrets_fini(&r->secrets);
	if (r->wake >= 0)
		close(r->wake);
	pthread_mutex_destroy(&r->lock);
	coati_free(r);
}

void coati_relay_stats(struct relay *r, struct relay_stats *ret)
{
	pthread_mutex_lock(&r->lock);
	*ret = r->stats;
	ret->waiting_bytes = r->queued_bytes + r->read_bytes;
	pthread_mutex_unlock(&r->lock);
	ret->connections = r->connections.len;
}

uint16_t coati_relay_port(const struct relay *r)
{
	return r->place.port;
}

void coati_relay_trouble(struct relay *r, char *ret, size_t room)
{
	pthread_mutex_lock(&r->lock);
	snprintf(ret, room, "%s", r->trouble);
	pthread_mutex_unlock(&r->lock);
}
