/* SPDX-License-Identifier: MIT */
/* coati why --json: the verdict with the numbers that decided it, and all rows. */
#include "cli/trace/text.h"
#include "cli/why/text.h"
#include "trace/timeline.h"

static void put_hog(struct trace *t, struct json *j, const struct coati_why_row *row)
{
	struct strbuf text = STRBUF_INIT(4096);

	coati_json_key(j, "hog");
	coati_json_object(j);
	coati_json_kstr(j, "type", row->hog_name);
	coati_json_ku64(j, "task", row->hog_id);
	coati_trace_thread_name(t, &text, row->hog_thread);
	coati_json_kstr(j, "thread", text.text);
	if (row->hog_region)
		coati_json_kstr(j, "region", row->hog_region);
	coati_json_kdouble(j, "share", row->hog_share);
	coati_json_end(j);
	coati_strbuf_fini(&text);
}

static void put_row(struct trace *t, struct json *j, const struct coati_why_row *row)
{
	static const char *const kinds[] = { "part", "faults", "region" };
	static const char *const verdicts[] = { "same",	  "cause",  "machine",
						"spread", "unsure", "stolen" };
	struct strbuf text = STRBUF_INIT(4096);

	coati_json_object(j);
	coati_json_kstr(j, "kind", kinds[row->kind]);
	coati_json_kstr(j, "name", row->name);
	coati_json_kstr(j, "verdict", verdicts[row->verdict]);
	coati_json_kdouble(j, "slow_ns", row->slow);
	coati_json_kdouble(j, "typical_ns", row->typical);
	coati_json_kdouble(j, "extra_ns", row->extra);
	coati_json_kdouble(j, "low_ns", row->low);
	coati_json_kdouble(j, "high_ns", row->high);
	if (row->tail >= 0)
		coati_json_kdouble(j, "tail_ns", row->tail);
	coati_json_kdouble(j, "number_ns", row->number);
	coati_json_kdouble(j, "limit_ns", row->limit);
	coati_json_ku64(j, "affected", row->nr_affected);
	if (row->waker != COATI_TIMELINE_NONE) {
		coati_trace_thread_name(t, &text, row->waker);
		coati_json_kstr(j, "waker", text.text);
	}
	if (row->stack != COATI_TIMELINE_NONE) {
		coati_strbuf_clear(&text);
		coati_trace_stack(t, &text, row->stack, 8);
		coati_json_kstr(j, "stack", text.text);
	}
	if (row->hog != COATI_TIMELINE_NONE)
		put_hog(t, j, row);
	coati_json_end(j);
	coati_strbuf_fini(&text);
}

static void put_answer(struct json *j, const struct coati_why *w)
{
	static const char *const answers[] = { "no difference", "causes", "cannot tell" };
	static const char *const reasons[] = { "extra", "count",   "unknown",
					       "steal", "mixture", "affected" };

	coati_json_kstr(j, "verdict", answers[w->answer]);
	coati_json_kstr(j, "reason", reasons[w->reason]);
	coati_json_kdouble(j, "number", w->number);
	coati_json_kdouble(j, "limit", w->limit);
	if (w->row != COATI_TIMELINE_NONE)
		coati_json_kstr(j, "decided_by", w->rows[w->row].name);
	coati_json_kbool(j, "difference", w->nr_causes > 0);
}

void coati_why_json(struct trace *t, const struct coati_why *w)
{
	struct json j;

	coati_trace_json_head(t, &j, "coati.why.v1", "why");
	coati_json_kstr(&j, "type", w->name);
	put_answer(&j, w);
	coati_json_ku64(&j, "count", w->nr);
	coati_json_ku64(&j, "slow", w->nr_slow);
	coati_json_ku64(&j, "typical", w->nr_typical);
	coati_json_ku64(&j, "threshold_ns", w->threshold);
	coati_json_kdouble(&j, "slow_ns", w->slow);
	coati_json_kdouble(&j, "typical_ns", w->typical);
	coati_json_kbool(&j, "without_cpu", w->without_cpu);
	coati_json_kdouble(&j, "machine_share", w->machine);
	if (w->seen >= 0)
		coati_json_kdouble(&j, "seen_share", w->seen);
	if (t->info.has & COATI_TIMELINE_HAS_STEAL)
		coati_json_ku64(&j, "stolen_most_ns", t->info.stolen_ns);
	if (w->stolen >= 0)
		coati_json_kdouble(&j, "stolen_slow_ns", w->stolen);
	coati_json_key(&j, "rows");
	coati_json_array(&j);
	for (uint32_t i = 0; i < w->nr_rows; i++)
		if (w->rows[i].slow > 0 || w->rows[i].typical > 0)
			put_row(t, &j, &w->rows[i]);
	coati_json_end(&j);
	coati_json_end(&j);
	coati_strbuf_addc(&t->out.text, '\n');
}
