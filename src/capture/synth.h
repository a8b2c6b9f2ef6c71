/* SPDX-License-Identifier: MIT */
/*
 * What ran before the recording began, in the form of kernel records: processes, threads, their
 * mappings and namespaces, cgroups, the kernel itself. In: /proc and its like, of which nothing is
 * trusted. Out: records with time 0.
 *
 * Processes come and go while they are read: what has ended is left out silently, because the
 * side-band event, which is on already, tells of everything that starts or ends from here on.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/record.h>
#include <coati/recording.h>

#include "base/strbuf.h"
#include "capture/images.h"
#include "process/proc.h"
#include "recording/writer.h"

#define SYNTH_COMM_MAX PROC_COMM_MAX

struct synth {
	struct coati_writer *writer;
	const struct coati_sample_format *format; /* of the side-band event */
	uint64_t id;				  /* one of its ids */
	struct images *images;
	uint64_t flags;	 /* COATI_CAPTURE_* */
	bool namespaces; /* of each process */
	bool build_ids;	 /* may be in mappings, as the kernel would do it */
	int proc_fd;
	bool no_query;	    /* mappings can only be read as text */
	struct strbuf text; /* for files of /proc */
	uint8_t *buf;	    /* for one record */
	uint64_t nr;	    /* records written */
};

/* The members above text are the caller's to fill in before. */
int coati_synth_open(struct synth *s, const char *procfs, struct coati_error *err);
void coati_synth_close(struct synth *s);

/* Write one synthesized record about @pid and @tid. */
int coati_synth_emit(struct synth *s, struct coati_record *rec, uint32_t pid, uint32_t tid);

/* All processes; one process with its threads; one thread, with the mappings of its process. A
 * process that has ended is not an error; failures of the writer are. */
int coati_synth_all(struct synth *s);
int coati_synth_process(struct synth *s, int32_t pid);
int coati_synth_thread(struct synth *s, int32_t tid);
/* A child of this process that was held before its exec: until then it has this process's name, and
 * no mappings of its own. */
int coati_synth_held(struct synth *s, int32_t pid);
/* The mappings of a process. */
int coati_synth_maps(struct synth *s, int32_t pid);
/* The kernel and its modules, as far as their addresses may be seen. */
int coati_synth_kernel(struct synth *s);
/* The BPF programs that are loaded, as far as they may be seen. */
int coati_synth_bpf(struct synth *s);
/* Build ids of the kernel and of the modules that are loaded. */
int coati_synth_kernel_ids(const char *sysfs, const char *procfs, struct coati_writer *w);
/* The names of all cgroups. */
int coati_synth_cgroups(struct synth *s);
