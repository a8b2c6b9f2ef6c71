/* SPDX-License-Identifier: MIT */
/* Processes and their mappings: each way in which they change over time. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "lib/test.h"
#include "process/processes.h"
#include "unit/process-feeder.h"

#define A UINT64_C(0x400000)
#define B UINT64_C(0x500000)

TEST(process_mapping_is_found_from_its_time_on)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map(&f, 1, 100, A, "/a"));
	CHECK_STR(feeder_path(&f, 1, A, 99), "-");
	CHECK_STR(feeder_path(&f, 1, A, 100), "/a");
	CHECK_STR(feeder_path(&f, 1, A + 0xfff, 1000), "/a");
	CHECK_STR(feeder_path(&f, 1, A + 0x1000, 1000), "-");
	CHECK_STR(feeder_path(&f, 1, A - 1, 1000), "-");
	CHECK_STR(feeder_path(&f, 2, A, 1000), "-");
	feeder_close(&f);
}

TEST(process_mapping_without_a_time_holds_from_the_beginning)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_told(&f, 1, 0));
	CHECK_OK(feeder_map(&f, 1, 0, A, "/a"));
	CHECK_STR(feeder_path(&f, 1, A, 0), "/a");
	CHECK_STR(feeder_path(&f, 1, A, 5), "/a");
	feeder_close(&f);
}

TEST(process_mapping_over_another_cuts_it)
{
	struct coati_mmap m = {
		.pid = 1, .addr = A, .len = 0x4000, .pgoff = 0x1000, .name = "/big"
	};
	struct coati_processes_stats stats;
	struct coati_place place;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map_record(&f, &m, COATI_MISC_USER, 10));
	CHECK_OK(feeder_map(&f, 1, 20, A + 0x1000, "/small"));
	CHECK_STR(feeder_path(&f, 1, A, 20), "/big");
	CHECK_STR(feeder_path(&f, 1, A + 0x1000, 20), "/small");
	CHECK_STR(feeder_path(&f, 1, A + 0x1000, 19), "/big");
	CHECK_STR(feeder_path(&f, 1, A + 0x2000, 20), "/big");
	CHECK_OK(coati_processes_find(f.ps, 1, A + 0x2010, 20, &place));
	CHECK_U64(place.start, ==, A + 0x2000);
	CHECK_U64(place.end, ==, A + 0x4000);
	CHECK_U64(place.pgoff, ==, 0x3000);
	CHECK_U64(place.vaddr, ==, 0x3010);
	coati_processes_get_stats(f.ps, &stats);
	CHECK_U64(stats.replaced, ==, 1);
	CHECK_U64(stats.mappings, ==, 2);
	feeder_close(&f);
}

TEST(process_exec_begins_with_nothing)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map(&f, 1, 10, A, "/old"));
	CHECK_OK(feeder_exec(&f, 1, 20, "new"));
	CHECK_OK(feeder_map(&f, 1, 21, B, "/new"));
	CHECK_STR(feeder_path(&f, 1, A, 19), "/old");
	CHECK_STR(feeder_path(&f, 1, A, 20), "-");
	CHECK_STR(feeder_path(&f, 1, B, 21), "/new");
	CHECK_STR(feeder_path(&f, 1, B, 20), "-");
	CHECK_STR(feeder_path(&f, 1, A, 15), "/old");
	feeder_close(&f);
}

TEST(process_fork_has_its_parents_mappings_until_either_changes)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map(&f, 1, 10, A, "/a"));
	CHECK_OK(feeder_fork(&f, 2, 1, 20));
	CHECK_STR(feeder_path(&f, 2, A, 20), "/a");
	CHECK_STR(feeder_path(&f, 2, A, 19), "-");
	CHECK_OK(feeder_map(&f, 1, 30, B, "/parent"));
	CHECK_STR(feeder_path(&f, 2, B, 40), "-");
	CHECK_OK(feeder_map(&f, 2, 31, B, "/child"));
	CHECK_STR(feeder_path(&f, 1, B, 40), "/parent");
	CHECK_STR(feeder_path(&f, 2, B, 40), "/child");
	CHECK_STR(feeder_path(&f, 2, A, 40), "/a");
	CHECK_OK(feeder_exec(&f, 1, 50, "x"));
	CHECK_STR(feeder_path(&f, 2, A, 60), "/a");
	feeder_close(&f);
}

TEST(process_fork_of_a_fork_looks_through_both)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map(&f, 1, 10, A, "/a"));
	for (int i = 2; i < 100; i++)
		CHECK_OK(feeder_fork(&f, i, i - 1, (uint64_t)i * 10));
	CHECK_OK(feeder_map(&f, 50, 505, B, "/b"));
	CHECK_STR(feeder_path(&f, 99, A, 2000), "/a");
	CHECK_STR(feeder_path(&f, 99, B, 2000), "/b");
	CHECK_STR(feeder_path(&f, 49, B, 2000), "-");
	feeder_close(&f);
}

TEST(process_forks_in_a_circle_do_not_hang)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_fork(&f, 1, 2, 10));
	CHECK_OK(feeder_fork(&f, 2, 1, 10));
	CHECK_OK(feeder_fork(&f, 3, 3, 10));
	CHECK_STR(feeder_path(&f, 1, A, 20), "-");
	CHECK_STR(feeder_path(&f, 2, A, 20), "-");
	CHECK_STR(feeder_path(&f, 3, A, 20), "-");
	CHECK_U64(coati_processes_space(f.ps, 1, 20), !=, 0);
	feeder_close(&f);
}

TEST(process_that_a_tool_found_takes_nothing_over)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_told(&f, 1, 0));
	CHECK_OK(feeder_map(&f, 1, 0, A, "/a"));
	CHECK_OK(feeder_told(&f, 2, 1));
	CHECK_OK(feeder_map(&f, 2, 0, B, "/b"));
	CHECK_STR(feeder_path(&f, 2, A, 10), "-");
	CHECK_STR(feeder_path(&f, 2, B, 10), "/b");
	/* told again, after real records: nothing is lost */
	CHECK_OK(feeder_map(&f, 2, 50, A, "/later"));
	CHECK_OK(feeder_told(&f, 2, 1));
	CHECK_STR(feeder_path(&f, 2, B, 60), "/b");
	CHECK_STR(feeder_path(&f, 2, A, 60), "/later");
	feeder_close(&f);
}

TEST(process_with_a_number_that_was_used_before_is_another)
{
	struct coati_thread_info first, second;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_fork(&f, 7, 1, 10));
	CHECK_OK(feeder_exec(&f, 7, 11, "first"));
	CHECK_OK(feeder_map(&f, 7, 12, A, "/first"));
	CHECK_OK(feeder_exit(&f, 7, 7, 20));
	CHECK_OK(feeder_fork(&f, 7, 1, 30));
	CHECK_OK(feeder_exec(&f, 7, 31, "second"));
	CHECK_OK(feeder_map(&f, 7, 32, B, "/second"));
	CHECK_STR(feeder_path(&f, 7, A, 15), "/first");
	CHECK_STR(feeder_path(&f, 7, A, 25), "/first"); /* its last moments in the kernel */
	CHECK_STR(feeder_path(&f, 7, A, 35), "-");
	CHECK_STR(feeder_path(&f, 7, B, 35), "/second");
	CHECK_STR(feeder_path(&f, 7, B, 15), "-");
	CHECK_OK(coati_processes_thread(f.ps, 7, 7, 15, &first));
	CHECK_OK(coati_processes_thread(f.ps, 7, 7, 35, &second));
	CHECK_U64(first.process, !=, second.process);
	CHECK_U64(first.thread, !=, second.thread);
	CHECK_STR(first.comm, "first");
	CHECK_STR(second.comm, "second");
	CHECK_U64(first.start_time, ==, 10);
	CHECK_U64(first.end_time, ==, 20);
	CHECK_U64(second.end_time, ==, UINT64_MAX);
	feeder_close(&f);
}

TEST(process_whose_fork_was_lost_is_another_after_the_exit)
{
	struct coati_thread_info first, second;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_fork(&f, 7, 1, 10));
	CHECK_OK(feeder_exit(&f, 7, 7, 20));
	CHECK_OK(feeder_exec(&f, 7, 31, "second"));
	CHECK_OK(coati_processes_thread(f.ps, 7, 7, 15, &first));
	CHECK_OK(coati_processes_thread(f.ps, 7, 7, 35, &second));
	CHECK_U64(first.process, !=, second.process);
	feeder_close(&f);
}

TEST(process_records_that_are_fed_late_count_from_their_time)
{
	struct coati_thread_info info;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map(&f, 1, 5, A, "/parent"));
	CHECK_OK(feeder_map(&f, 2, 40, B, "/mapped"));
	CHECK_OK(feeder_map(&f, 2, 25, A, "/before-exec"));
	CHECK_OK(feeder_exec(&f, 2, 30, "late"));
	CHECK_OK(feeder_fork(&f, 2, 1, 20));
	CHECK_STR(feeder_path(&f, 2, A, 20), "/parent");
	CHECK_STR(feeder_path(&f, 2, A, 25), "/before-exec");
	CHECK_STR(feeder_path(&f, 2, A, 30), "-");
	CHECK_STR(feeder_path(&f, 2, B, 39), "-");
	CHECK_STR(feeder_path(&f, 2, B, 40), "/mapped");
	CHECK_OK(coati_processes_thread(f.ps, 2, 2, 35, &info));
	CHECK_STR(info.comm, "late");
	CHECK_INT(info.ppid, ==, 1);
	CHECK_OK(feeder_map(&f, 1, 10, B, "/very-late"));
	CHECK_STR(feeder_path(&f, 2, B, 20), "/very-late");
	feeder_close(&f);
}

TEST(process_map_before_a_fork_belongs_to_the_process_of_before)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_fork(&f, 2, 1, 20));
	CHECK_OK(feeder_map(&f, 2, 10, A, "/of-another"));
	CHECK_STR(feeder_path(&f, 2, A, 15), "/of-another");
	CHECK_STR(feeder_path(&f, 2, A, 25), "-");
	feeder_close(&f);
}

TEST(process_of_a_file_without_times_is_as_it_was_fed)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map(&f, 1, 0, A, "/a"));
	CHECK_OK(feeder_fork(&f, 2, 1, 0));
	CHECK_STR(feeder_path(&f, 2, A, 0), "/a");
	CHECK_OK(feeder_exec(&f, 2, 0, "x"));
	CHECK_STR(feeder_path(&f, 2, A, 0), "-");
	CHECK_OK(feeder_map(&f, 2, 0, A, "/x"));
	CHECK_STR(feeder_path(&f, 2, A, 0), "/x");
	CHECK_STR(feeder_path(&f, 1, A, 0), "/a");
	CHECK_OK(feeder_map(&f, 2, 0, A, "/y"));
	CHECK_STR(feeder_path(&f, 2, A, 0), "/y");
	feeder_close(&f);
}

TEST(process_mappings_that_contradict_themselves_are_refused)
{
	static const struct coati_mmap bad[] = {
		{ .pid = 1, .addr = A, .len = 0, .name = "/a" },
		{ .pid = 1, .addr = UINT64_MAX - 10, .len = 100, .name = "/a" },
		{ .pid = 1, .addr = A, .len = UINT64_MAX, .name = "/a" },
	};
	struct coati_processes_stats stats;
	struct feeder f;

	feeder_open(&f, NULL);
	for (size_t i = 0; i < 3; i++)
		CHECK_OK(feeder_map_record(&f, &bad[i], COATI_MISC_USER, 10));
	coati_processes_get_stats(f.ps, &stats);
	CHECK_U64(stats.refused, ==, 3);
	CHECK_U64(stats.mappings, ==, 0);
	feeder_close(&f);
}

TEST(process_data_is_no_code_and_ends_what_it_covers)
{
	struct coati_mmap m = { .pid = 1, .addr = A, .len = 0x1000, .name = "/data" };
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map_record(&f, &m, COATI_MISC_USER | COATI_MISC_MMAP_DATA, 5));
	CHECK_STR(feeder_path(&f, 1, A, 6), "-");
	CHECK_OK(feeder_map(&f, 1, 10, A, "/code"));
	CHECK_STR(feeder_path(&f, 1, A, 10), "/code");
	CHECK_OK(feeder_map_record(&f, &m, COATI_MISC_USER | COATI_MISC_MMAP_DATA, 20));
	CHECK_STR(feeder_path(&f, 1, A, 20), "-");
	CHECK_STR(feeder_path(&f, 1, A, 19), "/code");
	feeder_close(&f);
}

TEST(process_records_of_guests_are_passed_over)
{
	struct coati_mmap m = { .pid = 1, .addr = A, .len = 0x1000, .name = "/guest" };
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map_record(&f, &m, COATI_MISC_GUEST_USER, 5));
	CHECK_OK(feeder_map_record(&f, &m, COATI_MISC_GUEST_KERNEL, 5));
	CHECK_STR(feeder_path(&f, 1, A, 6), "-");
	CHECK_STR(feeder_kernel_path(&f, A, 6), "-");
	feeder_close(&f);
}

/* ---- what is mapped ---- */

static enum coati_image_kind kind_of(struct feeder *f, const char *name, struct coati_place *ret)
{
	struct coati_mmap m = { .pid = 9, .addr = A, .len = 0x2000, .pgoff = A, .name = name };
	struct coati_image_info info = { .size = sizeof(info) };
	static uint64_t time = 100;

	CHECK_OK(feeder_map_record(f, &m, COATI_MISC_USER, ++time));
	CHECK_OK(coati_processes_find(f->ps, 9, A + 0x10, time, ret));
	CHECK_OK(coati_image_info(f->images, ret->image, &info));
	return info.kind;
}

TEST(process_names_of_mappings_tell_what_they_are_of)
{
	static const struct {
		const char *name;
		enum coati_image_kind kind;
	} cases[] = {
		{ "/lib/libc.so.6", COATI_IMAGE_FILE },
		{ "/tmp/x (deleted)", COATI_IMAGE_FILE },
		{ "//anon", COATI_IMAGE_ANON },
		{ "[heap]", COATI_IMAGE_ANON },
		{ "[stack]", COATI_IMAGE_ANON },
		{ "[anon:jit]", COATI_IMAGE_ANON },
		{ "", COATI_IMAGE_ANON },
		{ "/dev/zero (deleted)", COATI_IMAGE_ANON },
		{ "/SYSV00000000 (deleted)", COATI_IMAGE_ANON },
		{ "/memfd:program (deleted)", COATI_IMAGE_FILE },
		{ "[vdso]", COATI_IMAGE_VDSO },
		{ "[vsyscall]", COATI_IMAGE_FILE },
		{ "[uprobes]", COATI_IMAGE_FILE },
	};
	struct coati_place place;
	struct feeder f;

	feeder_open(&f, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum coati_image_kind kind = kind_of(&f, cases[i].name, &place);

		if (kind != cases[i].kind)
			test_note("%s", cases[i].name);
		CHECK_INT(kind, ==, cases[i].kind);
		if (kind == COATI_IMAGE_ANON)
			CHECK_U64(place.vaddr, ==, A + 0x10);
	}
	feeder_close(&f);
}

TEST(process_has_the_vsyscall_page_that_nobody_tells_of)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map(&f, 1, 1, A, "/a"));
	CHECK_STR(feeder_path(&f, 1, UINT64_C(0xffffffffff600400), 5), "[vsyscall]");
	CHECK_STR(feeder_path(&f, 1, UINT64_C(0xffffffffff601000), 5), "-");
	feeder_close(&f);
}

TEST(process_build_id_of_a_record_or_of_the_recording_is_the_images)
{
	struct coati_mmap m = {
		.pid = 1, .addr = A, .len = 0x1000, .build_id_size = 20, .name = "/a"
	};
	static const uint8_t other[20] = { 9, 9, 9 };
	struct coati_image_info info = { .size = sizeof(info) };
	struct coati_place place;
	struct feeder f;

	memset(m.build_id, 7, sizeof(m.build_id));
	feeder_open(&f, NULL);
	CHECK_OK(feeder_map_record(&f, &m, COATI_MISC_USER | COATI_MISC_MMAP_BUILD_ID, 1));
	CHECK_OK(feeder_map(&f, 1, 1, B, "/b"));
	CHECK_OK(coati_processes_build_id(f.ps, "/b", other, 20));
	CHECK_OK(coati_processes_build_id(f.ps, "/a", other, 20));
	CHECK_ERR(coati_processes_build_id(f.ps, "/c", other, 21), -EINVAL);
	CHECK_OK(coati_processes_find(f.ps, 1, A, 1, &place));
	CHECK_OK(coati_image_info(f.images, place.image, &info));
	CHECK_U64(info.build_id_size, ==, 20);
	CHECK_MEM(info.build_id, m.build_id, 20);
	CHECK_OK(coati_processes_find(f.ps, 1, B, 1, &place));
	CHECK_OK(coati_image_info(f.images, place.image, &info));
	CHECK_MEM(info.build_id, other, 20);
	feeder_close(&f);
}

TEST(process_same_file_in_two_processes_is_one_image)
{
	struct coati_place first, second;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map(&f, 1, 1, A, "/lib/x"));
	CHECK_OK(feeder_map(&f, 2, 1, B, "/lib/x"));
	CHECK_OK(coati_processes_find(f.ps, 1, A, 1, &first));
	CHECK_OK(coati_processes_find(f.ps, 2, B, 1, &second));
	CHECK_U64(first.image, ==, second.image);
	feeder_close(&f);
}

/* ---- the kernel ---- */

#define KERNEL UINT64_C(0xffffffff81000000)
#define MODULE UINT64_C(0xffffffffc0000000)

TEST(kernel_lies_below_its_modules_whoever_is_told_first)
{
	struct coati_mmap kernel = { .pid = UINT32_MAX,
				     .addr = KERNEL,
				     .len = UINT64_MAX - KERNEL,
				     .pgoff = KERNEL,
				     .name = "[kernel.kallsyms]_text" };
	struct coati_mmap module = {
		.pid = UINT32_MAX, .addr = MODULE, .len = 0x1000, .name = "[ext4]"
	};
	struct coati_place place;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map_record(&f, &module, COATI_MISC_KERNEL, 0));
	CHECK_OK(feeder_map_record(&f, &kernel, COATI_MISC_KERNEL, 0));
	CHECK_STR(feeder_kernel_path(&f, KERNEL + 5, 9), "[kernel]");
	CHECK_STR(feeder_kernel_path(&f, MODULE + 5, 9), "[ext4]");
	CHECK_STR(feeder_kernel_path(&f, MODULE + 0x1000, 9), "[kernel]");
	CHECK_STR(feeder_kernel_path(&f, KERNEL - 1, 9), "-");
	CHECK_OK(coati_processes_find_kernel(f.ps, MODULE + 5, 9, &place));
	CHECK_U64(place.vaddr, ==, MODULE + 5);
	CHECK_STR(feeder_path(&f, -1, KERNEL, 9), "-");
	feeder_close(&f);
}

TEST(kernel_that_nobody_told_of_has_the_upper_half)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_STR(feeder_kernel_path(&f, KERNEL, 9), "[kernel]");
	CHECK_STR(feeder_kernel_path(&f, A, 9), "-");
	feeder_close(&f);
}

static const char *kernel_name(struct feeder *f, uint64_t addr, uint64_t time)
{
	struct coati_place place;
	struct coati_address a;

	if (coati_processes_find_kernel(f->ps, addr, time, &place) < 0)
		return "-";
	a = (struct coati_address){ .image = place.image, .vaddr = place.vaddr, .time = time };
	CHECK_OK(coati_images_resolve(f->images, &a, 1, 0, NULL));
	return a.names[0].function;
}

TEST(kernel_bpf_programs_are_there_from_load_to_unload)
{
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_ksymbol(&f, MODULE, "bpf_prog_1_old", 1, 0));
	CHECK_OK(feeder_ksymbol(&f, MODULE + 0x5000, "ftrace_trampoline", 2, 10));
	CHECK_OK(feeder_ksymbol_gone(&f, MODULE, 20));
	CHECK_OK(feeder_ksymbol(&f, MODULE, "bpf_prog_2_new", 1, 30));
	CHECK_STR(kernel_name(&f, MODULE + 8, 5), "bpf_prog_1_old");
	CHECK_STR(kernel_name(&f, MODULE + 8, 19), "bpf_prog_1_old");
	CHECK_STR(feeder_kernel_path(&f, MODULE + 8, 5), "[bpf]");
	CHECK_STR(kernel_name(&f, MODULE + 8, 30), "bpf_prog_2_new");
	CHECK_STR(kernel_name(&f, MODULE + 8, 15), "bpf_prog_1_old");
	CHECK_STR(kernel_name(&f, MODULE + 0x5008, 15), "ftrace_trampoline");
	CHECK_STR(feeder_kernel_path(&f, MODULE + 0x5008, 15), "[kernel]");
	feeder_close(&f);
}

/* ---- numbers ---- */

TEST(process_space_number_changes_with_the_mappings_alone)
{
	uint64_t first, second;
	struct feeder f;

	feeder_open(&f, NULL);
	CHECK_U64(coati_processes_space(f.ps, 1, 10), ==, 0);
	CHECK_OK(feeder_map(&f, 1, 10, A, "/a"));
	first = coati_processes_space(f.ps, 1, 10);
	CHECK_U64(first, !=, 0);
	CHECK_U64(coati_processes_space(f.ps, 1, 9), !=, first);
	CHECK_U64(coati_processes_space(f.ps, 1, 1000), ==, first);
	CHECK_OK(feeder_comm(&f, 1, 1, 15, "name"));
	CHECK_U64(coati_processes_space(f.ps, 1, 16), ==, first);
	CHECK_OK(feeder_map(&f, 1, 20, B, "/b"));
	second = coati_processes_space(f.ps, 1, 20);
	CHECK_U64(second, !=, first);
	CHECK_U64(coati_processes_space(f.ps, 1, 19), ==, first);
	CHECK_OK(feeder_map(&f, 1, 5, B, "/late"));
	CHECK_U64(coati_processes_space(f.ps, 1, 19), !=, first);
	CHECK_U64(coati_processes_space(f.ps, 1, 20), !=, second);
	feeder_close(&f);
}

TEST(process_space_number_of_a_fork_is_its_parents_until_it_maps)
{
	struct feeder f;
	uint64_t parent;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map(&f, 1, 10, A, "/a"));
	CHECK_OK(feeder_fork(&f, 2, 1, 20));
	CHECK_OK(feeder_fork(&f, 3, 2, 21));
	parent = coati_processes_space(f.ps, 1, 20);
	CHECK_U64(coati_processes_space(f.ps, 2, 20), ==, parent);
	CHECK_U64(coati_processes_space(f.ps, 3, 25), ==, parent);
	CHECK_OK(feeder_map(&f, 1, 30, B, "/b"));
	CHECK_U64(coati_processes_space(f.ps, 2, 35), ==, parent);
	CHECK_OK(feeder_map(&f, 2, 40, B, "/c"));
	CHECK_U64(coati_processes_space(f.ps, 2, 40), !=, parent);
	CHECK_U64(coati_processes_space(f.ps, 3, 45), ==, parent);
	feeder_close(&f);
}

TEST(process_space_number_of_a_fork_changes_when_its_parent_learns_late)
{
	struct feeder f;
	uint64_t child;

	feeder_open(&f, NULL);
	CHECK_OK(feeder_map(&f, 1, 10, A, "/a"));
	CHECK_OK(feeder_fork(&f, 2, 1, 20));
	CHECK_OK(feeder_map(&f, 2, 30, B, "/b"));
	child = coati_processes_space(f.ps, 2, 40);
	CHECK_STR(feeder_path(&f, 2, A, 40), "/a");
	CHECK_OK(feeder_map(&f, 1, 15, A, "/other"));
	CHECK_U64(coati_processes_space(f.ps, 2, 40), !=, child);
	CHECK_STR(feeder_path(&f, 2, A, 40), "/other");
	feeder_close(&f);
}

/* ---- ceilings and memory ---- */

TEST(process_ceilings_refuse_what_is_new_and_count_it)
{
	struct coati_processes_opts o = { .size = sizeof(o), .max_threads = 8, .max_mappings = 16 };
	struct coati_processes_stats stats;
	struct coati_thread_info info;
	struct feeder f;

	feeder_open(&f, &o);
	for (uint64_t i = 0; i < 32; i++)
		CHECK_OK(feeder_map(&f, 1, i, A + i * 0x1000, "/a"));
	for (int i = 0; i < 32; i++)
		CHECK_OK(feeder_fork(&f, 100 + i, 1, 50));
	coati_processes_get_stats(f.ps, &stats);
	CHECK_U64(stats.mappings, ==, 16);
	CHECK_U64(stats.threads, ==, 8);
	/* 16 mappings; of 32 children 24 threads, and 17 processes besides the parent */
	CHECK_U64(stats.refused, ==, 16 + 24 + 17);
	CHECK_STR(feeder_path(&f, 1, A, 100), "/a");
	CHECK_ERR(coati_processes_thread(f.ps, 999, 998, 60, &info), -E2BIG);
	CHECK_STR(info.comm, ":998");
	feeder_close(&f);
}

static int live_a_little(struct feeder *f)
{
	struct coati_thread_info info;
	struct coati_place place;
	int r = 0;

	for (int i = 1; r == 0 && i < 6; i++) {
		uint64_t t = (uint64_t)i * 100;

		r = feeder_fork(f, i + 1, i, t);
		r = r ? r : feeder_exec(f, i + 1, t + 1, "name");
		r = r ? r : feeder_map(f, i + 1, t + 2, A, "/a");
		r = r ? r : feeder_map(f, i + 1, t - 2, B, "/b");
		r = r ? r : feeder_thread(f, i + 1, i + 50, i + 1, t + 3);
		r = r ? r : feeder_ksymbol(f, MODULE, "bpf", 1, t);
		(void)coati_processes_find(f->ps, i + 1, A, t + 5, &place);
		r = r ? r : coati_processes_thread(f->ps, i + 1, i + 50, t + 6, &info);
		r = r ? r : feeder_exit(f, i + 1, i + 1, t + 50);
	}
	return r;
}

TEST(process_says_so_when_memory_ends)
{
	for (uint64_t n = 0;; n++) {
		struct feeder f;
		int r;

		feeder_open(&f, NULL);
		coati_alloc_fail_after(n);
		r = live_a_little(&f);
		coati_processes_forget(f.ps, 300);
		coati_alloc_fail_after(UINT64_MAX);
		feeder_close(&f);
		if (r == 0)
			break;
		CHECK_ERR(r, -ENOMEM);
		CHECK_U64(n, <, 2000);
	}
}

TEST(process_new_refuses_options_that_it_does_not_know)
{
	struct coati_processes_opts o = { .size = 4 };
	struct coati_images *images = NULL;
	struct coati_processes *ps = NULL;
	struct coati_error err;

	CHECK_OK(coati_images_new(NULL, &images, NULL));
	CHECK_ERR(coati_processes_new(images, &o, &ps, &err), -EINVAL);
	CHECK_ERR(coati_processes_new(NULL, NULL, &ps, &err), -EINVAL);
	CHECK(!ps);
	coati_images_free(&images);
}
