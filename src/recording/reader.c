/* SPDX-License-Identifier: MIT */
/*
 * Opening a recording and handing out its records. A directory (perf record --threads) has a file
 * `data` with the header and files `data.0`, `data.1` ... of records; they are merged by time.
 */
#include <coati/recording.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/opening.h"
#include "base/parse.h"
#include "base/sized.h"
#include "record/batch.h"
#include "record/record.h"
#include "recording/follow.h"
#include "recording/header.h"
#include "recording/recording.h"
#include "recording/stream.h"

#define DEFAULT_WINDOW (24u << 20)
#define STREAMS_MAX    4096

struct coati_recording {
	struct shared shared;
	ARRAY(struct stream) streams; /* filled once at opening, then never moved */
	ARRAY(int) fds;
	uint64_t window_bytes;
	bool file_order;
	/* of the items that the caller looks at, each once */
	struct chunk *delivered[RECORDING_BUNCH];
	uint32_t nr_delivered;
	uint32_t note; /* of the last of them */
	char *path;
};

static int add_stream(struct coati_recording *r, int fd, bool seekable, const char *name)
{
	struct stream *s = ARRAY_ADD(&r->streams);
	int *slot = s ? ARRAY_ADD(&r->fds) : NULL;

	if (!slot) {
		r->streams.len -= s != NULL;
		close(fd);
		return -ENOMEM;
	}
	*slot = fd;
	coati_stream_init(s, &r->shared, fd, seekable);
	coati_order_init(&s->order, r->window_bytes);
	s->order.file_order = r->file_order;
	s->name = name;
	s->outer.swap = s->inner.swap = r->shared.model.swap;
	return 0;
}

/* As many of the first bytes as there are, up to a whole file header. */
static int read_start(int fd, bool seekable, uint8_t *buf, size_t *ret_size)
{
	size_t want = HEADER_PIPE_BYTES, have = 0;

	while (have < want) {
		ssize_t n = seekable ? pread(fd, buf + have, want - have, (off_t)have)
				     : read(fd, buf + have, want - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		have += (size_t)n;
		/* a pipe-mode header has 16 bytes: nothing of the records behind it is taken */
		if (have == HEADER_PIPE_BYTES &&
		    (buf[8] != HEADER_PIPE_BYTES && buf[15] != HEADER_PIPE_BYTES))
			want = HEADER_FILE_BYTES;
	}
	*ret_size = have;
	return 0;
}

/* How far the records go. A recorder that was killed leaves a size of 0, or the size at its last
 * round; and no sections, or those that it meant to write, of which @damage tells. */
static void set_data_range(struct coati_recording *r, const struct file_header *h,
			   uint64_t file_size, const struct damage *damage)
{
	struct stream *s = &r->streams.v[0];
	uint64_t end = h->data.offset + h->data.size;
	bool none = !(h->features[0] | h->features[1] | h->features[2] | h->features[3]);
	bool unfinished = h->data.size ? none && end < file_size : none || damage->count;

	s->outer.offset = h->data.offset;
	/* at the end of its last round a living recorder leaves a size that is right for now */
	s->outer.end =
		unfinished || end < h->data.offset || (none && end == file_size) || r->shared.follow
			? UINT64_MAX
			: end;
	r->shared.model.info.is_truncated = unfinished || end > file_size;
	/* an unfinished file has no sections that could be damaged */
	if (!r->shared.model.info.is_truncated && damage->count) {
		r->shared.damage = *damage;
		coati_error_prefix(&r->shared.damage.first, "%s: ", r->path);
	}
}

static int start_file(struct coati_recording *r, int fd, const struct file_header *h,
		      struct coati_error *err)
{
	struct damage damage = { 0 };
	struct stat st;
	int n;

	if (fstat(fd, &st) < 0)
		return coati_fail(err, -errno, "%s: %m", r->path);
	if (h->data.offset > (uint64_t)st.st_size)
		return coati_fail(
			err, -EBADMSG,
			"%s: the header says that records begin at byte %llu, but the file has "
			"%llu bytes",
			r->path, (unsigned long long)h->data.offset,
			(unsigned long long)st.st_size);
	n = coati_header_read(&(struct header_file){ fd, (uint64_t)st.st_size, h },
			      &r->shared.model, &damage, err);
	if (n < 0) {
		coati_error_prefix(err, "%s: ", r->path);
		return n;
	}
	set_data_range(r, h, (uint64_t)st.st_size, &damage);
	return 0;
}

static int start(struct coati_recording *r, int fd, struct coati_error *err)
{
	bool seekable = lseek(fd, 0, SEEK_CUR) >= 0;
	uint8_t buf[HEADER_FILE_BYTES];
	struct file_header h;
	struct stream *s;
	size_t size = 0;
	int n = read_start(fd, seekable, buf, &size);

	if (n < 0) {
		close(fd);
		return coati_fail(err, n, "%s: %m", r->path);
	}
	n = coati_header_parse(buf, size, &h, err);
	if (n == 0 && !h.is_pipe && !seekable)
		n = coati_fail(
			err, -EOPNOTSUPP,
			"this is a recording in file mode and cannot be read from a pipe: name "
			"the file instead");
	if (n < 0) {
		close(fd);
		coati_error_prefix(err, "%s: ", r->path);
		return n;
	}
	r->shared.model.swap = h.swap;
	r->shared.model.info.is_swapped = h.swap;
	r->shared.model.info.is_pipe = h.is_pipe;
	n = add_stream(r, fd, seekable, r->path);
	if (n < 0)
		return coati_fail(err, n, "%s: out of memory", r->path);
	s = &r->streams.v[0];
	if (!h.is_pipe)
		return start_file(r, fd, &h, err);
	s->outer.offset = HEADER_PIPE_BYTES;
	coati_stream_prime(s);
	return 0;
}

static int open_part(const struct coati_recording *r, int dir, const char *name)
{
	return coati_open_file(&(struct opening){ .kind = OPEN_INPUT,
						  .links = OPEN_NO_LAST_LINK,
						  .no_wait = true,
						  .folder_fd = dir,
						  .root = r->path,
						  .path = name },
			       NULL);
}

/* The files data.0, data.1 ... of a directory recording. */
static int add_directory_files(struct coati_recording *r, int dir, struct coati_error *err)
{
	for (unsigned int i = 0; i < STREAMS_MAX; i++) {
		char name[32];
		int fd, n;

		snprintf(name, sizeof(name), "data.%u", i);
		fd = open_part(r, dir, name);
		if (fd < 0)
			return fd == -ENOENT ? 0 : coati_fail(err, fd, "%s/%s: %m", r->path, name);
		n = add_stream(r, fd, true, r->path);
		if (n < 0)
			return coati_fail(err, n, "%s: out of memory", r->path);
	}
	return 0;
}

static int start_directory(struct coati_recording *r, int dir, struct coati_error *err)
{
	int fd = open_part(r, dir, "data");
	int n;

	if (fd < 0) {
		n = coati_fail(err, fd, "%s is a directory without a file `data`: %m", r->path);
	} else {
		n = start(r, fd, err);
		if (n == 0)
			n = add_directory_files(r, dir, err);
		r->shared.model.info.is_directory = 1;
	}
	close(dir);
	return n;
}

/* How much compressed records may unpack to. */
static int choose_most(struct coati_recording_opts *o, struct coati_error *err)
{
	struct limits limits;
	int n = o->unpack_most ? 0 : coati_limits_read(&limits, err);

	if (n == 0 && !o->unpack_most)
		o->unpack_most = coati_limit(&limits, LIMIT_UNPACK, 0);
	return n;
}

static int new_recording(const char *name, const struct coati_recording_opts *given,
			 struct coati_recording **ret, struct coati_error *err)
{
	struct coati_recording_opts opts;
	struct coati_recording *r;
	int n = SIZED_COPY(&opts, given);

	if (n < 0)
		return coati_fail(err, n, "options of a newer library, or a wrong size field");
	n = choose_most(&opts, err);
	if (n < 0)
		return n;
	r = coati_alloc(sizeof(*r));
	if (!r)
		return coati_fail(err, -ENOMEM, "out of memory");
	r->shared.unpack_most = opts.unpack_most;
	r->streams.max = r->fds.max = STREAMS_MAX + 1;
	r->shared.follow = opts.flags & COATI_RECORDING_FOLLOW;
	r->file_order = opts.flags & COATI_RECORDING_FILE_ORDER;
	r->window_bytes = opts.window_bytes ? opts.window_bytes : DEFAULT_WINDOW;
	coati_chunk_pool_init(&r->shared.pool, r->window_bytes + 8 * CHUNK_BYTES);
	r->path = coati_strdup(name);
	n = coati_model_init(&r->shared.model);
	*ret = r;
	if (!r->path || n < 0) {
		coati_recording_close(ret);
		return coati_fail(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int open_named(const char *name, int fd, const struct coati_recording_opts *opts,
		      struct coati_recording **ret, struct coati_error *err)
{
	struct coati_recording *r = NULL;
	struct stat st;
	int n = fstat(fd, &st) < 0 ? coati_fail(err, -errno, "%s: %m", name)
				   : new_recording(name, opts, &r, err);

	if (n < 0) {
		close(fd);
		return n;
	}
	if (S_ISDIR(st.st_mode)) {
		n = start_directory(r, fd, err);
	} else if (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
		   S_ISCHR(st.st_mode)) {
		n = start(r, fd, err);
	} else {
		close(fd);
		n = coati_fail(err, -EINVAL, "%s is neither a file nor a pipe", name);
	}
	if (n < 0) {
		coati_recording_close(&r);
		return n;
	}
	*ret = r;
	return 0;
}

int coati_recording_open(const char *path, const struct coati_recording_opts *opts,
			 struct coati_recording **ret, struct coati_error *err)
{
	int fd;

	if (!path || !ret)
		return coati_fail(err, -EINVAL, "no path was given");
	if (!strcmp(path, "-")) {
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? coati_fail(err, -errno, "standard input: %m")
			      : open_named("standard input", fd, opts, ret, err);
	}
	fd = coati_open_file(&(struct opening){ .kind = OPEN_INPUT, .path = path }, err);
	if (fd < 0)
		return fd;
	return open_named(path, fd, opts, ret, err);
}

int coati_recording_open_fd(int fd, const struct coati_recording_opts *opts,
			    struct coati_recording **ret, struct coati_error *err)
{
	char name[32];

	if (fd < 0 || !ret)
		return coati_fail(err, -EINVAL, "no descriptor was given");
	snprintf(name, sizeof(name), "descriptor %d", fd);
	return open_named(name, fd, opts, ret, err);
}

/* The caller is done with the items that it looked at. */
static inline void put_delivered(struct coati_recording *r)
{
	while (r->nr_delivered)
		coati_chunk_put(&r->shared.pool, r->delivered[--r->nr_delivered]);
}

void coati_recording_close(struct coati_recording **rp)
{
	struct coati_recording *r = rp ? *rp : NULL;

	if (!r)
		return;
	put_delivered(r);
	for (size_t i = 0; i < r->streams.len; i++)
		coati_stream_fini(&r->streams.v[i]);
	for (size_t i = 0; i < r->fds.len; i++)
		close(r->fds.v[i]);
	ARRAY_FINI(&r->streams);
	ARRAY_FINI(&r->fds);
	coati_model_fini(&r->shared.model);
	coati_chunk_pool_fini(&r->shared.pool);
	coati_free(r->path);
	coati_free(r);
	*rp = NULL;
}

/* The stream whose next record is the oldest. */
static struct stream *oldest(struct coati_recording *r)
{
	struct stream *best = NULL;

	for (size_t i = 0; i < r->streams.len; i++) {
		struct stream *s = &r->streams.v[i];

		if (stream_peek(s) && (!best || s->head->time < best->head->time))
			best = s;
		if (best && r->file_order)
			break;
	}
	return best;
}

static int how_it_ended(const struct coati_recording *r)
{
	for (size_t i = 0; i < r->streams.len; i++)
		if (r->streams.v[i].end < 0)
			return r->streams.v[i].end;
	return 0;
}

/* The header promised more than the file has. */
static int check_promise(struct coati_recording *r)
{
	struct input *in = r->streams.len ? &r->streams.v[0].outer : NULL;

	if (!in || !r->shared.model.info.is_truncated || in->end == UINT64_MAX ||
	    r->shared.err.code)
		return 0;
	return coati_fail(
		&r->shared.err, -ENODATA,
		"%s ends at byte %llu, but its header promises records up to byte %llu: it was "
		"cut; everything before was read",
		r->path, (unsigned long long)in->offset, (unsigned long long)in->end);
}

static void count_other(struct coati_recording_stats *st, const struct coati_raw *raw)
{
	struct cursor c = cursor_over(raw->body, raw->size - COATI_RAW_HEADER);

	c.swap = raw->swap;
	switch (raw->type) {
	case COATI_RECORD_LOST:
		cursor_skip(&c, 8);
		st->lost += cursor_u64(&c);
		break;
	case COATI_RECORD_LOST_SAMPLES:
		st->lost_samples += cursor_u64(&c);
		break;
	case COATI_RECORD_THROTTLE:
		st->throttled++;
		break;
	default:
		st->unknown_type += !coati_record_name(raw->type);
	}
}

static inline void count(struct coati_recording_stats *st, const struct coati_raw *raw,
			 uint32_t flags)
{
	st->records++;
	st->bytes += raw->size;
	st->late += !!(flags & COATI_RECORDING_ITEM_LATE);
	if (raw->type == COATI_RECORD_SAMPLE)
		st->samples++;
	else
		count_other(st, raw);
}

/* Keep the chunk of an entry until the caller is done; one use of each is enough. */
static inline void keep_chunk(struct coati_recording *r, struct chunk *c)
{
	if (r->nr_delivered && r->delivered[r->nr_delivered - 1] == c)
		c->users--;
	else
		r->delivered[r->nr_delivered++] = c;
}

/* Hand out an entry that has left the line. Hot. */
static inline void deliver(struct coati_recording *r, const struct order_entry *e,
			   struct coati_recording_item *ret)
{
	const uint8_t *bytes = e->record;
	size_t left = UINT16_MAX;

	keep_chunk(r, e->chunk);
	coati_raw_next(&bytes, &left, r->shared.model.swap, &ret->raw);
	ret->event = e->event;
	ret->flags = e->flags & ~ORDER_BORROWED;
	ret->offset = e->offset;
	ret->time = e->flags & ORDER_BORROWED ? 0 : e->time;
	r->note = e->note;
	ret->extra_size =
		ret->raw.type < COATI_RECORD_HEADER_ATTR ? 0 : coati_stream_behind(&ret->raw);
	count(&r->shared.stats, &ret->raw, e->flags);
}

/* A stream has no sections: the recorder's account is a batch in it. */
static int look_for_account(struct coati_recording *r, const struct coati_recording_item *item)
{
	const struct coati_recording_event *e = coati_recording_event(r, item->event);
	const struct coati_sample_format *fmt =
		coati_format_table_get(r->shared.model.table, item->event);
	struct coati_batch batch;
	struct coati_record rec;

	if (item->raw.type != COATI_RECORD_SAMPLE || item->flags & COATI_RECORDING_ITEM_NO_EVENT ||
	    !e || !fmt || e->attr.config != COATI_SW_DUMMY ||
	    strcmp(e->name, COATI_LIVE_EVENT) != 0 ||
	    coati_record_decode(&item->raw, fmt, &rec) < 0 ||
	    coati_batch_decode(&rec, item->raw.swap, &batch) < 0 || batch.kind != COATI_BATCH_STATS)
		return 0;
	return coati_model_account(&r->shared.model, batch.payload, batch.payload_size);
}

int coati_recording_next(struct coati_recording *r, struct coati_recording_item *ret)
{
	const struct order_entry *e;
	struct stream *s;
	int n;

	if (!r || !ret)
		return -EINVAL;
	put_delivered(r);
	s = r->streams.len == 1 ? (stream_peek(&r->streams.v[0]) ? &r->streams.v[0] : NULL)
				: oldest(r);
	if (!s) {
		n = how_it_ended(r);
		return n < 0 ? n : check_promise(r);
	}
	e = s->head;
	s->head = NULL;
	deliver(r, e, ret);
	n = r->shared.model.info.is_pipe ? look_for_account(r, ret) : 0;
	return n < 0 ? n : 1;
}

int coati_recording_next_bunch(struct coati_recording *r, uint32_t most,
			       struct recording_bunch *ret)
{
	int n = coati_recording_next(r, ret->items);
	struct order *order;

	if (n <= 0)
		return n;
	ret->notes[0] = r->note;
	ret->nr = 1;
	order = &r->streams.v->order;
	while (r->streams.len == 1 && ret->nr < most && ret->nr < RECORDING_BUNCH) {
		const struct order_entry *e = order_next(order);

		if (!e)
			break;
		deliver(r, e, &ret->items[ret->nr]);
		n = r->shared.model.info.is_pipe ? look_for_account(r, &ret->items[ret->nr]) : 0;
		if (n < 0)
			return n;
		ret->notes[ret->nr++] = e->note;
	}
	return 1;
}

bool coati_recording_can_ahead(const struct coati_recording *r, struct recording_threads t)
{
	const struct input *in = &r->streams.v->outer;
	uint64_t end;
	struct stat st;

	if (t.nr < 2 || r->streams.len != 1 || r->shared.follow || r->shared.model.info.is_pipe ||
	    fstat(in->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	end = (uint64_t)st.st_size < in->end ? (uint64_t)st.st_size : in->end;
	return end > in->offset && end - in->offset >= t.least_bytes;
}

void coati_recording_ahead(struct coati_recording *r, const struct coati_ahead_opts *o)
{
	if (coati_recording_can_ahead(r, o->threads))
		coati_stream_ahead(r->streams.v, o);
}

uint32_t coati_recording_note(const struct coati_recording *r)
{
	return r->note;
}

void coati_recording_unfollow(struct coati_recording *r)
{
	r->shared.follow = false;
}

void coati_recording_watch(struct coati_recording *r, int (*fn)(void *ctx), void *ctx)
{
	r->shared.watch = fn;
	r->shared.watch_ctx = ctx;
}

const struct coati_error *coati_recording_error(const struct coati_recording *r)
{
	return &r->shared.err;
}

const struct coati_error *coati_recording_damage(const struct coati_recording *r)
{
	return &r->shared.damage.first;
}

uint32_t coati_recording_event_count(const struct coati_recording *r)
{
	return (uint32_t)r->shared.model.events.len;
}

const struct coati_recording_event *coati_recording_event(const struct coati_recording *r,
							  uint32_t i)
{
	return i < r->shared.model.events.len ? &r->shared.model.events.v[i] : NULL;
}

const struct coati_format_table *coati_recording_formats(const struct coati_recording *r)
{
	return r->shared.model.table;
}

const struct coati_recording_info *coati_recording_info(const struct coati_recording *r)
{
	return &r->shared.model.info;
}

const uint8_t *coati_recording_feature(const struct coati_recording *r, uint32_t bit,
				       uint64_t *ret_size)
{
	if (bit >= COATI_FEATURE_MAX || !r->shared.model.features[bit].bytes)
		return NULL;
	*ret_size = r->shared.model.features[bit].size;
	return r->shared.model.features[bit].bytes;
}

const char *coati_recording_tracepoint(const struct coati_recording *r, uint64_t id,
				       uint64_t *ret_size)
{
	const struct model_format *f = coati_model_format(&r->shared.model, id);

	if (!f)
		return NULL;
	*ret_size = f->size;
	return f->text;
}

int coati_recording_get_stats(const struct coati_recording *r, struct coati_recording_stats *ret)
{
	struct coati_recording_stats st = r->shared.stats;

	st.damaged = r->shared.damage.count;
	for (size_t i = 0; i < r->streams.len; i++)
		st.read_bytes += r->streams.v[i].outer.read_bytes;
	return SIZED_FILL(ret, &st);
}

#define BUILD_ID_FIXED 36 /* header, pid, id, size byte and padding */

int coati_recording_build_id(const struct coati_recording *r, uint64_t *pos,
			     struct coati_build_id *ret)
{
	const struct model_section *s = &r->shared.model.features[COATI_FEATURE_BUILD_ID];
	struct cursor c;
	uint16_t size;
	const uint8_t *id;

	if (*pos >= s->size)
		return 0;
	c = cursor_over(s->bytes + *pos, s->size - *pos);
	c.swap = r->shared.model.swap;
	cursor_skip(&c, 4); /* type */
	ret->misc = cursor_u16(&c);
	size = cursor_u16(&c);
	if (c.bad || size < BUILD_ID_FIXED + 1 || size > s->size - *pos)
		return -EBADMSG;
	ret->pid = (int32_t)cursor_u32(&c);
	id = cursor_bytes(&c, 24);
	ret->path = cursor_text(&c, size - BUILD_ID_FIXED);
	if (c.bad)
		return -EBADMSG;
	ret->size = ret->misc & COATI_MISC_BUILD_ID_SIZE && id[20] <= 20 ? id[20] : 20;
	memcpy(ret->id, id, 20);
	*pos += size;
	return 1;
}
