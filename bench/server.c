/* SPDX-License-Identifier: MIT */
/*
 * What the tracer costs a server: examples/server, in a process of its own, whose recorder is
 * switched on and off while clients ask without a pause. Each slice of time with the recorder has
 * one without beside it, in the same process, and who goes first changes. A generation lasts a
 * tenth of what it does by default, so that each slice has its end of one.
 *
 *	bench-server NR_PAIRS MILLISECONDS
 *
 * Clients ask for keys, which is the least work that a request can be: what examples/load also
 * does, setting them, makes the server tidy its table, and the tracer's part of the time smaller.
 * The server has CPU 1 alone, the clients CPU 0. Prints for each pair of slices:
 *
 *	RATE_ON RATE_OFF CPU_ON CPU_OFF EVENTS
 *
 * requests a second, CPU nanoseconds of the server for each request (the recorder's thread
 * included), and events for each request. Exit status 77 when this machine has one CPU only.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/live.h>

#include "bench.h"

#define CLIENTS	  4
#define KEYS	  2000
#define SETTLE_MS 20
#define TURN_NS	  UINT64_C(100000000)

/* server.c is compiled with these names for its main(), coati_recorder_start() and send(). */
int server_main(int argc, char **argv);
int server_recorder_start(const struct coati_recorder_opts *opts, struct coati_recorder **ret,
			  struct coati_error *err);
ssize_t server_send(int fd, const void *bytes, size_t size, int flags);

static struct sockaddr_un to = { .sun_family = AF_UNIX };
static unsigned int nr_pairs, slice_ms;
static _Atomic uint64_t requests;
/* Shared between the processes: keys that are set before the first slice. */
static int filled[2];

static void fail(const char *what)
{
	fprintf(stderr, "bench-server: %s: %m\n", what);
	exit(1);
}

/* ---- the server's side ---- */

ssize_t server_send(int fd, const void *bytes, size_t size, int flags)
{
	atomic_fetch_add_explicit(&requests, 1, memory_order_relaxed);
	return send(fd, bytes, size, flags);
}

struct slice {
	double rate, cpu_ns, events;
};

static uint64_t events_of(const struct coati_recorder *rec)
{
	struct coati_recorder_stats stats = { .size = sizeof(stats) };

	if (!rec)
		return 0;
	coati_recorder_stats(rec, &stats);
	return stats.events;
}

static struct slice measure(const struct coati_recorder *rec)
{
	uint64_t time_ns, cpu_ns, done, events;
	double answered;

	usleep(SETTLE_MS * 1000);
	events = events_of(rec);
	time_ns = bench_now_ns();
	cpu_ns = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	done = atomic_load(&requests);
	usleep(slice_ms * 1000);
	time_ns = bench_now_ns() - time_ns;
	cpu_ns = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	answered = (double)(atomic_load(&requests) - done);
	if (answered <= 0) {
		fprintf(stderr, "bench-server: no request was answered\n");
		exit(1);
	}
	return (struct slice){ answered * 1e9 / (double)time_ns, (double)cpu_ns / answered,
			       (double)(events_of(rec) - events) / answered };
}

static struct slice measure_on(void)
{
	struct coati_recorder_opts opts = { .size = sizeof(opts),
					    .directory = "",
					    .generation_ns = TURN_NS };
	struct coati_recorder *rec = NULL;
	struct coati_error err;
	struct slice s;

	if (coati_recorder_start(&opts, &rec, &err) < 0) {
		fprintf(stderr, "bench-server: %s\n", err.text);
		exit(1);
	}
	s = measure(rec);
	coati_recorder_stop(&rec, NULL);
	return s;
}

static void *run_slices(void *unused)
{
	char byte;

	if (read(filled[0], &byte, 1) != 1)
		fail("the clients");
	for (unsigned int i = 0; i < nr_pairs; i++) {
		struct slice off, on;

		if (i % 2)
			on = measure_on();
		off = measure(NULL);
		if (i % 2 == 0)
			on = measure_on();
		printf("%.1f %.1f %.2f %.2f %.2f\n", on.rate, off.rate, on.cpu_ns, off.cpu_ns,
		       on.events);
	}
	exit(0);
	return unused;
}

/* The server asks for its recorder when it starts: it gets none, and the slices begin. */
int server_recorder_start(const struct coati_recorder_opts *opts, struct coati_recorder **ret,
			  struct coati_error *err)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_slices, NULL))
		fail("a thread");
	return 0;
}

static void run_server(void)
{
	char name[] = "server";
	char *argv[] = { name, to.sun_path, NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* whatever becomes of the clients, it ends */
	bench_pin(1);
	exit(server_main(2, argv));
}

/* ---- the clients ---- */

/* It may still be starting. */
static int dial(void)
{
	for (int tries = 0; tries < 1000; tries++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
		usleep(10000);
	}
	fail("no server");
	return -1;
}

static bool ask(int fd, bool set, int key)
{
	char line[64], reply[512];
	int size = set ? snprintf(line, sizeof(line), "SET key%d value%d\n", key, key)
		       : snprintf(line, sizeof(line), "GET key%d\n", key);

	return send(fd, line, (size_t)size, MSG_NOSIGNAL) == size &&
	       recv(fd, reply, sizeof(reply), 0) > 0;
}

static void *ask_for_ever(void *arg)
{
	unsigned int seed = (unsigned int)(size_t)arg;
	int fd = dial();

	while (ask(fd, false, rand_r(&seed) % KEYS))
		continue;
	return NULL;
}

static void run_clients(void)
{
	int fd = dial();
	pthread_t thread;

	for (int key = 0; key < KEYS; key++)
		if (!ask(fd, true, key))
			fail("filling the table");
	close(fd);
	for (size_t i = 1; i <= CLIENTS; i++)
		if (pthread_create(&thread, NULL, ask_for_ever, (void *)i))
			fail("a thread");
	if (write(filled[1], "x", 1) != 1)
		fail("the server");
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/bench-server-XXXXXX";
	int status = 1;
	pid_t server;

	if (argc != 3)
		return 2;
	nr_pairs = (unsigned int)strtoul(argv[1], NULL, 10);
	slice_ms = (unsigned int)strtoul(argv[2], NULL, 10);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "server and clients need a CPU each\n");
		return 77;
	}
	if (!mkdtemp(folder) || pipe(filled) < 0)
		fail(folder);
	snprintf(to.sun_path, sizeof(to.sun_path), "%s/socket", folder);
	server = fork();
	if (server == 0)
		run_server();
	bench_pin(0);
	run_clients();
	waitpid(server, &status, 0);
	unlink(to.sun_path);
	rmdir(folder);
	return status != 0;
}
