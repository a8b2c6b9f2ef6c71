/* SPDX-License-Identifier: MIT */
/* Reading format files line by line. */
#include "record/format.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/parse.h"

/* A stretch of the text. */
struct span {
	const char *at, *end;
};

typedef ARRAY(struct coati_tp_field) field_array;

struct reading {
	struct span left; /* lines not read yet */
	struct arena *arena;
	field_array fields;
	struct coati_tp_format format;
	bool in_fields, has_id, has_common;
};

static size_t span_len(struct span s)
{
	return (size_t)(s.end - s.at);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static struct span trim(struct span s)
{
	while (s.at < s.end && is_space(*s.at))
		s.at++;
	while (s.at < s.end && is_space(s.end[-1]))
		s.end--;
	return s;
}

static bool starts_with(struct span s, const char *prefix)
{
	size_t len = strlen(prefix);

	return span_len(s) >= len && memcmp(s.at, prefix, len) == 0;
}

/* Step over @prefix when @s starts with it. */
static bool take(struct span *s, const char *prefix)
{
	if (!starts_with(*s, prefix))
		return false;
	s->at += strlen(prefix);
	return true;
}

/* Does the word stand alone anywhere in @s? */
static bool has_word(struct span s, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = s.at; (size_t)(s.end - p) >= len; p++) {
		if (memcmp(p, word, len) == 0 && (p == s.at || !is_name_char(p[-1])) &&
		    (p + len == s.end || !is_name_char(p[len])))
			return true;
	}
	return false;
}

static int parse_number(struct span s, uint32_t max, uint32_t *ret)
{
	char digits[16];

	s = trim(s);
	if (span_len(s) >= sizeof(digits))
		return -EBADMSG;
	memcpy(digits, s.at, span_len(s));
	digits[span_len(s)] = '\0';
	return coati_parse_u32(digits, 0, max, ret) < 0 ? -EBADMSG : 0;
}

/* Up to @stop, which is stepped over; all of it when there is none and @must is false. */
static int cut(struct span *s, char stop, struct span *ret)
{
	const char *p = memchr(s->at, stop, span_len(*s));

	if (!p)
		return -EBADMSG;
	*ret = (struct span){ s->at, p };
	s->at = p + 1;
	return 0;
}

static struct span next_line(struct span *left)
{
	const char *p = memchr(left->at, '\n', span_len(*left));
	struct span line = { left->at, p ? p : left->end };

	left->at = p ? p + 1 : left->end;
	return line;
}

/* ---- one declaration ---- */

/* "[16]", "[4][8]", "[]", "[TASK_COMM_LEN]" at the end of @decl: cut it off and count the elements,
 * 0 when it is unknown. */
static int take_brackets(struct span *decl, struct span *ret, uint32_t *ret_len)
{
	const char *end = decl->end;
	uint64_t total = 1;

	while (decl->at < decl->end && decl->end[-1] == ']') {
		const char *p = decl->end - 1;
		uint32_t n = 0;

		while (p > decl->at && *p != '[')
			p--;
		if (*p != '[')
			return -EBADMSG;
		if (parse_number((struct span){ p + 1, decl->end - 1 }, TP_FORMAT_SIZE_MAX, &n) < 0)
			n = 0;
		total *= n;
		if (total > TP_FORMAT_SIZE_MAX)
			return -EBADMSG;
		decl->end = p;
		*decl = trim(*decl);
	}
	*ret = (struct span){ decl->end, end };
	*ret_len = (uint32_t)total;
	return 0;
}

/* The identifier at the end of @decl, cut off. */
static int take_name(struct span *decl, struct span *ret)
{
	const char *p = decl->end;

	while (p > decl->at && is_name_char(p[-1]))
		p--;
	if (p == decl->end || p == decl->at || (*p >= '0' && *p <= '9'))
		return -EBADMSG;
	*ret = (struct span){ p, decl->end };
	decl->end = p;
	*decl = trim(*decl);
	return 0;
}

static enum coati_tp_place place_of(struct span type)
{
	if (has_word(type, "__data_loc"))
		return COATI_TP_DATA_LOC;
	return has_word(type, "__rel_loc") ? COATI_TP_REL_LOC : COATI_TP_INLINE;
}

/* Type and name, in either order of brackets: "char comm[16]" and "__data_loc char[] cmd". */
static int parse_declaration(struct reading *r, struct span decl, struct coati_tp_field *f)
{
	struct span name, brackets;

	decl = trim(decl);
	if (take_brackets(&decl, &brackets, &f->array_len) < 0 || take_name(&decl, &name) < 0)
		return -EBADMSG;
	f->place = place_of(decl);
	f->is_pointer = decl.at < decl.end && decl.end[-1] == '*';
	f->is_array = brackets.at < brackets.end || (decl.at < decl.end && decl.end[-1] == ']');
	if (!f->is_array)
		f->array_len = 0;
	f->is_string = f->is_array && !f->is_pointer && has_word(decl, "char") &&
		       !has_word(decl, "unsigned") && !memchr(decl.at, '*', span_len(decl));
	f->name = coati_arena_strndup(r->arena, name.at, span_len(name));
	f->type = coati_arena_printf(r->arena, "%.*s%.*s", (int)span_len(decl), decl.at,
				     (int)(brackets.end - brackets.at), brackets.at);
	return f->name && f->type ? 0 : -ENOMEM;
}

/* ---- lines ---- */

/* "offset:8;" and its like: the number behind @key. */
static int parse_part(struct span *line, const char *key, uint32_t max, uint32_t *ret)
{
	struct span part;

	if (cut(line, ';', &part) < 0)
		return -EBADMSG;
	part = trim(part);
	return take(&part, key) ? parse_number(part, max, ret) : -EBADMSG;
}

static int parse_field(struct reading *r, struct span line)
{
	struct coati_tp_field *f;
	struct span decl;
	uint32_t is_signed = 0;
	int e;

	if (r->fields.len == TP_FORMAT_FIELDS_MAX)
		return -E2BIG;
	f = ARRAY_ADD(&r->fields);
	if (!f)
		return -ENOMEM;
	if (cut(&line, ';', &decl) < 0 ||
	    parse_part(&line, "offset:", TP_FORMAT_SIZE_MAX, &f->offset) < 0 ||
	    parse_part(&line, "size:", TP_FORMAT_SIZE_MAX, &f->size) < 0)
		return -EBADMSG;
	/* very old kernels do not say it */
	if (trim(line).at < trim(line).end && parse_part(&line, "signed:", 1, &is_signed) < 0)
		return -EBADMSG;
	f->is_signed = is_signed;
	e = parse_declaration(r, decl, f);
	if (e < 0)
		return e;
	if (f->offset + f->size > TP_FORMAT_SIZE_MAX ||
	    (f->place != COATI_TP_INLINE && f->size != sizeof(uint32_t)))
		return -EBADMSG;
	if (f->place != COATI_TP_INLINE || f->array_len > f->size)
		f->array_len = 0;
	else if (f->is_string && !f->array_len)
		f->array_len = f->size;
	if (f->offset + f->size > r->format.size)
		r->format.size = f->offset + f->size;
	return 0;
}

static int parse_head(struct reading *r, struct span line)
{
	struct span word;

	if (take(&line, "name:")) {
		word = trim(line);
		r->format.name = coati_arena_strndup(r->arena, word.at, span_len(word));
		return r->format.name ? 0 : -ENOMEM;
	}
	if (take(&line, "ID:")) {
		r->has_id = true;
		return parse_number(line, UINT32_MAX, &r->format.id);
	}
	if (take(&line, "format:")) {
		r->in_fields = true;
		return 0;
	}
	return trim(line).at == trim(line).end ? 0 : -EBADMSG;
}

/* The print format is the rest of the text: it may hold anything. */
static int parse_print(struct reading *r, struct span line)
{
	struct span text = { line.at, r->left.end };

	while (text.at < text.end && text.end[-1] == '\n')
		text.end--;
	text = trim(text);
	r->left.at = r->left.end;
	r->format.print_fmt = coati_arena_strndup(r->arena, text.at, span_len(text));
	return r->format.print_fmt ? 0 : -ENOMEM;
}

static int parse_line(struct reading *r, struct span line)
{
	struct span body = trim(line);

	if (!r->in_fields)
		return parse_head(r, line);
	if (take(&body, "field:") || take(&body, "field special:"))
		return parse_field(r, body);
	if (take(&body, "print fmt:"))
		return parse_print(r, body);
	if (body.at < body.end)
		return -EBADMSG;
	/* the first empty line ends the common fields */
	if (!r->has_common && r->fields.len) {
		r->has_common = true;
		r->format.nr_common = (uint32_t)r->fields.len;
	}
	return 0;
}

static int finish(struct reading *r, struct coati_tp_format *ret)
{
	struct coati_tp_field *fields;
	size_t bytes = r->fields.len * sizeof(*fields);

	if (!r->format.name || !r->format.name[0] || !r->has_id || !r->in_fields)
		return -EBADMSG;
	fields = coati_arena_alloc(r->arena, bytes);
	if (!fields)
		return -ENOMEM;
	if (bytes)
		memcpy(fields, r->fields.v, bytes);
	if (!r->has_common)
		r->format.nr_common = (uint32_t)r->fields.len;
	r->format.fields = fields;
	r->format.nr_fields = (uint32_t)r->fields.len;
	*ret = r->format;
	return 0;
}

int coati_tp_format_parse(const char *text, size_t len, struct arena *arena,
			  struct coati_tp_format *ret)
{
	struct reading r = {
		.left = { text, text + len },
		.arena = arena,
		.fields = ARRAY_INIT(TP_FORMAT_FIELDS_MAX),
		.format = { .print_fmt = "" },
	};
	int e = len > TP_FORMAT_TEXT_MAX ? -E2BIG : 0;

	/* strings of the result are terminated, so a zero inside would hide what is behind it */
	if (e == 0 && len && memchr(text, 0, len))
		e = -EBADMSG;
	while (e == 0 && r.left.at < r.left.end) {
		struct span line = next_line(&r.left);

		e = parse_line(&r, line);
	}
	if (e == 0)
		e = finish(&r, ret);
	ARRAY_FINI(&r.fields);
	return e;
}

const struct coati_tp_field *coati_tp_format_find(const struct coati_tp_format *f, const char *name)
{
	for (uint32_t i = 0; i < f->nr_fields; i++) {
		if (strcmp(f->fields[i].name, name) == 0)
			return &f->fields[i];
	}
	return NULL;
}
