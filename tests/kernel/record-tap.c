/* SPDX-License-Identifier: MIT */
/* see record-tap.h */
#include "record-tap.h"

#include "event/event.h"
#include "lib/record-views.h"
#include "lib/test.h"
#include "record/record.h"

void tap_open(struct tap *t, const struct coati_attr *attr, struct coati_target target,
	      uint64_t data_bytes)
{
	struct coati_ring_opts opts = { .size = sizeof(opts), .data_bytes = data_bytes };
	struct coati_error err = { 0 };

	*t = (struct tap){ 0 };
	if (coati_event_open(attr, &target, NULL, &t->ev, &err) < 0 ||
	    coati_ring_open(coati_event_fd(t->ev), &opts, &t->ring, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	CHECK_INT(coati_event_dropped(t->ev) & ~COATI_DROP_CLOEXEC, ==, 0);
	CHECK_OK(coati_event_id(t->ev, &t->id));
	coati_sample_format_init(coati_event_attr(t->ev), &t->fmt);
}

void tap_close(struct tap *t)
{
	coati_ring_close(&t->ring);
	coati_event_close(&t->ev);
}

int tap_raw(struct tap *t, struct coati_raw *ret)
{
	struct coati_ring_item item;

	for (;;) {
		int r = coati_ring_next(t->ring, &item);
		const uint8_t *at = item.bytes;
		size_t left = item.size;

		CHECK_OK(r);
		if (!r)
			return 0;
		CHECK_INT(item.kind, !=, COATI_ITEM_DAMAGE);
		if (item.kind != COATI_ITEM_RECORD && (item.kind != COATI_ITEM_LOSS || !at))
			continue;
		CHECK_INT(coati_raw_next(&at, &left, 0, ret), ==, 1);
		CHECK_INT(left, ==, 0);
		return 1;
	}
}

int tap_next(struct tap *t, struct coati_record *ret)
{
	static uint8_t back[UINT16_MAX];
	struct coati_raw raw;

	if (!tap_raw(t, &raw))
		return 0;
	CHECK_OK(coati_record_decode(&raw, &t->fmt, ret));
	CHECK(record_views_inside(ret, &raw));
	CHECK_INT(ret->extra_size, <, 8);
	CHECK_INT(coati_record_encode(ret, &t->fmt, back, sizeof(back)), ==, raw.size);
	CHECK_MEM(back, raw.body - COATI_RAW_HEADER, raw.size);
	return 1;
}

void tap_find(struct tap *t, uint32_t type, struct coati_record *ret)
{
	while (tap_next(t, ret))
		if (ret->type == type)
			return;
	test_fail_at(__FILE__, __LINE__, "the kernel wrote no %s", coati_record_name(type));
}
