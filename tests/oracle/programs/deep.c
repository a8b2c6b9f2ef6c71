/* SPDX-License-Identifier: MIT */
/* Frames of all shapes: arrays of variable length, realigned stacks, many arguments, recursion,
 * callbacks through libc, leaves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef double vector __attribute__((vector_size(32)));

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static int aligned(int n)
{
	volatile vector v __attribute__((aligned(64))) = { n, n, n, n };

	return (int)v[2] + n;
}

__attribute__((noinline)) static int variable(int n)
{
	int values[n + 3];

	for (int i = 0; i < n + 3; i++)
		values[i] = (i * 7919) % 101;
	qsort(values, (size_t)n + 3, sizeof(*values), compare);
	return values[n / 2] + aligned(n);
}

/* Parameters: more than there are registers for. */
__attribute__((noinline)) static int many(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + variable(h);
}

__attribute__((noinline)) static int down(int depth)
{
	if (depth == 0)
		return many(1, 2, 3, 4, 5, 6, 7, 9);
	return down(depth - 1) + many(depth, 1, 2, 3, 4, 5, 6, depth & 7);
}

int main(void)
{
	char text[64];
	int sum = 0;

	for (int i = 0; i < 4; i++)
		sum += down(5 + i);
	snprintf(text, sizeof(text), "%d %s", sum, "deep");
	return strlen(text) == 0;
}
