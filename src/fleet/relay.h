/* SPDX-License-Identifier: MIT */
/*
 * A relay between many agents and one ClickHouse server: the parcels that agents post are merged
 * into at most one insert a second for each table.
 *
 * It keeps nothing on disk. An agent is answered when the server has its parcels, and has them in
 * its own spool until then: a relay may be killed at any time. Whether a parcel arrived before is
 * asked of the server for those that their agent has sent before.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

#define RELAY_MEMORY	  (UINT64_C(256) << 20)
#define RELAY_CONNECTIONS 1024

struct relay_opts {
	const char *listen;   /* localhost:9124, unix:/run/coati/relay */
	const char *url;      /* of the server: http://HOST:8123/DATABASE */
	const char *secrets;  /* file; NULL: the environment alone */
	uint64_t memory;      /* half of it for requests, 0: RELAY_MEMORY */
	uint64_t interval_ns; /* between inserts, 0: 1 s */
	uint64_t pause_ns;    /* after the first failure, doubled up to 60 times; 0: 1 s */
};

struct relay_stats {
	uint64_t requests, refused;    /* answered 200; answered otherwise */
	uint64_t parcels, rows, bytes; /* that the server has */
	uint64_t shipments, errors;    /* tries, and those that failed */
	uint64_t connections, evicted; /* now; closed because there were too many */
	uint64_t waiting_bytes;	       /* of requests, now */
};

struct relay;

/* Other machines may send only where the secrets have a token, which agents must show. -EINVAL,
 * -EPERM, -EADDRINUSE ... with the reason. That the server is not there is no error. */
int coati_relay_new(const struct relay_opts *opts, struct relay **ret, struct coati_error *err);
/* Wait up to @ms for something to do, and do it. -EINTR: a signal came. */
int coati_relay_round(struct relay *r, int ms, struct coati_error *err);
void coati_relay_stats(struct relay *r, struct relay_stats *ret);
/* Where it listens: the port, 0: a unix socket. */
uint16_t coati_relay_port(const struct relay *r);
/* A sentence about what is wrong with the server now, ""; it is copied. */
void coati_relay_trouble(struct relay *r, char *ret, size_t room);
/* Agents that wait are answered 503, but for those whose parcels are being inserted. */
void coati_relay_free(struct relay *r);
