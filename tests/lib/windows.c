/* SPDX-License-Identifier: MIT */
/* see windows.h */
#include "lib/windows.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PERIOD_NS UINT64_C(52631578)
#define WINDOW_S  10
#define NS	  UINT64_C(1000000000)

static const char *const service_names[] = { "api", "db.service", "batch", "k8s:shop/cart/web",
					     "it's \\ odd" };

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= UINT64_C(0x9e3779b97f4a7c15);
	x ^= x >> 29;
	x *= UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 32;
}

static uint32_t pick(struct windows *g, uint32_t below)
{
	g->seed = mix(g->seed + 1);
	return (uint32_t)(g->seed >> 16) % below;
}

/* Frames 0..31 are of a program, 32..63 of a library, 64..79 of the kernel, then code made at run
 * time. Every fourth one is inlined into the next, which has its address. */
static void make_frame(struct windows *g, uint32_t i)
{
	static const char *const images[] = { "app", "libx.so", "[kernel]", "[jit]" };
	static const char *const paths[] = { "/usr/bin/app", "/usr/lib/libx.so", "", "" };
	static const uint8_t kinds[] = { AGENT_FRAME_USER, AGENT_FRAME_USER, AGENT_FRAME_KERNEL,
					 AGENT_FRAME_JIT };
	uint32_t which = i < 32 ? 0 : i < 64 ? 1 : i < 80 ? 2 : 3;
	struct agent_frame *f = &g->frames[i];

	snprintf(g->names[i], sizeof(g->names[i]), "%s_%u", i % 7 ? "work" : "ns::fn<int>", i);
	*f = (struct agent_frame){ .function = g->names[i],
				   .image = images[which],
				   .path = paths[which],
				   .file = which < 2 ? "/src/app.c" : "",
				   .line = which < 2 ? 10 + i : 0,
				   .kind = kinds[which],
				   .address = 0x1000 + (i | 1) * 16 };
	if (which < 2 && i % 4 == 0)
		f->flags = AGENT_FRAME_INLINE;
	else if (which < 2 && i % 4 != 1)
		f->address += 8 * (i % 4);
	if (which < 2) {
		f->build_id_size = 20;
		memset(f->build_id, (int)which + 1, 20);
	}
}

/* An inlined frame is followed by the one that it is inlined into. */
static void make_stack(struct windows *g, uint32_t i)
{
	uint32_t *v = g->stack_frames[i], nr = 0, depth = 2 + i % 4;
	struct agent_stack *s = &g->stacks[i];

	if (i % 5 == 0)
		v[nr++] = 64 + i % 16;
	while (nr < depth) {
		uint32_t f = pick(g, 64);

		v[nr++] = f;
		if (g->frames[f].flags & AGENT_FRAME_INLINE)
			v[nr++] = f + 1;
	}
	v[nr++] = 33 + 4 * (i % 7); /* the root is never inlined */
	*s = (struct agent_stack){ .frames = v,
				   .nr = nr,
				   .flags = i % 9 ? 0 : AGENT_STACK_TRUNCATED };
	s->id = coati_agent_stack_id(s, g->frames);
}

static void make_tables(struct windows *g)
{
	static const char *const programs[] = { "api", "postgres", "python3", "web", "odd" };

	for (uint32_t i = 0; i < WINDOWS_SERVICES; i++)
		g->services[i] = (struct agent_service){ .name = service_names[i],
							 .cgroup = "",
							 .kind = i,
							 .has = AGENT_HAS_CPU | AGENT_HAS_DELAY };
	for (uint32_t i = 0; i < 2 * WINDOWS_SERVICES; i++)
		g->processes[i] = (struct agent_process){ .pid = (int32_t)(100 + i),
							  .name = programs[i / 2],
							  .start_ns = 1 };
	g->label_values[0] = (struct coati_label){ "endpoint", "/cart" };
	g->label_values[1] = (struct coati_label){ "endpoint", "/pay" };
	for (uint32_t i = 1; i < 3; i++) {
		g->labels[i].v = &g->label_values[i - 1];
		g->labels[i].nr = 1;
		g->labels[i].id = coati_agent_labels_id(g->labels[i].v, 1);
	}
	g->host_labels[0] = (struct coati_label){ "region", "eu" };
}

void windows_init(struct windows *g, const char *host, uint64_t run, uint64_t wall_s)
{
	*g = (struct windows){ .seed = 1, .wall_s = wall_s, .nr_rows = 40, .host = host };
	snprintf(g->agent, sizeof(g->agent), "%.40s-%llu", host, (unsigned long long)run);
	for (uint32_t i = 0; i < WINDOWS_FRAMES; i++)
		make_frame(g, i);
	for (uint32_t i = 0; i < WINDOWS_STACKS; i++)
		make_stack(g, i);
	make_tables(g);
}

static void make_row(struct windows *g, struct agent_row *r)
{
	bool is_off = pick(g, 8) == 0;

	*r = (struct agent_row){ .service = pick(g, WINDOWS_SERVICES),
				 .labels = pick(g, 3),
				 .stack = pick(g, WINDOWS_STACKS),
				 .event = is_off,
				 .thread = pick(g, 2) ? "main" : "worker",
				 .samples = 1 + (pick(g, 5) == 0) * pick(g, 9) };
	r->process = 2 * r->service + pick(g, 2);
	r->weight = is_off ? r->samples * (1 + pick(g, 1000000)) : r->samples * PERIOD_NS;
	g->events[r->event].weight += r->weight;
	g->events[r->event].samples += r->samples;
}

static void make_tasks(struct windows *g, uint64_t sequence)
{
	for (uint32_t i = 0; i < 3; i++)
		g->buckets[i] = (struct agent_bucket){ 700 + 20 * i, 1 + (uint32_t)sequence % 5 };
	for (uint32_t i = 0; i < 2; i++)
		g->tasks[i] = (struct agent_tasks){ .service = i,
						    .type = i ? "query" : "request",
						    .count = 3 * (1 + sequence % 5),
						    .sum_ns = 1000000 * (1 + sequence),
						    .max_ns = 900000,
						    .buckets = g->buckets,
						    .nr_buckets = 3 };
}

static void fill(struct windows *g, uint64_t sequence, struct agent_window *ret)
{
	ret->rows = g->rows;
	ret->nr_rows = g->nr_rows;
	ret->frames = g->frames;
	ret->nr_frames = WINDOWS_FRAMES;
	ret->stacks = g->stacks;
	ret->nr_stacks = WINDOWS_STACKS;
	ret->labels = g->labels;
	ret->nr_labels = 3;
	ret->services = g->services;
	ret->nr_services = WINDOWS_SERVICES;
	ret->processes = g->processes;
	ret->nr_processes = 2 * WINDOWS_SERVICES;
	ret->events = g->events;
	ret->nr_events = 2;
	ret->tasks = g->tasks;
	ret->nr_tasks = sequence % 2 ? 2 : 0;
}

void windows_make(struct windows *g, uint64_t sequence, struct agent_window *ret)
{
	g->seed = mix(sequence * 1000 + 7);
	g->events[0] = (struct agent_event){ .name = "cpu-clock", .unit = "ns" };
	g->events[1] = (struct agent_event){ .name = "off-cpu", .unit = "ns", .is_off_cpu = 1 };
	for (uint32_t i = 0; i < g->nr_rows; i++)
		make_row(g, &g->rows[i]);
	for (uint32_t i = 0; i < WINDOWS_SERVICES; i++) {
		g->services[i].cpu_ns = 1000 * (i + 1);
		g->services[i].delay_ns = 10 * (i + 1);
	}
	make_tasks(g, sequence);
	*ret = (struct agent_window){
		.sequence = sequence,
		.start_ns = sequence * WINDOW_S * NS,
		.end_ns = (sequence + 1) * WINDOW_S * NS,
		.wall_start_ns = (g->wall_s + sequence * WINDOW_S) * NS,
		.wall_end_ns = (g->wall_s + (sequence + 1) * WINDOW_S) * NS,
		.agent = g->agent,
		.host = g->host,
		.host_labels = g->host_labels,
		.nr_host_labels = 1,
		.quality = { .samples = g->events[0].samples,
			     .intervals = g->events[1].samples,
			     .lost = sequence % 3,
			     .truncated = 2,
			     .own_cpu_ns = 1000000,
			     .own_memory_bytes = 20u << 20,
			     .rate_hz = 19,
			     .max_frames = 128,
			     .nr_cpus = 2 },
	};
	fill(g, sequence, ret);
}
