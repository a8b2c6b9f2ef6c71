/* SPDX-License-Identifier: MIT */
/* Running a command under events: what the tool needs besides <coati/child.h>. */
#pragma once

#include <coati/child.h>

/* Send it a signal; 0 also when it has ended. */
int coati_child_kill(struct coati_child *child, int signal);

/* A descriptor that polls readable when the child has ended (pidfd), or -1 when the kernel has
 * none. */
int coati_child_fd(const struct coati_child *child);

/* What a shell would make of it: the code, or 128 + signal. */
int coati_child_exit_code(const struct coati_child_status *status);
