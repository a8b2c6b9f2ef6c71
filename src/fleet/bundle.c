/* SPDX-License-Identifier: MIT */
/* see bundle.h */
#include "fleet/bundle.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "fleet/row-check.h"
#include "fleet/rowbinary.h"

#define NAME_MAX_BYTES 512 /* agent and host */
#define TEXT_MAX_BYTES 4096
#define DAY_S	       86400
/* Stacks and contexts of windows that were dropped travel with a later window. */
#define NAMES_AGE_S  (40 * DAY_S)
#define FIRST_TIME_S 946684800 /* 2000-01-01: ClickHouse keeps 32 bits */

void coati_bundle_write(const struct shipment *h, struct strbuf *body)
{
	struct strbuf one = STRBUF_INIT(BUNDLE_BYTES);

	for (size_t i = 0; i < h->nr && !body->failed; i++) {
		coati_strbuf_clear(&one);
		coati_parcel_write(&h->v[i].p, &one);
		row_u8(body, h->v[i].tried);
		row_bytes(body, one.text, one.len);
		if (one.failed)
			body->failed = one.failed;
	}
	coati_strbuf_fini(&one);
}

void coati_bundle_fini(struct bundle *b)
{
	for (size_t i = 0; i < b->parcels.len; i++)
		coati_parcel_fini(&b->parcels.v[i].p);
	ARRAY_FINI(&b->parcels);
}

/* ---- checks ---- */

static bool is_short(const char *text, size_t most)
{
	return strlen(text) <= most;
}

static bool has_names(const struct parcel *p)
{
	return *p->agent && is_short(p->agent, NAME_MAX_BYTES) &&
	       is_short(p->host, NAME_MAX_BYTES) && is_short(p->service, TEXT_MAX_BYTES) &&
	       is_short(p->type, TEXT_MAX_BYTES) && is_short(p->task_service, TEXT_MAX_BYTES) &&
	       is_short(p->task, TEXT_MAX_BYTES);
}

/* The server is asked for the first row of a table: it must be what the parcel says that it is. */
static bool begins(const struct strbuf *table, const struct strbuf *with)
{
	return !with->failed && table->len >= with->len &&
	       !memcmp(table->text, with->text, with->len);
}

static void put_first(const struct parcel *p, enum schema_table table, struct strbuf *s)
{
	if (table == SCHEMA_ROWS) {
		row_text(s, p->service);
		row_text(s, p->type);
		row_u64(s, p->stack);
		row_u32(s, (uint32_t)p->time_s);
		row_u64(s, p->context);
	} else if (table == SCHEMA_TASKS) {
		row_text(s, p->task_service);
		row_text(s, p->task);
		row_u32(s, (uint32_t)p->time_s);
		row_text(s, p->agent);
		row_text(s, p->host);
		row_u64(s, p->sequence);
	} else if (table == SCHEMA_WINDOWS) {
		row_text(s, p->agent);
		row_u64(s, p->sequence);
		row_text(s, p->host);
		row_u32(s, (uint32_t)p->time_s);
	}
}

/* Tables that count have the rows of this window alone, and as many as the parcel says. */
static bool check_table(const struct parcel *p, enum schema_table table)
{
	uint32_t time_s = (uint32_t)p->time_s;
	bool counts = table == SCHEMA_ROWS || table == SCHEMA_TASKS || table == SCHEMA_WINDOWS;
	struct row_times times = { .first_s = counts ? time_s : time_s - NAMES_AGE_S,
				   .last_s = counts ? time_s
					     : time_s > UINT32_MAX - NAMES_AGE_S
						     ? UINT32_MAX
						     : time_s + NAMES_AGE_S };
	struct strbuf first = STRBUF_INIT(4 * TEXT_MAX_BYTES);
	uint64_t rows = 0;
	bool ok;

	if (coati_row_check(table, p->tables[table].text, p->tables[table].len, &times, &rows) < 0)
		return false;
	ok = rows <= SHIPMENT_ROWS;
	if (table == SCHEMA_ROWS)
		ok &= rows == (p->stored ? p->rows : 0);
	if (table == SCHEMA_WINDOWS)
		ok &= rows == (p->windows > 0);
	if (rows && counts)
		put_first(p, table, &first);
	ok &= begins(&p->tables[table], &first);
	coati_strbuf_fini(&first);
	return ok;
}

static bool check_parcel(const struct parcel *p)
{
	bool ok = has_names(p) && p->time_s >= FIRST_TIME_S && p->time_s <= UINT32_MAX &&
		  p->windows <= UINT32_MAX && p->rows <= SHIPMENT_ROWS;

	for (int i = 0; ok && i < SCHEMA_SENT; i++)
		ok = check_table(p, (enum schema_table)i);
	return ok;
}

/* Is the last one there before? Parcels without a window are recordings that were kept, of which
 * the server stores equal ones once. */
static bool is_double(const struct bundle *b)
{
	const struct parcel *last = &b->parcels.v[b->parcels.len - 1].p;

	for (size_t i = 0; last->windows && i + 1 < b->parcels.len; i++)
		if (b->parcels.v[i].p.windows && coati_parcel_same(&b->parcels.v[i].p, last))
			return true;
	return false;
}

/* ---- reading ---- */

static int read_one(struct bundle *b, struct cursor *c, struct coati_error *err)
{
	uint8_t tried = cursor_u8(c);
	size_t len;
	const char *bytes = row_read_text(c, &len);
	struct shipment_parcel *q;
	struct parcel p;
	int r;

	if (!bytes || tried > 1)
		return coati_fail(err, -EBADMSG, "the request is cut in the middle of a parcel");
	r = coati_parcel_read(&p, bytes, len);
	if (r < 0)
		return coati_fail(err, r, "parcel %zu of the request is damaged", b->parcels.len);
	q = ARRAY_ADD(&b->parcels);
	if (!q) {
		coati_parcel_fini(&p);
		return coati_fail(err, b->parcels.len == b->parcels.max ? -EBADMSG : -ENOMEM,
				  "more than %d parcels, or no memory", SHIPMENT_PARCELS);
	}
	*q = (struct shipment_parcel){ .p = p, .tried = tried };
	if (!check_parcel(&p))
		return coati_fail(err, -EBADMSG,
				  "parcel %zu of the request has rows that do not fit its head",
				  b->parcels.len - 1);
	if (parcel_day(&p) != parcel_day(&b->parcels.v[0].p))
		return coati_fail(err, -EBADMSG, "the request has windows of two days");
	if (is_double(b))
		return coati_fail(err, -EBADMSG, "the request has a window twice");
	return 0;
}

int coati_bundle_read(struct bundle *ret, const void *bytes, size_t size, struct coati_error *err)
{
	struct cursor c = cursor_over(bytes, size);
	int r = 0;

	*ret = (struct bundle){ 0 };
	ret->parcels.max = SHIPMENT_PARCELS;
	while (r == 0 && cursor_left(&c))
		r = read_one(ret, &c, err);
	if (r == 0 && !ret->parcels.len)
		r = coati_fail(err, -EBADMSG, "the request has no parcels");
	if (r < 0)
		coati_bundle_fini(ret);
	return r;
}
