/* SPDX-License-Identifier: MIT */
/*
 * The CPU time that the events of the threads do not see: that of threads which end before their
 * first sample, and of all others after their last one. Where it is much, a timer over the whole
 * process runs beside the events. At its tick it samples the thread that runs, whichever that is.
 *
 * Nothing is counted twice: a sample of the timer stands until the same thread gets a later sample
 * of its own event, which stands for all of the time since the one before. What is left when the
 * thread or the profile ends is the rest. Each record says which life of a thread it belongs to
 * (thread ids are used again) and how many samples of its own event that life had before.
 */
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "live/sampler/sampler.h"

#define PENDING_MAX (1u << 16)
#define LIVES_MAX   (1u << 20)
#define MUCH_SHARE  20 /* of the CPU time: less is not worth a timer */

struct sampler_pending {
	struct sampler_pending *next;
	uint64_t header[SAMPLER_HEADER];
	uint32_t nr_stack;
	uint64_t words[];
};

static uint64_t life_of(uint64_t word)
{
	return word >> SAMPLER_LIFE_SHIFT;
}

static uint64_t count_of(uint64_t word)
{
	return word >> 1 & ((UINT64_C(1) << (SAMPLER_LIFE_SHIFT - 1)) - 1);
}

void coati_sampler_rest_init(struct sampler_rest *rest)
{
	*rest = (struct sampler_rest){ 0 };
	coati_map_init(&rest->counts, LIVES_MAX);
}

void coati_sampler_rest_fini(struct sampler_rest *rest)
{
	for (struct sampler_pending *p = rest->first, *next; p; p = next) {
		next = p->next;
		coati_free(p);
	}
	coati_map_fini(&rest->counts);
	*rest = (struct sampler_rest){ 0 };
}

/* Does the timer run? Until then there is nothing to remember. */
void coati_sampler_rest_own(struct sampler_rest *rest, const struct coati_profbuf_record *r)
{
	uint64_t life = life_of(r->header[3]), count = count_of(r->header[3]) + 1, known = 0;

	if (!rest->is_on)
		return;
	coati_map_get(&rest->counts, life, &known);
	/* full: what is pending stays */
	if (count > known)
		coati_map_put(&rest->counts, life, count);
}

bool coati_sampler_rest_add(struct sampler_rest *rest, const struct coati_profbuf_record *r)
{
	size_t bytes = r->nr_stack * sizeof(*r->stack);
	struct sampler_pending *p =
		rest->pending < PENDING_MAX ? coati_alloc(sizeof(*p) + bytes) : NULL;

	if (!p)
		return false;
	memcpy(p->header, r->header, sizeof(p->header));
	memcpy(p->words, r->stack, bytes);
	p->nr_stack = r->nr_stack;
	p->next = rest->first;
	rest->first = p;
	rest->pending++;
	return true;
}

static bool is_replaced(const struct sampler_rest *rest, const struct sampler_pending *p)
{
	uint64_t count = 0;

	coati_map_get(&rest->counts, life_of(p->header[3]), &count);
	return count > count_of(p->header[3]);
}

/* A thread that has the number now may be another one: then it waits until that one ends, too. */
static bool is_over(const struct sampler_pending *p)
{
	return syscall(SYS_tgkill, (long)getpid(), (long)p->header[0], 0L) < 0;
}

static void keep(struct sampler_fold *f, const struct sampler_pending *p)
{
	struct coati_profbuf_record r = { .kind = COATI_PROFBUF_DATA,
					  .header = p->header,
					  .nr_header = SAMPLER_HEADER,
					  .stack = p->words,
					  .nr_stack = p->nr_stack };

	coati_sampler_fold_rest(f, &r);
}

void coati_sampler_rest_settle(struct sampler_fold *f, bool at_end)
{
	struct sampler_rest *rest = &f->rest;
	struct sampler_pending **at = &rest->first;

	while (*at) {
		struct sampler_pending *p = *at;
		bool drop = is_replaced(rest, p);

		if (!drop && !at_end && !is_over(p)) {
			at = &p->next;
			continue;
		}
		rest->replaced += drop;
		if (!drop)
			keep(f, p);
		*at = p->next;
		coati_free(p);
		rest->pending--;
	}
}

/* Both ticks of two CPUs come at once, and one of them is charged for both: threads that have no
 * sample of their own may get the time of those that have. In all it is not more than was used. */
void coati_sampler_rest_limit(struct sampler_fold *f, uint64_t max_ns)
{
	uint64_t was_ns = f->rest_ns;
	double share = was_ns > max_ns ? (double)max_ns / (double)was_ns : 1;

	f->rest_ns = 0;
	for (struct sampler_stack *s = f->first; s; s = s->next) {
		uint64_t part_ns = (uint64_t)((double)s->rest_ns * share);

		s->weight_ns += part_ns;
		f->rest_ns += part_ns;
	}
	f->weight_ns += f->rest_ns;
}

bool coati_sampler_rest_is_much(uint64_t used_ns, uint64_t period_ns, uint32_t threads)
{
	uint64_t seen_ns = 0, unseen_ns;

	for (uint32_t i = 0; i < SAMPLER_SLOTS; i++)
		seen_ns += atomic_load_explicit(&coati_sampler_shared.slots[i].seen_ns,
						memory_order_relaxed);
	unseen_ns = used_ns > seen_ns ? used_ns - seen_ns : 0;
	/* threads that live on have used a part of a period each since their last sample */
	return unseen_ns > used_ns / MUCH_SHARE && unseen_ns > (threads + 1) * period_ns;
}
