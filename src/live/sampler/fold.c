/* SPDX-License-Identifier: MIT */
/* Samples come in; equal stacks of a thread with equal labels are one, with their number. What is
 * over the ceiling is counted as lost. */
#include <string.h>

#include "live/sampler/sampler.h"

#define STACKS_MAX	(1u << 20)
#define STACK_BYTES_MAX ((size_t)128 << 20)

void coati_sampler_fold_init(struct sampler_fold *f)
{
	*f = (struct sampler_fold){ 0 };
	f->last = &f->first;
	coati_map_init(&f->by_hash, STACKS_MAX);
	coati_arena_init(&f->arena, STACK_BYTES_MAX);
	coati_sampler_rest_init(&f->rest);
}

void coati_sampler_fold_fini(struct sampler_fold *f)
{
	coati_map_fini(&f->by_hash);
	coati_arena_fini(&f->arena);
	coati_sampler_rest_fini(&f->rest);
}

static bool is_same(const struct sampler_stack *s, const struct coati_profbuf_record *r)
{
	return s->tid == r->header[0] && s->nr_frames == r->header[2] && s->len == r->nr_stack &&
	       !memcmp(s->words, r->stack, r->nr_stack * sizeof(*r->stack));
}

static struct sampler_stack *new_stack(struct sampler_fold *f, uint64_t key,
				       const struct coati_profbuf_record *r)
{
	size_t bytes = r->nr_stack * sizeof(*r->stack);
	struct sampler_stack *s = coati_arena_alloc(&f->arena, sizeof(*s) + bytes);

	if (!s || coati_map_put(&f->by_hash, key, (uintptr_t)s) < 0)
		return NULL;
	s->tid = r->header[0];
	s->nr_frames = (uint32_t)r->header[2];
	s->len = r->nr_stack;
	memcpy(s->words, r->stack, bytes);
	*f->last = s;
	f->last = &s->next;
	f->stacks++;
	return s;
}

static struct sampler_stack *find_stack(struct sampler_fold *f,
					const struct coati_profbuf_record *r)
{
	uint64_t key = coati_hash_bytes(r->stack, r->nr_stack * sizeof(*r->stack), r->header[0]);
	uint64_t found;

	for (; coati_map_get(&f->by_hash, key, &found); key++)
		if (is_same((struct sampler_stack *)(uintptr_t)found, r))
			return (struct sampler_stack *)(uintptr_t)found;
	return new_stack(f, key, r);
}

static struct sampler_stack *count_sample(struct sampler_fold *f,
					  const struct coati_profbuf_record *r)
{
	struct sampler_stack *s = find_stack(f, r);

	if (!s) {
		f->lost++;
		return NULL;
	}
	s->count++;
	f->samples++;
	f->cut += r->header[1] & SAMPLER_CUT;
	return s;
}

void coati_sampler_fold_rest(struct sampler_fold *f, const struct coati_profbuf_record *r)
{
	struct sampler_stack *s = count_sample(f, r);

	if (!s)
		return;
	s->rest_ns += r->header[1] >> 1;
	f->rest_ns += r->header[1] >> 1;
}

void coati_sampler_fold_add(struct sampler_fold *f, const struct coati_profbuf_record *r)
{
	struct sampler_stack *s;

	if (r->kind != COATI_PROFBUF_DATA) {
		f->lost += r->count;
		return;
	}
	if (r->header[3] & SAMPLER_REST) {
		f->lost += !coati_sampler_rest_add(&f->rest, r);
		return;
	}
	coati_sampler_rest_own(&f->rest, r);
	s = count_sample(f, r);
	if (!s)
		return;
	s->weight_ns += r->header[1] >> 1;
	f->weight_ns += r->header[1] >> 1;
}
