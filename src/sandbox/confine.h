/* SPDX-License-Identifier: MIT */
/* What the two processes of a sandbox give up. Each returns 0 or negative. */
#pragma once

#include "sandbox/sandbox.h"

/* Files, sockets, programs, other processes: everything but what it has open. */
int coati_confine_reader(const struct sandbox_policy *p);
/* Changing files but the output, sockets but for servers, programs but for objdump. */
int coati_confine_broker(const struct sandbox_policy *p);
/*
 * A helper of the broker that starts one program, which reads one file: it can execute that program
 * and its loader, read libraries and @fd, and neither write nor connect.
 */
int coati_confine_helper(const char *program, int fd);
