/* SPDX-License-Identifier: MIT */
/* see facts.h */
#include "event/facts.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "event/host.h"

#define PMUS "/sys/bus/event_source/devices"

int64_t coati_facts_sysctl(const char *name)
{
	char path[96];
	int64_t value;
	int len = snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);

	if (len < 0 || (size_t)len >= sizeof(path) ||
	    coati_file_read_i64(AT_FDCWD, path, &value) < 0)
		return COATI_HOST_UNKNOWN;
	return value;
}

/* The value behind "@key:" in the text of a status file, without blanks; "" when it is not
 * there. */
static void status_value(const char *text, const char *key, char *buf, size_t size)
{
	size_t len = strlen(key), n = 0;

	buf[0] = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) != 0 || line[len] != ':')
			continue;
		line += len + 1;
		line += strspn(line, " \t");
		n = strcspn(line, " \t\n");
		if (n < size) {
			memcpy(buf, line, n);
			buf[n] = '\0';
		}
		return;
	}
}

static void read_status(struct facts *f)
{
	struct strbuf s = STRBUF_INIT(64 * 1024);
	char word[32];
	uint64_t value;

	if (coati_file_read(AT_FDCWD, "/proc/self/status", &s) >= 0) {
		status_value(s.text, "CapEff", word, sizeof(word));
		if (coati_parse_hex(word, &value) == 0)
			f->caps = value;
		status_value(s.text, "Seccomp", word, sizeof(word));
		if (coati_parse_u64(word, 0, 9, &value) == 0)
			f->seccomp = (int64_t)value;
	}
	coati_strbuf_fini(&s);
}

/* The initial user namespace maps everything onto itself. */
static bool in_user_namespace(void)
{
	char line[128];
	const char *p = line;
	uint64_t words[3] = { 0 };

	if (coati_file_read_line(AT_FDCWD, "/proc/self/uid_map", line, sizeof(line)) < 0)
		return false;
	for (int i = 0; i < 3; i++) {
		p += strspn(p, " \t");
		for (; isdigit((unsigned char)*p); p++)
			words[i] = words[i] * 10 + (uint64_t)(*p - '0');
	}
	return words[0] != 0 || words[1] != 0 || words[2] != UINT32_MAX;
}

static void find_container(char *buf, size_t size)
{
	static const char *const marks[] = { "docker", "kubepods", "containerd", "libpod", "lxc" };
	struct strbuf s = STRBUF_INIT(64 * 1024);

	buf[0] = '\0';
	if (access("/.dockerenv", F_OK) == 0)
		snprintf(buf, size, "docker");
	else if (access("/run/.containerenv", F_OK) == 0)
		snprintf(buf, size, "podman");
	else if (coati_file_read_line(AT_FDCWD, "/run/systemd/container", buf, size) < 0)
		buf[0] = '\0';
	if (!buf[0] && coati_file_read(AT_FDCWD, "/proc/1/cgroup", &s) >= 0)
		for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && !buf[0]; i++)
			if (strstr(s.text, marks[i]))
				snprintf(buf, size, "cgroup %s", marks[i]);
	coati_strbuf_fini(&s);
}

static int64_t read_lockdown(void)
{
	char line[128];

	if (coati_file_read_line(AT_FDCWD, "/sys/kernel/security/lockdown", line, sizeof(line)) < 0)
		return 0;
	if (strstr(line, "[confidentiality]"))
		return 2;
	return strstr(line, "[integrity]") ? 1 : 0;
}

int64_t coati_facts_uid_of(int32_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) == 0 ? (int64_t)st.st_uid : -1;
}

/* One PMU after the other: calls fn until it says true. */
static void each_pmu(bool (*fn)(int dirfd, const char *name, void *ctx), void *ctx)
{
	CLEANUP(dir_closep) DIR *dir = opendir(PMUS);

	for (struct dirent *e; dir && (e = readdir(dir));)
		if (e->d_name[0] != '.' && fn(dirfd(dir), e->d_name, ctx))
			return;
}

struct wanted_pmu {
	uint32_t type;
	char *buf;
	size_t size;
};

static bool has_type(int dirfd, const char *name, void *ctx)
{
	const struct wanted_pmu *w = ctx;
	char path[288];
	uint64_t type;

	snprintf(path, sizeof(path), "%s/type", name);
	if (coati_file_read_u64(dirfd, path, &type) < 0 || type != w->type)
		return false;
	snprintf(w->buf, w->size, "%s", name);
	return true;
}

void coati_facts_pmu_name(uint32_t type, char *buf, size_t size)
{
	struct wanted_pmu w = { type, buf, size };

	buf[0] = '\0';
	each_pmu(has_type, &w);
}

/* "cpu" on x86, PMUs with a list of their cores (cpu_core, armv8_...) elsewhere. */
static bool is_core_pmu(int dirfd, const char *name, void *ctx)
{
	char path[288];

	snprintf(path, sizeof(path), "%s/cpus", name);
	if (strcmp(name, "cpu") != 0 && faccessat(dirfd, path, F_OK, 0) != 0)
		return false;
	*(bool *)ctx = true;
	return true;
}

bool coati_facts_core_pmu(void)
{
	bool found = false;

	each_pmu(is_core_pmu, &found);
	return found;
}

int64_t coati_facts_nr_cpus(const char *which)
{
	uint64_t bits[8192 / 64] = { 0 };
	char path[96], text[4096];
	int64_t nr = 0;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/%s", which);
	if (coati_file_read_line(AT_FDCWD, path, text, sizeof(text)) < 0 ||
	    coati_parse_cpulist(text, bits, 8192) < 0)
		return 0;
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		nr += __builtin_popcountll(bits[i]);
	return nr;
}

void coati_facts_read(struct facts *ret)
{
	struct rlimit nofile = { 0, 0 };
	struct facts f = {
		.paranoid = coati_facts_sysctl("perf_event_paranoid"),
		.max_sample_rate = coati_facts_sysctl("perf_event_max_sample_rate"),
		.max_stack = coati_facts_sysctl("perf_event_max_stack"),
		.uid = geteuid(),
		.user_namespace = in_user_namespace(),
		.lockdown = read_lockdown(),
		.target_uid = -1,
		.plain = FACT_NOT_TRIED,
		.ungrouped = FACT_NOT_TRIED,
		.inherited_read = FACT_NOT_TRIED,
	};
	ssize_t len = readlink("/proc/self/exe", f.program, sizeof(f.program) - 1);

	f.program[len > 0 ? len : 0] = '\0';
	getrlimit(RLIMIT_NOFILE, &nofile);
	f.nofile_soft = nofile.rlim_cur;
	f.nofile_hard = nofile.rlim_max;
	read_status(&f);
	find_container(f.container, sizeof(f.container));
	*ret = f;
}
