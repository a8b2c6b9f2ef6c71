/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: a line for each stack, "NAME-PID/TID;outermost;...;innermost WEIGHT", sorted, as
 * flamegraph.pl, inferno and speedscope read them. The first frame is the thread, as
 * stackcollapse-perf.pl --tid writes it; functions of the kernel end in _[k] and inlined ones in
 * _[i], which gives them colors.
 *
 * Names: ";" parts frames and becomes ":"; line ends and zero bytes cannot be and become blanks;
 * blanks at the end and a number behind the last blank would be taken for the weight: there the
 * blank becomes "_". An empty name is "_". A name that itself ends in such a mark has ( ) instead.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "format/folded.h"
#include "format/format.h"
#include "format/text.h"
#include "profile/walk.h"
#include "reading/parts.h"

/* Is what lies behind the last blank nothing, or could it be a number? */
static bool is_like_weight(const char *tail)
{
	return !tail[strspn(tail, "0123456789.")];
}

bool coati_folded_has_mark(const char *name, size_t len)
{
	return len > 4 && name[len - 4] == '_' && name[len - 3] == '[' && name[len - 1] == ']' &&
	       (name[len - 2] == 'k' || name[len - 2] == 'i');
}

static void fold_name(struct strbuf *s, const char *name)
{
	size_t from = s->len;
	char *at, *blank;

	coati_format_text(s, name);
	if (s->failed)
		return;
	for (at = s->text + from; *at; at++)
		if (*at == ';')
			*at = ':';
		else if (*at == '\n' || *at == '\r')
			*at = ' ';
	while ((blank = strrchr(s->text + from, ' ')) && is_like_weight(blank + 1))
		*blank = '_';
	if (s->len == from)
		coati_strbuf_addc(s, '_');
	if (coati_folded_has_mark(s->text + from, s->len - from)) {
		s->text[s->len - 3] = '(';
		s->text[s->len - 1] = ')';
	}
}

/* ---- writing ---- */

static const char *mark_of(const struct coati_view_frame *f)
{
	if (f->location_flags & (COATI_LOCATION_KERNEL | COATI_LOCATION_GUEST))
		return "_[k]";
	return f->flags & COATI_NAME_INLINE ? "_[i]" : "";
}

/* Names as they stand in lines, each written once, and their order. */
struct names {
	size_t *start;	/* of each in the text; one more */
	uint32_t *rank; /* of each among all; the same for the same text */
	uint32_t nr;
};

/* A stack that has weight. */
struct folded_stack {
	const uint32_t *frames;
	uint32_t nr;
	uint32_t number; /* in the profile */
};

/* A line: of the thread and stack with these ranks. */
struct folded_line {
	uint64_t key; /* rank of the thread, then of the stack */
	uint64_t weight;
};

struct folding {
	const struct format_input *in;
	struct strbuf text;
	struct names frames, threads;
	struct folded_stack *stacks; /* sorted */
	uint32_t nr_stacks;
	uint32_t *stack_rank;	 /* by number in the profile */
	uint32_t *ranked_stack;	 /* by rank: index in stacks */
	uint32_t *ranked_thread; /* by rank: a thread */
	struct folded_line *lines;
	size_t nr_lines;
};

static void folding_fini(struct folding *f)
{
	coati_strbuf_fini(&f->text);
	coati_free(f->frames.start);
	coati_free(f->frames.rank);
	coati_free(f->threads.start);
	coati_free(f->threads.rank);
	coati_free(f->stacks);
	coati_free(f->stack_rank);
	coati_free(f->ranked_stack);
	coati_free(f->ranked_thread);
	coati_free(f->lines);
}

static int names_init(struct names *n, uint32_t nr)
{
	n->nr = nr;
	n->start = coati_alloc_array((size_t)nr + 1, sizeof(*n->start));
	n->rank = coati_alloc_array((size_t)nr + 1, sizeof(*n->rank));
	return n->start && n->rank ? 0 : -ENOMEM;
}

static int write_names(struct folding *f)
{
	struct coati_view *v = f->in->view;
	struct coati_profile *p = f->in->profile;

	if (names_init(&f->frames, coati_view_frame_count(v)) < 0 ||
	    names_init(&f->threads, coati_profile_thread_count(p)) < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->frames.nr; i++) {
		const struct coati_view_frame *frame = coati_view_frame(v, i);

		f->frames.start[i] = f->text.len;
		fold_name(&f->text, frame->function);
		coati_strbuf_adds(&f->text, mark_of(frame));
		coati_strbuf_addc(&f->text, '\0');
	}
	f->frames.start[f->frames.nr] = f->text.len;
	for (uint32_t i = 0; i < f->threads.nr; i++) {
		const struct coati_profile_thread *t = coati_profile_thread(p, i);

		f->threads.start[i] = f->text.len;
		fold_name(&f->text, t->comm);
		coati_strbuf_printf(&f->text, "-%u/%u", (uint32_t)t->pid, (uint32_t)t->tid);
		coati_strbuf_addc(&f->text, '\0');
	}
	f->threads.start[f->threads.nr] = f->text.len;
	return f->text.failed;
}

struct sorting {
	const char *text;
	const struct names *names;
};

static int by_text(const void *a, const void *b, void *ctx)
{
	const struct sorting *s = ctx;

	return strcmp(s->text + s->names->start[*(const uint32_t *)a],
		      s->text + s->names->start[*(const uint32_t *)b]);
}

/* Sort the names; *ret_ranked (may be NULL) gets one of each rank. */
static int rank_names(struct folding *f, struct names *n, uint32_t **ret_ranked)
{
	CLEANUP(freep) uint32_t *order = coati_alloc_array((size_t)n->nr + 1, sizeof(*order));
	struct sorting s = { .text = f->text.text, .names = n };
	uint32_t rank = 0;

	if (!order)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->nr; i++)
		order[i] = i;
	qsort_r(order, n->nr, sizeof(*order), by_text, &s);
	for (uint32_t i = 0; i < n->nr; i++) {
		if (i && by_text(&order[i - 1], &order[i], &s))
			rank++;
		n->rank[order[i]] = rank;
	}
	if (ret_ranked) {
		for (uint32_t i = 0; i < n->nr; i++)
			order[n->rank[order[i]]] = order[i];
		*ret_ranked = TAKE_PTR(order);
	}
	return 0;
}

/* Outermost frames first. */
static int by_frames(const void *a, const void *b, void *ctx)
{
	const struct folded_stack *x = a, *y = b;
	const uint32_t *rank = ctx;
	uint32_t i = x->nr, j = y->nr;

	while (i && j) {
		uint32_t l = rank[x->frames[--i]], r = rank[y->frames[--j]];

		if (l != r)
			return l < r ? -1 : 1;
	}
	return i ? 1 : j ? -1 : 0;
}

static int rank_stacks(struct folding *f)
{
	uint32_t nr = coati_profile_stack_count(f->in->profile), rank = 0;
	struct coati_view_entry e;
	uint64_t pos = 0;

	f->stacks = coati_alloc_array((size_t)nr + 1, sizeof(*f->stacks));
	f->stack_rank = coati_alloc_array((size_t)nr + 1, sizeof(*f->stack_rank));
	f->ranked_stack = coati_alloc_array((size_t)nr + 1, sizeof(*f->ranked_stack));
	if (!f->stacks || !f->stack_rank || !f->ranked_stack)
		return -ENOMEM;
	while (coati_view_next(f->in->view, &pos, &e)) {
		uint32_t number = e.entry->stack;

		f->nr_lines++;
		if (f->stack_rank[number])
			continue;
		f->stack_rank[number] = 1; /* seen */
		f->stacks[f->nr_stacks++] = (struct folded_stack){ .frames = e.frames,
								   .nr = e.nr_frames,
								   .number = number };
	}
	qsort_r(f->stacks, f->nr_stacks, sizeof(*f->stacks), by_frames, f->frames.rank);
	for (uint32_t i = 0; i < f->nr_stacks; i++) {
		if (i && by_frames(&f->stacks[i - 1], &f->stacks[i], f->frames.rank))
			rank++;
		f->stack_rank[f->stacks[i].number] = rank;
		f->ranked_stack[rank] = i;
	}
	return 0;
}

static int by_key(const void *a, const void *b)
{
	const struct folded_line *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

static int make_lines(struct folding *f)
{
	struct coati_view_entry e;
	uint64_t pos = 0;
	size_t i = 0;

	f->lines = coati_alloc_array(f->nr_lines + 1, sizeof(*f->lines));
	if (!f->lines)
		return -ENOMEM;
	while (coati_view_next(f->in->view, &pos, &e))
		f->lines[i++] = (struct folded_line){
			.key = (uint64_t)f->threads.rank[e.entry->thread] << 32 |
			       f->stack_rank[e.entry->stack],
			.weight = e.weight,
		};
	qsort(f->lines, f->nr_lines, sizeof(*f->lines), by_key);
	return 0;
}

static void put_name(const struct folding *f, struct strbuf *s, const struct names *n, uint32_t i)
{
	coati_strbuf_add(s, f->text.text + n->start[i], n->start[i + 1] - n->start[i] - 1);
}

static void write_line(const struct folding *f, struct strbuf *s, uint64_t key, uint64_t weight)
{
	const struct folded_stack *stack = &f->stacks[f->ranked_stack[(uint32_t)key]];

	put_name(f, s, &f->threads, f->ranked_thread[key >> 32]);
	for (uint32_t i = stack->nr; i--;) {
		coati_strbuf_addc(s, ';');
		put_name(f, s, &f->frames, stack->frames[i]);
	}
	coati_strbuf_addc(s, ' ');
	coati_strbuf_u64(s, weight);
	coati_strbuf_addc(s, '\n');
}

/* Lines with the same text are one. */
static void write_lines(const struct folding *f, struct format_output *out)
{
	for (size_t i = 0; i < f->nr_lines;) {
		uint64_t key = f->lines[i].key, weight = 0;

		for (; i < f->nr_lines && f->lines[i].key == key; i++)
			if (__builtin_add_overflow(weight, f->lines[i].weight, &weight))
				weight = UINT64_MAX;
		write_line(f, &out->text, key, weight);
		format_output_drain(out);
	}
}

static void say_what_lacks(struct format_input *in)
{
	uint64_t ns = in->quality.last_time - in->quality.first_time;
	uint32_t nr;

	if (ns)
		coati_format_note(in,
				  "folded stacks have no times: %.3f s of timeline are left out",
				  (double)ns / 1e9);
	if (coati_profile_labels(in->profile, 1, &nr))
		coati_format_note(in, "folded stacks have no labels: they are left out");
}

static int write_folded(struct format_input *in, struct format_output *out, struct coati_error *err)
{
	struct folding f = { .in = in, .text = STRBUF_INIT(SIZE_MAX / 4) };
	int r = write_names(&f);

	say_what_lacks(in);
	if (r == 0)
		r = rank_names(&f, &f.frames, NULL);
	if (r == 0)
		r = rank_names(&f, &f.threads, &f.ranked_thread);
	if (r == 0)
		r = rank_stacks(&f);
	if (r == 0)
		r = make_lines(&f);
	if (r == 0)
		write_lines(&f, out);
	folding_fini(&f);
	return r < 0 ? coati_fail(err, r, "out of memory") : 0;
}

const struct format coati_format_folded = {
	.name = "folded",
	.suffix = ".folded",
	.flags = FORMAT_NO_WORDS,
	.write = write_folded,
	.text = fold_name,
};
