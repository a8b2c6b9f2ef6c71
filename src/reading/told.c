/* SPDX-License-Identifier: MIT */
/*
 * Samples that programs took of themselves: they lie in live events, which the source of contexts
 * reads, and become weight of an event of their own. Their times are known, so they may come behind
 * records that are later. Names of threads that no record tells of are those that the program
 * tells.
 */
#include <errno.h>
#include <string.h>

#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/reading.h"
#include "record/batch.h"
#include "record/live-format.h"

#define LABELS_SEED UINT64_C(0x746f6c64) /* apart from the labels of the kernel's samples */

static int find_event(struct reading *r, uint32_t *ret)
{
	const struct coati_recording_event e = {
		.name = COATI_LIVE_CPU,
		.attr = { .type = COATI_TYPE_SOFTWARE,
			  .config = COATI_SW_TASK_CLOCK,
			  .sample_type = COATI_SAMPLE_TID | COATI_SAMPLE_TIME |
					 COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_PERIOD },
	};
	int n = coati_profile_find_event(r->profile, &e, ret);

	if (n == 0)
		r->profile->events.v[*ret].is_live = 1;
	return n;
}

/* ---- who ---- */

static int feed_name(struct reading *r, int32_t pid, int32_t tid, const char *name, uint64_t time)
{
	struct coati_record rec = { .type = COATI_RECORD_COMM,
				    .id = { .present = time ? COATI_SAMPLE_TIME : 0, .time = time },
				    .u.comm = { .pid = (uint32_t)pid, .tid = (uint32_t)tid } };

	if (!*name)
		return 0;
	rec.u.comm.name = name;
	r->task_epoch++;
	return coati_processes_feed(r->processes, NULL, &rec);
}

/* A process has the name of its first thread. */
static const char *name_of(const struct coati_context_sample *s)
{
	bool is_first = s->tid == s->pid && *s->process_comm;

	return *s->comm && !is_first ? s->comm : s->process_comm;
}

/* The name that the program gives itself counts where no record has another; from its first sample
 * back to the beginning. */
static int learn_name(struct reading *r, const struct coati_context_sample *s)
{
	uint64_t key = (uint64_t)(uint32_t)s->pid << 32 | (uint32_t)s->tid, now, last;
	bool is_known = coati_map_get(&r->told_names, key, &last);
	struct coati_thread_info info;
	int n;

	now = coati_hash_bytes(name_of(s), strlen(name_of(s)), 1);
	if (is_known && (last == now || !last))
		return 0;
	n = coati_processes_thread(r->processes, s->pid, s->tid, s->time, &info);
	if (n < 0)
		return n;
	if (!is_known && *info.comm != ':')
		now = 0; /* records tell */
	if (now && !is_known && (!info.process_comm || *info.process_comm == ':'))
		n = feed_name(r, s->pid, s->pid, s->process_comm, 0);
	if (n == 0 && now)
		n = feed_name(r, s->pid, s->tid, name_of(s), is_known ? s->time : 0);
	if (n == 0)
		n = coati_map_put(&r->told_names, key, now);
	return n < 0 ? n : 0;
}

/* ---- one sample ---- */

static int find_labels(struct reading *r, const struct coati_context_sample *s, uint32_t *ret)
{
	uint64_t key = coati_hash_u64(s->labels_key, LABELS_SEED), set;
	uint32_t nr = s->nr_labels < PROFILE_LABELS_MAX ? s->nr_labels : PROFILE_LABELS_MAX;
	int n;

	*ret = 0;
	if (!s->labels_key)
		return 0;
	if (coati_map_get(&r->context_sets, key, &set)) {
		*ret = (uint32_t)set;
		return 0;
	}
	n = coati_profile_find_labels(r->profile, s->labels, nr, ret);
	if (n == 0)
		n = coati_map_put(&r->context_sets, key, *ret);
	return n < 0 ? n : 0;
}

static bool is_nowhere(const struct coati_profile *p, uint32_t stack)
{
	return p->locations.v[p->stacks.v[stack].locations[0]].pub.image == COATI_IMAGE_NONE;
}

/* One that the conditions let through. */
static int fold(struct reading *r, const struct coati_context_sample *s, const struct task *task)
{
	const struct coati_profile *p = r->profile;
	struct coati_profile_entry e = { .thread = task->thread,
					 .cpu = -1,
					 .bin = reading_bin(r, s->time),
					 .count = 1,
					 .weight = s->weight };
	struct chain_key key = { .words = s->frames,
				 .nr = s->nr_frames,
				 .mode = COATI_MISC_USER,
				 .space = task->space,
				 .pid = task->pid,
				 .kernel = r->kernel_epoch };
	const struct moment at = { .time = s->time, .cpu = -1, .number = UINT32_MAX };
	int n = find_labels(r, s, &e.labels);

	if (n == 0)
		n = find_event(r, &e.event);
	if (n < 0)
		return n;
	if (!coati_conditions_labels(&p->conditions, p->label_sets.v[e.labels].labels,
				     p->label_sets.v[e.labels].nr, &p->threads.v[task->thread])) {
		r->profile->quality.filtered++;
		return 0;
	}
	if (!key.nr) { /* nowhere */
		r->words[0] = 0;
		key.words = r->words;
		key.nr = 1;
	}
	if (key.nr >= LIVE_STACK_MAX)
		key.mode |= CHAIN_FULL;
	n = coati_reading_add(r, &key, &e, &at);
	if (n < 0)
		return n;
	r->nr_told++;
	r->nr_nowhere += is_nowhere(p, e.stack);
	return 0;
}

static int take(struct reading *r, const struct coati_context_sample *s)
{
	const struct conditions *c = &r->profile->conditions;
	struct coati_identity id = { .pid = (uint32_t)s->pid, .tid = (uint32_t)s->tid };
	struct task *task;
	int n = learn_name(r, s);

	if (n == 0)
		n = reading_task(r, &id, s->time, &task);
	if (n < 0)
		return n;
	coati_reading_start(r, s->time);
	if (task->passes && coati_conditions_event(c, COATI_LIVE_CPU) &&
	    coati_conditions_cpu(c, -1) && s->time >= r->from && s->time <= r->to)
		return fold(r, s, task);
	r->profile->quality.filtered++;
	return 0;
}

/* ---- batches ---- */

static int drain(struct reading *r)
{
	const struct coati_context_source *source = r->profile->contexts;
	struct coati_context_sample s;
	int n = 0, got;

	while (n == 0 && (got = source->next(source->ctx, &s)) != 0) {
		n = got < 0 ? got : take(r, &s);
		if (n == -E2BIG && got > 0) {
			r->profile->quality.refused++;
			n = 0;
		}
	}
	return n;
}

/* What it is over its limits with is counted; other samples do not suffer from it. */
static int feed(struct reading *r, const void *bytes, size_t size, uint64_t where)
{
	const struct coati_context_source *source = r->profile->contexts;
	int n = source->feed(source->ctx, bytes, size, where);

	if (n == 0)
		n = drain(r);
	if (n == -E2BIG) {
		r->profile->quality.refused++;
		n = 0;
	}
	return n;
}

int coati_reading_live(struct reading *r, const struct coati_recording_item *item,
		       const struct coati_record *rec)
{
	const struct coati_context_source *source = r->profile->contexts;
	struct coati_batch batch;
	int n = r->has_names ? 0 : coati_reading_batch(r, item, rec);

	if (r->profile->flags & COATI_PROFILE_PLACES)
		return coati_batch_decode(rec, item->raw.swap, &batch) == 0 &&
				       batch.kind == COATI_BATCH_TRACE
			       ? coati_reading_live_batch(r, batch.payload, batch.payload_size,
							  batch.time_ns)
			       : 0;
	if (n < 0 || !source || coati_batch_decode(rec, item->raw.swap, &batch) < 0 ||
	    batch.kind != COATI_BATCH_TRACE)
		return n;
	r->has_told = true;
	return source->feed ? feed(r, batch.payload, batch.payload_size, item->offset) : 0;
}

void coati_profile_live_account(const struct coati_profile *p, struct coati_context_account *ret)
{
	*ret = p->live;
}

/* And what samples lack by it, in words. */
static void take_account(struct reading *r)
{
	const struct coati_context_source *source = r->profile->contexts;
	struct coati_context_account a;

	source->account(source->ctx, &a);
	add_weight(&r->profile->live.lost, a.lost);
	add_weight(&r->profile->live.missing, a.missing);
	add_weight(&r->profile->live.damaged, a.damaged);
	if (!r->nr_told)
		return;
	if (a.lost || a.missing || a.damaged)
		coati_profile_add_note(
			r->profile,
			"samples of %s may be missing: %llu live events were lost, %llu batches "
			"are missing and %llu are malformed",
			COATI_LIVE_CPU, (unsigned long long)a.lost, (unsigned long long)a.missing,
			(unsigned long long)a.damaged);
	if (r->nr_nowhere)
		coati_profile_add_note(
			r->profile,
			"%llu of %llu samples of %s have no names: the recording does not show "
			"what was mapped at their addresses",
			(unsigned long long)r->nr_nowhere, (unsigned long long)r->nr_told,
			COATI_LIVE_CPU);
}

bool coati_profile_is_twice(const struct coati_profile *p, uint32_t event, uint32_t thread)
{
	return p->events.v[event].is_live && p->files.v[p->threads.v[thread].file].has_samples;
}

void coati_profile_note_twice(struct coati_profile *p, uint64_t nr)
{
	coati_profile_add_note(
		p,
		"%llu samples that the program took of itself are left out, because the kernel "
		"sampled the same time; --event (-e) %s shows them",
		(unsigned long long)nr, COATI_LIVE_CPU);
}

static int last_told(struct reading *r, const void *bytes, size_t size)
{
	const struct coati_context_source *source = r->profile->contexts;
	struct coati_context_sample s;
	int n = source->feed(source->ctx, bytes, size, 0);

	while (n == 0 && (n = source->next(source->ctx, &s)) > 0) {
		r->end = s.time > r->end ? s.time : r->end;
		n = 0;
	}
	return n == -ENOMEM ? n : 0;
}

int coati_reading_last(struct reading *r, const struct coati_recording *from,
		       const struct coati_recording_item *item)
{
	const struct coati_context_source *source = r->profile->contexts;
	const struct coati_sample_format *fmt;
	struct coati_record rec;
	struct coati_batch batch;

	if (!from)
		return source && source->feed ? last_told(r, NULL, 0) : 0;
	if (item->flags & COATI_RECORDING_ITEM_NO_EVENT ||
	    !coati_reading_is_live(from, item->event)) {
		r->end = item->time > r->end ? item->time : r->end;
		return 0;
	}
	fmt = coati_format_table_get(coati_recording_formats(from), item->event);
	if (!source || !source->feed || !fmt || coati_record_decode(&item->raw, fmt, &rec) < 0 ||
	    coati_batch_decode(&rec, item->raw.swap, &batch) < 0 || batch.kind != COATI_BATCH_TRACE)
		return 0;
	return last_told(r, batch.payload, batch.payload_size);
}

int coati_reading_live_end(struct reading *r)
{
	const struct coati_context_source *source = r->profile->contexts;
	int n = 0;

	if (r->live_places)
		return coati_reading_live_places(r);
	if (!r->has_told)
		return 0;
	if (source->feed)
		n = feed(r, NULL, 0, 0);
	if (n == 0 && source->account)
		take_account(r);
	if (r->no_contexts && r->profile->files.v[r->file].has_samples)
		coati_profile_add_note(
			r->profile,
			"samples lack the labels, tasks and regions of live events: a stream "
			"cannot be read twice; save it as a file");
	return n;
}
