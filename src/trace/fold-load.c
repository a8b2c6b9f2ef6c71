/* SPDX-License-Identifier: MIT */
/* The end of a timeline that is a summary: the kernel's part is completed first, then live events,
 * which waited, are folded into it; or kept, where they cannot be folded. */
#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "trace/fold.h"
#include "trace/kept.h"
#include "trace/timeline-read.h"
#include "trace/timeline.h"

static int feed_all(struct load *l)
{
	struct backlog_pos pos = { 0 };
	struct backlog_batch b;
	int r = 0;

	while (r == 0 && coati_backlog_next(&l->backlog, &pos, &b))
		r = coati_load_feed(l, &b);
	return r ? r : coati_load_live_end(l);
}

/* 0, FOLD_GIVE_UP, -ENOMEM. */
static int fold_all(struct load *l)
{
	struct coati_timeline *t = l->timeline;
	const char *name = t->opts.instances_of ? coati_timeline_text(t, t->opts.instances_of) : "";
	int r = -ENOMEM;

	if (t->opts.instances_of)
		t->kept = name ? coati_kept_new(name, t->opts.flags & COATI_TIMELINE_WHY) : NULL;
	l->fold = !t->opts.instances_of || t->kept ? coati_alloc(sizeof(*l->fold)) : NULL;
	if (l->fold) {
		coati_fold_init(l->fold, l->timeline);
		r = feed_all(l);
		if (r == 0)
			r = coati_fold_end(l->fold);
		coati_fold_fini(l->fold);
	}
	coati_free(l->fold);
	l->fold = NULL;
	return r;
}

/* Everything that the fold did, but for threads that it found: they are there. */
static void undo(struct load *l, const struct coati_timeline_info *before, size_t nr_notes)
{
	struct coati_timeline *t = l->timeline;

	t->info = *before;
	t->findings.len = 0;
	coati_kept_free(&t->kept);
	for (size_t i = 0; i < t->threads.len; i++)
		t->threads.v[i].works.len = 0;
	t->notes.len = nr_notes;
	coati_timeline_forget_types(t);
	coati_strbuf_fini(&l->text);
	coati_trace_check_free(&l->check);
	coati_live_reader_free(&l->trace);
}

/* Tasks and regions are kept after all, between the kernel's events. */
static int keep_all(struct load *l)
{
	struct coati_timeline *t = l->timeline;
	uint64_t end = t->info.end;
	int r;

	t->ended = false;
	r = feed_all(l);
	t->ended = true;
	t->info.end = end;
	if (r == 0)
		r = coati_timeline_end_threads(t);
	if (r == 0)
		r = coati_timeline_end_live(t);
	return r < 0 ? r : coati_timeline_end_types(t);
}

int coati_load_fold(struct load *l, struct coati_error *err)
{
	struct coati_timeline *t = l->timeline;
	struct coati_timeline_info before;
	size_t nr_notes = t->notes.len;
	int r;

	/* without the recorder's word the end is known behind the last live event alone */
	if (l->end <= t->info.begin) {
		r = feed_all(l);
		return r < 0 ? coati_fail(err, r, "timeline: %m")
			     : coati_timeline_end(t, l->end, err);
	}
	r = coati_timeline_end_kernel(t, l->end);
	before = t->info;
	if (r == 0)
		r = fold_all(l);
	if (r == FOLD_GIVE_UP) {
		undo(l, &before, nr_notes);
		r = keep_all(l);
	}
	return r < 0 ? coati_fail(err, r, "timeline: %m") : 0;
}
