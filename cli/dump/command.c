/* SPDX-License-Identifier: MIT */
/*
 * coati dump: every record of a recording, in order, as text or as one JSON object a line. Reads
 * files, pipes, files that are cut or still being written; says where and why it stopped.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/coati.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/match.h"
#include "base/parse.h"
#include "cli/command.h"
#include "cli/confinement.h"
#include "cli/dump/batch.h"
#include "cli/dump/fields.h"
#include "cli/dump/record.h"
#include "cli/dump/row.h"
#include "cli/dump/stats.h"
#include "cli/faults.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/talk.h"
#include "cli/threads.h"
#include "reading/profile.h"
#include "record/record.h"
#include "recording/recording.h"

#define FLUSH_BYTES	 (256 * 1024)
#define PROGRESS_RECORDS 4096 /* between two looks at the clock */
#define PROGRESS_NS	 (NSEC_PER_SEC / 10)

struct args {
	const char *input;
	const char *output;
	bool json, raw, stats, file_order, follow, no_sandbox, strict;
	struct option_texts types, events;
	struct option_ids pids, tids;
	const char *time;
	uint64_t limit;
	uint32_t threads;
};

static const struct option opts[] = {
	OPT_HEAD("Input"),
	OPT_STR('i', "input", struct args, input, "FILE",
		"input file, - for stdin (default coati.data)"),
	OPT_FLAG(0, "follow", struct args, follow, "wait for more at the end of the file"),
	OPT_FLAG(0, "file-order", struct args, file_order,
		 "print in file order instead of by time"),
	OPT_HEAD("Filters"),
	OPT_TEXTS('T', "type", struct args, types, 0, "TYPE", "only this kind: SAMPLE, MMAP2 ..."),
	OPT_TEXTS('e', "event", struct args, events, 0, "EVENT",
		  "only samples of this event (glob)"),
	OPT_IDS('p', "pid", struct args, pids, "PID", "only these processes"),
	OPT_IDS('t', "tid", struct args, tids, "TID", "only these threads"),
	OPT_STR(0, "time", struct args, time, "FROM,TO", "only between these times, in seconds"),
	OPT_U64('n', "limit", struct args, limit, "COUNT", "stop after COUNT records", 1,
		UINT64_MAX),
	OPT_HEAD("Output"),
	OPT_FLAG(0, "json", struct args, json, "print one JSON object per line"),
	OPT_FLAG(0, "raw", struct args, raw, "print the bytes of each record as hex"),
	OPT_FLAG(0, "stats", struct args, stats, "print only the number of records of each kind"),
	OPT_STR('o', "output", struct args, output, "FILE", "output file"),
	OPT_STRICT(struct args),
	OPT_THREADS(struct args, threads),
	OPT_NO_SANDBOX(struct args),
	OPT_HELP,
	OPT_END
};

static const struct coati_example examples[] = {
	{ "coati dump", "all records of coati.data" },
	{ "coati dump -T SAMPLE --json | head", "samples for a script" },
	{ "coati dump --stats perf.data", "statistics of a perf.data file" },
	{ NULL, NULL }
};

struct dump {
	const struct args *args;
	struct coati_recording *rec;
	struct output out;
	struct sink sink;
	struct dump_stats stats;
	struct dump_fields fields;
	struct dump_rows rows;
	uint64_t from_ns, to_ns;
	uint64_t shown;
	uint64_t malformed_at; /* byte of the first record that could not be decoded */
	struct input_progress progress;
	uint64_t total_bytes, offset, records, next_ns; /* of it */
};

/* "1.5,3.25", ",3", "2,": seconds of the recording's clock. */
static int parse_range(const char *text, uint64_t *ret_from, uint64_t *ret_to)
{
	char part[2][64] = { "", "" };
	const char *comma = strchr(text, ',');
	uint64_t *ret[2] = { ret_from, ret_to };

	if (!comma || (size_t)(comma - text) >= sizeof(part[0]) ||
	    strlen(comma + 1) >= sizeof(part[1]))
		return -EINVAL;
	memcpy(part[0], text, (size_t)(comma - text));
	memcpy(part[1], comma + 1, strlen(comma + 1));
	for (int i = 0; i < 2; i++)
		if (part[i][0] && coati_parse_duration(part[i], 0, UINT64_MAX, ret[i]) < 0)
			return -EINVAL;
	return *ret_from <= *ret_to ? 0 : -EINVAL;
}

static bool has_id(const struct option_ids *ids, uint32_t id)
{
	for (size_t i = 0; i < ids->len; i++)
		if ((uint32_t)ids->v[i] == id)
			return true;
	return !ids->len;
}

static bool type_wanted(const struct args *a, uint32_t type)
{
	const char *name = coati_record_name(type);

	for (size_t i = 0; i < a->types.len; i++)
		if (name && !strcasecmp(a->types.v[i].text, name))
			return true;
	return !a->types.len;
}

static bool event_wanted(const struct args *a, const char *name)
{
	for (size_t i = 0; i < a->events.len; i++)
		if (coati_glob_match(a->events.v[i].text, name))
			return true;
	return !a->events.len;
}

/* A sample whose id is of no event in the file. */
static bool is_stray(const struct coati_recording_item *item)
{
	return item->raw.type == COATI_RECORD_SAMPLE && item->flags & COATI_RECORDING_ITEM_NO_EVENT;
}

/* Cheap tests first; those that need the decoded record come in show(). */
static bool wanted(const struct dump *d, const struct coati_recording_item *item)
{
	const struct coati_recording_event *e;

	if (!type_wanted(d->args, item->raw.type))
		return false;
	if (item->time < d->from_ns || item->time > d->to_ns)
		return false;
	if (!d->args->events.len)
		return true;
	e = coati_recording_event(d->rec, item->event);
	return item->raw.type == COATI_RECORD_SAMPLE && e && !is_stray(item) &&
	       event_wanted(d->args, e->name);
}

/* The process and thread that a record is about. */
static void subject(const struct coati_record *r, uint32_t *pid, uint32_t *tid)
{
	*pid = *tid = UINT32_MAX;
	switch (r->type) {
	case COATI_RECORD_MMAP:
	case COATI_RECORD_MMAP2:
		*pid = r->u.mmap.pid;
		*tid = r->u.mmap.tid;
		break;
	case COATI_RECORD_COMM:
		*pid = r->u.comm.pid;
		*tid = r->u.comm.tid;
		break;
	case COATI_RECORD_FORK:
	case COATI_RECORD_EXIT:
		*pid = r->u.task.pid;
		*tid = r->u.task.tid;
		break;
	default:
		if (r->id.present & COATI_SAMPLE_TID) {
			*pid = r->id.pid;
			*tid = r->id.tid;
		}
	}
}

static void begin_json(struct sink *s, const struct coati_record *r, const char *type,
		       const char *event)
{
	s->json = json_to(s->out);
	coati_json_object(&s->json);
	coati_json_kstr(&s->json, "type", type);
	if (event)
		coati_json_kstr(&s->json, "event", event);
	if (r->id.present & COATI_SAMPLE_TID) {
		coati_json_ki64(&s->json, "pid", (int32_t)r->id.pid);
		coati_json_ki64(&s->json, "tid", (int32_t)r->id.tid);
	}
}

static void show_identity(struct sink *s, const struct coati_recording_item *item,
			  const struct coati_record *r, const char *type, const char *event)
{
	if (s->is_json) {
		begin_json(s, r, type, event);
		if (item->time)
			coati_json_ku64(&s->json, "time_ns", item->time);
		if (r->id.present & COATI_SAMPLE_CPU)
			coati_json_ku64(&s->json, "cpu", r->id.cpu);
		return;
	}
	coati_strbuf_printf(s->out, "%6llu.%09llu ",
			    (unsigned long long)(item->time / NSEC_PER_SEC),
			    (unsigned long long)(item->time % NSEC_PER_SEC));
	if (r->id.present & COATI_SAMPLE_CPU)
		coati_strbuf_printf(s->out, "[%03u] ", r->id.cpu);
	if (r->id.present & COATI_SAMPLE_TID)
		coati_strbuf_printf(s->out, "%6d/%-6d ", (int32_t)r->id.pid, (int32_t)r->id.tid);
	coati_strbuf_adds(s->out, type);
	if (event) {
		coati_strbuf_addc(s->out, ' ');
		coati_strbuf_clean(s->out, event, strlen(event));
		coati_strbuf_addc(s->out, ':');
	}
}

static void end_line(struct sink *s)
{
	if (s->is_json) {
		coati_json_end(&s->json);
	} else if (s->chain.len) {
		coati_strbuf_add(s->out, s->chain.text, s->chain.len);
		coati_strbuf_clear(&s->chain);
	}
	coati_strbuf_addc(s->out, '\n');
}

static void show_body(struct dump *d, const struct coati_recording_item *item,
		      const struct coati_record *r)
{
	d->sink.arch = coati_recording_info(d->rec)->arch; /* in a pipe it comes with the stream */
	coati_dump_record(&d->sink, r);
	if (r->type == COATI_RECORD_SAMPLE && r->u.sample.present & COATI_SAMPLE_RAW &&
	    !coati_dump_batch(&d->sink, coati_recording_event(d->rec, item->event), r,
			      item->raw.swap)) {
		struct coati_payload p = { r->u.sample.raw, r->u.sample.raw_size, item->raw.swap };

		coati_dump_fields(&d->fields, &d->sink, d->rec, item->event, &p);
	}
}

/* What coati_record_decode() said; a record that it cannot decode belongs to no process. */
static int decode(struct dump *d, const struct coati_recording_item *item, struct coati_record *ret)
{
	const struct coati_sample_format *fmt =
		coati_format_table_get(coati_recording_formats(d->rec), item->event);
	static const struct coati_sample_format none;
	int n;

	if (is_stray(item)) { /* its contents are unknown */
		*ret = (struct coati_record){ .type = item->raw.type };
		return -ENOENT;
	}
	if (item->raw.type >= COATI_RECORD_HEADER_ATTR || !fmt)
		fmt = &none;
	n = coati_record_decode(&item->raw, fmt, ret);
	if (n < 0) {
		*ret = (struct coati_record){ .type = item->raw.type };
		if (!d->stats.malformed++)
			d->malformed_at = item->offset;
	}
	return n;
}

static bool subject_wanted(const struct args *a, const struct coati_record *r)
{
	uint32_t pid, tid;

	subject(r, &pid, &tid);
	return has_id(&a->pids, pid) && has_id(&a->tids, tid);
}

static void show(struct dump *d, const struct coati_recording_item *item)
{
	const struct coati_recording_event *e = coati_recording_event(d->rec, item->event);
	const char *type = coati_record_name(item->raw.type);
	struct sink *s = &d->sink;
	struct coati_record r;
	char unknown[24];
	int n = decode(d, item, &r);

	if (n >= 0 && !subject_wanted(d->args, &r))
		return;
	if (n >= 0 && s->is_json && !d->args->raw &&
	    coati_dump_row(&d->rows, d->rec, item, &r, s->out)) {
		d->shown++;
		return;
	}
	if (!type) {
		snprintf(unknown, sizeof(unknown), "TYPE_%u", item->raw.type);
		type = unknown;
	}
	show_identity(s, item, &r, type,
		      item->raw.type == COATI_RECORD_SAMPLE && e && !is_stray(item) ? e->name
										    : NULL);
	if (n < 0 && !is_stray(item))
		coati_sink_text(s, "malformed", coati_errno_name(n));
	else if (n >= 0)
		show_body(d, item, &r);
	if (item->flags & COATI_RECORDING_ITEM_LATE)
		coati_sink_flag(s, "late");
	if (item->flags & COATI_RECORDING_ITEM_NO_EVENT)
		coati_sink_flag(s, "no_event");
	if (d->args->raw)
		coati_sink_bytes(s, "raw", item->raw.body, item->raw.size - COATI_RAW_HEADER);
	end_line(s);
	d->shown++;
}

static void tally(struct dump *d, const struct coati_recording_item *item)
{
	bool asks = d->args->pids.len || d->args->tids.len;
	struct coati_record r;
	int n = asks || d->args->strict ? decode(d, item, &r) : 0;

	if (asks && (n < 0 || !subject_wanted(d->args, &r)))
		return;
	coati_dump_stats_add(&d->stats, item);
	d->shown++;
}

/* Every so many records: they are read, which may be all of them before the first is taken, and
 * taken. Each is half of the way. */
static int watch(void *ctx)
{
	struct coati_recording_stats st = { .size = sizeof(st) };
	struct dump *d = ctx;
	uint64_t time = d->records++ % PROGRESS_RECORDS ? 0 : now_ns();

	if (time < d->next_ns)
		return 0;
	d->next_ns = time + PROGRESS_NS;
	coati_recording_get_stats(d->rec, &st);
	return coati_input_progress(&d->progress, &(struct coati_profile_progress){
							  .bytes = (st.read_bytes + d->offset) / 2,
							  .total_bytes = d->total_bytes,
							  .samples = st.samples });
}

/* On a terminal that shows nothing else meanwhile. */
static void begin_progress(struct dump *d, const char *input)
{
	bool is_busy = !d->args->stats && !d->args->output && isatty(STDOUT_FILENO);
	struct stat st;

	coati_input_progress_begin(&d->progress, input, is_busy || d->args->follow);
	if (!coati_recording_info(d->rec)->is_pipe && stat(input, &st) == 0)
		d->total_bytes = (uint64_t)st.st_size;
	if (d->progress.shows)
		coati_recording_watch(d->rec, watch, d);
}

/* All of it. How the recording ended: 0 or a negative errno. */
static int walk(struct dump *d)
{
	struct coati_recording_item item;
	int n;

	while (!d->args->limit || d->shown < d->args->limit) {
		n = coati_recording_next(d->rec, &item);
		if (n == 0 && d->args->follow) {
			if (!coati_output_flush(&d->out))
				return 0;
			/* nothing tells when a file grows on every file system */
			poll(NULL, 0, 50);
			continue;
		}
		if (n <= 0)
			return n;
		d->offset = item.offset;
		if (d->progress.shows)
			watch(d);
		if (!wanted(d, &item))
			continue;
		if (d->args->stats) {
			tally(d, &item);
			continue;
		}
		show(d, &item);
		if (d->out.text.len > FLUSH_BYTES && !coati_output_flush(&d->out))
			return 0;
	}
	return 0;
}

static bool event_matches(const struct coati_recording *r, const char *pattern)
{
	for (uint32_t i = 0; i < coati_recording_event_count(r); i++)
		if (coati_glob_match(pattern, coati_recording_event(r, i)->name))
			return true;
	return false;
}

/* Whether every --event names one that the recording has; else says which does not, and what there
 * is. */
static bool events_are_there(const struct dump *d)
{
	struct strbuf names = STRBUF_INIT(4096);
	const char *missing = NULL;

	for (size_t i = 0; i < d->args->events.len && !missing; i++)
		if (!event_matches(d->rec, d->args->events.v[i].text))
			missing = d->args->events.v[i].text;
	if (!missing)
		return true;
	for (uint32_t i = 0; i < coati_recording_event_count(d->rec); i++)
		coati_strbuf_printf(&names, "%s%s", i ? ", " : "",
				    coati_recording_event(d->rec, i)->name);
	coati_say("--event %s: the recording has no such event; it has: %s", missing,
		  names.len ? names.text : "none");
	coati_strbuf_fini(&names);
	return false;
}

/* Everything was read, but not everything made sense. */
static bool say_damage(const struct dump *d)
{
	struct coati_recording_stats st = { .size = sizeof(st) };

	coati_recording_get_stats(d->rec, &st);
	if (st.damaged)
		coati_say("%s%s", coati_recording_damage(d->rec)->text,
			  st.damaged > 1 ? "; there are more such" : "");
	if (d->stats.malformed)
		coati_say("%s: %llu record%s malformed and shown as such, the first at byte %llu",
			  d->args->input ? d->args->input : "coati.data",
			  (unsigned long long)d->stats.malformed,
			  d->stats.malformed > 1 ? "s are" : " is",
			  (unsigned long long)d->malformed_at);
	return st.damaged || d->stats.malformed;
}

static int judge(const struct dump *d)
{
	struct coati_recording_stats st = { .size = sizeof(st) };
	struct faults f;

	coati_recording_get_stats(d->rec, &st);
	f = (struct faults){ .is_cut = coati_recording_info(d->rec)->is_truncated,
			     .damaged = st.damaged + d->stats.malformed,
			     .lost = coati_reading_lost(d->rec, &st),
			     .late = st.late,
			     .no_event = st.no_event };
	return coati_faults_judge(&f, d->args->input ? d->args->input : "coati.data");
}

static int dump_all(struct dump *d)
{
	bool is_pipe = coati_recording_info(d->rec)->is_pipe; /* events come with the stream */
	int n, code;

	if (!is_pipe && !events_are_there(d)) {
		return coati_output_end_with(&d->out, EXIT_FAILED);
	}
	d->sink = (struct sink){ .out = &d->out.text,
				 .arch = "",
				 .is_json = d->args->json,
				 .chain = STRBUF_INIT(1 << 20) };
	begin_progress(d, d->args->input ? d->args->input : "coati.data");
	n = walk(d);
	coati_input_progress_end(&d->progress);
	if (d->args->stats)
		coati_dump_stats_print(&d->stats, d->rec, d->args->json, &d->out.text);
	coati_strbuf_fini(&d->sink.chain);
	coati_dump_rows_fini(&d->rows);
	coati_dump_fields_fini(&d->fields);
	code = coati_output_end(&d->out);
	if (n < 0) {
		coati_say("%s", coati_recording_error(d->rec)->text);
		return EXIT_FAILED;
	}
	if (is_pipe && !events_are_there(d))
		return EXIT_FAILED;
	if (say_damage(d) || (d->args->strict && judge(d) != EXIT_DONE))
		code = EXIT_FAILED;
	return code;
}

static int check_types(const struct args *a)
{
	for (size_t i = 0; i < a->types.len; i++) {
		bool known = false;

		for (uint32_t t = 1; t < 128 && !known; t++)
			known = coati_record_name(t) &&
				!strcasecmp(coati_record_name(t), a->types.v[i].text);
		if (!known)
			return coati_command_misuse(
				&coati_command_dump,
				"--type %s: no such kind of record; `coati dump --stats` lists "
				"the kinds in the file",
				a->types.v[i].text);
	}
	return 0;
}

/* Opening the output empties it: it must not be the recording itself, under whatever name. */
static bool is_input(const char *output, const char *input)
{
	struct stat in, out;

	if (!strcmp(output, "-") || stat(output, &out) < 0 || !S_ISREG(out.st_mode))
		return false;
	if ((strcmp(input, "-") ? stat(input, &in) : fstat(STDIN_FILENO, &in)) < 0)
		return false;
	return in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

static bool has_default(const char *name)
{
	struct coati_error err;

	if (coati_input_check_default(name, &err) == 0)
		return true;
	coati_say("%s%s", err.text,
		  err.code == -ENOENT
			  ? "; make one with coati record -- CMD, or name one with -i FILE"
			  : "");
	return false;
}

static int run_parsed(const struct args *a)
{
	struct dump d = { .args = a, .to_ns = UINT64_MAX, .rows.fields = &d.fields };
	struct coati_recording_opts ropts = { .size = sizeof(ropts) };
	const char *input = a->input ? a->input : "coati.data";
	struct coati_error err = { 0 };
	int n;

	if (a->output && is_input(a->output, input))
		return coati_command_misuse(&coati_command_dump,
					    "--output %s is the recording itself", a->output);
	if (a->time && parse_range(a->time, &d.from_ns, &d.to_ns) < 0)
		return coati_command_misuse(
			&coati_command_dump,
			"--time %s: expected FROM,TO in seconds; either may be left out", a->time);
	n = check_types(a);
	if (n)
		return n;
	if (a->file_order)
		ropts.flags |= COATI_RECORDING_FILE_ORDER;
	if (a->follow)
		ropts.flags |= COATI_RECORDING_FOLLOW;
	if (!a->input && !has_default(input))
		return EXIT_FAILED;
	if (!coati_confinement_enter(&(struct confinement){ .is_off = a->no_sandbox,
							    .input = input,
							    .output = a->output,
							    .threads = a->threads }))
		return EXIT_FAILED;
	if (coati_recording_open(input, &ropts, &d.rec, &err) < 0) {
		coati_say("%s", err.text);
		return EXIT_FAILED;
	}
	coati_recording_ahead(d.rec,
			      &(struct coati_ahead_opts){ .threads = coati_recording_threads() });
	if (coati_output_open(&d.out, a->output ? a->output : "-", COLOR_NEVER, &err) < 0) {
		coati_say("%s", err.text);
		coati_recording_close(&d.rec);
		return EXIT_FAILED;
	}
	n = dump_all(&d);
	coati_recording_close(&d.rec);
	return n;
}

/* The recording may also be named without -i. */
static bool take_operand(struct args *a, const struct option_line *line)
{
	if (line->argc > 1 || (line->argc && a->input))
		return false;
	if (line->argc)
		a->input = line->argv[0];
	return true;
}

static int run(int argc, char **argv)
{
	struct args a = { .types.max = 64, .events.max = 64, .pids.max = 4096, .tids.max = 4096 };
	struct option_line line = { .argc = argc, .argv = argv };
	int code;

	if (coati_command_parse(&coati_command_dump, &line, &a, &code))
		code = take_operand(&a, &line)
			       ? run_parsed(&a)
			       : coati_command_misuse(&coati_command_dump,
						      "expected one recording: FILE or -i FILE");
	coati_options_fini(opts, &a);
	return code;
}

const struct coati_command coati_command_dump = {
	.name = "dump",
	.summary = "print every record of a recording",
	.usage = "[options] [FILE]",
	.options = opts,
	.examples = examples,
	.run = run,
};
