/* SPDX-License-Identifier: MIT */
/*
 * What a report asks of the process station: the number of the address space and the thread of each
 * sample, and where an address lies. 64 threads of 16 processes with 40 mappings each, in turns as
 * samples of many CPUs come. Prints the best of many batches, in nanoseconds: "sample" for the
 * first two together, "find" for an address that was asked before.
 */
#include <coati/process.h>

#include <string.h>

#include "bench.h"
#include "process/processes.h"

#define NR_PROCESSES 16
#define NR_THREADS   64
#define NR_MAPPINGS  40
#define ROUNDS	     200000

struct load {
	struct coati_processes *ps;
	uint32_t at;
	uint64_t sum;
};

static int feed(struct coati_processes *ps, struct coati_record *rec, uint64_t time)
{
	struct coati_raw raw = { .type = rec->type };

	rec->id.present = COATI_SAMPLE_TIME;
	rec->id.time = time;
	return coati_processes_feed(ps, &raw, rec);
}

static int32_t pid_of(uint32_t i)
{
	return (int32_t)(1000 + i % NR_PROCESSES * 10);
}

static void fill(struct coati_processes *ps)
{
	for (uint32_t i = 0; i < NR_THREADS; i++) {
		uint32_t pid = (uint32_t)pid_of(i), tid = pid + i / NR_PROCESSES;
		struct coati_record comm = { .type = COATI_RECORD_COMM,
					     .u.comm = { .pid = pid, .tid = tid, .name = "name" } };

		if (feed(ps, &comm, i) < 0)
			exit(1);
		for (uint64_t k = 0; k < NR_MAPPINGS && tid == pid; k++) {
			struct coati_record map = { .type = COATI_RECORD_MMAP2,
						    .misc = COATI_MISC_USER,
						    .u.mmap = { .pid = pid,
								.addr = 0x400000 + k * 0x100000,
								.len = 0x40000,
								.name = "/lib/x" } };

			if (feed(ps, &map, 10 + k) < 0)
				exit(1);
		}
	}
}

static void ask_sample(void *ctx)
{
	struct load *l = ctx;
	uint32_t i = l->at++ % NR_THREADS;
	struct coati_thread_info info;

	l->sum += coati_processes_space(l->ps, pid_of(i), 1000 + l->at);
	coati_processes_thread(l->ps, pid_of(i), pid_of(i) + (int32_t)(i / NR_PROCESSES),
			       1000 + l->at, &info);
	l->sum += info.thread;
}

static void ask_find(void *ctx)
{
	struct load *l = ctx;
	uint32_t i = l->at++;
	struct coati_place place;

	coati_processes_find(l->ps, pid_of(i), 0x400000 + i % 8 * 0x100000 + i % 512 * 8,
			     1000 + l->at, &place);
	l->sum += place.vaddr;
}

static void best_of(const char *name, bench_fn fn, struct load *l)
{
	double best = 1e9;

	for (int i = 0; i < 40; i++) {
		double ns = bench_batch(fn, l, ROUNDS);

		best = ns < best ? ns : best;
	}
	printf("%s %.1f ns\n", name, best);
}

int main(void)
{
	struct coati_images_opts o = { .size = sizeof(o), .flags = COATI_IMAGES_NO_LOCAL };
	struct coati_images *images = NULL;
	struct load l = { 0 };

	if (coati_images_new(&o, &images, NULL) < 0 ||
	    coati_processes_new(images, NULL, &l.ps, NULL) < 0)
		return 1;
	fill(l.ps);
	best_of("sample", ask_sample, &l);
	best_of("find", ask_find, &l);
	coati_processes_free(&l.ps);
	coati_images_free(&images);
	return l.sum == 1;
}
