/* SPDX-License-Identifier: MIT */
/* What a broker believes of a file, and of a request. */
#include "lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "sandbox/check.h"
#include "sandbox/message.h"

static int file_of(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	CHECK_OK(fd);
	CHECK_OK(coati_write_all(fd, bytes, size));
	return fd;
}

static int image_of(const unsigned char *head, size_t size, struct coati_error *err)
{
	int fd = file_of("file", head, size), r = coati_check_image(fd, "the file", err);

	close(fd);
	return r;
}

TEST(check_of_an_image_wants_the_head_of_a_program)
{
	unsigned char head[18] = { 0x7f, 'E', 'L', 'F', 2, 1, 1 };
	struct coati_error err = { 0 };

	for (int type = 1; type <= 3; type++) {
		head[16] = (unsigned char)type;
		CHECK_OK(image_of(head, sizeof(head), &err));
	}
	for (size_t size = 0; size < sizeof(head); size++)
		CHECK_ERR(image_of(head, size, &err), -EBADMSG);
	CHECK_STR(err.text, "the file is not an ELF file, or a damaged one");
	head[16] = 4; /* a core file, little-endian */
	CHECK_ERR(image_of(head, sizeof(head), &err), -EPERM);
	CHECK_HAS(err.text, "the file is a core file");
	head[16] = 0;
	head[17] = 4; /* big-endian */
	CHECK_ERR(image_of(head, sizeof(head), &err), -EPERM);
	head[0] = 'x';
	CHECK_ERR(image_of(head, sizeof(head), &err), -EBADMSG);
}

static int source_of(const char *path, mode_t mode, const char *text, size_t size)
{
	int fd = file_of(path, text, size), r;

	CHECK_OK(chmod(path, mode));
	r = coati_check_source(fd, path, NULL);
	close(fd);
	return r;
}

TEST(check_of_a_source_wants_text_and_a_name)
{
	static const char *const good[] = { "a.c", "a.h",   "a.cc",    "a.CPP", "a.rs",	 "a.go",
					    "a.S", "a.f90", "a.b.zig", "a.py",	"a.c++", "a.adb" };
	static const char *const bad[] = { "a",	      "c",     ".c",	 "a.txt", "id_rsa",
					   "a.c.key", "a.pem", "shadow", "a.",	  "a.conf" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		CHECK_OK(source_of(good[i], 0600, "text", 4));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_ERR(source_of(bad[i], 0644, "text", 4), -EPERM);
	CHECK_ERR(source_of("a.c", 0600, "te\0t", 4), -EBADMSG);
	CHECK_OK(source_of("a.c", 0600, "", 0));
}

/* Headers of C++ have no ending: everybody may read them, below a folder that is named so. */
TEST(check_of_a_header_without_ending_wants_a_folder_and_a_mode)
{
	CHECK_OK(mkdir("include", 0700));
	CHECK_OK(mkdir("included", 0700));
	CHECK_OK(source_of("include/vector", 0644, "text", 4));
	CHECK_ERR(source_of("include/secret", 0640, "text", 4), -EPERM);
	CHECK_ERR(source_of("included/vector", 0644, "text", 4), -EPERM);
}

TEST(check_of_a_name_wants_a_number_and_nothing_else)
{
	CHECK(coati_is_numbered("perf-12.map", "perf-", ".map"));
	CHECK(coati_is_numbered("7", "", ""));
	CHECK(!coati_is_numbered("perf-.map", "perf-", ".map"));
	CHECK(!coati_is_numbered("perf-12.mapx", "perf-", ".map"));
	CHECK(!coati_is_numbered("perf-1x.map", "perf-", ".map"));
	CHECK(!coati_is_numbered("xperf-12.map", "perf-", ".map"));
	CHECK(!coati_is_numbered("/proc/1/../2/status", "/proc/", "/status"));
	CHECK(!coati_is_numbered("", "", ""));
}

TEST(check_of_files_of_the_kernel_knows_their_names)
{
	CHECK(coati_is_system_file("/proc/kallsyms", false));
	CHECK(coati_is_system_file("/proc/12/status", false));
	CHECK(!coati_is_system_file("/proc/12/maps", false));
	CHECK(coati_is_system_file("/proc/12/maps", true));
	CHECK(!coati_is_system_file("/proc/12/environ", true));
	CHECK(!coati_is_system_file("/proc/self/status", true));
	CHECK(!coati_is_system_file("/proc/kcore", true));
	CHECK(!coati_is_system_file("/proc/kallsyms/", true));
	CHECK(!coati_is_system_file("proc/kallsyms", true));
}

/* ---- requests ---- */

/* One whose texts lie in memory of exactly its size: reading past it is found by a sanitizer. */
static bool is_whole(const struct message_request *q, size_t size)
{
	struct message_request *copy = malloc(sizeof(*copy));
	bool r;

	CHECK(copy);
	memset(copy, 'x', sizeof(*copy));
	memcpy(copy, q, size);
	r = coati_message_is_whole(copy, size);
	free(copy);
	return r;
}

TEST(request_of_every_other_length_is_none)
{
	struct message_request q = { .ask = ASK_OPEN, .root_size = 3, .path_size = 5 };
	size_t right = MESSAGE_HEAD + 8;

	memcpy(q.text, "/r\0path", 8);
	for (size_t size = 0; size <= sizeof(q); size++)
		CHECK_INT(is_whole(&q, size), ==, size == right);
	q.root_size = UINT32_MAX;
	q.path_size = 9; /* 8, with an overflow */
	CHECK(!is_whole(&q, right));
	q.root_size = 0; /* both have ends, also when they are empty */
	q.path_size = 8;
	CHECK(!is_whole(&q, right));
	q.ask = ASKS;
	CHECK(!is_whole(&q, right));
	q.ask = ASK_JOB; /* bytes, not texts */
	CHECK(is_whole(&q, right));
	q.ask = ASK_END;
	CHECK(is_whole(&q, right));
}

TEST(request_with_a_path_that_is_too_long_is_none)
{
	struct message_request q = { .ask = ASK_OPEN,
				     .root_size = 1,
				     .path_size = MESSAGE_PATH_MAX };

	memset(q.text + 1, 'a', MESSAGE_PATH_MAX - 1);
	CHECK(is_whole(&q, MESSAGE_HEAD + 1 + MESSAGE_PATH_MAX));
	q.path_size++;
	q.text[MESSAGE_PATH_MAX] = 'a';
	CHECK(!is_whole(&q, MESSAGE_HEAD + 2 + MESSAGE_PATH_MAX));
}

/* Root reads what its owner lets others read, and no more. */
TEST(broker_of_root_reads_what_others_may)
{
	static const struct {
		mode_t mode;
		int r;
	} cases[] = { { 0644, 0 }, { 0604, 0 }, { 0640, -EPERM }, { 0600, -EPERM } };
	int fd = file_of("theirs", "x", 1);

	CHECK_INT(coati_check_owner(fd, "theirs", NULL), ==, 0); /* it is ours */
	if (geteuid() != 0)
		test_skip("needs root");
	CHECK_OK(fchown(fd, 65534, 65533));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CHECK_OK(fchmod(fd, cases[i].mode));
		CHECK_INT(coati_check_owner(fd, "theirs", NULL), ==, cases[i].r);
	}
	close(fd);
}
