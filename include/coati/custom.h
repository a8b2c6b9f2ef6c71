/* SPDX-License-Identifier: MIT */
/*
 * Profiles of a program's own things, part of libcoati-live: what Go has as pprof.NewProfile. The
 * program says when a thing (a connection, a file, a lease) begins and ends; the profile shows the
 * stacks that began those that still exist.
 *
 *	static struct coati_custom *connections;
 *
 *	coati_custom_new("connections", NULL, &connections, &err);
 *	...
 *	coati_custom_add(connections, c, 0);		when c is opened
 *	coati_custom_remove(connections, c);		when c is closed
 *
 * A server (<coati/serve.h>) has a page for each: /debug/pprof/connections. coati_custom_write()
 * writes the same to a file. Both are read by `go tool pprof`: one value, named as the profile, in
 * counts; with debug=1 text.
 *
 * A profile belongs to the process and is never freed. Each has room for 32768 different stacks;
 * things over that are counted without a stack. Stacks carry the labels of the thread
 * (<coati/live.h>) and are followed as in <coati/sampler.h>.
 *
 * Cost: coati_custom_add() walks the stack and takes a lock, coati_custom_remove() takes a lock.
 * A child after fork() goes on with what it inherited.
 */
#ifndef COATI_CUSTOM_H
#define COATI_CUSTOM_H

#include <stdint.h>

#include <coati/error.h>
#include <coati/sampler.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

struct coati_custom;

#define COATI_CUSTOM_NAME_BYTES 48

struct coati_custom_opts {
	uint64_t size;			  /* of this struct, set by the caller */
	uint32_t max_values;		  /* things at a time, up to 16777216; 0: 1048576 */
	enum coati_sampler_stacks stacks; /* how stacks are followed */
	uint64_t max_table_bytes;	  /* for unwind tables; 0: 64 MiB */
};

/* Make a profile. @name is copied: 1 to COATI_CUSTOM_NAME_BYTES letters, digits and "-_./". As in
 * Go, a prefix keeps the names of libraries apart: "mylib/sockets". @opts may be NULL.
 *   -EEXIST  a profile or a page of the server has this name
 *   -EINVAL  an invalid name or option
 *   -ENOSPC  the server has no room for another page (64 in all)
 *   -ENODATA COATI_SAMPLER_STACKS_TABLES was asked for, and there is no unwind table at all
 *   -ENOMEM
 * Thread: any.  Signal: not safe. */
COATI_API int coati_custom_new(const char *name, const struct coati_custom_opts *opts,
			       struct coati_custom **ret, struct coati_error *err);
/* Add @value, an address that identifies the thing, with the stack of the caller. @skip leaves out
 * so many of the innermost frames; 0: the caller is the first.
 *   -EEXIST  it is in the profile already
 *   -EINVAL  @value is NULL
 *   -ENOSPC  max_values are in the profile; the profile says how many were refused
 *   -ENOMEM
 * Thread: any.  Signal: not safe. */
COATI_API int coati_custom_add(struct coati_custom *profile, const void *value, uint32_t skip);
/* Take @value out. -ENOENT: it is not in the profile.  Thread: any.  Signal: not safe. */
COATI_API int coati_custom_remove(struct coati_custom *profile, const void *value);
/* The number of values in the profile.  Thread: any. */
COATI_API uint64_t coati_custom_count(struct coati_custom *profile);

/* flags of coati_custom_write() */
/* Put the names of functions into the file, from the symbol tables of the mapped files. */
#define COATI_CUSTOM_NAMES (UINT32_C(1) << 0)
/* Write text with names: Go's debug=1. */
#define COATI_CUSTOM_TEXT (UINT32_C(1) << 1)

/* Write the profile to @fd: pprof (.pb.gz), or text.
 * Thread: any.  Signal: not safe.  Memory: allocates. */
COATI_API int coati_custom_write(struct coati_custom *profile, int fd, uint32_t flags,
				 struct coati_error *err);

/* Start Go's profile "threadcreate": the stacks that started the threads that run now. It sees
 * threads that coati_pthread_create() (<coati/live.h>) starts after this call, and no others; for
 * a whole program compile with -Dpthread_create=coati_pthread_create. It is a page of the server.
 * The child of a fork() has the threads of its parent in it, too.
 * @ret (may be NULL) is for coati_custom_count() and coati_custom_write(). A second call returns
 * the same profile. Errors as coati_custom_new().  Thread: any.  Signal: not safe. */
COATI_API int coati_threadcreate_start(struct coati_custom **ret, struct coati_error *err);

#ifdef __cplusplus
}
#endif
#endif
