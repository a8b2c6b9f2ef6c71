/* SPDX-License-Identifier: MIT */
/*
 * Live events of a file, in order: <coati/trace.h>. A recording, a flight recorder's file or a core
 * file goes in; its batches feed a live reader, and events come out. A file that is cut or damaged
 * gives all events before the damage, then the error.
 */
#include <coati/trace.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/recording.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "live-read/batch.h"
#include "live-read/flight.h"
#include "live-read/reader.h"
#include "record/batch.h"

struct coati_trace {
	struct coati_live_reader *reader;
	struct coati_recording *recording; /* or NULL */
	struct coati_flight *flight;	   /* or NULL */
	bool finished;			   /* the input has ended */
	int end;			   /* 0, or the error that ended it */
	struct coati_error error;
};

/* ---- opening ---- */

/* A recording begins with its magic, or is a directory or a stream. */
static int is_recording(const char *path, bool *ret, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	char magic[8] = "";
	struct stat st;

	*ret = true;
	if (!strcmp(path, "-"))
		return 0;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return coati_fail(err, -errno, "open %s: %m", path);
	if (!S_ISREG(st.st_mode))
		return 0;
	if (pread(fd, magic, sizeof(magic), 0) < 0)
		return coati_fail(err, -errno, "read %s: %m", path);
	*ret = !memcmp(magic, "PERFILE2", 8) || !memcmp(magic, "2ELIFREP", 8);
	return 0;
}

static int open_input(struct coati_trace *t, const char *path, struct coati_error *err)
{
	bool recording;
	int r = is_recording(path, &recording, err);

	if (r < 0)
		return r;
	if (recording)
		return coati_recording_open(path, NULL, &t->recording, err);
	r = coati_flight_open(path, &t->flight, err);
	if (r == -EBADMSG)
		coati_fail(err, r, "%s: not a recording, a flight recorder's file or a core file",
			   path);
	return r;
}

int coati_trace_open(const char *path, const struct coati_trace_opts *opts,
		     struct coati_trace **ret, struct coati_error *err)
{
	struct coati_trace *t;
	int r;

	if (!path || !ret)
		return coati_fail(err, -EINVAL, "coati_trace_open() needs a path and a result");
	t = coati_alloc(sizeof(*t));
	if (!t)
		return coati_fail(err, -ENOMEM, "out of memory");
	r = coati_live_reader_new(opts, &t->reader, err);
	if (r == 0)
		r = open_input(t, path, err);
	if (r < 0) {
		coati_trace_close(&t);
		return r;
	}
	*ret = t;
	return 0;
}

void coati_trace_close(struct coati_trace **pt)
{
	struct coati_trace *t = pt ? *pt : NULL;

	if (!t)
		return;
	coati_live_reader_free(&t->reader);
	coati_recording_close(&t->recording);
	coati_flight_close(&t->flight);
	coati_free(t);
	*pt = NULL;
}

/* ---- reading ---- */

/* 1, or negative. */
static int feed(struct coati_trace *t, const void *bytes, size_t size, uint64_t where)
{
	int n = coati_live_reader_feed(t->reader, bytes, size, where, &t->error);

	return n < 0 ? n : 1;
}

/* The same; records that are no batch are passed over. */
static int feed_item(struct coati_trace *t, const struct coati_recording_item *item)
{
	struct coati_batch batch;

	if (!coati_live_batch(t->recording, item, &batch))
		return 1;
	return feed(t, batch.payload, batch.payload_size, item->offset);
}

/* 1: something was read; 0: the input has ended; negative likewise, with an error. */
static int feed_next(struct coati_trace *t)
{
	struct coati_recording_item item;
	const void *bytes;
	uint64_t where;
	size_t size;
	int n;

	if (t->recording) {
		n = coati_recording_next(t->recording, &item);
		if (n < 0)
			t->error = *coati_recording_error(t->recording);
		if (n > 0)
			n = feed_item(t, &item);
	} else {
		n = coati_flight_next(t->flight, &bytes, &size, &where);
		if (n < 0)
			coati_fail(&t->error, n, "reading the flight recorder: %m");
		if (n > 0)
			n = feed(t, bytes, size, where);
	}
	return n;
}

int coati_trace_next(struct coati_trace *t, const struct coati_trace_event **ret)
{
	int n;

	if (!t || !ret)
		return -EINVAL;
	while ((n = coati_live_reader_next(t->reader, ret)) == 0 && !t->finished) {
		n = feed_next(t);
		if (n > 0)
			continue;
		t->finished = true;
		t->end = n;
		n = coati_live_reader_finish(t->reader);
		if (n < 0)
			return n;
	}
	return n ? n : t->end;
}

/* ---- questions ---- */

int coati_trace_get_quality(const struct coati_trace *t, struct coati_trace_quality *ret)
{
	struct coati_trace_quality q = { .size = sizeof(q) };

	if (!t)
		return -EINVAL;
	coati_live_reader_get_quality(t->reader, &q);
	return SIZED_FILL(ret, &q);
}

const struct coati_error *coati_trace_damage(const struct coati_trace *t)
{
	static const struct coati_error none;
	const struct coati_error *e;

	if (!t)
		return &none;
	if (t->error.code)
		return &t->error;
	e = coati_live_reader_damage(t->reader);
	return e->code || !t->recording ? e : coati_recording_damage(t->recording);
}

int coati_trace_field_next(const struct coati_trace *t, const struct coati_trace_event *e,
			   struct coati_trace_pos *pos, struct coati_trace_field *ret)
{
	return t && e && pos && ret ? coati_live_reader_field_next(t->reader, e, pos, ret)
				    : -EINVAL;
}

size_t coati_trace_event_format(const struct coati_trace *t, const struct coati_trace_event *e,
				char *buf, size_t cap)
{
	return coati_live_reader_format(t->reader, e, buf, cap);
}
