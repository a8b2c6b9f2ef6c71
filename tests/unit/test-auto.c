/* SPDX-License-Identifier: MIT */
/* COATI_PROFILE: values of variables and names of files. What it does to programs is in
 * tests/live/preload. */
#include "lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <coati/auto.h>

#include "base/alloc.h"
#include "live/auto/auto.h"

static const char *variable, *value;

static char *one_variable(const char *name)
{
	static char copy[16384];

	if (!variable || strcmp(name, variable) || !value)
		return NULL;
	snprintf(copy, sizeof(copy), "%s", value);
	return copy;
}

/* ---- names ---- */

static const struct auto_facts facts = {
	.pid = 4711, .start = 1798761599, .program = "a/b", .count = 1
};

static int expand(const char *pattern, const struct auto_facts *f, char *ret, size_t size)
{
	struct strbuf s = STRBUF_INIT(AUTO_PATH_MAX - 1);
	struct coati_error err = { 0 };
	int r = coati_auto_name_expand(pattern, f, one_variable, &s, &err);

	CHECK_INT(err.code, ==, r);
	CHECK(r == 0 || strstr(err.text, "COATI_PROFILE"));
	snprintf(ret, size, "%s", r < 0 ? err.text : s.text);
	coati_strbuf_fini(&s);
	return r;
}

TEST(auto_name_has_process_time_program_number_and_variables)
{
	struct auto_facts third = facts;
	char name[AUTO_PATH_MAX];

	variable = "WHERE";
	value = "/some/where";
	CHECK_OK(expand("%{WHERE}/%p-%t-%n-%c%%", &facts, name, sizeof(name)));
	CHECK_STR(name, "/some/where/4711-20261231-235959-a_b-1%");
	third.count = 3;
	CHECK_OK(expand("/x", &third, name, sizeof(name)));
	CHECK_STR(name, "/x.3");
	CHECK_OK(expand("/x%c", &third, name, sizeof(name)));
	CHECK_STR(name, "/x3");
	third.program = "";
	CHECK_OK(expand("%n", &third, name, sizeof(name)));
	CHECK_STR(name, "unknown.3");
}

TEST(auto_name_says_what_is_wrong_with_every_short_pattern)
{
	static const char letters[] = "%{}pAc";
	char pattern[5] = "", name[AUTO_PATH_MAX];

	variable = "A";
	value = "x";
	for (uint32_t n = 0; n < 6 * 6 * 6 * 6; n++) {
		uint32_t rest = n;

		for (uint32_t i = 0; i < 4; i++, rest /= 6)
			pattern[i] = letters[rest % 6];
		if (expand(pattern, &facts, name, sizeof(name)) == 0)
			CHECK(!strchr(name, '%') || strstr(pattern, "%%"));
	}
}

TEST(auto_name_of_a_variable_that_is_not_there_is_refused)
{
	char text[AUTO_PATH_MAX];

	variable = NULL;
	CHECK_ERR(expand("%{NOT_HERE}", &facts, text, sizeof(text)), -ENOENT);
	CHECK_HAS(text, "NOT_HERE");
	CHECK_ERR(expand("%{A%{B}}", &facts, text, sizeof(text)), -EINVAL);
	CHECK_ERR(expand("%", &facts, text, sizeof(text)), -EINVAL);
	CHECK_ERR(expand("%y", &facts, text, sizeof(text)), -EINVAL);
	CHECK_HAS(text, "%y");
}

TEST(auto_name_that_becomes_too_long_is_refused)
{
	char text[AUTO_PATH_MAX];
	static char much[8000];

	memset(much, 'x', sizeof(much) - 1);
	variable = "MUCH";
	value = much;
	CHECK_ERR(expand("/%{MUCH}", &facts, text, sizeof(text)), -ENAMETOOLONG);
}

TEST(auto_name_for_children_has_the_process_once)
{
	struct strbuf s = STRBUF_INIT(1000);

	coati_auto_name_for_children("/a/%n", &s);
	CHECK_STR(s.text, "+/a/%n.%p");
	coati_strbuf_clear(&s);
	coati_auto_name_for_children("/a/%p", &s);
	CHECK_STR(s.text, "+/a/%p");
	coati_strbuf_clear(&s);
	coati_auto_name_for_children("/a/%%p", &s);
	CHECK_STR(s.text, "+/a/%%p.%p");
	coati_strbuf_fini(&s);
}

/* ---- variables ---- */

static int configure(const char *name, const char *text, struct auto_config *ret)
{
	struct coati_error err = { 0 };
	int r;

	variable = name;
	value = text;
	r = coati_auto_config_read(ret, "/tmp/x", one_variable, &err);
	if (r == 0)
		coati_auto_config_fini(ret);
	else
		CHECK_HAS(err.text, name);
	return r;
}

TEST(auto_variables_are_taken_or_refused)
{
	struct auto_config c;

	CHECK_OK(configure("COATI_FREQUENCY", "10000", &c));
	CHECK_U64(c.rate_hz, ==, 10000);
	CHECK(c.children && c.flags & COATI_SAMPLER_NAMES && !c.keep && !c.signal);
	CHECK_ERR(configure("COATI_FREQUENCY", "10001", &c), -ERANGE);
	CHECK_ERR(configure("COATI_FREQUENCY", "0", &c), -ERANGE);
	CHECK_ERR(configure("COATI_FREQUENCY", "-1", &c), -EINVAL);
	CHECK_ERR(configure("COATI_FREQUENCY", "99Hz", &c), -EINVAL);
	CHECK_OK(configure("COATI_FREQUENCY", "", &c));
	CHECK_U64(c.rate_hz, ==, 0);
	CHECK_OK(configure("COATI_NAMES", "0", &c));
	CHECK(!(c.flags & COATI_SAMPLER_NAMES));
	CHECK_OK(configure("COATI_CHILDREN", "0", &c));
	CHECK(!c.children);
	CHECK_ERR(configure("COATI_CHILDREN", "no", &c), -EINVAL);
	CHECK_OK(configure("COATI_DEPTH", "512", &c));
	CHECK_U64(c.max_depth, ==, 512);
	CHECK_ERR(configure("COATI_DEPTH", "513", &c), -ERANGE);
	CHECK_OK(configure("COATI_SIGNAL", "USR2", &c));
	CHECK_INT(c.signal, ==, SIGUSR2);
	CHECK_ERR(configure("COATI_SIGNAL", "SEGV", &c), -EACCES);
}

TEST(auto_signal_goes_by_name_and_number)
{
	static const struct {
		const char *text;
		int sig;
	} good[] = { { "10", 10 },	   { "USR2", SIGUSR2 }, { "sigusr2", SIGUSR2 },
		     { "SIGHUP", SIGHUP }, { "RTMIN", -1 },	{ "SIGRTMIN+2", -3 },
		     { "RTMAX-1", -100 } };
	static const char *const bad[] = { "",	     "0",   "65",	"USR3",	   "SIG",
					   "KILL",   "9",   "STOP",	"PROF",	   "TRAP",
					   "32",     "33",  "RTMIN+99", "RTMAX+1", "RTMIN-1",
					   "RTMIN+", "-10", " USR1",	"USR1 ",   "SEGV",
					   "11" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		int32_t sig = 0, wanted = good[i].sig;

		if (wanted < 0)
			wanted = wanted == -100 ? SIGRTMAX - 1 : SIGRTMIN - wanted - 1;
		CHECK_OK(coati_auto_signal_parse(good[i].text, &sig));
		CHECK_INT(sig, ==, wanted);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int32_t sig = 77;

		CHECK(coati_auto_signal_parse(bad[i], &sig) < 0);
		CHECK_INT(sig, ==, 77);
	}
}

TEST(auto_pattern_is_absolute_and_the_folder_is_no_pattern)
{
	struct auto_config c;
	struct coati_error err = { 0 };
	char here[AUTO_PATH_MAX];

	variable = NULL;
	CHECK_OK(mkdir("50%p", 0700));
	CHECK_OK(chdir("50%p"));
	CHECK(getcwd(here, sizeof(here)) != NULL);
	CHECK_OK(coati_auto_config_read(&c, "+x%p", one_variable, &err));
	CHECK(c.keep && c.pattern[0] == '/');
	CHECK_HAS(c.pattern, "/50%%p/x%p");
	coati_auto_config_fini(&c);
}

TEST(auto_config_survives_every_failing_allocation)
{
	struct auto_config c;
	struct coati_error err = { 0 };
	int r = -ENOMEM;

	variable = NULL;
	for (uint64_t n = 0; r < 0 && n < 100; n++) {
		coati_alloc_fail_after(n);
		r = coati_auto_config_read(&c, "x", one_variable, &err);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK(r == 0 || r == -ENOMEM);
	}
	CHECK_OK(r);
	coati_auto_config_fini(&c);
}

/* ---- files ---- */

static void put_file(const char *path, bool wanted, bool keep, int expect)
{
	struct auto_file f;
	struct coati_error err = { 0 };
	char whole[AUTO_PATH_MAX];

	CHECK(getcwd(whole, sizeof(whole) - 100) != NULL);
	snprintf(whole + strlen(whole), 100, "/%s", path);
	CHECK_OK(coati_auto_file_open(&f, whole, &err));
	CHECK_OK(coati_auto_file_begin(&f, &err));
	CHECK_INT(write(f.fd, "new", 3), ==, 3);
	CHECK_ERR(coati_auto_file_end(&f, wanted, keep, &err), expect);
	coati_auto_file_close(&f);
}

static void has(const char *path, const char *text)
{
	char got[16] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK_INT(fd, >=, 0);
	CHECK_INT(read(fd, got, sizeof(got) - 1), >=, 0);
	CHECK_STR(got, text);
	close(fd);
}

static void put_old(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	CHECK_INT(write(fd, "old", 3), ==, 3);
	close(fd);
}

TEST(auto_file_has_its_name_when_it_is_whole)
{
	put_old("a");
	put_file("a", false, false, 0);
	has("a", "old");
	put_file("a", true, false, 0);
	has("a", "new");
	put_file("b", true, false, 0);
	has("b", "new");
}

TEST(auto_file_that_is_kept_gets_the_next_number)
{
	put_old("a");
	put_old("a.2");
	put_file("a", true, true, 0);
	has("a", "old");
	has("a.2", "old");
	has("a.3", "new");
	put_file("c", true, true, 0);
	has("c", "new");
}

/* Between the start and the end somebody puts something in its place. */
TEST(auto_file_replaces_nothing_but_files)
{
	struct auto_file f;
	struct coati_error err = { 0 };
	char whole[AUTO_PATH_MAX];

	CHECK(getcwd(whole, sizeof(whole) - 100) != NULL);
	snprintf(whole + strlen(whole), 100, "/a");
	CHECK_OK(coati_auto_file_open(&f, whole, &err));
	CHECK_OK(coati_auto_file_begin(&f, &err));
	CHECK_OK(symlink("elsewhere", "a"));
	CHECK_ERR(coati_auto_file_end(&f, true, false, &err), -EEXIST);
	CHECK_HAS(err.text, "symbolic link");
	CHECK_ERR(access(f.temporary, F_OK), -1);
	coati_auto_file_close(&f);
	CHECK_ERR(coati_auto_file_open(&f, whole, &err), -EEXIST);
	CHECK_ERR(coati_auto_file_open(&f, "/nonexistent/x", &err), -ENOENT);
	CHECK_HAS(err.text, "/nonexistent");
	CHECK_ERR(coati_auto_file_open(&f, "/", &err), -EISDIR);
	CHECK_ERR(coati_auto_file_open(&f, "/dev/null", &err), -EEXIST);
}

/* An ordinary user may not write to /dev; root becomes one. */
TEST(auto_file_that_is_a_device_is_named_before_its_folder)
{
	struct auto_file f;
	struct coati_error err = { 0 };
	uid_t before = geteuid();

	if (before == 0)
		CHECK_OK(seteuid(65534));
	CHECK_ERR(coati_auto_file_open(&f, "/dev/null", &err), -EEXIST);
	CHECK_HAS(err.text, "/dev/null is a device");
	CHECK_ERR(coati_auto_file_open(&f, "/dev/none-of-this-name", &err), -EACCES);
	CHECK_HAS(err.text, "the directory /dev: ");
	CHECK_ERR(coati_auto_file_open(&f, "/none-of-this-name", &err), -EACCES);
	CHECK_HAS(err.text, "the directory /: ");
	CHECK_OK(seteuid(before)); /* the leak checker attaches to this process */
}

/* ---- the whole ---- */

TEST(auto_finish_without_the_variable_says_that_nothing_was_asked_for)
{
	struct coati_error err = { 0 };

	CHECK_ERR(coati_auto_finish(&err), -ESRCH);
	CHECK_HAS(err.text, "COATI_PROFILE");
	CHECK_ERR(coati_auto_finish(NULL), -ESRCH);
}
