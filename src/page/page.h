/* SPDX-License-Identifier: MIT */
/*
 * A recording as the data of the browser page: samples with their call paths, and the timeline of
 * threads and tasks where the recording has one. Recordings come in; columns that viewer/store.js
 * reads come out. docs/formats/page.md describes them.
 *
 *	coati_page_new(&(struct page_opts){ .title = "coati.data" }, &p, &err);
 *	coati_page_read(p, "coati.data", NULL, NULL, &err);	and further files: they are merged
 *	coati_page_data(p, &bytes, &err);
 *	coati_page_free(&p);
 *
 * What is too much for a page is thinned, and a note says so: sums of samples stay exact.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/profile.h>

#include "base/array.h"
#include "format/live-events.h"
#include "page/columns.h"
#include "page/names.h"
#include "page/taken.h"
#include "reading/hooks.h"
#include "trace/timeline.h"

#define PAGE_NOTES_MAX 64

/* Strings must live as long as the page. */
struct page_opts {
	const struct coati_filter *filter;
	const struct coati_images_opts *images;
	const char *title; /* NULL: the path of the first recording */
	bool no_inlines, counts;
	const char *mode;   /* with which the page opens: "on", "off" or "both"; NULL: on */
	bool with_sources;  /* the files that the samples are in are put into the page */
	uint32_t max_items; /* of each kind; 0: 2^21 */
};

struct page;

int coati_page_new(const struct page_opts *opts, struct page **ret, struct coati_error *err);
void coati_page_free(struct page **p);
/* As coati_profile_read(). */
int coati_page_read(struct page *p, const char *path, coati_progress_fn fn, void *ctx,
		    struct coati_error *err);
/* The profile was filled from elsewhere than recordings, from a database: its sums are what the
 * page shows, without times. -EINVAL: recordings were read, too. */
int coati_page_fill(struct page *p, const char *title, struct coati_error *err);
/* All of it, not compressed. Once, behind the reading. */
int coati_page_data(struct page *p, struct strbuf *ret, struct coati_error *err);
/* What it stands on. */
struct coati_profile *coati_page_profile(const struct page *p);
/* The source file that is text number @text of the page: -ENOENT when no frame is in it. */
int coati_page_source(const struct page *p, uint32_t text, struct strbuf *ret);
/* A sentence for the person; NULL past the end. */
const char *coati_page_note(const struct page *p, uint32_t i);

/* ---- inside ---- */

enum page_mode { PAGE_ON = 0, PAGE_OFF, PAGE_MODES };

/* A thread as the page shows it. */
struct page_thread {
	int32_t pid, tid;
	uint32_t comm, process; /* texts */
	uint32_t timeline;	/* its number there, PAGE_NONE: none */
	uint64_t begin, end;
};

struct page {
	struct page_opts opts;
	struct coati_filter filter;
	struct coati_images_opts images;
	struct coati_profile *profile;
	struct coati_contexts *contexts;
	struct coati_view *views[PAGE_MODES];
	struct taken taken; /* samples, until coati_page_put_samples() */
	ARRAY(struct coati_profile_loss) losses;
	bool has_too_many;   /* samples */
	uint32_t last_event; /* of the sample that came last; PAGE_NONE: none did */
	bool is_long;	     /* time goes by while it lasts */
	bool is_filled;	     /* sample i is entry i of the profile */
	struct page_stacks stacks[PAGE_MODES];
	struct live live;
	bool has_live;
	struct coati_timeline *timeline;  /* or NULL */
	struct coati_timeline_info info;  /* of it */
	struct coati_view *timeline_view; /* its stacks; or NULL */
	bool wants_timeline;
	uint32_t nr_events_seen, nr_files;
	char *path; /* of the first recording */
	uint64_t begin, end;
	struct page_names names;
	ARRAY(struct page_thread) threads;
	struct map thread_index; /* pid and tid: the first that had them */
	struct page_stacks timeline_stacks;
	struct columns columns;
	ARRAY(char *) notes;
};

void coati_page_add_note(struct page *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The thread of that number, made where there is none. PAGE_NONE: no memory. */
uint32_t coati_page_thread(struct page *p, int32_t pid, int32_t tid, const char *comm);
/* Since the beginning. */
static inline uint64_t page_time(const struct page *p, uint64_t time)
{
	return time > p->begin ? time - p->begin : 0;
}
static inline uint64_t page_max_items(const struct page *p)
{
	return p->opts.max_items ? p->opts.max_items : UINT64_C(1) << 21;
}
/* The node of samples of a stack; PAGE_NONE: the page has none. Not before put_samples(). */
uint32_t coati_page_node(const struct page *p, uint32_t event, uint32_t stack);
/* Is the event part of what the page adds up, and not the same time once more? */
bool coati_page_counts_event(const struct page *p, uint32_t event);

/* The parts: each fills columns. 0, -ENOMEM, -E2BIG. */
int coati_page_put_threads(struct page *p);
int coati_page_put_samples(struct page *p);
int coati_page_put_timeline(struct page *p);
int coati_page_put_live(struct page *p);
int coati_page_put_sources(struct page *p);
int coati_page_put_meta(struct page *p);
