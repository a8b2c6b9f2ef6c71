/* SPDX-License-Identifier: MIT */
/*
 * Sinks that send finished profiles over HTTP: OTLP profiles (one request for all services), and
 * pprof to Pyroscope's /ingest (one request for each service). Windows are added up for a minute; a
 * thread sends what waits, repeats it as the specifications say, and gives it up when they say so.
 * Nothing is kept on disk: what does not fit into the queue is dropped and counted.
 */
#pragma once

#include <stdint.h>

#include <coati/error.h>

#include "agent/window.h"

enum outlet_kind { OUTLET_OTLP = 0, OUTLET_PUSH };

struct outlet_opts {
	enum outlet_kind kind;
	const char *url;      /* http://HOST:PORT; a path that is missing is the usual one */
	const char *secrets;  /* file; NULL: the environment alone */
	uint64_t interval_ns; /* 0: 60 s */
	uint64_t queue_bytes; /* 0: 16 MiB */
};

int coati_outlet_new(const struct outlet_opts *opts, struct agent_sink *ret,
		     struct coati_error *err);
/* What a server's status asks for: 1 repeat it later, 0 it took it, -1 it never will. */
int coati_outlet_verdict(enum outlet_kind kind, uint32_t status);
/* Profiles that an OTLP server rejected, by the body of its answer; 0: none, or it is no such
 * answer. */
uint64_t coati_outlet_rejected(const void *body, size_t size);
