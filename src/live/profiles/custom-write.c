/* SPDX-License-Identifier: MIT */
/* Custom profiles as others read them: pprof or the text of Go's debug=1, largest count first. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "live/pprof/pprof.h"
#include "live/pprof/text.h"
#include "live/profiles/custom.h"

struct row {
	uint64_t count;
	uint32_t stack;
};

struct rows {
	struct row *list;
	uint32_t len;
	uint64_t total, over, refused, cut;
};

static int by_count(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return x->stack < y->stack ? -1 : x->stack > y->stack;
}

static int read_rows(struct coati_custom *p, struct rows *ret)
{
	struct store_snapshot now = { 0 };
	int r = coati_store_snapshot(&p->store, &now);

	*ret = (struct rows){ .over = now.over, .cut = now.cut };
	if (r < 0)
		return r;
	ret->list = coati_alloc_array(now.nr, sizeof(*ret->list));
	for (uint32_t i = 0; ret->list && i < now.nr; i++)
		if (now.values[i][0] >= 1) {
			ret->list[ret->len++] = (struct row){ (uint64_t)now.values[i][0], i };
			ret->total += (uint64_t)now.values[i][0];
		}
	coati_store_snapshot_free(&now);
	if (!ret->list)
		return -ENOMEM;
	qsort(ret->list, ret->len, sizeof(*ret->list), by_count);
	pthread_mutex_lock(&p->store.lock);
	ret->refused = p->refused;
	pthread_mutex_unlock(&p->store.lock);
	return 0;
}

static void labels_of(const struct store_stack *s, struct coati_labels *ret)
{
	size_t bytes = (s->len - s->nr_frames) * sizeof(s->words[0]);

	*ret = (struct coati_labels){ .size = 0 };
	memcpy(ret, s->words + s->nr_frames, bytes < sizeof(*ret) ? bytes : sizeof(*ret));
}

static void add_row(struct pprof *pprof, const struct store_stack *s, const struct row *row)
{
	struct coati_labels labels;
	const struct pprof_sample sample = { .frames = s->words,
					     .nr_frames = s->nr_frames,
					     .leaf_is_call = true,
					     .values = &row->count,
					     .nr_values = 1,
					     .labels = &labels };

	labels_of(s, &labels);
	coati_pprof_add(pprof, &sample);
}

static int put_pprof(struct coati_custom *p, const struct rows *rows, bool names,
		     struct strbuf *ret)
{
	struct pprof pprof;
	int r;

	coati_pprof_init(&pprof, names, ret->max);
	coati_pprof_sample_type(&pprof, p->name, "count");
	for (uint32_t i = 0; i < rows->len; i++)
		add_row(&pprof, coati_store_stack(&p->store, rows->list[i].stack), &rows->list[i]);
	coati_pprof_period(&pprof, p->name, "count", 1);
	coati_pprof_time(&pprof, clock_ns(CLOCK_REALTIME), 0);
	if (rows->refused)
		coati_pprof_comment(&pprof, "%" PRIu64 " values were refused: more than %u",
				    rows->refused, p->max_values);
	if (rows->over)
		coati_pprof_comment(&pprof, "%" PRIu64 " values came without a stack: more than %u",
				    rows->over, STORE_STACKS - 1);
	if (rows->cut)
		coati_pprof_comment(&pprof, "%" PRIu64 " values came with a stack that is cut",
				    rows->cut);
	r = coati_pprof_finish(&pprof, ret);
	coati_pprof_fini(&pprof);
	return r;
}

static int put_text(struct coati_custom *p, const struct rows *rows, struct strbuf *ret)
{
	struct live_maps maps;
	int r = coati_maps_open(&maps);

	if (r < 0)
		return r;
	coati_strbuf_printf(ret, "%s profile: total %" PRIu64 "\n", p->name, rows->total);
	for (uint32_t i = 0; i < rows->len; i++) {
		const struct store_stack *s = coati_store_stack(&p->store, rows->list[i].stack);
		struct coati_labels labels;
		const struct text_stack text = { s->words, s->nr_frames, true, &labels };

		labels_of(s, &labels);
		coati_strbuf_printf(ret, "%" PRIu64, rows->list[i].count);
		coati_text_addresses(&text, ret);
		coati_strbuf_addc(ret, '\n');
		coati_text_frames(&maps, &text, "#\t", ret);
	}
	if (rows->refused)
		coati_strbuf_printf(ret, "# %" PRIu64 " values were refused: more than %u\n",
				    rows->refused, p->max_values);
	coati_text_mappings(&maps, ret);
	coati_maps_close(&maps);
	return ret->failed;
}

int coati_custom_format(struct coati_custom *p, uint32_t flags, struct strbuf *ret)
{
	struct rows rows;
	int r = read_rows(p, &rows);

	if (r == 0)
		r = flags & COATI_CUSTOM_TEXT
			    ? put_text(p, &rows, ret)
			    : put_pprof(p, &rows, flags & COATI_CUSTOM_NAMES, ret);
	coati_free(rows.list);
	return r;
}

int coati_custom_write(struct coati_custom *profile, int fd, uint32_t flags,
		       struct coati_error *err)
{
	struct strbuf out = STRBUF_INIT(STORE_BYTES_MAX);
	int r;

	if (flags & ~(COATI_CUSTOM_NAMES | COATI_CUSTOM_TEXT))
		return coati_fail(err, -EINVAL, "profile %s: unknown flags", profile->name);
	r = coati_custom_format(profile, flags, &out);
	if (r < 0)
		coati_fail(err, r, "profile %s: making it: %m", profile->name);
	else if ((r = coati_write_all(fd, out.text, out.len)) < 0)
		coati_fail(err, r, "profile %s: writing it: %m", profile->name);
	coati_strbuf_fini(&out);
	return r;
}

void coati_custom_make_page(struct page_job *job)
{
	struct coati_custom *p = (struct coati_custom *)(uintptr_t)job->page;
	int r;

	if (job->seconds) {
		coati_page_fail(job, 400,
				"this profile shows what exists now; ask without seconds");
		return;
	}
	r = coati_custom_format(p, job->debug ? COATI_CUSTOM_TEXT : COATI_CUSTOM_NAMES, job->body);
	if (r < 0)
		coati_page_fail(job, 500,
				r == -E2BIG ? "the profile is too large"
					    : "no memory to make the profile");
	else if (!job->debug)
		job->file = strpbrk(p->name, "/.") ? "custom" : p->name;
}
