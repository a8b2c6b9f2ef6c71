/* SPDX-License-Identifier: MIT */
/* Which tests of a suite run, and how: the command line of the test runner. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct test_case;

struct choice {
	bool list, no_fork;
	bool stop; /* end after the first failure */
	uint64_t seed;
	unsigned int share, shares; /* run part @share of @shares */
	unsigned int slow_ms;	    /* tests that take at least this long are named at the end */
	char **names;		    /* parts of names, ends with NULL; none: every test */
	const char *only;	    /* file with exact names, in the order to run them */
};

/* Reads the arguments; ends the program with status 2 when one of them is wrong. */
void choice_read(struct choice *c, char **argv);
/* Links the chosen tests of @all into a new list and returns its first entry. */
struct test_case *choice_take(const struct choice *c, struct test_case *all);
