/* SPDX-License-Identifier: MIT */
/* A program in a locale with a decimal comma reads and writes numbers with a point all the same. */
#include "lib/test.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/parse.h"

/* Such a locale is rarely installed: one of nothing but numbers, which is quick, is compiled into
 * the scratch folder. localedef does not wait for the gzip that it starts for a compressed
 * character map, so it gets a plain one. */
#define CHARMAP "/usr/share/i18n/charmaps/ANSI_X3.4-1968"
#define COMPILE                                                                    \
	"{ gzip -dc " CHARMAP ".gz || cat " CHARMAP "; } >charmap 2>/dev/null && " \
	"localedef -c -i ./comma.def -f ./charmap ./comma >/dev/null 2>&1"

static void enter_comma_locale(void)
{
	static const char text[] = "LC_NUMERIC\n"
				   "decimal_point \",\"\n"
				   "thousands_sep \".\"\n"
				   "grouping 3\n"
				   "END LC_NUMERIC\n";
	FILE *f = fopen("comma.def", "we");

	CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
	if (system(COMPILE) < 0 || setenv("LOCPATH", ".", 1) < 0 || !setlocale(LC_NUMERIC, "comma"))
		test_skip_need("locale", "localedef cannot make a locale here (package locales)");
	CHECK_STR(localeconv()->decimal_point, ",");
}

TEST(locale_does_not_change_how_doubles_are_read)
{
	double v;

	enter_comma_locale();
	CHECK_OK(coati_parse_double("1.5", &v));
	CHECK(v == 1.5);
	CHECK_ERR(coati_parse_double("1,5", &v), -EINVAL);
}

TEST(locale_does_not_change_how_json_is_written)
{
	struct strbuf s = STRBUF_INIT(100);
	struct json j = json_to(&s);
	char after[16];

	enter_comma_locale();
	coati_json_double(&j, 1.5);
	CHECK_STR(s.text, "1.5");
	coati_strbuf_fini(&s);
	/* and the program keeps its locale */
	snprintf(after, sizeof(after), "%.1f", 1.5);
	CHECK_STR(after, "1,5");
}

TEST(locale_does_not_change_how_durations_are_written)
{
	struct strbuf s = STRBUF_INIT(100);

	enter_comma_locale();
	coati_format_duration(&s, 1500 * NSEC_PER_MSEC);
	CHECK_STR(s.text, "1.50 s");
	coati_strbuf_fini(&s);
}
