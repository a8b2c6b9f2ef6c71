/* SPDX-License-Identifier: MIT */
/* see live-text.h */
#include "lib/live-text.h"

#include <inttypes.h>
#include <stdio.h>

#include "live-read/check.h"
#include "live-read/reader.h"
#include "live-read/text.h"

struct feeding {
	struct coati_live_reader *trace;
	struct coati_trace_check *check;
	struct strbuf *out; /* NULL: events are taken later */
	uint64_t nr;
	struct coati_error *err;
};

int live_text_drain(struct coati_live_reader *t, struct coati_trace_check *c, struct strbuf *out)
{
	const struct coati_trace_event *e;
	struct coati_trace_finding f;
	static char line[1 << 18];
	int n, r;

	while ((n = coati_live_reader_next(t, &e)) > 0) {
		coati_live_reader_format(t, e, line, sizeof(line));
		coati_strbuf_printf(out, "> %s\n", line);
		r = c ? coati_trace_check_event(c, e, &f) : 0;
		if (r < 0)
			return r;
		if (r)
			coati_strbuf_printf(out, "! event %" PRIu64 ": %s\n", f.event, f.text);
	}
	return n;
}

static int feed(void *ctx, const uint8_t *bytes, size_t size)
{
	struct feeding *f = ctx;
	int n = coati_live_reader_feed(f->trace, bytes, size, f->nr++, f->err);

	return n < 0 || !f->out ? n : live_text_drain(f->trace, f->check, f->out);
}

int live_text_feed(struct coati_live_reader *t, const char *text, struct coati_error *err)
{
	struct feeding f = { .trace = t, .err = err };

	return coati_live_text_read(text, feed, &f, err);
}

static void add_account(struct coati_live_reader *t, struct strbuf *out)
{
	struct coati_trace_quality q = { .size = sizeof(q) };

	coati_live_reader_get_quality(t, &q);
	if (q.damaged)
		coati_strbuf_printf(out, "? %s\n", coati_live_reader_damage(t)->text);
	coati_strbuf_printf(out, "= batches %" PRIu64 " events %" PRIu64, q.batches, q.events);
#define ADD(name)   \
	if (q.name) \
	coati_strbuf_printf(out, " " #name " %" PRIu64, q.name)
	ADD(damaged);
	ADD(missing);
	ADD(lost);
	ADD(late);
	ADD(forced);
	ADD(incomplete);
	ADD(unresolved);
	ADD(clock_unknown);
	ADD(clock_error_ns);
	ADD(open_batches);
#undef ADD
	coati_strbuf_addc(out, '\n');
}

int live_text_run(const char *text, struct strbuf *out, struct coati_error *err)
{
	struct feeding f = { .out = out, .err = err };
	int n = coati_live_reader_new(NULL, &f.trace, err);

	n = n < 0 ? n : coati_trace_check_new(&f.check, err);
	n = n < 0 ? n : coati_live_text_read(text, feed, &f, err);
	n = n < 0 ? n : coati_live_reader_finish(f.trace);
	n = n < 0 ? n : live_text_drain(f.trace, f.check, out);
	if (n >= 0)
		add_account(f.trace, out);
	coati_trace_check_free(&f.check);
	coati_live_reader_free(&f.trace);
	return n;
}
