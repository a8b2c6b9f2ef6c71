/* SPDX-License-Identifier: MIT */
/*
 * The name of a kernel function comes in; whether the kernel has it goes out. The list has a few
 * hundred thousand lines: it is read in pieces and never kept, and a second time only to find the
 * nearest name.
 */
#include "event/probe-kernel.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/match.h"

#define PIECE_BYTES    32768
#define NAME_BYTES_MAX 512 /* the kernel's own limit */

struct function_search {
	const char *name;
	uint64_t nr_functions, nr_found;
	bool want_nearest;
	struct nearest nearest;
	char best[NAME_BYTES_MAX];
};

/* "ffffffff81000000 T name\t[module]" */
static void take_line(struct function_search *f, char *line)
{
	char *type = strchr(line, ' ');
	char *name = type && type[1] ? type + 2 : NULL;

	if (!name || *name != ' ' || !strchr("tTwW", type[1]))
		return;
	name++;
	name[strcspn(name, "\t ")] = '\0';
	f->nr_functions++;
	f->nr_found += !strcmp(name, f->name);
	if (!f->want_nearest || strlen(name) >= sizeof(f->best))
		return;
	coati_nearest_offer(&f->nearest, name);
	if (f->nearest.best == name) {
		/* the line is gone at the next one */
		snprintf(f->best, sizeof(f->best), "%s", name);
		f->nearest.best = f->best;
	}
}

/* All lines that are whole in the @len bytes of @buf; returns how many bytes are left of the
 * last. */
static size_t take_lines(struct function_search *f, char *buf, size_t len)
{
	char *start = buf, *end;

	while ((end = memchr(start, '\n', len - (size_t)(start - buf)))) {
		*end = '\0';
		take_line(f, start);
		start = end + 1;
	}
	len -= (size_t)(start - buf);
	memmove(buf, start, len);
	return len;
}

static int search_functions(const char *kallsyms, struct function_search *f)
{
	CLEANUP(fd_closep) int fd = open(kallsyms, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	CLEANUP(freep) char *buf = NULL;
	size_t len = 0;

	if (fd < 0)
		return -errno;
	buf = coati_alloc(PIECE_BYTES);
	if (!buf)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read(fd, buf + len, PIECE_BYTES - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		len = take_lines(f, buf, len + (size_t)n);
		if (len == PIECE_BYTES)
			return -EBADMSG; /* no line is that long */
	}
}

int coati_probe_kernel_check(const char *kallsyms, const char *symbol, struct coati_error *err)
{
	struct function_search f = { .name = symbol };
	int r;

	if (strlen(symbol) >= NAME_BYTES_MAX)
		return coati_fail(err, -EINVAL, "no kernel function has a name that long");
	if (strchr(symbol, ':'))
		return 0;
	r = search_functions(kallsyms, &f);
	if (r == -ENOMEM)
		return coati_fail(err, r, "out of memory");
	if (r < 0 || f.nr_found == 1 || !f.nr_functions)
		return 0;
	if (f.nr_found > 1)
		return coati_fail(
			err, -EINVAL,
			"%llu functions of the kernel are named %s: give an address (grep -w %s "
			"%s)",
			(unsigned long long)f.nr_found, symbol, symbol, kallsyms);
	f.nearest = coati_nearest_to(symbol);
	f.want_nearest = true;
	r = search_functions(kallsyms, &f);
	if (r == 0 && f.nearest.best)
		return coati_fail(err, -ENOENT, "the kernel has no function %s; did you mean %s?",
				  symbol, f.nearest.best);
	return coati_fail(err, -ENOENT, "the kernel has no function %s", symbol);
}
