/* SPDX-License-Identifier: MIT */
/*
 * What the event stage asks of the kernel, as a table of functions. The library always uses
 * coati_event_calls; tests pass a table of their own through struct event_request to play older
 * kernels and to fail any step. All return a negative errno on failure, none touches the caller's
 * errno contract.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <coati/abi.h>

struct open_args {
	struct coati_attr attr; /* size is in and out */
	int32_t pid, cpu;
	int group_fd;
	uint32_t flags; /* COATI_OPEN_* */
};

struct event_calls {
	void *ctx;
	int (*open)(void *ctx, struct open_args *args);
	int (*ioctl)(void *ctx, int fd, unsigned long request, unsigned long arg);
	ssize_t (*read)(void *ctx, int fd, void *bytes, size_t size);
	/* Non-blocking, and close-on-exec by hand when @cloexec. */
	int (*set_flags)(void *ctx, int fd, int cloexec);
	/* @type of the attributes that it was opened with. */
	void (*close)(void *ctx, int fd, uint32_t type);
	/* A number below /proc/sys/kernel/, e.g. "perf_event_max_stack". */
	int (*sysctl)(void *ctx, const char *name, int64_t *ret);
};

extern const struct event_calls coati_event_calls;
