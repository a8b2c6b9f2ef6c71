/* SPDX-License-Identifier: MIT */
/*
 * Processes and threads that run already, from /proc, with few system calls: three for a process,
 * three for its mappings, and its threads only when it has more than one.
 */
#include "capture/synth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "capture/thread.h"

#define STAT_BYTES    4096
#define NR_NAMESPACES 7

/* The start of a small file: its length, or negative. */
static ssize_t read_small(int dirfd, const char *path, char *buf, size_t size)
{
	CLEANUP(fd_closep) int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = read(fd, buf, size - 1);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return n;
}

static int write_fork(struct synth *s, uint32_t pid, uint32_t tid, uint32_t parent)
{
	struct coati_record rec = {
		.type = COATI_RECORD_FORK,
		.misc = COATI_MISC_FORK_EXEC, /* nothing is to be taken over from the parent */
		.u.task = { .pid = pid, .ppid = parent, .tid = tid, .ptid = parent },
	};

	return coati_synth_emit(s, &rec, pid, tid);
}

static int write_comm(struct synth *s, uint32_t pid, uint32_t tid, const char *name)
{
	struct coati_record rec = { .type = COATI_RECORD_COMM,
				    .u.comm = { .pid = pid, .tid = tid, .name = name } };

	return coati_synth_emit(s, &rec, pid, tid);
}

static int write_namespaces(struct synth *s, uint32_t pid)
{
	static const char *const names[NR_NAMESPACES] = { "net",  "uts", "ipc",	  "pid",
							  "user", "mnt", "cgroup" };
	uint64_t links[2 * NR_NAMESPACES] = { 0 };
	struct coati_record rec = { .type = COATI_RECORD_NAMESPACES,
				    .u.namespaces = { .pid = pid, .tid = pid } };
	bool any = false;

	for (int i = 0; i < NR_NAMESPACES; i++) {
		struct stat st;
		char path[40];

		snprintf(path, sizeof(path), "%u/ns/%s", pid, names[i]);
		if (fstatat(s->proc_fd, path, &st, 0) < 0)
			continue;
		links[2 * i] = st.st_dev;
		links[2 * i + 1] = st.st_ino;
		any = true;
	}
	if (!any)
		return 0;
	rec.u.namespaces.nr = NR_NAMESPACES;
	rec.u.namespaces.links =
		(struct coati_u64s){ .bytes = (const uint8_t *)links, .count = 2 * NR_NAMESPACES };
	return coati_synth_emit(s, &rec, pid, pid);
}

/* One thread that is not the first of its process. */
static int write_thread(struct synth *s, int dirfd, uint32_t pid, uint32_t tid)
{
	char path[40], name[SYNTH_COMM_MAX];
	ssize_t n;
	int r;

	snprintf(path, sizeof(path), "%u/comm", tid);
	n = read_small(dirfd, path, name, sizeof(name));
	if (n < 0)
		return 0;
	if (n && name[n - 1] == '\n')
		name[n - 1] = '\0';
	r = write_fork(s, pid, tid, pid);
	return r < 0 ? r : write_comm(s, pid, tid, name);
}

static int write_threads(struct synth *s, uint32_t pid)
{
	CLEANUP(dir_closep) DIR *dir = NULL;
	char path[32];
	int fd, r = 0;

	snprintf(path, sizeof(path), "%u/task", pid);
	fd = openat(s->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		fd_closep(&fd);
		return 0;
	}
	for (struct dirent *e; r >= 0 && (e = readdir(dir));) {
		uint32_t tid;

		if (coati_parse_u32(e->d_name, 1, INT32_MAX, &tid) < 0 || tid == pid)
			continue;
		r = write_thread(s, dirfd(dir), pid, tid);
	}
	return r;
}

static int read_stat(struct synth *s, int32_t pid, struct proc_stat *ret)
{
	char path[32], text[STAT_BYTES];
	ssize_t n;

	snprintf(path, sizeof(path), "%d/stat", pid);
	n = read_small(s->proc_fd, path, text, sizeof(text));
	return n < 0 ? (int)n : coati_proc_stat(text, (size_t)n, ret);
}

/* The first thread and what all of them share. */
static int write_leader(struct synth *s, uint32_t pid, const struct proc_stat *st)
{
	int r = write_fork(s, pid, pid, st->ppid);

	if (r >= 0 && s->namespaces)
		r = write_namespaces(s, pid);
	if (r >= 0)
		r = write_comm(s, pid, pid, st->comm);
	if (r >= 0 && !st->kernel)
		r = coati_synth_maps(s, (int32_t)pid);
	return r;
}

int coati_synth_process(struct synth *s, int32_t pid)
{
	struct proc_stat st;
	int r;

	if (pid <= 0 || read_stat(s, pid, &st) < 0)
		return 0;
	r = write_leader(s, (uint32_t)pid, &st);
	if (r >= 0 && st.nr_threads > 1)
		r = write_threads(s, (uint32_t)pid);
	return r < 0 ? r : 0;
}

/* The process that a thread belongs to, or 0. */
static uint32_t process_of(struct synth *s, int32_t tid)
{
	char path[32], text[STAT_BYTES];

	snprintf(path, sizeof(path), "%d/status", tid);
	if (read_small(s->proc_fd, path, text, sizeof(text)) < 0)
		return 0;
	return (uint32_t)coati_thread_process_in(text);
}

int coati_synth_thread(struct synth *s, int32_t tid)
{
	CLEANUP(fd_closep) int fd = -1;
	uint32_t pid = tid > 0 ? process_of(s, tid) : 0;
	struct proc_stat st;
	char path[32];
	int r;

	if (!pid || read_stat(s, (int32_t)pid, &st) < 0)
		return 0;
	r = write_leader(s, pid, &st);
	if (r < 0 || pid == (uint32_t)tid)
		return r;
	snprintf(path, sizeof(path), "%u/task", pid);
	fd = openat(s->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? 0 : write_thread(s, fd, pid, (uint32_t)tid);
}

int coati_synth_held(struct synth *s, int32_t pid)
{
	char name[SYNTH_COMM_MAX] = "";
	int r = write_fork(s, (uint32_t)pid, (uint32_t)pid, (uint32_t)getpid());

	prctl(PR_GET_NAME, name);
	return r < 0 ? r : write_comm(s, (uint32_t)pid, (uint32_t)pid, name);
}

int coati_synth_all(struct synth *s)
{
	CLEANUP(dir_closep) DIR *dir = NULL;
	int fd = openat(s->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		fd_closep(&fd);
		return 0;
	}
	for (struct dirent *e; r >= 0 && (e = readdir(dir));) {
		uint32_t pid;

		if (coati_parse_u32(e->d_name, 1, INT32_MAX, &pid) == 0)
			r = coati_synth_process(s, (int32_t)pid);
	}
	return r;
}
