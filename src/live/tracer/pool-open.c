/* SPDX-License-Identifier: MIT */
/*
 * The memory of the tracer: made when the first recorder starts, taken away with the last. In: how
 * many bytes, and where their file is to be. Out: a mapping that is there to its last page, so that
 * no store can fail. Ordinary code.
 */
#include "live/tracer/ask.h"
#include "live/tracer/emit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parse.h"
#include "live/auto/auto.h"
#include "live/tracer/folder.h"

#define PAGE	     UINT64_C(4096)
#define HEADER_BYTES PAGE
#define MIN_CHUNKS   16u
#define MAX_BYTES    (UINT64_C(1) << 36)
#define STRINGS	     4096u
#define STRING_BYTES (UINT64_C(1) << 18)
#define STACKS	     8192u
#define STACK_BYTES  (UINT64_C(1) << 22)

static uint64_t up(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

static uint64_t between(uint64_t n, uint64_t min, uint64_t max)
{
	return n < min ? min : n > max ? max : n;
}

/* ---- who this process is ---- */

/* Field 22 of /proc/self/stat, behind the name, which may hold anything. */
static uint64_t start_ticks(void)
{
	char text[1024], *p;
	uint64_t ticks = 0;

	if (coati_file_read_line(AT_FDCWD, "/proc/self/stat", text, sizeof(text)) < 0)
		return 0;
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	if (!p)
		return 0;
	p[strcspn(p, " ")] = '\0';
	return coati_parse_u64(p, 0, UINT64_MAX, &ticks) < 0 ? 0 : ticks;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void read_boot_id(uint8_t ret[16])
{
	char text[64] = "";
	uint32_t n = 0;

	if (coati_file_read_line(AT_FDCWD, "/proc/sys/kernel/random/boot_id", text, sizeof(text)) <
	    0)
		return;
	for (const char *p = text; *p && n < 32; p++)
		if (digit(*p) >= 0) {
			ret[n / 2] = (uint8_t)(ret[n / 2] << 4 | digit(*p));
			n++;
		}
}

/* ---- the file ---- */

/* Over the limit the kernel sends SIGXFSZ, which would end the program that asked for nothing but a
 * recorder. */
static int check_limit(uint64_t bytes, struct coati_error *err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= bytes)
		return 0;
	return coati_fail(
		err, -EFBIG,
		"a recorder of %llu bytes is over the limit for files of this process (ulimit "
		"-f): ask for less, or raise it",
		(unsigned long long)bytes);
}

/* Bytes that are there to the last page, behind @fd. */
static int map_file(int fd, uint64_t bytes, const char *where, struct coati_error *err)
{
	struct tracer *g = &coati_tracer;
	int r = posix_fallocate(fd, 0, (off_t)bytes);
	void *mem;

	if (r)
		return coati_fail(err, -r, "cannot get %llu bytes of memory in %s: %m",
				  (unsigned long long)bytes, where);
	mem = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (mem == MAP_FAILED)
		return coati_fail(err, -errno, "cannot map %llu bytes: %m",
				  (unsigned long long)bytes);
	g->map = mem;
	g->map_bytes = bytes;
	return 0;
}

static int make_memfd(uint64_t bytes, struct coati_error *err)
{
	struct tracer *g = &coati_tracer;
	CLEANUP(fd_closep)
	int fd = (int)syscall(SYS_memfd_create, "coati-live", 1u /* MFD_CLOEXEC */);
	int r;

	if (fd < 0)
		return coati_fail(err, -errno, "cannot make a memfd: %m");
	r = coati_file_lock(fd); /* as of a file: its writer lives */
	r = r < 0 ? coati_fail(err, r, "cannot lock a memfd: %m")
		  : map_file(fd, bytes, "a memfd", err);
	if (r < 0)
		return r;
	g->fd = TAKE_FD(fd);
	return 0;
}

/* In the directory, under its name only when it has been described. */
static int make_file(const struct tracer_folder *f, const char *name, uint64_t bytes,
		     struct coati_error *err)
{
	struct tracer *g = &coati_tracer;
	CLEANUP(fd_closep) int fd = -1;
	int r;

	fd = coati_tracer_file_make(f, name, err);
	if (fd < 0)
		return fd;
	r = map_file(fd, bytes, f->path, err);
	if (r < 0) {
		coati_tracer_file_drop(f, name);
		return r;
	}
	snprintf(g->path, sizeof(g->path), "%s/%s", f->path, name);
	g->fd = TAKE_FD(fd);
	return 0;
}

static int make_memory(const struct tracer_folder *f, const char *name, uint64_t bytes,
		       struct coati_error *err)
{
	struct tracer *g = &coati_tracer;
	int r = check_limit(bytes, err);

	g->path[0] = '\0';
	g->place = f->place;
	if (r < 0)
		return r;
	return f->fd < 0 ? make_memfd(bytes, err) : make_file(f, name, bytes, err);
}

/* ---- the layout ---- */

static void lay_out(uint64_t bytes, struct live_map *m)
{
	uint64_t left;

	m->magic = LIVE_MAP_MAGIC;
	m->version = 1;
	m->header_bytes = (uint32_t)HEADER_BYTES;
	m->sites_at = HEADER_BYTES;
	m->sites_bytes = up(between(bytes / 16, 16384, UINT64_C(1) << 20), PAGE);
	m->tasks_at = m->sites_at + m->sites_bytes;
	m->tasks_count = between(bytes / 1024, 256, 16384) & ~UINT64_C(63);
	m->directory_at = up(m->tasks_at + m->tasks_count * sizeof(struct live_open_task), PAGE);
	left = bytes > m->directory_at ? bytes - m->directory_at : 0;
	m->chunk_bytes = TRACER_CHUNK;
	m->chunk_count = (uint32_t)between(left / (TRACER_CHUNK + sizeof(struct live_chunk)),
					   MIN_CHUNKS, MAX_BYTES / TRACER_CHUNK);
	m->chunks_at =
		up(m->directory_at + m->chunk_count * sizeof(struct live_chunk), TRACER_CHUNK);
	if (m->chunks_at + (uint64_t)m->chunk_count * TRACER_CHUNK > up(bytes, PAGE) &&
	    m->chunk_count > MIN_CHUNKS)
		m->chunk_count--;
	m->bytes = m->chunks_at + (uint64_t)m->chunk_count * TRACER_CHUNK;
}

static void describe(struct live_map *m, uint64_t ticks)
{
	const struct coati_live_clock *clock = &coati_tracer.clock;
	int r;

	m->pid = (uint32_t)getpid();
	m->uid = (uint32_t)geteuid();
	m->start_ticks = ticks;
	read_boot_id(m->boot_id);
	r = coati_file_read_line(AT_FDCWD, "/proc/self/comm", m->comm, sizeof(m->comm));
	(void)r; /* stays empty */
	m->clock_source = clock->source;
	m->clock_mult = clock->mult;
	m->clock_shift = clock->shift;
	m->cycles_base = clock->cycles_base;
	m->ns_base = clock->source ? clock->ns_base : 0;
	m->clock_error_ns = clock->error_ns;
	m->realtime_base = coati_tracer_realtime();
	__atomic_store_n(&m->state, 1, __ATOMIC_RELEASE);
}

/* ---- what only this process sees ---- */

static int make_table(struct tracer_table *t, uint32_t max, uint64_t bytes)
{
	t->max = max;
	t->mask = 2 * max - 1;
	t->bytes = bytes;
	t->heads = coati_alloc_array(t->mask + 1, sizeof(*t->heads));
	t->entries = coati_alloc_array(max, sizeof(*t->entries));
	t->keys = coati_alloc(bytes);
	return t->heads && t->entries && t->keys ? 0 : -ENOMEM;
}

/* Tables stay for the life of the process: a thread that is stuck in an event may still look into
 * them. */
static int make_private(void)
{
	struct tracer *g = &coati_tracer;
	int r = 0;

	for (int i = 0; i < 2 && !r; i++) {
		if (!g->strings[i].keys)
			r = make_table(&g->strings[i], STRINGS, STRING_BYTES);
		if (!r && !g->stacks[i].keys)
			r = make_table(&g->stacks[i], STACKS, STACK_BYTES);
		if (!r) {
			coati_tracer_table_reset(&g->strings[i]);
			coati_tracer_table_reset(&g->stacks[i]);
		}
	}
	if (!g->resources)
		g->resources = coati_alloc_array(TRACER_RESOURCES, sizeof(*g->resources));
	coati_free(g->chunk_states);
	coati_free(g->task_generations);
	coati_free(g->task_bits);
	g->chunk_states = coati_alloc_array(g->chunk_count, sizeof(*g->chunk_states));
	g->task_generations = coati_alloc_array(g->task_count, sizeof(*g->task_generations));
	g->task_bits = coati_alloc_array(g->task_count / 64, sizeof(*g->task_bits));
	if (r < 0 || !g->resources || !g->chunk_states || !g->task_generations || !g->task_bits)
		return -ENOMEM;
	memset(g->resources, 0, TRACER_RESOURCES * sizeof(*g->resources));
	memset(g->resource_bits, 0, sizeof(g->resource_bits));
	memset(g->task_bits, 0xff, g->task_count / 8);
	return 0;
}

static void make_free(void)
{
	struct tracer *g = &coati_tracer;

	g->free_chunk = g->fill = UINT32_MAX;
	for (uint32_t i = g->chunk_count; i-- > 0;) {
		g->chunk_states[i].next = g->free_chunk;
		g->free_chunk = i;
	}
	g->free_count = g->chunk_count;
	g->full_chunks = g->chunk_count / 4;
}

/* The head, and where everything is; sites come in also while no recorder runs. */
static void fill_in(const struct live_map *plan, uint64_t ticks)
{
	struct tracer *g = &coati_tracer;
	struct tracer_guard guard;

	coati_tracer_lock(&guard);
	*g->map = *plan;
	describe(g->map, ticks);
	g->directory = (void *)((uint8_t *)g->map + plan->directory_at);
	g->tasks = (void *)((uint8_t *)g->map + plan->tasks_at);
	g->chunks = (uint8_t *)g->map + plan->chunks_at;
	coati_tracer_sites_copy();
	g->events = g->batches = g->generation_count = 0;
	g->stuck = 0; /* what is not left yet is waited for again */
	g->accounts[TRACER_FILTERS] = (struct tracer_account){ 0 };
	g->system_seq = 0;
	/* no generation of an earlier recording is there any more */
	__atomic_store_n(&g->oldest, g->newest + 1, __ATOMIC_RELAXED);
	coati_tracer_unlock(&guard);
}

/* The file of the memory, once there is something to be read in it. */
static int make_known(const struct tracer_folder *f, const char *name, struct coati_error *err)
{
	struct tracer *g = &coati_tracer;
	int r = 0;

	if (f->fd >= 0)
		r = coati_tracer_file_name(f, name, err);
	if (r < 0) {
		coati_tracer_file_drop(f, name);
		g->path[0] = '\0';
		coati_tracer_close();
		return r;
	}
	memcpy(coati_tracer_ask.path, g->path, sizeof(g->path));
	return 0;
}

static int open_in(const struct tracer_folder *f, const struct live_map *plan,
		   struct coati_error *err)
{
	uint64_t ticks = start_ticks();
	char name[40];
	int r;

	snprintf(name, sizeof(name), "%u-%llu.live", (unsigned int)getpid(),
		 (unsigned long long)ticks);
	r = make_memory(f, name, plan->bytes, err);
	if (r < 0)
		return r;
	fill_in(plan, ticks);
	return make_known(f, name, err);
}

/* Once: who looks for the recorder has to know where it is. */
static void report_place(const struct tracer_folder *f)
{
	static bool reported;

	if (f->place == COATI_PLACE_USUAL || reported)
		return;
	reported = true;
	coati_auto_say(
		"cannot use /dev/shm/coati-%u, another user may own it: the flight recorder is "
		"%s%s",
		(unsigned int)geteuid(), f->fd < 0 ? "in unnamed memory and " : "in ",
		f->fd < 0 ? "is lost when the process ends" : f->path);
}

int coati_tracer_open(const struct coati_recorder_opts *opts, struct coati_error *err)
{
	struct tracer *g = &coati_tracer;
	struct tracer_folder folder;
	struct tracer_removed removed;
	struct tracer_keep keep;
	struct coati_live_clock clock;
	struct live_map plan = { 0 };
	int r;

	if (opts->bytes > MAX_BYTES)
		return coati_fail(err, -E2BIG, "a recorder has at most 64 GiB of memory");
	r = coati_tracer_keep(opts, &keep, err);
	if (r < 0)
		return r;
	coati_live_clock_init(&clock, 0);
	/* begins that were kept are those of another clock; pairs with: acquire in
	 * coati_tracer_renew() */
	if (atomic_exchange_explicit(&g->clock_source, clock.source, memory_order_relaxed) !=
	    clock.source)
		atomic_fetch_add_explicit(&g->epoch, 1, memory_order_release);
	g->clock = clock;
	lay_out(opts->bytes, &plan);
	g->chunk_count = plan.chunk_count;
	g->task_count = (uint32_t)plan.tasks_count;
	g->pid = (uint32_t)getpid();
	r = make_private();
	if (r < 0)
		return coati_fail(err, r, "no memory for the tables of the tracer");
	make_free();
	r = coati_tracer_folder_open(opts->directory, &folder, err);
	if (r < 0)
		return r;
	coati_tracer_folder_clean(&folder, &keep, plan.bytes, &removed);
	g->removed_files += removed.files;
	g->removed_bytes += removed.bytes;
	r = open_in(&folder, &plan, err);
	if (r == 0 && !opts->directory)
		report_place(&folder);
	if (folder.fd >= 0)
		close(folder.fd);
	return r;
}

void coati_tracer_close(void)
{
	struct tracer *g = &coati_tracer;

	if (!g->map)
		return;
	__atomic_store_n(&g->map->state, 2, __ATOMIC_RELEASE);
	if (!g->stuck) /* or a thread would write where nothing is */
		munmap(g->map, g->map_bytes);
	if (g->path[0])
		unlink(g->path);
	close(g->fd);
	__atomic_store_n(&g->map, NULL, __ATOMIC_RELAXED);
	g->path[0] = '\0';
}

/* A thread of the parent: it does not exist here. */
static void forget_thread(struct tracer_thread *t)
{
	for (int i = 0; i < 2; i++) {
		t->slot[i].batch = &coati_tracer_no_batch;
		t->slot[i].limit = TRACER_FULL;
		atomic_store_explicit(&t->slot[i].generation, 0, memory_order_relaxed);
		atomic_store_explicit(&t->slot[i].state, 0, memory_order_relaxed);
		atomic_store_explicit(&t->slot[i].lost, 0, memory_order_relaxed);
	}
	t->nr_free = 0;
	atomic_store_explicit(&t->tid, 0, memory_order_relaxed);
	t->next_free = coati_tracer.free_threads;
	coati_tracer.free_threads = t;
}

void coati_tracer_child(void)
{
	struct tracer *g = &coati_tracer;

	atomic_store_explicit(&coati_tracer_hot.generation, 0, memory_order_relaxed);
	atomic_store_explicit(&coati_tracer_hot.fast, 0, memory_order_relaxed);
	__atomic_store_n(&coati_tracer_gate, 0, __ATOMIC_RELAXED);
	g->keeps = false;
	if (g->map) { /* its file is the parent's */
		munmap(g->map, g->map_bytes);
		close(g->fd);
	}
	g->map = NULL;
	g->path[0] = '\0';
	coati_tracer_self = NULL;
	if (g->key_made)
		pthread_setspecific(g->key, NULL);
	g->free_threads = NULL;
	for (struct tracer_thread *t = g->first; t; t = t->next)
		forget_thread(t);
	for (uint32_t i = 0; i < TRACER_FILTERS; i++)
		g->filters[i].used = false;
	g->threads = 0;
	g->running = g->takers = g->blocking = 0;
	g->stuck = g->events = g->batches = 0;
	coati_tracer_ask_child();
}
