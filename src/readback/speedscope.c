/* SPDX-License-Identifier: MIT */
/* The reader of speedscope's files, to add them up: each profile is a thread, its weights must add
 * up to the end that it states. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/parse.h"
#include "readback/numbers.h"
#include "readback/readback.h"

struct reading {
	struct json_reader json;
	struct tally *tally;
	struct format_numbers functions; /* the tally's, by place in the list of frames */
	/* of the profile's samples: a place; UINT64_MAX: an empty stack */
	struct format_numbers leaves;
	struct format_numbers weights;
	uint64_t end; /* what the profile says that its weights are together */
};

static bool is_key(const char *key, const char *wanted)
{
	return key && !strcmp(key, wanted);
}

static void read_frame(struct reading *r)
{
	uint32_t number = UINT32_MAX;
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "name")) {
			const char *name = coati_json_read_str(&r->json, NULL);

			if (name)
				number = coati_tally_function(r->tally, name);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
	numbers_add(&r->functions, number);
}

/* The list of frames, wherever in the file it stands. */
static void read_shared(struct reading *r)
{
	const char *key;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (!is_key(key, "shared")) {
			coati_json_read_skip(&r->json);
			continue;
		}
		coati_json_read_object(&r->json);
		while ((key = coati_json_read_key(&r->json))) {
			if (!is_key(key, "frames")) {
				coati_json_read_skip(&r->json);
				continue;
			}
			for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);)
				read_frame(r);
		}
	}
}

static void read_stacks(struct reading *r)
{
	for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);) {
		uint64_t leaf = UINT64_MAX;

		for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);) {
			leaf = coati_json_read_u64(&r->json);
			if (leaf >= r->functions.len)
				r->json.failed = -EBADMSG;
		}
		numbers_add(&r->leaves, leaf);
	}
}

/* "worker (pid 10, tid 11)"; the name may be anything. */
static bool parse_thread(char *text, int64_t *pid, int64_t *tid)
{
	static const char pid_mark[] = " (pid ", tid_mark[] = ", tid ";
	char *at = NULL, *comma, *end = text + strlen(text);

	for (char *p = text; (p = strstr(p, pid_mark)); p++)
		at = p;
	if (!at || end[-1] != ')')
		return false;
	end[-1] = '\0';
	*at = '\0';
	at += strlen(pid_mark);
	comma = strstr(at, tid_mark);
	if (!comma)
		return false;
	*comma = '\0';
	return coati_parse_i64(at, INT32_MIN, INT32_MAX, pid) == 0 &&
	       coati_parse_i64(comma + strlen(tid_mark), INT32_MIN, INT32_MAX, tid) == 0;
}

static int add_profile(struct reading *r, char *name)
{
	uint64_t sum = 0;
	int64_t pid, tid;
	uint32_t thread;

	if (r->leaves.failed || r->weights.failed || r->functions.failed)
		return -ENOMEM;
	if (r->leaves.len != r->weights.len)
		return -EBADMSG;
	if (!r->leaves.len)
		return r->end ? -EBADMSG : 0;
	if (!parse_thread(name, &pid, &tid))
		return -EBADMSG;
	thread = coati_tally_thread(r->tally, pid, tid, name);
	for (size_t i = 0; i < r->leaves.len; i++) {
		if (r->leaves.v[i] == UINT64_MAX)
			return -EBADMSG;
		coati_tally_add(r->tally, thread, (uint32_t)r->functions.v[r->leaves.v[i]],
				r->weights.v[i]);
		r->tally->samples++;
		if (__builtin_add_overflow(sum, r->weights.v[i], &sum))
			sum = UINT64_MAX;
	}
	return sum == r->end ? 0 : -EBADMSG;
}

static int read_profile(struct reading *r)
{
	CLEANUP(freep) char *name = NULL;
	bool no_memory = false;
	const char *key;

	r->leaves.len = r->weights.len = 0;
	r->end = 0;
	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (is_key(key, "name")) {
			const char *text = coati_json_read_str(&r->json, NULL);

			coati_free(name);
			name = coati_strdup(text ? text : "");
			no_memory |= !name;
		} else if (is_key(key, "samples")) {
			read_stacks(r);
		} else if (is_key(key, "weights")) {
			for (coati_json_read_array(&r->json); coati_json_read_more(&r->json);)
				numbers_add(&r->weights, coati_json_read_u64(&r->json));
		} else if (is_key(key, "endValue")) {
			r->end = coati_json_read_u64(&r->json);
		} else {
			coati_json_read_skip(&r->json);
		}
	}
	if (r->json.failed)
		return r->json.failed;
	if (no_memory)
		return -ENOMEM;
	return name && *name ? add_profile(r, name) : -EBADMSG;
}

static int read_profiles(struct reading *r)
{
	const char *key;
	int ret = 0;

	coati_json_read_object(&r->json);
	while ((key = coati_json_read_key(&r->json))) {
		if (!is_key(key, "profiles")) {
			coati_json_read_skip(&r->json);
			continue;
		}
		for (coati_json_read_array(&r->json); coati_json_read_more(&r->json) && ret == 0;)
			ret = read_profile(r);
	}
	return ret;
}

int coati_speedscope_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err)
{
	struct reading r = { .tally = t };
	int ret;

	t->has_samples = true;
	coati_json_read_init(&r.json, bytes, size);
	read_shared(&r);
	ret = coati_json_read_end(&r.json);
	coati_json_read_fini(&r.json);
	coati_json_read_init(&r.json, bytes, size);
	if (ret == 0)
		ret = read_profiles(&r);
	if (ret == 0)
		ret = coati_json_read_end(&r.json);
	if (r.functions.failed)
		ret = -ENOMEM;
	if (ret < 0)
		coati_fail(err, ret, "speedscope: at byte %zu: %m",
			   coati_json_read_offset(&r.json));
	coati_json_read_fini(&r.json);
	numbers_fini(&r.functions);
	numbers_fini(&r.leaves);
	numbers_fini(&r.weights);
	return ret;
}
