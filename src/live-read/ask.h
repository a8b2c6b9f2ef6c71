/* SPDX-License-Identifier: MIT */
/* Switching the tracer of a running program on from outside. */
#pragma once

#include <stdint.h>

#include <coati/error.h>

/* Of a process that runs and has libcoati-live in it. Fields are the library's; fd -1: nothing to
 * release. */
struct coati_live_ask {
	int32_t fd;
	uint32_t ticket;
	uint64_t block;
};

/* Ask: the next event that the program meets in ordinary code starts a flight recorder, whose
 * file is then below /dev/shm/coati-UID. -EALREADY: it has one; -ENOENT: it has no libcoati-live;
 * -EPROTO: one of another version; -EACCES: its memory may not be written, which takes the rights
 * of a debugger. */
int coati_live_ask(int32_t pid, struct coati_live_ask *ret, struct coati_error *err);

/* 1: it records; 0: it has not met an event yet; negative: it cannot, or is gone. */
int coati_live_answer(const struct coati_live_ask *ask, struct coati_error *err);

/* It is not wanted any more: ends within a second or so, also when this process dies without. */
void coati_live_release(struct coati_live_ask *ask);
