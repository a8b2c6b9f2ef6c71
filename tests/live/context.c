/* SPDX-License-Identifier: MIT */
/*
 * Eight threads flip their labels while a BPF program (context.bpf.c) reads them at every tick of
 * every CPU; each record that it read must be a set that its thread had. Prints what was seen;
 * status 1 when a record was torn or none was read, 77 when it cannot run here.
 *
 *	context OBJECT FLIPS
 *
 * A thread has {number}, {number, check} or, from time to time, {other, number, check}, with values
 * of changing length, and check is always the same as number.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <coati/live.h>

#include "context.h"

#define THREADS 8
#define CPUS	256

static struct coati_label_key number = COATI_LABEL_KEY("number");
static struct coati_label_key check = COATI_LABEL_KEY("check");
static struct coati_label_key other = COATI_LABEL_KEY("other");
static uint64_t flips, nr_torn, nr_pairs, nr_empty;
static atomic_int running;

static void flip(uint64_t i)
{
	static const char hex[] = "0123456789abcdef";
	struct coati_label_scope scope;
	char value[24];
	size_t size = 1 + i % 20;

	for (size_t at = 0; at < size; at++)
		value[at] = hex[(i >> (at % 16)) & 15];
	scope = coati_label_begin_bytes(&number, value, size);
	coati_label_begin_bytes(&check, value, size);
	if (i % 7 == 0) { /* builds the other record */
		coati_label_set(&other, "x");
		coati_label_set(&other, "something longer");
		coati_label_unset(&other);
	}
	coati_label_end(&scope);
}

static void *flip_all(void *unused)
{
	for (uint64_t i = 0; i < flips; i++)
		flip(i);
	atomic_fetch_sub(&running, 1);
	return unused;
}

/* By the rules of OTEP 4947: whole entries, the last one of a key counts. */
static bool is_torn(const struct context_sample *s)
{
	const unsigned char *found[3] = { NULL, NULL, NULL };
	unsigned int pos = 0;

	if (s->size > ENTRY_BYTES)
		return true;
	while (pos < s->size) {
		if (s->size - pos < 2 || s->entries[pos] > 2 ||
		    s->size - pos - 2 < s->entries[pos + 1])
			return true;
		found[s->entries[pos]] = s->entries + pos;
		pos += 2u + s->entries[pos + 1];
	}
	nr_empty += s->size == 0;
	nr_pairs += found[1] != NULL;
	if (!found[0] || !found[1])
		return found[1] || found[2];
	return found[0][1] != found[1][1] || memcmp(found[0] + 2, found[1] + 2, found[0][1]) != 0;
}

static int on_sample(void *ctx, void *bytes, size_t size)
{
	const struct context_sample *s = bytes;

	(void)ctx;
	if (size < sizeof(*s) || is_torn(s))
		nr_torn++;
	return 0;
}

static int skip(const char *what, int error)
{
	printf("skip: %s: %s\n", what, strerror(error));
	return 77;
}

/* A tick of each CPU, whoever runs there. */
static int attach(struct bpf_program *program)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_freq = 4000,
					.freq = 1 };
	int attached = 0;

	for (int cpu = 0; cpu < CPUS; cpu++) {
		int fd =
			(int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

		if (fd >= 0 && bpf_program__attach_perf_event(program, fd))
			attached++;
	}
	return attached;
}

static void run(struct ring_buffer *ring)
{
	pthread_t threads[THREADS];

	running = THREADS;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, flip_all, NULL))
			abort();
	while (running)
		ring_buffer__poll(ring, 10);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	ring_buffer__consume(ring);
}

static const char *thread_pointer(void)
{
	const char *p;

#ifdef __x86_64__
	__asm__("mov %%fs:0, %0" : "=r"(p));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(p));
#endif
	return p;
}

/* What the program must know: who we are, and where the pointer lies from the thread pointer. */
static int prepare(struct bpf_object *object)
{
	struct context_wanted wanted = { .tls_offset = (const char *)&otel_thread_ctx_v1 -
						       thread_pointer(),
					 .pid = (unsigned int)getpid() };
	struct stat pidns;
	struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
	struct coati_label_scope scopes[] = { coati_label_begin(&number, "0"),
					      coati_label_begin(&check, "0"),
					      coati_label_begin(&other, "0") };

	if (stat("/proc/self/ns/pid", &pidns) < 0)
		return -errno;
	wanted.pidns_dev = pidns.st_dev;
	wanted.pidns_ino = pidns.st_ino;
	for (int i = 3; i-- > 0;) /* their indexes are 0, 1 and 2 */
		coati_label_end(&scopes[i]);
	return map ? bpf_map__set_initial_value(map, &wanted, sizeof(wanted)) : -ENOENT;
}

static int report(struct bpf_object *object)
{
	unsigned long long seen[SEEN_COUNTS];
	int fd = bpf_object__find_map_fd_by_name(object, ".bss"), zero = 0;

	if (bpf_map_lookup_elem(fd, &zero, seen) < 0)
		return 1;
	printf("%llu records, %llu with both labels, %llu with none; %llu torn; %llu invalid; "
	       "%llu without a record, %llu dropped, %llu faults\n",
	       seen[SEEN_SAMPLES], (unsigned long long)nr_pairs, (unsigned long long)nr_empty,
	       (unsigned long long)nr_torn, seen[SEEN_INVALID], seen[SEEN_NULL], seen[SEEN_DROPS],
	       seen[SEEN_FAULTS]);
	return nr_torn || seen[SEEN_INVALID] || !nr_pairs;
}

int main(int argc, char **argv)
{
	struct bpf_object *object;
	struct ring_buffer *ring;
	int r;

	if (argc != 3) {
		fprintf(stderr, "usage: context OBJECT FLIPS\n");
		return 2;
	}
	flips = strtoull(argv[2], NULL, 10) / THREADS;
	object = bpf_object__open_file(argv[1], NULL);
	if (!object)
		return skip(argv[1], errno);
	r = prepare(object);
	if (r < 0)
		return skip("the object has no .rodata", -r);
	r = bpf_object__load(object);
	if (r < 0)
		return skip("the kernel takes no BPF program", -r);
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(object, "ring"), on_sample, NULL,
				NULL);
	if (!ring)
		return skip("no ring", errno);
	if (!attach(bpf_object__find_program_by_name(object, "on_tick")))
		return skip("no CPU ticks", errno);
	run(ring);
	r = report(object);
	ring_buffer__free(ring);
	bpf_object__close(object);
	return r;
}
