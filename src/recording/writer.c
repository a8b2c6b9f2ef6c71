/* SPDX-License-Identifier: MIT */
/*
 * Writing a recording. In file mode an empty header, ids, attrs and a foreword go first, then
 * records as they come, then the feature sections and the header once more. In pipe mode everything
 * is a record. Own records are gathered in a small buffer; spans of a ring are written from where
 * they lie, together with that buffer in one writev.
 */
#include "recording/writer-parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/sized.h"
#include "record/batch.h"
#include "recording/header.h"
#include "recording/recording.h"
#include "recording/section-table.h"
#include "recording/sections.h"
#include "recording/tracing-writer.h"
#include "recording/writer.h"
#include "recording/zstd.h"

#define PACK_PIECE    (48 * 1024)
#define SECTIONS_ROOM 65536 /* that a full disk leaves for what explains the records */

int coati_writer_fail(struct coati_writer *w, int code)
{
	if (!w->failed)
		w->failed = code;
	return w->failed;
}

/* How much of the first @size bytes of @iov is whole records. */
static size_t whole_records(const struct iovec *iov, int nr, size_t size)
{
	size_t at = 0, start = 0;

	for (int i = 0; i < nr; start += iov[i++].iov_len) {
		const uint8_t *bytes = iov[i].iov_base;

		/* a record may run on into the next piece; its header does not */
		while (at >= start && at - start + 8 <= iov[i].iov_len) {
			uint16_t step;

			memcpy(&step, bytes + (at - start) + 6, sizeof(step));
			if (step < 8 || step > size - at)
				return at;
			at += step;
		}
	}
	return at;
}

/* A write failed after @done bytes. Keep the whole records among them, and where the disk is full
 * leave room for the sections at the end, without which names and build ids would be missing. */
static void cut_back(struct coati_writer *w, const struct iovec *iov, int nr, size_t done, int code)
{
	if (w->pipe)
		return;
	if (code == -ENOSPC)
		done = done > SECTIONS_ROOM ? done - SECTIONS_ROOM : 0;
	if (w->started && w->data_offset && !w->packer)
		w->written += whole_records(iov, nr, done);
	if (ftruncate(w->fd, (off_t)w->written) == 0)
		lseek(w->fd, (off_t)w->written, SEEK_SET);
}

/* All of @iov (at most 3), or cut the file back to the last whole record. */
static int write_out(struct coati_writer *w, const struct iovec *iov, int nr, size_t total)
{
	struct iovec left[3], *at = left;
	int nr_left = nr;
	size_t done = 0;

	if (w->max_bytes &&
	    total > w->max_bytes - (w->written < w->max_bytes ? w->written : w->max_bytes))
		return coati_writer_fail(w, -EFBIG);
	memcpy(left, iov, (size_t)nr * sizeof(*iov));
	while (done < total) {
		ssize_t n = writev(w->fd, at, nr_left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int code = n < 0 ? -errno : -EIO;

			cut_back(w, iov, nr, done, code);
			return coati_writer_fail(w, code);
		}
		done += (size_t)n;
		while (nr_left && (size_t)n >= at->iov_len) {
			n -= (ssize_t)at->iov_len;
			at++;
			nr_left--;
		}
		if (nr_left) {
			at->iov_base = (char *)at->iov_base + n;
			at->iov_len -= (size_t)n;
		}
	}
	w->written += total;
	return 0;
}

int coati_writer_plain(struct coati_writer *w, const void *bytes, size_t size)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, size };

	return w->failed ? w->failed : write_out(w, &iov, 1, size);
}

void coati_writer_head(uint8_t *at, uint32_t type, uint16_t misc, size_t size)
{
	uint16_t size16 = (uint16_t)size;

	memcpy(at, &type, 4);
	memcpy(at + 4, &misc, 2);
	memcpy(at + 6, &size16, 2);
}

/* One piece as a COMPRESSED record. */
static int write_packed(struct coati_writer *w, const uint8_t *bytes, size_t size)
{
	uint8_t out[RECORD_MAX];
	int64_t n = coati_packer_pack(w->packer, bytes, size, out + 8, sizeof(out) - 8);

	if (n < 0)
		return coati_writer_fail(w, (int)n);
	coati_writer_head(out, COATI_RECORD_COMPRESSED, 0, (size_t)n + 8);
	w->packed_in += size;
	w->packed_out += (uint64_t)n;
	return coati_writer_plain(w, out, (size_t)n + 8);
}

static int write_span(struct coati_writer *w, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;

	while (size && !w->failed) {
		size_t step = size < PACK_PIECE ? size : PACK_PIECE;

		write_packed(w, p, step);
		p += step;
		size -= step;
	}
	return w->failed;
}

int coati_writer_flush(struct coati_writer *w)
{
	size_t size = w->nr_pending;

	w->nr_pending = 0;
	if (w->failed || !size)
		return w->failed;
	return w->packer ? write_span(w, w->pending, size)
			 : coati_writer_plain(w, w->pending, size);
}

int coati_writer_write(struct coati_writer *w, const void *first, size_t first_size,
		       const void *second, size_t second_size)
{
	struct iovec iov[3];
	size_t total = 0;
	int nr = 0;

	if (!w || !w->started)
		return -EINVAL;
	if (w->failed)
		return w->failed;
	if (w->packer) {
		coati_writer_flush(w);
		write_span(w, first, first_size);
		return write_span(w, second, second_size);
	}
	if (w->nr_pending)
		iov[nr++] = (struct iovec){ w->pending, w->nr_pending };
	if (first_size)
		iov[nr++] = (struct iovec){ (void *)(uintptr_t)first, first_size };
	if (second_size)
		iov[nr++] = (struct iovec){ (void *)(uintptr_t)second, second_size };
	for (int i = 0; i < nr; i++)
		total += iov[i].iov_len;
	w->nr_pending = 0;
	return nr ? write_out(w, iov, nr, total) : 0;
}

int coati_writer_record(struct coati_writer *w, const void *record, size_t size)
{
	if (!w || !w->started || size > RECORD_MAX || size < 8)
		return -EINVAL;
	if (size > PENDING_MAX - w->nr_pending && coati_writer_flush(w) < 0)
		return w->failed;
	memcpy(w->pending + w->nr_pending, record, size);
	w->nr_pending += size;
	return w->failed;
}

/* Over what is there already: the header. */
int coati_writer_at(struct coati_writer *w, const void *bytes, size_t size, off_t offset)
{
	ssize_t n;

	do
		n = pwrite(w->fd, bytes, size, offset);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size ? 0 : coati_writer_fail(w, n < 0 ? -errno : -EIO);
}

/* Bring the size in the header up to date, so that the file is good up to here if we die now. */
static int update_size(struct coati_writer *w)
{
	uint64_t size = w->written - w->data_offset;

	if (w->pipe || size == w->size_in_header)
		return 0;
	w->size_in_header = size;
	return coati_writer_at(w, &size, sizeof(size), 48);
}

int coati_writer_round(struct coati_writer *w)
{
	uint8_t rec[8];
	int r;

	coati_writer_head(rec, COATI_RECORD_FINISHED_ROUND, 0, sizeof(rec));
	r = coati_writer_record(w, rec, sizeof(rec));
	if (r == 0)
		r = coati_writer_flush(w);
	return r == 0 ? update_size(w) : r;
}

static int init_writer(int fd, const char *name, const struct coati_writer_opts *given,
		       struct coati_writer **ret, struct coati_error *err)
{
	struct coati_writer_opts opts;
	struct coati_writer *w;
	int r = SIZED_COPY(&opts, given);

	if (r < 0)
		coati_fail(err, r, "options of a newer library, or a wrong size field");
	else if (opts.zstd_level < 0 || opts.zstd_level > 19)
		r = coati_fail(err, -EINVAL, "compression level %d is not between 0 and 19",
			       opts.zstd_level);
	if (r < 0) {
		close(fd);
		return r;
	}
	w = coati_alloc(sizeof(*w));
	if (!w) {
		close(fd);
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	w->fd = fd;
	w->pipe = opts.flags & COATI_WRITER_PIPE;
	w->max_bytes = opts.max_bytes;
	w->zstd_level = opts.zstd_level;
	w->events.max = EVENTS_MAX;
	snprintf(w->path, sizeof(w->path), "%s", name);
	for (int i = 0; i < COATI_FEATURE_MAX; i++)
		w->features[i] = (struct strbuf)STRBUF_INIT(SECTION_MAX);
	if (opts.zstd_level)
		r = coati_packer_new(opts.zstd_level, &w->packer, err);
	*ret = w;
	if (r < 0)
		coati_writer_close(ret, NULL);
	return r;
}

int coati_writer_open(const char *path, const struct coati_writer_opts *opts,
		      struct coati_writer **ret, struct coati_error *err)
{
	struct coati_writer_opts copy;
	int fd;

	if (!path || !ret)
		return coati_fail(err, -EINVAL, "no path was given");
	if (strcmp(path, "-")) {
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
		return fd < 0 ? coati_fail(err, -errno, "%s: %m", path)
			      : init_writer(fd, path, opts, ret, err);
	}
	fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return coati_fail(err, -errno, "standard output: %m");
	if (SIZED_COPY(&copy, opts) == 0) {
		copy.flags |= COATI_WRITER_PIPE;
		opts = &copy;
	}
	return init_writer(fd, "standard output", opts, ret, err);
}

int coati_writer_open_fd(int fd, const struct coati_writer_opts *opts, struct coati_writer **ret,
			 struct coati_error *err)
{
	return fd < 0 || !ret ? coati_fail(err, -EINVAL, "no descriptor was given")
			      : init_writer(fd, "the output", opts, ret, err);
}

int coati_writer_reopen(const struct coati_writer *w)
{
	char path[64];
	int fd;

	if (w->pipe)
		return -ESPIPE;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", w->fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

uint64_t coati_writer_bytes(const struct coati_writer *w)
{
	return w->written + w->nr_pending;
}

uint64_t coati_writer_live_batches(const struct coati_writer *w)
{
	return w->live_batches;
}

int coati_writer_is_pipe(const struct coati_writer *w)
{
	return w && w->pipe;
}

int coati_writer_close(struct coati_writer **wp, struct coati_error *err)
{
	struct coati_writer *w = wp ? *wp : NULL;
	int r, stopped;

	if (!w)
		return 0;
	stopped = w->failed;
	/* the ceiling is for records, and a full disk was left some room: the sections that explain
	 * them still go in */
	if (stopped == -EFBIG || stopped == -ENOSPC) {
		w->failed = 0;
		w->max_bytes = 0;
		w->nr_pending = 0;
	}
	if (w->started) {
		coati_writer_flush(w);
		if (!w->failed && !w->pipe)
			coati_writer_finish(w);
		if (w->failed && !w->pipe)
			update_size(w);
	}
	r = stopped ? stopped : w->failed;
	if (close(w->fd) < 0 && r == 0)
		r = -errno;
	if (r < 0)
		coati_fail(err, r, "writing %s: %m", w->path);
	for (size_t i = 0; i < w->events.len; i++) {
		coati_free(w->events.v[i].name);
		coati_free(w->events.v[i].ids);
	}
	ARRAY_FINI(&w->events);
	for (int i = 0; i < COATI_FEATURE_MAX; i++)
		coati_strbuf_fini(&w->features[i]);
	coati_packer_free(w->packer);
	coati_free(w);
	*wp = NULL;
	return r;
}
