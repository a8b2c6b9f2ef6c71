/* SPDX-License-Identifier: MIT */
/* What all verbs have in common: parsing their words, their help, complaints about wrong usage. */
#include "cli/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "cli/talk.h"

void coati_command_help(const struct coati_command *cmd, struct strbuf *out)
{
	coati_strbuf_printf(out, "usage: coati %s%s%s\n%s\n", cmd->name, cmd->usage[0] ? " " : "",
			    cmd->usage, cmd->summary);
	if (cmd->exits)
		coati_strbuf_printf(out, "Exit status: %s", cmd->exits);
	coati_strbuf_addc(out, '\n');
	coati_options_help(cmd->options, out);
	coati_strbuf_adds(out, "Examples:\n");
	for (const struct coati_example *e = cmd->examples; e->command; e++)
		coati_strbuf_printf(out, "  %-46s  %s\n", e->command, e->what);
	if (!(cmd->flags & COMMAND_HIDDEN))
		coati_strbuf_printf(out, "More: man coati-%s\n", cmd->name);
}

bool coati_command_parse(const struct coati_command *cmd, struct option_line *line, void *args,
			 int *ret_exit)
{
	struct coati_error err = { 0 };
	struct output out;

	line->stops = cmd->flags & COMMAND_RUNS_CHILD;
	coati_talk_as(cmd->name);
	if (coati_options_parse(cmd->options, line, args, &err) < 0) {
		*ret_exit = coati_command_misuse(cmd, "%s", err.text);
		return false;
	}
	if (!line->help)
		return true;
	coati_output_init(&out, COLOR_NEVER);
	coati_command_help(cmd, &out.text);
	*ret_exit = coati_output_end(&out);
	return false;
}

int coati_command_misuse(const struct coati_command *cmd, const char *fmt, ...)
{
	struct strbuf s = STRBUF_INIT(4096);
	va_list ap;

	va_start(ap, fmt);
	coati_strbuf_vprintf(&s, fmt, ap);
	va_end(ap);
	coati_say("%s (coati %s --help shows the usage)", s.text, cmd->name);
	coati_strbuf_fini(&s);
	return EXIT_USAGE;
}
