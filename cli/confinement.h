/* SPDX-License-Identifier: MIT */
/*
 * How verbs that read recordings are confined: what each of them tells the sandbox that it needs.
 * All of them do it in the same place: when the options are understood, and before the first byte
 * of an input is read.
 */
#pragma once

#include <stdbool.h>

#include "base/options.h"
#include "cli/input.h"
#include "sandbox/sandbox.h"

struct confinement {
	bool is_off;			   /* --no-sandbox */
	bool with_names;		   /* of code: images, debug data */
	uint32_t flags;			   /* other SANDBOX_* */
	const struct option_texts *files;  /* that are read; NULL or empty: */
	const char *input;		   /* this one; NULL */
	const struct option_texts *others; /* that are read, too; NULL */
	const char *folder;		   /* in which there are files that are read; NULL */
	const char *output;		   /* that is written; NULL or "-": stdout */
	const struct source_args *of;	   /* where names come from; NULL: not chosen */
	sandbox_job_fn objdump, describe;  /* NULL: not needed */
	uint32_t threads;		   /* that read; 0: those of @of, or not given */
	int serve_fd, pipe_fd;		   /* as in struct sandbox_policy */
};

/* How many threads can read is asked, too, which cannot be seen from inside. True: go on. Else it
 * was said why not. */
bool coati_confinement_enter(const struct confinement *c);

#define OPT_NO_SANDBOX(type) \
	OPT_FLAG(0, "no-sandbox", type, no_sandbox, "do not confine this process")
