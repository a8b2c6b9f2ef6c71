/* SPDX-License-Identifier: MIT */
/*
 * What the walker in the kernel and its loader share: the layout of maps and of what the walker
 * reports. Plain types only: this file is compiled for both.
 *
 * The arena is one space of 32-bit words, cut into chunks that are maps of their own, so that
 * memory follows use. It holds unwind tables and arrays of mappings. Nothing in it crosses the
 * end of a chunk that is read as one thing: directory entries, rules, mappings, and the rows of a
 * bucket.
 */
#pragma once

#define WALKER_CHUNK_BITS  16 /* words of a chunk: 256 KiB */
#define WALKER_CHUNK_WORDS (1u << WALKER_CHUNK_BITS)
#define WALKER_CHUNKS_MAX  1024u
#define WALKER_FILES_MAX   16384u
#define WALKER_SPACES_MAX  16384u
#define WALKER_MAPS_MAX	   65535u /* of one address space */
#define WALKER_FRAMES_MAX  1024u  /* of one stack */
#define WALKER_CACHE_LEN   4096u
#define WALKER_WINDOW	   512u
#define WALKER_NEEDS	   64u
#define WALKER_CHAIN_MAX   127u
#define WALKER_REGS	   17u
#define WALKER_TARGETS_MAX 65536u
#define WALKER_CHANGES	   4096u
#define WALKER_OUT_BYTES   65536u
#define WALKER_COPY_RATE   64u /* bytes of copies a microsecond, on each CPU */
/* of one report without labels: a record of perf has less than 64 KiB */
#define WALKER_OUT_MOST 61440u
/* A record of labels as a thread publishes it: docs/formats/thread-context.md. */
#define WALKER_LABEL_HEAD  28u
#define WALKER_LABEL_VALID 24u
#define WALKER_LABEL_SIZE  26u
#define WALKER_LABEL_BYTES 612u /* behind the head */

/* One row of code follows the next: see unwind/table/table.h, whose rows and rules these are. */
#define WALKER_BUCKET_BITS 10
#define WALKER_RULE_BITS   22

/* Why a walk ended. The first seven are enum walk_end of unwind/table/walk.h. */
enum walker_end {
	WALKER_END = 0,
	WALKER_GAP,
	WALKER_UNMAPPED,
	WALKER_TRUNCATED,
	WALKER_LIMIT,
	WALKER_BAD,
	WALKER_UNSUPPORTED,
	WALKER_NONE,	 /* a kernel thread, or a process whose memory is gone: no user stack */
	WALKER_UNKNOWN,	 /* this address space is not described yet */
	WALKER_STALE,	 /* its mappings have changed since */
	WALKER_NO_TABLE, /* a file whose table is not there yet */
	WALKER_FAULT,	 /* memory that cannot be read now: a page that is not present */
	WALKER_MOVED,	 /* what the walk used was taken away meanwhile */
	WALKER_ENDS,
};

/* walker_head.flags */
#define WALKER_HAS_COPY	   1u  /* registers and stack follow the frames */
#define WALKER_HAS_POINTER 2u  /* some frame was found by frame pointer */
#define WALKER_HAS_GUESS   4u  /* some frame is a guess */
#define WALKER_IS_CHECK	   8u  /* the copy is there to check the walk by */
#define WALKER_HAS_CHAIN   16u /* addresses found by frame pointers alone follow the frames */
#define WALKER_HAS_LABELS  32u /* the labels of the thread are the last part */
#define WALKER_NO_LABELS   64u /* the thread has some that could not be read */

/* What the walker reports of one sample, right before the sample itself in the same ring buffer.
 * Then nr_frames addresses; with HAS_CHAIN nr_chain more; with HAS_COPY WALKER_REGS registers in
 * DWARF's numbers (16: rip), an address, and stack_bytes of the stack from there on: from rsp, or
 * above it from the first page on that is present. With HAS_LABELS the record of labels. */
struct walker_head {
	unsigned long long ip;	   /* of the sample that follows */
	unsigned long long family; /* walker_family() of its address space */
	unsigned char end;	   /* enum walker_end */
	unsigned char flags;
	unsigned short nr_frames;
	unsigned short nr_chain;
	unsigned short stack_bytes;
};

/* What the walker asks for. */
struct walker_need {
	unsigned long long space;
	unsigned long long family;     /* walker_family() of it */
	unsigned long long exec_pages; /* executable pages that it has now */
	unsigned long long pc;
	unsigned int end;	 /* enum walker_end: why */
	unsigned int for_labels; /* a thread has labels, with keys that are not known */
};

/* What an address space has in common with those that it was forked from and that were forked from
 * it: where the kernel put its program, its stack and its arguments. An exec chooses anew. With the
 * kernel's own number of the space it names that space alone. */
static inline unsigned long long walker_mix(unsigned long long a, unsigned long long b)
{
	return ((a ^ b) * 0x9e3779b97f4a7c15ull) ^ (b >> 29) ^ (a << 7);
}

static inline unsigned long long walker_family(unsigned long long start_stack,
					       unsigned long long start_code,
					       unsigned long long arg_start)
{
	return walker_mix(walker_mix(start_stack, start_code), arg_start);
}

enum walker_kind {
	WALKER_MAP_TABLE, /* code with a table */
	WALKER_MAP_GAP,	  /* of a file, but in no part that its table knows */
	WALKER_MAP_PLAIN, /* no unwind data at all: frame pointers */
	WALKER_MAP_LATER, /* its table is being made */
};

/* One mapping of code, in the arena, sorted by start. */
struct walker_map {
	unsigned long long start, end;
	unsigned int place;  /* of its start in the table's bucket space */
	unsigned int file;   /* index of walker_file */
	unsigned int serial; /* that the file must have */
	unsigned int kind;
};

/* A published table. */
struct walker_file {
	unsigned int serial; /* 0: none */
	unsigned int dir;    /* arena word of its first directory entry (8 bytes each) */
	unsigned int nr_buckets;
	unsigned int rules; /* arena word of its first rule (16 bytes each) */
	unsigned int nr_rules;
	unsigned int used; /* set by the walker: not given up before the others */
};

/* Where the threads of a process publish their labels: at the same distance from their thread
 * pointers, or in what a thread has of the library. */
enum walker_labels {
	WALKER_LABELS_NONE,
	WALKER_LABELS_AT,      /* the distance is known */
	WALKER_LABELS_THROUGH, /* it is in the memory of the process, when its loader is done */
	WALKER_LABELS_MODULE,  /* there are the number of the library, and the place in its part */
};
#define WALKER_LABELS_FAR (1ull << 24) /* no thread-local storage is larger */

struct walker_label_place {
	unsigned long long kind; /* enum walker_labels */
	unsigned long long at;	 /* the distance, or the address of it, or of the two numbers */
	/* MODULE: bytes of an entry in the table of a thread, 16 with glibc, 8 with musl */
	unsigned long long entry_bytes;
	/* The names of the keys: where the process says when it published them, and when that was.
	 * 0: not known where; WALKER_NO_KEYS: nowhere. */
	unsigned long long keys, keys_time;
};
#define WALKER_NO_KEYS (~0ull)

/* A described address space. The key of the map is walker_need.space, or a family, whose members
 * have the same mappings until one of them changes them. */
struct walker_space {
	unsigned int generation; /* never used again for other mappings */
	unsigned int maps;	 /* arena word */
	struct walker_label_place labels;
	unsigned int nr_maps;
	unsigned int generation_again; /* the same: a value that is replaced while it is read */
	unsigned long long exec_pages; /* must be what the kernel counts */
	/* must be what walker_change() leads to: code was unmapped, and something else took its
	 * place */
	unsigned long long changes;
};

/* Which counter of changes belongs to a space or a family. Others may share it: then they are
 * described again without need. */
static inline unsigned int walker_change(unsigned long long key)
{
	return (unsigned int)(key ^ key >> 23) & (WALKER_CHANGES - 1);
}

struct walker_slot {
	unsigned long long addr, rule;
	int other;
	unsigned int generation;
};

struct walker_asked {
	unsigned long long space, time;
};

/* What one CPU works in: the contents of map memory are always unknown to the verifier, so that
 * every turn of the loop looks alike to it. */
struct walker_work {
	unsigned long long ends[16]; /* walks by enum walker_end */
	unsigned long long frames, walks, copies, needs, checks;
	unsigned long long dropped; /* reports that the ring buffer had no room for */
	unsigned long long misses;  /* frames whose rule was not in the cache */
	unsigned long long refused; /* copies that were not made because there were too many */
	unsigned long long spent_at, spent; /* bytes of copies, and when that was looked at */
	unsigned long long is_taken;	    /* by a program of a probe */
	/* the walk at hand */
	unsigned long long pc, sp, fp, fp_at, bx, bx_at, context;
	unsigned long long value, target, found_ra, found_fp, found_target;
	unsigned int fp_lost, bx_lost, is_exact, has_regs, by_pointer, nr_signals;
	unsigned int nr_frames, end, flags, call, is_linked, is_last;
	unsigned int is_often;	/* a tracepoint or a probe: copies are smaller and fewer */
	unsigned int nr_probed; /* return addresses that a probe had replaced */
	long long call_number;	/* of the system call, or negative: an interrupt or an exception */
	unsigned long long is_in_kernel; /* it is of kernel code, or of a tracepoint or a probe */
	unsigned long long probed;     /* of functions with a probe on their return: the next one */
	unsigned long long trampoline; /* where they return to */
	unsigned int generation, maps, nr_maps, low, count;
	struct walker_map map; /* the last one that was found */
	unsigned int dir, nr_buckets, rules, nr_rules, dir_file, dir_serial;
	unsigned long long rule;
	int other;
	unsigned int is_borrowed; /* by the description of its family */
	unsigned int out_size;	  /* of the report so far */
	struct walker_label_place labels;
	unsigned long long copy_from, copy_at; /* where the copy begins, and where it goes on */
	unsigned int copy_base, copy_bytes, nr_chain, index;
	unsigned long long chain_fp;
	unsigned long long window_at, window_len; /* 0: nothing was read */
	unsigned long long code;
	unsigned long long regs[WALKER_REGS];
	struct walker_asked asked[WALKER_NEEDS];
	unsigned char window[WALKER_WINDOW];
	unsigned char out[WALKER_OUT_BYTES];
	struct walker_slot slots[WALKER_CACHE_LEN]; /* rules that this CPU found lately */
};

/* What user space tells the walker while it runs. */
struct walker_control {
	/* raised before memory that a walk may still read is written over */
	unsigned long long reclaims;
	unsigned int runs; /* tracepoints and probes: they hit from the moment that they are open */
	unsigned int ended;	 /* by the walker: given targets that are over */
	unsigned int unfollowed; /* by the walker: children for which there was no room */
	unsigned int reserved;
};

/* What a number is among the targets: given by user space, which waits for its end, or started by
 * one of those. */
enum walker_is { WALKER_IS_FOLLOWED, WALKER_IS_GIVEN, WALKER_IS_ENDED };

/* Set before the walker is loaded. */
struct walker_config {
	unsigned int max_frames;
	unsigned int stack_bytes;  /* of a copy at most */
	unsigned int verify_every; /* 0: never */
	/* tracepoints: only of targets (targets.bpf.h) */
	unsigned int has_targets;
	unsigned int need_ns;  /* at least between two requests for one address space */
	unsigned int is_eager; /* ask at the first sample of an address space, not at the second */
	unsigned int burst_bytes; /* of copies that may come at once; then WALKER_COPY_RATE */
	/* samples, too, only of targets: the events are those of CPUs, and other samples are not
	 * written */
	unsigned int filters_samples;
	/* what targets start is none, and a process is a target by its threads alone */
	unsigned int no_children;
	/* where the walker_work of probes begin, one for each CPU */
	unsigned int probe_works;
};
