/* SPDX-License-Identifier: MIT */
/*
 * What threads were working on when samples of them were taken: live events come in, labels for
 * samples go out. Batches lie behind the samples that they are about, so a recording is walked once
 * for them before it is read. For each thread a list of steps says from when on which state holds;
 * a state is a set of labels that many steps share.
 */
#include "reading/contexts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "live-read/batch.h"
#include "live-read/reader.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/reading.h"
#include "record/batch.h"
#include "recording/recording.h"

#define TABLE_MAX   ((size_t)1 << 26)
#define LABELS_MAX  62 /* of a program; a set has room for two more */
#define ARENA_BYTES ((size_t)2 << 30)
#define TEXT_BYTES  ((size_t)1 << 20)
#define SEPARATOR   " > "

/* ---- texts ---- */

static const char *intern(struct coati_contexts *c, const char *text)
{
	uint64_t known;
	char *copy;

	if (coati_map_get_str(&c->strings, text, &known))
		return (const char *)(uintptr_t)known;
	copy = coati_arena_strdup(&c->arena, text);
	if (copy && coati_map_put_str(&c->strings, copy, (uint64_t)(uintptr_t)copy) < 0)
		return NULL;
	return copy;
}

/* Names hold any bytes but zero. */
const char *coati_contexts_text(struct coati_contexts *c, const struct coati_trace_text *t)
{
	size_t len = t->size ? strnlen(t->text, t->size) : 0;

	coati_strbuf_clear(&c->text);
	coati_strbuf_add(&c->text, t->text, len);
	return c->text.failed ? NULL : intern(c, c->text.text);
}

static const char *site_name(struct coati_contexts *c, const struct coati_trace_event *e)
{
	return e->site ? coati_contexts_text(c, &e->site->name) : "?";
}

/* ---- threads ---- */

struct context_thread *coati_contexts_thread(struct coati_contexts *c,
					     const struct coati_trace_event *e)
{
	uint64_t key = (uint64_t)e->pid << 32 | e->tid, at;
	struct context_thread *t, **slot;

	if (coati_map_get(&c->thread_index, key, &at))
		return c->threads.v[at];
	t = coati_alloc(sizeof(*t));
	slot = t ? ARRAY_ADD(&c->threads) : NULL;
	if (!slot) {
		coati_free(t);
		return NULL;
	}
	*slot = t;
	t->type = t->labels_key = "";
	return coati_map_put(&c->thread_index, key, c->threads.len - 1) < 0 ? NULL : t;
}

static uint64_t task_key(uint32_t pid, uint64_t id)
{
	const uint64_t key[2] = { pid, id };

	return coati_hash_bytes(key, sizeof(key), 0);
}

static const char *task_type(const struct coati_contexts *c, uint32_t pid, uint64_t id)
{
	uint64_t name;

	if (!id)
		return "";
	return coati_map_get(&c->task_index, task_key(pid, id), &name)
		       ? (const char *)(uintptr_t)name
		       : "?";
}

/* ---- states ---- */

static int add_state(struct coati_contexts *c, const struct context_thread *t, uint32_t *ret)
{
	struct coati_label *labels =
		coati_arena_alloc(&c->arena, (t->nr_labels + 2) * sizeof(*labels));
	struct state *s = labels ? ARRAY_ADD(&c->states) : NULL;

	if (!s)
		return -ENOMEM;
	s->labels = labels;
	if (*t->type)
		labels[s->nr++] = (struct coati_label){ "task", t->type };
	if (t->nr_regions) {
		coati_strbuf_clear(&c->text);
		for (uint32_t i = 0; i < t->nr_regions; i++)
			coati_strbuf_printf(&c->text, "%s%s", i ? SEPARATOR : "", t->regions[i]);
		labels[s->nr++] = (struct coati_label){ "region", intern(c, c->text.text) };
		if (!labels[s->nr - 1].value)
			return -ENOMEM;
	}
	/* those of the program come last, and win where they have the same name */
	for (uint32_t i = 0; i < t->nr_labels; i++)
		labels[s->nr++] = t->labels[i];
	*ret = (uint32_t)(c->states.len - 1);
	return 0;
}

/* Strings are interned: the same places are the same state. */
static uint64_t state_key(const struct context_thread *t)
{
	uint64_t hash = coati_hash_u64((uint64_t)(uintptr_t)t->labels_key, 1);

	hash = coati_hash_u64((uint64_t)(uintptr_t)t->type, hash);
	return coati_hash_bytes(t->regions, t->nr_regions * sizeof(*t->regions), hash);
}

int coati_contexts_step(struct coati_contexts *c, struct context_thread *t, uint64_t time)
{
	bool empty = !*t->type && !t->nr_regions && !t->nr_labels;
	uint64_t key = state_key(t), state = 0;
	struct steps *s = &t->steps;
	uint32_t number;

	if (!empty && !coati_map_get(&c->state_index, key, &state)) {
		if (add_state(c, t, &number) < 0 || coati_map_put(&c->state_index, key, number) < 0)
			return -ENOMEM;
		state = number;
	}
	if ((s->any ? s->last_state : 0) == state)
		return 0;
	if (!s->any || (s->last_time < time && !c->is_now))
		return coati_steps_add(s, time, (uint32_t)state);
	s->last_state = (uint32_t)state;
	return 0;
}

static int take_labels(struct coati_contexts *c, struct context_thread *t,
		       const struct coati_trace_event *e)
{
	struct coati_label labels[LABELS_MAX], *copy;
	struct coati_trace_pos pos = { 0 };
	struct coati_trace_text key, value;
	struct strbuf whole = STRBUF_INIT(TEXT_BYTES);
	uint32_t nr = 0;
	int r = 0;

	while (r == 0 && nr < LABELS_MAX && coati_trace_label_next(e, &pos, &key, &value) > 0) {
		labels[nr] = (struct coati_label){ coati_contexts_text(c, &key),
						   coati_contexts_text(c, &value) };
		if (!labels[nr].key || !labels[nr].value)
			r = -ENOMEM;
		else
			coati_strbuf_printf(&whole, "%s\1%s\2", labels[nr].key, labels[nr].value);
		nr++;
	}
	t->labels_key = r == 0 && !whole.failed ? intern(c, whole.text) : NULL;
	coati_strbuf_fini(&whole);
	copy = coati_arena_alloc(&c->arena, (nr + 1) * sizeof(*copy));
	if (!t->labels_key || !copy) {
		t->labels_key = "";
		return -ENOMEM;
	}
	memcpy(copy, labels, nr * sizeof(*copy));
	t->labels = copy;
	t->nr_labels = nr;
	return 0;
}

/* ---- events ---- */

int coati_contexts_event(struct coati_contexts *c, const struct coati_trace_event *e)
{
	struct context_thread *t = coati_contexts_thread(c, e);
	const char *name;
	int r = 0;

	if (!t)
		return -ENOMEM;
	if (e->slot) /* a handler's own business */
		return 0;
	switch (e->kind) {
	case COATI_TRACE_TASK_BEGIN:
		name = site_name(c, e);
		r = !name ? -ENOMEM
			  : coati_map_put(&c->task_index, task_key(e->pid, e->id),
					  (uint64_t)(uintptr_t)name);
		return r < 0 ? r : 0;
	case COATI_TRACE_TASK_END:
		coati_map_del(&c->task_index, task_key(e->pid, e->id));
		return 0;
	case COATI_TRACE_TASK_ENTER:
		t->task = e->id;
		t->type = task_type(c, e->pid, e->id);
		break;
	case COATI_TRACE_REGION_BEGIN:
		name = site_name(c, e);
		if (!name)
			return -ENOMEM;
		if (e->depth >= DEPTH_MAX)
			return 0;
		for (; t->nr_regions < e->depth; t->nr_regions++)
			t->regions[t->nr_regions] = "?";
		t->regions[e->depth] = name;
		t->nr_regions = e->depth + 1;
		break;
	case COATI_TRACE_REGION_END:
		if (e->depth < t->nr_regions)
			t->nr_regions = e->depth;
		break;
	case COATI_TRACE_LABELS:
		r = take_labels(c, t, e);
		break;
	case COATI_TRACE_MISSING: /* it is unknown what it did there */
		t->nr_regions = 0;
		t->type = "";
		break;
	default:
		return 0;
	}
	return r < 0 ? r : coati_contexts_step(c, t, e->time);
}

static int drain(struct coati_contexts *c)
{
	const struct coati_trace_event *const *events;
	int r = 0, n;

	while (r == 0 && (n = coati_live_reader_take(c->trace, &events)) != 0) {
		r = n < 0 ? n : 0;
		for (int i = 0; i < n && r == 0; i++)
			r = coati_contexts_event(c, events[i]);
	}
	return r;
}

/* ---- a recording ---- */

void coati_contexts_forget(struct coati_contexts *c)
{
	for (size_t i = 0; i < c->threads.len; i++) {
		coati_steps_fini(&c->threads.v[i]->steps);
		coati_free(c->threads.v[i]);
	}
	ARRAY_FINI(&c->threads);
	ARRAY_FINI(&c->states);
	coati_map_fini(&c->thread_index);
	coati_map_fini(&c->task_index);
	coati_map_fini(&c->state_index);
	coati_map_fini(&c->strings);
	coati_arena_fini(&c->arena);
	coati_live_reader_free(&c->trace);
}

int coati_contexts_begin(struct coati_contexts *c)
{
	c->threads.max = c->states.max = TABLE_MAX;
	coati_map_init(&c->thread_index, TABLE_MAX);
	coati_map_init(&c->task_index, TABLE_MAX);
	coati_map_init(&c->state_index, TABLE_MAX);
	coati_map_init_strings(&c->strings, TABLE_MAX);
	coati_arena_init(&c->arena, ARENA_BYTES);
	return ARRAY_ADD(&c->states) ? coati_live_reader_new(NULL, &c->trace, NULL) : -ENOMEM;
}

static int take_batch(struct coati_contexts *c, const struct coati_recording *r,
		      const struct coati_recording_item *item)
{
	struct coati_batch batch;
	int n;

	if (!coati_live_batch(r, item, &batch))
		return 0;
	n = coati_live_reader_feed(c->trace, batch.payload, batch.payload_size, item->offset, NULL);
	return n < 0 ? n : drain(c);
}

/* Batches are samples of a dummy event with raw bytes. A file has its events at its beginning, and
 * its recorder says how many batches of live events there are: to look for none takes as long as
 * all else that a page does. */
static bool may_have_batches(const struct coati_recording *r)
{
	uint32_t nr = coati_recording_event_count(r);
	uint64_t batches;

	if (coati_recording_info(r)->is_pipe)
		return true;
	if (coati_reading_find_recorder_value(r, "live_batches", &batches) && !batches)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_attr *a = &coati_recording_event(r, i)->attr;

		if (a->type == COATI_TYPE_SOFTWARE && a->config == COATI_SW_DUMMY &&
		    a->sample_type & COATI_SAMPLE_RAW)
			return true;
	}
	return false;
}

static int walk(struct coati_contexts *c, struct coati_recording *r)
{
	struct coati_recording_item item;
	int n = 0;

	if (!may_have_batches(r))
		return 0;
	/* what is damaged ends it here as it does when it is read */
	while (n == 0 && coati_recording_next(r, &item) > 0)
		n = take_batch(c, r, &item);
	if (n == 0)
		n = coati_live_reader_finish(c->trace);
	return n < 0 ? n : drain(c);
}

static int read_contexts(void *ctx, const char *path, struct coati_error *err)
{
	struct coati_recording_opts opts = { .size = sizeof(opts),
					     .flags = COATI_RECORDING_FILE_ORDER };
	struct coati_contexts *c = ctx;
	struct coati_recording *r = NULL;
	struct stat st;
	int n;

	coati_contexts_free_now(c);
	coati_contexts_forget(c);
	n = coati_contexts_begin(c);
	if (n < 0)
		return coati_fail(err, n, "live events: %m");
	/* a directory may be one, too */
	if (!strcmp(path, "-") ||
	    (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
		return coati_fail(
			err, -EOPNOTSUPP,
			"labels, tasks and regions are stored behind the samples, and a stream "
			"cannot be read twice: save it as a file");
	n = coati_recording_open(path, &opts, &r, err);
	if (n < 0)
		return n;
	n = walk(c, r);
	coati_recording_close(&r);
	coati_live_reader_free(&c->trace);
	if (n == -E2BIG)
		return coati_fail(err, n, "%s: too many live events for the memory limit", path);
	return n < 0 ? coati_fail(err, n, "%s: live events: %m", path) : 0;
}

/* The last step that is not later. */
static uint64_t find_context(void *ctx, int32_t pid, int32_t tid, uint64_t time,
			     struct coati_label_list *ret)
{
	const struct coati_contexts *c = ctx;
	uint64_t at;
	uint32_t state;

	ret->nr = 0;
	if (!coati_map_get(&c->thread_index, (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid, &at))
		return 0;
	state = coati_steps_find(&c->threads.v[at]->steps, time);
	*ret = (struct coati_label_list){ c->states.v[state].labels, c->states.v[state].nr };
	return state;
}

static bool has_labels(const void *ctx)
{
	return ((const struct coati_contexts *)ctx)->threads.len != 0;
}

/* Samples that programs took of themselves come with their labels: nothing has to be walked
 * before. */
static int read_samples(void *ctx, const char *path, struct coati_error *err)
{
	(void)path;
	(void)err;
	coati_contexts_free_now(ctx);
	return 0;
}

/* ---- the object ---- */

int coati_contexts_new(struct coati_contexts **ret, struct coati_error *err)
{
	struct coati_contexts *c = ret ? coati_alloc(sizeof(*c)) : NULL;

	if (!c)
		return coati_fail(err, ret ? -ENOMEM : -EINVAL,
				  "out of memory for labels, tasks and regions");
	c->text = (struct strbuf)STRBUF_INIT(TEXT_BYTES);
	c->source = (struct coati_context_source){ .read = read_contexts,
						   .find = find_context,
						   .has_labels = has_labels,
						   .ctx = c,
						   .feed = coati_contexts_feed,
						   .next = coati_contexts_next,
						   .account = coati_contexts_account };
	c->samples = c->source;
	c->samples.read = read_samples;
	c->samples.find = NULL;
	c->bare = c->samples;
	c->bare.next = coati_contexts_next_bare;
	*ret = c;
	return 0;
}

void coati_contexts_free(struct coati_contexts **cp)
{
	struct coati_contexts *c = cp ? *cp : NULL;

	if (!c)
		return;
	coati_contexts_free_now(c);
	coati_contexts_forget(c);
	coati_strbuf_fini(&c->text);
	coati_free(c);
	*cp = NULL;
}

const struct coati_context_source *coati_contexts_source(const struct coati_contexts *c)
{
	return &c->source;
}

const struct coati_context_source *coati_contexts_samples(const struct coati_contexts *c)
{
	return &c->samples;
}

const struct coati_context_source *coati_contexts_bare(const struct coati_contexts *c)
{
	return &c->bare;
}
