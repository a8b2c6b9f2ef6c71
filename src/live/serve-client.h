/* SPDX-License-Identifier: MIT */
/* The server and its clients. The slots belong to the server's thread alone. */
#pragma once

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <coati/serve.h>

#include "base/strbuf.h"
#include "live/serve-job.h"
#include "live/serve-listen.h"
#include "live/serve-pages.h"

/* STAGE_WAIT: the answer is being made by a job. */
enum stage { STAGE_READ, STAGE_WAIT, STAGE_WRITE, STAGE_DRAIN };

struct client {
	_Atomic int fd; /* -1: the slot is free */
	enum stage stage;
	uint64_t deadline_ns;
	struct serve_job *job; /* in STAGE_WAIT */
	char *in;	       /* head and body as they come, ended by a zero */
	size_t in_len, in_cap;
	struct strbuf out;
	size_t out_at, drained;
	uint32_t polled_at; /* in this turn; 0: it came after poll() */
};

struct coati_server {
	struct serve_place place;
	int wake;
	pid_t pid;
	pthread_t thread;
	uint64_t timeout_ns;
	uint32_t max_clients;
	enum coati_sampler_stacks stacks;
	_Atomic bool is_ending;
	struct serve_job jobs[SERVE_JOBS];
	uint64_t accept_at_ns; /* not before: there were no descriptors */
	struct serve_counts counts;
	struct client *clients;
	struct pollfd *polled; /* wake, listen, then the clients that there are */
	uint32_t nr_polled;
};

static inline int fd_of(const struct client *c)
{
	return atomic_load_explicit(&c->fd, memory_order_relaxed);
}

/* What poll() says of it; and whether its time is over. */
void coati_client_serve(struct coati_server *s, struct client *c, short events);
/* The slot becomes free. */
void coati_client_drop(struct coati_server *s, struct client *c);
/* From when on there is room for another one. */
uint64_t coati_clients_room_at_ns(struct coati_server *s);
/* Take those who wait. */
void coati_clients_accept(struct coati_server *s);
/* Answers that jobs have made go to those who asked. */
void coati_clients_look_at_jobs(struct coati_server *s);
