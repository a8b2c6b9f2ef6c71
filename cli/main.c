/* SPDX-License-Identifier: MIT */
/* The tool: finds the verb in the table and runs it. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <coati/coati.h>

#include "base/match.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/store.h"
#include "cli/talk.h"
#include "cli/version.h"
#include "event/version.h"
#include "sandbox/sandbox.h"

/* Sorted by name. */
static const struct coati_command *const commands[] = {
	&coati_command_agent,  &coati_command_autopsy, &coati_command_completion,
	&coati_command_diff,   &coati_command_doctor,  &coati_command_dump,
	&coati_command_export, &coati_command_list,    &coati_command_record,
	&coati_command_report, &coati_command_stat,    &coati_command_top,
	&coati_command_trace,  &coati_command_view,    &coati_command_why,
};

const struct coati_command *coati_command_at(uint32_t i)
{
	return i < sizeof(commands) / sizeof(commands[0]) ? commands[i] : NULL;
}

const struct coati_command *coati_command_find(const char *name)
{
	const struct coati_command *cmd;

	for (uint32_t i = 0; (cmd = coati_command_at(i)); i++) {
		if (!strcmp(cmd->name, name))
			return cmd;
	}
	return NULL;
}

const char *coati_command_guess(const char *name)
{
	struct nearest near = coati_nearest_to(name);
	const struct coati_command *cmd;
	size_t len = strlen(name);

	for (uint32_t i = 0; (cmd = coati_command_at(i)); i++) {
		if (len >= 2 && !strncmp(cmd->name, name, len))
			return cmd->name;
		coati_nearest_offer(&near, cmd->name);
	}
	coati_nearest_offer(&near, "help");
	return near.best;
}

/* The order of the overview: as a new user meets them. Other verbs follow. */
static const char *const order[] = {
	"record", "report", "view",   "top",  "trace",	 "why",	  "diff",
	"stat",	  "list",   "export", "dump", "autopsy", "agent", "doctor",
};
#define NR_ORDERED (sizeof(order) / sizeof(order[0]))

static bool is_ordered(const char *name)
{
	for (size_t i = 0; i < NR_ORDERED; i++)
		if (!strcmp(order[i], name))
			return true;
	return false;
}

static void show_verb(struct strbuf *out, const struct coati_command *cmd)
{
	coati_strbuf_printf(out, "  %-12s%s\n", cmd->name, cmd->summary);
}

static void overview(struct strbuf *out)
{
	const struct coati_command *cmd;

	coati_strbuf_adds(out, "usage: coati <verb> [options] [-- command args]\n"
			       "profile and trace programs and the Linux kernel\n\n");
	for (size_t i = 0; i < NR_ORDERED; i++)
		show_verb(out, coati_command_find(order[i]));
	for (uint32_t i = 0; (cmd = coati_command_at(i)); i++)
		if (!(cmd->flags & COMMAND_HIDDEN) && !is_ordered(cmd->name))
			show_verb(out, cmd);
	coati_strbuf_adds(out, "  help        show this page, or help for a verb: coati help stat\n"
			       "\n"
			       "Start with:\n"
			       "  coati record -- ls -lR /usr    sample a program\n"
			       "  coati report                   show where its time went\n"
			       "  coati doctor                   check what this machine allows\n"
			       "More: man coati; man 7 coati-perf if you know perf\n");
}

/* Verbs of perf, and what does the same here. */
static const char *same_as(const char *verb)
{
	static const struct {
		const char *verb, *here;
	} others[] = {
		{ "annotate", "coati report --source FUNCTION" },
		{ "buildid-list", "coati dump --stats" },
		{ "evlist", "coati dump --stats" },
		{ "lock", "coati record --off-cpu, then coati report --by wait" },
		{ "mem", "coati record --data, then coati dump" },
		{ "probe", "coati record -e uprobe:FILE:FUNCTION or kprobe:FUNCTION" },
		{ "sched", "coati record --trace, then coati trace" },
		{ "script", "coati dump" },
		{ "timechart", "coati record --trace, then coati export -f perfetto" },
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(verb, others[i].verb))
			return others[i].here;
	return NULL;
}

static int refuse_verb(const char *name)
{
	const char *guess = name[0] == '-' ? NULL : coati_command_guess(name);
	char quoted[96];

	coati_quote(name, quoted, sizeof(quoted));
	if (same_as(name))
		coati_say("unknown verb %s; use %s (man 7 coati-perf has more)", quoted,
			  same_as(name));
	else if (guess)
		coati_say("unknown verb %s; did you mean coati %s?", quoted, guess);
	else
		coati_say("unknown %s %s (coati help shows the verbs)",
			  name[0] == '-' ? "option" : "verb", quoted);
	return EXIT_USAGE;
}

static int show_help(int argc, char **argv)
{
	const struct coati_command *cmd;
	struct output out;

	if (argc > 1) {
		coati_say("help takes one verb (coati help lists them)");
		return EXIT_USAGE;
	}
	cmd = argc ? coati_command_find(argv[0]) : NULL;
	if (argc && !cmd && strcmp(argv[0], "help"))
		return refuse_verb(argv[0]);
	coati_output_init(&out, COLOR_NEVER);
	if (cmd)
		coati_command_help(cmd, &out.text);
	else
		overview(&out.text);
	return coati_output_end(&out);
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
	return !strcmp(word, a) || !strcmp(word, b) || !strcmp(word, c);
}

/* A standard descriptor that is closed would be taken by the next file we open, and our output
 * would go there. */
static void guard_descriptors(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		/* Read-only also for output: a write must fail, not vanish. */
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			_exit(EXIT_FAILED);
	}
}

static void on_file_size(int sig)
{
	(void)sig;
}

/* Over the limit of file sizes the kernel ends the process: better that the write fails, so that
 * the file is completed and the reason is reported. A handler, since a program that is started
 * would inherit that the signal is ignored. */
static void guard_writes(void)
{
	const struct sigaction act = { .sa_handler = on_file_size, .sa_flags = SA_RESTART };

	sigaction(SIGXFSZ, &act, NULL);
}

int main(int argc, char **argv)
{
	const struct coati_command *cmd;
	struct output out;
	int code;

	guard_descriptors();
	guard_writes();
	if (argc < 2) {
		coati_output_init_fd(&out, STDERR_FILENO, "standard error", COLOR_NEVER);
		overview(&out.text);
		coati_output_end(&out);
		return EXIT_USAGE;
	}
	if (is_one_of(argv[1], "--version", "-V", "version"))
		return coati_show_version();
	if (is_one_of(argv[1], "--help", "-h", "help"))
		return show_help(argc - 2, argv + 2);
	cmd = coati_command_find(argv[1]);
	if (!cmd)
		return refuse_verb(argv[1]);
	code = cmd->run(argc - 2, argv + 2);
	coati_sandbox_end();
	coati_store_fini();
	return code;
}
