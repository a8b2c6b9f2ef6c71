/* SPDX-License-Identifier: MIT */
/*
 * What a reader that was taken over gets by asking its broker: code, debug data, sources, and what
 * the user named. No other file, however it asks.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/opening.h"
#include "captive.h"
#include "need.h"
#include "sandbox/channel.h"
#include "sandbox/message.h"

#define STRANGER 65533

/* ---- asking ---- */

struct question {
	const char *what;
	struct opening o;
	int want; /* 0: a descriptor */
};

static const struct question *questions;
static size_t nr_questions;

static void ask_all(int *results)
{
	for (size_t i = 0; i < nr_questions; i++) {
		int fd = coati_open_file(&questions[i].o, NULL);

		results[i] = fd < 0 ? -fd : 0;
		if (fd >= 0)
			close(fd);
	}
}

static void check_questions(const struct sandbox_policy *policy, const struct question *q,
			    size_t nr)
{
	int results[CAPTIVE_RESULTS];

	CHECK_INT(nr, <=, CAPTIVE_RESULTS);
	questions = q;
	nr_questions = nr;
	captive_run(policy, ask_all, results);
	for (size_t i = 0; i < nr; i++)
		if (results[i] != q[i].want)
			test_fail_at(__FILE__, __LINE__, "%s: %s, not %s", q[i].what,
				     results[i] ? strerrorname_np(results[i]) : "it was handed out",
				     q[i].want ? strerrorname_np(q[i].want) : "handed out");
}
#define CHECK_QUESTIONS(policy, q) check_questions(policy, q, sizeof(q) / sizeof((q)[0]))

/* ---- files ---- */

static void make(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	CHECK_OK(fd);
	CHECK_OK(coati_write_all(fd, bytes, size));
	close(fd);
}

static void make_text(const char *path, const char *text)
{
	make(path, text, strlen(text));
}

/* The head of a file of that type is all that a broker looks at. */
static void make_elf(const char *path, uint16_t type)
{
	Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			 .e_type = type };

	make(path, &h, sizeof(h));
}

static void give_away(const char *path, mode_t mode)
{
	CHECK_OK(chmod(path, mode));
	CHECK_OK(chown(path, STRANGER, STRANGER));
}

static void make_files(void)
{
	static const char zeros[64] = "int x;";

	make_elf("program", ET_DYN);
	make_elf("core", ET_CORE);
	make_text("text", "a secret\n");
	make_text("good.c", "int x;\n");
	make("zeros.c", zeros, sizeof(zeros));
	make_text("perf-12.map", "10 10 name\n");
	make_text("perf-x.map", "10 10 name\n");
	make_text("12.dump", "DTiJ........");
	make_text("ab.tbl", "a table");
	make("empty", "", 0);
	CHECK_OK(mkfifo("fifo", 0600));
	CHECK_OK(mkdir("folder", 0700));
	make_text("folder/data", "PERFILE2");
	make_text("folder/data.0", "");
	make_text("folder/secret", "");
	CHECK_OK(mkdir("own", 0700));
	make_text("own/ab.tbl", "a table");
	CHECK_OK(mkdir("include", 0700));
	make_text("include/vector", "class vector;\n");
	CHECK_OK(chmod("include/vector", 0644));
	make_text("include/key", "private\n");
	CHECK_OK(symlink("program", "link"));
	CHECK_OK(symlink("text", "text.c"));
	CHECK_OK(symlink("perf-12.map", "perf-13.map"));
	CHECK_OK(link("text", "perf-15.map"));
	CHECK_OK(symlink("../text", "folder/data.1"));
}

/* The files of a process that is not in the sandbox. */
static char parent_root[40], program_path[4096];

static void name_parent(void)
{
	snprintf(parent_root, sizeof(parent_root), "/proc/%d/root", getpid());
	CHECK(realpath("program", program_path));
}

/* ---- what it gets ---- */

#define IMAGE(p)                              \
	{                                     \
		.kind = OPEN_IMAGE, .path = p \
	}
#define SOURCE(p)                              \
	{                                      \
		.kind = OPEN_SOURCE, .path = p \
	}
#define JIT(p)                                                                   \
	{                                                                        \
		.kind = OPEN_JIT, .links = OPEN_NO_LINKS, .root = ".", .path = p \
	}
#define SYSTEM(p)                              \
	{                                      \
		.kind = OPEN_SYSTEM, .path = p \
	}

TEST(broker_hands_out_images_and_sources_and_no_other_file)
{
	static const struct question q[] = {
		{ "an ELF file", IMAGE("program"), 0 },
		{ "an ELF file by a link", IMAGE("link"), 0 },
		{ "the same where links are not followed",
		  { .kind = OPEN_IMAGE, .links = OPEN_NO_LAST_LINK, .path = "link" },
		  ELOOP },
		{ "an ELF file as another process sees it",
		  { .kind = OPEN_IMAGE, .root = parent_root, .path = program_path },
		  0 },
		{ "text as an image", IMAGE("text"), EBADMSG },
		{ "/etc/passwd as an image", IMAGE("/etc/passwd"), EBADMSG },
		{ "an empty file as an image", IMAGE("empty"), EBADMSG },
		{ "a core file as an image", IMAGE("core"), EPERM },
		{ "a FIFO as an image", IMAGE("fifo"), EINVAL },
		{ "a folder as an image", IMAGE("folder"), EINVAL },
		{ "a device as an image", IMAGE("/dev/zero"), EINVAL },
		{ "what is not there", IMAGE("nothing"), ENOENT },
		{ "a source", SOURCE("good.c"), 0 },
		{ "a header without an ending", SOURCE("include/vector"), 0 },
		{ "one that is not for everybody", SOURCE("include/key"), EPERM },
		{ "a source with zeros", SOURCE("zeros.c"), EBADMSG },
		{ "text as a source", SOURCE("text"), EPERM },
		{ "text by a link that is named as a source", SOURCE("text.c"), EPERM },
		{ "/etc/passwd as a source", SOURCE("/etc/passwd"), EPERM },
		{ "a program as a source", SOURCE("program"), EPERM },
		{ "a perf map", JIT("/perf-12.map"), 0 },
		{ "a perf map that is a link", JIT("/perf-13.map"), ELOOP },
		{ "the same when links are to be followed",
		  { .kind = OPEN_JIT, .root = ".", .path = "/perf-13.map" },
		  ELOOP },
		{ "a perf map with two names", JIT("/perf-15.map"), EBADMSG },
		{ "a perf map of no process", JIT("/perf-x.map"), EBADMSG },
		{ "a jitdump", JIT("/12.dump"), 0 },
		{ "text as a jitdump", JIT("/text"), EBADMSG },
		{ "symbols of the kernel", SYSTEM("/proc/kallsyms"), 0 },
		{ "its status", SYSTEM("/proc/1/status"), 0 },
		{ "an environment", SYSTEM("/proc/1/environ"), EACCES },
		{ "mappings", SYSTEM("/proc/1/maps"), EACCES },
		{ "a status by a detour", SYSTEM("/proc/1/../1/environ"), EACCES },
		{ "/etc/passwd as a file of the kernel", SYSTEM("/etc/passwd"), EACCES },
		{ "a folder of recorders", { .kind = OPEN_FOLDER, .path = "/dev/shm" }, EACCES },
		{ "a recorder", { .kind = OPEN_RECORDER, .path = "1-1.live" }, EACCES },
		{ "a file of a server", { .kind = OPEN_SERVER, .path = "abcd" }, EACCES },
		{ "an unwind table", { .kind = OPEN_TABLE, .root = "own", .path = "ab.tbl" }, 0 },
		{ "an unwind table in a folder of all",
		  { .kind = OPEN_TABLE, .root = ".", .path = "ab.tbl" },
		  ENOENT },
		{ "text as an unwind table",
		  { .kind = OPEN_TABLE, .root = "own", .path = "../text" },
		  EACCES },
	};
	struct sandbox_policy policy = { .flags = SANDBOX_IMAGES | SANDBOX_TABLES |
						  SANDBOX_SOURCES };

	need_sandbox();
	make_files();
	name_parent();
	CHECK_QUESTIONS(&policy, q);
}

TEST(broker_hands_out_only_what_the_verb_needs)
{
	static const struct question q[] = {
		{ "an image", IMAGE("program"), EACCES },
		{ "a source", SOURCE("good.c"), EACCES },
		{ "a perf map", JIT("/perf-12.map"), EACCES },
		{ "an unwind table",
		  { .kind = OPEN_TABLE, .root = ".", .path = "ab.tbl" },
		  EACCES },
		{ "the input", { .kind = OPEN_INPUT, .path = "text" }, 0 },
		{ "another input", { .kind = OPEN_INPUT, .path = "good.c" }, EACCES },
		{ "the input by another name", { .kind = OPEN_INPUT, .path = "./text" }, EACCES },
		{ "a part of a folder",
		  { .kind = OPEN_INPUT, .root = "folder", .path = "data" },
		  0 },
		{ "another part", { .kind = OPEN_INPUT, .root = "folder", .path = "data.0" }, 0 },
		{ "a part that is a link",
		  { .kind = OPEN_INPUT, .root = "folder", .path = "data.1" },
		  ELOOP },
		{ "something else in it",
		  { .kind = OPEN_INPUT, .root = "folder", .path = "secret" },
		  EACCES },
		{ "something beside it",
		  { .kind = OPEN_INPUT, .root = "folder", .path = "../text" },
		  EACCES },
		{ "a part of another folder",
		  { .kind = OPEN_INPUT, .root = ".", .path = "data" },
		  EACCES },
	};
	static const char *const inputs[] = { "text", "folder" };
	struct sandbox_policy policy = { .inputs = inputs, .nr_inputs = 2 };

	need_sandbox();
	make_files();
	CHECK_QUESTIONS(&policy, q);
}

TEST(broker_of_root_hands_out_no_private_file_of_another_user)
{
	static const struct question q[] = {
		{ "/etc/shadow as an image", IMAGE("/etc/shadow"), EBADMSG },
		{ "/etc/shadow as a source", SOURCE("/etc/shadow"), EPERM },
		{ "/etc/shadow as a perf map", JIT("/etc/shadow"), ENOENT },
		{ "/etc/shadow by a link", SOURCE("shadow.c"), EPERM },
		{ "a program that its owner alone may read", IMAGE("private"), EPERM },
		{ "a program that everybody may read", IMAGE("public"), 0 },
		{ "a source that its owner alone may read", SOURCE("private.c"), EPERM },
		{ "a source that everybody may read", SOURCE("public.c"), 0 },
		{ "a perf map that its owner alone may read", JIT("/perf-14.map"), EPERM },
	};
	struct sandbox_policy policy = { .flags = SANDBOX_IMAGES | SANDBOX_TABLES |
						  SANDBOX_SOURCES };

	need_sandbox();
	need_root();
	make_elf("private", ET_EXEC);
	make_elf("public", ET_EXEC);
	make_text("private.c", "int x;\n");
	make_text("public.c", "int x;\n");
	make_text("perf-14.map", "10 10 name\n");
	give_away("private", 0700);
	give_away("public", 0755);
	give_away("private.c", 0600);
	give_away("public.c", 0644);
	give_away("perf-14.map", 0600);
	CHECK_OK(symlink("/etc/shadow", "shadow.c"));
	CHECK_QUESTIONS(&policy, q);
}

TEST(broker_hands_recorders_to_autopsy_and_nothing_else_in_their_folders)
{
	static const struct question q[] = {
		{ "the folder that the user named", { .kind = OPEN_FOLDER, .path = "folder" }, 0 },
		{ "shared memory", { .kind = OPEN_FOLDER, .path = "/dev/shm" }, 0 },
		{ "descriptors of a process", { .kind = OPEN_FOLDER, .path = "/proc/1/fd" }, 0 },
		{ "another folder", { .kind = OPEN_FOLDER, .path = "/etc" }, EACCES },
		{ "a folder by a detour",
		  { .kind = OPEN_FOLDER, .path = "/dev/shm/coati-0/../../../etc" },
		  EACCES },
		{ "a recorder",
		  { .kind = OPEN_RECORDER, .root = "folder", .path = "1-1.live" },
		  0 },
		{ "another file",
		  { .kind = OPEN_RECORDER, .root = "folder", .path = "secret" },
		  EACCES },
		{ "a recorder that is a link",
		  { .kind = OPEN_RECORDER, .root = "folder", .path = "2-1.live" },
		  ELOOP },
		{ "a recorder elsewhere",
		  { .kind = OPEN_RECORDER, .root = ".", .path = "3-1.live" },
		  EACCES },
		{ "a recorder by a detour",
		  { .kind = OPEN_RECORDER, .root = "folder", .path = "../3-1.live" },
		  EACCES },
		{ "what a process has open",
		  { .kind = OPEN_RECORDER, .root = "/proc/self/fd", .path = "0" },
		  EACCES },
		{ "an image", IMAGE("program"), EACCES },
	};
	static const char *const inputs[] = { "folder" };
	struct sandbox_policy policy = { .flags = SANDBOX_RECORDERS,
					 .inputs = inputs,
					 .nr_inputs = 1 };

	need_sandbox();
	need_root();
	make_files();
	make_text("folder/1-1.live", "");
	make_text("3-1.live", "");
	CHECK_OK(symlink("secret", "folder/2-1.live"));
	CHECK_QUESTIONS(&policy, q);
}

/* ---- what it makes and removes ---- */

static void make_others(int *results)
{
	struct new_file f;

	results[0] = -coati_new_file_open(&f, "other", 0600, NULL);
	results[1] = -coati_new_file_open(&f, "./output", 0600, NULL);
	results[2] = -coati_sandbox_remove("text");
	results[3] = -coati_sandbox_remove("/dev/shm/coati-0/1-1.live");
	/* once it is being made it cannot be made again beside itself */
	results[4] = -coati_new_file_open(&f, "output", 0600, NULL);
	results[5] = -coati_new_file_open(&f, "output", 0600, NULL);
}

TEST(broker_makes_the_output_and_no_other_file)
{
	struct sandbox_policy policy = { .flags = SANDBOX_RECORDERS, .output = "output" };
	int r[CAPTIVE_RESULTS];
	struct stat st;

	need_sandbox();
	make_files();
	captive_run(&policy, make_others, r);
	CHECK_INT(r[0], ==, EACCES);
	CHECK_INT(r[1], ==, EACCES);
	CHECK_INT(r[2], ==, EACCES);
	CHECK_INT(r[3], ==, EACCES);
	CHECK_INT(r[4], ==, 0);
	CHECK_INT(r[5], ==, EACCES);
	CHECK(stat("text", &st) == 0);
	CHECK(stat("output", &st) < 0 && stat("other", &st) < 0);
}

static void ask_jobs(int *results)
{
	struct sandbox_task task = { .bytes = "12345678", .size = 8, .fd = -1 };
	uint32_t value;

	for (int i = 0; i < SANDBOX_JOBS; i++)
		results[i] = -coati_sandbox_run((enum sandbox_job)i, &task, &value, NULL);
}

TEST(broker_does_no_job_that_the_verb_does_not_need)
{
	struct sandbox_policy policy = { .flags = SANDBOX_IMAGES };
	int r[CAPTIVE_RESULTS];

	need_sandbox();
	captive_run(&policy, ask_jobs, r);
	for (int i = 0; i < SANDBOX_JOBS; i++)
		CHECK_INT(r[i], ==, EACCES);
}

/* ---- what the processes behind the reader can do ---- */

#define CAN_READ   (1u << 0)
#define CAN_WRITE  (1u << 1)
#define CAN_SOCKET (1u << 2)
#define CAN_EXEC   (1u << 3)
#define CAN_TRACE  (1u << 4)
#define CAN_REMOVE (1u << 5)

static uint32_t can(uint32_t what, long r)
{
	return r < 0 ? 0 : what;
}

/* In a process of the broker or the worker, with its rights: a path that cannot be executed is
 * found after the right to execute was asked for. */
static int try_rights(const struct sandbox_task *task, uint32_t *ret_value, struct coati_error *err)
{
	char *argv[] = { "nothing", NULL };

	(void)task;
	(void)err;
	*ret_value = can(CAN_READ, open("text", O_RDONLY)) |
		     can(CAN_WRITE, open("other", O_WRONLY | O_CREAT, 0600)) |
		     can(CAN_WRITE, open("text", O_WRONLY)) |
		     can(CAN_SOCKET, socket(AF_INET, SOCK_STREAM, 0)) |
		     can(CAN_TRACE, ptrace(PTRACE_TRACEME, 0, NULL, NULL)) |
		     can(CAN_REMOVE, unlink("text"));
	if (execve("text", argv, NULL) < 0 && errno != EPERM)
		*ret_value |= CAN_EXEC;
	return open("/dev/null", O_RDONLY);
}

static enum sandbox_job rights_job;

static void ask_rights(int *results)
{
	struct sandbox_task task = { .bytes = "", .fd = -1 };
	uint32_t value = 0;

	results[0] = coati_sandbox_run(rights_job, &task, &value, NULL) < 0;
	results[1] = (int)value;
}

/* Of the process that does this job. */
static int rights_of(enum sandbox_job job, struct sandbox_policy policy)
{
	int r[CAPTIVE_RESULTS];

	policy.jobs[job] = try_rights;
	rights_job = job;
	captive_run(&policy, ask_rights, r);
	CHECK_INT(r[0], ==, 0);
	return r[1];
}

TEST(broker_can_read_and_nothing_else_whatever_the_verb_needs)
{
	struct sandbox_policy most = { .flags = SANDBOX_REMOVE,
				       .output = "output",
				       .jobs = { try_rights, try_rights, try_rights } };

	need_sandbox();
	make_files();
	CHECK_INT(rights_of(SANDBOX_DESCRIBE, (struct sandbox_policy){ 0 }), ==, CAN_READ);
	CHECK_INT(rights_of(SANDBOX_DESCRIBE, most), ==, CAN_READ);
}

TEST(worker_has_what_the_verb_needs)
{
	struct sandbox_policy elsewhere = { .output = "elsewhere/output" };
	struct stat st;

	need_sandbox();
	make_files();
	CHECK_OK(mkdir("elsewhere", 0700));
	CHECK_INT(rights_of(SANDBOX_FETCH, (struct sandbox_policy){ 0 }), ==,
		  CAN_READ | CAN_SOCKET);
	CHECK_INT(rights_of(SANDBOX_OBJDUMP, (struct sandbox_policy){ 0 }), ==,
		  CAN_READ | CAN_EXEC);
	CHECK_INT(rights_of(SANDBOX_OBJDUMP, elsewhere), ==, CAN_READ | CAN_EXEC);
	CHECK(stat("text", &st) == 0 && stat("other", &st) < 0);
	/* in the folder of the output files are made and replaced */
	CHECK_INT(rights_of(SANDBOX_FETCH, (struct sandbox_policy){ .output = "output" }), ==,
		  CAN_READ | CAN_SOCKET | CAN_WRITE | CAN_REMOVE);
}

/* ---- requests that are none ---- */

/* The answer to these bytes, as the errno in it; -1: there is none. */
static int send_bytes(const void *bytes, size_t size)
{
	int channel = captive_channel(), fd;
	struct message_answer a = { 0 };

	if (coati_channel_send(channel, bytes, size, -1) < 0 ||
	    coati_channel_recv(channel, &a, sizeof(a), &fd) != (ssize_t)sizeof(a))
		return -1;
	if (fd >= 0)
		close(fd);
	return fd >= 0 ? 0 : -a.code;
}

static struct message_request request_of(const char *path)
{
	struct message_request q = { .ask = ASK_OPEN,
				     .kind = OPEN_IMAGE,
				     .root_size = 1,
				     .path_size = (uint32_t)strlen(path) + 1 };

	memcpy(q.text + 1, path, q.path_size);
	return q;
}

/* Results: 0 how many of all lengths were taken for a request, 1 whether it still answers, then
 * single ones. */
static void send_wrong(int *results)
{
	struct message_request q = request_of("program"), wrong;
	size_t right = MESSAGE_HEAD + 1 + strlen("program") + 1;

	/* an empty message is the end: from the first byte on */
	for (size_t size = 1; size <= sizeof(q); size += size < 2 * right ? 1 : 61)
		results[0] += send_bytes(&q, size) != EINVAL;
	results[1] = send_bytes(&q, right);
	wrong = q;
	wrong.ask = 77;
	results[2] = send_bytes(&wrong, right);
	wrong = q;
	wrong.kind = 77;
	results[3] = send_bytes(&wrong, right);
	wrong = q;
	wrong.links = 77;
	results[4] = send_bytes(&wrong, right);
	wrong = q;
	wrong.path_size = UINT32_MAX;
	wrong.root_size = (uint32_t)right;
	results[5] = send_bytes(&wrong, right);
	wrong = q;
	wrong.text[right - MESSAGE_HEAD - 1] = 'x'; /* no end */
	results[6] = send_bytes(&wrong, right);
	wrong = q;
	wrong.text[3] = '\0'; /* an end too early */
	results[7] = send_bytes(&wrong, right);
	wrong = q;
	wrong.ask = ASK_JOB;
	wrong.kind = UINT32_MAX;
	wrong.root_size = 0;
	wrong.path_size = (uint32_t)(right - MESSAGE_HEAD);
	results[8] = send_bytes(&wrong, right);
	results[9] = send_bytes(&q, right);
}

TEST(broker_refuses_every_request_that_is_none_and_goes_on)
{
	static const int want[] = {
		1, 0, EINVAL, EINVAL, EINVAL, EINVAL, EINVAL, EINVAL, EACCES, 0
	};
	struct sandbox_policy policy = { .flags = SANDBOX_IMAGES };
	int r[CAPTIVE_RESULTS];

	need_sandbox();
	make_files();
	captive_run(&policy, send_wrong, r);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		if (r[i] != want[i])
			test_fail_at(__FILE__, __LINE__, "result %zu is %d, not %d", i, r[i],
				     want[i]);
}

/* More descriptors than there is room for: none is taken, and none stays open in the broker. */
static void send_descriptors(int *results)
{
	struct message_request q = request_of("program");
	struct iovec part = { &q, MESSAGE_HEAD + 1 + strlen("program") + 1 };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(64 * sizeof(int))];
	} c = { 0 };
	struct msghdr m = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)
	};
	int fds[64];

	for (int i = 0; i < 64; i++)
		fds[i] = STDIN_FILENO;
	c.head.cmsg_level = SOL_SOCKET;
	c.head.cmsg_type = SCM_RIGHTS;
	c.head.cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(&c.head), fds, sizeof(fds));
	/* the kernel limits how many an ordinary user may have on their way to the broker */
	for (int i = 0; i < 100; i++) {
		ssize_t n;

		do
			n = sendmsg(captive_channel(), &m, 0);
		while (n < 0 && errno == ETOOMANYREFS);
		results[0] += n < 0;
	}
	results[1] = send_bytes(&q, part.iov_len);
}

TEST(broker_takes_no_more_descriptors_than_one)
{
	struct sandbox_policy policy = { .flags = SANDBOX_IMAGES };
	int r[CAPTIVE_RESULTS];

	need_sandbox();
	make_files();
	captive_run(&policy, send_descriptors, r);
	CHECK_INT(r[0], ==, 0);
	CHECK_INT(r[1], ==, 0);
}

/* A descriptor that can only be written to does not become one that can be read. */
static void reopen_own(int *results)
{
	struct opening o = { .kind = OPEN_INPUT };
	struct new_file f;
	char path[40];
	int fd;

	if (coati_new_file_open(&f, "output", 0600, NULL) < 0)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", f.fd);
	o.path = path;
	fd = coati_open_file(&o, NULL);
	results[0] = fd < 0 ? -fd : 0;
	o.path = "/proc/self/fd/1";
	fd = coati_open_file(&o, NULL);
	results[1] = fd < 0 ? -fd : 0;
}

TEST(broker_reopens_what_the_reader_could_read_and_nothing_else)
{
	struct sandbox_policy policy = { .output = "output" };
	int r[CAPTIVE_RESULTS], keep = dup(STDOUT_FILENO), fd;

	need_sandbox();
	fd = open("log", O_WRONLY | O_CREAT, 0600);
	CHECK_OK(dup2(fd, STDOUT_FILENO));
	captive_run(&policy, reopen_own, r);
	CHECK_OK(dup2(keep, STDOUT_FILENO));
	CHECK_INT(r[0], ==, 0);
	CHECK_INT(r[1], ==, EACCES);
	close(fd);
	close(keep);
}
