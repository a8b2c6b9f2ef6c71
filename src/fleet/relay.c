/* SPDX-License-Identifier: MIT */
/* The queue of a relay and the thread that empties it. See relay.h. */
#include "fleet/relay.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "base/thread.h"
#include "fleet/relay-parts.h"
#include "fleet/relay-size.h"

#define INTERVAL_NS   NSEC_PER_SEC
#define PAUSE_TIMES   60
#define PARCELS_MAX   2000 /* of an insert */
#define INSERT_FIRST  (UINT64_C(8) << 20)
#define REQUEST_MS    20000 /* agents wait for 30 s */
#define END_S	      3
#define LONG_PAUSE_NS (2 * NSEC_PER_SEC) /* agents do not wait for its end */

void coati_delivery_free(struct delivery *d)
{
	if (!d)
		return;
	coati_bundle_fini(&d->bundle);
	coati_free(d);
}

/* ---- the queue: from the connections' side ---- */

int coati_relay_queue(struct relay *r, struct delivery *d, uint32_t *ret_retry_s)
{
	struct delivery **slot;
	uint64_t now = now_ns();
	int ret = 0;

	pthread_mutex_lock(&r->lock);
	*ret_retry_s = 1;
	if (r->closing || (r->pause_ns && r->next_ns > now + LONG_PAUSE_NS)) {
		if (r->next_ns > now)
			*ret_retry_s = (uint32_t)((r->next_ns - now) / NSEC_PER_SEC) + 1;
		ret = -EBUSY;
	} else if (!(slot = ARRAY_ADD(&r->queue))) {
		ret = -EBUSY;
	} else {
		*slot = d;
		r->queued_bytes += d->bytes;
		pthread_cond_signal(&r->changed);
	}
	pthread_mutex_unlock(&r->lock);
	return ret;
}

static void remove_at(struct relay *r, size_t i)
{
	memmove(&r->queue.v[i], &r->queue.v[i + 1], (r->queue.len - i - 1) * sizeof(*r->queue.v));
	r->queue.len--;
}

void coati_relay_leave(struct relay *r, struct delivery *d)
{
	bool is_ours = true;

	pthread_mutex_lock(&r->lock);
	if (d->state == DELIVERY_SENDING) {
		d->left = true;
		is_ours = false;
	} else if (d->state == DELIVERY_WAITS) {
		for (size_t i = 0; i < r->queue.len; i++)
			if (r->queue.v[i] == d) {
				remove_at(r, i);
				r->queued_bytes -= d->bytes;
				break;
			}
	}
	pthread_mutex_unlock(&r->lock);
	if (is_ours)
		coati_delivery_free(d);
}

/* ---- the thread: called with the lock ---- */

static uint64_t day_of(const struct delivery *d)
{
	return parcel_day(&d->bundle.parcels.v[0].p);
}

/* Who sends windows of many days is not in the way of everybody else: every second insert has the
 * day of which most requests wait. */
static uint64_t pick_day(struct relay *r)
{
	uint64_t best = day_of(r->queue.v[0]), most = 0, count;
	struct map days;

	r->turn = !r->turn;
	coati_map_init(&days, r->queue.len + 1);
	for (size_t i = 0; r->turn && i < r->queue.len; i++) {
		uint64_t day = day_of(r->queue.v[i]);

		count = 0;
		coati_map_get(&days, day, &count);
		if (coati_map_put(&days, day, ++count) < 0)
			break;
		if (count > most) {
			most = count;
			best = day;
		}
	}
	coati_map_fini(&days);
	return best;
}

static uint64_t key_of(const struct parcel *p)
{
	return coati_hash_bytes(p->agent, strlen(p->agent), p->sequence);
}

/* A copy of a window that is in this insert waits for the next one, and is looked for then. */
static bool is_double(const struct delivery *d, const struct map *keys)
{
	uint64_t value;

	for (size_t i = 0; i < d->bundle.parcels.len; i++)
		if (d->bundle.parcels.v[i].p.windows &&
		    coati_map_get(keys, key_of(&d->bundle.parcels.v[i].p), &value))
			return true;
	return false;
}

/* All of it or nothing. */
static bool add_delivery(struct shipment *h, struct delivery *d, struct map *keys)
{
	struct shipment before = *h;
	bool ok = !is_double(d, keys);

	for (size_t i = 0; ok && i < d->bundle.parcels.len; i++) {
		struct shipment_parcel *q = &d->bundle.parcels.v[i];

		ok = coati_shipment_add(h, &q->p, q->tried) &&
		     (!q->p.windows || coati_map_put(keys, key_of(&q->p), 1) >= 0);
	}
	if (!ok) {
		*h = before;
		return false;
	}
	ARRAY_FINI(&d->bundle.parcels); /* they are the shipment's */
	return true;
}

struct sending {
	struct shipment shipment;
	ARRAY(struct delivery *) v;
};

static uint64_t largest_table(const struct shipment *h)
{
	uint64_t most = 0;

	for (size_t i = 0; i < SCHEMA_SENT; i++)
		most = h->bytes[i] > most ? h->bytes[i] : most;
	return most;
}

/* A request goes whole, however slow the server is. */
static bool is_full(const struct relay *r, const struct sending *g)
{
	return g->v.len && (r->alone || largest_table(&g->shipment) >= r->insert_bytes);
}

/* Move deliveries of one day from the queue. */
static void collect(struct relay *r, struct sending *g)
{
	uint64_t day = pick_day(r);
	struct map keys;
	size_t i = 0;

	coati_map_init(&keys, 2 * PARCELS_MAX);
	while (i < r->queue.len && !is_full(r, g)) {
		struct delivery *d = r->queue.v[i], **slot;

		if ((!r->alone && day_of(d) != day) || !(slot = ARRAY_ADD(&g->v))) {
			i++;
			continue;
		}
		if (!add_delivery(&g->shipment, d, &keys)) {
			g->v.len--;
			i++;
			continue;
		}
		*slot = d;
		d->state = DELIVERY_SENDING;
		remove_at(r, i);
	}
	coati_map_fini(&keys);
}

/* What agents are answered. */
static int status_of(int code, size_t nr)
{
	switch (code) {
	case 0:
		return 200;
	case -EBADMSG:
		return nr == 1 ? 400 : 503;
	case -EBUSY:
	case -ENOENT:
	case -EACCES:
	case -ENOMEM:
		return 503;
	default: /* no answer: an insert may still be on its way */
		return 504;
	}
}

static void finish(struct relay *r, struct sending *g, int code, const struct coati_error *err)
{
	uint64_t one = 1;

	for (size_t i = 0; i < g->v.len; i++) {
		struct delivery *d = g->v.v[i];

		d->state = DELIVERY_DONE;
		d->status = status_of(code, g->v.len);
		d->retry_s = 1;
		snprintf(d->text, sizeof(d->text), "%s", code ? err->text : "stored");
		r->queued_bytes -= d->bytes;
		if (d->left)
			coati_delivery_free(d);
	}
	if (write(r->wake, &one, sizeof(one)) < 0)
		return; /* it is full: the other side wakes up anyway */
}

static void note_sent(struct relay *r, const struct shipment *h)
{
	r->stats.parcels += h->nr;
	r->stats.rows += h->rows;
	r->stats.bytes += h->sent_bytes;
	r->pause_ns = 0;
	*r->trouble = 0;
	r->alone -= r->alone > 0;
	r->next_ns = now_ns() + r->interval_ns;
}

static void note_failed(struct relay *r, const struct sending *g, int code,
			const struct coati_error *err)
{
	uint64_t most = PAUSE_TIMES * r->first_pause_ns;

	r->stats.errors++;
	snprintf(r->trouble, sizeof(r->trouble), "%s", err->text);
	if (code == -ENOENT)
		r->server.met = false;
	if (code == -EBADMSG) {
		/* whose rows it cannot read is seen when they come alone */
		r->alone = g->v.len > 1 ? 2 * g->v.len : r->alone - (r->alone > 0);
		r->next_ns = now_ns() + r->interval_ns;
		return;
	}
	r->pause_ns = r->pause_ns ? 2 * r->pause_ns : r->first_pause_ns;
	r->pause_ns = r->pause_ns < most ? r->pause_ns : most;
	if (r->server.retry_s * NSEC_PER_SEC > r->pause_ns)
		r->pause_ns = r->server.retry_s * NSEC_PER_SEC;
	r->next_ns = now_ns() + r->pause_ns;
}

/* Nothing of the queue fits into an empty insert: it never will. */
static void refuse_first(struct relay *r)
{
	struct delivery *d = r->queue.v[0];
	struct sending one = { .v = { .max = 1 } };
	struct coati_error err = { 0 };
	struct delivery **slot = ARRAY_ADD(&one.v);

	if (!slot)
		return;
	*slot = d;
	remove_at(r, 0);
	coati_fail(&err, -EBADMSG, "the request is too large for one insert");
	finish(r, &one, -EBADMSG, &err);
	ARRAY_FINI(&one.v);
}

static void ship(struct relay *r)
{
	struct sending g = { .v = { .max = RELAY_CONNECTIONS } };
	struct coati_error err = { 0 };
	int code = coati_shipment_init(&g.shipment, PARCELS_MAX, &r->nr_inserts);
	uint64_t begin, bytes;

	if (code < 0) {
		r->next_ns = now_ns() + r->interval_ns;
		return;
	}
	g.shipment.is_relay = true;
	g.shipment.max_bytes = r->memory / 4 < SHIPMENT_BYTES ? r->memory / 4 : SHIPMENT_BYTES;
	collect(r, &g);
	if (!g.v.len) {
		refuse_first(r);
	} else {
		r->stats.shipments++;
		bytes = largest_table(&g.shipment);
		begin = now_ns();
		pthread_mutex_unlock(&r->lock);
		code = coati_shipment_send(&g.shipment, &r->server, &err);
		pthread_mutex_lock(&r->lock);
		if (code == 0 || code == -ETIMEDOUT)
			r->insert_bytes = relay_insert_limit(r->insert_bytes, g.shipment.max_bytes,
							     bytes, now_ns() - begin);
		r->skew_s = r->server.skew_s;
		if (code == 0)
			note_sent(r, &g.shipment);
		else
			note_failed(r, &g, code, &err);
		finish(r, &g, code, &err);
	}
	ARRAY_FINI(&g.v);
	coati_shipment_fini(&g.shipment);
}

static void wait_until(struct relay *r, uint64_t ns)
{
	struct timespec t = { (time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC) };

	pthread_cond_timedwait(&r->changed, &r->lock, &t);
}

static void *run(void *ctx)
{
	struct relay *r = ctx;

	pthread_mutex_lock(&r->lock);
	while (!r->closing) {
		if (r->queue.len && now_ns() >= r->next_ns)
			ship(r);
		else
			wait_until(r, r->queue.len ? r->next_ns : now_ns() + 3600 * NSEC_PER_SEC);
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- start and end ---- */

int coati_relay_start(struct relay *r, const struct relay_opts *o, struct coati_error *err)
{
	int ret = coati_server_open(o->url, o->secrets, &r->server, err);

	if (ret < 0)
		return ret;
	r->server.stop = &r->stop;
	r->server.limit_ms = REQUEST_MS;
	r->interval_ns = o->interval_ns ? o->interval_ns : INTERVAL_NS;
	r->insert_bytes = INSERT_FIRST;
	r->first_pause_ns = o->pause_ns ? o->pause_ns : NSEC_PER_SEC;
	r->queue.max = RELAY_CONNECTIONS;
	thread_cond_init(&r->changed);
	ret = thread_start(&r->thread, NULL, run, r);
	r->has_thread = ret == 0;
	return ret ? coati_fail(err, ret, "cannot start the thread of the relay: %m") : 0;
}

/* What is being inserted is finished, if that takes some seconds only: its agents want to know. */
void coati_relay_end(struct relay *r)
{
	struct timespec until;

	if (!r->has_thread)
		return;
	pthread_mutex_lock(&r->lock);
	r->closing = true;
	pthread_cond_signal(&r->changed);
	pthread_mutex_unlock(&r->lock);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += END_S;
	if (pthread_clockjoin_np(r->thread, NULL, CLOCK_MONOTONIC, &until) != 0) {
		atomic_store_explicit(&r->stop, 1, memory_order_release); /* client.c looks at it */
		pthread_join(r->thread, NULL);
	}
	r->has_thread = false;
}

/* ---- figures ---- */

static void put_metric(struct strbuf *s, const char *name, const char *help, uint64_t value)
{
	bool counts = strstr(name, "_total") != NULL;

	coati_strbuf_printf(s, "# HELP coati_relay_%s %s\n# TYPE coati_relay_%s %s\n", name, help,
			    name, counts ? "counter" : "gauge");
	coati_strbuf_printf(s, "coati_relay_%s %llu\n", name, (unsigned long long)value);
}

void coati_relay_metrics(struct relay *r, struct strbuf *s)
{
	struct relay_stats st;

	coati_relay_stats(r, &st);
	put_metric(s, "requests_total", "Requests whose windows are stored.", st.requests);
	put_metric(s, "refused_total", "Requests that were answered with an error.", st.refused);
	put_metric(s, "windows_total", "Windows that the server has.", st.parcels);
	put_metric(s, "rows_total", "Rows that the server has.", st.rows);
	put_metric(s, "bytes_total", "Bytes that were inserted.", st.bytes);
	put_metric(s, "inserts_total", "Inserts that were tried, of all tables.", st.shipments);
	put_metric(s, "errors_total", "Inserts that failed.", st.errors);
	put_metric(s, "connections", "Connections now.", st.connections);
	put_metric(s, "evicted_total", "Connections closed because of too many.", st.evicted);
	put_metric(s, "waiting_bytes", "Bytes of requests in memory.", st.waiting_bytes);
}
