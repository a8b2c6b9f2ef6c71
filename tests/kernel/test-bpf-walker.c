/* SPDX-License-Identifier: MIT */
/* The stack walker as an object: what it publishes within its budget, and that nothing of it stays
 * behind. */
#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/elf.h"
#include "bpf/open.h"
#include "capture/describe.h"
#include "need.h"
#include "ring/bpf-call.h"
#include "unwind/table/build.h"

#define ROUNDS 40
#define KILLS  20

static struct walker *open_walker(uint64_t budget_bytes)
{
	const struct walker_opts o = { .at = 1u << WALKER_AT_SAMPLES,
				       .budget_bytes = budget_bytes };
	struct coati_error why = { 0 };
	struct walker *w = NULL;
	int r = coati_walker_open(&o, &w, &why);

	if (r == -EPERM || r == -EOPNOTSUPP)
		test_skip_need("bpf", "%s", why.text);
	CHECK_OK(r);
	return w;
}

static uint32_t program_id(const struct walker *w)
{
	struct bpf_prog_info info = { 0 };

	CHECK_OK(coati_bpf_info(w->program_fds[WALKER_AT_SAMPLES], &info, sizeof(info)));
	return info.id;
}

static bool is_loaded(uint32_t id)
{
	int fd = coati_bpf_open_prog(id);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Programs are freed a moment after their last descriptor. */
static void wait_until_gone(uint32_t id)
{
	while (is_loaded(id))
		usleep(1000);
}

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

TEST_LIMIT(bpf_walker_loaded_and_given_up_many_times_leaves_nothing, 120)
{
	int before;
	struct walker *w = open_walker(0);

	coati_walker_close(&w); /* libraries are loaded by now */
	before = count_fds();
	for (unsigned int i = 0; i < test_rounds(ROUNDS); i++) {
		uint32_t id;

		w = open_walker(0);
		id = program_id(w);
		CHECK(is_loaded(id));
		coati_walker_close(&w);
		CHECK(!w);
		wait_until_gone(id);
	}
	CHECK_INT(count_fds(), ==, before);
}

/* A process that loads the walker, tells its number and waits to be killed. */
static pid_t start_holder(uint32_t *ret_id)
{
	int fds[2];
	pid_t pid;

	CHECK_OK(pipe(fds));
	pid = fork();
	CHECK_INT(pid, >=, 0);
	if (!pid) {
		uint32_t id;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		id = program_id(open_walker(0));
		CHECK_INT(write(fds[1], &id, sizeof(id)), ==, (long)sizeof(id));
		for (;;)
			pause();
	}
	close(fds[1]);
	CHECK_INT(read(fds[0], ret_id, sizeof(*ret_id)), ==, (long)sizeof(*ret_id));
	close(fds[0]);
	return pid;
}

TEST_LIMIT(bpf_walker_of_a_killed_process_is_gone, 120)
{
	struct walker *w = open_walker(0);

	coati_walker_close(&w);
	for (unsigned int i = 0; i < test_rounds(KILLS); i++) {
		uint32_t id;
		pid_t pid = start_holder(&id);

		CHECK(is_loaded(id));
		CHECK_OK(kill(pid, SIGKILL));
		CHECK_INT(waitpid(pid, NULL, 0), ==, pid);
		wait_until_gone(id);
	}
}

/* The unwind table of this very program. */
static void *own_table(struct table *ret)
{
	struct table_input in;
	struct elf elf;
	void *bytes;
	size_t size;

	CHECK_OK(coati_elf_open("/proc/self/exe", &elf, NULL));
	CHECK_OK(coati_table_input(&elf, &in, NULL));
	CHECK_OK(coati_table_build(&in, &bytes, &size));
	coati_elf_close(&elf);
	CHECK_OK(coati_table_open(bytes, size, ret));
	return bytes;
}

/* The rule of a place, looked up in the arena as the walker does. */
static uint64_t published_rule(const struct walker *w, uint32_t file, uint32_t place)
{
	const struct walker_file *f = &w->files[file];
	uint32_t key = place << WALKER_RULE_BITS | ((1u << WALKER_RULE_BITS) - 1), id;
	uint64_t entry, rule;
	const uint32_t *rows;

	memcpy(&entry, walker_arena_at(&w->arena, f->dir + (place >> WALKER_BUCKET_BITS) * 2), 8);
	id = (uint32_t)(entry >> 48);
	rows = walker_arena_at(&w->arena, (uint32_t)entry);
	/* the rows of a bucket are in one chunk */
	CHECK_U64(((uint32_t)entry & (WALKER_CHUNK_WORDS - 1)) + (entry >> 32 & 0xffff), <=,
		  WALKER_CHUNK_WORDS);
	for (uint32_t i = 0; i < (entry >> 32 & 0xffff) && rows[i] <= key; i++)
		id = rows[i] & 0xffff;
	memcpy(&rule, walker_arena_at(&w->arena, f->rules + id * 4), 8);
	return rule;
}

TEST(bpf_walker_table_is_the_same_when_published)
{
	struct walker *w = open_walker(0);
	struct walker_table t[12];
	struct table table;
	void *bytes = own_table(&table);

	/* several copies, so that some lie across the ends of chunks */
	for (int i = 0; i < 12; i++)
		CHECK_OK(coati_walker_add_table(w, &table, &t[i]));
	for (int i = 0; i < 12; i++)
		for (uint32_t place = 0; place < table.nr_buckets << TABLE_BUCKET_BITS;
		     place += 37) {
			uint32_t row = table_row_at(&table, place);
			uint32_t id = table.rows[row] & ((1u << TABLE_RULE_BITS) - 1);

			CHECK_U64(published_rule(w, t[i].file, place), ==, table.rules[id]);
		}
	coati_free(bytes);
	coati_walker_close(&w);
}

TEST(bpf_walker_gives_up_tables_within_its_budget)
{
	struct walker *w = open_walker(UINT64_C(2) << 20);
	struct walker_table first, t = { 0 };
	struct walker_memory st;
	struct table table;
	void *bytes = own_table(&table);

	/* there are no such CPUs */
	CHECK_ERR(coati_walker_connect(w, WALKER_STACKS, -1, STDIN_FILENO), -ERANGE);
	CHECK_ERR(coati_walker_connect(w, WALKER_STACKS, INT32_MAX, STDIN_FILENO), -ERANGE);
	CHECK_OK(coati_walker_add_table(w, &table, &first));
	CHECK(coati_walker_has_table(w, &first));
	for (int i = 0; i < 100; i++) {
		CHECK_OK(coati_walker_add_table(w, &table, &t));
		CHECK(coati_walker_has_table(w, &t));
	}
	CHECK(!coati_walker_has_table(w, &first));
	coati_walker_get_memory(w, &st);
	CHECK_U64(st.evicted + st.tables, ==, 101);
	CHECK_U64(st.table_bytes, <=, UINT64_C(2) << 20);
	CHECK_U64(st.reclaims, >, 0);
	CHECK_U64(published_rule(w, t.file, 0), ==,
		  table.rules[table.rows[table_row_at(&table, 0)] & ((1u << TABLE_RULE_BITS) - 1)]);
	coati_free(bytes);
	coati_walker_close(&w);
}

TEST(bpf_walker_space_with_ten_thousand_mappings_is_described_and_one_with_too_many_refused)
{
	static struct walker_map maps[WALKER_MAPS_MAX];
	struct walker_mappings m = { .v = maps, .nr = 10000 };
	struct walker *w = open_walker(0);
	struct walker_memory st;

	for (uint32_t i = 0; i < WALKER_MAPS_MAX; i++)
		maps[i] = (struct walker_map){ .start = UINT64_C(4096) * 2 * i,
					       .end = UINT64_C(4096) * (2 * i + 1),
					       .kind = WALKER_MAP_PLAIN };
	CHECK_OK(coati_walker_set_space(w, 1, &m));
	m.nr = WALKER_MAPS_MAX;
	CHECK_OK(coati_walker_set_space(w, 2, &m));
	m.nr++;
	CHECK_ERR(coati_walker_set_space(w, 3, &m), -E2BIG);
	coati_walker_get_memory(w, &st);
	CHECK_U64(st.spaces, ==, 2);
	coati_walker_forget_space(w, 1);
	coati_walker_forget_space(w, 1);
	coati_walker_forget_space(w, 2);
	coati_walker_get_memory(w, &st);
	CHECK_U64(st.spaces, ==, 0);
	coati_walker_close(&w);
}

/* What runs another program by now is not described as the one that was asked for. */
TEST(describe_is_of_the_program_that_was_asked_for)
{
	const struct walker_need other = { .space = 2, .family = 1 };
	struct coati_unwinder *unwinder = NULL;
	struct coati_images *images = NULL;
	struct walker *w = open_walker(0);
	struct describe d;

	CHECK_OK(coati_images_new(NULL, &images, NULL));
	CHECK_OK(coati_unwinder_new(images, NULL, &unwinder, NULL));
	coati_describe_init(&d, w, unwinder, NULL);
	CHECK_OK(coati_describe_running(&d, getpid()));
	CHECK_U64(d.described, ==, 1);
	CHECK_INT(coati_describe(&d, getpid(), &other), ==, -ESRCH);
	CHECK_U64(d.described, ==, 1);
	CHECK_U64(d.failed, ==, 1);
	coati_describe_fini(&d);
	coati_unwinder_free(&unwinder);
	coati_images_free(&images);
	coati_walker_close(&w);
}
