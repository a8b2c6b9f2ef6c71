/* SPDX-License-Identifier: MIT */
/*
 * Samples: the one record that comes by the million. In: a record and the format of its event. Out:
 * the fields, pointers into the record. The fields of 8 bytes in front are checked by one
 * comparison and then loaded without any; that code is made several times for the commonest
 * formats, so that nothing is asked which is known.
 */
#include "record/decode.h"

#include <errno.h>

#include "record/bytes.h"
#include "record/layout.h"

/* Samples that have one of these, or the other byte order, take the general way. */
#define RARE_BITS (~(LAYOUT_FRONT_BITS | COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_RAW))

struct coati_u64s coati_u64s_decode(struct cursor *c, uint64_t count)
{
	struct coati_u64s v = { .swap = c->swap };

	if (count > cursor_left(c) / 8) {
		c->bad = true;
		return v;
	}
	v.bytes = cursor_bytes(c, (size_t)count * 8);
	v.count = (uint32_t)count;
	return v;
}

void coati_read_block_decode(struct cursor *c, uint64_t format, struct coati_read_block *ret)
{
	bool group = format & COATI_READ_GROUP;
	uint64_t times = layout_read_time_words(format);
	uint64_t words = layout_read_value_words(format);
	struct cursor start = *c;
	uint64_t nr = cursor_u64(&start);
	uint32_t at = 1;

	*ret = (struct coati_read_block){ .format = format, .nr = group ? nr : 1 };
	/* The count is bounded before it multiplies anything. */
	if (start.bad || ret->nr > cursor_left(c) / 8) {
		c->bad = true;
		return;
	}
	ret->raw = coati_u64s_decode(c, group + times + ret->nr * words);
	if (format & COATI_READ_ENABLED)
		ret->enabled_ns = coati_u64_at(&ret->raw, at++);
	if (format & COATI_READ_RUNNING)
		ret->running_ns = coati_u64_at(&ret->raw, at);
}

static void branches(struct cursor *c, uint64_t type, struct coati_branches *ret)
{
	uint64_t nr = cursor_u64(c);

	*ret = (struct coati_branches){ .nr = nr, .hw_idx = UINT64_MAX };
	if (type & COATI_BRANCH_HW_INDEX)
		ret->hw_idx = cursor_u64(c);
	if (nr > cursor_left(c) / 24) {
		c->bad = true;
		return;
	}
	ret->entries = coati_u64s_decode(c, nr * 3);
	if (type & COATI_BRANCH_COUNTERS)
		ret->counters = coati_u64s_decode(c, nr);
}

static void registers(struct cursor *c, uint64_t mask, uint32_t nr, struct coati_regs *ret)
{
	*ret = (struct coati_regs){ .abi = cursor_u64(c) };
	/* ABI none: a kernel thread has no user registers, and then nothing follows. */
	if (ret->abi) {
		ret->mask = mask;
		ret->values = coati_u64s_decode(c, nr);
	}
}

/* Bytes behind a 64-bit size. */
static const uint8_t *sized_bytes(struct cursor *c, uint64_t *ret_size)
{
	uint64_t size = cursor_u64(c);

	*ret_size = size;
	if (size > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	return cursor_bytes(c, (size_t)size);
}

static void user_stack(struct cursor *c, struct coati_sample *ret)
{
	ret->stack = sized_bytes(c, &ret->stack_size);
	ret->stack_dyn_size = ret->stack_size ? cursor_u64(c) : 0;
	if (ret->stack_dyn_size > ret->stack_size)
		c->bad = true;
}

/* BRANCH_STACK and everything that follows it. */
static void back_fields(struct cursor *c, const struct coati_sample_format *fmt,
			struct coati_sample *ret)
{
	uint64_t type = fmt->sample_type;

	if (type & COATI_SAMPLE_BRANCH_STACK)
		branches(c, fmt->branch_sample_type, &ret->branches);
	if (type & COATI_SAMPLE_REGS_USER)
		registers(c, fmt->regs_user, fmt->nr_regs_user, &ret->regs_user);
	if (type & COATI_SAMPLE_STACK_USER)
		user_stack(c, ret);
	if (type & (COATI_SAMPLE_WEIGHT | COATI_SAMPLE_WEIGHT_STRUCT))
		ret->weight = cursor_u64(c);
	if (type & COATI_SAMPLE_DATA_SRC)
		ret->data_src = cursor_u64(c);
	if (type & COATI_SAMPLE_TRANSACTION)
		ret->transaction = cursor_u64(c);
	if (type & COATI_SAMPLE_REGS_INTR)
		registers(c, fmt->regs_intr, fmt->nr_regs_intr, &ret->regs_intr);
	if (type & COATI_SAMPLE_PHYS_ADDR)
		ret->phys_addr = cursor_u64(c);
	if (type & COATI_SAMPLE_CGROUP)
		ret->cgroup = cursor_u64(c);
	if (type & COATI_SAMPLE_DATA_PAGE_SIZE)
		ret->data_page_size = cursor_u64(c);
	if (type & COATI_SAMPLE_CODE_PAGE_SIZE)
		ret->code_page_size = cursor_u64(c);
	if (type & COATI_SAMPLE_AUX)
		ret->aux = sized_bytes(c, &ret->aux_size);
}

/* Two fields of 4 bytes, into @ret and the field behind it: each has its own byte order, and in
 * ours they are one word. */
ALWAYS_INLINE void load_pair(const uint8_t *p, bool swap, uint32_t *ret)
{
	uint32_t pair[2] = { load_u32(p, swap), load_u32(p + 4, swap) };

	memcpy(ret, pair, sizeof(pair));
}
_Static_assert(offsetof(struct coati_identity, tid) == offsetof(struct coati_identity, pid) + 4 &&
		       offsetof(struct coati_identity, reserved) ==
			       offsetof(struct coati_identity, cpu) + 4,
	       "load_pair() writes both");

/* The fields of 8 bytes in front; the caller knows that they are there. NULL: two ids that differ,
 * else the place behind. */
ALWAYS_INLINE const uint8_t *front_fields(const uint8_t *p, uint64_t type, struct coati_record *ret,
					  bool swap)
{
	struct coati_identity *id = &ret->id;
	bool same = true;

	if (type & COATI_SAMPLE_IDENTIFIER) {
		id->id = load_u64(p, swap);
		p += 8;
	}
	if (type & COATI_SAMPLE_IP) {
		ret->u.sample.ip = load_u64(p, swap);
		p += 8;
	}
	if (type & COATI_SAMPLE_TID) {
		load_pair(p, swap, &id->pid);
		p += 8;
	}
	if (type & COATI_SAMPLE_TIME) {
		id->time = load_u64(p, swap);
		p += 8;
	}
	if (type & COATI_SAMPLE_ADDR) {
		ret->u.sample.addr = load_u64(p, swap);
		p += 8;
	}
	if (type & COATI_SAMPLE_ID) {
		same = !(type & COATI_SAMPLE_IDENTIFIER) || id->id == load_u64(p, swap);
		id->id = load_u64(p, swap);
		p += 8;
	}
	if (type & COATI_SAMPLE_STREAM_ID) {
		id->stream_id = load_u64(p, swap);
		p += 8;
	}
	if (type & COATI_SAMPLE_CPU) {
		load_pair(p, swap, &id->cpu);
		p += 8;
	}
	if (type & COATI_SAMPLE_PERIOD) {
		ret->u.sample.period = load_u64(p, swap);
		p += 8;
	}
	return same ? p : NULL;
}

ALWAYS_INLINE const uint8_t *callchain(const uint8_t *p, const uint8_t *end, struct coati_u64s *ret)
{
	uint64_t nr;

	if (end - p < 8)
		return NULL;
	nr = load_u64(p, false);
	p += 8;
	if (nr > (uint64_t)(end - p) / 8)
		return NULL;
	ret->bytes = p;
	ret->count = (uint32_t)nr;
	ret->swap = 0;
	return p + nr * 8;
}

ALWAYS_INLINE const uint8_t *raw_payload(const uint8_t *p, const uint8_t *end,
					 struct coati_sample *ret)
{
	uint32_t size;

	if (end - p < 4)
		return NULL;
	size = load_u32(p, false);
	p += 4;
	if (size > (uint64_t)(end - p))
		return NULL;
	ret->raw = p;
	ret->raw_size = size;
	return p + size;
}

/* What every sample has. */
ALWAYS_INLINE void begin(const struct coati_raw *raw, uint64_t type, struct coati_record *ret)
{
	uint16_t misc = raw->misc, size = raw->size;

	ret->type = COATI_RECORD_SAMPLE;
	ret->misc = misc;
	ret->size = size;
	ret->id.present = type & LAYOUT_TRAILER_BITS;
	ret->u.sample.present = type;
}

ALWAYS_INLINE int finish(const uint8_t *p, const uint8_t *end, struct coati_record *ret)
{
	ret->extra = p;
	ret->extra_size = (uint32_t)(end - p);
	return 0;
}

/* A sample of any format and byte order. */
static __attribute__((noinline)) int decode_any(const struct coati_raw *raw,
						const struct coati_sample_format *fmt,
						struct coati_record *ret)
{
	struct cursor c = cursor_over(raw->body, raw->size - COATI_RAW_HEADER);
	struct coati_sample *s = &ret->u.sample;
	uint64_t type = fmt->sample_type;
	const uint8_t *front = cursor_bytes(&c, fmt->fixed_size);

	if (fmt->unsupported)
		return -EOPNOTSUPP;
	if (!front)
		return -EBADMSG;
	begin(raw, type, ret);
	if (!front_fields(front, type, ret, raw->swap))
		return -EBADMSG;
	c.swap = raw->swap;
	if (type & COATI_SAMPLE_READ)
		coati_read_block_decode(&c, fmt->read_format, &s->read);
	if (type & COATI_SAMPLE_CALLCHAIN)
		s->callchain = coati_u64s_decode(&c, cursor_u64(&c));
	if (type & COATI_SAMPLE_RAW) {
		s->raw_size = cursor_u32(&c);
		s->raw = cursor_bytes(&c, s->raw_size);
	}
	back_fields(&c, fmt, s);
	return c.bad ? -EBADMSG : finish(c.at, c.end, ret);
}

/* A sample in our byte order with no fields but those in front, CALLCHAIN and RAW. Where @type is a
 * constant, the compiler folds all questions away. */
ALWAYS_INLINE int decode_plain(const struct coati_raw *raw, uint64_t type, size_t front_size,
			       struct coati_record *ret)
{
	const uint8_t *p = raw->body;
	size_t size = raw->size - COATI_RAW_HEADER;
	const uint8_t *end = p + size;

	if (size < front_size)
		return -EBADMSG;
	begin(raw, type, ret);
	p = front_fields(p, type, ret, false);
	if (!p)
		return -EBADMSG;
	if (type & COATI_SAMPLE_CALLCHAIN) {
		p = callchain(p, end, &ret->u.sample.callchain);
		if (!p)
			return -EBADMSG;
	}
	if (type & COATI_SAMPLE_RAW) {
		p = raw_payload(p, end, &ret->u.sample);
		if (!p)
			return -EBADMSG;
	}
	return finish(p, end, ret);
}

/* What recorders ask for most. */
#define COMMON	   (COATI_SAMPLE_IP | COATI_SAMPLE_TID | COATI_SAMPLE_TIME | COATI_SAMPLE_PERIOD)
#define COMMON_CPU (COMMON | COATI_SAMPLE_CPU)
#define COMMON_ID  (COMMON_CPU | COATI_SAMPLE_IDENTIFIER)
#define CHAIN	   COATI_SAMPLE_CALLCHAIN
#define RAW	   COATI_SAMPLE_RAW
#define DECODE_PLAIN(type) \
	decode_plain(raw, type, 8 * __builtin_popcountll((type)&LAYOUT_FRONT_BITS), ret)

/* No call is made on the way that most samples take, and the others leave by a jump: no register
 * needs saving. */
int coati_record_decode(const struct coati_raw *raw, const struct coati_sample_format *fmt,
			struct coati_record *ret)
{
	const uint64_t type = fmt->sample_type;

	if (raw->type != COATI_RECORD_SAMPLE)
		return coati_other_decode(raw, fmt, ret);
	if (raw->swap)
		return decode_any(raw, fmt, ret);
	if (type == COMMON_CPU)
		return DECODE_PLAIN(COMMON_CPU);
	if (type == (COMMON_CPU | CHAIN))
		return DECODE_PLAIN(COMMON_CPU | CHAIN);
	if (type == (COMMON_ID | CHAIN))
		return DECODE_PLAIN(COMMON_ID | CHAIN);
	if (type == (COMMON_ID | RAW))
		return DECODE_PLAIN(COMMON_ID | RAW);
	if (type == (COMMON | CHAIN))
		return DECODE_PLAIN(COMMON | CHAIN);
	if (type & RARE_BITS)
		return decode_any(raw, fmt, ret);
	return decode_plain(raw, type, fmt->fixed_size, ret);
}
