/* SPDX-License-Identifier: MIT */
/* Ratios by what the attributes say, never by the names. */
#include "cli/stat/ratio.h"

#include "base/clock.h"
#include "event/event.h"

/* Restrictions that two events must share before one is divided by the other. */
#define SAME_FLAGS                                                                     \
	(COATI_ATTR_EXCLUDE_USER | COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_HV | \
	 COATI_ATTR_EXCLUDE_HOST | COATI_ATTR_EXCLUDE_GUEST | COATI_ATTR_EXCLUDE_IDLE)
/* On machines with two kinds of cores the upper half of config names the PMU. */
#define CONFIG_PMU UINT64_C(0xffffffff00000000)

struct partner {
	uint32_t type;
	uint64_t config;
	const char *unit;
	double factor;
};

static const struct {
	uint64_t config;
	struct partner of;
} hardware[] = {
	{ COATI_HW_INSTRUCTIONS, { COATI_TYPE_HARDWARE, COATI_HW_CPU_CYCLES, "per cycle", 1 } },
	{ COATI_HW_BRANCH_MISSES,
	  { COATI_TYPE_HARDWARE, COATI_HW_BRANCH_INSTRUCTIONS, "% of branches", 100 } },
	{ COATI_HW_CACHE_MISSES,
	  { COATI_TYPE_HARDWARE, COATI_HW_CACHE_REFERENCES, "% of references", 100 } },
	{ COATI_HW_STALLED_CYCLES_FRONTEND,
	  { COATI_TYPE_HARDWARE, COATI_HW_CPU_CYCLES, "% of cycles", 100 } },
	{ COATI_HW_STALLED_CYCLES_BACKEND,
	  { COATI_TYPE_HARDWARE, COATI_HW_CPU_CYCLES, "% of cycles", 100 } },
};

/* Another cell of the same scope that counts @p with the restrictions of @e, or NULL. */
static const struct stat_cell *find_partner(const struct stat_meter *m, const struct stat_tally *t,
					    uint32_t scope, const struct stat_event *e,
					    const struct partner *p)
{
	for (uint32_t k = 0; k < m->nr_events; k++) {
		const struct stat_event *other = &m->events[k];
		const struct coati_attr *a = &other->desc->attr;
		const struct stat_cell *cell = &t->cells[scope * m->nr_events + k];

		if (a->type == p->type && a->config == p->config && cell->counted && cell->count &&
		    !((a->flags ^ e->desc->attr.flags) & SAME_FLAGS) &&
		    !((e->dropped ^ other->dropped) & COATI_DROP_KERNEL))
			return cell;
	}
	return NULL;
}

static bool partner_ratio(const struct stat_meter *m, const struct stat_tally *t, uint32_t i,
			  const struct partner *p, struct stat_ratio *ret)
{
	const struct stat_event *e = &m->events[t->cells[i].event];
	const struct stat_cell *of = find_partner(m, t, i / m->nr_events, e, p);

	if (!of)
		return false;
	*ret = (struct stat_ratio){
		.value = p->factor * (double)t->cells[i].count / (double)of->count,
		.unit = p->unit,
	};
	return true;
}

/* CPU time of the scope in ns, whatever its restrictions: clocks count both sides anyway. */
static uint64_t cpu_time(const struct stat_meter *m, const struct stat_tally *t, uint32_t scope)
{
	for (uint32_t k = 0; k < m->nr_events; k++) {
		const struct stat_cell *cell = &t->cells[scope * m->nr_events + k];

		if (m->events[k].desc->kind == COATI_EVENT_SOFTWARE && cell->counted &&
		    coati_stat_is_time(&m->events[k]))
			return cell->count;
	}
	return 0;
}

static bool hardware_ratio(const struct stat_meter *m, const struct stat_tally *t, uint32_t i,
			   struct stat_ratio *ret)
{
	uint64_t config = m->events[t->cells[i].event].desc->attr.config;
	uint64_t time;

	for (size_t k = 0; k < sizeof(hardware) / sizeof(hardware[0]); k++) {
		struct partner p = hardware[k].of;

		if (hardware[k].config != (config & ~CONFIG_PMU))
			continue;
		p.config |= config & CONFIG_PMU;
		return partner_ratio(m, t, i, &p, ret);
	}
	time = cpu_time(m, t, i / m->nr_events);
	if ((config & ~CONFIG_PMU) != COATI_HW_CPU_CYCLES || !time)
		return false;
	*ret = (struct stat_ratio){ (double)t->cells[i].count / (double)time, "GHz" };
	return true;
}

static bool cache_ratio(const struct stat_meter *m, const struct stat_tally *t, uint32_t i,
			struct stat_ratio *ret)
{
	uint64_t config = m->events[t->cells[i].event].desc->attr.config;
	struct partner p = { COATI_TYPE_HW_CACHE, config & ~(UINT64_C(0xff) << 16), "% of accesses",
			     100 };

	return (config >> 16 & 0xff) == COATI_CACHE_RESULT_MISS && partner_ratio(m, t, i, &p, ret);
}

bool coati_stat_ratio(const struct stat_meter *m, const struct stat_tally *t, uint32_t i,
		      struct stat_ratio *ret)
{
	const struct stat_cell *cell = &t->cells[i];
	const struct stat_event *e = &m->events[cell->event];
	uint64_t wall = t->end_ns - t->start_ns;

	if (!cell->counted || !wall || e->desc->kind == COATI_EVENT_TOOL)
		return false;
	if (e->desc->attr.type == COATI_TYPE_HARDWARE && hardware_ratio(m, t, i, ret))
		return true;
	if (e->desc->attr.type == COATI_TYPE_HW_CACHE && cache_ratio(m, t, i, ret))
		return true;
	if (e->desc->flags & COATI_DESC_SNAPSHOT)
		return false;
	if (coati_stat_is_time(e))
		*ret = (struct stat_ratio){ (double)cell->count / (double)wall, "CPUs used" };
	else
		*ret = (struct stat_ratio){
			(double)cell->count * e->desc->scale * 1e9 / (double)wall, "/s"
		};
	return true;
}
