/* SPDX-License-Identifier: MIT */
/* see event-name.h */
#include "record/event-name.h"

#include <stddef.h>

#define NR_CACHES 7

struct usual_name {
	uint32_t type;
	uint64_t config;
	const char *name;
};

#define HARDWARE_ROW(number, name, alias, text) { COATI_TYPE_HARDWARE, number, name },
#define SOFTWARE_ROW(number, name, alias, text) { COATI_TYPE_SOFTWARE, number, name },

static const struct usual_name names[] = {
	/* clang-format off */
	HARDWARE_NAMES(HARDWARE_ROW)
	SOFTWARE_NAMES(SOFTWARE_ROW)
	/* clang-format on */
};

#define CACHE_ROW(name)                                                                           \
	{                                                                                         \
		{ name "-loads", name "-load-misses" }, { name "-stores", name "-store-misses" }, \
			{ name "-prefetches", name "-prefetch-misses" },                          \
	}

static const char *const cache_names[NR_CACHES][3][2] = {
	[COATI_CACHE_L1D] = CACHE_ROW("L1-dcache"), [COATI_CACHE_L1I] = CACHE_ROW("L1-icache"),
	[COATI_CACHE_LL] = CACHE_ROW("LLC"),	    [COATI_CACHE_DTLB] = CACHE_ROW("dTLB"),
	[COATI_CACHE_ITLB] = CACHE_ROW("iTLB"),	    [COATI_CACHE_BPU] = CACHE_ROW("branch"),
	[COATI_CACHE_NODE] = CACHE_ROW("node"),
};

/* Which operations a cache has, bit per operation: nothing is stored through an instruction
 * cache. */
static const uint8_t cache_ops[NR_CACHES] = {
	[COATI_CACHE_L1D] = 7,	[COATI_CACHE_L1I] = 5,	[COATI_CACHE_LL] = 7,
	[COATI_CACHE_DTLB] = 7, [COATI_CACHE_ITLB] = 1, [COATI_CACHE_BPU] = 1,
	[COATI_CACHE_NODE] = 7,
};

const char *coati_cache_name(unsigned int cache, unsigned int op, unsigned int result)
{
	if (cache >= NR_CACHES || op > COATI_CACHE_OP_PREFETCH ||
	    result > COATI_CACHE_RESULT_MISS || !(cache_ops[cache] >> op & 1))
		return NULL;
	return cache_names[cache][op][result];
}

const char *coati_event_usual_name(uint32_t type, uint64_t config)
{
	/* the upper half may name one of several kinds of core */
	if (type == COATI_TYPE_HARDWARE || type == COATI_TYPE_HW_CACHE)
		config &= UINT32_MAX;
	if (type == COATI_TYPE_HW_CACHE)
		return config >> 24 ? NULL
				    : coati_cache_name(config & 0xff, config >> 8 & 0xff,
						       config >> 16 & 0xff);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].type == type && names[i].config == config)
			return names[i].name;
	return NULL;
}
