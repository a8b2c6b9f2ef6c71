/* SPDX-License-Identifier: MIT */
/*
 * The memory of a flight recorder as batches. Its owner may write to it, cut it short or fill it with lies while we read: every number is taken out once and
 * compared with the size of the file, and a batch counts only when the turn of its chunk is the same before and after it was copied.
 *
 * Of a chunk only what its batches say is read, so that a file with little in it costs little, whatever size it claims. A batch belongs to the process and the generation of its
 * chunk: whoever reads on has one process, and generations in order.
 */
#include "trace/live-flight.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/leb128.h"
#include "base/parse.h"
#include "base/writer.h"
#include "record/live-decode.h"

#define MAX_BYTES  (UINT64_C(1) << 40)
#define CHUNKS_MAX (UINT32_C(1) << 24)
#define CHUNK_MAX  (UINT32_C(1) << 20)
#define SITES_MAX  (UINT64_C(64) << 20)
#define TASKS_MAX  (UINT64_C(1) << 22)
#define TRIES	   8
#define SOME	   64u /* entries of a table that are read at a time */
#define BATCH_ROOM (LIVE_BATCH_MAX - LIVE_HEAD)
#define TASK_BYTES 48 /* of an open task as an event, at most */

/* A chunk that is in use, by generation. */
struct wanted_chunk {
	uint64_t generation;
	uint32_t index;
};

enum stage { STAGE_PROCESS, STAGE_SITES, STAGE_TASKS, STAGE_CHUNKS, STAGE_END };

struct coati_flight {
	struct flight_place place;
	struct live_map map;
	struct coati_flight_info info;
	ARRAY(struct wanted_chunk) chunks;
	enum stage stage;
	/* sites */
	uint64_t site; /* offset of the next definition */
	/* tasks */
	uint64_t task;
	/* chunks */
	size_t chunk;  /* that is read next */
	uint64_t turn; /* of the one before it, which is read now */
	uint32_t at, used;
	uint64_t first_base, first_cycles, first_ns; /* clock of the first batch */
	uint64_t ended; /* generation whose end mark waits for its other batches */
	uint8_t end_mark[LIVE_HEAD];
	uint8_t batch[LIVE_BATCH_MAX];
};

static int take(const struct coati_flight *f, uint64_t at, void *bytes, size_t size)
{
	if (at > f->place.bytes || size > f->place.bytes - at)
		return -ENODATA;
	return coati_pread_all(f->place.fd, bytes, size, f->place.at + at);
}

/* ---- the head ---- */

static bool fits(const struct coati_flight *f, uint64_t at, uint64_t count, uint64_t size)
{
	uint64_t bytes;

	return !__builtin_mul_overflow(count, size, &bytes) && at <= f->place.bytes &&
	       bytes <= f->place.bytes - at;
}

static const char *check_map(const struct coati_flight *f)
{
	const struct live_map *m = &f->map;

	if (m->magic != LIVE_MAP_MAGIC)
		return "it is no flight recorder";
	if (m->version != 1)
		return "it is of a version that is not known here";
	if (!m->chunk_bytes || m->chunk_bytes > CHUNK_MAX || m->chunk_count > CHUNKS_MAX)
		return "its chunks have an impossible size";
	if (m->sites_bytes > SITES_MAX || m->tasks_count > TASKS_MAX)
		return "its tables have an impossible size";
	if (!fits(f, m->sites_at, 1, m->sites_bytes) ||
	    !fits(f, m->tasks_at, m->tasks_count, sizeof(struct live_open_task)) ||
	    !fits(f, m->directory_at, m->chunk_count, sizeof(struct live_chunk)) ||
	    !fits(f, m->chunks_at, m->chunk_count, m->chunk_bytes))
		return "it is shorter than it says";
	if (!m->pid)
		return "it belongs to no process";
	return NULL;
}

/* ---- who wrote it ---- */

/* Field 22 of /proc/PID/stat, behind the name, which may hold anything; 0: there is no such process. */
static uint64_t ticks_of(uint32_t pid)
{
	char path[32], text[1024], *p;
	uint64_t ticks = 0;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (coati_file_read_line(AT_FDCWD, path, text, sizeof(text)) < 0)
		return 0;
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	if (!p || p[-1] != ' ')
		return 0;
	p[strcspn(p, " ")] = 0;
	return coati_parse_u64(p, 0, UINT64_MAX, &ticks) < 0 ? 0 : ticks;
}

static bool is_this_boot(const uint8_t id[16])
{
	char text[64] = "", want[33], *to = want;

	if (coati_file_read_line(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text)) <
	    0)
		return false;
	for (const char *p = text; *p && to < want + 32; p++)
		if (*p != '-')
			*to++ = *p;
	*to = 0;
	for (int i = 0; i < 16; i++) {
		char two[3];

		snprintf(two, sizeof(two), "%02x", id[i]);
		if (memcmp(two, want + 2 * i, 2) != 0)
			return false;
	}
	return true;
}

static void describe(struct coati_flight *f)
{
	const struct live_map *m = &f->map;
	struct coati_flight_info *info = &f->info;
	struct stat st;

	*info = (struct coati_flight_info){ .pid = m->pid,
					    .uid = m->uid,
					    .start_ticks = m->start_ticks,
					    .has_ended = m->state == 2,
					    .is_core = f->place.is_core,
					    .signal = f->place.signal,
					    .bytes = f->place.bytes,
					    .generation = m->generation,
					    .oldest = m->oldest,
					    .dropped = m->dropped,
					    .realtime_ns = m->realtime_base,
					    .monotonic_ns = m->ns_base,
					    .watcher = m->watcher,
					    .nr_chunks = m->chunk_count,
					    .nr_used = (uint32_t)f->chunks.len };
	memcpy(info->boot_id, m->boot_id, sizeof(info->boot_id));
	memcpy(info->comm, m->comm, sizeof(m->comm));
	info->is_alive = (uint8_t)(!info->is_core && is_this_boot(m->boot_id) &&
				   ticks_of(m->pid) == m->start_ticks && m->start_ticks);
	if (fstat(f->place.fd, &st) == 0)
		info->modified_ns =
			(uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
}

/* ---- opening ---- */

static int by_generation(const void *a, const void *b)
{
	const struct wanted_chunk *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static int list_chunks(struct coati_flight *f)
{
	struct live_chunk some[SOME];
	uint32_t nr;
	int n;

	f->chunks.max = CHUNKS_MAX;
	for (uint32_t i = 0; i < f->map.chunk_count; i += nr) {
		nr = f->map.chunk_count - i < SOME ? f->map.chunk_count - i : SOME;
		n = take(f, f->map.directory_at + i * sizeof(some[0]), some, nr * sizeof(some[0]));
		if (n < 0)
			return n;
		for (uint32_t j = 0; j < nr; j++) {
			struct wanted_chunk *w;

			if (!some[j].state || !some[j].generation)
				continue;
			w = ARRAY_ADD(&f->chunks);
			if (!w)
				return -ENOMEM;
			*w = (struct wanted_chunk){ some[j].generation, i + j };
		}
	}
	if (f->chunks.len)
		qsort(f->chunks.v, f->chunks.len, sizeof(*f->chunks.v), by_generation);
	return 0;
}

static int open_place(struct coati_flight *f, struct coati_error *err)
{
	const char *why;
	int n = take(f, 0, &f->map, sizeof(f->map));

	why = n == 0 ? check_map(f) : "it is shorter than the head of a flight recorder";
	if (why)
		return coati_fail(err, n < 0 && n != -ENODATA ? n : -EBADMSG,
				  "not the memory of a flight recorder: %s", why);
	n = list_chunks(f);
	if (n < 0)
		return coati_fail(err, n, "the chunks of a flight recorder: %m");
	describe(f);
	return 0;
}

int coati_flight_open_fd(int fd, struct coati_flight **ret, struct coati_error *err)
{
	struct flight_place place = { .fd = fd };
	struct coati_flight *f;
	struct stat st;
	int n = 0;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return coati_fail(err, -EBADMSG, "not a file, and so no flight recorder");
	}
	place.bytes = (uint64_t)st.st_size > MAX_BYTES ? MAX_BYTES : (uint64_t)st.st_size;
	n = coati_flight_core(fd, &place, err);
	if (place.fd != fd || n < 0)
		close(fd);
	if (n < 0)
		return n;
	f = coati_alloc(sizeof(*f));
	if (!f) {
		close(place.fd);
		return coati_fail(err, -ENOMEM, "a flight recorder: %m");
	}
	f->place = place;
	n = open_place(f, err);
	if (n < 0) {
		coati_flight_close(&f);
		return n;
	}
	*ret = f;
	return 0;
}

int coati_flight_open(const char *path, struct coati_flight **ret, struct coati_error *err)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), n;

	if (fd < 0)
		return coati_fail(err, -errno, "open %s: %m", path);
	n = coati_flight_open_fd(fd, ret, err);
	if (n < 0 && err)
		coati_error_prefix(err, "%s: ", path);
	return n;
}

void coati_flight_close(struct coati_flight **pf)
{
	struct coati_flight *f = *pf;

	if (!f)
		return;
	close(f->place.fd);
	ARRAY_FINI(&f->chunks);
	coati_free(f);
	*pf = NULL;
}

void coati_flight_get_info(const struct coati_flight *f, struct coati_flight_info *ret)
{
	*ret = f->info;
}

void coati_flight_between(struct coati_flight *f, uint64_t from, uint64_t to)
{
	size_t nr = 0;

	for (size_t i = 0; i < f->chunks.len; i++)
		if (f->chunks.v[i].generation >= from && f->chunks.v[i].generation <= to)
			f->chunks.v[nr++] = f->chunks.v[i];
	f->chunks.len = nr;
	if (from > 1)
		f->task = f->map.tasks_count;
}

/* ---- what the tables say, as batches ---- */

static uint64_t first_generation(const struct coati_flight *f)
{
	return f->chunks.len ? f->chunks.v[0].generation : 1;
}

static struct live_batch table_head(const struct coati_flight *f, uint16_t kind)
{
	return (struct live_batch){ .magic = LIVE_BATCH_MAGIC,
				    .version = LIVE_BATCH_VERSION,
				    .kind = kind,
				    .generation = first_generation(f),
				    .pid = f->map.pid,
				    .flags = f->map.clock_source ? 0 : LIVE_BATCH_NANOSECONDS,
				    .base = f->map.cycles_base,
				    .pair_cycles = f->map.cycles_base,
				    .pair_ns = f->map.ns_base };
}

/* The events behind the head in f->batch are @w. */
static int give(struct coati_flight *f, struct live_batch *head, const struct writer *w,
		uint32_t events, size_t *ret_size)
{
	if (w->full)
		return -EBADMSG;
	head->used = head->capacity = (uint32_t)w->len;
	head->events = events;
	head->flags |= LIVE_BATCH_CLOSED;
	head->checksum = live_checksum(f->batch + LIVE_HEAD, w->len);
	memcpy(f->batch, head, LIVE_HEAD);
	*ret_size = LIVE_HEAD + w->len;
	return 1;
}

static void put_kind(struct writer *w, uint8_t kind)
{
	writer_u8(w, kind);
	writer_u8(w, 0); /* a time of one byte, 0 */
}

static int give_process(struct coati_flight *f, size_t *ret_size)
{
	struct live_batch head = table_head(f, LIVE_BATCH_PROCESS);
	struct writer w = writer_over(f->batch + LIVE_HEAD, BATCH_ROOM);
	const struct live_map *m = &f->map;
	size_t comm = strnlen(m->comm, sizeof(m->comm));

	head.pair_ns = m->ns_base;
	put_kind(&w, LIVE_PROCESS);
	writer_uleb(&w, m->pid);
	writer_uleb(&w, m->uid);
	writer_uleb(&w, m->start_ticks);
	writer_uleb(&w, sizeof(m->boot_id));
	writer_bytes(&w, m->boot_id, sizeof(m->boot_id));
	writer_uleb(&w, comm << 1);
	writer_bytes(&w, m->comm, comm);
	writer_uleb(&w, 0);
	put_kind(&w, LIVE_CLOCK);
	writer_uleb(&w, m->clock_source);
	writer_uleb(&w, m->clock_mult);
	writer_uleb(&w, m->clock_shift);
	writer_uleb(&w, m->clock_error_ns);
	writer_uleb(&w, m->realtime_base);
	writer_uleb(&w, 0);
	return give(f, &head, &w, 2, ret_size);
}

/* As many whole definitions as fit into one batch. 0: there are no more. */
static int give_sites(struct coati_flight *f, size_t *ret_size)
{
	struct live_batch head = table_head(f, LIVE_BATCH_SITES);
	struct live_view b = { .head = head, .payload = f->batch + LIVE_HEAD };
	uint64_t used = f->map.sites_used;
	struct writer w = { 0 };
	struct live_walk walk;
	struct live_event e;
	uint32_t events = 0;
	int n;

	if (used > f->map.sites_bytes)
		used = f->map.sites_bytes;
	if (f->site >= used)
		return 0;
	b.head.used =
		used - f->site > BATCH_ROOM ? (uint32_t)BATCH_ROOM : (uint32_t)(used - f->site);
	n = take(f, f->map.sites_at + f->site, f->batch + LIVE_HEAD, b.head.used);
	if (n < 0)
		return n;
	walk = coati_live_walk(&b, NULL, NULL, NULL);
	while (coati_live_next(&walk, &e) > 0)
		events++;
	w.len = (size_t)(walk.at - walk.start);
	if (!events) { /* no definition: what is left of the area makes no sense */
		f->info.nr_damaged += f->site + b.head.used < used || !!walk.why;
		f->site = used;
		return 0;
	}
	f->site += w.len;
	return give(f, &head, &w, events, ret_size);
}

/* Unless it began later: then it is told by an event. */
static bool put_task(struct writer *w, const struct live_open_task *task, uint64_t base)
{
	if (!task->id || task->began >= base)
		return false;
	put_kind(w, LIVE_OPEN_TASK);
	writer_uleb(w, task->site);
	writer_uleb(w, task->id);
	writer_uleb(w, task->parent);
	writer_uleb(w, base - task->began);
	return true;
}

/* Tasks that began before the first batch: whoever told them may be gone. */
static int give_tasks(struct coati_flight *f, size_t *ret_size)
{
	struct live_batch head = table_head(f, LIVE_BATCH_STATUS);
	struct writer w = writer_over(f->batch + LIVE_HEAD, BATCH_ROOM);
	struct live_open_task some[SOME];
	uint32_t events = 0;
	uint64_t nr;
	int n;

	head.base = f->first_base;
	head.pair_cycles = f->first_cycles;
	head.pair_ns = f->first_ns;
	head.flags &= (uint16_t)~LIVE_BATCH_CLOSED;
	while (f->task < f->map.tasks_count && w.len + SOME * TASK_BYTES < w.cap) {
		nr = f->map.tasks_count - f->task < SOME ? f->map.tasks_count - f->task : SOME;
		n = take(f, f->map.tasks_at + f->task * sizeof(some[0]), some,
			 nr * sizeof(some[0]));
		if (n < 0)
			return n;
		for (uint64_t i = 0; i < nr; i++)
			events += put_task(&w, &some[i], head.base);
		f->task += nr;
	}
	if (!events)
		return 0;
	n = give(f, &head, &w, events, ret_size);
	if (n > 0 && f->map.clock_source) { /* one pair is all that is known: as of an open batch */
		head.flags &= (uint16_t)~LIVE_BATCH_CLOSED;
		head.checksum = 0;
		memcpy(f->batch, &head, LIVE_HEAD);
	}
	return n;
}

/* ---- chunks ---- */

static int take_entry(const struct coati_flight *f, const struct wanted_chunk *w,
		      struct live_chunk *ret)
{
	return take(f, f->map.directory_at + w->index * sizeof(*ret), ret, sizeof(*ret));
}

static uint64_t place_of(const struct coati_flight *f, const struct wanted_chunk *w)
{
	return f->map.chunks_at + (uint64_t)w->index * f->map.chunk_bytes;
}

/* 1: its batches can be read. 0: it is somebody else's by now. */
static int enter_chunk(struct coati_flight *f, const struct wanted_chunk *w)
{
	struct live_chunk entry;
	int n;

	f->at = f->used = 0;
	for (int i = 0; i < TRIES; i++) {
		n = take_entry(f, w, &entry);
		if (n < 0)
			return n;
		if (entry.turn & 1)
			continue;
		if (!entry.state || entry.generation != w->generation)
			return 0;
		f->turn = entry.turn;
		f->used = entry.used < f->map.chunk_bytes ? entry.used : f->map.chunk_bytes;
		return 1;
	}
	return 0;
}

static void remember_first(struct coati_flight *f, const struct live_batch *h)
{
	if (!h->pair_ns)
		return;
	f->first_base = h->base;
	f->first_cycles = h->pair_cycles;
	f->first_ns = h->pair_ns;
}

/* Whether a batch can be where it is. The end mark of a generation stands in the one behind it. */
static bool belongs(const struct coati_flight *f, const struct live_batch *h,
		    const struct wanted_chunk *w)
{
	if (h->magic != LIVE_BATCH_MAGIC || h->pid != f->map.pid ||
	    h->capacity > f->map.chunk_bytes - f->at - LIVE_HEAD || h->used > h->capacity ||
	    h->capacity > BATCH_ROOM)
		return false;
	return h->kind == LIVE_BATCH_END ? h->generation <= w->generation
					 : h->generation == w->generation;
}

/* The batch at f->at into f->batch, its head first: what that says is written is there. 1, 0 when the chunk ends here. */
static int copy_batch(struct coati_flight *f, const struct wanted_chunk *w, struct live_batch *ret)
{
	uint64_t at = place_of(f, w) + f->at;
	struct live_chunk after;
	bool fits;
	int n = take(f, at, ret, LIVE_HEAD);

	if (n < 0)
		return n;
	fits = belongs(f, ret, w);
	memcpy(f->batch, ret, LIVE_HEAD);
	if (fits)
		n = take(f, at + LIVE_HEAD, f->batch + LIVE_HEAD, ret->used);
	n = n < 0 ? n : take_entry(f, w, &after);
	if (n < 0)
		return n;
	if (after.turn == f->turn && fits)
		return 1;
	f->info.nr_changed += after.turn != f->turn;
	f->info.nr_damaged += after.turn == f->turn;
	f->used = 0;
	return 0;
}

/* The next batch of the chunk that was entered: 1, 0 when there is none. */
static int next_in_chunk(struct coati_flight *f, size_t *ret_size, uint64_t *ret_where)
{
	const struct wanted_chunk *w;
	struct live_batch h;
	int n;

	while (f->at + LIVE_HEAD <= f->used) {
		w = &f->chunks.v[f->chunk - 1];
		n = copy_batch(f, w, &h);
		if (n <= 0)
			return n;
		*ret_where = place_of(f, w) + f->at;
		f->at += (uint32_t)LIVE_HEAD + h.capacity;
		if (h.kind != LIVE_BATCH_END) {
			*ret_size = LIVE_HEAD + h.used;
			return 1;
		}
		memcpy(f->end_mark, &h,
		       LIVE_HEAD); /* comes when the others of its generation are through */
		f->ended = h.generation;
	}
	return 0;
}

static int give_end(struct coati_flight *f, size_t *ret_size)
{
	f->ended = 0;
	memcpy(f->batch, f->end_mark, LIVE_HEAD);
	*ret_size = LIVE_HEAD;
	return 1;
}

static int give_chunk(struct coati_flight *f, size_t *ret_size, uint64_t *ret_where)
{
	int n;

	for (;;) {
		n = next_in_chunk(f, ret_size, ret_where);
		if (n != 0)
			return n;
		if (f->ended &&
		    (f->chunk == f->chunks.len || f->chunks.v[f->chunk].generation != f->ended))
			return give_end(f, ret_size);
		if (f->chunk == f->chunks.len)
			return 0;
		n = enter_chunk(f, &f->chunks.v[f->chunk++]);
		if (n < 0)
			return n;
		f->info.nr_changed += !n;
	}
}

/* The clock of the first batch that there is: what was open before is told by it. */
static int find_first(struct coati_flight *f)
{
	struct live_batch h;
	int n = 0;

	if (f->chunks.len)
		n = enter_chunk(f, &f->chunks.v[0]);
	if (n > 0 && f->used >= LIVE_HEAD) {
		n = take(f, place_of(f, &f->chunks.v[0]), &h, LIVE_HEAD);
		if (n == 0)
			remember_first(f, &h);
	}
	f->at = f->used = 0;
	return n < 0 ? n : 0;
}

int coati_flight_next(struct coati_flight *f, const void **ret, size_t *ret_size,
		      uint64_t *ret_where)
{
	int n = 0;

	*ret_where = 0;
	while (n == 0 && f->stage < STAGE_END) {
		switch (f->stage) {
		case STAGE_PROCESS:
			n = find_first(f);
			n = n < 0 ? n : give_process(f, ret_size);
			f->stage = STAGE_SITES;
			break;
		case STAGE_SITES:
			*ret_where = f->map.sites_at + f->site;
			n = give_sites(f, ret_size);
			break;
		case STAGE_TASKS:
			*ret_where = f->map.tasks_at;
			n = give_tasks(f, ret_size);
			break;
		default:
			n = give_chunk(f, ret_size, ret_where);
		}
		if (n == 0)
			f->stage++;
	}
	*ret = f->batch;
	return n;
}
