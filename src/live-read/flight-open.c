/* SPDX-License-Identifier: MIT */
/* Opening of flight-parts.h: is this the memory of a flight recorder, whose is it, and which of its
 * chunks are in use. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/opening.h"
#include "base/parse.h"
#include "live-read/flight-parts.h"
#include "live-read/flight.h"

#define MAX_BYTES  (UINT64_C(1) << 40)
#define CHUNKS_MAX (UINT32_C(1) << 24)
#define CHUNK_MAX  (UINT32_C(1) << 20)
#define SITES_MAX  (UINT64_C(64) << 20)
#define TASKS_MAX  (UINT64_C(1) << 22)

int coati_flight_take(const struct coati_flight *f, uint64_t at, void *bytes, size_t size)
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
		return "it is not a flight recorder";
	if (m->version != 1)
		return "its version is not supported";
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

static void describe_file(int fd, struct coati_flight_info *info)
{
	struct stat st;

	info->owner = info->uid;
	if (fstat(fd, &st) < 0)
		return;
	info->owner = st.st_uid;
	info->memory = (uint64_t)st.st_blocks * 512;
	info->modified_ns =
		(uint64_t)st.st_mtim.tv_sec * NSEC_PER_SEC + (uint64_t)st.st_mtim.tv_nsec;
}

static void describe(struct coati_flight *f)
{
	const struct live_map *m = &f->map;
	struct coati_flight_info *info = &f->info;

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
	f->is_this_boot = !info->is_core && is_this_boot(m->boot_id);
	/* its writer has it locked for as long as it lives, whatever number it has in our eyes */
	info->is_alive = !info->is_core && coati_file_is_locked(f->place.fd);
	describe_file(f->place.fd, info);
}

int coati_flight_peek(int fd, struct coati_flight_info *ret)
{
	CLEANUP(freep) struct coati_flight *f = NULL;
	struct stat st;
	int n;

	*ret = (struct coati_flight_info){ .bytes = UINT64_MAX };
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EBADMSG;
	f = coati_alloc(sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->place = (struct flight_place){
		.fd = fd,
		.bytes = (uint64_t)st.st_size > MAX_BYTES ? MAX_BYTES : (uint64_t)st.st_size,
	};
	n = coati_flight_take(f, 0, &f->map, sizeof(f->map));
	if (n == 0 && !check_map(f)) {
		describe(f);
		*ret = f->info;
		return 0;
	}
	/* nothing, or zeros: its writer has not got that far */
	if (st.st_size && coati_flight_take(f, 0, &f->map.magic, sizeof(f->map.magic)) < 0)
		f->map.magic = 1;
	ret->is_alive = coati_file_is_locked(fd);
	describe_file(fd, ret);
	ret->bytes = f->map.magic ? f->place.bytes : 0;
	return -EBADMSG;
}

/* ---- opening ---- */

static int by_generation(const void *a, const void *b)
{
	const struct flight_chunk *x = a, *y = b;

	if (x->generation != y->generation)
		return x->generation < y->generation ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* The first of the entries from @i on that is not in a hole of the file. */
static uint32_t skip_hole(const struct coati_flight *f, uint32_t i)
{
	uint64_t at = f->place.at + f->map.directory_at + i * sizeof(struct live_chunk), more;
	off_t data = lseek(f->place.fd, (off_t)at, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? f->map.chunk_count : i;
	more = ((uint64_t)data - at) / sizeof(struct live_chunk);
	return more < f->map.chunk_count - i ? i + (uint32_t)more : f->map.chunk_count;
}

static int list_chunks(struct coati_flight *f)
{
	struct live_chunk some[FLIGHT_SOME];
	uint32_t nr;
	int n;

	f->chunks.max = CHUNKS_MAX;
	for (uint32_t i = skip_hole(f, 0); i < f->map.chunk_count; i = skip_hole(f, i + nr)) {
		nr = f->map.chunk_count - i < FLIGHT_SOME ? f->map.chunk_count - i : FLIGHT_SOME;
		n = coati_flight_take(f, f->map.directory_at + i * sizeof(some[0]), some,
				      nr * sizeof(some[0]));
		if (n < 0)
			return n;
		for (uint32_t j = 0; j < nr; j++) {
			struct flight_chunk *w;

			/* an odd turn: it was just being taken, and has nothing yet; a process that
			 * died then never gets further */
			if (!some[j].state || !some[j].generation || some[j].turn & 1)
				continue;
			w = ARRAY_ADD(&f->chunks);
			if (!w)
				return -ENOMEM;
			*w = (struct flight_chunk){ some[j].generation, i + j };
		}
	}
	if (f->chunks.len)
		qsort(f->chunks.v, f->chunks.len, sizeof(*f->chunks.v), by_generation);
	return 0;
}

static int open_place(struct coati_flight *f, struct coati_error *err)
{
	const char *why;
	int n = coati_flight_take(f, 0, &f->map, sizeof(f->map));

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
		return coati_fail(err, -EBADMSG, "not a regular file, so not a flight recorder");
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
	struct opening o = { .kind = OPEN_INPUT, .no_wait = true, .path = path };
	int fd = coati_open_file(&o, NULL), n;

	if (fd < 0)
		return coati_fail(err, fd, "open %s: %m", path);
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
	f->lost = f->map.dropped; /* of all generations: not of these */
	if (from > 1)
		f->task = f->map.tasks_count;
}
