/* SPDX-License-Identifier: MIT */
/* Texts that a person wrote come in; lists, a bitmap and two points in time go out. */
#include "reading/condition.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/match.h"
#include "base/parse.h"
#include "reading/labels.h"
#include "reading/parts.h"
#include "reading/wait.h"

#define WORDS_MAX 4096

static bool is_set(const char *text)
{
	return text && *text;
}

static int words_init(struct words *w, const char *text, const char *what, struct coati_error *err)
{
	char *at, *comma;

	w->list.max = WORDS_MAX;
	if (!is_set(text))
		return 0;
	if (strlen(text) > CONDITION_TEXT_MAX)
		return coati_fail(err, -E2BIG, "%s: the list is longer than %d bytes", what,
				  CONDITION_TEXT_MAX);
	w->text = coati_strdup(text);
	if (!w->text)
		return coati_fail(err, -ENOMEM, "out of memory");
	for (at = w->text; at; at = comma) {
		const char **slot;

		comma = strchr(at, ',');
		if (comma)
			*comma++ = 0;
		if (!*at)
			return coati_fail(err, -EINVAL, "%s: \"%s\" has an empty name", what, text);
		slot = ARRAY_ADD(&w->list);
		if (!slot)
			return coati_fail(err, w->list.len < WORDS_MAX ? -ENOMEM : -E2BIG,
					  "%s: more than %d names", what, WORDS_MAX);
		*slot = at;
	}
	return 0;
}

static void words_fini(struct words *w)
{
	ARRAY_FINI(&w->list);
	coati_free(w->text);
	w->text = NULL;
}

static bool same_name(const char *pattern, const char *name)
{
	return !strcmp(pattern, name) ||
	       (coati_is_glob(pattern) && coati_glob_match(pattern, name));
}

/* Is one of the words the number, or the name? */
static bool words_match(const struct words *w, const char *name, int64_t number)
{
	if (!w->list.len)
		return true;
	for (size_t i = 0; i < w->list.len; i++) {
		uint64_t n;

		if (number >= 0 && coati_parse_u64(w->list.v[i], 0, INT32_MAX, &n) == 0 &&
		    n == (uint64_t)number)
			return true;
		if (name && same_name(w->list.v[i], name))
			return true;
	}
	return false;
}

/* Each must be one of the things that threads wait for, or a pattern. */
static int check_waits(const struct words *w, struct coati_error *err)
{
	for (size_t i = 0; i < w->list.len; i++) {
		bool known = coati_is_glob(w->list.v[i]);

		for (int wait = COATI_WAIT_RUNNING + 1; wait < COATI_WAIT_COUNT && !known; wait++)
			known = !strcmp(w->list.v[i], coati_wait_name((enum coati_wait)wait));
		if (!known)
			return coati_fail(
				err, -EINVAL,
				"wait: unknown reason \"%s\"; coati report --by wait lists the "
				"reasons",
				w->list.v[i]);
	}
	return 0;
}

#define WALL "wall@"

/* "1.5s", "10%", "@12.5", "wall@1794849711.5" */
static int parse_point(const char *text, struct time_point *ret)
{
	size_t len = strlen(text);
	double percent;
	char buf[64];
	int r;

	if (!len)
		return 0;
	if (len >= sizeof(buf))
		return -EINVAL;
	if (!strncmp(text, WALL, strlen(WALL))) {
		ret->kind = TIME_WALL;
		return coati_parse_duration(text + strlen(WALL), 0, UINT64_MAX, &ret->value);
	}
	if (*text == '@') {
		ret->kind = TIME_ABSOLUTE;
		return coati_parse_duration(text + 1, 0, UINT64_MAX, &ret->value);
	}
	if (text[len - 1] != '%') {
		ret->kind = TIME_SINCE_START;
		return coati_parse_duration(text, 0, UINT64_MAX, &ret->value);
	}
	memcpy(buf, text, len - 1);
	buf[len - 1] = 0;
	r = coati_parse_double(buf, &percent);
	if (r < 0 || percent < 0 || percent > 100)
		return -EINVAL;
	ret->kind = TIME_PER_MILLION;
	ret->value = (uint64_t)(percent * 10000 + 0.5);
	return 0;
}

static int parse_time(struct conditions *c, const char *text, struct coati_error *err)
{
	char buf[128];
	char *dash;

	if (!is_set(text))
		return 0;
	if (strlen(text) >= sizeof(buf))
		return coati_fail(err, -EINVAL, "time: the range is too long");
	memcpy(buf, text, strlen(text) + 1);
	dash = strchr(buf, '-');
	if (dash)
		*dash = 0;
	if (!dash || parse_point(buf, &c->from) < 0 || parse_point(dash + 1, &c->to) < 0)
		return coati_fail(
			err, -EINVAL,
			"time: \"%s\" is not a range such as 1.5s-3s, 10%%-20%%, 500ms- or "
			"@12345.6-@12346",
			text);
	return 0;
}

static int parse_cpus(struct conditions *c, const char *text, struct coati_error *err)
{
	if (!is_set(text))
		return 0;
	c->cpus = coati_alloc_array(CONDITION_CPUS_MAX / 64, sizeof(*c->cpus));
	if (!c->cpus)
		return coati_fail(err, -ENOMEM, "out of memory");
	if (coati_parse_cpulist(text, c->cpus, CONDITION_CPUS_MAX) < 0)
		return coati_fail(err, -EINVAL,
				  "cpu: \"%s\" is not a list such as 0,2-5 (below %d)", text,
				  CONDITION_CPUS_MAX);
	return 0;
}

int coati_conditions_init(struct conditions *c, const struct coati_filter *f,
			  struct coati_error *err)
{
	int r;

	*c = (struct conditions){ 0 };
	r = words_init(&c->threads, f->thread, "thread", err);
	if (r == 0)
		r = words_init(&c->processes, f->process, "process", err);
	if (r == 0)
		r = words_init(&c->comms, f->comm, "comm", err);
	if (r == 0)
		r = words_init(&c->events, f->event, "event", err);
	if (r == 0)
		r = words_init(&c->labels, f->label, "label", err);
	if (r == 0)
		r = words_init(&c->tasks, f->task, "task", err);
	if (r == 0)
		r = words_init(&c->regions, f->region, "region", err);
	if (r == 0)
		r = words_init(&c->waits, f->wait, "wait", err);
	if (r == 0)
		r = check_waits(&c->waits, err);
	if (r == 0)
		r = parse_cpus(c, f->cpu, err);
	if (r == 0)
		r = parse_time(c, f->time, err);
	if (r < 0)
		coati_conditions_fini(c);
	return r;
}

void coati_conditions_fini(struct conditions *c)
{
	words_fini(&c->threads);
	words_fini(&c->processes);
	words_fini(&c->comms);
	words_fini(&c->events);
	words_fini(&c->labels);
	words_fini(&c->tasks);
	words_fini(&c->regions);
	words_fini(&c->waits);
	coati_free(c->cpus);
	*c = (struct conditions){ 0 };
}

bool coati_conditions_wait(const struct conditions *c, const char *name)
{
	return words_match(&c->waits, name, -1);
}

bool coati_conditions_thread(const struct conditions *c, const struct coati_profile_thread *t)
{
	return words_match(&c->threads, t->comm, t->tid) &&
	       words_match(&c->processes, t->process_comm, t->pid) &&
	       words_match(&c->comms, t->comm, -1);
}

/* The name, or the name without what stands behind its last colon (modifiers). */
bool coati_conditions_event(const struct conditions *c, const char *name)
{
	const char *colon = strrchr(name, ':');
	char bare[256];

	if (words_match(&c->events, name, -1))
		return true;
	if (!colon || (size_t)(colon - name) >= sizeof(bare))
		return false;
	memcpy(bare, name, (size_t)(colon - name));
	bare[colon - name] = 0;
	return words_match(&c->events, bare, -1);
}

/* "KEY" or "KEY=VALUE" of the labels, or of what every thread has; the labels go before. */
static bool label_matches(const char *word, const struct own_label_of *of)
{
	const struct coati_label *labels = of->labels->labels;
	uint32_t nr = of->labels->nr;
	const char *equals = strchr(word, '='), *value = NULL;
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	char room[OWN_LABEL_ROOM];

	for (uint32_t i = 0; i < nr && !value; i++)
		if (strlen(labels[i].key) == len && !memcmp(labels[i].key, word, len))
			value = labels[i].value;
	if (!value)
		value = coati_own_label_value(coati_own_label(word, len), of, room);
	return value && (!equals || same_name(equals + 1, value));
}

/* Every word must be true. */
static const char *label_of(const struct coati_label *labels, uint32_t nr, const char *key)
{
	for (uint32_t i = 0; i < nr; i++)
		if (!strcmp(labels[i].key, key))
			return labels[i].value;
	return NULL;
}

/* Is one of the regions, which have " > " between them, one of the words? */
static bool regions_match(const struct words *w, const char *regions)
{
	static const char between[] = " > ";

	if (!w->list.len)
		return true;
	while (regions) {
		const char *end = strstr(regions, between);
		char name[CONDITION_NAME_MAX];
		size_t len = end ? (size_t)(end - regions) : strlen(regions);

		if (len < sizeof(name)) {
			memcpy(name, regions, len);
			name[len] = 0;
			if (words_match(w, name, -1))
				return true;
		}
		regions = end ? end + strlen(between) : NULL;
	}
	return false;
}

bool coati_conditions_labels(const struct conditions *c, const struct coati_label *labels,
			     uint32_t nr, const struct coati_profile_thread *t)
{
	const struct label_set set = { labels, nr };
	const struct own_label_of of = { t, &set, c->rules };
	struct service service;

	for (size_t i = 0; i < c->labels.list.len; i++)
		if (!label_matches(c->labels.list.v[i], &of))
			return false;
	if (c->rules && c->rules->v.len && !coati_profile_service(&of, &service))
		return false;
	if (c->tasks.list.len) {
		const char *task = label_of(labels, nr, "task");

		if (!task || !words_match(&c->tasks, task, -1))
			return false;
	}
	return regions_match(&c->regions,
			     c->regions.list.len ? label_of(labels, nr, "region") : NULL);
}

bool coati_conditions_cpu(const struct conditions *c, int32_t cpu)
{
	if (!c->cpus)
		return true;
	return cpu >= 0 && cpu < CONDITION_CPUS_MAX && c->cpus[cpu / 64] >> (cpu % 64) & 1;
}

bool coati_conditions_need_end(const struct conditions *c)
{
	return c->from.kind == TIME_PER_MILLION || c->to.kind == TIME_PER_MILLION;
}

static uint64_t point_time(const struct time_point *p, uint64_t first, uint64_t last,
			   uint64_t otherwise)
{
	unsigned __int128 part;
	uint64_t time;

	switch (p->kind) {
	case TIME_ABSOLUTE:
		return p->value;
	case TIME_SINCE_START:
		return __builtin_add_overflow(first, p->value, &time) ? UINT64_MAX : time;
	case TIME_PER_MILLION:
		part = (unsigned __int128)(last > first ? last - first : 0) * p->value / 1000000;
		return first + (uint64_t)part;
	default:
		return otherwise;
	}
}

void coati_conditions_time(const struct conditions *c, uint64_t first, uint64_t last,
			   uint64_t *ret_from, uint64_t *ret_to)
{
	*ret_from = point_time(&c->from, first, last, 0);
	*ret_to = point_time(&c->to, first, last, UINT64_MAX);
}
