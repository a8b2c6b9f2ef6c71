/* SPDX-License-Identifier: MIT */
/*
 * Debug files from the servers of DEBUGINFOD_URLS, by build id, through elfutils' client library,
 * which is loaded when it is first needed. It keeps what it fetched (and what it did not find) in
 * its own directory below $XDG_CACHE_HOME. Servers are asked only when the user allows it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#define DEBUGINFOD_LIMIT_MS 30000 /* for one file, connecting included */

struct debuginfod_ask {
	const uint8_t *build_id;
	uint32_t build_id_size;
	uint64_t limit_ms;	 /* 0: DEBUGINFOD_LIMIT_MS */
	bool (*stop)(void *ctx); /* asked about once a second: true gives up; may be NULL */
	void *ctx;
};

/* A descriptor of the file, the caller closes it. -EOPNOTSUPP: no server is named, or the client is
 * not installed; -ENOENT: no server has it; -ETIMEDOUT, -ECANCELED; others are what the client
 * says. */
int coati_debuginfod_fetch(const struct debuginfod_ask *ask, struct coati_error *err);
/* Load the client now, and see to it that its directory is there: its name, "" when there is none.
 * For a process that will be able to do neither. */
void coati_debuginfod_prepare(char *ret_folder, size_t size);
