/* SPDX-License-Identifier: MIT */
/*
 * Where the tracing file system is, and what it says of tracepoints. Names come from the user and
 * from directories: one with a slash or a leading dot is never looked up.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "event/names-dir.h"
#include "record/format.h"

/* Path of a mounted tracefs into @buf: @override when not NULL, else /sys/kernel/tracing or
 * /sys/kernel/debug/tracing. -ENOENT when neither is mounted (the text has the mount command),
 * -EACCES when it may not be read (the text has the remedy). */
int coati_tracefs_find(const char *override, char *buf, size_t size, struct coati_error *err);
/* The sentence for a tracefs that may not be read by this user; returns -EACCES. */
int coati_tracefs_refused(const char *tracefs, struct coati_error *err);
/* Id of the tracepoint @system:@name below the mount @tracefs: -ENOENT, -EACCES, -EBADMSG, each
 * with a sentence. */
int coati_tracefs_id(const char *tracefs, const char *system, const char *name, uint64_t *ret_id,
		     struct coati_error *err);
/* Its format file behind what @s holds. */
int coati_tracefs_format(const char *tracefs, const char *system, const char *name,
			 struct strbuf *s);
/* The same, read and parsed. -EBADMSG when it is malformed. */
int coati_tracefs_read_format(const char *tracefs, const char *system, const char *name,
			      struct arena *arena, struct coati_tp_format *ret);
/* Names of all systems, and of the tracepoints of one. */
int coati_tracefs_systems(const char *tracefs, struct arena *arena, struct dir_names *ret);
int coati_tracefs_events(const char *tracefs, const char *system, struct arena *arena,
			 struct dir_names *ret);
