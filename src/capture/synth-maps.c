/* SPDX-License-Identifier: MIT */
/*
 * The mappings of a process that runs already. A kernel since 6.11 is asked for one executable
 * mapping after the other, build id included; an older one writes all of them as text. Ids are
 * asked for once a file.
 */
#include "capture/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <coati/capture.h>

#include "base/cleanup.h"
#include "base/file.h"

#define MAPS_MAX       1000000 /* of one process; the kernel's own limit is mostly 65530 */
#define NAME_MAX_BYTES 4096
#define ANON	       "//anon"

/* PROCMAP_QUERY, Linux 6.11 */
struct maps_query {
	uint64_t size;
	uint64_t query_flags, query_addr;
	uint64_t start, end, flags, page_size, offset, inode;
	uint32_t maj, min;
	uint32_t name_size, build_id_size;
	uint64_t name_addr, build_id_addr;
};
#define MAPS_QUERY	_IOWR('f', 17, struct maps_query)
#define MAPS_READABLE	0x01
#define MAPS_WRITABLE	0x02
#define MAPS_EXECUTABLE 0x04
#define MAPS_SHARED	0x08
#define MAPS_NEXT	0x10 /* the one at the address, or the next above it */

static uint64_t as_address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static int write_map(struct synth *s, struct coati_mmap *m)
{
	struct coati_record rec = { .type = COATI_RECORD_MMAP2, .misc = COATI_MISC_USER };
	int r;

	if (!(m->prot & PROT_EXEC))
		rec.misc |= COATI_MISC_MMAP_DATA;
	if (!m->name[0]) { /* as the kernel names it */
		m->name = ANON;
		m->pgoff = m->addr;
	}
	if (m->prot & PROT_EXEC) {
		r = coati_images_add(s->images, m);
		if (r < 0)
			return r;
	}
	if (m->build_id_size && s->build_ids)
		rec.misc |= COATI_MISC_MMAP_BUILD_ID;
	else
		m->build_id_size = 0;
	rec.u.mmap = *m;
	return coati_synth_emit(s, &rec, m->pid, m->tid);
}

/* An id that is known already need not be read again. */
static void find_build_id(struct synth *s, int fd, struct maps_query *q, struct coati_mmap *m)
{
	struct maps_query again = { .size = sizeof(again),
				    .query_addr = q->start,
				    .build_id_size = sizeof(m->build_id),
				    .build_id_addr = as_address(m->build_id) };

	if (!q->inode)
		return;
	m->build_id_size = (uint8_t)coati_images_find(s->images, m, m->build_id);
	if (m->build_id_size || ioctl(fd, MAPS_QUERY, &again) < 0 || again.start != q->start ||
	    again.build_id_size > sizeof(m->build_id))
		return;
	m->build_id_size = (uint8_t)again.build_id_size;
}

static struct coati_mmap from_query(const struct maps_query *q, const char *name)
{
	return (struct coati_mmap){
		.addr = q->start,
		.len = q->end - q->start,
		.pgoff = q->offset,
		.maj = q->maj,
		.min = q->min,
		.ino = q->inode,
		.prot = (q->flags & MAPS_READABLE ? PROT_READ : 0u) |
			(q->flags & MAPS_WRITABLE ? PROT_WRITE : 0u) |
			(q->flags & MAPS_EXECUTABLE ? PROT_EXEC : 0u),
		.flags = q->flags & MAPS_SHARED ? MAP_SHARED : MAP_PRIVATE,
		.name = name,
	};
}

/* 1: the kernel (or an emulator) does not know the question. */
static int query_maps(struct synth *s, int fd, int32_t pid)
{
	uint64_t at = 0;

	for (int i = 0; i < MAPS_MAX; i++) {
		char name[NAME_MAX_BYTES] = "";
		struct maps_query q = { .size = sizeof(q),
					.query_flags = MAPS_NEXT,
					.query_addr = at,
					.name_size = sizeof(name),
					.name_addr = as_address(name) };
		struct coati_mmap m;
		int r;

		q.query_flags |= s->flags & COATI_CAPTURE_DATA ? MAPS_READABLE : MAPS_EXECUTABLE;
		/* ENOENT: no more */
		if (ioctl(fd, MAPS_QUERY, &q) < 0)
			return i == 0 && errno != ENOENT;
		if (q.end <= at)
			return 0;
		at = q.end;
		name[sizeof(name) - 1] = '\0';
		m = from_query(&q, q.name_size ? name : "");
		m.pid = m.tid = (uint32_t)pid;
		if (m.prot & PROT_EXEC)
			find_build_id(s, fd, &q, &m);
		r = write_map(s, &m);
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_line(struct synth *s, char *line, int32_t pid)
{
	struct coati_mmap m;

	if (coati_maps_line(line, &m) < 0 || strlen(m.name) >= NAME_MAX_BYTES)
		return 0;
	if (!(m.prot & PROT_EXEC) && !(s->flags & COATI_CAPTURE_DATA && m.prot & PROT_READ))
		return 0;
	m.pid = m.tid = (uint32_t)pid;
	if (m.ino)
		m.build_id_size = (uint8_t)coati_images_find(s->images, &m, m.build_id);
	return write_map(s, &m);
}

static int text_maps(struct synth *s, const char *path, int32_t pid)
{
	char *line, *rest;
	int r = 0;

	coati_strbuf_clear(&s->text);
	if (coati_file_read(s->proc_fd, path, &s->text) < 0)
		return 0;
	rest = s->text.len ? s->text.text : NULL;
	for (int i = 0; r == 0 && i < MAPS_MAX && (line = strsep(&rest, "\n")); i++)
		r = write_line(s, line, pid);
	return r;
}

int coati_synth_maps(struct synth *s, int32_t pid)
{
	CLEANUP(fd_closep) int fd = -1;
	char path[32];
	int r = 1;

	snprintf(path, sizeof(path), "%d/maps", pid);
	if (!s->no_query) {
		fd = openat(s->proc_fd, path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return 0;
		r = query_maps(s, fd, pid);
		s->no_query = r == 1;
	}
	return r == 1 ? text_maps(s, path, pid) : r;
}
