/* SPDX-License-Identifier: MIT */
/*
 * Errors. Every function that can fail returns 0 (or a count) on success and a negative errno
 * on failure: that number is the truth. Functions that touch the outside (open, attach, load)
 * also take a struct coati_error as their last parameter and put one sentence into it: the thing,
 * the reason, and where there is one the next step. The pointer may be NULL.
 *
 * Fixed meaning of the numbers, everywhere in coati:
 *   -EINVAL      the caller broke the contract, or a text has the wrong syntax
 *   -EBADMSG     malformed input
 *   -ENODATA     the stream stops in mid-record (perhaps it is still being written)
 *   -E2BIG       over one of our limits
 *   -ENOENT      no such event, PMU, symbol or file
 *   -EOPNOTSUPP  this kernel or CPU cannot
 *   -EACCES, -EPERM  not allowed; the text names the knob and the command that opens it
 *   -ESRCH       the process or thread is gone
 *   -EBADF       the object is closed
 *   -ENOMEM      out of memory
 */
#ifndef COATI_ERROR_H
#define COATI_ERROR_H

#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COATI_ERROR_TEXT 480

struct coati_error {
	int code;   /* negative errno, 0 when nothing went wrong */
	int column; /* 1-based position in a text that was parsed, 0 when none */
	/* one sentence, always terminated, "" when nothing went wrong */
	char text[COATI_ERROR_TEXT];
};

/* The name of an errno as a programmer knows it ("EACCES"), for either sign; "E?" when unknown.
 * Thread: any.  Signal: safe.  Memory: never allocates. */
COATI_API const char *coati_errno_name(int code);

#ifdef __cplusplus
}
#endif
#endif
