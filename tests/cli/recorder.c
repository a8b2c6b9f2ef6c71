/* SPDX-License-Identifier: MIT */
/*
 * recorder [kill | stay] [DIRECTORY]: a flight recorder where one is usually put, with one line of
 * a log. Prints its pid, where the recorder is (enum coati_recorder_place) and how many files of
 * the dead it removed; then dies, or stays, with a line of its log each millisecond and one of the
 * file "turns" for each hundred.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <coati/live.h>

int main(int argc, char **argv)
{
	struct coati_recorder_opts o = { .size = sizeof(o), .bytes = 1 << 20 };
	struct coati_recorder_stats stats = { .size = sizeof(stats) };
	struct coati_recorder *rec = NULL;
	struct coati_error err = { 0 };
	FILE *turns;

	o.directory = argc > 2 ? argv[2] : NULL;
	/* who waits for it says nothing of its death */
	if (argc < 2 || strcmp(argv[1], "stay") != 0) {
		pid_t child = fork();

		if (child)
			return waitpid(child, NULL, 0) < 0;
	}
	if (coati_recorder_start(&o, &rec, &err) < 0) {
		fprintf(stderr, "recorder: %s\n", err.text);
		return 1;
	}
	COATI_LOG("truth", "%s", "true words");
	coati_recorder_stats(rec, &stats);
	printf("%d %d %d\n", (int)getpid(), (int)stats.place, (int)stats.removed_files);
	fflush(stdout);
	turns = fopen("turns", "w");
	for (int i = 1; argc > 1 && !strcmp(argv[1], "stay"); i++) {
		COATI_LOG("truth", "%s", "true words");
		if (turns && i % 100 == 0) {
			fprintf(turns, "%d\n", i);
			fflush(turns);
		}
		usleep(1000);
	}
	raise(SIGKILL);
	return 1;
}
