/* SPDX-License-Identifier: MIT */
/* What the files of the relay share: relay.c has the queue and the thread that inserts,
 * relay-serve.c the connections. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/array.h"
#include "base/strbuf.h"
#include "fleet/bundle.h"
#include "fleet/query.h"
#include "fleet/relay.h"
#include "live/serve-http.h"
#include "live/serve-listen.h"

enum delivery_state { DELIVERY_WAITS, DELIVERY_SENDING, DELIVERY_DONE };

/* The parcels of one request. */
struct delivery {
	struct bundle bundle;
	uint64_t bytes;
	enum delivery_state state;
	bool left; /* its connection is gone: who has it frees it */
	int status;
	uint32_t retry_s;
	char text[COATI_ERROR_TEXT];
};

struct connection;

struct relay {
	pthread_mutex_t lock; /* over what follows, up to the thread's own */
	pthread_cond_t changed;
	ARRAY(struct delivery *) queue; /* that wait, the oldest first */
	uint64_t queued_bytes;		/* of these and of those that are being sent */
	struct relay_stats stats;
	char trouble[COATI_ERROR_TEXT];
	bool closing;
	uint64_t next_ns, pause_ns;
	int64_t skew_s;

	pthread_t thread; /* that inserts; its own: */
	bool has_thread;
	struct server server;
	_Atomic uint32_t stop;
	uint64_t nr_inserts, interval_ns, first_pause_ns;
	uint64_t insert_bytes; /* how large an insert may be: relay-size.h */
	uint64_t alone;	       /* how many requests are inserted one by one, because one is bad */
	bool turn;	       /* the largest day is next, not the oldest request */

	struct serve_place place; /* of the thread that calls us: */
	struct secrets secrets;	  /* what agents must show */
	ARRAY(struct connection *) connections;
	uint64_t read_bytes; /* of requests that are not whole yet */
	uint64_t memory;
	int wake; /* an eventfd: answers are there */
};

/* relay.c */
/* Take over what is in @d, which is answered later: 0. -EBUSY: the server is away, try again after
 * *@ret_retry_s. */
int coati_relay_queue(struct relay *r, struct delivery *d, uint32_t *ret_retry_s);
/* The connection of @d ends. */
void coati_relay_leave(struct relay *r, struct delivery *d);
int coati_relay_start(struct relay *r, const struct relay_opts *o, struct coati_error *err);
void coati_relay_end(struct relay *r);
void coati_delivery_free(struct delivery *d);
/* Adds the figures of the relay, as Prometheus reads them. */
void coati_relay_metrics(struct relay *r, struct strbuf *s);
