/* SPDX-License-Identifier: MIT */
/*
 * A recording comes in record by record, in the order of time; samples become weight, everything
 * that tells about processes goes to the process stage, losses and damage into the data quality
 * line.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/strbuf.h"
#include "process/processes.h"
#include "reading/hooks.h"
#include "reading/parts.h"
#include "reading/reading.h"
#include "reading/shapes.h"
#include "recording/recording.h"

#define ALLOW_RECORDS	 1024 /* limits grow with what was read, after so many */
#define PROGRESS_RECORDS 4096 /* the clock is asked after so many */
#define PROGRESS_NS	 (NSEC_PER_SEC / 10)
#define COMMAND_MAX	 65536

enum coati_machine coati_reading_machine(const char *arch)
{
	struct utsname own;

	/* a stream may not say where it comes from: it is rarely elsewhere */
	if (!*arch && uname(&own) == 0)
		arch = own.machine;
	if (!strcmp(arch, "x86_64"))
		return COATI_MACHINE_X86_64;
	if (!strcmp(arch, "aarch64") || !strcmp(arch, "arm64"))
		return COATI_MACHINE_AARCH64;
	return COATI_MACHINE_NONE;
}

static int take_build_ids(struct reading *r)
{
	struct coati_build_id id;
	uint64_t pos = 0;
	int n;

	while ((n = coati_recording_build_id(r->recording, &pos, &id)) > 0)
		if (coati_processes_build_id(r->processes, id.path, id.id, id.size) == -ENOMEM)
			return -ENOMEM;
	if (n < 0)
		r->profile->quality.damaged++;
	return 0;
}

/* Tell who asked of a record about what is not there. The reader counts them. */
static int take_loss(struct reading *r, const struct coati_recording_item *item,
		     const struct coati_sample_format *fmt)
{
	struct coati_profile *p = r->profile;
	struct coati_profile_loss loss = { .time = item->time, .count = 1, .cpu = -1 };
	struct coati_record rec;

	if (!p->on_loss)
		return 0;
	if (!fmt || coati_record_decode(&item->raw, fmt, &rec) < 0) {
		p->quality.damaged++;
		return 0;
	}
	if (rec.id.present & COATI_SAMPLE_CPU)
		loss.cpu = (int32_t)rec.id.cpu;
	if (item->raw.type == COATI_RECORD_THROTTLE) {
		loss.kind = COATI_LOSS_THROTTLE;
	} else if (item->raw.type == COATI_RECORD_LOST_SAMPLES) {
		loss.kind = COATI_LOSS_SAMPLES;
		loss.count = rec.u.lost_samples;
	} else {
		loss.kind = COATI_LOSS_RECORDS;
		loss.count = rec.u.lost.lost;
	}
	p->on_loss(p->ctx, &loss);
	return 0;
}

/* A record that is no sample. */
static int take_other(struct reading *r, const struct coati_recording_item *item)
{
	const struct coati_format_table *formats = coati_recording_formats(r->recording);
	const struct coati_sample_format *fmt = coati_format_table_get(formats, item->event);
	struct coati_record rec;

	switch (item->raw.type) {
	case COATI_RECORD_KSYMBOL:
	case COATI_RECORD_BPF_EVENT:
	case COATI_RECORD_TEXT_POKE:
		r->kernel_epoch++;
		break;
	case COATI_RECORD_MMAP:
	case COATI_RECORD_MMAP2:
		r->kernel_epoch += (item->raw.misc & COATI_MISC_CPUMODE_MASK) == COATI_MISC_KERNEL;
		break;
	case COATI_RECORD_COMM:
	case COATI_RECORD_EXIT:
	case COATI_RECORD_FORK:
	case COATI_RECORD_NAMESPACES:
	case COATI_RECORD_CGROUP:
		break;
	case COATI_RECORD_LOST:
	case COATI_RECORD_LOST_SAMPLES:
	case COATI_RECORD_THROTTLE:
		return take_loss(r, item, fmt);
	case COATI_RECORD_AUX:
	case COATI_RECORD_AUXTRACE_INFO:
	case COATI_RECORD_AUXTRACE:
		coati_reading_aux_record(r, item);
		return 0;
	default:
		return 0;
	}
	r->task_epoch++;
	if (!fmt || coati_record_decode(&item->raw, fmt, &rec) < 0) {
		r->profile->quality.damaged++;
		return 0;
	}
	return coati_processes_feed(r->processes, &item->raw, &rec);
}

int coati_reading_take(struct reading *r, const struct coati_recording_item *item)
{
	const struct coati_profile *p = r->profile;
	int n = p->on_item ? p->on_item(p->ctx, r->recording, item) : 0;

	if (n < 0)
		return n;
	if (item->raw.type == COATI_RECORD_SAMPLE)
		return coati_reading_sample(r, item);
	n = take_other(r, item);
	return n < 0 ? n : coati_off_record(r, item);
}

/* Bins double their length until there are not too many. */
uint32_t coati_reading_find_bin(struct reading *r, uint64_t time)
{
	struct coati_profile *p = r->profile;
	uint64_t since = time > r->start ? time - r->start : 0, number;

	while (p->max_bins && since / p->max_bins >= p->bin_ns && p->bin_ns < UINT64_MAX / 2)
		coati_profile_join_bins(p);
	number = since / p->bin_ns;
	if (number > UINT32_MAX)
		return UINT32_MAX;
	r->bin_from = r->start + number * p->bin_ns;
	r->bin_ns = p->bin_ns;
	r->bin = (uint32_t)number;
	return r->bin;
}

/* Progress for a person. */
struct meter {
	coati_progress_fn fn;
	void *ctx;
	uint64_t next_ns, records, total_bytes;
	uint64_t offset; /* of the last record that was taken */
	const struct reading *reading;
};

/* Records are read, which may be all of them before the first is taken, and taken: each is half of
 * the way. */
static int show(struct meter *m)
{
	struct coati_recording_stats st = { .size = sizeof(st) };
	struct coati_profile_progress now;
	uint64_t time = now_ns();

	if (time < m->next_ns)
		return 0;
	m->next_ns = time + PROGRESS_NS;
	coati_recording_get_stats(m->reading->recording, &st);
	now = (struct coati_profile_progress){ .bytes = (st.read_bytes + m->offset) / 2,
					       .total_bytes = m->total_bytes,
					       .samples = st.samples,
					       .lost = coati_reading_lost(m->reading->recording,
									  &st) };
	return m->fn(m->ctx, &now);
}

/* While records are read. */
static int watch(void *ctx)
{
	struct meter *m = ctx;

	return m->records++ % PROGRESS_RECORDS ? 0 : show(m);
}

/* Up to where limits are looked at, and progress is shown. */
static uint32_t bunch_most(const struct reading *r)
{
	return ALLOW_RECORDS - r->nr_records % ALLOW_RECORDS;
}

/* Every record. 0 also for a file that ends too early; negative: why we stop. */
static int take_all(struct reading *r, struct meter *m)
{
	struct recording_bunch bunch;
	const struct coati_error *why;
	int n;

	m->reading = r;
	coati_recording_watch(r->recording, m->fn ? watch : NULL, m);
	while ((n = coati_recording_next_bunch(r->recording, bunch_most(r), &bunch)) > 0) {
		if (r->nr_records % ALLOW_RECORDS == 0)
			coati_reading_allow(r);
		n = coati_reading_take_bunch(r, &bunch);
		if (n < 0)
			return n;
		m->offset = bunch.items[bunch.nr - 1].offset;
		r->nr_records += bunch.nr;
		if (m->fn && r->nr_records % PROGRESS_RECORDS == 0 && show(m))
			return -EINTR;
	}
	if (n == 0 || n == -EINTR)
		return n;
	why = coati_recording_error(r->recording);
	coati_profile_add_note(r->profile, "%s", why->text);
	r->profile->quality.is_truncated |= n == -ENODATA;
	r->profile->quality.damaged += n == -EBADMSG;
	r->profile->quality.is_truncated |= n == -E2BIG;
	return n == -ENODATA || n == -EBADMSG || n == -E2BIG ? 0 : n;
}

/* A stream has no header that says it, but its events do. */
static int32_t clock_of(const struct coati_recording *rec)
{
	int32_t clockid = coati_recording_info(rec)->clockid;
	uint32_t nr = clockid < 0 ? coati_recording_event_count(rec) : 0;

	for (uint32_t i = 0; i < nr; i++) {
		const struct coati_attr *a = &coati_recording_event(rec, i)->attr;

		if (!(a->flags & COATI_ATTR_USE_CLOCKID) || (i && a->clockid != clockid))
			return -1;
		clockid = a->clockid;
	}
	return clockid;
}

static void close_account(struct reading *r)
{
	struct coati_profile_quality *q = &r->profile->quality;
	const struct coati_recording_info *info = coati_recording_info(r->recording);
	struct coati_recording_stats st = { .size = sizeof(st) };

	coati_recording_get_stats(r->recording, &st);
	coati_reading_limits_end(r, st.read_bytes);
	add_weight(&q->lost, coati_reading_lost(r->recording, &st));
	q->throttled += st.throttled;
	q->damaged += st.damaged;
	q->late += st.late;
	q->no_event += st.no_event;
	q->records += st.records;
	q->bytes += st.bytes;
	q->files++;
	q->is_truncated |= (uint32_t)info->is_truncated;
	q->recorder_cpu_ns += coati_reading_recorder_value(r->recording, "cpu_ns");
	coati_reading_recorder(r, st.samples - r->off.samples);
	r->profile->has_off_cpu |= r->off.on;
	if (q->files == 1)
		q->clockid = clock_of(r->recording);
	else if (q->clockid != clock_of(r->recording))
		q->clockid = -1;
}

/* What the file says about its samples is of batches then, not of the samples in them. */
static bool has_live_alone(const struct coati_recording *rec)
{
	uint32_t nr = coati_recording_event_count(rec);

	return nr == 1 && coati_reading_is_live(rec, 0);
}

/* When the last sample was: what the file says, or a walk over all of it. */
static int find_end(struct reading *r, const char *path, struct coati_error *err)
{
	struct coati_recording_opts opts = { .size = sizeof(opts),
					     .flags = COATI_RECORDING_FILE_ORDER };
	struct coati_recording *other = NULL;
	struct coati_recording_item item;
	int n;

	r->end = coati_recording_info(r->recording)->last_time;
	if ((r->end && !has_live_alone(r->recording)) ||
	    !coati_conditions_need_end(&r->profile->conditions))
		return 0;
	if (!strcmp(path, "-"))
		return coati_fail(
			err, -EOPNOTSUPP,
			"time: a stream does not say how long it will be; use seconds instead of "
			"%%");
	n = coati_recording_open(path, &opts, &other, err);
	if (n < 0)
		return n;
	while (n == 0 && coati_recording_next(other, &item) > 0)
		if (item.raw.type == COATI_RECORD_SAMPLE)
			n = coati_reading_last(r, other, &item);
	coati_recording_close(&other);
	if (n == 0)
		n = coati_reading_last(r, NULL, NULL);
	return n < 0 ? coati_fail(err, n, "%s: %m", path) : 0;
}

struct reading *coati_reading_new(struct coati_profile *p)
{
	struct reading *r = coati_alloc(sizeof(*r));

	if (!r)
		return NULL;
	r->profile = p;
	r->finds_labels = p->contexts && p->contexts->find;
	r->filtered_before = p->quality.filtered;
	r->file = (uint32_t)p->files.len;
	r->task_epoch = 1;
	r->plans.max = PROFILE_TABLE_MAX;
	r->notes.max = PROFILE_TABLE_MAX;
	r->host_labels.max = READING_HOST_LABELS;
	coati_chains_init(&r->chains);
	coati_map_init(&r->context_sets, PROFILE_TABLE_MAX);
	coati_map_init(&r->last_counts, PROFILE_TABLE_MAX);
	r->shares.max = READING_SHARES_MAX;
	coati_map_init(&r->told_names, PROFILE_TABLE_MAX);
	/* the names that it has are not asked for */
	r->has_names = p->flags & COATI_PROFILE_PLACES;
	r->words = coati_alloc_array(2 * CHAIN_WORDS, sizeof(*r->words));
	r->spots = coati_alloc_array(READING_SPOTS, sizeof(*r->spots));
	r->locations = coati_alloc_array(p->max_frames, sizeof(*r->locations));
	r->frames = coati_alloc_array(p->max_frames, sizeof(*r->frames));
	return r;
}

bool coati_reading_has_room(const struct reading *r)
{
	return r->spots && r->words && r->locations && r->frames;
}

void coati_reading_free(struct reading *r)
{
	coati_recording_close(&r->recording); /* its threads look with the shapes */
	coati_shapes_free(r->shapes);
	coati_chains_fini(&r->chains);
	coati_map_fini(&r->context_sets);
	coati_map_fini(&r->last_counts);
	ARRAY_FINI(&r->shares);
	coati_map_fini(&r->told_names);
	coati_off_fini(&r->off);
	ARRAY_FINI(&r->plans);
	ARRAY_FINI(&r->notes);
	coati_free(r->spots);
	ARRAY_FINI(&r->host_labels);
	coati_live_places_free(&r->live_places);
	coati_free(r->words);
	coati_free(r->locations);
	coati_free(r->frames);
	coati_free(r);
}

int coati_reading_file(struct reading *r, const char *path, struct coati_error *err)
{
	struct coati_profile *p = r->profile;
	struct profile_file *file = ARRAY_ADD(&p->files);
	int n;

	r->formats = coati_recording_formats(r->recording);
	if (!file)
		return coati_fail(err, p->files.len < PROFILE_FILES_MAX ? -ENOMEM : -E2BIG,
				  "%s: too many input files", path);
	file->pub = (struct coati_profile_file){ .path = coati_arena_strdup(&p->arena, path),
						 .hostname = "",
						 .os_release = "",
						 .arch = "",
						 .command = "" };
	n = coati_processes_new(p->images, &p->processes_opts, &file->processes, err);
	if (n == 0 && !file->pub.path)
		n = coati_fail(err, -ENOMEM, "out of memory");
	if (n < 0) {
		coati_processes_free(&file->processes);
		p->files.len--;
		return n;
	}
	r->processes = file->processes;
	return 0;
}

/* A copy that lives as long as the profile; "" without memory. */
static const char *keep(struct coati_profile *p, const char *text)
{
	const char *copy = *text ? coati_arena_strdup(&p->arena, text) : "";

	return copy ? copy : "";
}

static const char *keep_command(struct coati_profile *p, const struct coati_recording_info *info)
{
	struct strbuf s = STRBUF_INIT(COMMAND_MAX);
	const char *copy;

	for (uint32_t i = 0; i < info->nr_args; i++) {
		coati_strbuf_adds(&s, i ? " " : "");
		coati_strbuf_adds(&s, info->args[i]);
	}
	copy = keep(p, s.text);
	coati_strbuf_fini(&s);
	return copy;
}

/* What the file says of itself: all of it is there once a stream has ended. */
static void describe_file(struct reading *r)
{
	const struct coati_recording_info *info = coati_recording_info(r->recording);
	struct coati_profile *p = r->profile;
	struct coati_profile_file *file = &p->files.v[r->file].pub;

	file->hostname = keep(p, info->hostname);
	file->os_release = keep(p, info->os_release);
	file->arch = keep(p, info->arch);
	file->command = keep_command(p, info);
	file->wall_ns = info->wall_ns;
	file->clock_ns = info->clock_ns;
}

/* As many threads as the tool allows; without memory for them, none. */
static void read_ahead(struct reading *r)
{
	struct coati_ahead_opts o = { .threads = coati_recording_threads() };

	if (!coati_recording_can_ahead(r->recording, o.threads))
		return;
	if (!(r->profile->flags & COATI_PROFILE_PLACES))
		r->shapes = coati_shapes_new(r, o.threads.nr);
	if (r->shapes) {
		o.look = coati_shapes_look;
		o.ctx = r->shapes;
	}
	coati_recording_ahead(r->recording, &o);
}

static int read_with(struct reading *r, const char *path, struct meter *m, struct coati_error *err)
{
	struct stat st;
	int n;

	if (!coati_reading_has_room(r))
		return coati_fail(err, -ENOMEM, "out of memory");
	r->path = path;
	n = coati_recording_open(path, NULL, &r->recording, err);
	if (n == 0)
		n = find_end(r, path, err);
	if (n == 0)
		n = coati_reading_file(r, path, err);
	if (n < 0)
		return n;
	r->machine = coati_reading_machine(coati_recording_info(r->recording)->arch);
	r->is_told =
		coati_reading_find_recorder_value(r->recording, "stacks_end", &(uint64_t){ 0 });
	if (!coati_recording_info(r->recording)->is_pipe && stat(path, &st) == 0)
		m->total_bytes = (uint64_t)st.st_size;
	if (r->profile->contexts) {
		n = r->profile->contexts->read(r->profile->contexts->ctx, path, err);
		/* who asks for labels may mean others */
		r->no_contexts = n == -EOPNOTSUPP && !r->profile->conditions.tasks.list.len &&
				 !r->profile->conditions.regions.list.len;
		if (n < 0 && !r->no_contexts)
			return n;
		if (r->profile->contexts->has_labels)
			r->finds_labels &=
				r->profile->contexts->has_labels(r->profile->contexts->ctx);
	}
	n = take_build_ids(r);
	if (n == 0)
		n = coati_off_begin(r, path);
	if (n == 0) {
		read_ahead(r);
		n = take_all(r, m);
	}
	if (n == 0 || n == -EINTR) {
		int ended = coati_reading_live_end(r);

		if (ended == 0)
			ended = coati_off_end(r);
		if (ended == 0)
			ended = coati_reading_simpleperf(r);

		n = ended < 0 ? ended : n;
	}
	close_account(r);
	coati_reading_aux_end(r, path);
	describe_file(r);
	if (n == -ENOMEM)
		return coati_fail(err, n, "%s: out of memory", path);
	if (n == -EINTR)
		return coati_fail(err, n, "%s: reading was stopped", path);
	return n < 0 ? coati_fail(err, n, "%s: %m", path) : 0;
}

int coati_profile_read(struct coati_profile *p, const char *path, coati_progress_fn fn, void *ctx,
		       struct coati_error *err)
{
	struct meter m = { .fn = fn, .ctx = ctx };
	struct reading *r;
	int n;

	if (!p || !path)
		return coati_fail(err, -EINVAL, "no recording was named");
	r = coati_reading_new(p);
	if (!r)
		return coati_fail(err, -ENOMEM, "out of memory");
	n = read_with(r, path, &m, err);
	coati_reading_free(r);
	return n;
}
