/* SPDX-License-Identifier: MIT */
/* Probes: from path and symbol to attributes, on hand-made files and a made-up sysfs. */
#include "lib/test.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "event/probe-file.h"
#include "event/probe-kernel.h"
#include "event/probe-pmu.h"
#include "event/probe-symbol.h"
#include "event/probe-usdt.h"
#include "event/probe.h"
#include "unit/elf-builder.h"

#define TEXT BUILDER_TEXT_VADDR
#define DATA BUILDER_DATA_VADDR

static void put_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	CHECK(f);
	CHECK_INT(fputs(text, f), >=, 0);
	CHECK_INT(fclose(f), ==, 0);
}

static void put_pmu(const char *name, const char *type, const char *retprobe, const char *ref_ctr)
{
	char path[256];

	mkdir("sys", 0777);
	mkdir("sys/bus", 0777);
	mkdir("sys/bus/event_source", 0777);
	mkdir("sys/bus/event_source/devices", 0777);
	snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s", name);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/format", name);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/type", name);
	put_file(path, type);
	snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/format/retprobe", name);
	if (retprobe)
		put_file(path, retprobe);
	snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/format/ref_ctr_offset", name);
	if (ref_ctr)
		put_file(path, ref_ctr);
}

/* A symbol as it stands in a table. */
#define SYM(sym_name, at, bytes, sym_type, sym_bind)                                    \
	{                                                                               \
		.name = (sym_name), .value = (at), .size = (bytes), .type = (sym_type), \
		.bind = (sym_bind), .shndx = 1                                          \
	}

/* A library whose .symtab is @syms, in the file @path. */
static void put_library(const char *path, const struct elf_symbol *syms, size_t nr)
{
	struct elf_builder b;

	elf_builder_init(&b, false);
	elf_builder_program(&b);
	elf_builder_symbols(&b, false, syms, nr);
	elf_builder_write(&b, path);
}

static int resolve(const struct probe_spec *spec, struct arena *arena, struct probe_site **ret,
		   uint32_t *ret_nr, struct coati_error *err)
{
	int r;

	coati_arena_init(arena, 1 << 20);
	r = coati_probe_resolve(spec, "sys", arena, ret, err);
	*ret_nr = r < 0 ? 0 : (uint32_t)r;
	return r < 0 ? r : 0;
}

/* Resolve a spec that must fail, and return its sentence. */
static const char *refused(const struct probe_spec *spec, int code)
{
	static struct coati_error err;
	struct probe_site *sites;
	struct arena arena;
	uint32_t nr = 0;

	CHECK_ERR(resolve(spec, &arena, &sites, &nr, &err), code);
	CHECK_INT(err.code, ==, code);
	coati_arena_fini(&arena);
	return err.text;
}

/* The file offset of @symbol + @offset in the file "lib". */
static uint64_t place_of(const char *symbol, uint64_t offset)
{
	struct probe_spec spec = { .path = "./lib", .symbol = symbol, .offset = offset };
	struct coati_error err = { 0 };
	struct probe_site *sites;
	struct arena arena;
	uint64_t place;
	uint32_t nr;

	if (resolve(&spec, &arena, &sites, &nr, &err) < 0)
		test_fail_at(__FILE__, __LINE__, "%s: %s", symbol, err.text);
	CHECK_U64(nr, ==, 1);
	place = sites[0].attr.config2;
	coati_arena_fini(&arena);
	return place;
}

static const struct elf_symbol two_functions[] = {
	SYM("first", TEXT, 16, STT_FUNC, STB_LOCAL),
	SYM("second", TEXT + 16, 32, STT_FUNC, STB_GLOBAL),
};

TEST(uprobe_has_path_offset_and_return_bit_where_sysfs_says)
{
	struct probe_spec spec = { .path = "./lib", .symbol = "second", .is_return = true };
	char cwd[PATH_MAX], want[PATH_MAX + 64];
	struct probe_site *sites;
	struct arena arena;
	uint32_t nr;

	put_pmu("uprobe", "42\n", "config:5\n", "config:32-63\n");
	put_library("lib", two_functions, 2);
	CHECK(getcwd(cwd, sizeof(cwd)));
	CHECK_OK(resolve(&spec, &arena, &sites, &nr, NULL));
	CHECK_U64(nr, ==, 1);
	CHECK_U64(sites->attr.type, ==, 42);
	CHECK_U64(sites->attr.config, ==, 1 << 5);
	CHECK_U64(sites->attr.config2, ==, BUILDER_TEXT_OFFSET + 16);
	snprintf(want, sizeof(want), "%s/lib", cwd);
	CHECK_STR((const char *)(uintptr_t)sites->attr.config1, want);
	snprintf(want, sizeof(want), "%s/lib:second+0x0", cwd);
	CHECK_STR(sites->text, want);
	coati_arena_fini(&arena);
}

TEST(uprobe_offset_must_be_inside_of_its_function)
{
	static const struct elf_symbol label[] = { SYM("label", TEXT + 8, 0, STT_NOTYPE,
						       STB_GLOBAL) };
	struct probe_spec spec = { .path = "./lib", .symbol = "second", .offset = 32 };

	put_pmu("uprobe", "8", "config:0", NULL);
	put_library("lib", two_functions, 2);
	CHECK_U64(place_of("second", 31), ==, BUILDER_TEXT_OFFSET + 16 + 31);
	CHECK_HAS(refused(&spec, -EINVAL), "second+0x20 is outside of the function");
	spec.offset = UINT64_MAX;
	CHECK_HAS(refused(&spec, -EINVAL), "outside of the function");
	spec.offset = 4;
	spec.is_return = true;
	CHECK_HAS(refused(&spec, -EINVAL), "leave out the offset");
	put_library("lib", label, 1);
	CHECK_U64(place_of("label", 0), ==, BUILDER_TEXT_OFFSET + 8);
	spec = (struct probe_spec){ .path = "./lib", .symbol = "label", .offset = 1 };
	CHECK_HAS(refused(&spec, -EINVAL), "size of label is unknown");
}

TEST(uprobe_takes_the_global_function_before_local_ones)
{
	static const struct elf_symbol syms[] = {
		SYM("same", TEXT, 4, STT_FUNC, STB_LOCAL),
		SYM("same", TEXT + 8, 4, STT_FUNC, STB_WEAK),
		SYM("same", TEXT + 16, 4, STT_NOTYPE, STB_GLOBAL),
		SYM("same", TEXT + 24, 4, STT_FUNC, STB_LOCAL),
	};

	put_pmu("uprobe", "8", NULL, NULL);
	put_library("lib", syms, 4);
	CHECK_U64(place_of("same", 0), ==, BUILDER_TEXT_OFFSET + 8);
}

TEST(uprobe_on_one_of_several_local_functions_lists_their_offsets)
{
	static const struct elf_symbol syms[] = {
		SYM("init", TEXT, 4, STT_FUNC, STB_LOCAL),
		SYM("init", TEXT + 8, 4, STT_FUNC, STB_LOCAL),
		SYM("init", TEXT, 4, STT_FUNC, STB_LOCAL),
		SYM("init", TEXT + 8, 4, STT_FUNC, STB_LOCAL),
		SYM("alias", TEXT, 4, STT_FUNC, STB_LOCAL),
		SYM("alias", TEXT, 4, STT_FUNC, STB_LOCAL),
	};
	struct probe_spec spec = { .path = "./lib", .symbol = "init" };

	put_pmu("uprobe", "8", NULL, NULL);
	put_library("lib", syms, 6);
	CHECK_HAS(refused(&spec, -EINVAL), "2 functions are named init");
	CHECK_HAS(refused(&spec, -EINVAL), "0x200, 0x208");
	CHECK_U64(place_of("alias", 0), ==, BUILDER_TEXT_OFFSET);
}

TEST(uprobe_symbols_of_symtab_are_found_by_name_and_by_version)
{
	static const struct elf_symbol syms[] = {
		SYM("call@OLD_1", TEXT, 4, STT_FUNC, STB_GLOBAL),
		SYM("call@@NEW_2", TEXT + 8, 4, STT_FUNC, STB_GLOBAL),
	};
	struct probe_spec spec = { .path = "./lib", .symbol = "call@OTHER" };

	put_pmu("uprobe", "8", NULL, NULL);
	put_library("lib", syms, 2);
	CHECK_U64(place_of("call", 0), ==, BUILDER_TEXT_OFFSET + 8);
	CHECK_U64(place_of("call@OLD_1", 0), ==, BUILDER_TEXT_OFFSET);
	CHECK_U64(place_of("call@@NEW_2", 0), ==, BUILDER_TEXT_OFFSET + 8);
	refused(&spec, -ENOENT);
}

/* A .dynsym with an old and a default version of one function. */
static void put_versions(const char *path, bool swap)
{
	static const struct elf_symbol syms[] = {
		SYM("call", TEXT, 4, STT_FUNC, STB_GLOBAL),
		SYM("call", TEXT + 8, 4, STT_FUNC, STB_GLOBAL),
		SYM("OLD_1", 0, 0, STT_OBJECT, STB_GLOBAL),
		SYM("NEW_2", 0, 0, STT_OBJECT, STB_GLOBAL),
	};
	static const uint16_t version[] = { 0, 0x8000 | 2, 3, 0, 0 };
	static const uint32_t name[] = { 11, 17 }; /* in .dynstr: "", call, call, OLD_1, NEW_2 */
	uint8_t bytes[128];
	struct writer w = writer_over(bytes, sizeof(bytes));
	struct elf_builder b;
	uint32_t dynsym, i;

	elf_builder_init(&b, swap);
	elf_builder_program(&b);
	dynsym = elf_builder_symbols(&b, true, syms, 4);
	w.swap = swap;
	for (size_t n = 0; n < 5; n++)
		writer_u16(&w, version[n]);
	elf_builder_section(&b, ".gnu.version", SHT_GNU_versym, bytes, w.len);
	w = writer_over(bytes, sizeof(bytes));
	w.swap = swap;
	for (uint16_t n = 0; n < 2; n++) {
		writer_u16(&w, 1);
		writer_u16(&w, 0);
		writer_u16(&w, (uint16_t)(n + 2));
		writer_u16(&w, 1);
		writer_u32(&w, 0); /* hash */
		writer_u32(&w, 20);
		writer_u32(&w, n ? 0 : 28);
		writer_u32(&w, name[n]);
		writer_u32(&w, 0);
	}
	i = elf_builder_section(&b, ".gnu.version_d", SHT_GNU_verdef, bytes, w.len);
	b.sections[i].link = b.sections[dynsym].link;
	elf_builder_write(&b, path);
}

TEST(uprobe_symbols_of_dynsym_are_found_by_name_and_by_version)
{
	struct probe_spec spec = { .path = "./lib", .symbol = "call@OTHER" };

	put_pmu("uprobe", "8", NULL, NULL);
	for (int swap = 0; swap < 2; swap++) {
		put_versions("lib", swap);
		CHECK_U64(place_of("call", 0), ==, BUILDER_TEXT_OFFSET + 8);
		CHECK_U64(place_of("call@OLD_1", 0), ==, BUILDER_TEXT_OFFSET);
		CHECK_U64(place_of("call@@NEW_2", 0), ==, BUILDER_TEXT_OFFSET + 8);
		refused(&spec, -ENOENT);
	}
}

TEST(uprobe_on_what_is_no_function_says_what_it_is)
{
	struct elf_symbol syms[] = {
		SYM("chosen", TEXT, 4, STT_GNU_IFUNC, STB_GLOBAL),
		SYM("table", DATA, 4, STT_OBJECT, STB_GLOBAL),
		SYM("puts", 0, 0, STT_FUNC, STB_GLOBAL),
		SYM("in_data", DATA, 4, STT_FUNC, STB_GLOBAL),
		SYM("nowhere", 0x1234567, 4, STT_FUNC, STB_GLOBAL),
	};
	struct probe_spec spec = { .path = "./lib" };

	put_pmu("uprobe", "8", NULL, NULL);
	syms[2].shndx = SHN_UNDEF;
	put_library("lib", syms, 5);
	spec.symbol = "chosen";
	CHECK_HAS(refused(&spec, -EOPNOTSUPP), "indirect function");
	spec.symbol = "table";
	CHECK_HAS(refused(&spec, -ENOENT), "table is data");
	spec.symbol = "puts";
	CHECK_HAS(refused(&spec, -ENOENT), "only uses puts");
	spec.symbol = "in_data";
	CHECK_HAS(refused(&spec, -EINVAL), "is not code");
	spec.symbol = "nowhere";
	CHECK_HAS(refused(&spec, -EINVAL), "is not mapped from");
	spec.symbol = "";
	CHECK_HAS(refused(&spec, -EINVAL), "name of a function is missing");
}

TEST(uprobe_on_an_unknown_function_offers_the_nearest)
{
	struct probe_spec spec = { .path = "./lib", .symbol = "secnod" };

	put_pmu("uprobe", "8", NULL, NULL);
	put_library("lib", two_functions, 2);
	CHECK_HAS(refused(&spec, -ENOENT), "did you mean second?");
	spec.symbol = "entirely_different";
	CHECK_HAS(refused(&spec, -ENOENT), "no function entirely_different in");
}

TEST(uprobe_never_offers_a_name_that_would_move_the_cursor)
{
	static const struct elf_symbol syms[] = { SYM("secon\033", TEXT, 4, STT_FUNC, STB_GLOBAL) };
	struct probe_spec spec = { .path = "./lib", .symbol = "second" };

	put_pmu("uprobe", "8", NULL, NULL);
	put_library("lib", syms, 1);
	CHECK(!strchr(refused(&spec, -ENOENT), '\033'));
}

TEST(uprobe_by_offset_must_be_in_code)
{
	struct probe_spec spec = { .path = "./lib", .offset = BUILDER_TEXT_OFFSET + 3 };
	struct probe_site *sites;
	struct arena arena;
	uint32_t nr;

	put_pmu("uprobe", "8", NULL, NULL);
	put_library("lib", two_functions, 2);
	CHECK_OK(resolve(&spec, &arena, &sites, &nr, NULL));
	CHECK_U64(sites->attr.config2, ==, BUILDER_TEXT_OFFSET + 3);
	CHECK_HAS(sites->text, "/lib:0x203");
	coati_arena_fini(&arena);
	spec.offset = TEXT; /* an address, not an offset */
	CHECK_HAS(refused(&spec, -EINVAL), "not an address");
	spec.offset = BUILDER_TEXT_OFFSET + 64; /* the data */
	refused(&spec, -EINVAL);
}

TEST(uprobe_on_a_file_for_another_cpu_is_refused)
{
	struct probe_spec spec = { .path = "./lib", .symbol = "second" };
	struct elf_builder b;

	put_pmu("uprobe", "8", NULL, NULL);
	elf_builder_init(&b, false);
	b.machine = EM_S390;
	elf_builder_program(&b);
	elf_builder_symbols(&b, false, two_functions, 2);
	elf_builder_write(&b, "lib");
	CHECK_HAS(refused(&spec, -EOPNOTSUPP), "another CPU");
}

TEST(uprobe_on_a_32_bit_file_works_by_offset_only)
{
	struct probe_spec spec = { .path = "./lib", .offset = BUILDER_TEXT_OFFSET };
	struct probe_site *sites;
	struct arena arena;
	uint32_t nr;
	int fd;

	put_pmu("uprobe", "8", NULL, NULL);
	put_library("lib", two_functions, 2);
	fd = open("lib", O_WRONLY | O_CLOEXEC);
	CHECK_INT(pwrite(fd, "\1", 1, EI_CLASS), ==, 1);
	close(fd);
	CHECK_OK(resolve(&spec, &arena, &sites, &nr, NULL));
	CHECK_U64(sites->attr.config2, ==, BUILDER_TEXT_OFFSET);
	coati_arena_fini(&arena);
	spec.symbol = "first";
	CHECK_HAS(refused(&spec, -EOPNOTSUPP), "32-bit");
}

/* A library with a build id, and in it only @syms. */
static void put_with_id(const char *path, const struct elf_symbol *syms, size_t nr, uint8_t last)
{
	uint8_t id[4] = { 0xab, 0xcd, 0xef, last }, bytes[64];
	struct writer w = writer_over(bytes, sizeof(bytes));
	struct elf_builder b;

	elf_builder_init(&b, false);
	elf_builder_program(&b);
	elf_builder_note(&w, "GNU", NT_GNU_BUILD_ID, id, sizeof(id));
	elf_builder_section(&b, ".note.gnu.build-id", SHT_NOTE, bytes, w.len);
	elf_builder_symbols(&b, false, syms, nr);
	elf_builder_write(&b, path);
}

TEST(uprobe_symbols_come_from_the_debug_file_of_the_same_build_id)
{
	struct probe_symbol sym;
	struct elf e;

	mkdir("debug", 0777);
	mkdir("debug/.build-id", 0777);
	mkdir("debug/.build-id/ab", 0777);
	put_with_id("lib", two_functions, 0, 1);
	put_with_id("debug/.build-id/ab/cdef01.debug", two_functions, 2, 1);
	CHECK_OK(coati_elf_open("lib", &e, NULL));
	CHECK_OK(coati_probe_symbol_find(&(struct probe_file){ &e, "lib", "debug" }, "second", &sym,
					 NULL));
	CHECK_U64(sym.vaddr, ==, TEXT + 16);
	/* the right name, but the file of another build */
	put_with_id("debug/.build-id/ab/cdef01.debug", two_functions, 2, 2);
	CHECK_ERR(coati_probe_symbol_find(&(struct probe_file){ &e, "lib", "debug" }, "second",
					  &sym, NULL),
		  -ENOENT);
	coati_elf_close(&e);
}

TEST(probe_pmu_that_is_missing_is_explained)
{
	struct probe_spec spec = { .kernel = true, .symbol = "vfs_read" };

	CHECK_HAS(refused(&spec, -EOPNOTSUPP), "mount -t sysfs");
	put_pmu("uprobe", "8", NULL, NULL);
	CHECK_HAS(refused(&spec, -EOPNOTSUPP), "no kprobes (CONFIG_KPROBES");
}

TEST(probe_pmu_of_a_hostile_sysfs_is_refused)
{
	static const char *const types[] = { "", "x", "-1", "4294967296", "8 9", "8\t" };
	static const char *const bits[] = {
		"",	     "config",	  "config:",	 "config:64",	 "config:5-3",
		"config1:0", "config:-1", "config:0-64", "config:0-1-2", "config: 0"
	};
	struct probe_pmu pmu;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
		put_pmu("uprobe", types[i], NULL, NULL);
		if (coati_probe_pmu_read("sys", "uprobe", &pmu, NULL) != -EBADMSG)
			test_fail_at(__FILE__, __LINE__, "type \"%s\" was taken", types[i]);
	}
	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++) {
		put_pmu("uprobe", "8", bits[i], NULL);
		if (coati_probe_pmu_read("sys", "uprobe", &pmu, NULL) != -EBADMSG)
			test_fail_at(__FILE__, __LINE__, "bits \"%s\" were taken", bits[i]);
	}
}

TEST(probe_field_refuses_a_value_that_does_not_fit)
{
	struct pmu_field field = { .mask = 0xffffffff00000000 }, none = { 0 };
	struct coati_attr attr = { .config = 1 };

	CHECK_OK(coati_probe_pmu_set(&field, 0xffffffff, &attr));
	CHECK_U64(attr.config, ==, 0xffffffff00000001);
	CHECK_ERR(coati_probe_pmu_set(&field, UINT64_C(1) << 32, &attr), -ERANGE);
	CHECK_ERR(coati_probe_pmu_set(&none, 1, &attr), -ERANGE);
	CHECK_OK(coati_probe_pmu_set(&none, 0, &attr));
}

TEST(kprobe_has_the_name_or_the_address_and_the_return_bit)
{
	struct probe_spec spec = { .kernel = true, .symbol = "mod:function", .is_return = true };
	struct probe_site *sites;
	struct arena arena;
	uint32_t nr;

	put_pmu("kprobe", "6\n", "config:0\n", NULL);
	CHECK_OK(resolve(&spec, &arena, &sites, &nr, NULL));
	CHECK_U64(nr, ==, 1);
	CHECK_U64(sites->attr.type, ==, 6);
	CHECK_U64(sites->attr.config, ==, 1);
	CHECK_STR((const char *)(uintptr_t)sites->attr.config1, "mod:function");
	CHECK_U64(sites->attr.config2, ==, 0);
	CHECK_STR(sites->text, "mod:function+0x0");
	coati_arena_fini(&arena);
	spec = (struct probe_spec){ .kernel = true, .offset = 0xffffffff81000000 };
	CHECK_OK(resolve(&spec, &arena, &sites, &nr, NULL));
	CHECK_U64(sites->attr.config, ==, 0);
	CHECK_U64(sites->attr.config1, ==, 0);
	CHECK_U64(sites->attr.config2, ==, 0xffffffff81000000);
	coati_arena_fini(&arena);
	spec = (struct probe_spec){ .kernel = true, .symbol = "mod:function", .offset = 16 };
	CHECK_OK(resolve(&spec, &arena, &sites, &nr, NULL));
	CHECK_U64(sites->attr.config2, ==, 16);
	CHECK_STR(sites->text, "mod:function+0x10");
	coati_arena_fini(&arena);
	spec.is_return = true;
	CHECK_HAS(refused(&spec, -EINVAL), "leave out the offset");
	spec = (struct probe_spec){ .kernel = true };
	CHECK_HAS(refused(&spec, -EINVAL), "a function or an address is missing");
}

TEST(kprobe_function_is_looked_up_in_kallsyms)
{
	struct coati_error err = { 0 };

	put_file("kallsyms", "0000000000000000 A fixed_percpu_data\n"
			     "ffffffff81000000 T vfs_read\n"
			     "ffffffff81000010 t init_once\n"
			     "ffffffff81000020 t init_once\n"
			     "ffffffff81000030 D some_data\n"
			     "ffffffffc0000000 t in_module\t[module]\n"
			     "garbage\n\n \nx y\n");
	CHECK_OK(coati_probe_kernel_check("kallsyms", "vfs_read", &err));
	CHECK_OK(coati_probe_kernel_check("kallsyms", "in_module", &err));
	CHECK_ERR(coati_probe_kernel_check("kallsyms", "init_once", &err), -EINVAL);
	CHECK_HAS(err.text, "2 functions of the kernel");
	CHECK_ERR(coati_probe_kernel_check("kallsyms", "vfs_raed", &err), -ENOENT);
	CHECK_HAS(err.text, "did you mean vfs_read?");
	CHECK_ERR(coati_probe_kernel_check("kallsyms", "some_data", &err), -ENOENT);
	CHECK_OK(coati_probe_kernel_check("missing", "anything", &err));
	put_file("empty", "");
	CHECK_OK(coati_probe_kernel_check("empty", "anything", &err));
}

TEST(probe_file_without_slash_is_searched_like_the_loader_and_the_shell_do)
{
	char path[PATH_MAX];

	mkdir("libs", 0777);
	mkdir("bin", 0777);
	put_library("libs/libcoati-x.so.1", two_functions, 2);
	put_library("libs/libcoati-x.so.10", two_functions, 2);
	put_library("libs/libcoati-x.so.2", two_functions, 2);
	put_library("libs/libcoati-x.so.2.0.1", two_functions, 2);
	put_library("bin/coati-x", two_functions, 2);
	put_file("libs/libcoati-x.so",
		 "GROUP ( a text for the linker, much longer than an ELF header )");
	CHECK_INT(chmod("bin/coati-x", 0755), ==, 0);
	setenv("LD_LIBRARY_PATH", "/nonexistent:libs", 1);
	setenv("PATH", "/nonexistent:bin", 1);
	CHECK_OK(coati_probe_file_find("libcoati-x.so.1", path, NULL));
	CHECK_HAS(path, "/libs/libcoati-x.so.1");
	CHECK_OK(coati_probe_file_find("libcoati-x", path, NULL));
	CHECK_STR(strrchr(path, '/'), "/libcoati-x.so.2");
	CHECK_OK(coati_probe_file_find("coati-x", path, NULL));
	CHECK_HAS(path, "/bin/coati-x");
	CHECK_INT(path[0], ==, '/');
}

TEST(probe_file_that_is_nowhere_says_where_it_was_looked_for)
{
	struct coati_error err = { 0 };
	char path[PATH_MAX], *longest = coati_alloc(PATH_MAX + 1);

	CHECK_ERR(coati_probe_file_find("libcoati-none", path, &err), -ENOENT);
	CHECK_HAS(err.text, "LD_LIBRARY_PATH");
	put_library("coati-here", two_functions, 2);
	CHECK_ERR(coati_probe_file_find("coati-here", path, &err), -ENOENT);
	CHECK_HAS(err.text, "write ./coati-here");
	CHECK_ERR(coati_probe_file_find("", path, &err), -EINVAL);
	CHECK_ERR(coati_probe_file_find("./missing", path, &err), -ENOENT);
	CHECK_HAS(err.text, "./missing");
	CHECK(longest);
	memset(longest, 'x', PATH_MAX);
	CHECK_ERR(coati_probe_file_find(longest, path, &err), -E2BIG);
	coati_free(longest);
}

TEST(probe_file_libc_is_the_library_of_this_machine)
{
	char path[PATH_MAX];
	struct elf e;

	if (coati_probe_file_find("libc", path, NULL) == -ENOENT)
		test_skip("no libc in the usual folders");
	CHECK_OK(coati_elf_open(path, &e, NULL));
	coati_elf_close(&e);
}

/* A library with the given USDT notes; its .stapsdt.base has been moved by @moved since they were
 * written. */
static void put_usdt(const char *path, const struct elf_builder_usdt *notes, size_t nr,
		     uint64_t moved)
{
	static uint8_t bytes[8192];
	struct writer w = writer_over(bytes, sizeof(bytes));
	struct elf_builder b;
	uint32_t i;

	elf_builder_init(&b, false);
	elf_builder_program(&b);
	elf_builder_note(&w, "other", 3, "not a probe", 11);
	for (size_t n = 0; n < nr; n++)
		elf_builder_usdt_note(&w, &notes[n]);
	CHECK(!w.full);
	elf_builder_section(&b, ".note.stapsdt", SHT_NOTE, bytes, w.len);
	i = elf_builder_section(&b, ".stapsdt.base", SHT_PROGBITS, "", 1);
	b.sections[i].vaddr = 0x400000 + moved;
	elf_builder_write(&b, path);
}

#define BASE 0x400000

TEST(usdt_has_one_site_for_each_place_with_its_semaphore)
{
	static const struct elf_builder_usdt notes[] = {
		{ TEXT + 4, BASE, DATA + 8, "app", "request", "8@%rdi" },
		{ TEXT + 4, BASE, DATA + 8, "app", "request", "8@%rdi" }, /* the same again */
		{ TEXT + 8, BASE, DATA + 8, "app", "request", "8@%rax" },
		{ TEXT + 12, BASE, 0, "app", "other", "" },
		{ TEXT + 16, BASE, 0, "lib", "request", "" },
	};
	struct probe_spec spec = { .path = "./lib", .provider = "app", .name = "request" };
	uint64_t data_offset = BUILDER_TEXT_OFFSET + 64;
	struct probe_site *sites;
	struct arena arena;
	uint32_t nr;

	put_pmu("uprobe", "8", "config:0", "config:32-63");
	put_usdt("lib", notes, 5, 0);
	CHECK_OK(resolve(&spec, &arena, &sites, &nr, NULL));
	CHECK_U64(nr, ==, 2);
	CHECK_U64(sites[0].attr.config2, ==, BUILDER_TEXT_OFFSET + 4);
	CHECK_U64(sites[1].attr.config2, ==, BUILDER_TEXT_OFFSET + 8);
	CHECK_U64(sites[0].attr.config, ==, (data_offset + 8) << 32);
	CHECK_HAS(sites[1].text, "lib:app:request@0x401208");
	coati_arena_fini(&arena);
	spec.name = "other";
	CHECK_OK(resolve(&spec, &arena, &sites, &nr, NULL));
	CHECK_U64(nr, ==, 1);
	CHECK_U64(sites[0].attr.config, ==, 0);
	coati_arena_fini(&arena);
}

TEST(usdt_addresses_move_with_their_base)
{
	for (int down = 0; down < 2; down++) {
		uint64_t moved = down ? (uint64_t)-0x1000 : 0x1000;
		struct elf_builder_usdt note = { TEXT + 4 - moved, BASE, DATA + 8 - moved, "app",
						 "request",	   "" };
		struct probe_spec spec = { .path = "./lib", .provider = "app", .name = "request" };
		struct probe_site *sites;
		struct arena arena;
		uint32_t nr;

		put_pmu("uprobe", "8", "config:0", "config:32-63");
		put_usdt("lib", &note, 1, moved);
		CHECK_OK(resolve(&spec, &arena, &sites, &nr, NULL));
		CHECK_U64(sites[0].attr.config2, ==, BUILDER_TEXT_OFFSET + 4);
		CHECK_U64(sites[0].attr.config >> 32, ==, BUILDER_TEXT_OFFSET + 64 + 8);
		coati_arena_fini(&arena);
	}
}

TEST(usdt_that_is_unknown_offers_the_nearest)
{
	static const struct elf_builder_usdt notes[] = {
		{ TEXT, BASE, 0, "app", "request", "" },
		{ TEXT + 4, BASE, 0, "server", "request", "" },
	};
	struct probe_spec spec = { .path = "./lib", .provider = "app", .name = "requset" };

	put_pmu("uprobe", "8", "config:0", "config:32-63");
	put_usdt("lib", notes, 2, 0);
	CHECK_HAS(refused(&spec, -ENOENT), "did you mean app:request?");
	spec.provider = "srever";
	CHECK_HAS(refused(&spec, -ENOENT), "did you mean server?");
	spec = (struct probe_spec){ .path = "./lib", .provider = "zzz", .name = "zzz" };
	CHECK_HAS(refused(&spec, -ENOENT), "lists its probes");
	put_library("lib", two_functions, 2);
	CHECK_HAS(refused(&spec, -ENOENT), "has no USDT probes");
}

TEST(usdt_that_cannot_be_probed_is_refused)
{
	struct elf_builder_usdt note = { TEXT, BASE, DATA + 1000, "app", "request", "" };
	struct probe_spec spec = { .path = "./lib", .provider = "app", .name = "request" };

	put_pmu("uprobe", "8", "config:0", "config:32-63");
	put_usdt("lib", &note, 1, 0);
	CHECK_HAS(refused(&spec, -EBADMSG), "semaphore of");
	note.semaphore = DATA;
	note.pc = DATA;
	put_usdt("lib", &note, 1, 0);
	CHECK_HAS(refused(&spec, -EINVAL), "is not code");
	note.pc = TEXT;
	put_usdt("lib", &note, 1, 0);
	spec.is_return = true;
	CHECK_HAS(refused(&spec, -EINVAL), "neither an offset nor a return probe");
	spec.is_return = false;
	spec.provider = NULL;
	CHECK_HAS(refused(&spec, -EINVAL), "path:provider:name");
	spec.provider = "app";
	CHECK_INT(unlink("sys/bus/event_source/devices/uprobe/format/ref_ctr_offset"), ==, 0);
	CHECK_HAS(refused(&spec, -EOPNOTSUPP), "semaphore");
	put_pmu("uprobe", "8", "config:0", "config:32-33");
	CHECK_HAS(refused(&spec, -EOPNOTSUPP), "too far behind");
}

TEST(usdt_walk_shows_every_place_of_a_file)
{
	static const struct elf_builder_usdt notes[] = {
		{ TEXT, BASE, 0, "app", "request", "8@%rdi" },
		{ TEXT + 4, BASE, DATA, "lib", "reply", "" },
	};
	struct probe_usdt_walk w;
	struct probe_usdt u;

	put_usdt("lib", notes, 2, 0);
	CHECK_OK(coati_probe_usdt_open("./lib", &w, NULL));
	CHECK_INT(coati_probe_usdt_next(&w, &u), ==, 1);
	CHECK_STR(u.provider, "app");
	CHECK_STR(u.name, "request");
	CHECK_STR(u.args, "8@%rdi");
	CHECK_U64(u.vaddr, ==, TEXT);
	CHECK_INT(coati_probe_usdt_next(&w, &u), ==, 1);
	CHECK_U64(u.semaphore, ==, DATA);
	CHECK_INT(coati_probe_usdt_next(&w, &u), ==, 0);
	coati_probe_usdt_close(&w);
	CHECK_ERR(coati_probe_usdt_open("./missing", &w, NULL), -ENOENT);
	coati_probe_usdt_close(&w);
}

/* One note cut to each length, walked to its end. */
TEST(usdt_note_cut_at_every_length_is_malformed)
{
	uint8_t bytes[256];
	struct elf_builder_usdt note = { TEXT, BASE, 0, "app", "request", "8@%rdi" };
	struct writer w = writer_over(bytes, sizeof(bytes));
	struct elf e = { 0 };
	size_t desc_size = 24 + 4 + 8 + 7;

	elf_builder_usdt_note(&w, &note);
	for (uint32_t cut = 0; cut <= desc_size; cut++) {
		struct probe_usdt_walk walk = { .notes = coati_elf_notes(&e, bytes, w.len, 4) };
		struct probe_usdt u;

		memcpy(bytes + 4, &cut, sizeof(cut));
		CHECK_INT(coati_probe_usdt_next(&walk, &u), ==, cut < desc_size ? -EBADMSG : 1);
	}
}

TEST(usdt_names_with_control_characters_are_malformed)
{
	static const struct elf_builder_usdt note = { TEXT, BASE, 0, "app", "req\033[2J", "" };
	struct probe_usdt_walk w;
	struct probe_usdt u;

	put_usdt("lib", &note, 1, 0);
	CHECK_OK(coati_probe_usdt_open("./lib", &w, NULL));
	CHECK_ERR(coati_probe_usdt_next(&w, &u), -EBADMSG);
	coati_probe_usdt_close(&w);
}

TEST(probe_survives_each_failing_allocation)
{
	static const struct elf_builder_usdt notes[] = {
		{ TEXT, BASE, 0, "app", "request", "" },
		{ TEXT + 4, BASE, DATA, "app", "request", "" },
	};
	const struct probe_spec specs[] = {
		{ .path = "./lib", .symbol = "second" },
		{ .path = "./usdt", .provider = "app", .name = "request" },
		{ .kernel = true, .symbol = "vfs_read" },
		{ .kernel = true, .offset = 4096 },
	};

	put_pmu("uprobe", "8", "config:0", "config:32-63");
	put_pmu("kprobe", "6", "config:0", NULL);
	put_library("lib", two_functions, 2);
	put_usdt("usdt", notes, 2, 0);
	for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++) {
		int r = -ENOMEM;

		for (uint64_t n = 0; r == -ENOMEM; n++) {
			struct coati_error err = { 0 };
			struct probe_site *sites;
			struct arena arena;
			uint32_t nr;

			CHECK_U64(n, <, 20);
			coati_alloc_fail_after(n);
			r = resolve(&specs[i], &arena, &sites, &nr, &err);
			coati_alloc_fail_after(UINT64_MAX);
			CHECK(r >= 0 || *err.text);
			coati_arena_fini(&arena);
		}
		CHECK_OK(r);
	}
}
