/* SPDX-License-Identifier: MIT */
/* see metrics.h. This file adds up and prints; metrics-serve.c answers. */
#include "fleet/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buckets.h"
#include "base/clock.h"
#include "fleet/metrics-parts.h"

#define OTHER "other"

static const struct {
	uint64_t ns;
	const char *text;
} bounds[METRICS_BOUNDS] = {
	{ 100000, "0.0001" },	 { 250000, "0.00025" }, { 500000, "0.0005" },
	{ 1000000, "0.001" },	 { 2500000, "0.0025" }, { 5000000, "0.005" },
	{ 10000000, "0.01" },	 { 25000000, "0.025" }, { 50000000, "0.05" },
	{ 100000000, "0.1" },	 { 250000000, "0.25" }, { 500000000, "0.5" },
	{ 1000000000, "1.0" },	 { 2500000000, "2.5" }, { 5000000000, "5.0" },
	{ 10000000000, "10.0" },
};

/* ---- adding up: with the lock ---- */

static struct metrics_service *find_service(struct metrics *m, const char *name)
{
	struct metrics_service *s;

	for (size_t i = 0; i < m->services.len; i++)
		if (!strcmp(m->services.v[i].name, name))
			return &m->services.v[i];
	if (m->services.len >= METRICS_SERVICES && strcmp(name, OTHER) != 0) {
		m->folded_services++;
		return find_service(m, OTHER);
	}
	s = ARRAY_ADD(&m->services);
	if (s && !(s->name = coati_strdup(name))) {
		m->services.len--;
		s = NULL;
	}
	return s;
}

static struct metrics_task *find_task(struct metrics *m, const char *service, const char *type)
{
	struct metrics_task *t;

	for (size_t i = 0; i < m->tasks.len; i++)
		if (!strcmp(m->tasks.v[i].service, service) && !strcmp(m->tasks.v[i].type, type))
			return &m->tasks.v[i];
	if (m->tasks.len >= METRICS_TASKS && strcmp(service, OTHER) != 0)
		return find_task(m, OTHER, OTHER);
	t = ARRAY_ADD(&m->tasks);
	if (!t)
		return NULL;
	t->service = coati_strdup(service);
	t->type = coati_strdup(type);
	if (t->service && t->type)
		return t;
	coati_free(t->service);
	coati_free(t->type);
	m->tasks.len--;
	return NULL;
}

/* A bucket counts below a bound when all of it lies there. */
static void add_task(struct metrics *m, const char *service, const struct agent_tasks *from)
{
	struct metrics_task *t = find_task(m, service, from->type);

	if (!t)
		return;
	t->count += from->count;
	t->sum_ns += from->sum_ns;
	for (uint32_t i = 0; i < from->nr_buckets; i++)
		for (size_t k = 0; k < METRICS_BOUNDS; k++)
			if (bucket_end(from->buckets[i].bucket) <= bounds[k].ns)
				t->below[k] += from->buckets[i].count;
}

static void add_quality(struct metrics *m, const struct agent_quality *q)
{
	m->sum.samples += q->samples;
	m->sum.intervals += q->intervals;
	m->sum.lost += q->lost;
	m->sum.throttled += q->throttled;
	m->sum.truncated += q->truncated;
	m->sum.refused += q->refused;
	m->sum.dropped += q->dropped;
	m->sum.own_cpu_ns += q->own_cpu_ns;
	m->sum.own_kernel_ns += q->own_kernel_ns;
	m->sum.own_memory_bytes = q->own_memory_bytes;
	m->sum.rate_hz = q->rate_hz;
	m->sum.max_frames = q->max_frames;
	m->sum.nr_cpus = q->nr_cpus;
}

/* CPU time by samples, where nothing counts that of the service. */
static uint64_t sampled_ns(const struct agent_window *w, uint32_t service)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < w->nr_rows; i++) {
		const struct agent_event *e = &w->events[w->rows[i].event];

		if (w->rows[i].service == service && !e->is_off_cpu && !strcmp(e->unit, "ns"))
			sum += w->rows[i].weight;
	}
	return sum;
}

void coati_metrics_add(struct metrics *m, const struct agent_window *w)
{
	pthread_mutex_lock(&m->lock);
	m->windows++;
	m->last_window_ns = w->wall_end_ns;
	add_quality(m, &w->quality);
	for (uint32_t i = 0; i < w->nr_services; i++) {
		struct metrics_service *s = find_service(m, w->services[i].name);

		if (s)
			s->cpu_ns += w->services[i].has & AGENT_HAS_CPU ? w->services[i].cpu_ns
									: sampled_ns(w, i);
		if (s && w->services[i].has & AGENT_HAS_DELAY)
			s->delay_ns += w->services[i].delay_ns;
	}
	for (uint32_t i = 0; i < w->nr_tasks; i++)
		add_task(m, w->services[w->tasks[i].service].name, &w->tasks[i]);
	for (uint32_t i = 0; i < m->nr_sinks; i++)
		m->sinks[i].sink->stats(m->sinks[i].sink->ctx, &m->sinks[i].stats);
	pthread_mutex_unlock(&m->lock);
}

/* ---- printing ---- */

struct page {
	struct strbuf *to;
	bool is_open; /* OpenMetrics: counters are named without "_total" in their head */
};

static void put_head(struct page *p, const char *name, const char *type, const char *help)
{
	const char *suffix = !p->is_open && !strcmp(type, "counter") ? "_total" : "";

	coati_strbuf_printf(p->to, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, suffix, help, name,
			    suffix, type);
}

/* Without floating point: no locale can change its point. */
static void put_seconds(struct page *p, uint64_t ns)
{
	coati_strbuf_printf(p->to, "%" PRIu64 ".%09" PRIu64 "\n", ns / NSEC_PER_SEC,
			    ns % NSEC_PER_SEC);
}

static void put_value(struct page *p, const char *text)
{
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			coati_strbuf_printf(p->to, "\\%c", *text);
		else if (*text == '\n')
			coati_strbuf_adds(p->to, "\\n");
		else
			coati_strbuf_addc(p->to, *text);
}

static void put_counter(struct page *p, const char *name, const char *help, uint64_t value)
{
	put_head(p, name, "counter", help);
	coati_strbuf_printf(p->to, "%s_total %" PRIu64 "\n", name, value);
}

static void put_gauge(struct page *p, const char *name, const char *help, uint64_t value)
{
	put_head(p, name, "gauge", help);
	coati_strbuf_printf(p->to, "%s %" PRIu64 "\n", name, value);
}

static void put_cost(struct page *p, const struct metrics *m)
{
	put_head(p, "coati_agent_cpu_seconds", "counter", "CPU time of the agent itself.");
	coati_strbuf_adds(p->to, "coati_agent_cpu_seconds_total ");
	put_seconds(p, m->sum.own_cpu_ns);
	put_head(p, "coati_agent_kernel_seconds", "counter",
		 "CPU time of the agent's programs in the kernel.");
	coati_strbuf_adds(p->to, "coati_agent_kernel_seconds_total ");
	put_seconds(p, m->sum.own_kernel_ns);
	put_gauge(p, "coati_agent_memory_bytes", "Resident memory of the agent.",
		  m->sum.own_memory_bytes);
	put_head(p, "coati_agent_rate_hertz", "gauge", "Samples per second and CPU, now.");
	coati_strbuf_printf(p->to, "coati_agent_rate_hertz %" PRIu64 ".%03u\n",
			    (uint64_t)m->sum.rate_hz,
			    (unsigned int)((uint64_t)(m->sum.rate_hz * 1000) % 1000));
	put_gauge(p, "coati_agent_max_frames", "Depth of stacks, now.", m->sum.max_frames);
	put_gauge(p, "coati_agent_cpus", "CPUs that are sampled.", m->sum.nr_cpus);
}

static void put_samples(struct page *p, const struct metrics *m)
{
	put_counter(p, "coati_agent_windows", "Windows that were closed.", m->windows);
	put_counter(p, "coati_agent_samples", "Samples in windows.", m->sum.samples);
	put_counter(p, "coati_agent_intervals", "Off-CPU intervals in windows.", m->sum.intervals);
	put_counter(p, "coati_agent_lost", "Records that the kernel could not write.", m->sum.lost);
	put_counter(p, "coati_agent_throttled", "Times that the kernel reduced the rate.",
		    m->sum.throttled);
	put_counter(p, "coati_agent_truncated", "Samples whose stack does not reach its root.",
		    m->sum.truncated);
	put_counter(p, "coati_agent_refused", "Samples left out because of the memory limit.",
		    m->sum.refused);
	put_counter(p, "coati_agent_dropped", "Samples left out by rules.", m->sum.dropped);
	put_head(p, "coati_agent_last_window_timestamp_seconds", "gauge",
		 "End of the last window.");
	coati_strbuf_adds(p->to, "coati_agent_last_window_timestamp_seconds ");
	put_seconds(p, m->last_window_ns);
}

static void put_sinks(struct page *p, const struct metrics *m)
{
	static const struct {
		const char *name, *type, *help;
		size_t offset;
	} rows[] = {
#define ROW(n, t, h, member) \
	{ "coati_agent_sink_" n, t, h, offsetof(struct agent_sink_stats, member) }
		ROW("windows", "counter", "Windows that were stored or sent.", windows),
		ROW("failed_windows", "counter", "Windows that are lost for good.", failed_windows),
		ROW("rows", "counter", "Rows that were stored or sent.", rows),
		ROW("bytes", "counter", "Bytes that were stored or sent.", bytes),
		ROW("waiting_windows", "gauge", "Windows in the spool.", waiting_windows),
		ROW("waiting_bytes", "gauge", "Bytes in the spool.", waiting_bytes),
		ROW("errors", "counter", "Attempts that failed.", errors),
#undef ROW
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && m->nr_sinks; i++) {
		put_head(p, rows[i].name, rows[i].type, rows[i].help);
		for (uint32_t k = 0; k < m->nr_sinks; k++) {
			const char *at = (const char *)&m->sinks[k].stats + rows[i].offset;
			uint64_t value;

			memcpy(&value, at, sizeof(value));
			coati_strbuf_printf(p->to, "%s%s{sink=\"%s\"} %" PRIu64 "\n", rows[i].name,
					    strcmp(rows[i].type, "counter") ? "" : "_total",
					    m->sinks[k].sink->name, value);
		}
	}
}

static void put_services(struct page *p, const struct metrics *m)
{
	for (int delay = 0; delay < 2; delay++) {
		const char *name =
			delay ? "coati_service_run_delay_seconds" : "coati_service_cpu_seconds";

		put_head(p, name, "counter",
			 delay ? "Time that threads of a service waited for a CPU."
			       : "CPU time of a service.");
		for (size_t i = 0; i < m->services.len; i++) {
			coati_strbuf_printf(p->to, "%s_total{service=\"", name);
			put_value(p, m->services.v[i].name);
			coati_strbuf_adds(p->to, "\"} ");
			put_seconds(p, delay ? m->services.v[i].delay_ns : m->services.v[i].cpu_ns);
		}
	}
	put_counter(p, "coati_agent_folded_services",
		    "Times that a service was counted as \"other\".", m->folded_services);
}

static void put_task_line(struct page *p, const struct metrics_task *t, const char *what,
			  const char *bound)
{
	coati_strbuf_printf(p->to, "coati_task_duration_seconds_%s{service=\"", what);
	put_value(p, t->service);
	coati_strbuf_adds(p->to, "\",task=\"");
	put_value(p, t->type);
	if (bound)
		coati_strbuf_printf(p->to, "\",le=\"%s", bound);
	coati_strbuf_adds(p->to, "\"} ");
}

static void put_tasks(struct page *p, const struct metrics *m)
{
	if (!m->tasks.len)
		return;
	put_head(p, "coati_task_duration_seconds", "histogram",
		 "Duration of tasks of programs that link libcoati-live.");
	for (size_t i = 0; i < m->tasks.len; i++) {
		const struct metrics_task *t = &m->tasks.v[i];

		for (size_t k = 0; k < METRICS_BOUNDS; k++) {
			put_task_line(p, t, "bucket", bounds[k].text);
			coati_strbuf_printf(p->to, "%" PRIu64 "\n", t->below[k]);
		}
		put_task_line(p, t, "bucket", "+Inf");
		coati_strbuf_printf(p->to, "%" PRIu64 "\n", t->count);
		put_task_line(p, t, "sum", NULL);
		put_seconds(p, t->sum_ns);
		put_task_line(p, t, "count", NULL);
		coati_strbuf_printf(p->to, "%" PRIu64 "\n", t->count);
	}
}

void coati_metrics_print(struct metrics *m, bool is_open, struct strbuf *to)
{
	struct page p = { to, is_open };

	pthread_mutex_lock(&m->lock);
	put_cost(&p, m);
	put_samples(&p, m);
	put_sinks(&p, m);
	put_services(&p, m);
	put_tasks(&p, m);
	pthread_mutex_unlock(&m->lock);
	if (is_open)
		coati_strbuf_adds(to, "# EOF\n");
}
