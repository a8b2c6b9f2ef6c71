/* SPDX-License-Identifier: MIT */
/* see conditions.h */
#include "cli/agent/conditions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/options.h"
#include "base/parse.h"
#include "event/set.h"

#define TASKS_NS (10 * NSEC_PER_SEC) /* latencies of so long count */

/* ---- words ---- */

/* "task.p99(request)": what stands in the brackets. */
static bool take_argument(const char *text, const char *head, char *ret, size_t size)
{
	size_t len = strlen(head), all = strlen(text);

	if (strncmp(text, head, len) != 0 || all < len + 2 || text[all - 1] != ')' ||
	    all - len - 1 >= size)
		return false;
	memcpy(ret, text + len, all - len - 1);
	ret[all - len - 1] = '\0';
	return true;
}

/* @kind: "task.p" or "latency.p". */
static bool take_percentile(struct agent_condition *c, const char *kind, const char *text)
{
	size_t start = strlen(kind), len;
	char number[8], head[32];

	if (strncmp(text, kind, start) != 0)
		return false;
	len = strspn(text + start, "0123456789");
	if (!len || len >= sizeof(number) || text[start + len] != '(')
		return false;
	memcpy(number, text + start, len);
	number[len] = '\0';
	snprintf(head, sizeof(head), "%s%s(", kind, number);
	return coati_parse_u32(number, 1, 100, &c->percent) == 0 &&
	       take_argument(text, head, c->name, sizeof(c->name));
}

static bool take_name(struct agent_condition *c, const char *text)
{
	if (!strcmp(text, "cpu")) {
		c->kind = CONDITION_CPU;
		return true;
	}
	if (!strcmp(text, "run-delay")) {
		c->kind = CONDITION_DELAY;
		return true;
	}
	if (!strcmp(text, "psi.cpu") || !strcmp(text, "psi.io") || !strcmp(text, "psi.memory")) {
		c->kind = CONDITION_PRESSURE;
		snprintf(c->name, sizeof(c->name), "%s", text + 4);
		return true;
	}
	if (take_percentile(c, "task.p", text)) {
		c->kind = CONDITION_TASK;
		return true;
	}
	if (take_percentile(c, "latency.p", text)) {
		c->kind = CONDITION_LATENCY;
		return true;
	}
	c->kind = CONDITION_RATE;
	return take_argument(text, "rate(", c->name, sizeof(c->name));
}

static int take_limit(struct agent_condition *c, const char *text)
{
	uint64_t ns;

	switch (c->kind) {
	case CONDITION_CPU:
	case CONDITION_PRESSURE:
		return coati_parse_percent(text, 0, 100, &c->limit);
	case CONDITION_DELAY:
	case CONDITION_TASK:
	case CONDITION_LATENCY:
		if (coati_parse_duration(text, 0, UINT64_MAX / 2, &ns) < 0)
			return -EINVAL;
		c->limit = (double)ns;
		return 0;
	default:
		return coati_parse_double(text, &c->limit);
	}
}

int coati_agent_condition_parse(struct agent_condition *c, const char *text,
				struct coati_error *err)
{
	char copy[256], shown[80], *op;

	*c = (struct agent_condition){ .text = text };
	snprintf(copy, sizeof(copy), "%s", text);
	op = strpbrk(copy, "<>");
	if (strlen(text) < sizeof(copy) && op) {
		c->below = *op == '<';
		*op = '\0';
		if (take_name(c, coati_parse_trim(copy)) &&
		    take_limit(c, coati_parse_trim(op + 1)) == 0)
			return 0;
	}
	return coati_fail(err, -EINVAL,
			  "%s: conditions are 'cpu > 90%%', 'psi.cpu > 20' (psi.io, psi.memory), "
			  "'run-delay > 500ms', 'task.p99(NAME) > 50ms', "
			  "'latency.p99(PATH:FUNCTION) > 5ms' and 'rate(EVENT) > 1000'",
			  coati_quote(text, shown, sizeof(shown)));
}

int coati_agent_condition_open(struct agent_condition *c, struct coati_error *err)
{
	struct coati_set_opts o = { .size = sizeof(o) };
	double value;
	int r;

	if (c->kind == CONDITION_PRESSURE && coati_machine_pressure(c->name, &value) < 0)
		return coati_fail(err, -EOPNOTSUPP,
				  "%s: this kernel does not report pressure; boot it with psi=1",
				  c->text);
	if (c->kind == CONDITION_LATENCY)
		return coati_latency_open(c->name, &c->latency, err);
	if (c->kind != CONDITION_RATE)
		return 0;
	r = coati_event_list_new(NULL, &c->list, err);
	if (r == 0)
		r = coati_event_list_add(c->list, c->name, err);
	if (r == 0)
		r = coati_set_open(c->list, &o, &c->set, err);
	return r < 0 ? r : coati_set_enable(c->set, err);
}

void coati_agent_condition_close(struct agent_condition *c)
{
	coati_latency_close(&c->latency);
	coati_set_close(&c->set);
	coati_event_list_free(c->list);
	c->list = NULL;
}

/* ---- tasks ---- */

void coati_recent_add(struct recent_tasks *r, const struct agent_task_end *t)
{
	r->v[r->next] = *t;
	r->next = (r->next + 1) % RECENT_TASKS;
	r->nr++;
}

static bool percentile(struct agent_condition *c, const struct recent_tasks *r, uint64_t now,
		       double *ret)
{
	uint64_t *v = coati_alloc_array(RECENT_TASKS, sizeof(*v));
	uint64_t most = r->nr < RECENT_TASKS ? r->nr : RECENT_TASKS, longest = 0;
	size_t nr = 0;

	for (uint64_t i = 0; v && i < most; i++) {
		const struct agent_task_end *t = &r->v[i];

		if (strcmp(t->type, c->name) != 0 || t->time_ns + TASKS_NS < now)
			continue;
		v[nr++] = t->duration_ns;
		if (t->duration_ns < longest)
			continue;
		longest = t->duration_ns;
		c->since_ns = t->time_ns - longest;
	}
	if (nr)
		*ret = (double)coati_latency_percentile(v, nr, c->percent);
	coati_free(v);
	return nr > 0;
}

/* ---- values ---- */

static bool cpu_share(struct agent_condition *c, double *ret)
{
	struct machine_cpu now;
	bool known = c->cpu.total != 0;

	if (coati_machine_cpu(&now) < 0)
		return false;
	*ret = now.total > c->cpu.total ? 100.0 * (double)(now.busy - c->cpu.busy) /
						  (double)(now.total - c->cpu.total)
					: 0;
	c->cpu = now;
	return known;
}

static int read_count(const struct agent_condition *c, uint64_t *ret)
{
	struct coati_count count;
	int r = 0;

	if (c->kind == CONDITION_DELAY)
		return coati_machine_all_delay(ret);
	*ret = 0;
	for (uint32_t i = 0; r == 0 && i < coati_set_count(c->set); i++) {
		r = coati_set_read(c->set, i, &count);
		*ret += r == 0 ? count.value : 0;
	}
	return r;
}

static bool per_second(struct agent_condition *c, uint64_t now_ns, double *ret)
{
	uint64_t count, passed = now_ns - c->at_ns;
	bool known = c->at_ns && passed;

	if (read_count(c, &count) < 0)
		return false;
	if (known)
		*ret = (double)(count - c->count) * (double)NSEC_PER_SEC / (double)passed;
	c->at_ns = now_ns;
	c->count = count;
	return known;
}

static bool call_time(struct agent_condition *c, uint64_t now_ns, double *ret)
{
	struct latency_seen seen = { 0 };
	bool known = coati_latency_look(c->latency, now_ns, c->percent, &seen) == 0;

	*ret = (double)seen.percentile_ns;
	c->since_ns = seen.longest_since_ns;
	return known;
}

bool coati_agent_condition_holds(struct agent_condition *c, const struct recent_tasks *tasks,
				 uint64_t now_ns, double *ret_value)
{
	double v = 0;
	bool known;

	c->since_ns = 0;
	switch (c->kind) {
	case CONDITION_CPU:
		known = cpu_share(c, &v);
		break;
	case CONDITION_PRESSURE:
		known = coati_machine_pressure(c->name, &v) == 0;
		break;
	case CONDITION_TASK:
		known = percentile(c, tasks, now_ns, &v);
		break;
	case CONDITION_LATENCY:
		known = call_time(c, now_ns, &v);
		break;
	default:
		known = per_second(c, now_ns, &v);
	}
	*ret_value = v;
	return known && (c->below ? v < c->limit : v > c->limit);
}
