/* SPDX-License-Identifier: MIT */
/*
 * Files with damaged DWARF, made of sound ones (tests/data/fuzz/dwarf) by changing bytes of each
 * section in turn: no crash, no hang, no answer that cannot be one, and a reason for what is
 * missing.
 */
#include "lib/test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/elf.h"
#include "lib/lines-walk.h"

static const char *const seeds[] = { "gcc-2", "gcc-4", "gcc-5", "gcc-5-gz", "clang-4", "clang-5" };

/* Compressed sections need zlib, which a cross-built program has not beside it. */
static bool is_readable(const char *name)
{
	static void *zlib;

	if (!zlib)
		zlib = dlopen("libz.so.1", RTLD_NOW);
	return zlib || !strstr(name, "-gz");
}

static struct strbuf read_seed(const char *name)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	char path[512];

	snprintf(path, sizeof(path), "%s/fuzz/dwarf/%s", test_data_dir(), name);
	CHECK_OK(coati_file_read(AT_FDCWD, path, &s));
	return s;
}

static void check_walk(const struct lines_walk *w, const char *what, size_t at)
{
	if (!w->sound || w->result > 0 || (w->result < 0 && !w->err.text[0]) ||
	    (w->tally.nr_damaged && !w->tally.why[0]))
		test_fail_at(__FILE__, __LINE__, "%s at %zu: %d, \"%s\", \"%s\"", what, at,
			     w->result, w->err.text, w->tally.why);
}

TEST(damage_is_absent_from_the_sound_files)
{
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		struct strbuf s = read_seed(seeds[i]);
		struct lines_walk w = lines_walk(s.text, s.len);

		if (!is_readable(seeds[i])) {
			coati_strbuf_fini(&s);
			continue;
		}
		check_walk(&w, seeds[i], 0);
		CHECK_STR(w.tally.why, "");
		CHECK_INT(w.result, ==, 0);
		CHECK_INT(w.tally.nr_units, ==, 2);
		CHECK(w.nr_frames > 800);
		coati_strbuf_fini(&s);
	}
}

/* One change of a section at a time; how many made the reader say that something is wrong. */
static unsigned int damage_section(struct strbuf *s, const struct elf_section *section,
				   unsigned int *nr)
{
	static const uint8_t with[] = { 0x00, 0xff, 0x80, 0x7f, 0x01 };
	size_t step = section->size / 12 + 1;
	unsigned int found = 0;

	for (size_t at = 0; at < section->size; at += step) {
		for (size_t k = 0; k < sizeof(with); k++) {
			size_t len = section->size - at < 4 ? section->size - at : k % 2 ? 4 : 1;
			char keep[4];
			struct lines_walk w;

			memcpy(keep, s->text + section->offset + at, len);
			memset(s->text + section->offset + at, with[k], len);
			w = lines_walk(s->text, s->len);
			check_walk(&w, section->name, at);
			found += w.result < 0;
			++*nr;
			memcpy(s->text + section->offset + at, keep, len);
		}
	}
	return found;
}

static void damage_seed(const char *name, unsigned int *nr, unsigned int *found)
{
	struct strbuf s = read_seed(name);
	struct elf_section section;
	struct elf e;

	CHECK_OK(coati_elf_from_bytes(s.text, s.len, &e));
	for (uint32_t i = 1; i < e.shnum; i++) {
		CHECK_OK(coati_elf_section(&e, i, &section));
		if (!strncmp(section.name, ".debug_", 7))
			*found += damage_section(&s, &section, nr);
	}
	coati_strbuf_fini(&s);
}

TEST_LIMIT(damage_of_every_section_is_survived_and_said, 120)
{
	unsigned int nr = 0, found = 0;

	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++)
		damage_seed(seeds[i], &nr, &found);
	test_note("%u damaged files, %u of them reported", nr, found);
	CHECK(nr > 1000 && found > nr / 10);
}

TEST_LIMIT(damage_by_ending_early_is_survived, 120)
{
	struct strbuf s = read_seed("gcc-5");

	for (size_t size = 0; size < s.len; size += 97) {
		struct lines_walk w = lines_walk(s.text, size);

		check_walk(&w, "end", size);
		CHECK(w.result < 0);
	}
	coati_strbuf_fini(&s);
}

/* Random bytes in place of whole pieces, in what leads from section to section. */
TEST_LIMIT(damage_at_random_places_is_survived, 120)
{
	struct strbuf s = read_seed("clang-5");
	char *copy = malloc(s.len);

	CHECK(copy);
	for (unsigned int i = 0; i < test_rounds(300); i++) {
		struct lines_walk w;

		memcpy(copy, s.text, s.len);
		for (unsigned int k = 0; k <= i % 8; k++)
			copy[0x40 + test_random() % (s.len - 0x40)] = (char)test_random();
		w = lines_walk(copy, s.len);
		check_walk(&w, "random", i);
	}
	free(copy);
	coati_strbuf_fini(&s);
}

TEST_LIMIT(damage_does_not_hide_failing_allocations, 120)
{
	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		struct strbuf s = read_seed(seeds[i]);
		struct lines_walk whole = lines_walk(s.text, s.len), w = { .result = -ENOMEM };

		if (!is_readable(seeds[i])) {
			coati_strbuf_fini(&s);
			continue;
		}
		for (uint64_t n = 0; w.result == -ENOMEM; n++) {
			CHECK(n < 2000);
			coati_alloc_fail_after(n);
			w = lines_walk(s.text, s.len);
			coati_alloc_fail_after(UINT64_MAX);
		}
		CHECK_INT(w.result, ==, 0);
		CHECK_STR(w.tally.why, "");
		CHECK_U64(w.sum, ==, whole.sum);
		coati_strbuf_fini(&s);
	}
}
