/* SPDX-License-Identifier: MIT */
/* see objdump.h */
#include "cli/objdump.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/program.h"
#include "sandbox/confine.h"

#define OUTPUT_MAX (UINT64_C(256) << 20) /* bytes that it may print */
#define FILE_FD	   3			 /* where it finds the file */
#define CANNOT	   126			 /* exit status: it was not started */

extern char **environ;

static void limit(__rlimit_resource_t what, uint64_t most)
{
	struct rlimit l;

	if (getrlimit(what, &l) < 0)
		return;
	if (l.rlim_max > most)
		l.rlim_max = most;
	if (l.rlim_cur > l.rlim_max)
		l.rlim_cur = l.rlim_max;
	(void)setrlimit(what, &l);
}

/* Input and errors are nothing. */
static bool set_nothing(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	return null >= 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0;
}

/* Output is what was given, and so is the one file; no more is open. */
static bool set_descriptors(int output, int file)
{
	/* out of the way of the numbers that they will have */
	int out = fcntl(output, F_DUPFD_CLOEXEC, FILE_FD + 1);
	int in = fcntl(file, F_DUPFD_CLOEXEC, FILE_FD + 1);

	return out >= 0 && in >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(in, FILE_FD) >= 0;
}

static void become_objdump(const char *program, const struct objdump_task *t, bool is_confined)
	__attribute__((noreturn));
static void become_objdump(const char *program, const struct objdump_task *t, bool is_confined)
{
	struct sigaction usual = { .sa_handler = SIG_DFL };
	char from[64], to[64], file[32];
	char *argv[] = { "objdump", "-d", "--no-show-raw-insn", from, to, "--", file, NULL };

	snprintf(from, sizeof(from), "--start-address=0x%llx", (unsigned long long)t->start);
	snprintf(to, sizeof(to), "--stop-address=0x%llx",
		 (unsigned long long)(t->start + t->length));
	snprintf(file, sizeof(file), "/proc/self/fd/%d", FILE_FD);
	sigaction(SIGPIPE, &usual, NULL);
	limit(RLIMIT_FSIZE, OUTPUT_MAX);
	limit(RLIMIT_CPU, OBJDUMP_CPU_S);
	limit(RLIMIT_CORE, 0);
	if (is_confined && coati_confine_helper(program, FILE_FD) < 0)
		_exit(CANNOT);
	execve(program, argv, environ);
	_exit(CANNOT);
}

static int run(const char *program, const struct objdump_task *t, int output,
	       const struct sandbox_task *task)
{
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		return -errno;
	if (pid == 0) {
		if (!set_nothing() || !set_descriptors(output, task->fd))
			_exit(CANNOT);
		become_objdump(program, t, task->is_confined);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return status;
}

int coati_objdump_job(const struct sandbox_task *task, uint32_t *ret_value, struct coati_error *err)
{
	CLEANUP(fd_closep) int output = -1;
	char found[4096], program[4096];
	struct objdump_task t;
	int status;

	if (task->size != sizeof(t) || task->fd < 0)
		return coati_fail(err, -EINVAL, "objdump: nothing to disassemble");
	memcpy(&t, task->bytes, sizeof(t));
	/* the file itself, not a link to it: it is what may be executed */
	if (!coati_program_find("objdump", found, sizeof(found)) || !realpath(found, program))
		return coati_fail(err, -ENOENT, "objdump (package binutils): %m");
	output = memfd_create("objdump", MFD_CLOEXEC);
	if (output < 0)
		return coati_fail(err, -errno, "objdump: no memory for its output: %m");
	status = run(program, &t, output, task);
	if (status < 0)
		return coati_fail(err, status, "objdump: %m");
	*ret_value = (uint32_t)status;
	if (lseek(output, 0, SEEK_SET) < 0)
		return coati_fail(err, -errno, "objdump: %m");
	return TAKE_FD(output);
}
