/* SPDX-License-Identifier: MIT */
/* see report/assembly.h */
#include "cli/report/assembly.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/search.h"
#include "cli/objdump.h"
#include "cli/quality.h"
#include "image/image.h"
#include "reading/parts.h"

#define FUNCTION_BYTES_MAX (1u << 20)
#define PIECES_MAX	   16 /* functions of one name, in several files */

/* A piece of code to be shown. */
struct piece {
	const char *function;
	const char *path; /* of the file, as it lies here */
	uint32_t image;
	uint64_t start, length;
	const struct coati_row **rows; /* by address, of all images */
	size_t nr;
};

/* What objdump printed, from the beginning; its wait status. */
static int run_objdump(struct report *r, const struct piece *p, uint32_t *ret_status,
		       struct coati_error *err)
{
	struct objdump_task t = { .start = p->start, .length = p->length };
	CLEANUP(fd_closep)
	int fd = coati_image_open_fd(coati_profile_images(r->profile), p->image, err);
	struct sandbox_task task = { .bytes = &t, .size = sizeof(t), .fd = fd };

	return fd < 0 ? fd : coati_sandbox_run(SANDBOX_OBJDUMP, &task, ret_status, err);
}

/* "    1139:\tpush   %rbp" to the address; false for headings. */
static bool address_of(const char *line, uint64_t *ret)
{
	const char *colon = strchr(line, ':');
	char hex[24] = "0x";
	size_t len;

	while (*line == ' ')
		line++;
	if (!colon || colon[1] != '\t')
		return false;
	len = (size_t)(colon - line);
	if (!len || len > 16)
		return false;
	memcpy(hex + 2, line, len);
	hex[2 + len] = '\0';
	return coati_parse_u64(hex, 0, UINT64_MAX, ret) == 0;
}

#define SHARES_COLUMNS 16 /* two of them, each as wide as here */

static void put_share(struct report *r, uint64_t weight)
{
	if (weight)
		coati_strbuf_printf(&r->out.text, "%5.1f %% ", coati_report_percent(r, weight));
	else
		coati_strbuf_adds(&r->out.text, "        ");
}

static uint32_t image_of(struct report *r, const struct coati_row *row)
{
	const struct coati_view_frame *f = coati_view_frame(r->view, row->frame);

	return f ? f->image_id : COATI_IMAGE_NONE;
}

/* One instruction at [@from, @to): the address of a caller lies inside its call instruction. */
static void put_instruction(struct report *r, const struct piece *p, uint64_t from, uint64_t to,
			    const char *line)
{
	struct strbuf *s = &r->out.text;
	uint64_t self = 0, total = 0;
	size_t low = SEARCH(middle, 0, p->nr, p->rows[middle]->address < from);

	for (; low < p->nr && p->rows[low]->address < to; low++) {
		if (image_of(r, p->rows[low]) != p->image)
			continue;
		self += p->rows[low]->self;
		total += p->rows[low]->total;
	}
	put_share(r, self);
	put_share(r, total);
	coati_report_cut(r, s, line, SHARES_COLUMNS);
	coati_strbuf_addc(s, '\n');
	if (s->len > 60000)
		coati_output_flush(&r->out);
}

/* The lines of objdump; an instruction ends where the next begins. */
static void put_instructions(struct report *r, const struct piece *p, FILE *in)
{
	char line[4096], last[4096];
	uint64_t address, at = 0;
	bool any = false;

	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (!address_of(line, &address))
			continue;
		for (char *t = line; *t; t++)
			*t = *t == '\t' ? ' ' : *t;
		if (any)
			put_instruction(r, p, at, address, last);
		memcpy(last, line, sizeof(last));
		at = address;
		any = true;
	}
	if (any)
		put_instruction(r, p, at, p->start + p->length, last);
}

/* What was shown may be a part of it. */
static void put_failure(struct strbuf *s, int status)
{
	if (WIFSIGNALED(status))
		coati_strbuf_printf(s,
				    "# objdump was killed by signal %d: the output may be "
				    "incomplete\n",
				    WTERMSIG(status));
	else if (WEXITSTATUS(status))
		coati_strbuf_printf(
			s, "# objdump failed (status %d): does it support this kind of file?\n",
			WEXITSTATUS(status));
}

static void put_piece(struct report *r, const struct piece *p)
{
	struct strbuf *s = &r->out.text;
	struct coati_error err = { 0 };
	uint32_t status = 0;
	int fd = run_objdump(r, p, &status, &err);
	CLEANUP(file_closep) FILE *in = fd < 0 ? NULL : fdopen(fd, "r");

	if (!in) {
		coati_strbuf_printf(s, "# no instructions: %s\n",
				    fd < 0 ? err.text : strerror(errno));
		fd_closep(&fd);
		return;
	}
	coati_strbuf_printf(s, "%s%7s %7s   address  ", coati_output_style(&r->out, STYLE_BOLD),
			    "self", "total");
	coati_report_fit(s, p->function, 100);
	coati_strbuf_adds(s, " in ");
	coati_report_fit(s, p->path, 200);
	coati_strbuf_printf(s, "%s\n", coati_output_style(&r->out, STYLE_PLAIN));
	put_instructions(r, p, in);
	put_failure(s, (int)status);
}

/* The function around a frame as it was linked, or the range of code without a symbol: its extent
 * and name in @p. */
static bool find_extent(struct report *r, uint32_t frame, struct piece *p)
{
	const struct coati_view_frame *f = coati_view_frame(r->view, frame);
	const struct coati_profile_location *l =
		f ? coati_profile_location(r->profile, f->location) : NULL;
	const struct coati_name *outer = l && l->nr_names ? &l->names[l->nr_names - 1] : NULL;
	bool is_range = f && f->flags & COATI_NAME_SYNTHETIC;

	if (!outer)
		return false;
	p->image = l->image;
	p->function = is_range ? f->function : outer->function;
	p->start = is_range ? f->start : outer->start;
	p->length = is_range ? f->length : outer->length;
	return p->length && p->length <= FUNCTION_BYTES_MAX;
}

/* The function as it was linked around a row, when it was not shown yet. */
static bool piece_of(struct report *r, const struct coati_row *row, struct map *shown,
		     struct piece *p)
{
	struct coati_images *images = coati_profile_images(r->profile);
	struct coati_image_info info = { .size = sizeof(info) };
	uint64_t key, seen;

	if (row->frame == UINT32_MAX || !find_extent(r, row->frame, p) ||
	    p->image == COATI_IMAGE_NONE)
		return false;
	/* names that are packed were found without the file */
	if (coati_image_open_file(coati_image_at(images, p->image)) < 0 ||
	    coati_image_info(images, p->image, &info) < 0 || !info.opened)
		return false;
	key = p->start ^ (uint64_t)p->image << 48;
	if (coati_map_get(shown, key, &seen) || coati_map_put(shown, key, 1) < 0)
		return false;
	p->path = info.opened;
	return true;
}

static int by_address(const void *a, const void *b)
{
	const struct coati_row *x = *(const struct coati_row *const *)a;
	const struct coati_row *y = *(const struct coati_row *const *)b;

	return x->address < y->address ? -1 : x->address > y->address;
}

void coati_report_assembly(struct report *r, const struct report_rows *chosen,
			   const struct report_rows *all)
{
	CLEANUP(freep)
	const struct coati_row **sorted = coati_alloc_array(all->nr + 1, sizeof(*sorted));
	struct piece p = { .rows = sorted, .nr = all->nr };
	struct map shown;
	uint32_t pieces = 0;

	if (!sorted)
		return;
	for (size_t i = 0; i < all->nr; i++)
		sorted[i] = &all->v[i];
	qsort(sorted, all->nr, sizeof(*sorted), by_address);
	coati_map_init(&shown, 1u << 16);
	for (size_t i = 0; i < chosen->nr && pieces < PIECES_MAX; i++)
		if (piece_of(r, &chosen->v[i], &shown, &p)) {
			put_piece(r, &p);
			pieces++;
		}
	if (!pieces)
		coati_strbuf_adds(
			&r->out.text,
			"# no instructions: the file with this code cannot be read on this "
			"machine\n");
	coati_map_fini(&shown);
}
