/* SPDX-License-Identifier: MIT */
/* see feed.h */
#include "agent/feed.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "live-read/batch.h"
#include "reading/parts.h"
#include "record/batch.h"
#include "reading/contexts-live.h"
#include "reading/contexts.h"

#define PENDING_MAX ((size_t)1 << 20)
#define TASKS_MAX   ((size_t)1 << 18)
#define TYPES_MAX   4096
#define TYPE_BYTES  256
#define LABEL_BYTES ((size_t)4 << 20)

int coati_agent_live_init(struct agent_live *l, struct coati_error *err)
{
	int r;

	*l = (struct agent_live){ .tasks = ARRAY_INIT(TASKS_MAX) };
	coati_map_init_strings(&l->types, TYPES_MAX);
	coati_arena_init(&l->arena, (size_t)TYPES_MAX * TYPE_BYTES);
	r = coati_contexts_new(&l->contexts, err);
	if (r == 0 && coati_contexts_live_begin(l->contexts) < 0)
		r = coati_fail(err, -ENOMEM, "out of memory");
	return r;
}

void coati_agent_live_fini(struct agent_live *l)
{
	coati_contexts_free(&l->contexts);
	ARRAY_FINI(&l->tasks);
	coati_map_fini(&l->types);
	coati_arena_fini(&l->arena);
}

int coati_agent_live_trim(struct agent_live *l, uint64_t before_ns)
{
	return coati_contexts_live_trim(l->contexts, before_ns, LABEL_BYTES);
}

/* ---- what live events say ---- */

static const char *find_type(struct agent_live *l, const struct coati_trace_text *name)
{
	size_t len = name->size < TYPE_BYTES - 1 ? name->size : TYPE_BYTES - 1;
	char type[TYPE_BYTES];
	uint64_t known;
	char *own;

	memcpy(type, name->text, len);
	type[len] = '\0';
	if (coati_map_get_str(&l->types, type, &known))
		return (const char *)(uintptr_t)known;
	own = coati_arena_strdup(&l->arena, type);
	if (!own || coati_map_put_str(&l->types, own, (uintptr_t)own) < 0)
		return NULL;
	return own;
}

static void on_event(void *ctx, const struct coati_trace_event *e)
{
	struct agent_live *l = ctx;
	struct agent_task_end *t;
	const char *type;

	if (e->kind != COATI_TRACE_TASK_END || e->duration == COATI_TRACE_NO_DURATION || !e->site)
		return;
	type = find_type(l, &e->site->name);
	t = type ? ARRAY_ADD(&l->tasks) : NULL;
	if (!t) {
		l->left_out++;
		return;
	}
	*t = (struct agent_task_end){ e->time, e->duration, (int32_t)e->pid, type };
	if (l->on_task)
		l->on_task(l->ctx, t);
}

static int on_item(void *ctx, const struct coati_recording *r,
		   const struct coati_recording_item *item)
{
	struct agent_feed *f = ctx;
	struct coati_batch batch;
	int n;

	if (!coati_live_batch(r, item, &batch))
		return 0;
	f->live->has_events = true;
	n = coati_contexts_live_feed(f->live->contexts, batch.payload, batch.payload_size, on_event,
				     f->live);
	return n == -ENOMEM ? n : 0;
}

/* ---- what the profile says ---- */

static void on_sample(void *ctx, const struct coati_profile_sample *sample)
{
	struct agent_feed *f = ctx;
	struct coati_profile_sample *slot = ARRAY_ADD(&f->pending);

	if (slot)
		*slot = *sample;
	else
		f->refused++;
}

static void on_loss(void *ctx, const struct coati_profile_loss *loss)
{
	struct agent_feed *f = ctx;

	/* LOSS_SAMPLES repeats what the rings said */
	f->lost += loss->kind == COATI_LOSS_RECORDS ? loss->count : 0;
	f->throttled += loss->kind == COATI_LOSS_THROTTLE;
}

int coati_agent_feed_open(struct agent_feed *f, int fd, const struct agent_feed_opts *opts,
			  struct coati_error *err)
{
	struct coati_profile_opts o = { .size = sizeof(o), .max_bytes = opts->max_bytes };
	struct coati_profile_hooks hooks = { .on_sample = on_sample,
					     .on_loss = on_loss,
					     .on_item = on_item,
					     .ctx = f,
					     .shared_images = opts->images };
	struct coati_follow_opts follow = { .begin_ns = opts->begin_ns };
	int r;

	*f = (struct agent_feed){ .live = opts->live, .pending = ARRAY_INIT(PENDING_MAX) };
	r = coati_profile_make(&o, &hooks, &f->profile, err);
	return r < 0 ? r : coati_follow_open(f->profile, fd, &follow, &f->follow, err);
}

static void count_refused(struct agent_feed *f)
{
	struct coati_profile_quality q = { .size = sizeof(q) };

	coati_profile_quality(f->profile, &q);
	if (q.refused > f->refused_before) {
		f->refused += q.refused - f->refused_before;
		f->refused_before = q.refused;
	}
}

int coati_agent_feed_take(struct agent_feed *f)
{
	int r = f->follow ? coati_follow_take(f->follow) : 0;

	if (f->profile)
		count_refused(f);
	return r;
}

int coati_agent_feed_end(struct agent_feed *f)
{
	int r = f->follow ? coati_follow_end(f->follow) : 0;

	coati_follow_close(&f->follow);
	if (f->profile)
		count_refused(f);
	return r;
}

void coati_agent_feed_close(struct agent_feed *f)
{
	coati_follow_close(&f->follow);
	coati_profile_free(&f->profile);
	ARRAY_FINI(&f->pending);
}
