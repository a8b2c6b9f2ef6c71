/* SPDX-License-Identifier: MIT */
/*
 * The reader of Firefox profiles, to add them up: version 60 alone, and as strict as the page's
 * code is careless: columns must be as long as their table, indexes must be inside of theirs,
 * parents must come before their children.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/parse.h"
#include "format/firefox.h"
#include "readback/numbers.h"
#include "readback/readback.h"

#define NONE UINT64_MAX

/* Kinds of markers. */
enum { MARKER_LOSS, MARKER_POINT, MARKER_SLICE };

struct reading;

/* A table of which some columns are wanted. */
struct column {
	const char *name;
	struct format_numbers numbers;
	uint32_t decimals;		     /* of its numbers; they are multiplied */
	uint64_t (*read)(struct reading *r); /* what is no number */
};

struct table {
	uint64_t length;
	bool has_length;
	struct column columns[4];
};

struct reading {
	struct json_reader json;
	struct tally *tally;
	uint64_t version, nr_categories, nr_libs;
	struct format_numbers strings; /* the tally's number of each as a function */
	struct table stacks, frames, functions, resources;
};

static bool is_key(const char *key, const char *wanted)
{
	return key && !strcmp(key, wanted);
}

/* ---- tables ---- */

static void bad(struct reading *r, int code)
{
	if (!r->json.failed)
		r->json.failed = code;
}

static void free_table(struct table *t)
{
	for (size_t i = 0; i < 4; i++)
		numbers_fini(&t->columns[i].numbers);
}

/* null and -1 are NONE. */
static void read_number(struct reading *r, struct column *c)
{
	if (coati_json_read_null(&r->json))
		numbers_add(&c->numbers, NONE);
	else if (c->read)
		numbers_add(&c->numbers, c->read(r));
	else if (c->decimals)
		numbers_add(&c->numbers, coati_json_read_fixed(&r->json, c->decimals));
	else
		numbers_add(&c->numbers, (uint64_t)coati_json_read_i64(&r->json));
}

/* A column that is not wanted must have the length anyway. */
static void read_other(struct reading *r, const struct table *t)
{
	uint64_t nr = 0;

	if (coati_json_read_peek(&r->json) != JSON_ARRAY) {
		coati_json_read_skip(&r->json);
		return;
	}
	for (coati_json_read_array(&r->json); coati_json_read_more(&r->json); nr++)
		coati_json_read_skip(&r->json);
	if (!t->has_length || nr != t->length)
		bad(r, -EBADMSG);
}

static struct column *find_column(struct table *t, const char *key)
{
	for (size_t i = 0; i < 4 && t->columns[i].name; i++)
		if (is_key(key, t->columns[i].name))
			return &t->columns[i];
	return NULL;
}

static void read_table(struct reading *r, struct table *t)
{
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		struct column *c = find_column(t, key);

		if (is_key(key, "length")) {
			t->length = coati_json_read_u64(&r->json);
			t->has_length = true;
		} else if (c) {
			c->numbers.len = 0;
			for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);)
				read_number(r, c);
		} else {
			read_other(r, t);
		}
	}
	for (size_t i = 0; i < 4 && t->columns[i].name; i++)
		if (t->columns[i].numbers.failed || t->columns[i].numbers.len != t->length)
			bad(r, t->columns[i].numbers.failed ? -ENOMEM : -EBADMSG);
}

/* Is every number of the column below @limit, or none where that may be? */
static bool is_within(const struct column *c, uint64_t limit, bool may_be_none)
{
	for (size_t i = 0; i < c->numbers.len; i++)
		if (c->numbers.v[i] >= limit && !(may_be_none && c->numbers.v[i] == NONE))
			return false;
	return true;
}

static bool is_tree(const struct column *prefix)
{
	for (size_t i = 0; i < prefix->numbers.len; i++)
		if (prefix->numbers.v[i] != NONE && prefix->numbers.v[i] >= i)
			return false;
	return true;
}

static bool are_good(const struct reading *r)
{
	return is_tree(&r->stacks.columns[0]) &&
	       is_within(&r->stacks.columns[1], r->frames.length, false) &&
	       is_within(&r->frames.columns[0], r->functions.length, false) &&
	       is_within(&r->frames.columns[1], r->nr_categories, false) &&
	       is_within(&r->functions.columns[0], r->strings.len, false) &&
	       is_within(&r->functions.columns[1], r->resources.length, true) &&
	       is_within(&r->resources.columns[0], r->nr_libs, true) &&
	       is_within(&r->resources.columns[1], r->strings.len, false);
}

/* ---- the parts ---- */

static uint64_t count_items(struct reading *r)
{
	uint64_t nr = 0;

	for (coati_json_read_array(&r->json); coati_json_read_more(&r->json); nr++)
		coati_json_read_skip(&r->json);
	return nr;
}

static void read_meta(struct reading *r)
{
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "preprocessedProfileVersion"))
			r->version = coati_json_read_u64(&r->json);
		else if (is_key(key, "categories"))
			r->nr_categories = count_items(r);
		else
			coati_json_read_skip(&r->json);
	}
}

static void read_strings(struct reading *r)
{
	for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);) {
		const char *text = coati_json_read_str(&r->json, NULL);

		numbers_add(&r->strings, text ? coati_tally_function(r->tally, text) : NONE);
	}
}

static void read_shared(struct reading *r)
{
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "stringArray"))
			read_strings(r);
		else if (is_key(key, "stackTable"))
			read_table(r, &r->stacks);
		else if (is_key(key, "frameTable"))
			read_table(r, &r->frames);
		else if (is_key(key, "funcTable"))
			read_table(r, &r->functions);
		else if (is_key(key, "resourceTable"))
			read_table(r, &r->resources);
		else
			coati_json_read_skip(&r->json);
	}
}

/* All but the threads, which need the rest. */
static int read_tables(struct reading *r)
{
	const char *key;
	int ret;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "meta"))
			read_meta(r);
		else if (is_key(key, "libs"))
			r->nr_libs = count_items(r);
		else if (is_key(key, "shared"))
			read_shared(r);
		else
			coati_json_read_skip(&r->json);
	}
	ret = r->strings.failed ? -ENOMEM : coati_json_read_end(&r->json);
	return ret < 0 || (r->version == FIREFOX_VERSION && are_good(r)) ? ret : -EBADMSG;
}

/* ---- threads ---- */

struct thread {
	char *name;
	int64_t pid, tid;
	struct table samples;
};

/* "123", or "123.1" for that of another file. */
static int64_t read_pid(struct reading *r)
{
	const char *text = coati_json_read_str(&r->json, NULL),
		   *dot = text ? strchr(text, '.') : NULL;
	char digits[16];
	size_t len = dot ? (size_t)(dot - text) : text ? strlen(text) : 0;
	int64_t pid = 0;

	if (!len || len >= sizeof(digits)) {
		bad(r, -EBADMSG);
		return 0;
	}
	memcpy(digits, text, len);
	digits[len] = '\0';
	if (coati_parse_i64(digits, INT32_MIN, INT32_MAX, &pid) < 0)
		bad(r, -EBADMSG);
	return pid;
}

static const char *weight_type(struct reading *r)
{
	struct json_reader ahead = r->json; /* it may stand behind the weights */
	const char *key, *type = NULL;

	ahead.text = (struct strbuf)STRBUF_INIT(JSON_READ_TEXT);
	coati_json_read_object(&ahead);
	while (!type && (key = coati_json_read_key(&ahead))) {
		if (!is_key(key, "weightType")) {
			coati_json_read_skip(&ahead);
			continue;
		}
		key = coati_json_read_str(&ahead, NULL);
		type = is_key(key, "tracing-ms") ? "tracing-ms" : "samples";
	}
	if (!type)
		bad(r, ahead.failed ? ahead.failed : -EBADMSG);
	coati_json_read_fini(&ahead);
	return type;
}

static void read_samples(struct reading *r, struct thread *t)
{
	const char *type = weight_type(r);
	bool is_time = is_key(type, "tracing-ms");

	t->samples = (struct table){
		.columns = { { .name = "stack" },
			     { .name = "weight", .decimals = is_time ? FIREFOX_DECIMALS : 0 },
			     { .name = "time", .decimals = FIREFOX_DECIMALS } }
	};
	read_table(r, &t->samples);
}

/* What a marker is, by its type: those that last, those that do not, and what the kernel lost. */
static uint64_t read_marker_kind(struct reading *r)
{
	static const char *const slices[] = { "region", "task", "resource" };
	uint64_t kind = MARKER_POINT;
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (!is_key(key, "type")) {
			coati_json_read_skip(&r->json);
			continue;
		}
		key = coati_json_read_str(&r->json, NULL);
		for (size_t i = 0; i < sizeof(slices) / sizeof(*slices); i++)
			if (is_key(key, slices[i]))
				kind = MARKER_SLICE;
		if (is_key(key, "loss"))
			kind = MARKER_LOSS;
	}
	return kind;
}

static void count_markers(struct reading *r, const struct table *t)
{
	const uint64_t *start = t->columns[1].numbers.v, *end = t->columns[2].numbers.v;
	const uint64_t *kind = t->columns[3].numbers.v;
	struct live_counts *live = &r->tally->live;

	for (size_t i = 0; i < t->length; i++) {
		bool is_slice = kind[i] == MARKER_SLICE;

		if (is_slice == (end[i] == NONE) || (is_slice && end[i] < start[i])) {
			bad(r, -EBADMSG);
			return;
		}
		live->slices += is_slice;
		live->slice_ns += is_slice ? end[i] - start[i] : 0;
		live->points += kind[i] == MARKER_POINT;
	}
}

static void read_markers(struct reading *r)
{
	struct table t = { .columns = { { .name = "name" },
					{ .name = "startTime", .decimals = FIREFOX_DECIMALS },
					{ .name = "endTime", .decimals = FIREFOX_DECIMALS },
					{ .name = "data", .read = read_marker_kind } } };

	read_table(r, &t);
	if (!is_within(&t.columns[0], r->strings.len, false))
		bad(r, -EBADMSG);
	if (!r->json.failed)
		count_markers(r, &t);
	free_table(&t);
}

/* ---- counters ---- */

static uint64_t read_change(struct reading *r)
{
	coati_json_read_double(&r->json);
	return 0;
}

static void read_counter(struct reading *r)
{
	struct table t = { .columns = { { .name = "time", .decimals = FIREFOX_DECIMALS },
					{ .name = "count", .read = read_change } } };
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "samples"))
			read_table(r, &t);
		else
			coati_json_read_skip(&r->json);
	}
	r->tally->live.counters += t.length;
	free_table(&t);
}

static uint64_t function_of(const struct reading *r, uint64_t stack)
{
	uint64_t frame = r->stacks.columns[1].numbers.v[stack];
	uint64_t function = r->frames.columns[0].numbers.v[frame];

	return r->strings.v[r->functions.columns[0].numbers.v[function]];
}

static int add_thread(struct reading *r, const struct thread *t)
{
	const struct column *stack = &t->samples.columns[0], *weight = &t->samples.columns[1],
			    *time = &t->samples.columns[2];
	uint32_t number;

	if (!t->name || !stack->numbers.len || !is_within(stack, r->stacks.length, true))
		return -EBADMSG;
	number = coati_tally_thread(r->tally, t->pid, t->tid, t->name);
	for (size_t i = 0; i < stack->numbers.len; i++) {
		if (i && time->numbers.v[i] < time->numbers.v[i - 1])
			return -EBADMSG;
		if (stack->numbers.v[i] == NONE) {
			if (weight->numbers.v[i])
				return -EBADMSG; /* it would not be counted */
			continue;
		}
		coati_tally_add(r->tally, number, (uint32_t)function_of(r, stack->numbers.v[i]),
				weight->numbers.v[i]);
		r->tally->samples++;
	}
	return 0;
}

static int read_thread(struct reading *r)
{
	struct thread t = { 0 };
	const char *key;
	int ret;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "name")) {
			key = coati_json_read_str(&r->json, NULL);
			coati_free(t.name);
			t.name = coati_strdup(key ? key : "");
			if (!t.name)
				bad(r, -ENOMEM);
		} else if (is_key(key, "pid")) {
			t.pid = read_pid(r);
		} else if (is_key(key, "tid")) {
			t.tid = coati_json_read_i64(&r->json);
		} else if (is_key(key, "samples")) {
			free_table(&t.samples);
			read_samples(r, &t);
		} else if (is_key(key, "markers")) {
			read_markers(r);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
	ret = r->json.failed ? r->json.failed : add_thread(r, &t);
	coati_free(t.name);
	free_table(&t.samples);
	return ret;
}

static int read_threads(struct reading *r)
{
	const char *key;
	int ret = 0;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "counters")) {
			for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);)
				read_counter(r);
			continue;
		}
		if (!is_key(key, "threads")) {
			coati_json_read_skip(&r->json);
			continue;
		}
		for (coati_json_read_array(&r->json); coati_json_read_more(&r->json) && ret == 0;)
			ret = read_thread(r);
	}
	return ret < 0 ? ret : coati_json_read_end(&r->json);
}

int coati_firefox_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err)
{
	struct reading r = {
		.tally = t,
		.stacks.columns = { { .name = "prefix" }, { .name = "frame" } },
		.frames.columns = { { .name = "func" }, { .name = "category" } },
		.functions.columns = { { .name = "name" }, { .name = "resource" } },
		.resources.columns = { { .name = "lib" }, { .name = "name" } },
	};
	int ret;

	t->has_samples = true;
	t->has_live = true;
	coati_json_read_init(&r.json, bytes, size);
	ret = read_tables(&r);
	if (ret == 0) {
		coati_json_read_fini(&r.json);
		coati_json_read_init(&r.json, bytes, size);
		ret = read_threads(&r);
	}
	if (ret < 0)
		coati_fail(err, ret, "firefox: at byte %zu: %m", coati_json_read_offset(&r.json));
	coati_json_read_fini(&r.json);
	numbers_fini(&r.strings);
	free_table(&r.stacks);
	free_table(&r.frames);
	free_table(&r.functions);
	free_table(&r.resources);
	return ret;
}
