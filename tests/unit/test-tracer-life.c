/* SPDX-License-Identifier: MIT */
/* Recorders that start and stop, several at once; processes that fork; libraries that go; the file
 * that outlives a process. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/live.h>

#include "lib/sanitizer.h"
#include "lib/test.h"
#include "live/tracer/tracer.h"
#include "tracer-spool.h"

static struct coati_site site = COATI_SITE_FOR("", COATI_SITE_REGION, "", "work", NULL, 0, 0);
static struct coati_site number = COATI_SITE_FOR("", COATI_SITE_COUNTER, "", "number", NULL, 0, 0);

static void pair(void)
{
	coati_region_begin(&site);
	coati_region_end(&site);
}

static struct coati_recorder *stream(int fd)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .fd = fd,
					    .generation_ns = UINT64_C(3600000000000),
					    .policy = COATI_BLOCK,
					    .directory = "" };
	struct coati_recorder *rec = NULL;

	CHECK_OK(coati_recorder_start(&opts, &rec, NULL));
	return rec;
}

static int memory(void)
{
	int fd = memfd_create("stream", MFD_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

/* ---- start and stop ---- */

TEST(tracer_start_and_stop_again_and_again)
{
	struct coati_recorder *rec = NULL;
	struct spool t;

	CHECK_OK(coati_recorder_stop(&rec, NULL)); /* none is fine */
	for (uint64_t i = 1; i <= 20; i++) {
		rec = spool_start(1 << 19);
		for (uint64_t k = 0; k < i; k++)
			pair();
		spool_snapshot(&t, rec);
		CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, i);
		CHECK_U64(t.kinds[LIVE_REGION_END], ==, i);
		spool_free(&t);
		CHECK_OK(coati_recorder_stop(&rec, NULL));
		CHECK_OK(coati_recorder_stop(&rec, NULL));
		pair();
	}
}

static _Atomic bool going;

static void *write_on(void *arg)
{
	struct coati_live_task task;

	while (atomic_load(&going)) {
		COATI_TASK_BEGIN(&task, "storm", NULL);
		COATI_TASK_SCOPE(&task);
		pair();
		coati_counter(&number, 1);
		COATI_LOG("storm", "%d", 1);
		coati_task_end(&task);
	}
	return NULL;
}

TEST(tracer_recorders_come_and_go_while_threads_write)
{
	pthread_t threads[2];
	struct spool t;

	atomic_store(&going, true);
	for (int i = 0; i < 2; i++)
		CHECK_OK(-pthread_create(&threads[i], NULL, write_on, NULL));
	for (int i = 0; i < 40; i++) {
		struct coati_recorder *rec = spool_start(1 << 20);

		if (i % 4 == 0) {
			spool_snapshot(&t, rec);
			CHECK_U64(t.processes, ==, t.ends);
			spool_free(&t);
		}
		CHECK_OK(coati_recorder_stop(&rec, NULL));
	}
	atomic_store(&going, false);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(!COATI_TRACING());
}

static void *take_snapshots(void *rec)
{
	struct spool t;

	for (int i = 0; i < 10; i++) {
		spool_snapshot(&t, rec);
		CHECK_U64(t.processes, ==, t.ends);
		spool_free(&t);
	}
	return NULL;
}

TEST(tracer_snapshots_at_the_same_time_are_all_whole)
{
	struct coati_recorder *rec = spool_start(1 << 20);
	pthread_t threads[3];

	atomic_store(&going, true);
	CHECK_OK(-pthread_create(&threads[0], NULL, write_on, NULL));
	CHECK_OK(-pthread_create(&threads[1], NULL, take_snapshots, rec));
	CHECK_OK(-pthread_create(&threads[2], NULL, take_snapshots, rec));
	pthread_join(threads[1], NULL);
	pthread_join(threads[2], NULL);
	atomic_store(&going, false);
	pthread_join(threads[0], NULL);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- several recorders ---- */

/* What each of two streams must hold: what was written between its start and its stop. */
static void two_streams(bool first_stops_first, bool flight_too)
{
	struct coati_recorder *a, *b, *flight = NULL;
	int fd_a = memory(), fd_b = memory();
	struct spool t;

	if (flight_too)
		flight = spool_start(0);
	a = stream(fd_a);
	pair();
	b = stream(fd_b);
	pair();
	pair();
	CHECK_OK(coati_recorder_stop(first_stops_first ? &a : &b, NULL));
	pair();
	CHECK_OK(coati_recorder_stop(first_stops_first ? &b : &a, NULL));
	pair();
	spool_read(&t, fd_a);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, first_stops_first ? 3 : 4);
	CHECK_U64(t.processes, ==, t.ends);
	spool_free(&t);
	spool_read(&t, fd_b);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, first_stops_first ? 3 : 2);
	spool_free(&t);
	if (flight) {
		spool_snapshot(&t, flight);
		CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 5);
		spool_free(&t);
		CHECK_OK(coati_recorder_stop(&flight, NULL));
	}
	close(fd_a);
	close(fd_b);
}

TEST(tracer_two_streams_each_have_what_was_written_meanwhile)
{
	two_streams(true, false);
	two_streams(false, false);
}

TEST(tracer_streams_and_a_flight_recorder_at_the_same_time)
{
	two_streams(true, true);
	two_streams(false, true);
}

TEST(tracer_flight_recorder_with_a_window_keeps_few_generations)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .window_ns = 1,
					    .generation_ns = UINT64_C(3600000000000),
					    .directory = "" };
	struct coati_recorder *rec = NULL;
	struct spool t;

	CHECK_OK(coati_recorder_start(&opts, &rec, NULL));
	for (int i = 0; i < 10; i++) {
		pair();
		spool_snapshot(&t, rec);
		CHECK_U64(t.ends, <=, 2);
		CHECK_U64(t.kinds[LIVE_REGION_BEGIN], >=, 1);
		spool_free(&t);
	}
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_refuses_what_it_cannot_do)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts), .directory = "" };
	struct coati_recorder *rec = NULL;
	struct coati_error err;
	int fd = memory();

	opts.policy = 9;
	CHECK_ERR(coati_recorder_start(&opts, &rec, &err), -EINVAL);
	opts.policy = COATI_BLOCK;
	opts.flags = 1u << 20;
	CHECK_ERR(coati_recorder_start(&opts, &rec, &err), -EINVAL);
	opts.flags = 0;
	opts.generation_ns = 1;
	CHECK_ERR(coati_recorder_start(&opts, &rec, &err), -EINVAL);
	CHECK_HAS(err.text, "1 ms");
	opts.generation_ns = 0;
	opts.bytes = UINT64_MAX;
	CHECK_ERR(coati_recorder_start(&opts, &rec, &err), -E2BIG);
	CHECK(!rec);
	CHECK(!COATI_TRACING());
	CHECK_ERR(coati_recorder_snapshot(NULL, fd, &err), -EINVAL);
	rec = stream(fd);
	CHECK_ERR(coati_recorder_snapshot(rec, fd, &err), -EINVAL);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	close(fd);
}

/* coati record makes folders whose names have up to 119 bytes. */
TEST(tracer_takes_a_folder_with_a_name_of_151_bytes_and_refuses_a_longer_one)
{
	char folder[153];
	struct coati_recorder_opts opts = { .size = sizeof(opts), .directory = folder };
	struct coati_recorder *rec = NULL;
	struct coati_error err;

	memset(folder, 'd', sizeof(folder));
	folder[152] = '\0';
	CHECK_ERR(coati_recorder_start(&opts, &rec, &err), -E2BIG);
	CHECK_HAS(err.text, "longer than 151 bytes");
	folder[151] = '\0';
	CHECK_OK(coati_recorder_start(&opts, &rec, &err));
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_says_when_its_stream_could_not_be_written)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct coati_recorder *rec = stream(fd);
	struct coati_error err;

	pair();
	CHECK_ERR(coati_recorder_stop(&rec, &err), -ENOSPC);
	CHECK(!rec);
	close(fd);
}

/* The kernel would end the process by SIGXFSZ. */
TEST(tracer_over_the_limit_for_files_is_refused_and_harmless)
{
	struct rlimit limit;
	struct coati_recorder_opts opts = { .size = sizeof(opts), .directory = "" };
	struct coati_recorder *rec = NULL;
	struct coati_error err = { 0 };

	CHECK_OK(getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = 65536;
	CHECK_OK(setrlimit(RLIMIT_FSIZE, &limit));
	CHECK_ERR(coati_recorder_start(&opts, &rec, &err), -EFBIG);
	CHECK_HAS(err.text, "ulimit -f");
	CHECK(!rec);
	pair();
}

/* ---- fork ---- */

TEST(tracer_child_is_silent_until_it_starts_a_recorder_of_its_own)
{
	struct coati_recorder *rec = spool_start(0), *mine;
	struct spool t;
	int status;
	pid_t pid;

	pair();
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		for (int i = 0; i < 1000; i++)
			pair();
		CHECK(!COATI_TRACING());
#ifdef UNDER_TSAN
		_exit(0);
#endif
		mine = spool_start(1 << 19);
		pair();
		pair();
		spool_snapshot(&t, mine);
		CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 2);
		spool_free(&t);
		CHECK_OK(coati_recorder_stop(&mine, NULL));
		CHECK_OK(coati_recorder_stop(&rec, NULL));
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK_INT(status, ==, 0);
	pair();
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 2);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

TEST(tracer_fork_while_threads_write_and_generations_change)
{
	struct coati_recorder *rec = spool_start(1 << 20);
	pthread_t thread;
	struct spool t;
	int status;

	atomic_store(&going, true);
	CHECK_OK(-pthread_create(&thread, NULL, write_on, NULL));
	for (int i = 0; i < 10; i++) {
		pid_t pid = fork();

		CHECK(pid >= 0);
		if (!pid) {
			pair();
			_exit(COATI_TRACING() ? 1 : 0);
		}
		spool_snapshot(&t, rec);
		spool_free(&t);
		CHECK_INT(waitpid(pid, &status, 0), ==, pid);
		CHECK_INT(status, ==, 0);
	}
	atomic_store(&going, false);
	pthread_join(thread, NULL);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- sites that go ---- */

TEST(tracer_texts_of_a_site_outlive_it_and_the_same_site_has_one_number)
{
	struct coati_recorder *rec = spool_start(0);
	struct spool t;
	uint32_t id = 0;

	for (int i = 0; i < 50; i++) {
		char *name = strdup("gone");
		struct coati_site s = COATI_SITE_FOR("", COATI_SITE_REGION, "", NULL, NULL, 0, 0);

		CHECK(name);
		s.name = name;
		coati_region_begin(&s);
		coati_region_end(&s);
		CHECK(!id || id == s.id);
		id = s.id;
		memset(name, 'x', 4);
		free(name);
	}
	spool_snapshot(&t, rec);
	CHECK_STR(t.sites[id], "gone");
	CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 50);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- the file ---- */

static void live_path(const char *folder, char *path, size_t size)
{
	snprintf(path, size, "%s", coati_tracer.path);
	CHECK(!strncmp(path, folder, strlen(folder)));
}

TEST(tracer_file_is_for_its_user_alone_and_goes_in_order)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts), .bytes = 1 << 19 };
	struct coati_recorder *rec = NULL;
	char folder[64] = "live", path[256];
	struct live_map map;
	struct stat st;
	int fd;

	opts.directory = folder;
	CHECK_OK(coati_recorder_start(&opts, &rec, NULL));
	live_path(folder, path, sizeof(path));
	CHECK_OK(stat(folder, &st));
	CHECK_INT(st.st_mode & 0777, ==, 0700);
	CHECK_OK(stat(path, &st));
	CHECK_INT(st.st_mode & 0777, ==, 0600);
	CHECK_INT((st.st_blocks * 512), >=, st.st_size);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_INT(pread(fd, &map, sizeof(map), 0), ==, sizeof(map));
	close(fd);
	CHECK(map.magic == LIVE_MAP_MAGIC);
	CHECK_U64(map.pid, ==, getpid());
	CHECK_U64(map.state, ==, 1);
	CHECK_U64(map.bytes, ==, st.st_size);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	CHECK_INT(stat(path, &st), ==, -1);
}

TEST(tracer_refuses_a_folder_that_is_open_to_others_or_a_link)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts), .directory = "open" };
	struct coati_recorder *rec = NULL;
	struct coati_error err;

	CHECK_OK(mkdir("open", 0700));
	CHECK_OK(chmod("open", 0755));
	CHECK_ERR(coati_recorder_start(&opts, &rec, &err), -EACCES);
	CHECK_HAS(err.text, "0700");
	CHECK_OK(mkdir("good", 0700));
	CHECK_OK(symlink("good", "link"));
	opts.directory = "link";
	CHECK(coati_recorder_start(&opts, &rec, &err) < 0);
	CHECK(!rec);
}

/* ---- tables ---- */

#define KEYS 500

struct inserter {
	struct tracer_table *table;
	uint32_t numbers[KEYS], from;
};

static void *insert(void *arg)
{
	struct inserter *in = arg;
	struct tracer_entry *e;
	uint64_t key[4];

	for (uint32_t i = 0; i < KEYS; i++) {
		uint32_t k = (i + in->from) % KEYS;

		memset(key, (int)(k & 0xff), sizeof(key));
		key[1] = k;
		in->numbers[k] = coati_tracer_intern(in->table, key, sizeof(key), &e);
	}
	return NULL;
}

TEST(tracer_table_gives_equal_keys_one_number_in_all_threads)
{
	struct coati_recorder *rec = spool_start(0);
	static struct inserter in[3];
	pthread_t threads[3];

	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 3; i++) {
			in[i].table = &coati_tracer.strings[0];
			in[i].from = i * 7;
			CHECK_OK(-pthread_create(&threads[i], NULL, insert, &in[i]));
		}
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
		for (uint32_t k = 0; k < KEYS; k++) {
			CHECK(in[0].numbers[k]);
			CHECK_U64(in[0].numbers[k], ==, in[1].numbers[k]);
			CHECK_U64(in[0].numbers[k], ==, in[2].numbers[k]);
			for (uint32_t other = 0; other < k; other++)
				CHECK(in[0].numbers[k] != in[0].numbers[other]);
		}
		coati_tracer_table_reset(&coati_tracer.strings[0]);
	}
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- a library that is really unloaded ---- */

/* Begins a region of the library that is never ended, and unloads it. */
static void *open_and_unload(void *arg)
{
	struct coati_site *(*get)(void) = NULL;
	void *module = dlopen(COATI_TRACER_MODULE, RTLD_NOW | RTLD_LOCAL);
	struct coati_site *of_library;

	if (!module)
		return NULL;
	*(void **)&get = dlsym(module, "coati_tracer_module_site");
	of_library = get ? get() : NULL;
	if (of_library) {
		coati_region_begin(of_library);
		*(uint32_t *)arg = of_library->id;
	}
	dlclose(module);
	return of_library ? arg : NULL;
}

TEST(tracer_library_is_unloaded_with_a_region_open)
{
	struct coati_recorder *rec = spool_start(0);
	uint32_t ids[20] = { 0 };
	struct spool t;

	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		void *done = NULL;

		CHECK_OK(-pthread_create(&thread, NULL, open_and_unload, &ids[i]));
		CHECK_OK(-pthread_join(thread, &done));
		CHECK(done);
		CHECK(ids[i]);
		CHECK_U64(ids[i], ==, ids[0]); /* loaded again, perhaps elsewhere: its old number */
	}
	/* nothing of it is there any more, and its name is told again in each generation */
	for (int i = 0; i < 2; i++) {
		spool_snapshot(&t, rec);
		CHECK_U64(t.kinds[LIVE_REGION_BEGIN], ==, 20);
		CHECK_STR(t.sites[ids[0]], "of the library");
		spool_free(&t);
	}
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}

/* ---- names ---- */

TEST(tracer_name_of_a_thread_is_told_to_recorders_that_start_later_and_again)
{
	struct coati_recorder *rec;
	struct spool t;

	coati_thread_name("early bird"); /* nobody records */
	rec = spool_start(0);
	pair();
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_THREAD_NAME], ==, 1);
	spool_free(&t);
	coati_thread_name("late bird");
	pair();
	spool_snapshot(&t, rec); /* told when the generation began, then given anew */
	CHECK_U64(t.kinds[LIVE_THREAD_NAME], ==, 3);
	spool_free(&t);
	pair();
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_THREAD_NAME], ==, 4);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
	coati_thread_name("");
	rec = spool_start(0);
	pair();
	spool_snapshot(&t, rec);
	CHECK_U64(t.kinds[LIVE_THREAD_NAME], ==, 0);
	spool_free(&t);
	CHECK_OK(coati_recorder_stop(&rec, NULL));
}
