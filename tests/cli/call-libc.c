/* SPDX-License-Identifier: MIT */
/* call-libc N: calls the function getppid of the C library N times. */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned long nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;

	while (nr--)
		getppid();
	return 0;
}
