/* SPDX-License-Identifier: MIT */
/* Sentences for errors. */
#include "lib/test.h"

#include <limits.h>

#include "base/error.h"

TEST(error_returns_its_code_even_without_a_struct)
{
	CHECK_ERR(coati_fail(NULL, -ENOENT, "no %s", "file"), -ENOENT);
	CHECK_ERR(coati_fail_at(NULL, -EINVAL, 3, "text"), -EINVAL);
	coati_error_prefix(NULL, "x");
}

TEST(error_prints_the_text_of_its_code_and_leaves_errno_alone)
{
	struct coati_error err;

	errno = EINTR;
	CHECK_ERR(coati_fail(&err, -ENOENT, "open x: %m"), -ENOENT);
	CHECK_INT(errno, ==, EINTR);
	CHECK_STR(err.text, "open x: No such file or directory");
	CHECK_INT(err.code, ==, -ENOENT);
	CHECK_INT(err.column, ==, 0);
}

TEST(error_remembers_the_column_and_the_next_failure_forgets_it)
{
	struct coati_error err;

	coati_fail_at(&err, -EINVAL, 7, "what is %c", '?');
	CHECK_INT(err.column, ==, 7);
	CHECK_STR(err.text, "what is ?");
	coati_fail(&err, -EINVAL, "other");
	CHECK_INT(err.column, ==, 0);
}

TEST(error_puts_words_in_front_and_keeps_code_and_column)
{
	struct coati_error err;

	coati_fail_at(&err, -EACCES, 2, "not allowed");
	coati_error_prefix(&err, "event %d: ", 3);
	CHECK_STR(err.text, "event 3: not allowed");
	CHECK_INT(err.code, ==, -EACCES);
	CHECK_INT(err.column, ==, 2);
}

/* The text is whole, or ends in "..." after whole characters. */
static void check_cut(const struct coati_error *err, size_t whole)
{
	size_t len = strlen(err->text);

	CHECK_U64(len, <, sizeof(err->text));
	if (whole < sizeof(err->text)) {
		CHECK_U64(len, ==, whole);
		return;
	}
	CHECK_STR(err->text + len - 3, "...");
	CHECK_U64(len, >=, sizeof(err->text) - 5);
	/* each a-umlaut is two bytes: the cut leaves pairs behind the leading x */
	CHECK_U64((len - 3) % 2, ==, 1);
}

TEST(error_cuts_long_texts_between_characters)
{
	char text[2 * COATI_ERROR_TEXT];

	for (size_t len = 1; len + 2 < sizeof(text); len += 2) {
		struct coati_error err;

		text[0] = 'x';
		for (size_t i = 1; i < len; i += 2)
			memcpy(text + i, "\xc3\xa4", 2);
		text[len] = '\0';
		coati_fail(&err, -EINVAL, "%s", text);
		check_cut(&err, len);
		coati_fail(&err, -EINVAL, "%s", text + 1);
		coati_error_prefix(&err, "x");
		if (strlen(text + 1) < sizeof(err.text))
			check_cut(&err, len);
	}
}

TEST(error_cuts_a_long_prefix)
{
	struct coati_error err;
	char text[2 * COATI_ERROR_TEXT];

	memset(text, 'p', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	coati_fail(&err, -EINVAL, "end");
	coati_error_prefix(&err, "%s", text);
	CHECK_U64(strlen(err.text), ==, sizeof(err.text) - 1);
	CHECK_STR(err.text + sizeof(err.text) - 4, "...");
}

TEST(error_names_errnos_of_either_sign)
{
	CHECK_STR(coati_errno_name(-EACCES), "EACCES");
	CHECK_STR(coati_errno_name(EACCES), "EACCES");
	CHECK_STR(coati_errno_name(123456), "E?");
	CHECK_STR(coati_errno_name(INT_MIN), "E?");
	CHECK_STR(coati_errno_name(INT_MAX), "E?");
}
