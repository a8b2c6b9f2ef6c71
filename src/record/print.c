/* SPDX-License-Identifier: MIT */
/*
 * The format string of a print format: which conversions it has, which arguments they take, and
 * what they print. The kernel's own extensions of %p are known as far as a record holds what they
 * print.
 */
#include "record/print.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "record/address.h"
#include "record/token.h"

#define WIDTH_MAX 4096

#define FIELD_WORDS (TP_FORMAT_FIELDS_MAX / 64)

struct parsing {
	const char *args; /* text behind the format string */
	struct expr_scope scope;
	uint64_t shown[FIELD_WORDS],
		hidden[FIELD_WORDS]; /* fields in arguments that can (not) be printed */
};

/* ---- taking apart ---- */

static int next_argument(struct parsing *s, const struct expr **ret)
{
	uint64_t *fields;
	int r;

	s->args += strspn(s->args, " \t\n");
	if (*s->args != ',')
		return -EOPNOTSUPP;
	s->args++;
	memset(s->scope.used, 0, sizeof(s->scope.used));
	r = coati_expr_parse(&s->args, &s->scope, ret);
	if (r)
		return r;
	fields = (*ret)->kind == EXPR_NAMED ? s->hidden : s->shown;
	for (int i = 0; i < FIELD_WORDS; i++)
		fields[i] |= s->scope.used[i];
	return 0;
}

/* A line that would hide a field behind a question mark is worse than a list of all fields. */
static bool hides_fields(const struct parsing *s)
{
	for (int i = 0; i < FIELD_WORDS; i++)
		if (s->hidden[i] & ~s->shown[i])
			return true;
	return false;
}

/* A number or a star; -1 when there is neither. */
static int parse_count(struct parsing *s, const char **at, int *ret, const struct expr **ret_arg)
{
	int v = 0, digits = 0, r;

	if (**at == '*') {
		(*at)++;
		r = next_argument(s, ret_arg);
		if (r)
			return r;
		return (*ret_arg)->type == EXPR_IS_NUMBER && (*ret_arg)->kind != EXPR_NAMED
			       ? 0
			       : -EOPNOTSUPP;
	}
	for (; **at >= '0' && **at <= '9'; (*at)++, digits++) {
		v = v * 10 + (**at - '0');
		if (v > WIDTH_MAX)
			return -E2BIG;
	}
	if (digits)
		*ret = v;
	return 0;
}

static void parse_flags(const char **at, struct conversion *c)
{
	for (;; (*at)++) {
		switch (**at) {
		case '-':
			c->left = true;
			break;
		case '0':
			c->zero = true;
			break;
		case '+':
			c->plus = true;
			break;
		case ' ':
			c->space = true;
			break;
		case '#':
			c->alternate = true;
			break;
		default:
			return;
		}
	}
}

/* h, hh, l, ll, z, t, j, L: the bytes of the number. */
static uint8_t parse_length(const char **at)
{
	uint8_t size = 4;

	for (;; (*at)++) {
		switch (**at) {
		case 'h':
			size /= 2;
			break;
		case 'l':
		case 'z':
		case 't':
		case 'j':
		case 'L':
			size = 8;
			break;
		default:
			return size ? size : 1;
		}
	}
}

/* Does the value have what the conversion prints? */
static int check_value(const struct conversion *c, const struct expr *e)
{
	if (c->letter == 's' || e->kind == EXPR_NAMED)
		return 0;
	if (c->letter == 'p')
		return coati_address_known(c->extension, e) ? 0 : -EOPNOTSUPP;
	return e->type == EXPR_IS_NUMBER ? 0 : -EOPNOTSUPP;
}

/* Behind the percent sign. */
static int parse_conversion(struct parsing *s, const char **at, struct print_item *item)
{
	struct conversion *c = &item->conversion;
	int r;

	*c = (struct conversion){ .width = -1, .precision = -1 };
	item->has_conversion = true;
	parse_flags(at, c);
	r = parse_count(s, at, &c->width, &item->width);
	if (r)
		return r;
	if (**at == '.') {
		(*at)++;
		c->precision = 0;
		r = parse_count(s, at, &c->precision, &item->precision);
		if (r)
			return r;
	}
	c->size = parse_length(at);
	c->letter = **at == 'i' ? 'd' : **at;
	if (!c->letter || !strchr("duxXocsp", c->letter))
		return -EOPNOTSUPP;
	(*at)++;
	if (c->letter == 'p')
		*at += coati_address_extension(*at, c->extension);
	r = next_argument(s, &item->value);
	return r ? r : check_value(c, item->value);
}

/* Up to the next conversion, which is part of it. Two percent signs are one, and end a piece of
 * text. */
static int parse_item(struct parsing *s, const char **at, const char *end, struct print_item *item)
{
	const char *percent = memchr(*at, '%', (size_t)(end - *at));

	item->text = *at;
	item->len = (uint32_t)((percent ? percent : end) - *at);
	*at += item->len;
	if (!percent)
		return 0;
	(*at)++;
	if (**at == '%') {
		item->len++;
		(*at)++;
		return 0;
	}
	return parse_conversion(s, at, item);
}

typedef ARRAY(struct print_item) item_array;

static int parse_items(struct parsing *s, const char *at, uint32_t len, item_array *items)
{
	const char *end = at + len;

	while (at < end) {
		struct print_item *item = ARRAY_ADD(items);
		int r;

		if (!item)
			return items->len == PRINT_ITEMS_MAX ? -E2BIG : -ENOMEM;
		r = parse_item(s, &at, end, item);
		if (r)
			return r;
	}
	s->args += strspn(s->args, " \t\n");
	return *s->args || hides_fields(s) ? -EOPNOTSUPP : 0;
}

int coati_print_parse(const struct coati_tp_format *format, struct arena *arena,
		      struct print_program *ret)
{
	struct parsing s = { .args = format->print_fmt,
			     .scope = { .format = format, .arena = arena } };
	item_array items = ARRAY_INIT(PRINT_ITEMS_MAX);
	struct print_item *kept;
	const char *text;
	uint32_t len;
	int r;

	s.args += strspn(s.args, " \t\n");
	r = coati_token_string(&s.args, arena, &text, &len);
	if (!r && memchr(text, 0, len))
		r = -EOPNOTSUPP;
	if (!r)
		r = parse_items(&s, text, len, &items);
	if (!r) {
		kept = coati_arena_alloc(arena, (items.len + 1) * sizeof(*kept));
		if (kept && items.len)
			memcpy(kept, items.v, items.len * sizeof(*kept));
		r = kept ? 0 : -ENOMEM;
	}
	if (!r)
		*ret = (struct print_program){ (uint32_t)items.len, kept };
	ARRAY_FINI(&items);
	return r;
}

/* ---- printing ---- */

/* Bytes are texts too: up to their first zero. A number is an address at which a text was, in
 * another memory. */
static bool print_string(const struct print_item *item, const struct coati_payload *p,
			 struct output *o)
{
	struct field_bytes bytes;
	uint64_t v;

	if (item->value->type == EXPR_IS_TEXT)
		return coati_expr_text(item->value, p, o);
	if (item->value->type == EXPR_IS_BYTES) {
		if (!coati_expr_bytes(item->value, p, &bytes))
			return false;
		coati_output_add(o, (const char *)bytes.at,
				 strnlen((const char *)bytes.at, bytes.size));
		return true;
	}
	if (!coati_expr_number(item->value, p, &v))
		return false;
	coati_output_hex(o, v, 1);
	return true;
}

static bool print_address(const struct print_item *item, const struct conversion *c,
			  const struct coati_payload *p, const struct coati_symbol_source *symbols,
			  struct output *o)
{
	struct field_bytes bytes;
	uint64_t v;

	if (item->value->type == EXPR_IS_NUMBER) {
		if (!coati_expr_number(item->value, p, &v))
			return false;
		coati_address_number(c, v, symbols, o);
		return true;
	}
	if (!coati_expr_bytes(item->value, p, &bytes))
		return false;
	coati_address_bytes(c, &bytes, p->swap, o);
	return true;
}

static bool star(const struct expr *e, const struct coati_payload *p, int *ret)
{
	uint64_t v;

	if (!e)
		return true;
	if (!coati_expr_number(e, p, &v))
		return false;
	*ret = (int32_t)v;
	return true;
}

/* Widths that come from the record: negative ones mean left, huge ones nothing good. */
static bool resolve(const struct print_item *item, const struct coati_payload *p,
		    struct conversion *c)
{
	*c = item->conversion;
	if (!star(item->width, p, &c->width) || !star(item->precision, p, &c->precision))
		return false;
	if (item->width && c->width < 0) {
		c->left = true;
		c->width = c->width == INT32_MIN ? WIDTH_MAX : -c->width;
	}
	if (c->width > WIDTH_MAX)
		c->width = WIDTH_MAX;
	return true;
}

static bool print_conversion(const struct print_item *item, const struct coati_payload *p,
			     const struct coati_symbol_source *symbols, struct output *o)
{
	struct conversion c;
	size_t start = o->len;
	uint64_t v;

	if (!resolve(item, p, &c))
		return false;
	if (item->value->kind == EXPR_NAMED) {
		coati_output_char(o, '?', 1);
		return true;
	}
	if (c.letter == 's') {
		if (!print_string(item, p, o))
			return false;
		coati_output_fit(o, &c, start);
		return true;
	}
	if (c.letter == 'p')
		return print_address(item, &c, p, symbols, o);
	if (!coati_expr_number(item->value, p, &v))
		return false;
	if (c.letter != 'c') {
		coati_output_number(o, &c, v);
		return true;
	}
	coati_output_char(o, (char)v, 1);
	c.precision = -1;
	coati_output_fit(o, &c, start);
	return true;
}

bool coati_print_run(const struct print_program *program, const struct coati_payload *p,
		     const struct coati_symbol_source *symbols, struct output *o)
{
	for (uint32_t i = 0; i < program->nr_items; i++) {
		const struct print_item *item = &program->items[i];

		coati_output_add(o, item->text, item->len);
		if (item->has_conversion && !print_conversion(item, p, symbols, o))
			return false;
	}
	return true;
}
