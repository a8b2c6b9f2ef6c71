/* SPDX-License-Identifier: MIT */
/* Windows as lines of JSON on standard output, for scripts: --print. See session.h. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "cli/agent/session.h"

#define LINE_MAX_BYTES (UINT64_C(1) << 30)

static void put_quality(struct json *j, const struct agent_quality *q)
{
	coati_json_key(j, "quality");
	coati_json_object(j);
	coati_json_ku64(j, "samples", q->samples);
	coati_json_ku64(j, "intervals", q->intervals);
	coati_json_ku64(j, "lost", q->lost);
	coati_json_ku64(j, "throttled", q->throttled);
	coati_json_ku64(j, "truncated", q->truncated);
	coati_json_ku64(j, "refused", q->refused);
	coati_json_ku64(j, "dropped", q->dropped);
	coati_json_ku64(j, "own_cpu_ns", q->own_cpu_ns);
	coati_json_ku64(j, "own_kernel_ns", q->own_kernel_ns);
	coati_json_ku64(j, "own_memory_bytes", q->own_memory_bytes);
	coati_json_ku64(j, "rate_millihertz", (uint64_t)(q->rate_hz * 1000));
	coati_json_ku64(j, "cpus", q->nr_cpus);
	coati_json_ku64(j, "clock_stepped", q->clock_stepped);
	coati_json_end(j);
}

static void put_services(struct json *j, const struct agent_window *w)
{
	coati_json_key(j, "services");
	coati_json_array(j);
	for (uint32_t i = 0; i < w->nr_services; i++) {
		const struct agent_service *s = &w->services[i];
		uint64_t weight = 0;

		for (uint32_t k = 0; k < w->nr_rows; k++)
			if (w->rows[k].service == i && !w->events[w->rows[k].event].is_off_cpu)
				weight += w->rows[k].weight;
		coati_json_object(j);
		coati_json_kstr(j, "name", s->name);
		coati_json_kstr(j, "cgroup", s->cgroup);
		coati_json_ku64(j, "weight", weight);
		if (s->has & AGENT_HAS_CPU)
			coati_json_ku64(j, "cpu_ns", s->cpu_ns);
		if (s->has & AGENT_HAS_DELAY)
			coati_json_ku64(j, "delay_ns", s->delay_ns);
		coati_json_end(j);
	}
	coati_json_end(j);
}

static void put_tasks(struct json *j, const struct agent_window *w)
{
	coati_json_key(j, "tasks");
	coati_json_array(j);
	for (uint32_t i = 0; i < w->nr_tasks; i++) {
		coati_json_object(j);
		coati_json_kstr(j, "service", w->services[w->tasks[i].service].name);
		coati_json_kstr(j, "type", w->tasks[i].type);
		coati_json_ku64(j, "count", w->tasks[i].count);
		coati_json_ku64(j, "sum_ns", w->tasks[i].sum_ns);
		coati_json_ku64(j, "max_ns", w->tasks[i].max_ns);
		coati_json_end(j);
	}
	coati_json_end(j);
}

static void put_events(struct json *j, const struct agent_window *w)
{
	coati_json_key(j, "events");
	coati_json_array(j);
	for (uint32_t i = 0; i < w->nr_events; i++) {
		coati_json_object(j);
		coati_json_kstr(j, "name", w->events[i].name);
		coati_json_kstr(j, "unit", w->events[i].unit);
		coati_json_ku64(j, "weight", w->events[i].weight);
		coati_json_ku64(j, "samples", w->events[i].samples);
		coati_json_end(j);
	}
	coati_json_end(j);
}

static int print_window(void *ctx, const struct agent_window *w)
{
	struct strbuf s = STRBUF_INIT(LINE_MAX_BYTES);
	struct json j = json_to(&s);
	int r;

	(void)ctx;
	coati_json_object(&j);
	coati_json_kstr(&j, "schema", "coati.window.v1");
	coati_json_ku64(&j, "sequence", w->sequence);
	coati_json_kstr(&j, "agent", w->agent);
	coati_json_ku64(&j, "start_ns", w->start_ns);
	coati_json_ku64(&j, "end_ns", w->end_ns);
	coati_json_ku64(&j, "wall_start_ns", w->wall_start_ns);
	coati_json_ku64(&j, "wall_end_ns", w->wall_end_ns);
	coati_json_ku64(&j, "rows", w->nr_rows);
	coati_json_ku64(&j, "stacks", w->nr_stacks);
	put_quality(&j, &w->quality);
	put_events(&j, w);
	put_services(&j, w);
	put_tasks(&j, w);
	coati_json_end(&j);
	coati_strbuf_addc(&s, '\n');
	r = s.failed ? s.failed : coati_write_all(STDOUT_FILENO, s.text, s.len);
	coati_strbuf_fini(&s);
	return r;
}

struct agent_sink coati_agent_print_sink(void)
{
	return (struct agent_sink){ .name = "standard output", .window = print_window };
}
