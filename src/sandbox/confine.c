/* SPDX-License-Identifier: MIT */
/* see confine.h */
#include "sandbox/confine.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/elf.h"
#include "base/file.h"
#include "base/newfile.h"
#include "sandbox/filter.h"
#include "sandbox/landlock.h"
#include "sandbox/library.h"

/* Files that appear, and replace others. */
#define MAKE_FILES \
	(LANDLOCK_WRITE_FILE | LANDLOCK_MAKE_REG | LANDLOCK_REMOVE_FILE | LANDLOCK_TRUNCATE)

static int begin(struct landlock *l, uint64_t rights, bool net, uint32_t flags)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	if (flags & SANDBOX_NO_LANDLOCK || coati_landlock_version() < 0)
		return 0;
	return coati_landlock_begin(l, rights, net, true);
}

/* Both, as far as the kernel has them. */
static int finish(struct landlock *l, const struct filter_opts *o, uint32_t flags)
{
	int r = l->fd >= 0 ? coati_landlock_restrict(l) : 0;

	coati_landlock_end(l);
	if (r < 0 || flags & SANDBOX_NO_SECCOMP || coati_filter_probe() < 0)
		return r;
	return coati_filter_install(o);
}

/* ---- the reader ---- */

int coati_confine_reader(const struct sandbox_policy *p)
{
	struct filter_opts o = { .is_reader = true, .pid = getpid(), .serve_fd = p->serve_fd };
	struct landlock l = { .fd = -1 };
	int r = begin(&l, LANDLOCK_ALL, true, p->flags);

	if (r < 0)
		return r;
	o.may_open = l.fd >= 0;
	coati_libraries_keep(o.may_open ? &l : NULL, p->libraries);
	return finish(&l, &o, p->flags);
}

/* ---- the broker ---- */

int coati_confine_broker(const struct sandbox_policy *p)
{
	struct filter_opts o = { 0 };
	struct landlock none = { .fd = -1 };
	int r = begin(&none, 0, false, SANDBOX_NO_LANDLOCK);

	return r < 0 ? r : finish(&none, &o, p->flags);
}

/* ---- the worker ---- */

/* Where programs write unwanted output. */
static void allow_nothing(struct landlock *l)
{
	(void)coati_landlock_allow_path(l, "/dev/null", LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE);
}

/* In the directory of the output, or to what it is when it is no file. */
static void allow_output(struct landlock *l, const char *output)
{
	char folder[4096];
	struct stat st;

	if (!output || !strcmp(output, "-"))
		return;
	if (stat(output, &st) == 0 && !S_ISREG(st.st_mode)) {
		(void)coati_landlock_allow_path(l, output, LANDLOCK_WRITE_FILE);
		return;
	}
	coati_folder_of(output, folder, sizeof(folder));
	(void)coati_landlock_allow_path(l, folder, MAKE_FILES);
}

/* Where recorders leave their files. */
static void allow_removal(struct landlock *l, const struct sandbox_policy *p)
{
	const char *own = secure_getenv("XDG_RUNTIME_DIR");

	if (!(p->flags & SANDBOX_REMOVE))
		return;
	(void)coati_landlock_allow_path(l, "/dev/shm", LANDLOCK_REMOVE_FILE);
	(void)coati_landlock_allow_path(l, "/run/user", LANDLOCK_REMOVE_FILE);
	if (own && *own == '/')
		(void)coati_landlock_allow_path(l, own, LANDLOCK_REMOVE_FILE);
	for (size_t i = 0; i < p->nr_inputs; i++)
		(void)coati_landlock_allow_path(l, p->inputs[i], LANDLOCK_REMOVE_FILE);
}

int coati_confine_worker(const struct sandbox_policy *p)
{
	struct filter_opts o = { .changes = true,
				 .network = p->jobs[SANDBOX_FETCH] != NULL,
				 .exec = p->jobs[SANDBOX_OBJDUMP] != NULL };
	uint64_t rights = LANDLOCK_CHANGES | (o.exec ? 0 : LANDLOCK_EXECUTE);
	struct landlock l = { .fd = -1 };
	int r = begin(&l, rights, !o.network, p->flags);

	if (r < 0)
		return r;
	if (l.fd >= 0) {
		allow_nothing(&l);
		allow_output(&l, p->output);
		allow_removal(&l, p);
		for (int i = 0; i < SANDBOX_FOLDERS_MAX && p->folders[i]; i++)
			(void)coati_landlock_allow_path(&l, p->folders[i], LANDLOCK_CHANGES);
	}
	return finish(&l, &o, p->flags);
}

/* ---- a helper ---- */

/* The loader that the program names. */
static void allow_loader(struct landlock *l, const char *program)
{
	struct elf_segment s;
	struct elf e;
	char path[256];

	if (coati_elf_open(program, &e, NULL) < 0)
		return;
	for (uint32_t i = 0; i < e.phnum && coati_elf_segment(&e, i, &s) == 0; i++) {
		if (s.type != PT_INTERP || s.filesz >= sizeof(path) || s.offset + s.filesz > e.size)
			continue;
		memcpy(path, e.bytes + s.offset, s.filesz);
		path[s.filesz] = '\0';
		(void)coati_landlock_allow_path(l, path, LANDLOCK_EXECUTE | LANDLOCK_READ_FILE);
	}
	coati_elf_close(&e);
}

/* Libraries, where loaders look for them, and beside the program. */
static void allow_libraries(struct landlock *l, const char *program)
{
	static const char *const usual[] = {
		"/lib",	      "/lib64",		  "/usr/lib",
		"/usr/lib64", "/usr/local/lib",	  "/nix/store",
		"/gnu/store", "/etc/ld.so.cache", "/etc/ld.so.preload"
	};
	static const char *const beside[] = { "../lib", "../lib64" };
	const char *own = getenv("LD_LIBRARY_PATH");
	char folder[4096], path[4096 + 16];
	uint64_t rights = LANDLOCK_READ_FILE | LANDLOCK_READ_DIR;

	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		(void)coati_landlock_allow_path(l, usual[i], rights);
	coati_folder_of(program, folder, sizeof(folder));
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", folder, beside[i]);
		(void)coati_landlock_allow_path(l, path, rights);
	}
	while (own && *own) {
		size_t len = strcspn(own, ":;");

		snprintf(path, sizeof(path), "%.*s", (int)len, own);
		if (len && len < sizeof(path))
			(void)coati_landlock_allow_path(l, path, rights);
		own += len + (own[len] != '\0');
	}
}

/* A script in the place of the program calls others, which are not known in advance: those of the
 * system, and what lies beside it. */
static void allow_script(struct landlock *l, const char *program)
{
	static const char *const usual[] = { "/bin",   "/usr",	     "/lib",
					     "/lib64", "/nix/store", "/gnu/store" };
	uint64_t rights = LANDLOCK_EXECUTE | LANDLOCK_READ_FILE | LANDLOCK_READ_DIR;
	CLEANUP(fd_closep) int fd = open(program, O_RDONLY | O_CLOEXEC);
	char start[2] = "", folder[4096];

	if (fd < 0 || coati_pread_all(fd, start, 2, 0) < 0 || memcmp(start, "#!", 2) != 0)
		return;
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		(void)coati_landlock_allow_path(l, usual[i], rights);
	coati_folder_of(program, folder, sizeof(folder));
	(void)coati_landlock_allow_path(l, folder, rights);
}

int coati_confine_helper(const char *program, int fd)
{
	struct filter_opts o = { .exec = true, .changes = true };
	struct landlock l = { .fd = -1 };
	int r = begin(&l, LANDLOCK_ALL, true, 0);

	if (r < 0)
		return r;
	if (l.fd >= 0) {
		allow_nothing(&l);
		(void)coati_landlock_allow_path(&l, program, LANDLOCK_EXECUTE | LANDLOCK_READ_FILE);
		(void)coati_landlock_allow(&l, fd, LANDLOCK_READ_FILE);
		allow_loader(&l, program);
		allow_script(&l, program);
		allow_libraries(&l, program);
	}
	return finish(&l, &o, 0);
}
