/* SPDX-License-Identifier: MIT */
/* From event texts to an open set, and from the set to cells: see the header. */
#include "cli/stat/meter.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "cli/talk.h"
#include "event/event.h"
#include "event/list.h"
#include "event/set.h"

/* What is counted when nothing is asked for. The hardware part is left out where there is none. */
static const char task_default[] = "task-clock,context-switches,cpu-migrations,page-faults,"
				   "cycles,instructions,branches,branch-misses";
static const char system_default[] = "cpu-clock,context-switches,cpu-migrations,page-faults,"
				     "cycles,instructions,branches,branch-misses";

static bool is_software(const struct stat_event *e, uint64_t config)
{
	return e->desc->attr.type == COATI_TYPE_SOFTWARE && e->desc->attr.config == config;
}

bool coati_stat_is_time(const struct stat_event *e)
{
	return e->desc->kind == COATI_EVENT_TOOL || is_software(e, COATI_SW_TASK_CLOCK) ||
	       is_software(e, COATI_SW_CPU_CLOCK);
}

/* Events that happen in the kernel: counted in user space alone, they would be a misleading
 * zero. */
static bool is_kernel_deed(const struct stat_event *e)
{
	return is_software(e, COATI_SW_CONTEXT_SWITCHES) ||
	       is_software(e, COATI_SW_CPU_MIGRATIONS) || is_software(e, COATI_SW_CGROUP_SWITCHES);
}

/* ---- the list ---- */

static int add_texts(struct stat_meter *m, const char **ret_text, struct coati_error *err)
{
	const struct option_texts *t = &m->args->events;
	int r = 0;

	if (!t->len) {
		bool system = m->args->all || m->args->cpus || m->args->cgroup;

		m->is_default = true;
		*ret_text = system ? system_default : task_default;
		return coati_event_list_add(m->list, *ret_text, err);
	}
	for (size_t i = 0; i < t->len && r >= 0; i++) {
		*ret_text = t->v[i].text;
		if (t->v[i].tag == STAT_EVENT)
			r = coati_event_list_add(m->list, *ret_text, err);
		else
			r = coati_event_list_filter(m->list, *ret_text, err);
	}
	return r;
}

/* What the grammar knows and a count has no use for is refused, not ignored. */
static const char *useless_term(const struct coati_event_desc *d)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} terms[] = {
		{ COATI_DESC_PERIOD, "period" },       { COATI_DESC_FREQ, "freq" },
		{ COATI_DESC_OVERWRITE, "overwrite" }, { COATI_DESC_NO_OVERWRITE, "no-overwrite" },
		{ COATI_DESC_TIME, "time" },	       { COATI_DESC_NO_TIME, "time" },
		{ COATI_DESC_PERCORE, "percore" },     { COATI_DESC_BPF_COUNTER, "b" },
	};

	for (size_t i = 0; i < sizeof(terms) / sizeof(terms[0]); i++)
		if (d->flags & terms[i].flag)
			return terms[i].name;
	if (d->callgraph)
		return "call-graph";
	if (d->stack_size)
		return "stack-size";
	if (d->max_stack)
		return "max-stack";
	return d->max_events ? "nr" : NULL;
}

static int check_events(const struct stat_meter *m, struct coati_error *err)
{
	const struct coati_event_desc *d;

	for (uint32_t i = 0; (d = coati_event_list_get(m->list, i)); i++) {
		const char *term = useless_term(d);

		if (term)
			return coati_fail(err, -EINVAL,
					  "`%s` has no effect on a count: leave it out", term);
		if (d->note && d->note[0])
			coati_note("%s: %s", d->name, d->note);
	}
	return 0;
}

int coati_meter_init(struct stat_meter *m, const struct stat_args *args, const char **ret_text,
		     struct coati_error *err)
{
	uint32_t nr;
	int r;

	*m = (struct stat_meter){ .args = args };
	r = coati_event_list_new(NULL, &m->list, err);
	if (r >= 0)
		r = add_texts(m, ret_text, err);
	if (r >= 0)
		r = check_events(m, err);
	if (r < 0)
		return r;
	nr = coati_event_list_count(m->list);
	m->events = coati_alloc_array(nr, sizeof(*m->events));
	m->event_of = coati_alloc_array(nr, sizeof(*m->event_of));
	if (!m->events || !m->event_of)
		return coati_fail(err, -ENOMEM, "out of memory for %u events", nr);
	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_event_desc *d = coati_event_list_get(m->list, i);

		if (!m->nr_events || !(d->flags & COATI_DESC_MORE)) {
			m->events[m->nr_events] = (struct stat_event){ .desc = d, .first = i };
			m->nr_events++;
		}
		m->event_of[i] = m->nr_events - 1;
	}
	return 0;
}

/* ---- opening ---- */

static void event_forget(struct stat_event *e)
{
	coati_free(e->name);
	coati_free(e->error);
	e->name = NULL;
	e->error = NULL;
}

/* "cycles:u", "cpu/config=1/u": the name with what it fell back to. */
static int event_name(struct stat_event *e)
{
	const char *name = e->desc->name;
	size_t len = strlen(name);
	struct strbuf s = STRBUF_INIT(64 * 1024);

	coati_strbuf_adds(&s, name);
	if (e->dropped & COATI_DROP_KERNEL)
		coati_strbuf_adds(&s, len && name[len - 1] == '/' ? "u" : ":u");
	e->name = coati_strbuf_take(&s);
	return e->name ? 0 : -ENOMEM;
}

/* Why @e is not counted, or NULL when it is. Sentences of the library name the event already. */
static int event_reason(struct stat_event *e, const struct coati_error *why)
{
	struct strbuf s = STRBUF_INIT(4096);

	if (why)
		coati_strbuf_adds(&s, why->text);
	else if (e->dropped & COATI_DROP_KERNEL && is_kernel_deed(e))
		coati_strbuf_printf(&s,
				    "%s: it happens in the kernel, which you may not count; sudo "
				    "sysctl kernel.perf_event_paranoid=1 allows it",
				    e->desc->name);
	else
		return 0;
	e->error = coati_strbuf_take(&s);
	return e->error ? 0 : -ENOMEM;
}

static int event_learn(struct stat_meter *m, struct stat_event *e)
{
	int r;

	event_forget(e);
	e->dropped = coati_set_event_dropped(m->set, e->first);
	r = event_reason(e, coati_set_event_error(m->set, e->first));
	e->hidden = m->is_default && e->error;
	return r < 0 ? r : event_name(e);
}

static void scope_comm(struct stat_scope *s)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/comm", s->tid);
	if (coati_file_read_line(AT_FDCWD, path, s->comm, sizeof(s->comm)) < 0)
		s->comm[0] = 0;
}

/* The scope of an entry: an old one (looked for from *hint on, where it usually is) or a new
 * one. */
static uint32_t find_scope(struct stat_meter *m, const struct coati_set_entry *entry,
			   uint32_t *hint)
{
	struct stat_scope want = { .tid = m->args->per_thread ? entry->tid : -1,
				   .cpu = m->args->per_cpu ? entry->cpu : -1 };

	for (uint32_t i = 0; i < m->nr_scopes; i++) {
		uint32_t at = (*hint + i) % m->nr_scopes;

		if (m->scopes[at].tid == want.tid && m->scopes[at].cpu == want.cpu) {
			*hint = at;
			return at;
		}
	}
	if (want.tid > 0)
		scope_comm(&want);
	m->scopes[m->nr_scopes] = want;
	*hint = m->nr_scopes;
	return m->nr_scopes++;
}

static int map_entries(struct stat_meter *m)
{
	uint32_t nr = coati_set_count(m->set), hint = 0;
	struct coati_set_entry entry;

	m->scopes = coati_alloc_array((size_t)nr + 1, sizeof(*m->scopes));
	m->cell_of = coati_alloc_array((size_t)nr + 1, sizeof(*m->cell_of));
	m->last = coati_alloc_array((size_t)nr + 1, sizeof(*m->last));
	if (!m->scopes || !m->cell_of || !m->last)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		int r = coati_set_entry(m->set, i, &entry);

		if (r < 0)
			return r;
		m->cell_of[i] =
			find_scope(m, &entry, &hint) * m->nr_events + m->event_of[entry.event];
	}
	if (!m->nr_scopes)
		m->scopes[m->nr_scopes++] = (struct stat_scope){ .tid = -1, .cpu = -1 };
	return 0;
}

int coati_meter_open(struct stat_meter *m, int32_t child, struct coati_error *err)
{
	const struct stat_args *a = m->args;
	struct coati_set_opts o = {
		.size = sizeof(o),
		.flags = COATI_SET_USER_OK | COATI_SET_NEGOTIATE,
		.pids = child > 0 ? &child : a->pids.v,
		.nr_pids = child > 0 ? 1 : a->pids.len,
		.tids = a->tids.v,
		.nr_tids = a->tids.len,
		.cpus = a->cpus,
		.cgroup = a->cgroup,
	};
	int r;

	if (!a->no_inherit && (o.nr_pids || o.nr_tids))
		o.flags |= COATI_SET_INHERIT;
	if (child > 0 && !a->delay_ns)
		o.flags |= COATI_SET_ENABLE_ON_EXEC;
	r = coati_set_open(m->list, &o, &m->set, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < m->nr_events && r >= 0; i++)
		r = event_learn(m, &m->events[i]);
	if (r >= 0)
		r = map_entries(m);
	return r < 0 ? coati_fail(err, r, "cannot prepare the counters: %m") : 0;
}

uint32_t coati_meter_nr_counted(const struct stat_meter *m)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < m->nr_events; i++)
		nr += !m->events[i].error;
	return nr;
}

/* ---- reading ---- */

static int tally_prepare(const struct stat_meter *m, struct stat_tally *t)
{
	uint32_t nr = m->nr_events * m->nr_scopes;

	if (t->nr_cells != nr) {
		coati_stat_tally_fini(t);
		t->cells = coati_alloc_array(nr, sizeof(*t->cells));
		if (!t->cells)
			return -ENOMEM;
		t->nr_cells = nr;
	}
	for (uint32_t i = 0; i < nr; i++) {
		const struct stat_scope *s = &m->scopes[i / m->nr_events];

		t->cells[i] = (struct stat_cell){ .event = i % m->nr_events,
						  .tid = s->tid,
						  .cpu = s->cpu };
	}
	return 0;
}

/* What happened between two readings of one entry. */
static struct coati_count count_since(const struct coati_count *now, const struct coati_count *last,
				      bool is_level)
{
	struct coati_count d = *now;

	if (!is_level)
		d.value -= last->value;
	d.enabled_ns -= last->enabled_ns;
	d.running_ns -= last->running_ns;
	d.lost -= last->lost;
	return d;
}

static void cell_add(struct stat_cell *cell, const struct coati_count *c, bool scale)
{
	cell->raw += c->value;
	cell->count += scale ? coati_count_scaled(c) : c->value;
	cell->enabled_ns += c->enabled_ns;
	cell->running_ns += c->running_ns;
	cell->lost += c->lost;
	cell->scaled = cell->scaled || c->running_ns < c->enabled_ns;
	/* Enabled and never run: the PMU had no room for it, so zero says nothing. */
	cell->counted = cell->counted || c->running_ns || !c->enabled_ns;
}

int coati_meter_read(struct stat_meter *m, bool interval, struct stat_tally *t,
		     struct coati_error *err)
{
	uint32_t nr = coati_set_count(m->set);
	int r = tally_prepare(m, t);

	if (r < 0)
		return coati_fail(err, r, "cannot read the counters: %m");
	for (uint32_t i = 0; i < nr; i++) {
		struct stat_cell *cell = &t->cells[m->cell_of[i]];
		const struct stat_event *e = &m->events[cell->event];
		struct coati_count now, since;

		/* One that cannot be read (a pinned event without room) stays "not counted". */
		if (e->error || coati_set_read(m->set, i, &now) < 0)
			continue;
		since = now;
		if (interval)
			since = count_since(&now, &m->last[i],
					    e->desc->flags & COATI_DESC_SNAPSHOT);
		if (interval)
			m->last[i] = now;
		cell_add(cell, &since, m->args->scale);
	}
	return 0;
}

void coati_stat_tally_fill_tool(const struct stat_meter *m, struct stat_tally *t)
{
	for (uint32_t i = 0; i < t->nr_cells; i++) {
		struct stat_cell *cell = &t->cells[i];
		const struct coati_event_desc *d = m->events[cell->event].desc;

		if (d->kind != COATI_EVENT_TOOL)
			continue;
		cell->enabled_ns = cell->running_ns = t->end_ns - t->start_ns;
		cell->raw = d->attr.config == COATI_TOOL_DURATION ? t->end_ns - t->start_ns
			    : d->attr.config == COATI_TOOL_USER	  ? t->user_ns
								  : t->sys_ns;
		cell->count = cell->raw;
		cell->counted = d->attr.config == COATI_TOOL_DURATION || t->has_usage;
	}
}

void coati_stat_tally_fini(struct stat_tally *t)
{
	coati_free(t->cells);
	t->cells = NULL;
	t->nr_cells = 0;
}

void coati_meter_close(struct stat_meter *m)
{
	coati_set_close(&m->set);
	coati_free(m->scopes);
	coati_free(m->cell_of);
	coati_free(m->last);
	m->scopes = NULL;
	m->cell_of = NULL;
	m->last = NULL;
	m->nr_scopes = 0;
}

void coati_meter_fini(struct stat_meter *m)
{
	coati_meter_close(m);
	for (uint32_t i = 0; i < m->nr_events; i++)
		event_forget(&m->events[i]);
	coati_free(m->events);
	coati_free(m->event_of);
	coati_event_list_free(m->list);
	*m = (struct stat_meter){ 0 };
}
