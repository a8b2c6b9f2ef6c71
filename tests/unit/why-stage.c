/* SPDX-License-Identifier: MIT */
/* see why-stage.h */
#include "unit/why-stage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"
#include "reading/wait.h"
#include "trace/timeline.h"

#define TAPE_MAX ((size_t)1 << 22)
#define FAULT_NS 700.0	  /* one costs */
#define READ_NS	 50e6	  /* between two readings of what the host took */
#define STEP_NS	 10000000 /* in which the kernel reports it */

/* ---- chance ---- */

double stage_draw(struct stage *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return ((double)(s->random >> 11) + 0.5) * 0x1p-53;
}

double stage_exponential(struct stage *s)
{
	return -log(stage_draw(s));
}

double stage_lognormal(struct stage *s, double sigma)
{
	return exp(sigma * sqrt(2 * stage_exponential(s)) * cos(2 * M_PI * stage_draw(s)));
}

/* ---- the tape ---- */

void stage_init(struct stage *s, uint64_t seed)
{
	*s = (struct stage){ .random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1,
			     .tick_ns = 1e6,
			     .tape.max = TAPE_MAX,
			     .taken.max = TAPE_MAX };
	for (int i = 0; i < 20; i++)
		(void)stage_draw(s);
}

static void put(struct stage *s, struct coati_timeline_event e)
{
	struct stage_event *new = ARRAY_ADD(&s->tape);

	CHECK(new);
	e.pid = 10;
	e.cpu = -1;
	e.stack = e.stack ? e.stack : COATI_TIMELINE_NONE;
	*new = (struct stage_event){ e, s->tape.len };
}

static void put_at(struct actor *a, enum coati_timeline_kind kind, double time, uint64_t id,
		   const char *text)
{
	put(a->s,
	    (struct coati_timeline_event){
		    .kind = kind, .tid = a->tid, .time = (uint64_t)time, .id = id, .text = text });
}

static int by_time(const void *a, const void *b)
{
	const struct stage_event *x = a, *y = b;

	if (x->e.time != y->e.time)
		return x->e.time < y->e.time ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* What the host took until a time. */
static double taken_until(const struct stage *s, double time)
{
	double sum = 0;

	for (size_t i = 0; i < s->taken.len; i++)
		sum += fmax(0, fmin(time, s->taken.v[i].end) - s->taken.v[i].begin);
	return sum;
}

static void add_theft(struct coati_timeline *t, double begin, double end, uint64_t ticks)
{
	struct coati_timeline_event e = { .kind = COATI_TIMELINE_STOLEN,
					  .id = (uint64_t)begin,
					  .time = (uint64_t)end,
					  .number = (ticks + 1) * STEP_NS };

	if (begin < end || !e.time)
		CHECK_ERR(coati_timeline_add(t, &e), 0);
}

/* As the recorder reads /proc/stat, in ticks and now and then (src/capture/steal.c). */
static void add_thefts(const struct stage *s, struct coati_timeline *t, double end)
{
	uint64_t last = 0;
	double since = 0, at;

	for (at = READ_NS; at < end + READ_NS; at += READ_NS) {
		uint64_t now = (uint64_t)(taken_until(s, at) / STEP_NS);

		if (now == last)
			continue;
		add_theft(t, since, at - READ_NS, 0);
		add_theft(t, at - READ_NS, at, now - last);
		since = at;
		last = now;
	}
	add_theft(t, since, at, 0);
	add_theft(t, 0, 0, last);
}

struct coati_timeline *stage_end(struct stage *s)
{
	struct coati_timeline_event e = { .kind = COATI_TIMELINE_BEGIN, .time = 1 };
	struct coati_timeline *t = NULL;
	uint64_t end;

	CHECK_ERR(coati_timeline_new(NULL, &t, NULL), 0);
	CHECK_ERR(coati_timeline_add(t, &e), 0);
	qsort(s->tape.v, s->tape.len, sizeof(*s->tape.v), by_time);
	for (size_t i = 0; i < s->tape.len; i++)
		CHECK_ERR(coati_timeline_add(t, &s->tape.v[i].e), 0);
	end = s->tape.v[s->tape.len - 1].e.time + 1;
	if (s->told)
		add_thefts(s, t, (double)end);
	CHECK_ERR(coati_timeline_end(t, end, NULL), 0);
	ARRAY_FINI(&s->tape);
	ARRAY_FINI(&s->taken);
	return t;
}

/* ---- threads ---- */

static void draw_burst(struct actor *a)
{
	double bursts = a->s->bursts;

	a->next_burst = bursts > 0 ? a->now + 1e9 / bursts * stage_exponential(a->s) : INFINITY;
}

static void draw_tick(struct actor *a)
{
	double tick = a->s->tick_ns;

	a->next_tick = tick > 0 ? a->now + tick * stage_draw(a->s) : INFINITY;
}

void actor_init(struct actor *a, struct stage *s, int32_t tid, double now)
{
	*a = (struct actor){ .s = s, .tid = tid, .now = now };
	put_at(a, COATI_TIMELINE_EXISTS, 1, 0, NULL);
	put_at(a, COATI_TIMELINE_IN, now, 0, NULL);
	draw_tick(a);
	draw_burst(a);
}

static void tick(struct actor *a, bool in_fault)
{
	put(a->s, (struct coati_timeline_event){ .kind = COATI_TIMELINE_SAMPLE,
						 .tid = a->tid,
						 .time = (uint64_t)a->now,
						 .stack = 1,
						 .wait = in_fault ? COATI_WAIT_FAULT : 0 });
	a->next_tick += a->s->tick_ns * (floor((a->now - a->next_tick) / a->s->tick_ns) + 1);
}

void actor_lose(struct actor *a, double ns)
{
	struct stage_burst *b = ARRAY_ADD(&a->s->taken);

	CHECK(b);
	*b = (struct stage_burst){ a->now, a->now + ns };
	a->now += ns;
	/* a sampler ticks once after such a time */
	if (a->next_tick <= a->now)
		tick(a, false);
}

static void work(struct actor *a, double ns, bool in_fault)
{
	for (;;) {
		double next = fmin(a->next_burst, a->next_tick);

		if (a->now + ns < next) {
			a->now += ns;
			return;
		}
		ns -= fmax(0, next - a->now);
		a->now = fmax(next, a->now);
		if (next == a->next_burst) {
			actor_lose(a, a->s->burst_ns * stage_exponential(a->s));
			draw_burst(a);
		} else {
			tick(a, in_fault);
		}
	}
}

void actor_run(struct actor *a, double ns)
{
	work(a, ns, false);
}

void actor_fault(struct actor *a, double ns)
{
	for (; ns > 0; ns -= 10 * FAULT_NS) {
		for (int i = 0; i < 10; i++)
			put_at(a, COATI_TIMELINE_FAULT, a->now + i, 0, NULL);
		work(a, 10 * FAULT_NS, true);
	}
}

static void leave(struct actor *a, enum coati_wait wait, uint32_t flags)
{
	put(a->s, (struct coati_timeline_event){ .kind = COATI_TIMELINE_OUT,
						 .tid = a->tid,
						 .time = (uint64_t)a->now,
						 .wait = wait,
						 .flags = flags });
}

static void come_back(struct actor *a, double until)
{
	a->now = until;
	put_at(a, COATI_TIMELINE_IN, a->now, 0, NULL);
	draw_tick(a);
	a->next_burst = fmax(a->next_burst, a->now);
}

void actor_wait(struct actor *a, enum coati_wait wait, double until, int32_t waker)
{
	if (until <= a->now + 1)
		return;
	leave(a, wait, 0);
	put(a->s, (struct coati_timeline_event){ .kind = COATI_TIMELINE_WAKE,
						 .tid = waker,
						 .other = a->tid,
						 .time = (uint64_t)until });
	come_back(a, until);
}

void actor_preempt(struct actor *a, double until)
{
	leave(a, COATI_WAIT_PREEMPTED, COATI_TIMELINE_PREEMPTED);
	come_back(a, until);
}

/* ---- tasks ---- */

uint64_t actor_begin(struct actor *a, const char *type, double time)
{
	put_at(a, COATI_TIMELINE_TASK_BEGIN, time, ++a->s->next_task, type);
	return a->s->next_task;
}

void actor_enter(struct actor *a, uint64_t task)
{
	put_at(a, COATI_TIMELINE_TASK_ENTER, a->now, task, NULL);
}

void actor_end(struct actor *a, uint64_t task)
{
	put_at(a, COATI_TIMELINE_TASK_END, a->now, task, NULL);
	put_at(a, COATI_TIMELINE_TASK_ENTER, a->now, 0, NULL);
}

void actor_region(struct actor *a, const char *name)
{
	put_at(a, name ? COATI_TIMELINE_REGION_BEGIN : COATI_TIMELINE_REGION_END, a->now, 0, name);
}

/* ---- judging ---- */

static bool is_one_of(const struct stage_play *p, const char *name)
{
	for (size_t i = 0; i < 3 && p->causes[i]; i++)
		if (!strcmp(p->causes[i], name))
			return true;
	return p->may && !strcmp(p->may, name);
}

static bool is_named(const struct coati_why *w, const char *name)
{
	for (uint32_t i = 0; i < w->nr_causes; i++)
		if (!strcmp(w->rows[i].name, name))
			return true;
	return false;
}

static bool names_hog(const struct coati_timeline *t, const struct coati_why *w,
		      const struct stage_play *p)
{
	for (uint32_t i = 0; i < w->nr_causes; i++) {
		const struct coati_why_row *row = &w->rows[i];
		struct coati_timeline_task task;

		if (row->part != COATI_PART_NOBODY || row->hog == COATI_TIMELINE_NONE)
			continue;
		CHECK_ERR(coati_timeline_task(t, row->hog, &task), 0);
		return !strcmp(task.name, p->hog_type) &&
		       (!p->hog_region ||
			(row->hog_region && !strcmp(row->hog_region, p->hog_region)));
	}
	return false;
}

static bool is_right(const struct coati_timeline *t, const struct coati_why *w,
		     const struct stage_play *p)
{
	if (w->answer != p->answer)
		return false;
	for (size_t i = 0; i < 3 && p->causes[i]; i++)
		if (!is_named(w, p->causes[i]))
			return false;
	for (uint32_t i = 0; i < w->nr_causes; i++)
		if (!is_one_of(p, w->rows[i].name))
			return false;
	return !p->hog_type || names_hog(t, w, p);
}

static void describe(const struct coati_why *w, char *text, size_t size)
{
	static const char *const answers[] = { "no difference", "causes", "cannot tell" };
	int n = snprintf(text, size, "%s (%d: %.4g, limit %.4g)", answers[w->answer],
			 (int)w->reason, w->number, w->limit);

	for (uint32_t i = 0; i < w->nr_causes && (size_t)n < size; i++)
		n += snprintf(text + n, size - (size_t)n, ", %s", w->rows[i].name);
}

/* Whether it is said often enough. */
static bool check_one(const struct stage_play *p, unsigned int rounds)
{
	unsigned int right = 0, wrong = 0;
	char said[200] = "";

	for (unsigned int i = 1; i <= rounds; i++) {
		struct coati_why *w = NULL;
		struct coati_timeline *t;
		struct stage s;

		stage_init(&s, i);
		p->play(&s);
		t = stage_end(&s);
		CHECK_ERR(
			coati_timeline_why(t, coati_timeline_find_type(t, "request"), 99, &w, NULL),
			0);
		if (is_right(t, w, p)) {
			right++;
		} else {
			wrong += w->answer != COATI_WHY_CANNOT_TELL;
			describe(w, said, sizeof(said));
		}
		coati_why_free(&w);
		coati_timeline_free(&t);
	}
	test_note("%s: right %u, wrong %u of %u%s%s", p->name, right, wrong, rounds,
		  said[0] ? "; also " : "", said);
	return right * 100 >= rounds * 95 && wrong * 100 <= rounds * 2;
}

void stage_check(const struct stage_play *plays, size_t nr, unsigned int rounds, bool only_report)
{
	const char *bad = NULL;

	for (size_t i = 0; i < nr; i++)
		if (!check_one(&plays[i], rounds))
			bad = plays[i].name;
	if (bad && !only_report)
		test_fail_at(__FILE__, __LINE__,
			     "%s: fewer than 95 %% right, or more than 2 %% wrong", bad);
}
