/* SPDX-License-Identifier: MIT */
/* see choice.h */
#include "lib/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/test.h"

#define SLOW_MS 500

/* "2/3": every third test, starting with the second. */
static void read_share(struct choice *c, const char *text)
{
	char end;

	if (sscanf(text, "%u/%u%c", &c->share, &c->shares, &end) != 2 || !c->share ||
	    c->share > c->shares) {
		fprintf(stderr, "--share %s: not a part like 1/2\n", text);
		exit(2);
	}
}

/* An option with a value; false when there is no such option. */
static bool read_value(struct choice *c, const char *option, const char *value)
{
	if (!value)
		return false;
	if (!strcmp(option, "--seed"))
		c->seed = strtoull(value, NULL, 0);
	else if (!strcmp(option, "--share"))
		read_share(c, value);
	else if (!strcmp(option, "--slow"))
		c->slow_ms = (unsigned int)strtoul(value, NULL, 10);
	else if (!strcmp(option, "--only"))
		c->only = value;
	else
		return false;
	return true;
}

void choice_read(struct choice *c, char **argv)
{
	*c = (struct choice){ .seed = 1, .share = 1, .shares = 1, .slow_ms = SLOW_MS };
	for (argv++; *argv && **argv == '-'; argv++) {
		if (!strcmp(*argv, "--list")) {
			c->list = true;
		} else if (!strcmp(*argv, "--no-fork")) {
			c->no_fork = true;
		} else if (!strcmp(*argv, "--stop")) {
			c->stop = true;
		} else if (read_value(c, argv[0], argv[1])) {
			argv++;
		} else {
			fprintf(stderr, "unknown option %s\n", *argv);
			exit(2);
		}
	}
	c->names = argv;
}

static bool is_named(const struct test_case *t, char *const *names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (strstr(t->name, *names))
			return true;
	return false;
}

/* Takes the test @name out of the list at @from. */
static struct test_case *take_out(struct test_case **from, const char *name)
{
	for (; *from; from = &(*from)->next)
		if (!strcmp((*from)->name, name)) {
			struct test_case *t = *from;

			*from = t->next;
			t->next = NULL;
			return t;
		}
	return NULL;
}

/* Each line of the file is the name of a test, and optionally its time limit in seconds. */
static struct test_case *take_listed(const char *path, struct test_case *all)
{
	struct test_case *first = NULL, **end = &first;
	FILE *f = fopen(path, "re");
	char line[512], name[256];

	if (!f) {
		fprintf(stderr, "--only %s: %m\n", path);
		exit(2);
	}
	while (fgets(line, sizeof(line), f)) {
		unsigned int limit_s = 0;

		if (sscanf(line, "%255s %u", name, &limit_s) < 1)
			continue;
		*end = take_out(&all, name);
		if (!*end) {
			fprintf(stderr, "--only %s: there is no test \"%s\"\n", path, name);
			exit(2);
		}
		if (limit_s)
			(*end)->limit_s = limit_s;
		end = &(*end)->next;
	}
	fclose(f);
	return first;
}

struct test_case *choice_take(const struct choice *c, struct test_case *all)
{
	struct test_case *first = NULL, **end = &first;
	unsigned int place = 0;

	if (c->only)
		return take_listed(c->only, all);
	for (struct test_case *t = all; t; t = t->next)
		if (is_named(t, c->names) && place++ % c->shares == c->share - 1) {
			*end = t;
			end = &t->next;
		}
	*end = NULL;
	return first;
}
