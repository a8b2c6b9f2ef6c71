/* SPDX-License-Identifier: MIT */
/*
 * What it costs to walk a full ring of 2 MiB: pairs of "OURS PEER" in nanoseconds per record.
 *
 *	bench-ring WHAT BYTES PAIRS
 *
 *	next    coati_ring_next() over a ring in memory; peer: a bare loop over headers that touches
 *	        a word of each record
 *	drain   coati_reader_drain() over a ring that the kernel filled; peer:
 *	        perf_buffer__consume_buffer() of libbpf
 *	item    coati_ring_next() over a ring that the kernel filled; peer: the same
 *	again   the same bytes over and over with the tail put back: coati_ring_next() and
 *	        perf_buffer__consume_buffer()
 *
 * BYTES is what a BPF program puts out per record. Exit status 77 when the peer cannot be had here.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/abi.h>
#include <coati/ring.h>

#include "bench.h"
#include "build-config.h"
#include "lib/bpf-asm.h"
#include "ring/reader.h"
#include "ring/ring.h"

#if COATI_HAVE_LIBBPF
#include <bpf/libbpf.h>
#endif

#define DATA_BYTES (2u << 20)
#define PAGE	   4096u

static uint64_t records, check;

static void fail(const char *what, int code)
{
	fprintf(stderr, "%s: %s\n", what, strerror(code < 0 ? -code : code));
	exit(77);
}

static inline void touch(const uint8_t *record)
{
	uint32_t word;

	memcpy(&word, record + 12, sizeof(word));
	check += word;
	records++;
}

/* ---- a ring in memory ---- */

struct memory {
	uint8_t *base;
	struct coati_control_page *control;
	uint64_t head;
};

struct header {
	uint32_t type;
	uint16_t misc, size;
};

static void memory_fill(struct memory *m, uint32_t bytes)
{
	uint16_t size = (uint16_t)((8 + 4 + bytes + 7) & ~7u);
	struct header header = { 9, 0, size };

	m->base = mmap(NULL, PAGE + DATA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	if (m->base == MAP_FAILED)
		fail("memory", errno);
	/* rings of the kernel have small pages */
	madvise(m->base, PAGE + DATA_BYTES, MADV_NOHUGEPAGE);
	memset(m->base + PAGE, 1, DATA_BYTES);
	m->control = (struct coati_control_page *)(void *)m->base;
	for (m->head = 0; m->head + size <= DATA_BYTES; m->head += size)
		memcpy(m->base + PAGE + m->head, &header, sizeof(header));
}

static double memory_ours(struct memory *m)
{
	struct coati_ring_opts o = { .size = sizeof(o) };
	struct coati_ring *ring = NULL;
	struct coati_ring_item item;
	uint64_t start;

	m->control->data_tail = 0;
	m->control->data_head = m->head;
	if (coati_ring_from_memory(m->base, PAGE + DATA_BYTES, &o, &ring, NULL) < 0)
		exit(1);
	records = 0;
	start = bench_now_ns();
	while (coati_ring_next(ring, &item) > 0)
		touch(item.bytes);
	start = bench_now_ns() - start;
	coati_ring_close(&ring);
	return (double)start / (double)records;
}

static double memory_floor(struct memory *m)
{
	const uint8_t *data = m->base + PAGE;
	uint64_t start = bench_now_ns();

	records = 0;
	for (uint64_t at = 0; at != m->head;) {
		const uint8_t *record = data + (at & (DATA_BYTES - 1));
		struct header header;

		memcpy(&header, record, sizeof(header));
		touch(record);
		at += header.size;
	}
	return (double)(bench_now_ns() - start) / (double)records;
}

/* ---- rings that the kernel fills ---- */

struct kernel {
	int map, peer_map, scratch, prog, peer_prog;
	uint32_t fit;
	struct coati_bpf_array *array;
	struct coati_reader *rd;
	int items; /* by coati_ring_next() */
	int again; /* the peer's ring, for both */
	struct memory ring;
#if COATI_HAVE_LIBBPF
	struct perf_buffer *peer;
#endif
};

static int count_item(void *ctx, const struct coati_ring_item *item)
{
	touch(item->bytes);
	return 0;
}

static void run_program(int prog, uint32_t nr)
{
	int r = bpf_asm_run(prog, nr, NULL);

	if (r < 0)
		fail("running a BPF program", r);
}

static double kernel_ours(struct kernel *k)
{
	struct coati_ring_item item;
	struct coati_ring *ring = coati_reader_ring(k->rd, 0);
	uint64_t start;

	if (k->again)
		return memory_ours(&k->ring);
	run_program(k->prog, k->fit);
	records = 0;
	start = bench_now_ns();
	if (k->items)
		while (coati_ring_next(ring, &item) > 0)
			touch(item.bytes);
	else
		coati_reader_drain(k->rd, count_item, NULL, 0);
	start = bench_now_ns() - start;
	if (records != k->fit)
		exit(1);
	return (double)start / (double)records;
}

#if COATI_HAVE_LIBBPF
static void count_sample(void *ctx, int cpu, void *data, uint32_t size)
{
	touch((const uint8_t *)data - 12);
}

static double kernel_peer(struct kernel *k)
{
	uint64_t start;

	if (k->again)
		k->ring.control->data_tail = 0;
	else
		run_program(k->peer_prog, k->fit);
	records = 0;
	start = bench_now_ns();
	perf_buffer__consume_buffer(k->peer, 0);
	start = bench_now_ns() - start;
	if (records != k->fit)
		exit(1);
	return (double)start / (double)records;
}

static void open_peer(struct kernel *k)
{
	k->peer = perf_buffer__new(k->peer_map, DATA_BYTES / PAGE, count_sample, NULL, NULL, NULL);
	if (!k->peer)
		fail("perf_buffer", errno);
	if (k->again) {
		void *base;
		size_t bytes;

		run_program(k->peer_prog, k->fit);
		if (perf_buffer__buffer(k->peer, 0, &base, &bytes))
			fail("perf_buffer__buffer", errno);
		k->ring = (struct memory){ base, base, 0 };
		k->ring.head = k->ring.control->data_head;
	}
}
#else
static double kernel_peer(struct kernel *k)
{
	return 0;
}

static void open_peer(struct kernel *k)
{
	fail("built without libbpf", ENOSYS);
}
#endif

static int event_map(void)
{
	int fd = bpf_asm_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4,
			     (uint32_t)sysconf(_SC_NPROCESSORS_CONF), 0);

	if (fd < 0)
		fail("a BPF map", fd);
	return fd;
}

static void kernel_open(struct kernel *k, uint32_t bytes)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o), .data_bytes = DATA_BYTES };
	struct coati_error err = { 0 };

	k->map = event_map();
	k->peer_map = event_map();
	k->scratch = bpf_asm_scratch();
	k->fit = DATA_BYTES / ((8 + 4 + bytes + 7) & ~7u) - 1;
	k->prog = bpf_asm_perf_output(k->map, k->scratch, bytes);
	k->peer_prog = bpf_asm_perf_output(k->peer_map, k->scratch, bytes);
	if (k->prog < 0 || k->peer_prog < 0)
		fail("loading a BPF program", k->prog);
	if (coati_bpf_array_open(k->map, &o, &k->array, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	k->rd = coati_bpf_array_reader(k->array);
	open_peer(k);
}

/* ---- pairs ---- */

static double one_side(int peer, struct memory *m, struct kernel *k)
{
	if (m->base)
		return peer ? memory_floor(m) : memory_ours(m);
	return peer ? kernel_peer(k) : kernel_ours(k);
}

int main(int argc, char **argv)
{
	struct memory m = { 0 };
	struct kernel k = { 0 };
	unsigned int pairs = argc > 3 ? (unsigned int)atoi(argv[3]) : 31;
	uint32_t bytes = argc > 2 ? (uint32_t)atoi(argv[2]) : 64;

	if (argc < 2)
		return 2;
	bench_pin(0);
	k.items = !strcmp(argv[1], "item");
	k.again = !strcmp(argv[1], "again");
	if (!strcmp(argv[1], "next"))
		memory_fill(&m, bytes);
	else
		kernel_open(&k, bytes);
	for (int i = 0; i < 4; i++)
		(void)one_side(i % 2, &m, &k);
	for (unsigned int i = 0; i < pairs; i++) {
		double side[2] = { 0 };
		unsigned int first = i % 2;

		/* the best of a few: a batch is a fifth of a millisecond, others run here, too */
		for (int best = 0; best < 5; best++)
			for (unsigned int s = 0; s < 2; s++) {
				double ns = one_side((int)(first ^ s), &m, &k);
				double *to = &side[first ^ s];

				*to = best == 0 || ns < *to ? ns : *to;
			}
		printf("%.3f %.3f\n", side[0], side[1]);
	}
	return check == UINT64_MAX;
}
