/* SPDX-License-Identifier: MIT */
/*
 * libcoati-preload in front of exec: what was sampled is written before the program is gone. A
 * program that has done next to nothing (env, nice, a shell that runs one command) gives its place
 * to the next one instead. Programs that are not there are not waited for: shells try all
 * directories of PATH. In the child of a vfork() nothing is ours, and the call goes through as it
 * is.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coati/visibility.h>

#include "live/auto/auto.h"

/* Arguments of execl() go on the stack, as in libc: memory that the child of a vfork() takes would
 * be its parent's for ever. */
#pragma GCC diagnostic ignored "-Wvla"

extern char **environ;
typedef int (*execvpe_fn)(const char *file, char *const argv[], char *const envp[]);

/* ---- before and after ---- */

struct turn {
	char *const *env; /* for the new program */
	char **copy;
	size_t copy_bytes;
	bool ours;
};

/* @envp with @own in place of @children. */
static void replace(struct turn *t, const char *own, const char *children)
{
	size_t nr = 0, at = SIZE_MAX;

	for (; t->env && t->env[nr]; nr++)
		if (!strcmp(t->env[nr], children))
			at = nr;
	if (at == SIZE_MAX)
		return;
	t->copy_bytes = (nr + 1) * sizeof(*t->copy);
	t->copy = mmap(NULL, t->copy_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	if (t->copy == MAP_FAILED) {
		t->copy = NULL;
		return;
	}
	memcpy(t->copy, t->env, t->copy_bytes);
	memcpy(&t->copy[at], &own, sizeof(own));
	t->env = t->copy;
}

static struct turn begin(bool is_there, char *const *env)
{
	struct turn t = { .env = env };
	const char *own, *children;

	if (!is_there ||
	    atomic_load_explicit(&coati_auto_words.pid, memory_order_relaxed) != getpid())
		return t;
	t.ours = true;
	coati_auto_before_exec(&own, &children);
	if (own && children)
		replace(&t, own, children);
	return t;
}

/* It came back. */
static int end(struct turn *t)
{
	int keep = errno;

	if (t->copy)
		munmap(t->copy, t->copy_bytes);
	if (t->ours)
		coati_auto_after_exec();
	errno = keep;
	return -1;
}

/* ---- what may be there ---- */

static bool is_file(int dir_fd, const char *path)
{
	int keep = errno;
	bool there = path && faccessat(dir_fd, path, X_OK, AT_EACCESS) == 0;

	errno = keep;
	return there;
}

static bool is_in_path(const char *file)
{
	const char *at = getenv("PATH");
	char path[AUTO_PATH_MAX];

	if (!file || strchr(file, '/'))
		return is_file(AT_FDCWD, file);
	if (!at)
		at = "/bin:/usr/bin";
	for (;;) {
		size_t len = strcspn(at, ":"), size = strlen(file) + 1;

		if (len + 1 + size <= sizeof(path)) {
			memcpy(path, at, len);
			path[len] = '/';
			memcpy(path + len + 1, file, size);
			if (is_file(AT_FDCWD, len ? path : file))
				return true;
		}
		if (!at[len])
			return false;
		at += len + 1;
	}
}

/* ---- the calls ---- */

/* libc's own: how it looks for programs is its business. */
static execvpe_fn next_execvpe;

__attribute__((constructor)) static void find_next(void)
{
	void *found = dlsym(RTLD_NEXT, "execvpe");

	memcpy(&next_execvpe, &found, sizeof(found));
}

COATI_API int execve(const char *path, char *const argv[], char *const envp[])
{
	struct turn t = begin(is_file(AT_FDCWD, path), envp);

	syscall(SYS_execve, path, argv, t.env);
	return end(&t);
}

COATI_API int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

COATI_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct turn t = begin(is_in_path(file), envp);

	if (!next_execvpe)
		find_next();
	if (next_execvpe)
		next_execvpe(file, argv, t.env);
	else
		errno = ENOSYS;
	return end(&t);
}

COATI_API int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

COATI_API int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct turn t = begin(flags & AT_EMPTY_PATH || is_file(fd, path), envp);

	syscall(SYS_execveat, fd, path, argv, t.env, flags);
	return end(&t);
}

COATI_API int fexecve(int fd, char *const argv[], char *const envp[])
{
	return execveat(fd, "", argv, envp, AT_EMPTY_PATH);
}

/* How many words there are behind the first, the NULL that ends them included. */
static size_t count_words(va_list ap)
{
	size_t nr = 1;

	while (va_arg(ap, char *))
		nr++;
	return nr;
}

static void take_words(char **argv, const char *first, va_list ap)
{
	memcpy(argv, &first, sizeof(first));
	while (*argv)
		*++argv = va_arg(ap, char *);
}

#define WORDS(argv, first, ap)              \
	va_start(ap, first);                \
	size_t nr_##argv = count_words(ap); \
	va_end(ap);                         \
	char *argv[nr_##argv + 1];          \
	va_start(ap, first);                \
	take_words(argv, first, ap)

COATI_API int execl(const char *path, const char *arg, ...)
{
	va_list ap;

	WORDS(argv, arg, ap);
	va_end(ap);
	return execve(path, argv, environ);
}

COATI_API int execlp(const char *file, const char *arg, ...)
{
	va_list ap;

	WORDS(argv, arg, ap);
	va_end(ap);
	return execvpe(file, argv, environ);
}

COATI_API int execle(const char *path, const char *arg, ...)
{
	char *const *envp;
	va_list ap;

	WORDS(argv, arg, ap);
	envp = va_arg(ap, char *const *);
	va_end(ap);
	return execve(path, argv, envp);
}
