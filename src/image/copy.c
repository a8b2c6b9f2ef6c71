/* SPDX-License-Identifier: MIT */
/*
 * An anonymous mapping as large as the file takes the pieces (16 KiB each) at their offsets; pages
 * that are not asked for are never touched and cost nothing. base/elf reads in it as if it were the
 * file.
 */
#include "image/copy.h"

#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#define PIECE_BYTES ((size_t)16 * 1024)

static bool has_piece(const struct copy *c, size_t i)
{
	return c->have[i / 64] >> (i % 64) & 1;
}

/* Read pieces [@first, @end), none of which is there. */
static bool read_pieces(struct copy *c, size_t first, size_t end)
{
	size_t start = first * PIECE_BYTES;
	size_t stop = end * PIECE_BYTES < c->size ? end * PIECE_BYTES : c->size;

	if (stop - start > COPY_READ_MAX - c->read_bytes ||
	    coati_pread_all(c->fd, c->bytes + start, stop - start, start) < 0) {
		c->short_of = true;
		return false;
	}
	c->read_bytes += stop - start;
	for (size_t i = first; i < end; i++)
		c->have[i / 64] |= UINT64_C(1) << (i % 64);
	return true;
}

const uint8_t *coati_copy_bytes(struct copy *c, uint64_t offset, uint64_t size)
{
	size_t at, end;

	if (offset > c->size || size > c->size - offset)
		return NULL;
	if (c->fd < 0 || !size)
		return c->bytes + offset;
	at = (size_t)offset / PIECE_BYTES;
	end = (size_t)(offset + size - 1) / PIECE_BYTES + 1;
	while (at < end) {
		size_t stop = at;

		while (stop < end && !has_piece(c, stop))
			stop++;
		if (stop > at && !read_pieces(c, at, stop))
			return NULL;
		at = stop + 1;
	}
	return c->bytes + offset;
}

const uint8_t *coati_copy_section(struct copy *c, const struct elf_section *s, size_t *ret_size)
{
	const uint8_t *bytes = NULL;

	if (s->type != SHT_NOBITS && s->type != SHT_NULL)
		bytes = coati_copy_bytes(c, s->offset, s->size);
	*ret_size = bytes ? (size_t)s->size : 0;
	return bytes;
}

/* The tables that base/elf reads by itself. Missing ones are its business: they read as zeros. */
static void read_tables(struct copy *c)
{
	const struct elf *e = &c->elf;
	struct elf_section names;

	coati_copy_bytes(c, e->phoff, (uint64_t)e->phnum * sizeof(Elf64_Phdr));
	coati_copy_bytes(c, e->shoff, (uint64_t)e->shnum * sizeof(Elf64_Shdr));
	/* fails without its own name, which is not there yet, but says where the names are */
	if (e->shstrndx && e->shoff < c->size) {
		struct elf nameless = *e;
		size_t size;

		nameless.shstrndx = 0;
		if (coati_elf_section(&nameless, e->shstrndx, &names) == 0)
			coati_copy_section(c, &names, &size);
	}
}

static int fail_elf(int r, const char *name, struct coati_error *err)
{
	if (r == -EOPNOTSUPP)
		return coati_fail(err, r, "%s is a 32-bit file: only 64-bit ones are read", name);
	if (r == -E2BIG)
		return coati_fail(err, r, "%s claims too many segments or sections", name);
	return coati_fail(err, r, "%s is not an ELF file, or a damaged one", name);
}

static int parse_headers(struct copy *c, const char *name, struct coati_error *err)
{
	size_t head = c->size < PIECE_BYTES ? c->size : PIECE_BYTES;
	uint8_t shoff[8];
	struct cursor at;
	int r;

	if (!coati_copy_bytes(c, 0, head))
		return coati_fail(err, -EIO, "%s cannot be read", name);
	/* large counts are in section 0, which may lie anywhere */
	if (head >= sizeof(Elf64_Ehdr)) {
		memcpy(shoff, c->bytes + offsetof(Elf64_Ehdr, e_shoff), sizeof(shoff));
		at = cursor_over(shoff, sizeof(shoff));
		at.swap = c->bytes[EI_DATA] == ELFDATA2MSB;
		coati_copy_bytes(c, cursor_u64(&at), sizeof(Elf64_Shdr));
	}
	r = coati_elf_from_bytes(c->bytes, c->size, &c->elf);
	if (r < 0)
		return fail_elf(r, name, err);
	read_tables(c);
	return 0;
}

static int map_pieces(struct copy *c, const char *name, struct coati_error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t nr_pieces = c->size / PIECE_BYTES + 1;
	void *p;

	c->map_size = (c->size + 2 * page - 1) & ~(page - 1);
	p = mmap(NULL, c->map_size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED) {
		c->map_size = 0;
		/* only this file needs that much: others can still be read */
		return coati_fail(err, -E2BIG,
				  "%s (%zu bytes) is larger than the address space that is left",
				  name, c->size);
	}
	c->bytes = p;
	c->have = coati_alloc_array(nr_pieces / 64 + 1, sizeof(*c->have));
	return c->have ? 0 : coati_fail(err, -ENOMEM, "out of memory");
}

int coati_copy_open(struct copy *c, int fd, const char *name, struct coati_error *err)
{
	struct stat st;
	int r;

	*c = (struct copy){ .fd = -1 };
	if (fstat(fd, &st) < 0)
		return coati_fail(err, -errno, "%s: %m", name);
	if (!S_ISREG(st.st_mode))
		return coati_fail(err, -EINVAL, "%s is not a regular file", name);
	if ((uint64_t)st.st_size > COPY_FILE_MAX)
		return coati_fail(
			err, -E2BIG,
			"%s is %llu GiB long, and files of more than %llu GiB are not read", name,
			(unsigned long long)st.st_size >> 30,
			(unsigned long long)(COPY_FILE_MAX >> 30));
	c->size = (size_t)st.st_size;
	r = map_pieces(c, name, err);
	if (r == 0) {
		c->fd = fd;
		r = parse_headers(c, name, err);
	}
	if (r < 0) {
		c->fd = -1; /* stays the caller's */
		coati_copy_close(c);
	}
	return r;
}

int coati_copy_take(struct copy *c, void *bytes, size_t size, const char *name,
		    struct coati_error *err)
{
	int r;

	*c = (struct copy){ .fd = -1, .bytes = bytes, .size = size };
	r = parse_headers(c, name, err);
	if (r < 0)
		*c = (struct copy){ .fd = -1 }; /* the bytes stay the caller's */
	return r;
}

void coati_copy_close(struct copy *c)
{
	if (c->map_size)
		munmap(c->bytes, c->map_size);
	else
		coati_free(c->bytes);
	coati_free(c->have);
	if (c->bytes)
		fd_closep(&c->fd);
	*c = (struct copy){ .fd = -1 };
}
