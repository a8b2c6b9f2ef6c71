/* SPDX-License-Identifier: MIT */
/* coati.profile.v1 is added up: threads, functions, frames and stacks are kept as far as that needs
 * them; every number must name a row that is there. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/json-read.h"
#include "format/json.h"
#include "readback/readback.h"

#define TABLE_MAX ((size_t)1 << 28)

struct json_reading {
	struct json_reader r;
	struct tally *t;
	ARRAY(uint32_t) threads;   /* numbers in the tally */
	ARRAY(uint32_t) functions; /* likewise */
	ARRAY(uint32_t) frames;	   /* numbers of functions */
	ARRAY(uint32_t) stacks;	   /* numbers of innermost frames */
	uint64_t weight, samples;  /* as the file says */
	bool has_schema;
	int failed;
	const char *why;
};

static void bad(struct json_reading *x, const char *why)
{
	if (!x->failed) {
		x->failed = -EBADMSG;
		x->why = why;
	}
}

/* A row for a table of numbers. */
#define ADD_ROW(x, table, value)                   \
	do {                                       \
		uint32_t *row_ = ARRAY_ADD(table); \
		if (row_)                          \
			*row_ = (value);           \
		else                               \
			(x)->failed = -ENOMEM;     \
	} while (0)

static void take_thread(struct json_reading *x)
{
	struct strbuf name = STRBUF_INIT(JSON_READ_TEXT);
	int64_t pid = 0, tid = 0;
	const char *key, *text;

	coati_json_read_object(&x->r);
	while ((key = coati_json_read_key(&x->r))) {
		if (!strcmp(key, "pid"))
			pid = coati_json_read_i64(&x->r);
		else if (!strcmp(key, "tid"))
			tid = coati_json_read_i64(&x->r);
		else if (!strcmp(key, "name") && (text = coati_json_read_str(&x->r, NULL)))
			coati_strbuf_adds(&name, text);
		else
			coati_json_read_skip(&x->r);
	}
	ADD_ROW(x, &x->threads, coati_tally_thread(x->t, pid, tid, name.text));
	if (name.failed)
		x->failed = name.failed;
	coati_strbuf_fini(&name);
}

static void take_function(struct json_reading *x)
{
	uint32_t number = UINT32_MAX;
	const char *key, *text;

	coati_json_read_object(&x->r);
	while ((key = coati_json_read_key(&x->r))) {
		if (strcmp(key, "name") != 0)
			coati_json_read_skip(&x->r);
		else if ((text = coati_json_read_str(&x->r, NULL)))
			number = coati_tally_function(x->t, text);
	}
	ADD_ROW(x, &x->functions, number);
}

static void take_frame(struct json_reading *x)
{
	uint64_t function = UINT64_MAX;
	const char *key;

	coati_json_read_object(&x->r);
	while ((key = coati_json_read_key(&x->r))) {
		if (!strcmp(key, "function"))
			function = coati_json_read_u64(&x->r);
		else
			coati_json_read_skip(&x->r);
	}
	if (function >= x->functions.len)
		bad(x, "a frame names a function that is not there");
	ADD_ROW(x, &x->frames, (uint32_t)function);
}

static void take_stack(struct json_reading *x)
{
	uint32_t innermost = UINT32_MAX;

	coati_json_read_array(&x->r);
	while (coati_json_read_more(&x->r)) {
		uint64_t frame = coati_json_read_u64(&x->r);

		if (frame >= x->frames.len)
			bad(x, "a stack names a frame that is not there");
		if (innermost == UINT32_MAX)
			innermost = (uint32_t)frame;
	}
	if (innermost == UINT32_MAX)
		bad(x, "a stack is empty");
	ADD_ROW(x, &x->stacks, innermost);
}

/* stack, thread, event, labels, cpu, samples, weight */
static void take_entry(struct json_reading *x)
{
	uint64_t v[7] = { 0 };
	uint32_t nr = 0, frame;

	coati_json_read_array(&x->r);
	while (coati_json_read_more(&x->r)) {
		if (nr == 4)
			coati_json_read_i64(&x->r);
		else if (nr < 7)
			v[nr] = coati_json_read_u64(&x->r);
		else
			coati_json_read_skip(&x->r);
		nr++;
	}
	if (nr < 7 || v[0] >= x->stacks.len || v[1] >= x->threads.len) {
		bad(x, "an entry names what is not there");
		return;
	}
	frame = x->stacks.v[v[0]];
	/* said before */
	if (frame >= x->frames.len || x->frames.v[frame] >= x->functions.len)
		return;
	coati_tally_add(x->t, x->threads.v[v[1]], x->functions.v[x->frames.v[frame]], v[6]);
	x->t->samples += v[5];
}

static void take_member(struct json_reading *x, const char *key)
{
	static const struct {
		const char *key;
		void (*take)(struct json_reading *x);
	} tables[] = { { "threads", take_thread },
		       { "functions", take_function },
		       { "frames", take_frame },
		       { "stacks", take_stack },
		       { "entries", take_entry } };
	const char *text;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (strcmp(key, tables[i].key) != 0)
			continue;
		coati_json_read_array(&x->r);
		while (!x->failed && coati_json_read_more(&x->r))
			tables[i].take(x);
		return;
	}
	if (!strcmp(key, "schema")) {
		text = coati_json_read_str(&x->r, NULL);
		x->has_schema = text && !strcmp(text, JSON_SCHEMA);
	} else if (!strcmp(key, "weight")) {
		x->weight = coati_json_read_u64(&x->r);
	} else if (!strcmp(key, "samples")) {
		x->samples = coati_json_read_u64(&x->r);
	} else {
		coati_json_read_skip(&x->r);
	}
}

int coati_json_export_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err)
{
	struct json_reading x = { .t = t };
	const char *key;
	int r;

	x.threads.max = x.functions.max = x.frames.max = x.stacks.max = TABLE_MAX;
	t->has_samples = true;
	coati_json_read_init(&x.r, bytes, size);
	coati_json_read_object(&x.r);
	while (!x.failed && (key = coati_json_read_key(&x.r)))
		take_member(&x, key);
	r = x.failed ? 0 : coati_json_read_end(&x.r);
	if (r == -EBADMSG || r == -E2BIG)
		coati_fail(err, r, "it is not JSON at byte %zu", coati_json_read_offset(&x.r));
	if (r == 0 && !x.failed &&
	    (!x.has_schema || x.weight != t->weight || x.samples != t->samples))
		bad(&x, x.has_schema ? "its entries do not add up to its weight"
				     : "it has not the schema " JSON_SCHEMA);
	if (r == 0 && x.failed)
		r = x.why ? coati_fail(err, x.failed, "%s", x.why)
			  : coati_fail(err, x.failed, "reading back: %m");
	coati_json_read_fini(&x.r);
	ARRAY_FINI(&x.threads);
	ARRAY_FINI(&x.functions);
	ARRAY_FINI(&x.frames);
	ARRAY_FINI(&x.stacks);
	return r;
}
