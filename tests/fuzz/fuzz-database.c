/* SPDX-License-Identifier: MIT */
/*
 * What a database answers, to readers, to senders and to the upkeep of its tables: whatever it is,
 * no weight appears or vanishes between the rows and the view, and every question has an end.
 *
 * The first byte says who asks. Then the answers: a status, the length, the bytes; the last one
 * takes what is left, and further ones are empty. The client below replaces fleet/client.c.
 */
#include <string.h>

#include "base/cursor.h"
#include "base/error.h"
#include "fleet/fetch.h"
#include "fleet/outlet.h"
#include "fleet/rowbinary.h"
#include "fleet/shipment.h"
#include "fleet/upkeep.h"
#include "fuzz/fuzz.h"
#include "fuzz/profile-views.h"
#include "reading/profile.h"

#define QUESTIONS_MAX 4096
#define DAY_S	      86400

struct client {
	struct cursor answers;
	uint32_t nr_questions;
};

static struct client server;

int coati_client_open(const struct secrets *secrets, struct client **ret, struct coati_error *err)
{
	(void)secrets;
	(void)err;
	*ret = &server;
	return 0;
}

void coati_client_close(struct client **c)
{
	*c = NULL;
}

void coati_client_escape(struct strbuf *url, const char *text)
{
	coati_strbuf_adds(url, text);
}

int coati_client_ask(struct client *c, const struct client_ask *ask, struct client_answer *ret,
		     struct coati_error *err)
{
	uint8_t status = cursor_u8(&c->answers);
	uint16_t len = cursor_u16(&c->answers);
	size_t left = cursor_left(&c->answers), size = left < len ? left : len;

	FUZZ_CHECK(ask->url && !memchr(ask->url, '\n', strlen(ask->url)));
	coati_strbuf_clear(&ret->body);
	ret->status = status == 0 ? 200 : 200 + 2U * status;
	if (c->nr_questions++ >= QUESTIONS_MAX || status == UINT8_MAX)
		return coati_fail(err, -ECONNREFUSED, "it is gone");
	if (!c->answers.bad)
		coati_strbuf_add(&ret->body, cursor_bytes(&c->answers, size), size);
	return ret->body.failed;
}

/* ---- who asks ---- */

static uint64_t samples_of(const struct coati_profile *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->events.len; i++)
		add_weight(&sum, p->events.v[i].samples);
	return sum;
}

static void read_profile(uint8_t how)
{
	struct coati_profile_opts opts = { .size = sizeof(opts) };
	struct fetch_opts o = { .url = "clickhouse://localhost/db",
				.from_s = 20000 * DAY_S,
				.to_s = 20002 * DAY_S,
				.service = how & 4 ? "a*" : NULL,
				.with_contexts = how & 1,
				.with_times = how & 2 };
	struct coati_profile *p = NULL;
	struct coati_error err = { 0 };
	struct fetch f;
	int r = coati_fetch_ask(&o, &f, &err);

	FUZZ_CHECK(r == 0 || *err.text);
	if (r < 0)
		return;
	FUZZ_CHECK(coati_profile_new(&opts, &p, NULL) == 0);
	r = coati_fetch_unfold(&f, p, &err);
	FUZZ_CHECK(r == 0 || *err.text);
	if (r == 0)
		FUZZ_CHECK(fuzz_ask_profile(p) == samples_of(p));
	coati_profile_free(&p);
	coati_fetch_fini(&f);
}

static void add_parcel(struct shipment *h, uint64_t sequence)
{
	struct parcel p;

	coati_parcel_init(&p);
	p.agent = coati_strdup("agent");
	p.host = coati_strdup("host");
	p.service = coati_strdup("service");
	p.type = coati_strdup("cpu-clock");
	p.task_service = coati_strdup("");
	p.task = coati_strdup("");
	FUZZ_CHECK(p.agent && p.host && p.service && p.type && p.task_service && p.task);
	p.sequence = p.first_sequence = sequence;
	p.time_s = 20000 * DAY_S;
	p.rows = 1;
	p.stored = sequence > 1; /* the rows of one were dropped */
	row_u8(&p.tables[SCHEMA_ROWS], 0);
	row_u8(&p.tables[SCHEMA_WINDOWS], 0);
	FUZZ_CHECK(coati_shipment_add(h, &p, true));
}

static void send_again(uint8_t how)
{
	struct server s = { 0 };
	struct coati_error err = { 0 };
	struct shipment h;
	uint64_t inserts = 0;
	int r;

	FUZZ_CHECK(coati_server_open("http://localhost/db", NULL, &s, NULL) == 0);
	FUZZ_CHECK(coati_shipment_init(&h, 3, &inserts) == 0);
	for (uint64_t i = 1; i <= 3; i++)
		add_parcel(&h, i);
	h.is_relay = how & 1;
	r = coati_shipment_send(&h, &s, &err);
	FUZZ_CHECK(r == 0 || *err.text);
	coati_shipment_fini(&h);
	coati_server_close(&s);
}

static void look_after(uint8_t how)
{
	struct schema_opts o = { .database = "db", .version = 24008, .retention_days = 30 };
	struct coati_error err = { 0 };
	struct server s = { 0 };
	uint32_t nr = 0;
	int r;

	FUZZ_CHECK(coati_server_open("http://localhost/db", NULL, &s, NULL) == 0);
	r = coati_server_meet(&s, &err);
	if (r == 0)
		r = how % 3 == 0   ? coati_upkeep_schema(&s, &o, &nr, &err)
		    : how % 3 == 1 ? coati_upkeep_hours(&s, &nr, &err)
				   : coati_upkeep_retention(&s, 30, &nr, &err);
	FUZZ_CHECK(r == 0 || *err.text);
	coati_server_close(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t how = size ? data[0] : 0;

	server = (struct client){ .answers = cursor_over(data + (size > 0), size - (size > 0)) };
	switch (how >> 4) {
	case 0:
		read_profile(how);
		break;
	case 1:
		send_again(how);
		break;
	case 2:
		look_after(how & 15);
		break;
	default: /* OTLP: what it says that it rejected */
		(void)coati_outlet_rejected(server.answers.at, cursor_left(&server.answers));
	}
	FUZZ_CHECK(server.nr_questions <= QUESTIONS_MAX + 64);
	return 0;
}
