/* SPDX-License-Identifier: MIT */
/* Stacks with numbers come in, pprof or the text that Go's debug=1 has goes out. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "live/page.h"
#include "live/pprof/pprof.h"
#include "live/pprof/text.h"
#include "live/profiles/store.h"

struct view {
	const struct store_form *form;
	const struct store_snapshot *from, *to;
	uint32_t nr_values;
};

/* A number that other programs read as signed. */
static uint64_t whole(double v)
{
	return (uint64_t)(int64_t)(v + (v < 0 ? -0.5 : 0.5));
}

/* False when there is nothing to show of it. */
static bool values_of(const struct view *v, uint32_t stack, uint64_t *ret)
{
	double values[STORE_VALUES];
	bool any = false;

	for (uint32_t i = 0; i < STORE_VALUES; i++) {
		values[i] = v->to->values[stack][i];
		if (v->from && stack < v->from->nr)
			values[i] -= v->from->values[stack][i];
	}
	if (v->form->show)
		v->form->show(values);
	for (uint32_t i = 0; i < v->nr_values; i++) {
		ret[i] = whole(values[i]);
		any = any || ret[i];
	}
	return any;
}

static void labels_of(const struct store_stack *s, struct coati_labels *ret)
{
	size_t bytes = (s->len - s->nr_frames) * sizeof(s->words[0]);

	*ret = (struct coati_labels){ .size = 0 };
	memcpy(ret, s->words + s->nr_frames, bytes < sizeof(*ret) ? bytes : sizeof(*ret));
}

/* ---- pprof ---- */

static void add_stack(struct pprof *p, const struct view *v, uint32_t stack)
{
	const struct store_stack *s = coati_store_stack(v->form->store, stack);
	uint64_t values[STORE_VALUES];
	struct coati_labels labels;
	struct pprof_sample sample = { .frames = s->words,
				       .nr_frames = s->nr_frames,
				       .leaf_is_call = true,
				       .values = values,
				       .nr_values = v->nr_values,
				       .labels = &labels };
	uint32_t objects = v->form->bytes_of[0], bytes = v->form->bytes_of[1];

	if (!values_of(v, stack, values))
		return;
	labels_of(s, &labels);
	if (bytes && (int64_t)values[objects] > 0)
		sample.bytes = values[bytes] / values[objects];
	coati_pprof_add(p, &sample);
}

static void add_comments(struct pprof *p, const struct view *v)
{
	struct strbuf lines = STRBUF_INIT(4096);
	char *line, *end;

	v->form->comment(&lines);
	if (v->to->over)
		coati_strbuf_printf(
			&lines, "%" PRIu64 " are without a stack: there are more than %u of them\n",
			v->to->over, STORE_STACKS - 1);
	if (v->to->cut)
		coati_strbuf_printf(&lines, "%" PRIu64 " with a stack that is cut\n", v->to->cut);
	for (line = lines.text; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		coati_pprof_comment(p, "%s", line);
	}
	coati_strbuf_fini(&lines);
}

static int write_pprof(const struct view *v, bool names, struct strbuf *ret)
{
	const struct store_form *form = v->form;
	struct pprof p;
	int r;

	coati_pprof_init(&p, names, ret->max);
	for (uint32_t i = 0; i < v->nr_values; i++)
		coati_pprof_sample_type(&p, form->types[i][0], form->types[i][1]);
	for (uint32_t i = 0; i < v->to->nr; i++)
		add_stack(&p, v, i);
	coati_pprof_default_type(&p, form->default_type);
	coati_pprof_period(&p, form->period_type, form->period_unit, form->period());
	coati_pprof_time(&p, v->to->wall_ns, v->from ? v->to->time_ns - v->from->time_ns : 0);
	add_comments(&p, v);
	r = coati_pprof_finish(&p, ret);
	coati_pprof_fini(&p);
	return r;
}

/* ---- text ---- */

static void put_text_stack(const struct view *v, struct live_maps *maps, uint32_t stack,
			   struct strbuf *ret)
{
	const struct store_stack *s = coati_store_stack(v->form->store, stack);
	uint64_t values[STORE_VALUES];
	struct coati_labels labels;
	const struct text_stack text = { s->words, s->nr_frames, true, &labels };

	if (!values_of(v, stack, values))
		return;
	labels_of(s, &labels);
	v->form->line(values, ret);
	coati_text_addresses(&text, ret);
	coati_strbuf_addc(ret, '\n');
	coati_text_frames(maps, &text, "#\t", ret);
}

static int write_text(const struct view *v, struct strbuf *ret)
{
	uint64_t sums[STORE_VALUES] = { 0 }, values[STORE_VALUES];
	struct live_maps maps;
	int r = coati_maps_open(&maps);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < v->to->nr; i++)
		if (values_of(v, i, values))
			for (uint32_t k = 0; k < v->nr_values; k++)
				sums[k] += values[k];
	v->form->head(sums, ret);
	for (uint32_t i = 0; i < v->to->nr; i++)
		put_text_stack(v, &maps, i, ret);
	coati_text_mappings(&maps, ret);
	coati_maps_close(&maps);
	return ret->failed;
}

/* ---- both ---- */

int coati_store_write(const struct store_form *form, const struct store_snapshot *from,
		      const struct store_snapshot *to, uint32_t flags, struct strbuf *ret)
{
	struct view v = { .form = form, .from = from, .to = to };

	while (v.nr_values < STORE_VALUES && form->types[v.nr_values][0][0])
		v.nr_values++;
	return flags & STORE_TEXT ? write_text(&v, ret) : write_pprof(&v, flags & STORE_NAMES, ret);
}

int coati_store_write_fd(const struct store_form *form, int fd, uint32_t flags,
			 struct coati_error *err)
{
	struct strbuf out = STRBUF_INIT(STORE_BYTES_MAX);
	struct store_snapshot now = { 0 };
	int r;

	if (!form->store->memory)
		return coati_fail(err, -ESRCH, "%s profile: it was never started", form->name);
	r = coati_store_snapshot(form->store, &now);
	if (r == 0)
		r = coati_store_write(form, NULL, &now, flags, &out);
	if (r < 0)
		coati_fail(err, r, "%s profile: making it: %m", form->name);
	else if ((r = coati_write_all(fd, out.text, out.len)) < 0)
		coati_fail(err, r, "%s profile: writing it: %m", form->name);
	coati_store_snapshot_free(&now);
	coati_strbuf_fini(&out);
	return r;
}

static int make_page(const struct store_form *form, struct page_job *job)
{
	struct store_snapshot from = { 0 }, to = { 0 };
	int r = 0;

	if (job->seconds) {
		r = coati_store_snapshot(form->store, &from);
		if (r == 0 && !job->wait(job, job->seconds * NSEC_PER_SEC))
			r = -ECANCELED;
	}
	if (r == 0)
		r = coati_store_snapshot(form->store, &to);
	if (r == 0)
		r = coati_store_write(form, job->seconds ? &from : NULL, &to,
				      job->debug ? STORE_TEXT : STORE_NAMES, job->body);
	coati_store_snapshot_free(&from);
	coati_store_snapshot_free(&to);
	return r;
}

void coati_store_make_page(const struct store_form *form, struct page_job *job)
{
	int r = make_page(form, job);

	if (r < 0) {
		coati_page_fail(job, 500,
				r == -E2BIG ? "the profile is too large"
					    : "no memory to make the profile");
	} else if (!job->debug) {
		job->file = form->name;
	}
}
