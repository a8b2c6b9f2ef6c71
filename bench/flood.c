/* SPDX-License-Identifier: MIT */
/*
 * A live flood: a BPF program is repeated in the kernel on CPU 0 as fast as it goes, a reader sits
 * on CPU 1 with a ring of 2 MiB. Ours (coati_reader_wait, coati_reader_drain) and libbpf's take
 * turns, each with its own map: a perf event array whose rings wake at a quarter (libbpf:
 * perf_buffer), or a ring buffer that wakes a reader which has read all (libbpf: ring_buffer).
 * Prints pairs of lines "OURS PEER OURS_LOST PEER_LOST": reader CPU nanoseconds per record, and the
 * part of the records that was lost.
 *
 *	bench-flood BYTES PAIRS MILLISECONDS [ring]
 *
 * Exit status 77 when the peer cannot be had here.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/ring.h>

#include "bench.h"
#include "build-config.h"
#include "lib/bpf-asm.h"
#include "ring/reader.h"

#if COATI_HAVE_LIBBPF
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#endif

#define DATA_BYTES (2u << 20)
#define CHUNK	   4096u

struct flood {
	bool is_ring;
	int map, prog;
	uint64_t run_ns, produced;
	_Atomic bool over;
	struct coati_reader *rd; /* woken when it is over */
};

static uint64_t records, check;

static void fail(const char *what, int code)
{
	fprintf(stderr, "%s: %s\n", what, strerror(code < 0 ? -code : code));
	exit(77);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void touch(const uint8_t *payload)
{
	uint32_t word;

	memcpy(&word, payload, sizeof(word));
	check += word;
	records++;
}

static void *produce(void *arg)
{
	struct flood *f = arg;
	uint64_t end = bench_now_ns() + f->run_ns;

	bench_pin(0);
	for (f->produced = 0; bench_now_ns() < end; f->produced += CHUNK)
		if (bpf_asm_run(f->prog, CHUNK, NULL) < 0)
			break;
	usleep(30000); /* what is below the mark comes by the reader's own look */
	atomic_store(&f->over, true);
	if (f->rd)
		coati_reader_flush(f->rd);
	return NULL;
}

struct result {
	double cpu_ns, lost;
};

static struct result result(const struct flood *f, uint64_t cpu_ns)
{
	double produced = (double)f->produced, read = (double)records;

	return (struct result){ (double)cpu_ns / (read > 0 ? read : 1),
				(produced - read) / produced };
}

static pthread_t start(struct flood *f)
{
	pthread_t thread;

	records = 0;
	atomic_store(&f->over, false);
	if (pthread_create(&thread, NULL, produce, f))
		fail("a thread", EAGAIN);
	return thread;
}

/* ---- ours ---- */

static int count_item(void *ctx, const struct coati_ring_item *item)
{
	if (item->kind == COATI_ITEM_RECORD)
		touch(item->bytes + 12);
	return 0;
}

static int count_ring_item(void *ctx, const struct coati_ring_item *item)
{
	if (item->kind == COATI_ITEM_RECORD)
		touch(item->bytes);
	return 0;
}

static void open_ours(struct flood *f)
{
	struct coati_bpf_array_opts o = { .size = sizeof(o),
					  .data_bytes = DATA_BYTES,
					  .wakeup_bytes = DATA_BYTES / 4 };
	struct coati_reader_ring_opts ring = { .size = sizeof(ring), .ring.kind = COATI_RING_BPF };
	struct coati_bpf_array *array = NULL;
	struct coati_error err = { 0 };
	int r;

	if (f->is_ring) {
		r = coati_reader_new(NULL, &f->rd, &err);
		if (r == 0)
			r = coati_reader_add(f->rd, f->map, &ring, &err);
	} else {
		r = coati_bpf_array_open(f->map, &o, &array, &err);
		f->rd = coati_bpf_array_reader(array);
	}
	if (r < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
}

static struct result ours(struct flood *f)
{
	int (*count)(void *, const struct coati_ring_item *) =
		f->is_ring ? count_ring_item : count_item;
	uint64_t cpu = thread_cpu_ns();
	pthread_t thread = start(f);

	while (coati_reader_wait(f->rd) != -ECANCELED)
		coati_reader_drain(f->rd, count, NULL, 0);
	coati_reader_drain(f->rd, count, NULL, 0);
	cpu = thread_cpu_ns() - cpu;
	pthread_join(thread, NULL);
	return result(f, cpu);
}

/* ---- libbpf ---- */

#if COATI_HAVE_LIBBPF
static enum bpf_perf_event_ret count_event(void *ctx, int cpu, struct perf_event_header *event)
{
	if (event->type == PERF_RECORD_SAMPLE)
		touch((const uint8_t *)event + 12);
	return LIBBPF_PERF_EVENT_CONT;
}

static int count_bytes(void *ctx, void *bytes, size_t size)
{
	touch(bytes);
	return 0;
}

static void *open_peer(struct flood *f)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.watermark = 1,
		.wakeup_watermark = DATA_BYTES / 4,
	};
	void *peer = f->is_ring ? (void *)ring_buffer__new(f->map, count_bytes, NULL, NULL)
				: (void *)perf_buffer__new_raw(f->map, DATA_BYTES / 4096, &attr,
							       count_event, NULL, NULL);

	if (!peer)
		fail("a buffer of libbpf", errno);
	return peer;
}

static struct result theirs(struct flood *f, void *peer)
{
	pthread_t thread;
	uint64_t cpu = thread_cpu_ns();

	thread = start(f);
	while (!atomic_load(&f->over))
		f->is_ring ? ring_buffer__poll(peer, 10) : perf_buffer__poll(peer, 10);
	f->is_ring ? ring_buffer__consume(peer) : perf_buffer__consume(peer);
	cpu = thread_cpu_ns() - cpu;
	pthread_join(thread, NULL);
	return result(f, cpu);
}
#else
static void *open_peer(struct flood *f)
{
	fail("built without libbpf", ENOSYS);
	return NULL;
}

static struct result theirs(struct flood *f, void *peer)
{
	return (struct result){ 0 };
}
#endif

static void open_flood(struct flood *f, uint32_t bytes, uint64_t run_ns)
{
	int scratch = bpf_asm_scratch();

	if (f->is_ring)
		f->map = bpf_asm_map(BPF_MAP_TYPE_RINGBUF, 0, 0, DATA_BYTES, 0);
	else
		f->map = bpf_asm_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4,
				     (uint32_t)sysconf(_SC_NPROCESSORS_CONF), 0);
	if (f->map < 0 || scratch < 0)
		fail("a BPF map", f->map);
	f->prog = f->is_ring ? bpf_asm_ring_output(f->map, scratch, -1, bytes, 0)
			     : bpf_asm_perf_output(f->map, scratch, bytes);
	if (f->prog < 0)
		fail("loading a BPF program", f->prog);
	f->run_ns = run_ns;
}

int main(int argc, char **argv)
{
	unsigned int pairs = argc > 2 ? (unsigned int)atoi(argv[2]) : 15;
	uint32_t bytes = argc > 1 ? (uint32_t)atoi(argv[1]) : 64;
	uint64_t run_ns = (argc > 3 ? (uint64_t)atoi(argv[3]) : 400) * 1000000u;
	bool is_ring = argc > 4 && !strcmp(argv[4], "ring");
	struct flood f[2] = { { .is_ring = is_ring }, { .is_ring = is_ring } };
	void *peer;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		fail("two CPUs", ENODEV);
	for (int i = 0; i < 2; i++)
		open_flood(&f[i], bytes, run_ns);
	open_ours(&f[0]);
	peer = open_peer(&f[1]);
	bench_pin(1);
	for (unsigned int i = 0; i < pairs; i++) {
		struct result a = { 0 }, b;

		if (i % 2 == 0)
			a = ours(&f[0]);
		b = theirs(&f[1], peer);
		if (i % 2)
			a = ours(&f[0]);
		printf("%.3f %.3f %.6f %.6f\n", a.cpu_ns, b.cpu_ns, a.lost, b.lost);
	}
	return check == UINT64_MAX;
}
