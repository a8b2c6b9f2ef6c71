/* SPDX-License-Identifier: MIT */
/*
 * The two ends of a recording. At its beginning: the events, what is known of the machine, and what
 * runs already. At its end: losses, build ids and our own account. A capture may have several
 * recordings one after the other; each is whole in itself.
 */
#include "capture/capture.h"
#include "capture/asleep.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "capture/session.h"
#include "capture/synth.h"
#include "event/event.h"
#include "event/list.h"
#include "event/set.h"
#include "event/tracefs.h"
#include "record/batch.h"
#include "recording/recording.h"
#include "recording/writer.h"
#include "unwind/unwinder.h"

#define STATS_BYTES 8192

static void writer_drop(struct coati_writer **w)
{
	coati_writer_close(w, NULL);
}

/* ---- events ---- */

/* The ids of event @event on all of its targets; their number. */
static uint32_t gather_ids(const struct coati_set *set, uint32_t event, uint64_t *ids)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < coati_set_count(set); i++) {
		struct coati_set_entry e;

		if (coati_set_entry(set, i, &e) == 0 && e.event == event &&
		    coati_event_id(e.handle, &ids[nr]) == 0)
			nr++;
	}
	return nr;
}

/* Groups as they were opened: of what is there, the first leads. */
struct group_run {
	int32_t group;
	uint32_t leader, nr;
};

static void end_group(struct coati_writer *w, struct group_run *g)
{
	if (g->nr > 1)
		(void)coati_writer_group(w, g->leader, g->nr);
	*g = (struct group_run){ .group = -1 };
}

static void join_group(struct coati_writer *w, struct group_run *g, int32_t group, uint32_t index)
{
	if (g->nr && group == g->group && group >= 0) {
		g->nr++;
		return;
	}
	end_group(w, g);
	*g = (struct group_run){ .group = group, .leader = index, .nr = 1 };
}

static int add_events(struct coati_capture *cap, int which, struct coati_writer *w, uint32_t *index,
		      struct coati_error *err)
{
	const struct capture_set_state *st = &cap->sets[which];
	uint32_t lead = which == SET_EVENTS ? coati_coverage_lead(&cap->coverage, st->attrs)
					    : COVERAGE_NONE;
	CLEANUP(freep)
	uint64_t *ids = coati_alloc_array(coati_set_count(st->set) + 1u, sizeof(*ids));
	struct group_run g = { .group = -1 };

	if (!ids)
		return coati_fail(err, -ENOMEM, "out of memory");
	for (uint32_t i = 0; i < coati_event_list_count(st->list); i++) {
		const struct coati_event_desc *d = coati_event_list_get(st->list, i);
		struct coati_attr attr = st->attrs[i];
		bool broken = coati_set_event_dropped(st->set, i) & COATI_DROP_GROUP;
		uint32_t nr = gather_ids(st->set, i, ids);
		int r;

		if (!nr)
			continue;
		if (st->unwinds && st->unwinds[i])
			coati_stacks_attr(&attr);
		r = coati_writer_add_event(
			w,
			&(struct coati_recording_event){
				.name = d->name, .attr = attr, .ids = ids, .nr_ids = nr },
			err);
		if (r < 0)
			return r;
		if (i == lead)
			cap->lead_index = *index;
		join_group(w, &g, broken ? -1 : d->group, *index);
		(*index)++;
	}
	end_group(w, &g);
	return 0;
}

static bool has_tracepoints(const struct coati_capture *cap)
{
	const struct coati_event_list *list = cap->sets[SET_EVENTS].list;

	if (cap->sets[SET_WAKE].set || cap->sets[SET_IRQ].set)
		return true;
	for (uint32_t i = 0; i < coati_event_list_count(list); i++)
		if (coati_event_list_get(list, i)->attr.type == COATI_TYPE_TRACEPOINT)
			return true;
	return false;
}

static int add_tracing_data(const struct coati_capture *cap, struct coati_writer *w,
			    struct coati_error *err)
{
	char tracefs[512];
	int r;

	if (!has_tracepoints(cap))
		return 0;
	r = coati_tracefs_find(cap->opts.tracefs, tracefs, sizeof(tracefs), err);
	return r < 0 ? r : coati_writer_tracing_data(w, tracefs, err);
}

static bool samples_branches(const struct coati_capture *cap)
{
	const struct capture_set_state *st = &cap->sets[SET_EVENTS];

	for (uint32_t i = 0; i < coati_event_list_count(st->list); i++)
		if (st->attrs[i].sample_type & COATI_SAMPLE_BRANCH_STACK &&
		    !(st->attrs[i].branch_sample_type & COATI_BRANCH_CALL_STACK))
			return true;
	return false;
}

static int add_live_event(struct coati_writer *w, struct coati_error *err)
{
	const uint64_t id = COATI_LIVE_ID;
	struct coati_attr attr;

	coati_batch_attr(&attr);
	return coati_writer_add_event(
		w,
		&(struct coati_recording_event){
			.name = COATI_LIVE_EVENT, .attr = attr, .ids = &id, .nr_ids = 1 },
		err);
}

static int write_head(struct coati_capture *cap, struct coati_writer *w, struct coati_error *err)
{
	uint32_t index = 0;
	int r = 0;

	for (int i = 0; r == 0 && i < NR_SETS; i++)
		r = cap->sets[i].set ? add_events(cap, i, w, &index, err) : 0;
	if (r == 0 && (cap->opts.flags & COATI_CAPTURE_LIVE || coati_writer_is_pipe(w)))
		r = add_live_event(w, err);
	if (r < 0)
		return r;
	r = coati_writer_host_features(w, (int)cap->opts.argc, cap->opts.argv);
	if (r == 0 && samples_branches(cap))
		r = coati_writer_feature(w, COATI_FEATURE_BRANCH_STACK, "\0\0\0", 4);
	if (r < 0)
		return coati_fail(err, r, "cannot describe this machine: %m");
	r = add_tracing_data(cap, w, err);
	return r < 0 ? r : coati_writer_start(w, err);
}

/* ---- what runs already ---- */

static int describe_tasks(struct coati_capture *cap, struct synth *s)
{
	const struct coati_capture_opts *o = &cap->opts;
	uint64_t pid, unused;
	size_t pos = 0;
	int r = 0;

	if (!cap->tasks)
		return coati_synth_all(s);
	if (cap->tally.tasks.on && cap->parts) {
		while (r >= 0 && coati_map_next(&cap->tally.tasks.pids, &pos, &pid, &unused))
			r = coati_synth_process(s, (int32_t)pid);
	} else if (o->flags & COATI_CAPTURE_ON_EXEC) {
		r = coati_synth_held(s, o->pids[0]);
	} else {
		for (uint64_t i = 0; r >= 0 && i < o->nr_pids; i++)
			r = coati_synth_process(s, o->pids[i]);
	}
	for (uint64_t i = 0; r >= 0 && i < o->nr_tids; i++)
		r = coati_synth_thread(s, o->tids[i] ? o->tids[i] : gettid());
	return r;
}

static int finish_init(struct coati_writer *w)
{
	const struct {
		uint32_t type;
		uint16_t misc, size;
	} rec = { COATI_RECORD_FINISHED_INIT, 0, sizeof(rec) };

	return coati_writer_record(w, &rec, sizeof(rec));
}

static int describe_state(struct coati_capture *cap, struct coati_writer *w,
			  struct coati_error *err)
{
	struct synth s = {
		.writer = w,
		.format = &cap->tally.format,
		.id = cap->side_id,
		.images = &cap->tally.images,
		.flags = cap->opts.flags,
		.namespaces = cap->opts.flags & COATI_CAPTURE_NAMESPACES,
		.build_ids = cap->sets[SET_SIDE].attrs[0].flags & COATI_ATTR_BUILD_ID,
	};
	int r = coati_synth_open(&s, cap->opts.procfs, err);

	if (r == 0) {
		if (cap->has_kernel)
			r = coati_synth_kernel(&s);
		if (r >= 0 && cap->has_kernel &&
		    cap->sets[SET_SIDE].attrs[0].flags & COATI_ATTR_BPF_EVENT)
			r = coati_synth_bpf(&s);
		if (r >= 0 && cap->opts.flags & COATI_CAPTURE_CGROUPS)
			r = coati_synth_cgroups(&s);
		if (r >= 0)
			r = describe_tasks(cap, &s);
		if (r >= 0)
			r = finish_init(w);
		if (r < 0)
			coati_fail(err, r, "cannot describe the running processes: %m");
	}
	cap->synthesized += s.nr;
	coati_synth_close(&s);
	return r;
}

/* The first records of a recording whose writer the capture has. */
static int begin_records(struct coati_capture *cap)
{
	int r = coati_writer_round(cap->writer);

	/* of a later recording; of the first, when its events run */
	return r >= 0 && cap->parts > 1 && cap->started ? coati_asleep_write(cap) : r;
}

/* It could not be begun: the next one takes its place, from the same moment on. */
static void take_back(struct coati_capture *cap)
{
	writer_drop(&cap->writer);
	if (--cap->parts)
		cap->end_ns = cap->begin_ns;
}

int coati_capture_begin(struct coati_capture *cap, struct coati_writer **writer,
			struct coati_error *err)
{
	CLEANUP(writer_drop) struct coati_writer *w = writer ? TAKE_PTR(*writer) : NULL;
	int r;

	if (!cap || !w || cap->writer)
		return coati_fail(err, -EINVAL,
				  "a recording needs a writer, and the one before to be finished");
	r = write_head(cap, w, err);
	if (r == 0)
		r = describe_state(cap, w, err);
	if (r < 0)
		return r;
	coati_steal_begin(&cap->steal, cap->opts.procfs, now_ns());
	if (cap->parts++)
		cap->begin_ns = cap->end_ns;
	cap->end_ns = 0;
	cap->tally.nr_named = 0; /* each recording names its wakers */
	if (cap->walks && cap->walks->labels)
		coati_thread_labels_restart(cap->walks->labels);
	cap->writer = TAKE_PTR(w);
	cap->drained_ns = now_ns();
	r = begin_records(cap);
	if (r < 0)
		take_back(cap);
	return r < 0 ? coati_fail(err, r, "cannot write the recording: %m") : 0;
}

int coati_capture_record(struct coati_capture *cap, const char *path, struct coati_error *err)
{
	struct coati_writer_opts o = { .size = sizeof(o) };
	struct coati_writer *w = NULL;
	int r;

	if (!cap || !path || cap->writer)
		return coati_fail(err, -EINVAL,
				  "a recording needs a path, and the one before to be finished");
	o.zstd_level = cap->opts.zstd_level;
	o.max_bytes = cap->opts.max_bytes;
	r = coati_writer_open(path, &o, &w, err);
	return r < 0 ? r : coati_capture_begin(cap, &w, err);
}

void coati_capture_before_end(struct coati_capture *cap, coati_capture_end_fn fn, void *ctx)
{
	cap->before_end = fn;
	cap->before_end_ctx = ctx;
}

/* ---- the end ---- */

/* How the stacks came out that were unwound here. */
static int print_stacks(const struct coati_capture_stats *st, char *text, size_t size)
{
	int n = snprintf(
		text, size,
		"stacks_marked=1\nstacks_guessed=%llu\nstacks_none=%llu\nstacks_pointers=%llu\n",
		(unsigned long long)st->stack_guesses, (unsigned long long)st->stack_none,
		(unsigned long long)st->stack_pointers);

	for (int i = 0; i < COATI_UNWIND_END_COUNT; i++)
		n += snprintf(text + n, size - (size_t)n, "stacks_%s=%llu\noff_stacks_%s=%llu\n",
			      coati_unwind_end_name(i), (unsigned long long)st->stack_ends[i],
			      coati_unwind_end_name(i),
			      (unsigned long long)st->switch_stack_ends[i]);
	return n;
}

/* What the walker in the kernel did: by what its walks ended there. */
static int print_walks(struct walks *ws, const struct coati_capture_stats *st, char *text,
		       size_t size)
{
	int n = snprintf(text, size,
			 "walks=%llu\nwalk_frames=%llu\nwalk_copies=%llu\nwalks_lost=%llu\n"
			 "walk_ns=%llu\nwalk_runs=%llu\nwalks_dropped=%llu\n",
			 (unsigned long long)st->walks, (unsigned long long)st->walk_frames,
			 (unsigned long long)st->walk_copies, (unsigned long long)st->walks_lost,
			 (unsigned long long)st->walk_ns, (unsigned long long)st->walk_runs,
			 (unsigned long long)coati_walks_dropped(ws));

	for (uint32_t i = 0; coati_walk_end_name(i); i++)
		n += snprintf(text + n, size - (size_t)n, "walks_%s=%llu\n", coati_walk_end_name(i),
			      (unsigned long long)st->walk_ends[i]);
	return n;
}

/* How much of what was counted has samples, in the recording that ends. */
static int print_coverage(const struct coati_capture *cap, char *text, size_t size)
{
	const struct capture_set_state *st = &cap->sets[SET_EVENTS];
	uint32_t lead = coati_coverage_lead(&cap->coverage, st->attrs);
	const struct coverage_event *e = lead == COVERAGE_NONE ? NULL : &cap->coverage.v[lead];

	/* not read: this recording ended early */
	if (!e || e->counted <= e->counted_before)
		return 0;
	return snprintf(text, size,
			"sampled_event=%u\nsampled=%llu\nsampled_period=%llu\ncounted=%llu\n"
			"sampled_part=%d\nexits=%llu\n",
			cap->lead_index, (unsigned long long)(e->sampled - e->sampled_before),
			(unsigned long long)coati_coverage_period(e, &st->attrs[lead]),
			(unsigned long long)(e->counted - e->counted_before),
			coati_coverage_is_partial(&st->attrs[lead]),
			/* with events of CPUs those of others are among them */
			(unsigned long long)(cap->tasks && cap->scope != SCOPE_SIDE
						     ? cap->tally.exits - cap->exits_before
						     : 0));
}

/* A section that only we know, which readers of files skip. Readers of pipes do not: a batch. */
static int put_stats(struct coati_capture *cap, const char *text, size_t size)
{
	struct coati_batch b = { .kind = COATI_BATCH_STATS,
				 .version = 1,
				 .pid = (uint32_t)getpid(),
				 .tid = (uint32_t)gettid(),
				 .time_ns = now_ns(),
				 .payload = (const uint8_t *)text,
				 .payload_size = (uint32_t)size };

	if (!coati_writer_is_pipe(cap->writer))
		return coati_writer_feature(cap->writer, COATI_FEATURE_RECORDER, text, size);
	return coati_writer_batch(cap->writer, &b);
}

/* What the recorder did, as text. */
static int write_stats(struct coati_capture *cap)
{
	bool pipe = coati_writer_is_pipe(cap->writer);
	size_t size = pipe ? COATI_LIVE_BATCH_MAX : STATS_BYTES + STEAL_BYTES;
	struct coati_capture_stats st = { .size = sizeof(st) };
	CLEANUP(freep) char *text = NULL;
	int n;

	text = coati_alloc(size);
	if (!text)
		return -ENOMEM;
	coati_capture_get_stats(cap, &st);
#define N(x) (unsigned long long)(x)
	n = snprintf(
		text, STATS_BYTES,
		"samples=%llu\nlost=%llu\nlost_exact=%llu\nthrottled=%llu\nrecords=%llu\n"
		"rounds=%llu\nwakeups=%llu\nsnapshots=%llu\noverwritten=%llu\ndamaged_bytes=%llu\n"
		"rings=%llu\nring_bytes=%llu\ncpu_ns=%llu\nbegin_ns=%llu\nend_ns=%llu\n"
		"whole_processes=%d\nfiltered=%d\nswitches_fast=%llu\nwakes_all=%d\nwakes_own=%d\n"
		"wakes_no_ns=%d\nlive_batches=%llu\n",
		N(st.samples), N(st.lost), N(st.lost_exact), N(st.throttled), N(st.records),
		N(st.rounds), N(st.wakeups), N(st.snapshots), N(st.overwritten),
		N(st.damaged_bytes), N(st.nr_rings), N(st.ring_bytes), N(st.cpu_ns),
		N(cap->begin_ns), N(cap->end_ns), cap->opts.nr_pids && !cap->opts.nr_tids,
		cap->filter.is_on, N(st.switches_fast), cap->off.wakes_all,
		cap->sets[SET_WAKE].set && !cap->off.wakes_all, cap->off.wakes_no_ns,
		N(coati_writer_live_batches(cap->writer)));
#undef N
	n += snprintf(text + n, STATS_BYTES - (size_t)n, "stacks_by=%s\nstacks_no_bpf=%.512s\n",
		      cap->walks   ? "bpf"
		      : cap->drain ? "table"
				   : "other",
		      cap->no_bpf.code ? cap->no_bpf.text : "");
	if (cap->drain)
		n += print_stacks(&st, text + n, STATS_BYTES - (size_t)n);
	if (cap->walks)
		n += print_walks(cap->walks, &st, text + n, STATS_BYTES - (size_t)n);
	n += print_coverage(cap, text + n, STATS_BYTES - (size_t)n);
	n += (int)coati_steal_print(&cap->steal, cap->opts.procfs, now_ns(), text + n,
				    size - (size_t)n);
	return put_stats(cap, text, (size_t)n);
}

static int write_sections(struct coati_capture *cap)
{
	uint64_t times[2] = { cap->tally.first_time, cap->tally.last_time };
	int r = 0;

	if (cap->has_kernel)
		r = coati_synth_kernel_ids(NULL, cap->opts.procfs, cap->writer);
	if (r >= 0)
		r = coati_images_write(&cap->tally.images, cap->writer);
	if (r >= 0)
		r = coati_writer_feature(cap->writer, COATI_FEATURE_SAMPLE_TIME, times,
					 sizeof(times));
	return r < 0 ? r : write_stats(cap);
}

int coati_capture_finish(struct coati_capture *cap, struct coati_error *err)
{
	int r, closed;

	if (!cap || !cap->writer)
		return coati_fail(err, -EINVAL, "no recording is open");
	if (!cap->end_ns)
		cap->end_ns = now_ns();
	r = coati_capture_drain(cap);
	if (r >= 0 && cap->rings.backward.len)
		r = coati_capture_snapshot(cap, NULL);
	if (r >= 0)
		r = coati_capture_settle_labels(cap, true);
	if (r >= 0)
		r = coati_capture_balance(cap);
	if (r >= 0)
		r = coati_writer_round(cap->writer);
	if (r >= 0 && cap->before_end)
		r = cap->before_end(cap->before_end_ctx, cap->writer);
	/* names are looked up by several threads */
	cap->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	if (r >= 0 || r == -EFBIG || r == -ENOSPC)
		(void)write_sections(cap);
	coati_coverage_next(&cap->coverage);
	cap->exits_before = cap->tally.exits;
	cap->bytes = coati_writer_bytes(cap->writer);
	closed = coati_writer_close(&cap->writer, err);
	if (closed < 0)
		return closed;
	return r < 0 ? coati_fail(err, r, "cannot finish the recording: %m") : 0;
}
