/* SPDX-License-Identifier: MIT */
/*
 * The name of a probe PMU comes in, its number and bit fields go out. Both differ between kernels and boots,
 * so nothing is taken for known: what sysfs does not name cannot be set.
 */
#include "event/probe-pmu.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/parse.h"

/* "config:0" or "config:32-63". */
static int parse_bits(char *text, struct probe_bits *ret)
{
	static const char prefix[] = "config:";
	char *dash, *from = text + sizeof(prefix) - 1;
	uint32_t low, high;

	if (strncmp(text, prefix, sizeof(prefix) - 1) != 0)
		return -EBADMSG;
	dash = strchr(from, '-');
	if (dash)
		*dash = '\0';
	if (coati_parse_u32(from, 0, 63, &low) < 0 ||
	    coati_parse_u32(dash ? dash + 1 : from, low, 63, &high) < 0)
		return -EBADMSG;
	*ret = (struct probe_bits){ .low = low, .width = high - low + 1 };
	return 0;
}

/* A field that is not there stays without bits. */
static int read_bits(const char *dir, const char *field, struct probe_bits *ret,
		     struct coati_error *err)
{
	char path[PATH_MAX], line[64];
	int r;

	if ((size_t)snprintf(path, sizeof(path), "%s/format/%s", dir, field) >= sizeof(path))
		return coati_fail(err, -E2BIG, "the path of sysfs is too long");
	r = coati_file_read_line(AT_FDCWD, path, line, sizeof(line));
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return coati_fail(err, r, "read %s: %m", path);
	r = parse_bits(line, ret);
	if (r < 0)
		return coati_fail(err, r, "%s does not name bits of config", path);
	return 0;
}

static int fail_missing(const char *sysfs, const char *name, struct coati_error *err)
{
	char devices[PATH_MAX];

	if ((size_t)snprintf(devices, sizeof(devices), "%s/bus/event_source/devices", sysfs) <
		    sizeof(devices) &&
	    access(devices, F_OK) < 0)
		return coati_fail(
			err, -EOPNOTSUPP,
			"%s is not there: mount -t sysfs sysfs %s, or a kernel without perf events",
			devices, sysfs);
	if (!strcmp(name, "kprobe"))
		return coati_fail(
			err, -EOPNOTSUPP,
			"this kernel has no kprobes (CONFIG_KPROBES, CONFIG_KPROBE_EVENTS)");
	return coati_fail(err, -EOPNOTSUPP,
			  "this kernel has no %s PMU (Linux 4.17 with CONFIG_UPROBE_EVENTS)", name);
}

int coati_probe_pmu_read(const char *sysfs, const char *name, struct probe_pmu *ret,
			 struct coati_error *err)
{
	char dir[PATH_MAX - 64], path[PATH_MAX];
	struct probe_pmu pmu = { 0 };
	uint64_t type;
	int r;

	if ((size_t)snprintf(dir, sizeof(dir), "%s/bus/event_source/devices/%s", sysfs, name) >=
	    sizeof(dir))
		return coati_fail(err, -E2BIG, "the path of sysfs is too long");
	snprintf(path, sizeof(path), "%s/type", dir);
	r = coati_file_read_u64(AT_FDCWD, path, &type);
	if (r == -ENOENT || r == -ENOTDIR)
		return fail_missing(sysfs, name, err);
	if (r == -EINVAL || r == -ERANGE || r == -E2BIG || (r == 0 && type > UINT32_MAX))
		return coati_fail(err, -EBADMSG, "%s does not hold the number of a PMU", path);
	if (r < 0)
		return coati_fail(err, r, "read %s: %m", path);
	pmu.type = (uint32_t)type;
	r = read_bits(dir, "retprobe", &pmu.retprobe, err);
	if (r == 0)
		r = read_bits(dir, "ref_ctr_offset", &pmu.ref_ctr, err);
	if (r == 0)
		*ret = pmu;
	return r;
}

int coati_probe_bits_put(const struct probe_bits *bits, uint64_t value, uint64_t *config)
{
	if (!value)
		return 0;
	if (!bits->width || (bits->width < 64 && value >> bits->width))
		return -ERANGE;
	*config |= value << bits->low;
	return 0;
}
