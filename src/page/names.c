/* SPDX-License-Identifier: MIT */
/* see names.h */
#include "page/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "profile/walk.h"
#include "reading/hooks.h"
#include "reading/parts.h"

#define NAMES_MAX ((size_t)1 << 26)
#define TEXT_MAX  4096

int coati_page_names_init(struct page_names *n)
{
	*n = (struct page_names){ 0 };
	coati_map_init_strings(&n->text_index, NAMES_MAX);
	coati_map_init(&n->function_index, NAMES_MAX);
	coati_map_init(&n->frame_index, NAMES_MAX);
	coati_map_init(&n->node_index, NAMES_MAX);
	n->texts.max = n->functions.max = n->frames.max = n->nodes.max = NAMES_MAX;
	coati_page_text(n, "");
	if (!ARRAY_ADD(&n->nodes))
		n->failed = -ENOMEM;
	return n->failed;
}

void coati_page_names_fini(struct page_names *n)
{
	for (size_t i = 0; i < n->texts.len; i++)
		coati_free(n->texts.v[i]);
	ARRAY_FINI(&n->texts);
	ARRAY_FINI(&n->functions);
	ARRAY_FINI(&n->frames);
	ARRAY_FINI(&n->nodes);
	coati_map_fini(&n->text_index);
	coati_map_fini(&n->function_index);
	coati_map_fini(&n->frame_index);
	coati_map_fini(&n->node_index);
}

static uint32_t fail(struct page_names *n, int code)
{
	n->failed = code;
	return 0;
}

uint32_t coati_page_text(struct page_names *n, const char *text)
{
	uint64_t known;
	char **slot;

	if (n->failed)
		return 0;
	if (coati_map_get_str(&n->text_index, text, &known))
		return (uint32_t)known;
	slot = ARRAY_ADD(&n->texts);
	if (slot)
		*slot = coati_strdup(text);
	if (!slot || !*slot || coati_map_put_str(&n->text_index, *slot, n->texts.len - 1) < 0)
		return fail(n, -ENOMEM);
	return (uint32_t)n->texts.len - 1;
}

/* Frames of the kernel and of programs with the same name in the same image are one function. */
static uint32_t find_function(struct page_names *n, const struct coati_view_frame *f)
{
	uint32_t name = coati_page_text(n, f->function), image = coati_page_text(n, f->image);
	uint64_t key = (uint64_t)name << 32 | image, known;
	struct page_function *new;

	if (coati_map_get(&n->function_index, key, &known))
		return (uint32_t)known;
	new = ARRAY_ADD(&n->functions);
	if (!new || coati_map_put(&n->function_index, key, n->functions.len - 1) < 0)
		return fail(n, -ENOMEM);
	*new = (struct page_function){ .name = name, .image = image, .decl_line = f->decl_line };
	return (uint32_t)n->functions.len - 1;
}

static uint32_t flags_of(const struct coati_view_frame *f)
{
	return (f->flags & COATI_NAME_INLINE ? PAGE_FRAME_INLINE : 0) |
	       (f->flags & COATI_NAME_SYNTHETIC ? PAGE_FRAME_NO_SYMBOL : 0) |
	       (f->location_flags & COATI_LOCATION_KERNEL ? PAGE_FRAME_KERNEL : 0) |
	       (f->location_flags & COATI_LOCATION_TRUNCATED ? PAGE_FRAME_TRUNCATED : 0) |
	       (f->location_flags & COATI_LOCATION_OFF_CPU ? PAGE_FRAME_OFF_CPU : 0);
}

/* Frames differ by line, not by address: that is what people look at. */
static uint32_t find_frame(struct page_names *n, const struct coati_view_frame *f)
{
	struct page_frame new = { .function = find_function(n, f),
				  .file = f->file ? coati_page_text(n, f->file) : 0,
				  .line = f->file ? f->line : 0,
				  .flags = flags_of(f) };
	uint64_t key = coati_hash_bytes(&new, sizeof(new), 0), known;
	struct page_frame *slot;

	for (; coati_map_get(&n->frame_index, key, &known); key++)
		if (!memcmp(&n->frames.v[known], &new, sizeof(new)))
			return (uint32_t)known;
	slot = ARRAY_ADD(&n->frames);
	if (!slot || coati_map_put(&n->frame_index, key, n->frames.len - 1) < 0)
		return fail(n, -ENOMEM);
	*slot = new;
	return (uint32_t)n->frames.len - 1;
}

static uint32_t find_node(struct page_names *n, uint32_t parent, uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame, known;
	struct page_node *slot;

	if (coati_map_get(&n->node_index, key, &known))
		return (uint32_t)known;
	slot = ARRAY_ADD(&n->nodes);
	if (!slot || coati_map_put(&n->node_index, key, n->nodes.len - 1) < 0)
		return fail(n, -ENOMEM);
	*slot = (struct page_node){ .parent = parent, .frame = frame };
	return (uint32_t)n->nodes.len - 1;
}

/* ---- stacks ---- */

int coati_page_stacks_init(struct page_stacks *s, const struct coati_view *view,
			   const struct coati_profile *p)
{
	*s = (struct page_stacks){ .view = view, .nr_stacks = coati_profile_stack_count(p) };
	s->frames = coati_alloc_array((size_t)coati_view_frame_count(view) + 1, sizeof(*s->frames));
	s->nodes = coati_alloc_array((size_t)s->nr_stacks + 1, sizeof(*s->nodes));
	return s->frames && s->nodes ? 0 : -ENOMEM;
}

void coati_page_stacks_fini(struct page_stacks *s)
{
	coati_free(s->frames);
	coati_free(s->nodes);
	*s = (struct page_stacks){ 0 };
}

static uint32_t frame_of(struct page_names *n, struct page_stacks *s, uint32_t i)
{
	if (!s->frames[i])
		s->frames[i] = find_frame(n, coati_view_frame(s->view, i)) + 1;
	return s->frames[i] - 1;
}

uint32_t coati_page_stack(struct page_names *n, struct page_stacks *s, uint32_t stack)
{
	struct coati_profile_sample sample = { .stack = stack, .event = s->event };
	struct coati_view_entry e;
	uint32_t node = 0;

	if (stack >= s->nr_stacks)
		return PAGE_NONE;
	if (s->nodes[stack])
		return s->nodes[stack] == PAGE_NONE ? PAGE_NONE : s->nodes[stack] - 1;
	if (!coati_view_sample(s->view, &sample, &e)) {
		s->nodes[stack] = PAGE_NONE;
		return PAGE_NONE;
	}
	for (uint32_t i = e.nr_frames; i-- > 0 && !n->failed;)
		node = find_node(n, node, frame_of(n, s, e.frames[i]));
	s->nodes[stack] = node + 1;
	return node;
}

/* ---- writing ---- */

/* The first bytes of a text, whole characters, and how many there were. */
static void put_cut(struct json *j, const char *text, size_t len)
{
	char cut[TEXT_MAX + 64];
	size_t keep = TEXT_MAX;

	while (keep && utf8_is_continuation((unsigned char)text[keep]))
		keep--;
	snprintf(cut, sizeof(cut), "%.*s… (%zu bytes)", (int)keep, text, len);
	coati_json_str(j, cut);
}

static void put_texts(const struct page_names *n, struct columns *c)
{
	struct column *col = coati_columns_add(c, "texts", COLUMN_JSON);
	struct json j = json_to(&col->bytes);

	coati_json_array(&j);
	for (size_t i = 0; i < n->texts.len; i++) {
		size_t len = strlen(n->texts.v[i]);

		if (len > TEXT_MAX)
			put_cut(&j, n->texts.v[i], len);
		else
			coati_json_strn(&j, n->texts.v[i], len);
	}
	coati_json_end(&j);
}

void coati_page_put_names(const struct page_names *n, struct columns *c)
{
	struct column *name = coati_columns_add(c, "fn.name", COLUMN_UINT);
	struct column *image = coati_columns_add(c, "fn.image", COLUMN_UINT);
	struct column *decl = coati_columns_add(c, "fn.line", COLUMN_UINT);
	struct column *function = coati_columns_add(c, "fr.function", COLUMN_UINT);
	struct column *file = coati_columns_add(c, "fr.file", COLUMN_UINT);
	struct column *line = coati_columns_add(c, "fr.line", COLUMN_UINT);
	struct column *flags = coati_columns_add(c, "fr.flags", COLUMN_UINT);
	struct column *parent = coati_columns_add(c, "nd.parent", COLUMN_DELTA);
	struct column *frame = coati_columns_add(c, "nd.frame", COLUMN_DELTA);

	put_texts(n, c);
	for (size_t i = 0; i < n->functions.len; i++) {
		coati_column_put(name, n->functions.v[i].name);
		coati_column_put(image, n->functions.v[i].image);
		coati_column_put(decl, n->functions.v[i].decl_line);
	}
	for (size_t i = 0; i < n->frames.len; i++) {
		coati_column_put(function, n->frames.v[i].function);
		coati_column_put(file, n->frames.v[i].file);
		coati_column_put(line, n->frames.v[i].line);
		coati_column_put(flags, n->frames.v[i].flags);
	}
	for (size_t i = 0; i < n->nodes.len; i++) {
		coati_column_put(parent, n->nodes.v[i].parent);
		coati_column_put(frame, n->nodes.v[i].frame);
	}
}
