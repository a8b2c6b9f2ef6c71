/* SPDX-License-Identifier: MIT */
/* What the processes of a sandbox give up. Each returns 0 or negative. */
#pragma once

#include "sandbox/sandbox.h"

/* Files, sockets, programs, other processes: everything but what it has open. */
int coati_confine_reader(const struct sandbox_policy *p);
/* Changing files, sockets, programs. It has no Landlock, which would take from it the files of
 * other processes: what is below /proc/PID/root is for those who may trace the process. */
int coati_confine_broker(const struct sandbox_policy *p);
/* Changing files but the output, sockets but for servers, programs but for objdump. */
int coati_confine_worker(const struct sandbox_policy *p);
/*
 * A process of the worker that starts one program, which reads one file: it can execute that
 * program and its loader, read libraries and @fd, and neither write nor connect.
 */
int coati_confine_helper(const char *program, int fd);
