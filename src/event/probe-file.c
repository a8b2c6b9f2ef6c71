/* SPDX-License-Identifier: MIT */
/*
 * A typed name comes in, the path of a file goes out. The search imitates the loader (libraries)
 * and the shell (programs) without running either: no file is executed, mapped for execution or
 * waited for.
 */
#include "event/probe-file.h"

#include <dirent.h>
#include <elf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/elf.h"
#include "base/error.h"
#include "event/probe-symbol.h"

#if defined(__x86_64__)
#define TRIPLET "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define TRIPLET "aarch64-linux-gnu"
#else
#define TRIPLET "linux-gnu"
#endif

static const char library_dirs[] = "/usr/local/lib/" TRIPLET ":/usr/local/lib:/lib/" TRIPLET
				   ":/usr/lib/" TRIPLET ":/lib64:/usr/lib64:/lib:/usr/lib";

/* Would the loader take it? */
static bool is_library(const char *path)
{
	struct elf e;
	bool yes;

	if (coati_elf_open(path, &e, NULL) < 0)
		return false;
	yes = e.machine == PROBE_MACHINE;
	coati_elf_close(&e);
	return yes;
}

static bool is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool is_version(const char *s)
{
	return s[0] == '.' && s[1] >= '0' && s[1] <= '9';
}

/* Is @file "NAME.so" or "NAME.so.6"? */
static bool is_of_library(const char *file, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(file, name, len) != 0 || strncmp(file + len, ".so", 3) != 0)
		return false;
	return !file[len + 3] || is_version(file + len + 3);
}

static bool is_better(const char *file, const char *best)
{
	size_t a = strlen(file), b = strlen(best);

	return !*best || a < b || (a == b && strverscmp(file, best) > 0);
}

/* The best NAME.so* in @dir; false when there is none. */
static bool find_version(const char *dir, const char *name, char *path)
{
	CLEANUP(dir_closep) DIR *d = opendir(dir);
	char best[NAME_MAX + 1] = "";
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		if (!is_of_library(entry->d_name, name) || !is_better(entry->d_name, best))
			continue;
		/* NAME.so can be a text for the linker: it does not count */
		if ((size_t)snprintf(path, PATH_MAX, "%s/%s", dir, entry->d_name) < PATH_MAX &&
		    is_library(path))
			snprintf(best, sizeof(best), "%s", entry->d_name);
	}
	return *best && (size_t)snprintf(path, PATH_MAX, "%s/%s", dir, best) < PATH_MAX;
}

static bool find_library_in(const char *dir, const char *name, char *path)
{
	if ((size_t)snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX && is_library(path))
		return true;
	return !strstr(name, ".so") && find_version(dir, name, path);
}

static bool find_program_in(const char *dir, const char *name, char *path)
{
	return (size_t)snprintf(path, PATH_MAX, "%s/%s", dir, name) < PATH_MAX && is_program(path);
}

/* Try each directory of the list @dirs, which is separated by colons; an empty one is the current
 * directory. */
static bool find_in(const char *dirs, const char *name, bool library, char *path)
{
	char dir[PATH_MAX];

	while (dirs && *dirs) {
		size_t len = strcspn(dirs, library ? ":;" : ":");

		if (len < sizeof(dir)) {
			snprintf(dir, sizeof(dir), "%.*s", len ? (int)len : 1, len ? dirs : ".");
			if (library ? find_library_in(dir, name, path)
				    : find_program_in(dir, name, path))
				return true;
		}
		dirs += len + (dirs[len] != '\0');
	}
	return false;
}

static bool find_library(const char *name, char *path)
{
	return find_in(secure_getenv("LD_LIBRARY_PATH"), name, true, path) ||
	       find_in(library_dirs, name, true, path);
}

static bool find_program(const char *name, char *path)
{
	return find_in(secure_getenv("PATH"), name, false, path);
}

static bool find_bare(const char *name, char *path)
{
	if (!strncmp(name, "lib", 3) || strstr(name, ".so"))
		return find_library(name, path) || find_program(name, path);
	return find_program(name, path) || find_library(name, path);
}

int coati_probe_file_find(const char *name, char *buf, struct coati_error *err)
{
	char path[PATH_MAX];

	if (!*name)
		return coati_fail(err, -EINVAL, "the path of a program or library is missing");
	if (strlen(name) >= PATH_MAX)
		return coati_fail(err, -E2BIG, "the path of the program is too long");
	if (!strchr(name, '/') && !find_bare(name, path)) {
		if (access(name, F_OK) == 0)
			return coati_fail(
				err, -ENOENT,
				"no library or program %s in the usual directories; for the one in "
				"the current directory write ./%s",
				name, name);
		return coati_fail(err, -ENOENT,
				  "no library or program %s in LD_LIBRARY_PATH, the usual library "
				  "directories or PATH; give its path",
				  name);
	}
	if (strchr(name, '/'))
		snprintf(path, sizeof(path), "%s", name);
	if (!realpath(path, buf))
		return coati_fail(err, -errno, "open %s: %m", path);
	return 0;
}
