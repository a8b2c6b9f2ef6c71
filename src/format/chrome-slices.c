/* SPDX-License-Identifier: MIT */
/*
 * Samples as slices, for viewers that know nothing of samples (Perfetto): a function is a slice
 * from the first to the last of the samples in a row that have it at the same place of the stack. A
 * sample of time on a CPU covers the time of its weight before it, one of time off a CPU that after
 * it; where nothing is covered, no slice is open. Samples whose weight is no time are instants.
 *
 * Begin and end are events of their own ("B", "E") in the order of time, so that those of one time
 * nest as they are written. Slices of regions and tasks of live events would cross those of
 * samples, and so would threads of one number in several files: then the samples have a track of
 * their own beside the thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "format/chrome.h"
#include "profile/walk.h"
#include "reading/hooks.h"
#include "reading/parts.h"

#define DEPTH_MAX ((size_t)1 << 24) /* of a stack with its inlined functions */

struct slices {
	struct chrome *x;
	const struct coati_profile_thread *thread;
	int32_t tid;
	ARRAY(uint32_t) open, next; /* nodes of the tree, the outermost first */
	uint64_t end_ns;	    /* of what is open */
};

static const char *name_of(const struct chrome *x, uint32_t node)
{
	return coati_view_frame(x->in->view, x->frames[x->tree.nodes.v[node].key])->function;
}

static void begin_event(struct slices *s, const char *phase, const char *name, uint64_t time_ns)
{
	struct json *j = &s->x->json;

	chrome_begin_event(j, phase, name, s->thread->pid, s->tid);
	coati_json_kstr(j, "cat", "sample");
	coati_json_key(j, "ts");
	coati_json_fixed(j, time_ns, CHROME_DECIMALS);
}

static void end_event(struct slices *s)
{
	coati_json_end(&s->x->json);
	format_output_drain(s->x->out);
}

static void put_end(struct slices *s)
{
	begin_event(s, "E", name_of(s->x, s->open.v[s->open.len - 1]), s->end_ns);
	end_event(s);
	s->open.len--;
}

static int put_begin(struct slices *s, uint32_t node, uint64_t time_ns)
{
	uint32_t *slot = ARRAY_ADD(&s->open);

	if (!slot)
		return -ENOMEM;
	*slot = node;
	begin_event(s, "B", name_of(s->x, node), time_ns);
	end_event(s);
	return 0;
}

/* The nodes from the outermost to @leaf into s->next. */
static int find_path(struct slices *s, uint32_t leaf)
{
	const struct stacktree *tree = &s->x->tree;
	size_t nr = 0;

	for (uint32_t n = leaf; n != STACKTREE_ROOT; n = tree->nodes.v[n].parent)
		nr++;
	s->next.len = 0;
	for (size_t i = 0; i < nr; i++)
		if (!ARRAY_ADD(&s->next))
			return -ENOMEM;
	for (uint32_t n = leaf; n != STACKTREE_ROOT; n = tree->nodes.v[n].parent)
		s->next.v[--nr] = n;
	return 0;
}

/* One sample that covers [@start, @end), which is not before what is open. */
static int put_slice(struct slices *s, uint32_t leaf, uint64_t start, uint64_t end)
{
	size_t same = 0;
	int r = find_path(s, leaf);

	if (r < 0)
		return r;
	while (start == s->end_ns && same < s->open.len && same < s->next.len &&
	       s->open.v[same] == s->next.v[same])
		same++;
	while (s->open.len > same)
		put_end(s);
	for (; same < s->next.len && r == 0; same++)
		r = put_begin(s, s->next.v[same], start);
	s->end_ns = end;
	return r;
}

static void put_instant(struct slices *s, uint32_t leaf, uint64_t time, uint64_t weight)
{
	struct json *j = &s->x->json;

	begin_event(s, "i", name_of(s->x, leaf), time); /* without a scope: of its thread */
	coati_json_key(j, "args");
	coati_json_object(j);
	coati_json_ku64(j, "weight", weight);
	coati_json_end(j);
	end_event(s);
}

static int put_sample(struct slices *s, size_t number, bool is_time)
{
	const struct coati_profile_sample *sample = &s->x->in->samples[number];
	uint32_t leaf = s->x->tree.leaf[sample->stack] - 1; /* is there: it was added for it */
	uint64_t time = timeline_time_ns(&s->x->timeline, number), start, end;
	struct coati_view_entry e = { 0 };

	coati_view_sample(s->x->in->view, sample, &e);
	if (!is_time) {
		put_instant(s, leaf, time, e.weight);
		return 0;
	}
	if (coati_profile_event(s->x->in->profile, sample->event)->is_off_cpu) {
		start = time;
		if (__builtin_add_overflow(time, e.weight, &end))
			end = UINT64_MAX;
	} else {
		start = e.weight < time ? time - e.weight : 0;
		end = time;
	}
	if (start < s->end_ns)
		start = s->end_ns;
	return end > start ? put_slice(s, leaf, start, end) : 0;
}

static void put_track(struct slices *s)
{
	struct json *j = &s->x->json;
	char name[256];

	snprintf(name, sizeof(name), "%.200s %d (samples)", s->thread->comm, s->thread->tid);
	chrome_begin_event(j, "M", "thread_name", s->thread->pid, s->tid);
	coati_json_key(j, "args");
	coati_json_object(j);
	coati_json_kstr(j, "name", name);
	coati_json_end(j);
	end_event(s);
}

/* Samples of one thread together; a thread that got another name is two in a profile. */
static int by_thread(const void *a, const void *b, void *ctx)
{
	const struct format_input *in = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct coati_profile_thread *s, *t;

	s = coati_profile_thread(in->profile, in->samples[x].thread);
	t = coati_profile_thread(in->profile, in->samples[y].thread);
	if (s->file != t->file)
		return s->file < t->file ? -1 : 1;
	if (s->pid != t->pid)
		return s->pid < t->pid ? -1 : 1;
	if (s->tid != t->tid)
		return s->tid < t->tid ? -1 : 1;
	return x < y ? -1 : x > y; /* samples are in the order of time */
}

static bool is_same_thread(const struct coati_profile_thread *a,
			   const struct coati_profile_thread *b)
{
	return a->file == b->file && a->pid == b->pid && a->tid == b->tid;
}

/* The samples @order[0 ... @nr), sorted. */
static int put_samples(struct slices *s, const uint32_t *order, size_t nr)
{
	const struct format_input *in = s->x->in;
	bool is_time = !strcmp(in->info.unit, "ns") && s->x->timeline.has_times;
	int32_t nr_threads = 0;
	int r = 0;

	for (size_t i = 0; i < nr && r == 0; i++) {
		const struct coati_profile_thread *t =
			coati_profile_thread(in->profile, in->samples[order[i]].thread);

		if (!s->thread || !is_same_thread(s->thread, t)) {
			while (s->open.len)
				put_end(s);
			s->thread = t;
			s->tid = t->tid;
			s->end_ns = 0;
			if (is_time && (in->live || in->quality.files > 1)) {
				s->tid = CHROME_OWN_TRACK + nr_threads++ % CHROME_OWN_TRACK;
				put_track(s);
			}
		}
		r = put_sample(s, order[i], is_time);
	}
	while (s->open.len)
		put_end(s);
	return r;
}

int coati_chrome_slices(struct chrome *x)
{
	struct slices s = { .x = x, .open = ARRAY_INIT(DEPTH_MAX), .next = ARRAY_INIT(DEPTH_MAX) };
	size_t nr = x->in->nr_samples;
	CLEANUP(freep) uint32_t *order = coati_alloc_array(nr + 1, sizeof(*order));
	int r;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, nr, sizeof(*order), by_thread, x->in);
	r = put_samples(&s, order, nr);
	ARRAY_FINI(&s.open);
	ARRAY_FINI(&s.next);
	return r;
}
