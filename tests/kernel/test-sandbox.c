/* SPDX-License-Identifier: MIT */
/*
 * What a reader can still do when its code was taken over: nothing to files, sockets, programs and
 * other processes. And what it must still be able to do.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/opening.h"
#include "captive.h"
#include "need.h"

static int worked(long r)
{
	return r < 0 ? errno : 0;
}

static int opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);
	int r = worked(fd);

	if (fd >= 0)
		close(fd);
	return r;
}

/* ---- files ---- */

static int open_secret(void)
{
	return opens("/etc/shadow", O_RDONLY);
}

static int open_public(void)
{
	return opens("/etc/passwd", O_RDONLY);
}

static int open_input(void)
{
	return opens("input", O_RDONLY);
}

static int open_root(void)
{
	return opens("/", O_RDONLY | O_DIRECTORY);
}

static int open_place(void)
{
	return opens("/etc/shadow", O_PATH);
}

static int open_newer(void)
{
	struct open_how how = { .flags = O_RDONLY };

	return worked(syscall(SYS_openat2, AT_FDCWD, "/etc/shadow", &how, sizeof(how)));
}

static int open_own_memory(void)
{
	return opens("/proc/self/mem", O_RDONLY);
}

static int open_parents_memory(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", getppid());
	return opens(path, O_RDONLY);
}

static int write_input(void)
{
	return opens("input", O_WRONLY);
}

static int write_output(void)
{
	return opens("output", O_WRONLY | O_CREAT);
}

static int make_other(void)
{
	return opens("other", O_WRONLY | O_CREAT);
}

static int make_nameless(void)
{
	return opens(".", O_RDWR | O_TMPFILE);
}

static int cut_input(void)
{
	return worked(truncate("input", 0));
}

static int rename_input(void)
{
	return worked(rename("input", "output"));
}

static int link_input(void)
{
	return worked(link("input", "other"));
}

static int link_secret(void)
{
	return worked(symlink("/etc/shadow", "other.c"));
}

static int remove_input(void)
{
	return worked(unlink("input"));
}

static int make_folder(void)
{
	return worked(mkdir("folder", 0700));
}

static int make_fifo(void)
{
	return worked(mkfifo("fifo", 0600));
}

static int open_up_input(void)
{
	return worked(chmod("input", 0777));
}

static int change_folder(void)
{
	return worked(chdir("/"));
}

static int mount_over(void)
{
	return worked(mount("none", ".", "tmpfs", 0, NULL));
}

TEST(sandbox_lets_no_reader_open_or_change_a_file)
{
	static const struct attempt attempts[] = {
		{ "open /etc/shadow", open_secret, EACCES },
		{ "open /etc/passwd", open_public, EACCES },
		{ "open the input, past the broker", open_input, EACCES },
		{ "open the root folder", open_root, EACCES },
		{ "open a place", open_place, EACCES },
		{ "openat2", open_newer, EACCES },
		{ "open /proc/self/mem", open_own_memory, EACCES },
		{ "open the memory of its parent", open_parents_memory, EACCES },
		{ "open the input to write", write_input, EACCES },
		{ "open the output, past the broker", write_output, EACCES },
		{ "make another file", make_other, EACCES },
		{ "make a file without a name", make_nameless, EACCES },
		{ "truncate", cut_input, EPERM },
		{ "rename", rename_input, EPERM },
		{ "link", link_input, EPERM },
		{ "symlink", link_secret, EPERM },
		{ "unlink", remove_input, EPERM },
		{ "mkdir", make_folder, EPERM },
		{ "mkfifo", make_fifo, EPERM },
		{ "chmod", open_up_input, EPERM },
		{ "chdir", change_folder, EPERM },
		{ "mount", mount_over, EPERM },
	};
	static const char *const inputs[] = { "input" };
	struct sandbox_policy policy = { .inputs = inputs, .nr_inputs = 1, .output = "output" };
	struct stat st;

	need_sandbox();
	close(open("input", O_WRONLY | O_CREAT, 0600));
	captive_try(&policy, attempts, sizeof(attempts) / sizeof(attempts[0]));
	CHECK(stat("input", &st) == 0 && (st.st_mode & 0777) == 0600);
	CHECK(stat("output", &st) < 0 && stat("other", &st) < 0);
}

/* ---- the world outside ---- */

static int open_socket(void)
{
	return worked(socket(AF_INET, SOCK_STREAM, 0));
}

static int open_local_socket(void)
{
	return worked(socket(AF_UNIX, SOCK_STREAM, 0));
}

static int open_netlink(void)
{
	return worked(socket(AF_NETLINK, SOCK_RAW, 0));
}

static int make_pair(void)
{
	int fds[2];

	return worked(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
}

/* By a descriptor that it has. */
static int connect_channel(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX, .sun_path = "/dev/log" };

	return worked(connect(captive_channel(), (struct sockaddr *)&to, sizeof(to)));
}

static int send_to(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(53),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	return worked(sendto(captive_channel(), "x", 1, 0, (struct sockaddr *)&to, sizeof(to)));
}

static int start_shell(void)
{
	char *argv[] = { "sh", "-c", ":", NULL };

	return worked(execve("/bin/sh", argv, NULL));
}

static int start_memory(void)
{
	int fd = memfd_create("program", 0);
	char *argv[] = { "program", NULL };

	if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10)
		return -1;
	return worked(syscall(SYS_execveat, fd, "", argv, NULL, AT_EMPTY_PATH));
}

static int start_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return worked(pid);
}

/* The kernel looks at the flags in memory, a filter cannot: it does not exist. */
static int start_newer(void)
{
	struct {
		uint64_t flags, other[7];
	} args = { .flags = 0 };

	return worked(syscall(435, &args, sizeof(args)));
}

static int start_namespace(void)
{
	return worked(syscall(SYS_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD | CLONE_NEWNET, 0,
			      0, 0, 0));
}

static int leave_namespace(void)
{
	return worked(unshare(CLONE_NEWUSER));
}

static int trace_parent(void)
{
	return worked(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int be_traced(void)
{
	return worked(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int read_parent(void)
{
	char byte;
	struct iovec here = { &byte, 1 }, there = { &byte, 1 };

	return worked(process_vm_readv(getppid(), &here, 1, &there, 1, 0));
}

static int kill_parent(void)
{
	return worked(kill(getppid(), SIGKILL));
}

static int kill_all(void)
{
	return worked(kill(-1, SIGKILL));
}

static int limit_parent(void)
{
	struct rlimit none = { 0, 0 };

	return worked(prlimit(getppid(), RLIMIT_CPU, &none, NULL));
}

static int type_for_user(void)
{
	char c = '\n';

	return worked(ioctl(STDIN_FILENO, TIOCSTI, &c));
}

static int load_bpf(void)
{
	return worked(syscall(SYS_bpf, 0, NULL, 0));
}

static int open_event(void)
{
	return worked(syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
}

static int make_ring(void)
{
	return worked(syscall(425, 1, NULL));
}

static int read_keys(void)
{
	return worked(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
}

static int change_user(void)
{
	return worked(setuid(65534));
}

static int allow_everything(void)
{
	return worked(syscall(SYS_seccomp, 1, 0, NULL));
}

static int call_of_the_future(void)
{
	return worked(syscall(999));
}

TEST(sandbox_lets_no_reader_connect_start_or_touch_another_process)
{
	static const struct attempt attempts[] = {
		{ "socket", open_socket, EPERM },
		{ "socket of this machine", open_local_socket, EPERM },
		{ "netlink", open_netlink, EPERM },
		{ "socketpair", make_pair, EPERM },
		{ "connect", connect_channel, EPERM },
		{ "sendto", send_to, EPERM },
		{ "exec", start_shell, EPERM },
		{ "exec of memory", start_memory, EPERM },
		{ "fork", start_process, EPERM },
		{ "clone3", start_newer, ENOSYS },
		{ "clone into a namespace", start_namespace, EPERM },
		{ "unshare", leave_namespace, EPERM },
		{ "ptrace of its parent", trace_parent, EPERM },
		{ "ptrace by its parent", be_traced, EPERM },
		{ "process_vm_readv", read_parent, EPERM },
		{ "kill of its parent", kill_parent, EPERM },
		{ "kill of everybody", kill_all, EPERM },
		{ "limits of its parent", limit_parent, EPERM },
		{ "typing for the user", type_for_user, EPERM },
		{ "bpf", load_bpf, EPERM },
		{ "perf_event_open", open_event, EPERM },
		{ "io_uring", make_ring, EPERM },
		{ "keyctl", read_keys, EPERM },
		{ "setuid", change_user, EPERM },
		{ "another filter", allow_everything, EPERM },
		{ "a call that is newer than the filter", call_of_the_future, ENOSYS },
	};
	struct sandbox_policy policy = { .flags = SANDBOX_IMAGES };

	need_sandbox();
	captive_try(&policy, attempts, sizeof(attempts) / sizeof(attempts[0]));
}

/* That the attempts above fail is the sandbox's doing: without it they work. */
TEST(sandbox_is_what_the_attempts_fail_by)
{
	static const struct attempt attempts[] = {
		{ "open /etc/shadow", open_secret, 0 },
		{ "open /etc/passwd", open_public, 0 },
		{ "open the input", open_input, 0 },
		{ "open the root folder", open_root, 0 },
		{ "open /proc/self/mem", open_own_memory, 0 },
		{ "write the input", write_input, 0 },
		{ "make another file", make_other, 0 },
		{ "make a folder", make_folder, 0 },
		{ "make a FIFO", make_fifo, 0 },
		{ "change the mode of the input", open_up_input, 0 },
		{ "rename the input", rename_input, 0 },
		{ "socket", open_socket, 0 },
		{ "socket of this machine", open_local_socket, 0 },
		{ "netlink", open_netlink, 0 },
		{ "socketpair", make_pair, 0 },
	};
	int fd;

	need_root();
	fd = open("input", O_WRONLY | O_CREAT, 0600);
	CHECK_INT(fd, >=, 0);
	close(fd);
	captive_try(NULL, attempts, sizeof(attempts) / sizeof(attempts[0]));
}

/* ---- a server ---- */

static int listening;

static int accept_there(void)
{
	return worked(accept4(listening, NULL, NULL, SOCK_CLOEXEC));
}

static int accept_elsewhere(void)
{
	return worked(accept4(captive_channel() == listening ? listening + 1 : captive_channel(),
			      NULL, NULL, 0));
}

static int accept_older(void)
{
	return worked(syscall(SYS_accept, listening, NULL, NULL));
}

static int connect_there(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET };

	return worked(connect(listening, (const struct sockaddr *)&to, sizeof(to)));
}

static int end_there(void)
{
	return worked(shutdown(listening, SHUT_RDWR));
}

TEST(sandbox_lets_a_server_accept_on_its_socket_and_no_more)
{
	static const struct attempt attempts[] = {
		{ "accept", accept_there, EAGAIN }, /* nobody is there yet */
		{ "accept on another descriptor", accept_elsewhere, EPERM },
		{ "accept of old", accept_older, EPERM },
		{ "connect", connect_there, EPERM },
		{ "shutdown, which would make a new connection possible", end_there, EPERM },
		{ "socket", open_socket, EPERM },
		{ "open /etc/passwd", open_public, EACCES },
	};
	struct sandbox_policy policy = { .flags = SANDBOX_IMAGES };

	need_sandbox();
	listening = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CHECK_INT(listen(listening, 1), ==, 0);
	policy.serve_fd = listening;
	captive_try(&policy, attempts, sizeof(attempts) / sizeof(attempts[0]));
	/* who serves nothing accepts nothing */
	policy.serve_fd = 0;
	captive_try(&policy, &(struct attempt){ "accept", accept_there, EPERM }, 1);
}

/* ---- what readers need ---- */

static void *count(void *p)
{
	(*(int *)p)++;
	return NULL;
}

static int run_threads(void)
{
	pthread_t threads[4];
	int counts[4] = { 0 }, sum = 0;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&threads[i], NULL, count, &counts[i]) != 0)
			return EAGAIN;
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		sum += counts[i];
	}
	return sum == 4 ? 0 : EIO;
}

static int use_memory(void)
{
	size_t size = (size_t)64 << 20;
	char *p = malloc(size);

	if (!p)
		return ENOMEM;
	memset(p, 1, size);
	free(p);
	return 0;
}

static int signal_itself(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGUSR1, &ignore, NULL);
	return raise(SIGUSR1) ? errno : worked(kill(getpid(), SIGUSR1));
}

static int keep_in_memory(void)
{
	int fd = memfd_create("text", MFD_CLOEXEC);
	char text[4] = "";

	if (fd < 0 || write(fd, "abc", 3) != 3 || lseek(fd, 0, SEEK_SET) < 0 ||
	    read(fd, text, 3) != 3)
		return errno;
	return strcmp(text, "abc") ? EIO : 0;
}

static int read_input(void)
{
	struct opening o = { .kind = OPEN_INPUT, .path = "input" };
	int fd = coati_open_file(&o, NULL);
	char text[8] = "";

	if (fd < 0)
		return -fd;
	if (read(fd, text, sizeof(text) - 1) != 5 || strcmp(text, "input") != 0)
		return EIO;
	/* to read, and no more */
	return write(fd, "x", 1) < 0 && errno == EBADF &&
			       mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) ==
				       MAP_FAILED
		       ? 0
		       : EACCES;
}

static int write_through_broker(void)
{
	struct new_file f;
	int r = coati_new_file_open(&f, "output", 0600, NULL);

	if (r < 0)
		return -r;
	if (write(f.fd, "output", 6) != 6)
		return errno;
	return -coati_new_file_end(&f, true, NULL);
}

static void make_input(void)
{
	int fd = open("input", O_WRONLY | O_CREAT, 0600);

	CHECK_INT(write(fd, "input", 5), ==, 5);
	close(fd);
}

TEST(sandbox_leaves_a_reader_what_it_needs)
{
	static const struct attempt attempts[] = {
		{ "threads", run_threads, 0 },
		{ "memory", use_memory, 0 },
		{ "a signal to itself", signal_itself, 0 },
		{ "a file in memory", keep_in_memory, 0 },
		{ "its input", read_input, 0 },
		{ "its output", write_through_broker, 0 },
	};
	static const char *const inputs[] = { "input" };
	struct sandbox_policy policy = { .inputs = inputs, .nr_inputs = 1, .output = "output" };
	char text[16] = "";
	struct stat st;
	int fd;

	need_sandbox();
	make_input();
	captive_try(&policy, attempts, sizeof(attempts) / sizeof(attempts[0]));
	fd = open("output", O_RDONLY);
	CHECK_INT(read(fd, text, sizeof(text)), ==, 6);
	CHECK_STR(text, "output");
	CHECK(fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0600);
	close(fd);
}

/* ---- descriptors that came along ---- */

static int inherited_fd;

static int use_inherited(void)
{
	return worked(write(inherited_fd, "x", 1));
}

TEST(sandbox_closes_descriptors_that_the_reader_was_started_with)
{
	static const struct attempt attempts[] = { { "an inherited file", use_inherited, EBADF } };
	struct sandbox_policy policy = { 0 };

	need_sandbox();
	inherited_fd = open("log", O_WRONLY | O_CREAT, 0600);
	CHECK_INT(inherited_fd, >, STDERR_FILENO);
	captive_try(&policy, attempts, 1);
}

/* The same as an ordinary user, for whom the kernel needs no_new_privs. */
TEST(sandbox_confines_an_ordinary_user)
{
	static const struct attempt attempts[] = {
		{ "open /etc/passwd", open_public, EACCES },
		{ "make another file", make_other, EACCES },
		{ "socket", open_socket, EPERM },
		{ "exec", start_shell, EPERM },
		{ "ptrace of its parent", trace_parent, EPERM },
		{ "threads", run_threads, 0 },
	};
	struct sandbox_policy policy = { .flags = SANDBOX_IMAGES };

	need_sandbox();
	need_root();
	become_nobody();
	captive_try(&policy, attempts, sizeof(attempts) / sizeof(attempts[0]));
}

/* ---- libraries that are loaded when they are needed ---- */

static int load_library(void)
{
	return dlopen("libutil.so.1", RTLD_NOW | RTLD_LOCAL) ? 0 : ENOENT;
}

static int load_other(void)
{
	return dlopen("libresolv.so.2", RTLD_NOW | RTLD_LOCAL) ? 0 : ENOENT;
}

static const char *const libraries[] = { "libutil.so.1", NULL };

TEST(sandbox_lets_a_reader_load_its_libraries_later)
{
	static const struct attempt attempts[] = {
		{ "its library", load_library, 0 },
		{ "another library", load_other, ENOENT },
	};
	struct sandbox_policy policy = { .libraries = libraries };

	need_sandbox();
	captive_try(&policy, attempts, 2);
	policy.flags = SANDBOX_NO_LANDLOCK; /* loaded beforehand */
	captive_try(&policy, attempts, 2);
}

/* ---- kernels that have one of the two ---- */

TEST(sandbox_of_seccomp_alone_opens_nothing)
{
	static const struct attempt attempts[] = {
		{ "open /etc/shadow", open_secret, EACCES },
		{ "open /proc/self/mem", open_own_memory, EACCES },
		{ "make another file", make_other, EACCES },
		{ "unlink", remove_input, EPERM },
		{ "socket", open_socket, EPERM },
		{ "exec", start_shell, EPERM },
		{ "ptrace of its parent", trace_parent, EPERM },
		{ "kill of its parent", kill_parent, EPERM },
		{ "its input", read_input, 0 },
		{ "threads", run_threads, 0 },
	};
	static const char *const inputs[] = { "input" };
	struct sandbox_policy policy = { .flags = SANDBOX_NO_LANDLOCK,
					 .inputs = inputs,
					 .nr_inputs = 1 };

	need_sandbox();
	make_input();
	captive_try(&policy, attempts, sizeof(attempts) / sizeof(attempts[0]));
}

TEST(sandbox_of_landlock_alone_opens_and_starts_nothing)
{
	static const struct attempt attempts[] = {
		{ "open /etc/shadow", open_secret, EACCES },
		{ "open /proc/self/mem", open_own_memory, EACCES },
		{ "make another file", make_other, EACCES },
		{ "rename", rename_input, EACCES },
		{ "unlink", remove_input, EACCES },
		{ "mkdir", make_folder, EACCES },
		{ "exec", start_shell, EACCES },
		{ "ptrace of its parent", trace_parent, EPERM },
		{ "its input", read_input, 0 },
		{ "threads", run_threads, 0 },
	};
	static const char *const inputs[] = { "input" };
	struct sandbox_policy policy = { .flags = SANDBOX_NO_SECCOMP,
					 .inputs = inputs,
					 .nr_inputs = 1 };
	struct sandbox_support s;

	need_sandbox();
	coati_sandbox_probe(&s);
	if (s.landlock < 1)
		test_skip_need("landlock", "the kernel has no Landlock, or it is switched off");
	make_input();
	captive_try(&policy, attempts, sizeof(attempts) / sizeof(attempts[0]));
}

/* ---- when the reader is gone ---- */

/* The broker keeps the pipe open that is an input: it is gone when nobody reads any more. */
TEST(sandbox_broker_ends_with_its_reader_and_leaves_no_half_file)
{
	char input[40];
	const char *const inputs[] = { input };
	struct sandbox_policy policy = { .inputs = inputs, .nr_inputs = 1, .output = "output" };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	int fds[2], status;
	struct stat st;
	pid_t pid;

	need_sandbox();
	CHECK_OK(pipe(fds));
	snprintf(input, sizeof(input), "/proc/self/fd/%d", fds[0]);
	pid = fork();
	if (pid == 0) {
		struct new_file f;

		if (coati_sandbox_enter(&policy, NULL) != 1 ||
		    coati_new_file_open(&f, "output", 0600, NULL) < 0 ||
		    write(f.fd, "half", 4) != 4)
			_exit(2);
		raise(SIGKILL);
	}
	close(fds[0]);
	CHECK_INT(waitpid(pid, &status, 0), ==, pid);
	CHECK(WIFSIGNALED(status));
	sigaction(SIGPIPE, &ignore, NULL);
	while (write(fds[1], "x", 1) == 1)
		;
	CHECK_INT(errno, ==, EPIPE);
	close(fds[1]);
	CHECK(stat("output", &st) < 0);
}
