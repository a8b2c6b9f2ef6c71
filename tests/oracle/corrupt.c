/* SPDX-License-Identifier: MIT */
/*
 * For the negative control: every unwind table in a cache folder gets so many percent of its rules
 * shifted by eight bytes, with a checksum that fits. What uses them afterwards must see wrong
 * frames, or it sees nothing at all.
 *
 *	oracle-corrupt PERCENT FILE...
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "unwind/table/table.h"

static uint32_t shift_rules(uint8_t *bytes, const struct table *t, uint64_t percent)
{
	uint32_t shifted = 0;

	for (uint32_t i = 0; i < t->nr_rules; i++) {
		struct table_packed p = { t->rules[i], t->others[i] };
		struct table_rule r = table_unpack(p);
		size_t at = (size_t)((const uint8_t *)&t->rules[i] - bytes);

		/* rules are sorted by use: taking them at equal steps takes of the common and of
		 * the rare ones */
		if ((i + 98) % (100 / percent) != 0 || r.cfa != TABLE_CFA_SP)
			continue;
		r.cfa_off += 8;
		if (table_pack(&r, &p))
			memcpy(bytes + at, &p.rule, sizeof(p.rule));
		shifted++;
	}
	return shifted;
}

static int corrupt(const char *path, uint64_t percent)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat st;
	struct table t;
	uint8_t *bytes;
	uint64_t sum;
	uint32_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED || coati_table_open(bytes, (size_t)st.st_size, &t) < 0)
		return -1;
	n = shift_rules(bytes, &t, percent);
	sum = coati_table_checksum(bytes, (size_t)st.st_size);
	memcpy(bytes + offsetof(struct table_head, checksum), &sum, sizeof(sum));
	printf("# %s: %u of %u rules shifted\n", path, n, t.nr_rules);
	munmap(bytes, (size_t)st.st_size);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t percent;
	int failed = 0;

	if (argc < 3 || coati_parse_u64(argv[1], 1, 100, &percent) < 0) {
		fputs("usage: oracle-corrupt PERCENT FILE...\n", stderr);
		return 2;
	}
	for (int i = 2; i < argc; i++)
		if (corrupt(argv[i], percent) < 0) {
			fprintf(stderr, "%s: no table\n", argv[i]);
			failed = 1;
		}
	return failed;
}
