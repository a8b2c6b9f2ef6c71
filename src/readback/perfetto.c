/* SPDX-License-Identifier: MIT */
/*
 * The reader of Perfetto traces, to add up their stack samples and track events. It keeps
 * Perfetto's rules: state is a sequence's own and there is none before a packet that clears it; a
 * number means what the same sequence defined before; times need a clock that a snapshot has shown.
 * What Perfetto would drop in silence is an error here.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/map.h"
#include "base/proto.h"
#include "format/perfetto.h"
#include "readback/perfetto-tracks.h"
#include "readback/readback.h"

#define IDS_MAX ((size_t)1 << 28)

/* A kind of interned things: their numbers. */
enum kind {
	FUNCTIONS = 0, /* to the tally's function */
	PATHS,
	BUILD_IDS,
	SOURCES,
	MAPPINGS,
	FRAMES, /* to the tally's function */
	STACKS, /* to that of the innermost frame */
	TASKS,	/* to pid and tid */
	CATEGORIES,
	EVENT_NAMES,
	ANNOTATION_NAMES,
	PLACES,
	NR_KINDS,
};

struct reading {
	struct tally *tally;
	struct map known[NR_KINDS];
	struct map threads; /* pid and tid to the tally's thread, under its last name */
	struct perfetto_tracks *tracks;
	struct strbuf text;
	uint64_t sequence, clock;
	bool has_clock, has_boottime, is_cleared;
	const char *why;
};

static int wrong(struct reading *r, const char *why)
{
	if (!r->why)
		r->why = why;
	return -EBADMSG;
}

/* The text of a field, terminated, until the next. */
static const char *text_of(struct reading *r, const struct proto_reader *f)
{
	coati_strbuf_clear(&r->text);
	coati_strbuf_add(&r->text, f->bytes, f->size);
	return r->text.text;
}

static int know(struct reading *r, enum kind kind, uint64_t iid, uint64_t value)
{
	int n;

	if (!iid)
		return wrong(r, "something interned has no number");
	n = coati_map_put(&r->known[kind], iid, value);
	return n < 0 ? n : 0;
}

static bool knows(const struct reading *r, enum kind kind, uint64_t iid)
{
	uint64_t value;

	return coati_map_get(&r->known[kind], iid, &value);
}

/* ---- interned data ---- */

static int read_text(struct reading *r, enum kind kind, struct proto_reader m)
{
	uint64_t iid = 0, value = 0;

	while (coati_proto_next(&m)) {
		if (m.field == INTERNED_IID)
			iid = m.value;
		else if (m.field == INTERNED_TEXT && kind == FUNCTIONS)
			value = coati_tally_function(r->tally, text_of(r, &m));
	}
	return m.bad ? wrong(r, "an interned string is malformed") : know(r, kind, iid, value);
}

static int read_mapping(struct reading *r, struct proto_reader m)
{
	uint64_t iid = 0;

	while (coati_proto_next(&m)) {
		if (m.field == INTERNED_IID)
			iid = m.value;
		else if (m.field == MAPPING_PATH && !knows(r, PATHS, m.value))
			return wrong(r, "a mapping has a path that was not defined");
		else if (m.field == MAPPING_BUILD_ID && m.value && !knows(r, BUILD_IDS, m.value))
			return wrong(r, "a mapping has a build id that was not defined");
	}
	return m.bad ? wrong(r, "a mapping is malformed") : know(r, MAPPINGS, iid, 0);
}

static int read_frame(struct reading *r, struct proto_reader m)
{
	uint64_t iid = 0, function = 0;
	bool has_name = false, has_mapping = false, has_pc = false;

	while (coati_proto_next(&m)) {
		if (m.field == INTERNED_IID)
			iid = m.value;
		else if (m.field == FRAME_FUNCTION)
			has_name = coati_map_get(&r->known[FUNCTIONS], m.value, &function);
		else if (m.field == FRAME_REL_PC)
			has_pc = true;
		else if (m.field == FRAME_MAPPING) {
			has_mapping = true;
			if (!knows(r, MAPPINGS, m.value))
				return wrong(r, "a frame has a mapping that was not defined");
		} else if (m.field == FRAME_SOURCE && !knows(r, SOURCES, m.value)) {
			return wrong(r, "a frame has a source that was not defined");
		}
	}
	if (m.bad || !has_name || has_mapping != has_pc)
		return wrong(r, "a frame is malformed");
	return know(r, FRAMES, iid, function);
}

static int read_stack(struct reading *r, struct proto_reader m)
{
	uint64_t iid = 0, function = 0;
	bool has_frames = false;

	while (coati_proto_next(&m)) {
		if (m.field == INTERNED_IID) {
			iid = m.value;
		} else if (m.field == CALLSTACK_FRAME) {
			has_frames = true;
			if (!coati_map_get(&r->known[FRAMES], m.value, &function))
				return wrong(r, "a call stack has a frame that was not defined");
		}
	}
	if (m.bad || !has_frames)
		return wrong(r, "a call stack is empty or is malformed");
	return know(r, STACKS, iid, function);
}

static int read_task(struct reading *r, struct proto_reader m)
{
	uint64_t iid = 0, pid = 0, tid = 0;

	while (coati_proto_next(&m)) {
		if (m.field == INTERNED_IID)
			iid = m.value;
		else if (m.field == TASK_PID)
			pid = m.value;
		else if (m.field == TASK_TID)
			tid = m.value;
	}
	return m.bad ? wrong(r, "a task is malformed")
		     : know(r, TASKS, iid, pid << 32 | (uint32_t)tid);
}

static const enum kind text_kinds[] = {
	[DATA_CATEGORIES] = CATEGORIES,
	[DATA_EVENT_NAMES] = EVENT_NAMES,
	[DATA_ANNOTATION_NAMES] = ANNOTATION_NAMES,
	[DATA_SOURCE_PLACES] = PLACES,
};

static int read_interned(struct reading *r, struct proto_reader m)
{
	int n = 0;

	while (n == 0 && coati_proto_next(&m)) {
		struct proto_reader sub = proto_sub(&m);

		switch (m.field) {
		case DATA_FUNCTION_NAMES:
			n = read_text(r, FUNCTIONS, sub);
			break;
		case DATA_MAPPING_PATHS:
			n = read_text(r, PATHS, sub);
			break;
		case DATA_BUILD_IDS:
			n = read_text(r, BUILD_IDS, sub);
			break;
		case DATA_SOURCE_PATHS:
			n = read_text(r, SOURCES, sub);
			break;
		case DATA_MAPPINGS:
			n = read_mapping(r, sub);
			break;
		case DATA_FRAMES:
			n = read_frame(r, sub);
			break;
		case DATA_CALLSTACKS:
			n = read_stack(r, sub);
			break;
		case DATA_TASKS:
			n = read_task(r, sub);
			break;
		case DATA_CATEGORIES:
		case DATA_EVENT_NAMES:
		case DATA_ANNOTATION_NAMES:
		case DATA_SOURCE_PLACES:
			n = read_text(r, text_kinds[m.field], sub);
			break;
		}
	}
	return n == 0 && m.bad ? wrong(r, "interned data is malformed") : n;
}

/* ---- the rest of a packet ---- */

static int read_thread(struct reading *r, struct proto_reader m)
{
	int64_t pid = 0, tid = 0;
	const char *name = NULL;
	int n;

	while (coati_proto_next(&m)) {
		if (m.field == THREAD_PID)
			pid = (int32_t)m.value;
		else if (m.field == THREAD_TID)
			tid = (int32_t)m.value;
		else if (m.field == THREAD_NAME)
			name = text_of(r, &m);
	}
	if (m.bad || !name)
		return wrong(r, "a thread is malformed");
	n = coati_map_put(&r->threads, (uint64_t)(uint32_t)pid << 32 | (uint32_t)tid,
			  coati_tally_thread(r->tally, pid, tid, name));
	return n < 0 ? n : 0;
}

static int read_track(struct reading *r, struct proto_reader m)
{
	uint64_t uuid = 0, parent = 0;
	bool is_counter = false;
	int n = 0;

	while (n == 0 && coati_proto_next(&m)) {
		if (m.field == TRACK_UUID)
			uuid = m.value;
		else if (m.field == TRACK_PARENT)
			parent = m.value;
		else if (m.field == TRACK_THREAD_PART)
			n = read_thread(r, proto_sub(&m));
		is_counter |= m.field == TRACK_COUNTER_PART;
	}
	if (n == 0 && (m.bad || !uuid))
		n = wrong(r, "a track is malformed");
	if (n == 0)
		n = coati_perfetto_tracks_add(r->tracks, uuid, parent, is_counter);
	return n == -EBADMSG ? wrong(r, "a track has a parent that was not defined") : n;
}

/* ---- events ---- */

static int read_annotation(struct reading *r, struct proto_reader m)
{
	bool named = false, valued = false;

	while (coati_proto_next(&m)) {
		named |= m.field == ANNOTATION_NAME ||
			 (m.field == ANNOTATION_NAME_IID && knows(r, ANNOTATION_NAMES, m.value));
		valued |= m.field >= ANNOTATION_BOOL && m.field <= ANNOTATION_POINTER;
	}
	return m.bad || !named || !valued ? wrong(r, "an argument has no name or no value") : 0;
}

/* What stands in an event by its number. */
static bool is_told(const struct reading *r, const struct proto_reader *m)
{
	switch (m->field) {
	case EVENT_NAME_IID:
		return knows(r, EVENT_NAMES, m->value);
	case EVENT_CATEGORY_IID:
		return knows(r, CATEGORIES, m->value);
	case EVENT_SOURCE_IID:
		return knows(r, PLACES, m->value);
	default:
		return true;
	}
}

static int read_event(struct reading *r, struct proto_reader m, uint64_t time)
{
	uint64_t type = 0, track = 0;
	bool named = false, valued = false;
	int n = 0;

	while (n == 0 && coati_proto_next(&m)) {
		if (m.field == EVENT_TYPE)
			type = m.value;
		else if (m.field == EVENT_TRACK)
			track = m.value;
		else if (m.field == EVENT_ANNOTATION)
			n = read_annotation(r, proto_sub(&m));
		else if (!is_told(r, &m))
			n = wrong(r, "an event has a name, category or place that was not defined");
		named |= m.field == EVENT_NAME_IID || m.field == EVENT_NAME;
		valued |= m.field == EVENT_COUNTER || m.field == EVENT_COUNTER_REAL;
	}
	if (n < 0)
		return n;
	if (m.bad || valued != (type == EVENT_TYPE_COUNTER) ||
	    named != (type == EVENT_TYPE_BEGIN || type == EVENT_TYPE_INSTANT))
		return wrong(r, "an event is malformed");
	n = coati_perfetto_tracks_event(r->tracks, track, type, time);
	return n == -EBADMSG ? wrong(r, "an event is on the wrong track or at the wrong time") : n;
}

/* ---- who runs ---- */

static int read_ftrace_event(struct reading *r, struct proto_reader m, uint64_t cpu)
{
	int64_t from = -1, to = 0;
	uint64_t time = 0;
	bool is_known = false;
	int n;

	while (coati_proto_next(&m)) {
		struct proto_reader sub = proto_sub(&m);

		if (m.field == FTRACE_TIMESTAMP)
			time = m.value;
		is_known |= m.field == FTRACE_SCHED_WAKING || m.field == FTRACE_SCHED_SWITCH;
		while (m.field == FTRACE_SCHED_SWITCH && coati_proto_next(&sub)) {
			if (sub.field == SWITCH_PREV_PID)
				from = (int64_t)sub.value;
			else if (sub.field == SWITCH_NEXT_PID)
				to = (int64_t)sub.value;
		}
	}
	if (m.bad || !time || !is_known)
		return wrong(r, "an event of the scheduler is malformed");
	n = coati_perfetto_tracks_switch(r->tracks, cpu, from, to, time);
	return n == -EBADMSG ? wrong(r, "a CPU is switched from a thread that is not on it") : n;
}

static int read_bundle(struct reading *r, struct proto_reader m)
{
	uint64_t cpu = 0;
	int n = 0;

	while (n == 0 && coati_proto_next(&m)) {
		if (m.field == BUNDLE_CPU)
			cpu = m.value;
		else if (m.field == BUNDLE_EVENT)
			n = read_ftrace_event(r, proto_sub(&m), cpu);
	}
	if (n == 0 && (m.bad || !r->has_boottime))
		n = wrong(r, "events of the scheduler are cut, or their clock was not shown");
	return n;
}

static int read_snapshot(struct reading *r, struct proto_reader m)
{
	while (coati_proto_next(&m)) {
		if (m.field == SNAPSHOT_PRIMARY)
			r->clock = m.value;
		r->has_clock |= m.field == SNAPSHOT_CLOCKS;
		if (m.field == SNAPSHOT_CLOCKS) {
			struct proto_reader clock = proto_sub(&m);

			while (coati_proto_next(&clock))
				r->has_boottime |=
					clock.field == CLOCK_ID && clock.value == CLOCK_BOOTTIME_ID;
		}
	}
	return m.bad ? wrong(r, "a clock snapshot is malformed") : 0;
}

static int read_defaults(struct reading *r, struct proto_reader m)
{
	while (coati_proto_next(&m))
		if (m.field == DEFAULTS_CLOCK_ID && m.value != r->clock)
			return wrong(r, "the times are of a clock that no snapshot has shown");
	return m.bad ? wrong(r, "defaults are malformed") : 0;
}

static int read_sample(struct reading *r, struct proto_reader m)
{
	uint64_t task = 0, function = 0, weight = 0, thread;
	bool has_task = false, has_stack = false;

	while (coati_proto_next(&m)) {
		if (m.field == SAMPLE_TASK)
			has_task = coati_map_get(&r->known[TASKS], m.value, &task);
		else if (m.field == SAMPLE_CALLSTACK)
			has_stack = coati_map_get(&r->known[STACKS], m.value, &function);
		else if (m.field == SAMPLE_WEIGHT)
			weight = m.value;
	}
	if (m.bad || !has_task || !has_stack)
		return wrong(r, "a sample has a thread or a stack that was not defined");
	if (!coati_map_get(&r->threads, task, &thread))
		return wrong(r, "a sample is of a thread without a track");
	coati_tally_add(r->tally, (uint32_t)thread, (uint32_t)function, weight);
	r->tally->samples++;
	return 0;
}

/* What must be known before its parts are looked at. */
struct packet {
	uint64_t sequence, flags, time;
	bool has_time, has_payload;
};

static int read_head(struct reading *r, struct proto_reader m, struct packet *p)
{
	while (coati_proto_next(&m)) {
		if (m.field == PACKET_SEQUENCE_ID)
			p->sequence = m.value;
		else if (m.field == PACKET_SEQUENCE_FLAGS)
			p->flags = m.value;
		else if (m.field == PACKET_TIMESTAMP)
			p->time = m.value;
		p->has_time |= m.field == PACKET_TIMESTAMP;
		p->has_payload |= m.field == PACKET_STACK_SAMPLE || m.field == PACKET_TRACK_EVENT;
	}
	if (m.bad)
		return wrong(r, "a packet is malformed");
	if (!p->sequence || (r->sequence && r->sequence != p->sequence))
		return wrong(r, "a packet is of no sequence, or of a second one");
	r->sequence = p->sequence;
	r->is_cleared |= p->flags & FLAG_CLEARED;
	if (!(p->flags & FLAG_NEEDED) || !r->is_cleared)
		return wrong(r, "a packet lacks the flags without which it is dropped");
	return p->has_payload && !p->has_time ? wrong(r, "a packet has no time") : 0;
}

static void forget(struct reading *r)
{
	for (int i = 0; i < NR_KINDS; i++) {
		coati_map_fini(&r->known[i]);
		coati_map_init(&r->known[i], IDS_MAX);
	}
}

static int read_part(struct reading *r, const struct proto_reader *m, uint64_t time)
{
	struct proto_reader sub = proto_sub(m);

	switch (m->field) {
	case PACKET_CLOCK_SNAPSHOT:
		return read_snapshot(r, sub);
	case PACKET_DEFAULTS:
		return read_defaults(r, sub);
	case PACKET_TRACK:
		return read_track(r, sub);
	case PACKET_FTRACE:
		return read_bundle(r, sub);
	case PACKET_TRACK_EVENT:
		return r->has_clock ? read_event(r, sub, time)
				    : wrong(r, "there is no clock before the first event");
	case PACKET_STACK_SAMPLE:
		return r->has_clock ? read_sample(r, sub)
				    : wrong(r, "there is no clock before the first sample");
	}
	return 0;
}

static int read_packet(struct reading *r, struct proto_reader m)
{
	struct packet p = { 0 };
	struct proto_reader again = m;
	int n = read_head(r, m, &p);

	if (n == 0 && p.flags & FLAG_CLEARED)
		forget(r);
	while (n == 0 && coati_proto_next(&m)) /* holds for the whole packet, wherever it stands */
		if (m.field == PACKET_INTERNED_DATA)
			n = read_interned(r, proto_sub(&m));
	while (n == 0 && coati_proto_next(&again))
		n = read_part(r, &again, p.time);
	return n;
}

int coati_perfetto_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err)
{
	struct reading r = { .tally = t, .text = STRBUF_INIT(UINT32_MAX) };
	struct proto_reader trace = proto_over(bytes, size);
	int n = 0;

	t->has_samples = true;
	r.tracks = coati_perfetto_tracks_new();
	if (!r.tracks)
		return coati_fail(err, -ENOMEM, "out of memory");
	forget(&r);
	coati_map_init(&r.threads, IDS_MAX);
	while (n == 0 && coati_proto_next(&trace))
		n = trace.field == TRACE_PACKET ? read_packet(&r, proto_sub(&trace))
						: wrong(&r, "there is something beside packets");
	if (n == 0 && (trace.bad || !r.sequence))
		n = wrong(&r, "it is not a trace");
	if (n == 0 && coati_perfetto_tracks_end(r.tracks, t) < 0)
		n = wrong(&r, "a slice has no end");
	coati_perfetto_tracks_free(r.tracks);
	if (n < 0)
		coati_fail(err, n, "perfetto: at byte %zu: %s", size - cursor_left(&trace.c),
			   r.why ? r.why : "no memory");
	for (int i = 0; i < NR_KINDS; i++)
		coati_map_fini(&r.known[i]);
	coati_map_fini(&r.threads);
	coati_strbuf_fini(&r.text);
	return n;
}
