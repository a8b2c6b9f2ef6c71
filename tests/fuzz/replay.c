/* SPDX-License-Identifier: MIT */
/*
 * Saved inputs as ordinary tests: fuzz-NAME [FOLDER-OR-FILE...]. Each argument is one test, run in
 * a process of its own over all plain files of the folder; the empty input is a test of its own.
 * Every input lies in a block of exactly its size, so that a sanitizer sees a read one byte too
 * far, and has a time limit. Output is TAP.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "fuzz/fuzz.h"

#define INPUT_BYTES_MAX ((size_t)64 << 20)
#define INPUT_SECONDS	10

/* Shared with the parent: what the child was doing when it died. */
static struct progress {
	unsigned int nr_inputs;
	char input[4096];
} * progress;

static void run_bytes(const char *bytes, size_t size)
{
	uint8_t *copy = coati_alloc(size);

	FUZZ_CHECK(copy);
	if (size)
		memcpy(copy, bytes, size);
	/* a sanitizer makes everything several times slower */
	alarm(INPUT_SECONDS * (getenv("COATI_TEST_SLOW") ? 4 : 1));
	LLVMFuzzerTestOneInput(copy, size);
	alarm(0);
	coati_free(copy);
	progress->nr_inputs++;
}

static void run_file(int dirfd, const char *path)
{
	struct strbuf input = STRBUF_INIT(INPUT_BYTES_MAX);
	int r;

	snprintf(progress->input, sizeof(progress->input), "%s", path);
	r = coati_file_read(dirfd, path, &input);
	if (r < 0) {
		printf("# %s: %s\n", path, strerror(-r));
		exit(1);
	}
	run_bytes(input.text, input.len);
	coati_strbuf_fini(&input);
}

static bool is_plain_file(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, 0) == 0 && S_ISREG(st.st_mode);
}

static void run_path(const char *path)
{
	int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names;
	int count;

	if (dirfd < 0) {
		run_file(AT_FDCWD, path);
		return;
	}
	count = scandirat(dirfd, ".", &names, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		if (is_plain_file(dirfd, names[i]->d_name))
			run_file(dirfd, names[i]->d_name);
		free(names[i]);
	}
	free(names);
	close(dirfd);
	if (!progress->nr_inputs) {
		printf("# no inputs there\n");
		exit(1);
	}
}

/* The child ends by exit(), not _exit(): leak checks run there. */
static int run_test(int number, const char *path)
{
	int status;
	pid_t pid;

	*progress = (struct progress){ 0 };
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (path)
			run_path(path);
		else
			run_bytes(NULL, 0);
		exit(0);
	}
	while (pid < 0 || waitpid(pid, &status, 0) < 0)
		if (pid < 0 || errno != EINTR)
			return 1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		printf("ok %d - %s: %u inputs\n", number, path ? path : "(empty)",
		       progress->nr_inputs);
		return 0;
	}
	printf("not ok %d - %s\n# input %u %s: ", number, path ? path : "(empty)",
	       progress->nr_inputs + 1, progress->input);
	if (WIFSIGNALED(status))
		printf("%s\n",
		       WTERMSIG(status) == SIGALRM ? "time limit" : strsignal(WTERMSIG(status)));
	else
		printf("exit status %d\n", WEXITSTATUS(status));
	return 1;
}

int main(int argc, char **argv)
{
	int failed;

	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (progress == MAP_FAILED)
		return 1;
	printf("TAP version 13\n1..%d\n", argc);
	failed = run_test(1, NULL);
	for (int i = 1; i < argc; i++)
		failed += run_test(i + 1, argv[i]);
	return failed ? 1 : 0;
}
