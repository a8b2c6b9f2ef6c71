/* SPDX-License-Identifier: MIT */
/*
 * Exact accounting of a program's heap, to hold libcoati-preload-heap against: every block, by the
 * C library's own allocator, in a table of what is in use. Shares no code with the library. Loaded
 * with LD_PRELOAD; at the end the file COUNT_HEAP has "blocks bytes, blocks bytes in use" since the
 * constructors ran. A block that is resized is a new one; a block of no bytes counts for one.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define API   __attribute__((visibility("default")))
#define SLOTS (1u << 23)

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *p);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t *table; /* address, size; 1: was one */
static uint64_t blocks, bytes, live_blocks, live_bytes;
static bool is_on;
static pid_t owner;

static uintptr_t *slot_of(uintptr_t address, bool to_put)
{
	uint32_t at = (uint32_t)((address >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 41);

	while (table[2 * at] != address && table[2 * at] && !(to_put && table[2 * at] == 1))
		at = (at + 1) & (SLOTS - 1);
	return &table[2 * at];
}

static void took(const void *p, size_t size)
{
	uintptr_t *slot;

	if (!p || !is_on)
		return;
	size = size ? size : 1;
	pthread_mutex_lock(&lock);
	blocks++;
	bytes += size;
	live_blocks++;
	live_bytes += size;
	slot = slot_of((uintptr_t)p, true);
	slot[0] = (uintptr_t)p;
	slot[1] = size;
	pthread_mutex_unlock(&lock);
}

/* Its size; 0: it is not known. */
static size_t gives(const void *p)
{
	uintptr_t *slot;
	size_t size = 0;

	if (!p || !is_on)
		return 0;
	pthread_mutex_lock(&lock);
	slot = slot_of((uintptr_t)p, false);
	if (slot[0]) {
		size = slot[1];
		slot[0] = 1;
		live_blocks--;
		live_bytes -= size;
	}
	pthread_mutex_unlock(&lock);
	return size;
}

API void *malloc(size_t size)
{
	void *p = __libc_malloc(size);

	took(p, size);
	return p;
}

API void *calloc(size_t count, size_t size)
{
	void *p = __libc_calloc(count, size);

	took(p, count * size);
	return p;
}

API void *realloc(void *p, size_t size)
{
	size_t had = gives(p);
	void *moved = __libc_realloc(p, size);

	if (!moved && had && size) { /* it is as it was */
		took(p, had);
		blocks--;
		bytes -= had;
	}
	took(moved, size);
	return moved;
}

API void *reallocarray(void *p, size_t count, size_t size)
{
	size_t whole;

	if (__builtin_mul_overflow(count, size, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, whole);
}

API void *memalign(size_t alignment, size_t size)
{
	void *p = __libc_memalign(alignment, size);

	took(p, size);
	return p;
}

API void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}

API int posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *p = memalign(alignment, size);

	if (p)
		*ret = p;
	return p ? 0 : ENOMEM;
}

API void free(void *p)
{
	gives(p);
	__libc_free(p);
}

__attribute__((constructor)) static void start(void)
{
	table = mmap(NULL, 2 * sizeof(*table) * SLOTS, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	owner = getpid();
	is_on = table != MAP_FAILED;
}

__attribute__((destructor)) static void end(void)
{
	const char *file = getenv("COUNT_HEAP");
	char line[128];
	int fd, n;

	if (!is_on || !file || getpid() != owner)
		return;
	is_on = false;
	n = snprintf(line, sizeof(line), "%llu %llu %llu %llu\n", (unsigned long long)blocks,
		     (unsigned long long)bytes, (unsigned long long)live_blocks,
		     (unsigned long long)live_bytes);
	fd = open(file, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		abort();
	close(fd);
}

API void _exit(int status)
{
	end();
	for (;;)
		syscall(SYS_exit_group, (long)status);
}
