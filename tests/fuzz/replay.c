/* SPDX-License-Identifier: MIT */
/*
 * Saved inputs as ordinary tests: fuzz-NAME [FOLDER-OR-FILE...]. Each argument is one test, run in
 * a process of its own over all plain files of the folder; the empty input is a test of its own.
 * Every input lies in a block of exactly its size, so that a sanitizer sees a read one byte too
 * far, and has a time limit. Output is TAP.
 *
 *	fuzz-NAME --changed NUMBER FIND FOLDER	that many inputs made of the folder's, always the
 *						same ones; one that breaks the target goes to FIND
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
#include "fuzz/change.h"
#include "fuzz/fuzz.h"

#define INPUT_BYTES_MAX ((size_t)64 << 20)
#define INPUT_SECONDS	10

/* Shared with the parent: what the child was doing when it died. */
static struct progress {
	unsigned int nr_inputs;
	char input[4096];
	size_t size; /* of a changed input */
	uint8_t bytes[CHANGED_BYTES_MAX];
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

/* The inputs of a folder, in their names' order. */
struct folder {
	struct fuzz_input inputs[4096];
	size_t nr;
};

static void read_folder(struct folder *f, const char *path)
{
	int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent **names;
	int count = dirfd < 0 ? 0 : scandirat(dirfd, ".", &names, NULL, alphasort);

	for (int i = 0; i < count; i++) {
		struct strbuf bytes = STRBUF_INIT(INPUT_BYTES_MAX);
		struct fuzz_input *in = &f->inputs[f->nr];

		if (f->nr < sizeof(f->inputs) / sizeof(f->inputs[0]) &&
		    is_plain_file(dirfd, names[i]->d_name) &&
		    coati_file_read(dirfd, names[i]->d_name, &bytes) >= 0) {
			in->size = bytes.len < CHANGED_BYTES_MAX ? bytes.len : CHANGED_BYTES_MAX;
			in->bytes = coati_alloc(in->size);
			FUZZ_CHECK(in->bytes || !in->size);
			if (in->size)
				memcpy(in->bytes, bytes.text, in->size);
			f->nr++;
		}
		coati_strbuf_fini(&bytes);
		free(names[i]);
	}
	if (dirfd >= 0) {
		free(names);
		close(dirfd);
	}
}

static void run_changed(const char *path, unsigned long number)
{
	static struct folder f;
	struct fuzz_input now = { .bytes = progress->bytes };
	uint64_t state = 1;

	read_folder(&f, path);
	for (unsigned long i = 0; i < number; i++) {
		/* a target without saved inputs begins with nothing */
		const struct fuzz_input none = { 0 };
		const struct fuzz_input *in = f.nr ? &f.inputs[fuzz_random(&state) % f.nr] : &none;
		const struct fuzz_input *other =
			f.nr ? &f.inputs[fuzz_random(&state) % f.nr] : &none;

		now.size = in->size;
		if (in->size)
			memcpy(now.bytes, in->bytes, in->size);
		fuzz_change(&now, other, &state);
		progress->size = now.size;
		run_bytes((const char *)now.bytes, now.size);
	}
	for (size_t i = 0; i < f.nr; i++)
		coati_free(f.inputs[i].bytes);
}

/* What one test runs over: nothing, a path, or @changed inputs made of what is there. */
struct work {
	const char *path, *find;
	unsigned long changed;
};

/* The child ends by exit(), not _exit(): leak checks run there. */
static int status_of_child(const struct work *work)
{
	int status;
	pid_t pid;

	progress->nr_inputs = 0;
	progress->input[0] = 0;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (work->changed)
			run_changed(work->path, work->changed);
		else if (work->path)
			run_path(work->path);
		else
			run_bytes(NULL, 0);
		exit(0);
	}
	while (pid < 0 || waitpid(pid, &status, 0) < 0)
		if (pid < 0 || errno != EINTR)
			return -1;
	return status;
}

static void save_find(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, progress->bytes, progress->size) != (ssize_t)progress->size)
		printf("# %s: %s\n", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static int run_test(int number, const struct work *work)
{
	const char *name = work->path ? work->path : "(empty)";
	int status = status_of_child(work);

	if (status == 0) {
		printf("ok %d - %s: %u inputs\n", number, name, progress->nr_inputs);
		return 0;
	}
	printf("not ok %d - %s\n# input %u %s: ", number, name, progress->nr_inputs + 1,
	       progress->input);
	if (status > 0 && WIFSIGNALED(status))
		printf("%s\n",
		       WTERMSIG(status) == SIGALRM ? "time limit" : strsignal(WTERMSIG(status)));
	else
		printf("exit status %d\n", status < 0 ? status : WEXITSTATUS(status));
	if (work->find)
		save_find(work->find);
	return 1;
}

int main(int argc, char **argv)
{
	int failed;

	progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (progress == MAP_FAILED)
		return 1;
	printf("TAP version 13\n");
	if (argc == 5 && strcmp(argv[1], "--changed") == 0) {
		struct work work = { .path = argv[4], .find = argv[3] };

		work.changed = strtoul(argv[2], NULL, 10);
		printf("1..1\n");
		return run_test(1, &work);
	}
	printf("1..%d\n", argc);
	failed = run_test(1, &(struct work){ 0 });
	for (int i = 1; i < argc; i++)
		failed += run_test(i + 1, &(struct work){ .path = argv[i] });
	return failed ? 1 : 0;
}
