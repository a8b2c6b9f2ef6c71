/* SPDX-License-Identifier: MIT */
/* see walks.h */
#include "capture/walks.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "capture/attr.h"
#include "capture/spans.h"
#include "event/set.h"

#define IDS_MAX	    16384
#define REPORTS_MAX 8192
#define CPU_AT	    40 /* in a sample of CAPTURE_IDENTITY, header included */
#define LOST_ID_AT  8
#define LOST_LEAST  32 /* with the id of its trailer */
#define RAW_AT	    48 /* the length of the payload, then its bytes */

int coati_walks_new(const struct walker_opts *opts, struct walks **ret, struct coati_error *err)
{
	struct walks *ws = coati_alloc(sizeof(*ws));
	int r = ws ? coati_walker_open(opts, &ws->walker, err)
		   : coati_fail(err, -ENOMEM, "out of memory for the stack walker");

	if (r < 0) {
		coati_free(ws);
		return r;
	}
	coati_map_init(&ws->ids, IDS_MAX);
	ws->reports.max = REPORTS_MAX;
	*ret = ws;
	return 0;
}

void coati_walks_close(struct walks *ws)
{
	coati_describer_fini(&ws->describer);
	coati_set_close(&ws->stacks);
	coati_set_close(&ws->needs);
	coati_map_fini(&ws->ids);
	coati_map_init(&ws->ids, IDS_MAX);
}

void coati_walks_free(struct walks **wsp)
{
	struct walks *ws = *wsp;

	if (!ws)
		return;
	*wsp = NULL;
	coati_walks_close(ws);
	coati_map_fini(&ws->ids);
	for (size_t i = 0; i < ws->reports.len; i++)
		coati_free(ws->reports.v[i].bytes);
	ARRAY_FINI(&ws->reports);
	coati_thread_labels_free(&ws->labels);
	coati_walker_close(&ws->walker);
	coati_free(ws);
}

int coati_walks_open(struct walks *ws, const struct coati_event_list *list,
		     const struct coati_attr *side, const char *cpus, struct coati_error *err)
{
	struct coati_set_opts o = {
		.size = sizeof(o), .flags = COATI_SET_NEGOTIATE, .cpus = cpus, .attrs = &ws->attr
	};
	int r;

	ws->attr = *side;
	ws->attr.config = COATI_SW_BPF_OUTPUT;
	ws->attr.sample_type = CAPTURE_IDENTITY | COATI_SAMPLE_RAW;
	ws->attr.read_format = COATI_READ_ID | COATI_READ_LOST;
	ws->attr.flags &= COATI_ATTR_SAMPLE_ID_ALL | COATI_ATTR_USE_CLOCKID | COATI_ATTR_WATERMARK;
	coati_sample_format_init(&ws->attr, &ws->format);
	r = coati_set_open(list, &o, &ws->stacks, err);
	ws->attr.wakeup = 1;
	return r < 0 ? r : coati_set_open(list, &o, &ws->needs, err);
}

/* Tell the walker of the events of @set. */
static int connect_set(struct walks *ws, const struct coati_set *set, enum walker_output output,
		       struct coati_error *err)
{
	int r = 0;

	for (uint32_t i = 0; r >= 0 && i < coati_set_count(set); i++) {
		struct coati_set_entry e;

		if (coati_set_entry(set, i, &e) < 0)
			continue;
		r = coati_walker_connect(ws->walker, output, e.cpu, coati_event_fd(e.handle));
		if (r < 0)
			coati_fail(err, r, "connecting the stack walker on CPU %d: %m", e.cpu);
	}
	return r;
}

int coati_walks_connect(struct walks *ws, struct rings *rings, struct coati_error *err)
{
	int r = coati_rings_connect(rings, ws->stacks, false, NULL, err);

	for (uint32_t i = 0; r >= 0 && i < coati_set_count(ws->stacks); i++) {
		struct coati_set_entry e;
		uint64_t id;

		if (coati_set_entry(ws->stacks, i, &e) < 0 || coati_event_id(e.handle, &id) < 0)
			continue;
		r = coati_map_put(&ws->ids, id, 1);
		if (r < 0)
			coati_fail(err, r, "connecting the stack walker: %m");
	}
	if (r >= 0)
		r = connect_set(ws, ws->stacks, WALKER_STACKS, err);
	return r < 0 ? r : coati_set_enable(ws->stacks, err);
}

uint64_t coati_walks_dropped(struct walks *ws)
{
	uint64_t sum = 0, before = ws->dropped;

	for (uint32_t i = 0; ws->stacks && i < coati_set_count(ws->stacks); i++) {
		struct coati_set_entry e;
		struct coati_count c;

		if (coati_set_entry(ws->stacks, i, &e) == 0 &&
		    coati_event_attr(e.handle)->read_format & COATI_READ_LOST &&
		    coati_set_read(ws->stacks, i, &c) >= 0)
			sum += c.lost;
	}
	ws->dropped = sum > before ? sum : before;
	return ws->dropped - before;
}

int coati_walks_listen(struct walks *ws, const char *procfs, struct coati_error *err)
{
	int r = coati_describer_init(&ws->describer, ws->walker, procfs, err);

	if (r == 0)
		r = coati_describer_listen(&ws->describer, ws->needs, err);
	if (r == 0)
		r = connect_set(ws, ws->needs, WALKER_NEEDS_OUT, err);
	return r < 0 ? r : coati_set_enable(ws->needs, err);
}

int coati_walks_read_labels(struct walks *ws, bool but_traced)
{
	int r = coati_thread_labels_new(&ws->labels);

	ws->describer.describe.labels = ws->labels;
	ws->describer.describe.without_traced = but_traced;
	return r;
}

void coati_walks_forget(struct walks *ws, int32_t pid, uint64_t time)
{
	coati_describer_forget(&ws->describer, pid, time);
}

/* ---- records ---- */

static uint32_t u32_at(const uint8_t *p, size_t at)
{
	uint32_t v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

/* The payload of a sample of the walker; NULL: it has less than @least bytes. */
static const uint8_t *payload(const uint8_t *record, size_t least, uint32_t *ret_size)
{
	size_t size = record_size(record);
	uint32_t raw;

	if (size < RAW_AT + 4)
		return NULL;
	raw = u32_at(record, RAW_AT);
	if (raw > size - RAW_AT - 4 || raw < least)
		return NULL;
	*ret_size = raw;
	return record + RAW_AT + 4;
}

static struct walk_report *report_of(struct walks *ws, uint32_t cpu)
{
	while (ws->reports.len <= cpu)
		if (!ARRAY_ADD(&ws->reports))
			return NULL;
	if (!ws->reports.v[cpu].bytes)
		ws->reports.v[cpu].bytes = coati_alloc(SPANS_RECORD_MAX);
	return ws->reports.v[cpu].bytes ? &ws->reports.v[cpu] : NULL;
}

static void take_stack(struct walks *ws, const uint8_t *record)
{
	uint32_t size;
	const uint8_t *bytes = payload(record, sizeof(struct walker_head), &size);
	struct walk_report *r = bytes ? report_of(ws, u32_at(record, CPU_AT)) : NULL;

	if (!r)
		return;
	r->tid = u32_at(record, CAPTURE_TID_AT + 4);
	r->size = size;
	memcpy(r->bytes, bytes, size);
}

bool coati_walks_need(const uint8_t *record, int32_t *ret_pid, struct walker_need *ret)
{
	uint32_t size;
	const uint8_t *bytes = record_type(record) == COATI_RECORD_SAMPLE
				       ? payload(record, sizeof(*ret), &size)
				       : NULL;

	if (!bytes)
		return false;
	*ret_pid = (int32_t)u32_at(record, CAPTURE_TID_AT);
	memcpy(ret, bytes, sizeof(*ret));
	return *ret_pid > 0;
}

const uint8_t *coati_walks_known(struct walks *ws, const uint8_t *record)
{
	size_t size = record_size(record);
	uint64_t id, unused;

	if (record_type(record) != COATI_RECORD_LOST || size < LOST_LEAST ||
	    size > sizeof(ws->loss))
		return record;
	memcpy(&id, record + LOST_ID_AT, sizeof(id));
	if (!coati_map_get(&ws->ids, id, &unused))
		return record;
	memcpy(ws->loss, record, size);
	memcpy(ws->loss + LOST_ID_AT, &ws->known_id, sizeof(id));
	memcpy(ws->loss + size - sizeof(id), &ws->known_id, sizeof(id)); /* of the trailer */
	return ws->loss;
}

bool coati_walks_take(struct walks *ws, const uint8_t *record)
{
	uint64_t id, unused;

	if (record_type(record) != COATI_RECORD_SAMPLE || record_size(record) < RAW_AT + 4)
		return false;
	memcpy(&id, record + CAPTURE_ID_AT, sizeof(id));
	if (!coati_map_get(&ws->ids, id, &unused))
		return false;
	take_stack(ws, record);
	return true;
}

/* The record of labels at the end of a report. */
static bool unpack_labels(const uint8_t *at, size_t left, struct walked *ret)
{
	uint16_t size;

	if (left < WALKER_LABEL_HEAD)
		return false;
	memcpy(&size, at + WALKER_LABEL_SIZE, sizeof(size));
	if (size > WALKER_LABEL_BYTES || size > left - WALKER_LABEL_HEAD)
		return false;
	ret->labels = at + WALKER_LABEL_HEAD;
	ret->label_bytes = size;
	return true;
}

/* Registers and stack, behind which *at is then. */
static bool unpack_copy(const struct walker_head *h, const uint8_t **at, size_t *left,
			struct walked *ret)
{
	const size_t regs = (WALKER_REGS + 1) * 8;

	if (*left < regs || h->stack_bytes > *left - regs)
		return false;
	ret->regs = (const void *)*at;
	ret->stack_addr = ret->regs[WALKER_REGS];
	ret->stack = *at + regs;
	ret->stack_bytes = h->stack_bytes;
	*at += regs + h->stack_bytes;
	*left -= regs + h->stack_bytes;
	return true;
}

/* Do the parts that the head names lie inside? */
static bool unpack(const struct walk_report *r, const struct walker_head *h, struct walked *ret)
{
	const uint8_t *at = r->bytes + sizeof(*h);
	size_t left = r->size - sizeof(*h);

	*ret = (struct walked){ .family = h->family,
				.end = h->end,
				.flags = h->flags,
				.nr_frames = h->nr_frames,
				.frames = (const void *)at };
	if (h->end >= WALKER_ENDS || h->nr_frames > left / 8)
		return false;
	at += (size_t)h->nr_frames * 8;
	left -= (size_t)h->nr_frames * 8;
	if (h->nr_chain > left / 8)
		return false;
	ret->chain = (const void *)at;
	ret->nr_chain = h->nr_chain;
	at += (size_t)h->nr_chain * 8;
	left -= (size_t)h->nr_chain * 8;
	if (h->flags & WALKER_HAS_COPY && !unpack_copy(h, &at, &left, ret))
		return false;
	return !(h->flags & WALKER_HAS_LABELS) || unpack_labels(at, left, ret);
}

bool coati_walks_match(struct walks *ws, const struct coati_record *sample, struct walked *ret)
{
	struct walk_report *r =
		sample->id.cpu < ws->reports.len ? &ws->reports.v[sample->id.cpu] : NULL;
	struct walker_head h;
	bool fits;

	if (r && r->size) {
		memcpy(&h, r->bytes, sizeof(h));
		fits = r->tid == sample->id.tid && (!h.ip || h.ip == sample->u.sample.ip) &&
		       unpack(r, &h, ret);
		r->size = 0;
		if (fits)
			return true;
	}
	ws->missing++;
	return false;
}
