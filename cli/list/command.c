/* SPDX-License-Identifier: MIT */
/*
 * coati list: everything that can be counted on this machine, by kind, with descriptions and for
 * tracepoints with their fields. Written in one piece, so that it is fast; stderr reports what is
 * missing.
 */
#include <stdio.h>
#include <string.h>

#include <coati/coati.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/match.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/talk.h"
#include "event/catalog.h"

/* With a pattern that names no more tracepoints than this, their fields are shown unasked. */
#define FIELDS_FEW 20

struct args {
	bool json, names, verbose;
	int kind, color;
};

static const char *const kind_words[] = {
	[COATI_EVENT_UNKNOWN] = "all",
	[COATI_EVENT_HARDWARE] = "hardware",
	[COATI_EVENT_SOFTWARE] = "software",
	[COATI_EVENT_CACHE] = "cache",
	[COATI_EVENT_RAW] = "raw",
	[COATI_EVENT_PMU] = "pmu",
	[COATI_EVENT_TRACEPOINT] = "tracepoint",
	[COATI_EVENT_BREAKPOINT] = "breakpoint",
	[COATI_EVENT_KPROBE] = "kprobe",
	[COATI_EVENT_UPROBE] = "uprobe",
	[COATI_EVENT_USDT] = "usdt",
	[COATI_EVENT_TOOL] = "tool",
	NULL,
};

static const char *const kind_titles[] = {
	[COATI_EVENT_UNKNOWN] = "Other events",
	[COATI_EVENT_HARDWARE] = "Hardware events",
	[COATI_EVENT_SOFTWARE] = "Software events of the kernel",
	[COATI_EVENT_CACHE] = "Hardware cache events",
	[COATI_EVENT_RAW] = "Raw hardware events",
	[COATI_EVENT_PMU] = "Events of this machine's PMUs",
	[COATI_EVENT_TRACEPOINT] = "Tracepoints",
	[COATI_EVENT_BREAKPOINT] = "Breakpoints on memory",
	[COATI_EVENT_KPROBE] = "Probes in the kernel",
	[COATI_EVENT_UPROBE] = "Probes in programs",
	[COATI_EVENT_USDT] = "Probes that programs declare",
	[COATI_EVENT_TOOL] = "Measured by the tool",
};

static const struct option opts[] = {
	OPT_CHOICE('k', "kind", struct args, kind, kind_words, "KIND",
		   "only this kind: hardware, software, tracepoint ..."),
	OPT_FLAG('v', "verbose", struct args, verbose,
		 "show tracepoint fields and events that do not open here"),
	OPT_FLAG('n', "names", struct args, names, "print names only, one per line"),
	OPT_FLAG('j', "json", struct args, json, "print JSON (schema coati.list.v1)"),
	OPT_CHOICE(0, "color", struct args, color, coati_color_words, "WHEN",
		   "auto, always or never"),
	OPT_HELP,
	OPT_END,
};

static const struct coati_example examples[] = {
	{ "coati list", "everything" },
	{ "coati list 'sched:*'", "tracepoints of one subsystem, with fields" },
	{ "coati list --kind software --json", "for scripts" },
	{ NULL, NULL },
};

/* One listing: what is being written, and what was seen on the way. */
struct listing {
	const struct args *args;
	const char *glob;
	struct output out;
	struct json json;
	int kind; /* of the last row, -1: none */
	uint64_t nr_shown, nr_hidden;
};

static int open_catalog(const struct listing *l, bool fields, struct coati_catalog **ret,
			struct coati_error *err)
{
	struct coati_catalog_opts o = {
		.size = sizeof(o),
		.glob = l->glob,
		.kinds = l->args->kind ? UINT32_C(1) << l->args->kind : 0,
		.fields = fields,
		.probe = !l->args->names,
	};

	return coati_catalog_open(&o, ret, err);
}

/* Are the tracepoints few enough to show their fields? */
static bool few_tracepoints(const struct listing *l)
{
	struct coati_catalog *cat = NULL;
	struct coati_event_info info;
	uint32_t nr = 0;

	if (!l->glob || l->args->names || open_catalog(l, false, &cat, NULL) < 0)
		return false;
	while (nr <= FIELDS_FEW && coati_catalog_next(cat, &info) > 0)
		nr += info.kind == COATI_EVENT_TRACEPOINT;
	coati_catalog_close(cat);
	return nr && nr <= FIELDS_FEW;
}

static void row_json(struct json *j, const struct coati_event_info *e)
{
	coati_json_object(j);
	coati_json_kstr(j, "event", e->name);
	coati_json_kstr(j, "kind", coati_event_kind_name(e->kind));
	coati_json_kstr(j, "alias", e->alias);
	coati_json_kstr(j, "description", e->description);
	coati_json_kstr(j, "unit", e->unit);
	coati_json_key(j, "available");
	if (e->available < 0)
		coati_json_null(j);
	else
		coati_json_bool(j, e->available);
	if (e->nr_fields) {
		coati_json_key(j, "fields");
		coati_json_array(j);
		for (uint32_t i = 0; i < e->nr_fields; i++) {
			coati_json_object(j);
			coati_json_kstr(j, "name", e->fields[i].name);
			coati_json_kstr(j, "type", e->fields[i].type);
			coati_json_ku64(j, "offset", e->fields[i].offset);
			coati_json_ku64(j, "size", e->fields[i].size);
			coati_json_kbool(j, "signed", e->fields[i].is_signed);
			coati_json_end(j);
		}
		coati_json_end(j);
	}
	coati_json_end(j);
}

/* Descriptions from the kernel, and from the definition of a probe. */
static void add_text(struct strbuf *s, const char *text)
{
	coati_strbuf_clean(s, text, strlen(text));
}

static void row_text(struct listing *l, const struct coati_event_info *e)
{
	struct strbuf *s = &l->out.text;
	size_t start, used;

	if ((int)e->kind != l->kind) {
		coati_strbuf_printf(s, "%s%s%s%s\n", l->kind < 0 ? "" : "\n",
				    coati_output_style(&l->out, STYLE_BOLD), kind_titles[e->kind],
				    coati_output_style(&l->out, STYLE_PLAIN));
		l->kind = (int)e->kind;
	}
	start = s->len;
	coati_strbuf_adds(s, "  ");
	add_text(s, e->name);
	if (e->alias[0]) {
		coati_strbuf_adds(s, ", ");
		add_text(s, e->alias);
	}
	used = s->len - start;
	if (e->description[0] || e->unit[0] || !e->available)
		coati_strbuf_pad(s, ' ', used < 40 ? 42 - used : 2);
	add_text(s, e->description);
	if (e->unit[0]) {
		coati_strbuf_adds(s, " [");
		add_text(s, e->unit);
		coati_strbuf_addc(s, ']');
	}
	if (!e->available)
		coati_strbuf_printf(s, "%s(not on this machine)", e->description[0] ? " " : "");
	coati_strbuf_addc(s, '\n');
	for (uint32_t i = 0; i < e->nr_fields; i++) {
		start = s->len;
		coati_strbuf_adds(s, "      ");
		add_text(s, e->fields[i].name);
		used = s->len - start;
		coati_strbuf_pad(s, ' ', used < 31 ? 31 - used : 1);
		add_text(s, e->fields[i].type);
		coati_strbuf_addc(s, '\n');
	}
}

static void row(struct listing *l, const struct coati_event_info *e)
{
	bool all = l->glob || l->args->kind || l->args->verbose;

	if (l->args->json) {
		row_json(&l->json, e);
	} else if (l->args->names) {
		coati_strbuf_adds(&l->out.text, e->name);
		coati_strbuf_addc(&l->out.text, '\n');
	} else if (e->available || all) {
		row_text(l, e);
	} else {
		l->nr_hidden++;
		return;
	}
	l->nr_shown++;
}

/* The name that was nearly typed, into @buf. */
static bool guess_event(const char *glob, char *buf, size_t size)
{
	struct coati_catalog_opts o = { .size = sizeof(o) };
	struct nearest near = coati_nearest_to(glob);
	struct coati_catalog *cat = NULL;
	struct coati_event_info e;

	if (coati_catalog_open(&o, &cat, NULL) < 0)
		return false;
	while (coati_catalog_next(cat, &e) > 0) {
		coati_nearest_offer(&near, e.name);
		if (near.best == e.name) {
			snprintf(buf, size, "%s", e.name);
			near.best = buf; /* the catalog forgets the name */
		}
	}
	coati_catalog_close(cat);
	return near.best;
}

static void write_gaps(struct listing *l, const struct coati_catalog *cat)
{
	const char *gap;

	if (l->args->json) {
		coati_json_end(&l->json);
		coati_json_key(&l->json, "gaps");
		coati_json_array(&l->json);
	}
	for (uint32_t i = 0; (gap = coati_catalog_gap(cat, i)); i++) {
		if (l->args->json)
			coati_json_str(&l->json, gap);
		else if (!l->args->names)
			coati_note("%s", gap);
	}
	if (l->nr_hidden)
		coati_note(
			"%llu events that do not open on this machine are left out; -v shows them",
			(unsigned long long)l->nr_hidden);
	if (l->args->json) {
		coati_json_end(&l->json);
		coati_json_end(&l->json);
		coati_strbuf_addc(&l->out.text, '\n');
	}
}

static int finish(struct listing *l, int r, const struct coati_error *err)
{
	char best[160], quoted[96];
	int ret = coati_output_end(&l->out);

	if (r < 0) {
		coati_say("%s", err->text[0] ? err->text : "the catalog cannot be read");
		return EXIT_FAILED;
	}
	if (l->nr_shown || ret)
		return ret;
	coati_quote(l->glob ? l->glob : kind_words[l->args->kind], quoted, sizeof(quoted));
	if (l->glob && guess_event(l->glob, best, sizeof(best)))
		coati_say("no event matches %s; did you mean %s?", quoted, best);
	else
		coati_say("no event matches %s (coati list shows all)", quoted);
	return EXIT_FAILED;
}

static int list(const struct args *args, const char *glob)
{
	struct listing l = { .args = args, .glob = glob, .kind = -1 };
	struct coati_catalog *cat = NULL;
	struct coati_event_info e;
	struct coati_error err = { 0 };
	int r;

	coati_output_init(&l.out, args->color);
	l.json = json_to(&l.out.text);
	if (args->json) {
		coati_json_object(&l.json);
		coati_json_kstr(&l.json, "schema", "coati.list.v1");
		coati_json_key(&l.json, "events");
		coati_json_array(&l.json);
	}
	r = open_catalog(&l, args->verbose || few_tracepoints(&l), &cat, &err);
	while (r >= 0 && (r = coati_catalog_next(cat, &e)) > 0)
		row(&l, &e);
	if (r == 0)
		write_gaps(&l, cat);
	else
		coati_strbuf_clear(&l.out.text);
	r = finish(&l, r, &err);
	coati_catalog_close(cat);
	return r;
}

static int run(int argc, char **argv)
{
	struct option_line line = { .argc = argc, .argv = argv };
	struct args args = { 0 };
	int ret;

	if (!coati_command_parse(&coati_command_list, &line, &args, &ret))
		return ret;
	if (line.argc > 1)
		return coati_command_misuse(
			&coati_command_list,
			"expected one pattern, not %d (quote it, so that the shell does not "
			"expand it)",
			line.argc);
	if (args.json && args.names)
		return coati_command_misuse(&coati_command_list,
					    "--json and --names cannot be combined");
	return list(&args, line.argc ? line.argv[0] : NULL);
}

const struct coati_command coati_command_list = {
	.name = "list",
	.summary = "list the events of this machine",
	.usage = "[options] [GLOB]",
	.options = opts,
	.examples = examples,
	.run = run,
};
