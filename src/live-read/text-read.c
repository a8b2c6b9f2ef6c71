/* SPDX-License-Identifier: MIT */
/* Text to live batches: see text.h. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/leb128.h"
#include "base/parse.h"
#include "base/writer.h"
#include "live-read/text.h"
#include "record/live-decode.h"

#define LINE_MEMORY (4u << 20)
#define COUNTERS    64u
#define PAYLOAD_MAX (LIVE_BATCH_MAX - LIVE_HEAD)

static const char *const batch_kinds[] = { "",	      "events", "table", "sites", "schema",
					   "process", "status", "loss",	 "end" };

/* Which seq comes next. */
struct counter {
	uint32_t pid, tid;
	uint16_t slot;
	uint32_t next;
};

struct compose {
	live_batch_fn fn;
	void *ctx;
	struct live_names names; /* for the fields of sites */
	bool begun;
	struct live_batch head;
	uint64_t set; /* bit for each number of the head that the line gave */
	uint64_t time;
	struct counter counters[COUNTERS];
	unsigned int nr_counters;
	struct writer w;
	const char *why;
	char name[32]; /* that why is about */
	uint8_t bytes[LIVE_BATCH_MAX];
};

static int bad(struct compose *c, const char *name, const char *why)
{
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->why = why;
	return -EINVAL;
}

/* ---- values ---- */

static int number(struct compose *c, const struct text_pair *p, uint64_t *ret)
{
	int64_t i;

	if (!p->quoted && p->value[0] == '-' && coati_parse_i64(p->value, INT64_MIN, -1, &i) == 0) {
		*ret = (uint64_t)i;
		return 0;
	}
	if (p->quoted || coati_parse_u64(p->value, 0, UINT64_MAX, ret) < 0)
		return bad(c, p->name, "wants a number");
	return 0;
}

static int put_text(struct compose *c, const struct text_pair *p)
{
	uint64_t ref;

	if (!p || p->quoted) {
		writer_uleb(&c->w, (p ? (uint64_t)p->value_size : 0) << 1);
		if (p)
			writer_bytes(&c->w, p->value, p->value_size);
		return 0;
	}
	if (p->value[0] != '#' || coati_parse_u64(p->value + 1, 0, UINT64_MAX >> 1, &ref) < 0)
		return bad(c, p->name, "wants a text in quotes, or #NUMBER of an interned one");
	writer_uleb(&c->w, ref << 1 | 1);
	return 0;
}

static int put_bytes(struct compose *c, const struct text_pair *p)
{
	if (p && !p->quoted)
		return bad(c, p->name, "wants bytes in quotes");
	writer_uleb(&c->w, p ? p->value_size : 0);
	if (p)
		writer_bytes(&c->w, p->value, p->value_size);
	return 0;
}

static int put_double(struct compose *c, const struct text_pair *p)
{
	double v = 0;
	uint64_t bits;

	if (p && (p->quoted || coati_parse_double(p->value, &v) < 0))
		return bad(c, p->name, "wants a number with a point");
	memcpy(&bits, &v, sizeof(bits));
	writer_u64(&c->w, bits);
	return 0;
}

static uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ (0 - (v >> 63));
}

static int put_number(struct compose *c, const struct text_pair *p, char letter)
{
	uint64_t v = 0;
	int n = p ? number(c, p, &v) : 0;

	if (n == 0)
		writer_uleb(&c->w, letter == 'z' ? zigzag(v) : v);
	return n;
}

/* "0x10,0x20", innermost first. */
static int put_stack(struct compose *c, const struct text_pair *p)
{
	uint64_t addresses[LIVE_STACK_MAX], before = 0;
	const char *at = p ? p->value : "";
	unsigned int nr = 0;
	char word[24];

	while (*at) {
		size_t len = strcspn(at, ",");

		if (!len || len >= sizeof(word) || nr == LIVE_STACK_MAX)
			return bad(c, "addresses",
				   "wants at most 128 addresses with commas between them");
		memcpy(word, at, len);
		word[len] = 0;
		if (coati_parse_u64(word, 0, UINT64_MAX, &addresses[nr++]) < 0)
			return bad(c, "addresses", "wants numbers");
		at += len + (at[len] == ',');
	}
	writer_uleb(&c->w, nr);
	for (unsigned int i = 0; i < nr; i++) {
		writer_uleb(&c->w, zigzag(addresses[i] - before));
		before = addresses[i];
	}
	return 0;
}

/* "idle:6 busy:1": each state with the set of those that may follow. */
static int put_states(struct compose *c, const struct text_pair *p)
{
	const char *at = p ? p->value : "";
	struct writer count = c->w;
	unsigned int nr = 0;
	char word[24];
	uint64_t next;

	writer_uleb(&c->w, 0); /* the count, less than 128, comes at the end */
	for (at += strspn(at, " "); *at; at += strspn(at, " ")) {
		size_t name = strcspn(at, ": "), len;

		if (at[name] != ':' || nr == 64)
			return bad(c, "states", "wants NAME:SET, at most 64 times");
		len = strcspn(at + name + 1, " ");
		if (!len || len >= sizeof(word))
			return bad(c, "states", "wants a number behind each name");
		memcpy(word, at + name + 1, len);
		word[len] = 0;
		if (coati_parse_u64(word, 0, UINT64_MAX, &next) < 0)
			return bad(c, "states", "wants a number behind each name");
		writer_uleb(&c->w, (uint64_t)name << 1);
		writer_bytes(&c->w, at, name);
		writer_uleb(&c->w, next);
		at += name + 1 + len;
		nr++;
	}
	writer_uleb(&count, nr);
	return 0;
}

static int put_fields(struct compose *c, struct text_line *line)
{
	const struct text_pair *site = coati_live_text_get(line, "site", 4);
	const struct coati_trace_site *s;
	uint64_t id = 0;
	int n = site ? number(c, site, &id) : 0;
	const char *at, *end;

	s = live_names_site(&c->names, id);
	if (n < 0)
		return n;
	at = s ? s->fields.text : "";
	end = at + (s ? s->fields.size : 0);
	while (n == 0 && at < end) {
		const char *stop = memchr(at, ' ', (size_t)(end - at));
		size_t len = (size_t)((stop ? stop : end) - at);
		const struct text_pair *p;
		char letter;

		if (len >= 2) {
			letter = at[len - 1];
			p = coati_live_text_get(line, at, len - 2);
			n = letter == 's'   ? put_text(c, p)
			    : letter == 'd' ? put_double(c, p)
					    : put_number(c, p, letter == 'i' ? 'z' : 'v');
		}
		at += len + (stop ? 1 : 0);
	}
	return n;
}

/* ---- events ---- */

static int put_argument(struct compose *c, struct text_line *line, char letter, const char *name,
			size_t len)
{
	const struct text_pair *p = coati_live_text_get(line, name, len);

	switch (letter) {
	case 's':
		return put_text(c, p);
	case 'b':
		return put_bytes(c, p);
	case 'd':
		return put_double(c, p);
	case 'f':
		return put_fields(c, line);
	case '*':
		return *name == 'a' ? put_stack(c, p) : put_states(c, p);
	default:
		return put_number(c, p, letter);
	}
}

static int put_arguments(struct compose *c, struct text_line *line, const char *letters,
			 const char *names)
{
	int n = 0;

	for (; *letters && n == 0; letters++) {
		size_t len = strcspn(names, " ");

		n = put_argument(c, line, *letters, names, len);
		names += len + (names[len] == ' ');
	}
	for (unsigned int i = 0; n == 0 && i < line->nr_pairs; i++)
		if (!(line->used >> i & 1))
			n = bad(c, line->pairs[i].name, "is not one of its arguments");
	return n;
}

/* Time and first byte. */
static int put_head(struct compose *c, const char *time, unsigned int kind)
{
	uint64_t v = c->time, delta;
	unsigned int size = 1;

	if (time[0] == '+') {
		if (coati_parse_u64(time + 1, 0, UINT64_MAX, &delta) < 0)
			return bad(c, time, "is not a time");
		v += delta;
	} else if (strcmp(time, "-") != 0 && coati_parse_u64(time, 0, UINT64_MAX, &v) < 0) {
		return bad(c, time, "is not a time");
	}
	if (v < c->time)
		return bad(c, time, "is before the event before it, which a batch cannot say");
	delta = v - c->time;
	while (size < 8 && delta >> (8 * size))
		size++;
	writer_u8(&c->w, (uint8_t)(kind | (size - 1) << 5));
	for (unsigned int i = 0; i < size; i++)
		writer_u8(&c->w, (uint8_t)(delta >> (8 * i)));
	c->time = v;
	return 0;
}

/* So that fields of instants have names. */
/* Instants have the names of their fields in front of values: those must be words there. */
static bool are_words(const struct live_text *fields)
{
	for (uint32_t i = 0; i < fields->size; i++)
		if (fields->text[i] < ' ' || fields->text[i] > '~' ||
		    strchr("=\"\\", fields->text[i]))
			return false;
	return true;
}

static int learn_site(struct compose *c, size_t from)
{
	struct live_view b = { .head = { .used = (uint32_t)(c->w.len - from) },
			       .payload = c->w.start + from };
	struct live_walk walk = coati_live_walk(&b, NULL, NULL, NULL);
	struct live_event e;

	if (c->w.full || coati_live_next(&walk, &e) <= 0)
		return 0;
	if (!are_words(&e.text[4]))
		return bad(c, "fields", "has a name that is not a word");
	coati_live_names_add(&c->names, &e); /* one that is refused has no fields */
	return 0;
}

static int put_event(struct compose *c, struct text_line *line)
{
	size_t from = c->w.len;
	unsigned int kind = 1;
	int n;

	if (!strcmp(line->kind, "schema")) {
		if (c->head.kind != LIVE_BATCH_SCHEMA)
			return bad(c, "schema", "stands in a batch of another kind");
		writer_u8(&c->w, LIVE_SCHEMA);
		return put_arguments(c, line, "vss", "kind name letters");
	}
	if (!strcmp(line->kind, "none")) {
		writer_u8(&c->w, LIVE_NONE);
		return 0;
	}
	while (kind < LIVE_KINDS && strcmp(coati_live_kinds[kind].name, line->kind) != 0)
		kind++;
	if (kind == LIVE_KINDS)
		return bad(c, line->kind, "is not a kind of event");
	n = put_head(c, line->time, kind);
	if (n == 0 && kind == LIVE_MORE) {
		const struct text_pair *p = coati_live_text_get(line, "kind", 4);
		uint64_t v = 0;

		n = p ? number(c, p, &v) : 0;
		writer_u8(&c->w, (uint8_t)v);
		return n < 0 ? n : put_arguments(c, line, "b", "bytes");
	}
	if (n == 0)
		n = put_arguments(c, line, coati_live_kinds[kind].letters,
				  coati_live_arguments[kind]);
	if (n == 0 && kind == LIVE_SITE)
		n = learn_site(c, from);
	return n;
}

static int put_hex(struct compose *c, const char *digits)
{
	char two[3] = { 0 };
	uint64_t v;

	for (; digits[0]; digits += 2) {
		two[0] = digits[0];
		two[1] = digits[1];
		if (!two[1] || coati_parse_hex(two, &v) < 0)
			return bad(c, "hex", "wants pairs of digits");
		writer_u8(&c->w, (uint8_t)v);
	}
	return 0;
}

/* ---- batches ---- */

static const struct {
	const char *name;
	size_t offset, size;
} numbers[] = {
#define NUMBER(field)                                              \
	{                                                          \
#field, offsetof(struct live_batch, field),        \
			sizeof(((struct live_batch *)NULL)->field) \
	}
	NUMBER(magic),	       NUMBER(version), NUMBER(generation), NUMBER(pid),
	NUMBER(tid),	       NUMBER(seq),	NUMBER(slot),	    NUMBER(base),
	NUMBER(pair_cycles),   NUMBER(pair_ns), NUMBER(end_cycles), NUMBER(end_ns),
	NUMBER(pair_error_ns), NUMBER(events),	NUMBER(used),	    NUMBER(capacity),
	NUMBER(checksum),      NUMBER(told),
#undef NUMBER
};
#define NR_NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

static bool was_set(const struct compose *c, const char *name)
{
	for (size_t i = 0; i < NR_NUMBERS; i++)
		if (!strcmp(numbers[i].name, name))
			return c->set >> i & 1;
	return false;
}

static uint32_t *next_seq(struct compose *c)
{
	struct counter *k;

	for (unsigned int i = 0; i < c->nr_counters; i++) {
		k = &c->counters[i];
		if (k->pid == c->head.pid && k->tid == c->head.tid && k->slot == c->head.slot)
			return &k->next;
	}
	k = &c->counters[c->nr_counters < COUNTERS ? c->nr_counters++ : COUNTERS - 1];
	*k = (struct counter){ c->head.pid, c->head.tid, c->head.slot, 0 };
	return &k->next;
}

static uint32_t count_events(struct compose *c, uint32_t used)
{
	struct live_view b = { .head = { .used = used, .kind = c->head.kind },
			       .payload = c->bytes + LIVE_HEAD };
	struct live_walk walk = coati_live_walk(&b, NULL, coati_live_names_fields, &c->names);
	struct live_event e;
	uint32_t nr = 0;

	while (coati_live_next(&walk, &e) > 0)
		nr++;
	return nr;
}

static void write_head(struct compose *c, uint32_t used)
{
	struct live_batch *h = &c->head;

	if (!was_set(c, "seq") && h->kind == LIVE_BATCH_EVENTS)
		h->seq = *next_seq(c);
	if (h->kind == LIVE_BATCH_EVENTS)
		*next_seq(c) = h->seq + 1;
	if (!was_set(c, "used"))
		h->used = used;
	if (!was_set(c, "capacity"))
		h->capacity = used;
	if (!was_set(c, "events"))
		h->events = h->kind == LIVE_BATCH_SCHEMA ? 0 : count_events(c, used);
	if (!was_set(c, "checksum"))
		h->checksum = h->flags & LIVE_BATCH_CLOSED
				      ? live_checksum(c->bytes + LIVE_HEAD, used)
				      : 0;
	memcpy(c->bytes, h, LIVE_HEAD);
}

static int end_batch(struct compose *c)
{
	if (!c->begun)
		return 0;
	c->begun = false;
	if (c->w.full)
		return -E2BIG;
	write_head(c, (uint32_t)c->w.len);
	return c->fn(c->ctx, c->bytes, LIVE_HEAD + c->w.len);
}

static int take_numbers(struct compose *c, struct text_line *line)
{
	uint64_t v, most;

	c->set = 0;
	for (size_t i = 0; i < NR_NUMBERS; i++) {
		const struct text_pair *p =
			coati_live_text_get(line, numbers[i].name, strlen(numbers[i].name));

		if (!p)
			continue;
		if (number(c, p, &v) < 0)
			return -EINVAL;
		most = numbers[i].size == 8 ? UINT64_MAX
					    : (UINT64_C(1) << (8 * numbers[i].size)) - 1;
		if (v > most)
			return bad(c, p->name, "is too large a number");
		memcpy((uint8_t *)&c->head + numbers[i].offset, &v, numbers[i].size);
		c->set |= UINT64_C(1) << i;
	}
	return 0;
}

static int take_kind(struct compose *c, struct text_line *line)
{
	const struct text_pair *p = coati_live_text_get(line, "kind", 4);
	uint64_t v;

	c->head.kind = LIVE_BATCH_EVENTS;
	if (!p)
		return 0;
	for (uint16_t i = 1; i < sizeof(batch_kinds) / sizeof(batch_kinds[0]); i++)
		if (!strcmp(batch_kinds[i], p->value)) {
			c->head.kind = i;
			return 0;
		}
	if (coati_parse_u64(p->value, 0, UINT16_MAX, &v) < 0)
		return bad(c, "kind", "is not a kind of batch");
	c->head.kind = (uint16_t)v;
	return 0;
}

static int take_flags(struct compose *c, struct text_line *line)
{
	const struct text_pair *p = coati_live_text_get(line, "flags", 5);
	uint64_t v;

	c->head.flags = LIVE_BATCH_CLOSED | LIVE_BATCH_NANOSECONDS;
	if (p && number(c, p, &v) < 0)
		return -EINVAL;
	if (p && v > UINT16_MAX)
		return bad(c, "flags", "is too large a number");
	if (p)
		c->head.flags = (uint16_t)v;
	return 0;
}

static int begin_batch(struct compose *c, struct text_line *line)
{
	uint32_t pid = c->head.pid;
	int n = end_batch(c);

	n = n ? n : take_numbers(c, line);
	n = n ? n : take_kind(c, line);
	n = n ? n : take_flags(c, line);
	if (n)
		return n;
	for (unsigned int i = 0; i < line->nr_pairs; i++)
		if (!(line->used >> i & 1))
			return bad(c, line->pairs[i].name, "is not a field of a batch");
	if (!was_set(c, "tid") && (pid != c->head.pid || !c->head.tid))
		c->head.tid = c->head.pid;
	if (!was_set(c, "magic"))
		c->head.magic = LIVE_BATCH_MAGIC;
	if (!was_set(c, "version"))
		c->head.version = LIVE_BATCH_VERSION;
	c->begun = true;
	c->time = c->head.base;
	c->w = writer_over(c->bytes + LIVE_HEAD, PAYLOAD_MAX);
	return 0;
}

static int take_line(struct compose *c, struct text_line *line)
{
	if (!strcmp(line->kind, "batch"))
		return begin_batch(c, line);
	if (!c->begun)
		return bad(c, line->kind, "stands before the first batch");
	return !strcmp(line->kind, "hex") ? put_hex(c, line->time) : put_event(c, line);
}

static int read_lines(struct compose *c, const char *text, struct coati_error *err)
{
	struct arena memory;
	struct text_line line;
	unsigned int nr = 0;
	int n = 0;

	while (*text && n == 0) {
		nr++;
		coati_arena_init(&memory, LINE_MEMORY);
		c->name[0] = 0;
		c->why = NULL;
		n = coati_live_text_split(&text, &memory, &line, &c->why);
		if (n > 0)
			n = take_line(c, &line);
		if (n < 0)
			n = coati_fail(err, n, "line %u: %s%s%s", nr, c->name,
				       c->name[0] ? " " : "",
				       c->why && c->why[0] ? c->why
				       : n == -E2BIG	   ? "the batch before does not fit"
							   : "is malformed");
		coati_arena_fini(&memory);
	}
	if (n == 0)
		n = end_batch(c);
	return n;
}

int coati_live_text_read(const char *text, live_batch_fn fn, void *ctx, struct coati_error *err)
{
	struct compose *c = coati_alloc(sizeof(*c));
	int n;

	if (!c)
		return coati_fail(err, -ENOMEM, "live text: %m");
	c->fn = fn;
	c->ctx = ctx;
	c->head = (struct live_batch){ .generation = 1, .pid = 1 };
	coati_live_names_init(&c->names, 0);
	n = read_lines(c, text, err);
	coati_live_names_fini(&c->names);
	coati_free(c);
	return n;
}
