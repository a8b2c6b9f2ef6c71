/* SPDX-License-Identifier: MIT */
/*
 * A path comes in, an ELF file goes out, as a copy of what base/elf.c looks at: headers, tables and
 * all sections but debug data. It was a mapping once; a process that shortens the file (such as a
 * linker that writes it again) would have killed this one with SIGBUS. After the last byte is a
 * page of zeros.
 */
#include "base/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#ifdef COATI_INSIDE /* a program that reads its own files does not report why it cannot */
#define coati_fail(err, code, ...) (code)
#endif
#define START_BYTES    4096 /* with the header, and what stands at the head of a script */
#define READ_BYTES_MAX (UINT64_C(1) << 30) /* of one file */

struct source {
	int fd;
	uint8_t *bytes;
	size_t size, map_size;
	uint64_t room; /* bytes that may still be read */
};

/* Only what is a regular file is opened at all: opening a device can do things. */
static int open_regular(const char *path, uint64_t *ret_size, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	struct stat st;

	if (stat(path, &st) < 0)
		return coati_fail(err, -errno, "open %s: %m", path);
	if (!S_ISREG(st.st_mode))
		return coati_fail(err, -EINVAL, "%s is not a regular file", path);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return coati_fail(err, -errno, "open %s: %m", path);
	if (!S_ISREG(st.st_mode))
		return coati_fail(err, -EINVAL, "%s is not a regular file", path);
	if (st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return coati_fail(err, -EBADMSG, "%s is too short for an ELF file", path);
	*ret_size = (uint64_t)st.st_size;
	return TAKE_FD(fd);
}

/* Room for all of the file and the page behind it; what is not read takes no memory. */
static int reserve(struct source *f)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p;

	if (__builtin_add_overflow(f->size, 2 * page - 1, &f->map_size))
		return -EFBIG;
	f->map_size &= ~(page - 1);
	p = mmap(NULL, f->map_size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	f->bytes = p;
	return 0;
}

/* Bytes of the file at their place; as far as there are some. -EFBIG over the ceiling. */
static int fetch(struct source *f, uint64_t offset, uint64_t size)
{
	if (offset >= f->size)
		return 0; /* those who look there find that it lies outside */
	if (size > f->size - offset)
		size = f->size - offset;
	if (size > f->room)
		return -EFBIG;
	f->room -= size;
	return coati_pread_all(f->fd, f->bytes + offset, (size_t)size, offset);
}

/* The tables of the file. Section 0 has the counts when they are large, so it is read before they
 * are known. */
static int fetch_tables(struct source *f, struct elf *e)
{
	Elf64_Ehdr h;
	uint64_t shoff;
	int r = fetch(f, 0, START_BYTES);

	if (r < 0)
		return r;
	memcpy(&h, f->bytes, sizeof(h));
	shoff = h.e_ident[EI_DATA] == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB
										 : ELFDATA2MSB)
			? h.e_shoff
			: __builtin_bswap64(h.e_shoff);
	r = fetch(f, shoff, sizeof(Elf64_Shdr));
	if (r < 0)
		return r;
	r = coati_elf_from_bytes(f->bytes, f->size, e);
	if (r == 0)
		r = fetch(f, e->phoff, (uint64_t)e->phnum * sizeof(Elf64_Phdr));
	return r < 0 ? r : fetch(f, e->shoff, (uint64_t)e->shnum * sizeof(Elf64_Shdr));
}

static bool is_debug_data(const struct elf_section *s)
{
	return s->type == SHT_PROGBITS &&
	       (!strncmp(s->name, ".debug_", 7) || !strncmp(s->name, ".zdebug_", 8));
}

/* All sections but debug data, the names of sections first. */
static int fetch_sections(struct source *f, const struct elf *e)
{
	struct elf nameless = *e;
	struct elf_section s;
	int r = 0;

	nameless.shstrndx = 0;
	if (e->shstrndx && coati_elf_section(&nameless, e->shstrndx, &s) == 0)
		r = fetch(f, s.offset, s.size);
	for (uint32_t i = 0; i < e->shnum && r == 0; i++)
		if (coati_elf_section(e, i, &s) == 0 && s.type != SHT_NOBITS &&
		    s.type != SHT_NULL && !is_debug_data(&s))
			r = fetch(f, s.offset, s.size);
	return r;
}

/* Notes lie in segments alone where the sections were cut off; then there is nothing else to go by
 * either. */
static int fetch_segments(struct source *f, const struct elf *e)
{
	struct elf_segment s;
	int r = 0;

	for (uint32_t i = 0; i < e->phnum && r == 0; i++)
		if (coati_elf_segment(e, i, &s) == 0 && (s.type == PT_NOTE || !e->shnum))
			r = fetch(f, s.offset, s.filesz);
	return r;
}

static int read_parts(struct source *f, struct elf *ret)
{
	int r = fetch_tables(f, ret);

	if (r == 0)
		r = fetch_sections(f, ret);
	if (r == 0)
		r = fetch_segments(f, ret);
	return r;
}

static int fail(int r, const char *path, const uint8_t *bytes, struct coati_error *err)
{
	switch (r) {
	case -EOPNOTSUPP:
		return coati_fail(err, r, "%s is a 32-bit file: only 64-bit ones are read", path);
	case -E2BIG:
		return coati_fail(err, r, "%s claims too many segments or sections", path);
	case -EFBIG:
		return coati_fail(err, r, "%s has more than %llu MiB without its debug data", path,
				  (unsigned long long)(READ_BYTES_MAX >> 20));
	case -ENODATA:
		return coati_fail(err, r, "%s was shortened while it was read: try again", path);
	case -EBADMSG:
		if (bytes && !memcmp(bytes, "#!", 2))
			return coati_fail(err, r, "%s is a script: use the program that runs it",
					  path);
		return coati_fail(err, r, "%s is not an ELF file, or a damaged one", path);
	default:
		return coati_fail(err, r, "read %s: %m", path);
	}
}

int coati_elf_open(const char *path, struct elf *ret, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = -1;
	struct source f = { .room = READ_BYTES_MAX };
	uint64_t size = 0;
	int r;

	*ret = (struct elf){ 0 };
	fd = open_regular(path, &size, err);
	if (fd < 0)
		return fd;
	f.fd = fd;
	f.size = size;
	r = reserve(&f);
	if (r == 0)
		r = read_parts(&f, ret);
	if (r < 0) {
		fail(r, path, f.bytes, err);
		*ret = (struct elf){ 0 };
		if (f.bytes)
			munmap(f.bytes, f.map_size);
		return r;
	}
	ret->map_size = f.map_size;
	return 0;
}
