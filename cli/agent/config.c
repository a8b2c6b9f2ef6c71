/* SPDX-License-Identifier: MIT */
/*
 * Options from a file and from the environment. A line "key = value" of the file is the option
 * --key value; COATI_AGENT_KEY is the same. Both become words of a command line, so that there is
 * one table of options, one check and one set of messages.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/agent/args.h"

#define FILE_MAX (256u << 10)
#define PREFIX	 "COATI_AGENT_"

int coati_agent_words_add(struct agent_words *w, const char *word)
{
	char **slot = ARRAY_ADD(w);

	if (!slot)
		return -ENOMEM;
	*slot = coati_strdup(word);
	if (*slot)
		return 0;
	w->len--;
	return -ENOMEM;
}

void coati_agent_words_fini(struct agent_words *w)
{
	for (size_t i = 0; i < w->len; i++)
		coati_free(w->v[i]);
	ARRAY_FINI(w);
}

static const struct option *find_option(const char *name)
{
	for (const struct option *o = coati_agent_options; o->kind != OPTION_END; o++)
		if (o->kind != OPTION_HEAD && o->kind != OPTION_ASK_HELP && o->name &&
		    !strcmp(o->name, name))
			return o;
	return NULL;
}

static bool is_word(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strcasecmp(text, *words))
			return true;
	return false;
}

/* A switch is yes or no. -EINVAL: it is neither. */
static int add_option(struct agent_words *w, const struct option *o, const char *value)
{
	static const char *const yes[] = { "yes", "true", "on", "1", NULL };
	static const char *const no[] = { "no", "false", "off", "0", NULL };
	struct strbuf s = STRBUF_INIT(FILE_MAX);
	int r;

	if (o->kind == OPTION_FLAG && is_word(value, no))
		return 0;
	if (o->kind == OPTION_FLAG && !is_word(value, yes))
		return -EINVAL;
	coati_strbuf_printf(&s, "--%s", o->name);
	if (o->kind != OPTION_FLAG)
		coati_strbuf_printf(&s, "=%s", value);
	r = s.failed ? -ENOMEM : coati_agent_words_add(w, s.text);
	coati_strbuf_fini(&s);
	return r;
}

/* ---- a file ---- */

static char *trim(char *text)
{
	size_t len;

	text += strspn(text, " \t");
	len = strlen(text);
	while (len && strchr(" \t\r", text[len - 1]))
		text[--len] = '\0';
	return text;
}

struct place {
	const char *path;
	unsigned int line;
};

static int take_line(struct agent_words *w, char *line, const struct place *at,
		     struct coati_error *err)
{
	char *equals, *key, *value, shown[80];
	const struct option *o;
	int r;

	line = trim(line);
	if (!*line || *line == '#')
		return 0;
	equals = strchr(line, '=');
	if (!equals)
		return coati_fail(err, -EINVAL, "%s:%u: expected \"key = value\"", at->path,
				  at->line);
	*equals = '\0';
	key = trim(line);
	value = trim(equals + 1);
	o = find_option(key);
	if (!o || !strcmp(key, "config"))
		return coati_fail(err, -EINVAL,
				  "%s:%u: unknown setting %s; man coati-agent lists the options",
				  at->path, at->line, coati_quote(key, shown, sizeof(shown)));
	r = add_option(w, o, value);
	if (r == -EINVAL)
		return coati_fail(err, r, "%s:%u: %s must be yes or no", at->path, at->line,
				  o->name);
	return r < 0 ? coati_fail(err, r, "out of memory") : 0;
}

/* Who can write it decides what the agent does: the owner of the agent, or root. */
static int open_file(const char *path, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return coati_fail(err, -errno, "cannot read the configuration file %s: %m", path);
	if (!S_ISREG(st.st_mode))
		return coati_fail(err, -EINVAL, "the configuration file %s is not a regular file",
				  path);
	if (st.st_mode & S_IWOTH || (st.st_uid != geteuid() && st.st_uid != 0))
		return coati_fail(
			err, -EPERM,
			"other users can change the configuration file %s: run chmod o-w on it, "
			"and make root or the user of the agent its owner",
			path);
	return TAKE_FD(fd);
}

static int read_file(const char *path, struct strbuf *s, struct coati_error *err)
{
	CLEANUP(fd_closep) int fd = open_file(path, err);
	int r = fd < 0 ? fd : coati_file_read_fd(fd, s);

	if (fd < 0 || r == 0)
		return r;
	return r == -E2BIG ? coati_fail(err, r, "the configuration file %s is larger than %u KiB",
					path, FILE_MAX >> 10)
			   : coati_fail(err, r, "cannot read the configuration file %s: %m", path);
}

int coati_agent_words_file(struct agent_words *w, const char *path, struct coati_error *err)
{
	struct strbuf s = STRBUF_INIT(FILE_MAX);
	struct place at = { path, 0 };
	char *next, *line;
	int r = read_file(path, &s, err);

	if (r == 0 && s.len && memchr(s.text, '\0', s.len))
		r = coati_fail(err, -EBADMSG, "%s: not a text file", path);
	for (line = s.text; r == 0 && s.len && line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		at.line++;
		r = take_line(w, line, &at, err);
	}
	coati_strbuf_fini(&s);
	return r;
}

/* ---- the environment ---- */

static void variable_of(const struct option *o, char *ret, size_t size)
{
	size_t len = (size_t)snprintf(ret, size, PREFIX "%s", o->name);

	for (size_t i = strlen(PREFIX); i < len && i < size; i++)
		ret[i] = ret[i] == '-'			  ? '_'
			 : ret[i] >= 'a' && ret[i] <= 'z' ? (char)(ret[i] - 'a' + 'A')
							  : ret[i];
}

int coati_agent_words_environment(struct agent_words *w, struct coati_error *err)
{
	int r = 0;

	for (const struct option *o = coati_agent_options; r == 0 && o->kind != OPTION_END; o++) {
		const char *value;
		char name[80];

		if (o->kind == OPTION_HEAD || o->kind == OPTION_ASK_HELP || !o->name)
			continue;
		variable_of(o, name, sizeof(name));
		value = getenv(name);
		if (!value || !*value)
			continue;
		r = add_option(w, o, value);
		if (r == -EINVAL)
			coati_fail(err, r, "the variable %s must be yes or no", name);
		else if (r < 0)
			coati_fail(err, r, "out of memory");
	}
	return r;
}
