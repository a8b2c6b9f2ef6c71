/* SPDX-License-Identifier: MIT */
/*
 * Records that follow each other come in, and are taken as if they came one by one. Most are
 * samples of threads that are known, of which nothing is asked but the stack: what these look up
 * lies all over a memory that is larger than the fast caches, and waiting for it, step by step and
 * sample by sample, would take longer than all else. So the steps are made for all of a bunch
 * before the next one: its hash, the slot that it leads to, the chain, its words; what comes
 * in the end reads what is there. All but the last step only asks for memory, and changes nothing.
 */
#include <errno.h>

#include "reading/hooks.h"
#include "reading/reading.h"
#include "reading/shapes.h"
#include "record/record.h"
#include "record/table.h"

/* A sample on its way to its stack. */
struct going {
	const struct coati_recording_item *item;
	struct hashed_key chain; /* no hash where there is a note */
	uint64_t word;		 /* the chain of one that has none */
	struct coati_profile_entry entry;
	struct moment at;
	uint64_t time; /* that decides about bins and filters */
	uint32_t note; /* of who looked at it ahead; 0: none */
	int32_t tid;
	bool passes;
};

/* Nothing is asked of samples that only a look at each of them can tell. */
static bool may_go(const struct reading *r)
{
	const struct coati_profile *p = r->profile;

	return r->start && !(p->flags & COATI_PROFILE_PLACES) && (!p->on_item || p->on_items) &&
	       !conditions_want_labels(&p->conditions);
}

/* Has any sample labels? */
static bool have_labels(const struct reading *r)
{
	return r->host_labels.len || r->finds_labels;
}

/* Where it is decided whether the chain can be found by its words or by its number. False: the
 * words must be copied first. */
static inline bool put_chain(struct reading *r, const struct plan *plan,
			     const struct coati_record *rec, struct going *g)
{
	const struct coati_u64s *chain = &rec->u.sample.callchain;

	if (g->note) {
		coati_shapes_expect(r->shapes, g->note);
		return true;
	}
	if (plan->way.has_chain && chain->count &&
	    (chain->swap || (uintptr_t)chain->bytes % _Alignof(uint64_t)))
		return false;
	chain_key_fill(&plan->way, &rec->u.sample, (const uint64_t *)(const void *)chain->bytes,
		       &g->word, &g->chain.key);
	g->chain.hash = chains_hash(&r->chains, &g->chain.key);
	chains_expect(&r->chains, g->chain.hash);
	return true;
}

/* False: it is none of those that can go together with others. */
static inline bool prepare(struct reading *r, const struct coati_recording_item *item,
			   uint32_t note, struct going *g)
{
	const struct coati_profile *p = r->profile;
	const struct plan *plan;
	const struct task *task;
	struct coati_record rec;

	if (item->raw.type != COATI_RECORD_SAMPLE || item->flags & COATI_RECORDING_ITEM_NO_EVENT ||
	    item->event >= r->plans.len)
		return false;
	plan = &r->plans.v[item->event];
	if (!plan->is_plain ||
	    coati_record_decode(&item->raw, format_table_get(r->formats, item->event), &rec) < 0)
		return false;
	if (!(rec.id.present & COATI_SAMPLE_TID))
		rec.id.pid = rec.id.tid = UINT32_MAX;
	task = task_slot(r, &rec.id);
	if (!task_is(r, task, &rec.id))
		return false;
	g->item = item;
	g->note = r->shapes ? note : 0;
	g->tid = task->tid;
	g->chain.key = (struct chain_key){ .mode = rec.misc & COATI_MISC_CPUMODE_MASK,
					   .space = task->space,
					   .pid = task->pid,
					   .kernel = r->kernel_epoch };
	if (!put_chain(r, plan, &rec, g))
		return false;
	g->time = rec.id.present & COATI_SAMPLE_TIME ? rec.id.time : UINT64_MAX;
	g->at.time = rec.id.present & COATI_SAMPLE_TIME ? rec.id.time : 0;
	g->at.cpu = rec.id.present & COATI_SAMPLE_CPU ? (int32_t)rec.id.cpu : -1;
	g->at.number = r->nr_samples++;
	g->passes = task->passes && g->time >= r->from && g->time <= r->to &&
		    conditions_cpu(&p->conditions, g->at.cpu);
	g->entry = (struct coati_profile_entry){
		.thread = task->thread,
		.event = plan->event,
		.cpu = p->flags & COATI_PROFILE_PER_CPU ? g->at.cpu : -1,
		.count = 1,
		.weight = plan->has_period ? rec.u.sample.period : plan->fixed_weight,
	};
	return true;
}

/* What is most likely looked up for them. */
static void expect(const struct reading *r, struct going *v, uint32_t nr)
{
	const struct coati_profile *p = r->profile;

	for (uint32_t i = 0; i < nr; i++)
		v[i].chain.likely =
			v[i].note ? coati_shapes_expect_chain(r->shapes, &r->chains, v[i].note)
				  : chains_expect_chain(&r->chains, v[i].chain.hash);
	for (uint32_t i = 0; i < nr; i++) {
		const struct chain *chain = chains_get(&r->chains, v[i].chain.likely);

		if (!chain)
			continue;
		if (!v[i].note)
			chain_expect_words(chain);
		if (chain->last_entry < p->entries.len)
			__builtin_prefetch(&p->entries.v[chain->last_entry]);
	}
}

/* What was known when it was prepared is not so any more: as if it came now. */
static int take_again(struct reading *r, const struct going *g)
{
	uint32_t nr_samples = r->nr_samples;
	int n;

	r->nr_samples = g->at.number;
	r->note = g->note;
	n = coati_reading_sample(r, g->item);
	r->nr_samples = nr_samples;
	return n;
}

static inline int add(struct reading *r, struct going *g, struct chain *chain)
{
	const struct coati_identity id = { .pid = (uint32_t)g->chain.key.pid,
					   .tid = (uint32_t)g->tid };
	int n = have_labels(r) ? coati_reading_labels(r, &id, g->time, &g->entry.labels) : 0;

	if (n < 0)
		return n;
	g->entry.bin = reading_bin(r, g->time);
	return chain ? coati_reading_add_to(r, chain, &g->entry, &g->at)
		     : coati_reading_add_hashed(r, &g->chain, &g->entry, &g->at);
}

static inline int finish(struct reading *r, struct going *g)
{
	struct chain *chain = NULL;
	int n;

	if (!g->passes) {
		r->profile->quality.filtered++;
		return 0;
	}
	if (g->note) {
		chain = coati_shapes_find(r->shapes, &r->chains, &g->chain.key, g->note);
		if (!chain || !timed_stack_holds(&chain->found, chain_time(&g->at)))
			return take_again(r, g);
	}
	n = add(r, g, chain);
	if (n != -E2BIG)
		return n;
	r->profile->quality.refused++;
	return 0;
}

/* Samples from @first on that can go together; *ret_nr: how many. */
static int take_some(struct reading *r, const struct recording_bunch *b, uint32_t first,
		     uint32_t *ret_nr)
{
	uint32_t nr = 0, tasks = r->task_epoch, kernel = r->kernel_epoch;
	const struct coati_profile *p = r->profile;
	struct going v[RECORDING_BUNCH];
	int n = 0;

	while (first + nr < b->nr &&
	       prepare(r, &b->items[first + nr], b->notes[first + nr], &v[nr]))
		nr++;
	*ret_nr = nr;
	if (nr && p->on_items)
		n = p->on_items(p->ctx, r->recording, &b->items[first], nr);
	expect(r, v, nr);
	for (uint32_t i = 0; n == 0 && i < nr; i++)
		n = r->task_epoch == tasks && r->kernel_epoch == kernel ? finish(r, &v[i])
									: take_again(r, &v[i]);
	return n;
}

int coati_reading_take_bunch(struct reading *r, const struct recording_bunch *b)
{
	uint32_t i = 0, nr;
	int n = 0;

	while (n == 0 && i < b->nr) {
		nr = 0;
		if (may_go(r))
			n = take_some(r, b, i, &nr);
		i += nr;
		if (n < 0 || i == b->nr)
			break;
		r->note = b->notes[i];
		n = coati_reading_take(r, &b->items[i++]);
	}
	return n;
}
