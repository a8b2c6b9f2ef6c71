/* SPDX-License-Identifier: MIT */
/* Walks over all views of a record. Uses no test runner: fuzz targets link it too. */
#include "lib/record-views.h"

#include <string.h>

#include "record/record.h"

struct bounds {
	const uint8_t *start, *end;
	bool ok;
	uint64_t sum; /* of all bytes looked at, so that the looking is not optimized away */
};

static void view(struct bounds *b, const void *p, uint64_t size)
{
	const uint8_t *at = p;

	if (!size)
		return;
	if (!at || at < b->start || at > b->end || size > (uint64_t)(b->end - at)) {
		b->ok = false;
		return;
	}
	for (uint64_t i = 0; i < size; i++)
		b->sum += at[i];
}

static void numbers(struct bounds *b, const struct coati_u64s *v)
{
	view(b, v->bytes, (uint64_t)v->count * 8);
	for (uint32_t i = 0; i < v->count; i++)
		b->sum += coati_u64_at(v, i);
}

static void read_block(struct bounds *b, const struct coati_read_block *block)
{
	struct coati_read_value v;

	numbers(b, &block->raw);
	for (uint64_t i = 0; !coati_read_block_get(block, i, &v); i++)
		b->sum += v.value + v.id + v.lost;
}

static void registers(struct bounds *b, const struct coati_regs *r)
{
	uint64_t v;

	numbers(b, &r->values);
	for (uint32_t i = 0; i < 70; i++)
		if (!coati_regs_get(r, i, &v))
			b->sum += v;
}

static void branches(struct bounds *b, const struct coati_branches *s)
{
	struct coati_branch v;

	numbers(b, &s->entries);
	numbers(b, &s->counters);
	for (uint64_t i = 0; !coati_branches_get(s, i, &v); i++)
		b->sum += v.from + v.to + v.flags + v.counter;
}

static void sample(struct bounds *b, const struct coati_sample *s)
{
	if (s->present & COATI_SAMPLE_READ)
		read_block(b, &s->read);
	if (s->present & COATI_SAMPLE_CALLCHAIN)
		numbers(b, &s->callchain);
	if (s->present & COATI_SAMPLE_RAW)
		view(b, s->raw, s->raw_size);
	if (s->present & COATI_SAMPLE_BRANCH_STACK)
		branches(b, &s->branches);
	if (s->present & COATI_SAMPLE_REGS_USER)
		registers(b, &s->regs_user);
	if (s->present & COATI_SAMPLE_STACK_USER) {
		view(b, s->stack, s->stack_size);
		b->ok = b->ok && s->stack_dyn_size <= s->stack_size;
	}
	if (s->present & COATI_SAMPLE_REGS_INTR)
		registers(b, &s->regs_intr);
	if (s->present & COATI_SAMPLE_AUX)
		view(b, s->aux, s->aux_size);
}

const char *record_text(const struct coati_record *rec, size_t *ret_size)
{
	switch (rec->type) {
	case COATI_RECORD_MMAP:
	case COATI_RECORD_MMAP2:
		*ret_size = rec->u.mmap.text_size;
		return rec->u.mmap.name;
	case COATI_RECORD_COMM:
		*ret_size = rec->u.comm.text_size;
		return rec->u.comm.name;
	case COATI_RECORD_KSYMBOL:
		*ret_size = rec->u.ksymbol.text_size;
		return rec->u.ksymbol.name;
	case COATI_RECORD_CGROUP:
		*ret_size = rec->u.cgroup.text_size;
		return rec->u.cgroup.path;
	default:
		return NULL;
	}
}

void record_clear_padding(const struct coati_record *rec)
{
	size_t size, len;
	const char *text = record_text(rec, &size);

	if (!text)
		return;
	len = strlen(text) + 1;
	memset((char *)(uintptr_t)text + len, 0, size - len);
}

static bool has_no_views(uint32_t type)
{
	return type == COATI_RECORD_LOST || type == COATI_RECORD_EXIT ||
	       type == COATI_RECORD_FORK || type == COATI_RECORD_THROTTLE ||
	       type == COATI_RECORD_UNTHROTTLE ||
	       (type >= COATI_RECORD_AUX && type <= COATI_RECORD_SWITCH_CPU_WIDE) ||
	       type == COATI_RECORD_BPF_EVENT || type == COATI_RECORD_AUX_OUTPUT_HW_ID;
}

bool record_views_inside(const struct coati_record *rec, const struct coati_raw *raw)
{
	struct bounds b = { raw->body, raw->body + (raw->size - COATI_RAW_HEADER), true, 0 };
	size_t size;
	const char *text = record_text(rec, &size);

	view(&b, rec->extra, rec->extra_size);
	if (text) {
		view(&b, text, size);
		b.ok = b.ok && memchr(text, 0, size);
	} else if (rec->type == COATI_RECORD_SAMPLE) {
		sample(&b, &rec->u.sample);
	} else if (rec->type == COATI_RECORD_READ) {
		read_block(&b, &rec->u.read.block);
	} else if (rec->type == COATI_RECORD_NAMESPACES) {
		numbers(&b, &rec->u.namespaces.links);
	} else if (rec->type == COATI_RECORD_CALLCHAIN_DEFERRED) {
		numbers(&b, &rec->u.deferred.callchain);
	} else if (rec->type == COATI_RECORD_TEXT_POKE) {
		view(&b, rec->u.text_poke.bytes,
		     (uint64_t)rec->u.text_poke.old_len + rec->u.text_poke.new_len);
	} else if (!has_no_views(rec->type)) {
		view(&b, rec->u.tool.bytes, rec->u.tool.size);
	}
	return b.ok && b.sum != UINT64_MAX;
}

bool record_mirrors(const struct coati_raw *raw, const struct coati_sample_format *fmt)
{
	static uint8_t once[UINT16_MAX], twice[UINT16_MAX];
	struct coati_raw again = *raw;
	struct coati_record rec;

	if (coati_record_decode(raw, fmt, &rec))
		return true;
	if (!record_views_inside(&rec, raw))
		return false;
	record_clear_padding(&rec);
	if (coati_record_encode(&rec, fmt, once, sizeof(once)) != raw->size)
		return false;
	if (!raw->swap && memcmp(once, raw->body - COATI_RAW_HEADER, raw->size))
		return false;
	again.swap = 0;
	again.body = once + COATI_RAW_HEADER;
	return !coati_record_decode(&again, fmt, &rec) &&
	       coati_record_encode(&rec, fmt, twice, sizeof(twice)) == raw->size &&
	       !memcmp(once, twice, raw->size);
}
