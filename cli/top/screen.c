/* SPDX-License-Identifier: MIT */
/* see screen.h */
#include "cli/top/screen.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "build-config.h"
#include "cli/output.h"

#if COATI_HAVE_NCURSES

#include <dlfcn.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <wchar.h>

#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>

#define LIBRARY "libncursesw.so.6"
#define ESCAPE	27

/* What is used of ncurses, by its own names. */
#define CALL(name) __typeof__(&name) name
struct calls {
	CALL(newterm);
	CALL(delscreen);
	CALL(endwin);
	CALL(cbreak);
	CALL(noecho);
	CALL(nonl);
	CALL(keypad);
	CALL(nodelay);
	CALL(curs_set);
	CALL(start_color);
	CALL(has_colors);
	CALL(use_default_colors);
	CALL(init_pair);
	CALL(wmove);
	CALL(waddnwstr);
	CALL(wattr_set);
	CALL(werase);
	CALL(wnoutrefresh);
	CALL(doupdate);
	CALL(wget_wch);
	CALL(getmaxx);
	CALL(getmaxy);
	CALL(set_escdelay);
	WINDOW **window;
	int *colors, *pairs;
};

#define AT(name) offsetof(struct calls, name)
static const struct {
	const char *name;
	size_t at; /* in struct calls */
} symbols[] = {
	{ "newterm", AT(newterm) },
	{ "delscreen", AT(delscreen) },
	{ "endwin", AT(endwin) },
	{ "cbreak", AT(cbreak) },
	{ "noecho", AT(noecho) },
	{ "nonl", AT(nonl) },
	{ "keypad", AT(keypad) },
	{ "nodelay", AT(nodelay) },
	{ "curs_set", AT(curs_set) },
	{ "start_color", AT(start_color) },
	{ "has_colors", AT(has_colors) },
	{ "use_default_colors", AT(use_default_colors) },
	{ "init_pair", AT(init_pair) },
	{ "wmove", AT(wmove) },
	{ "waddnwstr", AT(waddnwstr) },
	{ "wattr_set", AT(wattr_set) },
	{ "werase", AT(werase) },
	{ "wnoutrefresh", AT(wnoutrefresh) },
	{ "doupdate", AT(doupdate) },
	{ "wget_wch", AT(wget_wch) },
	{ "getmaxx", AT(getmaxx) },
	{ "getmaxy", AT(getmaxy) },
	{ "set_escdelay", AT(set_escdelay) },
	{ "stdscr", AT(window) },
	{ "COLORS", AT(colors) },
	{ "COLOR_PAIRS", AT(pairs) },
};

struct screen {
	void *library;
	struct calls c;
	SCREEN *term;
	WINDOW *w;
	bool unicode;
	struct {
		attr_t attr;
		short pair;
	} styles[SCREEN_STYLES];
};

/* Colors with 256 of them, and with 8; -1: the terminal's own. */
struct look {
	enum screen_style style;
	short fg256, bg256, fg8, bg8;
	attr_t attr;
};

static const struct look looks[] = {
	{ SCREEN_TITLE, 231, 24, COLOR_WHITE, COLOR_BLUE, A_BOLD },
	{ SCREEN_DIM, 245, -1, -1, -1, A_DIM },
	{ SCREEN_HEAD, 252, 236, -1, -1, A_BOLD | A_UNDERLINE },
	{ SCREEN_SELECTED, 231, 238, -1, -1, A_REVERSE },
	{ SCREEN_HOT, 203, -1, COLOR_RED, -1, A_BOLD },
	{ SCREEN_WARM, 221, -1, COLOR_YELLOW, -1, 0 },
	{ SCREEN_COOL, 114, -1, COLOR_GREEN, -1, 0 },
	{ SCREEN_KERNEL, 110, -1, COLOR_CYAN, -1, 0 },
	{ SCREEN_GRAPH, 75, -1, COLOR_GREEN, -1, 0 },
	{ SCREEN_CURSOR, 231, 160, COLOR_WHITE, COLOR_RED, A_BOLD | A_REVERSE },
	{ SCREEN_BAD, 203, -1, COLOR_RED, -1, A_BOLD },
	{ SCREEN_GOOD, 114, -1, COLOR_GREEN, -1, 0 },
	{ SCREEN_FLAME, 16, 214, COLOR_BLACK, COLOR_YELLOW, A_REVERSE },
	{ SCREEN_FLAME + 1, 16, 215, COLOR_BLACK, COLOR_RED, A_BOLD },
	{ SCREEN_FLAME + 2, 16, 208, COLOR_BLACK, COLOR_YELLOW, A_REVERSE },
	{ SCREEN_FLAME + 3, 16, 220, COLOR_BLACK, COLOR_RED, A_BOLD },
	{ SCREEN_FLAME + 4, 16, 209, COLOR_BLACK, COLOR_YELLOW, A_REVERSE },
	{ SCREEN_FLAME_KERNEL, 16, 109, COLOR_BLACK, COLOR_CYAN, A_REVERSE },
	{ SCREEN_FLAME_KERNEL + 1, 16, 110, COLOR_WHITE, COLOR_BLUE, A_BOLD },
	{ SCREEN_FLAME_KERNEL + 2, 16, 73, COLOR_BLACK, COLOR_CYAN, A_REVERSE },
	{ SCREEN_FLAME_KERNEL + 3, 16, 74, COLOR_WHITE, COLOR_BLUE, A_BOLD },
	{ SCREEN_FLAME_KERNEL + 4, 16, 116, COLOR_BLACK, COLOR_CYAN, A_REVERSE },
};

/* ---- opening ---- */

static int load(struct screen *s, struct coati_error *err)
{
	s->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!s->library)
		return coati_fail(err, -EOPNOTSUPP,
				  LIBRARY " is not installed (Debian: apt install libncursesw6); "
					  "coati top --once works without it");
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = dlsym(s->library, symbols[i].name);

		if (!found)
			return coati_fail(err, -EOPNOTSUPP,
					  LIBRARY " has no %s; coati top --once works without it",
					  symbols[i].name);
		memcpy((char *)&s->c + symbols[i].at, &found, sizeof(found));
	}
	return 0;
}

static bool wants_color(int color)
{
	const char *no = getenv("NO_COLOR");

	return color == COLOR_ALWAYS || (color == COLOR_AUTO && !(no && *no));
}

/* With colors a style is its colors; without, what is left to tell things apart. */
static void choose_styles(struct screen *s, int color)
{
	bool colors = wants_color(color) && s->c.has_colors() && s->c.start_color() != ERR &&
		      s->c.use_default_colors() != ERR;
	bool many = colors && *s->c.colors >= 256 && *s->c.pairs >= 64;

	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		const struct look *l = &looks[i];
		short pair = (short)(i + 1);
		bool plain = l->fg8 < 0 && l->bg8 < 0;

		s->styles[l->style].attr = l->attr;
		if (!colors || pair >= *s->c.pairs || (plain && !many))
			continue;
		if (s->c.init_pair(pair, many ? l->fg256 : l->fg8, many ? l->bg256 : l->bg8) == ERR)
			continue;
		s->styles[l->style].pair = pair;
		s->styles[l->style].attr &= (attr_t)(many ? A_BOLD : A_BOLD | A_UNDERLINE);
	}
	/* neighbors in a graph differ without colors, too */
	for (int i = SCREEN_FLAME; !colors && i <= SCREEN_FLAME_KERNEL_LAST; i++)
		s->styles[i].attr = (i - SCREEN_FLAME) % 2 ? A_UNDERLINE : A_REVERSE;
}

static int start_terminal(struct screen *s, int color, struct coati_error *err)
{
	const char *term = getenv("TERM");

	setlocale(LC_CTYPE, "");
	s->unicode = !strcmp(nl_langinfo(CODESET), "UTF-8");
	s->term = s->c.newterm(NULL, stdout, stdin);
	if (!s->term)
		return coati_fail(err, -EOPNOTSUPP,
				  "unknown terminal type TERM=%.40s; set TERM, or use coati top "
				  "--once",
				  term);
	s->w = *s->c.window;
	s->c.cbreak();
	s->c.noecho();
	s->c.nonl();
	s->c.keypad(s->w, TRUE);
	s->c.nodelay(s->w, TRUE);
	s->c.curs_set(0);
	s->c.set_escdelay(25);
	choose_styles(s, color);
	return 0;
}

static int check_terminal(struct coati_error *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return coati_fail(err, -ENOTTY,
				  "a screen needs a terminal; use coati top --once, which prints a "
				  "table, or --once --json");
	if (!term || !*term || !strcmp(term, "dumb"))
		return coati_fail(err, -ENOTTY,
				  "this terminal (TERM=%s) cannot show a screen; use coati top "
				  "--once, which prints a table",
				  term ? term : "");
	return 0;
}

int coati_screen_open(int color, struct screen **ret, struct coati_error *err)
{
	struct screen *s;
	int r = check_terminal(err);

	if (r < 0)
		return r;
	s = coati_alloc(sizeof(*s));
	if (!s)
		return coati_fail(err, -ENOMEM, "out of memory");
	r = load(s, err);
	if (r == 0)
		r = start_terminal(s, color, err);
	if (r < 0)
		coati_screen_close(&s);
	else
		*ret = s;
	return r;
}

/* The library stays: it has handlers for signals. */
void coati_screen_close(struct screen **sp)
{
	struct screen *s = *sp;

	if (!s)
		return;
	if (s->term) {
		s->c.endwin();
		s->c.delscreen(s->term);
	}
	coati_free(s);
	*sp = NULL;
}

/* ---- drawing ---- */

void coati_screen_size(struct screen *s, int *ret_rows, int *ret_columns)
{
	*ret_rows = s->c.getmaxy(s->w);
	*ret_columns = s->c.getmaxx(s->w);
}

bool coati_screen_has_unicode(const struct screen *s)
{
	return s->unicode;
}

void coati_screen_clear(struct screen *s)
{
	s->c.werase(s->w);
}

#define CELLS_MAX 1024

/* As many characters as fit into @width columns; the rest of them blank. */
static int to_wide(const struct screen *s, const char *text, int width, wchar_t *out)
{
	mbstate_t state = { 0 };
	int used = 0, nr = 0;

	while (*text && used < width && nr < CELLS_MAX - 1) {
		wchar_t wc;
		size_t n = mbrtowc(&wc, text, strlen(text), &state);
		int columns = n == 0 || n > 16 ? -1 : wcwidth(wc);

		if (n == 0 || n > 16) {
			memset(&state, 0, sizeof(state));
			n = 1;
		}
		if (columns < 0 || (!s->unicode && wc > 126)) {
			wc = L'?';
			columns = 1;
		}
		if (used + columns > width)
			break;
		out[nr++] = wc;
		used += columns;
		text += n;
	}
	while (used < width && nr < CELLS_MAX - 1) {
		out[nr++] = L' ';
		used++;
	}
	return nr;
}

void coati_screen_put(struct screen *s, struct screen_place at, const char *text)
{
	int rows, columns, nr;
	wchar_t wide[CELLS_MAX];

	coati_screen_size(s, &rows, &columns);
	if (at.y < 0 || at.y >= rows || at.x < 0 || at.x >= columns || at.width <= 0)
		return;
	if (at.width > columns - at.x)
		at.width = columns - at.x;
	nr = to_wide(s, text, at.width, wide);
	s->c.wattr_set(s->w, s->styles[at.style].attr, s->styles[at.style].pair, NULL);
	s->c.wmove(s->w, at.y, at.x);
	s->c.waddnwstr(s->w, wide, nr);
	s->c.wattr_set(s->w, A_NORMAL, 0, NULL);
}

void coati_screen_show(struct screen *s)
{
	s->c.wnoutrefresh(s->w);
	s->c.doupdate();
}

/* ---- keys ---- */

static int special_key(wint_t key)
{
	switch (key) {
	case KEY_UP:
		return SCREEN_UP;
	case KEY_DOWN:
		return SCREEN_DOWN;
	case KEY_LEFT:
		return SCREEN_LEFT;
	case KEY_RIGHT:
		return SCREEN_RIGHT;
	case KEY_SLEFT:
		return SCREEN_FAR_LEFT;
	case KEY_SRIGHT:
		return SCREEN_FAR_RIGHT;
	case KEY_PPAGE:
		return SCREEN_PAGE_UP;
	case KEY_NPAGE:
		return SCREEN_PAGE_DOWN;
	case KEY_HOME:
		return SCREEN_HOME;
	case KEY_END:
		return SCREEN_END;
	case KEY_BACKSPACE:
		return SCREEN_BACKSPACE;
	case KEY_ENTER:
		return SCREEN_ENTER;
	case KEY_F(1):
		return SCREEN_HELP;
	case KEY_RESIZE:
		return SCREEN_RESIZE;
	default:
		return SCREEN_NONE;
	}
}

int coati_screen_key(struct screen *s)
{
	wint_t key;
	int r = s->c.wget_wch(s->w, &key);

	if (r == ERR)
		return SCREEN_NONE;
	if (r == KEY_CODE_YES)
		return special_key(key);
	if (key == '\r' || key == '\n')
		return SCREEN_ENTER;
	if (key == 127 || key == '\b')
		return SCREEN_BACKSPACE;
	if (key == ESCAPE)
		return SCREEN_ESCAPE;
	return key < 128 ? (int)key : SCREEN_NONE;
}

#else

int coati_screen_open(int color, struct screen **ret, struct coati_error *err)
{
	return coati_fail(
		err, -EOPNOTSUPP,
		"this coati was built without ncurses and has no screen; coati top --once "
		"works, or build it with libncurses-dev installed");
}

void coati_screen_close(struct screen **s)
{
}

void coati_screen_size(struct screen *s, int *ret_rows, int *ret_columns)
{
	*ret_rows = *ret_columns = 0;
}

bool coati_screen_has_unicode(const struct screen *s)
{
	return false;
}

void coati_screen_clear(struct screen *s)
{
}

void coati_screen_put(struct screen *s, struct screen_place at, const char *text)
{
}

void coati_screen_show(struct screen *s)
{
}

int coati_screen_key(struct screen *s)
{
	return SCREEN_NONE;
}

#endif
