/* SPDX-License-Identifier: MIT */
/* libcoati-preload in front of _exit(): a program that ends this way ends without destructors. In
 * the child of a vfork() nothing is ours, and nothing is done. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coati/visibility.h>

#include "live/auto/auto.h"

COATI_API void _exit(int status)
{
	coati_auto_before_exit();
	for (;;)
		syscall(SYS_exit_group, (long)status);
}

COATI_API void _Exit(int status)
{
	_exit(status);
}
