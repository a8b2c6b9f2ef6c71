/* SPDX-License-Identifier: MIT */
/*
 * HTTP endpoints for profiles and metrics of a running program, part of libcoati-live: the
 * equivalent of Go's net/http/pprof for C and C++.
 *
 *	struct coati_server *server;
 *	coati_serve("unix:/run/app.coati", NULL, &server, &err);
 *	...
 *	coati_server_stop(server);
 *
 *	curl --unix-socket /run/app.coati http://localhost/debug/pprof/
 *
 * One call starts one thread, which sleeps until a request arrives. Before the call there is no
 * thread, no descriptor and no memory in use; after coati_server_stop() there is none again, except
 * for what profiles keep for the next request (unwind tables, buffers, signal handlers). A page
 * that takes long is made by a separate thread, so that other requests are answered meanwhile. The
 * pages, which /debug/pprof/ lists:
 *
 *	/debug/pprof/			the index
 *	/debug/pprof/cmdline		the command line, each argument ended by a zero byte
 *	/debug/pprof/symbol		names of addresses (?0x1234+0x5678, or as the body of a
 *					POST), for pprof; of static functions, too
 *	/debug/pprof/profile?seconds=30	a CPU profile (<coati/sampler.h>), 1 to 3600 seconds;
 *					hz=1000 sets the rate, clock=wall samples wall time
 *	/debug/pprof/heap		memory in use, and /debug/pprof/allocs what was ever
 *					allocated, after coati_heap_start() (<coati/heap.h>)
 *	/debug/pprof/mutex		lock contention by holder, and /debug/pprof/block by waiter,
 *					after coati_locks_start() (<coati/locks.h>)
 *	/debug/pprof/threads		the stacks of all threads; also as /debug/pprof/goroutine
 *	/debug/pprof/threadcreate	stacks that started threads, after
 *					coati_threadcreate_start()
 *	/debug/pprof/NAME		a custom profile of this name (<coati/custom.h>)
 *	/debug/pprof/trace?seconds=1	a recording of the next seconds for `coati trace`, in
 *					programs that use labels or <coati/tracer.h>
 *	/metrics			CPU time, memory, threads, files and what the library
 *					counts, for Prometheus (text or OpenMetrics)
 *
 * Profiles are files for pprof, with function names and labels. Names come from the symbol tables
 * of the loaded files. Where these cannot be read, or were replaced, they come from the dynamic
 * symbol tables in memory; without /proc (after chroot) code is found by the dynamic loader.
 * debug=1 gives text instead, and threads?debug=2 lists each thread: its ID, name, state and CPU
 * time, the kernel function where it waits, its labels and its stack. seconds=N for heap, allocs,
 * mutex and block gives the difference over N seconds.
 *
 * Only one CPU profile runs at a time: a request for another one gets status 429, and so does a
 * request for a long page while eight are being made. A profile ends when its client disconnects.
 *
 * The stacks of threads that sleep in a system call are read without disturbing them: the kernel
 * reports their stack pointer and instruction pointer, and the unwind tables do the rest. Where
 * that needs another register (as in code compiled with frame pointers, if the C library has not
 * saved it), the stack is marked as truncated, with the reason. Running threads get a real-time
 * signal, the highest one that the program does not use. So do threads that wait without a timeout
 * for a lock, a condition, a semaphore or a thread, if their stack would be truncated: the kernel
 * restarts that call transparently. A running thread that blocks the signal is listed without a
 * stack. A thread that begins to sleep between the check and the signal gets EINTR, as described in
 * signal(7).
 *
 * Access. On a unix socket: only the user of the process and root, checked by the peer credentials
 * of the kernel; the socket file is accessible only to its owner. On TCP: every user of this
 * machine, because only loopback addresses are allowed unless COATI_SERVE_ANYWHERE is set. Requests
 * whose Host header does not name this machine are refused, which stops DNS rebinding, and so are
 * cross-site requests of browsers.
 *
 * Limits of requests: 8 KiB for the head, 256 KiB for a body, timeout_ms from the first byte to the
 * last, max_clients at a time. Further clients wait in a queue, but idle clients do not block it: a
 * client that has not sent a whole request 0.1 s after it connected, or keeps the connection open
 * after its response, is disconnected for the next one, oldest first. Invalid requests get an error
 * message. Every response closes the connection.
 *
 * The thread blocks all signals and never raises SIGPIPE. The child of a fork() has no server: its
 * copies of the sockets are closed.
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
/* Allow addresses other than loopback. Everyone who can reach the port then has access. */
#define COATI_SERVE_ANYWHERE (UINT32_C(1) << 0)

struct coati_serve_opts {
	uint64_t size; /* sizeof(struct coati_serve_opts) */
	uint32_t flags;
	/* for a client to send its request, and to receive each 64 KiB of the response; 0: 10 s */
	uint32_t timeout_ms;
	uint32_t max_clients; /* served at a time, at most 4096; 0: 64 */
	/* How the stacks of threads and of CPU profiles are unwound, as in <coati/sampler.h>; heap
	 * and locks have their own options. */
	enum coati_sampler_stacks stacks;
};

/* Serve at @where:
 *	unix:PATH	a socket file; a stale one, on which no process listens, is replaced
 *	PORT		127.0.0.1; port 0 takes a free one, see coati_server_port()
 *	ADDRESS:PORT	localhost (127.0.0.1), an IPv4 address, or an IPv6 address in brackets
 * @opts may be NULL. -EINVAL: not a valid address; -EPERM: not a loopback address, and
 * COATI_SERVE_ANYWHERE is not set; -EADDRINUSE; -ENOSPC: more than 8 servers in a process. Thread:
 * any. Signal: not safe. */
COATI_API int coati_serve(const char *where, const struct coati_serve_opts *opts,
			  struct coati_server **ret, struct coati_error *err);
/* The port, 0 for a unix socket.  Thread: any. */
COATI_API uint16_t coati_server_port(const struct coati_server *server);
/* End the thread, disconnect the clients, remove the socket file, free everything. In the child of
 * a fork() it does nothing: the server belongs to the parent. NULL is fine.  Thread: any but the
 * server's own. */
COATI_API void coati_server_stop(struct coati_server *server);

/* ---- in an existing HTTP server ----
 *
 * A program that already has an HTTP server can answer requests for /debug/pprof/ and /metrics
 * itself, without another thread, socket or port:
 *
 *	struct coati_serve_request q = { sizeof(q), bytes, nr_bytes };
 *	struct coati_serve_response r = { sizeof(r) };
 *
 *	if (coati_serve_answer(&q, &r) == 0) {
 *		send(fd, r.bytes, r.nr_bytes);	or: status, type and body
 *		coati_serve_response_free(&r);
 *	}
 *
 * A server that has parsed the request already constructs one, for which HTTP/1.0 without headers
 * is enough: "GET /debug/pprof/heap?debug=1 HTTP/1.0\r\n\r\n". The pages, their parameters and the
 * limits of requests are the same as above. The server must check access itself: only requests that
 * a browser marks as cross-site are refused here. */

struct coati_serve_request {
	uint64_t size;	   /* sizeof(struct coati_serve_request) */
	const void *bytes; /* head and body, as received */
	uint64_t nr_bytes;
	/* Called with @ctx about ten times a second while a long page is made (profile?seconds=30).
	 * A result other than 0 means that the client has disconnected, and ends the page. NULL: no
	 * check. */
	int (*is_left)(void *ctx);
	void *ctx;
	enum coati_sampler_stacks stacks; /* as in struct coati_serve_opts */
};

struct coati_serve_response {
	uint64_t size;	   /* sizeof(struct coati_serve_response) */
	const void *bytes; /* the whole response, to be sent as it is; then close the connection */
	uint64_t nr_bytes;
	const char *headers; /* header lines, each ended by "\r\n", and the empty line */
	const void *body;
	uint64_t nr_body;
	const char *type; /* of the body: Content-Type */
	int32_t status;	  /* 200, 404, ...; invalid requests get a response, too */
	uint32_t reserved;
};

/* Answer a request on the calling thread, which blocks for pages that take long: use a thread that
 * may block. Any number of requests may be answered at the same time.
 *   -EAGAIN     the request is incomplete: read more bytes and call it again
 *   -ECANCELED  is_left() reported that the client has disconnected
 *   -EINVAL, -ENOMEM
 * Thread: any.  Signal: not safe.  Memory: allocates. */
COATI_API int coati_serve_answer(const struct coati_serve_request *request,
				 struct coati_serve_response *ret);
/* Free the memory of a response of coati_serve_answer(). */
COATI_API void coati_serve_response_free(struct coati_serve_response *response);

#ifdef __cplusplus
}
#endif
#endif
