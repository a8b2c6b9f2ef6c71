/* SPDX-License-Identifier: MIT */
/* Where a file says that threads publish their labels is where they do. */
#include "lib/test.h"

#if defined(__x86_64__)
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <coati/live.h>

#include "capture/label-place.h"

static struct label_place find(const char *path)
{
	struct coati_image_ref ref = { .size = sizeof(ref), .path = path };
	struct coati_images *images = NULL;
	struct label_place place;
	uint32_t image;

	CHECK_OK(coati_images_new(NULL, &images, NULL));
	CHECK_OK(coati_images_get(images, &ref, &image, NULL));
	coati_label_place_find(images, image, &place);
	coati_images_free(&images);
	return place;
}

static uint64_t thread_pointer(void)
{
	uint64_t p;

	__asm__("mov %%fs:0, %0" : "=r"(p));
	return p;
}

/* This program has them, and the tracer with them. */
TEST(label_place_of_a_program_is_its_distance_from_the_thread_pointer)
{
	char path[1024] = { 0 };
	struct label_place place;

	CHECK_INT(readlink("/proc/self/exe", path, sizeof(path) - 1), >, 0);
	place = find(path);
	CHECK_INT(place.kind, ==, WALKER_LABELS_AT);
	CHECK_U64(thread_pointer() + place.at, ==, (uint64_t)(uintptr_t)&otel_thread_ctx_v1);
	CHECK(place.has_tracer);
}

TEST(label_place_of_a_library_is_told_by_its_loader)
{
	char path[1024];
	const char *tool = getenv("COATI_TOOL") ? getenv("COATI_TOOL") : COATI_TOOL_DEFAULT;
	const struct link_map *map;
	struct label_place place;
	uint64_t distance;
	void *library, *variable;

	snprintf(path, sizeof(path), "%.*s/libcoati-live.so", (int)(strrchr(tool, '/') - tool),
		 tool);
	place = find(path);
	CHECK_INT(place.kind, ==, WALKER_LABELS_THROUGH);
	CHECK(place.has_tracer);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) /* there is no room for it in the static block */
		test_skip("%s", dlerror());
	variable = dlsym(library, "otel_thread_ctx_v1");
	CHECK(variable);
	CHECK_OK(dlinfo(library, RTLD_DI_LINKMAP, &map));
	memcpy(&distance, (const void *)(uintptr_t)(map->l_addr + place.at), sizeof(distance));
	CHECK_U64(thread_pointer() + distance, ==, (uint64_t)(uintptr_t)variable);
}

TEST(label_place_of_a_file_without_labels_is_none)
{
	static const char *const paths[] = { "/bin/sh", "/etc/passwd", "/nowhere", "/dev/null" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		struct label_place place = find(paths[i]);

		CHECK_INT(place.kind, ==, WALKER_LABELS_NONE);
		CHECK(!place.has_tracer);
	}
}

/* A program with the variable in the last of @nr tables of symbols. The others claim 16 MiB
 * each. */
static struct label_place find_behind(uint32_t nr)
{
	static const char names[] = "\0otel_thread_ctx_v1";
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr tls;
		Elf64_Sym symbols[2];
		char names[sizeof(names)];
	} f = { .head = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			  .e_type = ET_EXEC,
			  .e_machine = EM_X86_64,
			  .e_version = EV_CURRENT,
			  .e_phoff = sizeof(Elf64_Ehdr),
			  .e_shoff = sizeof(f),
			  .e_ehsize = sizeof(Elf64_Ehdr),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 1,
			  .e_shentsize = sizeof(Elf64_Shdr),
			  .e_shnum = (uint16_t)(nr + 2) },
		.tls = { .p_type = PT_TLS, .p_memsz = 8, .p_align = 8 },
		.symbols = { { 0 },
			     { .st_name = 1,
			       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS),
			       .st_shndx = 1,
			       .st_size = 8 } } };
	Elf64_Shdr section = { .sh_type = SHT_STRTAB,
			       .sh_offset = offsetof(__typeof__(f), names),
			       .sh_size = sizeof(names) };
	static const Elf64_Shdr none;
	char path[PATH_MAX];
	struct label_place place;
	int fd = open("tables", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);

	memcpy(f.names, names, sizeof(names));
	CHECK_INT(fd, >=, 0);
	CHECK_INT(write(fd, &f, sizeof(f)), ==, sizeof(f));
	CHECK_INT(write(fd, &none, sizeof(none)), ==, sizeof(none));
	CHECK_INT(write(fd, &section, sizeof(section)), ==, sizeof(section));
	for (uint32_t i = 1; i <= nr; i++) {
		section = (Elf64_Shdr){ .sh_type = SHT_DYNSYM,
					.sh_offset = offsetof(__typeof__(f), symbols),
					.sh_size = i < nr ? 16u << 20 : sizeof(f.symbols),
					.sh_link = 1,
					.sh_entsize = sizeof(Elf64_Sym) };
		CHECK_INT(write(fd, &section, sizeof(section)), ==, sizeof(section));
	}
	close(fd);
	CHECK(realpath("tables", path));
	place = find(path);
	return place;
}

TEST(label_place_is_looked_for_in_half_a_gibibyte_of_tables)
{
	struct label_place place = find_behind(32);

	CHECK_INT(place.kind, ==, WALKER_LABELS_AT);
	CHECK_U64(place.at, ==, (uint64_t)-8);
	CHECK_INT(find_behind(33).kind, ==, WALKER_LABELS_NONE);
}
#endif
