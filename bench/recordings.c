/* SPDX-License-Identifier: MIT */
/*
 * Recordings of any size for the benchmarks of the reader, and the floors beside which it is
 * measured: what it costs to read the bytes of a recording, to walk the heads of its records and to
 * hash its call chains, and nothing else.
 *
 *	bench-recordings stacks FILE SAMPLES DIFFERENT DEPTH
 *	bench-recordings uneven FILE SAMPLES DIFFERENT DEPTH	of many threads, at uneven times
 *	bench-recordings mappings FILE COUNT
 *	bench-recordings heads FILE
 *	bench-recordings hashes FILE [THREADS]
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/record.h>

#include "record/record.h"
#include "recording/writer.h"

#define ID	     100
#define ROUND	     4096 /* records of a round */
#define DEPTH_MAX    127
#define TEXT	     UINT64_C(0x10000000)
#define TEXT_BYTES   UINT64_C(0x100000)
#define READ_BYTES   ((size_t)1 << 20)
#define RECORD_MOST  65536
#define THREADS_MOST 64

struct tape {
	struct coati_writer *writer;
	struct coati_attr attr;
	struct coati_sample_format format;
	uint64_t time, records;
	uint32_t tid, cpu; /* of the next record */
	bool is_uneven;
	uint64_t random;
};

static void fail(const char *what)
{
	fprintf(stderr, "bench-recordings: %s\n", what);
	exit(1);
}

static void tape_open(struct tape *t, const char *path)
{
	uint64_t id = ID;

	*t = (struct tape){
		.time = 1000000000,
		.tid = 10,
		.random = 1,
		.attr = { .type = COATI_TYPE_SOFTWARE,
			  .config = COATI_SW_CPU_CLOCK,
			  .sample_period = 1000000,
			  .sample_type = COATI_SAMPLE_IDENTIFIER | COATI_SAMPLE_IP |
					 COATI_SAMPLE_TID | COATI_SAMPLE_TIME | COATI_SAMPLE_CPU |
					 COATI_SAMPLE_PERIOD | COATI_SAMPLE_CALLCHAIN,
			  .flags = COATI_ATTR_SAMPLE_ID_ALL },
	};
	coati_sample_format_init(&t->attr, &t->format);
	if (coati_writer_open(path, NULL, &t->writer, NULL) < 0 ||
	    coati_writer_add_event(
		    t->writer,
		    &(struct coati_recording_event){
			    .name = "cpu-clock", .attr = t->attr, .ids = &id, .nr_ids = 1 },
		    NULL) < 0 ||
	    coati_writer_start(t->writer, NULL) < 0)
		fail("cannot write the recording");
}

static uint32_t below(struct tape *t, uint32_t limit)
{
	t->random = t->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((t->random >> 32) % limit);
}

static void tape_put(struct tape *t, struct coati_record *rec)
{
	uint8_t buf[RECORD_MOST];
	int size;

	t->time += t->is_uneven ? 500 + below(t, 1000) : 1000;
	rec->id = (struct coati_identity){ .present = t->attr.sample_type,
					   .id = ID,
					   .pid = 10,
					   .tid = t->tid,
					   .cpu = t->cpu,
					   .time = t->time };
	size = coati_record_encode(rec, &t->format, buf, sizeof(buf));
	if (size < 0 || coati_writer_record(t->writer, buf, (size_t)size) < 0)
		fail("cannot write a record");
	if (++t->records % ROUND == 0 && coati_writer_round(t->writer) < 0)
		fail("cannot write a round");
}

static void tape_close(struct tape *t)
{
	if (coati_writer_round(t->writer) < 0 || coati_writer_close(&t->writer, NULL) < 0)
		fail("cannot end the recording");
}

static void put_comm(struct tape *t)
{
	struct coati_record rec = { .type = COATI_RECORD_COMM,
				    .misc = COATI_MISC_COMM_EXEC,
				    .u.comm = { .pid = 10, .tid = 10, .name = "load" } };

	tape_put(t, &rec);
}

static void put_map(struct tape *t, uint64_t addr, uint64_t len)
{
	struct coati_record rec = { .type = COATI_RECORD_MMAP2,
				    .misc = COATI_MISC_USER,
				    .u.mmap = { .pid = 10,
						.tid = 10,
						.addr = addr,
						.len = len,
						.prot = PROT_READ | PROT_EXEC,
						.flags = MAP_PRIVATE,
						.name = "/no/such/program" } };

	tape_put(t, &rec);
}

static void put_sample(struct tape *t, const uint64_t *chain, uint32_t nr)
{
	struct coati_record rec = { .type = COATI_RECORD_SAMPLE, .misc = COATI_MISC_USER };

	rec.u.sample = (struct coati_sample){
		.present = t->attr.sample_type,
		.ip = chain[1],
		.period = 1000000,
		.callchain = { .bytes = (const uint8_t *)chain, .count = nr },
	};
	tape_put(t, &rec);
}

/* Stacks as a program has them that chooses one of two callers in each of its functions: the bits
 * of the stack's number are the choices, those of the callers of callers the highest. */
static void write_stacks(const char *path, uint64_t samples, uint64_t different, uint32_t depth,
			 bool is_uneven)
{
	uint64_t chain[DEPTH_MAX + 1] = { COATI_CONTEXT_USER };
	struct tape t;

	tape_open(&t, path);
	t.is_uneven = is_uneven;
	put_comm(&t);
	put_map(&t, TEXT, TEXT_BYTES);
	for (uint64_t i = 0; i < samples; i++) {
		/* an odd factor: every number comes once before the first comes again */
		uint64_t number = i * 0x9e3779b1u % different;

		for (uint32_t k = 0; k < depth; k++)
			chain[1 + k] = TEXT + 256 * k + (k < 64 && number >> k & 1 ? 0x10 : 0x40);
		if (is_uneven) {
			t.cpu = below(&t, 8);
			t.tid = 10 + 2 * t.cpu + below(&t, 2);
		}
		put_sample(&t, chain, depth + 1);
	}
	tape_close(&t);
}

/* Libraries that come and go, each where none was before, and a sample in each. */
static void write_mappings(const char *path, uint64_t count)
{
	struct tape t;

	tape_open(&t, path);
	put_comm(&t);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t chain[] = { COATI_CONTEXT_USER, TEXT + 4096 * i + 16 };

		put_map(&t, TEXT + 4096 * i, 4096);
		if (i % 16 == 0)
			put_sample(&t, chain, 2);
	}
	tape_close(&t);
}

/* The chain of a sample of the format above. */
static uint64_t hash_chain(const uint8_t *record, uint16_t size)
{
	uint64_t hash = 1, word;

	for (unsigned int i = 64; i + 8u <= size; i += 8) {
		memcpy(&word, record + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return hash;
}

static size_t walk(const uint8_t *bytes, size_t len, int hashes, uint64_t *sum)
{
	size_t at = 0;

	while (at + 8 <= len) {
		uint16_t size;
		uint32_t type;

		memcpy(&type, bytes + at, sizeof(type));
		memcpy(&size, bytes + at + 6, sizeof(size));
		if (size < 8 || at + size > len)
			break;
		*sum += hashes && type == COATI_RECORD_SAMPLE ? hash_chain(bytes + at, size) : 1;
		at += size;
	}
	return at;
}

/* Threads take turns to read and to find where the last whole record ends, and walk beside each
 * other over what they have read. */
struct floor {
	pthread_mutex_t lock;
	int fd, hashes;
	uint64_t at, end, sum;
	size_t tail_len;
	uint8_t tail[RECORD_MOST];
};

/* The size of the whole records that were read to @buf; 0 at the end. */
static size_t read_records(struct floor *f, uint8_t *buf)
{
	size_t have = f->tail_len, done = 0;
	uint64_t want = f->end - f->at < READ_BYTES ? f->end - f->at : READ_BYTES;
	ssize_t n = want ? pread(f->fd, buf + have, want, (off_t)f->at) : 0;

	if (n < (want ? 1 : 0))
		fail("the recording is short");
	memcpy(buf, f->tail, have);
	f->at += (uint64_t)n;
	have += (size_t)n;
	if (want)
		done = walk(buf, have, 0, &(uint64_t){ 0 });
	f->tail_len = have - done;
	memcpy(f->tail, buf + done, f->tail_len);
	return done;
}

static void *walk_some(void *arg)
{
	uint8_t *buf = malloc(READ_BYTES + RECORD_MOST);
	struct floor *f = arg;
	uint64_t sum = 0;
	size_t size;

	if (!buf)
		fail("out of memory");
	do {
		pthread_mutex_lock(&f->lock);
		size = read_records(f, buf);
		pthread_mutex_unlock(&f->lock);
		walk(buf, size, f->hashes, &sum);
	} while (size);
	pthread_mutex_lock(&f->lock);
	f->sum += sum;
	pthread_mutex_unlock(&f->lock);
	free(buf);
	return NULL;
}

static uint64_t walk_in_threads(struct floor *f, uint64_t nr)
{
	pthread_t threads[THREADS_MOST];

	for (uint64_t i = 1; i < nr; i++)
		if (pthread_create(&threads[i], NULL, walk_some, f))
			fail("cannot start a thread");
	walk_some(f);
	for (uint64_t i = 1; i < nr; i++)
		pthread_join(threads[i], NULL);
	return f->sum;
}

static uint64_t walk_alone(struct floor *f)
{
	uint8_t *buf = malloc(READ_BYTES + RECORD_MOST);
	size_t have = 0, done;

	if (!buf)
		fail("out of memory");
	while (f->at < f->end) {
		size_t want = f->end - f->at < READ_BYTES ? f->end - f->at : READ_BYTES;
		ssize_t n = pread(f->fd, buf + have, want, (off_t)f->at);

		if (n <= 0)
			fail("the recording is short");
		f->at += (uint64_t)n;
		have += (size_t)n;
		done = walk(buf, have, f->hashes, &f->sum);
		have -= done;
		memmove(buf, buf + done, have);
	}
	free(buf);
	return f->sum;
}

static void measure_floor(const char *path, int hashes, uint64_t threads)
{
	static struct floor f = { .lock = PTHREAD_MUTEX_INITIALIZER };
	uint64_t head[13];

	f.hashes = hashes;
	f.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (f.fd < 0 || pread(f.fd, head, sizeof(head), 0) != sizeof(head))
		fail("cannot read the recording");
	f.at = head[5];
	f.end = f.at + head[6];
	printf("%llu\n",
	       (unsigned long long)(threads > 1 ? walk_in_threads(&f, threads) : walk_alone(&f)));
	close(f.fd);
}

static uint64_t number(const char *text, uint64_t most)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (*end || !value || value > most)
		fail("a number is invalid");
	return value;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (argc == 6 && (!strcmp(what, "stacks") || !strcmp(what, "uneven")))
		write_stacks(argv[2], number(argv[3], UINT64_C(1) << 32),
			     number(argv[4], UINT64_C(1) << 32),
			     (uint32_t)number(argv[5], DEPTH_MAX), !strcmp(what, "uneven"));
	else if (argc == 4 && !strcmp(what, "mappings"))
		write_mappings(argv[2], number(argv[3], UINT64_C(1) << 32));
	else if (argc == 3 && (!strcmp(what, "heads") || !strcmp(what, "hashes")))
		measure_floor(argv[2], !strcmp(what, "hashes"), 1);
	else if (argc == 4 && !strcmp(what, "hashes"))
		measure_floor(argv[2], 1, number(argv[3], THREADS_MOST));
	else
		return 2;
	return 0;
}
