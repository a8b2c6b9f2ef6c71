/* SPDX-License-Identifier: MIT */
/* Recordings: feature sections, build IDs and descriptors, besides what <coati/recording.h>
 * promises. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/recording.h>

#include "recording/threads.h"

/* Feature sections of a perf.data file (bit numbers). */
#define COATI_FEATURE_TRACING_DATA    1
#define COATI_FEATURE_BUILD_ID	      2
#define COATI_FEATURE_HOSTNAME	      3
#define COATI_FEATURE_OSRELEASE	      4
#define COATI_FEATURE_VERSION	      5
#define COATI_FEATURE_ARCH	      6
#define COATI_FEATURE_NRCPUS	      7
#define COATI_FEATURE_CPUDESC	      8
#define COATI_FEATURE_CPUID	      9
#define COATI_FEATURE_TOTAL_MEM	      10
#define COATI_FEATURE_CMDLINE	      11
#define COATI_FEATURE_EVENT_DESC      12
#define COATI_FEATURE_CPU_TOPOLOGY    13
#define COATI_FEATURE_NUMA_TOPOLOGY   14
#define COATI_FEATURE_BRANCH_STACK    15
#define COATI_FEATURE_PMU_MAPPINGS    16
#define COATI_FEATURE_GROUP_DESC      17
#define COATI_FEATURE_AUXTRACE	      18
#define COATI_FEATURE_STAT	      19
#define COATI_FEATURE_CACHE	      20
#define COATI_FEATURE_SAMPLE_TIME     21
#define COATI_FEATURE_MEM_TOPOLOGY    22
#define COATI_FEATURE_CLOCKID	      23
#define COATI_FEATURE_DIR_FORMAT      24
#define COATI_FEATURE_BPF_PROG_INFO   25
#define COATI_FEATURE_BPF_BTF	      26
#define COATI_FEATURE_COMPRESSED      27
#define COATI_FEATURE_CPU_PMU_CAPS    28
#define COATI_FEATURE_CLOCK_DATA      29
#define COATI_FEATURE_HYBRID_TOPOLOGY 30
#define COATI_FEATURE_PMU_CAPS	      31
#define COATI_FEATURE_CPU_DOMAIN_INFO 32
/* ours: what the recorder did, as key=value lines; files only */
#define COATI_FEATURE_RECORDER 200
#define COATI_FEATURE_MAX      256

/* From a descriptor, which the recording takes over. */
int coati_recording_open_fd(int fd, const struct coati_recording_opts *opts,
			    struct coati_recording **ret, struct coati_error *err);

/* @fn is called again and again while coati_recording_next() reads and unpacks what it holds back:
 * without finished rounds that is all of the file. Non-zero ends the reading with -EINTR, behind
 * the records that were read. */
void coati_recording_watch(struct coati_recording *r, int (*fn)(void *ctx), void *ctx);

/* Read ahead in threads. Records come as they do without, to the last byte and error. */
struct coati_ahead_opts {
	struct recording_threads threads;
	/* What a record is to who asked, for coati_recording_note(); 0: nothing. Called by the
	 * threads with their number, 0 is the caller's, for records of known events in no order. */
	uint32_t (*look)(void *ctx, uint32_t thread, const struct coati_raw *raw, uint32_t event);
	void *ctx;
};

/* Before the first record is asked for. Only regular files in file mode are read ahead; of others,
 * and without memory or threads, nothing is. */
void coati_recording_ahead(struct coati_recording *r, const struct coati_ahead_opts *o);
/* Whether that would do something. */
bool coati_recording_can_ahead(const struct coati_recording *r, struct recording_threads t);
/* What look() said about the record that was returned last; 0: nothing, or it was not asked. */
uint32_t coati_recording_note(const struct coati_recording *r);

/* Records that follow each other and wait in memory already: who looks at several of them can ask
 * the memory for what all of them need before it is needed. */
#define RECORDING_BUNCH 16

struct recording_bunch {
	struct coati_recording_item items[RECORDING_BUNCH];
	uint32_t notes[RECORDING_BUNCH]; /* what look() said about each */
	uint32_t nr;
};

/* The next record, and those behind it that can be had without reading, up to @most: as
 * coati_recording_next(), called so often. All of them live until the next call of either. */
int coati_recording_next_bunch(struct coati_recording *r, uint32_t most,
			       struct recording_bunch *ret);

uint32_t coati_recording_event_count(const struct coati_recording *r);

/* The bytes of feature section @bit, or NULL. In pipe mode those that have come so far. */
const uint8_t *coati_recording_feature(const struct coati_recording *r, uint32_t bit,
				       uint64_t *ret_size);

/* Build ids of the BUILD_ID section, one per call: 1, 0 at the end, negative when malformed. Start
 * with *pos = 0. */
struct coati_build_id {
	int32_t pid; /* -1: the kernel and its modules */
	uint16_t misc;
	uint8_t size;
	uint8_t id[20];
	const char *path;
};

int coati_recording_build_id(const struct coati_recording *r, uint64_t *pos,
			     struct coati_build_id *ret);
