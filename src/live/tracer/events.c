/* SPDX-License-Identifier: MIT */
/*
 * Single events: logs, counters, flows, instants with fields, names, labels, samples. In: a site
 * and values. Out: bytes in the thread's batch. Safe.
 */
#include "live/tracer/stacks.h"

#include <stdarg.h>

#define FIELDS_MAX 16u

/* Whether the event is wanted; gives the site its number. */
ALWAYS bool wanted(struct coati_site *site)
{
	if (!(tracer_gate() & __atomic_load_n(&site->mask, __ATOMIC_RELAXED)))
		return false;
	return likely(tracer_site_id(site)) || coati_tracer_site(site);
}

/* ---- logs ---- */

void coati_tracer_log(struct coati_site *site, const struct tracer_text *text, size_t full,
		      const void *frame)
{
	uint64_t frames[LIVE_STACK_MAX];
	uint32_t count, stack;
	struct tracer_text view;
	struct tracer_slot *s;
	uint8_t *at;

	if (!wanted(site))
		return;
	count = coati_tracer_frames(site, frame, frames);
	at = emit_enter(HEAD_MAX + VAR_MAX + text_worst(text->size) + stack_worst(count), &s);
	if (!at) {
		emit_fail(s);
		return;
	}
	at = coati_tracer_put_stack(s, at, frames, count, &stack);
	at = coati_tracer_define_text(s, at, (struct tracer_given){ text->text, text->size, full },
				      &view);
	at = put_head(s, at, LIVE_LOG, tracer_now());
	at = put_var(at, tracer_site_id(site));
	emit_commit(s, put_string(at, &view));
	coati_tracer_put_stacked(s, stack);
	emit_leave(s);
}

void coati_log_text(struct coati_site *site, const char *text, size_t size)
{
	struct tracer_text view = { text, cut_text(text, size, TRACER_TEXT), 0 };

	coati_tracer_log(site, &view, size, __builtin_frame_address(0));
}

/* ---- counters and flows ---- */

/* Kind, time and site of an event with @numbers more; NULL: it is not wanted, or there is no
 * room. */
static uint8_t *open_event(struct coati_site *site, unsigned int kind, uint32_t numbers,
			   struct tracer_slot **ret)
{
	uint8_t *at;

	if (!wanted(site))
		return NULL;
	at = emit_enter(HEAD_MAX + (1 + numbers) * VAR_MAX, ret);
	if (!at) {
		emit_fail(*ret);
		return NULL;
	}
	at = put_head(*ret, at, kind, tracer_now());
	return put_var(at, tracer_site_id(site));
}

static void close_event(struct tracer_slot *s, uint8_t *at)
{
	emit_commit(s, at);
	emit_leave(s);
}

void coati_counter(struct coati_site *site, int64_t value)
{
	struct tracer_slot *s;
	uint8_t *at = open_event(site, LIVE_COUNTER, 1, &s);

	if (at)
		close_event(s, put_zigzag(at, value));
}

void coati_gauge(struct coati_site *site, double value)
{
	struct tracer_slot *s;
	uint8_t *at = open_event(site, LIVE_GAUGE, 1, &s);

	if (!at)
		return;
	memcpy(at, &value, sizeof(value));
	close_event(s, at + sizeof(value));
}

void coati_flow(struct coati_site *site, uint64_t id, unsigned int phase)
{
	struct tracer_slot *s;
	uint8_t *at = open_event(site, LIVE_FLOW, 2, &s);

	if (at)
		close_event(s, put_var(put_var(at, id), phase));
}

/* ---- instants ---- */

struct field {
	char letter;
	union {
		int64_t i;
		uint64_t u;
		double d;
	};
	const char *s;
	size_t size;
	struct tracer_text text;
};

/* The letter of the next field, which stands behind a colon; 0 at the end. */
static char next_letter(const char **fields)
{
	const char *p = *fields;

	while (p && *p && *p != ':')
		p++;
	if (!p || !*p || !p[1])
		return 0;
	*fields = p + 2;
	return p[1];
}

/* Values as the letters say; how many, and the bytes that they may take. */
static uint32_t take_values(const char *fields, va_list *ap, struct field *ret, uint32_t *ret_worst)
{
	uint32_t n = 0;
	char letter;

	*ret_worst = 0;
	while (n < FIELDS_MAX && (letter = next_letter(&fields))) {
		struct field *f = &ret[n++];

		f->letter = letter;
		*ret_worst += VAR_MAX;
		if (letter == 'i') {
			f->i = va_arg(*ap, int64_t);
		} else if (letter == 'd') {
			f->d = va_arg(*ap, double);
		} else if (letter == 's') {
			f->s = va_arg(*ap, const char *);
			f->size = f->s ? strlen(f->s) : 0;
			f->size = f->s ? cut_text(f->s, f->size, TRACER_TEXT / FIELDS_MAX) : 0;
			*ret_worst += text_worst(f->size);
		} else {
			f->u = va_arg(*ap, uint64_t);
		}
	}
	return n;
}

static uint8_t *put_value(uint8_t *at, const struct field *f)
{
	switch (f->letter) {
	case 'i':
		return put_zigzag(at, f->i);
	case 'd':
		memcpy(at, &f->d, sizeof(f->d));
		return at + sizeof(f->d);
	case 's':
		return put_string(at, &f->text);
	default:
		return put_var(at, f->u);
	}
}

static void write_instant(const struct coati_site *site, struct field *fields, uint32_t count,
			  uint32_t worst)
{
	struct tracer_slot *s;
	uint8_t *at = emit_enter(HEAD_MAX + VAR_MAX + worst, &s);

	if (!at) {
		emit_fail(s);
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		if (fields[i].letter == 's')
			at = coati_tracer_define_text(
				s, at,
				(struct tracer_given){ fields[i].s ? fields[i].s : "",
						       fields[i].size, 0 },
				&fields[i].text);
	at = put_head(s, at, LIVE_INSTANT, tracer_now());
	at = put_var(at, tracer_site_id(site));
	for (uint32_t i = 0; i < count; i++)
		at = put_value(at, &fields[i]);
	emit_commit(s, at);
	emit_leave(s);
}

void coati_instant(struct coati_site *site, ...)
{
	struct field fields[FIELDS_MAX];
	uint32_t count, worst;
	va_list ap;

	if (!wanted(site))
		return;
	va_start(ap, site);
	count = take_values(site->fields, &ap, fields, &worst);
	va_end(ap);
	write_instant(site, fields, count, worst);
}

/* ---- names ---- */

static void name(unsigned int kind, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	struct tracer_text view;
	struct tracer_slot *s;
	uint8_t *at;

	if (!(tracer_gate() & GATE_ON))
		return;
	at = emit_enter(HEAD_MAX + text_worst(size), &s);
	if (!at) {
		emit_fail(s);
		return;
	}
	at = coati_tracer_define_text(s, at, (struct tracer_given){ text ? text : "", size, size },
				      &view);
	at = put_head(s, at, kind, tracer_now());
	emit_commit(s, put_string(at, &view));
	emit_leave(s);
}

/* Kept for recorders that start later, and for later generations. */
void coati_thread_name(const char *text)
{
	uint32_t size = text ? cut_text(text, strlen(text), TRACER_NAME - 1) : 0;

	name(LIVE_THREAD_NAME, text);
	if (size)
		memcpy(coati_tracer_name, text, size);
	coati_tracer_name[size] = '\0';
}

void coati_process_name(const char *text)
{
	name(LIVE_PROCESS_NAME, text);
}

/* ---- what other parts of the library tell ---- */

void coati_tracer_labels_changed(void)
{
	struct tracer_slot *s;
	uint8_t *at = emit_enter(HEAD_MAX + TRACER_LABELS, &s);
	struct coati_labels *labels;

	if (!at) {
		emit_fail(s);
		return;
	}
	labels = &coati_tracer_self->labels;
	if (!s->index) { /* a handler may not change labels */
		coati_labels_snapshot(labels);
		coati_tracer_self->relabel = false;
		at = put_head(s, at, LIVE_LABELS, tracer_now());
		emit_commit(s, coati_tracer_put_labels(at, labels));
	}
	emit_leave(s);
}

void coati_tracer_sample(const uint64_t *frames, uint32_t count, uint64_t cpu_ns)
{
	uint32_t n = count < LIVE_STACK_MAX ? count : LIVE_STACK_MAX, stack;
	struct tracer_slot *s;
	uint8_t *at = emit_enter(HEAD_MAX + 2 * VAR_MAX + stack_worst(n), &s);

	if (!at) {
		emit_fail(s);
		return;
	}
	at = coati_tracer_put_stack(s, at, frames, n, &stack);
	at = put_head(s, at, LIVE_SAMPLE, tracer_now());
	at = put_var(at, stack);
	emit_commit(s, put_var(at, cpu_ns));
	emit_leave(s);
}
