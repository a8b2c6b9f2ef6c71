/* SPDX-License-Identifier: MIT */
/* CPU lists of sysfs ("0-3,8") as bits. */
#include "ring/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/parse.h"

static int read_list(const char *sysfs, const char *name, struct coati_cpus *ret)
{
	char path[512], line[4096];
	int r = snprintf(path, sizeof(path), "%s/devices/system/cpu/%s", sysfs, name);

	if (r < 0 || (size_t)r >= sizeof(path))
		return -E2BIG;
	r = coati_file_read_line(AT_FDCWD, path, line, sizeof(line));
	if (r < 0)
		return r;
	memset(ret, 0, sizeof(*ret));
	return coati_parse_cpulist(line, ret->bits, CPUS_MAX);
}

int coati_cpus_online(const char *sysfs, struct coati_cpus *ret)
{
	return read_list(sysfs, "online", ret);
}

int coati_cpus_possible(const char *sysfs, uint32_t *ret)
{
	struct coati_cpus cpus;
	int r = read_list(sysfs, "possible", &cpus);

	if (r < 0)
		return r;
	for (uint32_t cpu = CPUS_MAX; cpu > 0; cpu--)
		if (cpus_has(&cpus, cpu - 1)) {
			*ret = cpu;
			return 0;
		}
	return -EBADMSG;
}
