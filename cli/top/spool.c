/* SPDX-License-Identifier: MIT */
/* see spool.h; how a file is made of it is in save.c */
#include "cli/top/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "capture/session.h"
#include "recording/writer.h"

#define PARTS_MAX   64
#define PART_NS	    (60 * NSEC_PER_SEC)
#define PARTS_LEAST 8 /* so many fit into what may be kept: no more than one of them goes at once */

void coati_top_spool_init(struct top_spool *s, uint64_t max_bytes)
{
	*s = (struct top_spool){ .max_bytes = max_bytes };
	s->parts.max = PARTS_MAX;
}

void coati_top_spool_fini(struct top_spool *s)
{
	for (size_t i = 0; i < s->parts.len; i++)
		close(s->parts.v[i].fd);
	ARRAY_FINI(&s->parts);
}

static struct top_part *last_part(const struct top_spool *s)
{
	return s->parts.len ? &s->parts.v[s->parts.len - 1] : NULL;
}

/* Where the kernel has put it: holes and pages that are not there are not counted. */
static void measure(struct top_part *p)
{
	struct stat st;

	if (fstat(p->fd, &st) == 0)
		p->bytes = (uint64_t)st.st_blocks * 512;
}

static void drop_oldest(struct top_spool *s)
{
	close(s->parts.v[0].fd);
	s->parts.len--;
	memmove(s->parts.v, s->parts.v + 1, s->parts.len * sizeof(*s->parts.v));
}

/* Compressed where this build can. */
static int open_writer(struct top_spool *s, int fd, struct coati_writer **ret,
		       struct coati_error *err)
{
	struct coati_writer_opts o = { .size = sizeof(o),
				       .flags = COATI_WRITER_PIPE,
				       .zstd_level = s->is_plain ? 0 : 1 };
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3), r;

	if (own < 0)
		return coati_fail(err, -errno, "cannot make a recording in memory: %m");
	r = coati_writer_open_fd(own, &o, ret, err);
	if (r != -EOPNOTSUPP || s->is_plain)
		return r;
	s->is_plain = true;
	return open_writer(s, fd, ret, err);
}

static int reopen(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int coati_top_spool_end(struct top_spool *s, struct coati_capture *cap, struct coati_error *err)
{
	struct top_part *p = last_part(s);
	int r;

	if (!p || p->end_ns != UINT64_MAX)
		return 0;
	r = coati_capture_finish(cap, err);
	p->end_ns = now_ns();
	measure(p);
	return r;
}

int coati_top_spool_begin(struct top_spool *s, struct coati_capture *cap, int *ret_fd,
			  struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = memfd_create("coati-top", MFD_CLOEXEC);
	struct coati_writer *w = NULL;
	struct top_part *p;
	int r;

	if (fd < 0)
		return coati_fail(err, -errno, "cannot make a recording in memory: %m");
	r = coati_top_spool_end(s, cap, err);
	if (r == 0)
		r = open_writer(s, fd, &w, err);
	if (r == 0)
		r = coati_capture_begin(cap, &w, err);
	if (r < 0)
		return r;
	if (s->parts.len == PARTS_MAX)
		drop_oldest(s);
	*ret_fd = reopen(fd);
	p = *ret_fd < 0 ? NULL : ARRAY_ADD(&s->parts);
	if (!p)
		return coati_fail(err, *ret_fd < 0 ? -errno : -ENOMEM,
				  "cannot make a recording in memory: %m");
	*p = (struct top_part){ .fd = TAKE_FD(fd), .begin_ns = now_ns(), .end_ns = UINT64_MAX };
	return 0;
}

bool coati_top_spool_is_due(struct top_spool *s, uint64_t now_ns)
{
	struct top_part *p = last_part(s);

	if (!p || p->end_ns != UINT64_MAX)
		return false;
	measure(p);
	return now_ns - p->begin_ns >= PART_NS || p->bytes > s->max_bytes / PARTS_LEAST;
}

uint64_t coati_top_spool_bytes(const struct top_spool *s)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->parts.len; i++)
		bytes += s->parts.v[i].bytes;
	return bytes;
}

void coati_top_spool_forget(struct top_spool *s, uint64_t before_ns)
{
	while (s->parts.len > 1 && s->parts.v[0].end_ns < before_ns)
		drop_oldest(s);
}

void coati_top_spool_trim(struct top_spool *s)
{
	while (s->parts.len > 1 && coati_top_spool_bytes(s) > s->max_bytes)
		drop_oldest(s);
}

uint64_t coati_top_spool_since(const struct top_spool *s)
{
	return s->parts.len ? s->parts.v[0].begin_ns : UINT64_MAX;
}
