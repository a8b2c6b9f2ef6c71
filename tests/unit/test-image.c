/* SPDX-License-Identifier: MIT */
/* The list of images, and names of addresses in the files of this machine and in files made by
 * hand. */
#include "lib/test.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/image.h>

#include "image/image.h"
#include "unit/elf-builder.h"
#include "unit/image-ask.h"

TEST(image_same_build_id_and_path_is_the_same_image_and_a_copy_is_another)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref a = { .path = "/a", .build_id_size = 20, .build_id = { 1, 2, 3 } };
	struct coati_image_ref b = a, c = a, gone = a, nowhere = a;

	b.path = "/somewhere/else";
	c.build_id[0] = 9;
	gone.path = "/a (deleted)";
	gone.ino = 12;
	nowhere.path = "";
	CHECK_U64(ask_image(images, a), !=, ask_image(images, b));
	CHECK_U64(ask_image(images, a), !=, ask_image(images, c));
	CHECK_U64(ask_image(images, a), ==, ask_image(images, gone));
	CHECK_U64(ask_image(images, a), ==, ask_image(images, nowhere));
	CHECK_STR(ask_info(images, ask_image(images, b)).name, "else");
	CHECK_U64(coati_images_count(images), ==, 3);
	coati_images_free(&images);
}

TEST(image_without_build_id_is_told_by_path_and_inode)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref a = { .path = "/a", .ino = 5, .maj = 8, .min = 1 };
	struct coati_image_ref other_inode = { .path = "/a", .ino = 6, .maj = 8, .min = 1 };

	CHECK_U64(ask_image(images, a), ==, ask_image(images, a));
	CHECK_U64(ask_image(images, a), !=, ask_image(images, other_inode));
	coati_images_free(&images);
}

TEST(image_of_run_time_code_is_one_a_process)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref a = { .kind = COATI_IMAGE_JIT, .pid = 11, .path = "//anon" };
	struct coati_image_ref b = { .kind = COATI_IMAGE_JIT, .pid = 12, .path = "//anon" };
	struct coati_image_info info = { .size = sizeof(info) };

	CHECK_U64(ask_image(images, a), ==, ask_image(images, a));
	CHECK_U64(ask_image(images, a), !=, ask_image(images, b));
	CHECK_OK(coati_image_info(images, ask_image(images, b), &info));
	CHECK_STR(info.name, "[jit pid 12]");
	coati_images_free(&images);
}

TEST(image_nobody_knows_still_has_a_name)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref gone = { .path = "/no/such/libgone.so (deleted)", .pid = 1 << 30 };
	struct coati_name n = ask_name(images, 77, 0x1000);
	struct coati_image_info info = { .size = sizeof(info) };
	uint32_t image;

	CHECK_STR(n.function, "[unknown]");
	image = ask_image(images, gone);
	n = ask_name(images, image, 0x1234);
	CHECK_STR(n.function, "[libgone.so]");
	CHECK(n.flags & COATI_NAME_SYNTHETIC);
	CHECK(!n.symbol);
	CHECK_OK(coati_image_info(images, image, &info));
	CHECK(!info.opened);
	CHECK_HAS(info.why, "/no/such/libgone.so");
	coati_images_free(&images);
}

TEST(images_of_more_files_than_may_be_open_are_all_read)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct rlimit limit;
	struct elf_builder b;
	char name[32];

	elf_builder_init(&b, false);
	elf_builder_program(&b);
	elf_builder_write(&b, "program");
	CHECK_INT(getrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	if (limit.rlim_max < 1024)
		test_skip("the hard limit of open files is low");
	limit.rlim_cur = 40;
	CHECK_INT(setrlimit(RLIMIT_NOFILE, &limit), ==, 0);
	for (int i = 0; i < 100; i++) {
		struct coati_image_info info = { .size = sizeof(info) };
		uint32_t image;

		snprintf(name, sizeof(name), "program-%d", i);
		CHECK_INT(link("program", name), ==, 0);
		image = ask_path(images, name);
		ask_name(images, image, 0x1000);
		CHECK_OK(coati_image_info(images, image, &info));
		CHECK(info.opened);
	}
	coati_images_free(&images);
}

/* The file and the address in it of something that is loaded here. */
static uint64_t loaded_vaddr(const void *p, const char **ret_path)
{
	struct link_map *map = NULL;
	Dl_info info;

	CHECK(dladdr1(p, &info, (void **)&map, RTLD_DL_LINKMAP));
	*ret_path = *map->l_name ? map->l_name : "/proc/self/exe";
	return (uintptr_t)p - map->l_addr;
}

TEST(image_names_a_function_of_the_c_library)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_info info = { .size = sizeof(info) };
	struct coati_name n;
	const char *path;
	uint64_t vaddr = loaded_vaddr(dlsym(RTLD_DEFAULT, "hsearch_r"), &path);
	uint32_t image;

	if (test_emulated())
		test_skip("the libraries are not where the emulator says");
	image = ask_path(images, path);
	n = ask_name(images, image, vaddr + 3);
	/* its aliases, if any, begin with underscores */
	CHECK_STR(n.function, "hsearch_r");
	CHECK_U64(n.start, ==, vaddr);
	CHECK_U64(n.length, >, 3);
	CHECK_OK(coati_image_info(images, image, &info));
	CHECK_U64(info.build_id_size, ==, 20);
	CHECK(info.opened);
	coati_images_free(&images);
}

__attribute__((noinline)) static int only_in_the_symbol_table(int x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

TEST(image_names_a_static_function_of_this_very_program)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	int (*volatile fn)(int) = only_in_the_symbol_table;
	const char *path;
	uint64_t vaddr = loaded_vaddr((const void *)fn, &path);
	uint32_t image = ask_path(images, path);

	CHECK_INT(fn(1), ==, 2);
	CHECK_STR(ask_name(images, image, vaddr).function, "only_in_the_symbol_table");
	coati_images_free(&images);
}

TEST(image_offset_becomes_address_by_the_program_headers)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct elf_builder b;
	uint32_t image;
	uint64_t vaddr = 0;

	elf_builder_init(&b, false);
	elf_builder_program(&b);
	elf_builder_write(&b, "program");
	image = ask_image(images, (struct coati_image_ref){ .path = "program" });
	CHECK_OK(coati_image_vaddr(images, image, BUILDER_TEXT_OFFSET + 5, &vaddr));
	CHECK_U64(vaddr, ==, BUILDER_TEXT_VADDR + 5);
	CHECK_ERR(coati_image_vaddr(images, image, 1 << 20, &vaddr), -ENOENT);
	CHECK_ERR(coati_image_vaddr(images, 99, 0, &vaddr), -EINVAL);
	coati_images_free(&images);
}

TEST(image_descriptor_is_that_of_the_very_file)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct elf_builder b;
	struct coati_error err;
	struct stat st, want;
	uint32_t image;
	int fd;

	elf_builder_init(&b, false);
	elf_builder_program(&b);
	elf_builder_write(&b, "program");
	CHECK_OK(stat("program", &want));
	image = ask_image(images, (struct coati_image_ref){ .path = "program" });
	fd = coati_image_open_fd(images, image, &err);
	CHECK_OK(fd);
	CHECK_OK(fstat(fd, &st));
	CHECK_U64(st.st_ino, ==, want.st_ino);
	close(fd);
	CHECK_ERR(coati_image_open_fd(images,
				      ask_image(images, (struct coati_image_ref){ .path = "none" }),
				      &err),
		  -ENOENT);
	CHECK_HAS(err.text, "none");
	coati_images_free(&images);
}

/* As lld lays them out: constants and code share a page of the file, and so do two segments of
 * code. */
TEST(image_bias_is_that_of_the_segment_which_is_mapped)
{
	static const struct elf_segment segments[] = {
		{ .type = PT_LOAD, .flags = PF_R, .vaddr = 0, .filesz = 0x1234, .memsz = 0x1234 },
		{ .type = PT_LOAD,
		  .flags = PF_R | PF_X,
		  .offset = 0x1234,
		  .vaddr = 0x2234,
		  .filesz = 0xc00,
		  .memsz = 0xc00 },
		{ .type = PT_LOAD,
		  .flags = PF_R | PF_X,
		  .offset = 0x1e34,
		  .vaddr = 0x3e34,
		  .filesz = 0x1300,
		  .memsz = 0x1300 },
	};
	/* where the kernel maps them when the file is loaded at 0x7f0000000000, and a part of the
	 * last one */
	static const struct coati_image_mapping maps[] = {
		{ 0x7f0000000000, 0x7f0000002000, 0 },
		{ 0x7f0000002000, 0x7f0000003000, 0x1000 },
		{ 0x7f0000003000, 0x7f0000006000, 0x1000 },
		{ 0x7f0000004000, 0x7f0000006000, 0x2000 },
	};
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct elf_builder b;
	uint32_t image;
	uint64_t bias = 1;

	elf_builder_init(&b, false);
	elf_builder_program(&b);
	b.nr_segments = 3;
	memcpy(b.segments, segments, sizeof(segments));
	elf_builder_write(&b, "program");
	image = ask_image(images, (struct coati_image_ref){ .path = "program" });
	for (size_t i = 1; i < sizeof(maps) / sizeof(*maps); i++) {
		CHECK_OK(coati_image_bias(images, image, &maps[i], &bias));
		CHECK_U64(bias, ==, UINT64_C(0x7f0000000000));
	}
	bias = 1;
	CHECK_ERR(coati_image_bias(images, image,
				   &(struct coati_image_mapping){ 0x1000, 0x2000, 0x100000 },
				   &bias),
		  -ENOENT);
	CHECK_ERR(coati_image_bias(images, image,
				   &(struct coati_image_mapping){ 0x2000, 0x2000, 0 }, &bias),
		  -EINVAL);
	CHECK_ERR(coati_image_bias(images, image,
				   &(struct coati_image_mapping){ 0, 0x2000, UINT64_MAX }, &bias),
		  -EINVAL);
	CHECK_ERR(coati_image_bias(images, 99, &maps[0], &bias), -EINVAL);
	CHECK_U64(bias, ==, 1);
	coati_images_free(&images);
}
