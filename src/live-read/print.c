/* SPDX-License-Identifier: MIT */
/* An event as a line of text: time, thread, kind, then name=value for what it has. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/strbuf.h"
#include "live-read/reader-parts.h"
#include "live-read/reader.h"
#include "live-read/text.h"

/* In quotes; what is not printable, and the quote itself, as an escape. */
void coati_live_quote(struct strbuf *s, const char *text, size_t size)
{
	coati_strbuf_addc(s, '"');
	for (size_t i = 0; i < size; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			coati_strbuf_printf(s, "\\%c", c);
		else if (c == '\n')
			coati_strbuf_adds(s, "\\n");
		else if (c < 0x20 || c >= 0x7f)
			coati_strbuf_printf(s, "\\x%02x", c);
		else
			coati_strbuf_addc(s, (char)c);
	}
	coati_strbuf_addc(s, '"');
}

static void add_text(struct strbuf *s, const char *name, const struct coati_trace_text *text)
{
	coati_strbuf_printf(s, " %s=", name);
	coati_live_quote(s, text->text, text->size);
	if (text->full_size > text->size)
		coati_strbuf_printf(s, " full_size=%u", text->full_size);
}

static void add_u64(struct strbuf *s, const char *name, uint64_t v)
{
	coati_strbuf_printf(s, " %s=%" PRIu64, name, v);
}

static void add_real(struct strbuf *s, double v)
{
	struct json j = json_to(s);

	coati_strbuf_addc(s, '=');
	coati_json_double(&j, v); /* shortest digits that read back as the same */
}

static void add_state(struct strbuf *s, const char *name, const struct coati_trace_event *e,
		      uint32_t state)
{
	if (e->type && state < e->type->nr_states)
		add_text(s, name, &e->type->states[state]);
	else
		add_u64(s, name, state);
}

static void add_resource(struct strbuf *s, const struct coati_trace_event *e)
{
	if (e->type)
		add_text(s, "type", &e->type->name);
	else
		add_u64(s, "type", e->type_id);
	add_u64(s, "id", e->id);
	if (e->kind != COATI_TRACE_RESOURCE_NEW &&
	    !(e->flags & COATI_TRACE_NO_BEGIN && e->kind == COATI_TRACE_RESOURCE_END))
		add_state(s, "from", e, e->from);
	if (e->kind != COATI_TRACE_RESOURCE_END)
		add_state(s, "to", e, e->to);
	if (e->text.size)
		add_text(s, e->kind == COATI_TRACE_RESOURCE_NEW ? "name" : "reason", &e->text);
}

static void add_fields(struct strbuf *s, const struct coati_live_reader *t,
		       const struct coati_trace_event *e)
{
	struct coati_trace_pos pos = { 0 };
	struct coati_trace_field f;

	while (coati_live_reader_field_next(t, e, &pos, &f) > 0) {
		coati_strbuf_addc(s, ' ');
		coati_strbuf_clean(s, f.name.text, f.name.size);
		if (f.letter == 'd') {
			add_real(s, f.real);
		} else if (f.letter == 's') {
			coati_strbuf_addc(s, '=');
			coati_live_quote(s, f.text.text, f.text.size);
		} else {
			coati_strbuf_printf(s,
					    f.letter == 'i'   ? "=%" PRId64
					    : f.letter == 'x' ? "=0x%" PRIx64
							      : "=%" PRIu64,
					    f.number);
		}
	}
}

static void add_labels(struct strbuf *s, const struct coati_trace_event *e)
{
	struct coati_trace_pos pos = { 0 };
	struct coati_trace_text key, value;

	while (coati_trace_label_next(e, &pos, &key, &value) > 0) {
		coati_strbuf_addc(s, ' ');
		coati_strbuf_clean(s, key.text, key.size);
		coati_strbuf_addc(s, '=');
		coati_live_quote(s, value.text, value.size);
	}
}

static void add_what(struct strbuf *s, const struct coati_live_reader *t,
		     const struct coati_trace_event *e)
{
	switch (e->kind) {
	case COATI_TRACE_TASK_BEGIN:
	case COATI_TRACE_TASK_END:
		add_u64(s, "id", e->id);
		add_u64(s, "parent", e->parent);
		break;
	case COATI_TRACE_TASK_ENTER:
		add_u64(s, "id", e->id);
		break;
	case COATI_TRACE_FLOW:
		add_u64(s, "id", e->id);
		add_u64(s, "phase", (uint64_t)e->number);
		break;
	case COATI_TRACE_COUNTER:
		coati_strbuf_printf(s, " value=%" PRId64, e->number);
		break;
	case COATI_TRACE_GAUGE:
		coati_strbuf_adds(s, " value");
		add_real(s, e->real);
		break;
	case COATI_TRACE_LOG:
		add_text(s, "text", &e->text);
		break;
	case COATI_TRACE_THREAD_NAME:
	case COATI_TRACE_PROCESS_NAME:
		add_text(s, "name", &e->text);
		break;
	case COATI_TRACE_RESOURCE_NEW:
	case COATI_TRACE_RESOURCE_SET:
	case COATI_TRACE_RESOURCE_END:
		add_resource(s, e);
		break;
	case COATI_TRACE_SAMPLE:
		add_u64(s, "weight", (uint64_t)e->number);
		break;
	case COATI_TRACE_INSTANT:
		add_fields(s, t, e);
		break;
	case COATI_TRACE_LABELS:
		add_labels(s, e);
		break;
	case COATI_TRACE_LOST:
		add_u64(s, "events", (uint64_t)e->number);
		break;
	case COATI_TRACE_MISSING:
		add_u64(s, "batches", (uint64_t)e->number);
		break;
	default:
		add_u64(s, "depth", e->depth);
	}
}

static void add_flags(struct strbuf *s, uint32_t flags)
{
	static const char *const names[] = { "clock_unknown", "reopened",   "known",
					     "cut",	      "illegal",    "no_begin",
					     "late",	      "unresolved", "incomplete",
					     "new_thread",    "new_process" };
	char before = '=';

	if (!flags)
		return;
	coati_strbuf_adds(s, " flags");
	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (flags >> i & 1) {
			coati_strbuf_addc(s, before);
			coati_strbuf_adds(s, names[i]);
			before = ',';
		}
}

static void add_stack(struct strbuf *s, const struct coati_trace_event *e)
{
	for (uint32_t i = 0; i < e->stack_count; i++)
		coati_strbuf_printf(s, "%s0x%" PRIx64, i ? "," : " stack=", e->stack[i]);
}

size_t coati_live_reader_format(const struct coati_live_reader *t,
				const struct coati_trace_event *e, char *buf, size_t cap)
{
	struct strbuf s = STRBUF_INIT(8u << 20);
	size_t len;

	coati_strbuf_printf(&s, "%" PRIu64 ".%09" PRIu64 " %u/%u%s %s", e->time / NSEC_PER_SEC,
			    e->time % NSEC_PER_SEC, e->pid, e->tid, e->slot ? "!" : "",
			    coati_trace_kind_name(e->kind));
	if (e->site && e->site->name.size)
		add_text(&s, "site", &e->site->name);
	if (e->site && e->site->category.size)
		add_text(&s, "category", &e->site->category);
	add_what(&s, t, e);
	if (e->duration != COATI_TRACE_NO_DURATION)
		add_u64(&s, "duration", e->duration);
	if (e->task && e->kind != COATI_TRACE_TASK_ENTER)
		add_u64(&s, "task", e->task);
	add_stack(&s, e);
	add_flags(&s, e->flags & ~COATI_TRACE_INCOMPLETE);
	len = s.failed ? 0 : s.len;
	if (cap) {
		size_t n = len < cap ? len : cap - 1;

		memcpy(buf, s.text, n);
		buf[n] = 0;
	}
	coati_strbuf_fini(&s);
	return len;
}
