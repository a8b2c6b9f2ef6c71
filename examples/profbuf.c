/* SPDX-License-Identifier: MIT */
/* A signal handler as the writer of a profile buffer: a timer interrupts a loop, the handler notes
 * the time, and afterwards all of it is read. profbuf */
#include <coati/profbuf.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static struct coati_profbuf_writer writer;
static volatile sig_atomic_t ticks;

static void on_tick(int sig)
{
	struct coati_profbuf_record record = { .type = (uint32_t)sig };
	uint64_t number = (uint64_t)ticks++;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	record.time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	record.stack = &number; /* a profiler would have walked the stack */
	record.nr_stack = 1;
	coati_profbuf_write(&writer, &record);
}

int main(void)
{
	struct coati_profbuf_opts opts = { .size = sizeof(opts), .data_words = 64 };
	struct itimerval period = { { 0, 1000 }, { 0, 1000 } }, none = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	size_t bytes = coati_profbuf_bytes(&opts);
	struct coati_error err = { 0, 0, "" };
	struct coati_profbuf_reader reader;
	struct coati_profbuf_record record;
	struct coati_profbuf *buf;

	if (coati_profbuf_init(aligned_alloc(64, bytes), bytes, &opts, &buf, &err) < 0 ||
	    coati_profbuf_writer_init(&writer, buf, bytes, NULL, &err) < 0 ||
	    coati_profbuf_reader_init(&reader, buf, bytes, NULL, &err) < 0) {
		fprintf(stderr, "profbuf: %s\n", err.text);
		return 1;
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &period, NULL);
	while (ticks < 20) /* the work; the buffer has room for 16 */
		;
	setitimer(ITIMER_REAL, &none, NULL);
	coati_profbuf_close(&writer);
	while (coati_profbuf_read(&reader, COATI_PROFBUF_FOREVER, &record) == 1)
		if (record.kind == COATI_PROFBUF_LOSS)
			printf("%llu lost\n", (unsigned long long)record.count);
		else
			printf("tick %llu at %llu ns\n", (unsigned long long)record.stack[0],
			       (unsigned long long)record.time_ns);
	coati_profbuf_reader_fini(&reader);
	free(buf);
	return 0;
}
