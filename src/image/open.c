/* SPDX-License-Identifier: MIT */
/*
 * The places where the file of an image may be are tried in turn: the descriptor that is held
 * since the mapping was seen (hold.h), the mapping of the living process itself, its path below
 * the root of that process, the path here, the tree of build IDs. The first that is the recorded
 * file is taken.
 */
#include "image/open.h"

#include <elf.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/opening.h"

#define DELETED	      " (deleted)"
#define NOTE_SIZE_MAX (UINT64_C(1) << 20)

int coati_open_below(const char *root, const char *path, bool follow, struct coati_error *err)
{
	return coati_open_file(&(struct opening){ .kind = OPEN_IMAGE,
						  .links = follow ? OPEN_FOLLOW : OPEN_NO_LINKS,
						  .root = root,
						  .path = path },
			       err);
}

/* ---- is it the one? ---- */

size_t coati_copy_build_id(struct copy *c, uint8_t ret[COATI_BUILD_ID_MAX])
{
	const struct elf *e = &c->elf;
	struct elf_section s;
	struct elf_segment seg;

	for (uint32_t i = 0; i < e->phnum && coati_elf_segment(e, i, &seg) == 0; i++)
		if (seg.type == PT_NOTE && seg.filesz <= NOTE_SIZE_MAX)
			coati_copy_bytes(c, seg.offset, seg.filesz);
	for (uint32_t i = 0; i < e->shnum; i++) {
		size_t size;

		if (coati_elf_section(e, i, &s) == 0 && s.type == SHT_NOTE &&
		    s.size <= NOTE_SIZE_MAX)
			coati_copy_section(c, &s, &size);
	}
	return coati_elf_build_id(e, ret);
}

/* Old recordings pad short ids with zeros. */
static bool same_id(const struct coati_image *im, const uint8_t *id, size_t size)
{
	if (!size || size > im->build_id_size || memcmp(im->build_id, id, size) != 0)
		return false;
	for (size_t i = size; i < im->build_id_size; i++)
		if (im->build_id[i])
			return false;
	return true;
}

static void format_id(const uint8_t *id, size_t size, char ret[2 * COATI_BUILD_ID_MAX + 1])
{
	ret[0] = '\0';
	for (size_t i = 0; i < size && i < COATI_BUILD_ID_MAX; i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
}

static int check_id(const struct coati_image *im, struct copy *c, const char *shown,
		    struct coati_error *err)
{
	uint8_t id[COATI_BUILD_ID_MAX];
	char wanted[2 * COATI_BUILD_ID_MAX + 1], got[2 * COATI_BUILD_ID_MAX + 1];
	size_t size = coati_copy_build_id(c, id);

	if (same_id(im, id, size))
		return 0;
	format_id(im->build_id, im->build_id_size, wanted);
	format_id(id, size, got);
	return coati_fail(err, -ESTALE,
			  "%s has build ID %.12s, but %.12s was recorded: it was replaced since",
			  shown, size ? got : "none", wanted);
}

static bool trusts_owner(const struct coati_image *im, uid_t owner)
{
	char path[IMAGE_PATH_MAX];
	struct stat st;

	if (!im->pid || owner == 0 || owner == geteuid())
		return true;
	snprintf(path, sizeof(path), "%s/%d", im->all->procfs, im->pid);
	return stat(path, &st) == 0 && st.st_uid == owner;
}

/* On btrfs and overlayfs a mapping record and stat() name different devices for the same file. */
static bool tells_device(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type != BTRFS_SUPER_MAGIC &&
	       fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

/* The number of a deleted file may have been given to a new one, but with another generation. */
static bool has_other_generation(const struct coati_image *im, int fd)
{
	long value = 0; /* the kernel writes an int, some file systems a long */
	uint32_t generation;

	if (!im->ino_generation || ioctl(fd, FS_IOC_GETVERSION, &value) < 0)
		return false;
	memcpy(&generation, &value, sizeof(generation));
	return generation && generation != (uint32_t)im->ino_generation;
}

/* Is it another file than the mapping record says? */
static bool is_other_file(const struct coati_image *im, int fd, const struct stat *st)
{
	if (!im->ino)
		return false;
	if (st->st_ino != im->ino)
		return true;
	if ((im->maj || im->min) &&
	    (major(st->st_dev) != im->maj || minor(st->st_dev) != im->min) && tells_device(fd))
		return true;
	return has_other_generation(im, fd);
}

static int check_inode(const struct coati_image *im, const struct copy *c, const char *shown,
		       struct coati_error *err)
{
	size_t len = strlen(im->path), tail = strlen(DELETED);
	bool deleted = len > tail && !strcmp(im->path + len - tail, DELETED);
	struct stat st;

	if (fstat(c->fd, &st) < 0)
		return coati_fail(err, -errno, "%s: %m", shown);
	if (is_other_file(im, c->fd, &st))
		return coati_fail(err, -ESTALE,
				  "%s is another file than the recorded one (device %u:%u, inode "
				  "%llu, not %u:%u, %llu)",
				  shown, major(st.st_dev), minor(st.st_dev),
				  (unsigned long long)st.st_ino, im->maj, im->min,
				  (unsigned long long)im->ino);
	if (deleted && !im->ino)
		return coati_fail(err, -ESTALE,
				  "%s was deleted, and nothing shows whether this is the same file",
				  shown);
	if (!trusts_owner(im, st.st_uid))
		return coati_fail(
			err, -EPERM,
			"%s belongs to user %u, and no build ID shows that it is the file that ran",
			shown, (unsigned int)st.st_uid);
	return 0;
}

static uint64_t round_up(uint64_t value, uint64_t page)
{
	return (value + page - 1) & ~(page - 1);
}

/* Could a mapping of @length bytes be that of the file's code, or of all of it, as loaders map it
 * first? Pages are those of the machine that recorded. */
static bool has_length(const struct copy *c, uint64_t length, uint64_t page)
{
	uint64_t low = UINT64_MAX, high = 0;
	struct elf_segment s;

	for (uint32_t i = 0; i < c->elf.phnum && coati_elf_segment(&c->elf, i, &s) == 0; i++) {
		uint64_t start = s.vaddr & ~(page - 1);

		if (s.type != PT_LOAD)
			continue;
		if (s.flags & PF_X && round_up(s.vaddr + s.filesz, page) - start == length)
			return true;
		low = start < low ? start : low;
		high = s.vaddr + s.memsz > high ? s.vaddr + s.memsz : high;
	}
	return high > low && round_up(high, page) - low == length;
}

/* A file of a copied tree has a device and an inode of its own: the length of the mapping tells. */
static int check_copied(const struct coati_image *im, const struct copy *c, const char *shown,
			struct coati_error *err)
{
	uint64_t length = im->map_end - im->map_start;

	if (im->all->flags & COATI_IMAGES_TRUST)
		return 0;
	if (im->map_end <= im->map_start && !im->ino)
		return 0; /* asked for by its path alone */
	if (im->map_end <= im->map_start)
		return coati_fail(err, -ESTALE,
				  "%s: neither a build ID nor a size shows that it is the "
				  "recorded file; --trust uses it anyway",
				  shown);
	for (uint64_t page = 4096; page <= 65536; page *= 4)
		if (has_length(c, length, page))
			return 0;
	return coati_fail(err, -ESTALE,
			  "%s is another file than the recorded one, whose code was mapped with "
			  "%llu bytes; --trust uses it anyway",
			  shown, (unsigned long long)length);
}

/* ---- all places ---- */

struct search {
	struct coati_image *im;
	struct copy *copy;
	struct opened *opened;
	struct coati_error *err; /* the most telling refusal so far */
};

/* "Not there" says less than why what is there is not taken. */
static int refuse(struct search *s, const struct coati_error *why)
{
	bool dull = s->err->code == 0 || s->err->code == -ENOENT || s->err->code == -ENOTDIR ||
		    s->err->code == -ESRCH;

	if (dull)
		*s->err = *why;
	return why->code;
}

/* What may be said of a file without a build ID. */
enum proof {
	PROOF_NONE,    /* it has the path: device and inode are compared */
	PROOF_MAPPING, /* it is the mapping of the process itself */
	PROOF_COPIED,  /* it lies in a tree that the user named, copied from elsewhere */
};

/* 0: taken. */
static int try_fd(struct search *s, int fd, enum proof proof, const char *shown)
{
	CLEANUP(fd_closep) int owned = fd;
	struct coati_error err = { 0 };
	int r = coati_copy_open(s->copy, owned, shown, &err);

	if (r < 0)
		return refuse(s, &err);
	TAKE_FD(owned);
	if (s->im->build_id_size)
		r = check_id(s->im, s->copy, shown, &err);
	else if (proof == PROOF_COPIED)
		r = check_copied(s->im, s->copy, shown, &err);
	else if (proof == PROOF_NONE || s->im->ino)
		r = check_inode(s->im, s->copy, shown, &err);
	if (r < 0) {
		coati_copy_close(s->copy);
		return refuse(s, &err);
	}
	snprintf(s->opened->path, sizeof(s->opened->path), "%s", shown);
	return 0;
}

static int try_below(struct search *s, const char *root, const char *path, bool follow)
{
	struct coati_error err = { 0 };
	char shown[IMAGE_PATH_MAX + 64];
	/* links of a tree that the user named stay in it */
	bool copied = root == s->im->all->root && *root && strcmp(root, "/") != 0;
	int fd = coati_open_below(root, path, follow || copied, &err);

	if (fd < 0)
		return refuse(s, &err);
	snprintf(shown, sizeof(shown), "%s%s", root, path);
	return try_fd(s, fd, copied ? PROOF_COPIED : PROOF_NONE, shown);
}

/* Does the file have that name? */
static bool is_named(int fd, const char *name)
{
	char link[40], text[IMAGE_PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, text, sizeof(text));
	return n > 0 && (size_t)n == strlen(name) && !memcmp(text, name, (size_t)n);
}

/* A link of the kernel's own to a file of the process: right even when the file is deleted or in
 * another mount namespace. @is_proof: it is the mapping itself, so that nothing else has to show
 * it. */
static int try_kernel_link(struct search *s, const char *path, bool is_proof)
{
	struct coati_error err = { 0 };
	int fd = coati_open_below("", path, true, &err);
	const struct coati_image *im = s->im;

	if (fd < 0)
		return refuse(s, &err);
	/* the number may be another process' by now: without an inode to compare, at least the name
	 * must be the same */
	if (!im->ino && !im->build_id_size && !is_named(fd, im->path)) {
		fd_closep(&fd);
		return -ESTALE;
	}
	return try_fd(s, fd, is_proof ? PROOF_MAPPING : PROOF_NONE, path);
}

/* The file that was opened when its mapping was seen, and checked then. */
static int try_held(struct search *s)
{
	CLEANUP(fd_closep) int fd = fcntl(s->im->held_fd, F_DUPFD_CLOEXEC, 3);
	struct coati_error err = { 0 };
	int r = fd < 0 ? coati_fail(&err, -errno, "%s: %m", s->im->path)
		       : coati_copy_open(s->copy, fd, s->im->path, &err);

	if (r < 0)
		return refuse(s, &err);
	TAKE_FD(fd);
	snprintf(s->opened->path, sizeof(s->opened->path), "%s", s->im->path);
	return 0;
}

/* Its mappings, which needs privileges, and its program, which needs none for one's own. */
static int try_kernel_links(struct search *s)
{
	const struct coati_image *im = s->im;
	struct coati_error before = *s->err;
	char path[IMAGE_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%d/map_files/%llx-%llx", im->all->procfs, im->pid,
		 (unsigned long long)im->map_start, (unsigned long long)im->map_end);
	if (im->map_end && try_kernel_link(s, path, true) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/%d/exe", im->all->procfs, im->pid);
	if ((im->build_id_size || im->ino) && try_kernel_link(s, path, false) == 0)
		return 0;
	/* that this is no mapping of the program says nothing about the file */
	*s->err = before;
	return -ENOENT;
}

static int try_build_id(struct search *s)
{
	char id[2 * COATI_BUILD_ID_MAX + 1], path[IMAGE_PATH_MAX];
	const char *dir = s->im->all->debug_dirs;
	struct coati_error before = *s->err;
	int r = -ENOENT;

	format_id(s->im->build_id, s->im->build_id_size, id);
	while (*dir && r != 0) {
		size_t len = strcspn(dir, ":");

		snprintf(path, sizeof(path), "%.*s/.build-id/%.2s/%s", (int)len, dir, id, id + 2);
		r = try_below(s, s->im->all->root, path, true);
		dir += len + (dir[len] == ':');
	}
	/* where the file itself is missing says more than where its copy is */
	if (r < 0 && before.code && s->err->code == -ENOENT)
		*s->err = before;
	return r;
}

/* Without the note that the kernel adds. */
static void plain_path(const char *path, char *ret, size_t cap)
{
	size_t len = strlen(path), tail = strlen(DELETED);

	if (len > tail && !strcmp(path + len - tail, DELETED))
		len -= tail;
	snprintf(ret, cap, "%.*s", (int)len, path);
}

/* Another file with the same build ID, which is as good: check_id() looks at what is there. */
static int try_same(struct search *s)
{
	const struct coati_image *same = s->im->same;
	struct coati_error before = *s->err;
	char path[IMAGE_PATH_MAX + 1];
	int r;

	plain_path(same->path, path, sizeof(path));
	r = *path == '/' ? try_below(s, same->all->root, path, !s->im->pid) : -ENOENT;
	if (r < 0 && before.code)
		*s->err = before;
	return r;
}

static int try_places(struct search *s)
{
	const struct coati_image *im = s->im;
	char root[IMAGE_PATH_MAX], path[IMAGE_PATH_MAX + 1];

	plain_path(im->path, path, sizeof(path));
	if (im->held_fd >= 0 && try_held(s) == 0)
		return 0;
	if (im->pid && try_kernel_links(s) == 0)
		return 0;
	snprintf(root, sizeof(root), "%s/%d/root", im->all->procfs, im->pid);
	if (im->pid && *path == '/' && try_below(s, root, path, false) == 0)
		return 0;
	if ((*path == '/' || (*path && !im->pid)) &&
	    try_below(s, im->all->root, path, !im->pid) == 0)
		return 0;
	if (im->same && try_same(s) == 0)
		return 0;
	if (im->build_id_size > 1 && try_build_id(s) == 0)
		return 0;
	return s->err->code ? s->err->code : -ENOENT;
}

int coati_image_find_file(struct coati_image *im, struct copy *ret, struct opened *ret_opened,
			  struct coati_error *err)
{
	struct coati_error own = { 0 };
	struct search s = { im, ret, ret_opened, err ? err : &own };
	int r;

	s.err->code = 0;
	if (im->all->flags & COATI_IMAGES_NO_LOCAL)
		return coati_fail(
			err, -ENOENT,
			"no symbols for %s: local files are disabled and the recording has none",
			im->name);
	r = try_places(&s);
	if (r < 0 && !s.err->code)
		return coati_fail(err, r, "\"%s\" names no file", im->path);
	return r;
}
