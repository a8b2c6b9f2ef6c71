/* SPDX-License-Identifier: MIT */
/* A program with an allocator inside: what is loaded before it cannot stand in front of that. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static _Alignas(16) uint8_t memory[1 << 20];
static size_t used;

#define API __attribute__((visibility("default")))

API void *malloc(size_t size)
{
	size_t at = __atomic_fetch_add(&used, (size + 15) & ~(size_t)15, __ATOMIC_RELAXED);

	return at + size <= sizeof(memory) ? memory + at : NULL;
}

API void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

API void *realloc(void *p, size_t size)
{
	void *moved = malloc(size);

	if (moved && p)
		memmove(moved, p, size);
	return moved;
}

API void free(void *p)
{
	(void)p;
}

int main(void)
{
	char *text = malloc(6);

	if (!text)
		return 1;
	memcpy(text, "alive\n", 6);
	return write(1, text, 6) != 6;
}
