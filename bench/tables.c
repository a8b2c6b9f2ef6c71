/* SPDX-License-Identifier: MIT */
/*
 * What it costs to make the unwind table of a file, and how large it is. For each file named, a
 * line a round:
 *
 *	milliseconds ns-a-row bytes-a-row rows
 *
 * Rows are those of the unwind data, before equal neighbors are joined, for the time; those kept
 * for the bytes.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "bench.h"
#include "unwind/table/build.h"

static int once(const char *path)
{
	struct coati_error err = { 0 };
	struct table_input in;
	struct table_head *h;
	struct elf elf;
	void *bytes;
	size_t size;
	uint64_t start_ns = bench_now_ns();
	double ns;
	int r = coati_elf_open(path, &elf, &err);

	if (r >= 0)
		r = coati_table_input(&elf, &in, &err);
	if (r >= 0)
		r = coati_table_build(&in, &bytes, &size);
	ns = (double)(bench_now_ns() - start_ns);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", path, err.text);
		return 1;
	}
	h = bytes;
	printf("%.3f %.1f %.3f %u\n", ns / 1e6, ns / h->nr_raw_rows, (double)size / h->nr_rows,
	       h->nr_rows);
	coati_free(bytes);
	coati_elf_close(&elf);
	return 0;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? (int)argv[2][0] - '0' : 0;

	if (argc < 2 || rounds < 0) {
		fprintf(stderr, "usage: bench-tables FILE [ROUNDS, a digit: 31 when left out]\n");
		return 2;
	}
	for (int i = 0; i < (rounds ? rounds : 31); i++)
		if (once(argv[1]))
			return 1;
	return 0;
}
