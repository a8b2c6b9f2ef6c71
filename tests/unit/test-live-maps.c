/* SPDX-License-Identifier: MIT */
/* What is mapped, by /proc and by the loader alone; and that profiles are made where there is no
 * /proc. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <coati/heap.h>
#include <coati/sampler.h>

#include "lib/sanitizer.h"
#include "lib/test.h"
#include "live/pprof/maps.h"

static void *volatile kept;

/* A library calls it. */
static int compare(const void *a, const void *b)
{
	if (!kept)
		kept = coati_heap_malloc(1000);
	return *(const int *)a - *(const int *)b;
}

static void sort(void)
{
	int numbers[] = { 3, 1, 2 };

	qsort(numbers, 3, sizeof(numbers[0]), compare);
}

static void go_where_nothing_is(void)
{
	char path[] = "/tmp/coati-maps-XXXXXX";

	if (geteuid() != 0)
		test_skip("needs root");
#ifdef UNDER_SANITIZER
	test_skip("sanitizers need /proc at the end of a process");
#endif
	CHECK(mkdtemp(path));
	CHECK_OK(chdir(path));
	CHECK_OK(rmdir(path)); /* it stays until we end, and nobody has to remove it */
	CHECK_OK(chroot("."));
	CHECK(access("/proc", F_OK) < 0);
}

TEST(live_maps_of_the_loader_are_those_of_proc)
{
	struct live_maps proc, loaded;
	uint32_t with_id = 0;

	skip_where_the_loader_is_not_asked();
	CHECK_OK(coati_maps_open(&proc));
	CHECK_OK(coati_maps_loaded(&loaded));
	CHECK_U64(loaded.len, >=, 2); /* the program and the C library */
	for (uint32_t i = 0; i < loaded.len; i++) {
		const struct live_mapping *l = &loaded.list[i],
					  *p = coati_maps_find(&proc, l->start);

		CHECK(p);
		CHECK_STR(l->build_id, p->build_id);
		with_id += l->build_id[0] != 0;
		if (p->path[0] != '/')
			continue; /* of the kernel */
		CHECK_U64(l->start, ==, p->start);
		CHECK_U64(l->end, ==, p->end);
		CHECK_U64(l->offset, ==, p->offset);
	}
	CHECK_U64(with_id, >=, 1);
	coati_maps_close(&loaded);
	coati_maps_close(&proc);
}

/* That of the file, which is the same one here. */
TEST(live_maps_have_the_build_ids_of_files)
{
	struct live_maps maps;
	struct live_mapping *m;
	char text[41] = "";
	uint8_t id[20];
	struct elf elf;

	CHECK_OK(coati_maps_open(&maps));
	m = coati_maps_find(&maps, (uint64_t)(uintptr_t)qsort);
	CHECK(m);
	CHECK_OK(coati_elf_open(m->path, &elf, NULL));
	coati_build_id_text(id, coati_elf_build_id(&elf, id), text);
	CHECK_STR(m->build_id, text);
	coati_elf_close(&elf);
	coati_maps_close(&maps);
}

TEST(live_names_in_memory_are_those_of_the_dynamic_table)
{
	uint64_t into, addr = (uint64_t)(uintptr_t)qsort;
	char name[64], cut[4];

	CHECK(coati_loaded_name(addr + 3, name, sizeof(name), &into));
	CHECK_STR(name, "qsort");
	CHECK_U64(into, ==, 3);
	CHECK(coati_loaded_name(addr, cut, sizeof(cut), &into));
	CHECK_STR(cut, "qso");
	CHECK(!coati_loaded_name(1, name, sizeof(name), &into));
}

TEST(live_profiles_are_made_where_there_is_no_proc)
{
	struct coati_heap_opts o = { .size = sizeof(o), .rate_bytes = 1 };
	static char text[1 << 20];
	struct coati_error err = { 0 };
	int fd = memfd_create("heap", MFD_CLOEXEC);
	ssize_t n;

	if (test_emulated())
		test_skip("the emulator has threads of its own: a child after fork() does not ask "
			  "the loader");
	CHECK_OK(coati_heap_start(&o, NULL));
	go_where_nothing_is();
	sort();
	if (coati_heap_write(fd, COATI_HEAP_TEXT, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	n = pread(fd, text, sizeof(text) - 1, 0);
	CHECK(n > 0);
	CHECK_HAS(text, "1: 1000 [1: 1000]");
	CHECK_HAS(text, "\tqsort"); /* or qsort_r, which it calls */
	CHECK_HAS(text, "/libc.so");
	CHECK_OK(ftruncate(fd, 0));
	if (coati_heap_write(fd, COATI_HEAP_NAMES, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
	if (coati_sampler_start(NULL, &err) < 0 || coati_sampler_stop(fd, NULL, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s", err.text);
}
