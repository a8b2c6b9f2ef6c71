/* SPDX-License-Identifier: MIT */
/*
 * Mappings, reported at once. The ring buffers of a capture are read when a quarter of one is
 * full, or once a second. A program can have ended by then, and its file can be deleted. So the
 * kernel writes the mappings of code a second time, into a ring buffer of one page per CPU that
 * wakes the reader at each record. In: those records. Out: files that are open (images.h).
 *
 * This is an addition. Where memory or descriptors are short it is left out, and files are opened
 * when the other ring buffers are read. Its records do not go into the recording, and losing some
 * of them loses nothing else.
 */
#pragma once

#include <stdint.h>

#include <coati/event.h>
#include <coati/record.h>

#include "capture/images.h"
#include "capture/rings.h"

#define NOTICE_EVENTS_MAX 1024 /* of one capture: there are as many as threads times CPUs */

struct notice {
	struct coati_attr attr;
	struct coati_set *set; /* NULL: it is not there */
	struct coati_sample_format format;
	struct rings rings; /* in the reader of the capture */
	uint32_t first;	    /* number of its first ring in the reader */
	uint64_t due_ns;    /* when the next round is due; see notice.c */
	uint64_t look_ns;   /* when to look next while the other rings are read */
	uint8_t *joined;    /* room for a record that wraps */
};

/* @list: one dummy event. @side: its attributes as a side-band event. @opts: its targets. The ring
 * buffers become part of @reader. After a failure it is closed. */
int coati_notice_open(struct notice *n, const struct coati_event_list *list,
		      const struct coati_attr *side, const struct coati_set_opts *opts,
		      struct coati_reader *reader);
/* After the reader, which has its rings. A zeroed one is fine. */
void coati_notice_close(struct notice *n);
/* Open what was mapped since the last call. Waits a moment if there is very much of it. 1: there
 * was something; 0; -ENOMEM. */
int coati_notice_round(struct notice *n, struct images *images);
/* The same without waiting, and at most once a millisecond: for long work between two rounds. */
int coati_notice_look(struct notice *n, struct images *images);
