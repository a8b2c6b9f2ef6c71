/* SPDX-License-Identifier: MIT */
/*
 * The signals that steer a recording. SIGINT, SIGTERM and SIGHUP ask to stop, SIGUSR2 asks for a
 * snapshot or a new file, SIGCHLD tells that the command may have ended. Each is counted and wakes
 * the capture that waits. A signal that our parent had ignored (nohup, background jobs) stays
 * ignored.
 */
#pragma once

#include <stdbool.h>

struct coati_capture;

/* SIGUSR2 asks for something and must not end us, however early it comes: first of all. What it
 * asks for is done when recording has begun. */
void coati_record_signals_expect(void);
/* From now on; commands that are started get the default behavior back by their exec. */
void coati_record_signals_catch(void);
/* The capture to be woken, NULL: none. */
void coati_record_signals_wake(struct coati_capture *cap);
/* How often we were asked to stop, by which signal last, and whether that came from the terminal:
 * then a command in our process group has it too. */
int coati_record_stops(void);
int coati_record_stop_signal(void);
bool coati_record_stop_from_terminal(void);
/* Whether there was a SIGUSR2, or a SIGCHLD, since the last call. */
bool coati_record_take_user(void);
bool coati_record_take_child(void);
