/* SPDX-License-Identifier: MIT */
/*
 * Errors. Every function that can fail returns 0 (or a count) on success and a negative errno on
 * failure. Functions that deal with files, the kernel or other processes also take a struct
 * coati_error as their last parameter, which may be NULL. They store one sentence in it: what
 * failed, on what, why, and where possible what to do.
 *
 * The numbers mean the same everywhere in coati:
 *   -EINVAL          the caller passed invalid arguments, or a text has the wrong syntax
 *   -EBADMSG         malformed input
 *   -ENODATA         the input ends in the middle of a record (perhaps it is still being written)
 *   -E2BIG           over a limit of the library
 *   -ENOENT          no such event, PMU, symbol or file
 *   -EOPNOTSUPP      not available with this kernel or CPU
 *   -EACCES, -EPERM  not allowed; the message names the setting and the command to change it
 *   -ESRCH           the process or thread is gone
 *   -EBADF           the object is closed
 *   -ENOMEM          out of memory
 */
#ifndef COATI_ERROR_H
#define COATI_ERROR_H

#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COATI_ERROR_TEXT 480

/* Frozen. */
struct coati_error {
	int code;   /* negative errno; 0: no error */
	int column; /* position in a text that was parsed, from 1; 0: none */
	/* one sentence, always terminated; "": no error */
	char text[COATI_ERROR_TEXT];
};

#ifdef __cplusplus
}
#endif
#endif
