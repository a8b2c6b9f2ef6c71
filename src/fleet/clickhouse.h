/* SPDX-License-Identifier: MIT */
/*
 * The ClickHouse sink of the agent, directly or through a relay. Windows become parcels in the
 * spool as they come; a thread sends what waits there about once a minute, in order, and waits
 * longer after each failure.
 */
#pragma once

#include <stdint.h>

#include <coati/error.h>

#include "agent/window.h"

struct clickhouse_opts {
	const char *url;      /* http://HOST:8123/DATABASE; relay://HOST:9124 */
	const char *secrets;  /* file; NULL: the environment alone */
	const char *spool;    /* directory; NULL: in memory alone */
	uint64_t spool_bytes; /* 0: 256 MiB */
	uint64_t interval_ns; /* between inserts, 0: 60 s */
	/* from a request without an answer to the question what came of it; 0: 5 s */
	uint64_t doubt_ns;
	uint64_t pause_ns;     /* after the first failure, doubled up to 60 times; 0: 1 s */
	uint32_t max_contexts; /* of a window, 0: 1000 */
};

/* -EINVAL, -EPERM, -EAGAIN: as coati_server_open() and coati_spool_open(). That the server is not
 * there is no error. */
int coati_clickhouse_new(const struct clickhouse_opts *opts, struct agent_sink *ret,
			 struct coati_error *err);
