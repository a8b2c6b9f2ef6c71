/* SPDX-License-Identifier: MIT */
/* see measure.h */
#include "page/measure.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "page/page.h"
#include "reading/parts.h"
#include "reading/wait.h"
#include "trace/timeline.h"

#define WINDOWS 50 /* of the time, to find where most wait */

/* What a call path goes through. */
#define GOES_LOCK  1u
#define GOES_POLL  2u
#define GOES_FAULT 4u

struct word {
	const char *text;
	uint8_t bit;
	bool whole; /* the name is this, else it has it in it */
};

static const struct word words[] = {
	{ "pthread_mutex_lock", GOES_LOCK, false },
	{ "lll_lock_wait", GOES_LOCK, false },
	{ "pthread_rwlock_", GOES_LOCK, false },
	{ "pthread_mutex_cond_lock", GOES_LOCK, false },
	{ "sched_yield", GOES_POLL, false },
	{ "poll", GOES_POLL, true },
	{ "__poll", GOES_POLL, true },
	{ "__GI___poll", GOES_POLL, true },
	{ "ppoll", GOES_POLL, true },
	{ "epoll_wait", GOES_POLL, false },
	{ "epoll_pwait", GOES_POLL, false },
	{ "select", GOES_POLL, true },
	{ "__select", GOES_POLL, true },
	{ "__GI___select", GOES_POLL, true },
	{ "__x64_sys_poll", GOES_POLL, true },
	{ "__x64_sys_select", GOES_POLL, true },
	{ "asm_exc_page_fault", GOES_FAULT, true },
	{ "exc_page_fault", GOES_FAULT, true },
	{ "do_user_addr_fault", GOES_FAULT, true },
	{ "handle_mm_fault", GOES_FAULT, true },
	{ "do_mem_abort", GOES_FAULT, true },
	{ "do_page_fault", GOES_FAULT, true },
};

/* All that is added up. */
struct sums {
	struct page *p;
	uint8_t *function_goes; /* by function: what its name says */
	uint8_t *node_goes;	/* by node: the same of it and of all nodes above it together */
	uint64_t *by_function;	/* scratch */
	uint32_t *nodes;	/* by entry of the profile; PAGE_NONE: the page has none of it */
	uint64_t total, samples;
};

static const char *text_of(const struct page *p, uint32_t text)
{
	return p->names.texts.v[text];
}

static uint32_t function_of(const struct page *p, uint32_t node)
{
	return p->names.frames.v[p->names.nodes.v[node].frame].function;
}

static const char *name_of(const struct page *p, uint32_t function)
{
	return text_of(p, p->names.functions.v[function].name);
}

static const char *image_of(const struct page *p, uint32_t function)
{
	return text_of(p, p->names.functions.v[function].image);
}

static uint8_t look_at(const char *name)
{
	uint8_t bits = 0;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (words[i].whole ? !strcmp(name, words[i].text)
				   : strstr(name, words[i].text) != NULL)
			bits |= words[i].bit;
	return bits;
}

/* The function below the outermost frame that has the bit: who called it. PAGE_NONE: nothing goes
 * there. *ret_entry: the outermost frame that has it. */
static uint32_t caller_of(const struct sums *s, uint32_t node, uint8_t bit, uint32_t *ret_entry)
{
	const struct page *p = s->p;
	uint32_t caller = PAGE_NONE;
	bool wants_caller = false;

	if (!(s->node_goes[node] & bit))
		return PAGE_NONE;
	for (; node; node = p->names.nodes.v[node].parent) {
		uint32_t function = function_of(p, node);

		if (s->function_goes[function] & bit) {
			*ret_entry = function;
			caller = function;
			wants_caller = true;
		} else if (wants_caller) {
			caller = function;
			wants_caller = false;
		}
	}
	return caller;
}

static uint32_t heaviest(const struct sums *s)
{
	uint32_t best = 0;

	for (size_t i = 1; i < s->p->names.functions.len; i++)
		if (s->by_function[i] > s->by_function[best])
			best = (uint32_t)i;
	return best;
}

static void clear(struct sums *s)
{
	memset(s->by_function, 0, (s->p->names.functions.len + 1) * sizeof(*s->by_function));
}

/* ---- samples ---- */

/* All samples of one thread, event and stack. */
struct group {
	const struct coati_profile_entry *e;
	uint32_t node;
};

/* Of entries on CPUs. */
static void find_nodes(struct sums *s)
{
	const struct coati_profile_entry *e;

	for (uint32_t i = 0; (e = coati_profile_entry(s->p->profile, i)); i++)
		s->nodes[i] = coati_profile_event(s->p->profile, e->event)->is_off_cpu
				      ? PAGE_NONE
				      : coati_page_node(s->p, e->event, e->stack);
}

/* The next group on a CPU that the page shows; false: there are no more. */
static bool next_group(const struct sums *s, uint32_t *at, struct group *ret)
{
	uint32_t nr = coati_profile_entry_count(s->p->profile);

	while (*at < nr && s->nodes[*at] == PAGE_NONE)
		(*at)++;
	if (*at == nr)
		return false;
	*ret = (struct group){ coati_profile_entry(s->p->profile, *at), s->nodes[*at] };
	(*at)++;
	return true;
}

static void measure_hot(struct sums *s, struct measured *m)
{
	struct finding_measure *n = &m->measures[FINDING_HOT_FUNCTION];
	struct page *p = s->p;
	uint64_t nr = 0;
	uint32_t best, i;
	struct group g;

	clear(s);
	for (i = 0; next_group(s, &i, &g);)
		if (g.node)
			s->by_function[function_of(p, g.node)] += g.e->weight;
	if (!s->total || !p->names.functions.len)
		return;
	best = heaviest(s);
	for (i = 0; next_group(s, &i, &g);)
		nr += g.node && function_of(p, g.node) == best ? g.e->count : 0;
	n->is_known = true;
	n->ns = s->by_function[best];
	n->share = (double)n->ns / (double)s->total;
	n->nr = nr;
	m->hot_function = name_of(p, best);
	m->hot_image = image_of(p, best);
}

static void measure_faults(struct sums *s, struct measured *m)
{
	struct finding_measure *n = &m->measures[FINDING_FAULT_STORM];
	struct page *p = s->p;
	uint32_t entry, best;
	struct group g;

	clear(s);
	for (uint32_t i = 0; next_group(s, &i, &g);) {
		uint32_t caller = caller_of(s, g.node, GOES_FAULT, &entry);

		if (caller == PAGE_NONE)
			continue;
		s->by_function[caller] += g.e->weight;
		n->ns += g.e->weight;
		n->nr += g.e->count;
	}
	n->is_known = s->total > 0;
	if (!n->nr)
		return;
	n->share = (double)n->ns / (double)s->total;
	best = heaviest(s);
	m->fault_function = name_of(p, best);
	m->fault_image = image_of(p, best);
}

/* Of the thread that polls most. */
static int measure_polling(struct sums *s, struct measured *m)
{
	struct finding_measure *n = &m->measures[FINDING_BUSY_POLLING];
	struct page *p = s->p;
	uint32_t nr = coati_profile_thread_count(p->profile), worst = 0, entry = 0;
	CLEANUP(freep) uint64_t *sums = coati_alloc_array((size_t)nr + 1, 2 * sizeof(*sums));
	struct group g;

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; next_group(s, &i, &g);) {
		sums[2 * g.e->thread] += g.e->weight;
		if (caller_of(s, g.node, GOES_POLL, &entry) != PAGE_NONE)
			sums[2 * g.e->thread + 1] += g.e->weight;
	}
	for (uint32_t t = 1; t < nr; t++)
		if (sums[2 * t + 1] > sums[2 * worst + 1])
			worst = t;
	n->is_known = s->total > 0;
	if (!nr || !sums[2 * worst + 1])
		return 0;
	clear(s);
	for (uint32_t i = 0; next_group(s, &i, &g);)
		if (g.e->thread == worst && caller_of(s, g.node, GOES_POLL, &entry) != PAGE_NONE) {
			s->by_function[entry] += g.e->weight;
			n->nr += g.e->count;
		}
	n->ns = sums[2 * worst + 1];
	n->share = (double)n->ns / (double)sums[2 * worst];
	m->poll_comm = coati_profile_thread(p->profile, worst)->comm;
	m->poll_pid = coati_profile_thread(p->profile, worst)->pid;
	m->poll_tid = coati_profile_thread(p->profile, worst)->tid;
	m->poll_function = name_of(p, heaviest(s));
	m->poll_image = image_of(p, heaviest(s));
	return 0;
}

/* ---- the timeline ---- */

static bool is_queued(const struct coati_timeline_interval *iv)
{
	return iv->wait == COATI_WAIT_RUNNABLE || iv->wait == COATI_WAIT_PREEMPTED;
}

static void add_window(const struct page *p, const struct coati_timeline_interval *iv,
		       uint64_t windows[WINDOWS])
{
	uint64_t step = (p->info.end - p->info.begin) / WINDOWS + 1;

	for (uint64_t at = iv->begin; at < iv->end;) {
		uint64_t w = (at - p->info.begin) / step, end = p->info.begin + (w + 1) * step;

		if (w >= WINDOWS)
			return;
		end = end < iv->end ? end : iv->end;
		windows[w] += end - at;
		at = end;
	}
}

static void measure_queue(struct page *p, struct measured *m)
{
	struct finding_measure *n = &m->measures[FINDING_RUN_QUEUE];
	uint64_t windows[WINDOWS] = { 0 }, running = 0, step;
	struct coati_timeline_thread th;
	struct coati_timeline_interval iv;
	int worst = 0;

	for (uint32_t t = 0; coati_timeline_thread(p->timeline, t, &th) == 0; t++) {
		uint64_t queued = 0;

		for (uint32_t i = 0; coati_timeline_interval(p->timeline, t, i, &iv) == 0; i++) {
			running += iv.wait == COATI_WAIT_RUNNING ? iv.end - iv.begin : 0;
			if (!is_queued(&iv))
				continue;
			queued += iv.end - iv.begin;
			n->nr++;
			add_window(p, &iv, windows);
		}
		n->ns += queued;
		if (queued > m->queue_worst_ns || !m->queue_comm) {
			m->queue_worst_ns = queued;
			m->queue_comm = th.comm;
			m->queue_tid = th.tid;
		}
	}
	n->share = n->ns ? (double)n->ns / (double)(n->ns + running) : 0;
	for (int w = 1; w < WINDOWS; w++)
		worst = windows[w] > windows[worst] ? w : worst;
	step = (p->info.end - p->info.begin) / WINDOWS + 1;
	m->queue_from = page_time(p, p->info.begin + (uint64_t)worst * step);
	m->queue_to = m->queue_from + step;
}

/* Time of one thread: *ret_running, and what it waited for locks. */
static uint64_t lock_waits(struct sums *s, uint32_t thread, uint64_t *ret_running, uint64_t *nr)
{
	struct page *p = s->p;
	struct coati_timeline_interval iv;
	uint64_t waited = 0;
	uint32_t entry;

	for (uint32_t i = 0; coati_timeline_interval(p->timeline, thread, i, &iv) == 0; i++) {
		uint32_t node, caller;

		*ret_running += iv.wait == COATI_WAIT_RUNNING ? iv.end - iv.begin : 0;
		if (iv.wait != COATI_WAIT_FUTEX)
			continue;
		node = coati_page_stack(&p->names, &p->timeline_stacks, iv.stack);
		caller = node == PAGE_NONE ? PAGE_NONE : caller_of(s, node, GOES_LOCK, &entry);
		if (caller == PAGE_NONE)
			continue;
		/* a stack without its middle seems to come from the start of the thread */
		if (p->names.functions.v[caller].image == p->names.functions.v[entry].image)
			caller = entry;
		waited += iv.end - iv.begin;
		s->by_function[caller] += iv.end - iv.begin;
		(*nr)++;
	}
	return waited;
}

static void measure_locks(struct sums *s, struct measured *m)
{
	struct finding_measure *n = &m->measures[FINDING_LOCK_CONVOY];
	struct page *p = s->p;
	uint64_t running = 0;

	clear(s);
	for (uint32_t t = 0; t < coati_timeline_thread_count(p->timeline); t++) {
		uint64_t ran = 0, waited = lock_waits(s, t, &ran, &n->nr);

		if (!waited)
			continue;
		n->threads++;
		n->ns += waited;
		running += ran;
	}
	if (!n->ns)
		return;
	n->share = (double)n->ns / (double)(n->ns + running);
	m->lock_function = name_of(p, heaviest(s));
	m->lock_image = image_of(p, heaviest(s));
}

static uint32_t slowest_of(const struct page *p, uint32_t type)
{
	struct coati_timeline_task k;
	uint64_t longest = 0;
	uint32_t best = PAGE_NONE;

	for (uint32_t i = 0; coati_timeline_task(p->timeline, i, &k) == 0; i++)
		if (k.type == type && !k.flags && k.end - k.begin >= longest) {
			longest = k.end - k.begin;
			best = i;
		}
	return best;
}

static void measure_tails(struct page *p, struct measured *m)
{
	struct finding_measure *n = &m->measures[FINDING_LONG_TAIL];
	struct coati_timeline_type k;

	for (uint32_t i = 0; coati_timeline_type(p->timeline, i, &k) == 0; i++) {
		struct finding_measure this = { .ns = k.p99, .nr = k.nr, .is_known = true };

		if (k.is_region || !k.nr)
			continue;
		this.share = k.p50 ? (double)k.p99 / (double)k.p50 : 0;
		if (n->is_known && (coati_finding_holds(FINDING_LONG_TAIL, n) >
					    coati_finding_holds(FINDING_LONG_TAIL, &this) ||
				    n->share >= this.share))
			continue;
		*n = this;
		m->tail_type = k.name;
		m->tail_p50 = k.p50;
		m->tail_max = k.max;
		m->tail_task = slowest_of(p, i);
	}
}

static void measure_timeline(struct sums *s, struct measured *m)
{
	struct page *p = s->p;
	bool switches = p->timeline && p->info.has & COATI_TIMELINE_HAS_SWITCHES;

	m->measures[FINDING_RUN_QUEUE].is_known = switches;
	m->measures[FINDING_LOCK_CONVOY].is_known =
		switches && p->info.has & COATI_TIMELINE_HAS_STACKS;
	if (switches) {
		measure_queue(p, m);
		measure_locks(s, m);
	}
	if (p->timeline)
		measure_tails(p, m);
}

static int measure_samples(struct sums *s, struct measured *m)
{
	struct group g;

	for (uint32_t i = 0; next_group(s, &i, &g);) {
		s->total += g.e->weight;
		s->samples += g.e->count;
	}
	measure_hot(s, m);
	measure_faults(s, m);
	return measure_polling(s, m);
}

int coati_page_measure(struct page *p, struct measured *m)
{
	size_t nr = p->names.functions.len;
	CLEANUP(freep) uint8_t *goes = coati_alloc_array(nr + 1, 1);
	CLEANUP(freep) uint8_t *node_goes = coati_alloc_array(p->names.nodes.len + 1, 1);
	CLEANUP(freep) uint64_t *by_function = coati_alloc_array(nr + 1, sizeof(*by_function));
	CLEANUP(freep)
	uint32_t *nodes = coati_alloc_array((size_t)coati_profile_entry_count(p->profile) + 1,
					    sizeof(*nodes));
	struct sums s = { .p = p,
			  .function_goes = goes,
			  .node_goes = node_goes,
			  .by_function = by_function,
			  .nodes = nodes };
	int r;

	*m = (struct measured){ .queue_comm = NULL };
	if (!goes || !node_goes || !by_function || !nodes)
		return -ENOMEM;
	find_nodes(&s);
	for (size_t i = 0; i < nr; i++)
		goes[i] = look_at(name_of(p, (uint32_t)i));
	/* a parent is made before its children; node 0 is the root */
	for (uint32_t i = 1; i < p->names.nodes.len; i++)
		node_goes[i] = goes[function_of(p, i)] | node_goes[p->names.nodes.v[i].parent];
	r = measure_samples(&s, m);
	if (r == 0)
		measure_timeline(&s, m);
	return r;
}
