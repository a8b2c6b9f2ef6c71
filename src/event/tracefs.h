/* SPDX-License-Identifier: MIT */
/* Where the tracing file system is, and what it says of one tracepoint. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/strbuf.h"

/* Path of a mounted tracefs into @buf: @override when not NULL, else /sys/kernel/tracing or
 * /sys/kernel/debug/tracing. -ENOENT when neither is mounted (the text has the mount command), -EACCES when it may not be
 * read (the text has the remedy). */
int coati_tracefs_find(const char *override, char *buf, size_t size, struct coati_error *err);
/* Id of the tracepoint @system:@name below the mount @tracefs. */
int coati_tracefs_id(const char *tracefs, const char *system, const char *name, uint64_t *ret_id,
		     struct coati_error *err);
/* Its format file behind what @s holds. */
int coati_tracefs_format(const char *tracefs, const char *system, const char *name,
			 struct strbuf *s);
