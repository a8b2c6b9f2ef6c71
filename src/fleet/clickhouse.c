/* SPDX-License-Identifier: MIT */
/* see clickhouse.h */
#include "fleet/clickhouse.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "base/thread.h"
#include "fleet/bundle.h"
#include "fleet/encoder.h"
#include "fleet/relay-send.h"
#include "fleet/shipment.h"
#include "fleet/spool.h"

#define INTERVAL_NS (60 * NSEC_PER_SEC)
#define PAUSE_FIRST NSEC_PER_SEC
#define DOUBT_NS    (5 * NSEC_PER_SEC)
#define PAUSE_TIMES 60
#define SKEW_LEAST  60 /* seconds: less is left alone */
#define BAD_TRIES   3  /* of a shipment that the server cannot read */
#define REQUEST_MS  30000

struct sink {
	struct encoder encoder; /* of the agent's thread */
	char *host, *agent;	/* of the last window; under the lock */
	char shown[COATI_ERROR_TEXT];

	pthread_mutex_t lock; /* over what follows, up to the thread's own */
	pthread_cond_t changed;
	struct spool spool;
	struct agent_sink_stats stats;
	char trouble[COATI_ERROR_TEXT];
	bool closing, reload;
	uint64_t deadline_ns;
	int64_t skew_s;

	_Atomic uint32_t stop; /* ends the request that is under way */
	pthread_t thread;
	struct server server; /* of the thread */
	struct strbuf url, secrets;
	bool has_secrets, has_via;
	uint64_t first_pause_ns, doubt_ns, doubt_until_ns;
	uint64_t interval_ns, next_ns, pause_ns, nr_inserts, random;
	uint32_t bad_tries;
};

/* ---- the agent's thread ---- */

static int keep_names(struct sink *s, const struct agent_window *w)
{
	if (s->host && !strcmp(s->host, w->host) && !strcmp(s->agent, w->agent))
		return 0;
	coati_free(s->host);
	coati_free(s->agent);
	s->host = coati_strdup(w->host);
	s->agent = coati_strdup(w->agent);
	return s->host && s->agent ? 0 : -ENOMEM;
}

static int put_parcel(struct sink *s, const struct parcel *p)
{
	int r = coati_spool_add(&s->spool, p);

	if (s->spool.lost_names) {
		coati_encoder_forget(&s->encoder);
		s->spool.lost_names = false;
	}
	return r;
}

static int on_window(void *ctx, const struct agent_window *w)
{
	struct sink *s = ctx;
	struct parcel p;
	int64_t skew;
	int r;

	pthread_mutex_lock(&s->lock);
	skew = s->skew_s;
	pthread_mutex_unlock(&s->lock);
	r = coati_encoder_window(&s->encoder, w, skew, &p);
	pthread_mutex_lock(&s->lock);
	if (r == 0) {
		r = keep_names(s, w);
		if (r == 0)
			r = put_parcel(s, &p);
		coati_parcel_fini(&p);
	} else {
		s->stats.failed_windows++;
	}
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return r;
}

static int on_kept(void *ctx, const struct agent_kept *k)
{
	struct sink *s = ctx;
	struct parcel p;
	int r = -EAGAIN;

	coati_parcel_init(&p);
	pthread_mutex_lock(&s->lock);
	if (s->host && s->agent) {
		p.windows = 0;
		p.time_s = k->wall_ns / NSEC_PER_SEC;
		p.host = coati_strdup(s->host);
		p.agent = coati_strdup(s->agent);
		coati_encoder_kept(&p.tables[SCHEMA_KEPT], k, s->host, s->agent);
		r = p.host && p.agent && !p.tables[SCHEMA_KEPT].failed
			    ? coati_spool_add(&s->spool, &p)
			    : -ENOMEM;
	}
	pthread_mutex_unlock(&s->lock);
	coati_parcel_fini(&p);
	return r;
}

static int on_reload(void *ctx, struct coati_error *err)
{
	struct sink *s = ctx;
	struct secrets probe = { 0 };
	int r = coati_secrets_read(s->has_secrets ? s->secrets.text : NULL,
				   s->has_via ? "relay" : "clickhouse", &probe, err);

	if (r < 0)
		return r; /* the old ones stay */
	coati_secrets_fini(&probe);
	pthread_mutex_lock(&s->lock);
	s->reload = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

static void on_stats(void *ctx, struct agent_sink_stats *ret)
{
	struct sink *s = ctx;

	pthread_mutex_lock(&s->lock);
	*ret = s->stats;
	ret->failed_windows += s->spool.dropped_windows + s->spool.damaged;
	ret->waiting_windows = s->spool.entries.len;
	ret->waiting_bytes = s->spool.bytes;
	pthread_mutex_unlock(&s->lock);
}

static const char *on_trouble(void *ctx)
{
	struct sink *s = ctx;

	pthread_mutex_lock(&s->lock);
	snprintf(s->shown, sizeof(s->shown), "%s", s->trouble);
	if (!*s->shown && s->spool.disk < 0) {
		struct coati_error err;

		coati_fail(&err, s->spool.disk, "the spool is not on disk: %m");
		snprintf(s->shown, sizeof(s->shown), "%s", err.text);
	}
	pthread_mutex_unlock(&s->lock);
	return *s->shown ? s->shown : NULL;
}

static void free_sink(struct sink *s)
{
	coati_server_close(&s->server);
	coati_spool_close(&s->spool);
	coati_encoder_fini(&s->encoder);
	coati_strbuf_fini(&s->url);
	coati_strbuf_fini(&s->secrets);
	coati_free(s->host);
	coati_free(s->agent);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	coati_free(s);
}

/* What is not sent until the deadline stays in the spool. */
static void on_close(void *ctx, uint64_t deadline_ns)
{
	struct sink *s = ctx;

	pthread_mutex_lock(&s->lock);
	s->closing = true;
	s->deadline_ns = deadline_ns;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	free_sink(s);
}

/* ---- the sink's thread: called with the lock ---- */

/* 0.75 to 1.25 of it, so that agents do not come together. */
static uint64_t spread(struct sink *s, uint64_t ns)
{
	s->random = coati_hash_u64(s->random, 1);
	return ns - ns / 4 + s->random % (ns / 2 + 1);
}

static void wait_until(struct sink *s, uint64_t ns)
{
	struct timespec t = { (time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC) };

	pthread_cond_timedwait(&s->changed, &s->lock, &t);
}

static void collect(struct sink *s, struct shipment *h)
{
	size_t i = 0;

	while (i < s->spool.entries.len) {
		struct parcel p;

		if (coati_spool_get(&s->spool, i, &p) < 0) {
			if (i) /* it is the first one next time */
				break;
			coati_spool_begin(&s->spool, 1);
			coati_spool_end(&s->spool, 1);
			s->spool.damaged++;
			continue;
		}
		if (!coati_shipment_add(h, &p, s->spool.entries.v[i].tried)) {
			coati_parcel_fini(&p);
			break;
		}
		i++;
	}
	coati_spool_begin(&s->spool, i);
}

static void note_sent(struct sink *s, const struct shipment *h)
{
	for (size_t i = 0; i < h->nr; i++) {
		const struct parcel *p = &h->v[i].p;

		s->stats.windows += p->stored ? p->windows : 0;
		s->stats.rows += p->stored ? p->rows : 0;
	}
	s->stats.bytes += h->sent_bytes;
	s->pause_ns = 0;
	s->bad_tries = 0;
	*s->trouble = 0;
	/* with a backlog at once, else in a minute */
	s->next_ns = s->spool.entries.len ? now_ns() : now_ns() + spread(s, s->interval_ns);
}

/* A shipment that the server cannot read would be in the way for ever. */
static bool is_hopeless(struct sink *s, int code)
{
	if (code != -EBADMSG) {
		s->bad_tries = 0;
		return false;
	}
	return ++s->bad_tries >= BAD_TRIES;
}

static void note_failed(struct sink *s, const struct shipment *h, int code,
			const struct coati_error *err)
{
	uint64_t pause = s->pause_ns ? 2 * s->pause_ns : s->first_pause_ns;
	uint64_t most = PAUSE_TIMES * s->first_pause_ns;

	s->pause_ns = pause < most ? pause : most;
	pause = spread(s, s->pause_ns);
	if (s->server.retry_s * NSEC_PER_SEC > pause)
		pause = s->server.retry_s * NSEC_PER_SEC;
	s->next_ns = now_ns() + pause;
	/* Without an answer the insert may still be on its way: a server that is asked too early
	 * does not know of it yet. */
	if (code != -EBUSY && code != -ENOENT && code != -EACCES && code != -EBADMSG)
		s->doubt_until_ns = now_ns() + s->doubt_ns;
	if (s->next_ns < s->doubt_until_ns)
		s->next_ns = s->doubt_until_ns;
	s->stats.errors++;
	snprintf(s->trouble, sizeof(s->trouble), "%s", err->text);
	if (code == -ENOENT)
		s->server.met = false;
}

static void update_skew(struct sink *s)
{
	int64_t skew = s->server.skew_s;

	s->skew_s = skew >= SKEW_LEAST || skew <= -SKEW_LEAST ? skew : 0;
}

static int open_server(struct sink *s, struct server *ret, struct coati_error *err)
{
	const char *secrets = s->has_secrets ? s->secrets.text : NULL;

	return s->has_via ? coati_relay_open(s->url.text, secrets, ret, err)
			  : coati_server_open(s->url.text, secrets, ret, err);
}

static void take_secrets(struct sink *s)
{
	struct server fresh = { .stop = &s->stop, .limit_ms = REQUEST_MS };
	struct coati_error err = { 0 };

	s->reload = false;
	if (open_server(s, &fresh, &err) < 0) {
		snprintf(s->trouble, sizeof(s->trouble), "%s", err.text);
		return;
	}
	coati_server_close(&s->server);
	s->server = fresh;
	/* the client refers to the secrets where they are now */
	coati_client_close(&s->server.client);
	if (coati_client_open(&s->server.secrets, &s->server.client, &err) < 0)
		snprintf(s->trouble, sizeof(s->trouble), "%s", err.text);
	s->next_ns = now_ns();
}

static void ship(struct sink *s)
{
	struct coati_error err = { 0 };
	struct shipment h;
	int r = coati_shipment_init(&h, SHIPMENT_PARCELS, &s->nr_inserts);

	if (r < 0) {
		coati_fail(&err, r, "no memory for an insert");
		note_failed(s, &h, r, &err);
		return;
	}
	if (s->has_via)
		h.max_bytes = BUNDLE_TABLE_BYTES;
	collect(s, &h);
	if (!h.nr) {
		coati_shipment_fini(&h);
		return;
	}
	pthread_mutex_unlock(&s->lock);
	r = s->has_via ? coati_relay_send(&h, &s->server, &err)
		       : coati_shipment_send(&h, &s->server, &err);
	pthread_mutex_lock(&s->lock);
	update_skew(s);
	if (r == 0 || is_hopeless(s, r)) {
		if (r < 0)
			s->stats.failed_windows += h.nr;
		coati_spool_end(&s->spool, h.nr);
	} else {
		coati_spool_end(&s->spool, 0);
	}
	if (r == 0)
		note_sent(s, &h);
	else
		note_failed(s, &h, r, &err);
	coati_shipment_fini(&h);
}

/* Time for the last shipments is what the deadline leaves. */
static bool goes_on(struct sink *s)
{
	uint64_t now = now_ns();

	if (!s->closing)
		return true;
	if (!s->spool.entries.len || now >= s->deadline_ns || s->pause_ns > s->first_pause_ns)
		return false;
	s->server.limit_ms = (uint32_t)((s->deadline_ns - now) / NSEC_PER_MSEC) + 1;
	if (s->server.limit_ms > REQUEST_MS)
		s->server.limit_ms = REQUEST_MS;
	if (!s->pause_ns)
		s->next_ns = now > s->doubt_until_ns ? now : s->doubt_until_ns;
	return true;
}

static void *run(void *ctx)
{
	struct sink *s = ctx;

	pthread_mutex_lock(&s->lock);
	while (goes_on(s)) {
		if (s->reload)
			take_secrets(s);
		if (s->spool.entries.len && now_ns() >= s->next_ns)
			ship(s);
		else
			wait_until(s, s->spool.entries.len ? s->next_ns
							   : now_ns() + 3600 * NSEC_PER_SEC);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

/* ---- making one ---- */

static int start_thread(struct sink *s, struct coati_error *err)
{
	int r;

	pthread_mutex_init(&s->lock, NULL);
	thread_cond_init(&s->changed);
	r = thread_start(&s->thread, NULL, run, s);
	return r ? coati_fail(err, r, "cannot start the thread of the ClickHouse sink: %m") : 0;
}

static int prepare(struct sink *s, const struct clickhouse_opts *o, struct coati_error *err)
{
	int r = coati_spool_open(&s->spool, o->spool, o->spool_bytes, err);

	s->has_via = coati_relay_is(o->url);
	s->has_secrets = o->secrets != NULL;
	coati_strbuf_adds(&s->url, o->url);
	coati_strbuf_adds(&s->secrets, o->secrets ? o->secrets : "");
	if (r == 0 && (s->url.failed || s->secrets.failed))
		r = coati_fail(err, -ENOMEM, "no memory");
	if (r == 0)
		r = open_server(s, &s->server, err);
	if (r < 0)
		return r;
	s->server.stop = &s->stop;
	s->server.limit_ms = REQUEST_MS;
	s->interval_ns = o->interval_ns ? o->interval_ns : INTERVAL_NS;
	s->first_pause_ns = o->pause_ns ? o->pause_ns : PAUSE_FIRST;
	s->random = now_ns();
	s->next_ns = now_ns() + spread(s, s->interval_ns);
	/* an agent that was killed may have left an insert behind */
	s->doubt_ns = o->doubt_ns ? o->doubt_ns : DOUBT_NS;
	if (s->spool.entries.len)
		s->doubt_until_ns = now_ns() + s->doubt_ns;
	if (s->next_ns < s->doubt_until_ns)
		s->next_ns = s->doubt_until_ns;
	return 0;
}

int coati_clickhouse_new(const struct clickhouse_opts *opts, struct agent_sink *ret,
			 struct coati_error *err)
{
	struct sink *s = coati_alloc(sizeof(*s));
	int r;

	if (!s)
		return coati_fail(err, -ENOMEM, "no memory for the ClickHouse sink");
	s->url = s->secrets = (struct strbuf)STRBUF_INIT(8192);
	s->spool.dir = s->spool.lock = -1;
	coati_encoder_init(&s->encoder, opts->max_contexts);
	r = prepare(s, opts, err);
	if (r == 0)
		r = start_thread(s, err);
	if (r < 0) {
		free_sink(s);
		return r;
	}
	*ret = (struct agent_sink){ .name = "clickhouse",
				    .window = on_window,
				    .kept = on_kept,
				    .reload = on_reload,
				    .stats = on_stats,
				    .trouble = on_trouble,
				    .close = on_close,
				    .ctx = s };
	return 0;
}
