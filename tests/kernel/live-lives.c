/* SPDX-License-Identifier: MIT */
/*
 * A program that is recorded: it forks, starts threads, becomes another program, loads and unloads
 * libraries, or makes code of its own, and writes down what was mapped where while it worked. Each
 * line of the file in its second argument is "PID FROM TO START END PATH": between the two times
 * (CLOCK_MONOTONIC) that was mapped, executable.
 *
 *	live-lives tree FILE | map FILE | dump FILE
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORK_NS UINT64_C(30000000)

typedef void (*work_fn)(void *);
static const char *truth;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* On the CPU, whatever others do. */
static uint64_t cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin(void *unused)
{
	volatile uint64_t n = 0;

	(void)unused;
	for (uint64_t end = cpu_time() + WORK_NS; cpu_time() < end;)
		for (int i = 0; i < 10000; i++)
			n += (uint64_t)i;
	(void)n;
}

/* Work, during which nothing is mapped or unmapped; then write down what was mapped. */
static void segment(work_fn fn, void *arg)
{
	uint64_t from = now(), to;
	char line[4400];
	FILE *in, *out;

	fn(arg);
	to = now();
	in = fopen("/proc/self/maps", "re");
	out = fopen(truth, "ae");
	if (!in || !out)
		exit(3);
	while (fgets(line, sizeof(line), in)) {
		char *dash = strchr(line, '-'), *space = dash ? strchr(dash, ' ') : NULL;
		char *path = strchr(line, '/');

		if (!space || space[3] != 'x' || !path)
			continue;
		*dash = *space = '\0';
		fprintf(out, "%d %llu %llu %s %s %s", (int)getpid(), (unsigned long long)from,
			(unsigned long long)to, line, dash + 1, path);
	}
	fclose(out);
	fclose(in);
}

static void *thread_main(void *arg)
{
	spin(arg);
	return arg;
}

static void with_thread(void *unused)
{
	pthread_t t;

	if (pthread_create(&t, NULL, thread_main, unused) != 0)
		exit(3);
	spin(unused);
	pthread_join(t, NULL);
}

static void call_function(void *function)
{
	double (*fn)(double);
	volatile double sum = 0;

	memcpy(&fn, &function, sizeof(fn));
	for (uint64_t end = cpu_time() + WORK_NS; cpu_time() < end;)
		for (int i = 0; i < 2000; i++)
			sum += fn((double)i);
	(void)sum;
}

static void load_and_unload(void)
{
	for (int i = 0; i < 4; i++) {
		void *lib = dlopen("libm.so.6", RTLD_NOW);
		void *fn = lib ? dlsym(lib, "lgamma") : NULL;
		void *other = dlopen(i % 2 ? "libresolv.so.2" : "libBrokenLocale.so.1", RTLD_NOW);

		if (!fn)
			exit(3);
		segment(call_function, fn);
		dlclose(lib);
		if (other)
			dlclose(other);
	}
}

static int tree(char **argv)
{
	pid_t pid;

	segment(spin, NULL);
	segment(with_thread, NULL);
	pid = fork();
	if (pid == 0) {
		char leaf[] = "leaf";

		segment(spin, NULL);
		argv[1] = leaf;
		execv("/proc/self/exe", argv);
		_exit(3);
	}
	load_and_unload();
	return waitpid(pid, NULL, 0) == pid ? 0 : 3;
}

/* ---- code of its own ---- */

/* A loop of 200,000 rounds. */
static size_t emit_loop(uint8_t *to)
{
#ifdef __x86_64__
	static const uint8_t code[] = { 0xb9, 0x40, 0x0d, 0x03, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
#else
	static const uint32_t code[] = { 0x5281a800, 0x72a00060, 0x71000400, 0x54ffffe1,
					 0xd65f03c0 };
#endif
	memcpy(to, code, sizeof(code));
	__builtin___clear_cache((char *)to, (char *)to + sizeof(code));
	return sizeof(code);
}

static void run_code(void *code)
{
	void (*fn)(void);

	memcpy(&fn, &code, sizeof(fn));
	for (uint64_t end = cpu_time() + 3 * WORK_NS; cpu_time() < end;)
		fn();
}

static uint8_t *make_code(void)
{
	uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		exit(77);
	return code;
}

static int perf_map(void)
{
	uint8_t *code = make_code();
	size_t size = emit_loop(code + 64);
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	f = fopen(path, "wxe");
	if (!f)
		return 3;
	fprintf(f, "%llx %zx made at run time\n", (unsigned long long)(uintptr_t)(code + 64), size);
	fclose(f);
	segment(run_code, code + 64);
	return 0;
}

struct dump_header {
	uint32_t magic, version, size, machine, pad, pid;
	uint64_t time, flags;
};
struct dump_load {
	uint32_t id, size;
	uint64_t time;
	uint32_t pid, tid;
	uint64_t vma, addr, code_size, index;
};

static void tell(FILE *f, const uint8_t *code, size_t size, uint64_t index, const char *name)
{
	struct dump_load l = { .size = (uint32_t)(sizeof(l) + strlen(name) + 1 + size),
			       .time = now(),
			       .pid = (uint32_t)getpid(),
			       .tid = (uint32_t)getpid(),
			       .vma = (uintptr_t)code,
			       .addr = (uintptr_t)code,
			       .code_size = size,
			       .index = index };

	fwrite(&l, sizeof(l), 1, f);
	fwrite(name, strlen(name) + 1, 1, f);
	fwrite(code, size, 1, f);
	fflush(f);
}

/* Two functions one after the other at the same place. */
static int jitdump(void)
{
	struct dump_header h = { .magic = 0x4a695444, .version = 1, .size = sizeof(h) };
	uint8_t *code = make_code();
	char path[64];
	FILE *f;

	h.pid = (uint32_t)getpid();
	h.time = now();
	snprintf(path, sizeof(path), "jit-%d.dump", (int)getpid());
	f = fopen(path, "w+xe");
	if (!f || fwrite(&h, sizeof(h), 1, f) != 1 || fflush(f) != 0)
		return 3;
	/* this is how recorders learn of the file */
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0) == MAP_FAILED)
		return 77;
	for (uint64_t i = 0; i < 2; i++) {
		tell(f, code, emit_loop(code), i, i ? "second code" : "first code");
		segment(run_code, code);
	}
	fclose(f);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	truth = argv[2];
	if (!strcmp(argv[1], "tree"))
		return tree(argv);
	if (!strcmp(argv[1], "leaf"))
		segment(spin, NULL);
	if (!strcmp(argv[1], "map"))
		return perf_map();
	if (!strcmp(argv[1], "dump"))
		return jitdump();
	return 0;
}
