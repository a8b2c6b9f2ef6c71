/* SPDX-License-Identifier: MIT */
/*
 * Sends windows of tests/lib/windows.h through the ClickHouse sink, or says what they add up to.
 *
 *	send-windows totals FIRST LAST
 *	send-windows send URL SPOOL FIRST LAST [PAUSE_MS [INTERVAL_MS [SPOOL_BYTES]]]
 *	send-windows otlp|push URL FIRST LAST
 *	send-windows schema URL | hours URL | retention URL DAYS
 *	send-windows columns | bundle FIRST LAST
 *
 * "send" gives windows FIRST to LAST to the sink, PAUSE_MS apart, then closes it with a deadline of
 * 60 s (or COATI_TEST_DEADLINE), and prints what the sink counted. Windows begin at
 * COATI_TEST_START (since 1970). "columns" prints the checksum of the columns, "bundle" what an
 * agent would post to a relay.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/parse.h"
#include "fleet/bundle.h"
#include "fleet/clickhouse.h"
#include "fleet/encoder.h"
#include "fleet/outlet.h"
#include "fleet/upkeep.h"
#include "lib/windows.h"

#define DEADLINE_NS (60 * NSEC_PER_SEC)
#define START_S	    1794787200 /* 2026-11-16 00:00:00 UTC */

static uint64_t number(const char *text)
{
	uint64_t v = 0;

	if (!text || coati_parse_u64(text, 0, UINT64_MAX, &v) < 0) {
		fprintf(stderr, "send-windows: %s is not a number\n", text ? text : "(nothing)");
		exit(2);
	}
	return v;
}

static void start(struct windows *g)
{
	const char *at = getenv("COATI_TEST_START"), *run = getenv("COATI_TEST_RUN");
	const char *host = getenv("COATI_TEST_HOST");

	windows_init(g, host ? host : "testhost", run ? number(run) : 1, at ? number(at) : START_S);
}

/* ---- totals ---- */

struct total {
	char name[96];
	uint64_t samples, weight;
};

static struct total totals[1024];
static size_t nr_totals;

static void add(const char *kind, const char *name, const char *event, const struct agent_row *r)
{
	char full[96];
	size_t i = 0;

	snprintf(full, sizeof(full), "%s %s %s", event, kind, name);
	while (i < nr_totals && strcmp(totals[i].name, full) != 0)
		i++;
	if (i == nr_totals)
		snprintf(totals[nr_totals++].name, sizeof(full), "%s", full);
	totals[i].samples += r->samples;
	totals[i].weight += r->weight;
}

static void add_window(const struct agent_window *w)
{
	for (uint32_t i = 0; i < w->nr_rows; i++) {
		const struct agent_row *r = &w->rows[i];
		const struct agent_frame *f = &w->frames[w->stacks[r->stack].frames[0]];
		const char *event = w->events[r->event].name;

		add("function", f->function, event, r);
		add("image", f->image, event, r);
		add("service", w->services[r->service].name, event, r);
		add("endpoint", r->labels ? w->labels[r->labels].v[0].value : "", event, r);
		add("all", "", event, r);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct total *)a)->name, ((const struct total *)b)->name);
}

static int print_totals(uint64_t first, uint64_t last)
{
	static struct windows g;
	struct agent_window w;

	start(&g);
	for (uint64_t i = first; i <= last; i++) {
		windows_make(&g, i, &w);
		add_window(&w);
	}
	qsort(totals, nr_totals, sizeof(*totals), by_name);
	for (size_t i = 0; i < nr_totals; i++)
		printf("%s %" PRIu64 " %" PRIu64 "\n", totals[i].name, totals[i].samples,
		       totals[i].weight);
	return 0;
}

/* ---- sending ---- */

static void print_stats(const struct agent_sink *sink)
{
	struct agent_sink_stats st = { 0 };
	const char *trouble = sink->trouble(sink->ctx);

	sink->stats(sink->ctx, &st);
	printf("windows %" PRIu64 " failed %" PRIu64 " rows %" PRIu64 " waiting %" PRIu64
	       " errors %" PRIu64 "%s%s\n",
	       st.windows, st.failed_windows, st.rows, st.waiting_windows, st.errors,
	       trouble ? " trouble " : "", trouble ? trouble : "");
	fflush(stdout);
}

/* Until nothing waits, or the time is over. */
static void drain(const struct agent_sink *sink, uint64_t until)
{
	const struct timespec pause = { 0, 50 * (long)NSEC_PER_MSEC };
	struct agent_sink_stats st = { .waiting_windows = 1 };

	while (st.waiting_windows && now_ns() < until) {
		nanosleep(&pause, NULL);
		sink->stats(sink->ctx, &st);
	}
}

static int send_windows(int argc, char **argv)
{
	static struct windows g;
	struct clickhouse_opts o = {
		.url = argv[2],
		.spool = strcmp(argv[3], "-") ? argv[3] : NULL,
		.secrets = getenv("COATI_TEST_SECRETS"),
		.interval_ns = (argc > 7 ? number(argv[7]) : 100) * NSEC_PER_MSEC,
		.pause_ns = 50 * NSEC_PER_MSEC,
		.doubt_ns = 2 * NSEC_PER_SEC,
		.spool_bytes = argc > 8 ? number(argv[8]) : 0,
	};
	uint64_t pause = (argc > 6 ? number(argv[6]) : 0) * NSEC_PER_MSEC;
	const char *deadline = getenv("COATI_TEST_DEADLINE"); /* seconds */
	struct coati_error err = { 0 };
	struct agent_sink sink;
	struct agent_window w;

	if (coati_clickhouse_new(&o, &sink, &err) < 0) {
		fprintf(stderr, "send-windows: %s\n", err.text);
		return 1;
	}
	start(&g);
	for (uint64_t i = number(argv[4]); i <= number(argv[5]); i++) {
		struct timespec t = { (time_t)(pause / NSEC_PER_SEC),
				      (long)(pause % NSEC_PER_SEC) };

		windows_make(&g, i, &w);
		sink.window(sink.ctx, &w);
		printf("given %" PRIu64 "\n", i);
		fflush(stdout);
		if (pause)
			nanosleep(&t, NULL);
	}
	drain(&sink, now_ns() + (deadline ? number(deadline) * NSEC_PER_SEC : DEADLINE_NS));
	print_stats(&sink);
	sink.close(sink.ctx, now_ns() + NSEC_PER_SEC);
	return 0;
}

static int send_profiles(char **argv)
{
	static struct windows g;
	struct outlet_opts o = { .kind = strcmp(argv[1], "otlp") ? OUTLET_PUSH : OUTLET_OTLP,
				 .url = argv[2] };
	struct coati_error err = { 0 };
	struct agent_sink sink;
	struct agent_window w;

	if (coati_outlet_new(&o, &sink, &err) < 0) {
		fprintf(stderr, "send-windows: %s\n", err.text);
		return 1;
	}
	start(&g);
	for (uint64_t i = number(argv[3]); i <= number(argv[4]); i++) {
		windows_make(&g, i, &w);
		sink.window(sink.ctx, &w);
	}
	/* what was added up is sent when it is closed */
	sink.close(sink.ctx, now_ns() + DEADLINE_NS);
	return 0;
}

static int print_bundle(uint64_t first, uint64_t last)
{
	static struct windows g;
	struct strbuf body = STRBUF_INIT(BUNDLE_BYTES);
	struct encoder e;
	struct shipment h;
	uint64_t inserts = 0;
	struct agent_window w;
	struct parcel p;

	start(&g);
	coati_encoder_init(&e, 0);
	if (coati_shipment_init(&h, SHIPMENT_PARCELS, &inserts) < 0)
		return 1;
	for (uint64_t i = first; i <= last; i++) {
		windows_make(&g, i, &w);
		if (coati_encoder_window(&e, &w, 0, &p) < 0 || !coati_shipment_add(&h, &p, i & 1))
			return 1;
	}
	coati_bundle_write(&h, &body);
	fwrite(body.text, 1, body.len, stdout);
	coati_strbuf_fini(&body);
	coati_shipment_fini(&h);
	coati_encoder_fini(&e);
	return 0;
}

/* ---- the database ---- */

static int keep_up(int argc, char **argv)
{
	struct server s = { 0 };
	struct coati_error err = { 0 };
	uint32_t changes = 0;
	int r = coati_server_open(argv[2], NULL, &s, &err);

	if (r == 0)
		r = coati_server_meet(&s, &err);
	if (r == 0 && !strcmp(argv[1], "schema")) {
		struct schema_opts o = { .database = s.place.database, .version = s.version };

		r = coati_upkeep_schema(&s, &o, &changes, &err);
	} else if (r == 0 && !strcmp(argv[1], "hours")) {
		r = coati_upkeep_hours(&s, &changes, &err);
	} else if (r == 0) {
		r = coati_upkeep_retention(&s, (uint32_t)number(argv[3]), &changes, &err);
	}
	printf("%u %s\n", changes, r < 0 ? err.text : "");
	coati_server_close(&s);
	return r < 0;
}

int main(int argc, char **argv)
{
	if ((argc == 3 && (!strcmp(argv[1], "schema") || !strcmp(argv[1], "hours"))) ||
	    (argc == 4 && !strcmp(argv[1], "retention")))
		return keep_up(argc, argv);
	if (argc == 2 && !strcmp(argv[1], "columns"))
		return printf("%u\n", coati_schema_sum()) < 0;
	if (argc == 4 && !strcmp(argv[1], "bundle"))
		return print_bundle(number(argv[2]), number(argv[3]));
	if (argc == 4 && !strcmp(argv[1], "totals"))
		return print_totals(number(argv[2]), number(argv[3]));
	if (argc == 5 && (!strcmp(argv[1], "otlp") || !strcmp(argv[1], "push")))
		return send_profiles(argv);
	if (argc >= 6 && !strcmp(argv[1], "send"))
		return send_windows(argc, argv);
	fprintf(stderr, "usage: send-windows totals FIRST LAST | send URL SPOOL FIRST LAST "
			"[PAUSE_MS [INTERVAL_MS [SPOOL_BYTES]]]\n");
	return 2;
}
