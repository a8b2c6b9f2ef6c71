/* SPDX-License-Identifier: MIT */
/* What was asked of coati agent: filled from the command line, the environment and a file, read by
 * everyone else. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"

/* Tags of the list `rules`. */
enum { AGENT_RENAME, AGENT_DROP };

struct agent_args {
	/* what is sampled */
	const char *event;
	uint64_t freq;
	int stacks;
	uint32_t max_stack;
	bool off_cpu, no_live;
	const char *cpus;
	uint64_t window_ns;
	bool inlines, lines;
	/* what it is called */
	struct option_texts labels; /* KEY=VALUE of the host */
	struct option_texts rules;  /* --rename, --drop */
	const char *config;
	/* the directory */
	const char *store;
	bool print;
	uint64_t segment_ns, keep_age_ns, keep_bytes;
	uint64_t duration_ns; /* end after this; 0: never */
	/* what it may cost */
	const char *budget_text;
	double budget; /* of all CPUs, 0 to 1 */
	uint64_t memory;
	/* servers */
	const char *clickhouse, *otlp, *push, *secrets, *spool;
	uint64_t spool_bytes, send_ns;
	uint32_t max_contexts;
	const char *relay;   /* where to listen as one, instead of sampling */
	const char *metrics; /* where /metrics is served */
	bool metrics_anywhere;
	/* work on the database, instead of sampling */
	bool init_schema, print_schema, roll_up, replicated;
	const char *cluster;
	uint32_t retention_days;
	/* armed */
	struct option_texts when;
	struct option_texts slow; /* --slow-task */
	uint64_t keep_ns;	  /* of a recording around a moment */
	uint32_t per_hour;	  /* such recordings at most */
	bool quiet;
};

#define AGENT_DEFAULT_HZ 19

static inline uint64_t agent_rate(const struct agent_args *a)
{
	return a->freq ? a->freq : AGENT_DEFAULT_HZ;
}

extern const struct option coati_agent_options[];

/* The words of the configuration file and of the environment, as options, in front of those of the
 * command line: what comes later counts. */
struct agent_words {
	char **v;
	size_t len, cap, max;
};
/* Negative and a sentence: a file that cannot be read, a key that is none. */
int coati_agent_words_file(struct agent_words *w, const char *path, struct coati_error *err);
int coati_agent_words_environment(struct agent_words *w, struct coati_error *err);
int coati_agent_words_add(struct agent_words *w, const char *word);
void coati_agent_words_fini(struct agent_words *w);
