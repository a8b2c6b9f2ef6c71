/* SPDX-License-Identifier: MIT */
/*
 * What a verb is. Each has a directory whose command.c defines one struct coati_command; main.c
 * has the sorted table of them. Help, completion and the check of the man pages use these structs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/options.h"
#include "base/strbuf.h"

/* Exit codes. A verb that runs a command of the user ends as that command did, or with one of the
 * last three. */
#define EXIT_DONE      0
#define EXIT_FAILED    1
#define EXIT_USAGE     2
#define EXIT_OWN       125 /* trouble of our own while a command was to be run */
#define EXIT_NOT_EXEC  126 /* the command was found and cannot be run */
#define EXIT_NOT_FOUND 127

#define COMMAND_RUNS_CHILD (UINT32_C(1) << 0) /* the first operand starts a command of the user */
#define COMMAND_HIDDEN	   (UINT32_C(1) << 1) /* not in the overview */

struct coati_example {
	const char *command;
	const char *what;
};

struct coati_command {
	const char *name;
	const char *summary; /* one line, no capital, no full stop */
	const char *usage;   /* what stands behind the name: "[options] [GLOB]" */
	const struct option *options;
	const struct coati_example *examples; /* command NULL at the end */
	const char *exits; /* what its exit statuses mean, where they are its own; NULL */
	uint32_t flags;
	int (*run)(int argc, char **argv); /* the words behind the verb; returns the exit code */
};

extern const struct coati_command coati_command_agent;
extern const struct coati_command coati_command_autopsy;
extern const struct coati_command coati_command_completion;
extern const struct coati_command coati_command_diff;
extern const struct coati_command coati_command_doctor;
extern const struct coati_command coati_command_dump;
extern const struct coati_command coati_command_export;
extern const struct coati_command coati_command_list;
extern const struct coati_command coati_command_record;
extern const struct coati_command coati_command_report;
extern const struct coati_command coati_command_stat;
extern const struct coati_command coati_command_top;
extern const struct coati_command coati_command_trace;
extern const struct coati_command coati_command_view;
extern const struct coati_command coati_command_why;

/* Verb @i in alphabetical order, NULL past the last; by name, NULL when there is none. */
const struct coati_command *coati_command_at(uint32_t i);
const struct coati_command *coati_command_find(const char *name);
/* The verb that @name nearly is, or NULL. */
const char *coati_command_guess(const char *name);

/* Parse the words of @cmd into @args. True: go on with the operands in @line. False: the command is
 * done (it printed help, or an error on stderr), and *ret_exit is the exit code. */
bool coati_command_parse(const struct coati_command *cmd, struct option_line *line, void *args,
			 int *ret_exit);
/* Complain about wrong usage that the table cannot know: one line, and EXIT_USAGE. */
int coati_command_misuse(const struct coati_command *cmd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Its help, as --help shows it. */
void coati_command_help(const struct coati_command *cmd, struct strbuf *out);
