/* SPDX-License-Identifier: MIT */
/*
 * The terminal. ncurses is loaded when a screen is opened, so that no other verb pays for it, and
 * so that the tool runs where it is not installed. In: text at places, in styles. Out: keys.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/error.h>

struct screen;

enum screen_style {
	SCREEN_PLAIN = 0,
	SCREEN_TITLE,
	SCREEN_DIM,
	SCREEN_HEAD,
	SCREEN_SELECTED,
	SCREEN_HOT,
	SCREEN_WARM,
	SCREEN_COOL,
	SCREEN_KERNEL,
	SCREEN_GRAPH,
	SCREEN_CURSOR,
	SCREEN_BAD,
	SCREEN_GOOD,
	SCREEN_FLAME, /* and those behind it */
	SCREEN_FLAME_LAST = SCREEN_FLAME + 4,
	SCREEN_FLAME_KERNEL,
	SCREEN_FLAME_KERNEL_LAST = SCREEN_FLAME_KERNEL + 4,
	SCREEN_STYLES,
};

/* Keys besides characters. */
enum screen_key {
	SCREEN_NONE = 0,
	SCREEN_ENTER = 1000,
	SCREEN_ESCAPE,
	SCREEN_BACKSPACE,
	SCREEN_UP,
	SCREEN_DOWN,
	SCREEN_LEFT,
	SCREEN_RIGHT,
	SCREEN_FAR_LEFT, /* with Shift */
	SCREEN_FAR_RIGHT,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_HELP,
	SCREEN_RESIZE,
};

/* @color: an enum color_choice. -ENOTTY, -EOPNOTSUPP: there can be none, and why. */
int coati_screen_open(int color, struct screen **ret, struct coati_error *err);
/* The terminal as it was. */
void coati_screen_close(struct screen **s);

void coati_screen_size(struct screen *s, int *ret_rows, int *ret_columns);
/* Can it show more than ASCII? */
bool coati_screen_has_unicode(const struct screen *s);
void coati_screen_clear(struct screen *s);
/* @text from column @x on, at most @width columns, the rest of them blank. */
struct screen_place {
	int y, x, width;
	enum screen_style style;
};
void coati_screen_put(struct screen *s, struct screen_place at, const char *text);
void coati_screen_show(struct screen *s);
/* The next key, a character or an enum screen_key; SCREEN_NONE: there is none. */
int coati_screen_key(struct screen *s);
