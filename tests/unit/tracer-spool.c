/* SPDX-License-Identifier: MIT */
/* see tracer-spool.h */
#include "tracer-spool.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/recording.h>

#include "lib/test.h"
#include "record/batch.h"

static bool fields_of(void *ctx, uint64_t site, const char **ret, uint32_t *ret_size)
{
	const struct spool *t = ctx;

	if (site >= SPOOL_SITES)
		return false;
	*ret = t->fields[site];
	*ret_size = (uint32_t)strlen(t->fields[site]);
	return true;
}

/* The next batch at *@at; false at the end. */
static bool next_batch(const struct spool *t, size_t *at, struct live_view *ret)
{
	const char *why;

	if (*at == t->size)
		return false;
	why = coati_live_open(t->bytes + *at, t->size - *at, ret);
	if (why)
		test_fail_at(__FILE__, __LINE__, "batch at %zu of %zu: %s", *at, t->size, why);
	CHECK(ret->head.flags & LIVE_BATCH_CLOSED);
	CHECK_U64(ret->head.capacity, ==, ret->head.used);
	*at += sizeof(ret->head) + ret->head.used;
	return true;
}

static void walk_batch(const struct spool *t, const struct live_view *b, spool_fn fn, void *ctx)
{
	struct live_walk w = coati_live_walk(b, NULL, fields_of, (void *)(uintptr_t)t);
	struct live_event e;
	uint64_t events = 0;
	int r;

	if (b->head.kind == LIVE_BATCH_SCHEMA)
		return;
	while ((r = coati_live_next(&w, &e)) > 0) {
		events++;
		fn(ctx, b, &e);
	}
	if (r < 0)
		test_fail_at(__FILE__, __LINE__, "kind %u of %u, event at %u: %s", b->head.kind,
			     b->head.tid, w.offset, w.why);
	CHECK_U64(events, ==, b->head.events);
}

static void keep_text(char *to, const struct live_text *text)
{
	snprintf(to, 64, "%.*s", (int)(text->size < 63 ? text->size : 63), text->text);
}

static void learn(void *ctx, const struct live_view *b, const struct live_event *e)
{
	struct spool *t = ctx;

	if (e->kind != LIVE_SITE || e->v[0] >= SPOOL_SITES)
		return;
	keep_text(t->sites[e->v[0]], &e->text[0]);
	keep_text(t->fields[e->v[0]], &e->text[4]);
}

static void count(void *ctx, const struct live_view *b, const struct live_event *e)
{
	struct spool *t = ctx;

	t->events++;
	t->kinds[e->kind]++;
	if (e->kind == LIVE_LOST)
		t->lost += e->v[2];
}

void spool_each(const struct spool *t, spool_fn fn, void *ctx)
{
	struct live_view b;
	size_t at = 0;

	while (next_batch(t, &at, &b))
		walk_batch(t, &b, fn, ctx);
}

static void count_batches(struct spool *t)
{
	struct live_view b;
	size_t at = 0;

	while (next_batch(t, &at, &b)) {
		if (b.head.kind == LIVE_BATCH_SITES)
			walk_batch(t, &b, learn, t);
		t->first = t->first ? t->first : b.head.generation;
		CHECK_U64(b.head.generation, >=, t->last);
		t->last = b.head.generation;
		t->batches++;
		t->ends += b.head.kind == LIVE_BATCH_END;
		t->processes += b.head.kind == LIVE_BATCH_PROCESS;
	}
}

/* The batches of a stream of perf.data, one behind the other in the same memory. */
static size_t unwrap(uint8_t *bytes, size_t size)
{
	struct coati_sample_format fmt;
	struct coati_attr attr;
	struct coati_batch b;
	struct coati_raw raw;
	struct coati_record rec;
	const uint8_t *at = bytes + 16;
	size_t left = size - 16, out = 0;

	CHECK(size > 16);
	CHECK_MEM(bytes, "PERFILE2", 8);
	coati_batch_attr(&attr);
	coati_sample_format_init(&attr, &fmt);
	while (coati_raw_next(&at, &left, 0, &raw) > 0) {
		if (raw.type != COATI_RECORD_SAMPLE)
			continue;
		CHECK_INT(coati_record_decode(&raw, &fmt, &rec), ==, 0);
		CHECK_INT(coati_batch_decode(&rec, 0, &b), ==, 0);
		CHECK_INT(b.kind, ==, COATI_BATCH_TRACE);
		memmove(bytes + out, b.payload, b.payload_size);
		out += b.payload_size;
	}
	CHECK_U64(left, ==, 0);
	return out;
}

void spool_read(struct spool *t, int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);

	memset(t, 0, sizeof(*t));
	CHECK(size >= 0);
	t->size = (size_t)size;
	t->bytes = malloc(t->size + 1);
	CHECK(t->bytes);
	CHECK_INT(pread(fd, t->bytes, t->size, 0), ==, size);
	if (t->size)
		t->size = unwrap(t->bytes, t->size);
	count_batches(t);
	spool_each(t, count, t);
}

void spool_snapshot(struct spool *t, struct coati_recorder *rec)
{
	struct coati_error err = { 0 };
	int fd = memfd_create("spool", MFD_CLOEXEC);

	CHECK(fd >= 0);
	if (coati_recorder_snapshot(rec, fd, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	spool_read(t, fd);
	close(fd);
}

void spool_free(struct spool *t)
{
	free(t->bytes);
	t->bytes = NULL;
}

struct coati_recorder *spool_start(uint64_t bytes)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .bytes = bytes,
					    .generation_ns = UINT64_C(3600000000000),
					    .directory = "" };
	struct coati_recorder *rec = NULL;
	struct coati_error err = { 0 };

	if (coati_recorder_start(&opts, &rec, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return rec;
}
