/* SPDX-License-Identifier: MIT */
/* Which event a record belongs to, and the words that are found without decoding. */
#include <coati/record.h>

#include "base/alloc.h"
#include "lib/record-builder.h"
#include "lib/test.h"
#include "record/record.h"
#include "record/table.h"

static struct coati_raw sample_of(struct builder *b, uint64_t id)
{
	builder_start(b, COATI_RECORD_SAMPLE, 0, false);
	builder_u64(b, id);
	builder_u64(b, 0x1234);
	return builder_end(b);
}

TEST(format_knows_where_id_and_time_stand)
{
	static struct builder b;
	struct coati_sample_format fmt;
	struct coati_record rec;
	uint64_t word;

	for (uint64_t seed = 0; seed < 3000; seed++) {
		struct coati_attr attr = builder_attr(seed);
		uint32_t type = seed % 3 ? COATI_RECORD_SAMPLE : COATI_RECORD_COMM;
		uint64_t has;
		struct coati_raw raw;

		/* RAW and the like do not matter here. */
		attr.sample_type &= 0x103ff;
		raw = builder_record(&b, type, &attr, seed & 1, seed);
		coati_sample_format_init(&attr, &fmt);
		CHECK_OK(coati_record_decode(&raw, &fmt, &rec));
		has = rec.id.present;
		CHECK_INT(coati_raw_time(&raw, &fmt, &word), ==, !!(has & COATI_SAMPLE_TIME));
		if (has & COATI_SAMPLE_TIME)
			CHECK_U64(word, ==, rec.id.time);
		has &= COATI_SAMPLE_ID | COATI_SAMPLE_IDENTIFIER;
		CHECK_INT(coati_raw_id(&raw, &fmt, &word), ==, !!has);
		if (has)
			CHECK_U64(word, ==, rec.id.id);
	}
}

TEST(raw_id_of_a_record_that_is_too_short_is_none)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_IP | COATI_SAMPLE_TID |
						  COATI_SAMPLE_ID | COATI_SAMPLE_CPU,
				   .flags = COATI_ATTR_SAMPLE_ID_ALL };
	struct coati_sample_format fmt;
	static struct builder b;
	uint64_t id;

	coati_sample_format_init(&attr, &fmt);
	for (int words = 0; words < 4; words++) {
		struct coati_raw raw;

		builder_start(&b, COATI_RECORD_SAMPLE, 0, false);
		for (int i = 0; i < words; i++)
			builder_u64(&b, 7);
		raw = builder_end(&b);
		CHECK_INT(coati_raw_id(&raw, &fmt, &id), ==, words == 3);
		raw.type = COATI_RECORD_SWITCH;
		CHECK_INT(coati_raw_id(&raw, &fmt, &id), ==, words >= 2);
		raw.type = COATI_RECORD_FINISHED_ROUND;
		CHECK_INT(coati_raw_id(&raw, &fmt, &id), ==, 0);
	}
}

TEST(format_table_with_one_event_needs_no_id)
{
	struct coati_format_table *t;
	static struct builder b;
	struct coati_raw raw = sample_of(&b, 99);
	uint32_t index = 7;

	CHECK_OK(coati_format_table_new(&t));
	CHECK_ERR(coati_format_table_find(t, &raw, &index), -ENOENT);
	CHECK_OK(coati_format_table_add(t, &(struct coati_attr){ .sample_type = 1 }));
	CHECK_OK(coati_format_table_find(t, &raw, &index));
	CHECK_INT(index, ==, 0);
	CHECK_INT(coati_format_table_count(t), ==, 1);
	CHECK_U64(coati_format_table_get(t, 0)->sample_type, ==, 1);
	CHECK(!coati_format_table_get(t, 1));
	coati_format_table_free(t);
}

TEST(format_table_finds_events_of_different_formats_by_identifier)
{
	/* Elsewhere samples of members and of redirected events were decoded with the reader's own
	 * layout. */
	static const struct coati_attr attrs[] = {
		{ .sample_type = COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_READ,
		  .read_format = COATI_READ_GROUP,
		  .flags = COATI_ATTR_SAMPLE_ID_ALL },
		{ .sample_type = COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_READ,
		  .flags = COATI_ATTR_SAMPLE_ID_ALL },
		{ .sample_type = COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_IP,
		  .flags = COATI_ATTR_SAMPLE_ID_ALL },
	};
	struct coati_format_table *t;
	static struct builder b;
	struct coati_record rec;
	struct coati_read_value v;
	struct coati_raw raw;
	uint32_t index = 7;

	CHECK_OK(coati_format_table_new(&t));
	for (int i = 0; i < 3; i++)
		CHECK_OK(coati_format_table_add(t, &attrs[i]));
	for (uint32_t id = 10; id < 30; id++)
		CHECK_OK(coati_format_table_id(t, id, id % 3));

	raw = sample_of(&b, 16); /* event 1: a single value */
	CHECK_OK(coati_format_table_find(t, &raw, &index));
	CHECK_INT(index, ==, 1);
	CHECK_OK(coati_record_decode(&raw, coati_format_table_get(t, index), &rec));
	CHECK_OK(coati_read_block_get(&rec.u.sample.read, 0, &v));
	CHECK_U64(v.value, ==, 0x1234);

	raw = sample_of(&b, 17); /* event 2: an address */
	CHECK_OK(coati_format_table_find(t, &raw, &index));
	CHECK_INT(index, ==, 2);
	CHECK_OK(coati_record_decode(&raw, coati_format_table_get(t, index), &rec));
	CHECK_U64(rec.u.sample.ip, ==, 0x1234);

	raw = sample_of(&b, 31);
	CHECK_ERR(coati_format_table_find(t, &raw, &index), -ENOENT);
	coati_format_table_free(t);
}

TEST(format_table_finds_other_records_by_the_trailer)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_TIME | COATI_SAMPLE_IDENTIFIER,
				   .flags = COATI_ATTR_SAMPLE_ID_ALL };
	struct coati_format_table *t;
	static struct builder b;
	struct coati_raw raw;
	uint32_t index = 7;

	CHECK_OK(coati_format_table_new(&t));
	CHECK_OK(coati_format_table_add(t, &attr));
	attr.sample_type |= COATI_SAMPLE_CPU;
	CHECK_OK(coati_format_table_add(t, &attr));
	CHECK_OK(coati_format_table_id(t, 50, 0));
	CHECK_OK(coati_format_table_id(t, 51, 1));
	builder_start(&b, COATI_RECORD_COMM, 0, false);
	builder_u64(&b, 0);
	builder_text(&b, "name");
	builder_u64(&b, 50);
	builder_u64(&b, 3);
	builder_u64(&b, 51);
	raw = builder_end(&b);
	CHECK_OK(coati_format_table_find(t, &raw, &index));
	CHECK_INT(index, ==, 1);

	/* What a tool made up carries no id, and its own records have none at all. */
	memset(b.bytes + b.len - 8, 0, 8);
	CHECK_ERR(coati_format_table_find(t, &raw, &index), -ENODATA);
	CHECK_INT(index, ==, 0);
	index = 7;
	raw.type = COATI_RECORD_FINISHED_ROUND;
	CHECK_ERR(coati_format_table_find(t, &raw, &index), -ENODATA);
	CHECK_INT(index, ==, 0);
	coati_format_table_free(t);
}

TEST(format_table_does_not_guess_when_ids_stand_in_different_places)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_ID };
	struct coati_format_table *t;
	static struct builder b;
	struct coati_raw raw = sample_of(&b, 50);
	uint32_t index = 7;

	CHECK_OK(coati_format_table_new(&t));
	CHECK_OK(coati_format_table_add(t, &attr));
	attr.sample_type |= COATI_SAMPLE_IP;
	CHECK_OK(coati_format_table_add(t, &attr));
	CHECK_OK(coati_format_table_id(t, 50, 0));
	CHECK_ERR(coati_format_table_find(t, &raw, &index), -ENODATA);
	coati_format_table_free(t);
}

TEST(format_table_refuses_an_id_of_two_events)
{
	struct coati_format_table *t;

	CHECK_OK(coati_format_table_new(&t));
	CHECK_ERR(coati_format_table_id(t, 1, 0), -EINVAL);
	CHECK_OK(coati_format_table_add(t, &(struct coati_attr){ .type = 1 }));
	CHECK_OK(coati_format_table_add(t, &(struct coati_attr){ .type = 1 }));
	CHECK_OK(coati_format_table_id(t, 1, 0));
	CHECK_OK(coati_format_table_id(t, 1, 0));
	CHECK_ERR(coati_format_table_id(t, 1, 1), -EEXIST);
	CHECK_ERR(coati_format_table_id(t, 2, 2), -EINVAL);
	coati_format_table_free(t);
	coati_format_table_free(NULL);
}

TEST(format_table_survives_every_failing_allocation)
{
	for (uint64_t n = 0; n < 8; n++) {
		struct coati_format_table *t = NULL;
		int r;

		coati_alloc_fail_after(n);
		r = coati_format_table_new(&t);
		for (uint32_t i = 0; !r && i < 40; i++)
			r = coati_format_table_add(t, &(struct coati_attr){ .type = 1 });
		for (uint32_t i = 0; !r && i < 40; i++)
			r = coati_format_table_id(t, i, i);
		CHECK(!r || r == -ENOMEM);
		if (n == 0)
			CHECK_ERR(r, -ENOMEM);
		coati_alloc_fail_after(UINT64_MAX);
		coati_format_table_free(t);
	}
}

/* What a locator remembers is what the table says, of ids that share a slot and of those that the
 * table learns later, too. */
TEST(locator_says_what_the_table_says)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_TIME,
				   .flags = COATI_ATTR_SAMPLE_ID_ALL };
	const uint64_t ids[] = { 1, 1 + LOCATOR_SLOTS, 2, 1 + 2 * LOCATOR_SLOTS, 0, 77 };
	struct coati_format_table *t;
	struct locator l = { 0 };
	static struct builder b;

	CHECK_OK(coati_format_table_new(&t));
	for (uint32_t events = 0; events < 3; events++) {
		for (uint64_t i = 0; i < 200; i++) {
			struct coati_raw raw = sample_of(&b, ids[test_random() % 6]);
			uint32_t index = 9, other = 9;
			uint64_t time = 9, at = 9;

			CHECK_INT(locator_find(&l, t, &raw, &index, &time), ==,
				  coati_format_table_locate(t, &raw, &other, &at));
			CHECK_INT(index, ==, other);
			CHECK_U64(time, ==, at);
		}
		CHECK_OK(coati_format_table_add(t, &attr));
		/* 1 and the two that share its slot; 2 is of the last event */
		CHECK_OK(coati_format_table_id(t, ids[events], events));
	}
	coati_format_table_free(t);
}
