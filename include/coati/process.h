/* SPDX-License-Identifier: MIT */
/*
 * Station 4, who: processes, threads and mappings as they change over time. Fed with the records of
 * a recording or of a live capture, it answers: which file lay at this address of this process at
 * this time, and what was this thread called then.
 *
 *	coati_processes_new(images, NULL, &ps, &err);
 *	while (records) coati_processes_feed(ps, &raw, &rec);
 *	struct coati_place place;
 *	if (coati_processes_find(ps, pid, addr, time, &place) == 0)
 *		image = place.image, vaddr = place.vaddr;
 *
 * Answers are by time: a record may be fed after samples that are later than it, and the question
 * may come after later records. An exec begins a new address space; a fork without copied maps
 * shares its parent's until either changes; a pid that is used again is another process. Changes
 * that the kernel does not tell (munmap, mremap) are learnt when the next mapping overlaps.
 *
 * Nothing is trusted: overlapping, empty, huge and wrapping mappings are cut or refused and
 * counted. Memory is bounded by the ceilings of the options; over one, what is new is refused and
 * counted. One object, one thread at a time.
 */
#ifndef COATI_PROCESS_H
#define COATI_PROCESS_H

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>
#include <coati/image.h>
#include <coati/record.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* coati_processes_opts.flags */
/* the processes run here and now: /proc may be asked about those not seen before */
#define COATI_PROCESSES_LIVE (UINT32_C(1) << 0)

struct coati_processes_opts {
	uint64_t size;
	uint32_t flags;
	uint32_t reserved;
	const char *procfs;		    /* NULL: /proc */
	uint64_t max_threads, max_mappings; /* 0: 2^20, 2^22 */
};

struct coati_processes;

COATI_API int coati_processes_new(struct coati_images *images,
				  const struct coati_processes_opts *opts,
				  struct coati_processes **ret, struct coati_error *err);
COATI_API void coati_processes_free(struct coati_processes **ps);

/* One record; kinds that say nothing about processes are passed over. @rec is the decoded @raw.
 * -ENOMEM. */
COATI_API int coati_processes_feed(struct coati_processes *ps, const struct coati_raw *raw,
				   const struct coati_record *rec);
/* A build id that the recording tells for a path (BUILD_ID section; "[kernel.kallsyms]" for the
 * kernel): for mappings that carry none. Counts for images that nobody asked for yet. -EINVAL: no
 * or too long an id. */
COATI_API int coati_processes_build_id(struct coati_processes *ps, const char *path,
				       const uint8_t *id, uint32_t id_size);
/* Code without a file belongs to an image of kind JIT when its process wrote a perf map or mapped a
 * jitdump file (jit-*.dump), else of kind ANON. Of a recording the names are read when the first
 * address is found; of processes that run (LIVE) the files still grow: read them with this call
 * before names are resolved, as often as wanted. -ENOMEM. */
COATI_API int coati_processes_load_jit(struct coati_processes *ps);
/* Before a time nobody will ask again: history that ended earlier may be forgotten. For captures
 * that run for days. */
COATI_API void coati_processes_forget(struct coati_processes *ps, uint64_t before_time);

/* ---- addresses ---- */

struct coati_place {
	uint32_t image; /* COATI_IMAGE_NONE: nothing is mapped there as far as we know */
	uint32_t prot;	/* PROT_*, 0 when the record did not say */
	uint64_t start, end, pgoff; /* the mapping */
	uint64_t vaddr; /* of the address in the image's own terms; see struct coati_address */
};

/* User addresses. The place is the part of the mapping around @addr that no later one covers.
 * -ENOENT: nothing known there; *ret has image NONE. Hot: answers from a cache of the last mapping
 * of each process. */
COATI_API int coati_processes_find(struct coati_processes *ps, int32_t pid, uint64_t addr,
				   uint64_t time, struct coati_place *ret);
/* Kernel addresses: kernel, modules, BPF programs. When no record told where the kernel is, every
 * address in the upper half is its. */
COATI_API int coati_processes_find_kernel(struct coati_processes *ps, uint64_t addr, uint64_t time,
					  struct coati_place *ret);
/* A number that stands for the mappings of the process at that time. The same number means the same
 * answer of coati_processes_find() for every address, "nothing known" too: both may be kept under
 * it, whatever is fed later. (What is fed late changes the number of the times that it is about; a
 * fork has its parent's number until it maps something; two processes share one in no other way.)
 * Never 0 for a known process; 0: nothing is known of it, yet. Hot. */
COATI_API uint64_t coati_processes_space(struct coati_processes *ps, int32_t pid, uint64_t time);
/* Every executable mapping of @pid at @time, by address: until the callback returns non-zero. */
COATI_API int coati_processes_each_mapping(struct coati_processes *ps, int32_t pid, uint64_t time,
					   int (*fn)(void *ctx, const struct coati_place *place),
					   void *ctx);

/* ---- names ---- */

struct coati_thread_info {
	int32_t pid, tid, ppid;
	/* which process: two that had the same pid one after the other have different numbers; from
	 * 0 */
	uint32_t process;
	uint32_t thread; /* which thread, likewise */
	/* of the thread at that time; ":TID" when nobody told. Lives as long as the processes. */
	const char *comm;
	const char *process_comm;      /* of its process' first thread */
	uint64_t start_time, end_time; /* 0: not known; end UINT64_MAX: still running */
	uint64_t cgroup;	       /* id, 0: not known */
	uint64_t pid_ns,
		/* inode numbers of its process' namespaces, the last that were told; 0: not
		 * known */
		mnt_ns;
};
/* -ENOENT never: a thread that nobody told of is added. -E2BIG over the ceiling (-ENOMEM), with
 * numbers UINT32_MAX and comm ":TID", which then lives until the next call. Hot. */
COATI_API int coati_processes_thread(struct coati_processes *ps, int32_t pid, int32_t tid,
				     uint64_t time, struct coati_thread_info *ret);
/* The path of a cgroup that a CGROUP record told, or NULL. */
COATI_API const char *coati_processes_cgroup(struct coati_processes *ps, uint64_t id);

struct coati_processes_stats {
	uint64_t processes, threads, execs, mappings;
	uint64_t refused;  /* mappings that contradict themselves or are over a ceiling */
	uint64_t replaced; /* mappings cut or replaced by later ones */
	uint64_t unknown_pid, unknown_addr; /* questions without an answer */
};
COATI_API void coati_processes_get_stats(const struct coati_processes *ps,
					 struct coati_processes_stats *ret);

#ifdef __cplusplus
}
#endif
#endif
