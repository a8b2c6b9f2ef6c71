/* SPDX-License-Identifier: MIT */
/* see fetch.h. This is the second step: the answers of the server into a profile. Nothing in them
 * is trusted: lengths are checked by the cursor, and texts are copied before they are used. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "fleet/fetch.h"
#include "fleet/parcel.h"
#include "fleet/rowbinary.h"
#include "fleet/unfold.h"
#include "reading/profile.h"

#define TEXTS_MAX  ((size_t)1 << 30)
#define LABELS_MAX 62
#define UNITS_MAX  64
#define NONE	   UINT32_MAX

struct known_context {
	uint64_t id;
	const char *host, *process, *thread;
	int32_t pid;
	struct coati_label *labels;
	uint32_t nr_labels;
};

struct known_unit {
	const char *type, *unit;
	uint32_t is_off;
};

struct unfolding {
	const struct fetch *f;
	struct unfold u;
	struct arena arena;
	ARRAY(struct known_context) contexts;
	ARRAY(struct known_unit) units;
	struct map stacks;	  /* id to its number in the profile */
	struct map context_index; /* number plus 1 */
	struct agent_frame frames[UNFOLD_FRAMES];
	uint32_t unknown_stack, doubtful_stack; /* NONE: not needed yet */
	uint64_t nr_lost_stacks, nr_doubtful_stacks;
	uint32_t nr_frames;
};

static const char *take_text(struct unfolding *g, struct cursor *c)
{
	size_t len;
	const char *text = row_read_text(c, &len);
	char *copy = text ? coati_arena_strndup(&g->arena, text, len) : NULL;

	if (!copy || strlen(copy) != len)
		c->bad = true;
	return c->bad ? "" : copy;
}

/* ---- stacks ---- */

/* The length of an array, which is that of all others of the stack. */
static void begin_array(struct unfolding *g, struct cursor *c, bool is_first)
{
	uint64_t nr = row_read_size(c, 1);

	if (nr > UNFOLD_FRAMES || (!is_first && nr != g->nr_frames))
		c->bad = true;
	else
		g->nr_frames = (uint32_t)nr;
}

static void take_build_id(struct agent_frame *f, struct cursor *c)
{
	size_t len;
	const char *text = row_read_text(c, &len);

	f->build_id_size = 0;
	if (!text || len % 2 || len > 2 * AGENT_BUILD_ID_MAX) {
		c->bad = true;
		return;
	}
	for (size_t i = 0; i < len; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *at = text[i] ? strchr(digits, text[i]) : NULL;
		uint8_t *byte = &f->build_id[i / 2];

		if (!at)
			c->bad = true;
		else
			*byte = (uint8_t)((i % 2 ? *byte << 4 : 0) | (at - digits));
	}
	f->build_id_size = (uint8_t)(len / 2);
}

static void take_texts(struct unfolding *g, struct cursor *c)
{
	begin_array(g, c, true);
	for (uint32_t i = 0; i < g->nr_frames && !c->bad; i++)
		g->frames[i].function = take_text(g, c);
	begin_array(g, c, false);
	for (uint32_t i = 0; i < g->nr_frames && !c->bad; i++)
		g->frames[i].image = take_text(g, c);
	begin_array(g, c, false);
	for (uint32_t i = 0; i < g->nr_frames && !c->bad; i++)
		g->frames[i].path = take_text(g, c);
	begin_array(g, c, false);
	for (uint32_t i = 0; i < g->nr_frames && !c->bad; i++)
		take_build_id(&g->frames[i], c);
}

static void take_numbers(struct unfolding *g, struct cursor *c)
{
	begin_array(g, c, false);
	for (uint32_t i = 0; i < g->nr_frames && !c->bad; i++)
		g->frames[i].address = cursor_u64(c);
	begin_array(g, c, false);
	for (uint32_t i = 0; i < g->nr_frames && !c->bad; i++)
		g->frames[i].file = take_text(g, c);
	begin_array(g, c, false);
	for (uint32_t i = 0; i < g->nr_frames && !c->bad; i++)
		g->frames[i].line = cursor_u32(c);
	begin_array(g, c, false);
	for (uint32_t i = 0; i < g->nr_frames && !c->bad; i++)
		g->frames[i].kind = cursor_u8(c);
	begin_array(g, c, false);
	for (uint32_t i = 0; i < g->nr_frames && !c->bad; i++)
		g->frames[i].flags = cursor_u8(c);
}

/* A stack of one frame that says what is wrong with others. */
static int add_mark(struct unfolding *g, const char *name, uint32_t *number)
{
	const struct agent_frame mark = { .function = name,
					  .image = "[unknown]",
					  .path = "",
					  .file = "",
					  .kind = AGENT_FRAME_UNKNOWN,
					  .flags = AGENT_FRAME_SYNTHETIC };
	const struct unfold_frames s = { .v = &mark, .nr = 1, .flags = AGENT_STACK_TRUNCATED };

	return *number == NONE ? coati_unfold_stack(&g->u, &s, number) : 0;
}

static int take_stack(struct unfolding *g, struct cursor *c)
{
	uint64_t id = cursor_u64(c), known;
	struct unfold_frames s = { .v = g->frames };
	uint32_t number;
	int r;

	s.flags = cursor_u32(c);
	take_texts(g, c);
	take_numbers(g, c);
	if (c->bad)
		return -EBADMSG;
	s.nr = g->nr_frames;
	if (coati_map_get(&g->stacks, id, &known)) {
		/* another stack with this id: the rows do not say which one is meant */
		g->nr_doubtful_stacks++;
		r = add_mark(g, "[stacks with the same id]", &g->doubtful_stack);
		number = g->doubtful_stack;
	} else {
		r = coati_unfold_stack(&g->u, &s, &number);
	}
	if (r == 0)
		r = coati_map_put(&g->stacks, id, number);
	/* the frames have been copied: their texts are not needed any more */
	return r < 0 ? r : 0;
}

/* A stack that is not there: its rows count anyway. */
static int find_stack(struct unfolding *g, uint64_t id, uint32_t *ret)
{
	uint64_t number;
	int r;

	if (coati_map_get(&g->stacks, id, &number)) {
		*ret = (uint32_t)number;
		return 0;
	}
	g->nr_lost_stacks++;
	r = add_mark(g, "[stack not stored]", &g->unknown_stack);
	*ret = g->unknown_stack;
	return r;
}

/* ---- contexts ---- */

static int take_labels(struct unfolding *g, struct known_context *k, struct cursor *c)
{
	uint64_t nr = row_read_size(c, 1);

	if (nr > LABELS_MAX)
		c->bad = true;
	k->labels = c->bad ? NULL : coati_arena_alloc(&g->arena, (nr + 1) * sizeof(*k->labels));
	if (!k->labels)
		return c->bad ? -EBADMSG : -ENOMEM;
	for (uint64_t i = 0; i < nr && !c->bad; i++)
		k->labels[i].key = take_text(g, c);
	if (row_read_size(c, 1) != nr)
		c->bad = true;
	for (uint64_t i = 0; i < nr && !c->bad; i++)
		k->labels[i].value = take_text(g, c);
	k->nr_labels = (uint32_t)nr;
	return c->bad ? -EBADMSG : 0;
}

static int take_context(struct unfolding *g, struct cursor *c)
{
	struct known_context *k = ARRAY_ADD(&g->contexts);
	int r;

	if (!k)
		return -ENOMEM;
	k->id = cursor_u64(c);
	k->host = take_text(g, c);
	k->pid = (int32_t)cursor_u32(c);
	k->process = take_text(g, c);
	k->thread = take_text(g, c);
	r = take_labels(g, k, c);
	if (r == 0)
		r = coati_map_put(&g->context_index, k->id, g->contexts.len);
	return r < 0 ? r : 0;
}

/* ---- events ---- */

static int take_unit(struct unfolding *g, struct cursor *c)
{
	struct known_unit *k = ARRAY_ADD(&g->units);

	if (!k)
		return -ENOMEM;
	k->type = take_text(g, c);
	k->unit = take_text(g, c);
	k->is_off = cursor_u8(c);
	return c->bad ? -EBADMSG : 0;
}

static void find_unit(const struct unfolding *g, struct unfold_row *row)
{
	row->unit = "";
	for (size_t i = 0; i < g->units.len; i++)
		if (!strcmp(g->units.v[i].type, row->event)) {
			row->unit = g->units.v[i].unit;
			row->is_off_cpu = g->units.v[i].is_off;
		}
}

/* ---- rows ---- */

static int take_row(struct unfolding *g, struct cursor *c)
{
	struct unfold_row row = { .service = take_text(g, c) };
	uint64_t id, context, i;
	int r;

	row.event = take_text(g, c);
	id = cursor_u64(c);
	context = cursor_u64(c);
	row.time_s = cursor_u32(c);
	row.samples = cursor_u64(c);
	row.weight = cursor_u64(c);
	if (c->bad)
		return -EBADMSG;
	find_unit(g, &row);
	row.host = "";
	row.process = row.thread = row.service;
	if (coati_map_get(&g->context_index, context, &i)) {
		const struct known_context *k = &g->contexts.v[i - 1];

		row.host = k->host;
		row.pid = k->pid;
		row.process = k->process;
		row.thread = k->thread;
		row.labels = k->labels;
		row.nr_labels = k->nr_labels;
	}
	r = find_stack(g, id, &row.stack);
	return r < 0 ? r : coati_unfold_add(&g->u, &row);
}

typedef int (*take_fn)(struct unfolding *g, struct cursor *c);

static int take_all(struct unfolding *g, const struct strbuf *answer, take_fn fn)
{
	struct cursor c = cursor_over(answer->text, answer->len);
	int r = 0;

	while (r == 0 && cursor_left(&c))
		r = fn(g, &c);
	return r;
}

/* ---- quality ---- */

static int take_windows(struct unfolding *g)
{
	struct cursor c = cursor_over(g->f->windows.text, g->f->windows.len);
	struct coati_profile *p = g->u.profile;
	uint64_t v[8];

	for (size_t i = 0; i < 8; i++)
		v[i] = cursor_u64(&c);
	if (c.bad)
		return -EBADMSG;
	coati_unfold_quality(&g->u, v[1], v[2], v[3]);
	coati_profile_add_note(p, "%llu windows of %llu hosts%s", (unsigned long long)v[0],
			       (unsigned long long)v[7],
			       g->f->used_hours ? "; days that are over are read by the hour" : "");
	if (v[4])
		coati_profile_add_note(p,
				       "%llu windows with %llu samples are not here: the spools of "
				       "their agents were full",
				       (unsigned long long)v[4], (unsigned long long)v[5]);
	if (v[6])
		coati_profile_add_note(
			p,
			"%llu rows lost their process, thread and labels to \"other\": "
			"there were more than the agents' limit",
			(unsigned long long)v[6]);
	if (g->nr_lost_stacks)
		coati_profile_add_note(p, "%llu rows refer to stacks that are not stored",
				       (unsigned long long)g->nr_lost_stacks);
	if (g->nr_doubtful_stacks)
		coati_profile_add_note(p,
				       "%llu stacks have the id of another stack: their rows "
				       "are shown as [stacks with the same id]",
				       (unsigned long long)g->nr_doubtful_stacks);
	return 0;
}

static int unfold_all(struct unfolding *g)
{
	const struct fetch *f = g->f;
	int r = take_all(g, &f->units, take_unit);

	if (r == 0)
		r = take_all(g, &f->stacks, take_stack);
	if (r == 0)
		r = take_all(g, &f->contexts, take_context);
	if (r == 0)
		r = take_all(g, &f->rows, take_row);
	return r < 0 ? r : take_windows(g);
}

int coati_fetch_unfold(const struct fetch *f, struct coati_profile *p, struct coati_error *err)
{
	struct unfolding *g = coati_alloc(sizeof(*g));
	uint64_t bytes = f->rows.len + f->stacks.len + f->contexts.len;
	int r = g ? coati_unfold_begin(&g->u, p, f->title, err) : -ENOMEM;

	if (r < 0) {
		coati_free(g);
		return r;
	}
	g->f = f;
	coati_unfold_start(&g->u, f->from_s);
	g->unknown_stack = g->doubtful_stack = NONE;
	coati_profile_allow(p, bytes);
	coati_arena_init(&g->arena, TEXTS_MAX);
	coati_map_init(&g->stacks, PROFILE_TABLE_MAX);
	coati_map_init(&g->context_index, PROFILE_TABLE_MAX);
	g->contexts.max = PROFILE_TABLE_MAX;
	g->units.max = UNITS_MAX;
	r = unfold_all(g);
	p->quality.bytes += bytes;
	coati_unfold_end(&g->u);
	coati_map_fini(&g->stacks);
	coati_map_fini(&g->context_index);
	ARRAY_FINI(&g->contexts);
	ARRAY_FINI(&g->units);
	coati_arena_fini(&g->arena);
	coati_free(g);
	return r < 0 ? coati_fail(err, r, "%.100s: the answer of the server is malformed: %m",
				  f->title)
		     : 0;
}
