/* SPDX-License-Identifier: MIT */
#include "captive.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void need_sandbox(void)
{
	struct sandbox_support s;

	coati_sandbox_probe(&s);
	if (!s.is_confined)
		test_skip_need("sandbox", "readers are not confined here: %s",
			       s.why ? s.why : "neither Landlock nor seccomp");
}

void captive_run(const struct sandbox_policy *policy, void (*act)(int *results), int *ret)
{
	size_t size = CAPTIVE_RESULTS * sizeof(int);
	int *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	CHECK(shared != MAP_FAILED);
	pid = fork();
	if (pid == 0) {
		struct coati_error err = { 0 };

		if (policy && coati_sandbox_enter(policy, &err) != 1)
			_exit(2);
		act(shared);
		coati_sandbox_end();
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), ==, 0);
	memcpy(ret, shared, size);
	munmap(shared, size);
}

static const struct attempt *trying;
static size_t nr_trying;

static void try_all(int *results)
{
	for (size_t i = 0; i < nr_trying; i++)
		results[i] = trying[i].try();
}

void captive_try(const struct sandbox_policy *policy, const struct attempt *attempts, size_t nr)
{
	int results[CAPTIVE_RESULTS];

	CHECK_INT(nr, <=, CAPTIVE_RESULTS);
	trying = attempts;
	nr_trying = nr;
	captive_run(policy, try_all, results);
	for (size_t i = 0; i < nr; i++)
		if (results[i] != attempts[i].want)
			test_fail_at(__FILE__, __LINE__, "%s: %s, not %s", attempts[i].what,
				     results[i] ? strerrorname_np(results[i]) : "it worked",
				     attempts[i].want ? strerrorname_np(attempts[i].want)
						      : "it works");
}

int captive_channel(void)
{
	struct stat st;

	for (int fd = STDERR_FILENO + 1; fd < 256; fd++)
		if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
			return fd;
	return -1;
}
