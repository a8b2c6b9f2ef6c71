/* SPDX-License-Identifier: MIT */
/*
 * A reader of foreign bytes gives up what it does not need. coati_sandbox_enter() starts a broker,
 * a process that opens files for the reader and checks them, and, where that is needed, a worker,
 * which makes the output and starts what must be started. Then it confines the reader with Landlock
 * and seccomp: from then on it opens, makes, connects to, starts and traces nothing. What it needs
 * goes through the hooks of base/opening.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

/* What the broker hands out beside inputs and the output. */
#define SANDBOX_IMAGES	  (UINT32_C(1) << 0) /* images, debug data, JIT files */
#define SANDBOX_TABLES	  (UINT32_C(1) << 1) /* unwind tables of the cache */
#define SANDBOX_SOURCES	  (UINT32_C(1) << 2) /* source files */
#define SANDBOX_RECORDERS (UINT32_C(1) << 3) /* files of flight recorders, and their directories */
#define SANDBOX_REMOVE	  (UINT32_C(1) << 4) /* files of flight recorders are removed */
/* As on a kernel that has only the other one. */
#define SANDBOX_NO_LANDLOCK (UINT32_C(1) << 5)
#define SANDBOX_NO_SECCOMP  (UINT32_C(1) << 6)

/* What needs more than a descriptor is done by a process of its own: of the worker, or, to describe
 * another process, of the broker. */
enum sandbox_job {
	SANDBOX_FETCH = 0, /* debug data from servers: the bytes are the build ID */
	SANDBOX_OBJDUMP,   /* instructions of an image */
	SANDBOX_DESCRIBE,  /* the mappings of a process that runs */
	SANDBOX_JOBS,
};

#define SANDBOX_TASK_MAX 256

struct sandbox_task {
	const void *bytes; /* what the job is about */
	size_t size;
	int fd;		  /* a file that it is about, or -1; closed by the caller */
	bool is_confined; /* as who started it: the job may confine itself further */
	int abandoned_fd; /* readable when nothing waits for the answer any more; -1: never */
};

/* A descriptor or negative with a sentence; *@ret_value goes along with either. */
typedef int (*sandbox_job_fn)(const struct sandbox_task *task, uint32_t *ret_value,
			      struct coati_error *err);

#define SANDBOX_FOLDERS_MAX 4

struct sandbox_policy {
	uint32_t flags;		   /* SANDBOX_* */
	const char *const *inputs; /* as they will be opened; a directory stands for its files */
	size_t nr_inputs;
	const char *output;		   /* the one file that is made; NULL or "-": none */
	const char *const *libraries;	   /* that are loaded when needed; NULL at the end */
	sandbox_job_fn jobs[SANDBOX_JOBS]; /* NULL: not to be had */
	/* A socket on which the reader accepts connections, and a pipe that it writes to; 0: none.
	 * Both stay open in the reader alone. */
	int serve_fd, pipe_fd;
	/* that SANDBOX_FETCH writes to */
	const char *folders[SANDBOX_FOLDERS_MAX];
};

struct sandbox_support {
	int landlock;		  /* version of the interface, or negative */
	int seccomp;		  /* 0, or negative */
	bool is_checked;	  /* files are opened by a broker */
	bool is_confined;	  /* and the kernel confines the reader */
	const char *why, *remedy; /* an own reason why not, and what helps; NULL: none */
};

void coati_sandbox_probe(struct sandbox_support *ret);

/* 1: done. 0: not here, or it was switched off by COATI_NO_SANDBOX, and everything is as without
 * it. */
int coati_sandbox_enter(const struct sandbox_policy *p, struct coati_error *err);
/* Without it: only remember the jobs. */
void coati_sandbox_leave_out(const struct sandbox_policy *p);
/* Let broker and worker go. */
void coati_sandbox_end(void);

/* Have a job done, by a process of its own; outside of a sandbox by this one. */
int coati_sandbox_run(enum sandbox_job job, const struct sandbox_task *task, uint32_t *ret_value,
		      struct coati_error *err);
/* Remove the file of a flight recorder. */
int coati_sandbox_remove(const char *path);
