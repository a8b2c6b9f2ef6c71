/* SPDX-License-Identifier: MIT */
/* see steal.h */
#include "capture/steal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parse.h"

#define STEAL 8 /* cpu user nice system idle iowait irq softirq STEAL guest guest_nice */

uint64_t coati_steal_step_ns(void)
{
	long ticks = sysconf(_SC_CLK_TCK);

	return NSEC_PER_SEC / (ticks > 0 ? (uint64_t)ticks : 100);
}

int coati_steal_read(const char *procfs, uint64_t *ret_ns)
{
	char path[4096], line[512], *word = line;
	uint64_t n;
	int r;

	snprintf(path, sizeof(path), "%s/stat", procfs ? procfs : "/proc");
	r = coati_file_read_line(AT_FDCWD, path, line, sizeof(line));
	if (r < 0)
		return r;
	if (strncmp(line, "cpu ", 4) != 0)
		return -ENODATA;
	for (int i = 0; i < STEAL; i++) {
		word += strcspn(word, " ");
		word += strspn(word, " ");
	}
	word[strcspn(word, " ")] = '\0';
	if (coati_parse_u64(word, 0, UINT64_MAX / NSEC_PER_SEC, &n) < 0)
		return -ENODATA;
	*ret_ns = n * coati_steal_step_ns();
	return 0;
}
