/* SPDX-License-Identifier: MIT */
/*
 * Profiling that the environment asks for: part of libcoati-live, which needs libc alone.
 *
 *	COATI_PROFILE=cpu.pb.gz ./program
 *
 * A program that is linked with libcoati-live, or started with LD_PRELOAD=libcoati-preload.so, is
 * profiled from its start to its end by <coati/sampler.h> without a line of its code, and the file
 * is what `go tool pprof` reads. coati-environment(7) has all variables, the names of files, and
 * what happens with fork, exec and programs that end in other ways. Nothing happens without the
 * variable, and nothing in programs that run with the rights of others (set-user-id).
 *
 * Archives: the linker takes it out of libcoati-live.a when the program uses the sampler, or with
 * -Wl,-u,coati_auto_finish, which pkg-config adds.
 */
#ifndef COATI_AUTO_H
#define COATI_AUTO_H

#include <coati/error.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Write the profile that COATI_PROFILE asked for now, and end sampling for good. For programs that
 * end by _exit(), a signal or exec: others need not call it.
 *   -ESRCH  nothing was asked for in this process, or it has ended before
 * Other errors are those of writing; they have been said on stderr, too.  Thread: any. */
COATI_API int coati_auto_finish(struct coati_error *err);

#ifdef __cplusplus
}
#endif
#endif
