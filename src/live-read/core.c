/* SPDX-License-Identifier: MIT */
/*
 * Flight recorders in core files. Memory without a name in the file system (a memfd) lies in the
 * core itself; that of a file below /dev/shm is left out by the kernel unless
 * /proc/PID/coredump_filter asks for it, but the core has the name of the file.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/error.h"
#include "base/file.h"
#include "base/opening.h"
#include "live-read/flight-parts.h"

#define SEGMENTS_MAX 65535u
#define NOTES_MAX    (UINT64_C(16) << 20)
#define NT_SIGINFO_  0x53494749u
#define NT_FILE_     0x46494c45u

struct core {
	int fd;
	uint64_t bytes;
	Elf64_Ehdr head;
	uint32_t signal;
	char path[256]; /* of a recorder that is named */
};

static int segment(const struct core *c, uint32_t i, Elf64_Phdr *ret)
{
	uint64_t at = c->head.e_phoff + (uint64_t)i * sizeof(*ret);

	if (at < c->head.e_phoff || at > c->bytes || sizeof(*ret) > c->bytes - at)
		return -ENODATA;
	return coati_pread_all(c->fd, ret, sizeof(*ret), at);
}

static bool is_recorder(const char *path)
{
	size_t len = strlen(path);

	return len > 5 && !strcmp(path + len - 5, ".live") && path[0] == '/';
}

/* count, page size, count times {start, end, offset}, then the names. */
static void read_names(struct core *c, const uint8_t *bytes, size_t size)
{
	struct cursor k = cursor_over(bytes, size);
	uint64_t count = cursor_u64(&k);

	cursor_skip(&k, 8);
	if (k.bad || count > cursor_left(&k) / 24)
		return;
	cursor_skip(&k, (size_t)count * 24);
	while (count-- && cursor_left(&k)) {
		const char *name = (const char *)k.at;
		size_t len = strnlen(name, cursor_left(&k));

		if (len == cursor_left(&k))
			return;
		if (is_recorder(name) && len < sizeof(c->path))
			memcpy(c->path, name, len + 1);
		cursor_skip(&k, len + 1);
	}
}

static void read_note(struct core *c, uint32_t type, const uint8_t *bytes, size_t size)
{
	struct cursor k = cursor_over(bytes, size);

	if (type == NT_FILE_)
		read_names(c, bytes, size);
	if (type == NT_SIGINFO_ && !c->signal)
		c->signal = cursor_u32(&k);
	if (type == NT_PRSTATUS && !c->signal) {
		cursor_skip(&k, 12); /* the siginfo of it; then the signal as a short */
		c->signal = cursor_u16(&k);
	}
}

static int read_notes(struct core *c, const Elf64_Phdr *p)
{
	CLEANUP(freep) uint8_t *bytes = NULL;
	struct cursor k;
	int n;

	if (p->p_filesz > NOTES_MAX)
		return 0;
	bytes = coati_alloc(p->p_filesz + 1);
	if (!bytes)
		return -ENOMEM;
	n = coati_pread_all(c->fd, bytes, p->p_filesz, p->p_offset);
	if (n < 0)
		return n == -ENODATA ? 0 : n;
	k = cursor_over(bytes, p->p_filesz);
	while (cursor_left(&k) >= 12) {
		uint32_t name_size = cursor_u32(&k), size = cursor_u32(&k), type = cursor_u32(&k);
		const uint8_t *body;

		cursor_skip(&k, ((size_t)name_size + 3) & ~(size_t)3);
		body = k.at;
		cursor_skip(&k, ((size_t)size + 3) & ~(size_t)3);
		if (k.bad)
			return 0;
		read_note(c, type, body, size);
	}
	return 0;
}

static bool begins_as_recorder(const struct core *c, const Elf64_Phdr *p)
{
	uint64_t magic = 0;

	return p->p_filesz >= sizeof(struct live_map) && p->p_offset < c->bytes &&
	       coati_pread_all(c->fd, &magic, sizeof(magic), p->p_offset) == 0 &&
	       magic == LIVE_MAP_MAGIC;
}

/* 1: the memory is in one of the segments. */
static int look(struct core *c, struct flight_place *ret)
{
	Elf64_Phdr p;
	int found = 0, n;

	for (uint32_t i = 0; i < c->head.e_phnum; i++) {
		n = segment(c, i, &p);
		if (n < 0)
			return n == -ENODATA ? found : n; /* cut short: what is there counts */
		if (p.p_type == PT_NOTE) {
			n = read_notes(c, &p);
			if (n < 0)
				return n;
		}
		if (p.p_type == PT_LOAD && !found && begins_as_recorder(c, &p)) {
			ret->at = p.p_offset;
			ret->bytes = p.p_filesz < c->bytes - p.p_offset ? p.p_filesz
									: c->bytes - p.p_offset;
			found = 1;
		}
	}
	return found;
}

/* Its name comes from the core, which may be anybody's: no link is followed, what is no file is not
 * waited for, and the core of one user names no recorder of another. Cores of root's are believed:
 * those of programs with the rights of others are its, and so are those that a handler wrote. */
static int open_named(const struct core *c, struct flight_place *ret, struct coati_error *err)
{
	static const char cannot[] =
		"the core file names a flight recorder that cannot be opened: %s: %m";
	struct opening o = { .kind = OPEN_RECORDER, .links = OPEN_NO_LAST_LINK, .path = c->path };
	CLEANUP(fd_closep) int fd = coati_open_file(&o, NULL);
	struct stat st, core;

	if (fd < 0 || fstat(fd, &st) < 0 || fstat(c->fd, &core) < 0)
		return coati_fail(err, fd < 0 ? fd : -errno, cannot, c->path);
	if (!S_ISREG(st.st_mode))
		return coati_fail(err, -EBADMSG, cannot, c->path);
	if (core.st_uid && core.st_uid != st.st_uid)
		return coati_fail(err, -EPERM,
				  "the core file belongs to user %u, but names a flight recorder "
				  "of user %u: %s",
				  core.st_uid, st.st_uid, c->path);
	ret->fd = TAKE_FD(fd);
	ret->at = 0;
	ret->bytes = (uint64_t)st.st_size;
	return 1;
}

int coati_flight_core(int fd, struct flight_place *ret, struct coati_error *err)
{
	struct core c = { .fd = fd, .bytes = ret->bytes };
	int n;

	if (c.bytes < sizeof(c.head) || coati_pread_all(fd, &c.head, sizeof(c.head), 0) < 0 ||
	    memcmp(c.head.e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	if (c.head.e_ident[EI_CLASS] != ELFCLASS64 || c.head.e_type != ET_CORE ||
	    c.head.e_phentsize != sizeof(Elf64_Phdr))
		return coati_fail(err, -EBADMSG,
				  "an ELF file, but not a core file of a 64-bit process");
	n = look(&c, ret);
	ret->is_core = true;
	ret->signal = c.signal;
	if (n != 0)
		return n < 0 ? coati_fail(err, n, "reading the core file: %m") : 1;
	if (!c.path[0])
		return coati_fail(
			err, -ENOENT,
			"the core file has no flight recorder: the process did not run one");
	return open_named(&c, ret, err);
}
