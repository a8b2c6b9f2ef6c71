/* SPDX-License-Identifier: MIT */
/*
 * Samples as bytes written down by hand, least significant byte first: every field where the kernel
 * puts it, and what other decoders got wrong (the names of such tests say what that was).
 */
#include <coati/record.h>

#include "lib/record-builder.h"
#include "lib/record-views.h"
#include "lib/test.h"
#include "record/record.h"

static struct coati_sample_format format_of(const struct coati_attr *attr)
{
	struct coati_sample_format fmt;

	coati_sample_format_init(attr, &fmt);
	return fmt;
}

static void decode(const uint8_t *bytes, size_t size, const struct coati_attr *attr,
		   struct coati_record *ret)
{
	struct coati_sample_format fmt = format_of(attr);
	struct coati_raw raw;
	uint8_t back[1024];

	CHECK_INT(coati_raw_next(&bytes, &size, builder_swap(false), &raw), ==, 1);
	CHECK_INT(size, ==, 0);
	CHECK_OK(coati_record_decode(&raw, &fmt, ret));
	CHECK(record_views_inside(ret, &raw));
	if (builder_swap(false))
		return;
	CHECK_INT(coati_record_encode(ret, &fmt, back, sizeof(back)), ==, raw.size);
	CHECK_MEM(back, raw.body - COATI_RAW_HEADER, raw.size);
}

#define Q(n)	(n), 0, 0, 0, 0, 0, 0, 0    /* a number of 64 bits */
#define D(n)	(n), 0, 0, 0		    /* of 32 */
#define QH(n)	(n), 0, 0, 0, 0, 0, 0, 0x80 /* of 64, highest bit set */
#define HIGH(n) (UINT64_C(0x8000000000000000) + (uint64_t)(n))

TEST(sample_with_every_bit_has_every_field_in_the_kernels_order)
{
	static const uint8_t bytes[] = {
		/* SAMPLE, user, exact ip, 312 bytes */
		9,     0,      0,     0,     0x02, 0x40,  0x38, 0x01, Q(1), /* identifier */
		QH(2),							    /* ip */
		D(3),  D(4),						    /* pid, tid */
		Q(5),							    /* time */
		Q(6),							    /* addr */
		Q(1),							    /* id */
		Q(8),							    /* stream id */
		D(9),  D(0),						    /* cpu */
		Q(10),							    /* period */
		Q(11), Q(12),				  /* read: value, enabled */
		Q(2),  QH(13), Q(14),			  /* callchain */
		D(4),  1,      2,     3,     4,		  /* raw */
		Q(1),  Q(15),  Q(16), Q(17), Q(0), Q(18), /* branches: nr, hw_idx, entry, counter */
		Q(2),  Q(19),  Q(20),			  /* user registers */
		Q(8),  1,      2,     3,     4,	   5,	  6,	7,    8,    Q(4), /* user stack */
		Q(21),								  /* weight */
		Q(22),								  /* data source */
		Q(23),								  /* transaction */
		Q(1),  Q(24), /* registers at the interrupt */
		Q(25),	      /* physical address */
		Q(26),	      /* cgroup */
		Q(27),	      /* data page size */
		Q(28),	      /* code page size */
		Q(8),  8,      7,     6,     5,	   4,	  3,	2,    1, /* aux */
	};
	struct coati_attr attr = {
		.sample_type = 0xffffff,
		.read_format = COATI_READ_ENABLED,
		.branch_sample_type = COATI_BRANCH_HW_INDEX | COATI_BRANCH_COUNTERS,
		.sample_regs_user = 0x110,
		.sample_regs_intr = 0x2,
	};
	const struct coati_sample *s;
	struct coati_read_value v;
	struct coati_branch branch;
	struct coati_record rec;
	uint64_t reg;

	_Static_assert(sizeof(bytes) == 0x138, "as the header says");
	decode(bytes, sizeof(bytes), &attr, &rec);
	s = &rec.u.sample;
	CHECK_U64(s->present, ==, 0xffffff);
	CHECK_INT(rec.misc, ==, COATI_MISC_USER | COATI_MISC_EXACT_IP);
	CHECK_U64(rec.id.id, ==, 1);
	CHECK_U64(s->ip, ==, HIGH(2));
	CHECK_U64(rec.id.pid, ==, 3);
	CHECK_U64(rec.id.tid, ==, 4);
	CHECK_U64(rec.id.time, ==, 5);
	CHECK_U64(s->addr, ==, 6);
	CHECK_U64(rec.id.stream_id, ==, 8);
	CHECK_U64(rec.id.cpu, ==, 9);
	CHECK_U64(s->period, ==, 10);
	CHECK_OK(coati_read_block_get(&s->read, 0, &v));
	CHECK_U64(v.value, ==, 11);
	CHECK_U64(s->read.enabled_ns, ==, 12);
	CHECK_U64(s->callchain.count, ==, 2);
	CHECK_U64(coati_u64_at(&s->callchain, 0), ==, HIGH(13));
	CHECK_U64(coati_u64_at(&s->callchain, 1), ==, 14);
	CHECK_U64(s->raw_size, ==, 4);
	CHECK_MEM(s->raw, "\1\2\3\4", 4);
	CHECK_U64(s->branches.nr, ==, 1);
	CHECK_U64(s->branches.hw_idx, ==, 15);
	CHECK_OK(coati_branches_get(&s->branches, 0, &branch));
	CHECK_U64(branch.from, ==, 16);
	CHECK_U64(branch.to, ==, 17);
	CHECK_U64(branch.counter, ==, 18);
	CHECK_ERR(coati_branches_get(&s->branches, 1, &branch), -EINVAL);
	CHECK_U64(s->regs_user.abi, ==, 2);
	CHECK_OK(coati_regs_get(&s->regs_user, 4, &reg));
	CHECK_U64(reg, ==, 19);
	CHECK_OK(coati_regs_get(&s->regs_user, 8, &reg));
	CHECK_U64(reg, ==, 20);
	CHECK_ERR(coati_regs_get(&s->regs_user, 5, &reg), -ENOENT);
	CHECK_ERR(coati_regs_get(&s->regs_user, 64, &reg), -ENOENT);
	CHECK_U64(s->stack_size, ==, 8);
	CHECK_U64(s->stack_dyn_size, ==, 4);
	CHECK_MEM(s->stack, "\1\2\3\4\5\6\7\10", 8);
	CHECK_U64(s->weight, ==, 21);
	CHECK_U64(s->data_src, ==, 22);
	CHECK_U64(s->transaction, ==, 23);
	CHECK_U64(s->regs_intr.abi, ==, 1);
	CHECK_OK(coati_regs_get(&s->regs_intr, 1, &reg));
	CHECK_U64(reg, ==, 24);
	CHECK_U64(s->phys_addr, ==, 25);
	CHECK_U64(s->cgroup, ==, 26);
	CHECK_U64(s->data_page_size, ==, 27);
	CHECK_U64(s->code_page_size, ==, 28);
	CHECK_U64(s->aux_size, ==, 8);
	CHECK_MEM(s->aux, "\10\7\6\5\4\3\2\1", 8);
	CHECK_U64(rec.extra_size, ==, 0);
}

TEST(sample_of_five_fields_and_a_chain_keeps_its_markers_as_markers)
{
	/* The two markers are no addresses, and the decoder leaves it visible which is which. */
	static const uint8_t bytes[] = {
		9,     0,    0,	   0,	 0x01, 0,    0x58, 0, /* SAMPLE, kernel */
		QH(1), D(2), D(3), Q(4), D(5), D(0), Q(6),    /* ip, pid, tid, time, cpu, period */
		Q(4),					      /* callchain */
		0x80,  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, QH(1), /* kernel part */
		0x00,  0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, Q(7),	/* user part */
	};
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_IP | COATI_SAMPLE_TID |
						  COATI_SAMPLE_TIME | COATI_SAMPLE_CPU |
						  COATI_SAMPLE_PERIOD | COATI_SAMPLE_CALLCHAIN };
	uint64_t buf[4];
	const uint64_t *chain;
	struct coati_record rec;

	_Static_assert(sizeof(bytes) == 0x58, "as the header says");
	decode(bytes, sizeof(bytes), &attr, &rec);
	CHECK_U64(rec.u.sample.ip, ==, HIGH(1));
	CHECK_U64(rec.id.pid, ==, 2);
	CHECK_U64(rec.id.tid, ==, 3);
	CHECK_U64(rec.id.time, ==, 4);
	CHECK_U64(rec.id.cpu, ==, 5);
	CHECK_U64(rec.u.sample.period, ==, 6);
	CHECK_U64(rec.u.sample.callchain.count, ==, 4);
	chain = coati_u64_array(&rec.u.sample.callchain, buf);
	CHECK_U64(chain[0], ==, COATI_CONTEXT_KERNEL);
	CHECK_U64(chain[0], >=, COATI_CONTEXT_MAX);
	CHECK_U64(chain[1], <, COATI_CONTEXT_MAX);
	CHECK_U64(chain[2], ==, COATI_CONTEXT_USER);
	CHECK_U64(chain[3], ==, 7);
}

TEST(sample_branch_type_comes_from_its_own_bits)
{
	/* Elsewhere the type was taken from the low bits of cycles. mispred, in_tx, cycles 0xabcd,
	 * type 6, spec 2, new type 9, priv 5 */
	static const uint64_t fields[] = { 1, 0, 1, 0, 0xabcd, 6, 2, 9, 5 };
	static const uint8_t widths[] = { 1, 1, 1, 1, 16, 4, 2, 4, 3, 0 };
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_BRANCH_STACK };
	struct coati_sample_format fmt = format_of(&attr);
	static struct builder b;
	struct coati_record rec;
	struct coati_branch br;
	struct coati_raw raw;

	for (int big = 0; big < 2; big++) {
		builder_start(&b, COATI_RECORD_SAMPLE, 0, big);
		builder_u64(&b, 1);
		builder_u64(&b, 0x1111);
		builder_u64(&b, 0x2222);
		builder_bitfields(&b, fields, widths);
		raw = builder_end(&b);
		CHECK_OK(coati_record_decode(&raw, &fmt, &rec));
		CHECK_U64(rec.u.sample.branches.hw_idx, ==, UINT64_MAX);
		CHECK_OK(coati_branches_get(&rec.u.sample.branches, 0, &br));
		CHECK_U64(br.from, ==, 0x1111);
		CHECK_U64(br.to, ==, 0x2222);
		CHECK_INT(br.mispredicted, ==, 1);
		CHECK_INT(br.predicted, ==, 0);
		CHECK_INT(br.in_tx, ==, 1);
		CHECK_INT(br.abort, ==, 0);
		CHECK_INT(br.cycles, ==, 0xabcd);
		CHECK_INT(br.type, ==, COATI_BRANCH_TYPE_RET);
		CHECK_INT(br.spec, ==, 2);
		CHECK_INT(br.new_type, ==, 9);
		CHECK_INT(br.priv, ==, 5);
	}
}

TEST(sample_registers_of_a_kernel_thread_are_none_and_shift_nothing)
{
	/* With ABI none no registers follow. */
	static const uint8_t bytes[] = {
		9,    0, 0, 0, 0x01, 0, 0x28, 0, /* SAMPLE */
		Q(0),				 /* user registers: ABI none */
		Q(7),				 /* transaction */
		Q(0),				 /* registers at the interrupt: none either */
		Q(9),				 /* physical address */
	};
	struct coati_attr attr = {
		.sample_type = COATI_SAMPLE_REGS_USER | COATI_SAMPLE_TRANSACTION |
			       COATI_SAMPLE_REGS_INTR | COATI_SAMPLE_PHYS_ADDR,
		.sample_regs_user = 0xff0fff,
		.sample_regs_intr = 0xff0fff,
	};
	struct coati_record rec;
	uint64_t reg;

	decode(bytes, sizeof(bytes), &attr, &rec);
	CHECK_U64(rec.u.sample.regs_user.abi, ==, 0);
	CHECK_U64(rec.u.sample.regs_user.mask, ==, 0);
	CHECK_U64(rec.u.sample.regs_user.values.count, ==, 0);
	CHECK_ERR(coati_regs_get(&rec.u.sample.regs_user, 0, &reg), -ENOENT);
	CHECK_U64(rec.u.sample.transaction, ==, 7);
	CHECK_U64(rec.u.sample.phys_addr, ==, 9);
}

TEST(sample_data_source_is_masked_field_by_field)
{
	/* Elsewhere op came out as 0x42, remote and snoopx collided, level numbers were off. */
	uint64_t load_hit_l1 = COATI_MEM_OP_LOAD | (COATI_MEM_LEVEL_HIT | COATI_MEM_LEVEL_L1) << 5;
	struct coati_data_src d;

	coati_data_src_get(load_hit_l1, &d);
	CHECK_U64(d.op, ==, COATI_MEM_OP_LOAD);
	CHECK_U64(d.level, ==, COATI_MEM_LEVEL_HIT | COATI_MEM_LEVEL_L1);
	CHECK_U64(d.snoop, ==, 0);

	/* What the kernel writes when the hardware says nothing. */
	coati_data_src_get(0x1e05080021, &d);
	CHECK_U64(d.op, ==, COATI_MEM_OP_NA);
	CHECK_U64(d.level, ==, COATI_MEM_LEVEL_NA);
	CHECK_U64(d.snoop, ==, COATI_MEM_SNOOP_NA);
	CHECK_U64(d.lock, ==, COATI_MEM_LOCK_NA);
	CHECK_U64(d.dtlb, ==, COATI_MEM_TLB_NA);
	CHECK_U64(d.level_num, ==, COATI_MEM_LEVEL_NUM_NA);
	CHECK_U64(d.remote, ==, 0);
	CHECK_U64(d.snoopx, ==, 0);

	coati_data_src_get(UINT64_C(1) << 37, &d);
	CHECK_U64(d.remote, ==, 1);
	CHECK_U64(d.snoopx, ==, 0);
	coati_data_src_get(UINT64_C(2) << 38, &d);
	CHECK_U64(d.remote, ==, 0);
	CHECK_U64(d.snoopx, ==, COATI_MEM_SNOOPX_PEER);
	coati_data_src_get(UINT64_C(0xd) << 33 | UINT64_C(4) << 40 | UINT64_C(3) << 43 |
				   UINT64_C(0x1f) << 46,
			   &d);
	CHECK_U64(d.level_num, ==, COATI_MEM_LEVEL_NUM_RAM);
	CHECK_U64(d.block, ==, COATI_MEM_BLOCK_ADDR);
	CHECK_U64(d.hops, ==, 3);
	CHECK_U64(d.region, ==, 0x1f);
}

TEST(sample_weight_has_one_value_whoever_wrote_it)
{
	static const uint8_t little[] = { 9,	0,    0,    0,	  0,	0,    0x10, 0,
					  0x44, 0x33, 0x22, 0x11, 0x66, 0x55, 0x88, 0x77 };
	static const uint8_t big[] = { 0,    0,	   0,	 9,    0,    0,	   0,	 0x10,
				       0x77, 0x88, 0x55, 0x66, 0x11, 0x22, 0x33, 0x44 };
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_WEIGHT_STRUCT };
	struct coati_sample_format fmt = format_of(&attr);
	const uint8_t *at[2] = { little, big };
	struct coati_record rec;
	struct coati_raw raw;

	for (int i = 0; i < 2; i++) {
		size_t left = sizeof(little);

		CHECK_INT(coati_raw_next(&at[i], &left, builder_swap(i), &raw), ==, 1);
		CHECK_OK(coati_record_decode(&raw, &fmt, &rec));
		CHECK_U64(rec.u.sample.weight & 0xffffffff, ==, 0x11223344); /* var1 */
		CHECK_U64(rec.u.sample.weight >> 32 & 0xffff, ==, 0x5566);   /* var2 */
		CHECK_U64(rec.u.sample.weight >> 48, ==, 0x7788);	     /* var3 */
	}
}

TEST(sample_pairs_of_32_bits_are_swapped_each_on_its_own)
{
	static const uint8_t big[] = { 0, 0, 0, 9, 0, 2, 0, 0x18, 0, 0, 1, 2,
				       0, 0, 3, 4, 0, 0, 0, 5,	  0, 0, 0, 6 };
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_TID | COATI_SAMPLE_CPU };
	struct coati_sample_format fmt = format_of(&attr);
	const uint8_t *at = big;
	size_t left = sizeof(big);
	struct coati_record rec;
	struct coati_raw raw;

	CHECK_INT(coati_raw_next(&at, &left, builder_swap(true), &raw), ==, 1);
	CHECK_INT(raw.misc, ==, COATI_MISC_USER);
	CHECK_OK(coati_record_decode(&raw, &fmt, &rec));
	CHECK_U64(rec.id.pid, ==, 0x0102);
	CHECK_U64(rec.id.tid, ==, 0x0304);
	CHECK_U64(rec.id.cpu, ==, 5);
	CHECK_U64(rec.id.reserved, ==, 6);
}

TEST(sample_without_a_stack_has_no_dynamic_size_behind_it)
{
	static const uint8_t bytes[] = { 9, 0, 0, 0, 0, 0, 0x18, 0, Q(0), Q(7) };
	struct coati_attr attr = { .sample_type =
					   COATI_SAMPLE_STACK_USER | COATI_SAMPLE_PHYS_ADDR };
	struct coati_record rec;

	decode(bytes, sizeof(bytes), &attr, &rec);
	CHECK_U64(rec.u.sample.stack_size, ==, 0);
	CHECK_U64(rec.u.sample.stack_dyn_size, ==, 0);
	CHECK_U64(rec.u.sample.phys_addr, ==, 7);
}

TEST(sample_stack_cannot_hold_more_than_was_asked_for)
{
	static const uint8_t bytes[] = { 9, 0, 0, 0, 0, 0, 0x20, 0, Q(8), Q(1), Q(9) };
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_STACK_USER };
	struct coati_sample_format fmt = format_of(&attr);
	const uint8_t *at = bytes;
	size_t left = sizeof(bytes);
	struct coati_record rec;
	struct coati_raw raw;

	CHECK_INT(coati_raw_next(&at, &left, builder_swap(false), &raw), ==, 1);
	CHECK_ERR(coati_record_decode(&raw, &fmt, &rec), -EBADMSG);
}

TEST(sample_raw_size_beyond_the_header_is_malformed)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_RAW };
	struct coati_sample_format fmt = format_of(&attr);
	static struct builder b;
	struct coati_record rec;
	struct coati_raw raw;

	for (uint32_t size = 0; size < 8; size++) {
		builder_start(&b, COATI_RECORD_SAMPLE, 0, false);
		builder_u32(&b, size);
		builder_bytes(&b, "1234", 4);
		raw = builder_end(&b);
		if (size > 4)
			CHECK_ERR(coati_record_decode(&raw, &fmt, &rec), -EBADMSG);
		else
			CHECK_OK(coati_record_decode(&raw, &fmt, &rec));
	}
}

TEST(sample_of_a_format_with_unknown_bits_is_not_guessed_at)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_IP | UINT64_C(1) << 25 };
	struct coati_sample_format fmt = format_of(&attr);
	static struct builder b;
	struct coati_record rec;
	struct coati_raw raw;

	builder_start(&b, COATI_RECORD_SAMPLE, 0, false);
	builder_u64(&b, 1);
	raw = builder_end(&b);
	CHECK_ERR(coati_record_decode(&raw, &fmt, &rec), -EOPNOTSUPP);
	attr = (struct coati_attr){ .sample_type = COATI_SAMPLE_READ, .read_format = 32 };
	fmt = format_of(&attr);
	CHECK_ERR(coati_record_decode(&raw, &fmt, &rec), -EOPNOTSUPP);
}

TEST(sample_as_large_as_a_header_can_say_is_read_whole)
{
	/* The largest there is: a size that fills its type or its ring is where others copied
	 * nothing. */
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_RAW };
	struct coati_sample_format fmt = format_of(&attr);
	static struct builder b;
	static uint8_t back[UINT16_MAX];
	struct coati_record rec;
	struct coati_raw raw;

	builder_start(&b, COATI_RECORD_SAMPLE, 0, false);
	builder_u32(&b, UINT16_MAX - 12);
	while (b.len < UINT16_MAX)
		builder_u8(&b, (uint8_t)b.len);
	raw = builder_end(&b);
	CHECK_OK(coati_record_decode(&raw, &fmt, &rec));
	CHECK_U64(rec.u.sample.raw_size, ==, UINT16_MAX - 12);
	CHECK(record_views_inside(&rec, &raw));
	if (raw.swap)
		return;
	CHECK_INT(coati_record_encode(&rec, &fmt, back, sizeof(back)), ==, UINT16_MAX);
	CHECK_MEM(back, b.bytes, UINT16_MAX);
	CHECK_ERR(coati_record_encode(&rec, &fmt, back, sizeof(back) - 1), -ENOSPC);
	rec.u.sample.raw_size++;
	CHECK_ERR(coati_record_encode(&rec, &fmt, back, sizeof(back)), -E2BIG);
}

TEST(sample_lacking_what_the_format_asks_for_is_not_encoded)
{
	struct coati_attr attr = { .sample_type = COATI_SAMPLE_IP | COATI_SAMPLE_TIME };
	struct coati_sample_format fmt = format_of(&attr);
	struct coati_record rec = { .type = COATI_RECORD_SAMPLE };
	uint8_t buf[64];

	rec.u.sample.present = attr.sample_type;
	CHECK_ERR(coati_record_encode(&rec, &fmt, buf, sizeof(buf)), -EINVAL);
	rec.id.present = COATI_SAMPLE_TIME;
	CHECK_INT(coati_record_encode(&rec, &fmt, buf, sizeof(buf)), ==, 24);
	rec.u.sample.present = COATI_SAMPLE_TIME;
	CHECK_ERR(coati_record_encode(&rec, &fmt, buf, sizeof(buf)), -EINVAL);
}
