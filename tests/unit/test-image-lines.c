/* SPDX-License-Identifier: MIT */
/*
 * Lines and inline frames of programs that are compiled here, held against addr2line and
 * llvm-symbolizer at every address of their code: where these two agree we say the same. Split
 * programs are held against the same program with everything in one file.
 */
#include "lib/test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/elf.h"
#include "base/file.h"
#include "image/lines.h"
#include "unit/lines-programs.h"

/* What we say, in the words of addr2line. */
struct ours {
	struct strbuf text;
	uint64_t *vaddrs;
	size_t nr;
	struct lines_tally tally;
};

static int say(void *ctx, size_t i, const struct lines_frame *frames, uint32_t nr)
{
	struct ours *o = ctx;

	coati_strbuf_printf(&o->text, "0x%llx\n", (unsigned long long)o->vaddrs[i]);
	for (uint32_t k = 0; k < nr; k++) {
		const struct lines_frame *f = &frames[k];

		CHECK_INT(f->is_inline, ==, k + 1 < nr);
		CHECK(o->vaddrs[i] >= f->low && (o->vaddrs[i] < f->high || !f->high));
		coati_strbuf_printf(&o->text, "%s\n%s:%u\n", f->function ? f->function : "??",
				    f->file ? f->file : "??", f->line);
	}
	return 0;
}

/* Every address of .text. */
static void all_addresses(const char *path, struct ours *o)
{
	struct elf_section text;
	struct elf e;
	FILE *list = fopen("addresses", "w");

	CHECK(list);
	CHECK_OK(coati_elf_open(path, &e, NULL));
	CHECK_INT(coati_elf_section_find(&e, ".text", &text), ==, 1);
	o->nr = text.size;
	o->vaddrs = calloc(o->nr, sizeof(*o->vaddrs));
	CHECK(o->vaddrs);
	for (size_t i = 0; i < o->nr; i++) {
		o->vaddrs[i] = text.vaddr + i;
		fprintf(list, "0x%llx\n", (unsigned long long)o->vaddrs[i]);
	}
	CHECK_INT(fclose(list), ==, 0);
	coati_elf_close(&e);
}

static int resolve_with(const char *path, const char *root, const char *debug_dirs, struct ours *o,
			struct coati_error *err)
{
	struct lines_input in = { .path = path,
				  .debug_dirs = debug_dirs,
				  .root = root,
				  .want_lines = true,
				  .want_inlines = true,
				  .tally = &o->tally };
	int r;

	*o = (struct ours){ .text = STRBUF_INIT(64 << 20) };
	all_addresses(path, o);
	in.vaddrs = o->vaddrs;
	in.nr = o->nr;
	in.fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(in.fd >= 0);
	r = coati_lines_resolve(&in, say, o, err);
	close(in.fd);
	return r;
}

static int resolve(const char *path, struct ours *o, struct coati_error *err)
{
	return resolve_with(path, NULL, ".", o, err);
}

static void ours_free(struct ours *o)
{
	coati_strbuf_fini(&o->text);
	free(o->vaddrs);
}

/* The answer for one address. */
struct block {
	unsigned long long address;
	char lines[2 * LINES_DEPTH_MAX][300];
	unsigned int nr;
};

/* The next one of a text in the words of addr2line; false at its end. */
static bool next_block(char **at, struct block *b)
{
	char *line = *at;

	if (!*line)
		return false;
	CHECK(!strncmp(line, "0x", 2));
	b->address = strtoull(line, NULL, 16);
	b->nr = 0;
	line += strcspn(line, "\n") + 1;
	while (*line && strncmp(line, "0x", 2) != 0) {
		size_t len = strcspn(line, "\n");
		char *copy = b->lines[b->nr++];
		char *extra;

		CHECK(len < sizeof(b->lines[0]) && b->nr < 2 * LINES_DEPTH_MAX);
		memcpy(copy, line, len);
		copy[len] = '\0';
		extra = strstr(copy, " (discriminator");
		if (extra)
			*extra = '\0';
		line += len + 1;
	}
	*at = line;
	return true;
}

/* The symbol table, which the peers ask for the function itself, has clones by names of their own:
 * "main.cold", "get.isra.0". */
static bool is_same_function(const char *ours, const char *theirs)
{
	size_t len = strlen(ours);

	return !strncmp(ours, theirs, len) && (!theirs[len] || theirs[len] == '.');
}

/* 1: the peers agree and so do we; 0: they do not agree; -1: they do, and we say something else. Of
 * the aliases of a function the peers take different ones: its name counts where both have the
 * same. */
static int compare(const struct block *a, const struct block *b, const struct block *us)
{
	if (a->nr != b->nr || !a->nr)
		return 0;
	for (unsigned int i = 0; i < a->nr; i++)
		if (i + 2 != a->nr && strcmp(a->lines[i], b->lines[i]) != 0)
			return 0;
	if (us->nr != a->nr)
		return -1;
	for (unsigned int i = 0; i < a->nr; i++) {
		if (i + 2 == a->nr && (strcmp(a->lines[i], b->lines[i]) != 0 ||
				       is_same_function(us->lines[i], a->lines[i])))
			continue;
		if (strcmp(a->lines[i], us->lines[i]) != 0)
			return -1;
	}
	return 1;
}

static void run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *fmt, ...)
{
	char command[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(command, sizeof(command), fmt, ap);
	va_end(ap);
	if (system(command) != 0)
		test_skip("cannot be made here: %.200s", command);
}

static char *read_text(const char *path)
{
	struct strbuf s = STRBUF_INIT(64 << 20);

	CHECK_OK(coati_file_read(AT_FDCWD, path, &s));
	return coati_strbuf_take(&s);
}

/* The source of the two units into the current folder. */
static void write_sources(void)
{
	FILE *c = fopen("c.c", "w"), *cpp = fopen("b.cpp", "w");

	CHECK(c && cpp && fputs(lines_c_source, c) >= 0 && fputs(lines_cpp_source, cpp) >= 0);
	CHECK_INT(fclose(c) | fclose(cpp), ==, 0);
}

static void build(const char *cc, const char *flags)
{
	write_sources();
	run("%s -O2 %s -c c.c -o c.o 2>/dev/null", cc, flags);
	run("%s -O2 %s -fno-exceptions -c b.cpp -o b.o 2>/dev/null", cc, flags);
}

static void link_program(const char *cc, const char *flags, const char *program)
{
	run("%s -O2 %s b.o c.o -lstdc++ -o %s 2>/dev/null", cc, flags, program);
}

static void check_against_peers(const char *path)
{
	struct block a, b, us = { .nr = 0 };
	char *texts[2], *at[2], *mine;
	unsigned int agreed = 0, all = 0;
	struct ours o;

	CHECK_OK(resolve(path, &o, NULL));
	CHECK_INT(o.tally.nr_damaged, ==, 0);
	CHECK_STR(o.tally.why, "");
	run("addr2line -a -i -f -e %s < addresses > peer-a", path);
	run("$(command -v llvm-symbolizer-14 || echo llvm-symbolizer) --output-style=GNU "
	    "--no-demangle "
	    "--functions=linkage -a -i -e %s < addresses > peer-b",
	    path);
	mine = o.text.text;
	next_block(&mine, &us);
	at[0] = texts[0] = read_text("peer-a");
	at[1] = texts[1] = read_text("peer-b");
	while (next_block(&at[0], &a)) {
		int verdict;

		CHECK(next_block(&at[1], &b) && a.address == b.address);
		if (us.address < a.address && !next_block(&mine, &us))
			us.address = UINT64_MAX;
		if (us.address != a.address) /* we know nothing of it: start-up code */
			continue;
		all++;
		verdict = compare(&a, &b, &us);
		if (verdict < 0)
			test_fail_at(__FILE__, __LINE__,
				     "0x%llx: \"%s %s\", not \"%s %s\" (%u, %u frames)", a.address,
				     us.lines[0], us.lines[1], a.lines[0], a.lines[1], us.nr / 2,
				     a.nr / 2);
		agreed += verdict == 1;
	}
	test_note("%u addresses, the peers agree on %u", all, agreed);
	/* they agree least on clang's version 5 and gcc's version 2 */
	CHECK(all > 300 && agreed > all / 5);
	coati_free(texts[0]);
	coati_free(texts[1]);
	ours_free(&o);
}

#define PEER_TEST(name, cc, flags)                  \
	TEST_LIMIT(name, 120)                       \
	{                                           \
		build(cc, flags);                   \
		link_program(cc, flags, "program"); \
		check_against_peers("program");     \
	}

PEER_TEST(lines_of_gcc_dwarf_2_are_those_of_the_peers, "gcc", "-gdwarf-2 -gstrict-dwarf")
PEER_TEST(lines_of_gcc_dwarf_4_are_those_of_the_peers, "gcc", "-gdwarf-4")
PEER_TEST(lines_of_gcc_dwarf_5_are_those_of_the_peers, "gcc", "-gdwarf-5")
PEER_TEST(lines_of_clang_dwarf_4_are_those_of_the_peers, "clang", "-gdwarf-4")
PEER_TEST(lines_of_clang_dwarf_5_are_those_of_the_peers, "clang", "-gdwarf-5")
PEER_TEST(lines_of_gcc_with_link_time_optimization_are_those_of_the_peers, "gcc", "-gdwarf-5 -flto")
TEST_LIMIT(lines_of_compressed_sections_are_those_of_the_peers, 120)
{
	if (!dlopen("libz.so.1", RTLD_NOW))
		test_skip("zlib is not here");
	build("gcc", "-gdwarf-5 -gz");
	link_program("gcc", "-gdwarf-5 -gz", "program");
	check_against_peers("program");
}

PEER_TEST(lines_beside_dropped_sections_are_those_of_the_peers, "gcc",
	  "-gdwarf-4 -ffunction-sections -Wl,--gc-sections")
PEER_TEST(lines_of_type_units_are_those_of_the_peers, "gcc", "-gdwarf-5 -fdebug-types-section")

/* The same code with and without -gsplit-dwarf. */
static void build_split(const char *cc, int version, struct ours *whole)
{
	char flags[64];

	snprintf(flags, sizeof(flags), "-gdwarf-%d", version);
	build(cc, flags);
	link_program(cc, flags, "whole");
	CHECK_OK(resolve("whole", whole, NULL));
	CHECK(whole->text.len > 1000);
	snprintf(flags, sizeof(flags), "-gdwarf-%d -gsplit-dwarf", version);
	build(cc, flags);
	link_program(cc, flags, "split");
}

static void check_split(const struct ours *whole)
{
	struct ours o;

	CHECK_OK(resolve("split", &o, NULL));
	CHECK_INT(o.tally.nr_split_missing, ==, 0);
	CHECK_STR(o.text.text, whole->text.text);
	ours_free(&o);
}

/* The same out of a package, made by that command; NULL: there is no tool for it. */
static void check_package(const struct ours *whole, const char *command)
{
	if (!command)
		return;
	run("%s", command);
	run("rm b.dwo c.dwo");
	check_split(whole);
}

#define SPLIT_TEST(name, cc, version, package)    \
	TEST_LIMIT(name, 120)                     \
	{                                         \
		struct ours whole;                \
                                                  \
		build_split(cc, version, &whole); \
		check_split(&whole);              \
		check_package(&whole, package);   \
		ours_free(&whole);                \
	}

SPLIT_TEST(lines_of_gcc_split_dwarf_4_are_those_of_the_whole_and_of_the_package, "gcc", 4,
	   "dwp -e split -o split.dwp 2>/dev/null")
SPLIT_TEST(lines_of_gcc_split_dwarf_5_are_those_of_the_whole, "gcc", 5, NULL)
SPLIT_TEST(lines_of_clang_split_dwarf_4_are_those_of_the_whole_and_of_the_package, "clang", 4,
	   "$(command -v llvm-dwp-14 || echo llvm-dwp) -e split -o split.dwp")
SPLIT_TEST(lines_of_clang_split_dwarf_5_are_those_of_the_whole_and_of_the_package, "clang", 5,
	   "$(command -v llvm-dwp-14 || echo llvm-dwp) -e split -o split.dwp")

TEST_LIMIT(lines_count_a_missing_dwo_and_still_have_the_lines, 120)
{
	struct ours whole, o;

	build_split("gcc", 5, &whole);
	run("rm b.dwo");
	CHECK_OK(resolve("split", &o, NULL));
	CHECK_INT(o.tally.nr_split_missing, ==, 1);
	CHECK_HAS(o.tally.why, "b.dwo");
	CHECK_HAS(o.text.text, "/b.cpp:");
	ours_free(&o);
	ours_free(&whole);
}

TEST_LIMIT(lines_take_no_dwo_that_is_a_link_a_fifo_or_of_another_build, 120)
{
	struct ours whole, o;

	build_split("gcc", 5, &whole);
	run("mv b.dwo real && ln -s real b.dwo");
	CHECK_OK(resolve("split", &o, NULL));
	CHECK_INT(o.tally.nr_split_missing, ==, 1);
	ours_free(&o);
	run("rm b.dwo && mkfifo b.dwo");
	CHECK_OK(resolve("split", &o, NULL));
	CHECK_INT(o.tally.nr_split_missing, ==, 1);
	ours_free(&o);
	run("rm b.dwo && cp c.dwo b.dwo");
	CHECK_OK(resolve("split", &o, NULL));
	CHECK_INT(o.tally.nr_split_missing, ==, 1);
	ours_free(&o);
	ours_free(&whole);
}

TEST_LIMIT(lines_find_what_dwz_shares, 120)
{
	struct ours whole, o;

	if (system("command -v dwz > /dev/null") != 0)
		test_skip("dwz is not installed");
	build("gcc", "-gdwarf-4");
	link_program("gcc", "-gdwarf-4 -Wl,--build-id", "whole");
	CHECK_OK(resolve("whole", &whole, NULL));
	run("cp whole one && cp whole two && dwz -m shared one two");
	CHECK_OK(resolve("one", &o, NULL));
	CHECK_INT(o.tally.nr_alt_missing, ==, 0);
	CHECK_STR(o.text.text, whole.text.text);
	ours_free(&o);
	run("rm shared");
	CHECK_OK(resolve("one", &o, NULL));
	CHECK_INT(o.tally.nr_alt_missing, ==, 1);
	CHECK_HAS(o.tally.why, "shared");
	ours_free(&o);
	ours_free(&whole);
}

TEST_LIMIT(lines_find_what_dwz_shares_below_the_debug_dirs_and_the_root, 120)
{
	static const struct {
		const char *root, *dirs;
		int missing;
	} tries[] = {
		{ "", "/usr/lib/debug", 1 }, { "", "nowhere:copied", 0 }, { "", "copied/.dwz", 1 },
		{ "tree", "/nowhere", 0 }, /* by the path in the link */
		{ "tree", "/debug", 0 },     { "other", "/debug", 0 },	  { "other", "/copied", 1 }
	};
	struct ours whole, o;

	if (system("command -v dwz > /dev/null") != 0)
		test_skip("dwz is not installed");
	build("gcc", "-gdwarf-4");
	link_program("gcc", "-gdwarf-4 -Wl,--build-id", "whole");
	CHECK_OK(resolve("whole", &whole, NULL));
	run("cp whole one && cp whole two && "
	    "dwz -m shared -M /no/such/debug/.dwz/some-arch/both.debug one two");
	run("mkdir -p copied/.dwz/some-arch tree/no/such/debug/.dwz/some-arch "
	    "other/debug/.dwz/some-arch && cp shared copied/.dwz/some-arch/both.debug && "
	    "cp shared tree/no/such/debug/.dwz/some-arch/both.debug && "
	    "mv shared other/debug/.dwz/some-arch/both.debug");
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		CHECK_OK(resolve_with("one", tries[i].root, tries[i].dirs, &o, NULL));
		CHECK_INT(o.tally.nr_alt_missing, ==, tries[i].missing);
		if (!tries[i].missing)
			CHECK_STR(o.text.text, whole.text.text);
		ours_free(&o);
	}
	ours_free(&whole);
}

TEST_LIMIT(lines_of_a_file_without_debug_data_are_said_to_be_missing, 120)
{
	struct coati_error err = { 0 };
	struct ours o;

	build("gcc", "");
	link_program("gcc", "-s", "plain");
	CHECK_ERR(resolve("plain", &o, &err), -ENOENT);
	CHECK_HAS(err.text, "no debug data");
	ours_free(&o);
}

TEST_LIMIT(lines_of_an_object_file_are_refused, 120)
{
	struct lines_input in = { .path = "c.o", .vaddrs = &(uint64_t){ 1 }, .nr = 1 };
	struct coati_error err = { 0 };

	build("gcc", "-g");
	in.fd = open("c.o", O_RDONLY | O_CLOEXEC);
	CHECK_ERR(coati_lines_resolve(&in, say, NULL, &err), -EOPNOTSUPP);
	CHECK_HAS(err.text, "not linked");
	close(in.fd);
}

/* Addresses are numbered with 32 bits, and the last number means none: they are not looked at. */
TEST_LIMIT(lines_of_more_addresses_than_there_are_numbers_are_refused, 120)
{
	struct lines_input in = { .path = "many", .vaddrs = &(uint64_t){ 1 }, .nr = UINT32_MAX };
	struct coati_error err = { 0 };

	build("gcc", "-g");
	link_program("gcc", "-g", "many");
	in.fd = open("many", O_RDONLY | O_CLOEXEC);
	CHECK_ERR(coati_lines_resolve(&in, say, NULL, &err), -E2BIG);
	close(in.fd);
}
