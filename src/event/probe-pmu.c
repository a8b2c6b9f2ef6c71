/* SPDX-License-Identifier: MIT */
/*
 * The name of a probe PMU comes in, its number and bit fields go out. Both differ between kernels
 * and boots, so nothing is taken for known: what sysfs does not name cannot be set.
 */
#include "event/probe-pmu.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "event/pmu.h"

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

/* A field that is not there stays empty; one in another word than config would overwrite the
 * path. */
static int read_field(const struct pmu *p, const char *name, struct pmu_field *ret,
		      struct coati_error *err)
{
	struct pmu_field f;
	int r = coati_pmu_field(p, name, &f);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && f.word != 0)
		r = -EBADMSG;
	if (r < 0)
		return coati_fail(err, r, "format/%s of the %s PMU in sysfs cannot be used: %m",
				  name, p->name);
	*ret = f;
	return 0;
}

int coati_probe_pmu_read(const char *sysfs, const char *name, struct probe_pmu *ret,
			 struct coati_error *err)
{
	CLEANUP(coati_pmu_close) struct pmu p = { .fd = -1 };
	struct probe_pmu pmu = { 0 };
	int r = coati_pmu_open(sysfs, name, &p);

	if (r == -ENOENT || r == -ENOTDIR)
		return fail_missing(sysfs, name, err);
	if (r == -EINVAL || r == -ERANGE || r == -E2BIG || r == -EBADMSG)
		return coati_fail(err, -EBADMSG, "the type of the %s PMU in sysfs is not a number",
				  name);
	if (r < 0)
		return coati_fail(err, r, "read the %s PMU in sysfs: %m", name);
	pmu.type = p.type;
	r = read_field(&p, "retprobe", &pmu.retprobe, err);
	if (r == 0)
		r = read_field(&p, "ref_ctr_offset", &pmu.ref_ctr, err);
	if (r == 0)
		*ret = pmu;
	return r;
}

int coati_probe_pmu_set(const struct pmu_field *f, uint64_t value, struct coati_attr *attr)
{
	if (!value)
		return 0;
	return f->mask ? coati_pmu_field_set(f, value, attr) : -ERANGE;
}
