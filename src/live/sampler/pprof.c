/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks come in, a pprof file goes out: profile.proto in gzip of stored blocks, by libc alone. Locations are addresses in mappings of this process as it is
 * now, with the build ids of their files, and when asked for the names of functions; lines are left to who reads it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/alloc.h"
#include "base/elf.h"
#include "base/file.h"
#include "base/parse.h"
#include "live/sampler/sampler.h"

#define MAPS_BYTES_MAX ((size_t)64 << 20)
#define TEXT_MAX       (1u << 20)
#define LOCATIONS_MAX  (1u << 22)
#define STORED_MAX     65535u

/* Numbers of profile.proto. */
enum {
	P_SAMPLE_TYPE = 1,
	P_SAMPLE,
	P_MAPPING,
	P_LOCATION,
	P_FUNCTION,
	P_STRING,
	P_TIME = 9,
	P_DURATION,
	P_PERIOD_TYPE,
	P_PERIOD,
	P_COMMENT
};

struct mapping {
	uint64_t start, end, offset;
	uint64_t path, build_id; /* texts */
	struct sampler_names names;
};

struct out {
	struct strbuf *to;     /* the profile */
	struct strbuf message; /* the one that is being made */
	struct strbuf inner;   /* inside of that */
	struct arena texts;
	struct map text_ids, location_ids, function_ids;
	uint64_t nr_texts;
	struct mapping *mappings;
	uint32_t nr_mappings;
	bool names;
	int failed;
};

/* ---- the wire ---- */

static void put_varint(struct strbuf *s, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		coati_strbuf_addc(s, (char)(v | 0x80));
	coati_strbuf_addc(s, (char)v);
}

static void put_uint(struct strbuf *s, uint32_t field, uint64_t v)
{
	put_varint(s, (uint64_t)field << 3);
	put_varint(s, v);
}

static void put_bytes(struct strbuf *s, uint32_t field, const void *bytes, size_t size)
{
	put_varint(s, (uint64_t)field << 3 | 2);
	put_varint(s, size);
	coati_strbuf_add(s, bytes, size);
}

static void put_message(struct out *o, uint32_t field)
{
	put_bytes(o->to, field, o->message.text, o->message.len);
	o->failed = o->message.failed ? o->message.failed : o->failed;
	coati_strbuf_clear(&o->message);
}

static void put_inner(struct out *o, uint32_t field)
{
	put_bytes(&o->message, field, o->inner.text, o->inner.len);
	o->failed = o->inner.failed ? o->inner.failed : o->failed;
	coati_strbuf_clear(&o->inner);
}

/* The number of a text in the table; fields of texts may come in any order. */
static uint64_t text_id(struct out *o, const char *text)
{
	uint64_t id;
	char *copy;

	if (coati_map_get_str(&o->text_ids, text, &id))
		return id;
	copy = coati_arena_strdup(&o->texts, text);
	if (!copy || coati_map_put_str(&o->text_ids, copy, o->nr_texts) < 0) {
		o->failed = -ENOMEM;
		return 0;
	}
	put_bytes(o->to, P_STRING, text, strlen(text));
	return o->nr_texts++;
}

/* ---- mappings ---- */

static uint64_t build_id_text(struct out *o, const char *path)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t id[20];
	char text[41] = "";
	struct elf elf;
	size_t size = 0;

	if (path[0] != '/' || coati_elf_open(path, &elf, NULL) < 0)
		return 0;
	size = coati_elf_build_id(&elf, id);
	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[id[i] >> 4];
		text[2 * i + 1] = digits[id[i] & 15];
	}
	coati_elf_close(&elf);
	return text_id(o, text);
}

/* The next word of a line, terminated; *@at behind it. */
static char *next_word(char **at)
{
	char *word;

	while (**at == ' ')
		(*at)++;
	word = *at;
	while (**at && **at != ' ')
		(*at)++;
	if (**at)
		*(*at)++ = '\0';
	return word;
}

/* start-end perms offset dev inode path */
static void add_mapping(struct out *o, char *line)
{
	struct mapping m = { 0 }, *grown;
	char *range = next_word(&line), *dash = strchr(range, '-'), *perms = next_word(&line);
	char *offset = next_word(&line);

	next_word(&line);
	next_word(&line);
	while (*line == ' ')
		line++;
	if (!dash || !strchr(perms, 'x'))
		return;
	*dash = '\0';
	if (coati_parse_hex(range, &m.start) < 0 || coati_parse_hex(dash + 1, &m.end) < 0 ||
	    coati_parse_hex(offset, &m.offset) < 0)
		return;
	m.path = text_id(o, line);
	m.build_id = build_id_text(o, line);
	if (o->names)
		coati_sampler_names_open(&m.names, line); /* without: addresses */
	grown = coati_realloc_array(o->mappings, o->nr_mappings + 1, sizeof(*grown));
	if (!grown) {
		coati_sampler_names_close(&m.names);
		o->failed = -ENOMEM;
		return;
	}
	o->mappings = grown;
	o->mappings[o->nr_mappings++] = m;
}

static int read_mappings(struct out *o)
{
	struct strbuf maps = STRBUF_INIT(MAPS_BYTES_MAX);
	char *line, *rest;
	int r = coati_file_read(AT_FDCWD, "/proc/self/maps", &maps);

	for (rest = maps.text; r >= 0 && *rest;) {
		line = rest;
		rest += strcspn(rest, "\n");
		if (*rest)
			*rest++ = '\0';
		add_mapping(o, line);
	}
	coati_strbuf_fini(&maps);
	return r < 0 ? r : 0;
}

static void put_mappings(struct out *o)
{
	for (uint32_t i = 0; i < o->nr_mappings; i++) {
		const struct mapping *m = &o->mappings[i];

		put_uint(&o->message, 1, i + 1);
		put_uint(&o->message, 2, m->start);
		put_uint(&o->message, 3, m->end);
		put_uint(&o->message, 4, m->offset);
		put_uint(&o->message, 5, m->path);
		put_uint(&o->message, 6, m->build_id);
		put_uint(&o->message, 7, m->names.len > 0);
		put_message(o, P_MAPPING);
	}
}

/* Its number, 0 when there is none. They ascend. */
static uint32_t mapping_of(const struct out *o, uint64_t addr)
{
	uint32_t low = 0, high = o->nr_mappings;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (addr >= o->mappings[mid].end)
			low = mid + 1;
		else
			high = mid;
	}
	return low < o->nr_mappings && addr >= o->mappings[low].start ? low + 1 : 0;
}

/* ---- samples ---- */

/* 0 when it has no name. */
static uint64_t function_of(struct out *o, const struct mapping *m, uint64_t addr)
{
	uint64_t into, id, name;
	const struct sampler_name *n =
		coati_sampler_names_find(&m->names, addr - m->start + m->offset, &into);

	if (!n)
		return 0;
	if (coati_map_get(&o->function_ids, addr - into, &id))
		return id;
	id = o->function_ids.len + 1;
	if (coati_map_put(&o->function_ids, addr - into, id) < 0) {
		o->failed = -E2BIG;
		return 0;
	}
	name = text_id(o, n->name);
	put_uint(&o->message, 1, id);
	put_uint(&o->message, 2, name);
	put_uint(&o->message, 3, name);
	put_message(o, P_FUNCTION);
	return id;
}

/* 0 when the address lies in no code. */
static uint64_t location_of(struct out *o, uint64_t addr)
{
	uint32_t mapping = mapping_of(o, addr);
	uint64_t id, function;

	if (!mapping)
		return 0;
	if (coati_map_get(&o->location_ids, addr, &id))
		return id;
	id = o->location_ids.len + 1;
	if (coati_map_put(&o->location_ids, addr, id) < 0) {
		o->failed = -E2BIG;
		return 0;
	}
	function = function_of(o, &o->mappings[mapping - 1], addr);
	if (function) {
		put_uint(&o->inner, 1, function);
		put_inner(o, 4);
	}
	put_uint(&o->message, 1, id);
	put_uint(&o->message, 2, mapping);
	put_uint(&o->message, 3, addr);
	put_message(o, P_LOCATION);
	return id;
}

static void put_labels(struct out *o, const struct sampler_stack *s)
{
	struct coati_labels labels = { .size = 0 };
	size_t bytes = (s->len - s->nr_frames) * sizeof(s->words[0]);
	char value[COATI_LABEL_VALUE_BYTES + 1];
	struct coati_label_item item;
	uint32_t pos = 0;

	memcpy(&labels, s->words + s->nr_frames, bytes < sizeof(labels) ? bytes : sizeof(labels));
	while (coati_labels_next(&labels, &pos, &item) == 1) {
		uint32_t size = item.size < sizeof(value) ? item.size : sizeof(value) - 1;

		memcpy(value, item.value, size);
		value[size] = '\0';
		put_uint(&o->inner, 1, text_id(o, item.key));
		put_uint(&o->inner, 2, text_id(o, value));
		put_inner(o, 3);
	}
}

static void put_sample(struct out *o, const struct sampler_stack *s, uint64_t period_ns)
{
	uint64_t ids[SAMPLER_DEPTH_MAX], thread = text_id(o, "thread");
	uint32_t n = 0;

	for (; n < s->nr_frames && n < SAMPLER_DEPTH_MAX; n++) {
		/* callers: into the call, not behind it. What is no code was no frame pointer, and nor is what it led to. */
		ids[n] = location_of(o, s->words[n] - (n > 0));
		if (!ids[n] && n > 0)
			break;
	}
	for (uint32_t i = 0; i < n; i++)
		if (ids[i])
			put_varint(&o->inner, ids[i]);
	put_inner(o, 1);
	put_varint(&o->inner, s->periods);
	put_varint(&o->inner, s->periods * period_ns);
	put_inner(o, 2);
	put_uint(&o->inner, 1, thread);
	put_uint(&o->inner, 3, s->tid);
	put_uint(&o->inner, 4, text_id(o, "id"));
	put_inner(o, 3);
	put_labels(o, s);
	put_message(o, P_SAMPLE);
}

static void put_value_type(struct out *o, uint32_t field, const char *type, const char *unit)
{
	put_uint(&o->message, 1, text_id(o, type));
	put_uint(&o->message, 2, text_id(o, unit));
	put_message(o, field);
}

static void put_comment(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put_comment(struct out *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	coati_strbuf_vprintf(&o->inner, fmt, ap);
	va_end(ap);
	put_uint(o->to, P_COMMENT, text_id(o, o->inner.text));
	coati_strbuf_clear(&o->inner);
}

static void put_comments(struct out *o, const struct sampler_profile *p)
{
	const struct coati_sampler_stats *s = p->stats;

	if (s->engine == COATI_SAMPLER_PERF)
		put_comment(
			o,
			"engine: perf task-clock on every thread at %u Hz; threads that use less than %llu ns of CPU time in all are not seen",
			p->rate_hz, (unsigned long long)s->period_ns);
	else
		put_comment(
			o,
			"engine: one timer over the CPU time of the process at %u Hz, looked at by the kernel at its tick; shares of threads may be skewed",
			p->rate_hz);
	if (p->why[0])
		put_comment(o, "a better engine could not be had: %s", p->why);
	if (p->no_kernel)
		put_comment(
			o,
			"time inside the kernel is not sampled: kernel.perf_event_paranoid forbids it");
	if (p->replaced)
		put_comment(
			o,
			"the program replaced the handler of the signal while it was sampled: samples are missing");
	put_comment(o, "samples: %llu taken, %llu lost, %llu with a stack that is cut",
		    (unsigned long long)s->samples, (unsigned long long)s->lost,
		    (unsigned long long)s->cut);
}

static int put_profile(struct out *o, const struct sampler_profile *p)
{
	int r;

	text_id(o, ""); /* the first one must be */
	r = read_mappings(o);
	if (r < 0)
		return r;
	put_value_type(o, P_SAMPLE_TYPE, "samples", "count");
	put_value_type(o, P_SAMPLE_TYPE, "cpu", "nanoseconds");
	put_mappings(o);
	for (const struct sampler_stack *s = p->fold->first; s; s = s->next)
		put_sample(o, s, p->stats->period_ns);
	put_uint(o->to, P_TIME, p->time_ns);
	put_uint(o->to, P_DURATION, p->duration_ns);
	put_value_type(o, P_PERIOD_TYPE, "cpu", "nanoseconds");
	put_uint(o->to, P_PERIOD, p->stats->period_ns);
	put_comments(o, p);
	return o->failed ? o->failed : o->to->failed;
}

/* ---- gzip ---- */

static uint32_t crc32_of(const uint8_t *bytes, size_t size)
{
	uint32_t table[256], crc = UINT32_MAX;

	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
		table[i] = c;
	}
	for (size_t i = 0; i < size; i++)
		crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
	return ~crc;
}

static void put_le(struct strbuf *s, uint32_t v, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		coati_strbuf_addc(s, (char)(v >> 8 * i));
}

static void put_gzip(struct strbuf *ret, const struct strbuf *from)
{
	static const char head[10] = { 0x1f, (char)0x8b, 8, 0, 0, 0, 0, 0, 0, 3 };
	size_t at = 0;

	coati_strbuf_add(ret, head, sizeof(head));
	do {
		size_t size = from->len - at < STORED_MAX ? from->len - at : STORED_MAX;

		put_le(ret, at + size == from->len, 1);
		put_le(ret, (uint32_t)size, 2);
		put_le(ret, ~(uint32_t)size, 2);
		coati_strbuf_add(ret, from->text + at, size);
		at += size;
	} while (at < from->len);
	put_le(ret, crc32_of((const uint8_t *)from->text, from->len), 4);
	put_le(ret, (uint32_t)from->len, 4);
}

int coati_sampler_write_pprof(const struct sampler_profile *p, struct strbuf *ret)
{
	struct strbuf profile = STRBUF_INIT(ret->max);
	struct out o = { .to = &profile,
			 .names = p->names,
			 .message = STRBUF_INIT(TEXT_MAX),
			 .inner = STRBUF_INIT(TEXT_MAX) };
	int r;

	coati_arena_init(&o.texts, MAPS_BYTES_MAX);
	coati_map_init_strings(&o.text_ids, TEXT_MAX);
	coati_map_init(&o.location_ids, LOCATIONS_MAX);
	coati_map_init(&o.function_ids, LOCATIONS_MAX);
	r = put_profile(&o, p);
	if (r == 0)
		put_gzip(ret, &profile);
	for (uint32_t i = 0; i < o.nr_mappings; i++)
		coati_sampler_names_close(&o.mappings[i].names);
	coati_map_fini(&o.function_ids);
	coati_map_fini(&o.location_ids);
	coati_map_fini(&o.text_ids);
	coati_arena_fini(&o.texts);
	coati_free(o.mappings);
	coati_strbuf_fini(&o.inner);
	coati_strbuf_fini(&o.message);
	coati_strbuf_fini(&profile);
	return r ? r : ret->failed;
}
