/* SPDX-License-Identifier: MIT */
/*
 * What a page calls things: texts, functions, frames and call paths, each once and by number. Two
 * profiles go into one page (that of the samples and that of the timeline), so functions are the
 * same when their name and image are. Failure is sticky.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/profile.h>

#include "base/array.h"
#include "base/map.h"
#include "page/columns.h"

#define PAGE_NONE UINT32_MAX

/* page_frame.flags */
#define PAGE_FRAME_INLINE    (UINT32_C(1) << 0)
#define PAGE_FRAME_KERNEL    (UINT32_C(1) << 1)
#define PAGE_FRAME_TRUNCATED (UINT32_C(1) << 2) /* the stack goes on, but is not known */
#define PAGE_FRAME_OFF_CPU   (UINT32_C(1) << 3) /* no code: why the thread did not run */
#define PAGE_FRAME_NO_SYMBOL (UINT32_C(1) << 4) /* its name is made from file and offset */

struct page_function {
	uint32_t name, image, decl_line;
};

struct page_frame {
	uint32_t function, file, line, flags;
};

/* A call path: node 0 is the root, a parent comes before its children. */
struct page_node {
	uint32_t parent, frame;
};

struct page_names {
	struct map text_index, function_index, frame_index, node_index;
	ARRAY(char *) texts;
	ARRAY(struct page_function) functions;
	ARRAY(struct page_frame) frames;
	ARRAY(struct page_node) nodes;
	int failed;
};

/* Stacks of one view, each of them looked up once. */
struct page_stacks {
	const struct coati_view *view;
	uint32_t *frames; /* by frame of the view: number in the page + 1, 0: not yet */
	uint32_t *nodes;  /* by stack of the profile: node + 1 */
	uint32_t nr_stacks;
	uint32_t event; /* that is asked about: one on CPUs, or the one off them */
};

int coati_page_names_init(struct page_names *n);
void coati_page_names_fini(struct page_names *n);
/* The number of a text; "" is 0. What is longer than 4 KiB is cut and says so. */
uint32_t coati_page_text(struct page_names *n, const char *text);

int coati_page_stacks_init(struct page_stacks *s, const struct coati_view *view,
			   const struct coati_profile *p);
void coati_page_stacks_fini(struct page_stacks *s);
/* The node of a stack of the profile; PAGE_NONE: the view leaves it out, or there is none. */
uint32_t coati_page_stack(struct page_names *n, struct page_stacks *s, uint32_t stack);

/* The same of one that was asked for already, or PAGE_NONE. */
static inline uint32_t page_known_stack(const struct page_stacks *s, uint32_t stack)
{
	return stack < s->nr_stacks && s->nodes[stack] != PAGE_NONE ? s->nodes[stack] - 1
								    : PAGE_NONE;
}

/* Hot: mostly it was. */
static inline uint32_t page_stack(struct page_names *n, struct page_stacks *s, uint32_t stack)
{
	uint32_t node = page_known_stack(s, stack);

	return node == PAGE_NONE ? coati_page_stack(n, s, stack) : node;
}

void coati_page_put_names(const struct page_names *n, struct columns *c);
