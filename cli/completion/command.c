/* SPDX-License-Identifier: MIT */
/*
 * coati completion bash|zsh|fish: the completion script of a shell, written from the option tables.
 * Event names are asked from `coati list --names` when they are needed.
 */
#include <string.h>

#include "cli/command.h"
#include "cli/output.h"
#include "cli/talk.h"

struct args {
	int unused;
};

static const struct option opts[] = { OPT_HELP, OPT_END };

static const struct coati_example examples[] = {
	{ "coati completion bash > coati.bash", "then: source coati.bash" },
	{ "coati completion zsh > _coati", "put it into a directory of $fpath" },
	{ "coati completion fish > coati.fish", "put it into ~/.config/fish/completions" },
	{ NULL, NULL }
};

enum value_kind { VALUE_OTHER = 0, VALUE_NONE, VALUE_FILE, VALUE_EVENT, VALUE_WORDS };

static enum value_kind value_kind(const struct option *o)
{
	if (!o->arg)
		return VALUE_NONE;
	if (o->choices)
		return VALUE_WORDS;
	if (!strcmp(o->arg, "FILE"))
		return VALUE_FILE;
	return strcmp(o->arg, "EVENT") ? VALUE_OTHER : VALUE_EVENT;
}

static void add_words(struct strbuf *out, const struct option *o)
{
	for (size_t i = 0; o->choices[i]; i++)
		coati_strbuf_printf(out, "%s%s", i ? " " : "", o->choices[i]);
}

/* @text with a backslash in front of each character of @special. */
static void add_escaped(struct strbuf *out, const char *text, const char *special)
{
	for (; *text; text++) {
		if (*text == '\'') {
			coati_strbuf_adds(out, "'\\''");
			continue;
		}
		if (strchr(special, *text))
			coati_strbuf_addc(out, '\\');
		coati_strbuf_addc(out, *text);
	}
}

static const struct coati_command *next_visible(uint32_t *pos)
{
	const struct coati_command *cmd;

	while ((cmd = coati_command_at((*pos)++)) && cmd->flags & COMMAND_HIDDEN)
		;
	return cmd;
}

/* ---- bash ---- */

static void bash_value(const struct option *o, struct strbuf *out)
{
	enum value_kind kind = value_kind(o);

	if (kind == VALUE_NONE)
		return;
	coati_strbuf_adds(out, "\t\t");
	if (o->letter)
		coati_strbuf_printf(out, "-%c|", o->letter);
	coati_strbuf_printf(out, "--%s) ", o->name);
	if (kind == VALUE_FILE)
		coati_strbuf_adds(out, "COMPREPLY=($(compgen -f -- \"$cur\")); ");
	else if (kind == VALUE_EVENT)
		coati_strbuf_adds(out, "_coati_events; ");
	if (kind == VALUE_WORDS) {
		coati_strbuf_adds(out, "COMPREPLY=($(compgen -W \"");
		add_words(out, o);
		coati_strbuf_adds(out, "\" -- \"$cur\")); ");
	}
	coati_strbuf_adds(out, "return ;;\n");
}

static void bash_verb(const struct coati_command *cmd, struct strbuf *out)
{
	coati_strbuf_printf(out, "\t%s)\n\t\tcase $prev in\n", cmd->name);
	for (const struct option *o = cmd->options; o->kind; o++) {
		if (coati_option_is_shown(o))
			bash_value(o, out);
	}
	coati_strbuf_adds(out, "\t\tesac\n\t\topts=\"");
	for (const struct option *o = cmd->options; o->kind; o++) {
		if (!coati_option_is_shown(o))
			continue;
		coati_strbuf_printf(out, "--%s ", o->name);
		if (o->flags & OPTION_NEGATABLE)
			coati_strbuf_printf(out, "--no-%s ", o->name);
	}
	coati_strbuf_printf(out, "\"\n\t\toperand=%s\n\t\t;;\n",
			    cmd->flags & COMMAND_RUNS_CHILD ? "command"
			    : strstr(cmd->usage, "GLOB")    ? "event"
							    : "none");
}

static void write_bash(struct strbuf *out)
{
	const struct coati_command *cmd;

	coati_strbuf_adds(
		out,
		"# bash completion for coati, written by `coati completion bash`\n"
		"_coati_events()\n"
		"{\n"
		"\tlocal last=${cur##*,} head=\n"
		"\t[[ $cur == *,* ]] && head=${cur%,*},\n"
		"\tCOMPREPLY=($(compgen -P \"$head\" -W \"$(coati list --names 2>/dev/null)\" -- "
		"\"$last\"))\n"
		"\t# readline splits words at colons: give it only what is behind the last one\n"
		"\tif [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
		"\t\tCOMPREPLY=(\"${COMPREPLY[@]#\"${cur%\"${cur##*:}\"}\"}\")\n"
		"\tfi\n"
		"}\n"
		"_coati()\n"
		"{\n"
		"\tlocal line=${COMP_LINE:0:COMP_POINT} cur prev opts operand word\n"
		"\tlocal -a words\n"
		"\tcur=${line##*[[:space:]]}\n"
		"\tread -ra words <<<\"${line%\"$cur\"}\"\n"
		"\tprev=${words[${#words[@]}-1]}\n"
		"\tCOMPREPLY=()\n"
		"\tif ((${#words[@]} < 2)) || [[ $prev == help ]]; then\n"
		"\t\tCOMPREPLY=($(compgen -W \"");
	for (uint32_t pos = 0; (cmd = next_visible(&pos));)
		coati_strbuf_printf(out, "%s ", cmd->name);
	coati_strbuf_adds(out, "help completion --help --version\" -- \"$cur\"))\n"
			       "\t\treturn\n"
			       "\tfi\n"
			       "\tfor word in \"${words[@]}\"; do\n"
			       "\t\tif [[ $word == -- ]]; then\n"
			       "\t\t\tCOMPREPLY=($(compgen -c -f -- \"$cur\"))\n"
			       "\t\t\treturn\n"
			       "\t\tfi\n"
			       "\tdone\n"
			       "\tcase ${words[1]} in\n");
	for (uint32_t pos = 0; (cmd = next_visible(&pos));)
		bash_verb(cmd, out);
	coati_strbuf_adds(out, "\tcompletion) opts=\"bash zsh fish\" operand=none ;;\n"
			       "\t*) return ;;\n"
			       "\tesac\n"
			       "\tif [[ $cur == -* || ${words[1]} == completion ]]; then\n"
			       "\t\tCOMPREPLY=($(compgen -W \"$opts\" -- \"$cur\"))\n"
			       "\telif [[ $operand == event ]]; then\n"
			       "\t\t_coati_events\n"
			       "\telif [[ $operand == command ]]; then\n"
			       "\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
			       "\tfi\n"
			       "}\n"
			       "complete -F _coati coati\n");
}

/* ---- zsh ---- */

static void zsh_option(const struct option *o, struct strbuf *out)
{
	enum value_kind kind = value_kind(o);
	bool many = o->kind == OPTION_TEXTS || o->kind == OPTION_IDS;

	coati_strbuf_adds(out, "\t\t\t");
	if (many)
		coati_strbuf_adds(out, "'*'");
	else if (o->letter)
		coati_strbuf_printf(out, "'(-%c --%s)'", o->letter, o->name);
	if (o->letter)
		coati_strbuf_printf(out, "{-%c,--%s}", o->letter, o->name);
	else if (o->flags & OPTION_NEGATABLE)
		coati_strbuf_printf(out, "{--%s,--no-%s}", o->name, o->name);
	else
		coati_strbuf_printf(out, "--%s", o->name);
	coati_strbuf_adds(out, "'[");
	add_escaped(out, o->help, ":[]\\");
	coati_strbuf_addc(out, ']');
	if (kind != VALUE_NONE)
		coati_strbuf_printf(out, ":%s:", kind == VALUE_WORDS ? o->name : o->arg);
	if (kind == VALUE_FILE)
		coati_strbuf_adds(out, "_files");
	else if (kind == VALUE_EVENT)
		coati_strbuf_adds(out, "_coati_events");
	if (kind == VALUE_WORDS) {
		coati_strbuf_addc(out, '(');
		add_words(out, o);
		coati_strbuf_addc(out, ')');
	}
	coati_strbuf_adds(out, "' \\\n");
}

static void zsh_verb(const struct coati_command *cmd, struct strbuf *out)
{
	coati_strbuf_printf(out, "\t\t%s)\n\t\t\t_arguments -s -S \\\n", cmd->name);
	for (const struct option *o = cmd->options; o->kind; o++) {
		if (coati_option_is_shown(o))
			zsh_option(o, out);
	}
	if (cmd->flags & COMMAND_RUNS_CHILD)
		coati_strbuf_adds(out, "\t\t\t'(-)1:command:_command_names -e' "
				       "'*::arguments:_normal'\n");
	else if (strstr(cmd->usage, "GLOB"))
		coati_strbuf_adds(out, "\t\t\t'1:event:_coati_events'\n");
	else
		coati_strbuf_adds(out, "\t\t\t'*: :'\n");
	coati_strbuf_adds(out, "\t\t\t;;\n");
}

static void write_zsh(struct strbuf *out)
{
	const struct coati_command *cmd;

	coati_strbuf_adds(out, "#compdef coati\n"
			       "# zsh completion for coati, written by `coati completion zsh`\n"
			       "_coati_events()\n"
			       "{\n"
			       "\tlocal -a events\n"
			       "\tevents=(${(f)\"$(coati list --names 2>/dev/null)\"})\n"
			       "\tcompset -P '*,'\n"
			       "\tcompadd -a events\n"
			       "}\n"
			       "_coati()\n"
			       "{\n"
			       "\tlocal context state state_descr line\n"
			       "\ttypeset -A opt_args\n"
			       "\tlocal -a verbs\n"
			       "\t_arguments -C '1:verb:->verb' '*::argument:->argument'\n"
			       "\tcase $state in\n"
			       "\tverb)\n"
			       "\t\tverbs=(\n");
	for (uint32_t pos = 0; (cmd = next_visible(&pos));) {
		coati_strbuf_printf(out, "\t\t\t'%s:", cmd->name);
		add_escaped(out, cmd->summary, ":\\");
		coati_strbuf_adds(out, "'\n");
	}
	coati_strbuf_adds(out, "\t\t\t'help:the overview, or the help of a verb'\n"
			       "\t\t)\n"
			       "\t\t_describe verb verbs\n"
			       "\t\t;;\n"
			       "\targument)\n"
			       "\t\tcase $words[1] in\n");
	for (uint32_t pos = 0; (cmd = next_visible(&pos));)
		zsh_verb(cmd, out);
	coati_strbuf_adds(out, "\t\tcompletion) _arguments '1:shell:(bash zsh fish)' ;;\n"
			       "\t\tesac\n"
			       "\t\t;;\n"
			       "\tesac\n"
			       "}\n"
			       "_coati \"$@\"\n");
}

/* ---- fish ---- */

static void fish_option(const struct coati_command *cmd, const struct option *o, struct strbuf *out)
{
	enum value_kind kind = value_kind(o);

	coati_strbuf_printf(out, "complete -c coati -n '__fish_seen_subcommand_from %s'",
			    cmd->name);
	if (o->letter)
		coati_strbuf_printf(out, " -s %c", o->letter);
	coati_strbuf_printf(out, " -l %s", o->name);
	if (kind == VALUE_FILE)
		coati_strbuf_adds(out, " -r -F");
	else if (kind != VALUE_NONE)
		coati_strbuf_adds(out, " -x");
	if (kind == VALUE_EVENT)
		coati_strbuf_adds(out, " -a '(coati list --names 2>/dev/null)'");
	if (kind == VALUE_WORDS) {
		coati_strbuf_adds(out, " -a '");
		add_words(out, o);
		coati_strbuf_addc(out, '\'');
	}
	coati_strbuf_adds(out, " -d '");
	add_escaped(out, o->help, "\\");
	coati_strbuf_adds(out, "'\n");
	if (o->flags & OPTION_NEGATABLE)
		coati_strbuf_printf(
			out, "complete -c coati -n '__fish_seen_subcommand_from %s' -l no-%s\n",
			cmd->name, o->name);
}

static void write_fish(struct strbuf *out)
{
	const struct coati_command *cmd;

	coati_strbuf_adds(out, "# fish completion for coati, written by `coati completion fish`\n"
			       "complete -c coati -f\n");
	for (uint32_t pos = 0; (cmd = next_visible(&pos));) {
		coati_strbuf_printf(out, "complete -c coati -n __fish_use_subcommand -a %s -d '",
				    cmd->name);
		add_escaped(out, cmd->summary, "\\");
		coati_strbuf_adds(out, "'\n");
		for (const struct option *o = cmd->options; o->kind; o++) {
			if (coati_option_is_shown(o))
				fish_option(cmd, o, out);
		}
		if (strstr(cmd->usage, "GLOB"))
			coati_strbuf_printf(out,
					    "complete -c coati -n '__fish_seen_subcommand_from %s' "
					    "-a '(coati list --names 2>/dev/null)'\n",
					    cmd->name);
		else if (cmd->flags & COMMAND_RUNS_CHILD)
			coati_strbuf_printf(out,
					    "complete -c coati -n '__fish_seen_subcommand_from %s' "
					    "-a '(__fish_complete_command)'\n",
					    cmd->name);
	}
	coati_strbuf_adds(
		out, "complete -c coati -n '__fish_seen_subcommand_from completion' -a 'bash zsh "
		     "fish'\n");
}

static int run(int argc, char **argv)
{
	static const struct {
		const char *shell;
		void (*write)(struct strbuf *out);
	} shells[] = { { "bash", write_bash }, { "fish", write_fish }, { "zsh", write_zsh } };
	struct option_line line = { .argc = argc, .argv = argv };
	struct args args = { 0 };
	struct output out;
	char quoted[64];
	int ret;

	if (!coati_command_parse(&coati_command_completion, &line, &args, &ret))
		return ret;
	if (line.argc != 1)
		return coati_command_misuse(&coati_command_completion,
					    "name one shell: bash, zsh or fish");
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(shells[i].shell, line.argv[0]))
			continue;
		coati_output_init(&out, COLOR_NEVER);
		shells[i].write(&out.text);
		return coati_output_end(&out);
	}
	return coati_command_misuse(&coati_command_completion,
				    "there is completion for bash, zsh and fish, not for %s",
				    coati_quote(line.argv[0], quoted, sizeof(quoted)));
}

const struct coati_command coati_command_completion = {
	.name = "completion",
	.summary = "print the completion script for a shell",
	.usage = "bash|zsh|fish",
	.options = opts,
	.examples = examples,
	.flags = COMMAND_HIDDEN,
	.run = run,
};
