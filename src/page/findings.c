/* SPDX-License-Identifier: MIT */
/* see findings.h; here: limits, and the sentences. What is measured where: measure.c. */
#include "page/findings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strbuf.h"
#include "page/measure.h"
#include "page/page.h"

#define MS UINT64_C(1000000)

/* Chosen so that ordinary programs stay below them: see docs/decisions.md. */
static const struct finding_kinds {
	const char *name;
	struct finding_limits limits;
} kinds[FINDING_KINDS] = {
	[FINDING_RUN_QUEUE] = { "run-queue", { .share = 0.25, .ns = 100 * MS, .nr = 20 } },
	[FINDING_LOCK_CONVOY] = { "lock-convoy",
				  { .share = 0.25, .ns = 50 * MS, .nr = 20, .threads = 2 } },
	[FINDING_BUSY_POLLING] = { "busy-polling", { .share = 0.4, .ns = 100 * MS, .nr = 50 } },
	[FINDING_FAULT_STORM] = { "fault-storm", { .share = 0.2, .ns = 50 * MS, .nr = 50 } },
	[FINDING_HOT_FUNCTION] = { "hot-function", { .share = 0.5, .ns = 0, .nr = 100 } },
	[FINDING_LONG_TAIL] = { "long-tail", { .share = 10, .ns = 1 * MS, .nr = 100 } },
};

const char *coati_finding_name(enum finding_kind kind)
{
	return kinds[kind].name;
}

const struct finding_limits *coati_finding_limits(enum finding_kind kind)
{
	return &kinds[kind].limits;
}

bool coati_finding_holds(enum finding_kind kind, const struct finding_measure *m)
{
	const struct finding_limits *l = &kinds[kind].limits;

	return m->is_known && m->share >= l->share && m->ns >= l->ns && m->nr >= l->nr &&
	       m->threads >= l->threads;
}

/* ---- sentences ---- */

struct time_text {
	char text[32];
};

static struct time_text time_text(uint64_t ns)
{
	struct time_text ret = { "?" };
	struct strbuf s = STRBUF_INIT(sizeof(ret.text) - 1);

	coati_format_duration(&s, ns);
	if (!s.failed)
		memcpy(ret.text, s.text, s.len + 1);
	coati_strbuf_fini(&s);
	return ret;
}

static void say_run_queue(const struct measured *m, struct finding *f)
{
	const struct finding_measure *n = &m->measures[FINDING_RUN_QUEUE];

	snprintf(f->text, sizeof(f->text),
		 "Threads were ready to run but had no CPU for %s in all, %.0f %% of the time they "
		 "wanted one. %s (%d) waited longest: %s.",
		 time_text(n->ns).text, 100 * n->share, m->queue_comm, m->queue_tid,
		 time_text(m->queue_worst_ns).text);
	f->view = "timeline";
	f->from = m->queue_from;
	f->to = m->queue_to;
}

static void say_convoy(const struct measured *m, struct finding *f)
{
	const struct finding_measure *n = &m->measures[FINDING_LOCK_CONVOY];

	snprintf(
		f->text, sizeof(f->text),
		"%llu threads waited %llu times for locks, %s in all: %.0f %% of the time in which "
		"they ran or waited for one. Most of it in %.120s.",
		(unsigned long long)n->threads, (unsigned long long)n->nr, time_text(n->ns).text,
		100 * n->share, m->lock_function);
	f->view = "flame";
	f->off_cpu = true;
	f->function = m->lock_function;
	f->image = m->lock_image;
}

static void say_polling(const struct measured *m, struct finding *f)
{
	const struct finding_measure *n = &m->measures[FINDING_BUSY_POLLING];

	snprintf(f->text, sizeof(f->text),
		 "%.60s (%d) spends %.0f %% of its CPU time, %s, in %.80s and the like: it polls "
		 "instead of waiting.",
		 m->poll_comm, m->poll_tid, 100 * n->share, time_text(n->ns).text,
		 m->poll_function);
	f->view = "flame";
	f->function = m->poll_function;
	f->image = m->poll_image;
	f->pid = m->poll_pid;
	f->tid = m->poll_tid;
}

static void say_faults(const struct measured *m, struct finding *f)
{
	const struct finding_measure *n = &m->measures[FINDING_FAULT_STORM];

	snprintf(f->text, sizeof(f->text),
		 "Page faults take %.0f %% of the CPU time (%s). Most are caused by %.160s, which "
		 "touches memory for the first time.",
		 100 * n->share, time_text(n->ns).text, m->fault_function);
	f->view = "flame";
	f->function = m->fault_function;
	f->image = m->fault_image;
}

static void say_hot(const struct measured *m, struct finding *f)
{
	const struct finding_measure *n = &m->measures[FINDING_HOT_FUNCTION];

	snprintf(f->text, sizeof(f->text),
		 "%.160s takes %.0f %% of the CPU time by itself, without what it calls.",
		 m->hot_function, 100 * n->share);
	f->view = "flame";
	f->function = m->hot_function;
	f->image = m->hot_image;
}

static void say_tail(const struct measured *m, struct finding *f)
{
	snprintf(f->text, sizeof(f->text),
		 "The p99 of %.80s is %s, %.0f times the median (%s). The slowest took %s.",
		 m->tail_type, time_text(m->measures[FINDING_LONG_TAIL].ns).text,
		 m->measures[FINDING_LONG_TAIL].share, time_text(m->tail_p50).text,
		 time_text(m->tail_max).text);
	f->view = "timeline";
	f->task = m->tail_task;
}

static int by_score(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return x->score > y->score ? -1 : x->score < y->score;
}

int coati_page_findings(struct page *p, struct findings *ret)
{
	void (*const say[FINDING_KINDS])(const struct measured *, struct finding *) = {
		say_run_queue, say_convoy, say_polling, say_faults, say_hot, say_tail
	};
	struct measured m;
	int r = coati_page_measure(p, &m);

	*ret = (struct findings){ 0 };
	if (r < 0)
		return r;
	memcpy(ret->measures, m.measures, sizeof(m.measures));
	for (int i = 0; i < FINDING_KINDS; i++) {
		struct finding *f = &ret->list[ret->nr];

		if (!coati_finding_holds((enum finding_kind)i, &m.measures[i]))
			continue;
		*f = (struct finding){ .kind = (enum finding_kind)i, .task = UINT32_MAX };
		f->score = m.measures[i].share / kinds[i].limits.share;
		/* how much slower is no share: it must not drown the others */
		if (i == FINDING_LONG_TAIL)
			f->score = f->score > 2 ? 2 : f->score;
		say[i](&m, f);
		ret->nr++;
	}
	qsort(ret->list, ret->nr, sizeof(*ret->list), by_score);
	if (ret->nr > FINDINGS_MAX)
		ret->nr = FINDINGS_MAX;
	return 0;
}
