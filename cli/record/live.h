/* SPDX-License-Identifier: MIT */
/*
 * Live events of what is recorded. Programs that link libcoati-live and find COATI_TRACE in their
 * environment put the memory of their tracer into a directory of the recorder, as flight recorders
 * do. That is read while they run, and once more after they have ended, however they did; what was
 * read goes into the recording. Nothing in it is believed, and there are ceilings for files and
 * bytes. Of processes that run already, their flight recorders are read; those that have none are
 * asked to start one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <coati/capture.h>
#include <coati/trace.h>

#include "base/array.h"
#include "live-read/ask.h"
#include "recording/writer.h"

struct live_file {
	int fd;
	uint64_t ino, dev;
	uint64_t next;	 /* generation that was not read yet; UINT64_MAX: all is read */
	uint64_t newest; /* generation that was put; 0: none, or its end was put, too */
	int32_t pid;	 /* whose it is; 0: of a process of the command */
	uint32_t of;	 /* the number that its events have */
	uint32_t owner;
	bool ended; /* no process writes it any more */
};

/* A process that has no tracer to switch on: not the library, or not yet, or one that is on. */
struct live_silent {
	int32_t pid;
	int r;
	struct coati_error err;
};

struct record_live {
	bool on;
	bool all;	  /* whatever records itself on this machine, and nothing is switched on */
	int lock_fd;	  /* of the directory: locked while a recorder runs; -1 none */
	char folder[128]; /* "": not made by this recorder */
	ARRAY(struct live_file) files;
	ARRAY(struct coati_live_ask) asks; /* processes whose tracer we switched on */
	ARRAY(struct live_silent) silent;  /* that are asked again, less and less often */
	uint64_t ask_ns, ask_every_ns;	   /* when, and how long after that */
	const int32_t *pids;		   /* whose flight recorders are read */
	size_t nr_pids;
	struct coati_capture **also; /* NULL, or a second one that gets all batches, too */
	bool old;		     /* what is found now was there before the recording */
	uint64_t next_ns;	     /* when to look again */
	uint64_t batches, bytes;
	uint64_t refused; /* files that are none, or too many */
	/* the first that names a process which is not its user's; "": none did */
	char forged[400];
};

/* Make the directory and pass its name to the command, which is started after this. Without a
 * directory there are no live events, and a message gives the reason. */
void coati_record_live_open(struct record_live *l);
/* Read the flight recorders of all processes that have one; none is switched on. */
void coati_record_live_open_all(struct record_live *l);
/* Look for what is new, a few times a second. The writer's error. */
int coati_record_live_round(struct record_live *l, struct coati_capture *cap);
/* All that is left. */
int coati_record_live_end(struct record_live *l, struct coati_writer *w);
/* Remove the directory. */
void coati_record_live_close(struct record_live *l);
