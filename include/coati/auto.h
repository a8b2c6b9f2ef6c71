/* SPDX-License-Identifier: MIT */
/*
 * Profiling that is started by an environment variable. Part of libcoati-live, which needs only
 * libc.
 *
 *	COATI_PROFILE=cpu.pb.gz ./program
 *
 * A program that is linked with libcoati-live, or started with LD_PRELOAD=libcoati-preload.so, is
 * profiled by <coati/sampler.h> from its start to its end without a change to its code. `go tool
 * pprof` reads the file. coati-environment(7) describes all variables, the file names, and what
 * happens at fork, exec and abnormal ends. Nothing happens when the variable is not set, or in
 * set-user-id programs.
 *
 * Static linking: the linker takes this part from libcoati-live.a when the program uses the
 * sampler, or with -Wl,-u,coati_auto_finish, which pkg-config adds.
 */
#ifndef COATI_AUTO_H
#define COATI_AUTO_H

#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Write the profile of COATI_PROFILE now, and end sampling for good. Only programs that end by
 * _exit(), a signal or exec need to call it.
 *   -ESRCH  COATI_PROFILE started nothing in this process, or the profile was written already
 * Other errors come from writing the file; they are also printed on stderr.  Thread: any. */
COATI_API int coati_auto_finish(struct coati_error *err);

#ifdef __cplusplus
}
#endif
#endif
