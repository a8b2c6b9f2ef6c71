/* SPDX-License-Identifier: MIT */
/* see parcel.h */
#include "fleet/parcel.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "fleet/rowbinary.h"

#define MARK	  "CPARCEL2"
#define MARK_SIZE 8
#define TEXT_MAX  (1u << 20)

void coati_parcel_init(struct parcel *p)
{
	*p = (struct parcel){ .windows = 1, .stored = true };
	for (size_t i = 0; i < SCHEMA_SENT; i++)
		p->tables[i] = (struct strbuf)STRBUF_INIT(PARCEL_TABLE_MAX);
}

void coati_parcel_fini(struct parcel *p)
{
	char **texts[] = { &p->agent, &p->host, &p->service, &p->type, &p->task_service, &p->task };

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		coati_free(*texts[i]);
		*texts[i] = NULL;
	}
	for (size_t i = 0; i < SCHEMA_SENT; i++)
		coati_strbuf_fini(&p->tables[i]);
}

uint64_t coati_parcel_bytes(const struct parcel *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < SCHEMA_SENT; i++)
		sum += p->tables[i].len;
	return sum;
}

bool coati_parcel_same(const struct parcel *a, const struct parcel *b)
{
	return a->sequence == b->sequence && !strcmp(a->agent, b->agent);
}

/* ---- as bytes ---- */

/* FNV-1a: against damage, not against people. It is in files: it must stay as it is. */
static uint64_t sum_of(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < size; i++)
		h = (h ^ p[i]) * UINT64_C(0x100000001b3);
	return h;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static void put_body(const struct parcel *p, struct strbuf *s)
{
	row_text(s, or_empty(p->agent));
	row_text(s, or_empty(p->host));
	row_u64(s, p->first_sequence);
	row_u64(s, p->sequence);
	row_u64(s, p->time_s);
	row_u64(s, p->duration_ms);
	row_u64(s, p->windows);
	row_u8(s, p->stored);
	row_u64(s, p->samples);
	row_u64(s, p->intervals);
	row_u64(s, p->rows);
	row_text(s, or_empty(p->service));
	row_text(s, or_empty(p->type));
	row_u64(s, p->stack);
	row_u64(s, p->context);
	row_text(s, or_empty(p->task_service));
	row_text(s, or_empty(p->task));
	for (size_t i = 0; i < SCHEMA_SENT; i++)
		row_bytes(s, p->tables[i].text, p->tables[i].len);
}

void coati_parcel_write(const struct parcel *p, struct strbuf *s)
{
	size_t start = s->len;
	uint64_t sum = 0;

	coati_strbuf_add(s, MARK, MARK_SIZE);
	row_u64(s, 0);
	put_body(p, s);
	if (s->failed)
		return;
	sum = sum_of(s->text + start + MARK_SIZE + 8, s->len - start - MARK_SIZE - 8);
	memcpy(s->text + start + MARK_SIZE, &sum, sizeof(sum));
}

/* A text with a zero byte in it was not written by coati. */
static char *take_text(struct cursor *c)
{
	size_t len;
	const char *text = row_read_text(c, &len);
	char *copy;

	if (!text || len > TEXT_MAX || memchr(text, 0, len)) {
		c->bad = true;
		return NULL;
	}
	copy = coati_strndup(text, len);
	if (!copy)
		c->bad = true;
	return copy;
}

static void take_numbers(struct parcel *p, struct cursor *c)
{
	p->agent = take_text(c);
	p->host = take_text(c);
	p->first_sequence = cursor_u64(c);
	p->sequence = cursor_u64(c);
	p->time_s = cursor_u64(c);
	p->duration_ms = cursor_u64(c);
	p->windows = cursor_u64(c);
	p->stored = cursor_u8(c) == 1;
	p->samples = cursor_u64(c);
	p->intervals = cursor_u64(c);
	p->rows = cursor_u64(c);
}

static void take_key(struct parcel *p, struct cursor *c)
{
	p->service = take_text(c);
	p->type = take_text(c);
	p->stack = cursor_u64(c);
	p->context = cursor_u64(c);
	p->task_service = take_text(c);
	p->task = take_text(c);
}

int coati_parcel_read(struct parcel *p, const void *bytes, size_t size)
{
	struct cursor c = cursor_over(bytes, size);
	const void *mark = cursor_bytes(&c, MARK_SIZE);
	uint64_t sum = cursor_u64(&c);

	coati_parcel_init(p);
	if (c.bad || memcmp(mark, MARK, MARK_SIZE) != 0 || sum != sum_of(c.at, cursor_left(&c)))
		return -EBADMSG;
	take_numbers(p, &c);
	take_key(p, &c);
	for (size_t i = 0; !c.bad && i < SCHEMA_SENT; i++) {
		size_t len;
		const char *text = row_read_text(&c, &len);

		if (text)
			coati_strbuf_add(&p->tables[i], text, len);
		c.bad |= p->tables[i].failed != 0;
	}
	if (c.bad || cursor_left(&c)) {
		coati_parcel_fini(p);
		return -EBADMSG;
	}
	return 0;
}

/* ---- dropped ---- */

/* A row of coati_windows that has sums, and says whether the rest is there. */
static int write_window(struct parcel *p)
{
	struct strbuf *s = &p->tables[SCHEMA_WINDOWS];
	uint64_t numbers[] = { p->samples, p->intervals, 0, 0, 0, 0, 0, 0, 0, 0, 0 };

	coati_strbuf_clear(s);
	row_text(s, p->agent);
	row_u64(s, p->sequence);
	row_text(s, p->host);
	row_u32(s, (uint32_t)p->time_s);
	row_u32(s, (uint32_t)p->duration_ms);
	row_u32(s, (uint32_t)p->windows);
	row_u8(s, p->stored);
	row_u32(s, 0); /* skew */
	row_u32(s, p->stored ? (uint32_t)p->rows : 0);
	row_u32(s, 0); /* folded */
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		row_u64(s, numbers[i]);
	row_double(s, 0);
	row_u32(s, 0);
	row_u32(s, 0);
	row_u8(s, 0);
	row_u8(s, 0);
	for (size_t i = 0; i < 9; i++) /* arrays */
		row_size(s, 0);
	return s->failed;
}

int coati_parcel_drop(struct parcel *p, bool with_names)
{
	coati_strbuf_fini(&p->tables[SCHEMA_ROWS]);
	coati_strbuf_fini(&p->tables[SCHEMA_TASKS]);
	p->tables[SCHEMA_ROWS] = p->tables[SCHEMA_TASKS] =
		(struct strbuf)STRBUF_INIT(PARCEL_TABLE_MAX);
	if (!with_names) {
		coati_strbuf_fini(&p->tables[SCHEMA_STACKS]);
		coati_strbuf_fini(&p->tables[SCHEMA_CONTEXTS]);
		p->tables[SCHEMA_STACKS] = p->tables[SCHEMA_CONTEXTS] =
			(struct strbuf)STRBUF_INIT(PARCEL_TABLE_MAX);
	}
	p->stored = false;
	return write_window(p);
}

int coati_parcel_keep(struct parcel *p)
{
	p->stored = true;
	return write_window(p);
}

int coati_parcel_join(struct parcel *p, const struct parcel *older)
{
	for (size_t i = SCHEMA_STACKS; i <= SCHEMA_CONTEXTS; i++)
		coati_strbuf_add(&p->tables[i], older->tables[i].text, older->tables[i].len);
	coati_strbuf_add(&p->tables[SCHEMA_KEPT], older->tables[SCHEMA_KEPT].text,
			 older->tables[SCHEMA_KEPT].len);
	p->first_sequence = older->first_sequence;
	p->windows += older->windows;
	p->samples += older->samples;
	p->intervals += older->intervals;
	return write_window(p);
}
