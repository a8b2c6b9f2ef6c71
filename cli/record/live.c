/* SPDX-License-Identifier: MIT */
/* see record/live.h */
#include "cli/record/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <coati/trace.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parse.h"
#include "capture/session.h"
#include "cli/talk.h"
#include "image/jit-file.h"
#include "live-read/ask.h"
#include "live-read/files.h"
#include "live-read/flight-parts.h"
#include "live-read/flight.h"
#include "record/batch.h"
#include "record/live-ask.h"
#include "recording/writer.h"

#define VARIABLE    "COATI_TRACE"
#define SUFFIX	    ".live"
#define YOUNG_S	    60 /* its recorder may not have locked it yet */
#define EVERY_NS    (200 * NSEC_PER_MSEC)
#define ASK_MOST_NS (5 * NSEC_PER_SEC)
#define FILES_MAX   4096
#define FILES_USER  512			/* of another user */
#define LOOKED_AT   1024		/* of a directory, several times a second */
#define FILE_BYTES  (UINT64_C(1) << 32) /* of one process */

/* ---- processes that run ---- */

/* One without the library has the kernel's part alone. One that has only just started, or loads it
 * later, is asked again, and so is one that records for itself or for another recorder, because
 * that may end. */
static void ask_processes(struct record_live *l, uint64_t now)
{
	size_t left = 0;

	if (!l->silent.len || now < l->ask_ns)
		return;
	l->ask_ns = now + l->ask_every_ns;
	if (l->ask_every_ns < ASK_MOST_NS)
		l->ask_every_ns *= 2;
	for (size_t i = 0; i < l->silent.len; i++) {
		struct live_silent s = l->silent.v[i];
		struct coati_live_ask one, *kept;

		s.r = coati_live_ask(s.pid, &one, &s.err);
		kept = s.r == 0 ? ARRAY_ADD(&l->asks) : NULL;
		if (kept)
			*kept = one;
		else if (s.r == 0)
			coati_live_release(&one);
		else
			l->silent.v[left++] = s;
	}
	l->silent.len = left;
}

static void ask_first(struct record_live *l)
{
	l->asks.max = l->silent.max = FILES_MAX;
	for (size_t i = 0; i < l->nr_pids; i++) {
		struct live_silent *s = ARRAY_ADD(&l->silent);

		if (s)
			*s = (struct live_silent){ .pid = l->pids[i] };
	}
	l->ask_every_ns = EVERY_NS;
	ask_processes(l, now_ns());
}

static DIR *open_folder(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);

	if (!d && fd >= 0)
		close(fd);
	return d;
}

/* Which process says that it could not record, and why: 0, or its number. */
static uint32_t read_failure(int folder, const char *name, int *why)
{
	const char *end = strstr(name, ASK_FAILED);
	char text[16] = "", number[16] = "";
	uint64_t pid, code;
	ssize_t n;

	if (!end || end[strlen(ASK_FAILED)] || (size_t)(end - name) >= sizeof(number))
		return 0;
	memcpy(number, name, (size_t)(end - name));
	n = readlinkat(folder, name, text, sizeof(text) - 1);
	if (n <= 0 || coati_parse_u64(number, 1, INT32_MAX, &pid) < 0 ||
	    coati_parse_u64(text, 1, 4095, &code) < 0)
		return 0;
	*why = (int)code;
	return (uint32_t)pid;
}

/* Of processes of the command; the first one, as they usually have the same reason. */
static void say_failures(const struct record_live *l)
{
	CLEANUP(dir_closep) DIR *d = l->folder[0] ? open_folder(AT_FDCWD, l->folder) : NULL;
	const struct dirent *e;
	uint32_t pid, first = 0, nr = 0;
	int code, why = 0;

	while (d && (e = readdir(d))) {
		pid = read_failure(dirfd(d), e->d_name, &code);
		if (!pid)
			continue;
		nr++;
		if (!first || pid < first) {
			first = pid;
			why = code;
		}
	}
	if (!nr)
		return;
	errno = why;
	coati_note("no live events of process %u%s: libcoati-live could not record in it: %m%s",
		   first, nr > 1 ? " and others" : "",
		   why == EFBIG	   ? "; raise its limit for files (ulimit -f) to 1 MiB or more"
		   : why == ENOSPC ? "; make room in /dev/shm or set XDG_RUNTIME_DIR"
				   : "");
}

static void say_answers(const struct record_live *l)
{
	struct coati_error err = { 0 };

	say_failures(l);
	for (size_t i = 0; i < l->silent.len; i++)
		if (l->silent.v[i].r != -ENOENT && l->silent.v[i].r != -EALREADY)
			coati_note("no live events: %s", l->silent.v[i].err.text);
	if (l->forged[0])
		coati_note("ignored live events: %s, which is not that user's", l->forged);
	for (size_t i = 0; i < l->asks.len; i++) {
		int r = coati_live_answer(&l->asks.v[i], &err);

		if (r == 0)
			coati_note("a process that links libcoati-live wrote no live events");
		else if (r < 0 && r != -ESRCH)
			coati_note("no live events: %s", err.text);
	}
}

static void release_processes(struct record_live *l)
{
	for (size_t i = 0; i < l->asks.len; i++)
		coati_live_release(&l->asks.v[i]);
	ARRAY_FINI(&l->asks);
	ARRAY_FINI(&l->silent);
}

/* ---- the directory ---- */

/* PID-TICKS.live, and PID-TICKS.live.new of a program that was killed at its start. */
static bool is_of_recorder(const char *name)
{
	return strstr(name, SUFFIX) != NULL;
}

static void empty(DIR *d)
{
	const struct dirent *e;

	while ((e = readdir(d)))
		if (is_of_recorder(e->d_name))
			unlinkat(dirfd(d), e->d_name, 0);
}

/* Remove the directory of a recorder that was killed: it is owned by this user, is not recent, and
 * no process holds its lock. */
static void clean_one(int base, const char *name)
{
	CLEANUP(dir_closep) DIR *d = open_folder(base, name);
	struct timespec now;
	struct stat st;

	if (!d || fstat(dirfd(d), &st) < 0 || st.st_uid != geteuid() ||
	    clock_gettime(CLOCK_REALTIME, &now) < 0 || now.tv_sec - st.st_mtim.tv_sec < YOUNG_S ||
	    flock(dirfd(d), LOCK_EX | LOCK_NB) < 0)
		return;
	empty(d);
	unlinkat(base, name, AT_REMOVEDIR);
}

static void clean(const char *base)
{
	CLEANUP(dir_closep) DIR *d = open_folder(AT_FDCWD, base);
	const struct dirent *e;

	while (d && (e = readdir(d)))
		if (!strncmp(e->d_name, ASK_FOLDER, strlen(ASK_FOLDER)))
			clean_one(dirfd(d), e->d_name);
}

/* ---- files ---- */

static bool is_known(const struct record_live *l, const struct stat *st)
{
	for (size_t i = 0; i < l->files.len; i++)
		if (l->files.v[i].ino == st->st_ino && l->files.v[i].dev == st->st_dev)
			return true;
	return false;
}

/* One user cannot take the places of all others. */
static bool has_place(const struct record_live *l, uint32_t owner)
{
	size_t nr = 0;

	for (size_t i = 0; i < l->files.len; i++)
		nr += l->files.v[i].owner == owner;
	return !owner || owner == (uint32_t)geteuid() || nr < FILES_USER;
}

/* The first is reported at the end. */
static void refuse_file(struct record_live *l, const char *path,
			const struct coati_flight_info *info)
{
	if (l->forged[0])
		return;
	snprintf(l->forged, sizeof(l->forged), "%.300s (user %u) names process %u", path,
		 info->owner, info->pid);
}

/* @pid: that it was looked for, or 0. */
static void take_file(struct record_live *l, int fd, int32_t pid,
		      const struct coati_flight_info *info)
{
	struct live_file *f;
	struct stat st;
	int own;

	if (fstat(fd, &st) < 0 || is_known(l, &st))
		return;
	own = (uint64_t)st.st_size > FILE_BYTES || !has_place(l, info->owner)
		      ? -1
		      : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	f = own < 0 ? NULL : ARRAY_ADD(&l->files);
	if (!f) {
		l->refused++;
		if (own >= 0)
			close(own);
		return;
	}
	*f = (struct live_file){ .fd = own,
				 .ino = st.st_ino,
				 .dev = st.st_dev,
				 .next = 1,
				 .pid = pid,
				 .of = info->pid,
				 .owner = info->owner };
	/* the generation that is being written; each one starts with a snapshot of what is open */
	if (l->old && info->generation)
		f->next = info->generation;
}

/* In our own directory: of every process of the command. */
static int take_any(void *ctx, int fd, const char *path, const struct coati_flight_info *info)
{
	(void)path;
	if (info->bytes)
		take_file(ctx, fd, 0, info);
	return 0;
}

struct wanted {
	struct record_live *live;
	int32_t pid;
};

/* What the process itself writes, under the number that it has here or in its container: its events
 * must not be those of another one. */
static int take_open(void *ctx, int fd, const char *path, const struct coati_flight_info *info)
{
	struct wanted *w = ctx;

	if (info->pid == (uint32_t)w->pid ||
	    info->pid == (uint32_t)coati_jit_inner_pid("/proc", w->pid))
		take_file(w->live, fd, w->pid, info);
	else
		refuse_file(w->live, path, info);
	return 0;
}

/* Take the file of the process and its user, but not one that a dead process with the same PID
 * left. */
static int take_wanted(void *ctx, int fd, const char *path, const struct coati_flight_info *info)
{
	struct wanted *w = ctx;

	(void)path;
	if (info->bytes && info->pid == (uint32_t)w->pid && info->is_alive)
		take_file(w->live, fd, w->pid, info);
	return 0;
}

/* Take the file of any running process, when it is its user's or root's: what other users write
 * about it is not believed. */
static int take_alive(void *ctx, int fd, const char *path, const struct coati_flight_info *info)
{
	uint32_t user;

	if (!info->bytes || !info->is_alive)
		return 0;
	if (!info->owner ||
	    (coati_live_user_of((int32_t)info->pid, &user) == 0 && info->owner == user))
		take_file(ctx, fd, (int32_t)info->pid, info);
	else
		refuse_file(ctx, path, info);
	return 0;
}

static bool is_found(const struct record_live *l, int32_t pid)
{
	for (size_t i = 0; i < l->files.len; i++)
		if (l->files.v[i].pid == pid && !l->files.v[i].ended)
			return true;
	return false;
}

static void look(struct record_live *l)
{
	struct coati_live_look all = { .fn = take_alive, .ctx = l, .most = LOOKED_AT };
	struct coati_live_look ours = { .fn = take_any, .ctx = l };
	uint32_t user;

	if (l->all)
		coati_live_files_of_user(LIVE_FILES_ALL, &all);
	if (l->folder[0])
		coati_live_files_in(l->folder, &ours);
	for (size_t i = 0; i < l->nr_pids; i++) {
		struct wanted w = { l, l->pids[i] };
		struct coati_live_look open = { .fn = take_open, .ctx = &w };
		struct coati_live_look named = { .fn = take_wanted, .ctx = &w };

		if (is_found(l, w.pid))
			continue;
		coati_live_files_of_process(w.pid, &open);
		if (!is_found(l, w.pid) && coati_live_user_of(w.pid, &user) == 0)
			coati_live_files_of_user(user, &named);
	}
}

/* ---- opening and closing ---- */

void coati_record_live_open_all(struct record_live *l)
{
	l->files.max = l->asks.max = l->silent.max = FILES_MAX;
	l->on = l->all = true;
	l->lock_fd = -1;
	l->old = true;
	look(l);
	l->old = false;
}

void coati_record_live_open(struct record_live *l)
{
	const char *base = getenv("XDG_RUNTIME_DIR");

	l->files.max = FILES_MAX;
	l->on = true;
	l->lock_fd = -1;
	l->old =
		/* of programs that record for themselves: what they wrote so far is not ours */
		true;
	look(l);
	l->old = false;
	ask_first(l);
	if (!base || base[0] != '/' || strlen(base) > 100 || access(base, W_OK | X_OK) < 0)
		base = "/dev/shm";
	clean(base);
	snprintf(l->folder, sizeof(l->folder), "%s/" ASK_FOLDER "XXXXXX", base);
	if (!mkdtemp(l->folder) || setenv(VARIABLE, l->folder, 1) < 0) {
		coati_note("no live events of the command: cannot make a directory in %s: %m",
			   base);
		l->folder[0] = '\0';
		return;
	}
	l->lock_fd = open(l->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (l->lock_fd >= 0)
		flock(l->lock_fd, LOCK_EX | LOCK_NB);
}

void coati_record_live_close(struct record_live *l)
{
	CLEANUP(dir_closep) DIR *d = l->folder[0] ? open_folder(AT_FDCWD, l->folder) : NULL;

	if (d)
		empty(d);
	if (l->folder[0] && rmdir(l->folder) < 0)
		coati_note("cannot remove %s: %m", l->folder);
	if (l->on && l->lock_fd >= 0)
		close(l->lock_fd);
	for (size_t i = 0; i < l->files.len; i++)
		close(l->files.v[i].fd);
	ARRAY_FINI(&l->files);
	release_processes(l);
	if (l->on && !l->all)
		unsetenv(VARIABLE);
	l->on = false;
	l->folder[0] = '\0';
}

/* ---- batches ---- */

struct sink {
	struct coati_capture *cap;
	struct coati_writer *writer; /* NULL: through the capture */
};

static int put(struct record_live *l, const struct sink *to, uint32_t pid, const void *bytes,
	       size_t size)
{
	struct coati_batch b = { .kind = COATI_BATCH_TRACE,
				 .version = 1,
				 .pid = pid,
				 .tid = pid,
				 .time_ns = now_ns(),
				 .id = COATI_LIVE_ID,
				 .payload = bytes,
				 .payload_size = (uint32_t)size };

	if (size > COATI_LIVE_BATCH_MAX)
		return 0;
	l->batches++;
	l->bytes += size;
	/* what is wrong with that one, it reports by itself */
	if (l->also && *l->also)
		coati_capture_batch(*l->also, &b);
	return to->writer ? coati_writer_batch(to->writer, &b) : coati_capture_batch(to->cap, &b);
}

/* Generations that are complete; at the end all of them. A newer one has begun, and the collector
 * may still be closing the one before. */
static int read_file(struct record_live *l, struct live_file *f, const struct sink *to, bool last)
{
	struct coati_flight *flight = NULL;
	struct coati_flight_info info;
	struct live_batch head;
	const void *bytes;
	uint64_t where, upto;
	size_t size;
	int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 3), r, n = 1;

	if (fd < 0)
		return 0;
	/* it may not be one yet: it is written when it has its size */
	if (coati_flight_open_fd(fd, &flight, NULL) < 0)
		return 0;
	coati_flight_get_info(flight, &info);
	/* its writer may change all of it at any time, but not whose events it has */
	if (info.is_core || info.pid != f->of) {
		coati_flight_close(&flight);
		refuse_file(l, "a recorder", &info);
		f->next = UINT64_MAX;
		return 0;
	}
	upto = last ? UINT64_MAX : info.generation > 2 ? info.generation - 2 : 0;
	r = 0;
	if (upto >= f->next) {
		coati_flight_between(flight, f->next, upto);
		while (r == 0 && (n = coati_flight_next(flight, &bytes, &size, &where)) > 0) {
			memcpy(&head, bytes, sizeof(head));
			f->newest = head.generation > f->newest ? head.generation : f->newest;
			r = put(l, to, info.pid, bytes, size);
		}
		f->next = upto == UINT64_MAX ? upto : upto + 1;
	}
	coati_flight_close(&flight);
	return r;
}

/* All that its recorder left was put: readers need not wait for more of that process. */
static int put_end(struct record_live *l, const struct live_file *f, const struct sink *to)
{
	const struct live_batch last = { .magic = LIVE_BATCH_MAGIC,
					 .version = LIVE_BATCH_VERSION,
					 .kind = LIVE_BATCH_END,
					 .flags = LIVE_BATCH_CLOSED | LIVE_BATCH_NANOSECONDS |
						  LIVE_BATCH_LAST,
					 .generation = f->newest,
					 .pid = f->of,
					 .tid = f->of,
					 .checksum = live_checksum(NULL, 0) };

	return put(l, to, f->of, &last, sizeof(last));
}

/* What is new in it; when its recorder has ended, the rest. */
static int read_on(struct record_live *l, struct live_file *f, const struct sink *to, bool last)
{
	int r = f->next != UINT64_MAX ? read_file(l, f, to, last || f->ended) : 0;

	if (r < 0 || !f->ended)
		return r;
	r = f->newest ? put_end(l, f, to) : 0;
	f->next = UINT64_MAX;
	f->newest = 0;
	return r;
}

static int read_files(struct record_live *l, const struct sink *to, bool last)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->files.len; i++)
		r = read_on(l, &l->files.v[i], to, last);
	return r;
}

/* The recorder that wrote it has ended: the process can be asked at once. */
static void look_for_ends(struct record_live *l)
{
	struct coati_flight_info info;

	for (size_t i = 0; i < l->files.len; i++) {
		struct live_file *f = &l->files.v[i];

		if (f->ended || coati_flight_peek(f->fd, &info) < 0 || info.is_alive)
			continue;
		f->ended = true;
		l->ask_ns = 0;
		l->ask_every_ns = EVERY_NS;
	}
}

/* Who runs for months does not keep the files of all that ended: the rest of them is read. */
static int give_back(struct record_live *l, const struct sink *to)
{
	size_t kept = 0;
	int r = 0;

	for (size_t i = 0; i < l->files.len; i++) {
		struct live_file *f = &l->files.v[i];

		if (!f->ended) {
			l->files.v[kept++] = *f;
			continue;
		}
		if (r == 0)
			r = read_on(l, f, to, false);
		close(f->fd);
	}
	l->files.len = kept;
	return r;
}

int coati_record_live_round(struct record_live *l, struct coati_capture *cap)
{
	uint64_t now;
	int r;

	if (!l->on)
		return 0;
	now = now_ns();
	if (now < l->next_ns)
		return 0;
	l->next_ns = now + EVERY_NS;
	look_for_ends(l);
	ask_processes(l, now);
	look(l);
	r = l->all ? give_back(l, &(struct sink){ .cap = cap }) : 0;
	return r < 0 ? r : read_files(l, &(struct sink){ .cap = cap }, false);
}

int coati_record_live_end(struct record_live *l, struct coati_writer *w)
{
	if (!l->on)
		return 0;
	say_answers(l);
	look(l);
	return read_files(l, &(struct sink){ .writer = w }, true);
}
