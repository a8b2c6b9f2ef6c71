/* SPDX-License-Identifier: MIT */
/*
 * crowd DIRECTORY POLICY: a flight recorder of 4 MiB that keeps the last events, beside a stream
 * with that policy (0 oldest, 1 newest, 2 block); or, for "alone", one of 512 KiB that keeps the
 * first events and nobody else. Writes rounds of events, each with a log line, says how many there
 * were, and is killed.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <coati/tracer.h>

#define ROUNDS 30
#define EVENTS 100000

static void start(int fd, uint64_t bytes, enum coati_recorder_policy policy, const char *folder)
{
	struct coati_recorder_opts o = { .size = sizeof(o),
					 .fd = fd,
					 .bytes = bytes,
					 .policy = policy,
					 .generation_ns = 50000000,
					 .directory = folder };
	struct coati_recorder *rec = NULL;
	struct coati_error err = { 0 };

	if (coati_recorder_start(&o, &rec, &err) < 0) {
		fprintf(stderr, "crowd: %s\n", err.text);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 1;
	if (!strcmp(argv[2], "alone")) {
		start(-1, 1 << 19, COATI_DROP_NEWEST, argv[1]);
	} else {
		start(-1, 4 << 20, COATI_DROP_OLDEST, argv[1]);
		start(open("/dev/null", O_WRONLY | O_CLOEXEC), 0,
		      (enum coati_recorder_policy)strtol(argv[2], NULL, 10), NULL);
	}
	for (int k = 0; k < ROUNDS; k++) {
		for (int i = 0; i < EVENTS; i++)
			COATI_INSTANT("x");
		COATI_LOG("k", "round %d.", k);
		usleep(10000);
	}
	COATI_LOG("k", "%s", "the last words");
	printf("%d\n", ROUNDS * (EVENTS + 1) + 1);
	fflush(stdout);
	raise(SIGKILL);
	return 1;
}
