/* SPDX-License-Identifier: MIT */
/* What keys do. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "cli/record/output.h"
#include "cli/top/ui.h"

static const uint64_t windows[] = { 1, 2, 5, 10, 30, 60, 120, 300, 600 };
#define NR_WINDOWS (sizeof(windows) / sizeof(windows[0]))
#define FAR	   10 /* seconds */

/* ---- time ---- */

static uint64_t oldest(const struct top_ui *ui)
{
	const struct top_model *m = &ui->s->model;

	return m->seconds.len ? m->seconds.v[0].number : coati_top_now(ui);
}

/* Back from now on, or from the second that is looked at; forward until it is live again. */
static void scrub(struct top_ui *ui, int64_t by)
{
	uint64_t now = coati_top_now(ui), from = ui->cursor == TOP_LIVE ? now + 1 : ui->cursor;
	uint64_t to = by < 0 && from < (uint64_t)-by ? 0 : from + (uint64_t)by;

	if (to > now) {
		ui->cursor = TOP_LIVE;
		ui->compare = false;
		return;
	}
	ui->cursor = to < oldest(ui) ? oldest(ui) : to;
}

static void go_live(struct top_ui *ui)
{
	ui->cursor = TOP_LIVE;
	ui->frozen = 0;
	ui->compare = false;
	ui->view = TOP_VIEW_TABLE;
}

static void jump_to_spike(struct top_ui *ui)
{
	uint64_t now = coati_top_now(ui);
	uint64_t from = ui->cursor == TOP_LIVE ? now + 1 : ui->cursor;
	uint64_t to = coati_top_spike(&ui->s->model, ui->mode, from);

	if (!to && ui->cursor != TOP_LIVE)
		to = coati_top_spike(&ui->s->model, ui->mode, now + 1);
	if (to)
		ui->cursor = to;
	else
		coati_top_say(ui, "there is no peak yet");
}

static void pause_or_run(struct top_ui *ui)
{
	ui->frozen = ui->frozen ? 0 : coati_top_now(ui);
}

static void change_window(struct top_ui *ui, int by)
{
	size_t at = 0;

	while (at + 1 < NR_WINDOWS && windows[at] < ui->window)
		at++;
	if (by > 0 && at + 1 < NR_WINDOWS && windows[at] <= ui->window)
		at++;
	else if (by < 0 && at)
		at--;
	ui->window = windows[at];
	ui->cursor = TOP_LIVE;
}

/* ---- what is shown ---- */

static void choose_by(struct top_ui *ui, int by)
{
	int last = ui->s->args->off_cpu ? TOP_BY_COUNT : TOP_BY_WAIT;

	ui->by = (enum top_by)((by + last) % last);
	ui->selected = ui->first = 0;
	ui->view = TOP_VIEW_TABLE;
}

static void next_mode(struct top_ui *ui)
{
	if (!ui->s->args->off_cpu) {
		coati_top_say(ui, "start with --off-cpu to see where threads wait");
		return;
	}
	ui->mode = (ui->mode + 1) % TOP_MODE_COUNT;
}

/* The next key of labels in the order of the tables. */
static void next_label(struct top_ui *ui)
{
	const struct top_model *m = &ui->s->model;
	const char *first = NULL;
	bool seen = !*ui->label;

	for (size_t i = 0; i < m->labels.len; i++) {
		for (uint32_t k = 0; k < m->labels.v[i].nr; k++) {
			const char *key = m->labels.v[i].v[k].key;

			first = first ? first : key;
			if (seen && strcmp(key, ui->label) != 0) {
				snprintf(ui->label, sizeof(ui->label), "%s", key);
				return;
			}
			seen |= !strcmp(key, ui->label);
		}
	}
	snprintf(ui->label, sizeof(ui->label), "%s", first ? first : "");
}

/* A row's call tree; of a second in the past first of all its flame graph. */
static void open_view(struct top_ui *ui, enum top_view view, bool of_row)
{
	ui->view = view;
	ui->selected = view == TOP_VIEW_TREE ? 0 : ui->selected;
	ui->first = 0;
	ui->pick = of_row ? ui->row : (struct top_pick){ 0 };
}

static void back(struct top_ui *ui)
{
	if (ui->view != TOP_VIEW_TABLE)
		ui->view = TOP_VIEW_TABLE;
	else if (*ui->filter)
		ui->filter[0] = '\0';
	else if (ui->compare)
		ui->compare = false;
	else
		go_live(ui);
	ui->first = 0;
}

static void compare(struct top_ui *ui)
{
	if (ui->cursor == TOP_LIVE)
		scrub(ui, -1);
	ui->compare = !ui->compare;
	ui->view = TOP_VIEW_TABLE;
}

static void move(struct top_ui *ui, int64_t by)
{
	size_t last = ui->nr_rows ? ui->nr_rows - 1 : 0;

	if (by < 0 && ui->selected < (size_t)-by)
		ui->selected = 0;
	else
		ui->selected += (size_t)by;
	ui->selected = ui->selected < last ? ui->selected : last;
}

/* ---- a recording ---- */

static void write_recording(struct top_ui *ui)
{
	struct top_session *s = ui->s;
	uint64_t from, to;
	struct top_save save = { .path = s->args->out ? s->args->out : coati_record_default,
				 .whole = !s->args->tids.len && (s->args->pids.len || s->child),
				 .cap = &s->cap };
	struct coati_error err = { 0 };

	coati_top_window(ui, &from, &to);
	if (coati_top_spool_since(&s->spool) / NSEC_PER_SEC >= from)
		from = 0;
	save.from_ns = from ? from * NSEC_PER_SEC : coati_top_spool_since(&s->spool);
	save.to_ns = (to + 1) * NSEC_PER_SEC;
	if (save.from_ns >= save.to_ns) {
		coati_top_say(ui,
			      "the samples of that second have left memory; --memory keeps more");
		return;
	}
	if (coati_top_spool_save(&s->spool, &save, &err) < 0)
		coati_top_say(ui, "%s", err.text);
	else
		coati_top_say(ui, "wrote %.100s, %llu samples; coati report -i %.100s shows it",
			      save.name, (unsigned long long)save.samples, save.name);
}

/* ---- keys ---- */

static void type(struct top_ui *ui, int key)
{
	size_t len = strlen(ui->filter);

	if (key == SCREEN_ENTER || key == SCREEN_ESCAPE) {
		ui->typing = false;
		if (key == SCREEN_ESCAPE)
			ui->filter[0] = '\0';
	} else if (key == SCREEN_BACKSPACE) {
		if (len)
			ui->filter[len - 1] = '\0';
	} else if (key >= ' ' && key < 127 && len + 1 < sizeof(ui->filter)) {
		ui->filter[len] = (char)key;
		ui->filter[len + 1] = '\0';
	}
	ui->selected = ui->first = 0;
}

/* Keys of time and place. */
static bool move_by_key(struct top_ui *ui, int key)
{
	switch (key) {
	case SCREEN_UP:
	case 'k':
		move(ui, -1);
		return true;
	case SCREEN_DOWN:
	case 'j':
		move(ui, 1);
		return true;
	case SCREEN_PAGE_UP:
		move(ui, -ui->page);
		return true;
	case SCREEN_PAGE_DOWN:
		move(ui, ui->page);
		return true;
	case SCREEN_HOME:
		ui->selected = 0;
		return true;
	case SCREEN_LEFT:
		scrub(ui, -1);
		return true;
	case SCREEN_RIGHT:
		scrub(ui, 1);
		return true;
	case SCREEN_FAR_LEFT:
	case '[':
		scrub(ui, -FAR);
		return true;
	case SCREEN_FAR_RIGHT:
	case ']':
		scrub(ui, FAR);
		return true;
	case 'p':
		jump_to_spike(ui);
		return true;
	case SCREEN_END:
	case 'g':
		go_live(ui);
		return true;
	case ' ':
		pause_or_run(ui);
		return true;
	default:
		return false;
	}
}

static void choose_by_key(struct top_ui *ui, int key)
{
	switch (key) {
	case 'b':
		choose_by(ui, (int)ui->by + 1);
		break;
	case 'B':
		choose_by(ui, (int)ui->by - 1);
		break;
	case 'l':
		next_label(ui);
		break;
	case 'o':
		next_mode(ui);
		break;
	case 's':
		ui->sort = (ui->sort + 1) % TOP_SORT_COUNT;
		break;
	case 'r':
		ui->reverse = !ui->reverse;
		break;
	case '+':
	case '=':
		change_window(ui, 1);
		break;
	case '-':
		change_window(ui, -1);
		break;
	default:
		if (key >= '1' && key < '1' + TOP_BY_COUNT)
			choose_by(ui, key - '1');
	}
}

static void open_by_key(struct top_ui *ui, int key)
{
	bool in_table = ui->view == TOP_VIEW_TABLE;

	switch (key) {
	case SCREEN_ENTER:
		if (in_table && ui->cursor != TOP_LIVE && !ui->compare)
			open_view(ui, TOP_VIEW_FLAME, false);
		else if (in_table)
			open_view(ui, TOP_VIEW_TREE, true);
		break;
	case 't':
		if (in_table)
			open_view(ui, TOP_VIEW_TREE, true);
		else
			ui->view = TOP_VIEW_TREE;
		break;
	case 'f':
		if (in_table)
			open_view(ui, TOP_VIEW_FLAME, false);
		else
			ui->view = TOP_VIEW_FLAME;
		break;
	case 'c':
		ui->kind = ui->kind == TOP_TREE_UP ? TOP_TREE_DOWN : TOP_TREE_UP;
		break;
	case SCREEN_ESCAPE:
	case SCREEN_BACKSPACE:
		back(ui);
		break;
	default:
		choose_by_key(ui, key);
	}
}

void coati_top_key(struct top_ui *ui, int key)
{
	if (key == SCREEN_RESIZE)
		return;
	if (ui->typing) {
		type(ui, key);
		return;
	}
	if (ui->view == TOP_VIEW_HELP) {
		ui->view = ui->before_help;
		return;
	}
	if (move_by_key(ui, key))
		return;
	switch (key) {
	case 'q':
		ui->quits = true;
		break;
	case '?':
	case 'h':
	case SCREEN_HELP:
		ui->before_help = ui->view;
		ui->view = TOP_VIEW_HELP;
		break;
	case '/':
		ui->typing = true;
		ui->view = TOP_VIEW_TABLE;
		break;
	case 'd':
		compare(ui);
		break;
	case 'w':
		write_recording(ui);
		break;
	default:
		open_by_key(ui, key);
	}
}
