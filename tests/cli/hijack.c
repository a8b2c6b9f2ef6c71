/* SPDX-License-Identifier: MIT */
/*
 * Loaded into the tool by LD_PRELOAD: code that has taken over a reader. When the reader prints its
 * first bytes, which is behind its confinement and behind its input, this tries what an attacker
 * would do, and says on standard error how each attempt ended: "worked", or the name of the errno.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sockaddr_un nearby = { .sun_family = AF_UNIX };
static socklen_t nearby_len;

/* Before the tool begins: somebody who listens, so that a connection can be made. A name without a
 * file, so that nothing is left behind. */
__attribute__((constructor)) static void listen_nearby(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int len = snprintf(nearby.sun_path + 1, sizeof(nearby.sun_path) - 1, "coati-hijack-%d",
			   getpid());

	nearby_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
	if (bind(fd, (const struct sockaddr *)&nearby, nearby_len) < 0 || listen(fd, 4) < 0)
		close(fd);
}

static int open_secret(void)
{
	return (int)syscall(SYS_openat, AT_FDCWD, "/etc/shadow", O_RDONLY | O_CLOEXEC);
}

static int make_file(void)
{
	return (int)syscall(SYS_openat, AT_FDCWD, "planted", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int connect_nearby(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 ? fd : connect(fd, (const struct sockaddr *)&nearby, nearby_len);
}

static int open_internet(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

/* Where no process can be made the call itself is tried. */
static int start_program(void)
{
	char *argv[] = { "true", NULL };
	int status;
	pid_t pid = fork();

	if (pid > 0)
		return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
	execv("/bin/true", argv);
	if (pid == 0)
		_exit(1);
	return -1;
}

static int trace_parent(void)
{
	pid_t parent = getppid();
	int status;

	if (ptrace(PTRACE_SEIZE, parent, NULL, NULL) < 0)
		return -1;
	/* let it go at once: it would stop at its next signal */
	if (ptrace(PTRACE_INTERRUPT, parent, NULL, NULL) < 0 ||
	    waitpid(parent, &status, __WALL) != parent)
		return -1;
	return (int)ptrace(PTRACE_DETACH, parent, NULL, NULL);
}

static void try_all(void)
{
	static const struct {
		const char *what;
		int (*attempt)(void);
	} attempts[] = { { "open /etc/shadow", open_secret }, { "make a file", make_file },
			 { "connect", connect_nearby },	      { "socket", open_internet },
			 { "exec", start_program },	      { "ptrace", trace_parent } };

	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		int r = attempts[i].attempt();

		dprintf(STDERR_FILENO, "%s: %s\n", attempts[i].what,
			r < 0 ? strerrorname_np(errno) : "worked");
	}
}

__attribute__((visibility("default"))) ssize_t write(int fd, const void *bytes, size_t size)
{
	static ssize_t (*real)(int, const void *, size_t);
	static int done;

	if (!real)
		real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	if (fd == STDOUT_FILENO && !done++)
		try_all();
	return real(fd, bytes, size);
}
