/* SPDX-License-Identifier: MIT */
/*
 * A process that works for a reader. Requests come in that an attacker who controls the reader may
 * have written; descriptors go out, or reasons why not. There are two: the broker opens files to
 * read, and looks at no more of them than their first bytes, to tell what they are; the worker,
 * where one is needed, makes the output, asks servers and starts objdump. What each of them does
 * follows from its policy, what it could do at most from how it is confined (confine.h).
 */
#pragma once

#include <sys/types.h>

#include "base/newfile.h"
#include "sandbox/message.h"
#include "sandbox/sandbox.h"

#define BROKER_JOBS 64

struct broker {
	const char *name; /* of the process */
	int channel;
	pid_t reader;
	const struct sandbox_policy *policy;
	int output_fd;	      /* the output is this one, open already; -1: it is made */
	const int *input_fds; /* inputs that are open already, by their number; -1: they are not */
	bool is_confined;
	bool has_file; /* the output is being made */
	struct new_file file;
	uint32_t nr_jobs; /* that run, or have ended and are not counted yet */
	pid_t jobs[BROKER_JOBS];
};

/* Answers until the reader is gone. Never returns. */
void coati_broker_run(struct broker *b) __attribute__((noreturn));
/* A descriptor for a request of kind ASK_OPEN, or negative with a sentence. */
int coati_broker_open(const struct broker *b, const struct opening *o, struct coati_error *err);
/* The file that the reader has open as @given and could read, once more from its start. */
int coati_broker_reopen(int given, const struct opening *o, struct coati_error *err);
/* Whether the file of a recorder may be removed: 0, or negative with a sentence. */
int coati_broker_check_remove(const struct broker *b, const char *path, struct coati_error *err);
/* Start a job; the channel on which its answer will come, or negative with a sentence. */
int coati_broker_start(struct broker *b, const struct message_request *q, int fd,
		       struct coati_error *err);
/* The reader has ended: nothing waits for them. They have ended, too, when it returns. */
void coati_broker_end_jobs(struct broker *b);
