/* SPDX-License-Identifier: MIT */
/* The tables of names, and the many spellings of cache events. */
#include "event/names.h"

#include <errno.h>
#include <strings.h>

#include "event/catalog.h"
#include "event/event.h"

#define HARDWARE_ROW(number, name, alias, text) \
	{ COATI_EVENT_HARDWARE, COATI_TYPE_HARDWARE, number, name, alias, text },
#define SOFTWARE_ROW(number, name, alias, text) \
	{ COATI_EVENT_SOFTWARE, COATI_TYPE_SOFTWARE, number, name, alias, text },
#define TOOL_ROW(number, name, alias, text) \
	{ COATI_EVENT_TOOL, COATI_TYPE_TOOL, number, name, alias, text },

static const struct event_symbol symbols[] = {
	/* clang-format off */
	HARDWARE_NAMES(HARDWARE_ROW)
	SOFTWARE_NAMES(SOFTWARE_ROW)
	TOOL_NAMES(TOOL_ROW)
	/* clang-format on */
};

/* A word that may stand for a number; several words may stand for the same one. */
struct cache_word {
	const char *word;
	unsigned int number;
};

static const struct cache_word cache_words[] = {
	{ "L1-dcache", COATI_CACHE_L1D }, { "L1-data", COATI_CACHE_L1D },
	{ "l1-d", COATI_CACHE_L1D },	  { "l1d", COATI_CACHE_L1D },
	{ "L1-icache", COATI_CACHE_L1I }, { "L1-instruction", COATI_CACHE_L1I },
	{ "l1-i", COATI_CACHE_L1I },	  { "l1i", COATI_CACHE_L1I },
	{ "LLC", COATI_CACHE_LL },	  { "L2", COATI_CACHE_LL },
	{ "dTLB", COATI_CACHE_DTLB },	  { "d-tlb", COATI_CACHE_DTLB },
	{ "data-tlb", COATI_CACHE_DTLB }, { "iTLB", COATI_CACHE_ITLB },
	{ "i-tlb", COATI_CACHE_ITLB },	  { "instruction-tlb", COATI_CACHE_ITLB },
	{ "branch", COATI_CACHE_BPU },	  { "bpu", COATI_CACHE_BPU },
	{ "btb", COATI_CACHE_BPU },	  { "bpc", COATI_CACHE_BPU },
	{ "node", COATI_CACHE_NODE },
};

static const struct cache_word op_words[] = {
	{ "loads", COATI_CACHE_OP_READ },
	{ "load", COATI_CACHE_OP_READ },
	{ "read", COATI_CACHE_OP_READ },
	{ "stores", COATI_CACHE_OP_WRITE },
	{ "store", COATI_CACHE_OP_WRITE },
	{ "write", COATI_CACHE_OP_WRITE },
	{ "prefetches", COATI_CACHE_OP_PREFETCH },
	{ "prefetch", COATI_CACHE_OP_PREFETCH },
	{ "speculative-read", COATI_CACHE_OP_PREFETCH },
	{ "speculative-load", COATI_CACHE_OP_PREFETCH },
};

static const struct cache_word result_words[] = {
	{ "refs", COATI_CACHE_RESULT_ACCESS },	 { "reference", COATI_CACHE_RESULT_ACCESS },
	{ "access", COATI_CACHE_RESULT_ACCESS }, { "ops", COATI_CACHE_RESULT_ACCESS },
	{ "misses", COATI_CACHE_RESULT_MISS },	 { "miss", COATI_CACHE_RESULT_MISS },
};

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

const struct event_symbol *coati_symbol_get(size_t i)
{
	return i < COUNT_OF(symbols) ? &symbols[i] : NULL;
}

/* The longest word of the table that @s starts with, followed by '-' or the end. Steps over word
 * and '-'. */
static const struct cache_word *take_word(struct slice *s, const struct cache_word *words,
					  size_t nr)
{
	const struct cache_word *best = NULL;
	size_t best_len = 0;

	for (size_t i = 0; i < nr; i++) {
		size_t len = strlen(words[i].word);

		if (len <= s->len && len > best_len && !strncasecmp(s->at, words[i].word, len) &&
		    (len == s->len || s->at[len] == '-')) {
			best = &words[i];
			best_len = len;
		}
	}
	if (best) {
		/* keep a '-' at the very end, so that "LLC-" does not pass for "LLC" */
		if (best_len + 1 < s->len)
			best_len++;
		s->at += best_len;
		s->len -= best_len;
	}
	return best;
}

static int find_cache(struct slice name, struct event_symbol *ret, const char **ret_why)
{
	const struct cache_word *cache = take_word(&name, cache_words, COUNT_OF(cache_words));
	const struct cache_word *op = NULL, *result = NULL, *word;

	if (!cache)
		return 0;
	while (name.len) {
		if (!op && (word = take_word(&name, op_words, COUNT_OF(op_words))))
			op = word;
		else if (!result && (word = take_word(&name, result_words, COUNT_OF(result_words))))
			result = word;
		else
			return 0;
	}
	*ret = (struct event_symbol){ .kind = COATI_EVENT_CACHE, .type = COATI_TYPE_HW_CACHE };
	ret->name = coati_cache_name(cache->number, op ? op->number : COATI_CACHE_OP_READ,
				     result ? result->number : COATI_CACHE_RESULT_ACCESS);
	ret->config = COATI_CACHE(cache->number, op ? op->number : COATI_CACHE_OP_READ,
				  result ? result->number : COATI_CACHE_RESULT_ACCESS);
	ret->alias = ret->description = "";
	if (ret->name)
		return 1;
	*ret_why = op->number == COATI_CACHE_OP_WRITE ? "nothing is stored through this cache"
						      : "nothing is prefetched through this cache";
	return -EINVAL;
}

int coati_symbol_find(struct slice name, struct event_symbol *ret, const char **ret_why)
{
	for (size_t i = 0; i < COUNT_OF(symbols); i++) {
		if (slice_is(name, symbols[i].name) ||
		    (symbols[i].alias[0] && slice_is(name, symbols[i].alias))) {
			*ret = symbols[i];
			return 1;
		}
	}
	return find_cache(name, ret, ret_why);
}

void coati_symbol_nearest(struct nearest *n)
{
	for (size_t i = 0; i < COUNT_OF(symbols); i++) {
		coati_nearest_offer(n, symbols[i].name);
		if (symbols[i].alias[0])
			coati_nearest_offer(n, symbols[i].alias);
	}
	for (unsigned int i = 0; i < CACHE_EVENTS_MAX; i++) {
		const char *name = coati_cache_name(i / 6, i / 2 % 3, i % 2);

		if (name)
			coati_nearest_offer(n, name);
	}
}

const char *coati_event_kind_name(enum coati_event_kind kind)
{
	static const char *const names[] = {
		[COATI_EVENT_UNKNOWN] = "unknown",
		[COATI_EVENT_HARDWARE] = "hardware",
		[COATI_EVENT_SOFTWARE] = "software",
		[COATI_EVENT_CACHE] = "cache",
		[COATI_EVENT_RAW] = "raw",
		[COATI_EVENT_PMU] = "pmu",
		[COATI_EVENT_TRACEPOINT] = "tracepoint",
		[COATI_EVENT_BREAKPOINT] = "breakpoint",
		[COATI_EVENT_KPROBE] = "kprobe",
		[COATI_EVENT_UPROBE] = "uprobe",
		[COATI_EVENT_USDT] = "usdt",
		[COATI_EVENT_TOOL] = "tool",
	};

	return (unsigned int)kind < COUNT_OF(names) ? names[kind] : names[0];
}

const char *coati_attr_name(const struct coati_attr *attr)
{
	if (!attr)
		return NULL;
	for (size_t i = 0; attr->type == COATI_TYPE_TOOL && i < COUNT_OF(symbols); i++)
		if (symbols[i].type == attr->type && symbols[i].config == attr->config)
			return symbols[i].name;
	return coati_event_usual_name(attr->type, attr->config);
}
