/* SPDX-License-Identifier: MIT */
/*
 * The screen from top to bottom: title, history of the CPU use, one of the views, data quality,
 * keys. Everything is drawn again each time; ncurses sends what has changed. Each part has a form
 * for narrow and low screens.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/quality.h"
#include "cli/top/text.h"
#include "cli/top/ui.h"

#define LOW    16 /* rows, below which the history has one line */
#define NARROW 60 /* columns */

static void put(struct top_ui *ui, struct screen_place at, const char *text)
{
	coati_screen_put(ui->screen, at, text);
}

/* ---- title ---- */

static void add_target(struct strbuf *s, const struct top_args *a)
{
	if (a->pids.len == 1)
		coati_strbuf_printf(s, "pid %d", a->pids.v[0]);
	else if (a->pids.len)
		coati_strbuf_printf(s, "%zu processes", a->pids.len);
	else if (a->tids.len)
		coati_strbuf_printf(s, "%zu thread%s", a->tids.len, a->tids.len > 1 ? "s" : "");
	else if (a->all)
		coati_strbuf_adds(s, "all CPUs");
	else if (a->cpus)
		coati_strbuf_printf(s, "CPUs %s", a->cpus);
	else
		coati_report_fit(s, a->command[0], 30);
}

static void add_time(struct strbuf *s, const struct top_ui *ui)
{
	uint64_t ago = coati_top_now(ui) - ui->cursor;

	if (ui->cursor != TOP_LIVE) {
		coati_strbuf_printf(s, "-%llu:%02llu", (unsigned long long)(ago / 60),
				    (unsigned long long)(ago % 60));
		if (ui->compare)
			coati_strbuf_adds(s, " against the minute before");
	} else if (ui->frozen) {
		coati_strbuf_adds(s, "paused");
	} else if (ui->s->has_ended) {
		coati_strbuf_adds(s, "ended");
	} else {
		coati_strbuf_printf(s, "last %llu s", (unsigned long long)ui->window);
	}
}

static void draw_title(struct top_ui *ui, int columns)
{
	static const char *const modes[] = { "on-CPU", "off-CPU", "on+off-CPU" };
	const struct top_session *s = ui->s;
	struct strbuf left = STRBUF_INIT(1024), right = STRBUF_INIT(256);

	coati_strbuf_adds(&left, columns < NARROW ? " " : " coati top  ");
	add_target(&left, s->args);
	coati_strbuf_printf(&left, columns < NARROW ? " %s " : "  by %s  ",
			    coati_top_by_name(ui->by));
	if (columns >= NARROW)
		coati_strbuf_printf(&left, "%s  ", modes[ui->mode]);
	add_time(&left, ui);
	coati_strbuf_printf(&right, columns < NARROW ? "%.1f%% " : "own %.1f %% CPU ",
			    100 * s->own_share);
	if (columns >= 100)
		coati_strbuf_printf(&right, "%.1f of %.3g MiB ",
				    (double)coati_top_bytes(s) / 1048576,
				    (double)s->args->memory / 1048576);
	put(ui, (struct screen_place){ 0, 0, columns, SCREEN_TITLE }, left.text);
	if (left.len + right.len < (size_t)columns)
		put(ui,
		    (struct screen_place){ 0, columns - (int)right.len, (int)right.len,
					   SCREEN_TITLE },
		    right.text);
	coati_strbuf_fini(&left);
	coati_strbuf_fini(&right);
}

/* ---- history ---- */

/* A column of the graph: @eighths of @height rows, from the bottom. */
static const char *block(const struct top_ui *ui, int eighths)
{
	static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[] = { " ", ".", ".", ":", ":", "|", "|", "#", "#" };

	eighths = eighths < 0 ? 0 : eighths > 8 ? 8 : eighths;
	return coati_screen_has_unicode(ui->screen) ? blocks[eighths] : plain[eighths];
}

static double weight_of(const struct top_ui *ui, uint64_t number)
{
	const struct top_second *s = coati_top_model_second(&ui->s->model, number);

	if (!s)
		return 0;
	return (double)(ui->mode == TOP_BOTH ? s->weight[0] + s->weight[1]
					     : s->weight[ui->mode == TOP_OFF_CPU]);
}

/* What the top of the graph stands for: whole CPUs. */
static double scale_of(const struct top_ui *ui, uint64_t first, int nr)
{
	double most = 0, step = (double)NSEC_PER_SEC;

	for (int i = 0; i < nr; i++) {
		double w = weight_of(ui, first + (uint64_t)i);

		most = w > most ? w : most;
	}
	if (ui->s->feed.unit && strcmp(ui->s->feed.unit, "ns") != 0)
		return most > 0 ? most : 1;
	while (step < most * 0.98)
		step += (double)NSEC_PER_SEC;
	return step;
}

static void draw_column(struct top_ui *ui, struct screen_place at, int height, double share)
{
	int eighths = (int)(share * height * 8 + 0.5);

	/* something is not nothing */
	if (share > 0 && eighths < 1)
		eighths = 1;
	for (int row = 0; row < height; row++, eighths -= 8) {
		struct screen_place p = at;

		p.y = at.y + height - 1 - row;
		coati_screen_put(ui->screen, p, block(ui, eighths));
	}
}

static void draw_now(struct top_ui *ui, int top, int height, double scale)
{
	uint64_t at = ui->cursor == TOP_LIVE ? coati_top_now(ui) : ui->cursor;
	bool is_time = !ui->s->feed.unit || !strcmp(ui->s->feed.unit, "ns");
	char text[32];

	if (is_time)
		snprintf(text, sizeof(text), "%5.0f %%", weight_of(ui, at) / 1e7);
	else
		snprintf(text, sizeof(text), "%5.0f %%", 100 * weight_of(ui, at) / scale);
	put(ui, (struct screen_place){ top + height - 1, 0, 8, SCREEN_HEAD }, text);
	if (height > 1 && is_time) {
		snprintf(text, sizeof(text), "%5.0f %%", scale / 1e7);
		put(ui, (struct screen_place){ top, 0, 8, SCREEN_DIM }, text);
	}
}

/* One column a second, the newest on the right; so far back that the chosen one is seen. */
void coati_top_draw_history(struct top_ui *ui, int top, int height)
{
	uint64_t now = coati_top_now(ui), last = now, first;
	int rows, columns, nr;
	double scale;

	coati_screen_size(ui->screen, &rows, &columns);
	nr = columns - 9;
	if (nr < 4)
		return;
	if (ui->cursor != TOP_LIVE && ui->cursor + (uint64_t)nr <= now)
		last = ui->cursor + (uint64_t)nr / 2;
	first = last - (uint64_t)nr + 1;
	scale = scale_of(ui, first, nr);
	draw_now(ui, top, height, scale);
	for (int i = 0; i < nr; i++) {
		uint64_t number = first + (uint64_t)i;
		bool here = number == ui->cursor;
		struct screen_place at = { top, 9 + i, 1, here ? SCREEN_CURSOR : SCREEN_GRAPH };

		draw_column(ui, at, height, weight_of(ui, number) / scale);
	}
}

/* ---- table ---- */

static enum screen_style heat(double percent)
{
	return percent >= 20 ? SCREEN_HOT : percent >= 5 ? SCREEN_WARM : SCREEN_PLAIN;
}

/* Where the columns are. */
struct columns {
	int width;
	bool second; /* total, or time */
	int bar;     /* columns of the bar */
	int name, name_width;
	int image; /* columns of the image, 0: none */
};

static struct columns lay_out(const struct top_ui *ui, int width)
{
	struct columns c = { .width = width, .second = width >= 30, .name = 9 };
	bool images = ui->by == TOP_BY_FUNCTION && width >= NARROW;

	c.name += c.second ? 9 : 0;
	if (width >= 100) {
		c.bar = 20;
		c.name += c.bar + 1;
	}
	c.image = images ? width / 4 : 0;
	c.name_width = width - c.name - (c.image ? c.image + 1 : 0);
	return c;
}

static void draw_head(struct top_ui *ui, const struct top_query *q, const struct columns *c, int y)
{
	static const char *const marks[] = { "self", "total", "name" };
	const char *name = q->by == TOP_BY_LABEL ? q->label : coati_top_by_name(q->by);
	bool frames = coati_top_has_frames(q->by);
	struct strbuf s = STRBUF_INIT(1024);

	put(ui, (struct screen_place){ y, 0, c->width, SCREEN_HEAD }, "");
	if (ui->compare)
		coati_strbuf_printf(&s, "%8s %8s", "now", "change");
	else if (c->second)
		coati_strbuf_printf(&s, "%8s %8s", frames ? "self" : "share",
				    frames ? "total" : "CPU");
	else
		coati_strbuf_printf(&s, "%8s", frames ? "self" : "share");
	put(ui, (struct screen_place){ y, 0, c->name - 1, SCREEN_HEAD }, s.text);
	coati_strbuf_clear(&s);
	coati_report_fit(&s, *name ? name : "label (none so far)", (size_t)c->name_width);
	if (c->width >= NARROW && (ui->sort != TOP_SORT_SELF || ui->reverse))
		coati_strbuf_printf(&s, "  (by %s%s)", marks[ui->sort],
				    ui->reverse ? ", reversed" : "");
	put(ui, (struct screen_place){ y, c->name, c->name_width, SCREEN_HEAD }, s.text);
	if (c->image)
		put(ui, (struct screen_place){ y, c->width - c->image, c->image, SCREEN_HEAD },
		    "image");
	coati_strbuf_fini(&s);
}

static void draw_bar(struct top_ui *ui, int y, int x, int width, double percent)
{
	int eighths = (int)(percent / 100 * width * 8 + 0.5);
	struct strbuf s = STRBUF_INIT(256);
	static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" };
	bool unicode = coati_screen_has_unicode(ui->screen);

	for (; eighths > 0 && s.len < 200; eighths -= 8)
		coati_strbuf_adds(&s, unicode ? parts[eighths > 8 ? 8 : eighths] : "#");
	put(ui, (struct screen_place){ y, x, width, heat(percent) }, s.text);
	coati_strbuf_fini(&s);
}

static void first_numbers(struct top_ui *ui, const struct top_rows *all, const struct top_row *row,
			  char text[2][32])
{
	uint64_t from, to;
	double share = coati_top_percent(ui->compare ? row->total : row->self, all->weight);

	coati_top_window(ui, &from, &to);
	snprintf(text[0], 32, "%6.1f %%", share);
	if (ui->compare)
		snprintf(text[1], 32, "%+6.1f %%",
			 share - coati_top_percent(row->before, all->before));
	else if (coati_top_has_frames(ui->by))
		snprintf(text[1], 32, "%6.1f %%", coati_top_percent(row->total, all->weight));
	else
		snprintf(text[1], 32, "%6.0f %%",
			 (double)row->self / 1e7 / (double)(to - from + 1));
}

static enum screen_style style_of(const struct top_ui *ui, const struct top_rows *all,
				  const struct top_row *row)
{
	double share = coati_top_percent(row->self, all->weight);

	if (!ui->compare)
		return heat(share);
	share = coati_top_percent(row->total, all->weight) -
		coati_top_percent(row->before, all->before);
	return share >= 1 ? SCREEN_HOT : share <= -1 ? SCREEN_GOOD : SCREEN_PLAIN;
}

static void draw_row(struct top_ui *ui, const struct columns *c, const struct top_query *q,
		     const struct top_rows *all, size_t number)
{
	const struct top_row *row = &all->rows.v[number];
	int y = (int)(number - ui->first) + ui->page; /* page: the first row's y, for now */
	bool chosen = number == ui->selected;
	enum screen_style plain = chosen ? SCREEN_SELECTED : SCREEN_PLAIN;
	struct strbuf s = STRBUF_INIT(8192);
	char text[2][32];

	first_numbers(ui, all, row, text);
	put(ui, (struct screen_place){ y, 0, c->width, plain }, "");
	put(ui, (struct screen_place){ y, 0, 8, chosen ? plain : style_of(ui, all, row) }, text[0]);
	if (c->second)
		put(ui, (struct screen_place){ y, 9, 8, plain }, text[1]);
	if (c->bar)
		draw_bar(ui, y, 18, c->bar,
			 coati_top_percent(ui->compare ? row->total : row->self, all->weight));
	coati_top_row_name(&s, q, row, (size_t)c->name_width);
	put(ui,
	    (struct screen_place){ y, c->name, c->name_width,
				   chosen			   ? plain
				   : row->flags & TOP_FRAME_KERNEL ? SCREEN_KERNEL
								   : SCREEN_PLAIN },
	    s.text);
	if (c->image && row->image) {
		coati_strbuf_clear(&s);
		coati_report_fit(&s, row->image, (size_t)c->image);
		put(ui,
		    (struct screen_place){ y, c->width - c->image, c->image,
					   chosen ? plain : SCREEN_DIM },
		    s.text);
	}
	coati_strbuf_fini(&s);
}

static void draw_tasks(struct top_ui *ui, const top_tasks *tasks, int top, int rows)
{
	struct strbuf s = STRBUF_INIT(8192);
	int r, columns;

	coati_screen_size(ui->screen, &r, &columns);
	for (int i = 0; i < rows; i++) {
		static const char *const names[] = { "p50", "p90", "p99", "max" };
		const struct top_task *t = &tasks->v[i];
		const uint64_t times[] = { t->p50, t->p90, t->p99, t->max };

		coati_strbuf_clear(&s);
		coati_strbuf_adds(&s, " task ");
		coati_report_fit(&s, t->type, columns < NARROW ? 12 : 24);
		coati_strbuf_printf(&s, "  %llu", (unsigned long long)t->count);
		for (int k = columns < NARROW ? 2 : 0; k < 4; k++) {
			coati_strbuf_printf(&s, "  %s ", names[k]);
			coati_top_duration(&s, times[k]);
		}
		put(ui, (struct screen_place){ top + i, 0, columns, SCREEN_COOL }, s.text);
	}
	coati_strbuf_fini(&s);
}

/* Types of tasks that ended lately, above the table: as many as there is room for. */
static int draw_latencies(struct top_ui *ui, int top, int bottom)
{
	top_tasks tasks = { 0 };
	uint64_t from, to;
	int rows = ui->by == TOP_BY_TASK ? (bottom - top) / 3 : (bottom - top) / 6;

	coati_top_window(ui, &from, &to);
	if (coati_top_tasks(&ui->s->model, from, to, &tasks) < 0 || (size_t)rows > tasks.len)
		rows = (int)tasks.len;
	draw_tasks(ui, &tasks, top, rows);
	ARRAY_FINI(&tasks);
	return rows;
}

/* The row that is chosen stays on the screen. */
static void scroll(struct top_ui *ui, int shown)
{
	if (ui->selected >= ui->nr_rows)
		ui->selected = ui->nr_rows ? ui->nr_rows - 1 : 0;
	if (ui->selected < ui->first)
		ui->first = ui->selected;
	if (shown > 0 && ui->selected >= ui->first + (size_t)shown)
		ui->first = ui->selected - (size_t)shown + 1;
}

static void draw_rows(struct top_ui *ui, const struct top_query *q, const struct top_rows *rows,
		      int top, int bottom)
{
	struct columns c;
	int height, width;

	coati_screen_size(ui->screen, &height, &width);
	c = lay_out(ui, width);
	draw_head(ui, q, &c, top);
	top++;
	ui->nr_rows = rows->rows.len;
	scroll(ui, bottom - top);
	ui->page = top;
	for (size_t i = ui->first; i < rows->rows.len && top + (int)(i - ui->first) < bottom; i++)
		draw_row(ui, &c, q, rows, i);
	ui->page = bottom - top;
	if (!rows->rows.len)
		put(ui, (struct screen_place){ top, 2, width - 2, SCREEN_DIM },
		    rows->nr_all ? "no row contains the filter" : "no samples in this time");
}

void coati_top_draw_table(struct top_ui *ui, int top, int bottom)
{
	struct top_query q, before;
	struct top_rows rows = { 0 };
	int r;

	top += draw_latencies(ui, top, bottom);
	coati_top_ask(ui, &q, &before);
	r = ui->compare ? coati_top_rows_compare(&ui->s->model, &q, &before, &rows)
			: coati_top_rows(&ui->s->model, &q, &rows);
	if (r == 0)
		draw_rows(ui, &q, &rows, top, bottom);
	if (ui->selected < rows.rows.len)
		coati_top_pick_row(&ui->row, &q, &rows.rows.v[ui->selected]);
	else
		ui->row = (struct top_pick){ 0 };
	coati_top_rows_fini(&rows);
}

/* ---- the last lines ---- */

static void draw_quality(struct top_ui *ui, int y, int columns)
{
	const struct top_session *s = ui->s;
	const struct top_model *m = &s->model;
	struct top_second sum = { 0 };
	struct strbuf text = STRBUF_INIT(512);
	uint64_t from, to, since;

	coati_top_window(ui, &from, &to);
	for (size_t i = 0; i < m->seconds.len; i++) {
		const struct top_second *at = &m->seconds.v[i];

		if (at->number < from || at->number > to)
			continue;
		sum.samples += at->samples;
		sum.cut += at->cut;
		sum.lost += at->lost;
		sum.throttled += at->throttled;
	}
	coati_strbuf_addc(&text, ' ');
	coati_top_quality(&text, &sum, m->refused);
	since = m->seconds.len && m->seconds.v[0].number <= to ? to - m->seconds.v[0].number + 1
							       : 0;
	coati_strbuf_printf(&text, "; history %llu:%02llu", (unsigned long long)(since / 60),
			    (unsigned long long)(since % 60));
	if (m->dropped)
		coati_strbuf_adds(&text, " (memory is full)");
	coati_strbuf_printf(&text, "; %llu Hz", (unsigned long long)top_rate(s->args));
	put(ui,
	    (struct screen_place){ y, 0, columns,
				   sum.lost || sum.throttled || m->refused ? SCREEN_BAD
									   : SCREEN_DIM },
	    text.text);
	coati_strbuf_fini(&text);
}

static void draw_keys(struct top_ui *ui, int y, int columns)
{
	struct strbuf s = STRBUF_INIT(512);
	enum screen_style style = SCREEN_DIM;

	if (ui->typing) {
		coati_strbuf_printf(&s, " filter: %s_", ui->filter);
		style = SCREEN_WARM;
	} else if (ui->message_until > now_ns()) {
		coati_strbuf_addc(&s, ' ');
		coati_report_fit(&s, ui->message, 240);
		style = SCREEN_WARM;
	} else if (columns < NARROW) {
		coati_strbuf_adds(&s, " ?help b:by /filter p:peak q:quit");
	} else {
		coati_strbuf_printf(&s,
				    " ?:help  b:by  /:filter%s%s  <-/->:rewind  p:peak  Enter:%s  "
				    "d:compare  w:write  q:quit",
				    *ui->filter ? "=" : "", ui->filter,
				    ui->cursor == TOP_LIVE ? "tree" : "flame");
	}
	put(ui, (struct screen_place){ y, 0, columns, style }, s.text);
	coati_strbuf_fini(&s);
}

void coati_top_draw(struct top_ui *ui)
{
	int rows, columns, graph, top;

	coati_screen_size(ui->screen, &rows, &columns);
	coati_screen_clear(ui->screen);
	graph = rows < LOW ? 1 : rows < 40 ? 2 : 4;
	top = 1 + graph;
	draw_title(ui, columns);
	coati_top_draw_history(ui, 1, graph);
	if (ui->view == TOP_VIEW_HELP)
		coati_top_draw_help(ui, top, rows - 2);
	else if (ui->view == TOP_VIEW_TREE)
		coati_top_draw_tree(ui, top, rows - 2);
	else if (ui->view == TOP_VIEW_FLAME)
		coati_top_draw_flame(ui, top, rows - 2);
	else
		coati_top_draw_table(ui, top, rows - 2);
	draw_quality(ui, rows - 2, columns);
	draw_keys(ui, rows - 1, columns);
	coati_screen_show(ui->screen);
}
