/* SPDX-License-Identifier: MIT */
/* The reader of Chrome's traces, to add them up: samples by thread and function, and live events
 * (chrome-points.c). */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/map.h"
#include "base/parse.h"
#include "format/chrome.h"
#include "readback/chrome-points.h"
#include "readback/readback.h"

#define NAMES_MAX ((size_t)1 << 28)

/* From which sample on a thread has which name. */
struct naming {
	uint64_t sample, task; /* pid and tid */
	uint32_t thread;       /* of the tally */
};

struct reading {
	struct json_reader json;
	struct tally *tally;
	ARRAY(struct naming) namings;
	struct map functions; /* by number of the node: the tally's */
	struct map threads;   /* by pid and tid: the tally's, at the sample that is read */
	size_t next_naming;
	uint64_t sample;
	struct chrome_points *points;
};

static bool is_key(const char *key, const char *wanted)
{
	return key && !strcmp(key, wanted);
}

static void bad(struct reading *r, int code)
{
	if (!r->json.failed && code < 0)
		r->json.failed = code;
}

static uint64_t task_of(int64_t pid, int64_t tid)
{
	return (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid;
}

/* What an event says. */
struct event {
	struct chrome_point point;
	bool is_thread_name;
	uint64_t sample;
	char *name; /* among its arguments */
};

static void read_args(struct reading *r, struct event *e)
{
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "name")) {
			key = coati_json_read_str(&r->json, NULL);
			coati_free(e->name);
			e->name = coati_strdup(key ? key : "");
			if (!e->name)
				bad(r, -ENOMEM);
		} else if (is_key(key, "sample")) {
			e->sample = coati_json_read_u64(&r->json);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
}

static void add_naming(struct reading *r, const struct event *e)
{
	struct naming *n = ARRAY_ADD(&r->namings);

	if (!n || !e->name) {
		bad(r, n ? -EBADMSG : -ENOMEM);
		return;
	}
	*n = (struct naming){ .sample = e->sample,
			      .task = task_of(e->point.pid, e->point.tid),
			      .thread = coati_tally_thread(r->tally, e->point.pid, e->point.tid,
							   e->name) };
	if (r->namings.len > 1 && n->sample < n[-1].sample)
		bad(r, -EBADMSG);
}

static char first_letter(const char *text)
{
	return text ? *text : 0;
}

/* An id may be a text or, of the process alone, a text in an object. */
static uint64_t read_id(struct reading *r)
{
	const char *key;
	uint64_t id = 0;
	size_t len;

	if (coati_json_read_peek(&r->json) == JSON_STRING) {
		key = coati_json_read_str(&r->json, &len);
		return key ? coati_hash_bytes(key, len, 1) : 0;
	}
	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json)))
		id = read_id(r);
	return id;
}

/* What events of a program have. False: the key is none of these. */
static bool read_point(struct reading *r, const char *key, struct chrome_point *p)
{
	const char *text;
	size_t len;

	if (is_key(key, "ts")) {
		p->time = coati_json_read_fixed(&r->json, CHROME_DECIMALS);
	} else if (is_key(key, "dur")) {
		p->duration = coati_json_read_fixed(&r->json, CHROME_DECIMALS);
	} else if (is_key(key, "s")) {
		p->scope = first_letter(coati_json_read_str(&r->json, NULL));
	} else if (is_key(key, "id2")) {
		p->id = read_id(r);
	} else if (is_key(key, "cat")) {
		text = coati_json_read_str(&r->json, &len);
		p->category = text ? coati_hash_bytes(text, len, 2) : 0;
	} else {
		return false;
	}
	return true;
}

static void read_event(struct reading *r)
{
	struct event e = { 0 };
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "name")) {
			e.is_thread_name =
				is_key(coati_json_read_str(&r->json, NULL), "thread_name");
		} else if (is_key(key, "ph")) {
			e.point.phase = first_letter(coati_json_read_str(&r->json, NULL));
		} else if (is_key(key, "pid")) {
			e.point.pid = coati_json_read_i64(&r->json);
		} else if (is_key(key, "tid")) {
			e.point.tid = coati_json_read_i64(&r->json);
		} else if (is_key(key, "args")) {
			read_args(r, &e);
		} else if (!read_point(r, key, &e.point)) {
			coati_json_read_skip(&r->json);
		}
	}
	if (!e.point.phase)
		bad(r, -EBADMSG);
	else if (e.is_thread_name && e.point.phase == 'M' && e.point.tid < CHROME_OWN_TRACK)
		add_naming(r, &e);
	else if (!r->json.failed)
		bad(r, coati_chrome_point(r->points, &e.point));
	coati_free(e.name);
}

static void read_node(struct reading *r, const char *id)
{
	uint64_t number, parent = 0, value;
	uint32_t function = UINT32_MAX;
	const char *key;
	int put;

	if (coati_parse_u64(id, 1, UINT32_MAX, &number) < 0)
		bad(r, -EBADMSG);
	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "name")) {
			key = coati_json_read_str(&r->json, NULL);
			function = coati_tally_function(r->tally, key ? key : "");
		} else if (is_key(key, "parent")) {
			parent = coati_json_read_u64(&r->json);
			if (!coati_map_get(&r->functions, parent, &value))
				bad(r, -EBADMSG);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
	if (r->json.failed)
		return;
	put = function == UINT32_MAX ? 0 : coati_map_put(&r->functions, number, function);
	if (put <= 0)
		bad(r, r->tally->failed ? r->tally->failed : put ? put : -EBADMSG);
}

/* Names and nodes, wherever in the file they stand. */
static void read_tables(struct reading *r)
{
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "traceEvents")) {
			for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);)
				read_event(r);
		} else if (is_key(key, "stackFrames")) {
			coati_json_read_object(&r->json);
			while ((key = coati_json_read_key(&r->json)))
				read_node(r, key);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
}

static void add_sample(struct reading *r, uint64_t task, uint64_t node, uint64_t weight)
{
	uint64_t thread, function;

	for (; r->next_naming < r->namings.len; r->next_naming++) {
		const struct naming *n = &r->namings.v[r->next_naming];

		if (n->sample > r->sample)
			break;
		if (coati_map_put(&r->threads, n->task, n->thread) < 0)
			bad(r, -ENOMEM);
	}
	r->sample++;
	if (coati_map_get(&r->threads, task, &thread) &&
	    coati_map_get(&r->functions, node, &function))
		coati_tally_add(r->tally, (uint32_t)thread, (uint32_t)function, weight);
	else
		bad(r, -EBADMSG);
}

static void read_sample(struct reading *r)
{
	uint64_t node = 0, weight = 0;
	int64_t pid = 0, tid = 0;
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "pid"))
			pid = coati_json_read_i64(&r->json);
		else if (is_key(key, "tid"))
			tid = coati_json_read_i64(&r->json);
		else if (is_key(key, "sf"))
			node = coati_json_read_u64(&r->json);
		else if (is_key(key, "weight"))
			weight = coati_json_read_u64(&r->json);
		else if (is_key(key, "ts"))
			coati_json_read_fixed(&r->json, CHROME_DECIMALS);
		else
			coati_json_read_skip(&r->json);
	}
	if (!r->json.failed)
		add_sample(r, task_of(pid, tid), node, weight);
}

static void read_samples(struct reading *r)
{
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (!is_key(key, "samples")) {
			coati_json_read_skip(&r->json);
			continue;
		}
		for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);)
			read_sample(r);
	}
}

int coati_chrome_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err)
{
	struct reading r = { .tally = t, .namings = ARRAY_INIT(NAMES_MAX) };
	int ret;

	t->has_samples = true;
	r.points = coati_chrome_points_new();
	if (!r.points)
		return coati_fail(err, -ENOMEM, "out of memory");
	coati_map_init(&r.functions, NAMES_MAX);
	coati_map_init(&r.threads, NAMES_MAX);
	coati_json_read_init(&r.json, bytes, size);
	read_tables(&r);
	ret = coati_json_read_end(&r.json);
	if (ret == 0) {
		coati_json_read_fini(&r.json);
		coati_json_read_init(&r.json, bytes, size);
		read_samples(&r);
		ret = coati_json_read_end(&r.json);
	}
	t->samples = r.sample;
	if (ret == 0)
		ret = coati_chrome_points_end(r.points, t);
	coati_chrome_points_free(r.points);
	if (ret < 0)
		coati_fail(err, ret, "chrome: at byte %zu: %m", coati_json_read_offset(&r.json));
	coati_json_read_fini(&r.json);
	ARRAY_FINI(&r.namings);
	coati_map_fini(&r.functions);
	coati_map_fini(&r.threads);
	return ret;
}
