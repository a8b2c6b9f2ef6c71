/* SPDX-License-Identifier: MIT */
/*
 * Records: decode the bytes that the kernel writes into ring buffers, and that perf and coati write
 * into files, into typed structs. The input is one whole record in memory; the output is a struct
 * with pointers into that memory.
 *
 *	struct coati_sample_format fmt;
 *	struct coati_record rec;
 *	struct coati_raw raw;
 *
 *	coati_sample_format_init(&attr, &fmt);
 *	while (coati_raw_next(&bytes, &left, 0, &raw) > 0)
 *		if (coati_record_decode(&raw, &fmt, &rec) == 0 && rec.type == COATI_RECORD_SAMPLE)
 *			use(rec.u.sample.ip);
 *
 * Unless said otherwise, functions do not allocate memory, take no lock and make no system call;
 * they may be called from any thread on different objects. All lengths and counts are checked
 * against the size in the header of the record. -EBADMSG: the record contradicts itself or its
 * format. Unknown bytes at the end are allowed and kept (`extra`).
 *
 * Every struct in this header is frozen: the kernel's ABI determines its fields, and new record
 * types get a new struct in the union of struct coati_record.
 *
 * Records of a machine with the other byte order (`swap`): every number is converted to the byte
 * order of this machine. The flags of a branch are a C bit field, which a big-endian machine fills
 * from the top; coati_branches_get() gives them lowest field first in both cases. Payloads (raw,
 * stack, aux, text) are bytes and stay as they are. coati-record(3) has an example.
 */
#ifndef COATI_RECORD_H
#define COATI_RECORD_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <coati/abi.h>
#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- kinds ---------------------------------------------------------------------------------- */

/* Written by the kernel. */
#define COATI_RECORD_MMAP		1
#define COATI_RECORD_LOST		2
#define COATI_RECORD_COMM		3
#define COATI_RECORD_EXIT		4
#define COATI_RECORD_THROTTLE		5
#define COATI_RECORD_UNTHROTTLE		6
#define COATI_RECORD_FORK		7
#define COATI_RECORD_READ		8
#define COATI_RECORD_SAMPLE		9
#define COATI_RECORD_MMAP2		10
#define COATI_RECORD_AUX		11
#define COATI_RECORD_ITRACE_START	12
#define COATI_RECORD_LOST_SAMPLES	13
#define COATI_RECORD_SWITCH		14
#define COATI_RECORD_SWITCH_CPU_WIDE	15
#define COATI_RECORD_NAMESPACES		16
#define COATI_RECORD_KSYMBOL		17
#define COATI_RECORD_BPF_EVENT		18
#define COATI_RECORD_CGROUP		19
#define COATI_RECORD_TEXT_POKE		20
#define COATI_RECORD_AUX_OUTPUT_HW_ID	21
#define COATI_RECORD_CALLCHAIN_DEFERRED 22 /* after 6.18 */

/* Written by perf and coati into files. */
#define COATI_RECORD_HEADER_ATTR       64
#define COATI_RECORD_HEADER_EVENT_TYPE 65
#define COATI_RECORD_TRACING_DATA      66
#define COATI_RECORD_BUILD_ID	       67
#define COATI_RECORD_FINISHED_ROUND    68
#define COATI_RECORD_ID_INDEX	       69
#define COATI_RECORD_AUXTRACE_INFO     70
#define COATI_RECORD_AUXTRACE	       71
#define COATI_RECORD_AUXTRACE_ERROR    72
#define COATI_RECORD_THREAD_MAP	       73
#define COATI_RECORD_CPU_MAP	       74
#define COATI_RECORD_STAT_CONFIG       75
#define COATI_RECORD_STAT	       76
#define COATI_RECORD_STAT_ROUND	       77
#define COATI_RECORD_EVENT_UPDATE      78
#define COATI_RECORD_TIME_CONV	       79
#define COATI_RECORD_HEADER_FEATURE    80
#define COATI_RECORD_COMPRESSED	       81
#define COATI_RECORD_FINISHED_INIT     82
#define COATI_RECORD_COMPRESSED2       83
#define COATI_RECORD_BPF_METADATA      84
#define COATI_RECORD_SCHEDSTAT_CPU     85
#define COATI_RECORD_SCHEDSTAT_DOMAIN  86

/* misc */
#define COATI_MISC_CPUMODE_MASK	      7
#define COATI_MISC_KERNEL	      1
#define COATI_MISC_USER		      2
#define COATI_MISC_HYPERVISOR	      3
#define COATI_MISC_GUEST_KERNEL	      4
#define COATI_MISC_GUEST_USER	      5
#define COATI_MISC_PROC_MAP_TIMEOUT   (1 << 12)
#define COATI_MISC_MMAP_DATA	      (1 << 13) /* MMAP, MMAP2: not executable */
#define COATI_MISC_COMM_EXEC	      (1 << 13) /* COMM */
#define COATI_MISC_FORK_EXEC	      (1 << 13) /* FORK synthesized by a tool */
#define COATI_MISC_SWITCH_OUT	      (1 << 13) /* SWITCH, SWITCH_CPU_WIDE */
#define COATI_MISC_EXACT_IP	      (1 << 14) /* SAMPLE */
#define COATI_MISC_SWITCH_OUT_PREEMPT (1 << 14) /* SWITCH, SWITCH_CPU_WIDE */
#define COATI_MISC_MMAP_BUILD_ID      (1 << 14) /* MMAP2 carries a build id */
/* BUILD_ID written by a tool: the size byte is valid */
#define COATI_MISC_BUILD_ID_SIZE (1 << 15)

/* ---- one record as bytes -------------------------------------------------------------------- */

/* A whole record in memory. */
struct coati_raw {
	uint32_t type;
	uint16_t misc;
	uint16_t size; /* of header and body, as in the header; at least 8 */
	uint32_t swap; /* 1: the bytes have the other byte order */
	uint32_t reserved;
	const uint8_t *body; /* size - 8 bytes; not aligned in files */
};

#define COATI_RAW_HEADER 8

/* Take the first record from *@bytes, *@left: 1 and *ret, 0 when nothing is left. -ENODATA: the
 * rest is the start of a record; -EBADMSG: the size in the header is less than 8 bytes. Inline,
 * because it is called for every record. */
COATI_API inline int coati_raw_next(const uint8_t **bytes, size_t *left, uint32_t swap,
				    struct coati_raw *ret)
{
	const uint8_t *p = *bytes;
	uint32_t type;
	uint16_t misc, size;

	if (*left < COATI_RAW_HEADER)
		return *left ? -ENODATA : 0;
	memcpy(&size, p + 6, sizeof(size));
	memcpy(&type, p, sizeof(type));
	memcpy(&misc, p + 4, sizeof(misc));
	if (swap) {
		size = (uint16_t)(size >> 8 | size << 8);
		misc = (uint16_t)(misc >> 8 | misc << 8);
		type = type >> 24 | (type >> 8 & 0xff00) | (type << 8 & 0xff0000) | type << 24;
	}
	if (size < COATI_RAW_HEADER)
		return -EBADMSG;
	if (size > *left)
		return -ENODATA;
	ret->type = type;
	ret->misc = misc;
	ret->size = size;
	ret->swap = swap;
	ret->body = p + COATI_RAW_HEADER;
	*bytes = p + size;
	*left -= size;
	return 1;
}

/* ---- the format of samples ------------------------------------------------------------------- */

/* The part of the attributes that determines the layout, computed once. */
struct coati_sample_format {
	uint64_t sample_type, read_format, branch_sample_type;
	uint64_t regs_user, regs_intr;
	uint32_t nr_regs_user, nr_regs_intr; /* bits set in the masks */
	/* of the identity at the end of other records, 0 without sample_id_all */
	uint32_t trailer_size;
	uint32_t fixed_size;  /* of the fields up to PERIOD at the start of a sample */
	uint32_t unsupported; /* 1: samples have fields that this version does not know */
	int32_t id_pos;	      /* of IDENTIFIER or ID in the body of a sample, -1: none */
	int32_t id_end;	      /* the same, counted back from the end of other records, -1: none */
	int32_t time_pos;     /* of TIME, likewise */
	int32_t time_end;
	uint32_t reserved;
};

/* Prepare *ret for records of an event with these attributes. */
COATI_API void coati_sample_format_init(const struct coati_attr *attr,
					struct coati_sample_format *ret);
/* The time of a record, found without decoding it: 1 and *ret_time, 0 when it has none. */
COATI_API int coati_raw_time(const struct coati_raw *raw, const struct coati_sample_format *fmt,
			     uint64_t *ret_time);

/* A table from the ID in a record to the format of its event. Records of one ring buffer or file
 * may have different formats when all of them have IDENTIFIER, or ID at the same position: then the
 * ID in the record selects the format. Memory: allocates. */
struct coati_format_table;

COATI_API int coati_format_table_new(struct coati_format_table **ret);
/* Add the next event (0, 1, 2 ...) with its attributes. -E2BIG after 65536. */
COATI_API int coati_format_table_add(struct coati_format_table *t, const struct coati_attr *attr);
/* ID @id belongs to event @index. -EINVAL: no such event; -EEXIST: another event has that ID;
 * -E2BIG after 2^24. */
COATI_API int coati_format_table_id(struct coati_format_table *t, uint64_t id, uint32_t index);
/* The format of event @index; NULL past the end. Valid until the next add. */
COATI_API const struct coati_sample_format *coati_format_table_get(
	const struct coati_format_table *t, uint32_t index);
/* The event of @raw: 0 and *ret_index. If there is only one event, it is always that one. -ENOENT:
 * its ID is not known, or there is no event. -ENODATA and *ret_index = 0: there are several events,
 * and the record has no ID (or 0, as records of tools have); where all trailers are the same, the
 * format of event 0 fits. */
COATI_API int coati_format_table_find(const struct coati_format_table *t,
				      const struct coati_raw *raw, uint32_t *ret_index);
COATI_API void coati_format_table_free(struct coati_format_table *t);

/* ---- typed records -------------------------------------------------------------------------- */

/* Numbers inside of a record (call chains, registers, branch entries): coati_u64_at() reads them
 * whatever their alignment and byte order. */
struct coati_u64s {
	const uint8_t *bytes;
	uint32_t count;
	uint32_t swap;
};
/* Number @i; 0 past the end. */
COATI_API uint64_t coati_u64_at(const struct coati_u64s *v, uint32_t i);

/* Markers in a call chain, which say what kind of addresses follow: all are at or above
 * COATI_CONTEXT_MAX. */
#define COATI_CONTEXT_HV	    ((uint64_t)-32)
#define COATI_CONTEXT_KERNEL	    ((uint64_t)-128)
#define COATI_CONTEXT_USER	    ((uint64_t)-512)
#define COATI_CONTEXT_USER_DEFERRED ((uint64_t)-640)
#define COATI_CONTEXT_GUEST	    ((uint64_t)-2048)
#define COATI_CONTEXT_GUEST_KERNEL  ((uint64_t)-2176)
#define COATI_CONTEXT_GUEST_USER    ((uint64_t)-2560)
#define COATI_CONTEXT_MAX	    ((uint64_t)-4095)

/* One value of a read block. */
struct coati_read_value {
	uint64_t value, id, lost;
};
/* Counts in a sample or READ record. */
struct coati_read_block {
	uint64_t enabled_ns, running_ns;
	uint64_t format;       /* COATI_READ_*: which fields are present */
	uint64_t nr;	       /* values: 1 unless a group */
	struct coati_u64s raw; /* the whole block */
};
/* Value @i of the block; -EINVAL past its end. */
COATI_API int coati_read_block_get(const struct coati_read_block *b, uint64_t i,
				   struct coati_read_value *ret);

/* One entry of a branch stack. */
struct coati_branch {
	uint64_t from, to;
	/* the whole word, lowest field first: mispredicted is bit 0, priv bits 30-32 */
	uint64_t flags;
	uint8_t mispredicted, predicted, in_tx, abort;
	uint16_t cycles;
	uint8_t type, spec, new_type, priv; /* type: COATI_BRANCH_TYPE_* */
	uint8_t reserved[2];
	uint64_t counter; /* with COATI_BRANCH_COUNTERS, else 0 */
};
struct coati_branches {
	uint64_t nr;
	uint64_t hw_idx; /* with COATI_BRANCH_HW_INDEX, else UINT64_MAX */
	struct coati_u64s entries, counters;
};
/* Entry @i, newest first; -EINVAL past the end. */
COATI_API int coati_branches_get(const struct coati_branches *b, uint64_t i,
				 struct coati_branch *ret);

#define COATI_BRANCH_TYPE_UNKNOWN   0
#define COATI_BRANCH_TYPE_COND	    1
#define COATI_BRANCH_TYPE_UNCOND    2
#define COATI_BRANCH_TYPE_IND	    3
#define COATI_BRANCH_TYPE_CALL	    4
#define COATI_BRANCH_TYPE_IND_CALL  5
#define COATI_BRANCH_TYPE_RET	    6
#define COATI_BRANCH_TYPE_SYSCALL   7
#define COATI_BRANCH_TYPE_SYSRET    8
#define COATI_BRANCH_TYPE_COND_CALL 9
#define COATI_BRANCH_TYPE_COND_RET  10
#define COATI_BRANCH_TYPE_ERET	    11
#define COATI_BRANCH_TYPE_IRQ	    12
#define COATI_BRANCH_TYPE_SERROR    13
#define COATI_BRANCH_TYPE_NO_TX	    14
#define COATI_BRANCH_TYPE_EXTENDED  15 /* new_type says which */

struct coati_regs {
	uint64_t abi;  /* 0 none, 1 32-bit, 2 64-bit */
	uint64_t mask; /* which registers, lowest bit first; 0 with abi none */
	struct coati_u64s values;
};
/* Register number @reg (bit in the mask); -ENOENT: it was not recorded. */
COATI_API int coati_regs_get(const struct coati_regs *r, uint32_t reg, uint64_t *ret);

/* coati_sample.transaction: these bits, and the abort code in the upper 32 */
#define COATI_TXN_ELISION	 (UINT64_C(1) << 0)
#define COATI_TXN_TRANSACTION	 (UINT64_C(1) << 1)
#define COATI_TXN_SYNC		 (UINT64_C(1) << 2)
#define COATI_TXN_ASYNC		 (UINT64_C(1) << 3)
#define COATI_TXN_RETRY		 (UINT64_C(1) << 4)
#define COATI_TXN_CONFLICT	 (UINT64_C(1) << 5)
#define COATI_TXN_CAPACITY_WRITE (UINT64_C(1) << 6)
#define COATI_TXN_CAPACITY_READ	 (UINT64_C(1) << 7)

/* Process, thread, time and event: at the start of samples, and at the end of other records. Only
 * fields whose COATI_SAMPLE_* bit is in `present` are set; id is that of IDENTIFIER or ID. */
struct coati_identity {
	uint64_t present;
	uint32_t pid, tid;
	uint64_t time, id, stream_id;
	uint32_t cpu;
	uint32_t reserved; /* after cpu, as written */
};

/* A sample. Only fields whose bit is in `present` are set; the bits of the identity are in it too,
 * and their values are in coati_record.id. */
struct coati_sample {
	uint64_t present;
	uint64_t ip, addr, period;
	struct coati_u64s callchain; /* contains the COATI_CONTEXT_* markers */
	const uint8_t *raw;	     /* payload, raw_size bytes with the kernel's padding */
	uint32_t raw_size;
	uint32_t reserved;
	struct coati_read_block read;
	struct coati_branches branches;
	struct coati_regs regs_user, regs_intr;
	const uint8_t *stack;		     /* STACK_USER: stack_size bytes, */
	uint64_t stack_size, stack_dyn_size; /* of which the first stack_dyn_size are valid */
	uint64_t weight; /* WEIGHT_STRUCT: var1 in bits 0-31, var2 in 32-47, var3 in 48-63 */
	uint64_t data_src, transaction, phys_addr, cgroup, data_page_size, code_page_size;
	const uint8_t *aux;
	uint64_t aux_size;
};

/* Texts are zero-terminated inside the record; text_size is their size in the record, with
 * terminator and padding. */
struct coati_mmap { /* MMAP, MMAP2 */
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	/* The following fields except the name: MMAP2 only. */
	uint32_t maj, min;	      /* where build_id_size is 0 */
	uint64_t ino, ino_generation; /* likewise */
	uint8_t build_id[20];	      /* with COATI_MISC_MMAP_BUILD_ID in misc */
	uint8_t build_id_size;	      /* 0: none, whatever misc says; at most 20 */
	uint8_t reserved[3];
	uint32_t prot, flags;
	const char *name;
	uint32_t text_size;
	uint32_t reserved_2;
};
struct coati_lost { /* LOST */
	uint64_t id, lost;
};
struct coati_comm { /* COMM */
	uint32_t pid, tid;
	const char *name;
	uint32_t text_size;
	uint32_t reserved;
};
struct coati_task { /* FORK, EXIT */
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};
struct coati_throttle { /* THROTTLE, UNTHROTTLE */
	uint64_t time, id, stream_id;
};
struct coati_read { /* READ */
	uint32_t pid, tid;
	struct coati_read_block block;
};
struct coati_aux { /* AUX */
	uint64_t offset, size, flags;
};
#define COATI_AUX_FLAG_TRUNCATED   1
#define COATI_AUX_FLAG_OVERWRITE   2
#define COATI_AUX_FLAG_PARTIAL	   4
#define COATI_AUX_FLAG_COLLISION   8
#define COATI_AUX_FLAG_FORMAT_MASK 0xff00
struct coati_itrace_start { /* ITRACE_START */
	uint32_t pid, tid;
};
struct coati_switch { /* SWITCH_CPU_WIDE; SWITCH has no body */
	uint32_t next_prev_pid, next_prev_tid;
};
struct coati_namespaces { /* NAMESPACES */
	uint32_t pid, tid;
	uint64_t nr;
	struct coati_u64s links; /* nr pairs of device and inode: net uts ipc pid user mnt cgroup */
};
struct coati_ksymbol { /* KSYMBOL */
	uint64_t addr;
	uint32_t len;
	uint16_t ksym_type; /* 1 BPF, 2 out of line code */
	uint16_t flags;	    /* 1 gone */
	const char *name;
	uint32_t text_size;
	uint32_t reserved;
};
struct coati_bpf_event {   /* BPF_EVENT */
	uint16_t bpf_type; /* 1 loaded, 2 unloaded */
	uint16_t flags;
	uint32_t id;
	uint8_t tag[8];
};
struct coati_cgroup { /* CGROUP */
	uint64_t id;
	const char *path;
	uint32_t text_size;
	uint32_t reserved;
};
struct coati_text_poke { /* TEXT_POKE */
	uint64_t addr;
	uint16_t old_len, new_len;
	uint32_t reserved;
	const uint8_t *bytes; /* old_len, then new_len; padding to 8 is in the record's extra */
};
struct coati_deferred { /* CALLCHAIN_DEFERRED */
	uint64_t cookie;
	struct coati_u64s callchain;
};
/* Records of perf and coati, and unknown types: the body as bytes. */
struct coati_tool_record {
	const uint8_t *bytes;
	uint32_t size;
	uint32_t reserved;
};

struct coati_record {
	uint32_t type;
	uint16_t misc;
	uint16_t size;
	const uint8_t *extra; /* extra_size unknown bytes, before the trailer */
	uint32_t extra_size;
	uint32_t reserved;
	struct coati_identity id; /* of a sample or from the trailer */
	union {
		struct coati_sample sample;
		struct coati_mmap mmap;
		struct coati_lost lost;
		struct coati_comm comm;
		struct coati_task task;
		struct coati_throttle throttle;
		struct coati_read read;
		struct coati_aux aux;
		struct coati_itrace_start itrace_start;
		uint64_t lost_samples;
		struct coati_switch sw;
		struct coati_namespaces namespaces;
		struct coati_ksymbol ksymbol;
		struct coati_bpf_event bpf_event;
		struct coati_cgroup cgroup;
		struct coati_text_poke text_poke;
		uint64_t aux_hw_id;
		struct coati_deferred deferred;
		struct coati_tool_record tool; /* and every unknown type */
		uint64_t reserved[64];	       /* room for new types */
	} u;
};

/* Decode @raw by @fmt. -EBADMSG: malformed; -EOPNOTSUPP: a sample or read whose format has unknown
 * bits; *ret is then undefined. Unknown types give their bytes (`tool`). */
COATI_API int coati_record_decode(const struct coati_raw *raw,
				  const struct coati_sample_format *fmt, struct coati_record *ret);

/* ---- tracepoints ---------------------------------------------------------------------------- */

/*
 * Decode the RAW payload of a tracepoint sample with its format file (events/SYSTEM/NAME/format in
 * tracefs, or coati_recording_tracepoint()):
 *
 *	coati_tracepoint_parse(text, strlen(text), &tp, &err);
 *	struct coati_payload p = { s->raw, s->raw_size, 0 };
 *	coati_tracepoint_read(tp, (uint32_t)coati_tracepoint_find(tp, "prev_pid"), &p, &value);
 *	coati_tracepoint_print(tp, &p, NULL, line, sizeof(line));
 *	coati_tracepoint_free(tp);
 *
 * Format and payload are not trusted. Sizes are those of a 64-bit kernel.
 */
struct coati_tracepoint;

struct coati_tracepoint_field {
	const char *name;
	const char *type;      /* as the kernel prints it: "char[16]", "__data_loc u64[]" */
	uint32_t offset, size; /* in the payload; for a dynamic field, of its location word */
	uint32_t is_common;    /* 1: a common field, which every tracepoint has */
	uint32_t is_signed;    /* 1: its numbers are signed */
	uint32_t is_dynamic;   /* 1: located elsewhere in the payload, with its own length */
	uint32_t reserved;
};

/* The bytes of a payload. */
struct coati_payload {
	const uint8_t *bytes;
	uint32_t size;
	uint32_t swap; /* 1: written in the other byte order */
};

enum coati_field_kind {
	COATI_FIELD_UNKNOWN = 0,
	COATI_FIELD_NUMBER, /* number */
	COATI_FIELD_STRING, /* bytes, size without the terminator; not always terminated */
	COATI_FIELD_ARRAY,  /* of numbers: bytes, size, count elements of element_size */
	COATI_FIELD_BYTES,  /* a struct, or elements of unknown size */
};

/* A value; pointers are into the payload. */
struct coati_field_value {
	uint32_t kind;	    /* enum coati_field_kind */
	uint32_t is_signed; /* of the number or the elements */
	uint64_t number;    /* sign-extended to 64 bits */
	const uint8_t *bytes;
	uint32_t size;
	uint32_t count, element_size;
	uint32_t swap;
};

/* Parse a format file. -EBADMSG: @text is not a format file; -E2BIG: over a limit. Memory:
 * allocates. */
COATI_API int coati_tracepoint_parse(const char *text, size_t len, struct coati_tracepoint **ret,
				     struct coati_error *err);
/* NULL is fine. */
COATI_API void coati_tracepoint_free(struct coati_tracepoint *tp);
/* Field number @index; NULL past the end. Lives as long as @tp. */
COATI_API const struct coati_tracepoint_field *coati_tracepoint_field(
	const struct coati_tracepoint *tp, uint32_t index);
/* The number of the field with that name, or -ENOENT. */
COATI_API int coati_tracepoint_find(const struct coati_tracepoint *tp, const char *name);
/* The value of field @index. -EINVAL: no such field; -EBADMSG: it is outside the payload. */
COATI_API int coati_tracepoint_read(const struct coati_tracepoint *tp, uint32_t index,
				    const struct coati_payload *p, struct coati_field_value *ret);

/* Names of kernel addresses, for coati_tracepoint_print(). */
struct coati_symbol_source {
	/* The function at @addr and the offset into it: 0, or negative when there is none. The name
	 * is valid until the next call. */
	int (*find)(void *context, uint64_t addr, const char **ret_name, uint64_t *ret_offset);
	void *context;
};
/* The payload as the kernel prints it, or as name=value when its print format is not understood.
 * Returns the length of the whole text as snprintf() does. -EBADMSG: a field is outside the
 * payload. @symbols may be NULL: addresses are then printed as numbers. */
COATI_API int coati_tracepoint_print(const struct coati_tracepoint *tp,
				     const struct coati_payload *p,
				     const struct coati_symbol_source *symbols, char *buf,
				     size_t cap);

#ifdef __cplusplus
}
#endif
#endif
