/* SPDX-License-Identifier: MIT */
/* What the parts of the Perfetto writer share: packets of the one sequence, and the numbers of
 * tracks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "format/format.h"
#include "format/perfetto.h"
#include "base/proto.h"
#include "format/who.h"
#include "reading/parts.h"

#define PERFETTO_SEQUENCE 1
#define PERFETTO_IDS_MAX  ((size_t)1 << 28)

#define PERFETTO_TRACK_FIRST 16 /* smaller ones are no thread's; 0 has a meaning of its own */
#define PERFETTO_NO_THREAD   (UINT32_MAX - 1)

struct perfetto {
	struct format_input *in;
	struct format_output *out;
	struct proto p;
	uint64_t start_ns;
	bool has_times;
	bool *has_function, *has_frame, *has_image, *has_stack, *has_thread; /* defined already */
	struct who who;
	struct map sources; /* file to its number */
};

static inline size_t perfetto_begin_packet(struct perfetto *x, uint64_t time, uint32_t flags)
{
	size_t packet = coati_proto_begin(&x->p, TRACE_PACKET);

	coati_proto_uint(&x->p, PACKET_TIMESTAMP, time);
	coati_proto_uint(&x->p, PACKET_SEQUENCE_ID, PERFETTO_SEQUENCE);
	coati_proto_uint(&x->p, PACKET_SEQUENCE_FLAGS, flags);
	return packet;
}

static inline void perfetto_end_packet(struct perfetto *x, size_t packet)
{
	coati_proto_end(&x->p, packet);
	format_output_drain(x->out);
}

/* The track of a thread, or with NO_THREAD of its process: it stays when the name changes. */
static inline uint64_t perfetto_track(int32_t pid, uint32_t tid)
{
	return ((uint64_t)(uint32_t)pid << 32 | tid) + PERFETTO_TRACK_FIRST;
}

void coati_perfetto_process(struct perfetto *x, int32_t pid, const char *name, uint64_t time);
void coati_perfetto_thread(struct perfetto *x, const struct coati_profile_thread *t, uint64_t time);
void coati_perfetto_text(struct perfetto *x, uint32_t field, uint64_t iid, const char *text);
/* Context switches and wakeups, behind them. */
void coati_perfetto_sched(struct perfetto *x);
/* Live events, behind the samples. -ENOMEM. */
int coati_perfetto_live(struct perfetto *x);
