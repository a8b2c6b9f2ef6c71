/* SPDX-License-Identifier: MIT */
/*
 * A process that runs now and has no records: its mappings, its name, its parent and its
 * namespaces, out of /proc. It may end or become another program while it is read. The directory is
 * held open, so that a new process with the same number is not taken for it; the mappings are those
 * of one moment (the kernel keeps the file to the memory it was opened for), and when that memory
 * is not the process' any more afterwards, it is read again.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "process/processes.h"
#include "process/proc.h"

#define MAPS_BYTES_MAX ((size_t)64 << 20)
#define STAT_BYTES_MAX 4096
#define LINE_BYTES     (PATH_BYTES_MAX + 256)
#define TRIES	       3
#define PATH_BYTES_MAX 4096

static int open_process(const struct coati_processes *ps, int32_t pid)
{
	char path[PATH_BYTES_MAX];

	snprintf(path, sizeof(path), "%s/%d", ps->procfs, pid);
	return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Does the text begin as the file does now? An exec puts other memory there. */
static bool still_begins(int dir, const struct strbuf *text)
{
	char line[LINE_BYTES];
	size_t len;

	if (coati_file_read_line(dir, "maps", line, sizeof(line)) < 0)
		return false;
	len = strlen(line);
	return text->len > len && !memcmp(text->text, line, len) && text->text[len] == '\n';
}

/* All of a maps file, of one program. */
static int read_maps(int dir, struct strbuf *text)
{
	for (int i = 0; i < TRIES; i++) {
		int r;

		coati_strbuf_clear(text);
		r = coati_file_read(dir, "maps", text);
		if (r < 0 || !text->len)
			return r < 0 ? r : -ESRCH;
		if (still_begins(dir, text))
			return 0;
	}
	return -EAGAIN;
}

static int feed(struct coati_processes *ps, struct coati_record *rec)
{
	struct coati_raw raw = { .type = rec->type, .misc = rec->misc };

	return coati_processes_feed(ps, &raw, rec);
}

static int feed_line(struct coati_processes *ps, int32_t pid, char *line)
{
	struct coati_record rec = { .type = COATI_RECORD_MMAP2, .misc = COATI_MISC_USER };
	struct coati_mmap *m = &rec.u.mmap;

	if (coati_maps_line(line, m) < 0 || !(m->prot & PROT_EXEC) ||
	    strlen(m->name) >= PATH_BYTES_MAX)
		return 0;
	m->pid = m->tid = (uint32_t)pid;
	if (!*m->name) {
		m->name = "//anon";
		m->pgoff = m->addr;
	}
	return feed(ps, &rec);
}

static int feed_maps(struct coati_processes *ps, int32_t pid, char *text)
{
	char *line;
	int r = 0;

	while (r == 0 && (line = strsep(&text, "\n")))
		r = feed_line(ps, pid, line);
	return r;
}

/* Name and parent. */
static int feed_stat(struct coati_processes *ps, int32_t pid, int dir)
{
	struct strbuf text = STRBUF_INIT(STAT_BYTES_MAX);
	struct coati_record rec = { .type = COATI_RECORD_FORK, .misc = COATI_MISC_FORK_EXEC };
	struct proc_stat st;
	int r = coati_file_read(dir, "stat", &text);

	r = r < 0 ? r : coati_proc_stat(text.text, text.len, &st);
	coati_strbuf_fini(&text);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	rec.u.task = (struct coati_task){
		.pid = (uint32_t)pid, .tid = (uint32_t)pid, .ppid = st.ppid, .ptid = st.ppid
	};
	r = feed(ps, &rec);
	if (r < 0)
		return r;
	rec = (struct coati_record){
		.type = COATI_RECORD_COMM,
		.u.comm = { .pid = (uint32_t)pid, .tid = (uint32_t)pid, .name = st.comm }
	};
	return feed(ps, &rec);
}

static void read_namespaces(struct coati_processes *ps, struct process *p, int dir)
{
	struct stat st;

	if (p->ns_time || p->pid_ns)
		return;
	if (fstatat(dir, "ns/pid", &st, 0) == 0)
		p->pid_ns = st.st_ino;
	if (fstatat(dir, "ns/mnt", &st, 0) == 0)
		p->mnt_ns = st.st_ino;
	ps->thread_change++;
}

int coati_processes_read(struct coati_processes *ps, struct pid_slot *slot)
{
	CLEANUP(fd_closep) int dir = -1;
	struct strbuf text = STRBUF_INIT(MAPS_BYTES_MAX);
	struct process *first = slot->spans.v[0].process;
	uint64_t from, to;
	int r;

	slot->was_read = true;
	/* The mappings of a process whose start was recorded were recorded, too, or those of its
	 * parent; and so were those of a process that a recorder found. */
	if (slot->pid <= 0 || (!first->is_implicit && slot->spans.v[0].from) ||
	    slot->spans.len > 1 ||
	    coati_ranges_position(&slot->spans.v[0].space->ranges, 0, &from, &to))
		return 0;
	dir = open_process(ps, slot->pid);
	if (dir < 0)
		return 0;
	r = read_maps(dir, &text);
	if (r == 0)
		r = feed_maps(ps, slot->pid, text.text);
	coati_strbuf_fini(&text);
	if (r != -ENOMEM)
		r = feed_stat(ps, slot->pid, dir);
	if (r == 0)
		read_namespaces(ps, slot->spans.v[0].process, dir);
	return r == -ENOMEM ? r : 0;
}

int coati_processes_read_thread(struct coati_processes *ps, int32_t pid, int32_t tid)
{
	struct coati_record rec = { .type = COATI_RECORD_COMM,
				    .u.comm = { .pid = (uint32_t)pid, .tid = (uint32_t)tid } };
	char path[PATH_BYTES_MAX], name[PROC_COMM_MAX];

	if (pid <= 0 || tid <= 0)
		return 0;
	snprintf(path, sizeof(path), "%s/%d/task/%d/comm", ps->procfs, pid, tid);
	if (coati_file_read_line(AT_FDCWD, path, name, sizeof(name)) < 0 || !name[0])
		return 0;
	rec.u.comm.name = name;
	return feed(ps, &rec);
}
