/* SPDX-License-Identifier: MIT */
/* What the agent sends to servers, piece by piece: URLs, secrets, parcels, the spool, the schema,
 * and what servers answer. The whole of it runs in cases with a real server (tests/cli). */
#include "lib/test.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/profile.h>

#include "base/alloc.h"
#include "fleet/bundle.h"
#include "fleet/encoder.h"
#include "fleet/fetch.h"
#include "fleet/metrics.h"
#include "fleet/outlet-body.h"
#include "fleet/outlet.h"
#include "fleet/place.h"
#include "fleet/relay-size.h"
#include "fleet/rowbinary.h"
#include "fleet/schema.h"
#include "fleet/secrets.h"
#include "fleet/spool.h"
#include "fleet/unfold.h"
#include "lib/windows.h"
#include "unit/serve-client.h"

#define START_S 1794787200

static void make_parcel(struct encoder *e, struct windows *g, uint64_t sequence, struct parcel *ret)
{
	struct agent_window w;

	windows_make(g, sequence, &w);
	CHECK_INT(coati_encoder_window(e, &w, 0, ret), ==, 0);
}

/* ---- places and secrets ---- */

TEST(fleet_a_place_is_a_url_with_host_port_and_database)
{
	struct coati_error err = { 0 };
	struct place p;

	CHECK_INT(coati_place_parse("clickhouse://db/coati", &p, &err), ==, 0);
	CHECK_STR(p.url, "http://db:8123");
	CHECK_STR(p.database, "coati");
	CHECK_INT(coati_place_parse("https://[::1]:9000/", &p, &err), ==, 0);
	CHECK_STR(p.url, "https://[::1]:9000");
	CHECK_STR(p.database, "default");
	CHECK_INT(coati_place_parse("http://user:secret@db/coati", &p, &err), ==, -EINVAL);
	CHECK(strstr(err.text, "password"));
	CHECK_INT(coati_place_parse("http://db/a;DROP", &p, &err), ==, -EINVAL);
	CHECK_INT(coati_place_parse("ftp://db/coati", &p, &err), ==, -EINVAL);
	CHECK(coati_place_is("clickhouse://x") && !coati_place_is("http://x"));
}

TEST(fleet_passwords_do_not_travel_over_plain_http)
{
	struct secrets s = { .password = (char *)(uintptr_t) "x" };
	struct coati_error err = { 0 };

	CHECK_INT(coati_secrets_allow(&s, "http://db:8123", &err), ==, -EPERM);
	CHECK_INT(coati_secrets_allow(&s, "http://localhost.evil.example/", &err), ==, -EPERM);
	CHECK_INT(coati_secrets_allow(&s, "http://127.evil.example/", &err), ==, -EPERM);
	CHECK_INT(coati_secrets_allow(&s, "http://127.0.0.1:8123", &err), ==, 0);
	CHECK_INT(coati_secrets_allow(&s, "https://db:8443", &err), ==, 0);
	s.plain_http = (char *)(uintptr_t) "yes";
	CHECK_INT(coati_secrets_allow(&s, "http://db:8123", &err), ==, 0);
}

static void write_secrets(const char *text, mode_t mode)
{
	int fd = open("secrets", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK_INT(fchmod(fd, mode), ==, 0);
	close(fd);
}

TEST(fleet_secrets_come_from_a_private_file_and_the_environment)
{
	struct coati_error err = { 0 };
	struct secrets s = { 0 };

	write_secrets("# mine\nuser=all\nclickhouse.password=one\notlp.token=two\n", 0600);
	setenv("COATI_CLICKHOUSE_USER", "environment", 1);
	CHECK_INT(coati_secrets_read("secrets", "clickhouse", &s, &err), ==, 0);
	CHECK_STR(s.user, "environment");
	CHECK_STR(s.password, "one");
	CHECK(!s.token);
	coati_secrets_fini(&s);
	write_secrets("user=all\n", 0640);
	CHECK_INT(coati_secrets_read("secrets", "clickhouse", &s, &err), ==, -EPERM);
	write_secrets("pass-word=x\n", 0600);
	CHECK_INT(coati_secrets_read("secrets", "clickhouse", &s, &err), ==, -EINVAL);
	CHECK(strstr(err.text, "secrets:1"));
}

/* ---- parcels ---- */

TEST(fleet_a_parcel_comes_back_from_its_bytes_and_from_no_part_of_them)
{
	static struct windows g;
	struct strbuf bytes = STRBUF_INIT(1u << 24);
	struct parcel p, back;
	struct encoder e;

	windows_init(&g, "host", 1, START_S);
	coati_encoder_init(&e, 0);
	make_parcel(&e, &g, 1, &p);
	coati_parcel_write(&p, &bytes);
	CHECK_INT(coati_parcel_read(&back, bytes.text, bytes.len), ==, 0);
	CHECK_STR(back.agent, "host-1");
	CHECK_U64(back.rows, ==, 40);
	CHECK_U64(back.time_s, ==, START_S + 10);
	for (int i = 0; i < SCHEMA_SENT; i++) {
		CHECK_U64(back.tables[i].len, ==, p.tables[i].len);
		CHECK(!memcmp(back.tables[i].text, p.tables[i].text, p.tables[i].len));
	}
	coati_parcel_fini(&back);
	for (size_t len = 0; len < bytes.len; len += 1 + len / 64)
		CHECK_INT(coati_parcel_read(&back, bytes.text, len), ==, -EBADMSG);
	bytes.text[bytes.len / 2] ^= 1;
	CHECK_INT(coati_parcel_read(&back, bytes.text, bytes.len), ==, -EBADMSG);
	coati_parcel_fini(&p);
	coati_encoder_fini(&e);
	coati_strbuf_fini(&bytes);
}

TEST(fleet_stacks_and_contexts_are_sent_once_a_month)
{
	static struct windows g;
	struct parcel first, second, later;
	struct encoder e;

	windows_init(&g, "host", 1, START_S);
	coati_encoder_init(&e, 0);
	make_parcel(&e, &g, 1, &first);
	make_parcel(&e, &g, 1, &second);
	CHECK(first.tables[SCHEMA_STACKS].len > 0);
	CHECK_U64(second.tables[SCHEMA_STACKS].len, ==, 0);
	/* the same time again, the clock was set back: rows must not look like the first */
	CHECK_U64(first.context, !=, second.context);
	g.wall_s += 29 * 86400;
	make_parcel(&e, &g, 1, &later);
	CHECK_U64(later.tables[SCHEMA_STACKS].len, ==, first.tables[SCHEMA_STACKS].len);
	coati_parcel_fini(&first);
	coati_parcel_fini(&second);
	coati_parcel_fini(&later);
	coati_encoder_fini(&e);
}

/* How many rows of contexts have the process "other". */
static uint32_t count_others(const struct strbuf *s)
{
	static const char other[] = "\5other\5other";
	uint32_t nr = 0;

	for (size_t i = 0; i + sizeof(other) - 1 <= s->len; i++)
		nr += !memcmp(s->text + i, other, sizeof(other) - 1);
	return nr;
}

TEST(fleet_rare_contexts_become_other)
{
	static struct windows g;
	struct parcel p;
	struct encoder e;

	windows_init(&g, "host", 1, START_S);
	coati_encoder_init(&e, 3);
	make_parcel(&e, &g, 1, &p);
	/* one for each service at most, besides the three that stay */
	CHECK_U64(count_others(&p.tables[SCHEMA_CONTEXTS]), >=, 1);
	CHECK_U64(count_others(&p.tables[SCHEMA_CONTEXTS]), <=, WINDOWS_SERVICES);
	CHECK_U64(e.contexts.len, <=, 3 + WINDOWS_SERVICES);
	coati_parcel_fini(&p);
	coati_encoder_fini(&e);
}

TEST(fleet_no_allocation_that_fails_hurts_the_encoder)
{
	static struct windows g;
	struct agent_window w;
	struct encoder e;
	struct parcel p;
	int r = -ENOMEM;

	windows_init(&g, "host", 1, START_S);
	windows_make(&g, 1, &w);
	for (uint64_t n = 0; r == -ENOMEM; n++) {
		coati_encoder_init(&e, 3);
		coati_alloc_fail_after(n);
		r = coati_encoder_window(&e, &w, 0, &p);
		coati_alloc_fail_after(UINT64_MAX);
		if (r == 0)
			coati_parcel_fini(&p);
		coati_encoder_fini(&e);
	}
	CHECK_INT(r, ==, 0);
}

/* ---- a relay ---- */

static void make_shipment(struct shipment *h, struct encoder *e, uint64_t nr)
{
	static struct windows g;
	static uint64_t inserts;
	struct parcel p;

	windows_init(&g, "host", 1, START_S);
	CHECK_INT(coati_shipment_init(h, SHIPMENT_PARCELS, &inserts), ==, 0);
	for (uint64_t i = 1; i <= nr; i++) {
		make_parcel(e, &g, i, &p);
		CHECK(coati_shipment_add(h, &p, i == 2));
	}
}

static int read_back(const struct shipment *h, struct bundle *ret)
{
	struct strbuf body = STRBUF_INIT(BUNDLE_BYTES);
	int r;

	coati_bundle_write(h, &body);
	r = body.failed ? body.failed : coati_bundle_read(ret, body.text, body.len, NULL);
	coati_strbuf_fini(&body);
	return r;
}

/* Servers that take @ns for a byte, and @fixed for an insert; the sizes of 20 full inserts. */
static uint64_t settle(uint64_t fixed, uint64_t ns, uint64_t limit)
{
	for (int i = 0; i < 20; i++)
		limit = relay_insert_limit(limit, SHIPMENT_BYTES, limit, fixed + ns * limit);
	return limit;
}

TEST(fleet_inserts_of_a_relay_are_as_large_as_their_agents_can_wait_for)
{
	const uint64_t mib = UINT64_C(1) << 20, most = SHIPMENT_BYTES;

	for (uint64_t start = 4 * mib; start <= most; start *= 2) {
		/* 20 MB a second: the most; 1.3 s */
		CHECK_U64(settle(0, 50, start), ==, most);
		/* 1 MB a second: 8 MiB take 8.4 s, and twice as much would take too long */
		CHECK_U64(settle(0, 1000, start), ==, 8 * mib);
		/* 0.1 MB a second: it is always too long, and 4 MiB are the least */
		CHECK_U64(settle(0, 10000, start), ==, 4 * mib);
		/* what costs the same at any size does not make it small */
		CHECK_U64(settle(7 * NSEC_PER_SEC, 0, start), ==, start);
	}
	/* inserts that were not full say nothing; more than the most is never there */
	CHECK_U64(relay_insert_limit(16 * mib, most, 2 * mib, NSEC_PER_MSEC), ==, 16 * mib);
	CHECK_U64(relay_insert_limit(16 * mib, 9 * mib, 16 * mib, UINT64_MAX), ==, 8 * mib);
	CHECK_U64(relay_insert_limit(16 * mib, 9 * mib, 16 * mib, 0), ==, 9 * mib);
	CHECK_U64(relay_insert_limit(most, mib, mib, UINT64_MAX), ==, mib);
}

TEST(fleet_a_bundle_comes_back_from_its_bytes_and_from_no_part_of_them)
{
	struct strbuf body = STRBUF_INIT(BUNDLE_BYTES);
	struct encoder e;
	struct shipment h;
	struct bundle b;
	size_t taken = 0;

	coati_encoder_init(&e, 0);
	make_shipment(&h, &e, 2);
	coati_bundle_write(&h, &body);
	CHECK_INT(coati_bundle_read(&b, body.text, body.len, NULL), ==, 0);
	CHECK_U64(b.parcels.len, ==, 2);
	CHECK(!b.parcels.v[0].tried && b.parcels.v[1].tried);
	for (size_t i = 0; i < 2; i++)
		CHECK(coati_parcel_same(&b.parcels.v[i].p, &h.v[i].p));
	CHECK_U64(coati_parcel_bytes(&b.parcels.v[1].p), ==, coati_parcel_bytes(&h.v[1].p));
	coati_bundle_fini(&b);
	/* it may end behind the first one, and nowhere else */
	for (size_t i = 0; i < body.len; i++)
		if (coati_bundle_read(&b, body.text, i, NULL) == 0) {
			CHECK_U64(b.parcels.len, ==, ++taken);
			coati_bundle_fini(&b);
		}
	CHECK_U64(taken, ==, 1);
	coati_strbuf_fini(&body);
	coati_shipment_fini(&h);
	coati_encoder_fini(&e);
}

TEST(fleet_an_insert_has_as_many_rows_as_a_server_takes_and_no_more)
{
	static struct windows g;
	uint64_t inserts = 0;
	struct encoder e;
	struct shipment h;
	struct parcel p;

	windows_init(&g, "host", 1, START_S);
	coati_encoder_init(&e, 0);
	CHECK_INT(coati_shipment_init(&h, SHIPMENT_PARCELS, &inserts), ==, 0);
	for (uint64_t i = 1; i <= 3; i++) {
		make_parcel(&e, &g, i, &p);
		p.rows = i < 3 ? SHIPMENT_ROWS / 2 : 1;
		CHECK_INT(coati_shipment_add(&h, &p, false), ==, i < 3);
		CHECK_U64(h.rows, ==, i < 3 ? i * SHIPMENT_ROWS / 2 : SHIPMENT_ROWS);
	}
	coati_parcel_fini(&p); /* it is still ours */
	CHECK_U64(h.nr, ==, 2);
	coati_shipment_fini(&h);
	coati_encoder_fini(&e);
}

/* Change a parcel of two, see it refused, and change it back. */
static void check_refused(struct shipment *h, void *at, const void *value, size_t size)
{
	uint8_t before[16];
	struct bundle b;

	CHECK(size <= sizeof(before));
	memcpy(before, at, size);
	memcpy(at, value, size);
	CHECK_INT(read_back(h, &b), ==, -EBADMSG);
	memcpy(at, before, size);
	CHECK_INT(read_back(h, &b), ==, 0);
	coati_bundle_fini(&b);
}

TEST(fleet_rows_that_do_not_fit_their_parcel_are_refused)
{
	struct encoder e;
	struct shipment h;
	struct parcel *p;
	uint64_t number;
	struct bundle b;

	coati_encoder_init(&e, 0);
	make_shipment(&h, &e, 2);
	p = &h.v[0].p;
	for (size_t i = 0; i < SCHEMA_SENT; i++) {
		if (!p->tables[i].len)
			continue;
		p->tables[i].len--; /* the last row is cut */
		CHECK_INT(read_back(&h, &b), ==, -EBADMSG);
		p->tables[i].len++;
		/* the length of the first text; contexts begin with their id */
		if (i != SCHEMA_CONTEXTS)
			check_refused(&h, p->tables[i].text, "\xff", 1);
	}
	number = p->rows + 1;
	check_refused(&h, &p->rows, &number, sizeof(number));
	number = p->time_s + 1; /* not that of its rows */
	check_refused(&h, &p->time_s, &number, sizeof(number));
	number = p->time_s + 86400;
	check_refused(&h, &p->time_s, &number, sizeof(number));
	number = h.v[1].p.sequence;
	check_refused(&h, &p->sequence, &number, sizeof(number));
	check_refused(&h, &p->stack, "01234567", 8);
	coati_shipment_fini(&h);
	/* the same window twice */
	make_shipment(&h, &e, 1);
	CHECK_INT(read_back(&h, &b), ==, 0);
	CHECK(coati_shipment_add(&h, &b.parcels.v[0].p, true));
	ARRAY_FINI(&b.parcels);
	CHECK_INT(read_back(&h, &b), ==, -EBADMSG);
	coati_shipment_fini(&h);
	coati_encoder_fini(&e);
}

/* ---- the spool ---- */

TEST(fleet_the_spool_keeps_order_and_outlives_its_process)
{
	static struct windows g;
	struct coati_error err = { 0 };
	struct spool s, other;
	struct encoder e;
	struct parcel p;

	windows_init(&g, "host", 1, START_S);
	coati_encoder_init(&e, 0);
	CHECK_INT(coati_spool_open(&s, "spool", 0, &err), ==, 0);
	CHECK_INT(coati_spool_open(&other, "spool", 0, &err), ==, -EAGAIN);
	for (uint64_t i = 1; i <= 3; i++) {
		make_parcel(&e, &g, i, &p);
		CHECK_INT(coati_spool_add(&s, &p), ==, 0);
		coati_parcel_fini(&p);
	}
	CHECK_U64(s.memory_bytes, ==, 0); /* they are on the disk alone */
	CHECK(!s.entries.v[0].memory);
	CHECK(!s.entries.v[0].tried);
	coati_spool_begin(&s, 2);
	coati_spool_end(&s, 1);
	CHECK(s.entries.v[0].tried && !s.entries.v[1].tried);
	coati_spool_close(&s);
	CHECK_INT(coati_spool_open(&s, "spool", 0, &err), ==, 0);
	CHECK_U64(s.entries.len, ==, 2);
	CHECK(s.entries.v[1].tried); /* by the run before, perhaps */
	CHECK_INT(coati_spool_get(&s, 0, &p), ==, 0);
	CHECK_U64(p.sequence, ==, 2);
	coati_parcel_fini(&p);
	coati_spool_close(&s);
	coati_encoder_fini(&e);
}

TEST(fleet_a_full_spool_drops_the_oldest_and_says_how_many)
{
	static struct windows g;
	struct coati_error err = { 0 };
	uint64_t windows = 0, samples = 0, wanted = 0, stored = 0;
	struct agent_window w;
	struct encoder e;
	struct parcel p;
	struct spool s;

	windows_init(&g, "host", 1, START_S);
	coati_encoder_init(&e, 0);
	CHECK_INT(coati_spool_open(&s, "spool", 40000, &err), ==, 0);
	for (uint64_t i = 1; i <= 30; i++) {
		windows_make(&g, i, &w);
		wanted += w.quality.samples;
		CHECK_INT(coati_encoder_window(&e, &w, 0, &p), ==, 0);
		CHECK_INT(coati_spool_add(&s, &p), ==, 0);
		coati_parcel_fini(&p);
		CHECK_U64(s.bytes, <=, 40000);
	}
	CHECK_U64(s.entries.len, <, 30);
	for (size_t i = 0; i < s.entries.len; i++) {
		CHECK_INT(coati_spool_get(&s, i, &p), ==, 0);
		windows += p.windows;
		samples += p.samples;
		stored += p.stored ? p.windows : 0;
		coati_parcel_fini(&p);
	}
	/* what was made is stored or told to be dropped */
	CHECK_U64(windows, ==, 30);
	CHECK_U64(samples, ==, wanted);
	CHECK_U64(stored + s.dropped_windows, ==, 30);
	CHECK(s.dropped_windows > 0);
	coati_spool_close(&s);
	coati_encoder_fini(&e);
}

/* ---- the schema ---- */

TEST(fleet_the_schema_fits_the_age_of_the_server)
{
	struct strbuf s = STRBUF_INIT(1u << 16);
	struct schema_opts o = { .database = "db",
				 .version = coati_schema_version("18.16.1"),
				 .retention_days = 30 };

	CHECK_U64(o.version, ==, 18016);
	CHECK_U64(coati_schema_version("1.1.54390"), ==, 1001);
	CHECK_U64(coati_schema_version("24.8.1.2684"), ==, 24008);
	CHECK_U64(coati_schema_version("no"), ==, 0);
	for (uint32_t i = 0; coati_schema_statement(&o, i, &s); i++)
		;
	CHECK(!strstr(s.text, "CODEC") && !strstr(s.text, "TTL") && !strstr(s.text, "LowCard"));
	coati_strbuf_clear(&s);
	o.version = 24008;
	o.cluster = "all_hosts";
	o.replicated = true;
	for (uint32_t i = 0; coati_schema_statement(&o, i, &s); i++)
		;
	CHECK(strstr(s.text, "CODEC(T64, ZSTD)") && strstr(s.text, "LowCardinality(String)"));
	CHECK(strstr(s.text, "TTL time + INTERVAL 30 DAY"));
	CHECK(strstr(s.text, "ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/db/"));
	CHECK(strstr(s.text, "Distributed(all_hosts, db, coati_rows, rand())"));
	coati_strbuf_fini(&s);
}

/* ---- answers ---- */

TEST(fleet_answers_of_otlp_servers_decide_what_is_repeated)
{
	static const uint8_t partial[] = { 0x0a, 0x08, 0x08, 0x07, 0x12, 0x04, 'f', 'u', 'l', 'l' };

	CHECK_INT(coati_outlet_verdict(OUTLET_OTLP, 200), ==, 0);
	CHECK_INT(coati_outlet_verdict(OUTLET_OTLP, 429), ==, 1);
	CHECK_INT(coati_outlet_verdict(OUTLET_OTLP, 503), ==, 1);
	CHECK_INT(coati_outlet_verdict(OUTLET_OTLP, 500), ==, -1);
	CHECK_INT(coati_outlet_verdict(OUTLET_PUSH, 500), ==, 1);
	CHECK_INT(coati_outlet_verdict(OUTLET_PUSH, 422), ==, -1);
	CHECK_U64(coati_outlet_rejected(partial, sizeof(partial)), ==, 7);
	CHECK_U64(coati_outlet_rejected("", 0), ==, 0);
	for (size_t i = 1; i < sizeof(partial); i++)
		CHECK_U64(coati_outlet_rejected(partial, i), <=, 7);
}

TEST(fleet_answers_that_make_no_sense_are_refused)
{
	static const char hostile[] = "\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
	struct coati_profile_opts o = { .size = sizeof(o) };
	struct coati_profile *p = NULL;
	struct fetch f = { .rows = STRBUF_INIT(4096),
			   .stacks = STRBUF_INIT(4096),
			   .contexts = STRBUF_INIT(4096),
			   .windows = STRBUF_INIT(4096),
			   .units = STRBUF_INIT(4096) };
	struct strbuf *parts[] = { &f.rows, &f.stacks, &f.contexts, &f.units };

	for (size_t i = 0; i < 4; i++) {
		coati_strbuf_add(parts[i], hostile, sizeof(hostile) - 1);
		CHECK_INT(coati_profile_new(&o, &p, NULL), ==, 0);
		CHECK_INT(coati_fetch_unfold(&f, p, NULL), ==, -EBADMSG);
		coati_profile_free(&p);
		coati_strbuf_clear(parts[i]);
	}
	coati_fetch_fini(&f);
}

/* A stack of one frame, as the server answers. */
static void answer_stack(struct strbuf *s, uint64_t id, const char *function)
{
	row_u64(s, id);
	row_u32(s, 0);
	row_size(s, 1);
	row_text(s, function);
	for (size_t i = 0; i < 3; i++) { /* image, path and build id */
		row_size(s, 1);
		row_text(s, i ? "" : "app");
	}
	row_size(s, 1);
	row_u64(s, 0x1000 + id);
	row_size(s, 1);
	row_text(s, ""); /* file */
	row_size(s, 1);
	row_u32(s, 0);
	row_size(s, 1);
	row_u8(s, 0);
	row_size(s, 1);
	row_u8(s, 0);
}

static void answer_row(struct strbuf *s, uint64_t stack, uint64_t weight)
{
	row_text(s, "api");
	row_text(s, "cpu-clock");
	row_u64(s, stack);
	row_u64(s, 0);
	row_u32(s, 0);
	row_u64(s, 1);
	row_u64(s, weight);
}

TEST(fleet_two_stacks_with_one_id_are_neither)
{
	static const struct {
		const char *name;
		uint64_t self;
	} wanted[] = { { "[stack not stored]", 500 },
		       { "[stacks with the same id]", 70 },
		       { "one", 3 } };
	struct coati_rows_query q = { .size = sizeof(q), .by = COATI_BY_FUNCTION };
	struct coati_profile_opts o = { .size = sizeof(o) };
	struct coati_profile *p = NULL;
	const struct coati_row *rows;
	struct coati_view *v = NULL;
	struct fetch f = { .rows = STRBUF_INIT(4096),
			   .stacks = STRBUF_INIT(4096),
			   .contexts = STRBUF_INIT(4096),
			   .windows = STRBUF_INIT(4096),
			   .units = STRBUF_INIT(4096) };
	size_t nr = 0;

	answer_stack(&f.stacks, 1, "one");
	answer_stack(&f.stacks, 2, "two");
	answer_stack(&f.stacks, 2, "another");
	answer_stack(&f.stacks, 2, "a third");
	answer_row(&f.rows, 1, 3);
	answer_row(&f.rows, 2, 70);
	answer_row(&f.rows, 3, 500);
	for (size_t i = 0; i < 8; i++)
		row_u64(&f.windows, 0);
	CHECK_INT(coati_profile_new(&o, &p, NULL), ==, 0);
	CHECK_INT(coati_fetch_unfold(&f, p, NULL), ==, 0);
	CHECK_INT(coati_view_new(p, NULL, &v, NULL), ==, 0);
	CHECK_INT(coati_view_rows(v, &q, &rows, &nr, NULL), ==, 0);
	CHECK_U64(nr, ==, 3);
	for (size_t i = 0; i < nr; i++) {
		CHECK_STR(rows[i].name, wanted[i].name);
		CHECK_U64(rows[i].self, ==, wanted[i].self);
	}
	coati_view_free(&v);
	coati_profile_free(&p);
	coati_fetch_fini(&f);
}

TEST(fleet_code_of_several_hosts_at_one_address_keeps_its_names)
{
	struct agent_frame f[2] = {
		{ .function = "a", .image = "[kernel]", .path = "", .file = "", .kind = 1 },
		{ .function = "b", .image = "[kernel]", .path = "", .file = "", .kind = 1 },
	};
	struct coati_profile_opts o = { .size = sizeof(o) };
	struct coati_rows_query q = { .size = sizeof(q), .by = COATI_BY_FUNCTION };
	const struct coati_row *rows;
	struct coati_profile *p = NULL;
	struct coati_view *v = NULL;
	struct unfold u;
	size_t nr = 0;

	CHECK_INT(coati_profile_new(&o, &p, NULL), ==, 0);
	CHECK_INT(coati_unfold_begin(&u, p, "test", NULL), ==, 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct unfold_frames s = { .v = &f[i], .nr = 1 };
		struct unfold_row row = { .event = "cpu-clock",
					  .unit = "ns",
					  .service = "s",
					  .host = "h",
					  .process = "p",
					  .thread = "t",
					  .samples = 1,
					  .weight = 5 + i };

		f[i].address = 0xffffffff81000000;
		CHECK_INT(coati_unfold_stack(&u, &s, &row.stack), ==, 0);
		CHECK_INT(coati_unfold_add(&u, &row), ==, 0);
	}
	coati_unfold_end(&u);
	CHECK_INT(coati_view_new(p, NULL, &v, NULL), ==, 0);
	CHECK_INT(coati_view_rows(v, &q, &rows, &nr, NULL), ==, 0);
	CHECK_U64(nr, ==, 2);
	CHECK_STR(rows[0].name, "b");
	CHECK_U64(rows[0].self, ==, 6);
	CHECK_STR(rows[1].name, "a");
	coati_view_free(&v);
	coati_profile_free(&p);
}

TEST(fleet_what_is_sent_of_a_service_needs_memory)
{
	static struct windows g;
	struct coati_error err = { 0 };
	struct agent_window w;
	struct outlet_body b;

	windows_init(&g, "host", 1, START_S);
	windows_make(&g, 1, &w);
	CHECK_OK(coati_outlet_body_init(&b, OUTLET_OTLP, g.services[1].name, &err));
	coati_alloc_fail_after(0);
	CHECK_ERR(coati_outlet_body_add(&b, &w), -ENOMEM);
	coati_alloc_fail_after(UINT64_MAX);
	CHECK_OK(coati_outlet_body_add(&b, &w));
	coati_outlet_body_fini(&b);
}

/* ---- metrics ---- */

static void sink_stats(void *ctx, struct agent_sink_stats *ret)
{
	*ret = (struct agent_sink_stats){ .windows = *(uint64_t *)ctx, .waiting_bytes = 12 };
}

static void has_line(const struct strbuf *page, const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	CHECK_HAS(page->text, line);
}

TEST(fleet_metrics_are_the_sums_of_all_windows)
{
	struct metrics_opts o = { .listen = "localhost:0" };
	struct strbuf page = STRBUF_INIT(1 << 20);
	struct agent_service more[METRICS_SERVICES];
	uint64_t stored = 4711, samples = 0;
	struct agent_sink watched = { .name = "folder", .stats = sink_stats, .ctx = &stored };
	char names[METRICS_SERVICES][16];
	struct metrics *m = NULL;
	static struct windows g;
	struct agent_window w;
	struct agent_sink sink;

	windows_init(&g, "host", 1, START_S);
	CHECK_OK(coati_metrics_new(&o, &m, NULL));
	coati_metrics_watch(m, &watched);
	sink = coati_metrics_sink(m);
	for (uint64_t i = 1; i <= 2; i++) {
		windows_make(&g, i, &w);
		samples += w.quality.samples;
		CHECK_OK(sink.window(sink.ctx, &w));
	}
	coati_metrics_print(m, false, &page);
	has_line(&page, "\ncoati_agent_windows_total 2\n");
	has_line(&page, "\ncoati_agent_samples_total %llu\n", (unsigned long long)samples);
	has_line(&page, "\ncoati_agent_sink_windows_total{sink=\"folder\"} 4711\n");
	has_line(&page, "\ncoati_agent_sink_waiting_bytes{sink=\"folder\"} 12\n");
	for (unsigned int i = 0; i < WINDOWS_SERVICES; i++) {
		if (strpbrk(g.services[i].name, "\"\\\n"))
			continue; /* as they are written: the cases of tests/cli */
		has_line(&page, "\ncoati_service_cpu_seconds_total{service=\"%s\"} 0.%09u\n",
			 g.services[i].name, 2 * 1000 * (i + 1));
		has_line(&page, "\ncoati_service_run_delay_seconds_total{service=\"%s\"} 0.%09u\n",
			 g.services[i].name, 2 * 10 * (i + 1));
	}
	/* those over the cap are one */
	for (unsigned int i = 0; i < METRICS_SERVICES; i++) {
		snprintf(names[i], sizeof(names[i]), "more-%u", i);
		more[i] = (struct agent_service){ .name = names[i],
						  .has = AGENT_HAS_CPU,
						  .cpu_ns = 1 };
	}
	w.services = more;
	w.nr_services = METRICS_SERVICES;
	w.nr_tasks = 0;
	CHECK_OK(sink.window(sink.ctx, &w));
	coati_strbuf_clear(&page);
	coati_metrics_print(m, false, &page);
	has_line(&page, "\ncoati_service_cpu_seconds_total{service=\"more-%u\"} 0.000000001\n",
		 METRICS_SERVICES - WINDOWS_SERVICES - 1);
	has_line(&page, "\ncoati_service_cpu_seconds_total{service=\"other\"} 0.%09u\n",
		 WINDOWS_SERVICES);
	has_line(&page, "\ncoati_agent_folded_services_total %u\n", WINDOWS_SERVICES);
	sink.close(sink.ctx, 0);
	coati_strbuf_fini(&page);
}

/* The answer to a request that ends its side at once. */
static const char *metrics_say(const char *request)
{
	int fd = connected_to("metrics.sock");

	CHECK(fd >= 0);
	sent(fd, request, strlen(request));
	return received(fd);
}

TEST(fleet_metrics_answer_what_is_asked_and_say_what_is_wrong)
{
	struct metrics_opts o = { .listen = "unix:metrics.sock" };
	struct metrics *m = NULL;
	struct agent_sink sink;
	const char *answer;

	CHECK_OK(coati_metrics_new(&o, &m, NULL));
	sink = coati_metrics_sink(m);
	for (int i = 0; i < 3; i++) { /* one after the other */
		answer = metrics_say("GET /metrics HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
		CHECK_INT(status_of(answer), ==, 200);
		CHECK_HAS(answer, "\ncoati_agent_windows_total 0\n");
	}
	answer = metrics_say("HEAD /metrics HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
	CHECK_INT(status_of(answer), ==, 200);
	CHECK_STR(body_of(answer), "");
	CHECK_INT(status_of(metrics_say("GET /nothing HTTP/1.1\r\n" HOST
					"Connection: close\r\n\r\n")),
		  ==, 404);
	CHECK_INT(status_of(metrics_say("nonsense\r\n\r\n")), ==, 400);
	sink.close(sink.ctx, 0);
}
