/* SPDX-License-Identifier: MIT */
/*
 * The unwinder as programs use it, over this process: its files as images, its registers in the
 * kernel's numbers, a copy of its stack. Then what it keeps: tables in memory under a ceiling,
 * tables on disk that nobody else may have touched.
 */
#include "lib/test.h"

#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <coati/unwind.h>

#include "base/alloc.h"
#include "unit/elf-builder.h"
#include "unit/judge.h"
#include "unwind/unwinder.h"

#define OBJECTS_MAX 32
#define FRAMES_MAX  64
#define COPY_MAX    65536

struct object {
	uint64_t start, end, bias;
	uint32_t image;
};

struct world {
	struct coati_images *images;
	struct coati_unwinder *u;
	struct object objects[OBJECTS_MAX];
	int nr;
	uint8_t stack[COPY_MAX];
	uint64_t stack_size, stack_addr;
	uint64_t regs[33], mask;
	void *truth[FRAMES_MAX];
	int nr_truth;
};

static struct world world;

static int add_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct coati_image_ref ref = { .size = sizeof(ref), .path = info->dlpi_name };
	struct object *o = &world.objects[world.nr];
	/* under an emulator /proc/self/exe is the emulator */
	const char *own = (const char *)(uintptr_t)getauxval(AT_EXECFN);
	char exe[512] = "";

	(void)size;
	(void)ctx;
	if (test_emulated())
		snprintf(exe, sizeof(exe), "%s", own);
	else
		CHECK_INT(readlink("/proc/self/exe", exe, sizeof(exe) - 1), >, 0);
	if (!ref.path || !*ref.path)
		ref.path = exe;
	if (world.nr == OBJECTS_MAX || ref.path[0] != '/')
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		o->start = info->dlpi_addr + p->p_vaddr;
		o->end = o->start + p->p_memsz;
	}
	o->bias = info->dlpi_addr;
	CHECK_OK(coati_images_get(world.images, &ref, &o->image, NULL));
	world.nr++;
	return 0;
}

static int find(void *ctx, uint64_t addr, struct coati_unwind_place *ret)
{
	(void)ctx;
	for (int i = 0; i < world.nr; i++) {
		const struct object *o = &world.objects[i];

		if (addr < o->start || addr >= o->end)
			continue;
		*ret = (struct coati_unwind_place){
			.image = o->image, .start = o->start, .end = o->end, .bias = o->bias
		};
		return 0;
	}
	return -ENOENT;
}

static void open_world(const struct coati_unwinder_opts *opts)
{
	CHECK_INT(setenv("XDG_CACHE_HOME", "/nonexistent", 1), ==, 0);
	memset(&world, 0, sizeof(world));
	CHECK_OK(coati_images_new(NULL, &world.images, NULL));
	CHECK_OK(coati_unwinder_new(world.images, opts, &world.u, NULL));
	dl_iterate_phdr(add_object, NULL);
}

static void close_world(void)
{
	coati_unwinder_free(&world.u);
	CHECK(!world.u);
	coati_images_free(&world.images);
}

static enum coati_machine take_regs(const ucontext_t *uc)
{
#if defined(__x86_64__)
	static const int from[24] = { REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
				      REG_RBP, REG_RSP, REG_RIP, REG_EFL, -1,	   -1,
				      -1,      -1,	-1,	 -1,	  REG_R8,  REG_R9,
				      REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };
	int n = 0;

	for (int i = 0; i < 24; i++) {
		if (from[i] < 0)
			continue;
		world.regs[n++] = (uint64_t)uc->uc_mcontext.gregs[from[i]];
		world.mask |= UINT64_C(1) << i;
	}
	world.stack_addr = (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
	return COATI_MACHINE_X86_64;
#else
	for (int i = 0; i < 31; i++)
		world.regs[i] = uc->uc_mcontext.regs[i];
	world.regs[31] = world.stack_addr = uc->uc_mcontext.sp;
	world.regs[32] = uc->uc_mcontext.pc;
	world.mask = (UINT64_C(1) << 33) - 1;
	return COATI_MACHINE_AARCH64;
#endif
}

/* Up to the end of the stack, which the environment's strings lie close to. */
__attribute__((noinline, no_sanitize("address"))) static enum coati_machine take_sample(void)
{
	uint64_t top = (uint64_t)getauxval(AT_EXECFN);
	enum coati_machine machine;
	ucontext_t uc;

	world.nr_truth = judge(world.truth, FRAMES_MAX);
	getcontext(&uc);
	machine = take_regs(&uc);
	world.stack_size = top - world.stack_addr < COPY_MAX ? top - world.stack_addr : COPY_MAX;
	for (uint64_t i = 0; i < world.stack_size; i++)
		world.stack[i] = *(const uint8_t *)(uintptr_t)(world.stack_addr + i);
	return machine;
}

static struct coati_unwind_input sample(void)
{
	struct coati_unwind_input in = { .size = sizeof(in), .find = find };

	in.machine = take_sample();
	in.regs = world.regs;
	in.reg_mask = world.mask;
	in.stack = world.stack;
	in.stack_size = world.stack_size;
	in.stack_addr = world.stack_addr;
	return in;
}

static const struct coati_unwinder_opts no_cache = { .size = sizeof(no_cache),
						     .flags = COATI_UNWINDER_NO_CACHE };

TEST(unwind_of_a_copied_stack_finds_what_backtrace_finds)
{
	struct coati_unwind_frame frames[FRAMES_MAX];
	struct coati_unwinder_stats stats;
	enum coati_unwind_end end;
	struct coati_unwind_input in;
	int n;

	open_world(&no_cache);
	in = sample();
	n = coati_unwind(world.u, &in, frames, FRAMES_MAX, &end);
	CHECK_STR(coati_unwind_end_name(end), "end");
	/* sample() itself has returned: the copy is of its time */
	CHECK_INT(n, ==, world.nr_truth);
	for (int i = 1; i < n; i++)
		CHECK_U64(frames[i].pc, ==, (uintptr_t)world.truth[i]);
	for (int i = 0; i < n; i++)
		CHECK_U64(frames[i].image, !=, COATI_IMAGE_NONE);
	coati_unwinder_get_stats(world.u, &stats);
	CHECK_U64(stats.walks, ==, 1);
	CHECK_U64(stats.frames, ==, n);
	CHECK_U64(stats.ends[COATI_UNWIND_END], ==, 1);
	CHECK_U64(stats.tables, >=, 2);
	CHECK_U64(stats.guesses, ==, 0);
	close_world();
}

/* Take the compact rules away: only the unwind data itself is left. */
static void spoil_rules(struct coati_unwinder *u)
{
	for (size_t i = 0; i < u->v.len; i++) {
		struct unwind_image *ui = u->v.v[i];
		struct table_head *h = ui ? ui->bytes : NULL;

		for (uint32_t r = 1; h && r < h->nr_rules; r++) {
			uint64_t *rule = (uint64_t *)(void *)((uint8_t *)ui->bytes + h->rules) + r;

			if ((*rule & 15) != TABLE_CFA_END && (*rule & 15) != TABLE_CFA_SIGNAL)
				*rule = TABLE_CFA_UNSUPPORTED;
		}
	}
	memset(u->cache, 0, sizeof(*u->cache));
}

TEST(unwind_without_compact_rules_finds_the_same_frames)
{
	struct coati_unwind_frame frames[FRAMES_MAX], slow[FRAMES_MAX];
	enum coati_unwind_end end;
	struct coati_unwind_input in;
	int n;

	open_world(&no_cache);
	in = sample();
	n = coati_unwind(world.u, &in, frames, FRAMES_MAX, &end);
	spoil_rules(world.u);
	CHECK_INT(coati_unwind(world.u, &in, slow, FRAMES_MAX, &end), ==, n);
	CHECK_STR(coati_unwind_end_name(end), "end");
	CHECK_MEM(slow, frames, (size_t)n * sizeof(*frames));
	close_world();
}

#if defined(__x86_64__)
/* No unwind data describes it. */
void unwind_bare(void (*call)(void));
__asm__(".text\n"
	".type unwind_bare, @function\n"
	"unwind_bare: push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	call *%rdi\n"
	"	pop %rbp\n"
	"	ret\n"
	".size unwind_bare, . - unwind_bare\n");

static struct coati_unwind_input below_bare;

static void sample_below_bare(void)
{
	below_bare = sample();
}

TEST(unwind_by_unwind_data_passes_a_function_that_has_none)
{
	struct coati_unwind_frame frames[FRAMES_MAX], slow[FRAMES_MAX];
	enum coati_unwind_end end, slow_end;
	int n, bare = 0;

	open_world(&no_cache);
	unwind_bare(sample_below_bare);
	n = coati_unwind(world.u, &below_bare, frames, FRAMES_MAX, &end);
	CHECK_STR(coati_unwind_end_name(end), "end");
	CHECK_INT(coati_unwind_evaluate(world.u, &below_bare, slow, FRAMES_MAX, &slow_end), ==, n);
	CHECK_STR(coati_unwind_end_name(slow_end), "end");
	CHECK_MEM(slow, frames, (size_t)n * sizeof(*frames));
	for (int i = 0; i < n; i++)
		bare += frames[i].how == COATI_FRAME_POINTER || frames[i].how == COATI_FRAME_GUESS;
	CHECK_INT(bare, ==, 1);
	close_world();
}
#endif

TEST(unwind_says_truncated_at_every_length_that_is_too_short)
{
	struct coati_unwind_frame frames[FRAMES_MAX];
	enum coati_unwind_end end;
	struct coati_unwind_input in;
	uint64_t full;
	int all, last = 1;

	open_world(&no_cache);
	in = sample();
	all = coati_unwind(world.u, &in, frames, FRAMES_MAX, &end);
	full = frames[all - 1].sp - in.stack_addr;
	for (uint64_t size = 0; size < full; size += 8) {
		int n;

		in.stack_size = size;
		n = coati_unwind(world.u, &in, frames, FRAMES_MAX, &end);
		CHECK_INT(n, >=, last);
		CHECK_INT(n, <=, all);
		if (size && n < all)
			CHECK_STR(coati_unwind_end_name(end), "truncated");
		last = n;
	}
	close_world();
}

TEST(unwind_says_limit_when_there_is_no_more_room)
{
	struct coati_unwind_frame frames[3];
	enum coati_unwind_end end;
	struct coati_unwind_input in;

	open_world(&no_cache);
	in = sample();
	CHECK_INT(coati_unwind(world.u, &in, frames, 3, &end), ==, 3);
	CHECK_STR(coati_unwind_end_name(end), "limit");
	close_world();
}

TEST(unwind_needs_pc_and_sp_and_a_machine)
{
	struct coati_unwind_frame frames[4];
	struct coati_unwind_input in;

	open_world(&no_cache);
	in = sample();
	in.reg_mask = 1;
	CHECK_ERR(coati_unwind(world.u, &in, frames, 4, NULL), -EINVAL);
	in = sample();
	in.machine = COATI_MACHINE_NONE;
	CHECK_ERR(coati_unwind(world.u, &in, frames, 4, NULL), -EINVAL);
	in = sample();
	CHECK_ERR(coati_unwind(world.u, &in, frames, 0, NULL), -EINVAL);
	close_world();
}

TEST(unwind_stops_where_nothing_is_mapped)
{
	struct coati_unwind_frame frames[FRAMES_MAX];
	enum coati_unwind_end end;
	struct coati_unwind_input in;

	open_world(&no_cache);
	in = sample();
	world.nr = 0;
	CHECK_INT(coati_unwind(world.u, &in, frames, FRAMES_MAX, &end), ==, 1);
	CHECK_STR(coati_unwind_end_name(end), "unmapped");
	CHECK_U64(frames[0].image, ==, COATI_IMAGE_NONE);
	close_world();
}

TEST(unwinder_keeps_its_tables_below_the_ceiling)
{
	struct coati_unwinder_opts small = { .size = sizeof(small),
					     .flags = COATI_UNWINDER_NO_CACHE,
					     .max_bytes = 1 };
	struct coati_unwinder_stats stats;

	open_world(&small);
	for (int i = 0; i < world.nr; i++)
		coati_unwinder_prepare(world.u, world.objects[i].image, NULL);
	coati_unwinder_get_stats(world.u, &stats);
	CHECK_U64(stats.tables, ==, 1);
	/* a walk keeps all that it meets, and still is right */
	{
		struct coati_unwind_frame frames[FRAMES_MAX];
		struct coati_unwind_input in = sample();
		enum coati_unwind_end end;

		coati_unwind(world.u, &in, frames, FRAMES_MAX, &end);
		CHECK_STR(coati_unwind_end_name(end), "end");
	}
	close_world();
}

TEST(unwinder_gives_back_a_table_and_loads_it_again)
{
	struct coati_unwinder_opts none = { .size = sizeof(none),
					    .flags = COATI_UNWINDER_NO_CACHE };
	struct unwind_image *ui;
	uint64_t bytes = 0, rows = 0;

	open_world(&none);
	for (int i = 0; i < 3; i++) {
		CHECK_OK(coati_unwinder_prepare(world.u, world.objects[0].image, NULL));
		ui = coati_unwinder_image(world.u, world.objects[0].image);
		CHECK(coati_unwinder_cfi(world.u, world.objects[0].image, ui));
		bytes = i ? bytes : world.u->bytes;
		rows = i ? rows : world.u->stats.table_rows;
		CHECK_U64(world.u->bytes, ==, bytes);
		CHECK_U64(world.u->stats.table_rows, ==, rows);
		coati_unwinder_give_back(world.u, ui);
		coati_unwinder_give_back(world.u, ui);
		CHECK_U64(world.u->bytes, ==, 0);
		CHECK_U64(world.u->stats.tables, ==, 0);
		CHECK_U64(world.u->stats.table_rows, ==, 0);
		CHECK_U64(world.u->stats.table_bytes, ==, 0);
	}
	close_world();
}

TEST(unwinder_counts_unwind_data_in_its_ceiling)
{
	struct coati_unwinder_opts small = { .size = sizeof(small),
					     .flags = COATI_UNWINDER_NO_CACHE,
					     .max_bytes = 1 };
	struct unwind_image *ui;
	uint64_t before, cfi_bytes;

	open_world(&small);
	CHECK_OK(coati_unwinder_prepare(world.u, world.objects[0].image, NULL));
	ui = coati_unwinder_image(world.u, world.objects[0].image);
	before = world.u->bytes;
	CHECK(coati_unwinder_cfi(world.u, world.objects[0].image, ui));
	cfi_bytes = ui->cfi_bytes;
	CHECK_U64(cfi_bytes, >, ui->cfi->g.nr_fdes * sizeof(struct table_fde));
	CHECK_U64(world.u->bytes, ==, before + cfi_bytes);
	/* another walk, another image: it goes with its table */
	world.u->walk++;
	CHECK_OK(coati_unwinder_prepare(world.u, world.objects[1].image, NULL));
	CHECK(!ui->cfi && !ui->bytes);
	CHECK_U64(world.u->bytes, ==, coati_unwinder_image(world.u, world.objects[1].image)->size);
	close_world();
}

TEST(unwinder_makes_a_table_of_the_vdso)
{
	struct coati_image_ref ref = { .size = sizeof(ref),
				       .kind = COATI_IMAGE_VDSO,
				       .path = "[vdso]" };
	struct coati_error err = { 0 };
	uint32_t image;

	if (!getauxval(AT_SYSINFO_EHDR))
		test_skip("this process has no vDSO");
	open_world(&no_cache);
	CHECK_OK(coati_images_get(world.images, &ref, &image, NULL));
	CHECK_OK(coati_unwinder_prepare(world.u, image, &err));
	close_world();
}

TEST(unwinder_says_why_there_is_no_table)
{
	struct coati_image_ref ref = { .size = sizeof(ref), .path = "/nowhere/at-all" };
	struct coati_error err = { 0 };
	uint32_t image;

	open_world(&no_cache);
	CHECK_OK(coati_images_get(world.images, &ref, &image, NULL));
	CHECK_INT(coati_unwinder_prepare(world.u, image, &err), <, 0);
	CHECK_HAS(err.text, "nowhere");
	CHECK_ERR(coati_unwinder_prepare(world.u, 4000, &err), -EINVAL);
	close_world();
}

/* ---- on disk ---- */

static void *made_up_table(size_t *ret_size)
{
	static const uint8_t id[4] = { 0xde, 0xad, 0xbe, 0xef };
	struct table_input in = { .machine = 62, .nr_code = 1, .build_id_size = 4 };
	void *bytes;

	in.code[0] = (struct table_code){ .start = 0x1000, .size = 0x1000 };
	memcpy(in.build_id, id, 4);
	CHECK_OK(coati_table_build(&in, &bytes, ret_size));
	return bytes;
}

static const uint8_t made_up_id[4] = { 0xde, 0xad, 0xbe, 0xef };

TEST(unwind_cache_gives_back_what_was_written_and_is_private)
{
	size_t size, read_size;
	void *bytes = made_up_table(&size), *read;
	char *dir = coati_unwind_cache_dir("cache");
	struct stat st;

	CHECK(dir);
	CHECK_INT(coati_unwind_cache_read(dir, made_up_id, 4, &read, &read_size), <, 0);
	coati_unwind_cache_write(dir, bytes, size, UINT64_MAX);
	CHECK_INT(stat("cache/unwind/deadbeef.tbl", &st), ==, 0);
	CHECK_INT(st.st_mode & 0777, ==, 0600);
	CHECK_INT(stat("cache/unwind", &st), ==, 0);
	CHECK_INT(st.st_mode & 0777, ==, 0700);
	CHECK_OK(coati_unwind_cache_read(dir, made_up_id, 4, &read, &read_size));
	CHECK_U64(read_size, ==, size);
	CHECK_MEM(read, bytes, size);
	coati_free(read);
	coati_free(bytes);
	coati_free(dir);
}

static void overwrite(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK_INT(write(fd, bytes, size), ==, size);
	close(fd);
}

TEST(unwind_cache_refuses_every_changed_byte_and_every_shorter_file)
{
	size_t size, read_size;
	uint8_t *bytes = made_up_table(&size);
	char *dir = coati_unwind_cache_dir("cache");
	void *read = NULL;

	for (size_t i = 0; i < size; i++) {
		bytes[i] ^= 0x10;
		overwrite("cache/unwind/deadbeef.tbl", bytes, size);
		CHECK_INT(coati_unwind_cache_read(dir, made_up_id, 4, &read, &read_size), <, 0);
		bytes[i] ^= 0x10;
		overwrite("cache/unwind/deadbeef.tbl", bytes, i);
		CHECK_INT(coati_unwind_cache_read(dir, made_up_id, 4, &read, &read_size), <, 0);
	}
	overwrite("cache/unwind/deadbeef.tbl", bytes, size);
	CHECK_OK(coati_unwind_cache_read(dir, made_up_id, 4, &read, &read_size));
	coati_free(read);
	coati_free(bytes);
	coati_free(dir);
}

TEST(unwind_cache_refuses_links_fifos_and_folders_that_others_can_write)
{
	size_t size, read_size;
	uint8_t *bytes = made_up_table(&size);
	char *dir = coati_unwind_cache_dir("cache");
	void *read = NULL;

	overwrite("elsewhere", bytes, size);
	CHECK_INT(symlink("../../elsewhere", "cache/unwind/deadbeef.tbl"), ==, 0);
	CHECK_INT(coati_unwind_cache_read(dir, made_up_id, 4, &read, &read_size), <, 0);
	CHECK_INT(unlink("cache/unwind/deadbeef.tbl"), ==, 0);
	CHECK_INT(mkfifo("cache/unwind/deadbeef.tbl", 0600), ==, 0);
	CHECK_INT(coati_unwind_cache_read(dir, made_up_id, 4, &read, &read_size), <, 0);
	CHECK_INT(unlink("cache/unwind/deadbeef.tbl"), ==, 0);
	coati_unwind_cache_write(dir, bytes, size, UINT64_MAX);
	CHECK_INT(chmod("cache/unwind", 0777), ==, 0);
	CHECK_INT(coati_unwind_cache_read(dir, made_up_id, 4, &read, &read_size), <, 0);
	CHECK(!coati_unwind_cache_dir("cache"));
	coati_free(bytes);
	coati_free(dir);
}

TEST(unwind_cache_lets_the_oldest_go_at_its_ceiling)
{
	struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	size_t size;
	uint8_t *bytes = made_up_table(&size);
	char *dir = coati_unwind_cache_dir("cache");

	overwrite("cache/unwind/00.tbl", bytes, size);
	overwrite("cache/unwind/01.tbl", bytes, size);
	CHECK_INT(utimensat(AT_FDCWD, "cache/unwind/01.tbl", old, 0), ==, 0);
	coati_unwind_cache_write(dir, bytes, size, size - 1);
	CHECK_INT(access("cache/unwind/deadbeef.tbl", F_OK), <, 0);
	CHECK_INT(access("cache/unwind/01.tbl", F_OK), ==, 0);
	/* two must go */
	overwrite("cache/unwind/02.tbl", bytes, size);
	old[0].tv_sec = old[1].tv_sec = 2;
	CHECK_INT(utimensat(AT_FDCWD, "cache/unwind/02.tbl", old, 0), ==, 0);
	coati_unwind_cache_write(dir, bytes, size, 2 * size);
	CHECK_INT(access("cache/unwind/deadbeef.tbl", F_OK), ==, 0);
	CHECK_INT(access("cache/unwind/00.tbl", F_OK), ==, 0);
	CHECK_INT(access("cache/unwind/01.tbl", F_OK), <, 0);
	CHECK_INT(access("cache/unwind/02.tbl", F_OK), <, 0);
	coati_free(bytes);
	coati_free(dir);
}

TEST(unwind_cache_removes_what_a_dead_writer_put_aside)
{
	struct timespec old[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };
	size_t size;
	uint8_t *bytes = made_up_table(&size);
	char *dir = coati_unwind_cache_dir("cache");

	overwrite("cache/unwind/.00.tbl.77", bytes, size);
	overwrite("cache/unwind/.01.tbl.78", bytes, size);
	CHECK_INT(utimensat(AT_FDCWD, "cache/unwind/.00.tbl.77", old, 0), ==, 0);
	coati_unwind_cache_write(dir, bytes, size, 2 * size);
	CHECK_INT(access("cache/unwind/deadbeef.tbl", F_OK), ==, 0);
	CHECK_INT(access("cache/unwind/.00.tbl.77", F_OK), <, 0);
	/* somebody may be writing it just now */
	CHECK_INT(access("cache/unwind/.01.tbl.78", F_OK), ==, 0);
	coati_free(bytes);
	coati_free(dir);
}

TEST(unwind_cache_is_not_put_into_a_folder_of_somebody_else)
{
	char folder[PATH_MAX], path[PATH_MAX + 16], *dir;

	CHECK(getcwd(folder, sizeof(folder)));
	snprintf(path, sizeof(path), "%s/home", folder);
	CHECK_INT(setenv("XDG_CACHE_HOME", path, 1), ==, 0);
	dir = coati_unwind_cache_dir(NULL);
	CHECK(dir);
	coati_free(dir);
	CHECK_INT(chmod(path, 0777), ==, 0);
	CHECK(!coati_unwind_cache_dir(NULL));
	CHECK_INT(chmod(path, 0700), ==, 0);
	if (geteuid() == 0) {
		CHECK_INT(chown(path, 65534, 65534), ==, 0);
		CHECK(!coati_unwind_cache_dir(NULL));
	}
}

TEST(unwind_cache_answers_the_second_time)
{
	struct coati_unwinder_opts opts = { .size = sizeof(opts), .cache_dir = "cache" };
	struct coati_unwinder_stats stats;

	for (int round = 0; round < 2; round++) {
		open_world(&opts);
		for (int i = 0; i < world.nr; i++)
			coati_unwinder_prepare(world.u, world.objects[i].image, NULL);
		coati_unwinder_get_stats(world.u, &stats);
		if (!round && !access("cache/unwind", F_OK) && stats.tables)
			CHECK_U64(stats.from_cache, ==, 0);
		close_world();
	}
	if (test_emulated())
		test_skip("files of the emulated machine may have no build id");
	CHECK_U64(stats.from_cache, >, 0);
}

/* What was read of it up to there is given back. */
TEST(unwind_of_a_file_without_code_says_so)
{
	struct coati_image_ref ref = { .size = sizeof(ref), .path = "empty" };
	struct coati_error err = { 0 };
	struct unwind_cfi cfi;
	struct elf_builder b;
	uint32_t image;

	elf_builder_init(&b, false);
	b.machine = elf_builder_machine();
	elf_builder_section(&b, ".comment", 1, "x", 1);
	elf_builder_write(&b, "empty");
	open_world(&no_cache);
	CHECK_OK(coati_images_get(world.images, &ref, &image, &err));
	CHECK_ERR(coati_unwind_open(world.u, image, &cfi, &err), -ENODATA);
	CHECK_STR(err.text, "empty: it has no executable code");
	close_world();
}
