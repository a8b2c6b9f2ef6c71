/* SPDX-License-Identifier: MIT */
/* see asleep.h */
#include "capture/asleep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/parse.h"
#include "capture/attr.h"
#include "capture/capture.h"
#include "capture/thread.h"
#include "record/record.h"
#include "recording/writer.h"

#define TEXT_BYTES  8192
#define THREADS_MAX 65536
#define SYMBOLS_MAX 65536
#define SYMBOL_LINE 512

struct asleep_thread {
	uint32_t pid, tid;
	uint64_t ip;
	uint32_t nr;
	struct asleep_frame frames[];
};

struct asleep {
	struct coati_capture *cap;
	ARRAY(struct asleep_thread *) threads;
	struct map symbols; /* name -> address, 0 while it is not known */
	size_t nr_open;	    /* of those that are not */
};

/* ---- /proc ---- */

/* The beginning of a file, which ends with a zero; its length, or -1. */
static ssize_t read_text(int dirfd, const char *path, const char *name, char *text, size_t size)
{
	CLEANUP(fd_closep) int fd = -1;
	char whole[96];
	ssize_t n;

	snprintf(whole, sizeof(whole), "%s/%s", path, name);
	fd = openat(dirfd, whole, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	return n;
}

/* "running", or numbers, of which the last is the address in user space. */
static bool read_syscall(int dirfd, const char *path, uint64_t *ip)
{
	char text[512], *last;

	*ip = 0;
	if (read_text(dirfd, path, "syscall", text, sizeof(text)) <= 0 ||
	    !strncmp(text, "running", 7))
		return false;
	text[strcspn(text, "\n")] = '\0';
	last = strrchr(text, ' ');
	if (last && !strncmp(last, " 0x", 3) && coati_parse_hex(last + 3, ip) < 0)
		*ip = 0;
	return true;
}

/* How a call enters the kernel says nothing of why it waits, and is far behind in the table of
 * symbols, which takes long to read. */
static bool is_entry(const char *name)
{
	static const char *const words[] = { "do_syscall_64",  "entry_SYSCALL_64", "x64_sys_call",
					     "invoke_syscall", "el0_svc",	   "do_el0_svc",
					     "el0t_64_sync" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(name, words[i], strlen(words[i])))
			return true;
	return false;
}

/* One line: "[<0>] NAME+0xOFFSET/0xSIZE [MODULE]". */
static void read_frame(char *line, struct asleep_stack *s)
{
	char *name = strstr(line, "] "), *plus, *slash;
	struct asleep_frame *f = &s->frames[s->nr];

	name = name ? name + 2 : NULL;
	plus = name ? strstr(name, "+0x") : NULL;
	slash = plus ? strchr(plus, '/') : NULL;
	if (!slash || s->nr >= ASLEEP_FRAMES || (size_t)(plus - name) >= sizeof(f->name))
		return;
	*plus = *slash = '\0';
	if (is_entry(name) || coati_parse_hex(plus + 3, &f->offset) < 0)
		return;
	snprintf(f->name, sizeof(f->name), "%s", name);
	s->nr++;
}

int coati_asleep_read(int dirfd, const char *path, struct asleep_stack *ret)
{
	char text[TEXT_BYTES], *save = text;

	ret->nr = 0;
	if (!read_syscall(dirfd, path, &ret->ip))
		return 0;
	if (read_text(dirfd, path, "stack", text, sizeof(text)) > 0)
		for (char *line; (line = strsep(&save, "\n"));)
			read_frame(line, ret);
	/* all that others than root may know: the innermost function */
	if (!ret->nr &&
	    read_text(dirfd, path, "wchan", ret->frames[0].name, sizeof(ret->frames[0].name)) > 0 &&
	    ret->frames[0].name[0] != '0') {
		ret->frames[0].offset = 0;
		ret->nr = 1;
	}
	return ret->nr || ret->ip;
}

static int add_thread(struct asleep *a, int dirfd, uint32_t pid, uint32_t tid)
{
	struct asleep_thread *t, **slot;
	struct asleep_stack s;
	char path[32];

	snprintf(path, sizeof(path), "task/%u", tid);
	if (a->threads.len >= a->threads.max || coati_asleep_read(dirfd, path, &s) <= 0)
		return 0;
	t = coati_alloc(sizeof(*t) + s.nr * sizeof(*t->frames));
	slot = t ? ARRAY_ADD(&a->threads) : NULL;
	if (!slot) {
		coati_free(t);
		return -ENOMEM;
	}
	t->pid = pid;
	t->tid = tid;
	t->ip = s.ip;
	t->nr = s.nr;
	memcpy(t->frames, s.frames, s.nr * sizeof(*t->frames));
	*slot = t;
	return 0;
}

/* All threads of a process, or @only one. */
static int add_process(struct asleep *a, uint32_t pid, uint32_t only)
{
	CLEANUP(fd_closep) int fd = -1;
	CLEANUP(dir_closep) DIR *dir = NULL;
	const char *procfs = a->cap->opts.procfs;
	char path[512];
	int r = 0;

	snprintf(path, sizeof(path), "%s/%u", procfs ? procfs : "/proc", pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (only)
		return add_thread(a, fd, pid, only);
	snprintf(path, sizeof(path), "%s/%u/task", procfs ? procfs : "/proc", pid);
	dir = opendir(path);
	for (struct dirent *e; dir && r == 0 && (e = readdir(dir));) {
		uint32_t tid;

		if (coati_parse_u32(e->d_name, 1, INT32_MAX, &tid) == 0)
			r = add_thread(a, fd, pid, tid);
	}
	return r;
}

static int gather(struct asleep *a)
{
	const struct coati_capture_opts *o = &a->cap->opts;
	uint64_t pid, unused;
	size_t pos = 0;
	int r = 0;

	if (a->cap->tally.tasks.on && a->cap->parts > 1)
		while (r == 0 && coati_map_next(&a->cap->tally.tasks.pids, &pos, &pid, &unused))
			r = add_process(a, (uint32_t)pid, 0);
	else
		for (uint64_t i = 0; r == 0 && i < o->nr_pids; i++)
			r = add_process(a, (uint32_t)o->pids[i], 0);
	for (uint64_t i = 0; r == 0 && i < o->nr_tids; i++) {
		int32_t tid = o->tids[i] ? o->tids[i] : gettid();
		int32_t owner = coati_thread_process(o->procfs, tid);

		r = owner ? add_process(a, (uint32_t)owner, (uint32_t)tid) : 0;
	}
	return r;
}

/* ---- names into addresses ---- */

static int want_symbols(struct asleep *a)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < a->threads.len; i++) {
		const struct asleep_thread *t = a->threads.v[i];

		for (uint32_t n = 0; r >= 0 && n < t->nr; n++)
			r = coati_map_put_str(&a->symbols, t->frames[n].name, 0);
	}
	return r == -ENOMEM ? r : 0;
}

/* "ADDRESS TYPE NAME" or with "\t[MODULE]" behind. Of functions with the same name the first
 * counts. */
static int take_symbol(struct asleep *a, char *line)
{
	char *type = strchr(line, ' '), *name = type ? strchr(type + 1, ' ') : NULL;
	uint64_t addr, known;

	if (!name)
		return 0;
	*type = '\0';
	name++;
	name[strcspn(name, "\t\n ")] = '\0';
	if (!coati_map_get_str(&a->symbols, name, &known) || known ||
	    coati_parse_hex(line, &addr) < 0 || !addr)
		return 0;
	a->nr_open--;
	return coati_map_put_str(&a->symbols, name, addr);
}

/* One pass, however many there are; hidden addresses are zero, and leave out the kernel's part. */
static int find_symbols(struct asleep *a)
{
	const char *procfs = a->cap->opts.procfs;
	char path[512], line[SYMBOL_LINE];
	FILE *f;
	int r = want_symbols(a);

	if (r < 0 || !a->symbols.len)
		return r;
	snprintf(path, sizeof(path), "%s/kallsyms", procfs ? procfs : "/proc");
	f = fopen(path, "re");
	/* it takes tens of milliseconds to read all of it, and most are found in its first half */
	a->nr_open = a->symbols.len;
	while (f && r >= 0 && a->nr_open && fgets(line, sizeof(line), f))
		r = take_symbol(a, line);
	if (f)
		fclose(f);
	return r == -ENOMEM ? r : 0;
}

/* ---- samples ---- */

static uint32_t fill_chain(const struct asleep *a, const struct asleep_thread *s, uint64_t *chain)
{
	uint32_t nr = 0;
	uint64_t addr;

	for (uint32_t i = 0; i < s->nr; i++) {
		if (!coati_map_get_str(&a->symbols, s->frames[i].name, &addr) || !addr)
			continue;
		if (!nr)
			chain[nr++] = COATI_CONTEXT_KERNEL;
		chain[nr++] = addr + s->frames[i].offset;
	}
	if (s->ip) {
		chain[nr++] = COATI_CONTEXT_USER;
		chain[nr++] = s->ip;
	}
	return nr;
}

static int write_sample(struct asleep *a, const struct asleep_thread *t, uint64_t id,
			const struct coati_sample_format *format)
{
	uint64_t chain[ASLEEP_FRAMES + 3];
	struct coati_record rec = { .type = COATI_RECORD_SAMPLE };
	struct coati_sample *s = &rec.u.sample;
	uint8_t bytes[1024];
	int size;

	rec.id = (struct coati_identity){ .present = format->sample_type,
					  .pid = t->pid,
					  .tid = t->tid,
					  .time = now_ns(),
					  .id = id };
	s->present = format->sample_type;
	s->period = 1;
	s->callchain = (struct coati_u64s){ .bytes = (const uint8_t *)chain,
					    .count = fill_chain(a, t, chain) };
	if (!s->callchain.count)
		return 0;
	s->ip = chain[1];
	rec.misc = chain[0] == COATI_CONTEXT_KERNEL ? COATI_MISC_KERNEL : COATI_MISC_USER;
	size = coati_record_encode(&rec, format, bytes, sizeof(bytes));
	return size < 0 ? size : coati_writer_record(a->cap->writer, bytes, (size_t)size);
}

static int write_all(struct asleep *a)
{
	const struct capture_set_state *st = &a->cap->sets[SET_OFF];
	struct coati_attr attr = st->attrs[0];
	struct coati_sample_format format;
	struct coati_set_entry e;
	uint64_t id;
	int r = 0;

	if (coati_set_entry(st->set, 0, &e) < 0 || coati_event_id(e.handle, &id) < 0)
		return 0;
	if (st->unwinds && st->unwinds[0])
		coati_stacks_attr(&attr);
	if (!(attr.sample_type & COATI_SAMPLE_CALLCHAIN) ||
	    attr.sample_type & ~(CAPTURE_IDENTITY | COATI_SAMPLE_CALLCHAIN | COATI_SAMPLE_PERIOD))
		return 0;
	coati_sample_format_init(&attr, &format);
	for (size_t i = 0; r >= 0 && i < a->threads.len; i++)
		r = write_sample(a, a->threads.v[i], id, &format);
	return r;
}

int coati_asleep_write(struct coati_capture *cap)
{
	struct asleep a = { .cap = cap, .threads.max = THREADS_MAX };
	int r = 0;

	if (!cap->writer || !cap->tasks || !cap->sets[SET_OFF].set)
		return 0;
	coati_map_init_strings(&a.symbols, SYMBOLS_MAX);
	r = gather(&a);
	if (r == 0)
		r = find_symbols(&a);
	if (r >= 0)
		r = write_all(&a);
	for (size_t i = 0; i < a.threads.len; i++)
		coati_free(a.threads.v[i]);
	ARRAY_FINI(&a.threads);
	coati_map_fini(&a.symbols);
	return r < 0 ? r : 0;
}
