/* SPDX-License-Identifier: MIT */
/* What readers want to know of the machine, read from uname, procfs and sysfs. A fact that cannot
 * be read leaves an empty section, which the writer leaves out. */
#include "recording/sections.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"

#define STRING_ALIGN 64
#define PMU_DIR	     "/sys/bus/event_source/devices"
#define CPU_DIR	     "/sys/devices/system/cpu"

void coati_section_u32(struct strbuf *s, uint32_t v)
{
	coati_strbuf_add(s, &v, sizeof(v));
}

void coati_section_u64(struct strbuf *s, uint64_t v)
{
	coati_strbuf_add(s, &v, sizeof(v));
}

void coati_section_string(struct strbuf *s, const char *text)
{
	size_t len = strlen(text) + 1;
	size_t padded = (len + STRING_ALIGN - 1) & ~(size_t)(STRING_ALIGN - 1);

	coati_section_u32(s, (uint32_t)padded);
	coati_strbuf_add(s, text, len);
	coati_strbuf_pad(s, '\0', padded - len);
}

void coati_section_attr(struct strbuf *s, const struct coati_attr *attr, uint32_t bytes)
{
	struct coati_attr copy = *attr;

	copy.size = bytes;
	coati_strbuf_add(s, &copy, bytes);
}

static void add_uname(struct strbuf *s, size_t field)
{
	struct utsname u;

	if (uname(&u) == 0)
		coati_section_string(s, (const char *)&u + field);
}

void coati_section_hostname(struct strbuf *s)
{
	add_uname(s, offsetof(struct utsname, nodename));
}

void coati_section_osrelease(struct strbuf *s)
{
	add_uname(s, offsetof(struct utsname, release));
}

void coati_section_arch(struct strbuf *s)
{
	add_uname(s, offsetof(struct utsname, machine));
}

void coati_section_nrcpus(struct strbuf *s)
{
	coati_section_u32(s, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));
	coati_section_u32(s, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
}

/* The value of "key : value" in /proc/cpuinfo (first CPU), or NULL; lives in @info. */
static char *cpuinfo_value(char *info, const char *key)
{
	char *at = info;
	size_t len = strlen(key);

	while (at && strncmp(at, key, len)) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	at = at ? strchr(at, ':') : NULL;
	if (!at)
		return NULL;
	at += strspn(at, ": \t");
	at[strcspn(at, "\n")] = '\0';
	return at;
}

static bool read_cpuinfo(struct strbuf *info)
{
	/* only the first CPU is wanted; the file of a large machine is longer than the ceiling */
	int r = coati_file_read(AT_FDCWD, "/proc/cpuinfo", info);

	return r == 0 || info->len > 0;
}

void coati_section_cpudesc(struct strbuf *s)
{
	struct strbuf info = STRBUF_INIT(4 << 20);

	if (read_cpuinfo(&info)) {
		char *v = cpuinfo_value(info.text, "model name");

		if (v)
			coati_section_string(s, v);
	}
	coati_strbuf_fini(&info);
}

/* "vendor,family,model,stepping" as perf has it on x86. */
void coati_section_cpuid(struct strbuf *s)
{
	static const char *const keys[] = { "vendor_id", "cpu family", "model\t", "stepping" };
	struct strbuf info = STRBUF_INIT(4 << 20), id = STRBUF_INIT(256);

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char *v;

		coati_strbuf_clear(&info);
		v = read_cpuinfo(&info) ? cpuinfo_value(info.text, keys[i]) : NULL;
		if (!v) {
			coati_strbuf_clear(&id);
			break;
		}
		coati_strbuf_printf(&id, "%s%s", i ? "," : "", v);
	}
	if (id.len)
		coati_section_string(s, id.text);
	coati_strbuf_fini(&info);
	coati_strbuf_fini(&id);
}

void coati_section_total_mem(struct strbuf *s)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)sysconf(_SC_PAGESIZE);

	coati_section_u64(s, pages * page / 1024);
}

void coati_section_cmdline(struct strbuf *s, int argc, const char *const *argv)
{
	coati_section_u32(s, (uint32_t)argc);
	for (int i = 0; i < argc; i++)
		coati_section_string(s, argv[i]);
}

/* Distinct values of one topology file over all CPUs, as a list of strings. */
static void add_siblings(struct strbuf *s, const char *file, long nr_cpus)
{
	struct strbuf list = STRBUF_INIT(1 << 20);
	char path[128], line[256], last[256] = "";
	uint32_t nr = 0;

	for (long cpu = 0; cpu < nr_cpus; cpu++) {
		snprintf(path, sizeof(path), CPU_DIR "/cpu%ld/topology/%s", cpu, file);
		if (coati_file_read_line(AT_FDCWD, path, line, sizeof(line)) < 0)
			continue;
		/* CPUs of one package or core are mostly neighbors; the few repeats that this
		 * misses do no harm */
		if (!strcmp(line, last) || memmem(list.text, list.len, line, strlen(line) + 1))
			continue;
		memcpy(last, line, sizeof(last));
		coati_section_string(&list, line);
		nr++;
	}
	coati_section_u32(s, nr);
	coati_strbuf_add(s, list.text, list.len);
	coati_strbuf_fini(&list);
}

static void add_cpu_id(struct strbuf *s, long cpu, const char *file)
{
	char path[128];
	uint64_t id = 0;

	snprintf(path, sizeof(path), CPU_DIR "/cpu%ld/topology/%s", cpu, file);
	if (coati_file_read_u64(AT_FDCWD, path, &id) < 0)
		id = 0;
	coati_section_u32(s, (uint32_t)id);
}

void coati_section_cpu_topology(struct strbuf *s)
{
	long nr_cpus = sysconf(_SC_NPROCESSORS_CONF);

	add_siblings(s, "package_cpus_list", nr_cpus);
	add_siblings(s, "core_cpus_list", nr_cpus);
	for (long cpu = 0; cpu < nr_cpus; cpu++) {
		add_cpu_id(s, cpu, "core_id");
		add_cpu_id(s, cpu, "physical_package_id");
	}
}

void coati_section_pmu_mappings(struct strbuf *s)
{
	CLEANUP(dir_closep) DIR *dir = opendir(PMU_DIR);
	struct strbuf list = STRBUF_INIT(1 << 20);
	struct dirent *e;
	uint32_t nr = 0;

	while (dir && (e = readdir(dir))) {
		char path[512];
		uint64_t type;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), PMU_DIR "/%s/type", e->d_name);
		if (coati_file_read_u64(AT_FDCWD, path, &type) < 0)
			continue;
		coati_section_u32(&list, (uint32_t)type);
		coati_section_string(&list, e->d_name);
		nr++;
	}
	if (nr) {
		coati_section_u32(s, nr);
		coati_strbuf_add(s, list.text, list.len);
	}
	coati_strbuf_fini(&list);
}

void coati_section_clockid(struct strbuf *s)
{
	struct timespec res;

	if (clock_getres(CLOCK_MONOTONIC, &res) == 0)
		coati_section_u64(s, (uint64_t)res.tv_nsec);
}

void coati_section_clock_data(struct strbuf *s)
{
	uint64_t before = now_ns();
	uint64_t wall = clock_ns(CLOCK_REALTIME);
	uint64_t after = now_ns();

	coati_section_u32(s, 1); /* version */
	coati_section_u32(s, CLOCK_MONOTONIC);
	coati_section_u64(s, wall);
	coati_section_u64(s, before + (after - before) / 2);
}
