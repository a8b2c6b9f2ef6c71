/* SPDX-License-Identifier: MIT */
/*
 * Custom profiles, like pprof.NewProfile in Go. Part of libcoati-live. The program reports when an
 * object (a connection, a file, a lease) is created and destroyed; the profile shows the stacks
 * that created the objects that still exist.
 *
 *	static struct coati_custom *connections;
 *
 *	coati_custom_new("connections", NULL, &connections, &err);
 *	...
 *	coati_custom_add(connections, c, 0);		when c is opened
 *	coati_custom_remove(connections, c);		when c is closed
 *
 * A server (<coati/serve.h>) has a page for each profile: /debug/pprof/connections.
 * coati_custom_write() writes the same data to a file. `go tool pprof` reads both: they have one
 * value, a count with the name of the profile. debug=1 gives text.
 *
 * A profile belongs to the process and is never freed. It holds up to 32768 distinct stacks;
 * further objects are counted without a stack. Stacks carry the labels of the thread
 * (<coati/live.h>) and are unwound as in <coati/sampler.h>.
 *
 * Cost: coati_custom_add() walks the stack and takes a lock, coati_custom_remove() takes a lock.
 * The child of a fork() continues with a copy of the profile.
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
	uint64_t size;			  /* sizeof(struct coati_custom_opts) */
	uint32_t max_values;		  /* objects at a time, up to 16777216; 0: 1048576 */
	enum coati_sampler_stacks stacks; /* how stacks are unwound */
	uint64_t max_table_bytes;	  /* for unwind tables; 0: 64 MiB */
};

/* Create a profile. @name is copied: 1 to COATI_CUSTOM_NAME_BYTES letters, digits and "-_./". As in
 * Go, libraries should use a prefix to avoid name clashes: "mylib/sockets". @opts may be NULL.
 *   -EEXIST  a profile or a page of the server has this name already
 *   -EINVAL  an invalid name or option
 *   -ENOSPC  the server already has its maximum of 64 pages
 *   -ENODATA COATI_SAMPLER_STACKS_TABLES was requested, and there is no unwind table at all
 *   -ENOMEM
 * Thread: any.  Signal: not safe. */
COATI_API int coati_custom_new(const char *name, const struct coati_custom_opts *opts,
			       struct coati_custom **ret, struct coati_error *err);
/* Add @value, an address that identifies the object, with the stack of the caller. @skip is the
 * number of innermost frames to omit; 0: the caller is the first frame.
 *   -EEXIST  @value is in the profile already
 *   -EINVAL  @value is NULL
 *   -ENOSPC  the profile is full (max_values); it reports how many values were refused
 *   -ENOMEM
 * Thread: any.  Signal: not safe. */
COATI_API int coati_custom_add(struct coati_custom *profile, const void *value, uint32_t skip);
/* Remove @value. -ENOENT: it is not in the profile.  Thread: any.  Signal: not safe. */
COATI_API int coati_custom_remove(struct coati_custom *profile, const void *value);
/* The number of values in the profile.  Thread: any. */
COATI_API uint64_t coati_custom_count(struct coati_custom *profile);

/* flags of coati_custom_write() */
/* Add function names to the file, from the symbol tables of the mapped files. */
#define COATI_CUSTOM_NAMES (UINT32_C(1) << 0)
/* Write text with function names, as Go's debug=1 does. */
#define COATI_CUSTOM_TEXT (UINT32_C(1) << 1)

/* Write the profile to @fd: pprof (.pb.gz), or text.
 * Thread: any.  Signal: not safe.  Memory: allocates. */
COATI_API int coati_custom_write(struct coati_custom *profile, int fd, uint32_t flags,
				 struct coati_error *err);

/* Start Go's profile "threadcreate": the stacks that started the threads that run now. It sees only
 * threads that coati_pthread_create() (<coati/live.h>) starts after this call; to cover a whole
 * program, compile it with -Dpthread_create=coati_pthread_create. The server has a page for it. In
 * the child of a fork() it still contains the threads of the parent. @ret (may be NULL) is for
 * coati_custom_count() and coati_custom_write(). A second call returns the same profile. Errors as
 * coati_custom_new().  Thread: any.  Signal: not safe. */
COATI_API int coati_threadcreate_start(struct coati_custom **ret, struct coati_error *err);

#ifdef __cplusplus
}
#endif
#endif
