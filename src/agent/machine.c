/* SPDX-License-Identifier: MIT */
/* see machine.h. Everything is read through ceilings; what is malformed counts as not there. */
#include "agent/machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/parse.h"

#define FILE_MAX    (256u << 10)
#define THREADS_MAX 4096 /* of one process, whose run delay is read */
#define CGROUP_ROOT "/sys/fs/cgroup"

static int read_text(const char *path, struct strbuf *s)
{
	int r = coati_file_read(AT_FDCWD, path, s);

	return r < 0 ? r : s->len ? 0 : -ENODATA;
}

/* The next number of a line; *at is behind it. */
static bool next_number(const char **at, uint64_t *ret)
{
	char number[32];
	size_t len;

	*at += strspn(*at, " ");
	len = strspn(*at, "0123456789");
	if (!len || len >= sizeof(number))
		return false;
	memcpy(number, *at, len);
	number[len] = '\0';
	*at += len;
	return coati_parse_u64(number, 0, UINT64_MAX, ret) == 0;
}

/* ---- cgroups ---- */

/* "0::/a/b" or "4:cpu,cpuacct:/a/b": does it count, and its path. */
static const char *path_of_line(const char *line, bool *ret_unified)
{
	const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
	size_t len = path ? (size_t)(path - names - 1) : 0;

	if (!path || path[1] != '/')
		return NULL;
	*ret_unified = !len;
	if (!len || memmem(names + 1, len, "cpuacct", 7) ||
	    memmem(names + 1, len, "name=systemd", 12))
		return path + 1;
	return NULL;
}

/* The unified one says most, unless everything is in its root. */
static void choose(char *text, char ret[AGENT_CGROUP_MAX])
{
	char *save = NULL;

	ret[0] = '\0';
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		bool unified = false;
		const char *path = path_of_line(line, &unified);

		if (!path || strlen(path) >= AGENT_CGROUP_MAX)
			continue;
		if (!ret[0] || !strcmp(ret, "/") || (unified && strcmp(path, "/") != 0))
			memcpy(ret, path, strlen(path) + 1);
	}
}

int coati_machine_cgroup_of(int32_t pid, char ret[AGENT_CGROUP_MAX])
{
	struct strbuf s = STRBUF_INIT(FILE_MAX);
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	r = read_text(path, &s);
	if (r == 0)
		choose(s.text, ret);
	coati_strbuf_fini(&s);
	return r < 0 ? r : ret[0] ? 0 : -EBADMSG;
}

void coati_machine_program_of(int32_t pid, char ret[AGENT_PROGRAM_MAX])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	if (coati_file_read_line(AT_FDCWD, path, ret, AGENT_PROGRAM_MAX) < 0)
		ret[0] = '\0';
}

/* The number behind a word at the start of a line. */
static int find_number(const char *text, const char *word, uint64_t *ret)
{
	const char *at = strstr(text, word);

	while (at && at != text && at[-1] != '\n')
		at = strstr(at + 1, word);
	if (!at)
		return -ENOENT;
	at += strlen(word);
	return next_number(&at, ret) ? 0 : -EBADMSG;
}

int coati_machine_cgroup_cpu(const char *cgroup, uint64_t *ret_ns)
{
	static const char *const places[] = { CGROUP_ROOT, CGROUP_ROOT "/unified" };
	struct strbuf s = STRBUF_INIT(FILE_MAX);
	char path[AGENT_CGROUP_MAX + 64];
	uint64_t us;
	int r = -ENOENT;

	if (*cgroup != '/' || strstr(cgroup, "/../"))
		return -ENOENT;
	for (size_t i = 0; r < 0 && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s%s/cpu.stat", places[i], cgroup);
		coati_strbuf_clear(&s);
		r = read_text(path, &s);
		if (r == 0)
			r = find_number(s.text, "usage_usec ", &us);
		if (r == 0)
			*ret_ns = us * 1000;
	}
	coati_strbuf_fini(&s);
	if (r == 0)
		return 0;
	snprintf(path, sizeof(path), CGROUP_ROOT "/cpuacct%s/cpuacct.usage", cgroup);
	return coati_file_read_u64(AT_FDCWD, path, ret_ns);
}

/* ---- processes ---- */

uint64_t coati_machine_process_start(int32_t pid)
{
	struct strbuf s = STRBUF_INIT(4096);
	long hz = sysconf(_SC_CLK_TCK);
	char path[64];
	const char *p;
	uint64_t ticks = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	p = read_text(path, &s) == 0 ? strrchr(s.text, ')') : NULL;
	/* the name is the second field, the time the 22nd */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (p && (!next_number(&p, &ticks) || ticks > UINT64_MAX / NSEC_PER_SEC))
		ticks = 0;
	coati_strbuf_fini(&s);
	return hz > 0 ? ticks * (NSEC_PER_SEC / (uint64_t)hz) : 0;
}

/* "RUN DELAY SLICES" */
static uint64_t delay_of(int dir, const char *tid)
{
	char path[64], line[128];
	const char *at = line;
	uint64_t run, delay;

	if (snprintf(path, sizeof(path), "%s/schedstat", tid) >= (int)sizeof(path) ||
	    coati_file_read_line(dir, path, line, sizeof(line)) < 0)
		return 0;
	return next_number(&at, &run) && next_number(&at, &delay) ? delay : 0;
}

int coati_machine_run_delay(int32_t pid, uint64_t *ret_ns)
{
	struct dirent *e;
	unsigned int nr = 0;
	char path[64];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return -errno;
	*ret_ns = 0;
	while (nr < THREADS_MAX && (e = readdir(d)))
		if (e->d_name[0] != '.') {
			*ret_ns += delay_of(dirfd(d), e->d_name);
			nr++;
		}
	closedir(d);
	return 0;
}

/* ---- the machine ---- */

int coati_machine_cpu(struct machine_cpu *ret)
{
	struct strbuf s = STRBUF_INIT(FILE_MAX * 4);
	uint64_t v[8] = { 0 };
	const char *at;
	int r = read_text("/proc/stat", &s), nr = 0;

	at = r == 0 && !strncmp(s.text, "cpu ", 4) ? s.text + 4 : "";
	while (nr < 8 && next_number(&at, &v[nr]))
		nr++;
	coati_strbuf_fini(&s);
	if (r == 0 && nr < 4)
		r = -EBADMSG;
	if (r < 0)
		return r;
	*ret = (struct machine_cpu){ 0 };
	for (int i = 0; i < 8; i++) {
		ret->total += v[i];
		ret->busy += i == 3 || i == 4 ? 0 : v[i]; /* idle and waiting for I/O */
	}
	return 0;
}

int coati_machine_pressure(const char *what, double *ret)
{
	char path[64], line[256], *at;
	int r;

	snprintf(path, sizeof(path), "/proc/pressure/%s", what);
	r = coati_file_read_line(AT_FDCWD, path, line, sizeof(line));
	if (r < 0)
		return r;
	at = strstr(line, "avg10=");
	if (!at)
		return -EBADMSG;
	at += strlen("avg10=");
	at[strcspn(at, " ")] = '\0';
	return coati_parse_double(at, ret);
}

uint64_t coati_machine_cpus_online(uint32_t *ret_nr)
{
	static const char path[] = "/sys/devices/system/cpu/online";
	char line[4096] = "";
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	*ret_nr = nr > 0 ? (uint32_t)nr : 1;
	if (coati_file_read_line(AT_FDCWD, path, line, sizeof(line)) < 0)
		return *ret_nr;
	return coati_hash_bytes(line, strlen(line), 1);
}

uint64_t coati_machine_own_memory(void)
{
	uint64_t size, resident;
	char line[128];
	const char *at = line;

	if (coati_file_read_line(AT_FDCWD, "/proc/self/statm", line, sizeof(line)) < 0 ||
	    !next_number(&at, &size) || !next_number(&at, &resident))
		return 0;
	return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* "cpuN" and nine numbers, of which the eighth is the waiting. */
int coati_machine_all_delay(uint64_t *ret_ns)
{
	struct strbuf s = STRBUF_INIT(FILE_MAX * 16);
	int r = read_text("/proc/schedstat", &s);
	const char *line = r == 0 ? s.text : NULL;
	uint64_t sum = 0, v = 0;

	for (; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "cpu", 3) != 0)
			continue;
		line += strcspn(line, " \n");
		for (int i = 0; i < 8 && next_number(&line, &v); i++)
			;
		sum += v;
	}
	coati_strbuf_fini(&s);
	*ret_ns = sum;
	return r;
}
