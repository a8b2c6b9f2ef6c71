/* SPDX-License-Identifier: MIT */
/* One run of coati top: what is watched, the capture behind it, and the model that it fills. */
#pragma once

#include <coati/capture.h>
#include <coati/child.h>

#include "cli/record/live.h"
#include "cli/top/args.h"
#include "cli/top/feed.h"
#include "cli/top/model.h"
#include "cli/top/spool.h"

struct top_session {
	const struct top_args *args;
	struct coati_event_list *list;
	struct coati_capture *cap;
	struct record_live live;
	struct coati_child *child;
	struct coati_child_status status;
	bool has_status;
	bool has_ended; /* all that was watched */
	struct top_model model;
	struct top_feed feed;
	struct top_spool spool;
	uint64_t start_ns;
	uint64_t cpu_ns, cpu_at_ns; /* of this process, at the last look, and when that was */
	double own_share;	    /* of one CPU */
	struct coati_capture_stats stats;
	struct coati_error err;
};

/* Hold the command, open the events. -1: go on; else the exit code, and the reason was said. */
int coati_top_open(struct top_session *s, const struct top_args *args);
/* Live: a part of the spool, and let everything run. The exit code or -1. */
int coati_top_start(struct top_session *s);
/* Let the events and the command run. The exit code or -1. */
int coati_top_set_going(struct top_session *s);
/* Wait until @deadline_ns or until the capture is woken; new samples are then in the model. False:
 * the session failed, s->err says why. */
bool coati_top_wait(struct top_session *s, uint64_t deadline_ns);
/* Bytes of the model and the spool. */
uint64_t coati_top_bytes(const struct top_session *s);
/* Everything ends; the command, too. */
void coati_top_close(struct top_session *s);
/* What the whole ends with. */
int coati_top_exit(const struct top_session *s);

/* --once: sample, then print. */
int coati_top_once(struct top_session *s);
/* What an agent has stored: one table. The exit code. */
int coati_top_stored(struct top_session *s, const struct top_args *args);
/* The screen, until the user quits. */
int coati_top_screen(struct top_session *s);
