/* SPDX-License-Identifier: MIT */
/* The manual page of the grammar: its examples parse, and every word that the parser knows stands
 * in it. */
#include "lib/events.h"
#include "lib/fake-tree.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/file.h"
#include "event/names.h"

/* The page without the escapes that its examples use: \- and \(aq. */
static void read_page(struct strbuf *ret)
{
	struct strbuf raw = STRBUF_INIT(1 << 20);
	char path[4096];

	snprintf(path, sizeof(path), "%s/../../docs/man/coati-events.7", test_data_dir());
	CHECK_OK(coati_file_read(AT_FDCWD, path, &raw));
	for (const char *p = raw.text; *p; p++) {
		if (strncmp(p, "\\-", 2) == 0) {
			coati_strbuf_addc(ret, '-');
			p++;
		} else if (strncmp(p, "\\(aq", 4) == 0) {
			coati_strbuf_addc(ret, '\'');
			p += 3;
		} else {
			coati_strbuf_addc(ret, *p);
		}
	}
	CHECK_INT(ret->failed, ==, 0);
	coati_strbuf_fini(&raw);
}

/* Probes name files that need not be here: anything but a wrong syntax will do. */
static bool is_probe(const char *text)
{
	static const char *const words[] = { "u:",    "ur:",	 "uprobe:",   "uretprobe:",
					     "usdt:", "kprobe:", "kretprobe:" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strncmp(text, words[i], strlen(words[i])) == 0)
			return true;
	}
	return false;
}

static void check_example(const char *text)
{
	struct coati_event_list *list = events_new("sys", "tracing");
	struct coati_error err = { 0 };
	int r = coati_event_list_add(list, text, &err);

	if (r < 0 && (!is_probe(text) || r == -EINVAL))
		test_fail_at(__FILE__, __LINE__, "%s: column %d: %s", text, err.column, err.text);
	coati_event_list_free(list);
}

TEST(events_page_has_only_examples_that_parse)
{
	struct strbuf page = STRBUF_INIT(1 << 20);
	int checked = 0;

	CHECK_OK(fake_sysfs("sys"));
	CHECK_OK(fake_tracefs("tracing"));
	read_page(&page);
	for (char *line = page.text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		if (strncmp(line, ".EV ", 4) == 0) {
			check_example(line + 4);
			checked++;
		}
	}
	CHECK_INT(checked, >=, 20);
	coati_strbuf_fini(&page);
}

TEST(events_page_names_every_symbol_and_term)
{
	static const char *const words[] = {
		"config4",	   "raw",	   "name=",	 "period=",
		"freq=",	   "branch_type=", "time=",	 "call-graph",
		"stack-size=",	   "max-stack=",   "nr=",	 "no-inherit",
		"no-overwrite",	   "percore",	   "aux-output", "aux-action",
		"aux-sample-size", "metric-id",	   "cpu=",	 "start-paused",
		"any_call",	   "hw_index",	   "dwarf",	 "lbr",
	};
	struct strbuf page = STRBUF_INIT(1 << 20);
	const struct event_symbol *s;

	read_page(&page);
	for (size_t i = 0; (s = coati_symbol_get(i)); i++) {
		CHECK_HAS(page.text, s->name);
		CHECK_HAS(page.text, s->alias);
	}
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		CHECK_HAS(page.text, words[i]);
	coati_strbuf_fini(&page);
}
