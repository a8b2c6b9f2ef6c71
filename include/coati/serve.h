/* SPDX-License-Identifier: MIT */
/*
 * Endpoints of a running program, part of libcoati-live: what Go programs have under /debug/pprof/,
 * for C and C++.
 *
 *	struct coati_server *server;
 *	coati_serve("unix:/run/app.coati", NULL, &server, &err);
 *	...
 *	coati_server_stop(server);
 *
 *	curl --unix-socket /run/app.coati http://localhost/debug/pprof/
 *
 * One call starts one thread, which sleeps until somebody asks; before it there is no thread, no
 * descriptor and no memory, and after coati_server_stop() there is none again, but for what
 * profiles that were asked for keep for the next one (unwind tables, buffers, a signal handler
 * each). A page that takes a while is made by another thread, which ends with it, so that all
 * others answer meanwhile. Served are (and /debug/pprof/ lists them):
 *
 *	/debug/pprof/			the index
 *	/debug/pprof/cmdline		the command line, its words ended by zero bytes
 *	/debug/pprof/symbol		names of addresses (?0x1234+0x5678, or as the body of a
 *					POST), for pprof; of static functions, too
 *	/debug/pprof/profile?seconds=30	a CPU profile (<coati/sampler.h>), 1 to 3600 seconds;
 *					hz=1000 sets the rate, clock=wall samples wall time
 *	/debug/pprof/heap		memory in use, and /debug/pprof/allocs what was ever
 *					allocated, after coati_heap_start() (<coati/heap.h>)
 *	/debug/pprof/mutex		who lets others wait for locks, and /debug/pprof/block who
 *					waits, after coati_locks_start() (<coati/locks.h>)
 *	/debug/pprof/threads		the stacks of all threads; also as /debug/pprof/goroutine
 *	/debug/pprof/threadcreate	who started threads, after coati_threadcreate_start()
 *	/debug/pprof/NAME		a custom profile of this name (<coati/custom.h>)
 *	/debug/pprof/trace?seconds=1	a recording of the next seconds for `coati trace`, in
 *					programs that use labels or <coati/tracer.h>
 *	/metrics			CPU time, memory, threads, files and what the library
 *					counts, for Prometheus (text or OpenMetrics)
 *
 * Profiles are files for pprof, with names and labels. Names come from the symbol tables of the
 * files that are loaded, and where those cannot be read, or are others by now, from the dynamic
 * tables in memory; without /proc (after chroot) code is found by the dynamic loader. debug=1 gives
 * text instead, and threads?debug=2 each thread by itself: its number, name, state and CPU time,
 * the place in the kernel where it waits, its labels and its stack. seconds=N for heap, allocs,
 * mutex and block gives what came in so many seconds.
 *
 * One CPU profile is taken at a time: who asks for another one meanwhile is answered with status
 * 429, and so is who asks when eight pages are being made. When its client leaves, a profile ends.
 *
 * The stacks of threads that sleep in a system call are read without disturbing them: the kernel
 * shows their stack pointer and instruction pointer, and the walk goes on from there by unwind
 * tables. Where it needs another register (code that is compiled with frame pointers does, where
 * the C library has not saved it) the stack is marked as cut, with the reason. Threads that run get
 * a real-time signal, the last one that the program has left alone, and so do those that wait for a
 * lock, a condition, a semaphore or a thread without a timeout, where the stack would be cut: the
 * kernel restarts that call unseen. A thread that runs and blocks the signal is listed without a
 * stack. A thread that begins to sleep between the look at it and its signal gets EINTR, as
 * signal(7) has it.
 *
 * Who may ask. On a unix socket: the user of the process and root, by the credentials that the
 * kernel vouches for; the file is made for its owner alone. On TCP: everybody on this machine, as
 * the address is one of loopback unless COATI_SERVE_ANYWHERE is set; requests whose Host is not
 * this machine are refused, so that no web page reaches it through a name of its own, and so are
 * those that a browser sends for another site.
 *
 * Requests have limits: 8 KiB for the head, 256 KiB for a body, timeout_ms from the first byte to
 * the last, max_clients at a time. More wait in line, but not for clients that are quiet: one that
 * has not sent a whole request 0.1 s after it came, or keeps the connection open when it has its
 * answer, makes room for the next, oldest first. Anything else is answered with an error that says
 * what is wrong, and the connection is closed; every answer closes it.
 *
 * The thread has all signals blocked and never raises SIGPIPE. After fork() the child has no
 * server: its copies of the sockets are closed.
 */
#ifndef COATI_SERVE_H
#define COATI_SERVE_H

#include <stdint.h>

#include <coati/error.h>
#include <coati/sampler.h>
#include <coati/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

struct coati_server;

/* coati_serve_opts.flags */
/* Addresses other than loopback may be bound. Everybody who reaches the port may then ask. */
#define COATI_SERVE_ANYWHERE (UINT32_C(1) << 0)

struct coati_serve_opts {
	uint64_t size; /* of this struct, set by the caller */
	uint32_t flags;
	/* for a client to send its request, and to take each 64 KiB of the answer; 0: 10 s */
	uint32_t timeout_ms;
	uint32_t max_clients; /* served at a time, at most 4096; 0: 64 */
	/* How the stacks of threads and of CPU profiles are followed, as in <coati/sampler.h>; heap
	 * and locks have options of their own. */
	enum coati_sampler_stacks stacks;
};

/* Serve at @where:
 *	unix:PATH	a socket of the file system; one that nobody listens on any more is replaced
 *	PORT		127.0.0.1; port 0 takes a free one, which coati_server_port() tells
 *	ADDRESS:PORT	localhost (127.0.0.1), an IPv4 address, or an IPv6 address in brackets
 * @opts may be NULL. -EINVAL for a text that is none of these, -EPERM for an address that is not of
 * loopback without COATI_SERVE_ANYWHERE, -EADDRINUSE, -ENOSPC for more than 8 servers in a process.
 * Thread: any. Signal: not safe. */
COATI_API int coati_serve(const char *where, const struct coati_serve_opts *opts,
			  struct coati_server **ret, struct coati_error *err);
/* The port, 0 for a unix socket.  Thread: any. */
COATI_API uint16_t coati_server_port(const struct coati_server *server);
/* End the thread, drop the clients, remove the socket file, free everything. In a child after
 * fork() it does nothing: the server is the parent's. NULL is fine.  Thread: any but the server's
 * own. */
COATI_API void coati_server_stop(struct coati_server *server);

/* ---- in a server of one's own ----
 *
 * A program that has an HTTP server answers requests for /debug/pprof/ and /metrics itself, without
 * a thread, a socket or a port of ours:
 *
 *	struct coati_serve_request q = { sizeof(q), bytes, nr_bytes };
 *	struct coati_serve_response r = { sizeof(r) };
 *
 *	if (coati_serve_answer(&q, &r) == 0) {
 *		send(fd, r.bytes, r.nr_bytes);	or: status, type and body
 *		coati_serve_response_free(&r);
 *	}
 *
 * A server that has parsed the request already makes one again, for which HTTP/1.0 without headers
 * is enough: "GET /debug/pprof/heap?debug=1 HTTP/1.0\r\n\r\n". The pages, their parameters and the
 * limits of requests are those above. Who may ask is the server's business: only requests that a
 * browser marks as cross-site are refused here. */

struct coati_serve_request {
	uint64_t size;	   /* of this struct, set by the caller */
	const void *bytes; /* head and body, as they came */
	uint64_t nr_bytes;
	/* Called about ten times a second while a page takes its time (profile?seconds=30), with
	 * @ctx: not 0 when the client has left, which ends the page. NULL: nobody leaves. */
	int (*is_left)(void *ctx);
	void *ctx;
	enum coati_sampler_stacks stacks; /* as in struct coati_serve_opts */
};

struct coati_serve_response {
	uint64_t size;	   /* of this struct, set by the caller: so much is written */
	const void *bytes; /* all of it, as it goes over the wire; then close the connection */
	uint64_t nr_bytes;
	const char *headers; /* its header lines, each ended by "\r\n", and the empty line */
	const void *body;
	uint64_t nr_body;
	const char *type; /* of the body: Content-Type */
	int32_t status;	  /* 200, 404, ...; requests that are wrong get a response, too */
	uint32_t reserved;
};

/* Answer a request on the calling thread, which waits for pages that take their time: give those to
 * a thread that may wait. Any number may be answered at the same time.
 *   -EAGAIN     the request is not whole: read more bytes and call it again
 *   -ECANCELED  is_left() said so
 *   -EINVAL, -ENOMEM
 * Thread: any.  Signal: not safe.  Memory: allocates. */
COATI_API int coati_serve_answer(const struct coati_serve_request *request,
				 struct coati_serve_response *ret);
/* Free what coati_serve_answer() has filled in. */
COATI_API void coati_serve_response_free(struct coati_serve_response *response);

#ifdef __cplusplus
}
#endif
#endif
