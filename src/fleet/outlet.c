/* SPDX-License-Identifier: MIT */
/* see outlet.h */
#include "fleet/outlet.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "base/proto.h"
#include "base/thread.h"
#include "fleet/client.h"
#include "fleet/outlet-body.h"
#include "fleet/place.h"
#include "fleet/secrets.h"

#define INTERVAL_NS (60 * NSEC_PER_SEC)
#define QUEUE_BYTES (UINT64_C(16) << 20)
#define QUEUE_MAX   4096
#define BODY_MAX    (64u << 20)
#define BODIES_MAX  1024 /* services of one minute */
#define PAUSE_FIRST NSEC_PER_SEC
#define PAUSE_MOST  (60 * NSEC_PER_SEC)
#define TRIES_MOST  10 /* of one request */
#define REQUEST_MS  30000
#define BOUNDARY    "coati-6f1d0a3c7b"

struct parcel_post {
	char *url;
	struct strbuf body;
	uint32_t windows, tries;
};

struct outlet {
	enum outlet_kind kind;
	uint64_t interval_ns, queue_max;
	ARRAY(struct outlet_body) bodies; /* of the agent's thread */
	uint64_t since_ns;

	char shown[COATI_ERROR_TEXT];
	pthread_mutex_t lock; /* over what follows */
	pthread_cond_t changed;
	ARRAY(struct parcel_post) queue;
	uint64_t queue_bytes;
	struct agent_sink_stats stats;
	char trouble[COATI_ERROR_TEXT];
	bool closing;
	uint64_t deadline_ns;

	pthread_t thread;
	struct client *client;
	struct secrets secrets;
	char url[PLACE_URL_ROOM];
	uint64_t next_ns, pause_ns, random;
};

/* ---- what servers say ---- */

int coati_outlet_verdict(enum outlet_kind kind, uint32_t status)
{
	if (status >= 200 && status < 300)
		return 0;
	if (status == 429 || status == 502 || status == 503 || status == 504)
		return 1;
	/* OTLP: no other status may be repeated. Pyroscope has no such rule: a server that fails is
	 * asked again. */
	return kind == OUTLET_PUSH && status >= 500 ? 1 : -1;
}

/* ExportProfilesServiceResponse { partial_success = 1 { rejected_profiles = 1 } } */
uint64_t coati_outlet_rejected(const void *body, size_t size)
{
	struct proto_reader r = proto_over(body, size), part;
	uint64_t rejected = 0;

	while (coati_proto_next(&r)) {
		if (r.field != 1)
			continue;
		part = proto_sub(&r);
		while (coati_proto_next(&part))
			if (part.field == 1 && part.wire == PROTO_VARINT)
				rejected = part.value;
	}
	return r.bad ? 0 : rejected;
}

/* ---- the agent's thread ---- */

static void free_post(struct parcel_post *q)
{
	coati_free(q->url);
	coati_strbuf_fini(&q->body);
}

static void drop_first(struct outlet *o, bool is_lost)
{
	struct parcel_post *q = &o->queue.v[0];

	if (is_lost)
		o->stats.failed_windows += q->windows;
	o->queue_bytes -= q->body.len;
	free_post(q);
	memmove(&o->queue.v[0], &o->queue.v[1], (o->queue.len - 1) * sizeof(*q));
	o->queue.len--;
}

static char *make_url(const struct outlet *o, const struct outlet_body *b)
{
	struct strbuf url = STRBUF_INIT(4096);

	coati_strbuf_adds(&url, o->url);
	if (o->kind == OUTLET_PUSH) {
		coati_strbuf_adds(&url, strchr(o->url, '?') ? "&name=" : "?name=");
		coati_client_escape(&url, b->service);
		coati_strbuf_printf(&url, "&from=%llu&until=%llu&format=pprof&spyName=coati",
				    (unsigned long long)b->from_s, (unsigned long long)b->until_s);
	}
	return coati_strbuf_take(&url);
}

static void wrap(const struct outlet *o, struct strbuf *bytes, struct strbuf *ret)
{
	if (o->kind == OUTLET_PUSH)
		coati_strbuf_adds(ret, "--" BOUNDARY "\r\nContent-Disposition: form-data; "
				       "name=\"profile\"; filename=\"profile.pprof\"\r\n"
				       "Content-Type: application/octet-stream\r\n\r\n");
	coati_strbuf_add(ret, bytes->text, bytes->len);
	if (o->kind == OUTLET_PUSH)
		coati_strbuf_adds(ret, "\r\n--" BOUNDARY "--\r\n");
}

static int enqueue(struct outlet *o, struct outlet_body *b)
{
	struct strbuf bytes = STRBUF_INIT(BODY_MAX), body = STRBUF_INIT(BODY_MAX + 1024);
	struct parcel_post *slot = NULL;
	struct coati_error err = { 0 };
	char *url = make_url(o, b);
	int r = url ? coati_outlet_body_write(b, &bytes, &err) : -ENOMEM;

	if (r == 0)
		wrap(o, &bytes, &body);
	coati_strbuf_fini(&bytes);
	pthread_mutex_lock(&o->lock);
	while (r == 0 && o->queue.len && o->queue_bytes + body.len > o->queue_max)
		drop_first(o, true);
	slot = r == 0 && !body.failed ? ARRAY_ADD(&o->queue) : NULL;
	if (slot) {
		*slot = (struct parcel_post){ .url = url, .body = body, .windows = b->windows };
		o->queue_bytes += body.len;
		pthread_cond_signal(&o->changed);
	} else {
		o->stats.failed_windows += b->windows;
		coati_free(url);
		coati_strbuf_fini(&body);
	}
	pthread_mutex_unlock(&o->lock);
	return slot ? 0 : -ENOMEM;
}

static void flush(struct outlet *o)
{
	for (size_t i = 0; i < o->bodies.len; i++) {
		enqueue(o, &o->bodies.v[i]);
		coati_outlet_body_fini(&o->bodies.v[i]);
	}
	o->bodies.len = 0;
	o->since_ns = now_ns();
}

static struct outlet_body *find_body(struct outlet *o, const char *service)
{
	struct coati_error err;
	struct outlet_body *b;

	for (size_t i = 0; i < o->bodies.len; i++)
		if (!strcmp(o->bodies.v[i].service, service))
			return &o->bodies.v[i];
	b = ARRAY_ADD(&o->bodies);
	if (b && coati_outlet_body_init(b, o->kind, service, &err) < 0) {
		o->bodies.len--;
		b = NULL;
	}
	return b;
}

static int add_window(struct outlet *o, const struct agent_window *w)
{
	uint32_t nr = o->kind == OUTLET_OTLP ? 1 : w->nr_services;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < nr; i++) {
		struct outlet_body *b =
			find_body(o, o->kind == OUTLET_OTLP ? "" : w->services[i].name);

		r = b ? coati_outlet_body_add(b, w) : -ENOMEM;
	}
	return r;
}

static int on_window(void *ctx, const struct agent_window *w)
{
	struct outlet *o = ctx;
	int r = add_window(o, w);

	if (now_ns() - o->since_ns >= o->interval_ns)
		flush(o);
	return r;
}

static void on_stats(void *ctx, struct agent_sink_stats *ret)
{
	struct outlet *o = ctx;

	pthread_mutex_lock(&o->lock);
	*ret = o->stats;
	ret->waiting_bytes = o->queue_bytes;
	for (size_t i = 0; i < o->queue.len; i++)
		ret->waiting_windows += o->queue.v[i].windows;
	pthread_mutex_unlock(&o->lock);
}

static const char *on_trouble(void *ctx)
{
	struct outlet *o = ctx;

	pthread_mutex_lock(&o->lock);
	snprintf(o->shown, sizeof(o->shown), "%s", o->trouble);
	pthread_mutex_unlock(&o->lock);
	return *o->shown ? o->shown : NULL;
}

static void free_outlet(struct outlet *o)
{
	for (size_t i = 0; i < o->bodies.len; i++)
		coati_outlet_body_fini(&o->bodies.v[i]);
	for (size_t i = 0; i < o->queue.len; i++)
		free_post(&o->queue.v[i]);
	ARRAY_FINI(&o->bodies);
	ARRAY_FINI(&o->queue);
	coati_client_close(&o->client);
	coati_secrets_fini(&o->secrets);
	pthread_mutex_destroy(&o->lock);
	pthread_cond_destroy(&o->changed);
	coati_free(o);
}

static void on_close(void *ctx, uint64_t deadline_ns)
{
	struct outlet *o = ctx;

	flush(o);
	pthread_mutex_lock(&o->lock);
	o->closing = true;
	o->deadline_ns = deadline_ns;
	o->next_ns = o->pause_ns ? o->next_ns : now_ns();
	pthread_cond_signal(&o->changed);
	pthread_mutex_unlock(&o->lock);
	pthread_join(o->thread, NULL);
	free_outlet(o);
}

/* ---- the sender's thread: called with the lock ---- */

static void note_failed(struct outlet *o, uint32_t retry_s, const char *why)
{
	uint64_t pause = o->pause_ns ? 2 * o->pause_ns : PAUSE_FIRST;

	o->pause_ns = pause < PAUSE_MOST ? pause : PAUSE_MOST;
	o->random = coati_hash_u64(o->random, 1);
	pause = o->pause_ns - o->pause_ns / 4 + o->random % (o->pause_ns / 2);
	if (retry_s * NSEC_PER_SEC > pause)
		pause = retry_s * NSEC_PER_SEC;
	o->next_ns = now_ns() + pause;
	o->stats.errors++;
	snprintf(o->trouble, sizeof(o->trouble), "%s", why);
}

static void judge(struct outlet *o, const struct client_answer *a)
{
	struct parcel_post *q = &o->queue.v[0];
	int verdict = coati_outlet_verdict(o->kind, a->status);
	uint64_t rejected =
		o->kind == OUTLET_OTLP ? coati_outlet_rejected(a->body.text, a->body.len) : 0;
	char why[COATI_ERROR_TEXT];

	snprintf(why, sizeof(why), "%.100s answers %u", o->url, a->status);
	if (verdict > 0 && ++q->tries < TRIES_MOST) {
		note_failed(o, a->retry_after_s, why);
		return;
	}
	o->pause_ns = 0;
	if (verdict == 0 && !rejected) {
		o->stats.windows += q->windows;
		o->stats.bytes += q->body.len;
		*o->trouble = 0;
	} else {
		o->stats.errors++;
		if (rejected)
			snprintf(why, sizeof(why), "%.100s rejected %llu profiles", o->url,
				 (unsigned long long)rejected);
		snprintf(o->trouble, sizeof(o->trouble), "%s", why);
	}
	drop_first(o, verdict != 0 || rejected);
}

static void post_first(struct outlet *o)
{
	struct parcel_post q = o->queue.v[0];
	struct client_ask ask = { .url = q.url,
				  .body = q.body.text,
				  .body_size = q.body.len,
				  .gzip = o->kind == OUTLET_OTLP,
				  .limit_ms = REQUEST_MS };
	struct client_answer a = CLIENT_ANSWER_INIT(1u << 20);
	struct coati_error err = { 0 };
	size_t before = o->queue.len;
	int r;

	ask.headers[0] = o->kind == OUTLET_OTLP
				 ? "Content-Type: application/x-protobuf"
				 : "Content-Type: multipart/form-data; boundary=" BOUNDARY;
	/* out of the queue while it is under way: a full queue drops its first one */
	o->queue_bytes -= q.body.len;
	memmove(&o->queue.v[0], &o->queue.v[1], (before - 1) * sizeof(q));
	o->queue.len--;
	pthread_mutex_unlock(&o->lock);
	r = coati_client_ask(o->client, &ask, &a, &err);
	pthread_mutex_lock(&o->lock);
	/* back to the front; there was room for it */
	if (ARRAY_ADD(&o->queue)) {
		memmove(&o->queue.v[1], &o->queue.v[0], (o->queue.len - 1) * sizeof(q));
		o->queue.v[0] = q;
		o->queue_bytes += q.body.len;
		if (r == 0)
			judge(o, &a);
		else
			note_failed(o, 0, err.text);
	} else {
		o->stats.failed_windows += q.windows;
		free_post(&q);
	}
	coati_strbuf_fini(&a.body);
}

static bool goes_on(const struct outlet *o)
{
	if (!o->closing)
		return true;
	return o->queue.len && now_ns() < o->deadline_ns;
}

/* Until there is something to do, or the agent's patience ends. */
static void wait_for_work(struct outlet *o)
{
	uint64_t until = o->queue.len ? o->next_ns : now_ns() + 3600 * NSEC_PER_SEC;
	struct timespec t;

	if (o->closing && o->deadline_ns < until)
		until = o->deadline_ns;
	t = (struct timespec){ (time_t)(until / NSEC_PER_SEC), (long)(until % NSEC_PER_SEC) };
	pthread_cond_timedwait(&o->changed, &o->lock, &t);
}

static void *run(void *ctx)
{
	struct outlet *o = ctx;

	pthread_mutex_lock(&o->lock);
	while (goes_on(o))
		if (o->queue.len && now_ns() >= o->next_ns)
			post_first(o);
		else
			wait_for_work(o);
	while (o->queue.len)
		drop_first(o, true);
	pthread_mutex_unlock(&o->lock);
	return NULL;
}

/* ---- making one ---- */

static int start(struct outlet *o, struct coati_error *err)
{
	int r;

	thread_cond_init(&o->changed);
	r = thread_start(&o->thread, NULL, run, o);
	return r ? coati_fail(err, r, "cannot start a thread: %m") : 0;
}

int coati_outlet_new(const struct outlet_opts *opts, struct agent_sink *ret,
		     struct coati_error *err)
{
	static const char *const paths[] = { "/v1development/profiles", "/ingest" };
	static const char *const names[] = { "otlp", "push" };
	struct outlet *o = coati_alloc(sizeof(*o));
	int r;

	if (!o)
		return coati_fail(err, -ENOMEM, "no memory for a sink");
	pthread_mutex_init(&o->lock, NULL);
	o->kind = opts->kind;
	o->interval_ns = opts->interval_ns ? opts->interval_ns : INTERVAL_NS;
	o->queue_max = opts->queue_bytes ? opts->queue_bytes : QUEUE_BYTES;
	o->queue.max = QUEUE_MAX;
	o->bodies.max = BODIES_MAX;
	o->since_ns = o->random = now_ns();
	r = coati_place_url(opts->url, paths[o->kind], o->url, err);
	if (r == 0)
		r = coati_secrets_read(opts->secrets, names[o->kind], &o->secrets, err);
	if (r == 0)
		r = coati_secrets_allow(&o->secrets, o->url, err);
	if (r == 0)
		r = coati_client_open(&o->secrets, &o->client, err);
	if (r == 0)
		r = start(o, err);
	if (r < 0) {
		free_outlet(o);
		return r;
	}
	*ret = (struct agent_sink){ .name = names[o->kind],
				    .window = on_window,
				    .stats = on_stats,
				    .trouble = on_trouble,
				    .close = on_close,
				    .ctx = o };
	return 0;
}
