/* SPDX-License-Identifier: MIT */
/* Where the cgroups are, from made-up lists of mounts; and what is not a cgroup. */
#include "lib/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "event/cgroup.h"

#define V2   "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n"
#define CPU  "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
#define PERF "33 31 0:30 / /sys/fs/cgroup/perf_event rw - cgroup cgroup rw,perf_event\n"

TEST(cgroup_hierarchy_of_version_2_is_found)
{
	struct cgroup_mount m;

	coati_cgroup_mount_find("23 1 0:2 / / rw - ext4 /dev/vda rw\n" CPU V2, &m);
	CHECK_INT(m.version, ==, 2);
	CHECK_STR(m.path, "/sys/fs/cgroup/unified");
	CHECK_U64(m.dev, ==, makedev(0, 38));
}

TEST(cgroup_hierarchy_of_perf_event_goes_before_version_2)
{
	struct cgroup_mount m;

	coati_cgroup_mount_find(V2 PERF CPU, &m);
	CHECK_INT(m.version, ==, 1);
	CHECK_STR(m.path, "/sys/fs/cgroup/perf_event");
	coati_cgroup_mount_find(PERF V2, &m);
	CHECK_INT(m.version, ==, 1);
}

TEST(cgroup_controllers_are_compared_as_whole_words)
{
	struct cgroup_mount m;

	coati_cgroup_mount_find("1 2 0:3 / /a rw - cgroup x rw,xperf_event,perf_event2\n", &m);
	CHECK_INT(m.version, ==, 0);
	coati_cgroup_mount_find("1 2 0:3 / /a rw - cgroup x rw,cpu,perf_event,net\n", &m);
	CHECK_INT(m.version, ==, 1);
}

TEST(cgroup_mount_with_odd_characters_is_unescaped)
{
	struct cgroup_mount m;

	coati_cgroup_mount_find("1 2 0:3 / /a\\040b\\134c\\011\\9 rw - cgroup2 none rw", &m);
	CHECK_INT(m.version, ==, 2);
	CHECK_STR(m.path, "/a b\\c\t\\9");
	/* an empty source is still a field */
	coati_cgroup_mount_find("1 2 0:3 / /a rw - cgroup2  rw", &m);
	CHECK_INT(m.version, ==, 2);
}

TEST(cgroup_mounts_that_are_cut_or_garbage_are_passed_over)
{
	static const char line[] = "41 31 0:38 / /mnt rw,relatime shared:9 - cgroup2 cgroup2 rw";
	static const char *const bad[] = {
		"",
		"\n\n\n",
		"- - - - - - - cgroup2 x rw",
		"1 2 x / /a rw - cgroup2 x rw",
		"1 2 0:x / /a rw - cgroup2 x rw",
		"1 2 0:99999999999 / /a rw - cgroup2 x rw",
		("1 2 0:3 / /a rw 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 "
		 "- cgroup2 x rw"),
	};
	struct cgroup_mount m;
	char cut[sizeof(line)];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		coati_cgroup_mount_find(bad[i], &m);
		CHECK_INT(m.version, ==, 0);
	}
	for (size_t len = 0; len < sizeof(line) - 3; len++) {
		memcpy(cut, line, len);
		cut[len] = '\0';
		coati_cgroup_mount_find(cut, &m);
		CHECK_INT(m.version, ==, 0);
	}
	coati_cgroup_mount_find(line, &m);
	CHECK_INT(m.version, ==, 2);
}

TEST(cgroup_name_that_is_none_is_refused_with_the_reason)
{
	struct coati_error err = { 0 };

	CHECK_ERR(coati_cgroup_open("", &err), -EINVAL);
	CHECK_HAS(err.text, "name of a cgroup is missing");
	CHECK_ERR(coati_cgroup_open("..", &err), -EINVAL);
	CHECK_ERR(coati_cgroup_open("a/../b", &err), -EINVAL);
	CHECK_HAS(err.text, "\"..\"");
}

TEST(cgroup_path_to_something_else_is_refused_with_the_reason)
{
	struct coati_error err = { 0 };
	int r = coati_cgroup_open("/tmp", &err);

	if (r == -EOPNOTSUPP)
		test_skip_need("cgroup", "%s", err.text);
	CHECK_ERR(r, -EINVAL);
	CHECK_HAS(err.text, "/tmp is not a cgroup: they are below");
	CHECK_ERR(coati_cgroup_open("/dev/null", &err), -EINVAL);
	CHECK_HAS(err.text, "not a directory");
	CHECK_ERR(coati_cgroup_open("/no-such-cgroup", &err), -ENOENT);
	CHECK_HAS(err.text, "names are looked up below");
	CHECK_ERR(coati_cgroup_open("no..such", &err), -ENOENT);
	CHECK_HAS(err.text, "no cgroup /");
}

TEST(cgroup_fifo_does_not_block)
{
	struct coati_error err = { 0 };
	char path[4096];
	int r;

	CHECK(getcwd(path, sizeof(path) - 8));
	memcpy(path + strlen(path), "/fifo", 6);
	CHECK_INT(mkfifo(path, 0600), ==, 0);
	r = coati_cgroup_open(path, &err);
	if (r == -EOPNOTSUPP)
		test_skip_need("cgroup", "%s", err.text);
	CHECK_ERR(r, -EINVAL);
}
