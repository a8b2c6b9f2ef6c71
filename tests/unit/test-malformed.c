/* SPDX-License-Identifier: MIT */
/* Hundreds of wrong event strings, each with the place and the reason it must be refused for. */
#include "lib/events.h"
#include "lib/fake-tree.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/file.h"
#include "base/parse.h"
#include "event/list.h"

/* One line of the file, cut at its tabs. */
static void check_line(struct coati_event_list *list, char *line, int number)
{
	char *column = strchr(line, '\t'), *part = column ? strchr(column + 1, '\t') : NULL;
	struct coati_error err = { 0 };
	uint32_t want;
	int r;

	if (!part)
		test_fail_at("malformed.txt", number, "two tabs are missing");
	*column++ = '\0';
	*part++ = '\0';
	CHECK_OK(coati_parse_u32(column, 1, 10000, &want));
	r = coati_event_list_add(list, line, &err);
	if (r >= 0 || err.code != r)
		test_fail_at("malformed.txt", number, "\"%s\" was taken", line);
	if (err.column != (int)want || !strstr(err.text, part) || strpbrk(err.text, "\n\r\t"))
		test_fail_at("malformed.txt", number, "\"%s\": column %d: %s", line, err.column,
			     err.text);
	CHECK_INT(coati_event_list_count(list), ==, 0);
}

TEST(grammar_refuses_each_malformed_string_with_place_and_reason)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct coati_event_list *list;
	int number = 0, checked = 0;
	char path[4096];

	CHECK_OK(fake_sysfs("sys"));
	CHECK_OK(fake_tracefs("tracing"));
	list = events_new("sys", "tracing");
	snprintf(path, sizeof(path), "%s/events/malformed.txt", test_data_dir());
	CHECK_OK(coati_file_read(AT_FDCWD, path, &s));
	for (char *line = s.text, *end; (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		number++;
		if (line[0] == '#')
			continue;
		check_line(list, line, number);
		checked++;
	}
	CHECK_INT(checked, >=, 200);
	coati_strbuf_fini(&s);
	coati_event_list_free(list);
}

TEST(grammar_refuses_every_control_character)
{
	struct coati_event_list *list = events_new(NULL, NULL);

	for (int c = 1; c < 128; c++) {
		char text[] = { 'c', 's', ',', 'c', (char)c, 's', '\0' };

		if ((c < ' ' || c == 0x7f) && c != '\t' && c != '\n')
			events_refused(list, text, -EINVAL, 5, "control character");
	}
	events_refused(list, "cs/name='a\nb'/", -EINVAL, 11, "control character");
	coati_event_list_free(list);
}

/* What is left of a good text when it is cut anywhere is taken or refused, never more. */
TEST(grammar_bears_every_truncation_of_a_good_text)
{
	static const char text[] =
		"g:{cpu/event=0x3c,umask=1,name='x "
		"y'/u,uncore_imc_0/cas_count_read/}:S,mem:0x1000/8:rw:u,"
		"sched:sched_switch/period=3/k,L1-dcache-load-misses:pp,4:0x1a8,r1a8,"
		"u:'/nonexistent/a b':main+0x10";
	struct coati_event_list *list;

	CHECK_OK(fake_sysfs("sys"));
	CHECK_OK(fake_tracefs("tracing"));
	list = events_new("sys", "tracing");
	for (size_t len = 0; len < sizeof(text); len++) {
		struct coati_error err = { 0 };
		char part[sizeof(text)];
		int r;

		memcpy(part, text, len);
		part[len] = '\0';
		r = coati_event_list_add(list, part, &err);
		CHECK(r == 0 || (err.text[0] && err.column >= 1 && err.column <= (int)len + 1));
	}
	coati_event_list_free(list);
}
