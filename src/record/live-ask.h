/* SPDX-License-Identifier: MIT */
/*
 * A recorder that the program did not start itself: the environment asks for it
 * (COATI_TRACE=DIR), or another process that may write our memory, which finds this block by the
 * note "coati" 2 of the file that it is in. The environment is obeyed when the program is loaded.
 * Another process fills in what is wanted, counts `asked` up and sets all bits of the gate; the
 * next event of a thread with no signal blocked starts the recorder. Layout is read by others:
 * fixed sizes, never changed, only added to.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define ASK_NOTE    2u
#define ASK_VERSION 1u
#define ASK_PATH    1024u
#define ASK_LABELS  (1u << 2) /* of flags: as COATI_RECORDER_LABELS */
/* How the directory of a recorder begins, which names it in the environment and removes it. */
#define ASK_FOLDER "coati-trace-"
/* PID and this: a link in such a directory, to the errno why there is no file of the process. */
#define ASK_FAILED ".live.failed"

struct tracer_ask {
	uint32_t version, size;
	uint64_t gate;		   /* address of coati_tracer_gate, wherever the linker put it */
	_Atomic uint32_t asked;	   /* counted up by who asks, last but the gate */
	_Atomic uint32_t answered; /* what asked was when it was answered */
	_Atomic int32_t error;	   /* of the answer: 0 or a negative errno */
	/* what asked was, by who asked, when it is not wanted any more */
	_Atomic uint32_t released;
	/* process that asked; 0: the environment. When it is gone, the recorder stops */
	_Atomic uint32_t watcher;
	_Atomic uint32_t ended; /* what asked was when it ended */
	uint32_t flags;		/* COATI_RECORDER_* */
	uint32_t reserved;
	uint64_t bytes;		  /* 0: as many as usual */
	char directory[ASK_PATH]; /* of the file; "": the usual one */
	/* of the file that there is, by whomever it was started; "": none, or it has no name */
	char path[ASK_PATH + 64];
};
