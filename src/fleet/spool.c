/* SPDX-License-Identifier: MIT */
/* see spool.h */
#include "fleet/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#define NAME_ROOM    32
#define NUMBER_CHARS 16
#define FILE_BYTES   (SCHEMA_SENT * (size_t)PARCEL_TABLE_MAX)
#define NOTE_BYTES   4096 /* what a note takes on disk */
#define TEMPORARY    "parcel.tmp"
#define SUFFIX	     ".parcel"

static void name_of(const struct spool_entry *e, char ret[NAME_ROOM])
{
	snprintf(ret, NAME_ROOM, "%016" PRIx64 SUFFIX, e->number);
}

/* ---- what is there ---- */

static int by_number(const void *a, const void *b)
{
	const struct spool_entry *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static bool parse_name(const char *name, struct spool_entry *ret)
{
	uint64_t v = 0;

	for (int i = 0; i < NUMBER_CHARS; i++) {
		const char *digits = "0123456789abcdef",
			   *at = name[i] ? strchr(digits, name[i]) : NULL;

		if (!at)
			return false;
		v = v << 4 | (uint64_t)(at - digits);
	}
	ret->number = v;
	ret->tried = true; /* perhaps: by an earlier run */
	return !strcmp(name + NUMBER_CHARS, SUFFIX);
}

static int take_name(struct spool *s, const char *name)
{
	struct spool_entry e = { 0 }, *slot;
	struct stat st;

	if (!parse_name(name, &e) || fstatat(s->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode))
		return 0;
	e.bytes = (uint64_t)st.st_size;
	slot = ARRAY_ADD(&s->entries);
	if (!slot)
		return -ENOMEM;
	*slot = e;
	s->bytes += e.bytes;
	if (e.number >= s->next_number)
		s->next_number = e.number + 1;
	return 0;
}

static int load(struct spool *s)
{
	int fd = dup(s->dir), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	rewinddir(d);
	while (r == 0 && (e = readdir(d)))
		r = take_name(s, e->d_name);
	closedir(d);
	if (s->entries.len)
		qsort(s->entries.v, s->entries.len, sizeof(*s->entries.v), by_number);
	return r;
}

static int open_folder(struct spool *s, const char *path, struct coati_error *err)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return coati_fail(err, -errno,
				  "cannot create the spool directory %s: %m; choose another with "
				  "--spool DIR",
				  path);
	s->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir < 0 || fstat(s->dir, &st) < 0)
		return coati_fail(err, -errno, "cannot open the spool directory %s: %m", path);
	if (st.st_uid != geteuid() || st.st_mode & 022)
		return coati_fail(err, -EPERM,
				  "the spool directory %s can be written by other users; use one "
				  "that is owned by the user of the agent, mode 0700",
				  path);
	s->lock = openat(s->dir, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return coati_fail(err, -errno, "cannot open %s/lock: %m", path);
	if (coati_file_lock(s->lock) < 0)
		return coati_fail(err, -EAGAIN,
				  "another agent uses the spool directory %s; give each its own "
				  "with --spool",
				  path);
	return 0;
}

int coati_spool_open(struct spool *s, const char *path, uint64_t max_bytes, struct coati_error *err)
{
	int r = 0;

	*s = (struct spool){ .dir = -1,
			     .lock = -1,
			     .max_bytes = max_bytes ? max_bytes : SPOOL_BYTES,
			     .next_number = 1 };
	s->entries.max = SPOOL_MAX;
	if (path)
		r = open_folder(s, path, err);
	if (path && r == 0) {
		unlinkat(s->dir, TEMPORARY, 0);
		r = load(s);
		if (r < 0)
			coati_fail(err, r, "cannot read the spool directory %s: %m", path);
	}
	if (r < 0)
		coati_spool_close(s);
	return r;
}

void coati_spool_close(struct spool *s)
{
	for (size_t i = 0; i < s->entries.len; i++)
		coati_free(s->entries.v[i].memory);
	ARRAY_FINI(&s->entries);
	if (s->dir >= 0)
		close(s->dir);
	if (s->lock >= 0)
		close(s->lock);
	s->dir = s->lock = -1;
}

/* ---- one parcel ---- */

/* The file appears whole or not at all. */
static int write_file(const struct spool *s, const struct spool_entry *e,
		      const struct strbuf *bytes)
{
	CLEANUP(fd_closep)
	int fd = openat(s->dir, TEMPORARY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
			0600);
	char name[NAME_ROOM];
	int r = fd < 0 ? -errno : coati_write_all(fd, bytes->text, bytes->len);

	name_of(e, name);
	if (r == 0 && renameat(s->dir, TEMPORARY, s->dir, name) < 0)
		r = -errno;
	if (r < 0 && fd >= 0)
		unlinkat(s->dir, TEMPORARY, 0);
	return r;
}

static void forget(struct spool *s, struct spool_entry *e)
{
	char name[NAME_ROOM];

	if (e->memory) {
		s->memory_bytes -= e->bytes;
	} else {
		name_of(e, name);
		unlinkat(s->dir, name, 0);
	}
	coati_free(e->memory);
	e->memory = NULL;
	s->bytes -= e->bytes;
}

/* On disk, or in memory when that cannot be. @e is filled in but for its number and marks. */
static int store(struct spool *s, struct spool_entry *e, const struct strbuf *bytes)
{
	int r = s->dir < 0 ? -ENOTDIR : write_file(s, e, bytes);

	s->disk = s->dir < 0 ? 0 : r;
	e->bytes = bytes->len;
	if (r < 0) {
		/* a note finds room as long as there is memory at all */
		if (s->memory_bytes + bytes->len > SPOOL_MEMORY && bytes->len > NOTE_BYTES)
			return r;
		e->memory = coati_alloc(bytes->len + 1);
		if (!e->memory)
			return -ENOMEM;
		memcpy(e->memory, bytes->text, bytes->len);
		s->memory_bytes += bytes->len;
	}
	s->bytes += bytes->len;
	return 0;
}

int coati_spool_get(const struct spool *s, size_t i, struct parcel *ret)
{
	const struct spool_entry *e = &s->entries.v[i];
	struct strbuf bytes = STRBUF_INIT(FILE_BYTES);
	char name[NAME_ROOM];
	int r;

	if (e->memory)
		return coati_parcel_read(ret, e->memory, e->bytes);
	name_of(e, name);
	r = coati_file_read(s->dir, name, &bytes);
	if (r == 0)
		r = coati_parcel_read(ret, bytes.text, bytes.len);
	coati_strbuf_fini(&bytes);
	return r;
}

static void remove_at(struct spool *s, size_t i)
{
	memmove(&s->entries.v[i], &s->entries.v[i + 1],
		(s->entries.len - i - 1) * sizeof(*s->entries.v));
	s->entries.len--;
}

/* ---- too much ---- */

/* Put @p in place of what entry @i holds. */
static int replace(struct spool *s, size_t i, const struct parcel *p)
{
	struct spool_entry *e = &s->entries.v[i], old = *e;
	struct strbuf bytes = STRBUF_INIT(FILE_BYTES);
	int r;

	coati_parcel_write(p, &bytes);
	r = bytes.failed;
	if (r == 0) {
		e->memory = NULL;
		s->bytes -= old.bytes;
		s->memory_bytes -= old.memory ? old.bytes : 0;
		r = store(s, e, &bytes);
		coati_free(old.memory);
	}
	e->dropped = true;
	coati_strbuf_fini(&bytes);
	return r;
}

/* The older neighbor is a note of the same agent, and neither may have arrived: one is enough. */
static bool can_join(const struct spool *s, size_t i)
{
	return i > s->busy && s->entries.v[i - 1].dropped && !s->entries.v[i - 1].tried &&
	       !s->entries.v[i].tried;
}

static void join(struct spool *s, size_t i)
{
	struct parcel p, older;

	if (coati_spool_get(s, i - 1, &older) < 0)
		return;
	if (coati_spool_get(s, i, &p) == 0) {
		if (!strcmp(p.agent, older.agent) && coati_parcel_join(&p, &older) == 0 &&
		    replace(s, i, &p) == 0) {
			forget(s, &s->entries.v[i - 1]);
			remove_at(s, i - 1);
		}
		coati_parcel_fini(&p);
	}
	coati_parcel_fini(&older);
}

/* A file that cannot be read is a lost window, whatever the cause. */
static void give_up(struct spool *s, size_t i)
{
	forget(s, &s->entries.v[i]);
	remove_at(s, i);
	s->damaged++;
	s->lost_names = true;
}

static void drop(struct spool *s, size_t i, bool with_names)
{
	struct parcel p;

	if (coati_spool_get(s, i, &p) < 0) {
		give_up(s, i);
		return;
	}
	if (p.stored)
		s->dropped_windows += p.windows;
	s->lost_names |=
		!with_names && (p.tables[SCHEMA_STACKS].len || p.tables[SCHEMA_CONTEXTS].len);
	if (coati_parcel_drop(&p, with_names) < 0 || replace(s, i, &p) < 0)
		give_up(s, i);
	else if (can_join(s, i))
		join(s, i);
	coati_parcel_fini(&p);
}

/* Rows of the oldest parcels go first, then names of those that are notes already. */
static void make_room(struct spool *s, uint64_t bytes)
{
	for (size_t i = s->busy; s->bytes + bytes > s->max_bytes && i < s->entries.len;) {
		size_t before = s->entries.len;

		if (!s->entries.v[i].dropped)
			drop(s, i, true);
		i += s->entries.len == before;
	}
	for (size_t i = s->busy; s->bytes + bytes > s->max_bytes && i < s->entries.len;) {
		size_t before = s->entries.len;

		if (s->entries.v[i].bytes > NOTE_BYTES)
			drop(s, i, false);
		i += s->entries.len == before;
	}
}

static int append(struct spool *s, const struct parcel *p)
{
	struct strbuf bytes = STRBUF_INIT(FILE_BYTES);
	struct spool_entry e = { .number = s->next_number, .dropped = !p->stored }, *slot;
	int r;

	coati_parcel_write(p, &bytes);
	r = bytes.failed;
	if (r == 0) {
		make_room(s, bytes.len);
		r = store(s, &e, &bytes);
	}
	slot = r == 0 ? ARRAY_ADD(&s->entries) : NULL;
	if (slot) {
		*slot = e;
		s->next_number++;
	} else if (r == 0) {
		forget(s, &e);
		r = -ENOMEM;
	}
	coati_strbuf_fini(&bytes);
	return r;
}

/* There is no room for the parcel, but for a note of it there is. */
static void append_note(struct spool *s, const struct parcel *p)
{
	struct strbuf bytes = STRBUF_INIT(FILE_BYTES);
	struct parcel note;

	coati_parcel_write(p, &bytes);
	if (!bytes.failed && coati_parcel_read(&note, bytes.text, bytes.len) == 0) {
		if (coati_parcel_drop(&note, false) == 0 && append(s, &note) == 0 &&
		    can_join(s, s->entries.len - 1))
			join(s, s->entries.len - 1);
		coati_parcel_fini(&note);
	}
	coati_strbuf_fini(&bytes);
}

int coati_spool_add(struct spool *s, const struct parcel *p)
{
	int r = append(s, p);

	if (r < 0) {
		s->dropped_windows += p->windows;
		s->lost_names = true;
		append_note(s, p);
	}
	return r;
}

void coati_spool_begin(struct spool *s, size_t nr)
{
	s->busy = nr < s->entries.len ? nr : s->entries.len;
}

void coati_spool_end(struct spool *s, size_t nr_sent)
{
	for (size_t i = 0; i < s->busy; i++)
		s->entries.v[i].tried = true;
	nr_sent = nr_sent < s->busy ? nr_sent : s->busy;
	for (size_t i = 0; i < nr_sent; i++)
		forget(s, &s->entries.v[i]);
	memmove(s->entries.v, s->entries.v + nr_sent,
		(s->entries.len - nr_sent) * sizeof(*s->entries.v));
	s->entries.len -= nr_sent;
	s->busy = 0;
}
