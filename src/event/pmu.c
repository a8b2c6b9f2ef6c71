/* SPDX-License-Identifier: MIT */
/* Reading the directories of PMUs. Names come from the user: none with a slash or a leading dot is
 * looked up. */
#include "event/pmu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/match.h"
#include "base/parse.h"

#define DEVICES "bus/event_source/devices"

static bool is_plain_name(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

int coati_pmu_open(const char *sysfs, const char *name, struct pmu *ret)
{
	struct pmu p = { .fd = -1 };
	char path[1024];
	uint64_t type;
	int r;

	if (!is_plain_name(name) || strlen(name) >= sizeof(p.name) ||
	    (size_t)snprintf(path, sizeof(path), "%s/" DEVICES "/%s", sysfs, name) >= sizeof(path))
		return -ENOENT;
	p.fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p.fd < 0)
		return -errno;
	r = coati_file_read_u64(p.fd, "type", &type);
	if (r == 0 && type > UINT32_MAX)
		r = -EBADMSG;
	if (r < 0) {
		coati_pmu_close(&p);
		return r;
	}
	memcpy(p.name, name, strlen(name) + 1);
	p.type = (uint32_t)type;
	p.is_core = strcmp(name, "cpu") == 0 || faccessat(p.fd, "cpus", F_OK, 0) == 0;
	*ret = p;
	return 0;
}

void coati_pmu_close(struct pmu *p)
{
	fd_closep(&p->fd);
}

struct line_buffer {
	char *text;
	size_t size;
};

/* FOLDER/NAME[.SUFFIX], one line. */
static int read_below(const struct pmu *p, const char *folder, const char *name, const char *suffix,
		      struct line_buffer into)
{
	char path[512];

	if (!is_plain_name(name) ||
	    (size_t)snprintf(path, sizeof(path), "%s/%s%s", folder, name, suffix) >= sizeof(path))
		return -ENOENT;
	return coati_file_read_line(p->fd, path, into.text, into.size);
}

int coati_pmu_field(const struct pmu *p, const char *name, struct pmu_field *ret)
{
	char text[256];
	int r = read_below(p, "format", name, "", (struct line_buffer){ text, sizeof(text) });

	return r < 0 ? r : coati_pmu_field_parse(text, ret);
}

static int read_scale(const struct pmu *p, const char *name, double *ret)
{
	char text[64];
	int r = read_below(p, "events", name, ".scale", (struct line_buffer){ text, sizeof(text) });

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return coati_parse_double(text, ret) < 0 ? -EBADMSG : 0;
}

/* Is there a file NAME.SUFFIX with something other than 0 in it? */
static bool read_mark(const struct pmu *p, const char *name, const char *suffix)
{
	char text[16];

	return read_below(p, "events", name, suffix, (struct line_buffer){ text, sizeof(text) }) ==
		       0 &&
	       strcmp(text, "0") != 0;
}

int coati_pmu_event(const struct pmu *p, const char *name, struct pmu_event *ret)
{
	struct pmu_event e = { .scale = 1.0 };
	int r;

	if (!coati_pmu_has_event(p, name))
		return -ENOENT;
	r = read_below(p, "events", name, "", (struct line_buffer){ e.terms, sizeof(e.terms) });
	if (r < 0)
		return r;
	r = read_below(p, "events", name, ".unit", (struct line_buffer){ e.unit, sizeof(e.unit) });
	if (r < 0 && r != -ENOENT)
		return r;
	r = read_scale(p, name, &e.scale);
	if (r < 0)
		return r;
	e.snapshot = read_mark(p, name, ".snapshot");
	e.per_pkg = read_mark(p, name, ".per-pkg");
	*ret = e;
	return 0;
}

/* Files that describe another one are no events. */
static bool is_beside(const char *name)
{
	static const char *const suffixes[] = { ".scale", ".unit", ".snapshot", ".per-pkg" };
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (strcmp(dot, suffixes[i]) == 0)
			return true;
	}
	return false;
}

bool coati_pmu_has_event(const struct pmu *p, const char *name)
{
	char path[512];

	return is_plain_name(name) && !is_beside(name) &&
	       (size_t)snprintf(path, sizeof(path), "events/%s", name) < sizeof(path) &&
	       faccessat(p->fd, path, F_OK, 0) == 0;
}

int coati_pmu_cpus(const struct pmu *p, char *buf, size_t size)
{
	int r = coati_file_read_line(p->fd, "cpumask", buf, size);

	if (r == -ENOENT)
		r = coati_file_read_line(p->fd, "cpus", buf, size);
	if (r == -ENOENT) {
		buf[0] = '\0';
		r = 0;
	}
	return r;
}

int coati_pmu_names(const char *sysfs, struct arena *arena, struct dir_names *ret)
{
	char path[1024];
	int r = -ENOENT;

	if ((size_t)snprintf(path, sizeof(path), "%s/" DEVICES, sysfs) < sizeof(path))
		r = coati_dir_names(AT_FDCWD, path, DIR_FOLDERS, arena, ret);
	if (r == -ENOENT || r == -ENOTDIR) {
		*ret = (struct dir_names){ 0 };
		r = 0;
	}
	return r;
}

/* ---- which PMUs a name stands for ---- */

size_t coati_pmu_stem(const char *name)
{
	size_t len = strlen(name), end = len;
	const char *last = strrchr(name, '_');

	/* some are numbered by their address: three or more hexadecimal digits */
	if (last && last > name && strlen(last + 1) > 2 &&
	    strspn(last + 1, "0123456789abcdef") == strlen(last + 1))
		return (size_t)(last - name);
	while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
		end--;
	if (end < len && end > 1 && name[end - 1] == '_')
		end--;
	return end > 0 ? end : len;
}

/* Compares stems first, then numbers by their length and digits: imc_2 before imc_10. */
static int by_stem(const void *a, const void *b)
{
	const char *x = *(const char *const *)a, *y = *(const char *const *)b;
	size_t stem_x = coati_pmu_stem(x), stem_y = coati_pmu_stem(y);
	size_t len_x = strlen(x), len_y = strlen(y);
	int r = memcmp(x, y, stem_x < stem_y ? stem_x : stem_y);

	if (r || stem_x != stem_y)
		return r ? r : stem_x < stem_y ? -1 : 1;
	if (len_x != len_y)
		return len_x < len_y ? -1 : 1;
	return strcmp(x, y);
}

static bool is_instance(const char *name, const char *pattern)
{
	size_t stem = coati_pmu_stem(name);

	return name[stem] && strlen(pattern) == stem && memcmp(name, pattern, stem) == 0;
}

static bool stands_for(const char *pattern, const char *name)
{
	const char *bare = strncmp(name, "uncore_", 7) == 0 ? name + 7 : name;

	if (coati_is_glob(pattern))
		return coati_glob_match(pattern, name) || coati_glob_match(pattern, bare);
	return strcmp(bare, pattern) == 0 || is_instance(name, pattern) ||
	       is_instance(bare, pattern);
}

int coati_pmu_match(const char *sysfs, const char *pattern, struct arena *arena,
		    struct dir_names *ret)
{
	struct dir_names names;
	size_t len = 0;
	int r = coati_pmu_names(sysfs, arena, &names);

	if (r < 0)
		return r;
	for (size_t i = 0; i < names.len; i++) {
		if (strcmp(names.v[i], pattern) == 0) {
			names.v[0] = names.v[i];
			*ret = (struct dir_names){ names.v, 1 };
			return 0;
		}
	}
	for (size_t i = 0; i < names.len; i++) {
		if (stands_for(pattern, names.v[i]))
			names.v[len++] = names.v[i];
	}
	if (len)
		qsort(names.v, len, sizeof(names.v[0]), by_stem);
	*ret = (struct dir_names){ names.v, len };
	return 0;
}

int coati_pmu_hybrid(const char *sysfs, struct arena *arena, struct dir_names *ret)
{
	struct dir_names names;
	size_t len = 0;
	int r = coati_pmu_names(sysfs, arena, &names);

	if (r < 0)
		return r;
	for (size_t i = 0; i < names.len; i++) {
		struct pmu p;

		if (strncmp(names.v[i], "cpu_", 4) != 0 ||
		    coati_pmu_open(sysfs, names.v[i], &p) < 0)
			continue;
		if (p.is_core)
			names.v[len++] = names.v[i];
		coati_pmu_close(&p);
	}
	*ret = (struct dir_names){ names.v, len > 1 ? len : 0 };
	return 0;
}

static int names_below(const struct pmu *p, const char *folder, struct arena *arena,
		       struct dir_names *ret)
{
	int r = coati_dir_names(p->fd, folder, DIR_FILES, arena, ret);

	if (r == -ENOENT) {
		*ret = (struct dir_names){ 0 };
		r = 0;
	}
	return r;
}

int coati_pmu_event_names(const struct pmu *p, struct arena *arena, struct dir_names *ret)
{
	struct dir_names names;
	size_t len = 0;
	int r = names_below(p, "events", arena, &names);

	if (r < 0)
		return r;
	for (size_t i = 0; i < names.len; i++) {
		if (!is_beside(names.v[i]))
			names.v[len++] = names.v[i];
	}
	*ret = (struct dir_names){ names.v, len };
	return 0;
}

int coati_pmu_field_names(const struct pmu *p, struct arena *arena, struct dir_names *ret)
{
	return names_below(p, "format", arena, ret);
}
