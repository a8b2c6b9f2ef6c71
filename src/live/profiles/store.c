/* SPDX-License-Identifier: MIT */
/* Stacks in mapped memory: a hash of chains over words that are only ever added. */
#include "live/profiles/store.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "live/sampler/sampler.h"

#define HEADS	    16384u /* a power of two */
#define STORE_WORDS (UINT64_C(2) << 20)

struct store_memory {
	uint32_t heads[HEADS]; /* 0: none */
	uint64_t at[STORE_STACKS];
	double values[STORE_STACKS][STORE_VALUES];
	uint64_t words[STORE_WORDS];
};

static uint32_t walk(const struct store *s, const void *frame, struct store_trace *ret)
{
	struct sampler_limits limits = { .frames = ret->words,
					 .max = STORE_DEPTH,
					 .can_probe = true };
	uint64_t fp = (uint64_t)(uintptr_t)frame;
	uint32_t n = 0;

	if (atomic_load_explicit(&s->by_tables, memory_order_relaxed)) {
		struct sampler_reading reading = sampler_objects_enter();

		if (reading.objects)
			n = coati_sampler_walk_here(frame, reading.objects, &limits, &ret->cut);
		sampler_objects_leave(&reading);
	}
	return n ? n
		 : coati_sampler_walk_on((struct stack_start){ fp, fp }, ret->words, STORE_DEPTH,
					 true, &ret->cut);
}

void coati_store_trace(const struct store *s, const struct store_caller *caller,
		       struct store_trace *ret)
{
	int keep = errno; /* of the call that is looked at: a page that is not there sets it */
	struct coati_labels labels;
	uint32_t skip;
	size_t bytes;

	ret->nr_frames = walk(s, caller->frame, ret);
	errno = keep;
	skip = caller->skip < ret->nr_frames ? caller->skip : 0;
	ret->nr_frames -= skip;
	memmove(ret->words, ret->words + skip, ret->nr_frames * sizeof(ret->words[0]));
	ret->len = ret->nr_frames;
	coati_labels_snapshot(&labels);
	if (!labels.size)
		return;
	bytes = offsetof(struct coati_labels, bytes) + labels.size;
	ret->words[ret->len + (bytes - 1) / 8] = 0; /* equal sets are equal to the last byte */
	memcpy(ret->words + ret->len, &labels, bytes);
	ret->len += (uint32_t)(bytes + 7) / 8;
}

int coati_store_open(struct store *s, struct coati_error *err)
{
	struct store_memory *m;

	if (s->memory)
		return 0;
	m = mmap(NULL, sizeof(*m), PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED)
		return coati_fail(err, -errno, "memory for stacks: %m");
	s->used = sizeof(struct store_stack) / 8; /* stack 0 */
	s->nr = 1;
	s->memory = m;
	return 0;
}

void coati_store_close(struct store *s)
{
	if (s->memory)
		munmap(s->memory, sizeof(*s->memory));
	s->memory = NULL;
}

int coati_store_prepare(struct store *s, const char *who, enum coati_sampler_stacks stacks,
			uint64_t max_table_bytes, struct coati_error *err)
{
	bool by_tables;
	int r = coati_sampler_objects_prepare(who, stacks, max_table_bytes, &by_tables, err);

	if (r == 0)
		atomic_store_explicit(&s->by_tables, by_tables, memory_order_relaxed);
	return r;
}

static struct store_stack *stack_at(const struct store *s, uint32_t stack)
{
	return (struct store_stack *)&s->memory->words[s->memory->at[stack]];
}

static bool is_same(const struct store_stack *a, const struct store_trace *t, uint32_t hash)
{
	return a->hash == hash && a->nr_frames == t->nr_frames && a->len == t->len &&
	       !memcmp(a->words, t->words, t->len * sizeof(t->words[0]));
}

static uint32_t new_stack(struct store *s, const struct store_trace *t, uint32_t hash)
{
	uint64_t size = sizeof(struct store_stack) / 8 + t->len;
	struct store_stack *it;

	if (s->nr == STORE_STACKS || STORE_WORDS - s->used < size) {
		s->over++;
		return 0;
	}
	s->memory->at[s->nr] = s->used;
	it = stack_at(s, s->nr);
	*it = (struct store_stack){ s->memory->heads[hash % HEADS], t->nr_frames, t->len, hash };
	memcpy(it->words, t->words, t->len * sizeof(t->words[0]));
	s->memory->heads[hash % HEADS] = s->nr;
	s->used += size;
	return s->nr++;
}

static uint32_t find_stack(struct store *s, const struct store_trace *t)
{
	uint32_t hash =
		(uint32_t)coati_hash_bytes(t->words, t->len * sizeof(t->words[0]), t->nr_frames);
	uint32_t stack = s->memory->heads[hash % HEADS];

	while (stack && !is_same(stack_at(s, stack), t, hash))
		stack = stack_at(s, stack)->next;
	return stack ? stack : new_stack(s, t, hash);
}

uint32_t coati_store_add(struct store *s, const struct store_trace *t, const double *values)
{
	uint32_t stack = find_stack(s, t);

	s->cut += t->cut;
	coati_store_change(s, stack, values);
	return stack;
}

void coati_store_change(struct store *s, uint32_t stack, const double *values)
{
	for (uint32_t i = 0; i < STORE_VALUES; i++) {
		s->memory->values[stack][i] += values[i];
		s->totals[i] += values[i];
	}
}

void coati_store_totals(struct store *s, void (*show)(double *values), uint64_t *ret)
{
	double totals[STORE_VALUES];

	pthread_mutex_lock(&s->lock);
	memcpy(totals, s->totals, sizeof(totals));
	pthread_mutex_unlock(&s->lock);
	if (show)
		show(totals);
	for (uint32_t i = 0; i < STORE_VALUES; i++)
		ret[i] = totals[i] > 0 ? (uint64_t)(totals[i] + 0.5) : 0;
}

/* Memory first, then the lock: who gives memory may be who has the lock. */
int coati_store_snapshot(struct store *s, struct store_snapshot *ret)
{
	struct store_snapshot snapshot = { .bytes = sizeof(s->memory->values) };
	void *memory = mmap(NULL, snapshot.bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED)
		return -errno;
	snapshot.values = memory;
	/* the reader of the profile makes the tables of what was loaded since */
	if (atomic_load_explicit(&s->by_tables, memory_order_relaxed))
		coati_sampler_objects_refresh(0);
	pthread_mutex_lock(&s->lock);
	snapshot.nr = s->nr;
	snapshot.over = s->over;
	snapshot.cut = s->cut;
	memcpy(snapshot.values, s->memory->values, s->nr * sizeof(snapshot.values[0]));
	pthread_mutex_unlock(&s->lock);
	snapshot.wall_ns = clock_ns(CLOCK_REALTIME);
	snapshot.time_ns = now_ns();
	*ret = snapshot;
	return 0;
}

void coati_store_snapshot_free(struct store_snapshot *s)
{
	if (s->values)
		munmap(s->values, s->bytes);
	s->values = NULL;
}

const struct store_stack *coati_store_stack(const struct store *s, uint32_t stack)
{
	return stack_at(s, stack);
}
