/* SPDX-License-Identifier: MIT */
/* Reading the memory of flight recorders. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <coati/error.h>

/*
 * The memory of a flight recorder, of a process that lives or has died: a file below
 * /dev/shm/coati-UID, or a core file in which it lies or is named. It is read, never mapped:
 * nothing that its owner does to it can hurt the reader. What comes out are batches for
 * coati_live_reader_feed(), generation by generation, those that are still open as far as they are
 * written.
 */
struct coati_flight;

struct coati_flight_info {
	uint32_t pid, uid;
	uint64_t start_ticks; /* field 22 of /proc/PID/stat */
	uint8_t boot_id[16];
	char comm[17];
	uint8_t has_ended; /* its recorder was stopped in order */
	uint8_t is_core;   /* found by way of a core file */
	uint8_t is_alive;  /* its writer is there, and has it locked */
	uint32_t signal;   /* that ended it, as its core file tells; 0 not known */
	uint64_t bytes;	   /* of its memory */
	uint64_t generation, oldest;
	uint64_t dropped;      /* events that it had no room for */
	uint64_t realtime_ns;  /* when the recorder started */
	uint64_t monotonic_ns; /* the same instant */
	uint64_t watcher;      /* pid of one that records it from outside, 0 none */
	uint64_t modified_ns;  /* of the file, CLOCK_REALTIME; 0 not known */
	uint32_t nr_chunks, nr_used;
	/* chunks that were given to another thread while they were read: left out */
	uint32_t nr_changed;
	uint32_t nr_damaged; /* that are malformed */
	/* Of the file, as the kernel says; @uid is what its writer says. In a core file that of the
	 * core. */
	uint32_t owner;
	uint32_t reserved;
	uint64_t memory; /* bytes that it takes; @bytes may have holes */
};

/* A file of a flight recorder or a core file. -EBADMSG: neither; -ENOENT: the core names a
 * recorder whose file is gone. */
int coati_flight_open(const char *path, struct coati_flight **ret, struct coati_error *err);

/* The same from a descriptor, which is taken over. */
int coati_flight_open_fd(int fd, struct coati_flight **ret, struct coati_error *err);

void coati_flight_get_info(const struct coati_flight *f, struct coati_flight_info *ret);

/* Only generations from @from to @to, before the first next(): to continue an earlier read. A
 * continued read (@from is not the first) does not repeat which tasks were open. */
void coati_flight_between(struct coati_flight *f, uint64_t from, uint64_t to);

/* 1 and a batch, which lives until the next call; 0 at the end; -EIO and the like. *ret_where:
 * its offset. */
int coati_flight_next(struct coati_flight *f, const void **ret, size_t *ret_size,
		      uint64_t *ret_where);

void coati_flight_close(struct coati_flight **f);
