/* SPDX-License-Identifier: MIT */
/* Live batches to text: see text.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "live-read/text.h"
#include "record/live-decode.h"

static void add_text(struct strbuf *s, const char *name, size_t len, const struct live_text *text)
{
	coati_strbuf_addc(s, ' ');
	coati_strbuf_add(s, name, len);
	coati_strbuf_addc(s, '=');
	if (text->is_ref)
		coati_strbuf_printf(s, "#%" PRIu64, text->ref);
	else
		coati_live_quote(s, text->text, text->size);
}

static void add_bytes(struct strbuf *s, const char *name, size_t len, const uint8_t *bytes,
		      uint32_t size)
{
	struct live_text text = { .text = (const char *)bytes, .size = size };

	add_text(s, name, len, &text);
}

static void add_double(struct strbuf *s, double v)
{
	struct json j = json_to(s);

	if (__builtin_isfinite(v))
		coati_json_double(&j, v);
	else
		coati_strbuf_addc(s, '0'); /* the text form has no word for it */
}

static void add_stack(struct strbuf *s, const struct live_event *e)
{
	uint64_t address = 0;
	uint32_t pos = 0;
	char before = '=';

	coati_strbuf_adds(s, " addresses");
	while (coati_live_stack_next(e, &pos, &address) > 0) {
		coati_strbuf_printf(s, "%c0x%" PRIx64, before, address);
		before = ',';
	}
	if (before == '=')
		coati_strbuf_addc(s, before);
}

/* Names of states have no blanks and colons in this form. */
static void add_states(struct strbuf *s, const struct live_event *e)
{
	struct strbuf states = STRBUF_INIT(1 << 20);
	struct live_text name;
	uint64_t next;
	uint32_t pos = 0;

	while (coati_live_state_next(e, &pos, &name, &next) > 0) {
		coati_strbuf_adds(&states, states.len ? " " : "");
		for (uint32_t i = 0; i < name.size; i++)
			coati_strbuf_addc(&states, strchr(": ", name.text[i]) ? '_' : name.text[i]);
		coati_strbuf_printf(&states, ":%" PRIu64, next);
	}
	add_bytes(s, "states", 6, (const uint8_t *)states.text, (uint32_t)states.len);
	coati_strbuf_fini(&states);
}

static void add_fields(struct strbuf *s, const struct live_names *names, const struct live_event *e)
{
	const struct coati_trace_site *site = live_names_site(names, e->v[0]);
	struct live_field f;
	struct live_fields all;

	if (!site)
		return;
	all = coati_live_fields(site->fields.text, site->fields.size, e->rest, e->rest_size);
	while (coati_live_field_next(&all, &f) > 0) {
		if (f.letter == 's') {
			add_text(s, f.name, f.name_size, &f.text);
			continue;
		}
		coati_strbuf_addc(s, ' ');
		coati_strbuf_add(s, f.name, f.name_size);
		coati_strbuf_addc(s, '=');
		if (f.letter == 'd')
			add_double(s, f.real);
		else
			coati_strbuf_printf(s, f.letter == 'i' ? "%" PRId64 : "%" PRIu64, f.value);
	}
}

static void add_arguments(struct strbuf *s, const struct live_names *names,
			  const struct live_event *e)
{
	const char *name = coati_live_arguments[e->kind];
	unsigned int nr = 0, texts = 0;

	for (const char *l = coati_live_kinds[e->kind].letters; *l; l++) {
		size_t len = strcspn(name, " ");

		if (*l == 's') {
			add_text(s, name, len, &e->text[texts++]);
		} else if (*l == 'b') {
			add_bytes(s, name, len, e->rest, e->rest_size);
		} else if (*l == '*') {
			if (e->kind == LIVE_STACK)
				add_stack(s, e);
			else
				add_states(s, e);
		} else if (*l == 'f') {
			add_fields(s, names, e);
		} else {
			coati_strbuf_addc(s, ' ');
			coati_strbuf_add(s, name, len);
			coati_strbuf_addc(s, '=');
			if (*l == 'd')
				add_double(s, e->real);
			else
				coati_strbuf_printf(s, *l == 'z' ? "%" PRId64 : "%" PRIu64,
						    e->v[nr++]);
		}
		name += len + (name[len] == ' ');
	}
}

static void add_head(struct strbuf *s, const struct live_batch *h)
{
	static const char *const kinds[] = { "",	"events", "table", "sites", "schema",
					     "process", "status", "loss",  "end" };

	coati_strbuf_printf(s,
			    "batch kind=%s pid=%u tid=%u generation=%" PRIu64
			    " seq=%u slot=%u flags=%u base=%" PRIu64 " pair_cycles=%" PRIu64
			    " pair_ns=%" PRIu64 " end_cycles=%" PRIu64 " end_ns=%" PRIu64
			    " pair_error_ns=%u events=%u capacity=%u checksum=%u\n",
			    kinds[h->kind], h->pid, h->tid, h->generation, h->seq, h->slot,
			    h->flags, h->base, h->pair_cycles, h->pair_ns, h->end_cycles, h->end_ns,
			    h->pair_error_ns, h->events, h->capacity, h->checksum);
}

static int add_schema(struct strbuf *s, struct live_walk *w)
{
	struct live_schema_entry entry;
	int n;

	while ((n = coati_live_schema_next(w, &entry)) > 0) {
		coati_strbuf_printf(s, "- schema kind=%" PRIu64, entry.kind);
		add_text(s, "name", 4, &entry.name);
		add_text(s, "letters", 7, &entry.letters);
		coati_strbuf_addc(s, '\n');
	}
	return n;
}

static int add_events(struct strbuf *s, struct live_walk *w, struct live_names *names)
{
	struct live_event e;
	int n;

	while ((n = coati_live_next(w, &e)) > 0) {
		coati_strbuf_printf(s, "%" PRIu64 " %s", e.time, coati_live_kinds[e.kind].name);
		if (e.kind == LIVE_MORE) {
			coati_strbuf_printf(s, " kind=%u", e.more);
			add_bytes(s, "bytes", 5, e.rest, e.rest_size);
		} else {
			add_arguments(s, names, &e);
		}
		coati_strbuf_addc(s, '\n');
		/* one that is refused has no fields */
		if (e.kind == LIVE_SITE)
			coati_live_names_add(names, &e);
	}
	return n;
}

int coati_live_text_write(const void *bytes, size_t size, struct live_names *names,
			  struct strbuf *out)
{
	struct live_view b;
	struct live_walk w;
	const char *why = coati_live_open(bytes, size, &b);
	int n;

	if (why) {
		coati_strbuf_printf(out, "# a batch is malformed: %s\n", why);
		return -EBADMSG;
	}
	add_head(out, &b.head);
	w = coati_live_walk(&b, NULL, coati_live_names_fields, names);
	n = b.head.kind == LIVE_BATCH_SCHEMA ? add_schema(out, &w) : add_events(out, &w, names);
	if (n < 0)
		coati_strbuf_printf(out, "# malformed from byte %u on: %s\n", w.offset, w.why);
	return out->failed ? out->failed : n;
}
