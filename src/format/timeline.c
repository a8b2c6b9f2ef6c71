/* SPDX-License-Identifier: MIT */
/* see timeline.h */
#include "format/timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "profile/walk.h"
#include "reading/hooks.h"
#include "reading/parts.h"

static void add_up(struct timeline *t)
{
	struct coati_view_entry e;

	for (size_t i = 0; i < t->in->nr_samples; i++) {
		const struct coati_profile_sample *s = &t->in->samples[i];

		t->first[s->thread + 1]++;
		if (coati_view_sample(t->in->view, s, &e) &&
		    __builtin_add_overflow(t->weights[s->thread], e.weight, &t->weights[s->thread]))
			t->weights[s->thread] = UINT64_MAX;
	}
}

/* Counting sort: first[] goes from sizes to where each thread begins, and back while they are
 * filled. */
static void put_in_order(struct timeline *t, uint32_t nr_threads)
{
	for (uint32_t i = 0; i < nr_threads; i++)
		t->first[i + 1] += t->first[i];
	for (size_t i = 0; i < t->in->nr_samples; i++)
		t->order[t->first[t->in->samples[i].thread]++] = (uint32_t)i;
	for (uint32_t i = nr_threads; i > 0; i--)
		t->first[i] = t->first[i - 1];
	t->first[0] = 0;
}

static int heavier(const void *a, const void *b, void *ctx)
{
	const struct timeline *t = ctx;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (t->weights[x] != t->weights[y])
		return t->weights[x] > t->weights[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void find_start(struct timeline *t)
{
	t->start_ns = t->in->start_ns;
	t->has_times = t->in->quality.first_time || t->in->live;
	if (t->in->nr_samples && !t->in->quality.first_time)
		coati_format_note(
			t->in,
			"the recording has no times: its samples are shown a millisecond apart");
}

int coati_timeline_init(struct timeline *t, struct format_input *in, struct coati_error *err)
{
	uint32_t nr = coati_profile_thread_count(in->profile);

	*t = (struct timeline){ .in = in };
	t->order = coati_alloc_array(in->nr_samples + 1, sizeof(*t->order));
	t->first = coati_alloc_array((size_t)nr + 2, sizeof(*t->first));
	t->weights = coati_alloc_array((size_t)nr + 1, sizeof(*t->weights));
	t->threads = coati_alloc_array((size_t)nr + 1, sizeof(*t->threads));
	if (!t->order || !t->first || !t->weights || !t->threads)
		return coati_fail(err, -ENOMEM, "out of memory");
	add_up(t);
	put_in_order(t, nr);
	for (uint32_t i = 0; i < nr; i++)
		if (t->first[i + 1] > t->first[i])
			t->threads[t->nr_threads++] = i;
	qsort_r(t->threads, t->nr_threads, sizeof(*t->threads), heavier, t);
	find_start(t);
	return 0;
}

void coati_timeline_fini(struct timeline *t)
{
	coati_free(t->order);
	coati_free(t->first);
	coati_free(t->weights);
	coati_free(t->threads);
	*t = (struct timeline){ 0 };
}

void coati_timeline_say_labels(struct format_input *in, const char *format)
{
	for (size_t i = 0; i < in->nr_samples; i++)
		if (in->samples[i].labels) {
			coati_format_note(in, "%s has no labels: those of the samples are left out",
					  format);
			return;
		}
}

void coati_timeline_put_notes(const struct format_input *in, struct json *j)
{
	coati_json_key(j, "notes");
	coati_json_array(j);
	for (size_t i = 0; i < in->notes->v.len; i++)
		coati_json_str(j, in->notes->v.v[i]);
	coati_json_end(j);
}

uint32_t *coati_timeline_functions(const struct timeline *t, uint32_t *ret_nr)
{
	const struct format_input *in = t->in;
	uint32_t nr = coati_view_function_count(in->view), used = 0;
	uint32_t *numbers = coati_alloc_array((size_t)nr + 1, sizeof(*numbers));
	struct coati_view_entry e;

	for (uint32_t i = 0; numbers && i < nr; i++)
		numbers[i] = UINT32_MAX;
	for (size_t i = 0; numbers && i < in->nr_samples; i++) {
		if (!coati_view_sample(in->view, &in->samples[i], &e))
			continue;
		for (uint32_t k = 0; k < e.nr_frames; k++) {
			uint32_t f = coati_view_frame(in->view, e.frames[k])->function_id;

			if (numbers[f] == UINT32_MAX)
				numbers[f] = used++;
		}
	}
	*ret_nr = used;
	return numbers;
}
