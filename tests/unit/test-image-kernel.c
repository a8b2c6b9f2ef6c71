/* SPDX-License-Identifier: MIT */
/* Names of the kernel, its modules and the vDSO. */
#include "lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "image/image.h"
#include "image/kernel.h"
#include "unit/image-ask.h"

static const char sample[] = "0000000000000000 A fixed_percpu_data\n"
			     "ffffffff81000000 T _text\n"
			     "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 t startup\n"
			     "ffffffff81000100 T do_work\n"
			     "ffffffff81000100 W alias_of_work\n"
			     "ffffffff81000180 t helper\n"
			     "ffffffff81000200 D some_data\n"
			     "ffffffff81000300 T after_data\n"
			     "ffffffff81000400 T _etext\n"
			     "ffffffffa0000000 t mod_init\t[fs_demo]\n"
			     "ffffffffa0000040 T mod_work\t[fs_demo]\n"
			     "ffffffffa0002000 t other_work\t[net_demo]\n"
			     "ffffffffa0004000 t bpf_prog_1234_demo\t[bpf]\n";

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	CHECK(f && fputs(text, f) >= 0);
	fclose(f);
}

static struct coati_images *with_kallsyms(const char *text)
{
	write_text("kallsyms", text);
	return ask_new((struct coati_images_opts){ .kallsyms = "kallsyms" });
}

static uint32_t kernel_of(struct coati_images *images)
{
	return ask_image(images, (struct coati_image_ref){ .kind = COATI_IMAGE_KERNEL,
							   .path = "[kernel.kallsyms]" });
}

TEST(kernel_functions_end_where_the_next_symbol_begins)
{
	struct coati_images *images = with_kallsyms(sample);
	uint32_t kernel = kernel_of(images);
	struct coati_name n = ask_name(images, kernel, 0xffffffff8100017f);

	CHECK_STR(n.function, "do_work");
	CHECK_U64(n.start, ==, 0xffffffff81000100);
	CHECK_U64(n.length, ==, 0x80);
	CHECK(n.flags & COATI_NAME_ALIASED);
	CHECK_STR(ask_function(images, kernel, 0xffffffff81000180), "helper");
	CHECK_STR(ask_function(images, kernel, 0xffffffff81000000), "startup");
	/* data is no function, and what is before the first symbol has none */
	CHECK_STR(ask_function(images, kernel, 0xffffffff81000210), "[kernel]");
	CHECK_STR(ask_function(images, kernel, 0xffffffff80000000), "[kernel]");
	coati_images_free(&images);
}

TEST(kernel_modules_answer_for_their_own_addresses_alone)
{
	struct coati_images *images = with_kallsyms(sample);
	uint32_t module = ask_image(images, (struct coati_image_ref){ .kind = COATI_IMAGE_MODULE,
								      .path = "[fs_demo]" });
	uint32_t by_file = ask_image(
		images, (struct coati_image_ref){ .kind = COATI_IMAGE_MODULE,
						  .path = "/lib/modules/6/net_demo.ko.xz" });

	CHECK_STR(ask_function(images, module, 0xffffffffa0000041), "mod_work");
	CHECK_STR(ask_function(images, module, 0xffffffffa0002001), "[fs_demo]");
	CHECK_STR(ask_function(images, by_file, 0xffffffffa0002001), "other_work");
	/* the last function of a module ends with its page at the latest */
	CHECK_STR(ask_function(images, module, 0xffffffffa0000fff), "mod_work");
	CHECK_STR(ask_function(images, module, 0xffffffffa0001000), "[fs_demo]");
	coati_images_free(&images);
}

TEST(kernel_that_hides_its_addresses_is_told_with_the_next_step)
{
	struct coati_images *images = with_kallsyms("0000000000000000 T _text\n"
						    "0000000000000000 T do_work\n");
	uint32_t kernel = kernel_of(images);

	CHECK_STR(ask_function(images, kernel, 0xffffffff81000100), "[kernel]");
	CHECK_HAS(ask_why(images, kernel), "kptr_restrict");
	coati_images_free(&images);
}

TEST(kernel_of_another_build_id_gives_no_names)
{
	struct coati_images *images = with_kallsyms(sample);
	struct coati_image_ref ref = { .kind = COATI_IMAGE_KERNEL,
				       .path = "[kernel.kallsyms]",
				       .build_id_size = 20,
				       .build_id = { 0xde, 0xad } };
	uint8_t id[20];
	uint32_t kernel = ask_image(images, ref);

	if (!coati_kernel_build_id(id))
		test_skip("this kernel does not tell its build id");
	CHECK_STR(ask_function(images, kernel, 0xffffffff81000100), "[kernel]");
	CHECK_HAS(ask_why(images, kernel), "another kernel");
	coati_images_free(&images);
}

TEST(kernel_that_lay_elsewhere_is_moved_when_it_is_the_same_by_build_id)
{
	struct coati_images *images = with_kallsyms(sample);
	struct coati_image_ref ref = { .kind = COATI_IMAGE_KERNEL,
				       .path = "[kernel.kallsyms]_text",
				       .map_start = 0xffffffff91000000,
				       .map_end = 0xffffffff92000000 };
	uint32_t unknown = ask_image(images, ref), kernel;

	CHECK_STR(ask_function(images, unknown, 0xffffffff91000100), "[kernel]");
	CHECK_HAS(ask_why(images, unknown), "at another address");
	ref.build_id_size = coati_kernel_build_id(ref.build_id);
	if (!ref.build_id_size)
		test_skip("this kernel does not tell its build id");
	kernel = ask_image(images, ref);
	CHECK_STR(ask_function(images, kernel, 0xffffffff91000100), "do_work");
	CHECK_U64(ask_name(images, kernel, 0xffffffff91000100).start, ==, 0xffffffff91000100);
	/* modules do not move along */
	CHECK_STR(ask_function(images, kernel, 0xffffffffb0000041), "[kernel]");
	coati_images_free(&images);
}

TEST(kernel_list_that_is_damaged_or_missing_is_told)
{
	static const char *const damaged[] = { "",
					       "\n\n\n",
					       "no symbols here\n",
					       "zz T x\n",
					       "ffffffff81000000\n",
					       "ffffffff81000000 T\n",
					       "ffffffff81000000 T \n",
					       "ffffffff81000000000 T x\n" };
	struct coati_images *images;
	uint32_t kernel;

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		images = with_kallsyms(damaged[i]);
		kernel = kernel_of(images);
		CHECK_STR(ask_function(images, kernel, 0xffffffff81000000), "[kernel]");
		CHECK(*ask_why(images, kernel));
		coati_images_free(&images);
	}
	images = ask_new((struct coati_images_opts){ .kallsyms = "not-there" });
	kernel = kernel_of(images);
	CHECK_STR(ask_function(images, kernel, 0xffffffff81000000), "[kernel]");
	CHECK_HAS(ask_why(images, kernel), "not-there");
	coati_images_free(&images);
}

TEST(kernel_that_runs_here_names_its_scheduler_to_root)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	char line[512], *name;
	unsigned long long addr = 0;
	uint32_t kernel = kernel_of(images);
	FILE *f = fopen("/proc/kallsyms", "re");

	while (f && !addr && fgets(line, sizeof(line), f)) {
		name = strstr(line, " T schedule\n");
		if (name)
			addr = strtoull(line, NULL, 16);
	}
	if (f)
		fclose(f);
	if (!addr)
		test_skip("the kernel hides its addresses");
	CHECK_STR(ask_function(images, kernel, addr + 4), "schedule");
	coati_images_free(&images);
}

TEST(vdso_has_the_names_of_its_clocks)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	uint32_t vdso = ask_image(
		images, (struct coati_image_ref){ .kind = COATI_IMAGE_VDSO, .path = "[vdso]" });
	bool seen = false;
	int fd;

	if (!getauxval(AT_SYSINFO_EHDR))
		test_skip("there is no vDSO here");
	for (uint64_t at = 0; at < 8192 && !seen; at++)
		seen = strstr(ask_function(images, vdso, at), "clock_gettime") ||
		       strstr(ask_function(images, vdso, at), "kernel_clock");
	CHECK(seen);
	CHECK_U64(ask_info(images, vdso).build_id_size, >, 0);
	fd = coati_image_open_fd(images, vdso, NULL);
	CHECK_OK(fd);
	close(fd);
	coati_images_free(&images);
}

TEST(vdso_of_another_kernel_is_not_ours)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct coati_image_ref ref = {
		.kind = COATI_IMAGE_VDSO, .path = "[vdso]", .build_id_size = 20, .build_id = { 1 }
	};
	uint32_t vdso = ask_image(images, ref);

	CHECK_STR(ask_function(images, vdso, 0x900), "[vdso]");
	CHECK(*ask_why(images, vdso));
	coati_images_free(&images);
}

TEST(kernel_list_is_read_with_every_allocation_failing_once)
{
	for (uint64_t n = 0; n < 64; n++) {
		struct kernel k = { 0 };
		char *text = coati_strdup(sample);
		int r;

		CHECK(text);
		coati_alloc_fail_after(n);
		r = coati_kernel_take(&k, text, strlen(text));
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 0 || r == -ENOMEM);
		coati_kernel_fini(&k);
	}
}
