/* SPDX-License-Identifier: MIT */
/*
 * A reader, inside. Work goes in rounds: look at the heads of all rings, then take from each until
 * it is at the head that was seen. Between rounds it waits. What a deadline or a flush has to
 * deliver before it is reported is the round that is begun when it is noticed: bounded, whatever
 * the writers do. That of a flush ends where the heads were when the flush was asked for, so that
 * it is reported before data that came after it.
 *
 * Shared between threads and signal handlers: requests, closed, waiting, deadline_ns, timer_fd
 * (atomics) and the two descriptors behind them; the rings while `stable` is set and `flushers` is
 * not zero, and their flush_mark. Everything else belongs to the reading thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <coati/ring.h>

#include "base/array.h"
#include "ring/ring.h"

/* Nothing more will come from the ring with @key (a CPU went offline): what it holds is delivered,
 * then its END. */
int coati_reader_end(struct coati_reader *rd, int32_t key);

uint32_t coati_reader_count(const struct coati_reader *rd);

/* Deliver up to @max (0: all that is there) items to @fn without waiting; @fn returns non-zero to
 * stop. Returns the number delivered, or -EBADF. Deadline, flush and wake are left for the next
 * call that reports them.  Hot. */
int64_t coati_reader_drain(struct coati_reader *rd,
			   int (*fn)(void *ctx, const struct coati_ring_item *), void *ctx,
			   uint64_t max);

/* Wait until some ring may have something (1), all have ended and are empty (0), the deadline
 * passes (-ETIMEDOUT), flush, wake or close; for callers that drain, or use coati_ring_peek() on
 * the rings themselves, after any return. */
int coati_reader_wait(struct coati_reader *rd);

#define READER_RINGS_MAX 65536u
/* bytes of a LOST record that are kept while its last time is looked for */
#define READER_LOSS_MAX 128u

/* requests */
#define READER_WAKE	(1u << 0)
#define READER_FLUSH	(1u << 1)
#define READER_DEADLINE (1u << 2) /* look at it again */
#define READER_UNMARKED (1u << 3) /* a flush that could not note the heads: all that is there now */

/* report: what is to be reported when the round is over */
#define REPORT_DEADLINE (1u << 0)
#define REPORT_FLUSH	(1u << 1)

struct coati_merge;
struct reader_ring;

/* An event that writes into a ring. */
struct reader_member {
	struct reader_member *next;
	struct reader_ring *ring;
	int fd;
	uint64_t read_format, id;
	uint64_t lost; /* as last read; what was before we came does not count */
	uint64_t lost_before;
	bool ended;
};

struct reader_ring {
	struct coati_ring *ring;
	struct reader_member *members;
	uint32_t nr_members, nr_live;
	bool over;		     /* all members have ended: drain, settle, END */
	bool over_told;		     /* coati_reader_wait() has said so */
	bool last_look;		     /* the head was looked at after it was over */
	bool ended;		     /* END was delivered */
	bool settle;		     /* ask for losses when this round is drained */
	bool limited;		     /* this round ends at a mark: there is more behind it */
	_Atomic uint64_t flush_mark; /* head when a flush was last asked for */
	uint64_t settled_at;	     /* position at which it was empty when last asked */
	bool settled_empty;
	uint64_t last_time;
	/* a loss whose last time was looked for has brought the item behind it along */
	bool have_behind;
	struct coati_ring_item behind;
	uint8_t loss_bytes[READER_LOSS_MAX];
	/* merge: the item at the front, in the heap of fronts */
	struct coati_ring_item front;
	bool in_front;
};

struct coati_reader {
	_Atomic uint32_t requests;
	_Atomic bool closed, waiting;
	_Atomic int64_t deadline_ns;
	_Atomic int timer_fd; /* -1 until a foreign loop or an old kernel needs it */
	int epoll_fd, event_fd;

	ARRAY(struct reader_ring *) rings;
	uint32_t nr_ended;
	size_t current;		   /* ring of this round that is being taken from */
	_Atomic bool stable;	   /* rings may be walked by a flush */
	_Atomic uint32_t flushers; /* that walk them now */
	uint32_t flush_waits;	   /* requests of a flush that came while one was being delivered */
	bool looked;		   /* all rings since the last wake */
	bool round_open;	   /* something of the round may be left */
	bool foreign;		   /* another event loop polls our descriptor */
	bool no_pwait2;		   /* the kernel does not have it, or a test says so */
	unsigned int report;
	coati_time_fn time_fn;
	void *time_ctx;
	bool settle_due; /* losses are to be asked for in the next round */
	uint64_t look_ns, look_at;
	uint64_t loss_check_ns, loss_check_at;
	struct coati_merge *merge;
	struct coati_ring_stats gone; /* of rings that were removed */
};

/* ---- reader.c ---- */
/* Look at all rings; what they hold now is the round. */
void coati_reader_begin_round(struct coati_reader *rd, bool settle);
/* The next item of one ring in this round: records, losses with their times, what the balance says,
 * END. */
int coati_reader_pull(struct coati_reader *rd, struct reader_ring *rr, struct coati_ring_item *ret);

/* ---- reader-set.c ---- */
/* A ring that exists already; polled through @fd (-1: not at all). For tests. Takes the ring on
 * success. */
int coati_reader_adopt(struct coati_reader *rd, struct coati_ring *ring, int fd,
		       const struct coati_reader_ring_opts *opts, struct coati_error *err);

/* ---- reader-wait.c ---- */
int coati_reader_wait_init(struct coati_reader *rd, struct coati_error *err);
void coati_reader_wait_fini(struct coati_reader *rd);
int coati_reader_watch(struct coati_reader *rd, struct reader_member *m);
void coati_reader_unwatch(struct coati_reader *rd, struct reader_member *m);
/* Sleep, at most until the deadline or the next tick. 1: a ring has something, look at all of them;
 * 0: time passed or there is a request, look at the clock and the requests; -EINTR;
 * -EAGAIN when !@block and nothing happened; other negative errnos of epoll. */
int coati_reader_sleep(struct coati_reader *rd, bool block);
bool coati_reader_deadline_passed(const struct coati_reader *rd);
/* -EBADF closed, -EINTR woken, else 0; and the bits of a flush when one was asked for. */
int coati_reader_requests(struct coati_reader *rd, uint32_t *ret_flush);
/* The set of rings is about to change, and has changed: no other thread walks it between the
 * two. */
void coati_reader_begin_change(struct coati_reader *rd);
void coati_reader_end_change(struct coati_reader *rd);

/* ---- reader-loss.c ---- */
/* The lost count of an event by read(2): 1 and *ret, 0 when its format does not tell. */
int coati_member_read_lost(const struct reader_member *m, uint64_t *ret);
/* A LOSS for what the events have lost and no record has reported: 1 and *ret, else 0. */
int coati_reader_settle(struct coati_reader *rd, struct reader_ring *rr,
			struct coati_ring_item *ret);

/* ---- reader-merge.c ---- */
int coati_merge_new(uint64_t delay_ns, uint64_t ceiling, struct coati_merge **ret);
void coati_merge_free(struct coati_merge **m);
/* A round has begun: the fronts of the rings are to be fetched. */
void coati_merge_begin(struct coati_merge *m);
int coati_merge_take(struct coati_reader *rd, struct coati_merge *m, struct coati_ring_item *ret);
/* When something that is held back may go, on our clock; UINT64_MAX: nothing is held. */
uint64_t coati_merge_due_ns(const struct coati_merge *m);
/* Before a ring is added: room for so many fronts. */
int coati_merge_reserve(struct coati_merge *m, size_t nr_rings);
/* A ring goes away: nothing of it may be looked at any more. */
void coati_merge_forget(struct coati_merge *m, const struct reader_ring *rr);
