/* SPDX-License-Identifier: MIT */
/*
 * Being asked to stop: SIGINT, SIGTERM and SIGHUP are remembered instead of ending us, so that what
 * was measured is still shown. A signal that our parent had ignored (nohup, background jobs) stays
 * ignored.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* From now on. Commands that are started get the default behavior back by their exec. */
void coati_stop_catch(void);
/* How often we were asked. */
int coati_stop_count(void);
/* The last signal, 0: none. */
int coati_stop_signal(void);
/* Whether it came from the terminal: then a command in our process group has it too. */
bool coati_stop_from_terminal(void);
/* The signals that are caught, to be blocked around a look at the count and the wait that follows
 * it. */
void coati_stop_mask(sigset_t *ret);
