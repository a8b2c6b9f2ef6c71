/* SPDX-License-Identifier: MIT */
/*
 * Recordings: read perf.data files of coati and of perf, in file mode and pipe mode, compressed, of
 * the other byte order, truncated, still being written, or as a directory of files.
 *
 *	struct coati_recording *r = NULL;
 *	struct coati_recording_item item;
 *	int n = coati_recording_open("coati.data", NULL, &r, &err);
 *
 *	while (n >= 0 && (n = coati_recording_next(r, &item)) > 0)
 *		use(&item.raw, item.event);
 *	if (n < 0 && r)
 *		fprintf(stderr, "%s\n", coati_recording_error(r)->text);
 *	coati_recording_close(&r);
 *
 * Nothing in a file is trusted: every offset, length and count is checked. Memory is bounded by the
 * options, not by the file. A recording is used by one thread at a time, and no function may be
 * called from a signal handler. coati-recording(3) has an example; docs/formats/perf-data.md
 * describes the bytes.
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

/* Names of the events that a capture with COATI_CAPTURE_OFF_CPU adds, and the start of the names of
 * those that COATI_CAPTURE_IRQ adds. */
#define COATI_OFF_CPU_EVENT  "off-cpu"
#define COATI_OFF_CPU_WAKING "off-cpu-waking"
#define COATI_IRQ_PREFIX     "irq-"

/* coati_recording_opts.flags */
/* Return records in the order of the file, not by time. */
#define COATI_RECORDING_FILE_ORDER (UINT32_C(1) << 0)
/* The file is still being written: 0 means that there are no more records yet. */
#define COATI_RECORDING_FOLLOW (UINT32_C(1) << 1)

struct coati_recording_opts {
	uint64_t size;	/* sizeof(struct coati_recording_opts) */
	uint32_t flags; /* COATI_RECORDING_* */
	uint32_t reserved;
	/* limit for records that are buffered for sorting, 0: 24 MiB; tables take up to the same
	 * amount again */
	uint64_t window_bytes;
	/* Maximum decompressed bytes per compressed byte, after the first 64 MiB; reading stops
	 * with -E2BIG at a file that exceeds it. 0: the environment variable COATI_UNPACK_MOST, or
	 * 500 */
	uint64_t unpack_most;
};

struct coati_recording;

/* An event of the recording. Allocated by the library; lives as long as the recording. */
struct coati_recording_event {
	/* never NULL; where the file has no name: from its numbers ("cycles"), or "event 3" */
	const char *name;
	struct coati_attr attr;
	const uint64_t *ids;
	uint32_t nr_ids;
	int32_t group_leader; /* number of the leader; -1: not in a group */
};

/* coati_recording_item.flags */
/* Its time is before records that were returned already. */
#define COATI_RECORDING_ITEM_LATE (UINT32_C(1) << 0)
/* Its ID belongs to no event of the file. */
#define COATI_RECORDING_ITEM_NO_EVENT (UINT32_C(1) << 1)
/* It came out of a compressed record. */
#define COATI_RECORDING_ITEM_COMPRESSED (UINT32_C(1) << 2)

/* One record. Pointers are valid until the next call. Frozen. */
struct coati_recording_item {
	struct coati_raw raw;
	uint32_t event;	 /* number of its event; 0 where the record has no ID */
	uint32_t flags;	 /* COATI_RECORDING_ITEM_* */
	uint64_t offset; /* in the file; for a decompressed record, of the COMPRESSED record */
	uint64_t time;	 /* 0: none */
	/* TRACING_DATA, AUXTRACE: bytes of data after the record, at offset + raw.size */
	uint64_t extra_size;
};

struct coati_recording_stats {
	uint64_t size; /* sizeof(struct coati_recording_stats) */
	uint64_t records, bytes;
	uint64_t samples, lost, lost_samples, throttled;
	uint64_t damaged, late, no_event, unknown_type;
	uint64_t rounds, compressed_bytes, decompressed_bytes;
	uint64_t read_bytes; /* of the files, still compressed */
};

/* The metadata of the file. Strings are "" and numbers 0 when it is missing. Allocated by the
 * library; lives as long as the recording. */
struct coati_recording_info {
	int32_t is_pipe, is_swapped, is_directory, is_truncated;
	const char *hostname, *os_release, *version, *arch, *cpu_desc, *cpuid;
	uint32_t nr_cpus_online, nr_cpus_available;
	uint64_t total_mem_kb;
	uint32_t nr_args;
	const char *const *args; /* command line of the recorder */
	uint64_t first_time, last_time;
	int32_t clockid; /* -1: not recorded */
	uint32_t reserved;
	uint64_t clock_res_ns;
	uint64_t wall_ns, clock_ns; /* the same instant since 1970 and on the recording's clock */
	uint64_t features[4];	    /* a bit for each feature section of the file */
};

/* @path "-": standard input. @opts may be NULL. -EBADMSG: the file is not a recording. */
COATI_API int coati_recording_open(const char *path, const struct coati_recording_opts *opts,
				   struct coati_recording **ret, struct coati_error *err);
/* *r becomes NULL; NULL is fine. */
COATI_API void coati_recording_close(struct coati_recording **r);

/* The next record: 1 and *ret, 0 at the end. Negative: -ENODATA the file ends in the middle of a
 * record, -EBADMSG it is damaged; everything before was returned. Records are sorted by time unless
 * FILE_ORDER is set; records without a time come before the buffered ones. */
COATI_API int coati_recording_next(struct coati_recording *r, struct coati_recording_item *ret);
/* Why reading stopped: a message with the offset. Lives as long as the recording. */
COATI_API const struct coati_error *coati_recording_error(const struct coati_recording *r);
/* The first part of the metadata (sections, attributes, names) that was malformed and ignored; code
 * 0: none so far. coati_recording_stats.damaged counts them. */
COATI_API const struct coati_error *coati_recording_damage(const struct coati_recording *r);

/* Event number @i, from 0; NULL past the last. In pipe mode events arrive with the stream: an event
 * is complete when a record of it was returned. */
COATI_API const struct coati_recording_event *coati_recording_event(const struct coati_recording *r,
								    uint32_t i);
/* The formats of the events, for coati_record_decode(). */
COATI_API const struct coati_format_table *coati_recording_formats(const struct coati_recording *r);
COATI_API const struct coati_recording_info *coati_recording_info(const struct coati_recording *r);
/* The format file of tracepoint @id from the tracing data, for coati_tracepoint_parse(); NULL: the
 * recording does not have it. */
COATI_API const char *coati_recording_tracepoint(const struct coati_recording *r, uint64_t id,
						 uint64_t *ret_size);
/* 0; -EINVAL: ret->size is not set. */
COATI_API int coati_recording_get_stats(const struct coati_recording *r,
					struct coati_recording_stats *ret);

#ifdef __cplusplus
}
#endif
#endif
