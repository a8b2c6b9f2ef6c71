/* SPDX-License-Identifier: MIT */
/* What the person at the screen has chosen, and what follows from it. Drawing is draw.c and its
 * neighbors, keys are keys.c, the loop is ui.c. */
#pragma once

#include "cli/top/screen.h"
#include "cli/top/session.h"
#include "cli/top/tree.h"

enum top_view { TOP_VIEW_TABLE = 0, TOP_VIEW_TREE, TOP_VIEW_FLAME, TOP_VIEW_HELP };

#define TOP_LIVE    0  /* ui.cursor: no second was chosen */
#define TOP_COMPARE 60 /* seconds before, that a second is compared with */

struct top_ui {
	struct top_session *s;
	struct screen *screen;
	enum top_view view, before_help;
	enum top_by by;
	enum top_mode mode;
	enum top_sort sort;
	bool reverse;
	bool compare;
	char label[TOP_TEXT_MAX + 1]; /* the key of TOP_BY_LABEL; "": the first that there is */
	uint64_t window;	      /* seconds */
	uint64_t cursor;	      /* the second that is looked at, or TOP_LIVE */
	uint64_t frozen;	      /* the last second when it was paused, 0: it runs */
	enum top_tree_kind kind;
	struct top_pick pick;	/* of the tree or flame graph */
	size_t selected, first; /* rows: which one, and the first that is shown */
	size_t nr_rows;		/* that there are, as of the last drawing */
	int page;		/* rows that are shown */
	char filter[128];
	bool typing;
	char message[256];
	uint64_t message_until;
	struct top_pick row; /* the selected one, as of the last drawing */
	bool quits;
};

/* The last second of which everything has come; and which seconds the rows add up. */
uint64_t coati_top_now(const struct top_ui *ui);
void coati_top_window(const struct top_ui *ui, uint64_t *ret_from, uint64_t *ret_to);
/* The question behind the table, and with compare the one for the time before. */
void coati_top_ask(const struct top_ui *ui, struct top_query *q, struct top_query *before);
void coati_top_say(struct top_ui *ui, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

void coati_top_key(struct top_ui *ui, int key);
void coati_top_draw(struct top_ui *ui);

/* Parts of the screen, each into the rows from @top to below @bottom. */
void coati_top_draw_tree(struct top_ui *ui, int top, int bottom);
void coati_top_draw_flame(struct top_ui *ui, int top, int bottom);
void coati_top_draw_help(struct top_ui *ui, int top, int bottom);
void coati_top_draw_history(struct top_ui *ui, int top, int height);
void coati_top_draw_table(struct top_ui *ui, int top, int bottom);
