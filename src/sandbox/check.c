/* SPDX-License-Identifier: MIT */
/* see check.h */
#include "sandbox/check.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

#define TEXT_BYTES ((size_t)64 * 1024) /* of a source that must have no zero in them */
#define GROUPS_MAX 256

#define WITHOUT "; --no-sandbox reads it anyway"

/* ---- owner ---- */

static bool is_in_group(gid_t group)
{
	gid_t groups[GROUPS_MAX];
	int nr = getgroups(GROUPS_MAX, groups);

	for (int i = 0; i < nr; i++)
		if (groups[i] == group)
			return true;
	return group == getegid();
}

/* What the kernel asks of those who are not root. */
int coati_check_owner(int fd, const char *shown, struct coati_error *err)
{
	struct stat st;
	mode_t need;

	if (geteuid() != 0)
		return 0; /* the kernel has asked */
	if (fstat(fd, &st) < 0)
		return coati_fail(err, -errno, "%s: %m", shown);
	if (st.st_uid == 0)
		return 0;
	need = is_in_group(st.st_gid) ? S_IRGRP : S_IROTH;
	if (st.st_mode & need)
		return 0;
	return coati_fail(err, -EPERM,
			  "%s belongs to user %u and is not readable for others" WITHOUT, shown,
			  (unsigned int)st.st_uid);
}

/* ---- images ---- */

int coati_check_image(int fd, const char *shown, struct coati_error *err)
{
	unsigned char head[18] = { 0 };

	if (coati_pread_all(fd, head, sizeof(head), 0) < 0 || memcmp(head, ELFMAG, SELFMAG) != 0)
		return coati_fail(err, -EBADMSG, "%s is not an ELF file, or a damaged one", shown);
	/* e_type, in either byte order */
	if (head[16] + head[17] == ET_CORE && (!head[16] || !head[17]))
		return coati_fail(err, -EPERM, "%s is a core file, not a program" WITHOUT, shown);
	return 0;
}

/* ---- code made at run time ---- */

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool coati_is_numbered(const char *name, const char *start, const char *end)
{
	size_t len = strlen(start), digits;

	if (strncmp(name, start, len) != 0)
		return false;
	digits = strspn(name + len, "0123456789");
	return digits && !strcmp(name + len + digits, end);
}

int coati_check_jit(int fd, const char *shown, struct coati_error *err)
{
	char magic[4] = "";
	struct stat st;

	/* another name of it would be another file's */
	if (coati_is_numbered(name_of(shown), "perf-", ".map") && fstat(fd, &st) == 0 &&
	    st.st_nlink == 1)
		return 0;
	if (coati_pread_all(fd, magic, sizeof(magic), 0) == 0 &&
	    (!memcmp(magic, "JiTD", 4) || !memcmp(magic, "DTiJ", 4)))
		return 0;
	return coati_fail(err, -EBADMSG, "%s is neither a perf map nor a jitdump", shown);
}

/* ---- sources ---- */

/* Endings of the languages that compilers write line tables for. */
static bool has_source_name(const char *path)
{
	static const char *const ends[] = {
		"c",   "h",   "cc",  "hh",   "cpp", "hpp", "cxx",  "hxx", "c++",  "h++",   "inc",
		"inl", "ipp", "tcc", "def",  "s",   "asm", "rs",   "go",  "f",	  "for",   "f90",
		"f95", "f03", "f08", "ftn",  "d",   "di",  "zig",  "nim", "v",	  "adb",   "ads",
		"pas", "pp",  "m",   "mm",   "cu",  "cuh", "cl",   "y",	  "l",	  "yy",	   "ll",
		"re",  "rl",  "ml",  "mli",  "hs",  "lhs", "java", "kt",  "cs",	  "swift", "jl",
		"lua", "py",  "pyx", "vala", "js",  "ts",  "cr",   "scm", "lisp", "cob",   "cbl",
	};
	const char *dot = strrchr(name_of(path), '.');

	for (size_t i = 0; dot && dot != name_of(path) && i < sizeof(ends) / sizeof(ends[0]); i++)
		if (!strcasecmp(dot + 1, ends[i]))
			return true;
	return false;
}

/* As the standard headers of C++ are, which have no ending. */
static bool is_public_header(const char *path, int fd)
{
	struct stat st;

	return strstr(path, "/include/") && fstat(fd, &st) == 0 && st.st_mode & S_IROTH;
}

/* Its name behind all links, whatever it was asked for by. */
static bool true_name(int fd, char *buf, size_t size)
{
	char link[40];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, buf, size - 1);
	if (len <= 0 || (size_t)len >= size - 1)
		return false;
	buf[len] = '\0';
	return true;
}

static bool is_text(int fd)
{
	char bytes[TEXT_BYTES];
	ssize_t len = pread(fd, bytes, sizeof(bytes), 0);

	return len >= 0 && !memchr(bytes, '\0', (size_t)len);
}

int coati_check_source(int fd, const char *shown, struct coati_error *err)
{
	char path[4096];

	if (!true_name(fd, path, sizeof(path)) ||
	    (!has_source_name(path) && !is_public_header(path, fd)))
		return coati_fail(err, -EPERM, "%s does not have the name of a source file" WITHOUT,
				  shown);
	if (!is_text(fd))
		return coati_fail(err, -EBADMSG, "%s is not text", shown);
	return 0;
}

/* ---- files of the kernel ---- */

bool coati_is_system_file(const char *path, bool with_maps)
{
	static const char *const names[] = { "/proc/kallsyms", "/sys/kernel/notes",
					     "/proc/sys/kernel/random/boot_id" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(path, names[i]))
			return true;
	return coati_is_numbered(path, "/proc/", "/status") ||
	       (with_maps && coati_is_numbered(path, "/proc/", "/maps"));
}
