/* SPDX-License-Identifier: MIT */
/*
 * json-check [--lines]: standard input is one JSON value, or with --lines one on each line. Exit
 * status 0, or 1 and a word about where. For the scripts of the CLI suite.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json-check.h"

static int check_lines(void)
{
	char *line = NULL;
	size_t size = 0;
	ssize_t len;
	int number = 0;

	while ((len = getline(&line, &size, stdin)) >= 0) {
		number++;
		if (!json_check(line, (size_t)len)) {
			fprintf(stderr, "line %d is not JSON: %.200s\n", number, line);
			free(line);
			return 1;
		}
	}
	free(line);
	return 0;
}

static int check_all(void)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t len = getdelim(&text, &size, EOF, stdin);
	int bad = len < 0 || !json_check(text, (size_t)len);

	if (bad)
		fprintf(stderr, "not JSON: %.200s\n", len < 0 ? "(nothing)" : text);
	free(text);
	return bad;
}

int main(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "--lines") ? check_lines() : check_all();
}
