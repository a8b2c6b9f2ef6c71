/* SPDX-License-Identifier: MIT */
/*
 * From a record to its event: ids and attrs come in, and for each record the number of the event
 * whose format decodes it goes out. Where the id stands must be known before the format is:
 * therefore all events must have it at one place, which the table works out as events are added.
 */
#include "record/table.h"

#include <errno.h>

#include <coati/record.h>

#include "base/alloc.h"

#define MAX_EVENTS 65536
#define MAX_IDS	   (1u << 24)

int coati_format_table_new(struct coati_format_table **ret)
{
	struct coati_format_table *t = coati_alloc(sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->formats.max = MAX_EVENTS;
	coati_map_init(&t->ids, MAX_IDS);
	*ret = t;
	return 0;
}

int coati_format_table_add(struct coati_format_table *t, const struct coati_attr *attr)
{
	struct coati_sample_format *fmt;

	if (t->formats.len >= MAX_EVENTS)
		return -E2BIG;
	fmt = ARRAY_ADD(&t->formats);
	if (!fmt)
		return -ENOMEM;
	coati_sample_format_init(attr, fmt);
	if (t->formats.len == 1)
		t->common = *fmt;
	if (t->common.id_pos != fmt->id_pos)
		t->common.id_pos = -1;
	if (t->common.id_end != fmt->id_end)
		t->common.id_end = -1;
	return 0;
}

int coati_format_table_id(struct coati_format_table *t, uint64_t id, uint32_t index)
{
	uint64_t known;
	int r;

	if (index >= t->formats.len)
		return -EINVAL;
	if (coati_map_get(&t->ids, id, &known))
		return known == index ? 0 : -EEXIST;
	r = coati_map_put(&t->ids, id, index);
	return r < 0 ? r : 0;
}

int coati_format_table_find_id(const struct coati_format_table *t, uint64_t id, uint32_t *ret_index)
{
	uint64_t index;

	if (!coati_map_get(&t->ids, id, &index))
		return -ENOENT;
	*ret_index = (uint32_t)index;
	return 0;
}

uint32_t coati_format_table_count(const struct coati_format_table *t)
{
	return (uint32_t)t->formats.len;
}

const struct coati_sample_format *coati_format_table_get(const struct coati_format_table *t,
							 uint32_t index)
{
	return format_table_get(t, index);
}

int coati_format_table_find(const struct coati_format_table *t, const struct coati_raw *raw,
			    uint32_t *ret_index)
{
	uint64_t id;

	if (!t->formats.len)
		return -ENOENT;
	if (t->formats.len == 1) {
		*ret_index = 0;
		return 0;
	}
	/* 0 is no event's id: records that a tool made up carry it. */
	if (!raw_word(raw, t->common.id_pos, t->common.id_end, &id) || !id) {
		*ret_index = 0;
		return -ENODATA;
	}
	return coati_format_table_find_id(t, id, ret_index);
}

int coati_format_table_locate(const struct coati_format_table *t, const struct coati_raw *raw,
			      uint32_t *ret_index, uint64_t *ret_time)
{
	int r = coati_format_table_find(t, raw, ret_index);
	const struct coati_sample_format *fmt;

	*ret_time = 0;
	if (r == -ENOENT)
		*ret_index = 0;
	if (r == -ENOENT && (raw->type == COATI_RECORD_SAMPLE || !t->formats.len))
		return r;
	fmt = &t->formats.v[*ret_index];
	(void)raw_word(raw, fmt->time_pos, fmt->time_end, ret_time);
	return r;
}

void coati_format_table_free(struct coati_format_table *t)
{
	if (!t)
		return;
	ARRAY_FINI(&t->formats);
	coati_map_fini(&t->ids);
	coati_free(t);
}
