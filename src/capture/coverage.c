/* SPDX-License-Identifier: MIT */
/* see coverage.h */
#include "capture/coverage.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "capture/attr.h"

#define IDS_MAX	    (1u << 24)
#define WORD	    8
#define ONLY_PARTLY (COATI_ATTR_EXCLUDE_USER | COATI_ATTR_EXCLUDE_KERNEL | COATI_ATTR_EXCLUDE_IDLE)

int coati_coverage_init(struct coverage *w, uint32_t nr)
{
	coati_map_init(&w->ids, IDS_MAX);
	w->v = coati_alloc_array(nr + 1u, sizeof(*w->v));
	w->nr = w->v ? nr : 0;
	return w->v ? 0 : -ENOMEM;
}

void coati_coverage_fini(struct coverage *w)
{
	coati_map_fini(&w->ids);
	coati_free(w->v);
	w->v = NULL;
	w->nr = 0;
}

/* All fields in front of the period have a word each: see CAPTURE_IDENTITY. */
static uint32_t period_at(const struct coati_attr *attr)
{
	uint32_t at = CAPTURE_TIME_AT + WORD;

	if (attr->sample_type & COATI_SAMPLE_ADDR)
		at += WORD;
	return at + WORD; /* the CPU */
}

int coati_coverage_add(struct coverage *w, uint32_t event, uint64_t id,
		       const struct coati_attr *attr)
{
	struct coverage_event *e;

	/* a member of a group that the leader samples has no samples; overwritten ones are gone */
	if (event >= w->nr || !attr->sample_period || attr->flags & COATI_ATTR_WRITE_BACKWARD)
		return 0;
	e = &w->v[event];
	e->is_followed = true;
	e->period_at = attr->sample_type & COATI_SAMPLE_PERIOD ? period_at(attr) : 0;
	e->period = e->period_at ? 0 : attr->sample_period;
	return coati_map_put(&w->ids, id, event) < 0 ? -ENOMEM : 0;
}

static void add(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

void coati_coverage_sample(struct coverage *w, const uint8_t *sample, size_t size)
{
	uint64_t id, event, period;
	struct coverage_event *e;

	memcpy(&id, sample + CAPTURE_ID_AT, sizeof(id));
	if (!coati_map_get(&w->ids, id, &event))
		return;
	e = &w->v[event];
	period = e->period;
	if (e->period_at && e->period_at + sizeof(period) <= size)
		memcpy(&period, sample + e->period_at, sizeof(period));
	add(&e->sampled, period);
	e->nr++;
}

void coati_coverage_restart(struct coverage *w)
{
	for (uint32_t i = 0; i < w->nr; i++)
		w->v[i].counted = 0;
}

void coati_coverage_count(struct coverage *w, uint32_t event, const uint64_t *value)
{
	if (event >= w->nr)
		return;
	w->v[event].is_unknown |= !value;
	if (value)
		add(&w->v[event].counted, *value);
}

void coati_coverage_next(struct coverage *w)
{
	for (uint32_t i = 0; i < w->nr; i++) {
		w->v[i].sampled_before = w->v[i].sampled;
		w->v[i].counted_before = w->v[i].counted;
	}
}

bool coati_coverage_is_clock(const struct coati_attr *attr)
{
	return attr->type == COATI_TYPE_SOFTWARE &&
	       (attr->config == COATI_SW_CPU_CLOCK || attr->config == COATI_SW_TASK_CLOCK);
}

bool coati_coverage_is_partial(const struct coati_attr *attr)
{
	return coati_coverage_is_clock(attr) && attr->flags & ONLY_PARTLY;
}

uint64_t coati_coverage_period(const struct coverage_event *e, const struct coati_attr *attr)
{
	if (e->nr)
		return e->sampled / e->nr;
	if (!(attr->flags & COATI_ATTR_FREQ))
		return attr->sample_period;
	return coati_coverage_is_clock(attr) && attr->sample_period
		       ? NSEC_PER_SEC / attr->sample_period
		       : 0;
}

uint32_t coati_coverage_lead(const struct coverage *w, const struct coati_attr *attrs)
{
	uint32_t best = COVERAGE_NONE;

	for (uint32_t i = 0; i < w->nr; i++) {
		if (!w->v[i].is_followed || w->v[i].is_unknown)
			continue;
		if (coati_coverage_is_clock(&attrs[i]))
			return i;
		if (best == COVERAGE_NONE && attrs[i].flags & COATI_ATTR_FREQ &&
		    attrs[i].type != COATI_TYPE_SOFTWARE)
			best = i;
	}
	return best;
}
