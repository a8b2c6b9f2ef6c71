/* SPDX-License-Identifier: MIT */
/*
 * Answers come in, payloads go out (docs/formats/symbols.md). Addresses are added in their order as
 * long as the worst case of the next one fits; strings and names are written once for each payload.
 * The same answers give the same bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/leb128.h"
#include "base/map.h"
#include "image/image.h"
#include "image/pack.h"

#define HEAD_MAX  (IMAGE_PATH_MAX + 128)
#define COUNT_MAX 3 /* bytes of a count in a payload of 32 KiB */
#define CUT	  "..."

/* A payload that is being filled. Its three lists grow side by side. */
struct pack {
	const struct coati_image *im;
	coati_pack_fn fn;
	void *ctx;
	uint8_t *payload; /* where all is joined */
	struct writer head, strings, names, addresses, times;
	uint8_t segments[(3 * IMAGE_SEGMENTS_MAX + 1) * LEB128_MAX]; /* as they are written */
	size_t segments_bytes;
	struct map string_index;   /* text to place */
	struct map name_index;	   /* hash to place */
	struct arena texts;	   /* of strings that were cut, and keys */
	struct pack_name *written; /* the names so far */
	uint64_t nr_strings, nr_names, nr_addresses, last_address;
	bool has_times; /* one of the addresses has another name at another time */
};

static void clear(struct pack *p)
{
	p->strings.len = p->names.len = p->addresses.len = p->times.len = 0;
	p->has_times = false;
	p->nr_strings = p->nr_names = p->nr_addresses = p->last_address = 0;
	coati_map_fini(&p->string_index);
	coati_map_fini(&p->name_index);
	coati_map_init_strings(&p->string_index, PACK_PAYLOAD_MAX);
	coati_map_init(&p->name_index, PACK_PAYLOAD_MAX);
	coati_arena_fini(&p->texts);
	coati_arena_init(&p->texts, 16 * PACK_PAYLOAD_MAX);
}

static void write_head(struct pack *p)
{
	const struct coati_image *im = p->im;
	size_t path = strlen(im->path);

	p->head.len = 0;
	writer_uleb(&p->head, im->kind);
	writer_uleb(&p->head, im->build_id_size);
	writer_bytes(&p->head, im->build_id, im->build_id_size);
	writer_uleb(&p->head, (uint32_t)im->pid);
	writer_uleb(&p->head, im->maj);
	writer_uleb(&p->head, im->min);
	writer_uleb(&p->head, im->ino);
	writer_uleb(&p->head, im->ino_generation);
	writer_uleb(&p->head, path);
	writer_bytes(&p->head, im->path, path);
}

/* Addresses are the file's own; records tell offsets in the file. */
static void write_segments(struct pack *p)
{
	struct writer w = writer_over(p->segments, sizeof(p->segments));
	struct image_segment s[IMAGE_SEGMENTS_MAX];
	uint32_t nr = coati_image_segments(p->im, s);

	p->segments_bytes = 0;
	if (!nr)
		return;
	writer_uleb(&w, nr);
	for (uint32_t i = 0; i < nr; i++) {
		writer_uleb(&w, s[i].offset);
		writer_uleb(&w, s[i].size);
		writer_uleb(&w, s[i].vaddr);
	}
	p->segments_bytes = w.len;
}

static size_t used(const struct pack *p)
{
	return PACK_MARK_BYTES + p->head.len + p->strings.len + p->names.len + p->addresses.len +
	       p->times.len + p->segments_bytes + 3 * COUNT_MAX;
}

/* Join the lists and hand them out. */
static int flush(struct pack *p)
{
	struct writer w = writer_over(p->payload, PACK_PAYLOAD_MAX);

	if (!p->nr_addresses)
		return 0;
	writer_bytes(&w, p->has_times ? PACK_MARK_TIMES : PACK_MARK, PACK_MARK_BYTES);
	writer_bytes(&w, p->head.start, p->head.len);
	writer_uleb(&w, p->nr_strings);
	writer_bytes(&w, p->strings.start, p->strings.len);
	writer_uleb(&w, p->nr_names);
	writer_bytes(&w, p->names.start, p->names.len);
	writer_uleb(&w, p->nr_addresses);
	writer_bytes(&w, p->addresses.start, p->addresses.len);
	if (p->has_times)
		writer_bytes(&w, p->times.start, p->times.len);
	writer_bytes(&w, p->segments, p->segments_bytes);
	clear(p);
	return w.full ? -E2BIG : p->fn(p->ctx, w.start, w.len);
}

/* The symbol tells the function too, unless that is more than its readable form. */
static const char *own_function(const struct coati_name *n)
{
	return n->symbol && !(n->flags & COATI_NAME_PLT) ? NULL : n->function;
}

static size_t text_bytes(const char *text, size_t cap)
{
	size_t len = text ? strnlen(text, cap + 1) : 0;

	return (len > cap ? cap : len) + COUNT_MAX;
}

/* What an answer can take at most, strings cut at @cap. */
static size_t worst_bytes(const struct version *a, size_t cap)
{
	size_t bytes = 4 * LEB128_MAX;

	for (uint32_t i = 0; i < a->nr; i++) {
		const struct coati_name *n = &a->names[i];

		bytes += COUNT_MAX + 3 * COUNT_MAX + 2 * LEB128_MAX + 4 * 5;
		bytes += text_bytes(n->symbol, cap) + text_bytes(own_function(n), cap) +
			 text_bytes(n->file, cap);
	}
	return bytes;
}

/* The place of @text among the strings, from 1; 0: there is no text. */
static int put_string(struct pack *p, const char *text, size_t cap, uint64_t *ret)
{
	size_t len;

	*ret = 0;
	if (!text)
		return 0;
	len = strnlen(text, cap + 1);
	if (len > cap) {
		text = coati_arena_printf(&p->texts, "%.*s" CUT, (int)(cap - strlen(CUT)), text);
		if (!text)
			return -ENOMEM;
		len = cap;
	}
	if (coati_map_get_str(&p->string_index, text, ret))
		return 0;
	*ret = ++p->nr_strings;
	if (coati_map_put_str(&p->string_index, text, *ret) < 0)
		return -ENOMEM;
	writer_uleb(&p->strings, len);
	writer_bytes(&p->strings, text, len);
	return 0;
}

/* The place of the name, from 0. */
static int put_name(struct pack *p, const struct coati_name *n, size_t cap, uint64_t *ret)
{
	struct pack_name name = { .line = n->line,
				  .column = n->column,
				  .decl_line = n->decl_line,
				  .start = n->start,
				  .length = n->length,
				  .flags = n->flags };
	uint64_t hash, numbers[PACK_NUMBERS];

	if (put_string(p, n->symbol, cap, &name.symbol) < 0 ||
	    put_string(p, own_function(n), cap, &name.function) < 0 ||
	    put_string(p, n->file, cap, &name.file) < 0)
		return -ENOMEM;
	hash = coati_hash_bytes(&name, sizeof(name), 0);
	if (coati_map_get(&p->name_index, hash, ret) &&
	    !memcmp(&p->written[*ret], &name, sizeof(name)))
		return 0;
	*ret = p->nr_names++;
	p->written[*ret] = name;
	if (coati_map_put(&p->name_index, hash, *ret) < 0)
		return -ENOMEM;
	memcpy(numbers, &name, sizeof(numbers));
	for (unsigned int i = 0; i < PACK_NUMBERS; i++)
		writer_uleb(&p->names, numbers[i]);
	return 0;
}

static int put_address(struct pack *p, const struct version *a)
{
	static const size_t caps[] = { 8192, 1024, 128 };
	size_t cap = 0, worst = 0;
	uint64_t place;
	int r;

	for (unsigned int i = 0;
	     i < 3 && (!cap || worst + p->head.len + p->segments_bytes + 13 > PACK_PAYLOAD_MAX);
	     i++) {
		cap = caps[i];
		worst = worst_bytes(a, cap);
	}
	if (used(p) + worst > PACK_PAYLOAD_MAX) {
		r = flush(p);
		if (r)
			return r;
		/* 128 characters a string and 64 frames fit behind any path but the longest */
		if (used(p) + worst > PACK_PAYLOAD_MAX)
			return 0;
	}
	writer_uleb(&p->times, a->from);
	p->has_times |= a->from != 0;
	writer_uleb(&p->addresses, a->vaddr - p->last_address);
	writer_uleb(&p->addresses, a->asked);
	writer_uleb(&p->addresses, a->nr);
	p->last_address = a->vaddr;
	p->nr_addresses++;
	for (uint32_t i = 0; i < a->nr; i++) {
		r = put_name(p, &a->names[i], cap, &place);
		if (r < 0)
			return r;
		writer_uleb(&p->addresses, place);
	}
	return 0;
}

static size_t copy_versions(struct versions *from, struct version *to)
{
	size_t nr;
	const struct version *v = coati_versions_all(from, &nr);

	if (nr)
		memcpy(to, v, nr * sizeof(*to));
	return nr;
}

/* All answers of the image, by address and time. */
static struct version *sorted_answers(struct coati_image *im, size_t *ret_nr)
{
	size_t max = im->answers.len + im->told.list.len + im->made.list.len, nr = 0, pos = 0;
	struct version *v = coati_alloc_array(max + 1, sizeof(*v));
	uint64_t vaddr, value;

	if (!v)
		return NULL;
	while (nr < im->answers.len && coati_map_next(&im->answers, &pos, &vaddr, &value)) {
		const struct answer *a = (const struct answer *)(uintptr_t)value;

		v[nr++] = (struct version){
			.vaddr = vaddr, .names = a->names, .nr = a->nr, .asked = a->asked
		};
	}
	nr += copy_versions(&im->told, v + nr);
	nr += copy_versions(&im->made, v + nr);
	qsort(v, nr, sizeof(*v), coati_version_compare);
	*ret_nr = nr;
	return v;
}

static bool has_answers(const struct coati_image *im)
{
	return im->answers.len || im->told.list.len || im->made.list.len;
}

static int pack_image(struct pack *p, struct coati_image *im)
{
	size_t nr = 0;
	CLEANUP(freep) struct version *answers = sorted_answers(im, &nr);
	int r = answers ? 0 : -ENOMEM;

	p->im = im;
	clear(p);
	write_head(p);
	write_segments(p);
	for (size_t i = 0; i < nr && r == 0; i++)
		r = put_address(p, &answers[i]);
	return r ? r : flush(p);
}

int coati_images_pack(struct coati_images *images, coati_pack_fn fn, void *ctx)
{
	CLEANUP(freep) uint8_t *room = coati_alloc(5 * (size_t)PACK_PAYLOAD_MAX + HEAD_MAX);
	CLEANUP(freep)
	struct pack_name *written =
		coati_alloc_array(PACK_PAYLOAD_MAX / PACK_NUMBERS + 1, sizeof(*written));
	struct pack p = { .fn = fn, .ctx = ctx, .payload = room, .written = written };
	int r = 0;

	if (!room || !written)
		return -ENOMEM;
	p.strings = writer_over(room + PACK_PAYLOAD_MAX, PACK_PAYLOAD_MAX);
	p.names = writer_over(room + 2 * (size_t)PACK_PAYLOAD_MAX, PACK_PAYLOAD_MAX);
	p.addresses = writer_over(room + 3 * (size_t)PACK_PAYLOAD_MAX, PACK_PAYLOAD_MAX);
	p.times = writer_over(room + 4 * (size_t)PACK_PAYLOAD_MAX, PACK_PAYLOAD_MAX);
	p.head = writer_over(room + 5 * (size_t)PACK_PAYLOAD_MAX, HEAD_MAX);
	for (size_t i = 0; i < images->v.len && r == 0; i++)
		if (has_answers(images->v.v[i]))
			r = pack_image(&p, images->v.v[i]);
	coati_map_fini(&p.string_index);
	coati_map_fini(&p.name_index);
	coati_arena_fini(&p.texts);
	return r;
}
