/* SPDX-License-Identifier: MIT */
/*
 * Which basic blocks a process reaches. Linked into programs that clang built with
 * -fsanitize-coverage= trace-pc-guard,pc-table. Each block has a byte in the file COATI_REACH,
 * which is mapped shared: it is set also when the process is killed, and by its children.
 * COATI_REACH_PCS names a file that gets the address of each block.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Every program of the build is linked with this file, also those without libc, which never call
 * it. */
#pragma weak close
#pragma weak ftruncate
#pragma weak getenv
#pragma weak mmap
#pragma weak open

void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop);
void __sanitizer_cov_trace_pc_guard(const uint32_t *guard);
void __sanitizer_cov_pcs_init(const uintptr_t *start, const uintptr_t *stop);
extern const char __executable_start[];

static uint8_t *reached;

static void *map_file(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	void *p = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return p == MAP_FAILED ? NULL : p;
}

__attribute__((visibility("default"))) void __sanitizer_cov_trace_pc_guard_init(uint32_t *start,
										uint32_t *stop)
{
	const char *path = getenv("COATI_REACH");
	uint32_t nr = 0;

	if (start == stop || *start || !path)
		return;
	reached = map_file(path, (size_t)(stop - start));
	if (!reached)
		return;
	for (uint32_t *guard = start; guard < stop; guard++)
		*guard = ++nr;
}

__attribute__((visibility("default"))) void __sanitizer_cov_trace_pc_guard(const uint32_t *guard)
{
	if (*guard)
		reached[*guard - 1] = 1;
}

/* The table has two words for each block: its address and flags. */
__attribute__((visibility("default"))) void __sanitizer_cov_pcs_init(const uintptr_t *start,
								     const uintptr_t *stop)
{
	const char *path = getenv("COATI_REACH_PCS");
	size_t nr = (size_t)(stop - start) / 2;
	uint64_t *out;

	if (!path || !nr)
		return;
	out = map_file(path, nr * sizeof(*out));
	for (size_t i = 0; out && i < nr; i++)
		out[i] = start[2 * i] - (uintptr_t)__executable_start;
}
