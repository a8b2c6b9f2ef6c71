/* SPDX-License-Identifier: MIT */
/*
 * Records other than samples: a handful of numbers, perhaps a text, and behind them the identity
 * trailer, which is found from the end of the record and never from the end of the text. In: a
 * record and the format of its event. Out: the fields, pointers into the record.
 */
#include "record/decode.h"

#include <errno.h>

#include "record/layout.h"
#include "record/record.h"

#define BUILD_ID_BYTES 20

/* The identity behind a record, @c over exactly its bytes. */
static void trailer(struct cursor *c, uint64_t type, struct coati_identity *ret)
{
	ret->present = type & LAYOUT_TRAILER_BITS;
	if (type & COATI_SAMPLE_TID) {
		ret->pid = cursor_u32(c);
		ret->tid = cursor_u32(c);
	}
	if (type & COATI_SAMPLE_TIME)
		ret->time = cursor_u64(c);
	if (type & COATI_SAMPLE_ID)
		ret->id = cursor_u64(c);
	if (type & COATI_SAMPLE_STREAM_ID)
		ret->stream_id = cursor_u64(c);
	if (type & COATI_SAMPLE_CPU) {
		ret->cpu = cursor_u32(c);
		ret->reserved = cursor_u32(c);
	}
	if (type & COATI_SAMPLE_IDENTIFIER) {
		uint64_t id = cursor_u64(c);

		if (type & COATI_SAMPLE_ID && ret->id != id)
			c->bad = true;
		ret->id = id;
	}
}

/* The rest of the body is one text with its padding. */
static const char *text(struct cursor *c, uint32_t *ret_size)
{
	size_t size = cursor_left(c);

	*ret_size = (uint32_t)size;
	return cursor_text(c, size);
}

/*
 * The misc bit alone does not tell. The kernel sets it for an event that asks for build IDs and
 * leaves it set for the next event that gets the same mapping, of another recorder too, whose
 * record holds the file's number. Where there is a build ID, its size is not 0, three zeros follow,
 * and zeros fill what it does not need.
 */
static bool holds_build_id(struct cursor c)
{
	const uint8_t *p = cursor_bytes(&c, 4 + BUILD_ID_BYTES);

	if (!p || !p[0] || p[0] > BUILD_ID_BYTES || p[1] || p[2] || p[3])
		return false;
	for (int i = p[0]; i < BUILD_ID_BYTES; i++)
		if (p[4 + i])
			return false;
	return true;
}

/* The 24 bytes of a MMAP2 that hold either a file's number or its build ID. */
static void mmap2_file(struct cursor *c, uint16_t misc, struct coati_mmap *ret)
{
	const uint8_t *p;

	if (!(misc & COATI_MISC_MMAP_BUILD_ID) || !holds_build_id(*c)) {
		ret->maj = cursor_u32(c);
		ret->min = cursor_u32(c);
		ret->ino = cursor_u64(c);
		ret->ino_generation = cursor_u64(c);
		return;
	}
	p = cursor_bytes(c, 4 + BUILD_ID_BYTES);
	ret->build_id_size = p[0];
	memcpy(ret->build_id, p + 4, BUILD_ID_BYTES);
}

static void mmap_body(struct cursor *c, const struct coati_raw *raw, struct coati_mmap *ret)
{
	*ret = (struct coati_mmap){ .pid = cursor_u32(c) };
	ret->tid = cursor_u32(c);
	ret->addr = cursor_u64(c);
	ret->len = cursor_u64(c);
	ret->pgoff = cursor_u64(c);
	if (raw->type == COATI_RECORD_MMAP2) {
		mmap2_file(c, raw->misc, ret);
		ret->prot = cursor_u32(c);
		ret->flags = cursor_u32(c);
	}
	ret->name = text(c, &ret->text_size);
}

static void comm_body(struct cursor *c, struct coati_comm *ret)
{
	*ret = (struct coati_comm){ .pid = cursor_u32(c) };
	ret->tid = cursor_u32(c);
	ret->name = text(c, &ret->text_size);
}

static void task_body(struct cursor *c, struct coati_task *ret)
{
	ret->pid = cursor_u32(c);
	ret->ppid = cursor_u32(c);
	ret->tid = cursor_u32(c);
	ret->ptid = cursor_u32(c);
	ret->time = cursor_u64(c);
}

static void throttle_body(struct cursor *c, struct coati_throttle *ret)
{
	ret->time = cursor_u64(c);
	ret->id = cursor_u64(c);
	ret->stream_id = cursor_u64(c);
}

static void read_body(struct cursor *c, uint64_t format, struct coati_read *ret)
{
	ret->pid = cursor_u32(c);
	ret->tid = cursor_u32(c);
	coati_read_block_decode(c, format, &ret->block);
}

static void aux_body(struct cursor *c, struct coati_aux *ret)
{
	ret->offset = cursor_u64(c);
	ret->size = cursor_u64(c);
	ret->flags = cursor_u64(c);
}

static void namespaces_body(struct cursor *c, struct coati_namespaces *ret)
{
	ret->pid = cursor_u32(c);
	ret->tid = cursor_u32(c);
	ret->nr = cursor_u64(c);
	if (ret->nr > cursor_left(c) / 16)
		c->bad = true;
	else
		ret->links = coati_u64s_decode(c, ret->nr * 2);
}

static void ksymbol_body(struct cursor *c, struct coati_ksymbol *ret)
{
	*ret = (struct coati_ksymbol){ .addr = cursor_u64(c) };
	ret->len = cursor_u32(c);
	ret->ksym_type = cursor_u16(c);
	ret->flags = cursor_u16(c);
	ret->name = text(c, &ret->text_size);
}

static void bpf_event_body(struct cursor *c, struct coati_bpf_event *ret)
{
	const uint8_t *tag;

	ret->bpf_type = cursor_u16(c);
	ret->flags = cursor_u16(c);
	ret->id = cursor_u32(c);
	tag = cursor_bytes(c, sizeof(ret->tag));
	if (tag)
		memcpy(ret->tag, tag, sizeof(ret->tag));
}

static void cgroup_body(struct cursor *c, struct coati_cgroup *ret)
{
	*ret = (struct coati_cgroup){ .id = cursor_u64(c) };
	ret->path = text(c, &ret->text_size);
}

/* The bytes are padded to a multiple of 8: the padding is kept as unknown bytes. */
static void text_poke_body(struct cursor *c, struct coati_text_poke *ret)
{
	*ret = (struct coati_text_poke){ .addr = cursor_u64(c) };
	ret->old_len = cursor_u16(c);
	ret->new_len = cursor_u16(c);
	ret->bytes = cursor_bytes(c, (size_t)ret->old_len + ret->new_len);
}

static void deferred_body(struct cursor *c, struct coati_deferred *ret)
{
	ret->cookie = cursor_u64(c);
	ret->callchain = coati_u64s_decode(c, cursor_u64(c));
}

static void tool_body(struct cursor *c, struct coati_tool_record *ret)
{
	*ret = (struct coati_tool_record){ .size = (uint32_t)cursor_left(c) };
	ret->bytes = cursor_bytes(c, ret->size);
}

static void pair(struct cursor *c, uint32_t *ret_first, uint32_t *ret_second)
{
	*ret_first = cursor_u32(c);
	*ret_second = cursor_u32(c);
}

/* @c: the body without the trailer; what is left in it afterwards is unknown. */
static void body(struct cursor *c, const struct coati_raw *raw,
		 const struct coati_sample_format *fmt, struct coati_record *ret)
{
	switch (raw->type) {
	case COATI_RECORD_MMAP:
	case COATI_RECORD_MMAP2:
		return mmap_body(c, raw, &ret->u.mmap);
	case COATI_RECORD_LOST:
		ret->u.lost.id = cursor_u64(c);
		ret->u.lost.lost = cursor_u64(c);
		return;
	case COATI_RECORD_COMM:
		return comm_body(c, &ret->u.comm);
	case COATI_RECORD_FORK:
	case COATI_RECORD_EXIT:
		return task_body(c, &ret->u.task);
	case COATI_RECORD_THROTTLE:
	case COATI_RECORD_UNTHROTTLE:
		return throttle_body(c, &ret->u.throttle);
	case COATI_RECORD_READ:
		return read_body(c, fmt->read_format, &ret->u.read);
	case COATI_RECORD_AUX:
		return aux_body(c, &ret->u.aux);
	case COATI_RECORD_ITRACE_START:
		return pair(c, &ret->u.itrace_start.pid, &ret->u.itrace_start.tid);
	case COATI_RECORD_LOST_SAMPLES:
		ret->u.lost_samples = cursor_u64(c);
		return;
	case COATI_RECORD_SWITCH:
		return;
	case COATI_RECORD_SWITCH_CPU_WIDE:
		return pair(c, &ret->u.sw.next_prev_pid, &ret->u.sw.next_prev_tid);
	case COATI_RECORD_NAMESPACES:
		return namespaces_body(c, &ret->u.namespaces);
	case COATI_RECORD_KSYMBOL:
		return ksymbol_body(c, &ret->u.ksymbol);
	case COATI_RECORD_BPF_EVENT:
		return bpf_event_body(c, &ret->u.bpf_event);
	case COATI_RECORD_CGROUP:
		return cgroup_body(c, &ret->u.cgroup);
	case COATI_RECORD_TEXT_POKE:
		return text_poke_body(c, &ret->u.text_poke);
	case COATI_RECORD_AUX_OUTPUT_HW_ID:
		ret->u.aux_hw_id = cursor_u64(c);
		return;
	case COATI_RECORD_CALLCHAIN_DEFERRED:
		return deferred_body(c, &ret->u.deferred);
	default:
		return tool_body(c, &ret->u.tool);
	}
}

int coati_other_decode(const struct coati_raw *raw, const struct coati_sample_format *fmt,
		       struct coati_record *ret)
{
	size_t size = raw->size - COATI_RAW_HEADER;
	size_t tail = raw->type < COATI_RECORD_HEADER_ATTR ? fmt->trailer_size : 0;
	struct cursor c, t;

	if (tail > size) {
		if (coati_record_name(raw->type))
			return -EBADMSG;
		tail = 0;
	}
	if (raw->type == COATI_RECORD_READ && !layout_read_known(fmt->read_format))
		return -EOPNOTSUPP;
	c = cursor_over(raw->body, size - tail);
	t = cursor_over(raw->body + (size - tail), tail);
	c.swap = t.swap = raw->swap;
	ret->type = raw->type;
	ret->misc = raw->misc;
	ret->size = raw->size;
	ret->id.present = 0;
	body(&c, raw, fmt, ret);
	if (tail)
		trailer(&t, fmt->sample_type, &ret->id);
	if (c.bad || t.bad)
		return -EBADMSG;
	ret->extra = c.at;
	ret->extra_size = (uint32_t)cursor_left(&c);
	return 0;
}
