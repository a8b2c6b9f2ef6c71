/* SPDX-License-Identifier: MIT */
/*
 * The mirror of the decoder: a typed record and the format of its event come in, bytes in our byte
 * order go out, exactly those from which the record was decoded. What is kept as unknown bytes is
 * written back where it stood.
 */
#include <errno.h>

#include <coati/record.h>

#include "base/writer.h"
#include "record/bytes.h"
#include "record/decode.h"
#include "record/layout.h"
#include "record/record.h"

static void put_numbers(struct writer *w, const struct coati_u64s *v)
{
	for (uint32_t i = 0; i < v->count; i++)
		writer_u64(w, coati_u64_at(v, i));
}

/* Text, terminator and zeros up to the size that the text had, or to a multiple of 8. */
static void put_text(struct writer *w, const char *text, uint32_t text_size)
{
	size_t size;

	if (!text)
		text = "";
	size = strlen(text) + 1;
	if (!text_size) {
		writer_text(w, text, 8);
		return;
	}
	writer_bytes(w, text, size);
	if (text_size > size)
		writer_zeros(w, text_size - size);
}

static void put_pair(struct writer *w, uint32_t first, uint32_t second)
{
	writer_u32(w, first);
	writer_u32(w, second);
}

/* ---- samples ---- */

static void put_identity(struct writer *w, const struct coati_identity *id, uint64_t bit)
{
	if (bit == COATI_SAMPLE_TID)
		put_pair(w, id->pid, id->tid);
	else if (bit == COATI_SAMPLE_TIME)
		writer_u64(w, id->time);
	else if (bit == COATI_SAMPLE_STREAM_ID)
		writer_u64(w, id->stream_id);
	else if (bit == COATI_SAMPLE_CPU)
		put_pair(w, id->cpu, id->reserved);
	else
		writer_u64(w, id->id);
}

static void put_front(struct writer *w, const struct coati_record *rec, uint64_t type)
{
	for (int i = 0; i < COATI_LAYOUT_FRONT; i++) {
		uint64_t bit = coati_layout_front[i];

		if (!(type & bit))
			continue;
		if (bit == COATI_SAMPLE_IP)
			writer_u64(w, rec->u.sample.ip);
		else if (bit == COATI_SAMPLE_ADDR)
			writer_u64(w, rec->u.sample.addr);
		else if (bit == COATI_SAMPLE_PERIOD)
			writer_u64(w, rec->u.sample.period);
		else
			put_identity(w, &rec->id, bit);
	}
}

static int put_read_block(struct writer *w, const struct coati_read_block *b, uint64_t format)
{
	uint64_t group = !!(format & COATI_READ_GROUP);
	uint64_t words = group + layout_read_time_words(format);

	if (b->format != format || b->nr > UINT16_MAX || (!group && b->nr != 1))
		return -EINVAL;
	words += b->nr * layout_read_value_words(format);
	if (b->raw.count != words || (group && coati_u64_at(&b->raw, 0) != b->nr))
		return -EINVAL;
	put_numbers(w, &b->raw);
	return 0;
}

static int put_branches(struct writer *w, const struct coati_branches *b, uint64_t type)
{
	if (b->nr > UINT16_MAX || b->entries.count != b->nr * 3)
		return -EINVAL;
	if (type & COATI_BRANCH_COUNTERS && b->counters.count != b->nr)
		return -EINVAL;
	writer_u64(w, b->nr);
	if (type & COATI_BRANCH_HW_INDEX)
		writer_u64(w, b->hw_idx);
	for (uint32_t i = 0; i < b->entries.count; i++) {
		uint64_t word = coati_u64_at(&b->entries, i);

		/* Flags of the other byte order have their fields at the other end. */
		writer_u64(w,
			   i % 3 == 2 && b->entries.swap ? coati_branch_flags_mirror(word) : word);
	}
	if (type & COATI_BRANCH_COUNTERS)
		put_numbers(w, &b->counters);
	return 0;
}

static int put_registers(struct writer *w, const struct coati_regs *r, uint32_t nr)
{
	if (r->values.count != (r->abi ? nr : 0))
		return -EINVAL;
	writer_u64(w, r->abi);
	put_numbers(w, &r->values);
	return 0;
}

static int put_stack(struct writer *w, const struct coati_sample *s)
{
	if (s->stack_dyn_size > s->stack_size)
		return -EINVAL;
	writer_u64(w, s->stack_size);
	writer_bytes(w, s->stack, s->stack_size);
	if (s->stack_size)
		writer_u64(w, s->stack_dyn_size);
	return 0;
}

/* BRANCH_STACK to REGS_INTR. */
static int put_back(struct writer *w, const struct coati_sample *s,
		    const struct coati_sample_format *fmt)
{
	uint64_t type = fmt->sample_type;
	int r = 0;

	if (type & COATI_SAMPLE_BRANCH_STACK)
		r = put_branches(w, &s->branches, fmt->branch_sample_type);
	if (!r && type & COATI_SAMPLE_REGS_USER)
		r = put_registers(w, &s->regs_user, fmt->nr_regs_user);
	if (!r && type & COATI_SAMPLE_STACK_USER)
		r = put_stack(w, s);
	if (type & (COATI_SAMPLE_WEIGHT | COATI_SAMPLE_WEIGHT_STRUCT))
		writer_u64(w, s->weight);
	if (type & COATI_SAMPLE_DATA_SRC)
		writer_u64(w, s->data_src);
	if (type & COATI_SAMPLE_TRANSACTION)
		writer_u64(w, s->transaction);
	if (!r && type & COATI_SAMPLE_REGS_INTR)
		r = put_registers(w, &s->regs_intr, fmt->nr_regs_intr);
	return r;
}

static void put_end(struct writer *w, const struct coati_sample *s, uint64_t type)
{
	if (type & COATI_SAMPLE_PHYS_ADDR)
		writer_u64(w, s->phys_addr);
	if (type & COATI_SAMPLE_CGROUP)
		writer_u64(w, s->cgroup);
	if (type & COATI_SAMPLE_DATA_PAGE_SIZE)
		writer_u64(w, s->data_page_size);
	if (type & COATI_SAMPLE_CODE_PAGE_SIZE)
		writer_u64(w, s->code_page_size);
	if (type & COATI_SAMPLE_AUX) {
		writer_u64(w, s->aux_size);
		writer_bytes(w, s->aux, s->aux_size);
	}
}

static int put_sample(struct writer *w, const struct coati_record *rec,
		      const struct coati_sample_format *fmt)
{
	const struct coati_sample *s = &rec->u.sample;
	uint64_t type = fmt->sample_type;
	int r = 0;

	if (fmt->unsupported)
		return -EOPNOTSUPP;
	if (type & ~s->present || type & LAYOUT_TRAILER_BITS & ~rec->id.present)
		return -EINVAL;
	put_front(w, rec, type);
	if (type & COATI_SAMPLE_READ)
		r = put_read_block(w, &s->read, fmt->read_format);
	if (type & COATI_SAMPLE_CALLCHAIN) {
		writer_u64(w, s->callchain.count);
		put_numbers(w, &s->callchain);
	}
	if (type & COATI_SAMPLE_RAW) {
		writer_u32(w, s->raw_size);
		writer_bytes(w, s->raw, s->raw_size);
	}
	if (!r)
		r = put_back(w, s, fmt);
	put_end(w, s, type);
	return r;
}

/* ---- the others ---- */

/* What MMAP2 has in front of the name and MMAP has not. */
static int put_mmap2_part(struct writer *w, const struct coati_mmap *m, uint16_t misc)
{
	if (misc & COATI_MISC_MMAP_BUILD_ID && m->build_id_size) {
		if (m->build_id_size > sizeof(m->build_id))
			return -EINVAL;
		writer_u8(w, m->build_id_size);
		writer_bytes(w, m->reserved, sizeof(m->reserved));
		writer_bytes(w, m->build_id, sizeof(m->build_id));
	} else {
		put_pair(w, m->maj, m->min);
		writer_u64(w, m->ino);
		writer_u64(w, m->ino_generation);
	}
	put_pair(w, m->prot, m->flags);
	return 0;
}

static int put_mmap(struct writer *w, const struct coati_record *rec)
{
	const struct coati_mmap *m = &rec->u.mmap;
	int r = 0;

	put_pair(w, m->pid, m->tid);
	writer_u64(w, m->addr);
	writer_u64(w, m->len);
	writer_u64(w, m->pgoff);
	if (rec->type == COATI_RECORD_MMAP2)
		r = put_mmap2_part(w, m, rec->misc);
	put_text(w, m->name, m->text_size);
	return r;
}

static int put_task(struct writer *w, const struct coati_task *t)
{
	put_pair(w, t->pid, t->ppid);
	put_pair(w, t->tid, t->ptid);
	writer_u64(w, t->time);
	return 0;
}

static int put_three(struct writer *w, uint64_t a, uint64_t b, uint64_t c)
{
	writer_u64(w, a);
	writer_u64(w, b);
	writer_u64(w, c);
	return 0;
}

static int put_namespaces(struct writer *w, const struct coati_namespaces *n)
{
	if (n->nr > UINT16_MAX || n->links.count != n->nr * 2)
		return -EINVAL;
	put_pair(w, n->pid, n->tid);
	writer_u64(w, n->nr);
	put_numbers(w, &n->links);
	return 0;
}

static int put_ksymbol(struct writer *w, const struct coati_ksymbol *k)
{
	writer_u64(w, k->addr);
	writer_u32(w, k->len);
	writer_u16(w, k->ksym_type);
	writer_u16(w, k->flags);
	put_text(w, k->name, k->text_size);
	return 0;
}

static int put_bpf_event(struct writer *w, const struct coati_bpf_event *b)
{
	writer_u16(w, b->bpf_type);
	writer_u16(w, b->flags);
	writer_u32(w, b->id);
	writer_bytes(w, b->tag, sizeof(b->tag));
	return 0;
}

static int put_text_poke(struct writer *w, const struct coati_text_poke *t)
{
	writer_u64(w, t->addr);
	writer_u16(w, t->old_len);
	writer_u16(w, t->new_len);
	writer_bytes(w, t->bytes, (size_t)t->old_len + t->new_len);
	return 0;
}

static int put_read(struct writer *w, const struct coati_read *r,
		    const struct coati_sample_format *fmt)
{
	if (!layout_read_known(fmt->read_format))
		return -EOPNOTSUPP;
	put_pair(w, r->pid, r->tid);
	return put_read_block(w, &r->block, fmt->read_format);
}

static int put_deferred(struct writer *w, const struct coati_deferred *d)
{
	writer_u64(w, d->cookie);
	writer_u64(w, d->callchain.count);
	put_numbers(w, &d->callchain);
	return 0;
}

static int put_comm(struct writer *w, const struct coati_comm *c)
{
	put_pair(w, c->pid, c->tid);
	put_text(w, c->name, c->text_size);
	return 0;
}

static int put_cgroup(struct writer *w, const struct coati_cgroup *c)
{
	writer_u64(w, c->id);
	put_text(w, c->path, c->text_size);
	return 0;
}

/* Bodies of one or two numbers, and of bytes. */
static int put_short(struct writer *w, const struct coati_record *rec)
{
	switch (rec->type) {
	case COATI_RECORD_LOST:
		writer_u64(w, rec->u.lost.id);
		writer_u64(w, rec->u.lost.lost);
		return 0;
	case COATI_RECORD_ITRACE_START:
		put_pair(w, rec->u.itrace_start.pid, rec->u.itrace_start.tid);
		return 0;
	case COATI_RECORD_LOST_SAMPLES:
		writer_u64(w, rec->u.lost_samples);
		return 0;
	case COATI_RECORD_SWITCH:
		return 0;
	case COATI_RECORD_SWITCH_CPU_WIDE:
		put_pair(w, rec->u.sw.next_prev_pid, rec->u.sw.next_prev_tid);
		return 0;
	case COATI_RECORD_AUX_OUTPUT_HW_ID:
		writer_u64(w, rec->u.aux_hw_id);
		return 0;
	default:
		writer_bytes(w, rec->u.tool.bytes, rec->u.tool.size);
		return 0;
	}
}

static int put_body(struct writer *w, const struct coati_record *rec,
		    const struct coati_sample_format *fmt)
{
	switch (rec->type) {
	case COATI_RECORD_SAMPLE:
		return put_sample(w, rec, fmt);
	case COATI_RECORD_MMAP:
	case COATI_RECORD_MMAP2:
		return put_mmap(w, rec);
	case COATI_RECORD_COMM:
		return put_comm(w, &rec->u.comm);
	case COATI_RECORD_FORK:
	case COATI_RECORD_EXIT:
		return put_task(w, &rec->u.task);
	case COATI_RECORD_THROTTLE:
	case COATI_RECORD_UNTHROTTLE:
		return put_three(w, rec->u.throttle.time, rec->u.throttle.id,
				 rec->u.throttle.stream_id);
	case COATI_RECORD_READ:
		return put_read(w, &rec->u.read, fmt);
	case COATI_RECORD_AUX:
		return put_three(w, rec->u.aux.offset, rec->u.aux.size, rec->u.aux.flags);
	case COATI_RECORD_NAMESPACES:
		return put_namespaces(w, &rec->u.namespaces);
	case COATI_RECORD_KSYMBOL:
		return put_ksymbol(w, &rec->u.ksymbol);
	case COATI_RECORD_BPF_EVENT:
		return put_bpf_event(w, &rec->u.bpf_event);
	case COATI_RECORD_CGROUP:
		return put_cgroup(w, &rec->u.cgroup);
	case COATI_RECORD_TEXT_POKE:
		return put_text_poke(w, &rec->u.text_poke);
	case COATI_RECORD_CALLCHAIN_DEFERRED:
		return put_deferred(w, &rec->u.deferred);
	default:
		return put_short(w, rec);
	}
}

static int put_trailer(struct writer *w, const struct coati_record *rec,
		       const struct coati_sample_format *fmt)
{
	uint64_t type = fmt->sample_type & LAYOUT_TRAILER_BITS;

	if (rec->type == COATI_RECORD_SAMPLE || rec->type >= COATI_RECORD_HEADER_ATTR ||
	    !fmt->trailer_size)
		return 0;
	/* A record of a kernel to come that was too short for a trailer. */
	if (!rec->id.present && !coati_record_name(rec->type))
		return 0;
	if (type & ~rec->id.present)
		return -EINVAL;
	for (int i = 0; i < COATI_LAYOUT_TRAILER; i++)
		if (type & coati_layout_trailer[i])
			put_identity(w, &rec->id, coati_layout_trailer[i]);
	return 0;
}

int coati_record_encode(const struct coati_record *rec, const struct coati_sample_format *fmt,
			void *buf, size_t cap)
{
	struct writer w = writer_over(buf, cap);
	uint16_t size;
	int r;

	writer_u32(&w, rec->type);
	writer_u16(&w, rec->misc);
	writer_u16(&w, 0);
	r = put_body(&w, rec, fmt);
	if (r)
		return r;
	writer_bytes(&w, rec->extra, rec->extra_size);
	r = put_trailer(&w, rec, fmt);
	if (r)
		return r;
	if (w.len > UINT16_MAX)
		return -E2BIG;
	if (w.full)
		return -ENOSPC;
	size = (uint16_t)w.len;
	memcpy((uint8_t *)buf + 6, &size, sizeof(size));
	return size;
}
