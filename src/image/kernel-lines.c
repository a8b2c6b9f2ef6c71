/* SPDX-License-Identifier: MIT */
/*
 * Kallsyms comes in piece by piece; of its lines those go out that name some addresses: all that
 * begin at the last place at or before an address, and those of the first place behind it, where
 * the function ends. The addresses cut the numbers into gaps; of each gap the lines with the lowest
 * and with the highest number are kept. The list of the kernel proper is sorted: when its last
 * address is passed, the rest is not read.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/search.h"
#include "base/strbuf.h"
#include "image/kernel.h"

#define LINE_MAX_BYTES ((size_t)4096)

/* Lines of one number. */
struct place_lines {
	uint64_t start;
	struct strbuf text;
	bool is_used;
};

/* Numbers above the address in front, up to the one behind. */
struct gap {
	struct place_lines low, high;
};

struct kernel_lines {
	const struct symbols_near *near;
	struct gap *gaps;   /* one more than addresses */
	struct strbuf rest; /* a line that is not whole yet */
	struct strbuf kept; /* where the kernel begins */
	uint64_t begin, last;
	size_t at; /* gap of the line before: the next is mostly there, too */
	bool is_sorted;
};

struct kernel_lines *coati_kernel_lines_new(const struct symbols_near *near)
{
	struct kernel_lines *l = coati_alloc(sizeof(*l));

	if (!l)
		return NULL;
	l->gaps = coati_alloc_array(near->nr + 1, sizeof(*l->gaps));
	if (!l->gaps) {
		coati_free(l);
		return NULL;
	}
	l->near = near;
	l->is_sorted = true;
	l->rest = l->kept = (struct strbuf)STRBUF_INIT(LINE_MAX_BYTES);
	for (size_t i = 0; i <= near->nr; i++)
		l->gaps[i].low.text = l->gaps[i].high.text =
			(struct strbuf)STRBUF_INIT(KALLSYMS_BYTES_MAX);
	return l;
}

void coati_kernel_lines_free(struct kernel_lines **lp)
{
	struct kernel_lines *l = *lp;

	if (!l)
		return;
	*lp = NULL;
	for (size_t i = 0; i <= l->near->nr; i++) {
		coati_strbuf_fini(&l->gaps[i].low.text);
		coati_strbuf_fini(&l->gaps[i].high.text);
	}
	coati_strbuf_fini(&l->rest);
	coati_strbuf_fini(&l->kept);
	coati_free(l->gaps);
	coati_free(l);
}

/* @is_better: it takes the place of what is there. */
static void offer(struct place_lines *p, uint64_t start, const char *line, bool is_better)
{
	if (p->is_used && p->start != start) {
		if (!is_better)
			return;
		coati_strbuf_clear(&p->text);
	}
	p->is_used = true;
	p->start = start;
	coati_strbuf_adds(&p->text, line);
	coati_strbuf_adds(&p->text, "\n");
}

static size_t find_gap(struct kernel_lines *l, uint64_t start)
{
	const struct symbols_near *n = l->near;

	if ((l->at == n->nr || n->v[l->at] >= start) && (!l->at || n->v[l->at - 1] < start))
		return l->at;
	return l->at = SEARCH(mid, (size_t)0, n->nr, n->v[mid] < start);
}

/* " T _text": where compare_kernels() looks. */
static bool is_begin(const char *after)
{
	return after[0] && after[1] == ' ' &&
	       (!strcmp(after + 2, "_text") || !strcmp(after + 2, "_stext"));
}

/* 1: no later line can matter. */
static int add_line(struct kernel_lines *l, char *line)
{
	uint64_t start = 0;
	char *after = coati_kernel_address(line, &start);
	struct gap *g;

	if (!after)
		return 0;
	if (is_begin(after)) {
		coati_strbuf_adds(&l->kept, line);
		coati_strbuf_adds(&l->kept, "\n");
		l->begin = l->begin ? l->begin : start;
	}
	/* what add_line() of kernel.c passes over ends no function */
	if (*after == 'U' || *after == 'a' || *after == 'A')
		return 0;
	g = &l->gaps[find_gap(l, start)];
	offer(&g->low, start, line, g->low.is_used && start < g->low.start);
	offer(&g->high, start, line, start > g->high.start);
	l->is_sorted = l->is_sorted && (start >= l->last || !l->begin);
	l->last = start;
	return l->is_sorted && l->begin && start > l->near->v[l->near->nr - 1] &&
	       l->near->v[0] >= l->begin;
}

static int add_whole(struct kernel_lines *l, char *line)
{
	int r;

	if (!l->rest.len)
		return add_line(l, line);
	coati_strbuf_adds(&l->rest, line);
	r = l->rest.failed ? 0 : add_line(l, l->rest.text);
	coati_strbuf_clear(&l->rest);
	return r;
}

int coati_kernel_lines_add(struct kernel_lines *l, char *text, size_t size)
{
	char *end = text + size, *newline;
	int r = 0;

	while (r == 0 && text < end && (newline = memchr(text, '\n', (size_t)(end - text)))) {
		*newline = '\0';
		r = add_whole(l, text);
		text = newline + 1;
	}
	if (r == 0 && text < end)
		coati_strbuf_add(&l->rest, text, (size_t)(end - text));
	return r;
}

int coati_kernel_lines_take(struct kernel_lines *l, char **ret, size_t *ret_size)
{
	struct strbuf out = STRBUF_INIT(KALLSYMS_BYTES_MAX);
	bool failed = false;

	if (l->rest.len)
		(void)add_whole(l, (char[]){ "" });
	coati_strbuf_add(&out, l->kept.text, l->kept.len);
	for (size_t i = 0; i <= l->near->nr; i++) {
		struct gap *g = &l->gaps[i];

		failed |= g->low.text.failed || g->high.text.failed;
		coati_strbuf_add(&out, g->low.text.text, g->low.text.len);
		if (g->high.start != g->low.start)
			coati_strbuf_add(&out, g->high.text.text, g->high.text.len);
	}
	*ret_size = out.len;
	*ret = out.failed || failed ? NULL : coati_strdup(out.text);
	coati_strbuf_fini(&out);
	return *ret ? 0 : -ENOMEM;
}
