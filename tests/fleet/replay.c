/* SPDX-License-Identifier: MIT */
/*
 * Plays what an agent has recorded back as the windows of many hosts, for bench/fleet.
 *
 *	replay fill URL SPOOL START_S SECONDS HOSTS SAMPLES
 *	replay agents URL SPOOL HOSTS SECONDS SAMPLES SCRATCH
 *
 * SPOOL is the spool of an agent that has no server: its windows, with all stacks and contexts.
 * Hosts begin in different ones of them. Of each window about SAMPLES samples are kept, as if the
 * rate were lower. Processes that did not run all along are other ones in each round. New stacks:
 * the recording has D(n) distinct ones in its first n rows, and D grows as a power of n; a row of
 * the replay has a stack that was never seen with the probability that this power has where the
 * recording ends and beyond, with all hosts together running the same programs.
 *
 * "fill" inserts windows of ten seconds from START_S on, a minute of all hosts together, as a relay
 * does. "agents" has a sink for each host, which gets a window each ten seconds for SECONDS, and
 * then a minute to send the rest. Both print what was given and what was stored.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/pace.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/parse.h"
#include "fleet/clickhouse.h"
#include "fleet/encoder.h"
#include "fleet/rowbinary.h"
#include "fleet/shipment.h"
#include "fleet/spool.h"

#define WINDOW_S   10
#define RATE_HZ	   19
#define TABLE_MAX  ((size_t)1 << 26)
#define TEXTS_MAX  ((size_t)4 << 30)
#define FRAMES_MAX 1024
#define ROWS_MAX   20000 /* of a window */

struct process {
	const char *service, *name, *thread;
	int32_t pid;
	uint32_t first, last; /* window */
};

struct row {
	uint32_t stack, context;
	uint64_t samples;
};

struct host {
	struct encoder encoder;
	struct agent_sink sink;
	char name[24], agent[48];
	uint64_t sequence, given;
};

static struct {
	struct arena arena;
	struct map texts, frame_index, stack_index, context_index;
	ARRAY(struct agent_frame) frames;
	ARRAY(struct agent_stack) stacks;
	ARRAY(struct process) processes;
	ARRAY(struct row) rows;
	ARRAY(uint32_t) ends; /* of windows, in rows */
	uint64_t nr_distinct;
	double power, keep;
	/* of the window that is being made */
	uint32_t frame_numbers[ROWS_MAX][FRAMES_MAX];
	struct agent_row out[ROWS_MAX];
	struct agent_process pids[ROWS_MAX];
	struct agent_service services[ROWS_MAX];
	uint64_t random, made, fresh;
	/* what was given */
	uint64_t windows, nr_rows, samples, weight;
} g;

static void fail(const char *what)
{
	fprintf(stderr, "replay: %s\n", what);
	exit(1);
}

static uint64_t number(const char *text)
{
	uint64_t v = 0;

	if (coati_parse_u64(text, 0, UINT64_MAX, &v) < 0)
		fail("that is no number");
	return v;
}

/* 0 up to 1. */
static double chance(void)
{
	g.random = coati_hash_u64(g.random, 1);
	return (double)(g.random >> 11) / (double)(UINT64_C(1) << 53);
}

/* ---- what was recorded ---- */

static const char *take_text(struct cursor *c)
{
	char text[65536];
	uint64_t at;
	size_t len;
	const char *bytes = row_read_text(c, &len);
	char *copy;

	if (!bytes || len >= sizeof(text))
		fail("a text of the recording is damaged");
	memcpy(text, bytes, len);
	text[len] = 0;
	if (coati_map_get_str(&g.texts, text, &at))
		return (const char *)(uintptr_t)at;
	copy = coati_arena_strndup(&g.arena, text, len);
	if (!copy || coati_map_put_str(&g.texts, copy, (uint64_t)(uintptr_t)copy) < 0)
		fail("no memory");
	return copy;
}

static uint8_t digit(char c)
{
	return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static uint32_t add_frame(const struct agent_frame *f)
{
	const uint64_t parts[] = { (uintptr_t)f->function,
				   (uintptr_t)f->image,
				   (uintptr_t)f->path,
				   (uintptr_t)f->file,
				   f->line,
				   f->flags,
				   f->kind,
				   f->address };
	uint64_t key = 0, at;
	struct agent_frame *to;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		key = coati_hash_u64(key ^ parts[i], 1);
	if (coati_map_get(&g.frame_index, key, &at))
		return (uint32_t)at;
	to = ARRAY_ADD(&g.frames);
	if (!to || coati_map_put(&g.frame_index, key, g.frames.len - 1) < 0)
		fail("no memory");
	*to = *f;
	return (uint32_t)g.frames.len - 1;
}

static void take_frames(struct cursor *c, struct agent_stack *k)
{
	static struct agent_frame f[FRAMES_MAX];
	uint32_t *numbers;

	k->nr = (uint32_t)row_read_size(c, 1);
	numbers = k->nr <= FRAMES_MAX ? coati_arena_alloc(&g.arena, 4 * (size_t)k->nr + 4) : NULL;
	if (!numbers)
		fail("a stack of the recording is damaged");
	memset(f, 0, k->nr * sizeof(*f));
	for (uint32_t i = 0; i < k->nr; i++)
		f[i].function = take_text(c);
	row_read_size(c, 1);
	for (uint32_t i = 0; i < k->nr; i++)
		f[i].image = take_text(c);
	row_read_size(c, 1);
	for (uint32_t i = 0; i < k->nr; i++)
		f[i].path = take_text(c);
	row_read_size(c, 1);
	for (uint32_t i = 0; i < k->nr; i++) {
		const char *hex = take_text(c);

		for (size_t at = 0; hex[at] && at < 2 * AGENT_BUILD_ID_MAX; at += 2)
			f[i].build_id[f[i].build_id_size++] =
				(uint8_t)(digit(hex[at]) << 4 | digit(hex[at + 1]));
	}
	row_read_size(c, 1);
	for (uint32_t i = 0; i < k->nr; i++)
		f[i].address = cursor_u64(c);
	row_read_size(c, 1);
	for (uint32_t i = 0; i < k->nr; i++)
		f[i].file = take_text(c);
	row_read_size(c, 1);
	for (uint32_t i = 0; i < k->nr; i++)
		f[i].line = cursor_u32(c);
	row_read_size(c, 1);
	for (uint32_t i = 0; i < k->nr; i++)
		f[i].kind = cursor_u8(c);
	row_read_size(c, 1);
	for (uint32_t i = 0; i < k->nr; i++)
		f[i].flags = cursor_u8(c);
	for (uint32_t i = 0; i < k->nr; i++)
		numbers[i] = add_frame(&f[i]);
	k->frames = numbers;
}

static void take_stacks(const struct strbuf *table)
{
	struct cursor c = cursor_over(table->text, table->len);

	while (cursor_left(&c)) {
		struct agent_stack k = { 0 }, *to = NULL;
		uint64_t known;

		take_text(&c); /* service */
		k.id.low = cursor_u64(&c);
		k.id.high = cursor_u64(&c);
		cursor_skip(&c, 4);
		k.flags = cursor_u32(&c);
		take_frames(&c, &k);
		if (!c.bad && coati_map_get(&g.stack_index, k.id.low, &known))
			continue; /* another service has it, too */
		if (c.bad || !(to = ARRAY_ADD(&g.stacks)) ||
		    coati_map_put(&g.stack_index, k.id.low, g.stacks.len - 1) < 0)
			fail("the stacks of the recording are damaged");
		*to = k;
	}
}

static void take_contexts(const struct strbuf *table, uint32_t window)
{
	struct cursor c = cursor_over(table->text, table->len);

	while (cursor_left(&c)) {
		uint64_t id = cursor_u64(&c);
		struct process p = { .first = window, .last = window }, *to = NULL;

		cursor_skip(&c, 4);
		p.service = take_text(&c);
		take_text(&c); /* host and agent */
		take_text(&c);
		p.pid = (int32_t)cursor_u32(&c);
		p.name = take_text(&c);
		p.thread = take_text(&c);
		for (int i = 0; i < 2; i++) /* labels */
			for (uint64_t nr = row_read_size(&c, 1); nr && !c.bad; nr--)
				take_text(&c);
		if (c.bad || !(to = ARRAY_ADD(&g.processes)) ||
		    coati_map_put(&g.context_index, id, g.processes.len - 1) < 0)
			fail("the contexts of the recording are damaged");
		*to = p;
	}
}

static bool is_wanted(const char *service)
{
	const char *only = getenv("COATI_REPLAY_ONLY"); /* names, each with a comma behind it */
	const char *at = only ? strstr(only, service) : NULL;

	return !only || (at && at[strlen(service)] == ',');
}

static void take_rows(const struct strbuf *table, uint32_t window)
{
	struct cursor c = cursor_over(table->text, table->len);

	while (cursor_left(&c)) {
		const char *service = take_text(&c), *type = take_text(&c);
		uint64_t stack, context, samples;
		struct row *r;

		if (!coati_map_get(&g.stack_index, cursor_u64(&c), &stack))
			fail("a stack was not recorded");
		cursor_skip(&c, 4);
		if (!coati_map_get(&g.context_index, cursor_u64(&c), &context))
			fail("a context was not recorded");
		samples = cursor_u64(&c);
		cursor_skip(&c, 8);
		if (c.bad)
			fail("the rows of the recording are damaged");
		g.processes.v[context].last = window;
		if (strcmp(type, "cpu-clock") != 0 || !is_wanted(service))
			continue;
		r = ARRAY_ADD(&g.rows);
		if (!r)
			fail("no memory");
		*r = (struct row){ (uint32_t)stack, (uint32_t)context, samples };
	}
}

/* Distinct stacks of the first @nr rows. */
static uint64_t distinct(size_t nr)
{
	uint8_t *seen = coati_alloc(g.stacks.len + 1);
	uint64_t sum = 0;

	if (!seen)
		fail("no memory");
	for (size_t i = 0; i < nr; i++) {
		sum += !seen[g.rows.v[i].stack];
		seen[g.rows.v[i].stack] = 1;
	}
	coati_free(seen);
	return sum;
}

static void load(const char *path, uint64_t samples)
{
	struct coati_error err = { 0 };
	struct spool s;
	uint64_t all = 0;

	if (coati_spool_open(&s, path, UINT64_MAX >> 1, &err) < 0)
		fail(err.text);
	coati_arena_init(&g.arena, TEXTS_MAX);
	coati_map_init_strings(&g.texts, TABLE_MAX);
	coati_map_init(&g.frame_index, TABLE_MAX);
	coati_map_init(&g.stack_index, TABLE_MAX);
	coati_map_init(&g.context_index, TABLE_MAX);
	g.frames.max = g.stacks.max = g.processes.max = g.rows.max = g.ends.max = TABLE_MAX;
	for (size_t i = 0; i < s.entries.len; i++) {
		struct parcel p;
		uint32_t *end;

		if (coati_spool_get(&s, i, &p) < 0)
			fail("a window of the recording is damaged");
		take_stacks(&p.tables[SCHEMA_STACKS]);
		take_contexts(&p.tables[SCHEMA_CONTEXTS], (uint32_t)i);
		take_rows(&p.tables[SCHEMA_ROWS], (uint32_t)i);
		end = ARRAY_ADD(&g.ends);
		if (!end)
			fail("no memory");
		*end = (uint32_t)g.rows.len;
		coati_parcel_fini(&p);
	}
	coati_spool_close(&s);
	if (g.ends.len < 10 || g.rows.len < 1000)
		fail("little was recorded");
	for (size_t i = 0; i < g.rows.len; i++)
		all += g.rows.v[i].samples;
	g.keep = (double)(samples * g.ends.len) / (double)all;
	g.nr_distinct = distinct(g.rows.len);
	g.power = fmin(1, log2((double)g.nr_distinct / (double)distinct(g.rows.len / 2)));
	printf("recorded %zu windows %zu rows %" PRIu64 " stacks power %.3f new %.3f\n", g.ends.len,
	       g.rows.len, g.nr_distinct, g.power,
	       g.power * (double)g.nr_distinct / (double)g.rows.len);
	fflush(stdout);
}

/* ---- windows of a host ---- */

/* Where D(n) = D (n / n0)^power, a row brings a new stack with the probability D'(n). */
static bool is_fresh(void)
{
	double n0 = (double)g.rows.len, n = n0 + (double)g.made++;

	return chance() < g.power * (double)g.nr_distinct / n0 * pow(n / n0, g.power - 1);
}

/* A stack that nobody had before: another address in its innermost function. */
static uint32_t make_fresh(uint32_t stack, uint32_t i)
{
	const struct agent_stack *k = &g.stacks.v[stack];
	struct agent_frame *f = &g.frames.v[g.frames.len + i];
	struct agent_stack *to = &g.stacks.v[g.stacks.len + i];

	memcpy(g.frame_numbers[i], k->frames, k->nr * sizeof(*k->frames));
	*f = g.frames.v[k->frames[0]];
	f->address += 0x100000000 + ++g.fresh;
	g.frame_numbers[i][0] = (uint32_t)g.frames.len + i;
	*to = (struct agent_stack){ .frames = g.frame_numbers[i], .nr = k->nr, .flags = k->flags };
	to->id = coati_agent_stack_id(to, g.frames.v);
	return (uint32_t)g.stacks.len + i;
}

/* Ran all along, or in each round as another process. */
static int32_t pid_of(const struct process *p, uint64_t round)
{
	uint32_t nr = (uint32_t)g.ends.len;

	return p->first <= nr / 4 && p->last >= nr - nr / 4
		       ? p->pid
		       : (int32_t)(((uint64_t)p->pid + round * 7919) & 0x3fffff);
}

static uint64_t thin(uint64_t samples)
{
	uint64_t kept = 0;

	while (samples--)
		kept += chance() < g.keep;
	return kept;
}

static void make_rows(const struct host *h, uint64_t tick, uint64_t period, struct agent_window *w)
{
	uint64_t from = (tick + coati_hash_u64((uint64_t)h->given, 2)) % g.ends.len;
	uint64_t round = tick / g.ends.len;
	size_t i = from ? g.ends.v[from - 1] : 0;

	for (; i < g.ends.v[from] && w->nr_rows < ROWS_MAX; i++) {
		const struct process *p = &g.processes.v[g.rows.v[i].context];
		uint64_t samples = thin(g.rows.v[i].samples);
		uint32_t nr = w->nr_rows, stack = g.rows.v[i].stack;

		if (!samples)
			continue;
		g.services[nr] = (struct agent_service){ .name = p->service, .cgroup = "" };
		g.pids[nr] = (struct agent_process){ .pid = pid_of(p, round), .name = p->name };
		if (is_fresh())
			stack = make_fresh(stack, nr);
		g.out[nr] = (struct agent_row){ .service = nr,
						.process = nr,
						.stack = stack,
						.thread = p->thread,
						.samples = samples,
						.weight = samples * period };
		w->quality.samples += samples;
		w->nr_rows++;
	}
}

static void make_window(struct host *h, uint64_t tick, uint64_t wall_s, struct agent_window *w)
{
	static const struct agent_labels no_labels;
	static struct agent_event event = { .name = "cpu-clock", .unit = "ns" };
	uint64_t wall_ns = wall_s * NSEC_PER_SEC;
	uint64_t period = coati_pace_period(RATE_HZ, pace_hour(wall_ns));

	*w = (struct agent_window){ .sequence = ++h->sequence,
				    .end_ns = WINDOW_S * NSEC_PER_SEC,
				    .wall_start_ns = wall_ns,
				    .wall_end_ns = wall_ns + WINDOW_S * NSEC_PER_SEC,
				    .agent = h->agent,
				    .host = h->name,
				    .rows = g.out,
				    .frames = g.frames.v,
				    .stacks = g.stacks.v,
				    .labels = &no_labels,
				    .nr_labels = 1,
				    .services = g.services,
				    .processes = g.pids,
				    .events = &event,
				    .nr_events = 1 };
	w->quality.rate_hz = RATE_HZ;
	make_rows(h, tick, period, w);
	event.samples = w->quality.samples;
	event.weight = event.samples * period;
	g.windows++;
	g.nr_rows += w->nr_rows;
	g.samples += event.samples;
	g.weight += event.weight;
}

static struct host *make_hosts(uint64_t nr)
{
	struct host *hosts = coati_alloc_array(nr, sizeof(*hosts));
	size_t frames = g.frames.len, stacks = g.stacks.len;

	/* room for new ones, behind those that were recorded */
	for (size_t i = 0; i < ROWS_MAX; i++)
		if (!ARRAY_ADD(&g.frames) || !ARRAY_ADD(&g.stacks))
			fail("no memory");
	g.frames.len = frames;
	g.stacks.len = stacks;
	if (!hosts)
		fail("no memory");
	for (uint64_t i = 0; i < nr; i++) {
		snprintf(hosts[i].name, sizeof(hosts[i].name), "host%" PRIu64, i);
		snprintf(hosts[i].agent, sizeof(hosts[i].agent), "host%" PRIu64 "/replay", i);
		hosts[i].given = i;
	}
	return hosts;
}

static void print_given(void)
{
	printf("given windows %" PRIu64 " rows %" PRIu64 " samples %" PRIu64 " weight %" PRIu64
	       " fresh %" PRIu64 "\n",
	       g.windows, g.nr_rows, g.samples, g.weight, g.fresh);
}

/* ---- all of a time ---- */

static void ship(struct shipment *h, struct server *s, uint64_t *inserts)
{
	struct coati_error err = { 0 };

	if (h->nr && coati_shipment_send(h, s, &err) < 0)
		fail(err.text);
	coati_shipment_fini(h);
	if (coati_shipment_init(h, 10000, inserts) < 0)
		fail("no memory");
	h->is_relay = true;
}

static int fill(char **argv)
{
	uint64_t start = number(argv[4]), ticks = number(argv[5]) / WINDOW_S;
	uint64_t nr_hosts = number(argv[6]), inserts = 0;
	struct coati_error err = { 0 };
	struct server s = { 0 };
	struct host *hosts;
	struct shipment h = { 0 };

	load(argv[3], number(argv[7]));
	hosts = make_hosts(nr_hosts);
	if (coati_server_open(argv[2], NULL, &s, &err) < 0)
		fail(err.text);
	for (uint64_t i = 0; i < nr_hosts; i++)
		coati_encoder_init(&hosts[i].encoder, 0);
	ship(&h, &s, &inserts);
	for (uint64_t tick = 0; tick < ticks; tick++) {
		for (uint64_t i = 0; i < nr_hosts; i++) {
			struct agent_window w;
			struct parcel p;

			make_window(&hosts[i], tick, start + tick * WINDOW_S, &w);
			if (coati_encoder_window(&hosts[i].encoder, &w, 0, &p) < 0)
				fail("no memory");
			if (coati_shipment_add(&h, &p, false))
				continue;
			ship(&h, &s, &inserts);
			if (!coati_shipment_add(&h, &p, false))
				fail("a window is too long");
		}
		if (tick % 6 == 5 || tick + 1 == ticks)
			ship(&h, &s, &inserts);
	}
	coati_shipment_fini(&h);
	coati_server_close(&s);
	print_given();
	return 0;
}

/* ---- agents ---- */

static void pause_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / NSEC_PER_SEC), (long)(ns % NSEC_PER_SEC) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void add_stats(struct host *hosts, uint64_t nr, struct agent_sink_stats *sum)
{
	*sum = (struct agent_sink_stats){ 0 };
	for (uint64_t i = 0; i < nr; i++) {
		struct agent_sink_stats st;

		hosts[i].sink.stats(hosts[i].sink.ctx, &st);
		sum->windows += st.windows;
		sum->failed_windows += st.failed_windows;
		sum->rows += st.rows;
		sum->waiting_windows += st.waiting_windows;
		sum->errors += st.errors;
	}
}

static int agents(char **argv)
{
	uint64_t nr = number(argv[4]), ticks = number(argv[5]) / WINDOW_S, until;
	uint64_t start = now_ns();
	struct coati_error err = { 0 };
	struct agent_sink_stats st;
	struct host *hosts;

	load(argv[3], number(argv[6]));
	hosts = make_hosts(nr);
	for (uint64_t i = 0; i < nr; i++) {
		char spool[4096];
		struct clickhouse_opts o = { .url = argv[2], .spool = spool };

		snprintf(spool, sizeof(spool), "%s/%s", argv[7], hosts[i].name);
		if (coati_clickhouse_new(&o, &hosts[i].sink, &err) < 0)
			fail(err.text);
	}
	for (uint64_t tick = 0; tick < ticks; tick++) {
		uint64_t wall = clock_ns(CLOCK_REALTIME) / NSEC_PER_SEC / WINDOW_S * WINDOW_S;

		for (uint64_t i = 0; i < nr; i++) {
			struct agent_window w;

			make_window(&hosts[i], tick, wall, &w);
			if (hosts[i].sink.window(hosts[i].sink.ctx, &w) < 0)
				fail("a window is lost");
		}
		pause_until(start + (tick + 1) * WINDOW_S * NSEC_PER_SEC);
	}
	add_stats(hosts, nr, &st);
	print_given();
	printf("at the end: waiting %" PRIu64 "\n", st.waiting_windows);
	fflush(stdout);
	until = now_ns() + 120 * NSEC_PER_SEC;
	while (st.waiting_windows && now_ns() < until) {
		pause_until(now_ns() + NSEC_PER_SEC);
		add_stats(hosts, nr, &st);
	}
	printf("stored windows %" PRIu64 " rows %" PRIu64 " failed %" PRIu64 " waiting %" PRIu64
	       " errors %" PRIu64 "\n",
	       st.windows, st.rows, st.failed_windows, st.waiting_windows, st.errors);
	for (uint64_t i = 0; i < nr; i++)
		hosts[i].sink.close(hosts[i].sink.ctx, now_ns() + NSEC_PER_SEC);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 8 && !strcmp(argv[1], "fill"))
		return fill(argv);
	if (argc == 8 && !strcmp(argv[1], "agents"))
		return agents(argv);
	fprintf(stderr,
		"usage: replay fill URL SPOOL START_S SECONDS HOSTS SAMPLES | agents URL SPOOL "
		"HOSTS SECONDS SAMPLES SCRATCH\n");
	return 2;
}
