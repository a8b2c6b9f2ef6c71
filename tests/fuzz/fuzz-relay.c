/* SPDX-License-Identifier: MIT */
/*
 * What clients send to a relay: every request is answered once or its connection is closed, and
 * nothing of it stays. The first byte says whether the rest is a whole request, or a body that
 * gets a head which the relay accepts, as it is or packed.
 */
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "fleet/relay-parts.h"
#include "fleet/schema.h"
#include "format/gzip.h"
#include "fuzz/fuzz.h"

#define MEMORY	   (UINT64_C(1) << 20)
#define ROUNDS	   64
#define PATIENCE   32
#define ANSWER_MAX 65536

enum { HAS_HEAD = 1, SAYS_GZIP = 2, IS_PACKED = 4 };

static int add(void *ctx, const void *bytes, size_t size)
{
	struct strbuf *s = ctx;

	coati_strbuf_add(s, bytes, size);
	return s->failed;
}

static void pack(const uint8_t *data, size_t size, struct strbuf *ret)
{
	struct deflater *d = NULL;

	FUZZ_CHECK(coati_deflater_new(add, ret, &d, NULL) == 0);
	FUZZ_CHECK(coati_deflater_put(d, data, size, true) == 0);
	coati_deflater_free(d);
}

/* The request, by the flags of the first byte. */
static void make_request(const uint8_t *data, size_t size, struct strbuf *ret)
{
	struct strbuf body = STRBUF_INIT(4 * MEMORY);
	uint8_t flags = size ? data[0] : 0;

	data += size > 0;
	size -= size > 0;
	if (flags & IS_PACKED && coati_gzip_works())
		pack(data, size, &body);
	else
		coati_strbuf_add(&body, data, size);
	if (flags & HAS_HEAD)
		coati_strbuf_printf(ret,
				    "POST %s?columns=%u HTTP/1.1\r\nHost: localhost\r\n"
				    "Content-Type: %s\r\n%sContent-Length: %zu\r\n\r\n",
				    BUNDLE_PATH, coati_schema_sum(), BUNDLE_TYPE,
				    flags & (SAYS_GZIP | IS_PACKED) ? "Content-Encoding: gzip\r\n"
								    : "",
				    body.len);
	coati_strbuf_add(ret, body.text, body.len);
	coati_strbuf_fini(&body);
	FUZZ_CHECK(!ret->failed);
}

/* A relay without the thread that inserts; it listens where this process alone looks. */
static void open_relay(struct relay *r)
{
	struct sockaddr_un any = { .sun_family = AF_UNIX };

	memset(r, 0, sizeof(*r));
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->changed, NULL);
	r->memory = MEMORY;
	r->connections.max = r->queue.max = 4;
	r->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->place.is_unix = true;
	r->place.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	FUZZ_CHECK(r->wake >= 0 && r->place.fd >= 0);
	FUZZ_CHECK(bind(r->place.fd, (struct sockaddr *)&any, sizeof(any.sun_family)) == 0);
	FUZZ_CHECK(listen(r->place.fd, 4) == 0);
}

static int connect_to(const struct relay *r)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un to;
	socklen_t size = sizeof(to);

	FUZZ_CHECK(fd >= 0 && getsockname(r->place.fd, (struct sockaddr *)&to, &size) == 0);
	FUZZ_CHECK(connect(fd, (struct sockaddr *)&to, size) == 0);
	return fd;
}

/* What the thread would do: the server has it all. */
static void insert_all(struct relay *r)
{
	while (r->queue.len) {
		struct delivery *d = r->queue.v[--r->queue.len];

		FUZZ_CHECK(d->bundle.parcels.len > 0);
		d->state = DELIVERY_DONE;
		d->status = 200;
		snprintf(d->text, sizeof(d->text), "stored");
		r->queued_bytes -= d->bytes;
	}
}

/* Send what the relay takes, and receive what it answers, until it has closed the connection. */
static void talk(struct relay *r, int fd, const struct strbuf *request, struct strbuf *answer)
{
	size_t sent = 0;
	ssize_t n = -1;

	for (int i = 0; i < ROUNDS && n != 0; i++) {
		char bytes[4096];

		n = send(fd, request->text + sent, request->len - sent, MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		/* half a request is not waited for */
		if (i == PATIENCE)
			shutdown(fd, SHUT_WR);
		FUZZ_CHECK(coati_relay_round(r, 0, NULL) == 0);
		insert_all(r);
		while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
			coati_strbuf_add(answer, bytes, (size_t)n);
	}
	FUZZ_CHECK(n == 0 && !answer->failed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf request = STRBUF_INIT(8 * MEMORY), answer = STRBUF_INIT(ANSWER_MAX);
	struct relay r;
	int fd;

	make_request(data, size, &request);
	open_relay(&r);
	fd = connect_to(&r);
	talk(&r, fd, &request, &answer);
	close(fd);
	/* one answer, or none to half a request */
	FUZZ_CHECK(!answer.len || !strncmp(answer.text, "HTTP/1.1 ", 9));
	FUZZ_CHECK(r.stats.requests + r.stats.refused <= (answer.len > 0));
	for (int i = 0; i < ROUNDS && r.connections.len; i++)
		FUZZ_CHECK(coati_relay_round(&r, 0, NULL) == 0);
	FUZZ_CHECK(!r.connections.len && !r.read_bytes && !r.queued_bytes && !r.queue.len);
	ARRAY_FINI(&r.connections);
	ARRAY_FINI(&r.queue);
	close(r.wake);
	close(r.place.fd);
	pthread_mutex_destroy(&r.lock);
	pthread_cond_destroy(&r.changed);
	coati_strbuf_fini(&request);
	coati_strbuf_fini(&answer);
	return 0;
}
