/* SPDX-License-Identifier: MIT */
/*
 * Processes, threads and mappings as they change over time. After the records of a recording or of
 * a ring buffer have been fed in, you can look up which file was mapped at an address of a process
 * at a given time, and the name of a thread at that time.
 *
 *	coati_processes_new(images, NULL, &ps, &err);
 *	while (next(&raw, &rec))
 *		coati_processes_feed(ps, &raw, &rec);
 *	struct coati_place place;
 *	if (coati_processes_find(ps, pid, addr, time, &place) == 0)
 *		use(place.image, place.vaddr);
 *
 * Every look-up has a time: records may be fed late, and look-ups may refer to the past. An exec
 * begins a new address space; a fork shares its parent's until one of them changes; a pid that is
 * reused is another process. Changes that the kernel does not report (munmap, mremap) are noticed
 * when a later mapping overlaps.
 *
 * Nothing is trusted: overlapping, empty, huge and wrapping mappings are cut or refused. Memory is
 * bounded by the options. One object is used by one thread at a time, and no function may be called
 * from a signal handler. coati-symbols(3) has an example.
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
/* The processes run on this machine now: read /proc for those that are in no record. */
#define COATI_PROCESSES_LIVE (UINT32_C(1) << 0)

struct coati_processes_opts {
	uint64_t size;	/* sizeof(struct coati_processes_opts) */
	uint32_t flags; /* COATI_PROCESSES_* */
	uint32_t reserved;
	const char *procfs;		    /* NULL: /proc */
	uint64_t max_threads, max_mappings; /* 0: 2^20, 2^22; for recordings by their size */
};

struct coati_processes;

/* @images must outlive it. @opts may be NULL. */
COATI_API int coati_processes_new(struct coati_images *images,
				  const struct coati_processes_opts *opts,
				  struct coati_processes **ret, struct coati_error *err);
/* *ps becomes NULL; NULL is fine. */
COATI_API void coati_processes_free(struct coati_processes **ps);

/* Process one record; @rec is the decoded @raw. Records that are not about processes are skipped.
 * -ENOMEM. */
COATI_API int coati_processes_feed(struct coati_processes *ps, const struct coati_raw *raw,
				   const struct coati_record *rec);

/* What is at an address. Frozen. */
struct coati_place {
	uint32_t image;		    /* COATI_IMAGE_NONE: no mapping is known there */
	uint32_t prot;		    /* PROT_*; 0: not in the record */
	uint64_t start, end, pgoff; /* the mapping */
	uint64_t vaddr;		    /* for struct coati_address */
};

/* An address of user space. *ret is the part of the mapping around @addr that no later one covers.
 * -ENOENT: no mapping is known there; *ret has COATI_IMAGE_NONE. */
COATI_API int coati_processes_find(struct coati_processes *ps, int32_t pid, uint64_t addr,
				   uint64_t time, struct coati_place *ret);
/* An address of the kernel, a module or a BPF program. When no record has the address of the
 * kernel, every address in the upper half belongs to it. */
COATI_API int coati_processes_find_kernel(struct coati_processes *ps, uint64_t addr, uint64_t time,
					  struct coati_place *ret);

/* A thread at a time. Frozen. */
struct coati_thread_info {
	int32_t pid, tid, ppid;
	/* Numbers from 0: two processes, or threads, that had the same ID one after the other have
	 * different numbers. */
	uint32_t process;
	uint32_t thread;
	const char *comm;	       /* ":TID" when it is not known; lives as long as @ps */
	const char *process_comm;      /* of the main thread of its process */
	uint64_t start_time, end_time; /* 0: not known; end UINT64_MAX: still running */
	uint64_t cgroup;	       /* ID; 0: not known */
	uint64_t pid_ns, mnt_ns; /* inode numbers of the namespaces of its process; 0: not known */
};
/* A thread that is in no record is added. -ENOMEM and -E2BIG: over a limit; *ret has the numbers
 * UINT32_MAX and the comm ":TID", which is valid until the next call. */
COATI_API int coati_processes_thread(struct coati_processes *ps, int32_t pid, int32_t tid,
				     uint64_t time, struct coati_thread_info *ret);

#ifdef __cplusplus
}
#endif
#endif
