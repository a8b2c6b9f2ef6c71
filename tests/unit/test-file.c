/* SPDX-License-Identifier: MIT */
/* Small files: whole, by line, as numbers, at an offset. */
#include "lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/newfile.h"

static void put(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	CHECK(fd >= 0);
	CHECK_OK(coati_write_all(fd, bytes, size));
	close(fd);
}

TEST(file_read_adds_the_whole_file_behind_what_is_there)
{
	static char bytes[20000];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i % 251);
	for (size_t size = 0; size <= sizeof(bytes); size = size * 3 + 1) {
		struct strbuf s = STRBUF_INIT(sizeof(bytes) + 2);

		put("f", bytes, size);
		coati_strbuf_adds(&s, "x:");
		CHECK_OK(coati_file_read(AT_FDCWD, "f", &s));
		CHECK_U64(s.len, ==, size + 2);
		CHECK_MEM(s.text, "x:", 2);
		CHECK_MEM(s.text + 2, bytes, size);
		coati_strbuf_fini(&s);
	}
}

TEST(file_read_takes_a_file_that_just_fits_and_refuses_one_byte_more)
{
	static char bytes[9000];

	memset(bytes, 'a', sizeof(bytes));
	put("f", bytes, sizeof(bytes));
	for (size_t room = sizeof(bytes) - 1; room <= sizeof(bytes); room++) {
		struct strbuf s = STRBUF_INIT(room + 1);

		coati_strbuf_addc(&s, 'x');
		CHECK_ERR(coati_file_read(AT_FDCWD, "f", &s), room < sizeof(bytes) ? -E2BIG : 0);
		CHECK_U64(s.len, ==, room < sizeof(bytes) ? 1 : 1 + sizeof(bytes));
		CHECK_INT(s.text[0], ==, 'x');
		CHECK_INT(s.text[s.len], ==, 0);
		coati_strbuf_fini(&s);
	}
}

TEST(file_read_ends_at_the_ceiling_of_an_endless_file)
{
	struct strbuf s = STRBUF_INIT(100000);

	CHECK_ERR(coati_file_read(AT_FDCWD, "/dev/zero", &s), -E2BIG);
	coati_strbuf_fini(&s);
}

TEST(file_read_believes_no_size_that_a_kernel_file_claims)
{
	struct strbuf s = STRBUF_INIT(1 << 20);
	struct stat st;

	CHECK_OK(stat("/proc/self/status", &st));
	CHECK_INT(st.st_size, ==, 0);
	CHECK_OK(coati_file_read(AT_FDCWD, "/proc/self/status", &s));
	CHECK_HAS(s.text, "Name:");
	coati_strbuf_clear(&s);
	CHECK_OK(coati_file_read(AT_FDCWD, "/sys/kernel/uevent_seqnum", &s));
	CHECK_U64(s.len, <, 30);
	coati_strbuf_fini(&s);
}

TEST(file_read_is_relative_to_its_folder)
{
	struct strbuf s = STRBUF_INIT(100);
	int dir;

	CHECK_OK(mkdir("d", 0700));
	put("d/f", "inside", 6);
	dir = open("d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_OK(coati_file_read(dir, "f", &s));
	CHECK_STR(s.text, "inside");
	CHECK_ERR(coati_file_read(dir, "d/f", &s), -ENOENT);
	close(dir);
	coati_strbuf_fini(&s);
}

TEST(file_read_says_why_not)
{
	struct strbuf s = STRBUF_INIT(100);
	char line[10];
	uint64_t v;

	CHECK_ERR(coati_file_read(AT_FDCWD, "missing", &s), -ENOENT);
	CHECK_ERR(coati_file_read(AT_FDCWD, ".", &s), -EISDIR);
	CHECK_ERR(coati_file_read_line(AT_FDCWD, ".", line, sizeof(line)), -EISDIR);
	CHECK_ERR(coati_file_read_u64(AT_FDCWD, ".", &v), -EISDIR);
	CHECK_INT(s.failed, ==, 0);
	coati_strbuf_fini(&s);
}

TEST(file_read_adds_nothing_to_text_that_has_failed)
{
	struct strbuf s = STRBUF_INIT(1);

	coati_strbuf_adds(&s, "12");
	put("f", "", 0);
	CHECK_ERR(coati_file_read(AT_FDCWD, "f", &s), -E2BIG);
	coati_strbuf_fini(&s);
}

TEST(file_read_leaves_no_descriptor_open)
{
	struct strbuf s = STRBUF_INIT(4);
	int before = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char line[4];

	close(before);
	put("f", "too long\n", 9);
	CHECK_ERR(coati_file_read(AT_FDCWD, "f", &s), -E2BIG);
	coati_strbuf_clear(&s);
	CHECK_ERR(coati_file_read(AT_FDCWD, ".", &s), -EISDIR);
	CHECK_ERR(coati_file_read_line(AT_FDCWD, "f", line, sizeof(line)), -E2BIG);
	/* the lowest free number is still the one that was free before */
	CHECK_INT(open("/dev/null", O_RDONLY | O_CLOEXEC), ==, before);
	close(before);
	coati_strbuf_fini(&s);
}

TEST(file_read_survives_each_failing_allocation)
{
	put("f", "some text", 9);
	for (uint64_t n = 0; n < 2; n++) {
		struct strbuf s = STRBUF_INIT(100);

		coati_alloc_fail_after(n);
		CHECK_ERR(coati_file_read(AT_FDCWD, "f", &s), n ? 0 : -ENOMEM);
		coati_alloc_fail_after(UINT64_MAX);
		CHECK_STR(s.text, n ? "some text" : "");
		coati_strbuf_fini(&s);
	}
}

TEST(file_read_line_needs_room_for_the_line_and_its_terminator)
{
	static const char *const endings[] = { "", "\n", "\nmore\n" };

	for (size_t e = 0; e < 3; e++) {
		for (size_t size = 0; size < 9; size++) {
			char file[20] = "12345", line[9];

			memcpy(file + 5, endings[e], strlen(endings[e]) + 1);
			put("f", file, strlen(file));
			CHECK_ERR(coati_file_read_line(AT_FDCWD, "f", line, size),
				  size < 6 ? -E2BIG : 0);
			if (size >= 6)
				CHECK_STR(line, "12345");
		}
	}
}

TEST(file_read_line_takes_an_empty_file_and_an_empty_line_as_empty)
{
	char line[4] = "x";

	put("f", "", 0);
	CHECK_OK(coati_file_read_line(AT_FDCWD, "f", line, sizeof(line)));
	CHECK_STR(line, "");
	put("f", "\nx", 2);
	CHECK_OK(coati_file_read_line(AT_FDCWD, "f", line, 1));
	CHECK_STR(line, "");
}

TEST(file_read_line_refuses_a_zero_byte_in_the_line_only)
{
	char line[10];

	put("f", "1\0002\n", 4);
	CHECK_ERR(coati_file_read_line(AT_FDCWD, "f", line, sizeof(line)), -EBADMSG);
	put("f", "1\n\0", 3);
	CHECK_OK(coati_file_read_line(AT_FDCWD, "f", line, sizeof(line)));
}

TEST(file_read_numbers_strictly)
{
	uint64_t u = 7;
	int64_t i = 7;

	put("f", "0x1f\n", 5);
	CHECK_OK(coati_file_read_u64(AT_FDCWD, "f", &u));
	CHECK_U64(u, ==, 31);
	put("f", "-1\n", 3);
	CHECK_OK(coati_file_read_i64(AT_FDCWD, "f", &i));
	CHECK_INT(i, ==, -1);
	CHECK_ERR(coati_file_read_u64(AT_FDCWD, "f", &u), -EINVAL);
	put("f", "4 \n", 3);
	CHECK_ERR(coati_file_read_u64(AT_FDCWD, "f", &u), -EINVAL);
	put("f", "", 0);
	CHECK_ERR(coati_file_read_i64(AT_FDCWD, "f", &i), -EINVAL);
	put("f", "18446744073709551616\n", 21);
	CHECK_ERR(coati_file_read_u64(AT_FDCWD, "f", &u), -ERANGE);
	CHECK_U64(u, ==, 31);
}

TEST(file_pread_all_reads_exactly_or_says_that_the_file_ends)
{
	char buf[10];
	int fd;

	put("f", "0123456789", 10);
	fd = open("f", O_RDONLY | O_CLOEXEC);
	CHECK_OK(coati_pread_all(fd, buf, 4, 3));
	CHECK_MEM(buf, "3456", 4);
	CHECK_OK(coati_pread_all(fd, buf, 10, 0));
	CHECK_OK(coati_pread_all(fd, buf, 0, 100));
	CHECK_ERR(coati_pread_all(fd, buf, 1, 10), -ENODATA);
	CHECK_ERR(coati_pread_all(fd, buf, 10, 1), -ENODATA);
	CHECK_ERR(coati_pread_all(fd, buf, 1, UINT64_MAX), -ENODATA);
	CHECK_ERR(coati_pread_all(fd, buf, 1, INT64_MAX), -ENODATA);
	close(fd);
	CHECK_ERR(coati_pread_all(fd, buf, 1, 0), -EBADF);
}

static int drain_fd;
static size_t nr_drained;
static int nr_signals;

/* The first signals only interrupt; the others also make room in the pipe. */
static void interrupt(int sig)
{
	static char scratch[1 << 16];
	int keep = errno;
	ssize_t n;

	(void)sig;
	if (++nr_signals > 3)
		while ((n = read(drain_fd, scratch, sizeof(scratch))) > 0)
			nr_drained += (size_t)n;
	errno = keep;
}

TEST(file_write_all_gets_through_short_writes_and_signals)
{
	static char bytes[1 << 20];
	struct sigaction act = { .sa_handler = interrupt };
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	size_t filled = 0;
	ssize_t n;
	int fds[2];

	CHECK_OK(pipe2(fds, O_CLOEXEC | O_NONBLOCK));
	while ((n = write(fds[1], bytes, 4096)) > 0)
		filled += (size_t)n;
	/* from here on writing blocks in a full pipe, reading does not block */
	CHECK_OK(fcntl(fds[1], F_SETFL, 0));
	drain_fd = fds[0];
	CHECK_OK(sigaction(SIGALRM, &act, NULL));
	CHECK_OK(setitimer(ITIMER_REAL, &every, NULL));
	CHECK_OK(coati_write_all(fds[1], bytes, sizeof(bytes)));
	CHECK_OK(setitimer(ITIMER_REAL, &never, NULL));
	interrupt(SIGALRM);
	CHECK_U64(nr_drained, ==, filled + sizeof(bytes));
	close(fds[0]);
	close(fds[1]);
}

TEST(file_write_all_says_why_not)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	CHECK_ERR(coati_write_all(fd, "x", 1), -ENOSPC);
	CHECK_OK(coati_write_all(fd, "x", 0));
	close(fd);
}

TEST(file_read_does_not_wait_for_the_writer_of_a_fifo)
{
	struct strbuf s = STRBUF_INIT(100);

	CHECK_OK(mkfifo("fifo", 0600));
	CHECK_OK(coati_file_read(AT_FDCWD, "fifo", &s));
	CHECK_U64(s.len, ==, 0);
	coati_strbuf_fini(&s);
}

/* In a directory of all users another one may make any name first, a directory for example. */
TEST(file_new_one_takes_the_place_of_the_old_one_whatever_others_have_made_beside_it)
{
	struct new_file f;
	struct strbuf s = STRBUF_INIT(100);
	char part[64];

	put("out", "old", 3);
	snprintf(part, sizeof(part), "out.part-%d", (int)getpid());
	CHECK_OK(mkdir(part, 0700));
	CHECK_OK(coati_new_file_open(&f, "out", 0600, NULL));
	CHECK_OK(coati_write_all(f.fd, "new", 3));
	CHECK_OK(coati_new_file_end(&f, true, NULL));
	CHECK_OK(coati_file_read(AT_FDCWD, "out", &s));
	CHECK_U64(s.len, ==, 3);
	CHECK_MEM(s.text, "new", 3);
	coati_strbuf_fini(&s);
}
