/* SPDX-License-Identifier: MIT */
/*
 * --once: a recording is made, in memory or in the file that was asked for, read back into the
 * model as the screen's are, and printed. So what is printed is what coati report says about that
 * file.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "capture/session.h"
#include "cli/command.h"
#include "cli/database.h"
#include "cli/faults.h"
#include "cli/input.h"
#include "cli/output.h"
#include "cli/record/output.h"
#include "cli/record/pack.h"
#include "cli/record/signals.h"
#include "cli/talk.h"
#include "cli/top/session.h"
#include "cli/top/text.h"
#include "fleet/place.h"
#include "recording/writer.h"

#define DEFAULT_ROWS   20
#define STORED_SECONDS 3600 /* the last of what was stored */

struct once {
	struct top_session *s;
	struct record_output file; /* -o */
	int fd;			   /* else: in memory */
	struct output out;
	struct top_query q;
	struct top_rows rows;
	top_tasks tasks;
};

/* ---- sampling ---- */

static int open_writer(struct once *o, struct coati_writer **ret)
{
	struct coati_writer_opts wo = { .size = sizeof(wo) };
	const char *path = o->s->args->out;
	int r;

	if (path) {
		o->file = (struct record_output){ .path = path, .unnamed = -1 };
		r = coati_record_output_reserve(&o->file, &o->s->err);
		if (r == 0 && (o->file.pipe || o->file.special))
			return coati_fail(&o->s->err, -EINVAL,
					  "%s is not a regular file; choose one with -o", path);
		return r < 0 ? r : coati_record_output_next(&o->file, ret, &o->s->err);
	}
	o->fd = memfd_create("coati-top", MFD_CLOEXEC);
	r = o->fd < 0 ? -1 : dup(o->fd);
	if (r < 0)
		return coati_fail(&o->s->err, -errno, "cannot make a recording in memory: %m");
	return coati_writer_open_fd(r, &wo, ret, &o->s->err);
}

static int begin(struct once *o)
{
	struct coati_writer *w = NULL;
	int r = open_writer(o, &w);

	if (r == 0)
		r = coati_capture_begin(o->s->cap, &w, &o->s->err);
	return r == 0 && o->s->args->out ? coati_record_output_publish(&o->file, &o->s->err) : r;
}

static int sample(struct once *o)
{
	struct top_session *s = o->s;
	uint64_t end = s->start_ns + s->args->duration_ns;
	int r = 1;

	while (r > 0 && !coati_record_stops() && !s->has_status && now_ns() < end) {
		coati_capture_set_deadline(s->cap, (int64_t)end);
		r = coati_capture_wait(s->cap);
		if (r == 1 || r == -ETIMEDOUT || r == -EINTR)
			r = coati_record_live_round(&s->live, s->cap) < 0 ? -EIO : 1;
		if (s->child && coati_record_take_child() &&
		    coati_child_wait(s->child, 0, &s->status, NULL) == 0)
			s->has_status = true;
	}
	if (r >= 0)
		r = coati_capture_stop(s->cap, &s->err);
	if (r >= 0)
		r = coati_capture_finish(s->cap, &s->err);
	if (r < 0 && !s->err.code)
		coati_fail(&s->err, r, "sampling: %m");
	return r < 0 ? r : 0;
}

static int read_back(struct once *o)
{
	char path[64];

	if (o->s->args->out)
		return coati_top_feed_file(&o->s->feed, o->file.name, NULL, NULL, &o->s->err);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", o->fd);
	return coati_top_feed_file(&o->s->feed, path, NULL, NULL, &o->s->err);
}

/* ---- printing ---- */

static void add_losses(const struct top_model *m, struct top_second *ret)
{
	*ret = (struct top_second){ 0 };
	for (size_t i = 0; i < m->seconds.len; i++) {
		ret->samples += m->seconds.v[i].samples;
		ret->cut += m->seconds.v[i].cut;
		ret->lost += m->seconds.v[i].lost;
		ret->throttled += m->seconds.v[i].throttled;
	}
}

static void json_row(struct json *j, const struct top_query *q, const struct top_row *row)
{
	bool is_label = q->by == TOP_BY_LABEL || q->by == TOP_BY_TASK || q->by == TOP_BY_SERVICE;

	coati_json_object(j);
	coati_json_kstr(j, is_label ? "label" : coati_top_by_name(q->by), row->name);
	if (row->image && q->by != TOP_BY_IMAGE)
		coati_json_kstr(j, "image", row->image);
	if (row->pid >= 0)
		coati_json_ki64(j, "pid", row->pid);
	if (row->tid >= 0)
		coati_json_ki64(j, "tid", row->tid);
	coati_json_ku64(j, "self", row->self);
	coati_json_ku64(j, "total", row->total);
	coati_json_ku64(j, "self_samples", row->self_count);
	coati_json_ku64(j, "total_samples", row->total_count);
	coati_json_end(j);
}

static void json_tasks(struct json *j, const top_tasks *tasks)
{
	coati_json_key(j, "tasks");
	coati_json_array(j);
	for (size_t i = 0; i < tasks->len; i++) {
		const struct top_task *t = &tasks->v[i];

		coati_json_object(j);
		coati_json_kstr(j, "type", t->type);
		coati_json_ku64(j, "count", t->count);
		coati_json_ku64(j, "p50_ns", t->p50);
		coati_json_ku64(j, "p90_ns", t->p90);
		coati_json_ku64(j, "p99_ns", t->p99);
		coati_json_ku64(j, "max_ns", t->max);
		coati_json_end(j);
	}
	coati_json_end(j);
}

static void print_json(struct once *o)
{
	struct json j = json_to(&o->out.text);
	const struct top_args *a = o->s->args;
	struct top_second sum;

	add_losses(&o->s->model, &sum);
	coati_json_object(&j);
	coati_json_kstr(&j, "schema", "coati.top.v1");
	coati_json_kstr(&j, "by", coati_top_by_name(o->q.by));
	if (o->q.by == TOP_BY_LABEL)
		coati_json_kstr(&j, "key", o->q.label);
	coati_json_kstr(&j, "mode", coati_top_mode_name(o->q.mode));
	coati_json_kstr(&j, "unit", o->s->feed.unit ? o->s->feed.unit : "ns");
	coati_json_ku64(&j, "total", o->rows.weight);
	coati_json_ku64(&j, "samples", o->rows.count);
	coati_json_ku64(&j, "lost", sum.lost);
	coati_json_ku64(&j, "throttled", sum.throttled);
	coati_json_ku64(&j, "truncated", sum.cut);
	coati_json_ku64(&j, "refused", o->s->model.refused);
	coati_json_key(&j, "rows");
	coati_json_array(&j);
	for (size_t i = 0; i < o->rows.rows.len && (!a->limit || i < a->limit); i++) {
		json_row(&j, &o->q, &o->rows.rows.v[i]);
		if (o->out.text.len > 60000)
			coati_output_flush(&o->out);
	}
	coati_json_end(&j);
	json_tasks(&j, &o->tasks);
	coati_json_end(&j);
	coati_strbuf_addc(&o->out.text, '\n');
}

static void print_text(struct once *o)
{
	size_t limit = o->s->args->limit ? o->s->args->limit : DEFAULT_ROWS;
	struct top_second sum;

	add_losses(&o->s->model, &sum);
	coati_strbuf_adds(&o->out.text, "# ");
	coati_top_quality(&o->out.text, &sum, o->s->model.refused);
	coati_strbuf_addc(&o->out.text, '\n');
	coati_top_table_head(&o->out.text, &o->q);
	for (size_t i = 0; i < o->rows.rows.len && i < limit; i++)
		coati_top_table_row(&o->out.text, &o->q, &o->rows, &o->rows.rows.v[i]);
	for (size_t i = 0; i < o->tasks.len; i++)
		coati_top_task_line(&o->out.text, &o->tasks.v[i]);
}

static int print(struct once *o)
{
	const struct top_args *a = o->s->args;
	int r;

	o->q = (struct top_query){ .to = UINT64_MAX,
				   .mode = a->off_cpu ? TOP_OFF_CPU : TOP_ON_CPU,
				   .by = a->by,
				   .label = a->label,
				   .filter = a->filter };
	r = coati_top_rows(&o->s->model, &o->q, &o->rows);
	if (r == 0)
		r = coati_top_tasks(&o->s->model, 0, UINT64_MAX, &o->tasks);
	if (r < 0) {
		coati_say("out of memory");
		return EXIT_FAILED;
	}
	coati_output_init(&o->out, a->color);
	if (a->json)
		print_json(o);
	else
		print_text(o);
	return coati_output_end(&o->out);
}

/* ---- the whole ---- */

static int run(struct once *o)
{
	struct top_session *s = o->s;
	int ret;

	coati_record_signals_catch();
	coati_record_signals_wake(s->cap);
	ret = s->child ? coati_top_set_going(s) : -1;
	if (ret < 0 && begin(o) < 0)
		goto failed;
	if (ret < 0 && !s->child)
		ret = coati_top_set_going(s);
	if (ret >= 0)
		return ret;
	if (sample(o) < 0 || read_back(o) < 0)
		goto failed;
	ret = print(o);
	return ret == EXIT_DONE ? coati_top_exit(s) : ret;
failed:
	coati_say("%s", s->err.text);
	return s->args->command ? EXIT_OWN : EXIT_FAILED;
}

int coati_top_once(struct top_session *s)
{
	struct once o = { .s = s, .fd = -1, .file.unnamed = -1 };
	int ret = run(&o);

	coati_top_rows_fini(&o.rows);
	ARRAY_FINI(&o.tasks);
	coati_record_output_fini(&o.file);
	fd_closep(&o.fd);
	return ret;
}

/* ---- what an agent has stored ---- */

/* The database is asked for the stacks alone when they are all that is shown. */
static int fetch_stored(struct top_session *s, const struct option_texts *files)
{
	const struct top_args *a = s->args;
	const struct database_query q = { .from = a->range.from,
					  .to = a->range.to,
					  .service = a->service,
					  .with_contexts = a->by != TOP_BY_FUNCTION &&
							   a->by != TOP_BY_IMAGE };

	return coati_database_fetch(files, &q);
}

static int fill(void *ctx, struct coati_profile *p, struct coati_error *err)
{
	return coati_database_read(ctx, p, err);
}

static int read_file(struct top_session *s, const char *path)
{
	struct input_progress progress;
	int r;

	coati_input_progress_begin(&progress, path, s->args->quiet);
	r = coati_top_feed_file(&s->feed, path, coati_input_progress, &progress, &s->err);
	coati_input_progress_end(&progress);
	return r;
}

static int read_one(struct top_session *s, const char *text, struct faults *faults)
{
	struct faults one;
	int r = coati_place_is(text)
			? coati_top_feed_sums(&s->feed, fill, (void *)(uintptr_t)text, &s->err)
			: read_file(s, text);

	if (r == 0) {
		coati_faults_of_profile(s->feed.profile, &one);
		coati_faults_add(faults, &one);
	}
	return r;
}

static int read_stored(struct top_session *s, struct option_texts *files, struct faults *faults)
{
	struct coati_filter filter = { .size = sizeof(filter) };
	char time[STORE_TIME_ROOM];
	int r = coati_store_expand(files, &s->args->range, &s->err);

	if (r == 0)
		r = coati_store_time(&s->args->range, time, &s->err);
	filter.time = time;
	s->feed.filter = &filter;
	for (size_t i = 0; r == 0 && i < files->len; i++)
		r = read_one(s, files->v[i].text, faults);
	s->feed.filter = NULL;
	return r;
}

int coati_top_stored(struct top_session *s, const struct top_args *args)
{
	struct once o = { .s = s, .fd = -1, .file.unnamed = -1 };
	struct option_texts files = { .max = 8000 };
	struct option_text *t = ARRAY_ADD(&files);
	struct faults faults = { 0 };
	int r, ret = EXIT_FAILED;

	*s = (struct top_session){ .args = args, .live.lock_fd = -1 };
	r = coati_top_model_init(&s->model, args->memory / 2, STORED_SECONDS);
	if (r == 0)
		r = coati_top_feed_init(&s->feed, &s->model, args->inlines == TOP_INLINES_NEVER,
					&s->err);
	coati_top_spool_init(&s->spool, 0);
	if (!t)
		r = -ENOMEM;
	else
		t->text = args->store;
	if (r == 0 && fetch_stored(s, &files) < 0) {
		ARRAY_FINI(&files);
		return EXIT_FAILED; /* it was said why */
	}
	if (r == 0)
		r = read_stored(s, &files, &faults);
	if (r == 0)
		ret = print(&o);
	else
		coati_say("%s", s->err.code ? s->err.text : "out of memory");
	if (ret == EXIT_DONE && args->strict)
		ret = coati_faults_judge(&faults, args->store);
	coati_top_rows_fini(&o.rows);
	ARRAY_FINI(&o.tasks);
	ARRAY_FINI(&files);
	return ret;
}
