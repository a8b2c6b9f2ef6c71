/* SPDX-License-Identifier: MIT */
/*
 * A payload comes in, answers of its image go out (docs/formats/symbols.md). The bytes are a
 * stranger's: the whole payload is walked before the first answer is kept, every count is held
 * against the bytes that are left, and text is made fit for a terminal.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/leb128.h"
#include "image/image.h"
#include "image/pack.h"

#define FRAMES_MAX 256 /* of one address */

struct pack_text {
	const uint8_t *at;
	uint64_t len;
	const char *kept; /* in the image's arena */
};

struct unpack {
	struct coati_image_ref ref;
	char path[IMAGE_PATH_MAX + 1];
	struct pack_text *strings;
	struct pack_name *names;
	uint64_t nr_strings, nr_names, nr_addresses;
	struct cursor addresses; /* over all of them, checked */
	struct cursor times;	 /* one for each, where there are some */
	bool has_times;
	struct image_segment segments[IMAGE_SEGMENTS_MAX];
	uint32_t nr_segments;
};

/* A count of things of at least @bytes each. */
static uint64_t read_count(struct cursor *c, size_t bytes)
{
	uint64_t nr = cursor_uleb(c);

	if (nr > cursor_left(c) / bytes)
		c->bad = true;
	return c->bad ? 0 : nr;
}

static bool read_head(struct unpack *u, struct cursor *c)
{
	const uint8_t *mark = cursor_bytes(c, PACK_MARK_BYTES), *id, *path;
	uint64_t kind = cursor_uleb(c), id_size = cursor_uleb(c), pid, maj, min, len;

	u->has_times = mark && memcmp(mark, PACK_MARK_TIMES, PACK_MARK_BYTES) == 0;
	if (!mark || (!u->has_times && memcmp(mark, PACK_MARK, PACK_MARK_BYTES) != 0) ||
	    kind > COATI_IMAGE_ANON || id_size > COATI_BUILD_ID_MAX)
		return false;
	/* what lies in files is not replaced */
	if (u->has_times && !is_changing_code((enum coati_image_kind)kind) &&
	    kind != COATI_IMAGE_KERNEL)
		return false;
	u->ref = (struct coati_image_ref){ .size = sizeof(u->ref),
					   .kind = (enum coati_image_kind)kind,
					   .build_id_size = (uint32_t)id_size,
					   .path = u->path };
	id = cursor_bytes(c, id_size);
	if (id)
		memcpy(u->ref.build_id, id, id_size);
	pid = cursor_uleb(c);
	maj = cursor_uleb(c);
	min = cursor_uleb(c);
	u->ref.ino = cursor_uleb(c);
	u->ref.ino_generation = cursor_uleb(c);
	len = cursor_uleb(c);
	path = len <= IMAGE_PATH_MAX ? cursor_bytes(c, len) : NULL;
	if (!path || c->bad || memchr(path, 0, len) || pid > INT32_MAX || maj > UINT32_MAX ||
	    min > UINT32_MAX)
		return false;
	memcpy(u->path, path, len);
	u->ref.pid = (int32_t)pid;
	u->ref.maj = (uint32_t)maj;
	u->ref.min = (uint32_t)min;
	return true;
}

static int read_strings(struct unpack *u, struct cursor *c)
{
	u->nr_strings = read_count(c, 1);
	u->strings = coati_alloc_array(u->nr_strings + 1, sizeof(*u->strings));
	if (!u->strings)
		return -ENOMEM;
	for (uint64_t i = 1; i <= u->nr_strings; i++) {
		struct pack_text *t = &u->strings[i];

		t->len = cursor_uleb(c);
		t->at = cursor_bytes(c, t->len);
		if (!t->at || memchr(t->at, 0, t->len))
			return -EBADMSG;
	}
	return c->bad ? -EBADMSG : 0;
}

static bool is_name_sound(const struct unpack *u, const struct pack_name *n)
{
	return n->symbol <= u->nr_strings && n->function <= u->nr_strings &&
	       n->file <= u->nr_strings && (n->symbol || n->function) && n->line <= UINT32_MAX &&
	       n->column <= UINT32_MAX && n->decl_line <= UINT32_MAX && n->flags <= UINT32_MAX;
}

static int read_names(struct unpack *u, struct cursor *c)
{
	uint64_t numbers[PACK_NUMBERS];

	u->nr_names = read_count(c, PACK_NUMBERS);
	u->names = coati_alloc_array(u->nr_names + 1, sizeof(*u->names));
	if (!u->names)
		return -ENOMEM;
	for (uint64_t i = 0; i < u->nr_names; i++) {
		for (unsigned int k = 0; k < PACK_NUMBERS; k++)
			numbers[k] = cursor_uleb(c);
		memcpy(&u->names[i], numbers, sizeof(numbers));
		if (!is_name_sound(u, &u->names[i]))
			return -EBADMSG;
	}
	return c->bad ? -EBADMSG : 0;
}

/* The head of one address; moves to its names. */
static uint32_t read_address(struct cursor *c, uint64_t *address, uint32_t *ret_asked)
{
	uint64_t asked, nr;

	if (__builtin_add_overflow(*address, cursor_uleb(c), address))
		c->bad = true;
	asked = cursor_uleb(c);
	nr = cursor_uleb(c);
	if (asked > UINT32_MAX || !nr || nr > FRAMES_MAX)
		c->bad = true;
	*ret_asked = (uint32_t)asked;
	return c->bad ? 0 : (uint32_t)nr;
}

/* Once over all addresses, so that keeping them cannot fail on their account. */
static int check_addresses(struct unpack *u, struct cursor *c)
{
	uint64_t address = 0;
	uint32_t asked;

	u->nr_addresses = read_count(c, 4);
	u->addresses = *c;
	for (uint64_t i = 0; i < u->nr_addresses && !c->bad; i++) {
		uint32_t nr = read_address(c, &address, &asked);

		while (nr--)
			if (cursor_uleb(c) >= u->nr_names)
				c->bad = true;
	}
	u->times = *c;
	for (uint64_t i = 0; i < u->nr_addresses && u->has_times && !c->bad; i++)
		cursor_uleb(c);
	return c->bad ? -EBADMSG : 0;
}

/* Behind the rest, where older writers have nothing: what is malformed there is left alone. */
static void read_segments(struct unpack *u, struct cursor *c)
{
	uint64_t nr = cursor_left(c) ? read_count(c, 3) : 0;

	if (nr > IMAGE_SEGMENTS_MAX)
		return;
	for (uint64_t i = 0; i < nr; i++) {
		struct image_segment *s = &u->segments[i];

		s->offset = cursor_uleb(c);
		s->size = cursor_uleb(c);
		s->vaddr = cursor_uleb(c);
		if (s->size > UINT64_MAX - s->offset || s->size > UINT64_MAX - s->vaddr)
			return;
	}
	u->nr_segments = c->bad ? 0 : (uint32_t)nr;
}

static int parse(struct unpack *u, const void *payload, size_t size)
{
	struct cursor c = cursor_over(payload, size);
	int r = read_head(u, &c) ? 0 : -EBADMSG;

	if (r == 0)
		r = read_strings(u, &c);
	if (r == 0)
		r = read_names(u, &c);
	if (r == 0)
		r = check_addresses(u, &c);
	if (r == 0)
		read_segments(u, &c);
	return r;
}

/* A string as text of the image, made once. NULL and 0 bytes of failure: there is none. */
static bool keep_string(struct coati_image *im, struct unpack *u, uint64_t i, const char **ret)
{
	struct pack_text *t = &u->strings[i];
	char *text;

	*ret = NULL;
	if (!i)
		return true;
	if (!t->kept) {
		text = coati_arena_strndup(&im->arena, (const char *)t->at, t->len);
		if (!text)
			return false;
		coati_make_printable(text);
		t->kept = text;
	}
	*ret = t->kept;
	return true;
}

static bool keep_name(struct coati_image *im, struct unpack *u, const struct pack_name *from,
		      struct coati_name *to)
{
	*to = (struct coati_name){ .line = (uint32_t)from->line,
				   .column = (uint32_t)from->column,
				   .decl_line = (uint32_t)from->decl_line,
				   .start = from->start,
				   .length = from->length,
				   .flags = (uint32_t)from->flags };
	if (!keep_string(im, u, from->symbol, &to->symbol) ||
	    !keep_string(im, u, from->function, &to->function) ||
	    !keep_string(im, u, from->file, &to->file))
		return false;
	if (!to->function)
		to->function = coati_image_readable(im, to->symbol);
	return to->function;
}

/* Of code that is replaced names are kept by time, of the rest as they are. */
static int keep_answer(struct coati_image *im, uint64_t address, uint64_t from,
		       const struct answer *a)
{
	if (!from && !is_changing_code(im->kind))
		return coati_image_put_answer(im, address, a);
	return coati_versions_add(&im->told, &(struct version){ .vaddr = address,
								.from = from,
								.names = a->names,
								.nr = a->nr });
}

/* How many names of an address: all, or when inlined functions would take too much memory that of
 * the function as linked. */
static uint32_t count_kept(struct coati_image *im, uint32_t nr)
{
	struct coati_images *all = im->all;

	if (nr <= 1)
		return nr;
	if (nr - 1 > IMAGE_INLINES_MAX - all->packed_inlines) {
		coati_image_blame(im,
				  "more than %llu inlined functions came with the recording: "
				  "the rest is shown as linked",
				  (unsigned long long)IMAGE_INLINES_MAX);
		return 1;
	}
	all->packed_inlines += nr - 1;
	return nr;
}

static int keep_answers(struct coati_image *im, struct unpack *u, const struct coati_name *names)
{
	struct cursor c = u->addresses, times = u->times;
	uint64_t address = 0;

	for (uint64_t i = 0; i < u->nr_addresses; i++) {
		struct answer a = { .packed = true };
		struct coati_name *list;
		int r;

		uint32_t nr = read_address(&c, &address, &a.asked), kept = count_kept(im, nr);

		list = coati_arena_alloc(&im->arena, kept * sizeof(*list));
		if (!list)
			return -ENOMEM;
		for (uint32_t k = 0; k < nr; k++) {
			const struct coati_name *name = &names[cursor_uleb(&c)];

			/* the outermost are kept */
			if (k >= nr - kept)
				list[k - (nr - kept)] = *name;
		}
		a.names = list;
		a.nr = kept;
		r = keep_answer(im, address, u->has_times ? cursor_uleb(&times) : 0, &a);
		if (r < 0)
			return r;
	}
	im->packed = true;
	return 0;
}

static int keep(struct coati_images *images, struct unpack *u)
{
	CLEANUP(freep)
	struct coati_name *names = coati_alloc_array(u->nr_names + 1, sizeof(*names));
	struct coati_image *im;
	uint32_t image;
	int r;

	if (!names)
		return -ENOMEM;
	r = coati_images_get(images, &u->ref, &image, NULL);
	if (r < 0)
		return r;
	im = coati_image_at(images, image);
	if (u->nr_segments) {
		memcpy(im->segments, u->segments, sizeof(im->segments));
		im->nr_segments = u->nr_segments;
	}
	for (uint64_t i = 0; i < u->nr_names; i++)
		if (!keep_name(im, u, &u->names[i], &names[i]))
			return -ENOMEM;
	return keep_answers(im, u, names);
}

int coati_images_unpack(struct coati_images *images, const void *payload, size_t size)
{
	struct unpack u = { 0 };
	int r = size <= PACK_PAYLOAD_MAX ? parse(&u, payload, size) : -EBADMSG;

	if (r == 0)
		r = keep(images, &u);
	coati_free(u.strings);
	coati_free(u.names);
	return r;
}
