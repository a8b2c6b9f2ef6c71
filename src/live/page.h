/* SPDX-License-Identifier: MIT */
/*
 * Pages of /debug/pprof/ that other parts of the library bring: a part that is not used is not
 * linked in, and one that is says so when it starts. The server asks for a page on a thread of its
 * own, so it may take its time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/sampler.h>

#include "base/strbuf.h"

/* A request and its answer. */
struct live_page;
struct page_job {
	const struct live_page *page;	  /* that is asked for */
	uint32_t seconds, debug;	  /* of the request; 0: not said */
	enum coati_sampler_stacks stacks; /* how the server follows them */
	const char *text;		  /* the query, or the body of a POST */
	/* Sleep; false when no client waits for the answer any more. */
	bool (*wait)(struct page_job *job, uint64_t ns);
	struct strbuf *body; /* where the answer goes */
	/* it is a file of this name (without .pb.gz, where that is its ending), not text */
	const char *file;
	int status;	    /* of HTTP, when it did not work; 0: it did */
	char sentence[512]; /* then, why */
};

/* It did not work. */
void coati_page_fail(struct page_job *job, int status, const char *sentence);

/* What a part of the library counts, for /metrics; of the server, who may have none linked in. */
struct page_metrics {
	bool is_open; /* OpenMetrics */
	/* @type: "counter" or "gauge". Counters get _total behind their name. */
	void (*number)(struct page_metrics *m, const char *name, const char *type, const char *help,
		       uint64_t value);
	void (*seconds)(struct page_metrics *m, const char *name, const char *type,
			const char *help, uint64_t us);
	struct strbuf *to;
};

struct live_page {
	const char *name; /* behind /debug/pprof/ */
	const char *what; /* one line for the index */
	/* For the index: how much there is to see. NULL: not counted. */
	uint64_t (*count)(const struct live_page *page);
	/* On a thread of its own. */
	void (*make)(struct page_job *job);
	uint32_t default_seconds; /* without ?seconds=; 0: as it is now */
	/* On the server's thread: quickly. NULL: nothing. */
	void (*metrics)(struct page_metrics *m);
};

/* Lives for ever. A page of the same name is replaced. False: there are too many.  Thread: any. */
bool coati_page_provide(const struct live_page *page);
/* NULL at the end. */
const struct live_page *coati_page_at(uint32_t i);
