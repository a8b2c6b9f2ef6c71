/* SPDX-License-Identifier: MIT */
/*
 * A sample becomes weight on a stack. Hot: runs for each sample; a thread and a chain that were
 * seen before cost a look-up each, and nothing is allocated.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "process/processes.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/reading.h"
#include "reading/shapes.h"
#include "record/batch.h"
#include "record/record.h"
#include "record/table.h"
#include "recording/recording.h"

struct chain_way coati_reading_way(const struct reading *r, const struct coati_attr *attr)
{
	return coati_chain_way(attr, !(r->profile->flags & COATI_PROFILE_NO_UNWIND), r->is_told);
}

static int plan_event(struct reading *r, uint32_t event, struct plan *plan)
{
	const struct coati_recording_event *e = coati_recording_event(r->recording, event);
	uint64_t type;
	bool off;

	if (!e)
		return -EBADMSG;
	type = e->attr.sample_type;
	off = !(r->profile->flags & COATI_PROFILE_NO_OFF_CPU) && coati_profile_is_off(e);
	*plan = (struct plan){
		.is_known = true,
		.is_live = !strcmp(e->name, COATI_LIVE_EVENT),
		.is_off = off,
		.is_waking = e->attr.type == COATI_TYPE_TRACEPOINT &&
			     (!strncmp(e->name, COATI_IRQ_PREFIX, strlen(COATI_IRQ_PREFIX)) ||
			      (!(r->profile->flags & COATI_PROFILE_WAKES) &&
			       !strcmp(e->name, COATI_OFF_CPU_WAKING))),
		.passes = coati_conditions_event(&r->profile->conditions, e->name),
		.has_period = type & COATI_SAMPLE_PERIOD,
		.way = coati_reading_way(r, &e->attr),
		.reads = type & COATI_SAMPLE_READ && e->attr.read_format & COATI_READ_ID && !off,
		.inherits = e->attr.flags & COATI_ATTR_INHERIT,
		.fixed_weight = e->attr.flags & COATI_ATTR_FREQ || !e->attr.sample_period
					? 1
					: e->attr.sample_period,
	};
	plan->is_plain = plan->passes && !plan->is_live && !off && !plan->is_waking &&
			 !plan->reads && !plan->way.unwinds && !(type & COATI_SAMPLE_CGROUP);
	return plan->is_live || plan->is_waking || !plan->passes
		       ? 0
		       : coati_profile_find_event(r->profile, e, &plan->event);
}

static __attribute__((noinline)) const struct plan *make_plan(struct reading *r, uint32_t event,
							      int *ret_error)
{
	*ret_error = -ENOMEM;
	while (r->plans.len <= event)
		if (!ARRAY_ADD(&r->plans))
			return NULL;
	if (!r->plans.v[event].is_known) {
		*ret_error = plan_event(r, event, &r->plans.v[event]);
		if (*ret_error < 0)
			return NULL;
	}
	return &r->plans.v[event];
}

/* NULL: no memory, or no such event (then *ret_error is -EBADMSG). */
static inline const struct plan *find_plan(struct reading *r, uint32_t event, int *ret_error)
{
	if (event < r->plans.len && r->plans.v[event].is_known)
		return &r->plans.v[event];
	return make_plan(r, event, ret_error);
}

/* ---- what a sample stands for ---- */

/* What one sample stands for: most for their own event, those that read a group for each of its
 * members. */
struct shares {
	const struct share *v; /* NULL: for its own event */
	size_t nr;
	uint64_t own_weight;
};

static int add_share(struct reading *r, uint32_t event, uint64_t weight)
{
	struct share *s = ARRAY_ADD(&r->shares);

	if (!s)
		return r->shares.len >= READING_SHARES_MAX ? 0 : -ENOMEM;
	*s = (struct share){ event, weight };
	return 0;
}

/* What a counter has counted since the sample before; one that went back was set to zero. */
static int count_since(struct reading *r, uint64_t key, uint64_t value, uint64_t *ret)
{
	uint64_t last = 0;
	int n;

	(void)coati_map_get(&r->last_counts, key, &last);
	*ret = value >= last ? value - last : value;
	n = coati_map_put(&r->last_counts, key, value);
	return n < 0 ? n : 0;
}

static int share_count(struct reading *r, uint32_t event, uint64_t weight)
{
	int n = 0;
	const struct plan *plan = find_plan(r, event, &n);

	if (!plan)
		return n == -EBADMSG ? 0 : n;
	/* an untrusted file may name any of its events */
	if (plan->is_live || plan->is_off || plan->is_waking)
		return 0;
	return add_share(r, event, weight);
}

/* Each counter in the sample, by what it has counted since it was last seen: as perf does. */
static __attribute__((noinline)) int share_counts(struct reading *r, const struct coati_record *rec,
						  bool inherits)
{
	const struct coati_format_table *formats = coati_recording_formats(r->recording);
	const struct coati_read_block *block = &rec->u.sample.read;
	struct coati_read_value v;
	uint64_t weight;
	uint32_t event;
	int n = 0;

	r->shares.len = 0;
	for (uint64_t i = 0; n == 0 && coati_read_block_get(block, i, &v) == 0; i++) {
		uint64_t key = inherits ? coati_hash_u64(v.id, rec->id.tid) : v.id;

		if (coati_format_table_find_id(formats, v.id, &event) < 0) {
			r->profile->quality.no_event++;
			continue;
		}
		n = count_since(r, key, v.value, &weight);
		if (n == 0 && weight)
			n = share_count(r, event, weight);
	}
	return n;
}

/* Plans may move while those of members are made: @plan is a copy. */
static inline int find_shares(struct reading *r, const struct plan *plan,
			      const struct coati_record *rec, struct shares *ret)
{
	const struct coati_sample *s = &rec->u.sample;
	int n;

	if (!plan->reads || !(s->present & COATI_SAMPLE_READ)) {
		*ret = (struct shares){ .nr = 1,
					.own_weight =
						plan->has_period ? s->period : plan->fixed_weight };
		return 0;
	}
	n = share_counts(r, rec, plan->inherits);
	*ret = (struct shares){ .v = r->shares.v, .nr = r->shares.len };
	return n;
}

static inline bool any_share_passes(const struct reading *r, const struct plan *plan,
				    const struct shares *shares)
{
	if (!shares->v)
		return plan->passes;
	for (size_t i = 0; i < shares->nr; i++)
		if (r->plans.v[shares->v[i].event].passes)
			return true;
	return false;
}

int coati_reading_find_task(struct reading *r, const struct coati_identity *id, uint64_t time,
			    struct task *t)
{
	int32_t pid = (int32_t)id->pid, tid = (int32_t)id->tid;
	struct coati_profile_thread thread;
	struct coati_thread_info info;
	int n = coati_processes_thread(r->processes, pid, tid, time, &info);

	if (n < 0)
		return n;
	thread =
		(struct coati_profile_thread){ .file = r->file,
					       .process = info.process,
					       .thread = info.thread,
					       .pid = info.pid,
					       .tid = info.tid,
					       .ppid = info.ppid,
					       .comm = info.comm,
					       .process_comm = info.process_comm ? info.process_comm
										 : info.comm };
	*t = (struct task){ .pid = pid,
			    .tid = tid,
			    .space = coati_processes_space(r->processes, pid, time),
			    .passes = coati_conditions_thread(&r->profile->conditions, &thread) };
	n = t->passes ? coati_profile_find_thread(r->profile, &thread, &t->thread) : 0;
	if (n == 0)
		t->epoch = r->task_epoch;
	return n;
}

#define CGROUP_ROOM 24

/* One whose path was not recorded has its number. */
static struct coati_label cgroup_label(struct reading *r, uint64_t cgroup, char room[CGROUP_ROOM])
{
	struct coati_label label = { .key = "cgroup",
				     .value = coati_processes_cgroup(r->processes, cgroup) };

	if (!label.value) {
		snprintf(room, CGROUP_ROOM, "%llu", (unsigned long long)cgroup);
		label.value = room;
	}
	return label;
}

/* Those of the machine, which a recording of an agent has. */
static uint32_t copy_host_labels(const struct reading *r, struct coati_label *to)
{
	for (size_t i = 0; i < r->host_labels.len; i++)
		to[i] = r->host_labels.v[i];
	return (uint32_t)r->host_labels.len;
}

/* What the thread was doing besides, together with its cgroup (0: not known). */
static __attribute__((noinline)) int find_context(struct reading *r,
						  const struct coati_identity *id, uint64_t cgroup,
						  uint64_t time, uint32_t *ret)
{
	const struct coati_context_source *source = r->profile->contexts;
	struct coati_label labels[PROFILE_LABELS_MAX];
	struct coati_label_list found = { 0 };
	uint32_t nr = 0;
	uint64_t key = source->find(source->ctx, (int32_t)id->pid, (int32_t)id->tid, time, &found),
		 set;
	char room[CGROUP_ROOM];
	int n;

	if (!key)
		return 0;
	key = coati_hash_u64(key, coati_hash_u64(cgroup, cgroup ? r->task_epoch : 0));
	if (coati_map_get(&r->context_sets, key, &set)) {
		*ret = (uint32_t)set;
		return 1;
	}
	if (cgroup)
		labels[nr++] = cgroup_label(r, cgroup, room);
	nr += copy_host_labels(r, labels + nr);
	for (uint32_t i = 0; i < found.nr && nr < PROFILE_LABELS_MAX; i++)
		labels[nr++] = found.v[i];
	n = coati_profile_find_labels(r->profile, labels, nr, ret);
	if (n == 0)
		n = coati_map_put(&r->context_sets, key, *ret);
	return n < 0 ? n : 1;
}

/* Those of the cgroup, where it is known, and of the machine: mostly as of the sample before. */
static __attribute__((noinline)) int find_own_labels(struct reading *r, uint64_t cgroup,
						     uint32_t *ret)
{
	struct coati_label labels[READING_HOST_LABELS + 1];
	uint32_t nr = 0;
	char number[CGROUP_ROOM];
	int n;

	if (cgroup != r->cgroup || !r->cgroup_labels || r->cgroup_epoch != r->task_epoch) {
		if (cgroup)
			labels[nr++] = cgroup_label(r, cgroup, number);
		nr += copy_host_labels(r, labels + nr);
		n = coati_profile_find_labels(r->profile, labels, nr, &r->cgroup_labels);
		if (n < 0)
			return n;
		r->cgroup = cgroup;
		r->cgroup_epoch = r->task_epoch;
	}
	*ret = r->cgroup_labels;
	return 0;
}

/* The labels of a sample: its cgroup, where the recording has it, and what live events tell. */
static inline int find_labels(struct reading *r, const struct coati_identity *id, uint64_t cgroup,
			      uint64_t time, uint32_t *ret)
{
	int n = r->finds_labels ? find_context(r, id, cgroup, time, ret) : 0;

	if (n)
		return n < 0 ? n : 0;
	*ret = 0;
	return cgroup || r->host_labels.len ? find_own_labels(r, cgroup, ret) : 0;
}

int coati_reading_labels(struct reading *r, const struct coati_identity *id, uint64_t time,
			 uint32_t *ret)
{
	return find_labels(r, id, 0, time, ret);
}

/* A chain on the way to its stack. */
struct quest {
	const struct chain_key *key;
	uint64_t hash, time;
	uint32_t likely; /* number of the chain; UINT32_MAX: not known */
};

/* @chain: the same at another time; NULL: it was not seen. */
static __attribute__((noinline)) int make_chain(struct reading *r, const struct quest *q,
						struct chain *chain, struct chain **ret)
{
	struct timed_stack found;
	int n = coati_reading_stack(r, q->key, q->time, &found);

	if (n < 0)
		return n;
	if (!chain)
		chain = coati_chains_add(&r->chains, q->key, q->hash);
	if (!chain)
		return -ENOMEM;
	chain->found = found;
	*ret = chain;
	return 0;
}

static inline int find_chain(struct reading *r, const struct quest *q, struct chain **ret)
{
	struct chain *chain = coati_chains_find(&r->chains, q->key, q->hash, q->likely);

	*ret = chain;
	if (chain && timed_stack_holds(&chain->found, q->time))
		return 0;
	return make_chain(r, q, chain, ret);
}

static struct quest quest_of(const struct reading *r, const struct chain_key *key, uint64_t time)
{
	return (struct quest){ .key = key,
			       .hash = coati_chains_hash(&r->chains, key),
			       .time = time,
			       .likely = UINT32_MAX };
}

/* Mostly the same thread goes the same way again. */
static inline int add_entry(struct reading *r, struct chain *chain,
			    const struct coati_profile_entry *e)
{
	struct coati_profile *p = r->profile;

	if (chain->last_entry >= p->entries.len ||
	    !coati_profile_same_entry(p, &p->entries.v[chain->last_entry], e))
		return coati_profile_find_entry(p, e, &chain->last_entry);
	return profile_add_to_entry(p, chain->last_entry, e);
}

static inline void account(struct reading *r, const struct coati_profile_entry *e,
			   const struct moment *at)
{
	uint64_t time = at->time;
	struct coati_profile *p = r->profile;
	struct coati_profile_event *event = &p->events.v[e->event];

	p->files.v[r->file].has_samples |= !event->is_live;
	event->samples++;
	add_weight(&event->weight, e->weight);
	p->quality.samples++;
	if (time && time < p->quality.first_time)
		p->quality.first_time = time;
	if (time > p->quality.last_time)
		p->quality.last_time = time;
	if (p->on_sample) {
		struct coati_profile_sample s = { .time = time,
						  .weight = e->weight,
						  .stack = e->stack,
						  .thread = e->thread,
						  .event = e->event,
						  .labels = e->labels,
						  .cpu = at->cpu,
						  .number = at->number };

		p->on_sample(p->ctx, &s);
	}
}

static inline int add_to_chain(struct reading *r, struct chain *chain,
			       struct coati_profile_entry *e, const struct moment *at)
{
	int n;

	e->stack = chain->found.stack;
	n = add_entry(r, chain, e);
	if (n == 0)
		account(r, e, at);
	return n;
}

int coati_reading_add_to(struct reading *r, struct chain *chain, struct coati_profile_entry *e,
			 const struct moment *at)
{
	return add_to_chain(r, chain, e, at);
}

static inline int add_quest(struct reading *r, const struct quest *q, struct coati_profile_entry *e,
			    const struct moment *at)
{
	struct chain *chain;
	int n = find_chain(r, q, &chain);

	return n < 0 ? n : add_to_chain(r, chain, e, at);
}

int coati_reading_add_hashed(struct reading *r, const struct hashed_key *h,
			     struct coati_profile_entry *e, const struct moment *at)
{
	const struct quest q = {
		.key = &h->key, .hash = h->hash, .time = chain_time(at), .likely = h->likely
	};

	return add_quest(r, &q, e, at);
}

int coati_reading_add(struct reading *r, const struct chain_key *key, struct coati_profile_entry *e,
		      const struct moment *at)
{
	const struct quest q = quest_of(r, key, chain_time(at));

	return add_quest(r, &q, e, at);
}

/* @e is of the sample's own event. */
static inline int add_shares(struct reading *r, const struct shares *shares, struct chain *chain,
			     struct coati_profile_entry *e, const struct moment *at)
{
	int n = 0;

	if (!shares->v) {
		e->weight = shares->own_weight;
		return add_to_chain(r, chain, e, at);
	}
	for (size_t i = 0; n == 0 && i < shares->nr; i++) {
		const struct plan *plan = &r->plans.v[shares->v[i].event];

		if (!plan->passes)
			continue;
		e->event = plan->event;
		e->weight = shares->v[i].weight;
		n = add_to_chain(r, chain, e, at);
	}
	return n;
}

/* The chain of a sample at @time, with the help of its number where it was looked at ahead: then
 * its words are not needed. @key has none yet. */
static bool find_numbered(struct reading *r, const struct chain_key *key, uint64_t time,
			  uint32_t number, struct chain **ret)
{
	struct chain *chain = coati_shapes_find(r->shapes, &r->chains, key, number);

	if (!chain || !timed_stack_holds(&chain->found, time))
		return false;
	*ret = chain;
	return true;
}

static inline int find_chain_of(struct reading *r, const struct plan *plan,
				const struct coati_record *rec, struct chain_key *key,
				struct chain **ret)
{
	const struct coati_sample *s = &rec->u.sample;
	uint64_t time = s->present & COATI_SAMPLE_TIME ? rec->id.time : UINT64_MAX;
	uint32_t number = r->shapes ? r->note : 0;
	uint64_t seen = time;
	struct quest q;
	int n;

	if (!time && !plan->is_off)
		time = UINT64_MAX; /* as of one that is not known */
	if (plan->way.unwinds && coati_reading_walk(r, rec, seen, key)) {
		q = quest_of(r, key, time);
		return find_chain(r, &q, ret);
	}
	if (number && find_numbered(r, key, time, number, ret))
		return 0;
	coati_chain_key(&plan->way, s, r->words, key);
	q = quest_of(r, key, time);
	n = find_chain(r, &q, ret);
	if (n == 0 && number)
		coati_shapes_put(r->shapes, &r->chains, *ret, number);
	return n;
}

/* A sample whose thread is known, and when it was. */
struct placed {
	struct shares shares;
	struct task *task;
	uint64_t time;
};

/* A sample that the conditions let through. */
static inline int fold(struct reading *r, const struct plan *plan, const struct coati_record *rec,
		       const struct placed *placed)
{
	const struct task *task = placed->task;
	const struct coati_sample *s = &rec->u.sample;
	int32_t cpu = s->present & COATI_SAMPLE_CPU ? (int32_t)rec->id.cpu : -1;
	struct coati_profile_entry e = {
		.thread = task->thread,
		.event = plan->event,
		.cpu = r->profile->flags & COATI_PROFILE_PER_CPU ? cpu : -1,
		.bin = reading_bin(r, placed->time),
		.count = 1,
	};
	struct chain_key key = { .mode = rec->misc & COATI_MISC_CPUMODE_MASK,
				 .space = task->space,
				 .pid = task->pid,
				 .kernel = r->kernel_epoch };
	const struct moment at = { .time = s->present & COATI_SAMPLE_TIME ? placed->time : 0,
				   .cpu = cpu,
				   .number = r->nr_samples - 1 };
	struct chain *chain;
	int n = find_labels(r, &rec->id, s->present & COATI_SAMPLE_CGROUP ? s->cgroup : 0,
			    placed->time, &e.labels);

	if (n < 0)
		return n;
	if (!plan->is_off && conditions_want_labels(&r->profile->conditions) &&
	    !coati_conditions_labels(
		    &r->profile->conditions, r->profile->label_sets.v[e.labels].labels,
		    r->profile->label_sets.v[e.labels].nr, &r->profile->threads.v[task->thread])) {
		r->profile->quality.filtered++;
		return 0;
	}
	n = find_chain_of(r, plan, rec, &key, &chain);
	if (n < 0)
		return n;
	return plan->is_off ? coati_off_stack(r, rec, chain->found.stack, e.labels)
			    : add_shares(r, &placed->shares, chain, &e, &at);
}

/* From the time of day to the clock of the recording, by a pair of times. */
static uint64_t clock_of(uint64_t at_wall_ns, uint64_t at_clock_ns, uint64_t wall_ns)
{
	uint64_t apart = wall_ns >= at_wall_ns ? wall_ns - at_wall_ns : at_wall_ns - wall_ns;

	if (wall_ns >= at_wall_ns)
		return at_clock_ns > UINT64_MAX - apart ? UINT64_MAX : at_clock_ns + apart;
	return apart > at_clock_ns ? 0 : at_clock_ns - apart;
}

/* A range by the time of day: nothing of a recording that does not tell it. One that was not
 * finished tells it in its first batch alone. */
static void clip_to_wall(struct reading *r)
{
	const struct conditions *c = &r->profile->conditions;
	const struct coati_recording_info *info = coati_recording_info(r->recording);
	uint64_t wall = info->wall_ns ? info->wall_ns : r->told_wall_ns;
	uint64_t clock = info->wall_ns ? info->clock_ns : r->told_clock_ns;

	if (c->from.kind != TIME_WALL && c->to.kind != TIME_WALL)
		return;
	if (c->from.kind == TIME_WALL)
		r->from = wall ? clock_of(wall, clock, c->from.value) : UINT64_MAX;
	if (c->to.kind == TIME_WALL)
		r->to = wall ? clock_of(wall, clock, c->to.value) : 0;
	if (!wall)
		coati_profile_add_note(
			r->profile,
			"%s does not record the time of day: none of its samples are in the range",
			r->path);
}

/* Where it was, and nothing else. */
static int note_places(struct reading *r, const struct plan *plan, const struct coati_record *rec,
		       uint64_t time)
{
	int32_t pid = rec->id.present & COATI_SAMPLE_TID ? (int32_t)rec->id.pid : -1;
	struct chain_key key = { .mode = rec->misc & COATI_MISC_CPUMODE_MASK,
				 .space = coati_processes_space(r->processes, pid, time),
				 .pid = pid,
				 .kernel = r->kernel_epoch };

	coati_chain_key(&plan->way, &rec->u.sample, r->words, &key);
	return coati_reading_places(r, &key, time);
}

void coati_reading_start(struct reading *r, uint64_t time)
{
	if (r->start)
		return;
	r->start = time;
	coati_conditions_time(&r->profile->conditions, time, r->end, &r->from, &r->to);
	clip_to_wall(r);
}

int coati_reading_sample(struct reading *r, const struct coati_recording_item *item)
{
	struct coati_profile_quality *q = &r->profile->quality;
	struct coati_record rec;
	struct plan planned;
	const struct plan *plan;
	struct placed placed;
	uint64_t time;
	int n;

	r->nr_samples++;
	if (item->flags & COATI_RECORDING_ITEM_NO_EVENT)
		return 0; /* counted by the reader */
	plan = find_plan(r, item->event, &n);
	if (!plan)
		return n == -EBADMSG ? 0 : n;
	if (plan->reads) { /* plans may move while those of the other counters are made */
		planned = *plan;
		plan = &planned;
	}
	if (coati_record_decode(&item->raw, format_table_get(r->formats, item->event), &rec) < 0) {
		q->damaged++;
		return 0;
	}
	if (plan->is_live)
		return coati_reading_live(r, item, &rec);
	/* a recording without times is as it was in the end */
	placed.time = time = rec.id.present & COATI_SAMPLE_TIME ? rec.id.time : UINT64_MAX;
	r->off.samples += plan->is_off || plan->is_waking;
	if (plan->is_waking)
		return coati_off_waking(r, item, &rec);
	if (r->profile->flags & COATI_PROFILE_PLACES)
		return note_places(r, plan, &rec, time);
	coati_reading_start(r, time);
	if (!(rec.id.present & COATI_SAMPLE_TID))
		rec.id.pid = rec.id.tid = UINT32_MAX;
	n = find_shares(r, plan, &rec, &placed.shares);
	if (n == 0 && !placed.shares.nr)
		return 0; /* nothing was counted since the sample before */
	if (n == 0)
		n = reading_task(r, &rec.id, time, &placed.task);
	if (n == 0 && any_share_passes(r, plan, &placed.shares) && placed.task->passes &&
	    (plan->is_off || (time >= r->from && time <= r->to)) &&
	    conditions_cpu(&r->profile->conditions,
			   rec.id.present & COATI_SAMPLE_CPU ? (int32_t)rec.id.cpu : -1))
		n = fold(r, plan, &rec, &placed);
	else if (n == 0 && !plan->is_off)
		q->filtered++;
	if (n == -E2BIG) {
		q->refused++;
		n = 0;
	}
	return n;
}
