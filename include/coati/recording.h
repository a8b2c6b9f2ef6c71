/* SPDX-License-Identifier: MIT */
/*
 * Recordings: perf.data files, read and written. What perf, hotspot and every importer read, and
 * what they write, in file mode, pipe mode, compressed, of the other byte order, truncated, still
 * being written, or as a directory of files. docs/formats/perf-data.md has the bytes.
 *
 * Reading:
 *	struct coati_recording *r = NULL;
 *	coati_recording_open("coati.data", NULL, &r, &err);
 *	struct coati_recording_item item;
 *	while ((n = coati_recording_next(r, &item)) > 0)
 *		use(&item.raw, item.event);
 *	if (n < 0) the file stops in mid-record or is damaged: coati_recording_error() says where
 *	and why
 *	coati_recording_close(&r);
 *
 * Nothing in a file is trusted: every offset, length and count is compared with what is there.
 * Memory is bounded by the options, not by the file. One object, one thread at a time.
 */
#ifndef COATI_RECORDING_H
#define COATI_RECORDING_H

#include <stddef.h>
#include <stdint.h>

#include <coati/abi.h>
#include <coati/error.h>
#include <coati/record.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/* Names of the events that a capture with COATI_CAPTURE_OFF_CPU adds. */
#define COATI_OFF_CPU_EVENT  "off-cpu"
#define COATI_OFF_CPU_WAKING "off-cpu-waking"
/* And with COATI_CAPTURE_IRQ: irq-handler-entry and -exit, irq-soft-entry and -exit,
 * irq-timer-entry and -exit, as far as the kernel has them. */
#define COATI_IRQ_PREFIX "irq-"

/* ---- reading ---- */

/* coati_recording_opts.flags */
/* as the records lie in the file, not by time */
#define COATI_RECORDING_FILE_ORDER (UINT32_C(1) << 0)
/* at the end of a file that is still being written: 0, and more may come */
#define COATI_RECORDING_FOLLOW (UINT32_C(1) << 1)

struct coati_recording_opts {
	uint64_t size;
	uint32_t flags;
	uint32_t reserved;
	/* ceiling of the records that ordering holds back, 0: 24 MiB; its own tables take up to as
	 * much again */
	uint64_t window_bytes;
	/* Bytes that may come out of each compressed one, behind the first 64 MiB: a small file
	 * that unpacks to more is not read on (-E2BIG). 0: COATI_UNPACK_MOST of the environment,
	 * else 500 */
	uint64_t unpack_most;
};

struct coati_recording;

/* An event of the recording. Strings live as long as the recording. */
struct coati_recording_event {
	/* never NULL; where the file has none: by its numbers ("cycles"), else "event 3" */
	const char *name;
	struct coati_attr attr;
	const uint64_t *ids;
	uint32_t nr_ids;
	int32_t group_leader; /* index of the leader, -1: not in a group */
};

/* One record. Views live until the next call. */
struct coati_recording_item {
	struct coati_raw raw;
	/* index; 0 when it does not matter (raw has no id and there is one event) */
	uint32_t event;
	uint32_t flags;	 /* COATI_RECORDING_ITEM_* */
	uint64_t offset; /* in the file (of the COMPRESSED record for what was inside) */
	uint64_t time;	 /* 0: none */
	/* TRACING_DATA, AUXTRACE: bytes of data behind the record in the file, at offset +
	 * raw.size */
	uint64_t extra_size;
};
/* its time lies before what was delivered already */
#define COATI_RECORDING_ITEM_LATE	(UINT32_C(1) << 0)
#define COATI_RECORDING_ITEM_NO_EVENT	(UINT32_C(1) << 1) /* its id is in no event of the file */
#define COATI_RECORDING_ITEM_COMPRESSED (UINT32_C(1) << 2) /* came out of a compressed record */

struct coati_recording_stats {
	uint64_t records, bytes;
	uint64_t samples, lost, lost_samples, throttled;
	uint64_t damaged, late, no_event, unknown_type;
	uint64_t rounds, compressed_bytes, decompressed_bytes;
};

/* Facts of the file's header. Strings are "" and numbers 0 when the file does not say. */
struct coati_recording_info {
	int32_t is_pipe, is_swapped, is_directory, is_truncated;
	const char *hostname, *os_release, *version, *arch, *cpu_desc, *cpuid;
	uint32_t nr_cpus_online, nr_cpus_available;
	uint64_t total_mem_kb;
	uint32_t nr_args;
	const char *const *args;
	uint64_t first_time, last_time;
	int32_t clockid; /* -1: not said */
	uint32_t reserved;
	uint64_t clock_res_ns;
	uint64_t wall_ns, clock_ns; /* CLOCK_DATA: the same instant on both clocks */
	uint64_t features[4];	    /* bit per section that is there */
};

/* @path "-": standard input. @opts may be NULL. */
COATI_API int coati_recording_open(const char *path, const struct coati_recording_opts *opts,
				   struct coati_recording **ret, struct coati_error *err);
/* From a descriptor, which the recording takes over. */
COATI_API int coati_recording_open_fd(int fd, const struct coati_recording_opts *opts,
				      struct coati_recording **ret, struct coati_error *err);
/* 1 and the next record, 0 at the end, negative: -ENODATA the file stops in mid-record, -EBADMSG it
 * is damaged; everything before was delivered. Records come by time unless FILE_ORDER; those
 * without time come ahead of what still waits for its turn. */
COATI_API int coati_recording_next(struct coati_recording *r, struct coati_recording_item *ret);
/* Where and why it stopped: a sentence with the offset. */
COATI_API const struct coati_error *coati_recording_error(const struct coati_recording *r);
/* The first of the parts about the recording (sections, attrs, names) that made no sense and were
 * left out: a sentence; code 0: there was none so far. coati_recording_stats.damaged counts them.
 */
COATI_API const struct coati_error *coati_recording_damage(const struct coati_recording *r);
COATI_API uint32_t coati_recording_event_count(const struct coati_recording *r);
/* In pipe mode events arrive with the stream: complete once a record of theirs was delivered. */
COATI_API const struct coati_recording_event *coati_recording_event(const struct coati_recording *r,
								    uint32_t i);
COATI_API const struct coati_format_table *coati_recording_formats(const struct coati_recording *r);
COATI_API const struct coati_recording_info *coati_recording_info(const struct coati_recording *r);
/* The bytes of feature section @bit, or NULL. In pipe mode those that have come so far. */
COATI_API const uint8_t *coati_recording_feature(const struct coati_recording *r, uint32_t bit,
						 uint64_t *ret_size);
/* The text of the format file of tracepoint @id from the tracing data, or NULL. */
COATI_API const char *coati_recording_tracepoint(const struct coati_recording *r, uint64_t id,
						 uint64_t *ret_size);
COATI_API void coati_recording_get_stats(const struct coati_recording *r,
					 struct coati_recording_stats *ret);
COATI_API void coati_recording_close(struct coati_recording **r);

/* Build ids of the BUILD_ID section, one per call: 1, 0 at the end, negative when malformed. Start
 * with *pos = 0. */
struct coati_build_id {
	int32_t pid; /* -1: the kernel and its modules */
	uint16_t misc;
	uint8_t size;
	uint8_t id[20];
	const char *path;
};
COATI_API int coati_recording_build_id(const struct coati_recording *r, uint64_t *pos,
				       struct coati_build_id *ret);

/* ---- writing ---- */

/* coati_writer_opts.flags */
#define COATI_WRITER_PIPE (UINT32_C(1) << 0) /* pipe mode: a stream, no seeking */

struct coati_writer_opts {
	uint64_t size;
	uint32_t flags;
	int32_t zstd_level; /* 0: not compressed; else 1..19 */
	uint64_t max_bytes; /* stop with -EFBIG before the file grows over this, 0: none */
};

struct coati_writer;

/* Create @path (truncated, 0600; "-": standard output, pipe mode). */
COATI_API int coati_writer_open(const char *path, const struct coati_writer_opts *opts,
				struct coati_writer **ret, struct coati_error *err);
/* Take over a descriptor. */
COATI_API int coati_writer_open_fd(int fd, const struct coati_writer_opts *opts,
				   struct coati_writer **ret, struct coati_error *err);
/* Events, before anything else is written. @name is shown by readers; @ids are the kernel's. */
COATI_API int coati_writer_add_event(struct coati_writer *w, const struct coati_attr *attr,
				     const char *name, const uint64_t *ids, uint32_t nr_ids,
				     struct coati_error *err);
/* More ids of the event that has @id, also after the start: they are in the file when it is closed.
 * -ENOENT: no event has it; -EOPNOTSUPP: a stream has told its ids already. */
COATI_API int coati_writer_add_ids(struct coati_writer *w, uint64_t id, const uint64_t *ids,
				   uint32_t nr_ids);
COATI_API int coati_writer_group(struct coati_writer *w, uint32_t leader, uint32_t nr_members);
/* Write the header, and what is known by now about the recording, so that it is understood if we
 * die; from now on records. */
COATI_API int coati_writer_start(struct coati_writer *w, struct coati_error *err);
/* Whole records, straight from where they lie (a ring's one or two spans): no copy, one system
 * call. After a short write or a full disk the file is cut back to the last whole record and the
 * error sticks. */
COATI_API int coati_writer_write(struct coati_writer *w, const void *first, size_t first_size,
				 const void *second, size_t second_size);
/* One record of ours, buffered and written with the next span or round. */
COATI_API int coati_writer_record(struct coati_writer *w, const void *record, size_t size);
/* FINISHED_ROUND. Also brings the size in the header up to date, so that the file is readable if we
 * die. */
COATI_API int coati_writer_round(struct coati_writer *w);
/* A feature section: written at the end in file mode, as a record at once in pipe mode. Copied.
 * One without bytes is left out. */
COATI_API int coati_writer_feature(struct coati_writer *w, uint32_t bit, const void *bytes,
				   size_t size);
/* The sections that describe this machine, the command line, the clock: all that readers use. */
COATI_API int coati_writer_host_features(struct coati_writer *w, int argc, const char *const *argv);
/* Tracing data for the tracepoints of the events, read from tracefs; before the recording
 * starts. */
COATI_API int coati_writer_tracing_data(struct coati_writer *w, const char *tracefs,
					struct coati_error *err);
COATI_API int coati_writer_build_id(struct coati_writer *w, int32_t pid, uint16_t misc,
				    const uint8_t *id, uint32_t id_size, const char *path);
/* A batch of ours, with the id of the event coati/live, which must be among the events: -EINVAL
 * otherwise. */
struct coati_batch;
COATI_API int coati_writer_batch(struct coati_writer *w, const struct coati_batch *batch);
/* A descriptor of its own from which everything up to the last round can be read; -ESPIPE: a
 * stream. The caller closes it. */
COATI_API int coati_writer_reopen(const struct coati_writer *w);
COATI_API uint64_t coati_writer_bytes(const struct coati_writer *w);
/* 1: it writes a stream. */
COATI_API int coati_writer_is_pipe(const struct coati_writer *w);
/* Write what is pending, sections and header; close. The error that stuck, or 0. *w becomes
 * NULL. */
COATI_API int coati_writer_close(struct coati_writer **w, struct coati_error *err);

/* ---- our own batches: RAW samples of the dummy event "coati/live" ---- */

#define COATI_LIVE_EVENT     "coati/live"
#define COATI_LIVE_BATCH_MAX 32768
/* of that event in recordings of ours; the kernel's are small */
#define COATI_LIVE_ID (UINT64_C(1) << 62)

enum coati_batch_kind {
	COATI_BATCH_UNKNOWN = 0,
	COATI_BATCH_META,    /* facts about the recording as key=value text */
	COATI_BATCH_TRACE,   /* events of the live tracer, see docs/formats/live.md */
	COATI_BATCH_SYMBOLS, /* packed symbols */
	COATI_BATCH_STATS,   /* the recorder's own account */
};

struct coati_batch {
	enum coati_batch_kind kind;
	uint32_t version; /* of the payload's format */
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t id; /* of the event, as in its ids */
	const uint8_t *payload;
	uint32_t payload_size;
	uint32_t reserved;
};

/* The attr of that event; pass it to coati_writer_add_event(). */
COATI_API void coati_batch_attr(struct coati_attr *ret);
/* The batch as a SAMPLE record into @buf: its size, -ENOSPC, -E2BIG over COATI_LIVE_BATCH_MAX. */
COATI_API int coati_batch_encode(const struct coati_batch *batch, void *buf, size_t cap);
/* From a decoded sample of that event (@swap as in its raw record): 0, or -EBADMSG when it is none
 * of ours. Views live as long as the sample. */
COATI_API int coati_batch_decode(const struct coati_record *rec, uint32_t swap,
				 struct coati_batch *ret);

#ifdef __cplusplus
}
#endif
#endif
