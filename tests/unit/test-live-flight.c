/* SPDX-License-Identifier: MIT */
/* The memory of flight recorders: whole, cut, full of lies, in a core file. */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "lib/live-map.h"
#include "lib/live-text.h"
#include "lib/test.h"
#include "live-read/check.h"
#include "live-read/flight.h"
#include "live-read/reader.h"
#include "record/live-format.h"

static const char patient[] =
	"batch kind=sites pid=4242\n"
	"- site id=1 kind=1 name=\"serve\" file=\"s.c\" line=7\n"
	"- site id=2 kind=3 name=\"request\"\n"
	"- site id=3 kind=2 name=\"log\" category=\"http\"\n"
	"batch tid=4242 generation=1 flags=1 base=1000 pair_cycles=1000 pair_ns=5000 "
	"end_cycles=3000 end_ns=6000\n"
	"1000 open_enter tid=4242 id=0\n"
	"1100 task_begin site=2 id=8\n"
	"1200 task_enter id=8\n"
	"batch kind=end flags=1\n"
	"batch generation=2 tid=4242 flags=0 base=4000 pair_cycles=4000 pair_ns=6500 "
	"capacity=4000\n"
	"4000 open_enter tid=4242 id=8\n"
	"4100 region_begin site=1\n"
	"4200 log site=3 text=\"last words\"\n"
	"batch generation=2 tid=4243 flags=0 base=4000 pair_cycles=4000 pair_ns=6500 capacity=200\n"
	"4150 log site=3 text=\"of another\"\n";

static uint8_t *make(void)
{
	uint8_t *map = coati_alloc(LIVE_MAP_BYTES);
	struct coati_error err = { 0 };

	CHECK(map);
	if (live_map_make(patient, 99, map, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	return map;
}

static int memory_file(const void *bytes, size_t size)
{
	int fd = memfd_create("flight", MFD_CLOEXEC);

	CHECK_INT(fd, >=, 0);
	CHECK_INT(coati_write_all(fd, bytes, size), ==, 0);
	return fd;
}

/* Everything that comes out, as lines. */
static int read_all(struct coati_flight *f, struct strbuf *out)
{
	struct coati_live_reader *t = NULL;
	struct coati_trace_check *c = NULL;
	const void *bytes;
	uint64_t where;
	size_t size;
	int n;

	CHECK_INT(coati_live_reader_new(NULL, &t, NULL), ==, 0);
	CHECK_INT(coati_trace_check_new(&c, NULL), ==, 0);
	while ((n = coati_flight_next(f, &bytes, &size, &where)) > 0) {
		CHECK_INT(coati_live_reader_feed(t, bytes, size, where, NULL), ==, 0);
		CHECK_INT(live_text_drain(t, c, out), ==, 0);
	}
	CHECK_INT(coati_live_reader_finish(t), ==, 0);
	CHECK_INT(live_text_drain(t, c, out), ==, 0);
	coati_trace_check_free(&c);
	coati_live_reader_free(&t);
	return n;
}

static const char said[] =
	"> 0.000005000 4242/4242 task_enter id=0 flags=reopened,known\n"
	"> 0.000005050 4242/4242 task_begin site=\"request\" id=8 parent=0\n"
	"> 0.000005100 4242/4242 task_enter id=8\n"
	"> 0.000006500 4242/4242 task_enter id=8 flags=reopened,known\n"
	"> 0.000006550 4242/4242 region_begin site=\"serve\" depth=0 task=8\n"
	"> 0.000006575 4242/4243 log site=\"log\" category=\"http\" text=\"of another\"\n"
	"> 0.000006600 4242/4242 log site=\"log\" category=\"http\" text=\"last words\" task=8\n";

TEST(live_flight_gives_every_event_that_was_written_open_batches_too)
{
	struct strbuf out = STRBUF_INIT(1 << 16);
	struct coati_flight_info info;
	struct coati_flight *f = NULL;
	uint8_t *map = make();

	CHECK_INT(coati_flight_open_fd(memory_file(map, LIVE_MAP_BYTES), &f, NULL), ==, 0);
	CHECK_INT(read_all(f, &out), ==, 0);
	CHECK_STR(out.text, said);
	coati_flight_get_info(f, &info);
	CHECK_U64(info.pid, ==, 4242);
	CHECK_STR(info.comm, "patient");
	CHECK(!info.has_ended && !info.is_alive && !info.is_core);
	CHECK_U64(info.nr_damaged, ==, 0);
	coati_flight_close(&f);
	coati_strbuf_fini(&out);
	coati_free(map);
}

TEST(live_flight_tells_tasks_whose_begin_was_dropped)
{
	struct live_open_task task = { .id = 5, .parent = 2, .began = 600, .site = 2, .tid = 4242 };
	struct strbuf out = STRBUF_INIT(1 << 16);
	struct coati_flight *f = NULL;
	uint8_t *map = make();
	struct live_map head;

	memcpy(&head, map, sizeof(head));
	memcpy(map + head.tasks_at + sizeof(task), &task, sizeof(task));
	CHECK_INT(coati_flight_open_fd(memory_file(map, LIVE_MAP_BYTES), &f, NULL), ==, 0);
	CHECK_INT(read_all(f, &out), ==, 0);
	CHECK_HAS(out.text,
		  "task_begin site=\"request\" id=5 parent=2 duration=200 flags=reopened");
	coati_flight_close(&f);
	coati_strbuf_fini(&out);
	coati_free(map);
}

/* What the head says is lost, and no batch tells. */
TEST(live_flight_tells_losses_that_only_the_head_has)
{
	struct strbuf out = STRBUF_INIT(1 << 16);
	struct coati_flight *f = NULL;
	uint8_t *map = make();
	struct live_map head;

	memcpy(&head, map, sizeof(head));
	head.dropped = 13;
	head.ns_base = 4900;
	memcpy(map, &head, sizeof(head));
	CHECK_INT(coati_flight_open_fd(memory_file(map, LIVE_MAP_BYTES), &f, NULL), ==, 0);
	CHECK_INT(read_all(f, &out), ==, 0);
	CHECK_HAS(out.text, "> 0.000006500 4242/0 lost events=13 duration=1600\n");
	coati_flight_close(&f);
	coati_strbuf_fini(&out);
	coati_free(map);
}

/* Readers have one process, whose generations come in order: a lie about either ends with its
 * chunk. */
TEST(live_flight_batches_of_another_process_or_generation_are_damage)
{
	static const size_t fields[] = { offsetof(struct live_batch, pid),
					 offsetof(struct live_batch, generation) };

	for (size_t i = 0; i < 2; i++) {
		struct strbuf out = STRBUF_INIT(1 << 16);
		struct coati_flight_info info;
		struct coati_flight *f = NULL;
		uint8_t *map = make();
		struct live_map head;

		memcpy(&head, map, sizeof(head));
		map[head.chunks_at + head.chunk_bytes + fields[i]] += 5; /* of generation 2 */
		CHECK_INT(coati_flight_open_fd(memory_file(map, LIVE_MAP_BYTES), &f, NULL), ==, 0);
		CHECK_INT(read_all(f, &out), ==, 0);
		CHECK_HAS(out.text, "task_begin site=\"request\" id=8");
		CHECK(!strstr(out.text, "last words"));
		CHECK_HAS(out.text, "of another");
		coati_flight_get_info(f, &info);
		CHECK_U64(info.nr_damaged, ==, 1);
		coati_flight_close(&f);
		coati_strbuf_fini(&out);
		coati_free(map);
	}
}

/* Bytes that this process has read. */
static uint64_t bytes_read(void)
{
	unsigned long long bytes = 0;
	FILE *f = fopen("/proc/self/io", "r");

	if (!f)
		test_skip("this kernel does not count what a process reads");
	CHECK_INT(fscanf(f, "rchar: %llu", &bytes), ==, 1);
	fclose(f);
	return bytes;
}

/* What was said is there, and nothing is said to be wrong. */
static void expect_all_said(const uint8_t *map)
{
	struct strbuf out = STRBUF_INIT(1 << 20);
	struct coati_flight_info info;
	struct coati_flight *f = NULL;

	CHECK_OK(coati_flight_open_fd(memory_file(map, LIVE_MAP_BYTES), &f, NULL));
	CHECK_INT(read_all(f, &out), ==, 0);
	CHECK_STR(out.text, said);
	coati_flight_get_info(f, &info);
	CHECK(!info.nr_changed && !info.nr_damaged);
	coati_flight_close(&f);
	coati_strbuf_fini(&out);
}

/* Killed between the first step of taking a chunk and the last: there is nothing in it, and nothing
 * is missing. */
TEST(live_flight_passes_over_a_chunk_that_was_being_taken)
{
	struct live_chunk taken = { .turn = 3, .generation = 2, .state = 1 }, entry;
	uint8_t *map = make();
	struct live_map head;
	uint32_t i = 0;

	memcpy(&head, map, sizeof(head));
	for (; i < head.chunk_count; i++) {
		memcpy(&entry, map + head.directory_at + i * sizeof(entry), sizeof(entry));
		if (!entry.state)
			break;
	}
	CHECK_U64(i, <, head.chunk_count);
	memcpy(map + head.directory_at + i * sizeof(taken), &taken, sizeof(taken));
	expect_all_said(map);
	coati_free(map);
}

/* Killed when a batch had given back what it did not use, and its chunk did not know yet. */
TEST(live_flight_ends_where_a_batch_gave_room_back)
{
	uint8_t *map = make();
	struct live_chunk entry = { 0 };
	struct live_batch batch;
	struct live_map head;
	uint64_t at, end;
	uint32_t last = 0;

	memcpy(&head, map, sizeof(head));
	for (uint32_t i = 0; i < head.chunk_count; i++) {
		struct live_chunk c;

		memcpy(&c, map + head.directory_at + i * sizeof(c), sizeof(c));
		if (c.state) {
			entry = c;
			last = i;
		}
	}
	/* its last batch, which is open */
	at = head.chunks_at + (uint64_t)last * head.chunk_bytes;
	end = at + entry.used;
	for (memcpy(&batch, map + at, sizeof(batch)); at + sizeof(batch) + batch.capacity < end;
	     memcpy(&batch, map + at, sizeof(batch)))
		at += sizeof(batch) + batch.capacity;
	CHECK(!(batch.flags & LIVE_BATCH_CLOSED));
	batch.capacity = (batch.used + 7) & ~7u;
	memcpy(map + at, &batch, sizeof(batch));
	memset(map + at + sizeof(batch) + batch.used, 0, 8 + sizeof(batch));
	entry.used = (uint32_t)(at - (end - entry.used) + 3 * sizeof(batch)) + batch.capacity;
	CHECK_U64(entry.used, <=, head.chunk_bytes);
	memcpy(map + head.directory_at + last * sizeof(entry), &entry, sizeof(entry));
	expect_all_said(map);
	coati_free(map);
}

/* @nr chunks of 1 MiB in a file that has next to nothing in it. */
static int hollow_file(uint8_t *map, uint32_t nr)
{
	struct live_chunk entry = { .turn = 2, .generation = 1, .state = 1, .used = 1 << 20 };
	struct live_batch batch = { .magic = LIVE_BATCH_MAGIC,
				    .version = LIVE_BATCH_VERSION,
				    .kind = LIVE_BATCH_EVENTS,
				    .generation = 1,
				    .pid = 4242,
				    .capacity = 100 };
	struct live_map head;
	int fd;

	memcpy(&head, map, sizeof(head));
	head.directory_at = 1 << 20;
	head.chunks_at = 2 << 20;
	head.chunk_bytes = 1 << 20;
	head.chunk_count = nr;
	fd = memory_file(&head, sizeof(head));
	CHECK_OK(ftruncate(fd, (off_t)(nr + 2) << 20));
	for (uint32_t i = 0; i < nr; i++) {
		CHECK_INT(pwrite(fd, &entry, sizeof(entry), (1 << 20) + i * (off_t)sizeof(entry)),
			  ==, sizeof(entry));
		CHECK_INT(pwrite(fd, &batch, sizeof(batch), (off_t)(i + 2) << 20), ==,
			  sizeof(batch));
	}
	return fd;
}

TEST(live_flight_reads_what_is_there_and_not_the_size_that_it_claims)
{
	enum { NR = 1000 };
	struct coati_flight_info info;
	struct coati_flight *f = NULL;
	uint8_t *map = make();
	uint64_t where, before = bytes_read(), batches = 0;
	const void *bytes;
	size_t size;

	CHECK_INT(coati_flight_open_fd(hollow_file(map, NR), &f, NULL), ==, 0);
	while (coati_flight_next(f, &bytes, &size, &where) > 0)
		batches++;
	CHECK_U64(bytes_read() - before, <, NR * UINT64_C(1024));
	coati_flight_get_info(f, &info);
	CHECK_U64(batches, ==, NR + 1); /* and the process */
	CHECK_U64(info.nr_damaged, ==, NR);
	coati_flight_close(&f);
	coati_free(map);
}

TEST(live_flight_of_every_shorter_length_is_refused_or_read)
{
	uint8_t *map = make();

	for (size_t size = 0; size < LIVE_MAP_BYTES; size += size < 600 ? 1 : 4099) {
		struct strbuf out = STRBUF_INIT(1 << 16);
		struct coati_flight *f = NULL;

		if (coati_flight_open_fd(memory_file(map, size), &f, NULL) == 0)
			read_all(f, &out);
		coati_flight_close(&f);
		coati_strbuf_fini(&out);
	}
	coati_free(map);
}

TEST(live_flight_with_any_word_of_its_head_changed_does_no_harm)
{
	static const uint64_t lies[] = { 0, 1, 4095, UINT32_MAX, UINT64_MAX, UINT64_MAX - 4096 };
	uint8_t *map = make();

	for (size_t at = 0; at < sizeof(struct live_map); at += 8) {
		for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
			struct strbuf out = STRBUF_INIT(1 << 16);
			struct coati_flight *f = NULL;
			uint64_t keep;

			memcpy(&keep, map + at, 8);
			memcpy(map + at, &lies[i], 8);
			if (coati_flight_open_fd(memory_file(map, LIVE_MAP_BYTES), &f, NULL) == 0)
				read_all(f, &out);
			memcpy(map + at, &keep, 8);
			coati_flight_close(&f);
			coati_strbuf_fini(&out);
		}
	}
	coati_free(map);
}

TEST(live_flight_that_is_cut_while_it_is_read_ends_with_an_error)
{
	struct coati_flight *f = NULL;
	uint8_t *map = make();
	int fd = memory_file(map, LIVE_MAP_BYTES);
	const void *bytes;
	uint64_t where;
	size_t size;
	int n;

	CHECK_INT(coati_flight_open_fd(fd, &f, NULL), ==, 0);
	CHECK_INT(coati_flight_next(f, &bytes, &size, &where), ==, 1);
	CHECK_INT(ftruncate(fd, 4096), ==, 0);
	while ((n = coati_flight_next(f, &bytes, &size, &where)) > 0)
		;
	CHECK_INT(n, ==, -ENODATA);
	coati_flight_close(&f);
	coati_free(map);
}

/* A core file with one segment of memory, notes before it. */
static int core_with(const uint8_t *map, size_t map_size, const char *name)
{
	size_t name_size = name ? strlen(name) + 1 : 0,
	       note_size = 16 + (name ? 24 + name_size : 0);
	size_t notes = 12 + 8 + ((note_size + 3) & ~(size_t)3) + 12 + 8 + 4, at = 4096;
	uint8_t *core = coati_alloc(at + map_size);
	Elf64_Ehdr head = { .e_type = ET_CORE,
			    .e_machine = EM_X86_64,
			    .e_version = 1,
			    .e_phoff = sizeof(head),
			    .e_phentsize = sizeof(Elf64_Phdr),
			    .e_phnum = 2 };
	Elf64_Phdr p[2] = { { .p_type = PT_NOTE, .p_offset = 512, .p_filesz = notes },
			    { .p_type = PT_LOAD, .p_offset = at, .p_filesz = map_size } };
	uint32_t note[] = { 5, (uint32_t)note_size, 0x46494c45 }, sig[] = { 5, 4, 0x53494749 };
	uint64_t count[] = { name ? 1 : 0, 4096 };
	uint32_t segv = 11;
	uint8_t *to;
	int fd;

	CHECK(core);
	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	memcpy(core, &head, sizeof(head));
	memcpy(core + sizeof(head), p, sizeof(p));
	to = core + 512;
	memcpy(to, note, 12);
	memcpy(to + 12, "CORE", 5);
	memcpy(to + 20, count, 16);
	if (name)
		memcpy(to + 20 + 16 + 24, name, name_size);
	to += 20 + ((note_size + 3) & ~(size_t)3);
	memcpy(to, sig, 12);
	memcpy(to + 12, "CORE", 5);
	memcpy(to + 20, &segv, 4);
	if (map_size)
		memcpy(core + at, map, map_size);
	fd = memory_file(core, at + map_size);
	coati_free(core);
	return fd;
}

TEST(live_flight_is_found_in_a_core_file)
{
	struct strbuf out = STRBUF_INIT(1 << 16);
	struct coati_flight_info info;
	struct coati_flight *f = NULL;
	uint8_t *map = make();

	CHECK_INT(coati_flight_open_fd(core_with(map, LIVE_MAP_BYTES, NULL), &f, NULL), ==, 0);
	CHECK_INT(read_all(f, &out), ==, 0);
	CHECK_STR(out.text, said);
	coati_flight_get_info(f, &info);
	CHECK(info.is_core);
	CHECK_INT(info.signal, ==, 11);
	coati_flight_close(&f);
	coati_strbuf_fini(&out);
	coati_free(map);
}

TEST(live_flight_is_found_by_the_name_in_a_core_file)
{
	struct strbuf out = STRBUF_INIT(1 << 16);
	struct coati_error err = { 0 };
	struct coati_flight *f = NULL;
	uint8_t *map = make();
	char cwd[256], path[300];
	int fd;

	CHECK(getcwd(cwd, sizeof(cwd)));
	snprintf(path, sizeof(path), "%s/4242-99.live", cwd);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK_INT(coati_write_all(fd, map, LIVE_MAP_BYTES), ==, 0);
	close(fd);
	CHECK_INT(coati_flight_open_fd(core_with(NULL, 0, path), &f, NULL), ==, 0);
	CHECK_INT(read_all(f, &out), ==, 0);
	CHECK_STR(out.text, said);
	coati_flight_close(&f);
	CHECK_INT(coati_flight_open_fd(core_with(NULL, 0, "/nowhere/1-1.live"), &f, &err), ==,
		  -ENOENT);
	CHECK_HAS(err.text, "/nowhere/1-1.live");
	snprintf(path, sizeof(path), "%s/link.live", cwd);
	CHECK_INT(symlink("4242-99.live", path), ==, 0);
	CHECK_INT(coati_flight_open_fd(core_with(NULL, 0, path), &f, &err), ==, -ELOOP);
	CHECK_INT(coati_flight_open_fd(core_with(NULL, 0, NULL), &f, &err), ==, -ENOENT);
	CHECK_HAS(err.text, "has no flight recorder");
	coati_strbuf_fini(&out);
	coati_free(map);
}

TEST(live_flight_is_not_opened_from_what_is_no_file)
{
	struct coati_error err = { 0 };
	struct coati_flight *f = NULL;

	CHECK_INT(coati_flight_open("/dev/null", &f, &err), ==, -EBADMSG);
	CHECK_INT(mkfifo("pipe.live", 0600), ==, 0);
	CHECK_INT(coati_flight_open("pipe.live", &f, &err), ==, -EBADMSG);
	CHECK_INT(coati_flight_open(".", &f, &err), ==, -EBADMSG);
}

TEST(live_flight_survives_every_failing_allocation)
{
	uint8_t *map = make();
	int n = -ENOMEM;

	for (uint64_t i = 0; n < 0; i++) {
		struct coati_flight *f = NULL;
		int fd = memory_file(map, LIVE_MAP_BYTES);

		coati_alloc_fail_after(i);
		n = coati_flight_open_fd(fd, &f, NULL);
		coati_alloc_fail_after(UINT64_MAX);
		if (n < 0)
			CHECK_INT(n, ==, -ENOMEM);
		coati_flight_close(&f);
	}
	coati_free(map);
}
