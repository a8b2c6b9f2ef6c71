/* SPDX-License-Identifier: MIT */
/*
 * go-frames FILE: the unwind rules that are made of the function table of a Go program, held
 * against those that its .debug_frame gives, at every byte of every function. Prints how many
 * functions there are and how many bytes have another rule.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "image/go-table.h"
#include "image/inflate.h"
#include "unwind/unwinder.h"

static struct copy file;

static int fetch(void *ctx, const uint8_t *bytes, size_t size)
{
	struct copy *c = ctx;

	return coati_copy_bytes(c, (uint64_t)(bytes - c->bytes), size) ? 0 : -1;
}

static void need(int r, const char *what)
{
	if (r >= 0)
		return;
	fprintf(stderr, "go-frames: %s\n", what);
	exit(1);
}

/* Go compresses it unless it is told not to. */
static void add_debug_frame(struct table_input *in)
{
	struct inflate_input packed = { .bytes = in->packed,
					.size = in->packed_size,
					.is_flagged = in->is_packed_flagged,
					.max = UINT64_C(1) << 30 };
	uint8_t *bytes;
	size_t size;

	for (uint32_t i = 0; i < in->nr_sections; i++)
		need(fetch(&file, in->sections[i].bytes, in->sections[i].size), "unwind data");
	if (!in->packed)
		return;
	need(fetch(&file, packed.bytes, packed.size), ".debug_frame");
	need(coati_inflate_section(&packed, &bytes, &size, NULL) > 0 ? 0 : -1, "inflate");
	coati_table_input_add(in, bytes, size);
}

static void add_go(struct table_input *in, const struct go_table *t)
{
	struct table_input all = *in;
	uint8_t *bytes;
	size_t size;

	in->nr_sections = 0;
	for (uint32_t i = 0; i < all.nr_sections; i++)
		if (!all.sections[i].is_debug)
			in->sections[in->nr_sections++] = all.sections[i];
	need(coati_unwind_go_frames(t, in->machine, &bytes, &size), "the function table");
	coati_table_input_add(in, bytes, size);
}

static struct table build(const struct table_input *in)
{
	struct table table;
	void *bytes;
	size_t size;

	need(coati_table_build(in, &bytes, &size), "a table");
	need(coati_table_open(bytes, size, &table), "its own table");
	return table;
}

static bool is_same(const struct table *a, const struct table *b, uint64_t vaddr)
{
	struct table_packed x = table_find(a, vaddr), y = table_find(b, vaddr);

	return x.rule == y.rule && x.other == y.other;
}

int main(int argc, char **argv)
{
	struct coati_error err = { 0 };
	struct table_input in;
	struct table debug, made;
	struct go_function f;
	struct go_table t;
	uint64_t other = 0;

	need(argc == 2 ? 0 : -1, "wants a FILE");
	need(coati_copy_open(&file, open(argv[1], O_RDONLY), argv[1], &err), err.text);
	need(coati_go_table_init(&t, &file) > 0 ? 0 : -1, "no function table of Go");
	need(coati_table_input(&file.elf, &in, &err), err.text);
	in.fetch = fetch;
	in.fetch_ctx = &file;
	add_debug_frame(&in);
	coati_unwind_find_roots(&file, &in);
	debug = build(&in);
	add_go(&in, &t);
	made = build(&in);
	for (uint32_t i = 0; i < t.nr; i++) {
		need(coati_go_function(&t, i, &f) ? 0 : -1, "a function");
		for (uint64_t at = f.start; at < f.end; at++)
			other += !is_same(&debug, &made, at);
	}
	printf("%u functions, %llu bytes with another rule\n", t.nr, (unsigned long long)other);
	return 0;
}
