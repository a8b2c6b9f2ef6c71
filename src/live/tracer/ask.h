/* SPDX-License-Identifier: MIT */
/* A recorder that the program did not start itself: record/live-ask.h describes who asks, and
 * how. */
#pragma once

#include "record/live-ask.h"

extern struct tracer_ask coati_tracer_ask;

/* An event found the gate open and no recorder. Starts the recorder when the thread may be in
 * ordinary code: no signal is blocked. */
void coati_tracer_asked(void);
/* By the thread of the recorders, now and then: end it when it is not wanted any more. */
void coati_tracer_ask_look(void);
/* In the child after fork(): what the environment asks for holds for children, too. */
void coati_tracer_ask_child(void);
