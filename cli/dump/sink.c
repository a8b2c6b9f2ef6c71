/* SPDX-License-Identifier: MIT */
/* Text is " name=value", JSON is "name":value. */
#include "cli/dump/sink.h"

#include <stdio.h>

static const char hex_digits[] = "0123456789abcdef";

static void add_hex(struct strbuf *out, uint64_t v)
{
	coati_strbuf_add(out, "0x", 2);
	coati_strbuf_hex(out, v);
}

static void text_name(struct sink *s, const char *name)
{
	coati_strbuf_addc(s->out, ' ');
	coati_strbuf_adds(s->out, name);
	coati_strbuf_addc(s->out, '=');
}

void coati_sink_u64(struct sink *s, const char *name, uint64_t v)
{
	if (s->is_json) {
		coati_json_ku64(&s->json, name, v);
	} else {
		text_name(s, name);
		coati_strbuf_u64(s->out, v);
	}
}

void coati_sink_i64(struct sink *s, const char *name, int64_t v)
{
	if (s->is_json) {
		coati_json_ki64(&s->json, name, v);
	} else {
		text_name(s, name);
		coati_strbuf_i64(s->out, v);
	}
}

void coati_sink_hex(struct sink *s, const char *name, uint64_t v)
{
	if (s->is_json) {
		coati_json_key(&s->json, name);
		coati_json_hex(&s->json, v);
	} else {
		text_name(s, name);
		add_hex(s->out, v);
	}
}

void coati_sink_textn(struct sink *s, const char *name, const char *text, size_t len)
{
	if (s->is_json) {
		coati_json_key(&s->json, name);
		coati_json_strn(&s->json, text, len);
	} else {
		text_name(s, name);
		coati_strbuf_clean(s->out, text, len);
	}
}

void coati_sink_text(struct sink *s, const char *name, const char *text)
{
	coati_sink_textn(s, name, text, strlen(text));
}

void coati_sink_bytes(struct sink *s, const char *name, const uint8_t *bytes, size_t size)
{
	/* a call stack has lines of its own in text alone: for JSON its buffer is free */
	struct strbuf *to = s->is_json ? &s->chain : s->out;

	if (!s->is_json)
		text_name(s, name);
	for (size_t i = 0; i < size; i++) {
		char two[2] = { hex_digits[bytes[i] >> 4], hex_digits[bytes[i] & 15] };

		coati_strbuf_add(to, two, 2);
	}
	if (s->is_json) {
		coati_json_kstr(&s->json, name, to->text);
		coati_strbuf_clear(to);
	}
}

void coati_sink_flag(struct sink *s, const char *name)
{
	if (s->is_json) {
		coati_json_kbool(&s->json, name, true);
	} else {
		coati_strbuf_addc(s->out, ' ');
		coati_strbuf_adds(s->out, name);
	}
}

void coati_sink_list(struct sink *s, const char *name)
{
	if (s->is_json) {
		coati_json_key(&s->json, name);
		coati_json_array(&s->json);
	}
}

void coati_sink_address(struct sink *s, uint64_t v, const char *mark)
{
	if (s->is_json) {
		if (mark)
			coati_json_str(&s->json, mark);
		else
			coati_json_hex(&s->json, v);
		return;
	}
	coati_strbuf_addc(&s->chain, '\n');
	coati_strbuf_pad(&s->chain, ' ', 8);
	if (mark)
		coati_strbuf_printf(&s->chain, "(%s)", mark);
	else
		add_hex(&s->chain, v);
}

void coati_sink_list_end(struct sink *s)
{
	if (s->is_json)
		coati_json_end(&s->json);
}

void coati_sink_object(struct sink *s, const char *name)
{
	if (s->is_json) {
		coati_json_key(&s->json, name);
		coati_json_object(&s->json);
	} else {
		text_name(s, name);
		coati_strbuf_addc(s->out, '{');
	}
}

void coati_sink_object_end(struct sink *s)
{
	if (s->is_json)
		coati_json_end(&s->json);
	else
		coati_strbuf_adds(s->out, " }");
}
