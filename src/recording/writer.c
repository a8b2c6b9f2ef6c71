/* SPDX-License-Identifier: MIT */
/*
 * Writing a recording. In file mode an empty header, ids, attrs and a foreword go first, then
 * records as they come, then the feature sections and the header once more. In pipe mode everything
 * is a record. Records of ours are gathered in a small buffer; spans of a ring are written from
 * where they lie, together with that buffer in one writev.
 */
#include <coati/recording.h>

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
#include "recording/header.h"
#include "recording/section-table.h"
#include "recording/sections.h"
#include "recording/tracing-writer.h"
#include "recording/zstd.h"

#define PENDING_MAX   65536
#define PACK_PIECE    (48 * 1024)
#define PACK_MAPPED   (512 * 1024) /* what readers must have room for to unpack one record */
#define SECTION_MAX   (64u << 20)
#define RECORD_MAX    65535
#define EVENTS_MAX    65536
#define SECTIONS_ROOM 65536

struct event_out {
	struct coati_attr attr;
	char *name;
	uint64_t *ids;
	uint32_t nr_ids;
	bool more_ids;	     /* than are in the file */
	uint32_t nr_members; /* of the group that it leads, 0: none */
};

struct coati_writer {
	int fd;
	bool pipe, started;
	int failed; /* sticky */
	uint64_t max_bytes;
	uint64_t written; /* bytes in the file that are whole records (or header) */
	uint64_t attrs_offset, data_offset;
	uint32_t attr_bytes;	 /* of one attr in the file */
	uint64_t size_in_header; /* data size that the header says now */
	uint8_t pending[PENDING_MAX];
	size_t nr_pending;
	ARRAY(struct event_out) events;
	struct strbuf features[COATI_FEATURE_MAX];
	struct packer *packer;
	int zstd_level;
	uint64_t packed_in, packed_out;
	char path[256];
};

static int fail(struct coati_writer *w, int code)
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
		return fail(w, -EFBIG);
	memcpy(left, iov, (size_t)nr * sizeof(*iov));
	while (done < total) {
		ssize_t n = writev(w->fd, at, nr_left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			int code = n < 0 ? -errno : -EIO;

			cut_back(w, iov, nr, done, code);
			return fail(w, code);
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

static int write_plain(struct coati_writer *w, const void *bytes, size_t size)
{
	struct iovec iov = { (void *)(uintptr_t)bytes, size };

	return w->failed ? w->failed : write_out(w, &iov, 1, size);
}

static void put_header(uint8_t *at, uint32_t type, uint16_t misc, size_t size)
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
		return fail(w, (int)n);
	put_header(out, COATI_RECORD_COMPRESSED, 0, (size_t)n + 8);
	w->packed_in += size;
	w->packed_out += (uint64_t)n;
	return write_plain(w, out, (size_t)n + 8);
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

static int flush_pending(struct coati_writer *w)
{
	size_t size = w->nr_pending;

	w->nr_pending = 0;
	if (w->failed || !size)
		return w->failed;
	return w->packer ? write_span(w, w->pending, size) : write_plain(w, w->pending, size);
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
		flush_pending(w);
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
	if (size > PENDING_MAX - w->nr_pending && flush_pending(w) < 0)
		return w->failed;
	memcpy(w->pending + w->nr_pending, record, size);
	w->nr_pending += size;
	return w->failed;
}

/* Over what is there already: the header. */
static int write_at(struct coati_writer *w, const void *bytes, size_t size, off_t offset)
{
	ssize_t n;

	do
		n = pwrite(w->fd, bytes, size, offset);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)size ? 0 : fail(w, n < 0 ? -errno : -EIO);
}

/* Bring the size in the header up to date, so that the file is good up to here if we die now. */
static int update_size(struct coati_writer *w)
{
	uint64_t size = w->written - w->data_offset;

	if (w->pipe || size == w->size_in_header)
		return 0;
	w->size_in_header = size;
	return write_at(w, &size, sizeof(size), 48);
}

int coati_writer_round(struct coati_writer *w)
{
	uint8_t rec[8];
	int r;

	put_header(rec, COATI_RECORD_FINISHED_ROUND, 0, sizeof(rec));
	r = coati_writer_record(w, rec, sizeof(rec));
	if (r == 0)
		r = flush_pending(w);
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

int coati_writer_add_event(struct coati_writer *w, const struct coati_attr *attr, const char *name,
			   const uint64_t *ids, uint32_t nr_ids, struct coati_error *err)
{
	struct event_out *e;

	if (!w || w->started || !attr || !name || (nr_ids && !ids))
		return coati_fail(err, -EINVAL, "events are added before the recording starts");
	e = ARRAY_ADD(&w->events);
	if (!e)
		return coati_fail(err, -ENOMEM, "out of memory, or more than %d events",
				  EVENTS_MAX);
	e->attr = *attr;
	e->name = coati_strdup(name);
	e->ids = coati_alloc_array(nr_ids, sizeof(*ids));
	if (!e->name || !e->ids) {
		coati_free(e->name);
		coati_free(e->ids);
		w->events.len--;
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	if (nr_ids)
		memcpy(e->ids, ids, nr_ids * sizeof(*ids));
	e->nr_ids = nr_ids;
	return 0;
}

static struct event_out *find_event(struct coati_writer *w, uint64_t id)
{
	for (size_t i = 0; i < w->events.len; i++)
		for (uint32_t k = 0; k < w->events.v[i].nr_ids; k++)
			if (w->events.v[i].ids[k] == id)
				return &w->events.v[i];
	return NULL;
}

int coati_writer_add_ids(struct coati_writer *w, uint64_t id, const uint64_t *ids, uint32_t nr_ids)
{
	struct event_out *e = w ? find_event(w, id) : NULL;
	uint64_t *all;

	if (!e)
		return -ENOENT;
	if (w->pipe && w->started)
		return -EOPNOTSUPP;
	if (nr_ids > UINT32_MAX - e->nr_ids)
		return -E2BIG;
	all = coati_realloc_array(e->ids, e->nr_ids + nr_ids, sizeof(*ids));
	if (!all)
		return -ENOMEM;
	memcpy(all + e->nr_ids, ids, nr_ids * sizeof(*ids));
	e->ids = all;
	e->nr_ids += nr_ids;
	e->more_ids = w->started;
	return 0;
}

int coati_writer_group(struct coati_writer *w, uint32_t leader, uint32_t nr_members)
{
	if (!w || leader >= w->events.len || nr_members > w->events.len - leader)
		return -EINVAL;
	w->events.v[leader].nr_members = nr_members;
	return 0;
}

/* A record around a body; longer ones than 64 KiB do not exist. No padding: readers take what is
 * left for more of the same. */
static int write_body(struct coati_writer *w, uint32_t type, const struct strbuf *body)
{
	size_t size = 8 + body->len;
	uint8_t *rec;
	int r;

	if (body->failed)
		return fail(w, body->failed);
	if (size > RECORD_MAX)
		return -E2BIG;
	rec = coati_alloc(size);
	if (!rec)
		return fail(w, -ENOMEM);
	put_header(rec, type, 0, size);
	memcpy(rec + 8, body->text, body->len);
	r = coati_writer_record(w, rec, size);
	coati_free(rec);
	return r;
}

static int write_pipe_feature(struct coati_writer *w, uint32_t bit, const void *bytes, size_t size)
{
	struct strbuf body = STRBUF_INIT(SECTION_MAX + 8);
	int r;

	coati_section_u64(&body, bit);
	coati_strbuf_add(&body, bytes, size);
	r = write_body(w, COATI_RECORD_HEADER_FEATURE, &body);
	coati_strbuf_fini(&body);
	return r;
}

int coati_writer_feature(struct coati_writer *w, uint32_t bit, const void *bytes, size_t size)
{
	if (!w || bit >= COATI_FEATURE_MAX || (size && !bytes))
		return -EINVAL;
	if (w->pipe && w->started)
		return write_pipe_feature(w, bit, bytes, size);
	coati_strbuf_clear(&w->features[bit]);
	coati_strbuf_add(&w->features[bit], bytes, size);
	return w->features[bit].failed;
}

static void describe_events(const struct coati_writer *w, struct strbuf *s)
{
	coati_section_u32(s, (uint32_t)w->events.len);
	coati_section_u32(s, w->attr_bytes);
	for (size_t i = 0; i < w->events.len; i++) {
		const struct event_out *e = &w->events.v[i];

		coati_section_attr(s, &e->attr, w->attr_bytes);
		coati_section_u32(s, e->nr_ids);
		coati_section_string(s, e->name);
		coati_strbuf_add(s, e->ids, e->nr_ids * sizeof(*e->ids));
	}
}

static void describe_groups(const struct coati_writer *w, struct strbuf *s)
{
	uint32_t nr = 0;

	for (size_t i = 0; i < w->events.len; i++)
		nr += w->events.v[i].nr_members > 1;
	if (!nr)
		return;
	coati_section_u32(s, nr);
	for (size_t i = 0; i < w->events.len; i++) {
		if (w->events.v[i].nr_members < 2)
			continue;
		coati_section_string(s, "{anon_group}");
		coati_section_u32(s, (uint32_t)i);
		coati_section_u32(s, w->events.v[i].nr_members);
	}
}

static void describe_packing(const struct coati_writer *w, struct strbuf *s)
{
	uint64_t ratio = w->packed_out ? w->packed_in / w->packed_out : 1;

	coati_section_u32(s, 1); /* version */
	coati_section_u32(s, 1); /* zstd */
	coati_section_u32(s, (uint32_t)w->zstd_level);
	coati_section_u32(s, ratio > UINT32_MAX ? UINT32_MAX : (uint32_t)ratio);
	coati_section_u32(s, PACK_MAPPED);
}

/* The sections that only the writer can make. */
static void describe(struct coati_writer *w)
{
	static const uint32_t bits[] = { COATI_FEATURE_EVENT_DESC, COATI_FEATURE_GROUP_DESC,
					 COATI_FEATURE_COMPRESSED };

	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		coati_strbuf_clear(&w->features[bits[i]]);
	describe_events(w, &w->features[COATI_FEATURE_EVENT_DESC]);
	describe_groups(w, &w->features[COATI_FEATURE_GROUP_DESC]);
	if (w->packer)
		describe_packing(w, &w->features[COATI_FEATURE_COMPRESSED]);
}

#define UPDATE_NAME 2

/* One record per event with its name: where the section that describes all of them is too long for
 * a record. */
static int write_event_names(struct coati_writer *w)
{
	struct strbuf body = STRBUF_INIT(RECORD_MAX);
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->events.len; i++) {
		const struct event_out *e = &w->events.v[i];

		if (!e->nr_ids)
			continue;
		coati_strbuf_clear(&body);
		coati_section_u64(&body, UPDATE_NAME);
		coati_section_u64(&body, e->ids[0]);
		coati_strbuf_add(&body, e->name, strlen(e->name) + 1);
		coati_strbuf_pad(&body, '\0', -body.len & 7);
		r = write_body(w, COATI_RECORD_EVENT_UPDATE, &body);
	}
	coati_strbuf_fini(&body);
	return r;
}

/* The only section that is too long for a record of its own: it lies behind one. */
static int write_pipe_tracing(struct coati_writer *w)
{
	struct strbuf *blob = &w->features[COATI_FEATURE_TRACING_DATA];
	uint8_t rec[12] = { 0 };
	uint32_t size;

	if (!blob->len)
		return 0;
	coati_strbuf_pad(blob, '\0', -blob->len & 7); /* the size counts the padding */
	if (blob->failed)
		return fail(w, blob->failed);
	size = (uint32_t)blob->len;
	put_header(rec, COATI_RECORD_TRACING_DATA, 0, sizeof(rec));
	memcpy(rec + 8, &size, sizeof(size));
	flush_pending(w);
	write_plain(w, rec, sizeof(rec));
	return write_plain(w, blob->text, blob->len);
}

static int start_pipe(struct coati_writer *w)
{
	uint64_t head[2] = { UINT64_C(0x32454c4946524550), HEADER_PIPE_BYTES };
	struct strbuf body = STRBUF_INIT(SECTION_MAX);
	/* what describes the stream is not compressed */
	struct packer *packer = TAKE_PTR(w->packer);
	int r = write_plain(w, head, sizeof(head));

	for (size_t i = 0; r == 0 && i < w->events.len; i++) {
		const struct event_out *e = &w->events.v[i];

		coati_strbuf_clear(&body);
		coati_section_attr(&body, &e->attr, w->attr_bytes);
		coati_strbuf_add(&body, e->ids, e->nr_ids * sizeof(*e->ids));
		r = write_body(w, COATI_RECORD_HEADER_ATTR, &body);
	}
	coati_strbuf_clear(&body);
	describe_events(w, &body);
	if (r == 0)
		r = write_pipe_feature(w, COATI_FEATURE_EVENT_DESC, body.text, body.len);
	if (r == -E2BIG)
		r = write_event_names(w);
	coati_strbuf_clear(&body);
	describe_groups(w, &body);
	if (r == 0 && body.len)
		r = write_pipe_feature(w, COATI_FEATURE_GROUP_DESC, body.text, body.len);
	coati_strbuf_clear(&body);
	describe_packing(w, &body);
	if (r == 0 && packer)
		r = write_pipe_feature(w, COATI_FEATURE_COMPRESSED, body.text, body.len);
	for (uint32_t bit = 0; r == 0 && bit < COATI_FEATURE_MAX; bit++)
		if (w->features[bit].len && bit != COATI_FEATURE_TRACING_DATA)
			r = write_pipe_feature(w, bit, w->features[bit].text, w->features[bit].len);
	coati_strbuf_fini(&body);
	if (r == 0)
		r = write_pipe_tracing(w);
	if (r == 0)
		r = flush_pending(w);
	w->packer = packer;
	return r;
}

/* The header with what is known: @data_size and the bits of @features. */
static int write_header(struct coati_writer *w, uint64_t data_size, const uint64_t features[4])
{
	uint64_t entry = w->attr_bytes + 16;
	uint64_t head[13] = {
		UINT64_C(0x32454c4946524550),
		HEADER_FILE_BYTES,
		entry,
		w->attrs_offset,
		entry * w->events.len,
		w->data_offset,
		data_size,
		0,
		0,
		features[0],
		features[1],
		features[2],
		features[3],
	};

	return write_at(w, head, sizeof(head), 0);
}

/* Ids of all events, then the attrs that point to them, then all that is known about the recording:
 * who is killed has no time left to write it. */
static int start_file(struct coati_writer *w)
{
	static const uint64_t none[4];
	struct strbuf body = STRBUF_INIT(SECTION_MAX);
	uint64_t ids_at = HEADER_FILE_BYTES;
	int r;

	coati_strbuf_pad(&body, '\0', HEADER_FILE_BYTES);
	for (size_t i = 0; i < w->events.len; i++)
		coati_strbuf_add(&body, w->events.v[i].ids, w->events.v[i].nr_ids * 8);
	w->attrs_offset = body.len;
	for (size_t i = 0; i < w->events.len; i++) {
		coati_section_attr(&body, &w->events.v[i].attr, w->attr_bytes);
		coati_section_u64(&body, ids_at);
		coati_section_u64(&body, w->events.v[i].nr_ids * 8);
		ids_at += w->events.v[i].nr_ids * 8;
	}
	describe(w);
	coati_foreword_add(w->features, &body);
	r = body.failed ? fail(w, body.failed) : write_plain(w, body.text, body.len);
	coati_strbuf_fini(&body);
	w->data_offset = w->written;
	return r < 0 ? r : write_header(w, 0, none);
}

/* A reader refuses attrs that are longer than those it knows, so write no longer ones than the
 * fields in use need. */
static uint32_t needed_attr_bytes(const struct coati_writer *w)
{
	uint32_t bytes = offsetof(struct coati_attr, config3);

	for (size_t i = 0; i < w->events.len; i++) {
		const struct coati_attr *a = &w->events.v[i].attr;

		if (a->config3 && bytes < offsetof(struct coati_attr, config4))
			bytes = offsetof(struct coati_attr, config4);
		if (a->config4)
			bytes = sizeof(*a);
	}
	return bytes;
}

int coati_writer_start(struct coati_writer *w, struct coati_error *err)
{
	int r;

	if (!w || w->started || !w->events.len)
		return coati_fail(err, -EINVAL,
				  "a recording needs at least one event and starts once");
	w->started = true;
	w->attr_bytes = needed_attr_bytes(w);
	r = w->pipe ? start_pipe(w) : start_file(w);
	return r < 0 ? coati_fail(err, r, "writing %s: %m", w->path) : 0;
}

int coati_writer_host_features(struct coati_writer *w, int argc, const char *const *argv)
{
	static const struct {
		uint32_t bit;
		void (*fn)(struct strbuf *s);
	} facts[] = {
		{ COATI_FEATURE_HOSTNAME, coati_section_hostname },
		{ COATI_FEATURE_OSRELEASE, coati_section_osrelease },
		{ COATI_FEATURE_ARCH, coati_section_arch },
		{ COATI_FEATURE_NRCPUS, coati_section_nrcpus },
		{ COATI_FEATURE_CPUDESC, coati_section_cpudesc },
		{ COATI_FEATURE_CPUID, coati_section_cpuid },
		{ COATI_FEATURE_TOTAL_MEM, coati_section_total_mem },
		{ COATI_FEATURE_CPU_TOPOLOGY, coati_section_cpu_topology },
		{ COATI_FEATURE_PMU_MAPPINGS, coati_section_pmu_mappings },
		{ COATI_FEATURE_CLOCKID, coati_section_clockid },
		{ COATI_FEATURE_CLOCK_DATA, coati_section_clock_data },
	};
	struct strbuf body = STRBUF_INIT(SECTION_MAX);
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(facts) / sizeof(facts[0]); i++) {
		coati_strbuf_clear(&body);
		facts[i].fn(&body);
		if (body.len && !body.failed)
			r = coati_writer_feature(w, facts[i].bit, body.text, body.len);
	}
	coati_strbuf_clear(&body);
	coati_section_string(&body, "coati");
	if (r == 0)
		r = coati_writer_feature(w, COATI_FEATURE_VERSION, body.text, body.len);
	coati_strbuf_clear(&body);
	coati_section_cmdline(&body, argc, argv);
	if (r == 0 && argc > 0)
		r = coati_writer_feature(w, COATI_FEATURE_CMDLINE, body.text, body.len);
	coati_strbuf_fini(&body);
	return r;
}

int coati_writer_tracing_data(struct coati_writer *w, const char *tracefs, struct coati_error *err)
{
	struct strbuf blob = STRBUF_INIT(SECTION_MAX);
	CLEANUP(freep) struct tracing_event *v = NULL;
	uint32_t nr = 0;
	int r;

	if (!w || !tracefs || w->started)
		return coati_fail(err, -EINVAL,
				  "tracing data comes from a tracefs, before the recording starts");
	v = coati_alloc_array(w->events.len, sizeof(*v));
	if (!v)
		return coati_fail(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < w->events.len; i++)
		if (w->events.v[i].attr.type == COATI_TYPE_TRACEPOINT)
			v[nr++] = (struct tracing_event){ w->events.v[i].attr.config,
							  w->events.v[i].name };
	r = nr ? coati_tracing_data(tracefs, v, nr, &blob, err) : 0;
	if (r == 0 && nr)
		r = coati_writer_feature(w, COATI_FEATURE_TRACING_DATA, blob.text, blob.len);
	coati_strbuf_fini(&blob);
	return r;
}

int coati_writer_build_id(struct coati_writer *w, int32_t pid, uint16_t misc, const uint8_t *id,
			  uint32_t id_size, const char *path)
{
	size_t len = (strlen(path) + 1 + 63) & ~(size_t)63, size = 36 + len;
	uint8_t rec[36 + 4160] = { 0 };

	if (!w || id_size > 20 || len > 4160)
		return -EINVAL;
	put_header(rec, COATI_RECORD_BUILD_ID, misc | COATI_MISC_BUILD_ID_SIZE, size);
	memcpy(rec + 8, &pid, 4);
	memcpy(rec + 12, id, id_size);
	rec[32] = (uint8_t)id_size;
	memcpy(rec + 36, path, strlen(path));
	if (w->pipe)
		return coati_writer_record(w, rec, size);
	coati_strbuf_add(&w->features[COATI_FEATURE_BUILD_ID], rec, size);
	return w->features[COATI_FEATURE_BUILD_ID].failed;
}

int coati_writer_batch(struct coati_writer *w, const struct coati_batch *batch)
{
	uint8_t record[COATI_LIVE_BATCH_MAX + 128];
	struct coati_batch b = *batch;
	int size;

	for (size_t i = 0; i < w->events.len; i++) {
		const struct event_out *e = &w->events.v[i];

		if (strcmp(e->name, COATI_LIVE_EVENT) != 0 || !e->nr_ids)
			continue;
		b.id = e->ids[0];
		size = coati_batch_encode(&b, record, sizeof(record));
		return size < 0 ? size : coati_writer_record(w, record, (size_t)size);
	}
	return -EINVAL;
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

int coati_writer_is_pipe(const struct coati_writer *w)
{
	return w && w->pipe;
}

/* The ids of an event that got more, at the end of the file, and where they are into its attr. */
static int write_more_ids(struct coati_writer *w)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < w->events.len; i++) {
		const struct event_out *e = &w->events.v[i];
		uint64_t where[2] = { w->written, e->nr_ids * UINT64_C(8) };

		if (!e->more_ids)
			continue;
		r = write_plain(w, e->ids, e->nr_ids * sizeof(*e->ids));
		if (r == 0)
			r = write_at(w, where, sizeof(where),
				     (off_t)(w->attrs_offset + i * (w->attr_bytes + 16) +
					     w->attr_bytes));
	}
	return r;
}

/* The table of sections and their bodies behind the data, then the header once more. */
static int finish_file(struct coati_writer *w)
{
	uint64_t bits[4] = { 0 }, end = w->written;
	struct strbuf all = STRBUF_INIT(SECTIONS_MAX);
	int r;

	describe(w);
	coati_section_table_add(w->features, end, &all, bits);
	r = all.failed ? fail(w, all.failed) : write_plain(w, all.text, all.len);
	coati_strbuf_fini(&all);
	if (r == 0)
		r = write_more_ids(w);
	if (r == 0)
		return write_header(w, end - w->data_offset, bits);
	/* the records are readable without */
	w->written = end;
	return ftruncate(w->fd, (off_t)end) < 0 ? -errno : r;
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
		flush_pending(w);
		if (!w->failed && !w->pipe)
			finish_file(w);
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
