/* SPDX-License-Identifier: MIT */
/*
 * The tracer of a process that runs is switched on: the block that a note of libcoati-live leads to
 * is found in its memory, filled in and followed by its gate (record/live-ask.h). Needs the right
 * to write that memory, as a debugger does. Everything that is read there is checked; nothing is
 * written outside of the block and the gate, both of which must lie in writable memory of the
 * process.
 */
#include <coati/trace.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "live-read/ask.h"
#include "process/proc.h"
#include "record/live-ask.h"

#define MAPS_MAX  (UINT64_C(64) << 20)
#define PHDRS_MAX 64u
#define NOTES_MAX 65536u
#define NAME	  "coati"

struct search {
	int mem;
	struct strbuf maps;
	uint64_t block; /* 0: not found */
};

/* ---- notes ---- */

/* The distance that the note holds, and where: 0 none. */
static uint64_t block_of_notes(const uint8_t *bytes, size_t size, uint64_t at)
{
	while (size >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr h;
		size_t name, whole;

		memcpy(&h, bytes, sizeof(h));
		if (h.n_namesz > size || h.n_descsz > size)
			return 0;
		name = sizeof(h) + ((h.n_namesz + 3u) & ~(size_t)3);
		whole = name + ((h.n_descsz + 3u) & ~(size_t)3);
		if (whole > size)
			return 0;
		if (h.n_type == ASK_NOTE && h.n_namesz == sizeof(NAME) && h.n_descsz == 8 &&
		    !memcmp(bytes + sizeof(h), NAME, sizeof(NAME))) {
			uint64_t distance;

			memcpy(&distance, bytes + name, sizeof(distance));
			return at + name + distance;
		}
		bytes += whole;
		size -= whole;
		at += whole;
	}
	return 0;
}

static uint64_t look_into_segment(int mem, uint64_t at, uint64_t size)
{
	uint8_t notes[4096];

	if (size > NOTES_MAX)
		return 0;
	/* ours are short, and first where there are others */
	if (size > sizeof(notes))
		size = sizeof(notes);
	if (coati_pread_all(mem, notes, size, at) < 0)
		return 0;
	return block_of_notes(notes, size, at);
}

/* A file that is mapped from its start at @base. */
static uint64_t look_into_file(int mem, uint64_t base)
{
	Elf64_Ehdr e;
	Elf64_Phdr p[PHDRS_MAX];
	uint64_t bias = base, block = 0;
	bool found = false;

	if (coati_pread_all(mem, &e, sizeof(e), base) < 0 ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_phentsize != sizeof(*p) || !e.e_phnum || e.e_phnum > PHDRS_MAX ||
	    coati_pread_all(mem, p, e.e_phnum * sizeof(*p), base + e.e_phoff) < 0)
		return 0;
	for (unsigned int i = 0; i < e.e_phnum && !found; i++)
		if (p[i].p_type == PT_LOAD) {
			found = true;
			bias = base - (p[i].p_vaddr & ~UINT64_C(0xfff));
		}
	for (unsigned int i = 0; i < e.e_phnum && !block; i++)
		if (p[i].p_type == PT_NOTE)
			block = look_into_segment(mem, bias + p[i].p_vaddr, p[i].p_memsz);
	return block;
}

/* ---- memory of the process ---- */

typedef bool (*mapping_fn)(struct search *s, const struct coati_mmap *m, uint64_t at,
			   uint64_t size);

/* Whether @fn says so of one of them. */
static bool any_mapping(struct search *s, mapping_fn fn, uint64_t at, uint64_t size)
{
	char line[4352];

	for (const char *from = s->maps.text; from && *from;) {
		const char *end = strchr(from, '\n');
		size_t len = end ? (size_t)(end - from) : strlen(from);
		struct coati_mmap m = { 0 };

		if (len < sizeof(line)) {
			memcpy(line, from, len);
			line[len] = '\0';
			if (coati_maps_line(line, &m) == 0 && fn(s, &m, at, size))
				return true;
		}
		from = end ? end + 1 : NULL;
	}
	return false;
}

static bool has_block(struct search *s, const struct coati_mmap *m, uint64_t at, uint64_t size)
{
	(void)at;
	(void)size;
	if (m->pgoff == 0 && m->prot & PROT_READ && m->name[0] == '/')
		s->block = look_into_file(s->mem, m->addr);
	return s->block != 0;
}

static bool is_writable(struct search *s, const struct coati_mmap *m, uint64_t at, uint64_t size)
{
	(void)s;
	return m->prot & PROT_WRITE && m->prot & PROT_READ && at >= m->addr &&
	       at - m->addr <= m->len && m->len - (at - m->addr) >= size;
}

static int write_at(int mem, const void *bytes, size_t size, uint64_t at)
{
	ssize_t n = pwrite(mem, bytes, size, (off_t)at);

	return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EIO;
}

/* Whether it publishes a process context (docs/formats/thread-context.md), as programs with labels
 * do. */
static bool has_labels(const struct search *s)
{
	return s->maps.text && strstr(s->maps.text, ":OTEL_CTX");
}

/* ---- asking ---- */

static int find_block(struct search *s, int32_t pid, struct tracer_ask *ret,
		      struct coati_error *err)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/mem", pid);
	s->mem = open(path, O_RDWR | O_CLOEXEC);
	if (s->mem < 0)
		return coati_fail(err, -errno, "cannot ask process %d to trace: %s: %m", pid, path);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	r = coati_file_read(AT_FDCWD, path, &s->maps);
	if (r < 0)
		return coati_fail(err, r, "cannot ask process %d to trace: %s: %m", pid, path);
	if (!any_mapping(s, has_block, 0, 0))
		return has_labels(s)
			       ? coati_fail(err, -EOPNOTSUPP,
					    "process %d has labels, but no libcoati-live tracer "
					    "that reports them",
					    pid)
			       : coati_fail(err, -ENOENT, "process %d has no libcoati-live", pid);
	if (!any_mapping(s, is_writable, s->block, sizeof(*ret)) ||
	    coati_pread_all(s->mem, ret, sizeof(*ret), s->block) < 0 ||
	    ret->version != ASK_VERSION || ret->size != sizeof(*ret) ||
	    !any_mapping(s, is_writable, ret->gate, sizeof(uint64_t)))
		return coati_fail(err, -EPROTO,
				  "process %d has a libcoati-live that this coati does not support",
				  pid);
	return 0;
}

/* The gate last: when it is seen, the rest is there. */
static int write_question(const struct search *s, struct tracer_ask *a)
{
	uint64_t gate = ~UINT64_C(0);
	int r;

	a->asked++;
	a->watcher = (uint32_t)getpid();
	a->flags = ASK_LABELS;
	a->bytes = 0;
	a->directory[0] = '\0';
	r = write_at(s->mem, a, offsetof(struct tracer_ask, directory) + 1, s->block);
	if (r == 0)
		r = write_at(s->mem, &gate, sizeof(gate), a->gate);
	return r;
}

int coati_live_ask(int32_t pid, struct coati_live_ask *ret, struct coati_error *err)
{
	struct search s = { .mem = -1, .maps = STRBUF_INIT(MAPS_MAX) };
	struct tracer_ask a;
	int r = find_block(&s, pid, &a, err);

	*ret = (struct coati_live_ask){ .fd = -1 };
	if (r == 0 && a.path[0]) {
		r = -EALREADY; /* the program has one of its own */
	} else if (r == 0) {
		r = write_question(&s, &a);
		if (r < 0)
			coati_fail(err, r, "cannot ask process %d to trace: %m", pid);
	}
	if (r == 0)
		*ret = (struct coati_live_ask){ s.mem, a.asked, s.block };
	else if (s.mem >= 0)
		close(s.mem);
	coati_strbuf_fini(&s.maps);
	return r;
}

int coati_live_answer(const struct coati_live_ask *ask, struct coati_error *err)
{
	struct tracer_ask a;

	if (coati_pread_all(ask->fd, &a, sizeof(a), ask->block) < 0)
		return coati_fail(err, -ESRCH, "the process is gone");
	if (a.answered != ask->ticket)
		return 0;
	if (a.error < 0)
		return coati_fail(err, a.error, "its recorder does not start: %m");
	return 1;
}

void coati_live_release(struct coati_live_ask *ask)
{
	if (ask->fd < 0)
		return;
	(void)write_at(ask->fd, &ask->ticket, sizeof(ask->ticket),
		       ask->block + offsetof(struct tracer_ask, released));
	close(ask->fd);
	ask->fd = -1;
}
