/* SPDX-License-Identifier: MIT */
/* The tool: finds the verb in the table and runs it. */
#include <stdio.h>
#include <string.h>

#include <coati/coati.h>

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--version")) {
		printf("coati %s\n", coati_version());
		return 0;
	}
	fprintf(stderr, "usage: coati <verb> [options] -- command args\n");
	return 2;
}
