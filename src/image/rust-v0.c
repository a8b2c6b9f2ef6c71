/* SPDX-License-Identifier: MIT */
/*
 * Rust's second mangling: paths and types. A symbol comes in, the path goes out as Rust writes it,
 * without the hashes of crates: "<alloc::vec::Vec<u8> as core::fmt::Debug>::fmt".
 */
#include "image/rust-v0.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "image/demangle.h"

static void print_path(struct v0 *v, bool in_value);
static void print_type(struct v0 *v);
static void print_const(struct v0 *v);

/* At every entry that can come back to itself. */
static bool enter(struct v0 *v)
{
	if (++v->depth > V0_DEPTH_MAX || ++v->steps > V0_STEPS_MAX)
		v->bad = true;
	return !v->bad && !v->out->failed;
}

/* Continue at an earlier place of the symbol (its number was read), then come back. */
static size_t follow(struct v0 *v, size_t tag_at)
{
	uint64_t to = coati_v0_base62(v);
	size_t back = v->at;

	/* only what lies before: nothing can point at itself */
	if (to >= tag_at)
		v->bad = true;
	else
		v->at = (size_t)to;
	return back;
}

static void print_lifetime(struct v0 *v, uint64_t i)
{
	char text[32];
	uint64_t depth;

	if (!i) {
		v0_add(v, "'_");
		return;
	}
	if (i > v->nr_lifetimes) {
		v->bad = true;
		return;
	}
	depth = v->nr_lifetimes - i;
	if (depth < 26)
		snprintf(text, sizeof(text), "'%c", (char)('a' + depth));
	else
		snprintf(text, sizeof(text), "'_%llu", (unsigned long long)depth);
	v0_add(v, text);
}

/* "for<'a, 'b> "; how many were bound. */
static uint64_t open_binder(struct v0 *v)
{
	uint64_t nr = coati_v0_tagged(v, 'G');

	if (nr > V0_DEPTH_MAX) {
		v->bad = true;
		return 0;
	}
	for (uint64_t i = 0; i < nr; i++) {
		v0_add(v, i ? ", " : "for<");
		v->nr_lifetimes++;
		print_lifetime(v, 1);
	}
	if (nr)
		v0_add(v, "> ");
	return nr;
}

static void print_generic(struct v0 *v)
{
	if (v0_eat(v, 'L'))
		print_lifetime(v, coati_v0_base62(v));
	else if (v0_eat(v, 'K'))
		print_const(v);
	else
		print_type(v);
}

/* Until "E"; how many there were. */
static size_t print_list(struct v0 *v, void (*print)(struct v0 *v), const char *between)
{
	size_t nr = 0;

	while (!v->bad && !v0_eat(v, 'E')) {
		if (nr++)
			v0_add(v, between);
		print(v); /* behind the end there is none: it is bad then */
	}
	return nr;
}

static void print_nested(struct v0 *v, bool in_value)
{
	char kind = v0_next(v), text[32];
	struct v0_ident name;

	print_path(v, in_value);
	name = coati_v0_ident(v, true);
	if (kind >= 'A' && kind <= 'Z') {
		const char *what = kind == 'C' ? "closure" : kind == 'S' ? "shim" : "";

		snprintf(text, sizeof(text), "::{%s%.1s", what, *what ? "" : &kind);
		v0_add(v, text);
		if (name.len)
			v0_add(v, ":");
		coati_v0_add_ident(v, &name);
		snprintf(text, sizeof(text), "#%llu}", (unsigned long long)name.disambiguator);
		v0_add(v, text);
	} else if (kind < 'a' || kind > 'z') {
		v->bad = true;
	} else if (name.len) {
		v0_add(v, "::");
		coati_v0_add_ident(v, &name);
	}
}

/* "<T>", "<T as Trait>"; where the impl stands is left out. */
static void print_impl(struct v0 *v, char tag)
{
	bool was_silent = v->silent;

	if (tag != 'Y') {
		coati_v0_tagged(v, 's');
		v->silent = true;
		print_path(v, false);
		v->silent = was_silent;
	}
	v0_add(v, "<");
	print_type(v);
	if (tag != 'M') {
		v0_add(v, " as ");
		print_path(v, false);
	}
	v0_add(v, ">");
}

static void print_path_at(struct v0 *v, bool in_value)
{
	size_t tag_at = v->at, back;
	struct v0_ident name;
	char tag = v0_next(v);

	switch (tag) {
	case 'C':
		name = coati_v0_ident(v, true);
		coati_v0_add_ident(v, &name);
		break;
	case 'N':
		print_nested(v, in_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		print_impl(v, tag);
		break;
	case 'I':
		print_path(v, in_value);
		v0_add(v, in_value ? "::<" : "<");
		print_list(v, print_generic, ", ");
		v0_add(v, ">");
		break;
	case 'B':
		back = follow(v, tag_at);
		if (!v->silent)
			print_path(v, in_value);
		v->at = back;
		break;
	default:
		v->bad = true;
	}
}

static void print_path(struct v0 *v, bool in_value)
{
	if (enter(v))
		print_path_at(v, in_value);
	v->depth--;
}

/* A trait whose generics stay open for what is assigned to its types: true when they are. */
static bool print_open_path(struct v0 *v)
{
	size_t tag_at = v->at, back;
	bool open = false;

	if (!enter(v)) {
		v->depth--;
		return false;
	}
	if (v0_eat(v, 'B')) {
		back = follow(v, tag_at);
		if (!v->silent)
			open = print_open_path(v);
		v->at = back;
	} else if (v0_eat(v, 'I')) {
		print_path(v, false);
		v0_add(v, "<");
		print_list(v, print_generic, ", ");
		open = true;
	} else {
		print_path(v, false);
	}
	v->depth--;
	return open;
}

static void print_dyn_trait(struct v0 *v)
{
	bool open = print_open_path(v);

	while (v0_eat(v, 'p')) {
		struct v0_ident name = coati_v0_ident(v, false);

		v0_add(v, open ? ", " : "<");
		open = true;
		coati_v0_add_ident(v, &name);
		v0_add(v, " = ");
		print_type(v);
	}
	if (open)
		v0_add(v, ">");
}

static void print_dyn(struct v0 *v)
{
	uint64_t nr, lifetime;

	v0_add(v, "dyn ");
	nr = open_binder(v);
	print_list(v, print_dyn_trait, " + ");
	v->nr_lifetimes -= nr;
	if (!v0_eat(v, 'L')) {
		v->bad = true;
		return;
	}
	lifetime = coati_v0_base62(v);
	if (lifetime) {
		v0_add(v, " + ");
		print_lifetime(v, lifetime);
	}
}

static void print_abi(struct v0 *v)
{
	struct v0_ident abi;

	v0_add(v, "extern \"");
	if (v0_eat(v, 'C')) {
		v0_add(v, "C");
	} else {
		abi = coati_v0_ident(v, false);
		for (size_t i = 0; i < abi.len && !v->silent && !v->bad; i++)
			coati_strbuf_addc(v->out, abi.text[i] == '_' ? '-' : abi.text[i]);
	}
	v0_add(v, "\" ");
}

static void print_fn(struct v0 *v)
{
	uint64_t nr = open_binder(v);

	if (v0_eat(v, 'U'))
		v0_add(v, "unsafe ");
	if (v0_eat(v, 'K'))
		print_abi(v);
	v0_add(v, "fn(");
	print_list(v, print_type, ", ");
	v0_add(v, ")");
	if (!v0_eat(v, 'u')) {
		v0_add(v, " -> ");
		print_type(v);
	}
	v->nr_lifetimes -= nr;
}

static const char *basic_type(char tag)
{
	static const char tags[] = "bceuaslxnihtmyojfdzpv";
	static const char *const names[] = { "bool", "char",  "str",   "()",  "i8",  "i16", "i32",
					     "i64",  "i128",  "isize", "u8",  "u16", "u32", "u64",
					     "u128", "usize", "f32",   "f64", "!",   "_",   "..." };
	const char *at = tag ? strchr(tags, tag) : NULL;

	return at ? names[at - tags] : NULL;
}

static void print_reference(struct v0 *v, char tag)
{
	v0_add(v, "&");
	if (v0_eat(v, 'L')) {
		uint64_t lifetime = coati_v0_base62(v);

		if (lifetime) {
			print_lifetime(v, lifetime);
			v0_add(v, " ");
		}
	}
	if (tag == 'Q')
		v0_add(v, "mut ");
	print_type(v);
}

static void print_sequence(struct v0 *v, char tag)
{
	v0_add(v, "[");
	print_type(v);
	if (tag == 'A') {
		v0_add(v, "; ");
		print_const(v);
	}
	v0_add(v, "]");
}

static void print_type_at(struct v0 *v)
{
	size_t tag_at = v->at, back;
	char tag = v0_next(v);
	const char *basic = basic_type(tag);

	if (basic) {
		v0_add(v, basic);
		return;
	}
	switch (tag) {
	case 'R':
	case 'Q':
		print_reference(v, tag);
		break;
	case 'P':
	case 'O':
		v0_add(v, tag == 'P' ? "*const " : "*mut ");
		print_type(v);
		break;
	case 'A':
	case 'S':
		print_sequence(v, tag);
		break;
	case 'T':
		v0_add(v, "(");
		v0_add(v, print_list(v, print_type, ", ") == 1 ? ",)" : ")");
		break;
	case 'F':
		print_fn(v);
		break;
	case 'D':
		print_dyn(v);
		break;
	case 'B':
		back = follow(v, tag_at);
		if (!v->silent)
			print_type(v);
		v->at = back;
		break;
	default:
		v->at = tag_at;
		print_path(v, false);
	}
}

static void print_type(struct v0 *v)
{
	if (enter(v))
		print_type_at(v);
	v->depth--;
}

static void print_const(struct v0 *v)
{
	size_t tag_at = v->at, back;
	char tag;

	if (!enter(v)) {
		v->depth--;
		return;
	}
	tag = v0_next(v);
	if (tag == 'p') {
		v0_add(v, "_");
	} else if (tag == 'B') {
		back = follow(v, tag_at);
		if (!v->silent)
			print_const(v);
		v->at = back;
	} else if (tag && strchr("htmyojaslxnibc", tag)) {
		coati_v0_constant(v, tag);
	} else {
		v->bad = true;
	}
	v->depth--;
}

int coati_demangle_rust_v0(const char *symbol, struct strbuf *out)
{
	const char *dot = strchr(symbol, '.');
	struct v0 v = { .s = symbol + 2, .out = out };
	size_t all = dot ? (size_t)(dot - symbol) : strlen(symbol);

	/* a number here would be a version that is yet to come */
	if (strncmp(symbol, "_R", 2) != 0 || symbol[2] < 'A' || symbol[2] > 'Z' ||
	    all > DEMANGLE_IN_MAX)
		return -EINVAL;
	v.len = all - 2;
	print_path(&v, true);
	/* the crate that it was made for */
	if (!v.bad && v0_peek(&v) >= 'A' && v0_peek(&v) <= 'Z') {
		v.silent = true;
		print_path(&v, false);
	}
	if (v.bad || v.at != v.len)
		return -EINVAL;
	if (dot && strncmp(dot, ".llvm.", 6) != 0)
		coati_strbuf_printf(out, " [%s]", dot + 1);
	return out->failed;
}
