/* SPDX-License-Identifier: MIT */
/* see live-decode.h */
#include "record/live-decode.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"

/* ---- the head ---- */

static struct live_batch read_head(const void *bytes)
{
	struct cursor c = cursor_over(bytes, LIVE_HEAD);
	struct live_batch h;

	h.magic = cursor_u32(&c);
	h.version = cursor_u16(&c);
	h.kind = cursor_u16(&c);
	h.generation = cursor_u64(&c);
	h.pid = cursor_u32(&c);
	h.tid = cursor_u32(&c);
	h.seq = cursor_u32(&c);
	h.slot = cursor_u16(&c);
	h.flags = cursor_u16(&c);
	h.base = cursor_u64(&c);
	h.pair_cycles = cursor_u64(&c);
	h.pair_ns = cursor_u64(&c);
	h.end_cycles = cursor_u64(&c);
	h.end_ns = cursor_u64(&c);
	h.pair_error_ns = cursor_u32(&c);
	h.events = cursor_u32(&c);
	h.used = cursor_u32(&c);
	h.capacity = cursor_u32(&c);
	h.checksum = cursor_u32(&c);
	h.told = cursor_u32(&c);
	return h;
}

static const char *check_head(const struct live_batch *h, size_t size)
{
	if (h->magic != LIVE_BATCH_MAGIC)
		return "it does not begin as a batch does";
	if (h->version != LIVE_BATCH_VERSION)
		return "its version is not supported";
	if (h->kind < LIVE_BATCH_EVENTS || h->kind > LIVE_BATCH_END)
		return "its kind is not supported";
	if (h->capacity > LIVE_BATCH_MAX - LIVE_HEAD)
		return "it claims more bytes than a batch can have";
	if (h->used > h->capacity)
		return "it claims more events than it has bytes for";
	if (h->used > size - LIVE_HEAD)
		return "it stops before its events do";
	if (!h->pid || !h->generation || h->generation == UINT64_MAX)
		return "it belongs to no process or no generation";
	return NULL;
}

const char *coati_live_open(const void *bytes, size_t size, struct live_view *ret)
{
	struct live_view b;
	const char *why;

	if (size < LIVE_HEAD)
		return "it is shorter than the head of a batch";
	b.head = read_head(bytes);
	why = check_head(&b.head, size);
	if (why)
		return why;
	b.payload = (const uint8_t *)bytes + LIVE_HEAD;
	if (b.head.flags & LIVE_BATCH_CLOSED &&
	    live_checksum(b.payload, b.head.used) != b.head.checksum)
		return "its checksum is wrong";
	*ret = b;
	return NULL;
}

/* ---- numbers ---- */

/* As cursor_uleb(), without padding beyond ten bytes; NULL at the end or when it does not fit. */
static const uint8_t *take_long(const uint8_t *at, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; at < end && shift < 70; shift += 7) {
		uint8_t b = *at++;

		if (shift == 63 && b > 1)
			return NULL;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = v;
			return at;
		}
	}
	return NULL;
}

static inline const uint8_t *take_number(const uint8_t *at, const uint8_t *end, uint64_t *ret)
{
	if (at < end && *at < 0x80) {
		*ret = *at;
		return at + 1;
	}
	return take_long(at, end, ret);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return (v >> 1) ^ (0 - (v & 1));
}

static const uint8_t *take_double(const uint8_t *at, const uint8_t *end, double *ret)
{
	if (end - at < 8)
		return NULL;
	memcpy(ret, at, 8);
	return at + 8;
}

static const uint8_t *take_bytes(const uint8_t *at, const uint8_t *end, const uint8_t **ret,
				 uint32_t *ret_size)
{
	uint64_t size;

	at = take_number(at, end, &size);
	if (!at || size > (uint64_t)(end - at))
		return NULL;
	*ret = at;
	*ret_size = (uint32_t)size;
	return at + size;
}

static const uint8_t *take_text(const uint8_t *at, const uint8_t *end, struct live_text *ret)
{
	uint64_t v;

	at = take_number(at, end, &v);
	if (!at)
		return NULL;
	*ret = (struct live_text){ .text = "", .is_ref = v & 1, .ref = v >> 1 };
	if (v & 1)
		return at;
	if (v >> 1 > (uint64_t)(end - at))
		return NULL;
	ret->text = (const char *)at;
	ret->size = (uint32_t)(v >> 1);
	return at + ret->size;
}

/* ---- what is behind a count ---- */

static const uint8_t *skip_stack(const uint8_t *at, const uint8_t *end, struct live_event *e)
{
	uint64_t count, v;

	at = take_number(at, end, &count);
	if (!at || count > LIVE_STACK_MAX)
		return NULL;
	e->v[1] = count;
	e->rest = at;
	for (uint64_t i = 0; i < count && at; i++)
		at = take_number(at, end, &v);
	e->rest_size = at ? (uint32_t)(at - e->rest) : 0;
	return at;
}

static const uint8_t *skip_states(const uint8_t *at, const uint8_t *end, struct live_event *e)
{
	struct live_text name;
	uint64_t count, v;

	at = take_number(at, end, &count);
	if (!at || count > 64)
		return NULL;
	e->v[1] = count;
	e->rest = at;
	for (uint64_t i = 0; i < count && at; i++) {
		at = take_text(at, end, &name);
		at = at ? take_number(at, end, &v) : NULL;
	}
	e->rest_size = at ? (uint32_t)(at - e->rest) : 0;
	return at;
}

int coati_live_stack_next(const struct live_event *e, uint32_t *pos, uint64_t *address)
{
	const uint8_t *at = e->rest + *pos;
	uint64_t v;

	if (*pos >= e->rest_size)
		return 0;
	at = take_number(at, e->rest + e->rest_size, &v);
	if (!at)
		return -EBADMSG;
	*pos = (uint32_t)(at - e->rest);
	*address += unzigzag(v);
	return 1;
}

int coati_live_state_next(const struct live_event *e, uint32_t *pos, struct live_text *ret_name,
			  uint64_t *ret_next)
{
	const uint8_t *at = e->rest + *pos, *end = e->rest + e->rest_size;

	if (*pos >= e->rest_size)
		return 0;
	at = take_text(at, end, ret_name);
	at = at ? take_number(at, end, ret_next) : NULL;
	if (!at)
		return -EBADMSG;
	*pos = (uint32_t)(at - e->rest);
	return 1;
}

/* ---- fields of instants ---- */

struct live_fields coati_live_fields(const char *fields, uint32_t size, const uint8_t *bytes,
				     uint32_t bytes_size)
{
	return (struct live_fields){ fields, fields + size, bytes, bytes + bytes_size };
}

/* The next "name:letter" of the text; 0 at its end. */
static int next_name(struct live_fields *f, struct live_field *ret)
{
	const char *stop;

	while (f->at < f->end && *f->at == ' ')
		f->at++;
	if (f->at == f->end)
		return 0;
	stop = memchr(f->at, ' ', (size_t)(f->end - f->at));
	if (!stop)
		stop = f->end;
	if (stop - f->at < 2 || stop[-2] != ':')
		return -EBADMSG;
	*ret = (struct live_field){ .name = f->at,
				    .name_size = (uint32_t)(stop - f->at - 2),
				    .letter = stop[-1] };
	f->at = stop;
	return 1;
}

int coati_live_field_next(struct live_fields *f, struct live_field *ret)
{
	const uint8_t *at = f->bytes;
	int n = next_name(f, ret);

	if (n <= 0)
		return n;
	switch (ret->letter) {
	case 'i':
	case 'u':
	case 'x':
		at = take_number(at, f->bytes_end, &ret->value);
		if (ret->letter == 'i')
			ret->value = unzigzag(ret->value);
		break;
	case 'd':
		at = take_double(at, f->bytes_end, &ret->real);
		break;
	case 's':
		at = take_text(at, f->bytes_end, &ret->text);
		break;
	default:
		return -EBADMSG;
	}
	if (!at)
		return -EBADMSG;
	f->bytes = at;
	return 1;
}

static const uint8_t *skip_fields(struct live_walk *w, const uint8_t *at, struct live_event *e)
{
	struct live_fields f;
	struct live_field field;
	const char *text;
	uint32_t size;
	int n;

	if (!w->fields || !w->fields(w->ctx, e->v[0], &text, &size)) {
		w->why = "the fields of its site are not known";
		return NULL;
	}
	f = coati_live_fields(text, size, at, (uint32_t)(w->end - at));
	while ((n = coati_live_field_next(&f, &field)) > 0)
		;
	if (n < 0)
		return NULL;
	e->rest = at;
	e->rest_size = (uint32_t)(f.bytes - at);
	return f.bytes;
}

/* ---- events ---- */

/* What the letters say into @e, or past it when @keep is false. */
static const uint8_t *take_letters(struct live_walk *w, const uint8_t *at, const char *letters,
				   struct live_event *e)
{
	unsigned int nr = 0, texts = 0;
	struct live_text text;
	uint64_t v = 0;

	for (; *letters && at; letters++) {
		switch (*letters) {
		case 'v':
		case 't':
		case 'k':
		case 'z':
			at = take_number(at, w->end, &v);
			if (nr < 6)
				e->v[nr++] = *letters == 'z' ? unzigzag(v) : v;
			break;
		case 's':
			at = take_text(at, w->end, &text);
			if (at && texts < 5)
				e->text[texts++] = text;
			break;
		case 'd':
			at = take_double(at, w->end, &e->real);
			break;
		case 'b':
			at = take_bytes(at, w->end, &e->rest, &e->rest_size);
			break;
		case 'f':
			at = skip_fields(w, at, e);
			break;
		case '*':
			at = e->kind == LIVE_STACK ? skip_stack(at, w->end, e)
						   : skip_states(at, w->end, e);
			break;
		default:
			return NULL;
		}
	}
	e->nr_texts = (uint16_t)texts;
	return at;
}

static const uint8_t *take_more(struct live_walk *w, const uint8_t *at, struct live_event *e)
{
	if (at == w->end)
		return NULL;
	e->more = *at++;
	return take_bytes(at, w->end, &e->rest, &e->rest_size);
}

static const uint8_t *take_arguments(struct live_walk *w, const uint8_t *at, struct live_event *e)
{
	struct live_event skipped = { .kind = e->kind };

	if (e->kind == LIVE_MORE)
		return take_more(w, at, e);
	if (w->schema && w->schema->is_foreign[e->kind]) {
		at = take_letters(w, at, w->schema->foreign[e->kind], &skipped);
		e->kind = LIVE_NONE;
		return at;
	}
	at = take_letters(w, at, coati_live_kinds[e->kind].letters, e);
	if (at && w->schema && w->schema->extra[e->kind][0])
		at = take_letters(w, at, w->schema->extra[e->kind], &skipped);
	return at;
}

#define FAST_ROOM 24u /* bytes that the fast way looks at, at most */

struct live_walk coati_live_walk(const struct live_view *b, const struct live_schema *schema,
				 live_fields_fn fields, void *ctx)
{
	bool plain = (!schema || !schema->is_other) && b->head.used > FAST_ROOM;

	return (struct live_walk){ .start = b->payload,
				   .at = b->payload,
				   .end = b->payload + b->head.used,
				   .safe = b->payload + (plain ? b->head.used - FAST_ROOM : 0),
				   .time = b->head.base,
				   .batch_kind = b->head.kind,
				   .schema = schema,
				   .fields = fields,
				   .ctx = ctx };
}

static int damaged(struct live_walk *w, const char *why)
{
	w->offset = (uint32_t)(w->at - w->start);
	if (!w->why)
		w->why = why;
	w->end = w->at;
	w->safe = w->start;
	return -EBADMSG;
}

/* The time since the event before, little-endian. */
static inline const uint8_t *take_time(struct live_walk *w, const uint8_t *at, unsigned int size)
{
	uint64_t delta = 0;

	if ((size_t)(w->end - at) < size)
		return NULL;
	memcpy(&delta, at, size);
	if (__builtin_add_overflow(w->time, delta, &w->time))
		return NULL;
	return at + size;
}

/* Any event. */
static int next_slowly(struct live_walk *w, struct live_event *ret)
{
	const uint8_t *at = w->at;
	uint8_t first = *at++;

	ret->kind = first & 31;
	ret->offset = (uint32_t)(w->at - w->start);
	if (ret->kind == LIVE_NONE)
		return damaged(w, "padding has a time");
	at = take_time(w, at, (first >> 5) + 1u);
	if (!at)
		return damaged(w, "a time does not fit");
	ret->time = w->time;
	at = take_arguments(w, at, ret);
	if (!at)
		return damaged(w, "an event is longer than its batch, or has an impossible number");
	w->at = at;
	return 1;
}

const uint64_t coati_live_masks[8] = {
	UINT64_MAX >> 56, UINT64_MAX >> 48, UINT64_MAX >> 40, UINT64_MAX >> 32,
	UINT64_MAX >> 24, UINT64_MAX >> 16, UINT64_MAX >> 8,  UINT64_MAX,
};

/* Kinds whose first argument is a number. */
#define SHORT                                                                             \
	(1u << LIVE_REGION_BEGIN | 1u << LIVE_RANGE | 1u << LIVE_TASK_END |               \
	 1u << LIVE_TASK_ENTER | 1u << LIVE_COUNTER | 1u << LIVE_GAUGE | 1u << LIVE_LOG | \
	 1u << LIVE_STACKED)

bool coati_live_next_short(struct live_walk *w, struct live_event *ret)
{
	const uint8_t *at = w->at;
	unsigned int kind, more;
	uint64_t delta, time;

	if (at >= w->safe || !(SHORT >> (*at & 31) & 1))
		return false;
	kind = *at & 31;
	more = *at >> 5;
	memcpy(&delta, at + 1, sizeof(delta));
	if (__builtin_add_overflow(w->time, delta & coati_live_masks[more], &time))
		return false;
	at = take_number(at + 2 + more, w->end, &ret->v[0]);
	if (at && (kind == LIVE_COUNTER || kind == LIVE_RANGE)) {
		at = take_number(at, w->end, &ret->v[1]);
		ret->v[1] = kind == LIVE_COUNTER ? unzigzag(ret->v[1]) : ret->v[1];
	} else if (at && kind == LIVE_GAUGE) {
		at = take_double(at, w->end, &ret->real);
	} else if (at && kind == LIVE_LOG) {
		at = take_text(at, w->end, &ret->text[0]);
	}
	if (!at)
		return false;
	ret->kind = (uint8_t)kind;
	ret->offset = (uint32_t)(w->at - w->start);
	ret->time = w->time = time;
	ret->nr_texts = kind == LIVE_LOG;
	w->at = at;
	return true;
}

int coati_live_next(struct live_walk *w, struct live_event *ret)
{
	const uint8_t *at = w->at;

	if (live_next_region(w, ret)) {
		ret->offset = (uint32_t)(at - w->start);
		ret->nr_texts = 0;
		return 1;
	}
	while (at < w->end && *at == LIVE_NONE)
		at++;
	w->at = at;
	if (at == w->end)
		return w->why ? -EBADMSG : 0;
	/* Most events are short, and far from the end: no byte of them needs to be looked for. */
	return coati_live_next_short(w, ret) ? 1 : next_slowly(w, ret);
}

/* ---- the schema ---- */

int coati_live_schema_next(struct live_walk *w, struct live_schema_entry *ret)
{
	const uint8_t *at = w->at;

	if (at == w->end)
		return w->why ? -EBADMSG : 0;
	if (*at++ != LIVE_SCHEMA)
		return damaged(w, "an entry of the schema does not begin as one");
	at = take_number(at, w->end, &ret->kind);
	at = at ? take_text(at, w->end, &ret->name) : NULL;
	at = at ? take_text(at, w->end, &ret->letters) : NULL;
	if (!at)
		return damaged(w, "an entry of the schema is longer than its batch");
	w->at = at;
	return 1;
}

/* Kinds whose rest has a reader of its own mean the same in every version. */
static bool is_fixed(uint64_t kind)
{
	return kind == LIVE_NONE || kind == LIVE_MORE || kind == LIVE_STACK || kind == LIVE_TYPE;
}

int coati_live_schema_add(struct live_schema *s, const struct live_schema_entry *entry)
{
	const struct live_text *l = &entry->letters;
	const char *known;
	size_t len;

	if (entry->kind >= LIVE_KINDS || l->is_ref)
		return -EBADMSG;
	for (uint32_t i = 0; i < l->size; i++)
		if (!l->text[i] || (!is_fixed(entry->kind) && !strchr("vztksdbf", l->text[i])))
			return -EBADMSG;
	if (is_fixed(entry->kind))
		return 0;
	known = coati_live_kinds[entry->kind].letters;
	len = strlen(known);
	s->is_foreign[entry->kind] = l->size < len || memcmp(l->text, known, len) != 0;
	s->is_other = s->is_other || l->size != len || s->is_foreign[entry->kind];
	memset(s->foreign[entry->kind], 0, sizeof(s->foreign[0]));
	memset(s->extra[entry->kind], 0, sizeof(s->extra[0]));
	if (s->is_foreign[entry->kind]) {
		if (l->size >= sizeof(s->foreign[0]))
			return -EBADMSG;
		memcpy(s->foreign[entry->kind], l->text, l->size);
	} else if (l->size - len < sizeof(s->extra[0])) {
		memcpy(s->extra[entry->kind], l->text + len, l->size - len);
	} else {
		return -EBADMSG;
	}
	return 0;
}
