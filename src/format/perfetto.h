/* SPDX-License-Identifier: MIT */
/* Field numbers of Perfetto's messages, those that we write and read. A message's own name stands
 * in front of its fields'. */
#pragma once

#include <stddef.h>

#include "format/format.h"

enum {
	TRACE_PACKET = 1,

	PACKET_FTRACE = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_CLOCK_ID = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_IS_FIRST = 87,
	PACKET_ATTRIBUTES = 126,
	PACKET_STACK_SAMPLE = 135,

	FLAG_CLEARED = 1, /* of PACKET_SEQUENCE_FLAGS: earlier definitions are forgotten */
	FLAG_NEEDED = 2,  /* needs the definitions since then */

	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_REALTIME_ID = 1,
	CLOCK_MONOTONIC_ID = 3,
	CLOCK_MONOTONIC_RAW_ID = 5,
	CLOCK_BOOTTIME_ID = 6,
	CLOCK_PERF_ID = 10,

	DEFAULTS_CLOCK_ID = 58,
	DEFAULTS_STACK_SAMPLE = 100,
	SAMPLE_DEFAULTS_SOURCE = 1,
	SAMPLE_DEFAULTS_PRIMARY = 2,
	COUNTER_NAME = 2,
	COUNTER_UNIT = 3,
	COUNTER_UNIT_TEXT = 4,
	UNIT_NANOSECONDS = 1,
	UNIT_COUNT = 9,

	ATTRIBUTES_ATTRIBUTE = 1,
	ATTRIBUTE_KEY = 1,
	ATTRIBUTE_TEXT = 3,

	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS_PART = 3,
	TRACK_THREAD_PART = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER_PART = 8,
	COUNTER_PART_UNIT_NAME = 6,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,

	EVENT_CATEGORY_IID = 3,
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER = 30,
	EVENT_SOURCE_IID = 34,
	EVENT_COUNTER_REAL = 44,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
	EVENT_TYPE_BEGIN = 1,
	EVENT_TYPE_END = 2,
	EVENT_TYPE_INSTANT = 3,
	EVENT_TYPE_COUNTER = 4,
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_REAL = 5,
	ANNOTATION_TEXT = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10,

	DATA_CATEGORIES = 1,
	DATA_EVENT_NAMES = 2,
	DATA_ANNOTATION_NAMES = 3,
	DATA_SOURCE_PLACES = 4,
	PLACE_FILE = 2,
	PLACE_FUNCTION = 3,
	PLACE_LINE = 4,
	DATA_FUNCTION_NAMES = 5,
	DATA_FRAMES = 6,
	DATA_CALLSTACKS = 7,
	DATA_BUILD_IDS = 16,
	DATA_MAPPING_PATHS = 17,
	DATA_SOURCE_PATHS = 18,
	DATA_MAPPINGS = 19,
	DATA_TASKS = 48,
	BUNDLE_CPU = 1,
	BUNDLE_EVENT = 2,
	FTRACE_TIMESTAMP = 1,
	FTRACE_PID = 2,
	FTRACE_SCHED_SWITCH = 4,
	FTRACE_SCHED_WAKING = 20,
	SWITCH_PREV_COMM = 1,
	SWITCH_PREV_PID = 2,
	SWITCH_PREV_PRIO = 3,
	SWITCH_PREV_STATE = 4,
	SWITCH_NEXT_COMM = 5,
	SWITCH_NEXT_PID = 6,
	SWITCH_NEXT_PRIO = 7,
	WAKING_COMM = 1,
	WAKING_PID = 2,
	WAKING_PRIO = 3,
	WAKING_SUCCESS = 4,
	WAKING_CPU = 5,

	INTERNED_IID = 1, /* of everything in the interned data */
	INTERNED_TEXT = 2,
	MAPPING_BUILD_ID = 2,
	MAPPING_PATH = 7,
	FRAME_FUNCTION = 2,
	FRAME_MAPPING = 3,
	FRAME_REL_PC = 4,
	FRAME_SOURCE = 5,
	FRAME_LINE = 6,
	FRAME_KIND = 7,
	FRAME_KIND_NATIVE = 1,
	FRAME_KIND_KERNEL = 2,
	CALLSTACK_FRAME = 2,
	TASK_PID = 2,
	TASK_TID = 3,

	SAMPLE_TASK = 2, /* by number */
	SAMPLE_EXECUTION = 3,
	SAMPLE_CALLSTACK = 6, /* by number */
	SAMPLE_UNWIND_ERROR = 7,
	SAMPLE_WEIGHT = 11,
	EXECUTION_CPU = 2,
	EXECUTION_MODE = 3,
	MODE_USER = 1,
	MODE_KERNEL = 2,
	MODE_GUEST_USER = 4,
	MODE_GUEST_KERNEL = 5,
};

#define PERFETTO_TRACK_LOSSES 8 /* of what the recording lacks */

/* Tracks of a trace that is read back. */
struct perfetto_tracks;
/* NULL: no memory. */
struct perfetto_tracks *coati_perfetto_tracks_new(void);
void coati_perfetto_tracks_free(struct perfetto_tracks *t);
/* A descriptor. -ENOMEM; -EBADMSG: its parent (0: none) was not defined. */
int coati_perfetto_tracks_add(struct perfetto_tracks *t, uint64_t uuid, uint64_t parent,
			      bool is_counter);
/* An event. -EBADMSG: its track was not defined, is of another kind, goes back in time, or a slice
 * ends that has not begun. */
int coati_perfetto_tracks_event(struct perfetto_tracks *t, uint64_t uuid, uint64_t type,
				uint64_t time);
/* A switch on a CPU from a thread to another: -EBADMSG when it is not who was switched to before,
 * or time goes back. @from negative: a wakeup. */
int coati_perfetto_tracks_switch(struct perfetto_tracks *t, uint64_t cpu, int64_t from, int64_t to,
				 uint64_t time);
/* The sums; -EBADMSG: a slice has no end. */
int coati_perfetto_tracks_end(struct perfetto_tracks *t, struct tally *tally);
/* The reader of struct format. */
int coati_perfetto_read(const void *bytes, size_t size, struct tally *t, struct coati_error *err);
