/* SPDX-License-Identifier: MIT */
/*
 * A Perfetto trace: one sequence of packets. The first clears the sequence's state, says on which
 * clock the times are and what the weights mean; then come the account of the recording, what it
 * lacks as instants on a track of their own, and a packet for each sample (StackSample, known since
 * v58). Names, mappings, frames and call stacks are written once, in the packet that needs them
 * first; threads and processes are written before their first sample, and again when their names
 * change. Live events come behind the samples (live-perfetto.c). Times are those of the recording.
 * Names by the common rule.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "format/live-events.h"
#include "format/perfetto-write.h"
#include "format/text.h"
#include "format/timeline.h"
#include "image/image.h"
#include "profile/walk.h"
#include "reading/hooks.h"
#include "reading/parts.h"

/* ---- packets ---- */

/* The recording's clock in Perfetto's numbers. */
static uint32_t clock_number(struct format_input *in)
{
	switch (in->quality.clockid) {
	case 0: /* CLOCK_REALTIME */
		return CLOCK_REALTIME_ID;
	case 1: /* CLOCK_MONOTONIC */
		return CLOCK_MONOTONIC_ID;
	case 4: /* CLOCK_MONOTONIC_RAW */
		return CLOCK_MONOTONIC_RAW_ID;
	case 7: /* CLOCK_BOOTTIME */
		return CLOCK_BOOTTIME_ID;
	case -1: /* what perf takes by itself */
		return CLOCK_PERF_ID;
	default:
		coati_format_note(
			in,
			"Perfetto has no name for clock %d of the recording: its times are given "
			"as those of CLOCK_MONOTONIC",
			in->quality.clockid);
		return CLOCK_MONOTONIC_ID;
	}
}

/* The event that all samples are of; NULL: there are several, or none. */
static const char *only_event(const struct format_input *in)
{
	for (size_t i = 1; i < in->nr_samples; i++)
		if (in->samples[i].event != in->samples[0].event)
			return NULL;
	return in->nr_samples ? coati_profile_event(in->profile, in->samples[0].event)->name : NULL;
}

/* What the weights are. */
static void put_counter(struct perfetto *x, uint32_t field)
{
	const char *unit = x->in->info.unit, *event = only_event(x->in);
	size_t counter = coati_proto_begin(&x->p, field);

	coati_proto_text(&x->p, COUNTER_NAME, event ? event : unit);
	if (!strcmp(unit, "ns"))
		coati_proto_uint(&x->p, COUNTER_UNIT, UNIT_NANOSECONDS);
	else if (!strcmp(unit, "samples"))
		coati_proto_uint(&x->p, COUNTER_UNIT, UNIT_COUNT);
	else
		coati_proto_text(&x->p, COUNTER_UNIT_TEXT, unit);
	coati_proto_end(&x->p, counter);
}

static void put_clock(struct perfetto *x, uint32_t id, uint64_t time)
{
	size_t clock = coati_proto_begin(&x->p, SNAPSHOT_CLOCKS);

	coati_proto_uint(&x->p, CLOCK_ID, id);
	coati_proto_uint(&x->p, CLOCK_TIMESTAMP, time);
	coati_proto_end(&x->p, clock);
}

/* All times are of one clock, which is the trace's own: nothing is to be converted. The time of day
 * stands beside it where it is known. */
static void put_first(struct perfetto *x)
{
	uint32_t clock = clock_number(x->in);
	size_t packet = coati_proto_begin(&x->p, TRACE_PACKET), part, defaults;

	coati_proto_uint(&x->p, PACKET_SEQUENCE_ID, PERFETTO_SEQUENCE);
	coati_proto_uint(&x->p, PACKET_SEQUENCE_FLAGS, FLAG_CLEARED | FLAG_NEEDED);
	coati_proto_uint(&x->p, PACKET_IS_FIRST, 1);
	part = coati_proto_begin(&x->p, PACKET_CLOCK_SNAPSHOT);
	put_clock(x, clock, x->start_ns);
	if (x->in->start_wall_ns && clock != CLOCK_REALTIME_ID)
		put_clock(x, CLOCK_REALTIME_ID, x->in->start_wall_ns);
	/* the clock that ftrace's events are on when they do not say: here it is the recording's,
	 * too */
	if (x->in->live && x->in->live->nr_sched && clock != CLOCK_BOOTTIME_ID)
		put_clock(x, CLOCK_BOOTTIME_ID, x->start_ns);
	coati_proto_uint(&x->p, SNAPSHOT_PRIMARY, clock);
	coati_proto_end(&x->p, part);
	part = coati_proto_begin(&x->p, PACKET_DEFAULTS);
	coati_proto_uint(&x->p, DEFAULTS_CLOCK_ID, clock);
	defaults = coati_proto_begin(&x->p, DEFAULTS_STACK_SAMPLE);
	coati_proto_text(&x->p, SAMPLE_DEFAULTS_SOURCE, "coati");
	put_counter(x, SAMPLE_DEFAULTS_PRIMARY);
	coati_proto_end(&x->p, defaults);
	coati_proto_end(&x->p, part);
	perfetto_end_packet(x, packet);
}

static void put_attribute(struct perfetto *x, const char *key, const char *value)
{
	size_t attribute = coati_proto_begin(&x->p, ATTRIBUTES_ATTRIBUTE);

	coati_proto_text(&x->p, ATTRIBUTE_KEY, key);
	coati_proto_text(&x->p, ATTRIBUTE_TEXT, value);
	coati_proto_end(&x->p, attribute);
}

/* What it is worth: shown in the overview. */
static void put_attributes(struct perfetto *x)
{
	size_t packet = perfetto_begin_packet(x, x->start_ns, FLAG_NEEDED);
	size_t part = coati_proto_begin(&x->p, PACKET_ATTRIBUTES);
	char key[40];

	put_attribute(x, "coati.quality", x->in->account);
	put_attribute(x, "coati.unit", x->in->info.unit);
	if (*x->in->comment)
		put_attribute(x, "coati.comment", x->in->comment);
	for (size_t i = 0; i < x->in->notes->v.len; i++) {
		snprintf(key, sizeof(key), "coati.note.%zu", i + 1);
		put_attribute(x, key, x->in->notes->v.v[i]);
	}
	coati_proto_end(&x->p, part);
	perfetto_end_packet(x, packet);
}

/* ---- losses ---- */

static void put_annotation(struct perfetto *x, const char *name, uint64_t value)
{
	size_t a = coati_proto_begin(&x->p, EVENT_ANNOTATION);

	coati_proto_text(&x->p, ANNOTATION_NAME, name);
	coati_proto_uint(&x->p, ANNOTATION_UINT, value);
	coati_proto_end(&x->p, a);
}

static void put_loss(struct perfetto *x, const struct coati_profile_loss *l)
{
	static const char *const names[] = { "lost records", "lost samples", "throttled" };
	size_t packet = perfetto_begin_packet(x, l->time ? l->time : x->start_ns, FLAG_NEEDED),
	       event;

	event = coati_proto_begin(&x->p, PACKET_TRACK_EVENT);
	coati_proto_uint(&x->p, EVENT_TYPE, EVENT_TYPE_INSTANT);
	coati_proto_uint(&x->p, EVENT_TRACK, PERFETTO_TRACK_LOSSES);
	coati_proto_text(&x->p, EVENT_CATEGORY, "loss");
	coati_proto_text(&x->p, EVENT_NAME, names[l->kind]);
	put_annotation(x, "count", l->count);
	if (l->cpu >= 0)
		put_annotation(x, "cpu", (uint64_t)l->cpu);
	coati_proto_end(&x->p, event);
	perfetto_end_packet(x, packet);
}

static void put_losses(struct perfetto *x)
{
	size_t packet, track;

	if (!x->in->nr_losses)
		return;
	packet = perfetto_begin_packet(x, x->start_ns, FLAG_NEEDED);
	track = coati_proto_begin(&x->p, PACKET_TRACK);
	coati_proto_uint(&x->p, TRACK_UUID, PERFETTO_TRACK_LOSSES);
	coati_proto_text(&x->p, TRACK_NAME, "what the recording lacks");
	coati_proto_end(&x->p, track);
	perfetto_end_packet(x, packet);
	for (size_t i = 0; i < x->in->nr_losses; i++)
		put_loss(x, &x->in->losses[i]);
}

/* ---- who ---- */

void coati_perfetto_process(struct perfetto *x, int32_t pid, const char *name, uint64_t time)
{
	size_t packet = perfetto_begin_packet(x, time, FLAG_NEEDED), track, process;

	track = coati_proto_begin(&x->p, PACKET_TRACK);
	coati_proto_uint(&x->p, TRACK_UUID, perfetto_track(pid, PERFETTO_NO_THREAD));
	process = coati_proto_begin(&x->p, TRACK_PROCESS_PART);
	coati_proto_int(&x->p, PROCESS_PID, pid);
	coati_proto_text(&x->p, PROCESS_NAME, name);
	coati_proto_end(&x->p, process);
	coati_proto_end(&x->p, track);
	perfetto_end_packet(x, packet);
}

void coati_perfetto_thread(struct perfetto *x, const struct coati_profile_thread *t, uint64_t time)
{
	size_t packet = perfetto_begin_packet(x, time, FLAG_NEEDED), track, thread;

	track = coati_proto_begin(&x->p, PACKET_TRACK);
	coati_proto_uint(&x->p, TRACK_UUID, perfetto_track(t->pid, (uint32_t)t->tid));
	thread = coati_proto_begin(&x->p, TRACK_THREAD_PART);
	coati_proto_int(&x->p, THREAD_PID, t->pid);
	coati_proto_int(&x->p, THREAD_TID, t->tid);
	coati_proto_text(&x->p, THREAD_NAME, t->comm);
	coati_proto_end(&x->p, thread);
	coati_proto_end(&x->p, track);
	perfetto_end_packet(x, packet);
}

static int tell_thread(struct perfetto *x, uint32_t thread, uint64_t time)
{
	const struct coati_profile_thread *t = coati_profile_thread(x->in->profile, thread);
	bool process, itself;
	int r = coati_who_meet(&x->who, thread, &process, &itself);

	if (r < 0)
		return r;
	if (process)
		coati_perfetto_process(x, t->pid, t->process_comm, time);
	if (itself)
		coati_perfetto_thread(x, t, time);
	return 0;
}

/* ---- what code ---- */

void coati_perfetto_text(struct perfetto *x, uint32_t field, uint64_t iid, const char *text)
{
	size_t s = coati_proto_begin(&x->p, field);

	coati_proto_uint(&x->p, INTERNED_IID, iid);
	coati_proto_text(&x->p, INTERNED_TEXT, text);
	coati_proto_end(&x->p, s);
}

static void put_build_id(struct perfetto *x, uint64_t iid, const struct coati_image_info *info)
{
	size_t s = coati_proto_begin(&x->p, DATA_BUILD_IDS);

	coati_proto_uint(&x->p, INTERNED_IID, iid);
	coati_proto_bytes(&x->p, INTERNED_TEXT, info->build_id, info->build_id_size);
	coati_proto_end(&x->p, s);
}

static void put_mapping(struct perfetto *x, uint32_t image)
{
	struct coati_image_info info = { .size = sizeof(info), .name = "[unknown]" };
	uint64_t iid = (uint64_t)image + 1;
	const char *path;
	size_t m;

	if (x->has_image[image])
		return;
	x->has_image[image] = true;
	coati_image_info(coati_profile_images(x->in->profile), image, &info);
	path = info.path && *info.path ? info.path : info.name;
	/* a mapping of this name and without a place is the kernel to Perfetto */
	if (info.kind == COATI_IMAGE_KERNEL)
		path = "/kernel";
	else if (info.build_id_size)
		put_build_id(x, iid, &info);
	coati_perfetto_text(x, DATA_MAPPING_PATHS, iid, path);
	m = coati_proto_begin(&x->p, DATA_MAPPINGS);
	coati_proto_uint(&x->p, INTERNED_IID, iid);
	if (info.build_id_size && info.kind != COATI_IMAGE_KERNEL)
		coati_proto_uint(&x->p, MAPPING_BUILD_ID, iid);
	coati_proto_uint(&x->p, MAPPING_PATH, iid);
	coati_proto_end(&x->p, m);
}

static uint64_t tell_source(struct perfetto *x, const char *file)
{
	uint64_t iid;

	if (coati_map_get_str(&x->sources, file, &iid))
		return iid;
	iid = x->sources.len + 1;
	if (coati_map_put_str(&x->sources, file, iid) < 0)
		return 0; /* it goes without */
	coati_perfetto_text(x, DATA_SOURCE_PATHS, iid, file);
	return iid;
}

static void tell_frame(struct perfetto *x, uint32_t number)
{
	const struct coati_view_frame *f = coati_view_frame(x->in->view, number);
	bool kernel = f->location_flags & COATI_LOCATION_KERNEL;
	uint64_t source = 0;
	size_t frame;

	if (x->has_frame[number])
		return;
	x->has_frame[number] = true;
	if (!x->has_function[f->function_id]) {
		x->has_function[f->function_id] = true;
		coati_perfetto_text(x, DATA_FUNCTION_NAMES, (uint64_t)f->function_id + 1,
				    f->function);
	}
	if (f->image_id != COATI_IMAGE_NONE)
		put_mapping(x, f->image_id);
	if (f->file)
		source = tell_source(x, f->file);
	frame = coati_proto_begin(&x->p, DATA_FRAMES);
	coati_proto_uint(&x->p, INTERNED_IID, (uint64_t)number + 1);
	coati_proto_uint(&x->p, FRAME_FUNCTION, (uint64_t)f->function_id + 1);
	if (f->image_id != COATI_IMAGE_NONE) {
		coati_proto_uint(&x->p, FRAME_MAPPING, (uint64_t)f->image_id + 1);
		coati_proto_uint(&x->p, FRAME_REL_PC, f->address);
	}
	if (source) {
		coati_proto_uint(&x->p, FRAME_SOURCE, source);
		if (f->line)
			coati_proto_uint(&x->p, FRAME_LINE, f->line);
	}
	coati_proto_uint(&x->p, FRAME_KIND, kernel ? FRAME_KIND_KERNEL : FRAME_KIND_NATIVE);
	coati_proto_end(&x->p, frame);
}

static void tell_stack(struct perfetto *x, uint32_t stack, const struct coati_view_entry *e)
{
	size_t s;

	x->has_stack[stack] = true;
	for (uint32_t i = 0; i < e->nr_frames; i++)
		tell_frame(x, e->frames[i]);
	s = coati_proto_begin(&x->p, DATA_CALLSTACKS);
	coati_proto_uint(&x->p, INTERNED_IID, (uint64_t)stack + 1);
	for (uint32_t i = e->nr_frames; i > 0; i--) /* the outermost first */
		coati_proto_uint(&x->p, CALLSTACK_FRAME, (uint64_t)e->frames[i - 1] + 1);
	coati_proto_end(&x->p, s);
}

static void tell_task(struct perfetto *x, uint32_t thread)
{
	const struct coati_profile_thread *t = coati_profile_thread(x->in->profile, thread);
	size_t task = coati_proto_begin(&x->p, DATA_TASKS);

	x->has_thread[thread] = true;
	coati_proto_uint(&x->p, INTERNED_IID, (uint64_t)thread + 1);
	coati_proto_uint(&x->p, TASK_PID, (uint32_t)t->pid);
	coati_proto_uint(&x->p, TASK_TID, (uint32_t)t->tid);
	coati_proto_end(&x->p, task);
}

/* ---- samples ---- */

static uint32_t mode_of(const struct coati_view_frame *f)
{
	bool kernel = f->location_flags & COATI_LOCATION_KERNEL;

	if (f->location_flags & COATI_LOCATION_GUEST)
		return kernel ? MODE_GUEST_KERNEL : MODE_GUEST_USER;
	return kernel ? MODE_KERNEL : MODE_USER;
}

static void put_stack_sample(struct perfetto *x, const struct coati_profile_sample *s,
			     const struct coati_view_entry *e)
{
	size_t sample = coati_proto_begin(&x->p, PACKET_STACK_SAMPLE), context;

	coati_proto_uint(&x->p, SAMPLE_TASK, (uint64_t)s->thread + 1);
	context = coati_proto_begin(&x->p, SAMPLE_EXECUTION);
	if (s->cpu >= 0)
		coati_proto_uint(&x->p, EXECUTION_CPU, (uint64_t)s->cpu);
	coati_proto_uint(&x->p, EXECUTION_MODE,
			 mode_of(coati_view_frame(x->in->view, e->frames[0])));
	coati_proto_end(&x->p, context);
	coati_proto_uint(&x->p, SAMPLE_CALLSTACK, (uint64_t)s->stack + 1);
	if (e->stack_flags & COATI_STACK_TRUNCATED)
		coati_proto_text(&x->p, SAMPLE_UNWIND_ERROR, "truncated");
	else if (e->stack_flags & COATI_STACK_GAP)
		coati_proto_text(&x->p, SAMPLE_UNWIND_ERROR, "gap");
	coati_proto_uint(&x->p, SAMPLE_WEIGHT, e->weight);
	coati_proto_end(&x->p, sample);
}

static int put_sample(struct perfetto *x, size_t number)
{
	const struct coati_profile_sample *s = &x->in->samples[number];
	uint64_t time = x->has_times ? s->time : number * TIMELINE_STEP_NS;
	struct coati_view_entry e;
	size_t packet, data;
	int r;

	if (!coati_view_sample(x->in->view, s, &e))
		return 0;
	r = tell_thread(x, s->thread, time);
	if (r < 0)
		return r;
	packet = perfetto_begin_packet(x, time, FLAG_NEEDED);
	if (!x->has_stack[s->stack] || !x->has_thread[s->thread]) {
		data = coati_proto_begin(&x->p, PACKET_INTERNED_DATA);
		if (!x->has_thread[s->thread])
			tell_task(x, s->thread);
		if (!x->has_stack[s->stack])
			tell_stack(x, s->stack, &e);
		coati_proto_end(&x->p, data);
	}
	put_stack_sample(x, s, &e);
	perfetto_end_packet(x, packet);
	return 0;
}

/* ---- all of it ---- */

static int prepare(struct perfetto *x)
{
	const struct format_input *in = x->in;
	uint32_t nr_images = coati_images_count(coati_profile_images(in->profile));

	x->has_function =
		coati_alloc_array((size_t)coati_view_function_count(in->view) + 1, sizeof(bool));
	x->has_frame =
		coati_alloc_array((size_t)coati_view_frame_count(in->view) + 1, sizeof(bool));
	x->has_image = coati_alloc_array((size_t)nr_images + 1, sizeof(bool));
	x->has_stack =
		coati_alloc_array((size_t)coati_profile_stack_count(in->profile) + 1, sizeof(bool));
	x->has_thread = coati_alloc_array((size_t)coati_profile_thread_count(in->profile) + 1,
					  sizeof(bool));
	coati_who_init(&x->who, in->profile);
	coati_map_init_strings(&x->sources, PERFETTO_IDS_MAX);
	x->start_ns = in->start_ns;
	x->has_times = in->quality.first_time;
	return x->has_function && x->has_frame && x->has_image && x->has_stack && x->has_thread
		       ? 0
		       : -ENOMEM;
}

static void release(struct perfetto *x)
{
	coati_free(x->has_function);
	coati_free(x->has_frame);
	coati_free(x->has_image);
	coati_free(x->has_stack);
	coati_free(x->has_thread);
	coati_who_fini(&x->who);
	coati_map_fini(&x->sources);
}

/* What a trace has no room for. */
static void say_what_is_lacking(struct format_input *in, bool has_times)
{
	coati_timeline_say_labels(in, "Perfetto's sample");
	if (in->nr_samples && !has_times)
		coati_format_note(
			in,
			"the recording has no times: its samples are shown a millisecond apart");
	if (in->quality.files > 1)
		coati_format_note(in,
				  "Perfetto identifies processes by PID only: processes of several "
				  "files with the same PID are merged");
}

static int write_perfetto(struct format_input *in, struct format_output *out,
			  struct coati_error *err)
{
	struct perfetto x = { .in = in, .out = out, .p = proto_to(&out->text) };
	int r = prepare(&x);

	if (r == 0) {
		say_what_is_lacking(in, x.has_times);
		put_first(&x);
		put_attributes(&x);
		put_losses(&x);
	}
	for (size_t i = 0; i < in->nr_samples && r == 0; i++)
		r = put_sample(&x, i);
	if (r == 0 && in->live)
		r = coati_perfetto_live(&x);
	if (r == 0 && in->live)
		coati_perfetto_sched(&x);
	if (r < 0)
		coati_fail(err, r, "perfetto: %m");
	release(&x);
	return r;
}

const struct format coati_format_perfetto = {
	.name = "perfetto",
	.suffix = ".pftrace",
	.flags = FORMAT_BINARY | FORMAT_TIMELINE | FORMAT_LINES | FORMAT_LIVE | FORMAT_SCHED,
	.write = write_perfetto,
};
