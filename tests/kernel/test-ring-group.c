/* SPDX-License-Identifier: MIT */
/* A group whose members write into the ring of their leader: order, places, and counts in samples
 * of two layouts. */
#include <unistd.h>

#include <coati/record.h>
#include <coati/ring.h>

#include "base/clock.h"
#include "need.h"

struct pair {
	struct coati_event *ev[2]; /* leader, follower */
	uint64_t id[2];
	struct coati_format_table *table;
	struct coati_reader *rd;
};

static struct coati_attr call_of(const char *name, uint64_t read_format)
{
	struct coati_attr attr = need_tracepoint("syscalls", name);

	need_root();
	attr.sample_period = 1;
	attr.sample_type = COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_IP | COATI_SAMPLE_READ;
	attr.read_format = read_format;
	attr.flags |= COATI_ATTR_SAMPLE_ID_ALL;
	attr.wakeup = 1;
	return attr;
}

/* The leader reads its group, the follower itself alone. */
static void pair_open(struct pair *p)
{
	struct coati_attr attr[2] = { call_of("sys_enter_getppid",
					      COATI_READ_GROUP | COATI_READ_ID),
				      call_of("sys_enter_getuid", COATI_READ_ID) };
	struct coati_reader_ring_opts ring = { .size = sizeof(ring), .ring.key = 5 };
	struct coati_event_opts opts = { .size = sizeof(opts) };
	struct coati_error err = { 0 };

	attr[1].flags &= ~COATI_ATTR_DISABLED; /* starts with its leader */
	*p = (struct pair){ 0 };
	CHECK_OK(coati_format_table_new(&p->table));
	CHECK_OK(coati_reader_new(NULL, &p->rd, NULL));
	for (uint32_t i = 0; i < 2; i++) {
		opts.group = p->ev[0];
		p->ev[i] = opened(&attr[i], &opts);
		CHECK_OK(coati_event_id(p->ev[i], &p->id[i]));
		CHECK_OK(coati_format_table_add(p->table, &attr[i]));
		CHECK_OK(coati_format_table_id(p->table, p->id[i], i));
	}
	CHECK_OK(coati_reader_add(p->rd, coati_event_fd(p->ev[0]), &ring, &err));
	CHECK_OK(coati_event_set_output(p->ev[1], p->ev[0], &err));
	CHECK_OK(coati_reader_attach(p->rd, 5, coati_event_fd(p->ev[1]), NULL, &err));
}

static void pair_close(struct pair *p)
{
	coati_reader_free(&p->rd);
	coati_format_table_free(p->table);
	coati_event_close(&p->ev[1]);
	coati_event_close(&p->ev[0]);
}

/* The next record, which must be a sample of member @which. */
static void expect_sample(struct pair *p, uint32_t which, struct coati_record *ret)
{
	struct coati_ring_item item;
	struct coati_raw raw;
	const uint8_t *at;
	uint32_t index;
	size_t left;

	CHECK_INT(coati_reader_next(p->rd, &item), ==, 1);
	CHECK_INT(item.kind, ==, COATI_ITEM_RECORD);
	CHECK_INT(item.key, ==, 5);
	at = item.bytes;
	left = item.size;
	CHECK_INT(coati_raw_next(&at, &left, 0, &raw), ==, 1);
	CHECK_OK(coati_format_table_find(p->table, &raw, &index));
	CHECK_INT(index, ==, which);
	CHECK_OK(coati_record_decode(&raw, coati_format_table_get(p->table, index), ret));
	CHECK_INT(ret->type, ==, COATI_RECORD_SAMPLE);
}

/* Each from its own function of libc, so that the places differ. */
static void make_calls(struct pair *p)
{
	CHECK_OK(coati_event_enable(p->ev[0]));
	(void)getppid();
	(void)getuid();
	(void)getppid();
	CHECK_OK(coati_event_disable(p->ev[0]));
	CHECK_OK(coati_reader_set_deadline(p->rd, (int64_t)(now_ns() + 20 * NSEC_PER_SEC)));
}

TEST(ring_of_a_group_has_the_samples_of_both_in_order_and_from_two_places)
{
	struct coati_record a, b, c;
	struct pair p;

	pair_open(&p);
	make_calls(&p);
	expect_sample(&p, 0, &a);
	expect_sample(&p, 1, &b);
	expect_sample(&p, 0, &c);
	CHECK_U64(a.u.sample.ip, !=, b.u.sample.ip);
	CHECK_U64(a.u.sample.ip, ==, c.u.sample.ip);
	pair_close(&p);
}

/* go-perf decoded the samples of followers by the layout of the leader (B13). */
TEST(ring_of_a_group_has_counts_in_samples_by_each_members_own_layout_B13)
{
	struct coati_read_value v;
	struct coati_record rec;
	struct pair p;

	pair_open(&p);
	make_calls(&p);
	expect_sample(&p, 0, &rec);
	CHECK_U64(rec.u.sample.read.nr, ==, 2);
	for (uint64_t i = 0; i < 2; i++) {
		CHECK_OK(coati_read_block_get(&rec.u.sample.read, i, &v));
		CHECK_U64(v.id, ==, p.id[i]);
		CHECK_U64(v.value, ==, i == 0);
	}
	expect_sample(&p, 1, &rec);
	CHECK_U64(rec.u.sample.read.nr, ==, 1);
	CHECK_OK(coati_read_block_get(&rec.u.sample.read, 0, &v));
	CHECK_U64(v.id, ==, p.id[1]);
	CHECK_U64(v.value, ==, 1);
	expect_sample(&p, 0, &rec);
	CHECK_OK(coati_read_block_get(&rec.u.sample.read, 0, &v));
	CHECK_U64(v.value, ==, 2);
	CHECK_OK(coati_read_block_get(&rec.u.sample.read, 1, &v));
	CHECK_U64(v.value, ==, 1);
	pair_close(&p);
}
