/* SPDX-License-Identifier: MIT */
/* Files as compilers, linkers and distributions make them: stripped, static, with debug files of
 * every kind, with stubs. */
#include "lib/test.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/elf.h"
#include "unit/image-ask.h"

#define LINES (COATI_RESOLVE_LINES | COATI_RESOLVE_INLINES)

static const char source[] =
	"#include <stdio.h>\n"
	"static __attribute__((noinline)) int hidden(int x) { __asm__ volatile(\"\" : \"+r\"(x)); "
	"return x * 3; }\n"
	"__attribute__((noinline)) int visible(int x) { puts(\"x\"); return hidden(x) + 1; }\n"
	"int main(int argc, char **argv) { (void)argv; return visible(argc); }\n";

static bool run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static bool run(const char *fmt, ...)
{
	char command[4 * PATH_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	return system(command) == 0;
}

/* Compile the source above into "program", or skip. */
static void compile(const char *compiler, const char *flags)
{
	FILE *f = fopen("program.c", "we");

	if (test_emulated())
		test_skip("the compiler is not one of the emulated machine");
	CHECK(f && fputs(source, f) >= 0);
	fclose(f);
	if (!run("command -v %s objcopy strip >/dev/null", compiler))
		test_skip("there is no %s here", compiler);
	CHECK(run("%s -O1 -g -fasynchronous-unwind-tables -o program program.c %s", compiler,
		  flags));
}

static struct elf_symbol symbol_of(const char *path, const char *name)
{
	struct elf_symbols symbols;
	struct elf_section table;
	struct elf_symbol s;
	struct elf e;

	CHECK_OK(coati_elf_open(path, &e, NULL));
	CHECK_INT(coati_elf_section_find(&e, ".symtab", &table), ==, 1);
	CHECK_OK(coati_elf_symbols(&e, &table, &symbols));
	while (coati_elf_symbol_next(&symbols, &s) > 0) {
		if (strcmp(s.name, name) != 0)
			continue;
		coati_elf_close(&e);
		return s;
	}
	test_fail_at(__FILE__, __LINE__, "%s has no %s", path, name);
}

static void check_function(const char *path, uint64_t vaddr, const char *want)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	uint32_t image = ask_path(images, path);
	const char *got = ask_function(images, image, vaddr);

	if (strcmp(got, want) != 0)
		test_note("why: %s", ask_why(images, image));
	CHECK_STR(got, want);
	coati_images_free(&images);
}

TEST(files_of_every_kind_of_linking_have_the_names_of_their_functions)
{
	static const char *const kinds[] = { "-fPIE -pie",
					     "-no-pie",
					     "-static",
					     "-static-pie",
					     "-Wl,-z,separate-code",
					     "-Wl,-z,noseparate-code" };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct elf_symbol s;

		compile("cc", kinds[i]);
		s = symbol_of("program", "hidden");
		check_function("program", s.value, "hidden");
		check_function("program", s.value + s.size - 1, "hidden");
		check_function("program", symbol_of("program", "main").value + 1, "main");
	}
}

TEST(files_that_are_stripped_give_no_function_the_name_of_its_neighbour)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	char want[64];
	struct elf_symbol hidden, visible;
	uint32_t image;

	compile("cc", "-rdynamic");
	hidden = symbol_of("program", "hidden");
	visible = symbol_of("program", "visible");
	CHECK(run("strip program"));
	image = ask_path(images, "program");
	snprintf(want, sizeof(want), "program!fn_%llx", (unsigned long long)hidden.value);
	CHECK_STR(ask_function(images, image, hidden.value), want);
	CHECK_STR(ask_function(images, image, hidden.value + hidden.size - 1), want);
	/* the dynamic symbol is still there, and ends where it ends */
	CHECK_STR(ask_function(images, image, visible.value), "visible");
	CHECK_STR(ask_function(images, image, visible.value + visible.size - 1), "visible");
	coati_images_free(&images);
}

/* "program" without, and "program.debug" with its debug data. */
static struct elf_symbol split_off(const char *flags)
{
	struct elf_symbol s;

	compile("cc", flags);
	s = symbol_of("program", "hidden");
	CHECK(run("objcopy --only-keep-debug program program.debug"));
	CHECK(run("strip program"));
	return s;
}

TEST(files_with_a_debug_link_have_names_and_lines_from_there)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct elf_symbol s = split_off("-Wl,--build-id=none");
	struct coati_address a;
	uint32_t image;

	CHECK(run("objcopy --add-gnu-debuglink=program.debug program"));
	CHECK(run("mkdir .debug && mv program.debug .debug/"));
	image = ask_path(images, "./program");
	a = ask(images, image, s.value, LINES);
	CHECK_STR(a.names[0].function, "hidden");
	CHECK_HAS(a.names[0].file, "program.c");
	CHECK_U64(a.names[0].line, ==, 2);
	CHECK_HAS(ask_info(images, image).debug, ".debug/program.debug");
	coati_images_free(&images);
}

TEST(files_whose_debug_link_has_another_checksum_do_without)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct elf_symbol s = split_off("-Wl,--build-id=none");
	uint32_t image;

	CHECK(run("objcopy --add-gnu-debuglink=program.debug program"));
	CHECK(run("echo >>program.debug"));
	image = ask_path(images, "./program");
	CHECK(ask_name(images, image, s.value).flags & COATI_NAME_SYNTHETIC);
	CHECK(!ask_info(images, image).debug);
	coati_images_free(&images);
}

TEST(files_find_their_debug_file_by_build_id)
{
	struct elf_symbol s = split_off("-Wl,--build-id=0xabcdef0123456789");
	struct coati_images *images;
	struct coati_address a;
	char dirs[PATH_MAX], cwd[PATH_MAX / 2];

	CHECK(run("mkdir -p tree/.build-id/ab && mv program.debug "
		  "tree/.build-id/ab/cdef0123456789.debug"));
	CHECK(getcwd(cwd, sizeof(cwd)));
	snprintf(dirs, sizeof(dirs), "/nowhere:%s/tree", cwd);
	images = ask_new((struct coati_images_opts){ .debug_dirs = dirs });
	a = ask(images, ask_path(images, "program"), s.value, LINES);
	CHECK_STR(a.names[0].function, "hidden");
	CHECK_U64(a.names[0].line, ==, 2);
	coati_images_free(&images);
}

TEST(files_with_a_small_symbol_table_inside_have_its_names)
{
	struct elf_symbol s;

	compile("cc", "");
	if (!run("command -v xz >/dev/null"))
		test_skip("there is no xz here");
	s = symbol_of("program", "hidden");
	CHECK(run("objcopy --only-keep-debug program full"));
	CHECK(run("objcopy -S --keep-symbol=hidden full mini && xz mini"));
	CHECK(run("strip program && objcopy --add-section .gnu_debugdata=mini.xz program"));
	check_function("program", s.value, "hidden");
	check_function("program", s.value + s.size - 1, "hidden");
}

TEST(files_with_a_damaged_small_symbol_table_say_so)
{
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct elf_symbol s;
	uint32_t image;

	compile("cc", "");
	s = symbol_of("program", "hidden");
	CHECK(run("strip program && echo no xz at all >junk"));
	CHECK(run("objcopy --add-section .gnu_debugdata=junk program"));
	image = ask_path(images, "program");
	CHECK(ask_name(images, image, s.value).flags & COATI_NAME_SYNTHETIC);
	CHECK_HAS(ask_why(images, image), "small symbol table");
	coati_images_free(&images);
}

TEST(files_in_cpp_have_readable_names_and_inline_frames)
{
	static const char text[] =
		"namespace shop { struct Till { int sum; __attribute__((noinline)) void add(int); "
		"}; }\n"
		"static inline __attribute__((always_inline)) int twice(int x) { asm "
		"volatile(\"\" : \"+r\"(x)); return 2 * x; }\n"
		"void shop::Till::add(int x) { sum += twice(x); }\n"
		"int main(int argc, char **) { shop::Till t{1}; t.add(argc); return t.sum; }\n";
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	struct elf_symbol s;
	bool seen = false;
	uint32_t image;
	FILE *f = fopen("shop.cc", "we");

	CHECK(f && fputs(text, f) >= 0);
	fclose(f);
	if (test_emulated() || !run("command -v g++ >/dev/null"))
		test_skip("there is no g++ here");
	CHECK(run("g++ -O2 -g -o shop shop.cc"));
	s = symbol_of("shop", "_ZN4shop4Till3addEi");
	image = ask_path(images, "shop");
	for (uint64_t at = s.value; at < s.value + s.size; at++) {
		struct coati_address a = ask(images, image, at, LINES);
		const struct coati_name *outer = &a.names[a.nr_names - 1];

		CHECK_STR(outer->function, "shop::Till::add(int)");
		CHECK_STR(outer->symbol, "_ZN4shop4Till3addEi");
		if (a.nr_names < 2)
			continue;
		seen = true;
		CHECK_STR(a.names[0].function, "twice");
		CHECK(a.names[0].flags & COATI_NAME_INLINE);
		CHECK_U64(a.names[0].line, ==, 2);
		CHECK_U64(outer->line, ==, 3);
	}
	CHECK(seen);
	coati_images_free(&images);
}

/* Every fourth address of the sections with stubs; how many are called @want. */
static size_t count_stubs(const char *path, const char *want)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got" };
	struct coati_images *images = ask_new((struct coati_images_opts){ 0 });
	uint32_t image = ask_path(images, path);
	struct elf_section s;
	size_t nr = 0;
	struct elf e;

	CHECK_OK(coati_elf_open(path, &e, NULL));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (coati_elf_section_find(&e, names[i], &s) != 1)
			continue;
		for (uint64_t at = s.vaddr; at < s.vaddr + s.size; at += 4) {
			struct coati_name n = ask_name(images, image, at);

			if (strcmp(n.function, want) != 0)
				continue;
			CHECK(n.flags & COATI_NAME_PLT);
			nr++;
		}
	}
	coati_elf_close(&e);
	coati_images_free(&images);
	return nr;
}

TEST(files_call_others_through_stubs_that_have_their_names)
{
	compile("cc", "-Wl,-z,lazy");
	CHECK(run("strip program"));
	CHECK_U64(count_stubs("program", "puts@plt"), >=, 4);
	compile("cc", "-Wl,-z,now");
	CHECK_U64(count_stubs("program", "puts@plt"), >=, 2);
#ifdef __x86_64__
	compile("cc", "-Wl,-z,lazy -fcf-protection=full -Wl,-z,ibtplt");
	CHECK_U64(count_stubs("program", "puts@plt"), >=, 8); /* both halves */
#endif
}

TEST(files_for_arm64_have_names_of_functions_and_stubs_too)
{
	struct elf_symbol s;

	compile("aarch64-linux-gnu-gcc", "");
	s = symbol_of("program", "hidden");
	check_function("program", s.value, "hidden");
	CHECK_U64(count_stubs("program", "puts@plt"), >=, 4);
}

TEST(files_without_section_headers_are_told_apart_by_their_unwind_data)
{
	char want[64];
	struct elf_symbol s;

	compile("cc", "");
	s = symbol_of("program", "hidden");
	/* e_shoff, then e_shnum and e_shstrndx */
	CHECK(run("dd if=/dev/zero of=program bs=1 seek=40 count=8 conv=notrunc 2>/dev/null"));
	CHECK(run("dd if=/dev/zero of=program bs=1 seek=60 count=4 conv=notrunc 2>/dev/null"));
	snprintf(want, sizeof(want), "program!fn_%llx", (unsigned long long)s.value);
	check_function("program", s.value + 1, want);
}
